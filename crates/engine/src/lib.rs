//! The method applied to the world: videos, narration, models, the library on disk, and the
//! demonstration as a file one can watch.
//!
//! Modules stand in flow order and import only upward. Nothing here prints or exits; whatever
//! takes long reports to a [`progress::Progress`] and can be stopped through it.

pub mod progress;
pub mod errors;
pub mod options;
pub mod files;
pub mod fonts;
pub mod media;
pub mod footage;
pub mod overlay;
pub mod lexicon;
pub mod transcript;
pub mod recipe;
pub mod models;
mod cross_encoder;
pub mod reader;
pub mod sentence;
pub mod listen;
pub mod summarise;
pub mod understand;
pub mod encoder;
pub mod screen_text;
pub mod calibration;
pub mod library;
pub mod index;
pub mod shards;
pub mod moments;
pub mod scorer;
pub mod evaluator;
pub mod scorers;
pub mod demonstrate;
pub mod session;
pub mod fill;
pub mod render;
pub mod voice;
pub mod export;
