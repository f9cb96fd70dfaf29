//! What training, fitting and measuring are told of a query.

use std::collections::HashSet;
use std::path::PathBuf;

use serde::Serialize;
use stitch_core::belief::Evidence;
use stitch_core::cover::Sequence;
use stitch_core::gaps;
use stitch_core::map::{Match, StepMap};

use super::prefer::Prices;
use super::{
    Asked, DemonstrateError, Demonstrator, Found, Options, Stock, decide, mapped, moments, search,
    with_prices,
};
use crate::calibration::Calibration;
use crate::evaluator::Batch;
use crate::evaluator::answer::AnswerInputs;
use crate::scorer::{Query, Scorer, Search};

/// Candidate answers of a query, those near the answer without F_R among them, and what F_R is told of them; for
/// training it.
pub fn answer_candidates(
    with: &Demonstrator<'_>,
    stock: &Stock,
    asked: &Asked,
    options: &Options,
) -> Result<(Vec<Sequence>, Batch), DemonstrateError> {
    let calibration = stock.calibration(with.encoder);
    let map = mapped(with, stock, asked, options, |_| true)?;
    let found = search(with, stock, asked, (&map, &calibration), options)?;
    let near = decide::neighbours(&found.settled.0[0].0, &found.judge);
    let mut known = HashSet::new();
    let all = found.answers().into_iter().chain(near);
    let answers: Vec<Sequence> = all.filter(|answer| known.insert(answer.clone())).collect();
    let query = asked.query();
    let inputs = AnswerInputs::new(&query, found.search(), &stock.pool);
    let mut batch = Batch::default();
    answers.iter().for_each(|answer| inputs.add(answer, &mut batch));
    Ok((answers, batch))
}

/// Sequences that `make` makes of M with all clips, and their scores by each scorer as it ranks candidates; for
/// measuring.
pub fn score_sequences(
    with: &Demonstrator<'_>,
    stock: &Stock,
    asked: &Asked,
    options: &Options,
    scorers: &[&dyn Scorer],
    make: impl FnOnce(&StepMap) -> Vec<Sequence>,
) -> Result<Vec<Vec<f32>>, DemonstrateError> {
    let (pool, calibration) = (&stock.pool, stock.calibration(with.encoder));
    let options = &Options { top: pool.len(), ..options.clone() };
    let map = mapped(with, stock, asked, options, |_| true)?.all;
    let (moments, gap_model) = (moments(with, stock, &map), calibration.gaps.into());
    let search = Search { used: &map, all: &map, moments: &moments, gap_model };
    let (query, sequences) = (Query { search: Some(search), ..asked.query() }, make(&map));
    if sequences.is_empty() {
        return Ok(Vec::new());
    }
    let score = |scorer: &&dyn Scorer| -> Result<Vec<f32>, DemonstrateError> {
        let scores = scorer.score(&query, pool, &sequences)?;
        Ok(match scorer.decides() {
            true => scores,
            false => with_prices(&scores, &sequences, pool, (options, &Prices::default())),
        })
    };
    scorers.iter().map(score).collect()
}

/// What the decision about gaps goes by for the chosen clip of a step.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct GapEvidence {
    pub features: [f32; gaps::FEATURES],
    /// That the clip shows the step, by the weights in use.
    pub probability: f32,
    /// The same by the built-in weights.
    pub built_in: f32,
    /// The least probability of a clip that is shown.
    pub threshold: f32,
}

/// A clip whose text the cross-encoder read together with a step.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadClip {
    pub video: PathBuf,
    pub span_ms: (u64, u64),
    /// The log-odds of all other evidence.
    pub odds: f32,
    /// The cross-encoder's.
    pub cross: f32,
}

/// What a calibration is fitted to.
#[derive(Clone, Debug, Default)]
pub struct StepEvidence {
    /// Of the best solution before gaps are decided; none where it has no clip.
    pub gap: Option<GapEvidence>,
    pub read: Vec<ReadClip>,
}

/// The evidence of each step; for fitting a calibration.
pub fn step_evidence(
    with: &Demonstrator<'_>,
    stock: &Stock,
    asked: &Asked,
    options: &Options,
) -> Result<Vec<StepEvidence>, DemonstrateError> {
    let calibration = stock.calibration(with.encoder);
    let map = mapped(with, stock, asked, options, |_| true)?;
    let found = search(with, stock, asked, (&map, &calibration), options)?;
    let Found { judge, ranked, .. } = found;
    let chosen = gaps::chosen(&ranked[0].0, judge.used);
    let evidence = |step: usize| {
        let features = gaps::features(step, &chosen, judge.used, judge.all, judge.pool)?;
        let (probability, threshold) =
            (judge.probability(step, &chosen)?, judge.threshold(chosen[step]?));
        let built_in = Calibration::of(&with.encoder.id().name);
        let built_in = judge.probability_by(built_in, step, &chosen)?;
        Some(GapEvidence { features, probability, built_in, threshold })
    };
    let belief = calibration.belief();
    let read = |found: &Match| {
        let apart = Evidence { cross: None, ..found.evidence };
        let (odds, cross) = (belief.log_odds(&apart)?, found.evidence.cross?);
        let clip = stock.pool.clip(found.clip);
        let video = stock.videos[&clip.video].path.clone();
        Some(ReadClip { video, span_ms: (clip.span.start(), clip.span.end()), odds, cross })
    };
    let of_step = |step: usize| StepEvidence {
        gap: evidence(step),
        read: map.all.steps[step].iter().filter_map(read).collect(),
    };
    Ok((0..chosen.len()).map(of_step).collect())
}
