//! stub
#![allow(clippy::print_stdout, clippy::print_stderr, missing_docs)]
mod command;
use clap::Parser;
#[derive(Parser)]
struct Cli {
    #[command(subcommand)]
    command: Top,
}
#[derive(clap::Subcommand)]
enum Top {
    /// The made-up library
    #[command(subcommand)]
    World(command::world::WorldCommand),
}
static STOP: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);
struct Lines;
impl stitch_engine::progress::Progress for Lines {
    fn begin(&self, stage: &str, total: u64) {
        eprintln!("{stage} {total}");
    }
    fn advance(&self, _units: u64) {}
    fn warn(&self, message: &str) {
        eprintln!("warning: {message}");
    }
    fn stopped(&self) -> bool {
        STOP.load(std::sync::atomic::Ordering::Relaxed)
    }
}
fn main() {
    let _ = ctrlc::set_handler(|| STOP.store(true, std::sync::atomic::Ordering::Relaxed));
    let Top::World(command) = Cli::parse().command;
    match command::world::run(&command, &Lines) {
        Ok(report) => println!("{report}"),
        Err(error) => eprintln!("error: {error}"),
    }
}
