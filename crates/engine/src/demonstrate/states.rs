//! Things that are seen in an earlier state than a clip before left them in, by the words of the clips: "onion is
//! chopped in step 2 and whole in step 5".

use std::collections::HashSet;

use stitch_core::words::stems;

use super::Step;
use crate::lexicon::words::{Word, is_content, low_at, words};
use crate::lexicon::{self, Tense};

/// States that follow each other and are never undone. Only words that say the same of every thing are here.
const SCALES: [&[&[&str]]; 3] = [
    &[
        &["whole"],
        &["halved", "quartered"],
        &["sliced"],
        &["chopped", "diced", "cubed"],
        &["minced", "grated", "shredded"],
        &["mashed", "pureed"],
    ],
    &[
        &["raw", "uncooked"],
        &["fried", "boiled", "baked", "roasted", "grilled", "steamed", "cooked"],
    ],
    &[&["raw", "rough", "unsanded"], &["sanded"], &["painted", "stained", "varnished"]],
];

/// Words after a state that may name its thing: "chopped red onions".
const MAX_WORDS: usize = 3;

/// A state that a clip's words give a thing.
struct Seen {
    scale: usize,
    level: usize,
    state: &'static str,
    /// The words that name the thing.
    thing: Vec<String>,
    /// Whether the clip begins with it ("the chopped onion"), not only ends with it ("chop the onion").
    at_first: bool,
}

/// Gives every step whose clip shows a thing in an earlier state than before a note of it.
pub(super) fn note(steps: &mut [Step]) {
    let mut before: Vec<(usize, Seen)> = Vec::new();
    for (number, step) in steps.iter_mut().enumerate() {
        let Some(choice) = &step.chosen else { continue };
        let seen = seen(&choice.text);
        step.state_note = seen.iter().find_map(|now| conflict(&before, now, number));
        before.extend(seen.into_iter().map(|seen| (number, seen)));
    }
}

fn conflict(before: &[(usize, Seen)], now: &Seen, number: usize) -> Option<String> {
    let same = |then: &Seen| then.thing.iter().find(|word| is_shared(word, &now.thing)).cloned();
    let mut of_thing =
        before.iter().rev().filter(|(_, then)| then.scale == now.scale && now.at_first);
    // The last clip that tells the state of the thing counts.
    let (step, then, thing) = of_thing.find_map(|(step, then)| Some((step, then, same(then)?)))?;
    let is = if thing.ends_with('s') { "are" } else { "is" };
    let (then_state, now_state) = (then.state, now.state);
    let told = || {
        let (then, now) = (step + 1, number + 1);
        format!("{thing} {is} {then_state} in step {then} and {now_state} in step {now}")
    };
    (then.level > now.level).then(told)
}

fn is_shared(word: &str, others: &[String]) -> bool {
    let own = stems(word);
    others.iter().any(|other| !own.is_disjoint(&stems(other)))
}

/// All states in a clip's words: those it names, and those that its actions lead to.
fn seen(text: &str) -> Vec<Seen> {
    let words = words(text);
    let mut all = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let thing = thing(&words[at + 1..]);
        if thing.is_empty() || word.mark.is_some() {
            continue;
        }
        for (scale, level, state) in states() {
            let named = word.low == state;
            if named || leads_to(&word.low, state) {
                // "sliced onions" begin so, "I sliced the onions" end so.
                let at_first = named && is_content(low_at(&words, at + 1));
                all.push(Seen { scale, level, state, thing: thing.clone(), at_first });
            }
        }
    }
    all
}

fn states() -> impl Iterator<Item = (usize, usize, &'static str)> {
    SCALES.iter().enumerate().flat_map(|(scale, levels)| {
        let states = move |(level, states): (usize, &&'static [&'static str])| {
            states.iter().map(move |state| (scale, level, *state)).collect::<Vec<_>>()
        };
        levels.iter().enumerate().flat_map(states)
    })
}

/// Whether a word is the order that brings a thing into this state: `chop`, `chopped`.
fn leads_to(word: &str, state: &str) -> bool {
    let order = lexicon::verb(word).filter(|form| form.tense == Tense::Plain);
    order.zip(lexicon::verb(state)).is_some_and(|(order, state)| order.verb == state.verb)
}

/// The words that name a thing, up to the next word that cannot.
fn thing(words: &[Word]) -> Vec<String> {
    let known: HashSet<&str> = states().map(|(.., state)| state).collect();
    let mut thing = Vec::new();
    for word in words {
        let names =
            is_content(&word.low) && !known.contains(&*word.low) && !word.low.ends_with("ly");
        match names {
            true => thing.push(word.low.clone()),
            false if !thing.is_empty() => break,
            false => continue,
        }
        if word.mark.is_some() || thing.len() == MAX_WORDS {
            break;
        }
    }
    thing
}

#[cfg(test)]
mod tests {
    use super::super::{Choice, Interval, Similarity, Source};
    use super::*;

    fn notes(clips: &[Option<&str>]) -> Vec<Option<String>> {
        let choice = |text: &str| Choice {
            clip: 0,
            source: Source::default(),
            span: Interval { start_ms: 0, end_ms: 1 },
            cut: Interval { start_ms: 0, end_ms: 1 },
            speed: 1.0,
            text: text.into(),
            narration: String::new(),
            similarity: Similarity { text: None, words: None, clip: None, probability: 1.0 },
            copies: Vec::new(),
        };
        let step = |text: &Option<&str>| Step { chosen: text.map(choice), ..Step::default() };
        let mut steps: Vec<Step> = clips.iter().map(step).collect();
        note(&mut steps);
        steps.into_iter().map(|step| step.state_note).collect()
    }

    #[test]
    fn a_thing_in_an_earlier_state_is_told_with_both_steps() {
        let clips = [
            "Heat the oil",
            "Chop the onion finely",
            "Add salt",
            "Stir",
            "Put the whole onions in",
        ];
        let told = notes(&clips.map(Some));
        assert_eq!(told[4].as_deref(), Some("onion is chopped in step 2 and whole in step 5"));
        assert!(told[..4].iter().all(Option::is_none));
        let boards = ["Paint the boards", "Join the raw boards"].map(Some);
        let told = notes(&boards)[1].clone().unwrap();
        assert_eq!(told, "boards are painted in step 1 and raw in step 2");
        let told = notes(&["I mashed the potatoes", "Fry the sliced potatoes"].map(Some));
        assert!(told[1].is_some(), "{told:?}");
    }

    #[test]
    fn what_may_follow_is_no_conflict() {
        for clips in [
            ["Slice the potatoes", "Fry the sliced potatoes"],
            ["Slice the potatoes", "Serve the mashed potatoes"],
            ["Chop the onion", "Chop the onion"],
            ["Chop the onion", "Add the whole carrots"],
            ["Add the whole onion", "Fry the chopped onion"],
            ["Sand the board", "Fry the raw onion"],
        ] {
            assert_eq!(notes(&clips.map(Some)), [None, None], "{clips:?}");
        }
        assert_eq!(notes(&[Some("Chop the onion"), None]), [None, None]);
    }
}
