//! The chosen sequence with its evidence: sources, words, similarities, alternatives.

use std::collections::BTreeMap;

use stitch_core::clip::{ClipId, VideoId};
use stitch_core::cover::{self, Sequence};
use stitch_core::map::{Match, StepMap};
use stitch_core::pool::Pool;
use stitch_core::procedure::Procedure;
use stitch_core::timeline::Cut;

use super::{
    Choice, DemonstrateError, Demonstration, Demonstrator, Interval, Options, Similarity, Source,
    Step,
};
use crate::library::{Library, LibraryError, VideoRecord};
use crate::sentence::SentenceEncoder;

/// The record of the answer. `ranked` holds the candidates best first and is never empty.
#[allow(clippy::too_many_arguments)] // everything the query found goes into its record
pub(super) fn describe(
    with: &Demonstrator<'_>,
    procedure: &Procedure,
    pool: &Pool,
    videos: &BTreeMap<VideoId, VideoRecord>,
    step_map: &StepMap,
    ranked: &[(&Sequence, f32)],
    cuts: &[Cut],
    options: &Options,
) -> Result<Demonstration, DemonstrateError> {
    let (best, score) = ranked[0];
    let clerk = Clerk { library: with.library, pool, videos };
    let mut steps = Vec::with_capacity(procedure.steps().len());
    for (number, text) in procedure.steps().iter().enumerate() {
        let matches = &step_map.steps[number];
        let found = |clip: ClipId| matches.iter().find(|m| m.clip == clip);
        let cut = cuts.iter().find(|cut| cut.step == number && worth_seeing(cut));
        let chosen = best.0[number].and_then(found).map(|m| clerk.choice(m, cut)).transpose()?;
        let others = alternatives(number, best.0[number], matches, ranked, options.alternatives);
        let alternatives =
            others.into_iter().map(|m| clerk.choice(m, None)).collect::<Result<_, _>>()?;
        steps.push(Step { text: text.clone(), chosen, alternatives });
    }
    Ok(Demonstration {
        version: Demonstration::VERSION,
        title: procedure.title().to_owned(),
        steps,
        scorer: with.scorer.name().to_owned(),
        score: with.scorer.probability(score).unwrap_or(score),
        candidates: ranked.len(),
        source_changes: cover::source_changes(best, pool),
        seed: options.seed,
        models: models(with),
    })
}

/// A clip that several steps share is divided among them; where that leaves a glimpse, the whole
/// clip is shown again instead.
fn worth_seeing(cut: &Cut) -> bool {
    const GLIMPSE_MS: u64 = 700;
    cut.span.length() >= GLIMPSE_MS
}

/// Other clips for a step: those of the next-best sequences first, then the most similar.
fn alternatives<'m>(
    step: usize,
    chosen: Option<ClipId>,
    matches: &'m [Match],
    ranked: &[(&Sequence, f32)],
    most: usize,
) -> Vec<&'m Match> {
    let mut clips: Vec<ClipId> = Vec::new();
    let from_sequences = ranked.iter().filter_map(|(sequence, _)| sequence.0[step]);
    for clip in from_sequences.chain(matches.iter().map(|m| m.clip)) {
        if clips.len() == most {
            break;
        }
        if Some(clip) != chosen && !clips.contains(&clip) {
            clips.push(clip);
        }
    }
    clips.into_iter().filter_map(|clip| matches.iter().find(|m| m.clip == clip)).collect()
}

fn models(with: &Demonstrator<'_>) -> BTreeMap<String, String> {
    let mut models = BTreeMap::new();
    let encoder = with.encoder.id();
    models.insert(format!("encoder {}", encoder.name), encoder.weights.clone());
    models.insert(format!("sentence {}", SentenceEncoder::MODEL), with.sentence_weights.to_owned());
    models
}

/// Writes choices out of what the library knows.
struct Clerk<'a> {
    library: &'a Library,
    pool: &'a Pool,
    videos: &'a BTreeMap<VideoId, VideoRecord>,
}

impl Clerk<'_> {
    fn choice(&self, found: &Match, cut: Option<&Cut>) -> Result<Choice, LibraryError> {
        let clip = self.pool.clip(found.clip);
        let span = Interval::from(clip.span);
        Ok(Choice {
            clip: found.clip.0,
            source: self.source(clip.video)?,
            span,
            cut: cut.map_or(span, |cut| cut.span.into()),
            speed: cut.map_or(1.0, |cut| cut.speed),
            text: clip.text.clone(),
            narration: self.narration(clip.video, span)?,
            similarity: Similarity {
                text: found.evidence.text,
                words: found.evidence.words,
                clip: found.evidence.clip,
                probability: found.probability(),
            },
        })
    }

    fn source(&self, video: VideoId) -> Result<Source, LibraryError> {
        let wanted = || LibraryError::NoSuchVideo { wanted: video.0.to_string() };
        let record = self.videos.get(&video).ok_or_else(wanted)?;
        Ok(Source {
            video: record.id,
            path: record.path.clone(),
            title: record.video.title.clone(),
            uploader: record.video.uploader.clone(),
            url: record.video.url.clone(),
            licence: record.video.licence.clone(),
        })
    }

    /// What is said during the span; a sentence counts where most of it is heard.
    fn narration(&self, video: VideoId, span: Interval) -> Result<String, LibraryError> {
        let heard = |start: u64, end: u64| {
            let both = end.min(span.end_ms).saturating_sub(start.max(span.start_ms));
            both * 2 >= end.saturating_sub(start)
        };
        let sentences = self.library.sentences(video)?;
        let said = sentences.iter().filter(|s| heard(s.start_ms, s.end_ms));
        Ok(said.map(|s| s.text.as_str()).collect::<Vec<_>>().join(" "))
    }
}
