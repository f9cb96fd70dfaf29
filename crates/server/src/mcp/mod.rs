//! The tools of agents: the Model Context Protocol on standard input and output, and at `/mcp`.

mod follow;
mod tools;

use std::sync::Arc;

use rmcp::model::{Implementation, ServerCapabilities, ServerConfig};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ServerHandler, ServiceExt, tool_handler, transport};

use crate::error::ServerError;
use crate::state::SharedState;

/// What an agent is told first.
const INSTRUCTIONS: &str = "stitch finds, for every step of a written procedure, the clip in a library of \
    instructional videos that shows it, and joins the clips into one video. Begin with find_demonstration; \
    a step without a clip is a gap: say so instead of guessing. explain_step gives the evidence and the other \
    clips of a step, swap_or_lock changes it, render and export write the result.";

/// Answers one client.
#[derive(Clone)]
pub struct Agent {
    state: SharedState,
}

impl Agent {
    pub fn new(state: SharedState) -> Self {
        Self { state }
    }
}

#[tool_handler]
impl ServerHandler for Agent {
    fn get_info(&self) -> ServerConfig {
        let server = Implementation::new("stitch", env!("CARGO_PKG_VERSION"));
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(server)
            .with_instructions(INSTRUCTIONS)
    }
}

/// Answers the client on standard input and output until it goes.
pub async fn serve_stdio(state: SharedState) -> Result<(), ServerError> {
    let begun = Agent::new(state).serve(transport::stdio()).await;
    let served = begun.map_err(|error| ServerError::NoAgent(Box::new(error)))?;
    served.waiting().await.map_err(std::io::Error::from)?;
    Ok(())
}

/// Answers clients over HTTP. The request guard has checked host, origin and token before.
pub fn http(state: &SharedState) -> StreamableHttpService<Agent, LocalSessionManager> {
    let state = state.clone();
    let config = StreamableHttpServerConfig::default().disable_allowed_hosts();
    StreamableHttpService::new(
        move || Ok(Agent::new(state.clone())),
        Arc::new(LocalSessionManager::default()),
        config,
    )
}
