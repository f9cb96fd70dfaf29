//! The server as a browser sees it, without a socket.

mod site;
mod library;
mod demonstrations;
mod jobs;
mod hostile;
mod study;
mod interface;
