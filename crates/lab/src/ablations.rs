//! What the evaluator loses when it learns from fewer kinds of negatives, or from other data: each row
//! is trained anew and ranks the same truths among the same candidates.

use std::path::Path;

use stitch_engine::evaluator::{Config, Evaluator, EvaluatorError, Precision};
use stitch_engine::progress::{Progress, Within};

use crate::collection::Instance;
use crate::dataset::Split;
use crate::suite::compare::{CompareError, Extra, Options, compare};
use crate::suite::report::{Ablation, AblationRow};
use crate::suite::test_set::TestSet;
use crate::train::{Drawing, Machine, TrainError, TrainOptions, Where, train};

/// How the rows are trained.
#[derive(Clone, Debug)]
pub struct Lessons {
    /// The domain that the models' cards name.
    pub domain: String,
    /// How learning goes on.
    pub train: TrainOptions,
}

/// Why a row is missing.
#[derive(Debug, thiserror::Error)]
pub enum AblationError {
    /// It could not be trained.
    #[error(transparent)]
    Train(#[from] TrainError),
    /// It could not be loaded.
    #[error(transparent)]
    Evaluator(#[from] EvaluatorError),
    /// It could not be measured.
    #[error(transparent)]
    Compare(#[from] CompareError),
}

/// An evaluator that learnt from the training part of a set, as far as it is kept; from the folder where
/// it was trained before.
pub fn learn(
    set: &TestSet,
    keep: impl Fn(&Instance) -> bool,
    lessons: &Lessons,
    folder: &Path,
    progress: &dyn Progress,
) -> Result<Evaluator, AblationError> {
    let mut collection = set.collection.clone();
    collection.instances.retain(|instance| instance.split == Split::HeldOut || keep(instance));
    let config = Config::small(set.encoder.clone(), &lessons.domain);
    let place = Where {
        folder: folder.into(),
        machine: Machine::Cpu,
        precision: Precision::F32,
        checkpoint_every: u64::MAX,
        licence: "for measuring only".into(),
    };
    train(&collection, &[], &config, &lessons.train, &place, &|_| {}, &Within(progress))?;
    Ok(Evaluator::load(folder)?)
}

/// The negatives of the paper's ablation: every choice of the three kinds but none.
pub fn choices() -> Vec<(String, [bool; 3])> {
    let names = ["correctness", "continuity", "state"];
    let some = |bits: u8| [0, 1, 2].map(|bit| bits >> bit & 1 == 1);
    let name = |kinds: [bool; 3]| {
        let kept = names.iter().zip(kinds).filter(|(_, kept)| *kept).map(|(name, _)| *name);
        kept.collect::<Vec<_>>().join(" + ")
    };
    [1, 2, 4, 3, 5, 6, 7].map(some).map(|kinds| (name(kinds), kinds)).to_vec()
}

/// Seven rows: which kinds of negatives are learnt from.
pub fn negatives(
    set: &TestSet,
    lessons: &Lessons,
    folder: &Path,
    options: &Options,
    progress: &dyn Progress,
) -> Result<Ablation, AblationError> {
    let mut rows = Vec::new();
    for (name, kinds) in choices() {
        let [correctness, continuity, state] = kinds.map(|kept| f64::from(u8::from(kept)));
        let mut lessons = lessons.clone();
        let drawing = &mut lessons.train.drawing;
        *drawing = Drawing { correctness, continuity, state, ..*drawing };
        (drawing.swapped, drawing.wrong, drawing.elsewhere) = (0.0, 0.0, 0.0);
        let place = folder.join(name.replace(" + ", "-"));
        let evaluator = learn(set, |_| true, &lessons, &place, progress)?;
        rows.push(row(&name, set, &evaluator, options, progress)?);
    }
    Ok(Ablation { title: "Kinds of negatives".into(), on: set.name.clone(), rows })
}

/// Three rows: what is learnt from.
pub fn data(
    set: &TestSet,
    lessons: &Lessons,
    folder: &Path,
    options: &Options,
    progress: &dyn Progress,
) -> Result<Ablation, AblationError> {
    let sources = [
        ("real videos alone", &["real"][..]),
        ("temporally sampled", &["real", "temporally-sampled"]),
        ("mixed procedures (D_w)", &["real", "rules", "language-model"]),
    ];
    let mut rows = Vec::new();
    for (name, builders) in sources {
        let place = folder.join(name.replace(' ', "-"));
        let keep = |instance: &Instance| builders.contains(&instance.builder.as_str());
        match learn(set, keep, lessons, &place, progress) {
            Ok(evaluator) => rows.push(row(name, set, &evaluator, options, progress)?),
            // A library may have no such data: the row is missing, and the others stand.
            Err(AblationError::Train(
                TrainError::EmptyPart { .. } | TrainError::NoNegatives | TrainError::OneVideo,
            )) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Ablation { title: "Training data".into(), on: set.name.clone(), rows })
}

fn row(
    name: &str,
    set: &TestSet,
    evaluator: &Evaluator,
    options: &Options,
    progress: &dyn Progress,
) -> Result<AblationRow, AblationError> {
    let extra: [Extra; 1] = [("evaluator", Ok(evaluator))];
    let options = Options { trained: false, ..options.clone() };
    let found = compare(set, &extra, &options, progress)?;
    let method = found.methods.into_iter().find(|method| method.name == "evaluator");
    let method = method.ok_or(CompareError::Nothing)?;
    Ok(AblationRow { name: name.into(), figures: method.figures, intervals: method.intervals })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_seven_rows() {
        let names: Vec<String> = choices().into_iter().map(|(name, _)| name).collect();
        assert_eq!(names.len(), 7);
        assert_eq!(names[0], "correctness");
        assert_eq!(names[6], "correctness + continuity + state");
    }
}
