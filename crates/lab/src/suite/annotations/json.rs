//! Reading JSON of others.

use std::path::Path;

use serde_json::{Map, Value};
use stitch_engine::files::FileError;

use super::AnnotationsError;
use crate::suite::plain::milliseconds;

pub fn read(path: &Path, kind: &'static str) -> Result<Value, AnnotationsError> {
    let bytes = std::fs::read(path).map_err(FileError::at(path))?;
    serde_json::from_slice(&bytes).map_err(|error| wrong(path, kind, error))
}

/// The error for a file of another kind.
pub fn wrong(path: &Path, kind: &'static str, reason: impl ToString) -> AnnotationsError {
    AnnotationsError::Format { path: path.into(), kind, reason: reason.to_string() }
}

pub fn text<'a>(object: &'a Map<String, Value>, key: &str) -> Option<&'a str> {
    object.get(key)?.as_str()
}

/// A name that may be written as a number.
pub fn name(value: &Value) -> Option<String> {
    match value {
        Value::String(name) => Some(name.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

pub fn pair(value: Option<&Value>) -> Option<(f64, f64)> {
    let both = value?.as_array()?;
    Some((both.first()?.as_f64()?, both.get(1)?.as_f64()?))
}

/// Seconds as milliseconds, where they can be the length of a video.
pub fn length(seconds: Option<&Value>) -> Option<u64> {
    milliseconds(seconds?.as_f64()?)
}
