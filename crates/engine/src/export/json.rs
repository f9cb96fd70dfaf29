//! `demo.json`: the demonstration as it is, and back.

use serde::Deserialize;

use super::{Export, ExportError};
use crate::demonstrate::{Confidence, Demonstration};

pub(super) fn write(export: &Export) -> Result<String, ExportError> {
    text(export.demonstration)
}

/// Pretty JSON with a newline at its end; the same demonstration always gives the same bytes.
pub fn text(demonstration: &Demonstration) -> Result<String, ExportError> {
    Ok(serde_json::to_string_pretty(demonstration)? + "\n")
}

pub fn read(bytes: &[u8]) -> Result<Demonstration, ExportError> {
    #[derive(Deserialize)]
    struct Versioned {
        version: u32,
    }
    let Versioned { version: found } =
        serde_json::from_slice(bytes).map_err(ExportError::NoDemonstration)?;
    let expected = Demonstration::VERSION;
    if found != expected {
        return Err(ExportError::Version { found, expected });
    }
    let mut demonstration: Demonstration =
        serde_json::from_slice(bytes).map_err(ExportError::NoDemonstration)?;
    for step in &mut demonstration.steps {
        // other programs need not write it
        step.confidence = Confidence::of(step.chosen.as_ref());
    }
    Ok(demonstration)
}
