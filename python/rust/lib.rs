//! The Python package `stitch`, beneath its Python part: calls of the engine, results as JSON.

mod errors;
mod work;
mod options;
mod matrix;
mod library;
mod render;

use pyo3::prelude::*;

#[pymodule]
mod _stitch {
    #[pymodule_export]
    use crate::errors::{OptionError, StitchError, StitchWarning};
    #[pymodule_export]
    use crate::library::{Library, merge};
    #[pymodule_export]
    use crate::matrix::Matrix;
    #[pymodule_export]
    use crate::render::{read_demonstration, render, thumbnail, write_demonstration};
    #[pymodule_export]
    #[allow(non_upper_case_globals)] // as Python names it
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
