//! Steps out of narration by rules: what hands do is kept and told as orders, talk is dropped.

use super::clause::{Action, actions};
use super::words::{Word, is_measure, words};
use super::{Summary, SummaryStep, chatter, rewrite};
use crate::lexicon::Strength;
use crate::transcript::Sentence;

/// A sentence scoring this much is taken for a step; set on real narration, where a higher bar
/// loses more steps than it saves talk.
const STEP: f32 = 2.5;
/// An action scoring less adds nothing to the step that its sentence tells.
const ACTION: f32 = 1.5;
/// Orders further apart than this are not one step.
const GAP_MS: u64 = 12_000;
/// A pronoun points back no further than this.
const MEMORY_MS: u64 = 45_000;

/// The steps told in the narration, each with the time in which it is told.
pub fn by_rules(title: &str, sentences: &[Sentence]) -> Summary {
    let mut steps: Vec<Told> = Vec::new();
    for sentence in sentences {
        let Some(told) = tell(sentence, steps.last()) else { continue };
        match steps.last_mut() {
            Some(last) if goes_on(last, &told) => last.step.end_ms = told.step.end_ms,
            _ => steps.push(told),
        }
    }
    let steps = steps.into_iter().map(|told| told.step).collect();
    Summary { title: title.to_string(), steps, by: "rules".into(), rejected: 0 }
}

/// A step, and what the next sentence may refer to.
struct Told {
    step: SummaryStep,
    words: Vec<Word>,
    actions: Vec<Action>,
    thing: Option<Vec<Word>>,
}

/// The step that a sentence tells; none if it is talk.
fn tell(sentence: &Sentence, before: Option<&Told>) -> Option<Told> {
    let words = words(&sentence.text);
    let actions = step_actions(&words, &sentence.text)?;
    let recent = before.filter(|b| sentence.start_ms < b.step.end_ms + MEMORY_MS);
    let (text, thing) = rewrite::order(&words, &actions, recent.and_then(|b| b.thing.clone()));
    let text = if text.split(' ').count() < 2 { sentence.text.clone() } else { text };
    let step = SummaryStep { text, start_ms: sentence.start_ms, end_ms: sentence.end_ms };
    Some(Told { step, words, actions, thing })
}

/// The actions of a sentence that is a step.
fn step_actions(words: &[Word], text: &str) -> Option<Vec<Action>> {
    let mut actions = actions(words);
    let score = score(words, text, &actions);
    actions.retain(|action| action.score >= ACTION);
    (score >= STEP && !actions.is_empty()).then_some(actions)
}

/// How sure the sentence tells a step.
fn score(words: &[Word], text: &str, actions: &[Action]) -> f32 {
    let best = actions.iter().map(|a| a.score).fold(0.0, f32::max);
    let more = actions.iter().filter(|a| a.score >= ACTION && a.strength > Strength::Loose).count();
    let measures = words.iter().filter(|w| is_measure(&w.low)).count().min(2) as f32;
    let question = if text.trim_end().ends_with('?') { 1.5 } else { 0.0 };
    best + 0.3 * more.saturating_sub(1) as f32 + 0.2 * measures
        - chatter::weight(words).min(4.0) * 0.5
        - question
}

/// Whether the second step only goes on with the first.
fn goes_on(first: &Told, second: &Told) -> bool {
    let near = second.step.start_ms < first.step.end_ms + GAP_MS;
    let same = first.thing.is_some() && first.thing == second.thing;
    let (Some(before), [only]) = (first.actions.last(), &second.actions[..]) else { return false };
    let _ = &first.words;
    near && rewrite::continues(&second.words, only, before, same)
}
