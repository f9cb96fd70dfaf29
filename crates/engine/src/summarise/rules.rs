//! Steps out of narration by rules: what hands do is kept, in the imperative; talk is dropped.

use super::{chatter, rewrite};
use crate::lexicon::Strength;
use crate::lexicon::clause::{Action, MIN_ACTION_SCORE, actions, trim_ends};
use crate::lexicon::words::{Word, is_content, is_measure, words};
use crate::transcript::Sentence;

/// A sentence scoring this much is taken for a step: of 2.0, 2.5, 3.0 and 3.5 the best F1 on
/// marked narration (`examples/measure_rules.rs`). The values below were chosen by hand.
const MIN_STEP_SCORE: f32 = 2.5;
/// Recognised sentences without an end hold no more than this in one step.
const MAX_ACTIONS: usize = 4;
/// A sentence with fewer content words is no step.
const MIN_CONTENT_WORDS: usize = 2;
/// A sentence with so much chatter is no step, whatever else it says.
const MIN_CHATTER_WEIGHT: f32 = 2.0;
/// Sentences further apart are not one step.
const MAX_STEP_GAP_MS: u64 = 12_000;
/// A pronoun refers back no further than this.
const MAX_REFERENCE_MS: u64 = 6_000;

pub fn by_rules(sentences: &[Sentence]) -> Vec<Sentence> {
    let mut steps: Vec<Narrated> = Vec::new();
    for sentence in sentences {
        let Some(next) = narrated(sentence, steps.last()) else { continue };
        match steps.last_mut() {
            Some(last) if goes_on(last, &next) => last.step.end_ms = next.step.end_ms,
            _ => steps.push(next),
        }
    }
    steps.into_iter().map(|narrated| narrated.step).collect()
}

pub fn describes_step(text: &str) -> bool {
    step_actions(&words(text), text).is_some()
}

/// Sentences that are neither steps nor talk of a known kind: steps in words that nobody listed, or
/// that were misheard. Whether they are steps, only the frames can say.
pub fn possible_steps(steps: &[Sentence], sentences: &[Sentence]) -> Vec<Sentence> {
    let is_in_step = |sentence: &Sentence| {
        let middle = sentence.start_ms.midpoint(sentence.end_ms);
        steps.iter().any(|step| (step.start_ms..step.end_ms).contains(&middle))
    };
    let is_possible = |sentence: &&Sentence| {
        let words = words(&sentence.text);
        !is_in_step(sentence)
            && words.iter().filter(|word| is_content(&word.low)).count() >= MIN_CONTENT_WORDS
            && chatter::weight(&words) < MIN_CHATTER_WEIGHT
    };
    let step = |sentence: &Sentence| Sentence { text: as_order(&sentence.text), ..*sentence };
    sentences.iter().filter(is_possible).map(step).collect()
}

/// What is done by a sentence, however unsure, without what leads to it; the sentence where nothing is.
fn as_order(text: &str) -> String {
    let words = words(text);
    let mut actions = actions(&words);
    actions.truncate(MAX_ACTIONS);
    trim_ends(&words, &mut actions);
    let (order, _) = rewrite::order(&words, &actions, None);
    if order.split(' ').count() < 3 { text.trim().trim_end_matches('.').to_owned() } else { order }
}

/// A step, and what the next sentence may refer to.
struct Narrated {
    step: Sentence,
    words: Vec<Word>,
    actions: Vec<Action>,
    thing: Option<Vec<Word>>,
}

/// The step that a sentence describes; none if it is talk.
fn narrated(sentence: &Sentence, before: Option<&Narrated>) -> Option<Narrated> {
    let words = words(&sentence.text);
    let actions = step_actions(&words, &sentence.text)?;
    let recent = before.filter(|b| sentence.start_ms < b.step.end_ms + MAX_REFERENCE_MS);
    let (text, thing) = rewrite::order(&words, &actions, recent.and_then(|b| b.thing.clone()));
    let text = if text.split(' ').count() < 2 { sentence.text.clone() } else { text };
    let step = Sentence { text, ..*sentence };
    Some(Narrated { step, words, actions, thing })
}

/// The actions of a sentence that is a step.
fn step_actions(words: &[Word], text: &str) -> Option<Vec<Action>> {
    let mut actions = actions(words);
    let score = score(words, text, &actions);
    actions.retain(|action| action.score >= MIN_ACTION_SCORE);
    if actions.iter().any(|action| action.strength > Strength::Loose) {
        actions.retain(|action| !matches!(action.verb.as_str(), "start" | "go" | "watch"));
    }
    actions.truncate(MAX_ACTIONS);
    // Only now: what was no step of its own, as in "rinse it until they are clean", stays in the step.
    trim_ends(words, &mut actions);
    (score >= MIN_STEP_SCORE && !actions.is_empty()).then_some(actions)
}

fn score(words: &[Word], text: &str, actions: &[Action]) -> f32 {
    let best = actions.iter().map(|a| a.score).fold(0.0, f32::max);
    let more = actions.iter().filter(|a| a.score >= MIN_ACTION_SCORE).count();
    let measures = words.iter().filter(|w| is_measure(&w.low)).count().min(2) as f32;
    let question = if text.trim_end().ends_with('?') { 1.5 } else { 0.0 };
    best + 0.3 * more.saturating_sub(1) as f32 + 0.2 * measures
        - chatter::weight(words).min(4.0) * 0.5
        - question
}

/// Whether the second step only goes on with the first.
fn goes_on(first: &Narrated, second: &Narrated) -> bool {
    let near = second.step.start_ms < first.step.end_ms + MAX_STEP_GAP_MS;
    let same = first.thing.is_some() && first.thing == second.thing;
    let (Some(before), [only]) = (first.actions.last(), &second.actions[..]) else { return false };
    near && rewrite::continues(&second.words, only, before, same)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// One sentence each four seconds.
    fn narration(lines: &[&str]) -> Vec<Sentence> {
        let said = |(i, text): (usize, &&str)| {
            let start_ms = i as u64 * 4000;
            Sentence { start_ms, end_ms: start_ms + 3500, text: text.to_string() }
        };
        lines.iter().enumerate().map(said).collect()
    }

    fn texts(lines: &[&str]) -> Vec<String> {
        by_rules(&narration(lines)).into_iter().map(|step| step.text).collect()
    }

    #[test]
    fn speech_becomes_orders() {
        let cases = [
            ("now I take the onion and chop it nice and fine", "Chop the onion nice and fine"),
            ("So now we're going to slice the tomato.", "Slice the tomato"),
            (
                "you want to whisk the eggs until they are foamy",
                "Whisk the eggs until they are foamy",
            ),
            ("go ahead and pour my batter into the pan", "Pour the batter into the pan"),
            ("let's grate some cheese", "Grate some cheese"),
            ("I'm just gonna sand the edges", "Sand the edges"),
            ("make sure to drain the beans", "Drain the beans"),
            ("it's time to water the seedlings", "Water the seedlings"),
            ("the next thing is to saw through the plank", "Saw through the plank"),
            ("chopping the onion now", "Chop the onion"),
            ("Once the oil is hot, add the garlic.", "Add the garlic"),
            (
                "After that, let the sauce simmer for ten minutes.",
                "Let the sauce simmer for ten minutes",
            ),
            ("after that fry the beef until it is brown", "Fry the beef until it is brown"),
            ("to begin with dig up the soil with a spade", "Dig up the soil with a spade"),
            ("Chop the leek into chunks, that looks lovely.", "Chop the leek into chunks"),
            ("Then I give the salad a good toss", "Give the salad a good toss"),
            ("Fold the paper in half, because that makes it stronger.", "Fold the paper in half"),
            ("we start by digging a hole", "Dig a hole"),
            ("Sand the cut board until it is smooth.", "Sand the cut board until it is smooth"),
            ("Wipe the table until it is dry.", "Wipe the table until it is dry"),
            (
                "Rinse the lettuce leaves until they are clean.",
                "Rinse the lettuce leaves until they are clean",
            ),
        ];
        for (said, expected) in cases {
            assert_eq!(texts(&[said]), [expected], "{said}");
        }
    }

    #[test]
    fn a_word_that_nobody_listed_may_be_the_verb() {
        let cases = [
            ("Now we spiralise the courgette.", "Spiralise the courgette"),
            ("Great the cheese on the board.", "Great the cheese on the board"),
            ("I'm going to heaven the walls together", "Heaven the walls together"),
        ];
        for (said, expected) in cases {
            assert_eq!(texts(&[said]), [expected], "{said}");
        }
        let talk = [
            "But the cabbage is fine.",
            "What a day.",
            "I have the same knife.",
            "Great, the cheese is ready.",
        ];
        for line in talk {
            assert_eq!(texts(&[line]), Vec::<String>::new(), "{line}");
        }
    }

    #[test]
    fn what_is_neither_told_nor_talk_may_be_a_step() {
        let lines = [
            "Chop the onion.",
            "And to finish, I topped the nachos with avocado.",
            "After that, nice and ripe tomato on the board.",
            "See how it changes.",
            "Thanks for watching, see you next time.",
        ];
        let sentences = narration(&lines);
        let possible = possible_steps(&by_rules(&sentences), &sentences);
        let texts: Vec<&str> = possible.iter().map(|step| step.text.as_str()).collect();
        let expected =
            ["Top the nachos with avocado", "After that, nice and ripe tomato on the board"];
        assert_eq!(texts, expected);
        assert_eq!((possible[0].start_ms, possible[0].end_ms), (4000, 7500));
    }

    #[test]
    fn talk_is_dropped() {
        let talk = [
            "my grandmother used to say you should chop the onion with love",
            "Hi everyone, welcome back to my kitchen.",
            "Don't forget to subscribe and leave a comment below.",
            "I love the smell of fresh basil.",
            "It has been raining here all week.",
            "What are we going to cook today?",
            "When I was little we used to bake every Sunday.",
            "That looks lovely.",
            "Take your time with this.",
            "This bench belonged to my grandfather.",
            "Thanks for watching, see you next time.",
            "I don't peel the carrots.",
            "Salt and pepper.",
        ];
        for line in talk {
            assert_eq!(texts(&[line]), Vec::<String>::new(), "{line}");
        }
    }

    #[test]
    fn pronouns_mean_what_was_just_named() {
        let steps = texts(&["I peel the potato.", "Now I cut it into cubes."]);
        assert_eq!(steps, ["Peel the potato", "Cut the potato into cubes"]);
    }

    #[test]
    fn a_step_that_goes_on_is_one_step() {
        let lines = [
            "I stir the sauce.",
            "Keep stirring.",
            "What a day.",
            "Now pour the sauce over the pasta.",
        ];
        let steps = by_rules(&narration(&lines));
        let steps: Vec<_> = steps.iter().map(|s| (s.start_ms, s.end_ms, s.text.as_str())).collect();
        let expected =
            [(0, 7500, "Stir the sauce"), (12000, 15500, "Pour the sauce over the pasta")];
        assert_eq!(steps, expected);
    }

    proptest! {
        #[test]
        fn any_speech_is_summarised_within_its_time(
            lines in proptest::collection::vec("((now|i|chop|it|and|the|let|go|keep|to|,|a|\\PC{1,5}) ?){0,30}", 0..12)
        ) {
            let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
            let steps = by_rules(&narration(&lines));
            prop_assert!(steps.len() <= lines.len());
            let sound = |s: &Sentence| s.start_ms < s.end_ms && !s.text.trim().is_empty();
            prop_assert!(steps.iter().all(sound));
            prop_assert!(steps.windows(2).all(|pair| pair[0].end_ms <= pair[1].start_ms));
        }
    }
}
