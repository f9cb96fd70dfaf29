//! Models as folders: which there are, where they lie, how they are fetched, how weights are read.

pub mod manifest;
pub mod card;
pub mod weights;
mod fetch;
mod packages;
pub mod store;

pub use card::Card;
pub use manifest::{Manifest, Model, Role};
pub use store::{Entry, ModelError, Store};
pub use weights::{Weights, WeightsError};
