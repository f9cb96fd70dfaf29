//! The rank of a right answer among 499 wrong ones with as many source changes, on a made-up library: counting
//! changes does not help.

use std::collections::{BTreeMap, HashSet};

use rand::seq::{IndexedRandom, SliceRandom};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::Serialize;
use stitch_core::clip::{ClipId, VideoId};
use stitch_core::cover::{KBestOptions, Sequence, greedy, k_best, source_changes};
use stitch_core::map::{Match, StepMap};
use stitch_core::pool::Pool;
use stitch_core::procedure::Procedure;
use stitch_engine::demonstrate::{Asked, Demonstrator, Options, Stock, score_sequences};
use stitch_engine::progress::Progress;
use stitch_engine::scorer::Scorer;
use stitch_world::questions::Question;
use stitch_world::truth::Truth;

use super::MeasureError;
use super::answers::{hidden, judge, of_sequence};
use super::distractors::DISTRACTORS;
use super::ranks::{Clusters, RESAMPLES, Rank, RankMetrics};
use crate::rows::grouped;

/// Sequences of right clips among which the right answer is looked for.
const RIGHT_SEQUENCES: usize = 500;

/// Covers among which distractors are looked for.
const COVERS: usize = 2000;

/// Draws for each distractor wanted, after which no more are tried.
const MAX_DRAWS: usize = 200;

/// The ranks of two methods over some questions.
#[derive(Clone, Debug, Serialize)]
pub struct EqualChangeGroup {
    pub name: String,
    pub questions: usize,
    pub ranks: [RankMetrics; 2],
    /// 95 % intervals.
    pub intervals: [RankMetrics<[f64; 2]>; 2],
}

#[derive(Clone, Debug, Serialize)]
pub struct EqualChangeReport {
    /// All questions, by domain, and by domain and source changes.
    pub groups: Vec<EqualChangeGroup>,
    /// Questions without a faultless answer: a step that nothing shows, or that has no clip in the library.
    pub unanswerable: usize,
    /// Questions with fewer distractors than 499, which are left out.
    pub too_few: usize,
    /// Distractors by kind.
    pub distractors: BTreeMap<&'static str, usize>,
}

struct Ranked {
    domain: String,
    changes: usize,
    ranks: [Rank; 2],
}

/// Ranks a faultless answer of every question that has one, by two methods.
pub fn rank(
    with: &Demonstrator<'_>,
    scorers: [&dyn Scorer; 2],
    truth: &Truth,
    questions: &[Question],
    options: &Options,
    progress: &dyn Progress,
) -> Result<EqualChangeReport, MeasureError> {
    let stock = Stock::load(with.library)?;
    progress.begin("ranking answers", questions.len() as u64);
    let mut report = EqualChangeReport {
        groups: Vec::new(),
        unanswerable: 0,
        too_few: 0,
        distractors: BTreeMap::new(),
    };
    let mut all = Vec::new();
    for (number, question) in questions.iter().enumerate() {
        progress.check()?;
        let steps = question.procedure.steps.iter().map(|step| &step.text);
        let asked = Asked::encode(with, &Procedure::new(&question.procedure.title, steps)?)?;
        let random = ChaCha8Rng::seed_from_u64(options.seed ^ (number as u64) << 20);
        let judge = Judge { question, stock: &stock, truth };
        let mut made = None;
        let options = Options { wishes: hidden(question, &stock), ..options.clone() };
        let scores = score_sequences(with, &stock, &asked, &options, &scorers, |map| {
            made = Candidates::new(map, judge, random).map(Candidates::filled);
            made.as_ref().map_or(Vec::new(), |made| made.sequences.clone())
        })?;
        match made {
            None => report.unanswerable += 1,
            Some(made) if made.kinds.len() < DISTRACTORS => report.too_few += 1,
            Some(made) => {
                made.kinds
                    .iter()
                    .for_each(|kind| *report.distractors.entry(kind).or_default() += 1);
                let ranks = [0, 1].map(|method: usize| Rank::of_first(&scores[method]));
                if let [Some(first), Some(second)] = ranks {
                    let domain = format!("{:?}", question.procedure.domains[0]).to_lowercase();
                    all.push(Ranked { domain, changes: made.changes, ranks: [first, second] });
                }
            }
        }
        progress.advance(1);
    }
    if all.is_empty() {
        return Err(MeasureError::NoProcedures);
    }
    report.groups = groups(&all, options.seed);
    Ok(report)
}

fn groups(all: &[Ranked], seed: u64) -> Vec<EqualChangeGroup> {
    let by_domain = grouped(all.iter().map(|ranked| (ranked.domain.clone(), ranked)));
    let by_changes = grouped(all.iter().map(|ranked| {
        let Ranked { domain, changes, .. } = ranked;
        (format!("{domain}, {changes} source changes"), ranked)
    }));
    let named = by_domain.into_iter().chain(by_changes);
    let every = std::iter::once(("all".to_owned(), all.iter().collect()));
    every.chain(named).map(|(name, ranked)| group(name, &ranked, seed)).collect()
}

fn group(name: String, ranked: &[&Ranked], seed: u64) -> EqualChangeGroup {
    let of = |method: usize| {
        let ranks: Vec<Rank> = ranked.iter().map(|ranked| ranked.ranks[method]).collect();
        Clusters::of(0..ranks.len()).resample(&ranks, RESAMPLES, seed)
    };
    let both = [of(0), of(1)];
    EqualChangeGroup {
        name,
        questions: ranked.len(),
        intervals: [both[0].intervals(), both[1].intervals()],
        ranks: both.map(|bootstrap| bootstrap.metrics),
    }
}

#[derive(Clone, Copy)]
struct Judge<'a> {
    question: &'a Question,
    stock: &'a Stock,
    truth: &'a Truth,
}

impl Judge<'_> {
    fn is_faultless(&self, sequence: &Sequence) -> bool {
        judge(self.question, &of_sequence(sequence, self.stock), self.truth).is_perfect()
    }

    /// Whether a clip shows a step.
    fn is_right(&self, step: usize, clip: ClipId) -> bool {
        let mut answer = Sequence(vec![None; self.question.procedure.steps.len()]);
        let right = |answer: &Sequence| {
            judge(self.question, &of_sequence(answer, self.stock), self.truth).right
        };
        let without = right(&answer);
        answer.0[step] = Some(clip);
        right(&answer) > without
    }
}

/// The faultless answer with the fewest source changes, and distractors with as many.
struct Candidates<'a> {
    map: &'a StepMap,
    judge: Judge<'a>,
    changes: usize,
    /// The faultless one first.
    sequences: Vec<Sequence>,
    seen: HashSet<Sequence>,
    /// Of the others.
    kinds: Vec<&'static str>,
    random: ChaCha8Rng,
    /// For each video its matches of each step, the likeliest first.
    videos: Vec<(VideoId, Vec<Vec<Match>>)>,
}

/// The candidates of a question.
struct Made {
    /// The faultless one first.
    sequences: Vec<Sequence>,
    /// Of the others.
    kinds: Vec<&'static str>,
    /// Of all.
    changes: usize,
}

impl<'a> Candidates<'a> {
    /// None if there is no faultless answer.
    fn new(map: &'a StepMap, judge: Judge<'a>, random: ChaCha8Rng) -> Option<Self> {
        let pool = &judge.stock.pool;
        let truth = faultless(map, &judge)?;
        let mut videos: BTreeMap<VideoId, Vec<Vec<Match>>> = BTreeMap::new();
        for (step, matches) in map.steps.iter().enumerate() {
            for found in matches {
                let of_video = videos.entry(pool.clip(found.clip).video);
                of_video.or_insert_with(|| vec![Vec::new(); map.steps.len()])[step].push(*found);
            }
        }
        let videos = videos.into_iter().filter(|(_, steps)| steps.iter().all(|s| !s.is_empty()));
        Some(Self {
            map,
            judge,
            changes: source_changes(&truth, pool),
            seen: HashSet::from([truth.clone()]),
            sequences: vec![truth],
            kinds: Vec::new(),
            random,
            videos: videos.collect(),
        })
    }

    /// With a quarter of each kind, and random ones where a kind runs short.
    fn filled(mut self) -> Made {
        let quarter = DISTRACTORS.div_ceil(4);
        let covers = greedy(self.map, self.pool(), COVERS, &Options::default().k_best);
        self.keep("rs", quarter, covers.into_iter());
        self.draw("one wrong", self.kinds.len() + quarter, Self::one_wrong);
        self.draw("sim-match", self.kinds.len() + quarter, |this| this.spliced(true));
        self.draw("rand-match", DISTRACTORS, |this| this.spliced(false));
        let Self { sequences, kinds, changes, .. } = self;
        Made { sequences, kinds, changes }
    }

    fn pool(&self) -> &'a Pool {
        &self.judge.stock.pool
    }

    fn keep(&mut self, kind: &'static str, most: usize, found: impl Iterator<Item = Sequence>) {
        let end = self.kinds.len() + most;
        for sequence in found {
            if self.kinds.len() >= end {
                break;
            }
            let is_whole = sequence.0.iter().all(Option::is_some);
            if is_whole
                && source_changes(&sequence, self.pool()) == self.changes
                && !self.judge.is_faultless(&sequence)
                && self.seen.insert(sequence.clone())
            {
                self.sequences.push(sequence);
                self.kinds.push(kind);
            }
        }
    }

    /// Draws until there are `end` distractors.
    fn draw(
        &mut self,
        kind: &'static str,
        end: usize,
        draw: impl Fn(&mut Self) -> Option<Sequence>,
    ) {
        for _ in 0..MAX_DRAWS * end.saturating_sub(self.kinds.len()) {
            if self.kinds.len() >= end {
                return;
            }
            if let Some(sequence) = draw(self) {
                self.keep(kind, 1, std::iter::once(sequence));
            }
        }
    }

    /// The faultless answer with one to three clips replaced by others of the same video.
    fn one_wrong(&mut self) -> Option<Sequence> {
        let mut sequence = self.sequences[0].clone();
        for _ in 0..self.random.random_range(1..=3) {
            let step = self.random.random_range(0..sequence.0.len());
            let video = self.pool().clip(sequence.0[step]?).video;
            let clips = self.map.steps[step].iter().map(|found| found.clip);
            let same: Vec<ClipId> =
                clips.filter(|clip| self.pool().clip(*clip).video == video).collect();
            sequence.0[step] = same.choose(&mut self.random).copied();
        }
        Some(sequence)
    }

    /// Stretches of random videos between random steps; of each step the likeliest clip of its video, or a
    /// random one.
    fn spliced(&mut self, likely: bool) -> Option<Sequence> {
        let steps = self.map.steps.len();
        let mut ends: Vec<usize> = (1..steps).collect();
        ends.shuffle(&mut self.random);
        ends.truncate(self.changes);
        ends.push(steps);
        ends.sort_unstable();
        let (mut clips, mut from, mut last) = (Vec::new(), 0, None);
        for end in ends {
            let (video, matches) = self.videos.choose(&mut self.random)?;
            if last.replace(*video) == Some(*video) {
                return None;
            }
            for of_step in &matches[from..end] {
                let likeliest = of_step.iter().max_by(|a, b| a.log_prob.total_cmp(&b.log_prob));
                let chosen = if likely { likeliest } else { of_step.choose(&mut self.random) };
                clips.push(Some(chosen?.clip));
            }
            from = end;
        }
        Some(Sequence(clips))
    }
}

/// The faultless answer with the fewest source changes, then the fewest steps back; none if there is none.
fn faultless(map: &StepMap, judge: &Judge<'_>) -> Option<Sequence> {
    let right = |(step, matches): (usize, &Vec<Match>)| -> Vec<Match> {
        let right = matches.iter().filter(|found| judge.is_right(step, found.clip));
        right.map(|found| Match { log_prob: 0.0, ..*found }).collect()
    };
    let right = StepMap { steps: map.steps.iter().enumerate().map(right).collect() };
    if right.steps.iter().any(Vec::is_empty) {
        return None;
    }
    let costs = KBestOptions { switch_cost: 1.0, order_cost: 0.01 };
    let sequences = k_best(&right, &judge.stock.pool, RIGHT_SEQUENCES, &costs);
    sequences.into_iter().find(|sequence| judge.is_faultless(sequence))
}
