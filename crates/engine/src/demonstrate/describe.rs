//! The chosen sequence with its evidence: sources, words, similarities, alternatives.

use std::collections::BTreeMap;

use stitch_core::belief::probability;
use stitch_core::clip::{ClipId, VideoId};
use stitch_core::cover::{self, Sequence};
use stitch_core::features::{Features, similarity};
use stitch_core::map::Match;
use stitch_core::timeline::Cut;

use super::copies::Copies;
use super::parts::FoundPart;
use super::states;
use super::wishes::Kept;
use super::{
    Asked, Choice, Confidence, DemonstrateError, Demonstration, Demonstrator, Elsewhere, Interval,
    Options, Place, Similarity, Source, Step, StepPart, Stock, Wishes,
};
use crate::library::{Library, LibraryError};
use crate::recipe::clauses::{self, StepParts};
use crate::recipe::foreign_language;

/// What was found for a procedure.
pub(super) struct Solution<'a> {
    /// The candidates with their scores, best first.
    pub ranked: &'a [(Sequence, f32)],
    /// How likely each chosen clip shows its step.
    pub shown: &'a [Option<f32>],
    /// By step, its actions where its own clip does not show them all.
    pub parts: &'a [Vec<FoundPart>],
    /// What is cut from where.
    pub cuts: &'a [Cut],
}

/// The record of the answer. `ranked` holds the candidates best first and is never empty.
pub(super) fn describe(
    with: &Demonstrator<'_>,
    stock: &Stock,
    asked: &Asked,
    map: &Kept,
    solution: &Solution<'_>,
    options: &Options,
) -> Result<Demonstration, DemonstrateError> {
    let Solution { ranked, shown, parts, cuts } = *solution;
    let (best, score) = &ranked[0];
    let clerk =
        Clerk { library: with.library, stock, wishes: &options.wishes, copies: &map.copies };
    let words = asked.steps().texts;
    let translated = words != asked.procedure.steps();
    let in_english = translated || foreign_language(&words.join(" ")).is_none();
    let mut steps = Vec::with_capacity(asked.procedure.steps().len());
    for (number, text) in asked.procedure.steps().iter().enumerate() {
        let found = |clip: ClipId| map.used.steps[number].iter().find(|m| m.clip == clip);
        let cut = |m: &Match| {
            let own = |cut: &&Cut| cut.step == number && cut.clip == m.clip && worth_seeing(cut);
            cuts.iter().find(own)
        };
        let found = best.0[number].and_then(found);
        let mut chosen = found.map(|m| clerk.chosen(number, m, cut(m))).transpose()?;
        if let Some((choice, probability)) = chosen.as_mut().zip(shown[number]) {
            choice.similarity.probability = probability;
        }
        let offered = &map.offered.steps[number][..];
        let others = alternatives(number, best.0[number], offered, ranked, options.alternatives);
        let alternatives =
            others.into_iter().map(|m| clerk.choice(m, None)).collect::<Result<_, _>>()?;
        let part = |FoundPart { text, shown, clip }: &FoundPart| {
            let clip = clip.as_ref().map(|m| clerk.choice(m, cut(m))).transpose()?;
            Ok(StepPart { text: text.clone(), shown: *shown, clip })
        };
        let StepParts { condition, times, .. } =
            if in_english { clauses::parts(&words[number]) } else { StepParts::default() };
        steps.push(Step {
            text: text.clone(),
            understood: asked.understood[number].clone(),
            condition,
            times,
            confidence: Confidence::of(chosen.as_ref()),
            chosen,
            parts: parts[number].iter().map(part).collect::<Result<_, LibraryError>>()?,
            alternatives,
            state_note: None,
            join: None,
            lead: lead(number, ranked),
        });
    }
    states::note(&mut steps);
    if with.encoder.sees() {
        look_at_joins(&mut steps, |video| with.library.seconds(video).ok());
    }
    Ok(Demonstration {
        version: Demonstration::VERSION,
        title: asked.procedure.title().to_owned(),
        language_note: asked.language_note.clone(),
        steps,
        scorer: with.scorer.name().to_owned(),
        score: *score,
        probability: with.scorer.decides().then(|| probability(*score)),
        candidates: ranked.len(),
        source_changes: cover::source_changes(best, &stock.pool),
        seed: options.seed,
        models: models(with),
        preferences: Vec::new(),
        voiceover: None,
    })
}

/// How far the best candidate is ahead of the best with something else at this step.
fn lead(step: usize, ranked: &[(Sequence, f32)]) -> Option<f32> {
    let (best, score) = ranked.first()?;
    let without = ranked.iter().find(|(other, _)| other.0[step] != best.0[step]);
    without.map(|(_, other)| score - other)
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
    ranked: &[(Sequence, f32)],
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
    models.insert(format!("sentence {}", with.sentence.name()), with.sentence_weights.to_owned());
    models
}

/// Subject consistency: the last second before each cut against the first one after it. `seconds` gives the features
/// of a video's seconds.
fn look_at_joins(steps: &mut [Step], seconds: impl Fn(VideoId) -> Option<Features>) {
    let mut before: Option<Vec<f32>> = None;
    for step in steps {
        let clips = step.clips();
        let Some((first, last)) = clips.first().zip(clips.last()) else {
            before = None;
            continue;
        };
        // Several clips of a step are of one video.
        let seconds = seconds(VideoId(first.source.video));
        let Some(seconds) = seconds.filter(|seconds| !seconds.is_empty()) else {
            before = None;
            continue;
        };
        let end = seconds.len() - 1;
        let row = |ms: u64| seconds.row(((ms / 1000) as usize).min(end)).to_vec();
        let [from, to] = [first.cut.start_ms, last.cut.end_ms.saturating_sub(1)].map(row);
        step.join = before.as_ref().map(|before| similarity(before, &from).clamp(0.0, 1.0));
        before = Some(to);
    }
}

/// Writes choices out of what the library knows.
struct Clerk<'a> {
    library: &'a Library,
    stock: &'a Stock,
    wishes: &'a Wishes,
    copies: &'a Copies,
}

impl Clerk<'_> {
    /// The clip of a step, cut as the person wants it where they have said so.
    fn chosen(&self, step: usize, m: &Match, cut: Option<&Cut>) -> Result<Choice, LibraryError> {
        let mut choice = self.choice(m, cut)?;
        let trim = self.wishes.get(&step).and_then(|wish| wish.trim);
        if let Some(trim) = trim.filter(|trim| trim.of == Place::from(&choice)) {
            let video = VideoId(choice.source.video);
            let length = self.stock.videos.get(&video).map_or(0, |record| record.video.length_ms);
            choice.cut = trim.within(length).unwrap_or(choice.cut);
            choice.speed = 1.0;
        }
        Ok(choice)
    }

    fn choice(&self, found: &Match, cut: Option<&Cut>) -> Result<Choice, LibraryError> {
        let clip = self.stock.pool.clip(found.clip);
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
            copies: self.elsewhere(found.clip)?,
        })
    }

    /// Where else the footage of this clip is.
    fn elsewhere(&self, clip: ClipId) -> Result<Vec<Elsewhere>, LibraryError> {
        let place = |copy: &ClipId| {
            let clip = self.stock.pool.clip(*copy);
            let Source { video, title, .. } = self.source(clip.video)?;
            Ok(Elsewhere { video, title, start_ms: clip.span.start() })
        };
        self.copies.of(clip).iter().map(place).collect()
    }

    fn source(&self, video: VideoId) -> Result<Source, LibraryError> {
        let wanted = || LibraryError::NoSuchVideo { wanted: video.0.to_string() };
        let record = self.stock.videos.get(&video).ok_or_else(wanted)?;
        Ok(Source {
            video: record.id,
            path: record.path.clone(),
            title: record.video.title.clone(),
            uploader: record.video.uploader.clone(),
            url: record.video.url.clone(),
            licence: record.video.licence.clone(),
            generated: None,
            overlays: Vec::new(),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demonstrate::demonstration::tests::{choice, part, step};

    #[test]
    fn joins_are_between_the_last_clip_of_a_step_and_the_first_of_the_next() {
        // Ten seconds, none like another; the own clip of each step is the sixth.
        let rows = (0..10).flat_map(|row| (0..10).map(move |at| if at == row { 1.0 } else { 0.0 }));
        let seconds = Features::new(10, rows.collect()).unwrap();
        let (before, after) = (choice(6, 2000), choice(8, 8000));
        let [alone, before, after] = [None, Some(before), Some(after)].map(|further| {
            step(further.map(|clip| part("wash", true, Some(clip))).into_iter().collect())
        });
        let cases = [(&alone, &alone, 1.0), (&after, &alone, 0.0), (&alone, &before, 0.0)];
        for (first, second, alike) in cases {
            let mut steps = [first.clone(), second.clone()];
            look_at_joins(&mut steps, |_| Some(seconds.clone()));
            assert_eq!(steps.map(|step| step.join), [None, Some(alike)]);
        }
    }
}
