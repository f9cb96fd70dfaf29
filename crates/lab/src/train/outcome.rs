//! The outcome of a training: the model's card with its metrics.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use stitch_engine::evaluator::{Config, Evaluator};
use stitch_engine::files::hex;
use stitch_engine::models::{Card, Role, Weights};

use super::checkpoint::{self, Position, fingerprint};
use super::held_out::{CalibrationReport, TestMetrics};
use super::{TrainError, TrainOutput};
use crate::collection::Collection;
use crate::dataset::Split;

/// Titles on the card, by which a query finds its domain.
const MAX_TITLES: usize = 12;

#[derive(Clone, Debug, PartialEq)]
pub struct Trained {
    /// Metrics and settings, as on the card.
    pub metrics: Map<String, Value>,
    /// Whether an earlier run completed it.
    pub done_before: bool,
}

impl Trained {
    /// `metrics` of every collection; the calibration is that of the first.
    pub(super) fn new(
        metrics: &[TestMetrics],
        calibration: &CalibrationReport,
        position: &Position,
        steps: u64,
        settings: Value,
    ) -> Self {
        let (first, further) = (&metrics[0], &metrics[1..]);
        let further = (!further.is_empty()).then(|| ("further", json!(further)));
        let values = [
            ("procedures", json!(first.procedures)),
            ("evaluator", json!(first.evaluator)),
            ("average_similarity", json!(first.average_similarity)),
            ("calibration", json!(calibration)),
            ("best_epoch", json!(position.best)),
            ("epochs", json!(position.epoch)),
            ("steps", json!(steps)),
            ("seconds", json!(position.seconds.round())),
            ("fingerprint", json!(fingerprint(&settings))),
            ("settings", settings),
        ];
        let metrics = further.into_iter().chain(values);
        let metrics = metrics.map(|(name, value)| (name.to_owned(), value)).collect();
        Self { metrics, done_before: false }
    }

    pub(super) fn card(
        &self,
        evaluator: &Evaluator,
        collections: &[Collection],
        output: &TrainOutput,
    ) -> Card {
        let config = &evaluator.config;
        let folder = output.folder.file_name().unwrap_or_default().to_string_lossy();
        Card {
            name: folder.into_owned(),
            role: Role::Evaluator,
            about: about(config, &collections[0]),
            licence: output.licence.clone(),
            data: collections.iter().map(data).collect::<Vec<_>>().join(" | "),
            origin: "stitch train".into(),
            seed: self.metrics["settings"]["options"]["seed"].as_u64(),
            metrics: self.metrics.clone(),
            sha256: BTreeMap::new(),
        }
    }
}

/// The domain, with the most frequent tasks.
fn about(config: &Config, of: &Collection) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    of.of_split(Split::Train).for_each(|of| *counts.entry(&of.task).or_default() += 1);
    let mut titles: Vec<&str> = counts.keys().copied().collect();
    titles.sort_by_key(|task| std::cmp::Reverse(counts[task]));
    titles.truncate(MAX_TITLES);
    format!("Judges demonstrations of {}: {}", config.domain, titles.join("; "))
}

fn data(of: &Collection) -> String {
    let mut kinds: BTreeMap<(Split, &str), usize> = BTreeMap::new();
    let mut videos: BTreeMap<Split, BTreeSet<_>> = BTreeMap::new();
    for instance in &of.instances {
        *kinds.entry((instance.split, &instance.builder)).or_default() += 1;
        let own = instance.truth.iter().map(|clip| of.pool.clip(*clip).video);
        videos.entry(instance.split).or_default().extend(own);
    }
    let part = |(split, videos): (&Split, &BTreeSet<_>)| {
        let name = if *split == Split::Train { "train" } else { "held out" };
        let kinds = kinds.iter().filter(|((of, _), _)| of == split);
        let kinds: Vec<String> =
            kinds.map(|((_, builder), count)| format!("{count} {builder}")).collect();
        format!("{name}: {} procedures of {} videos", kinds.join(" and "), videos.len())
    };
    let parts: Vec<String> = videos.iter().map(part).collect();
    format!("{}; sha256 {}", parts.join("; "), data_hash(of))
}

/// A hash of the procedures and features.
pub(super) fn data_hash(of: &Collection) -> String {
    let mut hash = Sha256::new();
    let mut add = |row: &[f32]| row.iter().for_each(|x| hash.update(x.to_le_bytes()));
    add(of.pool.clip_features().to_features().as_slice());
    of.instances.iter().for_each(|instance| add(instance.clip.as_slice()));
    for instance in &of.instances {
        hash.update([u8::from(instance.split == Split::Train)]);
        instance.truth.iter().for_each(|clip| hash.update(clip.0.to_le_bytes()));
        instance.texts.iter().for_each(|text| hash.update(text));
    }
    hex(&hash.finalize())
}

/// The outcome in a folder, if this very training was completed there. A model of another is an error: it
/// must not be overwritten.
pub(super) fn read(folder: &Path, settings: &Value) -> Result<Option<Trained>, TrainError> {
    let own = json!(fingerprint(settings));
    match Card::read(folder) {
        Some(card) if card.metrics.get("fingerprint") == Some(&own) => {
            Ok(Some(Trained { metrics: card.metrics, done_before: true }))
        }
        // The card is written last: without one the checkpoint identifies the training.
        None if folder.join(checkpoint::FILE).exists() => Ok(None),
        None if !folder.join(Weights::FILE).exists() => Ok(None),
        _ => Err(TrainError::Occupied { folder: folder.to_owned() }),
    }
}
