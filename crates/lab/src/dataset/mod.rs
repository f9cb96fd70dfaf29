//! D_w: procedures mixed out of the videos of a library, each with the clips that show it, to learn
//! from without anyone having labelled anything.

pub mod recipes;
pub mod mine;
pub mod mix;
pub mod rules;
pub mod sampled;
pub mod language;
pub mod examples;
pub mod build;

pub use build::{Build, BuildError, BuildReport, build};
pub use examples::{Example, ExamplesError, Split, read, write};
pub use mine::{MineOptions, groups};
pub use mix::{MixedStep, Mixer, Rejected};
pub use recipes::Recipe;
