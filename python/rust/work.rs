//! Runs work of the engine in a thread of its own, so that the interpreter lock is free meanwhile. The calling thread
//! waits, and there Python's code runs: progress callbacks, warnings and the handlers of signals such as Ctrl-C.

use std::ffi::CString;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use pyo3::prelude::*;
use stitch_engine::progress::Progress;

use crate::errors::StitchWarning;

/// How long a signal may wait; short for a person, long for a processor.
const TICK: Duration = Duration::from_millis(50);

/// The work, and what it reports to: a function of the stage, the units done and all units; 0 if those are unknown.
pub fn run<T: Send>(
    py: Python<'_>,
    callback: Option<Py<PyAny>>,
    work: impl FnOnce(&dyn Progress) -> PyResult<T> + Send,
) -> PyResult<T> {
    let stop = &AtomicBool::new(false);
    let (events, received) = channel();
    py.detach(move || {
        std::thread::scope(|scope| {
            // The reporter is dropped when the work ends, which ends the events.
            let reporter = Reporter { events, stage: Mutex::default(), stop };
            let worker = scope.spawn(move || work(&reporter));
            let raised = deliver(&received, callback, stop);
            let result = worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            raised.map_or(result, Err)
        })
    })
}

/// Passes events on to Python until there are no more. What Python raises stops the work and is returned.
fn deliver(
    events: &Receiver<Event>,
    callback: Option<Py<PyAny>>,
    stop: &AtomicBool,
) -> Option<PyErr> {
    let mut raised = None;
    loop {
        let event = match events.recv_timeout(TICK) {
            Ok(event) => Some(event),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => return raised,
        };
        if raised.is_some() {
            continue; // the work is on its way to a safe point
        }
        raised = Python::attach(|py| {
            let told = event.map_or(Ok(()), |event| event.tell(py, callback.as_ref()));
            told.and_then(|()| py.check_signals()).err()
        });
        stop.store(raised.is_some(), Ordering::Relaxed);
    }
}

enum Event {
    Progress { stage: String, done: u64, total: u64 },
    Warning(String),
}

impl Event {
    fn tell(self, py: Python<'_>, callback: Option<&Py<PyAny>>) -> PyResult<()> {
        match self {
            Self::Progress { stage, done, total } => {
                callback.map_or(Ok(()), |callback| callback.call1(py, (stage, done, total)).map(drop))
            }
            Self::Warning(message) => {
                let message = CString::new(message.replace('\0', " "))?;
                PyErr::warn(py, &py.get_type::<StitchWarning>(), &message, 2)
            }
        }
    }
}

struct Reporter<'a> {
    events: Sender<Event>,
    /// Its name, the units done and all units.
    stage: Mutex<(String, u64, u64)>,
    stop: &'a AtomicBool,
}

impl Reporter<'_> {
    fn report(&self, change: impl FnOnce(&mut (String, u64, u64))) {
        let mut current = self.stage.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut current);
        let (stage, done, total) = current.clone();
        self.send(Event::Progress { stage, done, total });
    }

    fn send(&self, event: Event) {
        // Somebody receives for as long as the work goes on.
        let _ = self.events.send(event);
    }
}

impl Progress for Reporter<'_> {
    fn begin(&self, stage: &str, total: u64) {
        self.report(|current| *current = (stage.into(), 0, total));
    }
    fn advance(&self, units: u64) {
        self.report(|(_, done, _)| *done += units);
    }
    fn warn(&self, message: &str) {
        self.send(Event::Warning(message.into()));
    }
    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}
