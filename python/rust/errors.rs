//! Errors of the engine as Python exceptions.

use std::error::Error;

use pyo3::exceptions::{PyException, PyUserWarning};
use pyo3::prelude::*;
use serde::de::DeserializeOwned;
use stitch_engine::errors::Explained;

pyo3::create_exception!(stitch, StitchError, PyException, "Something failed; the message says what to do next.");
pyo3::create_exception!(stitch, OptionError, StitchError, "An argument is out of range.");
pyo3::create_exception!(stitch, StitchWarning, PyUserWarning, "Something went wrong that the work survived.");

/// A `StitchError` with the message and its causes, as the command line prints them.
pub fn failed(error: impl Error + 'static) -> PyErr {
    let Explained { message, causes, .. } = Explained::of(&error);
    let lines = causes.into_iter().map(|cause| format!("\n  because: {cause}"));
    StitchError::new_err(message + &lines.collect::<String>())
}

pub fn wrong_option(error: impl ToString) -> PyErr {
    OptionError::new_err(error.to_string())
}

/// The value of an option that is chosen by its name.
pub fn named<T: DeserializeOwned>(option: &str, name: &str) -> PyResult<T> {
    let value = serde_json::from_value(name.into());
    value.map_err(|error| wrong_option(format!("{option}: {error}")))
}
