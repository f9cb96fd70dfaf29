//! One file per command.

pub mod index;
pub mod make;
pub mod search;
pub mod library;
pub mod models;
pub mod world;
pub mod eval;
pub mod doctor;
pub mod shell;
