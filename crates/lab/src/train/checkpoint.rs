//! Checkpoints: one safetensors file, written whole, so that a training that was killed continues from it and
//! ends with the same weights.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;

use safetensors::tensor::{Dtype, TensorView};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use stitch_engine::files::{FileError, hex, write_whole};
use stitch_engine::models::Weights;

use super::TrainError;
use super::history::{Epoch, TrainEvent};
use super::learner::OptimiserState;

pub const FILE: &str = "checkpoint.safetensors";

const VERSION: u32 = 1;

/// How far a training is, beside weights and moments.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Position {
    /// Epochs that are done.
    pub epoch: usize,
    /// Batches of the next one that are done.
    pub batch: usize,
    /// The sum of losses since the last line of the history, and of how many batches.
    pub loss: (f64, u32),
    /// The same since the epoch began.
    pub epoch_loss: (f64, u32),
    pub best: Option<Epoch>,
    pub seconds: f64,
    pub history: Vec<TrainEvent>,
}

pub struct Checkpoint<'a> {
    pub position: Cow<'a, Position>,
    pub state: OptimiserState<'a>,
    /// The weights of the best epoch; empty before the first.
    pub best: Cow<'a, [f32]>,
}

#[derive(Serialize, Deserialize)]
struct Head {
    version: u32,
    steps: u64,
    fingerprint: String,
    settings: Value,
    position: Position,
}

impl Checkpoint<'_> {
    /// Replaces the one in the folder.
    pub fn write(&self, folder: &Path, settings: &Value) -> Result<(), TrainError> {
        let path = folder.join(FILE);
        let broken = |reason: String| TrainError::BrokenCheckpoint { path: path.clone(), reason };
        let head = Head {
            version: VERSION,
            steps: self.state.steps,
            fingerprint: fingerprint(settings),
            settings: settings.clone(),
            position: self.position.clone().into_owned(),
        };
        let head = serde_json::to_string(&head).map_err(|error| broken(error.to_string()))?;
        let rows: [(&str, &[f32]); 4] = [
            ("weights", &self.state.weights),
            ("first", &self.state.first),
            ("second", &self.state.second),
            ("best", &self.best),
        ];
        let bytes = rows.map(|(_, row)| little_endian(row));
        let mut views = Vec::new();
        for ((name, row), bytes) in rows.iter().zip(&bytes) {
            let view = TensorView::new(Dtype::F32, vec![row.len()], bytes);
            views.push((*name, view.map_err(|error| broken(error.to_string()))?));
        }
        let metadata = Some(HashMap::from([("stitch".to_owned(), head)]));
        let file =
            safetensors::serialize(views, metadata).map_err(|error| broken(error.to_string()))?;
        Ok(write_whole(&path, &file)?)
    }
}

fn little_endian(row: &[f32]) -> Vec<u8> {
    row.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// The checkpoint in a folder, if there is one, of a training with these settings and so many weights.
pub fn read(
    folder: &Path,
    settings: &Value,
    count: usize,
) -> Result<Option<Checkpoint<'static>>, TrainError> {
    let path = folder.join(FILE);
    if !path.is_file() {
        return Ok(None);
    }
    let head = read_head(&path)?;
    if head.fingerprint != fingerprint(settings) {
        let difference = difference(&head.settings, settings);
        return Err(TrainError::OtherCheckpoint { path, difference });
    }
    let weights = Weights::open_file(&path)?;
    let row = |name: &str| weights.tensor(name, &[count]).map(Cow::Owned);
    let best = match &head.position.best {
        Some(_) => row("best")?,
        None => Cow::Owned(Vec::new()),
    };
    let state = OptimiserState {
        weights: row("weights")?,
        first: row("first")?,
        second: row("second")?,
        steps: head.steps,
    };
    Ok(Some(Checkpoint { position: Cow::Owned(head.position), state, best }))
}

/// Removes the checkpoint of a training that is complete.
pub fn remove(folder: &Path) -> Result<(), FileError> {
    let path = folder.join(FILE);
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(FileError::at(path)(error))
        }
        _ => Ok(()),
    }
}

fn read_head(path: &Path) -> Result<Head, TrainError> {
    let broken = |reason: String| TrainError::BrokenCheckpoint { path: path.to_owned(), reason };
    let head = Weights::open_file(path)?.metadata("stitch").map(str::to_owned);
    let head = head.ok_or_else(|| broken("it is no checkpoint of a training".into()))?;
    let head: Head = serde_json::from_str(&head).map_err(|error| broken(error.to_string()))?;
    match head.version {
        VERSION => Ok(head),
        other => Err(broken(format!("its form is {other}, this program reads {VERSION}"))),
    }
}

/// A hash of the settings' text, because numbers that are written and read again may differ in their last
/// digit.
pub fn fingerprint(settings: &Value) -> String {
    hex(&Sha256::digest(settings.to_string()))
}

/// The first few settings that are not the same.
fn difference(there: &Value, here: &Value) -> String {
    let mut all = Vec::new();
    differences("", there, here, &mut all);
    all.truncate(3);
    all.join(", ")
}

fn differences(name: &str, there: &Value, here: &Value, all: &mut Vec<String>) {
    match (there, here) {
        (Value::Object(a), Value::Object(b)) => {
            let mut keys: Vec<&String> = a.keys().chain(b.keys()).collect();
            keys.sort();
            keys.dedup();
            for key in keys {
                let of = |map: &serde_json::Map<String, Value>| {
                    map.get(key).cloned().unwrap_or(Value::Null)
                };
                differences(key, &of(a), &of(b), all);
            }
        }
        _ if there != here => {
            all.push(format!("{name} {} there, {} here", short(there), short(here)))
        }
        _ => {}
    }
}

fn short(value: &Value) -> String {
    value.to_string().chars().take(40).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn checkpoint(numbers: &[f32]) -> Checkpoint<'_> {
        let state = OptimiserState {
            weights: numbers.into(),
            first: numbers.into(),
            second: numbers.into(),
            steps: 7,
        };
        let position = Position { epoch: 1, batch: 3, loss: (0.25, 2), ..Position::default() };
        Checkpoint { position: Cow::Owned(position), state, best: Cow::Borrowed(&[]) }
    }

    #[test]
    fn what_is_written_is_read_bit_by_bit() {
        let folder = tempfile::tempdir().unwrap();
        let settings = json!({"width": 64});
        assert!(read(folder.path(), &settings, 3).unwrap().is_none());
        let numbers = [1.0 / 3.0, -1e-20, 5.0];
        checkpoint(&numbers).write(folder.path(), &settings).unwrap();
        let found = read(folder.path(), &settings, 3).unwrap().unwrap();
        assert_eq!((&*found.state.weights, found.state.steps), (&numbers[..], 7));
        assert_eq!(*found.position, *checkpoint(&numbers).position);
    }

    #[test]
    fn one_of_another_training_is_refused_with_the_difference() {
        let folder = tempfile::tempdir().unwrap();
        let there = json!({"config": {"width": 64, "layers": 2}, "seed": 1});
        checkpoint(&[1.0]).write(folder.path(), &there).unwrap();
        let here = json!({"config": {"width": 96, "layers": 2}, "seed": 2});
        let error = read(folder.path(), &here, 1).err().unwrap().to_string();
        assert!(error.contains("(width 64 there, 96 here, seed 1 there, 2 here)"), "{error}");
    }

    #[test]
    fn one_that_is_broken_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE);
        std::fs::write(&path, b"nonsense").unwrap();
        let told = |count| read(folder.path(), &json!({}), count).err().unwrap().to_string();
        assert!(told(1).contains("not a whole safetensors file"), "{}", told(1));
        checkpoint(&[1.0]).write(folder.path(), &json!({})).unwrap();
        assert!(told(2).contains("has the shape [1], the config makes it [2]"), "{}", told(2));
        checkpoint(&[f32::NAN]).write(folder.path(), &json!({})).unwrap();
        assert!(told(1).contains("not finite"), "{}", told(1));
    }
}
