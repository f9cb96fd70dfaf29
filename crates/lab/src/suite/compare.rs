//! Every method on one set: each truth ranked among its candidates, with intervals.
//!
//! What is trained here is never measured on what it has seen. Where the set has a training part, that
//! is learnt from; else the procedures are divided by their source videos, and each part is measured by
//! what was learnt from the others.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use stitch_core::clip::VideoId;
use stitch_core::cover::Sequence;
use stitch_engine::calibration::Calibration;
use stitch_engine::progress::{Progress, Stopped};
use stitch_engine::scorer::{Scorer, ScorerError};

use super::baselines::{self, BaselineError, Training};
use super::distractors::{Counts, Distractors, DistractorsError, Kind, Question};
use super::ranks::{Bounds, Clusters, Difference, Figures, Intervals, RESAMPLES, Rank};
use super::test_set::{TestSet, query};
use crate::collection::Instance;
use crate::dataset::Split;

/// How methods are compared.
#[derive(Clone, Debug)]
pub struct Options {
    /// Of everything random.
    pub seed: u64,
    /// Into how many parts a set without a training part is divided.
    pub folds: usize,
    /// How many bootstrap samples intervals are from.
    pub resamples: usize,
    /// The most procedures that are measured, chosen by the seed.
    pub most: usize,
    /// Whether the baselines that learn are trained and measured.
    pub trained: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { seed: 1, folds: 5, resamples: RESAMPLES, most: usize::MAX, trained: true }
    }
}

/// On how many procedures of a training part weights are searched.
const TRAINING_QUESTIONS: usize = 150;

/// The fewest procedures that can be learnt from.
const FEWEST: usize = 4;

/// One method's figures.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Method {
    /// Its name.
    pub name: String,
    /// Its figures over all candidates.
    #[serde(flatten)]
    pub figures: Figures,
    /// Their 95 % intervals.
    pub intervals: Intervals,
    /// The figures when every tie is broken for, and against, the truth.
    pub ties: Bounds,
    /// How much its figures exceed those of average similarity, procedure by procedure.
    pub against_average_similarity: Option<Difference>,
    /// How much they exceed the evaluator's.
    pub against_evaluator: Option<Difference>,
    /// The figures against each kind of distractors alone.
    pub alone: BTreeMap<Kind, Figures>,
    /// Seconds that scoring took, all cores together counting once.
    pub seconds: f64,
    /// Where each truth stands, and which candidate is first.
    #[serde(skip)]
    pub outcomes: Vec<Outcome>,
}

/// What a method made of one procedure.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The truth's rank.
    pub rank: Rank,
    /// The number of the candidate it likes best.
    pub first: usize,
    /// The truth's rank against each kind alone, in the order of [`Kind::ALL`]; none where there is no
    /// distractor of the kind.
    pub alone: Vec<Option<Rank>>,
}

/// Everything that was found out about one set.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Comparison {
    /// The set.
    pub set: String,
    /// What made its features.
    pub encoder: String,
    /// How many procedures were measured.
    pub procedures: usize,
    /// Of how many source videos.
    pub sources: usize,
    /// Among how many clips.
    pub clips: usize,
    /// How the methods that learn were kept from what they are measured on.
    pub trained_on: String,
    /// The figures.
    pub methods: Vec<Method>,
    /// Methods that could not be measured, and why.
    pub absent: BTreeMap<String, String>,
    /// How many distractors there are of each kind.
    pub distractors: BTreeMap<Kind, usize>,
    /// How many each kind fell short of what it was asked for; others filled them.
    pub short: BTreeMap<Kind, usize>,
    /// Procedures with fewer than 499 distractors.
    pub fewer_than_499: usize,
    /// The questions, in the order of the outcomes.
    #[serde(skip)]
    pub questions: Vec<Question>,
}

/// Why there is no comparison.
#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    /// There is no procedure to measure.
    #[error("the set has no procedure to measure; videos with two steps or more make one")]
    Nothing,
    /// Distractors could not be made.
    #[error(transparent)]
    Distractors(#[from] DistractorsError),
    /// A method failed.
    #[error("{name}: {source}")]
    Method {
        /// Which.
        name: String,
        /// Why.
        source: ScorerError,
    },
    /// A baseline could not be trained.
    #[error(transparent)]
    Baseline(#[from] BaselineError),
    /// The work was asked to stop.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

/// A scorer that is measured beside the baselines, or why there is none.
pub type Extra<'a> = (&'a str, Result<&'a dyn Scorer, String>);

/// Ranks every truth of the set by the scorers given and by all baselines.
pub fn compare(
    set: &TestSet,
    extra: &[Extra<'_>],
    options: &Options,
    progress: &dyn Progress,
) -> Result<Comparison, CompareError> {
    let measured = chosen(set.measured(), options.most, options.seed);
    if measured.is_empty() {
        return Err(CompareError::Nothing);
    }
    let calibration = Calibration::of(&set.encoder.name);
    let making = Distractors::new(&set.collection, calibration, options.seed);
    let questions = making.questions(&measured, progress)?;
    let mut run = Run { set, questions: &questions, columns: Vec::new(), progress };
    let mut absent = BTreeMap::new();
    for (name, scorer) in extra {
        match scorer {
            Ok(scorer) => run.measure_all(name, *scorer)?,
            Err(why) => drop(absent.insert((*name).to_owned(), why.clone())),
        }
    }
    for scorer in baselines::untrained(&set.seen) {
        run.measure_all(scorer.name(), scorer.as_ref())?;
    }
    let trained_on = run.measure_trained(&making, options, &mut absent)?;
    let columns = run.columns;
    let methods = summarise(set, &questions, columns, options);
    let Counts { kinds, short, fewer } = Counts::of(&questions);
    let sources = measured.iter().map(|at| set.source(&set.collection.instances[*at]));
    Ok(Comparison {
        set: set.name.clone(),
        encoder: set.encoder.name.clone(),
        procedures: questions.len(),
        sources: sources.collect::<BTreeSet<VideoId>>().len(),
        clips: set.collection.pool.len(),
        trained_on,
        methods,
        absent,
        distractors: kinds,
        short,
        fewer_than_499: fewer,
        questions,
    })
}

fn chosen(mut all: Vec<usize>, most: usize, seed: u64) -> Vec<usize> {
    if all.len() > most {
        all.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
        all.truncate(most);
        all.sort_unstable();
    }
    all
}

/// A method's outcomes while they come in, by question.
struct Column {
    name: String,
    outcomes: Vec<Option<Outcome>>,
    seconds: f64,
}

struct Run<'a> {
    set: &'a TestSet,
    questions: &'a [Question],
    columns: Vec<Column>,
    progress: &'a dyn Progress,
}

impl<'a> Run<'a> {
    fn instances(&self) -> &'a [Instance] {
        &self.set.collection.instances
    }

    fn measure_all(&mut self, name: &str, scorer: &dyn Scorer) -> Result<(), CompareError> {
        let all: Vec<usize> = (0..self.questions.len()).collect();
        self.measure(name, scorer, &all)
    }

    /// Scores the candidates of these questions.
    fn measure(
        &mut self,
        name: &str,
        scorer: &dyn Scorer,
        questions: &[usize],
    ) -> Result<(), CompareError> {
        let (set, progress) = (self.set, self.progress);
        progress.begin(&format!("scoring by {name}"), questions.len() as u64);
        let begun = std::time::Instant::now();
        let one = |at: &usize| {
            progress.check()?;
            let question = &self.questions[*at];
            let asked = query(&set.collection.instances[question.instance]);
            let scores = scorer.score(&asked, &set.seen, &question.candidates);
            let scores =
                scores.map_err(|source| CompareError::Method { name: name.into(), source })?;
            progress.advance(1);
            Ok((*at, outcome(question, &scores)))
        };
        let found: Result<Vec<_>, CompareError> = questions.par_iter().map(one).collect();
        let column = self.column(name);
        column.seconds += begun.elapsed().as_secs_f64();
        found?.into_iter().for_each(|(at, outcome)| column.outcomes[at] = outcome);
        Ok(())
    }

    fn column(&mut self, name: &str) -> &mut Column {
        let found = self.columns.iter().position(|column| column.name == name);
        let at = found.unwrap_or_else(|| {
            let outcomes = vec![None; self.questions.len()];
            self.columns.push(Column { name: name.into(), outcomes, seconds: 0.0 });
            self.columns.len() - 1
        });
        &mut self.columns[at]
    }

    /// Trains what learns, on what it is not measured on, and measures it; how they were kept apart.
    fn measure_trained(
        &mut self,
        making: &Distractors<'_>,
        options: &Options,
        absent: &mut BTreeMap<String, String>,
    ) -> Result<String, CompareError> {
        if !options.trained {
            return Ok("nothing".into());
        }
        let instances = self.instances();
        let train: Vec<usize> =
            (0..instances.len()).filter(|at| instances[*at].split == Split::Train).collect();
        if train.len() >= FEWEST {
            let some = chosen(train.clone(), TRAINING_QUESTIONS, options.seed);
            let questions = making.questions(&some, self.progress)?;
            let all: Vec<usize> = (0..self.questions.len()).collect();
            self.fold(train, questions.iter().collect(), &all, options)?;
            return Ok("the training part of the set".into());
        }
        let folds = folds(self.set, self.questions, options);
        let own: &'a [Question] = self.questions;
        for (number, fold) in folds.iter().enumerate() {
            let apart = apart(self.set, own, fold);
            if apart.len() < FEWEST {
                let why = format!(
                    "part {} of {} leaves {} procedures of other videos to learn from; {FEWEST} are \
                     needed",
                    number + 1,
                    folds.len(),
                    apart.len()
                );
                for name in &baselines::NAMES[2..] {
                    absent.insert((*name).to_owned(), why.clone());
                    self.columns.retain(|column| column.name != *name);
                }
                return Ok("nothing".into());
            }
            let learnt = apart.iter().map(|at| own[*at].instance).collect();
            let questions = apart.iter().map(|at| &own[*at]).collect();
            self.fold(learnt, questions, fold, options)?;
        }
        Ok(format!("the other parts of {}, divided by video", folds.len()))
    }

    fn fold(
        &mut self,
        instances: Vec<usize>,
        questions: Vec<&Question>,
        measured: &[usize],
        options: &Options,
    ) -> Result<(), CompareError> {
        self.progress.begin("training baselines", 0);
        self.progress.check()?;
        let (pool, all) = (&self.set.seen, self.instances());
        let training = Training { pool, all, instances, questions, seed: options.seed };
        for scorer in baselines::trained(&training)? {
            self.measure(scorer.name(), scorer.as_ref(), measured)?;
        }
        Ok(())
    }
}

fn outcome(question: &Question, scores: &[f32]) -> Option<Outcome> {
    // The truth comes first in the list, so of equals the last is taken: a tie is no answer.
    let best = |a: &usize, b: &usize| scores[*a].total_cmp(&scores[*b]).then(a.cmp(b));
    let number = |at: &usize| !scores[*at].is_nan();
    let first = (0..scores.len()).filter(number).max_by(best).unwrap_or(0);
    let alone = Kind::ALL.map(|kind| {
        let among: Vec<f32> = question.alone(kind).into_iter().map(|at| scores[at]).collect();
        if among.len() > 1 { Rank::of_first(&among) } else { None }
    });
    Some(Outcome { rank: Rank::of_first(scores)?, first, alone: alone.to_vec() })
}

/// The questions in parts, those of one source video together.
fn folds(set: &TestSet, questions: &[Question], options: &Options) -> Vec<Vec<usize>> {
    let mut by_source: BTreeMap<VideoId, Vec<usize>> = BTreeMap::new();
    for (at, question) in questions.iter().enumerate() {
        let source = set.source(&set.collection.instances[question.instance]);
        by_source.entry(source).or_default().push(at);
    }
    let mut sources: Vec<Vec<usize>> = by_source.into_values().collect();
    sources.shuffle(&mut ChaCha8Rng::seed_from_u64(options.seed));
    let count = options.folds.clamp(2, sources.len().max(2));
    let mut folds = vec![Vec::new(); count];
    for (number, source) in sources.into_iter().enumerate() {
        folds[number % count].extend(source);
    }
    folds.retain(|fold| !fold.is_empty());
    folds
}

/// The questions that share no video with those of a part.
fn apart(set: &TestSet, questions: &[Question], fold: &[usize]) -> Vec<usize> {
    let pool = &set.collection.pool;
    let videos = |at: usize| {
        let truth = &set.collection.instances[questions[at].instance].truth;
        truth.iter().map(|clip| pool.clip(*clip).video)
    };
    let used: HashSet<VideoId> = fold.iter().flat_map(|at| videos(*at)).collect();
    (0..questions.len()).filter(|at| !videos(*at).any(|video| used.contains(&video))).collect()
}

/// Figures with intervals and differences, over the same bootstrap samples for all methods.
fn summarise(
    set: &TestSet,
    questions: &[Question],
    columns: Vec<Column>,
    options: &Options,
) -> Vec<Method> {
    let sources = questions.iter().map(|q| set.source(&set.collection.instances[q.instance]));
    let clusters = Clusters::of(sources);
    let complete = |column: Column| {
        let outcomes: Option<Vec<Outcome>> = column.outcomes.into_iter().collect();
        Some((column.name, column.seconds, outcomes?))
    };
    let mut columns: Vec<_> = columns.into_iter().filter_map(complete).collect();
    columns.sort_by_key(|(name, ..)| baselines::NAMES.iter().position(|known| known == name));
    let ranks = |outcomes: &[Outcome]| outcomes.iter().map(|o| o.rank).collect::<Vec<Rank>>();
    let sampled: Vec<_> = columns
        .iter()
        .map(|(_, _, outcomes)| {
            let ranks = ranks(outcomes);
            (Figures::of(&ranks), clusters.resample(&ranks, options.resamples, options.seed))
        })
        .collect();
    let named = |wanted: &str| columns.iter().position(|(name, ..)| name == wanted);
    let (average, evaluator) = (named("average-similarity"), named("evaluator"));
    let against = |own: usize, other: Option<usize>| {
        let other = other.filter(|other| *other != own)?;
        let ((ours, samples), (theirs, other)) = (&sampled[own], &sampled[other]);
        Some(other.difference(theirs, samples, ours))
    };
    let methods = columns.iter().enumerate().map(|(at, (name, seconds, outcomes))| {
        let (figures, samples) = &sampled[at];
        Method {
            name: name.clone(),
            figures: *figures,
            intervals: samples.intervals(),
            ties: Bounds::of(&ranks(outcomes)),
            against_average_similarity: against(at, average),
            against_evaluator: against(at, evaluator),
            alone: alone(outcomes),
            seconds: *seconds,
            outcomes: outcomes.clone(),
        }
    });
    methods.collect()
}

fn alone(outcomes: &[Outcome]) -> BTreeMap<Kind, Figures> {
    let of = |at: usize| {
        let ranks: Vec<Rank> = outcomes.iter().filter_map(|o| o.alone[at]).collect();
        (!ranks.is_empty()).then(|| Figures::of(&ranks))
    };
    Kind::ALL.into_iter().enumerate().filter_map(|(at, kind)| Some((kind, of(at)?))).collect()
}

/// A truth that is not first, for looking at.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Miss {
    /// The procedure.
    pub title: String,
    /// The truth's expected rank.
    pub rank: f64,
    /// What kind of distractor is first.
    pub kind: Option<Kind>,
    /// Each step: its text, the text of the clip that was shown instead, and its video.
    pub steps: Vec<(String, String, String)>,
}

impl Comparison {
    /// Truths that a method did not put first, evenly over all of them.
    pub fn misses(&self, set: &TestSet, method: &str, most: usize) -> Vec<Miss> {
        let Some(method) = self.methods.iter().find(|found| found.name == method) else {
            return Vec::new();
        };
        let pairs = self.questions.iter().zip(&method.outcomes);
        let missed: Vec<_> = pairs.filter(|(_, outcome)| outcome.first != 0).collect();
        let step = missed.len().div_ceil(most.max(1)).max(1);
        missed.into_iter().step_by(step).map(|(q, o)| miss(set, q, o)).collect()
    }
}

fn miss(set: &TestSet, question: &Question, outcome: &Outcome) -> Miss {
    let instance = &set.collection.instances[question.instance];
    let Sequence(clips) = &question.candidates[outcome.first];
    let step = |(text, clip): (&String, &Option<stitch_core::clip::ClipId>)| {
        let clip = clip.map(|clip| set.collection.pool.clip(clip));
        let video = clip.and_then(|clip| set.collection.videos.get(&clip.video));
        let shown = clip.map_or(String::new(), |clip| clip.text.clone());
        (text.clone(), shown, video.map_or(String::new(), |facts| facts.title.clone()))
    };
    Miss {
        title: instance.title.clone(),
        rank: outcome.rank.expected(),
        kind: question.kinds.get(outcome.first.wrapping_sub(1)).copied(),
        steps: instance.texts.iter().zip(clips).map(step).collect(),
    }
}

#[cfg(test)]
mod tests {
    use stitch_core::features::Features;
    use stitch_core::pool::Pool;
    use stitch_engine::encoder::EncoderId;
    use stitch_engine::progress::Silent;
    use stitch_engine::scorer::Query;

    use super::*;
    use crate::suite::fixture::{DIM, Made, collection};

    fn set(made: &Made) -> TestSet {
        let made = collection(made);
        let count = made.pool.len();
        let said =
            (vec![String::new(); count], Features::new(DIM, vec![0.0; DIM * count]).unwrap());
        let encoder = EncoderId { name: "x".into(), dim: DIM, weights: String::new() };
        TestSet::new("made", made, said, encoder).unwrap()
    }

    struct Fixed(fn(usize) -> f32);

    impl Scorer for Fixed {
        fn name(&self) -> &str {
            "evaluator"
        }

        fn score(&self, _: &Query, _: &Pool, all: &[Sequence]) -> Result<Vec<f32>, ScorerError> {
            Ok((0..all.len()).map(self.0).collect())
        }
    }

    fn quick() -> Options {
        Options { resamples: 200, folds: 3, ..Options::default() }
    }

    #[test]
    fn every_method_is_measured_and_the_strong_beat_the_blind() {
        let set = set(&Made { tasks: 6, videos: 12, steps: 4, seed: 1 });
        let oracle = Fixed(|at| f32::from(u8::from(at == 0)));
        let extra: [Extra; 1] = [("evaluator", Ok(&oracle))];
        let found = compare(&set, &extra, &quick(), &Silent).unwrap();
        let names: Vec<&str> = found.methods.iter().map(|m| m.name.as_str()).collect();
        let expected = [
            "evaluator",
            "average-similarity",
            "text-only",
            "recipe2video",
            "covr",
            "viddetours",
            "hirest",
            "k-best",
        ];
        assert_eq!(names, expected);
        assert_eq!(found.distractors.values().sum::<usize>(), 499 * found.procedures);
        let figures = |name: &str| found.methods.iter().find(|m| m.name == name).unwrap().figures;
        assert_eq!((figures("evaluator").medr, figures("evaluator").r1), (1.0, 1.0));
        let silent = figures("text-only");
        assert_eq!(silent.medr, 250.5);
        assert!((silent.r50 - 0.1).abs() < 1e-9);
        // Sources look alike in this set, so what sees changes beats what does not.
        assert!(figures("k-best").mrr > figures("average-similarity").mrr);
        assert!(figures("average-similarity").medr < 200.0);
        let method = &found.methods[1];
        assert!(method.intervals.mrr[0] <= method.figures.mrr);
        let difference = method.against_evaluator.unwrap().mrr;
        assert!(difference.value < 0.0 && difference.high < 0.0);
    }

    #[test]
    fn a_constant_scorer_stands_in_the_middle() {
        let set = set(&Made { tasks: 4, videos: 12, steps: 4, seed: 2 });
        let options = Options { trained: false, ..quick() };
        let found =
            compare(&set, &[("evaluator", Ok(&Fixed(|_| 0.5)))], &options, &Silent).unwrap();
        let constant = &found.methods[0];
        assert_eq!(constant.figures.medr, 250.5);
        assert!((constant.figures.r50 - 0.10).abs() < 1e-9);
        assert_eq!(constant.ties.optimistic.medr, 1.0);
        assert_eq!(constant.alone[&Kind::SimMatch].medr, 50.5);
    }

    #[test]
    fn a_set_too_small_to_learn_from_says_so() {
        let set = set(&Made { tasks: 1, videos: 3, steps: 3, seed: 3 });
        let extra: [Extra; 1] = [("evaluator", Err("there is none".into()))];
        let found = compare(&set, &extra, &quick(), &Silent).unwrap();
        assert_eq!(found.methods.len(), 2);
        assert_eq!(found.absent["evaluator"], "there is none");
        assert!(found.absent["covr"].contains("to learn from"));
    }

    #[test]
    fn folds_share_no_video_with_what_is_learnt_from() {
        let set = set(&Made { tasks: 3, videos: 5, steps: 3, seed: 4 });
        let making = Distractors::new(&set.collection, Calibration::of("x"), 1);
        let questions = making.questions(&set.measured(), &Silent).unwrap();
        let folds = folds(&set, &questions, &quick());
        assert_eq!(folds.iter().map(Vec::len).sum::<usize>(), questions.len());
        for fold in &folds {
            let apart = apart(&set, &questions, fold);
            assert!(apart.iter().all(|at| !fold.contains(at)));
            assert_eq!(apart.len() + fold.len(), questions.len());
        }
    }
}
