//! The page: a person pastes a procedure, watches the demonstration being found, changes what they
//! disagree with, and takes the result to an editor. The same server holds the preference study.
//!
//! Nothing of the method is in here: handlers call the engine. [`app`] is a router without a socket,
//! which is how it is tested; [`serve`] gives it one.

pub mod settings;
pub mod error;
pub mod store;
pub mod looks;
pub mod jobs;
pub mod demonstrations;
pub mod study;
pub mod state;
pub mod wire;
pub mod finding;
pub mod work;
mod guard;
pub mod api;
mod view;
mod serve;

pub use serve::{app, serve};
