//! Progress as a person or a program wants it: a bar on a terminal, lines of JSON, or nothing.

use std::io::IsTerminal;
use std::sync::Mutex;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;
use stitch_engine::progress::Progress;

use crate::stop;

/// Where progress goes.
pub enum Shown {
    /// A bar on a terminal.
    Bar(Mutex<ProgressBar>),
    /// Lines of JSON on standard error.
    Lines(Mutex<Stage>),
    /// Warnings only.
    Quiet,
}

/// The stage that JSON lines tell of.
#[derive(Default)]
pub struct Stage {
    name: String,
    total: u64,
    done: u64,
}

impl Shown {
    /// What fits the options and the terminal.
    pub fn new(json: bool, quiet: bool) -> Self {
        if json {
            Self::Lines(Mutex::default())
        } else if quiet || !std::io::stderr().is_terminal() {
            Self::Quiet
        } else {
            Self::Bar(Mutex::new(ProgressBar::hidden()))
        }
    }

    /// Takes the bar away before results are printed.
    pub fn finish(&self) {
        if let Self::Bar(bar) = self {
            held(bar).finish_and_clear();
        }
    }
}

/// The lock's content; a panic of another thread does not matter to a bar.
fn held<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

impl Progress for Shown {
    fn begin(&self, stage: &str, total: u64) {
        match self {
            Self::Bar(bar) => {
                let mut bar = held(bar);
                bar.finish_and_clear();
                *bar = new_bar(stage, total);
            }
            Self::Lines(lines) => {
                *held(lines) = Stage { name: stage.into(), total, done: 0 };
                eprintln!("{}", json!({"event": "begin", "stage": stage, "total": total}));
            }
            Self::Quiet => {}
        }
    }

    fn advance(&self, units: u64) {
        match self {
            Self::Bar(bar) => held(bar).inc(units),
            Self::Lines(lines) => {
                let mut stage = held(lines);
                stage.done += units;
                let (name, total, done) = (&stage.name, stage.total, stage.done);
                eprintln!(
                    "{}",
                    json!({"event": "progress", "stage": name, "done": done, "total": total})
                );
            }
            Self::Quiet => {}
        }
    }

    fn warn(&self, message: &str) {
        match self {
            Self::Bar(bar) => held(bar).suspend(|| eprintln!("warning: {message}")),
            Self::Lines(_) => eprintln!("{}", json!({"event": "warning", "message": message})),
            Self::Quiet => eprintln!("warning: {message}"),
        }
    }

    fn stopped(&self) -> bool {
        stop::requested()
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
