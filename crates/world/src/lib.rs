//! The made-up library: instructional videos drawn from a seed, with exact truth.

pub mod vocabulary;
mod lettering;
pub mod stage;
pub mod dice;
pub mod task;
pub mod narration;
pub mod script;
pub mod truth;
pub mod library;
pub mod settings;
pub mod folder;
mod foley;
pub mod sound;
pub mod render;
mod picture;
pub mod frames;
pub mod sheet;
