//! `LIBRARY/calibration.json`: a calibration that was fitted on labels of this library.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{Library, LibraryError, checksum};
use crate::calibration::Calibration;
use crate::encoder::EncoderId;
use crate::files::{self, FileError};

/// Version 1 had no checksum.
const VERSION: u32 = 2;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CalibrationFile {
    version: u32,
    encoder: EncoderId,
    calibration: Calibration,
    /// Of the rest as JSON without spaces.
    sha256: Option<String>,
}

impl Library {
    pub fn calibration_file(&self) -> PathBuf {
        self.folder.join("calibration.json")
    }

    /// None where nobody has fitted one.
    pub fn calibration(&self) -> Result<Option<Calibration>, LibraryError> {
        let file = self.calibration_file();
        if !file.exists() {
            return Ok(None);
        }
        let read =
            files::read_side_file(&file).map_err(|error| format!("cannot be read ({error})"));
        let parsed = read.and_then(|bytes| parse(&bytes, &self.encoder));
        parsed.map(Some).map_err(|reason| LibraryError::Calibration { file, reason })
    }

    /// Writes a calibration for this library's encoder; this library uses it if the path is
    /// [`Library::calibration_file`].
    pub fn write_calibration(
        &self,
        path: &Path,
        calibration: &Calibration,
    ) -> Result<(), LibraryError> {
        let (encoder, calibration) = (self.encoder.clone(), calibration.clone());
        let mut file = CalibrationFile { version: VERSION, encoder, calibration, sha256: None };
        let text = |file: &CalibrationFile| serde_json::to_string_pretty(file).unwrap(); // cannot fail: strings and numbers
        file.sha256 = checksum_of(text(&file).as_bytes());
        let text = text(&file) + "\n";
        if path != self.calibration_file() {
            return Ok(files::write_whole(path, text.as_bytes())?);
        }
        let _lock = self.lock_writer()?;
        files::write_whole(path, text.as_bytes())?;
        self.touch()
    }

    /// Whether there was one.
    pub fn remove_calibration(&self) -> Result<bool, LibraryError> {
        let file = self.calibration_file();
        if !file.exists() {
            return Ok(false);
        }
        let _lock = self.lock_writer()?;
        std::fs::remove_file(&file).map_err(FileError::at(&file))?;
        self.touch().map(|()| true)
    }
}

/// Of a calibration's JSON, whatever checksum and spaces it has; none if it is no JSON.
fn checksum_of(text: &[u8]) -> Option<String> {
    let mut value: serde_json::Value = serde_json::from_slice(text).ok()?;
    value.as_object_mut()?.shift_remove("sha256");
    Some(checksum::sha256(value.to_string().as_bytes()))
}

/// The error says what is wrong with the content.
fn parse(bytes: &[u8], encoder: &EncoderId) -> Result<Calibration, String> {
    let value: serde_json::Value =
        serde_json::from_slice(bytes).map_err(|error| format!("is no JSON ({error})"))?;
    let found = &value["version"];
    if *found != 1 && *found != VERSION {
        return Err(format!("has version {found}, this program reads {VERSION}"));
    }
    if *found == VERSION && value["sha256"].as_str() != checksum_of(bytes).as_deref() {
        return Err("has changed since it was written".into());
    }
    let file: CalibrationFile = serde_json::from_value(value).map_err(|error| error.to_string())?;
    if file.encoder != *encoder {
        return Err(format!("was fitted for the encoder {}, not {encoder}", file.encoder));
    }
    match file.calibration.is_sound() {
        true => Ok(file.calibration),
        false => Err("has a weight that is no number, or a threshold outside 0 to 1".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn library(folder: &Path) -> Library {
        let encoder = EncoderId { name: "mini".into(), dim: 384, weights: "ab".repeat(32) };
        Library::open_or_create(folder, &encoder).unwrap()
    }

    #[test]
    fn what_was_written_is_read_until_it_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let library = library(folder.path());
        assert_eq!(library.calibration().unwrap(), None);
        let mut fitted = Calibration::of("mini").clone();
        (fitted.gaps.bias, fitted.both.threshold) = (-1.25, 0.61);
        let before = library.generation().unwrap();
        library.write_calibration(&library.calibration_file(), &fitted).unwrap();
        let written = library.generation().unwrap();
        assert!(written > before, "a server that runs must learn of it");
        assert_eq!(library.calibration().unwrap(), Some(fitted));
        assert!(library.remove_calibration().unwrap());
        assert!(library.generation().unwrap() > written);
        assert!(!library.remove_calibration().unwrap());
        assert_eq!(library.calibration().unwrap(), None);
    }

    #[test]
    fn a_file_that_cannot_be_used_is_named_with_the_reason() {
        let folder = tempfile::tempdir().unwrap();
        let library = library(folder.path());
        let path = library.calibration_file();
        library.write_calibration(&path, Calibration::of("mini")).unwrap();
        let whole = std::fs::read_to_string(&path).unwrap();
        for (from, to, says) in [
            ("\"bias\": -12.18", "\"bias\": -12.19", "has changed since it was written"),
            ("\"sha256\"", "\"sha255\"", "has changed since it was written"),
        ] {
            std::fs::write(&path, whole.replacen(from, to, 1)).unwrap();
            let found = library.verify().unwrap();
            assert!(found.len() == 1 && found[0].reason.contains(says), "{found:?}");
            assert!(library.calibration().unwrap_err().to_string().contains(says));
        }
        // Version 1 had no checksum.
        let whole = whole.replacen("\"version\": 2", "\"version\": 1", 1);
        std::fs::write(&path, &whole).unwrap();
        assert!(library.calibration().unwrap().is_some());
        for (from, to, says) in [
            ("{", "", "is no JSON"),
            ("\"version\": 1", "\"version\": 3", "has version 3, this program reads 2"),
            ("\"name\": \"mini\"", "\"name\": \"maxi\"", "was fitted for the encoder maxi"),
            ("\"gaps\"", "\"holes\"", "unknown field `holes`"),
            ("\"words\"", "\"sounds\"", "unknown field `sounds`"),
            ("\"bias\": -12.18", "\"bias\": null", "invalid type: null"),
            ("\"bias\": -12.18", "\"bias\": 1e300", "no number"),
            ("\"threshold\": 0.5", "\"threshold\": 1.5", "outside 0 to 1"),
        ] {
            assert!(whole.contains(from), "{from} in {whole}");
            std::fs::write(&path, whole.replacen(from, to, 1)).unwrap();
            let error = library.calibration().unwrap_err().to_string();
            assert!(error.contains(says) && error.contains("calibration.json"), "{error}");
            assert!(error.contains("stitch calibrate --reset"), "{error}");
        }
    }
}
