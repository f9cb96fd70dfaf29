//! Where a training stands, on disk: one safetensors file, written whole, so that a run that was killed
//! goes on from it and ends with the same weights.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use safetensors::tensor::{Dtype, TensorView};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use stitch_engine::files::{FileError, hex, write_whole};
use stitch_engine::models::{NnError, Weights};

use super::history::{Epoch, Line};
use super::learner::State;

/// The file's name in the model's folder.
pub const FILE: &str = "checkpoint.safetensors";

/// The form of the file.
const VERSION: u32 = 1;

/// Why there is no checkpoint.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    /// It could not be written; the one before it stays.
    #[error(transparent)]
    File(#[from] FileError),
    /// It is not what it should be.
    #[error("{0}; remove the file to begin anew")]
    Weights(#[from] NnError),
    /// It is of another training.
    #[error("{} is of another training ({difference}); give the same options to go on with that one, \
        another `--out`, or remove the file to begin anew", path.display())]
    Other {
        /// Which file.
        path: PathBuf,
        /// What is different.
        difference: String,
    },
    /// It cannot be understood.
    #[error("{}: {reason}; remove the file to begin anew", path.display())]
    Broken {
        /// Which file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
}

/// Where a training stands, beside its numbers.
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
    /// The best epoch.
    pub best: Option<Epoch>,
    /// Seconds spent.
    pub seconds: f64,
    /// What has been told.
    pub history: Vec<Line>,
}

/// What a checkpoint holds.
pub struct Checkpoint<'a> {
    /// Where the training stands.
    pub position: Cow<'a, Position>,
    /// What learning has changed.
    pub state: State<'a>,
    /// The best weights, once there are any.
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
    /// Writes it into a folder; what was there before is there until all of it is.
    pub fn write(&self, folder: &Path, settings: &Value) -> Result<(), CheckpointError> {
        let path = folder.join(FILE);
        let broken = |reason: String| CheckpointError::Broken { path: path.clone(), reason };
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
        let told = Some(HashMap::from([("stitch".to_owned(), head)]));
        let file =
            safetensors::serialize(views, told).map_err(|error| broken(error.to_string()))?;
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
) -> Result<Option<Checkpoint<'static>>, CheckpointError> {
    let path = folder.join(FILE);
    if !path.is_file() {
        return Ok(None);
    }
    let head = read_head(&path)?;
    if head.fingerprint != fingerprint(settings) {
        let difference = difference(&head.settings, settings);
        return Err(CheckpointError::Other { path, difference });
    }
    let weights = Weights::open_file(&path)?;
    let row = |name: &str| weights.tensor(name, &[count]).map(Cow::Owned);
    let best = match &head.position.best {
        Some(_) => row("best")?,
        None => Cow::Owned(Vec::new()),
    };
    let state = State {
        weights: row("weights")?,
        first: row("first")?,
        second: row("second")?,
        steps: head.steps,
    };
    Ok(Some(Checkpoint { position: Cow::Owned(head.position), state, best }))
}

fn read_head(path: &Path) -> Result<Head, CheckpointError> {
    let broken = |reason: String| CheckpointError::Broken { path: path.to_owned(), reason };
    let told = Weights::open_file(path)?.metadata("stitch").map(str::to_owned);
    let told = told.ok_or_else(|| broken("it is no checkpoint of a training".into()))?;
    let head: Head = serde_json::from_str(&told).map_err(|error| broken(error.to_string()))?;
    match head.version {
        VERSION => Ok(head),
        other => Err(broken(format!("its form is {other}, this program reads {VERSION}"))),
    }
}

/// What identifies settings: of their text, because numbers that are written and read again may differ in
/// their last digit.
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
        let state = State {
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
