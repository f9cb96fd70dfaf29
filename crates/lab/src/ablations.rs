//! Ablations: evaluators trained on fewer kinds of negatives, or on other data, on the same candidates.
//!
//! Their inputs are the features of step and clip, as in the paper, and how sources follow one another, which
//! features of small encoders do not show; there is no prior. Similarity as an input or in the score would
//! replace what correctness teaches, and rank well without training.

use std::path::{Path, PathBuf};

use stitch_core::cover::Sequence;
use stitch_core::pool::Pool;
use stitch_engine::evaluator::{Channels, Config, Evaluator, Precision};
use stitch_engine::progress::{Progress, Within};
use stitch_engine::scorer::{Query, Scorer, Scores};

use crate::collection::Instance;
use crate::dataset::Split;
use crate::suite::compare::{CompareOptions, Extra, compare};
use crate::suite::report::{Ablation, AblationRow};
use crate::suite::test_set::TestSet;
use crate::train::{NegativeRates, TrainDevice, TrainError, TrainOptions, TrainOutput, train};

/// Trainings with different seeds in a row; their scores are added. Chosen by hand.
const ENSEMBLE: u64 = 3;

#[derive(Clone, Debug)]
pub struct TrainSetup {
    /// On the models' cards.
    pub domain: String,
    pub channels: Channels,
    pub train: TrainOptions,
}

impl TrainSetup {
    /// For ablations: one negative of each kind that is not left out.
    pub fn ablation(domain: &str, seed: u64) -> Self {
        let channels = Channels { source: true, ..Channels::default() };
        let negatives =
            NegativeRates { whole: 0.2, shortened: 1.0, reword: 0.0, ..NegativeRates::default() };
        let train = TrainOptions {
            seed,
            negatives,
            batch: 128,
            rate: 1e-3,
            epochs: 8,
            patience: Some(8),
            held_out: 300,
            prior: false,
            ..TrainOptions::default()
        };
        Self { domain: domain.into(), channels, train }
    }
}

/// An evaluator trained on the training part of a set, as far as `keep` accepts it; loaded from the folder
/// where it was trained before.
pub fn train_evaluator(
    set: &TestSet,
    keep: impl Fn(&Instance) -> bool,
    setup: &TrainSetup,
    folder: &Path,
    progress: &dyn Progress,
) -> Result<Evaluator, TrainError> {
    let mut collection = set.collection.clone();
    collection.instances.retain(|instance| instance.split == Split::HeldOut || keep(instance));
    let small = Config::small(set.encoder.clone(), &setup.domain);
    let config = Config { channels: setup.channels, ..small };
    let output = TrainOutput {
        folder: folder.into(),
        device: TrainDevice::Cpu,
        precision: Precision::F32,
        checkpoint_every: u64::MAX,
        licence: "for measuring only".into(),
    };
    train(&[collection], &config, &setup.train, &output, &|_| {}, &Within(progress))?;
    Ok(Evaluator::load(folder)?)
}

/// Evaluators trained alike but for the seed.
struct Ensemble {
    name: String,
    evaluators: Vec<Evaluator>,
}

impl Scorer for Ensemble {
    fn name(&self) -> &str {
        "evaluator"
    }

    fn score(&self, query: &Query, pool: &Pool, candidates: &[Sequence]) -> Scores {
        let mut sums = vec![0.0; candidates.len()];
        for evaluator in &self.evaluators {
            let scores = evaluator.score(query, pool, candidates)?;
            sums.iter_mut().zip(scores).for_each(|(sum, score)| *sum += score);
        }
        Ok(sums)
    }
}

/// The rows of the paper's ablation: every choice of the three kinds but none, with the rates of correctness,
/// continuity and state. The rate of one kind does not depend on whether others are left out.
fn choices() -> [(String, [f64; 3]); 7] {
    let names = ["correctness", "continuity", "state"];
    [1, 2, 4, 3, 5, 6, 7].map(|bits: u8| {
        let kept = [0, 1, 2].map(|bit| bits >> bit & 1 == 1);
        let names = names.into_iter().zip(kept).filter(|(_, kept)| *kept);
        let name = names.map(|(name, _)| name).collect::<Vec<_>>().join(" + ");
        (name, kept.map(|kept| f64::from(u8::from(kept))))
    })
}

/// The set that evaluators are trained on and ranked on, and how.
pub struct Ablations<'a> {
    pub set: &'a TestSet,
    pub setup: &'a TrainSetup,
    /// Where the evaluators are kept.
    pub folder: PathBuf,
    pub options: &'a CompareOptions,
    pub progress: &'a dyn Progress,
}

impl Ablations<'_> {
    /// Kinds of negatives: seven rows.
    pub fn negatives(&self) -> Result<Ablation, TrainError> {
        let mut rows = Vec::new();
        for (name, [correctness, continuity, state]) in choices() {
            let mut setup = self.setup.clone();
            let negatives = &mut setup.train.negatives;
            *negatives = NegativeRates { correctness, continuity, state, ..*negatives };
            rows.push(self.ensemble(&name, &setup, |_| true)?);
        }
        self.table("Kinds of negatives", &rows)
    }

    /// Training data: three rows.
    pub fn data(&self) -> Result<Ablation, TrainError> {
        let sources = [
            ("real videos alone", &["real"][..]),
            ("temporally sampled", &["real", "temporally-sampled"]),
            ("mixed procedures (D_w)", &["real", "rules", "language-model"]),
        ];
        let mut rows = Vec::new();
        for (name, builders) in sources {
            let keep = |instance: &Instance| builders.contains(&instance.builder.as_str());
            match self.ensemble(name, self.setup, keep) {
                Ok(ensemble) => rows.push(ensemble),
                // A library may have no such data: the row is missing.
                Err(
                    TrainError::EmptyPart { .. } | TrainError::NoNegatives | TrainError::OneVideo,
                ) => {}
                Err(error) => return Err(error),
            }
        }
        self.table("Training data", &rows)
    }

    fn ensemble(
        &self,
        name: &str,
        setup: &TrainSetup,
        keep: impl Fn(&Instance) -> bool,
    ) -> Result<Ensemble, TrainError> {
        let folder = self.folder.join(name.replace(" + ", "-").replace(' ', "-"));
        let of = |number: u64| {
            let mut setup = setup.clone();
            setup.train.seed = setup.train.seed.wrapping_add(number);
            train_evaluator(
                self.set,
                &keep,
                &setup,
                &folder.join(number.to_string()),
                self.progress,
            )
        };
        let evaluators = (0..ENSEMBLE).map(of).collect::<Result<_, _>>()?;
        Ok(Ensemble { name: name.into(), evaluators })
    }

    /// All rows on the same questions, each compared with the last, which is complete.
    fn table(&self, title: &str, rows: &[Ensemble]) -> Result<Ablation, TrainError> {
        let name = |at: usize| if at + 1 == rows.len() { "evaluator" } else { &rows[at].name };
        let extra: Vec<Extra> =
            rows.iter().enumerate().map(|(at, row)| (name(at), Ok(row as &dyn Scorer))).collect();
        let options = CompareOptions { trained: false, ..self.options.clone() };
        let found = compare(self.set, &extra, &options, self.progress)?;
        let row = |(at, row): (usize, &Ensemble)| {
            let method = found.methods.iter().find(|method| method.name == name(at))?;
            Some(AblationRow {
                name: row.name.clone(),
                figures: method.figures,
                intervals: method.intervals,
                against_last: method.against_evaluator,
            })
        };
        let rows = rows.iter().enumerate().filter_map(row).collect();
        Ok(Ablation { title: title.into(), on: self.set.name.clone(), rows })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_seven_rows() {
        let rows = choices();
        assert_eq!(rows[0], ("correctness".to_owned(), [1.0, 0.0, 0.0]));
        assert_eq!(rows[4], ("correctness + state".to_owned(), [1.0, 0.0, 1.0]));
        assert_eq!(rows[6], ("correctness + continuity + state".to_owned(), [1.0; 3]));
        for (name, rates) in rows {
            let named = ["correctness", "continuity", "state"].map(|kind| name.contains(kind));
            assert_eq!(rates, named.map(|used| if used { 1.0 } else { 0.0 }), "{name}");
        }
    }

    #[test]
    fn nothing_else_is_switched_on() {
        let plain = TrainSetup::ablation("cooking", 3).train;
        assert!(!plain.prior && plain.negatives.swapped + plain.negatives.elsewhere == 0.0);
    }
}
