//! A step taken apart: what is done, on which condition, when and for how long.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::lexicon::clause::{MIN_ACTION_SCORE, actions, carries_another, takes_thing};
use crate::lexicon::words::*;
use crate::lexicon::{self, Strength, Tense, is_plain_verb};

/// What one step says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StepParts {
    /// Orders without condition and times; never empty where the step has words.
    pub actions: Vec<String>,
    /// Such as "if the wood is rough".
    pub condition: Option<String>,
    /// Such as "meanwhile", "for ten minutes" and "until golden", in the order of the text.
    pub times: Vec<String>,
}

/// The parts of a step. It is split where it surely says several things, and else stays whole.
pub fn parts(text: &str) -> StepParts {
    let words = words(text);
    let mut parts = StepParts::default();
    for sentence in sentences(&words) {
        let clauses = Clauses::of(sentence);
        parts.actions.extend(clauses.actions.iter().map(|action| phrase(&action.words)));
        parts.condition = parts.condition.or_else(|| clauses.condition.map(phrase));
        parts.times.extend(clauses.times.into_iter().map(phrase));
    }
    if parts.actions.is_empty() && !words.is_empty() {
        parts.actions.push(phrase(&words));
    }
    parts
}

/// What a step orders, without remarks ("a few lumps are fine").
pub fn orders(text: &str) -> Vec<String> {
    let words = words(text);
    let actions = sentences(&words).flat_map(|sentence| Clauses::of(sentence).actions);
    actions.filter(|action| action.verb.is_some()).map(|action| phrase(&action.words)).collect()
}

/// A sentence of a step.
pub(super) struct Clauses<'a> {
    pub actions: Vec<SubAction>,
    pub condition: Option<&'a [Word]>,
    pub times: Vec<&'a [Word]>,
}

/// One thing that a step asks for.
#[derive(Clone)]
pub(super) struct SubAction {
    pub words: Vec<Word>,
    /// The index of its verb, if that is known.
    pub verb: Option<usize>,
}

pub(super) fn sentences(words: &[Word]) -> impl Iterator<Item = &[Word]> {
    let ends = |word: &Word| match word.mark {
        Some('.') => !is_abbreviation(&word.low),
        mark => matches!(mark, Some('!' | '?' | ';' | '…')),
    };
    words.split_inclusive(ends)
}

impl<'a> Clauses<'a> {
    pub fn of(words: &'a [Word]) -> Self {
        let (mut condition, mut times, mut rest) = (None, Vec::new(), Vec::new());
        let (mut at, mut free) = (0, 0); // what stands before `free` is read
        let leads = leads(words);
        while at < words.len() {
            let conditional = condition_at(words, at, leads).filter(|span| span.start >= free);
            let is_condition = conditional.is_some();
            let Some(span) = conditional.or_else(|| time_at(words, at, free)) else {
                at += 1;
                continue;
            };
            let said = &words[span.clone()];
            if is_condition {
                condition = condition.or(Some(said));
            } else {
                times.push(said);
            }
            rest.extend_from_slice(&words[free..span.start]);
            if let Some(last) = rest.last_mut() {
                last.mark = last.mark.or_else(|| said.iter().find_map(|word| word.mark));
            }
            (at, free) = (span.end, span.end);
        }
        rest.extend_from_slice(&words[free..]);
        while rest.last().is_some_and(|word| matches!(word.low.as_str(), "and" | "or" | "but")) {
            rest.pop();
        }
        Self { actions: split(&rest), condition, times }
    }
}

/// How many words open the sentence without saying anything of it.
fn leads(words: &[Word]) -> usize {
    words.iter().take_while(|word| is_lead(&word.low)).count()
}

fn is_joint(word: &str) -> bool {
    matches!(word, "and" | "or" | "then")
}

/// The word at this place in small letters; nothing outside of the sentence.
pub(super) fn low(words: &[Word], at: usize) -> &str {
    words.get(at).map_or("", |word| word.low.as_str())
}

fn low_before(words: &[Word], at: usize) -> &str {
    at.checked_sub(1).map_or("", |before| low(words, before))
}

/// The words as a text that begins small and ends without a mark.
pub(super) fn phrase(words: &[Word]) -> String {
    let mut words = words.to_vec();
    if let Some(first) = words.first_mut() {
        first.text.clone_from(&first.low);
    }
    join(&words)
}

/// The condition that begins at this word and opens the sentence, after its leads, or closes it.
fn condition_at(words: &[Word], at: usize, leads: usize) -> Option<Range<usize>> {
    let (word, next, before) = (low(words, at), low(words, at + 1), low_before(words, at));
    let is_count =
        word == "once" && matches!(next, "more" | "a" | "again" | "per" | "every" | "or" | "and");
    if !is_conditional(word) || next.is_empty() || words[at].mark.is_some() || is_count {
        return None;
    }
    if at <= leads {
        return Some(at..opening_end(words, at)?);
    }
    // "turn once during cooking"
    let clause = is_determiner(next) || is_subject(next) || is_pronoun(next);
    let start = if before == "only" { at - 1 } else { at };
    if start == 0 || is_asking(before) || word == "once" && !clause {
        return None;
    }
    let end = subordinate_end(words, start + 1);
    // "and when it bubbles turn it over"
    let order = opening_end(&words[..end], at).filter(|_| is_joint(before));
    Some(start..order.unwrap_or(end))
}

/// One past a condition that stands before what it is for: at a comma, or where an order begins.
fn opening_end(words: &[Word], at: usize) -> Option<usize> {
    let free = |word: &str| !is_determiner(word) && !is_subject(word) && !is_modal(word);
    let ends = |i: &usize| {
        let (word, next) = (&words[*i], i + 1);
        let order = starts_order(words, next) && takes_thing(words, next) && free(&word.low);
        matches!(word.mark, Some(',' | ':' | '—' | '–')) || low(words, next) == "then" || order
    };
    (at + 1..words.len()).find(ends).map(|last| last + 1)
}

/// One past a clause in mid-sentence: after a mark, before "then", and before "and" with an order.
fn subordinate_end(words: &[Word], from: usize) -> usize {
    let ends = |i: &usize| {
        let next = low(words, i + 1);
        let joined = matches!(next, "and" | "or") && words[i + 1].mark.is_none();
        words[*i].mark.is_some()
            || next == "then"
            || joined && (starts_order(words, i + 2) || low(words, i + 2) == "then")
    };
    (from..words.len()).find(ends).map_or(words.len(), |last| last + 1)
}

fn starts_order(words: &[Word], at: usize) -> bool {
    let form = lexicon::verb(low(words, at)).filter(|form| form.tense == Tense::Plain);
    form.is_some_and(|form| match form.strength {
        Strength::Sure | Strength::Handling => true,
        Strength::Noun => takes_thing(words, at),
        Strength::Loose => false,
    })
}

/// The time whose main word stands here; it may begin earlier, but not before `free`.
fn time_at(words: &[Word], at: usize, free: usize) -> Option<Range<usize>> {
    match low(words, at) {
        "meanwhile" | "overnight" => Some(at..at + 1),
        "until" | "till" if at + 1 < words.len() => Some(at..subordinate_end(words, at)),
        // "while that is cooking, "
        "while" if leads(words) == at => opening_end(words, at).map(|end| at..end),
        unit if is_time_unit(unit) => duration_at(words, at, free),
        _ => None,
    }
}

fn duration_at(words: &[Word], unit: usize, free: usize) -> Option<Range<usize>> {
    let counts = |i: usize| words[i].mark.is_none() && is_number(&words[i].low);
    let number = unit.checked_sub(1).filter(|number| *number >= free)?;
    let of_couple = low(words, number) == "of" && low_before(words, number) == "couple";
    if !counts(number) && !of_couple {
        return None;
    }
    let leads =
        |i: &usize| words[*i].mark.is_none() && (counts(*i) || is_time_lead(&words[*i].low));
    // "warm up for 5 minutes"
    let opens = |i: &usize| matches!(low(words, *i), "for" | "after" | "every" | "within");
    let leads = (free..number).rev().take_while(leads);
    let start = leads.clone().find(opens).or_else(|| leads.last()).unwrap_or(number);
    // "a second coat"
    if low(words, unit) == "second" && start == number {
        return None;
    }
    let stops = words[unit].mark.is_some_and(|mark| mark != '.');
    let tail = |length: &usize| {
        let after = words.get(unit + 1..unit + 1 + length).unwrap_or_default();
        let after: Vec<&str> = after.iter().map(|word| word.low.as_str()).collect();
        matches!(
            after[..],
            ["a" | "per" | "each", "side"]
                | ["on", "each", "side"]
                | ["on", "both", "sides"]
                | ["or", "so"]
                | ["each" | "more" | "longer" | "apart" | "later"]
        )
    };
    let tail = [3, 2, 1].into_iter().find(tail).filter(|_| !stops).unwrap_or(0);
    Some(start..unit + 1 + tail)
}

pub(super) fn is_number(word: &str) -> bool {
    is_number_word(word) || word.starts_with(|c: char| c.is_numeric())
}

/// The actions of a sentence without its condition and times.
fn split(words: &[Word]) -> Vec<SubAction> {
    let after_that = low(words, 0) == "after" && low(words, 1) == "that";
    let words = &words[if after_that { 2 } else { 0 }..];
    let words = &words[leads(words)..];
    if words.is_empty() {
        return Vec::new();
    }
    let starts = order_starts(words);
    if starts.len() < 2 {
        return vec![SubAction { words: words.to_vec(), verb: starts.first().copied() }];
    }
    let (mut found, mut before_then) = (Vec::new(), Vec::new());
    for (number, start) in starts.iter().enumerate() {
        let from = if number == 0 { 0 } else { *start };
        let next = starts.get(number + 1);
        let mut end = next.copied().unwrap_or(words.len());
        let mut then = false;
        while next.is_some() && end > start + 1 && is_lead(&words[end - 1].low) {
            end -= 1;
            then |= words[end].low == "then";
        }
        let words = words[from..end].to_vec();
        found.push(SubAction { words, verb: Some(start - from) });
        before_then.push(then);
    }
    share_object(&mut found, &before_then);
    found
}

/// Where orders begin in a sentence.
fn order_starts(words: &[Word]) -> Vec<usize> {
    let is_order = |at: usize| {
        let before = low_before(words, at);
        !is_modal(before) && !is_subject(before)
    };
    let told = actions(words).into_iter().filter(|action| {
        action.score >= MIN_ACTION_SCORE
            && action.verb == words[action.at].low
            && is_order(action.at)
    });
    let told: Vec<usize> = told.map(|action| action.at).collect();
    let mut starts: BTreeSet<usize> = told.iter().copied().collect();
    let verbs = |range: Range<usize>| range.filter(|i| is_plain_verb(&words[*i].low));
    let sure = |word: &Word| lexicon::verb(&word.low).is_some_and(|f| f.strength > Strength::Noun);
    if is_verb_list(words) && words.iter().any(sure) {
        starts.extend(verbs(0..words.len()));
    }
    let mut from = 0;
    for to in told {
        let list = &words[from..to];
        let seasons = to > 1 && low(words, to - 2) == "salt" && low(words, to) == "pepper";
        let acts = list.iter().any(|word| sure(word) || is_joint(&word.low));
        if is_verb_list(list) && acts && !seasons {
            starts.extend(verbs(from..to));
        }
        from = to;
    }
    let bare = |i: &usize| is_bare_order(&words[*i].low) && low_before(words, *i) == "then";
    starts.extend((1..words.len()).filter(bare));
    // "stir fry" is one verb, and "a hammer and chisel" are two tools
    let compound = |at: usize| {
        at.checked_sub(1).is_some_and(|b| starts.contains(&b) && words[b].mark.is_none())
    };
    let tool = |at: usize| {
        let last = at + 1 == words.len() || words[at].mark.is_some();
        last && low_before(words, at) == "and" && is_tool(&words[at].low)
    };
    let choices = choices(words, &starts);
    let is_start = |at: &usize| !compound(*at) && !tool(*at) && !choices.contains(at);
    starts.iter().copied().filter(is_start).collect()
}

/// The orders that only name another way: of "fry, grill or bake the fish", which is one action, the last two.
fn choices(words: &[Word], starts: &BTreeSet<usize>) -> BTreeSet<usize> {
    let mut choices = BTreeSet::new();
    for at in starts.iter().copied().filter(|at| *at > 0).rev() {
        let before = &words[at - 1];
        // A mark stands there where "or until golden," was cut out.
        let after_or = before.low == "or" && before.mark.is_none();
        let in_list = before.mark == Some(',') && starts.contains(&(at - 1));
        let chosen_from = choices.contains(&(at + 1)) || choices.contains(&(at + 2));
        if after_or || in_list && chosen_from {
            choices.insert(at);
        }
    }
    choices
}

/// Whether these words are nothing but verbs: "peel, core and".
fn is_verb_list(words: &[Word]) -> bool {
    let joint = |word: &Word| is_joint(&word.low);
    let joined = |pair: &[Word]| joint(&pair[0]) || joint(&pair[1]) || pair[0].mark == Some(',');
    !words.is_empty()
        && words.iter().all(|word| joint(word) || is_plain_verb(&word.low))
        && words.windows(2).all(joined)
}

/// A longer object is not repeated.
const MAX_SHARED_WORDS: usize = 12;

/// "Wash and shred the lettuce": a verb alone has the object of the next one that has any, but not across "then":
/// "simmer, then add the cream".
fn share_object(actions: &mut [SubAction], before_then: &[bool]) {
    let mut object: Option<Vec<Word>> = None;
    for (SubAction { words, verb }, before_then) in actions.iter_mut().zip(before_then).rev() {
        let Some(verb) = *verb else { continue };
        object = object.filter(|_| !before_then);
        if words.len() > verb + 1 {
            object = object_of(words, verb);
        } else if let Some(object) = &object {
            words[verb].mark = None;
            words.extend_from_slice(object);
        }
    }
}

fn object_of(words: &[Word], verb: usize) -> Option<Vec<Word>> {
    let object = &words[object_range(words, verb)];
    (1..=MAX_SHARED_WORDS).contains(&object.len()).then(|| object.to_vec())
}

/// Whether the verb's next word belongs to it.
pub(super) fn has_particle(words: &[Word], verb: usize) -> bool {
    let next = low(words, verb + 1);
    let place = || words.iter().skip(verb + 2).take(3).any(|word| is_vessel(&word.low));
    is_particle(next) || matches!(next, "in" | "on") && takes_particle(&words[verb].low) && !place()
}

/// The last verb that names the action of this one: "bake" in "fry, grill or bake the fish".
fn last_choice(words: &[Word], verb: usize) -> usize {
    let (mut last, mut at) = (verb, verb);
    loop {
        let or = low(words, at + 1) == "or";
        let next = if or { at + 2 } else { at + 1 };
        if !(or || words[at].mark == Some(',')) || !is_plain_verb(low(words, next)) {
            return last;
        }
        at = next;
        last = if or { at } else { last };
    }
}

/// What the action of this verb is done to; empty where it does not say.
pub(super) fn object_range(words: &[Word], verb: usize) -> Range<usize> {
    let verb = last_choice(words, verb);
    let after = if has_particle(words, verb) { verb + 2 } else { verb + 1 };
    if words[verb].mark.is_some() {
        return verb + 1..verb + 1;
    }
    let mut end = after;
    while end < words.len() && !ends_object(words, after, end) {
        end += 1;
        if words[end - 1].mark.is_some_and(|mark| mark != ',') {
            break;
        }
    }
    if end > after + 1 && ends_in_another(words, verb, end - 1) {
        end -= 1;
    }
    while end > after && is_joint(&words[end - 1].low) {
        end -= 1;
    }
    if end == after + 1 && is_result(&words[after].low) { after..after } else { after..end }
}

/// Whether this word says what the object of the verb does: "let the dough rise", "get the butter foaming".
fn ends_in_another(words: &[Word], verb: usize, at: usize) -> bool {
    let verb = low(words, verb);
    let causes = carries_another(verb) || matches!(verb, "get" | "have" | "leave" | "set");
    let (last, before) = (low(words, at), low_before(words, at));
    // "string" has no stem, and "the icing" is a thing
    let stem = last.strip_suffix("ing").filter(|stem| stem.contains(['a', 'e', 'i', 'o', 'u']));
    causes && stem.is_some() && is_content(before) || carries_another(verb) && is_plain_verb(last)
}

/// Whether the object that began at `from` has ended before this word.
fn ends_object(words: &[Word], from: usize, at: usize) -> bool {
    let (word, next) = (low(words, at), low(words, at + 1));
    let adjective = at > from && is_replaced(low_before(words, at)); // "the inside edge"
    let of = word == "of" && at > from;
    if of || adjective || matches!(word, "all" | "right" | "top" | "straight") {
        return false;
    }
    let result = || {
        let last = words[at].mark.is_some() || matches!(next, "" | "and") || is_preposition(next);
        is_result(word) && last
    };
    // "add the garlic, stirring"
    let aside = || {
        let gerund = lexicon::verb(word).is_some_and(|form| form.tense == Tense::Gerund);
        gerund && words[at - 1].mark == Some(',')
    };
    // "give the berries a quick rinse"
    let another = || {
        let before = low_before(words, at);
        matches!(word, "a" | "an" | "the") && words[at - 1].mark.is_none() && is_content(before)
    };
    is_preposition(word)
        || is_manner(word)
        || is_negation(word)
        || is_state(word)
        || matches!(word, "very" | "nice" | "so")
        || word.ends_with("ly")
        || at > from && (is_subordinator(word) || result() || aside() || another())
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn steps_come_apart() {
        let cases = include_str!("clauses.tsv").lines().filter(|line| !line.starts_with('#'));
        for case in cases {
            let mut cells = case.split('\t');
            let [step, actions, condition, times] = [(); 4].map(|()| cells.next().unwrap_or(""));
            let parts = parts(step);
            assert_eq!(parts.actions.join(" | "), actions, "{step}");
            assert_eq!(parts.condition.unwrap_or_default(), condition, "{step}");
            assert_eq!(parts.times.join(" | "), times, "{step}");
        }
    }

    #[test]
    fn what_has_no_action_is_kept_and_nothing_is_nothing() {
        assert_eq!(parts("Overnight.").actions, ["overnight"]);
        assert_eq!(orders("Whisk the eggs; a few lumps are fine."), ["whisk the eggs"]);
        assert_eq!(parts(" … "), StepParts::default());
    }

    #[test]
    fn long_texts_take_linear_time() {
        let started = Instant::now();
        for unit in ["if it is so ", "chop and ", "for 2 minutes, ", "until or ", "so "] {
            parts(&unit.repeat(100_000 / unit.len()));
        }
        parts(&format!("{}chop {}", "chop, ".repeat(50_000), "foo ".repeat(100_000)));
        parts(&format!("{}{}", "so ".repeat(100_000), "check if ".repeat(100_000)));
        assert!(started.elapsed() < Duration::from_secs(60), "{:?}", started.elapsed());
    }

    proptest! {
        #[test]
        fn any_step_has_parts(
            text in "((if|it|the|chop|fry|and|then|in|until|for|2|minutes|a|second|once|only|\\PC{1,5})[,.;]? ?){0,30}"
        ) {
            let parts = parts(&text);
            prop_assert_eq!(parts.actions.is_empty(), words(&text).is_empty());
            let mut said = parts.actions.iter().chain(&parts.condition).chain(&parts.times);
            prop_assert!(said.all(|text| !text.trim().is_empty()));
        }
    }
}
