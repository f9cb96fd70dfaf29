//! `stitch mcp`: the tools of agents, on standard input and output.

use std::io::IsTerminal;

use clap::Args;
use stitch_server::state::State;

use super::serve::ServedArguments;
use crate::failure::Failure;
use crate::setup::Setup;
use crate::signals;

/// Serve an agent by the Model Context Protocol, on standard input and output
#[derive(Args)]
pub struct McpArguments {
    #[command(flatten)]
    served: ServedArguments,
}

pub fn run(arguments: &McpArguments, setup: &Setup) -> Result<u8, Failure> {
    if std::io::stdin().is_terminal() {
        eprintln!(
            "waiting for an agent on standard input; agent programs start this command themselves"
        );
    }
    let state = State::open(arguments.served.open(setup)?, arguments.served.settings())?;
    stitch_server::serve_agent(state, signals::stop_requested)?;
    Ok(0)
}
