//! The events of a training, for a file and for whoever watches.

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum TrainEvent {
    Steps(Steps),
    Epoch(Epoch),
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Steps {
    /// Epochs so far, in parts.
    pub epoch: f64,
    /// Batches since the beginning.
    pub step: u64,
    /// The mean loss of the batches since the last event.
    pub loss: f64,
    /// The learning rate at the end of them.
    pub rate: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Epoch {
    /// From 1.
    pub epoch: usize,
    /// Batches since the beginning.
    pub step: u64,
    /// The mean loss of its batches.
    pub loss: f64,
    /// The learning rate at its end.
    pub rate: f64,
    /// The median rank of the truth among 500, on held-out procedures.
    pub medr: f64,
    /// The share of these whose truth is among the first 50.
    pub r50: f64,
    pub mrr: f64,
    pub samples_per_s: f64,
    /// Time for the remaining epochs, if none is left out.
    pub left_s: f64,
}

impl Epoch {
    /// Whether it ranks truths better than another: by median rank, then R@50, then mean reciprocal
    /// rank.
    pub fn is_better(&self, than: &Self) -> bool {
        let key = |epoch: &Self| [epoch.medr, -epoch.r50, -epoch.mrr];
        key(self).partial_cmp(&key(than)) == Some(std::cmp::Ordering::Less)
    }
}
