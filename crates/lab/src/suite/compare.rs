//! Every method on one set: the rank of each truth among its candidates, with intervals.
//!
//! No trained method is measured on its training data. Where the set has a training part, that is used;
//! else the procedures are divided into folds by their source videos, and each fold is measured by what
//! was trained on the others.

use std::collections::{BTreeMap, HashSet};

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use stitch_core::clip::{ClipId, VideoId};
use stitch_core::cover::Sequence;
use stitch_engine::calibration::Calibration;
use stitch_engine::progress::Progress;
use stitch_engine::scorer::Scorer;

use super::baselines::{self, Training};
use super::distractors::{Distractors, Kind, KindCounts, Question};
use super::metrics::Estimate;
use super::ranks::{Bootstrap, Clusters, RESAMPLES, Rank, RankMetrics, TieBounds};
use super::test_set::{TestSet, query};
use super::{MeasureError, par_map};
use crate::collection::Instance;
use crate::dataset::Split;

#[derive(Clone, Debug)]
pub struct CompareOptions {
    pub seed: u64,
    /// Folds of a set without a training part.
    pub folds: usize,
    /// Bootstrap samples of an interval.
    pub resamples: usize,
    /// The most procedures that are measured, chosen by the seed.
    pub most: usize,
    /// Whether the baselines that need training are trained and measured.
    pub trained: bool,
}

impl Default for CompareOptions {
    fn default() -> Self {
        Self { seed: 1, folds: 5, resamples: RESAMPLES, most: usize::MAX, trained: true }
    }
}

/// Procedures of a training part on which weights are searched; chosen by hand.
const MAX_TRAINING_QUESTIONS: usize = 150;

/// The fewest procedures that a baseline is trained on; chosen by hand.
const MIN_TRAINING_PROCEDURES: usize = 4;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Method {
    pub name: String,
    #[serde(flatten)]
    pub figures: RankMetrics,
    /// 95 % intervals.
    pub intervals: RankMetrics<[f64; 2]>,
    pub ties: TieBounds,
    /// How much its metrics exceed those of average similarity, procedure by procedure.
    pub against_average_similarity: Option<RankMetrics<Estimate>>,
    /// How much they exceed the evaluator's.
    pub against_evaluator: Option<RankMetrics<Estimate>>,
    /// Against each kind of distractors alone.
    pub alone: BTreeMap<Kind, RankMetrics>,
    /// Seconds that scoring took, all cores together counting once.
    pub seconds: f64,
    /// One for each question.
    #[serde(skip)]
    pub outcomes: Vec<Outcome>,
}

/// How a method ranked one procedure.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub rank: Rank,
    /// The candidate with the highest score, by number.
    pub first: usize,
    /// The truth's rank against each kind alone, in the order of [`Kind::ALL`]; none where there is no
    /// distractor of the kind.
    pub alone: Vec<Option<Rank>>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Comparison {
    pub set: String,
    pub encoder: String,
    /// How many procedures were measured,
    pub procedures: usize,
    /// of how many source videos,
    pub sources: usize,
    /// among how many clips.
    pub clips: usize,
    /// What the methods that learn were trained on.
    pub trained_on: String,
    pub methods: Vec<Method>,
    /// Methods that could not be measured, and why.
    pub absent: BTreeMap<String, String>,
    #[serde(flatten)]
    pub counts: KindCounts,
    /// In the order of the outcomes.
    #[serde(skip)]
    pub questions: Vec<Question>,
}

/// A scorer that is measured beside the baselines, or why there is none.
pub type Extra<'a> = (&'a str, Result<&'a dyn Scorer, String>);

/// Ranks every truth of the set by the scorers given and by all baselines.
pub fn compare(
    set: &TestSet,
    extra: &[Extra<'_>],
    options: &CompareOptions,
    progress: &dyn Progress,
) -> Result<Comparison, MeasureError> {
    let measured = sample(set.measured(), options.most, options.seed);
    if measured.is_empty() {
        return Err(MeasureError::NoProcedures);
    }
    let calibration = Calibration::of(&set.encoder.name);
    let distractors = Distractors::new(&set.collection, calibration, options.seed);
    let questions = distractors.questions(&measured, progress)?;
    let source = |question: &Question| set.source(&set.collection.instances[question.instance]);
    let clusters = Clusters::of(questions.iter().map(source));
    let (columns, sources) = (Vec::new(), clusters.0.len());
    let mut run = Run { set, questions: &questions, clusters, columns, progress };
    let mut absent = BTreeMap::new();
    for (name, scorer) in extra {
        match scorer {
            Ok(scorer) => run.measure_all(name, *scorer)?,
            Err(why) => drop(absent.insert((*name).to_owned(), why.clone())),
        }
    }
    for scorer in baselines::untrained() {
        run.measure_all(scorer.name(), scorer.as_ref())?;
    }
    let trained_on = run.measure_trained(&distractors, options, &mut absent)?;
    let methods = summarise(&run.clusters, run.columns, options);
    Ok(Comparison {
        set: set.name.clone(),
        encoder: set.encoder.name.clone(),
        procedures: questions.len(),
        sources,
        clips: set.collection.pool.len(),
        trained_on,
        methods,
        absent,
        counts: KindCounts::of(&questions),
        questions,
    })
}

fn sample(mut all: Vec<usize>, most: usize, seed: u64) -> Vec<usize> {
    if all.len() > most {
        all.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
        all.truncate(most);
        all.sort_unstable();
    }
    all
}

/// The outcomes of a method so far, by question.
struct Column {
    name: String,
    outcomes: Vec<Option<Outcome>>,
    seconds: f64,
}

struct Run<'a> {
    set: &'a TestSet,
    questions: &'a [Question],
    clusters: Clusters,
    /// In the order of tables.
    columns: Vec<Column>,
    progress: &'a dyn Progress,
}

impl Run<'_> {
    fn measure(
        &mut self,
        name: &str,
        scorer: &dyn Scorer,
        questions: &[usize],
    ) -> Result<(), MeasureError> {
        let begun = std::time::Instant::now();
        let one = |at: &usize| {
            let question = &self.questions[*at];
            let query = query(&self.set.collection.instances[question.instance]);
            let scores = scorer.score(&query, &self.set.seen, &question.candidates);
            let failed = |source| MeasureError::Method { name: name.into(), source };
            Ok((*at, outcome(question, &scores.map_err(failed)?)))
        };
        let found = par_map(&format!("scoring by {name}"), questions, self.progress, one)?;
        let known = self.columns.iter().position(|column| column.name == name);
        let at = known.unwrap_or_else(|| {
            let outcomes = vec![None; self.questions.len()];
            self.columns.push(Column { name: name.into(), outcomes, seconds: 0.0 });
            self.columns.len() - 1
        });
        let column = &mut self.columns[at];
        column.seconds += begun.elapsed().as_secs_f64();
        found.into_iter().for_each(|(at, outcome)| column.outcomes[at] = outcome);
        Ok(())
    }

    fn measure_all(&mut self, name: &str, scorer: &dyn Scorer) -> Result<(), MeasureError> {
        self.measure(name, scorer, &Vec::from_iter(0..self.questions.len()))
    }

    /// Trains and measures the baselines that learn; returns what they were trained on.
    fn measure_trained(
        &mut self,
        distractors: &Distractors<'_>,
        options: &CompareOptions,
        absent: &mut BTreeMap<String, String>,
    ) -> Result<String, MeasureError> {
        if !options.trained {
            return Ok("nothing".into());
        }
        let (set, questions) = (self.set, self.questions);
        let instances = &set.collection.instances;
        let train: Vec<usize> =
            (0..instances.len()).filter(|at| instances[*at].split == Split::Train).collect();
        if train.len() >= MIN_TRAINING_PROCEDURES {
            let some = sample(train.clone(), MAX_TRAINING_QUESTIONS, options.seed);
            let some = distractors.questions(&some, self.progress)?;
            let train = train.iter().map(|at| &instances[*at]).collect();
            self.fold(train, some.iter().collect(), &Vec::from_iter(0..questions.len()), options)?;
            return Ok("the training part of the set".into());
        }
        let folds = folds(self.clusters.clone(), options);
        let others: Vec<_> = folds.iter().map(|fold| disjoint(set, questions, fold)).collect();
        let few = others.iter().position(|others| others.len() < MIN_TRAINING_PROCEDURES);
        if let Some(number) = few {
            let why = format!(
                "part {} of {} leaves {} procedures of other videos to learn from; \
                 {MIN_TRAINING_PROCEDURES} are needed",
                number + 1,
                folds.len(),
                others[number].len()
            );
            absent.extend(baselines::TRAINED.map(|name| (name.to_owned(), why.clone())));
            return Ok("nothing".into());
        }
        for (fold, others) in folds.iter().zip(&others) {
            let others: Vec<&Question> = others.iter().map(|at| &questions[*at]).collect();
            let train = others.iter().map(|question| &instances[question.instance]).collect();
            self.fold(train, others, fold, options)?;
        }
        Ok(format!("the other parts of {}, divided by video", folds.len()))
    }

    fn fold(
        &mut self,
        instances: Vec<&Instance>,
        questions: Vec<&Question>,
        measured: &[usize],
        options: &CompareOptions,
    ) -> Result<(), MeasureError> {
        self.progress.begin("training baselines", 0);
        self.progress.check()?;
        let all = &self.set.collection.instances;
        let questions = questions.into_iter().map(|question| (&all[question.instance], question));
        let (pool, questions) = (&self.set.seen, questions.collect());
        for scorer in
            baselines::trained(&Training { pool, instances, questions, seed: options.seed })?
        {
            self.measure(scorer.name(), scorer.as_ref(), measured)?;
        }
        Ok(())
    }
}

fn outcome(question: &Question, scores: &[f32]) -> Option<Outcome> {
    // The truth is the first candidate, so of equal scores the last counts: a tie is no hit.
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
fn folds(Clusters(mut sources): Clusters, options: &CompareOptions) -> Vec<Vec<usize>> {
    sources.shuffle(&mut ChaCha8Rng::seed_from_u64(options.seed));
    let count = options.folds.clamp(2, sources.len().max(2));
    let mut folds = vec![Vec::new(); count];
    for (number, source) in sources.into_iter().enumerate() {
        folds[number % count].extend(source);
    }
    folds.retain(|fold| !fold.is_empty());
    folds
}

/// The questions that share no video with those of a fold.
fn disjoint(set: &TestSet, questions: &[Question], fold: &[usize]) -> Vec<usize> {
    let pool = &set.collection.pool;
    let videos = |at: usize| {
        let truth = &set.collection.instances[questions[at].instance].truth;
        truth.iter().map(|clip| pool.clip(*clip).video)
    };
    let used: HashSet<VideoId> = fold.iter().flat_map(|at| videos(*at)).collect();
    (0..questions.len()).filter(|at| !videos(*at).any(|video| used.contains(&video))).collect()
}

/// Metrics with intervals and differences, over the same bootstrap samples for all methods.
fn summarise(clusters: &Clusters, columns: Vec<Column>, options: &CompareOptions) -> Vec<Method> {
    let complete = |Column { name, outcomes, seconds }: Column| {
        let outcomes: Option<Vec<Outcome>> = outcomes.into_iter().collect();
        Some((name, seconds, outcomes?))
    };
    let columns: Vec<_> = columns.into_iter().filter_map(complete).collect();
    let ranks = |outcomes: &[Outcome]| outcomes.iter().map(|o| o.rank).collect::<Vec<Rank>>();
    let samples: Vec<Bootstrap> = columns
        .iter()
        .map(|(.., outcomes)| clusters.resample(&ranks(outcomes), options.resamples, options.seed))
        .collect();
    let against = |own: usize, other: &str| {
        let other = columns.iter().position(|(name, ..)| name == other)?;
        (other != own).then(|| samples[own].minus(&samples[other]))
    };
    let methods = columns.iter().enumerate().map(|(at, (name, seconds, outcomes))| Method {
        name: name.clone(),
        figures: samples[at].metrics,
        intervals: samples[at].intervals(),
        ties: TieBounds::of(&ranks(outcomes)),
        against_average_similarity: against(at, "similarity"),
        against_evaluator: against(at, "evaluator"),
        alone: alone(outcomes),
        seconds: *seconds,
        outcomes: outcomes.clone(),
    });
    methods.collect()
}

fn alone(outcomes: &[Outcome]) -> BTreeMap<Kind, RankMetrics> {
    let of = |at: usize| {
        let ranks: Vec<Rank> = outcomes.iter().filter_map(|o| o.alone[at]).collect();
        (!ranks.is_empty()).then(|| RankMetrics::of(&ranks))
    };
    Kind::ALL.into_iter().enumerate().filter_map(|(at, kind)| Some((kind, of(at)?))).collect()
}

/// A truth that is not first.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Miss {
    pub title: String,
    /// The truth's expected rank.
    pub rank: f64,
    /// The kind of the distractor that is first.
    pub kind: Option<Kind>,
    /// Each step: its text, the text of the clip that is shown instead, and the title of its video.
    pub steps: Vec<(String, String, String)>,
}

impl Comparison {
    /// At most so many truths that a method did not put first, evenly spaced.
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
    let step = |(text, clip): (&String, &Option<ClipId>)| {
        let clip = clip.map(|clip| set.collection.pool.clip(clip));
        let video = clip.and_then(|clip| set.collection.videos.get(&clip.video));
        let shown = clip.map_or(String::new(), |clip| clip.text.clone());
        (text.clone(), shown, video.map_or(String::new(), |video| video.title.clone()))
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
    use stitch_core::pool::Pool;
    use stitch_engine::progress::Silent;
    use stitch_engine::scorer::{Query, Scores};

    use super::*;
    use crate::suite::fixture::{Made, test_set};

    struct Fixed(fn(usize) -> f32);

    impl Scorer for Fixed {
        fn name(&self) -> &str {
            "evaluator"
        }

        fn score(&self, _: &Query, _: &Pool, all: &[Sequence]) -> Scores {
            Ok((0..all.len()).map(self.0).collect())
        }
    }

    fn quick() -> CompareOptions {
        CompareOptions { resamples: 200, folds: 3, ..CompareOptions::default() }
    }

    #[test]
    fn every_method_is_measured_and_the_strong_beat_the_blind() {
        let set = test_set(&Made { tasks: 6, videos: 12, steps: 4, seed: 1 });
        let oracle = Fixed(|at| f32::from(u8::from(at == 0)));
        let extra: [Extra; 1] = [("evaluator", Ok(&oracle))];
        let found = compare(&set, &extra, &quick(), &Silent).unwrap();
        let names: Vec<&str> = found.methods.iter().map(|m| m.name.as_str()).collect();
        let expected = [
            "evaluator",
            "similarity",
            "text-only",
            "recipe2video",
            "covr",
            "viddetours",
            "hirest",
            "k-best",
        ];
        assert_eq!(names, expected);
        assert_eq!(found.counts.distractors.values().sum::<usize>(), 499 * found.procedures);
        let figures = |name: &str| found.methods.iter().find(|m| m.name == name).unwrap().figures;
        assert_eq!((figures("evaluator").medr, figures("evaluator").r1), (1.0, 1.0));
        let silent = figures("text-only");
        assert_eq!(silent.medr, 250.5);
        assert!((silent.r50 - 0.1).abs() < 1e-9);
        // Sources look alike in this set, so what sees changes beats what does not.
        assert!(figures("k-best").mrr > figures("similarity").mrr);
        assert!(figures("similarity").medr < 200.0);
        let method = &found.methods[1];
        assert!(method.intervals.mrr[0] <= method.figures.mrr);
        let difference = method.against_evaluator.unwrap().mrr;
        assert!(difference.value < 0.0 && difference.high < 0.0);
    }

    #[test]
    fn a_constant_scorer_stands_in_the_middle() {
        let set = test_set(&Made { tasks: 4, videos: 12, steps: 4, seed: 2 });
        let options = CompareOptions { trained: false, ..quick() };
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
        let set = test_set(&Made { tasks: 1, videos: 3, steps: 3, seed: 3 });
        let extra: [Extra; 1] = [("evaluator", Err("there is none".into()))];
        let found = compare(&set, &extra, &quick(), &Silent).unwrap();
        assert_eq!(found.methods.len(), 2);
        assert_eq!(found.absent["evaluator"], "there is none");
        assert!(found.absent["covr"].contains("to learn from"));
    }

    #[test]
    fn folds_share_no_video_with_what_is_learnt_from() {
        let set = test_set(&Made { tasks: 3, videos: 5, steps: 3, seed: 4 });
        let making = Distractors::new(&set.collection, Calibration::of("x"), 1);
        let questions = making.questions(&set.measured(), &Silent).unwrap();
        let sources = questions.iter().map(|q| set.source(&set.collection.instances[q.instance]));
        let folds = folds(Clusters::of(sources), &quick());
        assert_eq!(folds.iter().map(Vec::len).sum::<usize>(), questions.len());
        for fold in &folds {
            let apart = disjoint(&set, &questions, fold);
            assert!(apart.iter().all(|at| !fold.contains(at)));
            assert_eq!(apart.len() + fold.len(), questions.len());
        }
    }
}
