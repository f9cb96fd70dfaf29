//! The web interface: enter a procedure, watch the demonstration, change its clips, export it; the same for
//! agents; and the preference study.
//!
//! The method itself is in the engine; handlers call it. [`app`] is a router without a socket, which is how
//! it is tested; [`serve`] binds it to one.

pub mod settings;
pub mod error;
pub mod database;
pub mod options;
pub mod jobs;
pub mod demonstrations;
pub mod study;
pub mod state;
pub mod soundtrack;
pub mod shares;
pub mod wire;
pub mod editor;
pub mod worker;
mod guard;
pub mod api;
pub mod mcp;
mod view;
mod serve;

pub use serve::{app, serve, serve_agent};
