//! The method's query: a procedure and a library in, a demonstration out.

pub mod demonstration;
pub mod sources;
mod describe;

use std::collections::BTreeMap;

use stitch_core::clip::{ClipId, VideoId};
use stitch_core::cover::{self, KBestOptions, Sequence};
use stitch_core::features::Features;
use stitch_core::map::{self, MapError, MapOptions, Match, StepMap};
use stitch_core::pool::Pool;
use stitch_core::procedure::Procedure;
use stitch_core::timeline::{self, TimelineOptions};
use stitch_core::words;

use crate::encoder::{Encoder, EncoderError};
use crate::library::{Library, LibraryError, VideoRecord};
use crate::scorer::{Query, Scorer, ScorerError};
use crate::sentence::SentenceEncoder;
pub use demonstration::{Choice, Demonstration, Interval, Similarity, Source, Step};
pub use sources::SourceFilter;

/// What a query works with.
pub struct Demonstrator<'a> {
    /// Where the clips are.
    pub library: &'a Library,
    /// F_M.
    pub encoder: &'a dyn Encoder,
    /// For text against text.
    pub sentence: &'a SentenceEncoder,
    /// The SHA-256 of its weights.
    pub sentence_weights: &'a str,
    /// What decides between candidates.
    pub scorer: &'a dyn Scorer,
}

/// What a person may ask for.
#[derive(Clone, Debug)]
pub struct Options {
    /// How clips are found for a step.
    pub map: MapOptions,
    /// The weight of shared words against 1 for the meaning.
    pub word_weight: f32,
    /// How many candidate sequences are compared.
    pub candidates: usize,
    /// The price, in similarity, of a source change and of going backwards in a source: when
    /// candidates are made, and when they are ranked by a scorer that does not judge coherence.
    pub k_best: KBestOptions,
    /// How clips become cuts.
    pub timeline: TimelineOptions,
    /// How long the whole may be, in milliseconds; longer clips are cut or sped up to fit.
    pub length_ms: Option<u64>,
    /// How many alternatives are told per step.
    pub alternatives: usize,
    /// Which videos may be used.
    pub sources: SourceFilter,
    /// Of everything random.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            map: MapOptions { top: 50, threshold: 0.48, text_weight: 0.7 },
            word_weight: 0.5,
            candidates: 200,
            k_best: KBestOptions { switch_cost: 0.2, order_cost: 0.1 },
            timeline: TimelineOptions::default(),
            length_ms: None,
            alternatives: 3,
            sources: SourceFilter::default(),
            seed: 0,
        }
    }
}

/// Why there is no demonstration.
#[derive(Debug, thiserror::Error)]
pub enum DemonstrateError {
    /// The library cannot be read.
    #[error(transparent)]
    Library(#[from] LibraryError),
    /// The step texts cannot be encoded.
    #[error(transparent)]
    Encoder(#[from] EncoderError),
    /// The features of query and library do not belong together.
    #[error(transparent)]
    Map(#[from] MapError),
    /// The candidates cannot be scored.
    #[error(transparent)]
    Scorer(#[from] ScorerError),
    /// The source options leave no video.
    #[error("no video of the library passes the source options; `stitch library list` shows them")]
    NoSource,
}

/// V_R: the best sequence of clips for the procedure, with its evidence.
pub fn demonstrate(
    with: &Demonstrator<'_>,
    procedure: &Procedure,
    options: &Options,
) -> Result<Demonstration, DemonstrateError> {
    let pool = with.library.pool()?;
    let videos = usable_videos(with.library, &options.sources)?;
    let (text, clip) = encode(with, procedure)?;
    let mut query = Query { texts: procedure.steps(), text: &text, clip: &clip, map: None };
    let allowed = |id| videos.contains_key(&pool.clip(id).video);
    let step_map = step_map(&query, &pool, allowed, options)?;
    let candidates = candidates(&step_map, &pool, options);
    query.map = Some(&step_map);
    let scores = with.scorer.score(&query, &pool, &candidates)?;
    let scores = with_price_of_changes(with.scorer, scores, &candidates, &pool, options);
    let order = ranked(&scores);
    let cuts = timeline::timeline(
        &candidates[order[0]],
        &pool,
        |video| videos[&video].video.length_ms,
        &fitted(&options.timeline, options.length_ms, &candidates[order[0]]),
    );
    let ranked: Vec<_> = order.iter().map(|&i| (&candidates[i], scores[i])).collect();
    describe::describe(with, procedure, &pool, &videos, &step_map, &ranked, &cuts, options)
}

/// The videos that may be used, by number.
fn usable_videos(
    library: &Library,
    sources: &SourceFilter,
) -> Result<BTreeMap<VideoId, VideoRecord>, DemonstrateError> {
    let all = library.videos()?;
    let some_ready = !all.is_empty();
    let usable: BTreeMap<_, _> = all
        .into_iter()
        .filter(|video| sources.allows(video))
        .map(|video| (VideoId(video.id), video))
        .collect();
    if usable.is_empty() && some_ready { Err(DemonstrateError::NoSource) } else { Ok(usable) }
}

/// The steps as the sentence encoder and as F_M's text tower see them.
fn encode(
    with: &Demonstrator<'_>,
    procedure: &Procedure,
) -> Result<(Features, Features), EncoderError> {
    let texts: Vec<&str> = procedure.steps().iter().map(String::as_str).collect();
    Ok((with.sentence.encode(&texts)?, with.encoder.encode_text(&texts)?))
}

/// M by meaning and by words. More is taken by meaning than is kept, so that words can raise a clip.
pub fn step_map(
    query: &Query<'_>,
    pool: &Pool,
    allowed: impl Fn(ClipId) -> bool,
    options: &Options,
) -> Result<StepMap, MapError> {
    let wide = MapOptions { top: options.map.top * 4, threshold: -1.0, ..options.map };
    let mut step_map = map::map(query.text, query.clip, pool, allowed, &wide)?;
    words::weigh(&mut step_map, query.texts, pool, options.word_weight);
    for matches in &mut step_map.steps {
        keep_what_shows(matches, &options.map);
    }
    Ok(step_map)
}

/// A step whose best clip is below the threshold is a gap. For one that is shown, clips somewhat less
/// similar stay: they may be right too, in other words, and spare a change of source.
fn keep_what_shows(matches: &mut Vec<Match>, options: &MapOptions) {
    const SLACK: f32 = 0.13;
    let shown = matches.first().is_some_and(|best| best.similarity >= options.threshold);
    let least = if shown { options.threshold - SLACK } else { f32::INFINITY };
    matches.retain(|found| found.similarity >= least);
    matches.truncate(options.top);
}

/// V'_R: the covers by few sources, and the exact best by similarity less the price of changes.
fn candidates(step_map: &StepMap, pool: &Pool, options: &Options) -> Vec<Sequence> {
    let half = options.candidates.div_ceil(2);
    let mut candidates = cover::greedy(step_map, pool, half);
    for candidate in cover::k_best(step_map, pool, 2 * options.candidates, &options.k_best) {
        if !candidates.contains(&candidate.sequence) {
            candidates.push(candidate.sequence);
        }
    }
    // One clip for two steps is footage seen twice; it is taken only where there is nothing else.
    if candidates.iter().any(|sequence| !repeats(sequence)) {
        candidates.retain(|sequence| !repeats(sequence));
    }
    candidates.truncate(options.candidates);
    candidates
}

/// Whether two steps have the same clip.
fn repeats(sequence: &Sequence) -> bool {
    let mut clips: Vec<ClipId> = sequence.0.iter().flatten().copied().collect();
    clips.sort_unstable();
    clips.windows(2).any(|pair| pair[0] == pair[1])
}

/// The scores as they are from a scorer that judges coherence itself; else less the price of the
/// source changes, shared among the steps as the similarity is.
fn with_price_of_changes(
    scorer: &dyn Scorer,
    scores: Vec<f32>,
    candidates: &[Sequence],
    pool: &Pool,
    options: &Options,
) -> Vec<f32> {
    if scorer.judges_coherence() {
        return scores;
    }
    let price = |sequence: &Sequence| {
        let changes = cover::source_changes(sequence, pool) as f64;
        (options.k_best.switch_cost * changes / sequence.0.len().max(1) as f64) as f32
    };
    scores.iter().zip(candidates).map(|(score, sequence)| score - price(sequence)).collect()
}

/// The candidates by number, best first; equals keep their order.
fn ranked(scores: &[f32]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
    order
}

/// The limits of a cut when the whole may only be so long.
fn fitted(options: &TimelineOptions, length_ms: Option<u64>, chosen: &Sequence) -> TimelineOptions {
    let shown = chosen.0.iter().flatten().count().max(1) as u64;
    let mut fitted = *options;
    if let Some(length) = length_ms {
        fitted.longest_ms = (length / shown).clamp(1, options.longest_ms.max(1));
        fitted.shortest_ms = options.shortest_ms.min(fitted.longest_ms);
    }
    fitted
}
