//! Models as folders: which there are, where they lie, how they are fetched, how weights are read.

pub mod manifest;
pub mod card;
mod fetch;
mod ctranslate;
mod packages;
pub mod hub;
pub mod store;

pub use card::Card;
pub use fetch::{FetchError, sha256_of as sha256};
pub use manifest::{Manifest, Model, Role};
pub use stitch_nn::NnError;
pub use stitch_nn::weights::{self, Weights};
pub use store::{Entry, ModelError, Store, hash_of};
