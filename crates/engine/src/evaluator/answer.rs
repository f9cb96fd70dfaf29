//! F_R as it decides: the inputs of a candidate answer, its logit, and the choice among candidates.
//!
//! For each step the network is told how likely its clip shows it (or that it is a gap), where the clip comes
//! from, and whether its pictures go on from what earlier clips and earlier steps left. All of these are
//! similarities, standardised within the query, so that a network trained on some tasks serves others.

use std::path::PathBuf;

use stitch_core::clip::ClipId;
use stitch_core::cover::Sequence;
use stitch_core::features::{Features, similarity};
use stitch_core::gaps;
use stitch_core::map::Match;
use stitch_core::pool::{Moment, Pool};
use stitch_nn::evaluator::Batch;

use super::config::CONTINUITY;
use super::input::{Relation, relations};
use super::{Config, Evaluator, EvaluatorError, shipped};
use crate::models::{Store, weights};
use crate::scorer::{
    AverageSimilarity, Query, Scorer, ScorerEntry, ScorerError, ScorerModels, Scores, Search,
};

/// Log-odds are divided by it, so that inputs are of the order of 1.
const LOG_ODDS_SCALE: f32 = 4.0;

/// The evidence of a step that has no clip: unlikely, and nothing else.
const NO_CLIP: [f32; gaps::FEATURES] = [-LOG_ODDS_SCALE, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];

/// Pairs of clips that the mean and deviation of similarities are computed over: so many of each.
const SAMPLE: usize = 64;

/// What all candidates of one query share.
pub struct AnswerInputs<'a> {
    query: &'a Query<'a>,
    search: Search<'a>,
    pool: &'a Pool,
    /// Of a clip's last moment with another's first.
    between_clips: Scale,
    /// Of a step's text with a clip's moments.
    to_texts: Scale,
}

impl<'a> AnswerInputs<'a> {
    pub fn new(query: &'a Query<'a>, search: Search<'a>, pool: &'a Pool) -> Self {
        let (first, last) = (search.moments.firsts(), search.moments.lasts());
        let between_clips = Scale::of(last, first);
        let to_texts = Scale::of(query.clip, first);
        Self { query, search, pool, between_clips, to_texts }
    }

    /// Appends a candidate to a batch.
    pub fn add(&self, sequence: &Sequence, batch: &mut Batch) {
        let Search { used, all, .. } = self.search;
        let chosen = gaps::chosen(sequence, used);
        let shown: Vec<(usize, ClipId)> = sequence.shown().collect();
        let clips: Vec<ClipId> = shown.iter().map(|(_, clip)| *clip).collect();
        let relations = relations(&clips, self.pool);
        let mut before = 0;
        for (step, clip) in sequence.0.iter().enumerate() {
            let evidence = match clip {
                Some(_) => gaps::features(step, &chosen, used, all, self.pool),
                None => self.given_up(step, &chosen),
            };
            let relation = clip.map(|_| relations[before]);
            self.add_evidence(evidence, relation, &mut batch.inputs);
            let continuity = clip.map(|clip| self.continuity(step, clip, &shown[..before]));
            batch.inputs.extend(continuity.unwrap_or_default());
            before += usize::from(clip.is_some());
        }
        batch.lengths.push(sequence.0.len());
    }

    /// A gap is described by the likeliest clip that the step could have had.
    fn given_up(&self, step: usize, chosen: &[Option<&Match>]) -> Option<[f32; gaps::FEATURES]> {
        let Search { used, all, .. } = self.search;
        let mut with: Vec<Option<&Match>> = chosen.to_vec();
        with[step] = used.steps[step].first().or(all.steps[step].first());
        gaps::features(step, &with, used, all, self.pool)
    }

    /// `relation` is none for a gap; `evidence` where the step has no clip at all.
    fn add_evidence(
        &self,
        evidence: Option<[f32; gaps::FEATURES]>,
        relation: Option<Relation>,
        out: &mut Vec<f32>,
    ) {
        let evidence = evidence.unwrap_or(NO_CLIP);
        let [odds, neighbours, others, given_up, rival, same_video, stands_out] = evidence;
        let scaled = |odds: f32| (odds / LOG_ODDS_SCALE).clamp(-3.0, 3.0);
        out.push(f32::from(u8::from(relation.is_none())));
        out.extend([scaled(odds), neighbours, scaled(others), scaled(given_up)]);
        out.extend([scaled(rival), same_video, scaled(stands_out)]);
        out.push(scaled(self.search.gap_model.log_odds(&evidence)));
        out.extend(Relation::ALL.map(|each| f32::from(u8::from(Some(each) == relation))));
    }

    /// Whether a clip begins where the clips before it ended (the one before, the nearest of all, their mean), with
    /// what its own step and the nearest of the steps before it say, and whether it ends with what its own
    /// step and the next say.
    fn continuity(
        &self,
        step: usize,
        clip: ClipId,
        before: &[(usize, ClipId)],
    ) -> [f32; CONTINUITY] {
        let moments = self.search.moments;
        let [ends_as_begins, looks_alike] =
            self.appearance(before.last().map(|(_, clip)| *clip), clip);
        let (Some(first), Some(last)) = (moments.first(clip), moments.last(clip)) else {
            return [0.0; CONTINUITY];
        };
        let ends = before.iter().filter_map(|(_, clip)| moments.last(*clip));
        let from_clips: Vec<f32> =
            ends.map(|end| self.between_clips.standard(similarity(end, first))).collect();
        let text = |of: usize, moment: &[f32]| {
            self.to_texts.standard(similarity(self.query.clip.row(of), moment))
        };
        let earlier_texts = (0..step).map(|earlier| text(earlier, first));
        let next = (step + 1 < self.query.clip.len()).then(|| text(step + 1, last));
        [
            from_clips.last().copied().unwrap_or(0.0),
            from_clips.iter().copied().reduce(f32::max).unwrap_or(0.0),
            from_clips.iter().sum::<f32>() / from_clips.len().max(1) as f32,
            text(step, first),
            text(step, last),
            earlier_texts.reduce(f32::max).unwrap_or(0.0),
            next.unwrap_or(0.0),
            ends_as_begins,
            looks_alike,
        ]
    }

    /// Cosines of appearance: the last moment of the clip before with the first of this one, and both in the mean.
    fn appearance(&self, before: Option<ClipId>, clip: ClipId) -> [f32; 2] {
        let pairs = [(Moment::Last, Moment::First), (Moment::Mean, Moment::Mean)];
        pairs.map(|(then, now)| {
            let then = before.and_then(|before| self.pool.appearance(before, then));
            let both = then.zip(self.pool.appearance(clip, now));
            both.map_or(0.0, |(then, now)| similarity(&then, &now))
        })
    }
}

/// Mean and standard deviation of some similarities.
#[derive(Clone, Copy)]
struct Scale {
    mean: f32,
    deviation: f32,
}

impl Scale {
    /// Over pairs of rows, evenly spaced in both.
    fn of(a: &Features, b: &Features) -> Self {
        let some = |of: &Features| {
            (0..of.len()).step_by(of.len().div_ceil(SAMPLE).max(1)).collect::<Vec<_>>()
        };
        let (a_rows, b_rows) = (some(a), some(b));
        let pairs = a_rows.iter().flat_map(|i| b_rows.iter().map(move |j| (*i, *j)));
        let all: Vec<f32> = pairs.map(|(i, j)| similarity(a.row(i), b.row(j))).collect();
        let count = all.len().max(1) as f32;
        let mean = all.iter().sum::<f32>() / count;
        let variance = all.iter().map(|x| (x - mean) * (x - mean)).sum::<f32>() / count;
        Self { mean, deviation: variance.sqrt().max(1e-3) }
    }

    fn standard(self, similarity: f32) -> f32 {
        ((similarity - self.mean) / self.deviation).clamp(-4.0, 4.0)
    }
}

impl Evaluator {
    /// The logit of each candidate answer, gaps included.
    pub fn answer_logits(
        &self,
        query: &Query<'_>,
        search: Search<'_>,
        pool: &Pool,
        candidates: &[Sequence],
    ) -> Vec<f32> {
        let inputs = AnswerInputs::new(query, search, pool);
        let mut batch = Batch::default();
        candidates.iter().for_each(|candidate| inputs.add(candidate, &mut batch));
        self.network.logits(&batch)
    }
}

/// F_R as the scorer of a query: the best of its scores is the answer.
pub struct AnswerEvaluator(Evaluator);

impl AnswerEvaluator {
    pub const ENTRY: ScorerEntry = ScorerEntry { name: "evaluator", load: Self::load_entry };

    fn load_entry(with: &ScorerModels) -> Result<Option<Box<dyn Scorer>>, ScorerError> {
        let found = Self::find(with.store).map_err(|error| ScorerError::Load(error.into()))?;
        Ok(found.map(|evaluator| Box::new(evaluator) as Box<dyn Scorer>))
    }

    /// The newest of the store, else the one that comes with the program.
    fn find(store: &Store) -> Result<Option<Self>, EvaluatorError> {
        let decides = |folder: &PathBuf| {
            let config = weights::read_json::<Config>(folder, Config::FILE);
            config.is_ok_and(|config| config.channels.answer)
        };
        match store.folders().into_iter().rfind(decides) {
            Some(folder) => Ok(Some(Self(Evaluator::load(&folder)?))),
            None => shipped::ANSWER.load().map(Self).map(Some),
        }
    }
}

impl Scorer for AnswerEvaluator {
    fn name(&self) -> &str {
        Self::ENTRY.name
    }

    /// The calibrated log-odds that every step is answered rightly.
    fn score(&self, query: &Query, pool: &Pool, candidates: &[Sequence]) -> Scores {
        let Some(search) = query.search else { return Ok(vec![0.0; candidates.len()]) };
        let logits = self.0.answer_logits(query, search, pool, candidates);
        Ok(logits.into_iter().map(|logit| self.0.config.calibration.log_odds(logit)).collect())
    }

    fn decides(&self) -> bool {
        true
    }
}

/// The sum of the search's score and F_R's, over candidates without gaps; gaps are decided as without F_R.
pub struct Blend(AnswerEvaluator);

impl Blend {
    pub const ENTRY: ScorerEntry = ScorerEntry { name: "blend", load: Self::load_entry };

    fn load_entry(with: &ScorerModels) -> Result<Option<Box<dyn Scorer>>, ScorerError> {
        let found = AnswerEvaluator::find(with.store);
        let found = found.map_err(|error| ScorerError::Load(error.into()))?;
        Ok(found.map(|evaluator| Box::new(Self(evaluator)) as Box<dyn Scorer>))
    }
}

impl Scorer for Blend {
    fn name(&self) -> &str {
        Self::ENTRY.name
    }

    fn score(&self, query: &Query, pool: &Pool, candidates: &[Sequence]) -> Scores {
        let search = AverageSimilarity.score(query, pool, candidates)?;
        let odds = self.0.score(query, pool, candidates)?;
        let steps = query.clip.len().max(1) as f32;
        Ok(search.iter().zip(odds).map(|(search, odds)| search + odds / steps).collect())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use stitch_core::belief::Evidence;
    use stitch_core::clip::{Clip, Span, VideoId};
    use stitch_core::gaps::GapModel;
    use stitch_core::map::StepMap;

    use super::super::config::ANSWER_INPUTS;
    use super::*;
    use crate::moments::Moments;

    /// Four clips of four videos: 0 and 2 end with what 1 and 3 begin with.
    struct Example {
        pool: Pool,
        map: StepMap,
        moments: Moments,
        steps: Features,
    }

    fn example() -> Example {
        let clip = |video| Clip {
            video: VideoId(video),
            span: Span::new(0, 4000).unwrap(),
            text: String::new(),
        };
        let rows = Features::new(2, [1.0, 0.0].repeat(4)).unwrap();
        let pool = Pool::new((0..4).map(clip).collect(), rows.clone(), rows).unwrap();
        let found =
            |clip, log_prob| Match { clip: ClipId(clip), evidence: Evidence::default(), log_prob };
        let first = vec![found(0, -0.1), found(2, -0.2)];
        let second = vec![found(1, -0.3), found(3, -0.4)];
        let map = StepMap { steps: vec![first, second] };
        let moments = Moments::of((0..4).map(ClipId), &pool, |VideoId(video)| {
            let (raw, done) = ([1.0, 0.0], [0.0, 1.0]);
            let [begin, end] = [[raw, done], [done, raw], [raw, raw], [raw, done]][video as usize];
            Some(Arc::new(Features::new(2, [begin, begin, end, end].concat()).unwrap()))
        });
        let steps = Features::new(2, vec![1.0, 0.0, 1.0, 0.0]).unwrap();
        Example { pool, map, moments, steps }
    }

    fn inputs(of: &Example, answer: &[Option<u32>]) -> Vec<Vec<f32>> {
        let Example { pool, map, moments, steps } = of;
        let query = Query { texts: &[], text: steps, clip: steps, search: None };
        let search = Search { used: map, all: map, moments, gap_model: GapModel::default() };
        let mut batch = Batch::default();
        let answer = Sequence(answer.iter().map(|clip| clip.map(ClipId)).collect());
        AnswerInputs::new(&query, search, pool).add(&answer, &mut batch);
        assert_eq!(batch.lengths, [answer.0.len()]);
        batch.inputs.chunks(ANSWER_INPUTS).map(<[f32]>::to_vec).collect()
    }

    #[test]
    fn a_clip_that_begins_where_the_last_one_ended_goes_on_from_it() {
        const FROM_LAST: usize = ANSWER_INPUTS - CONTINUITY;
        let of = example();
        let goes_on = inputs(&of, &[Some(0), Some(1)])[1][FROM_LAST];
        let does_not = inputs(&of, &[Some(0), Some(3)])[1][FROM_LAST];
        assert!(goes_on > does_not + 0.5, "{goes_on} {does_not}");
        assert_eq!(inputs(&of, &[Some(0), Some(1)])[0][FROM_LAST], 0.0, "nothing before it");
    }

    #[test]
    fn a_gap_says_so_and_what_it_gives_up() {
        let of = example();
        let rows = inputs(&of, &[None, Some(1)]);
        assert_eq!((rows[0][0], rows[1][0]), (1.0, 0.0));
        assert!(rows[0][1] > 0.0, "the best clip was likely");
        assert!(rows[0][2 + gaps::FEATURES..].iter().all(|x| *x == 0.0));
    }

    /// Every step with a likely clip of one video in order against the same with one unlikely clip of another.
    #[test]
    fn the_shipped_one_prefers_likely_clips_and_it_is_its_weights_that_know() {
        const STEPS: u32 = 5;
        let clip = |video, at: u64| Clip {
            video: VideoId(video),
            span: Span::new(at * 6000, at * 6000 + 5000).unwrap(),
            text: String::new(),
        };
        let clips =
            (0..STEPS).map(|at| clip(0, at.into())).chain((0..STEPS).map(|i| clip(9 - i, 0)));
        let rows = Features::new(2, [1.0, 0.0].repeat(2 * STEPS as usize)).unwrap();
        let pool = Pool::new(clips.collect(), rows.clone(), rows).unwrap();
        let found =
            |clip, log_prob| Match { clip: ClipId(clip), evidence: Evidence::default(), log_prob };
        let step = |step: u32| vec![found(step, -0.05), found(STEPS + step, -6.0)];
        let map = &StepMap { steps: (0..STEPS).map(step).collect() };
        let moments = &Moments::of([], &pool, |_| None);
        let steps = &Features::new(2, [1.0, 0.0].repeat(STEPS as usize)).unwrap();
        let query = Query { texts: &[], text: steps, clip: steps, search: None };
        let search = Search { used: map, all: map, moments, gap_model: GapModel::default() };
        let all = |worse: Option<u32>| {
            let clip = |step| ClipId(if Some(step) == worse { STEPS + step } else { step });
            Sequence((0..STEPS).map(|step| Some(clip(step))).collect())
        };
        let candidates: Vec<Sequence> =
            std::iter::once(None).chain((0..STEPS).map(Some)).map(all).collect();
        let is_first_best = |evaluator: &Evaluator| {
            let logits = evaluator.answer_logits(&query, search, &pool, &candidates);
            logits[1..].iter().all(|other| *other < logits[0])
        };
        let mut evaluator = shipped::ANSWER.load().unwrap();
        assert!(is_first_best(&evaluator));
        let shuffled = (0..8).filter(|_| {
            evaluator.network.parameters.rotate_left(1009);
            is_first_best(&evaluator)
        });
        assert!(shuffled.count() < 6);
    }
}
