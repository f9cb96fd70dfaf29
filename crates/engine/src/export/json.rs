//! `demo.json`: the demonstration as it is, and back.

use serde::Deserialize;

use super::{Export, ExportError, Format};
use crate::demonstrate::{Confidence, Demonstration};

pub(super) const FORMAT: Format = Format {
    name: "json",
    extension: "json",
    media_type: "application/json",
    about: "the demonstration itself",
    write,
};

#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("this is no demonstration ({0}); give the demo.json that `stitch make` wrote")]
    Shape(#[from] serde_json::Error),
    #[error(
        "this demonstration has format {found}, this stitch reads {expected}; make it again, or \
        use the stitch that wrote it"
    )]
    Version { found: u32, expected: u32 },
}

/// Pretty JSON with a newline at its end; the same demonstration always gives the same bytes.
fn write(export: &Export) -> Result<String, ExportError> {
    Ok(serde_json::to_string_pretty(export.demonstration)? + "\n")
}

pub fn read(bytes: &[u8]) -> Result<Demonstration, ReadError> {
    #[derive(Deserialize)]
    struct Versioned {
        version: u32,
    }
    let Versioned { version: found } = serde_json::from_slice(bytes)?;
    let expected = Demonstration::VERSION;
    if found != expected {
        return Err(ReadError::Version { found, expected });
    }
    let mut demonstration: Demonstration = serde_json::from_slice(bytes)?;
    for step in &mut demonstration.steps {
        // other programs need not write it
        step.confidence = Confidence::of(step.chosen.as_ref());
    }
    Ok(demonstration)
}
