//! The synthetic library: instructional videos drawn from a seed, with exact truth.
//!
//! docs/src/world.md explains the data files and the truth.

pub mod vocabulary;
pub mod catalogue;
mod random;
mod text;
pub mod drawing;
pub mod narration;
pub mod script;
pub mod truth;
pub mod library;
pub mod questions;
pub mod settings;
mod folder;
mod foley;
mod sound;
pub mod render;
mod picture;
pub mod frames;
pub mod sheet;
