//! Progress on standard error: a bar on a terminal, lines of JSON, or nothing.

use std::io::IsTerminal;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;
use stitch_engine::progress::Progress;

use crate::signals;

pub enum ProgressOutput {
    Bar(Mutex<ProgressBar>),
    /// With the current stage: its name, its units and those done.
    Json(Mutex<(String, u64, u64)>),
    /// Warnings only.
    Quiet,
}

impl ProgressOutput {
    pub fn new(json: bool, quiet: bool) -> Self {
        if json {
            Self::Json(Mutex::default())
        } else if quiet || !std::io::stderr().is_terminal() {
            Self::Quiet
        } else {
            Self::Bar(Mutex::new(ProgressBar::hidden()))
        }
    }

    /// Removes the bar before results are printed.
    pub fn finish(&self) {
        if let Self::Bar(bar) = self {
            lock(bar).finish_and_clear();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Progress for ProgressOutput {
    fn begin(&self, stage: &str, total: u64) {
        match self {
            Self::Bar(bar) => {
                let mut bar = lock(bar);
                bar.finish_and_clear();
                *bar = new_bar(stage, total);
            }
            Self::Json(current) => {
                *lock(current) = (stage.into(), total, 0);
                eprintln!("{}", json!({"event": "begin", "stage": stage, "total": total}));
            }
            Self::Quiet => {}
        }
    }

    fn advance(&self, units: u64) {
        match self {
            Self::Bar(bar) => lock(bar).inc(units),
            Self::Json(current) => {
                let mut current = lock(current);
                current.2 += units;
                let (stage, total, done) = &*current;
                let event =
                    json!({"event": "progress", "stage": stage, "done": done, "total": total});
                eprintln!("{event}");
            }
            Self::Quiet => {}
        }
    }

    fn warn(&self, message: &str) {
        match self {
            Self::Bar(bar) => lock(bar).suspend(|| eprintln!("warning: {message}")),
            Self::Json(_) => eprintln!("{}", json!({"event": "warning", "message": message})),
            Self::Quiet => eprintln!("warning: {message}"),
        }
    }

    fn stopped(&self) -> bool {
        signals::stop_requested()
    }
}

fn new_bar(stage: &str, total: u64) -> ProgressBar {
    let (bar, style) = match total {
        0 => (ProgressBar::new_spinner(), "{spinner} {msg}"),
        _ => (ProgressBar::new(total), "{msg:24} {wide_bar:.cyan/238} {pos}/{len} {eta:>4}"),
    };
    let style =
        ProgressStyle::with_template(style).unwrap_or_else(|_| ProgressStyle::default_bar());
    bar.set_style(style.progress_chars("━╸─"));
    bar.set_message(stage.to_owned());
    bar.enable_steady_tick(Duration::from_millis(120));
    bar
}
