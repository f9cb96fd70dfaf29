//! ONNX Runtime, found: where the variable ORT_DYLIB_PATH says, else in the store of models.

use std::path::Path;

pub use stitch_nn::onnx::{Graph, Input, Output, Runtime};

use crate::models::{ModelError, NnError, Store};

/// Why there is no runtime.
#[derive(Debug, thiserror::Error)]
pub enum RuntimeError {
    /// It is not installed.
    #[error("ONNX Runtime, which runs encoders that look at pictures, is not here: {0}")]
    NotInstalled(#[from] ModelError),
    /// It does not load.
    #[error(transparent)]
    Library(#[from] NnError),
}

/// The runtime of the variable ORT_DYLIB_PATH, else that of the store.
pub fn find(store: &Store) -> Result<Runtime, RuntimeError> {
    match std::env::var_os("ORT_DYLIB_PATH").filter(|path| !path.is_empty()) {
        Some(path) => Ok(Runtime::load(Path::new(&path))?),
        None => Ok(Runtime::load(&store.path(Runtime::MODEL)?.join(Runtime::LIBRARY))?),
    }
}
