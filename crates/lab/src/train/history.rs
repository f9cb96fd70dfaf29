//! What a training tells of itself: lines for a file and for whoever watches.

use serde::{Deserialize, Serialize};

/// A line of the history.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Line {
    /// Some batches are done.
    Steps(Steps),
    /// An epoch is done.
    Epoch(Epoch),
}

/// Some batches.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Steps {
    /// How much is learnt: epochs, in parts.
    pub epoch: f64,
    /// Batches since the beginning.
    pub step: u64,
    /// Their mean loss.
    pub loss: f64,
    /// The learning rate at the end of them.
    pub rate: f64,
}

/// An epoch.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Epoch {
    /// Which, from 1.
    pub epoch: usize,
    /// Batches since the beginning.
    pub step: u64,
    /// The mean loss of its batches.
    pub loss: f64,
    /// The learning rate at its end.
    pub rate: f64,
    /// The median rank of the truth among 500, on procedures held out.
    pub medr: f64,
    /// The share of these whose truth is among the first 50.
    pub r50: f64,
    /// The mean of one over the rank.
    pub mrr: f64,
    /// Sequences learnt from per second.
    pub samples_per_s: f64,
    /// Seconds that the rest will take, if all epochs are done.
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

/// The lines as JSON, one under the other.
pub fn jsonl(lines: &[Line]) -> Result<Vec<u8>, serde_json::Error> {
    let mut out = Vec::new();
    for line in lines {
        serde_json::to_writer(&mut out, line)?;
        out.push(b'\n');
    }
    Ok(out)
}
