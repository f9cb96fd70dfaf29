//! `stitch`: arguments in, one command run, messages and an exit code out.

#![allow(clippy::print_stdout, clippy::print_stderr)] // this is where printing belongs

mod common;
mod stop;
mod pipe;
mod failure;
mod bars;
mod table;
mod setup;
mod chat;
mod command;
mod args;

use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use args::{Arguments, Command};
use failure::Failure;
use setup::Setup;

fn main() -> ExitCode {
    pipe::end_quietly_when_nobody_reads();
    let arguments = Arguments::parse();
    start_log(&arguments);
    stop::watch_for_interrupts();
    let setup = Setup::new(&arguments.common);
    match run(arguments.command, &setup) {
        Ok(code) => ExitCode::from(code),
        Err(failure) => failure.report(arguments.common.json),
    }
}

/// Runs the command; its exit code if it ends well.
fn run(command: Command, setup: &Setup) -> Result<u8, Failure> {
    match command {
        Command::Index(index) => command::index::run(&index, setup),
        Command::Make(make) => command::make::run(&make, setup),
        Command::Search(search) => command::search::run(&search, setup),
        Command::Serve(serve) => command::serve::run(&serve, setup),
        Command::Listen(listen) => command::listen::run(&listen, setup),
        Command::Library(library) => command::library::run(&library, setup),
        Command::Models(models) => command::models::run(&models, setup),
        Command::Dataset(dataset) => command::dataset::run(&dataset, setup),
        Command::Train(train) => command::train::run(&train, setup),
        Command::Eval(eval) => command::eval::run(&eval, setup),
        Command::Study(study) => command::study::run(&study, setup),
        Command::World(world) => {
            setup.say(&command::world::run(&world, &setup.progress)?);
            Ok(0)
        }
        Command::Doctor => command::doctor::run(setup),
        Command::Completions { shell } => command::shell::completions(shell, Arguments::command()),
        Command::Man { out } => command::shell::man(out.as_deref(), Arguments::command()),
    }
}

/// Diagnostics go to standard error, and only when asked for by `--verbose` or STITCH_LOG.
fn start_log(arguments: &Arguments) {
    let level = if arguments.common.verbose { "stitch=debug,info" } else { "error" };
    let filter = tracing_subscriber::EnvFilter::try_from_env("STITCH_LOG")
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new(level));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
}
