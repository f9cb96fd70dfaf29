//! The server over HTTP, without a socket.

mod site;
mod library;
mod demonstrations;
mod jobs;
mod shares;
mod videos;
mod agents;
mod hostile;
mod limits;
mod study;
mod interface;
