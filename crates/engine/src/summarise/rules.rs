//! Steps out of narration by rules: what hands do is kept and told as orders, talk is dropped.

use super::clause::{Action, actions, trim_ends};
use super::words::{Word, carries, is_measure, words};
use super::{Summary, SummaryStep, chatter, rewrite};
use crate::lexicon::Strength;
use crate::transcript::Sentence;

/// A sentence scoring this much is taken for a step: of 2.0, 2.5, 3.0 and 3.5 the best F1 on
/// marked narration (`examples/measure_rules.rs`).
const STEP: f32 = 2.5;
/// An action scoring less adds nothing to the step that its sentence tells.
const ACTION: f32 = 1.5;
/// Sentences without an end, as machines hear them, tell no more than this in one step.
const MOST_ACTIONS: usize = 4;
/// A sentence with fewer words that name something tells no step.
const LEAST_THINGS: usize = 2;
/// A sentence with so much chatter tells no step, whatever else it says.
const LEAST_CHATTER: f32 = 2.0;
/// Orders further apart than this are not one step.
const GAP_MS: u64 = 12_000;
/// A pronoun points back no further than this.
const MEMORY_MS: u64 = 6_000;

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

/// Sentences that tell no step by the rules and are yet no talk of a known kind: steps told in words that
/// nobody listed, or that a machine misheard. Whether they are steps, only the pictures can say.
pub fn perhaps(told: &Summary, sentences: &[Sentence]) -> Vec<SummaryStep> {
    let is_told = |sentence: &Sentence| {
        let middle = sentence.start_ms.midpoint(sentence.end_ms);
        told.steps.iter().any(|step| (step.start_ms..step.end_ms).contains(&middle))
    };
    let may_tell = |sentence: &&Sentence| {
        let words = words(&sentence.text);
        let things = words.iter().filter(|word| carries(&word.low)).count();
        !is_told(sentence) && things >= LEAST_THINGS && chatter::weight(&words) < LEAST_CHATTER
    };
    let step = |sentence: &Sentence| SummaryStep {
        text: as_order(&sentence.text),
        start_ms: sentence.start_ms,
        end_ms: sentence.end_ms,
    };
    sentences.iter().filter(may_tell).map(step).collect()
}

/// What is done by a sentence, however unsure, without what leads to it; the sentence where nothing is.
fn as_order(text: &str) -> String {
    let words = words(text);
    let mut actions = actions(&words);
    actions.truncate(MOST_ACTIONS);
    trim_ends(&words, &mut actions);
    let (order, _) = rewrite::order(&words, &actions, None);
    if order.split(' ').count() < 3 { text.trim().trim_end_matches('.').to_owned() } else { order }
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
    if actions.iter().any(|action| action.strength > Strength::Loose) {
        actions.retain(|action| !matches!(action.verb.as_str(), "start" | "go" | "watch"));
    }
    actions.truncate(MOST_ACTIONS);
    // Only now: what was no step of its own, as in "rinse it until they are clean", stays in the step.
    trim_ends(words, &mut actions);
    (score >= STEP && !actions.is_empty()).then_some(actions)
}

/// How sure the sentence tells a step.
fn score(words: &[Word], text: &str, actions: &[Action]) -> f32 {
    let best = actions.iter().map(|a| a.score).fold(0.0, f32::max);
    let more = actions.iter().filter(|a| a.score >= ACTION).count();
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

    fn told(lines: &[&str]) -> Vec<String> {
        by_rules("", &narration(lines)).steps.into_iter().map(|step| step.text).collect()
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
            assert_eq!(told(&[said]), [expected], "{said}");
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
            assert_eq!(told(&[said]), [expected], "{said}");
        }
        let talk = [
            "But the cabbage is fine.",
            "What a day.",
            "I have the same knife.",
            "Great, the cheese is ready.",
        ];
        for line in talk {
            assert_eq!(told(&[line]), Vec::<String>::new(), "{line}");
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
        let perhaps = perhaps(&by_rules("", &sentences), &sentences);
        let texts: Vec<&str> = perhaps.iter().map(|step| step.text.as_str()).collect();
        let expected =
            ["Top the nachos with avocado", "After that, nice and ripe tomato on the board"];
        assert_eq!(texts, expected);
        assert_eq!((perhaps[0].start_ms, perhaps[0].end_ms), (4000, 7500));
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
            assert_eq!(told(&[line]), Vec::<String>::new(), "{line}");
        }
    }

    #[test]
    fn pronouns_mean_what_was_just_named() {
        let steps = told(&["I peel the potato.", "Now I cut it into cubes."]);
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
        let summary = by_rules("Pasta", &narration(&lines));
        let steps: Vec<_> =
            summary.steps.iter().map(|s| (s.start_ms, s.end_ms, s.text.as_str())).collect();
        let expected =
            [(0, 7500, "Stir the sauce"), (12000, 15500, "Pour the sauce over the pasta")];
        assert_eq!(steps, expected);
        assert_eq!((summary.title.as_str(), summary.by.as_str()), ("Pasta", "rules"));
    }

    proptest! {
        #[test]
        fn any_speech_is_summarised_within_its_time(
            lines in proptest::collection::vec("((now|i|chop|it|and|the|let|go|keep|to|,|a|\\PC{1,5}) ?){0,30}", 0..12)
        ) {
            let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
            let summary = by_rules("", &narration(&lines));
            prop_assert!(summary.steps.len() <= lines.len());
            let sound = |s: &SummaryStep| s.start_ms < s.end_ms && !s.text.trim().is_empty();
            prop_assert!(summary.steps.iter().all(sound));
            prop_assert!(summary.steps.windows(2).all(|pair| pair[0].end_ms <= pair[1].start_ms));
        }
    }
}
