//! Checkpoints: one safetensors file, written whole, so that a training that was killed continues from it and
//! ends with the same weights.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use safetensors::SafeTensorError;
use safetensors::tensor::{Dtype, TensorView};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use stitch_engine::evaluator::AdamWState;
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

pub struct Checkpoint {
    pub position: Position,
    pub state: OptimiserState,
    /// The weights of the best epoch; empty before the first.
    pub best: Vec<f32>,
}

#[derive(Deserialize)]
struct Head {
    version: u32,
    steps: u64,
    fingerprint: String,
    settings: Value,
    position: Position,
}

fn broken<E: ToString>(path: &Path) -> impl Fn(E) -> TrainError {
    |error| TrainError::BrokenCheckpoint { path: path.into(), reason: error.to_string() }
}

/// Replaces the checkpoint in the folder. `best` holds the weights of the best epoch.
pub fn write(
    folder: &Path,
    settings: &Value,
    position: &Position,
    state: &OptimiserState,
    best: &[f32],
) -> Result<(), TrainError> {
    let path = folder.join(FILE);
    let head = json!({
        "version": VERSION,
        "steps": state.moments.steps,
        "fingerprint": fingerprint(settings),
        "settings": settings,
        "position": position,
    });
    let rows: [(&str, &[f32]); 4] = [
        ("weights", &state.weights),
        ("first", &state.moments.first),
        ("second", &state.moments.second),
        ("best", best),
    ];
    let bytes = rows.map(|(_, row)| row.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>());
    let views = rows.iter().zip(&bytes).map(|((name, row), bytes)| {
        Ok((*name, TensorView::new(Dtype::F32, vec![row.len()], bytes)?))
    });
    let views: Vec<_> = views.collect::<Result<_, SafeTensorError>>().map_err(broken(&path))?;
    let metadata = Some(HashMap::from([("stitch".to_owned(), head.to_string())]));
    let file = safetensors::serialize(views, metadata).map_err(broken(&path))?;
    Ok(write_whole(&path, &file)?)
}

/// The checkpoint in a folder, if there is one, of a training with these settings and so many weights.
pub fn read(
    folder: &Path,
    settings: &Value,
    count: usize,
) -> Result<Option<Checkpoint>, TrainError> {
    let path = folder.join(FILE);
    if !path.is_file() {
        return Ok(None);
    }
    let weights = Weights::open_file(&path)?;
    let head = weights.metadata("stitch");
    let head = head.ok_or_else(|| broken(&path)("it is no checkpoint of a training"))?;
    let head: Head = serde_json::from_str(head).map_err(broken(&path))?;
    if head.version != VERSION {
        let form = format!("its form is {}, this program reads {VERSION}", head.version);
        return Err(broken(&path)(form));
    }
    if head.fingerprint != fingerprint(settings) {
        let mut difference = differences("", &head.settings, settings);
        difference.truncate(3);
        let difference = difference.join(", ");
        return Err(TrainError::OtherCheckpoint { path, difference });
    }
    let row = |name: &str| weights.tensor(name, &[count]);
    let best = if head.position.best.is_some() { row("best")? } else { Vec::new() };
    let moments = AdamWState { first: row("first")?, second: row("second")?, steps: head.steps };
    let state = OptimiserState { weights: row("weights")?, moments };
    Ok(Some(Checkpoint { position: head.position, state, best }))
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

/// A hash of the settings' text, because numbers that are written and read again may differ in their last
/// digit.
pub fn fingerprint(settings: &Value) -> String {
    hex(&Sha256::digest(settings.to_string()))
}

/// The settings that are not the same.
fn differences(name: &str, there: &Value, here: &Value) -> Vec<String> {
    let (Value::Object(a), Value::Object(b)) = (there, here) else {
        let short = |value: &Value| value.to_string().chars().take(40).collect::<String>();
        let told = || format!("{name} {} there, {} here", short(there), short(here));
        return (there != here).then(told).into_iter().collect();
    };
    let names: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    names.into_iter().flat_map(|name| differences(name, &there[name], &here[name])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write_numbers(folder: &Path, settings: &Value, numbers: &[f32]) -> Position {
        let moments = AdamWState { first: numbers.into(), second: numbers.into(), steps: 7 };
        let state = OptimiserState { weights: numbers.into(), moments };
        let position = Position { epoch: 1, batch: 3, loss: (0.25, 2), ..Position::default() };
        write(folder, settings, &position, &state, &[]).unwrap();
        position
    }

    #[test]
    fn what_is_written_is_read_bit_by_bit() {
        let folder = tempfile::tempdir().unwrap();
        let settings = json!({"width": 64});
        assert!(read(folder.path(), &settings, 3).unwrap().is_none());
        let numbers = [1.0 / 3.0, -1e-20, 5.0];
        let position = write_numbers(folder.path(), &settings, &numbers);
        let found = read(folder.path(), &settings, 3).unwrap().unwrap();
        assert_eq!((&found.state.weights[..], found.state.moments.steps), (&numbers[..], 7));
        assert_eq!(found.position, position);
    }

    #[test]
    fn one_of_another_training_is_refused_with_the_difference() {
        let folder = tempfile::tempdir().unwrap();
        let there = json!({"config": {"width": 64, "layers": 2}, "seed": 1});
        write_numbers(folder.path(), &there, &[1.0]);
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
        write_numbers(folder.path(), &json!({}), &[1.0]);
        assert!(told(2).contains("has the shape [1], the config makes it [2]"), "{}", told(2));
        write_numbers(folder.path(), &json!({}), &[f32::NAN]);
        assert!(told(1).contains("not finite"), "{}", told(1));
    }
}
