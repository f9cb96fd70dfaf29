//! One file per command.

pub mod world;
