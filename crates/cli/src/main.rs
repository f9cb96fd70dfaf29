//! `stitch`: parses the arguments, runs one command, prints errors and returns the exit code.

#![allow(clippy::print_stdout, clippy::print_stderr)] // the only crate that prints

mod signals;
mod failure;
mod progress;
mod table;
mod setup;
mod options;
mod sound;
mod command;
mod args;

use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use args::{Arguments, Command};
use failure::Failure;
use setup::Setup;

fn main() -> ExitCode {
    signals::handle_closed_output();
    let arguments = Arguments::parse();
    start_log(&arguments);
    signals::handle_interrupts();
    let setup = Setup::new(&arguments.common);
    match run(arguments.command, &setup) {
        Ok(code) => ExitCode::from(code),
        Err(failure) => failure.report(arguments.common.json),
    }
}

fn run(command: Command, setup: &Setup) -> Result<u8, Failure> {
    match command {
        Command::Fetch(arguments) => command::fetch::run(&arguments, setup),
        Command::Index(arguments) => command::index::run(&arguments, setup),
        Command::Make(arguments) => command::make::run(&arguments, setup),
        Command::Search(arguments) => command::search::run(&arguments, setup),
        Command::Serve(arguments) => command::serve::run(&arguments, setup),
        Command::Mcp(arguments) => command::mcp::run(&arguments, setup),
        Command::Listen(arguments) => command::listen::run(&arguments, setup),
        Command::Library(command) => command::library::run(&command, setup),
        Command::Models(command) => command::models::run(&command, setup),
        Command::Dataset(command) => command::dataset::run(&command, setup),
        Command::Train(arguments) => command::train::run(&arguments, setup),
        Command::Calibrate(arguments) => command::calibrate::run(&arguments, setup),
        Command::Eval(arguments) => command::eval::run(&arguments, setup),
        Command::Study(command) => command::study::run(&command, setup),
        Command::World(command) => command::world::run(&command, setup),
        Command::Doctor => command::doctor::run(setup),
        Command::SelfCheck(arguments) => command::self_check::run(&arguments, setup),
        Command::Completions { shell } => command::shell::completions(shell, Arguments::command()),
        Command::Man { out } => command::shell::man(out.as_deref(), Arguments::command()),
    }
}

/// The log goes to standard error, if `--verbose` or STITCH_LOG asks for it.
fn start_log(arguments: &Arguments) {
    let level = if arguments.common.verbose { "stitch=debug,info" } else { "error" };
    let filter = tracing_subscriber::EnvFilter::try_from_env("STITCH_LOG")
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new(level));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
}
