//! An action in a speaker's words as an order: "now I take the onion and chop it" becomes
//! "Chop the onion".

use crate::lexicon::clause::Action;
use crate::lexicon::words::*;
use crate::lexicon::{self, Strength, Tense};

/// The thing an action is done to, as said.
pub fn thing(words: &[Word], action: &Action) -> Option<Vec<Word>> {
    let after = &words[action.at + 1..action.end];
    let skip = after.iter().take_while(|w| is_preposition(&w.low) || is_filler(&w.low)).count();
    let mut thing: Vec<Word> = Vec::new();
    for word in after[skip..].iter().take(6) {
        let ends = is_preposition(&word.low)
            || is_pronoun_alone(&word.low, &thing)
            || is_subordinator(&word.low)
            || word.low.ends_with("ly")
            || matches!(
                word.low.as_str(),
                "and" | "or" | "then" | "nice" | "so" | "is" | "are" | "very"
            );
        if ends {
            break;
        }
        thing.push(word.clone());
        if word.mark.is_some() {
            break;
        }
    }
    let named = thing.iter().any(|w| !is_empty(&w.low) && !is_determiner(&w.low));
    named.then(|| definite(thing))
}

fn is_pronoun_alone(word: &str, before: &[Word]) -> bool {
    matches!(word, "it" | "them") || (is_subject(word) && !before.is_empty())
}

/// "some onions", "my onions" and "onions" as "the onions".
fn definite(mut thing: Vec<Word>) -> Vec<Word> {
    let bare = |w: &Word| is_replaced(&w.low);
    while thing.first().is_some_and(bare) && thing.len() > 1 {
        thing.remove(0);
    }
    if let Some(last) = thing.last_mut() {
        last.mark = None;
    }
    let the = Word { text: "the".into(), low: "the".into(), mark: None };
    std::iter::once(the).chain(thing).collect()
}

/// The order that the actions of one sentence make, `known` being what was last worked on, and
/// the thing that is worked on after it.
pub fn order(
    words: &[Word],
    actions: &[Action],
    known: Option<Vec<Word>>,
) -> (String, Option<Vec<Word>>) {
    let mut known = known;
    let mut orders: Vec<String> = Vec::new();
    for (i, action) in actions.iter().enumerate() {
        let named = thing(words, action);
        let next = actions.get(i + 1);
        let handed_on = named.is_some() && next.is_some_and(|next| pronoun(words, next).is_some());
        if !(is_taking(action) && handed_on) {
            orders.push(clause(words, action, known.as_deref()));
        }
        known = named.or(known);
    }
    (sentence_case(&listed(&orders)), known)
}

/// "Take the onion and chop it": the taking goes without saying.
fn is_taking(action: &Action) -> bool {
    matches!(action.verb.as_str(), "take" | "grab" | "get" | "pick")
        && action.strength <= Strength::Handling
}

/// The index of the pronoun that is the action's whole object.
fn pronoun(words: &[Word], action: &Action) -> Option<usize> {
    let inside = |i: usize| i < action.end;
    let first = action.at + 1;
    let at = if inside(first) && is_preposition(&words[first].low) { first + 1 } else { first };
    let found = (first..=at).filter(|i| inside(*i)).find(|i| is_pronoun(&words[*i].low))?;
    let low = words[found].low.as_str();
    let alone = || {
        let next = words.get(found + 1).filter(|_| inside(found + 1));
        next.is_none_or(|w| is_preposition(&w.low) || w.low.ends_with("ly") || w.low == "and")
    };
    (matches!(low, "it" | "them") || words[found].mark.is_some() || alone()).then_some(found)
}

/// One action as an order.
fn clause(words: &[Word], action: &Action, known: Option<&[Word]>) -> String {
    let pronoun = pronoun(words, action);
    let mut said = vec![Word { text: action.verb.clone(), low: action.verb.clone(), mark: None }];
    for (i, word) in words.iter().enumerate().take(action.end).skip(action.at + 1) {
        match (known, pronoun == Some(i)) {
            (Some(thing), true) => said.extend_from_slice(thing),
            _ if is_filler(&word.low) => {}
            _ => said.push(own(word)),
        }
    }
    if let Some(last) = said.last_mut() {
        last.mark = None;
    }
    join(&said)
}

/// "my pan" is "the pan" to whoever reads it.
fn own(word: &Word) -> Word {
    match word.low.as_str() {
        "my" | "our" | "your" => Word { text: "the".into(), low: "the".into(), mark: word.mark },
        _ => word.clone(),
    }
}

fn sentence_case(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// Whether the order goes on with the one before: the same verb on the same or an unnamed thing,
/// or "keep stirring".
pub fn continues(words: &[Word], action: &Action, before: &Action, same_thing: bool) -> bool {
    let keeps = matches!(action.verb.as_str(), "keep" | "continue" | "repeat");
    let inner = || {
        let mut after =
            words[action.at + 1..action.end].iter().filter_map(|w| lexicon::verb(&w.low));
        after.find(|form| form.tense == Tense::Gerund).map(|form| form.verb)
    };
    let unnamed = thing(words, action).is_none();
    match (keeps, inner()) {
        (true, Some(verb)) => verb == before.verb,
        (true, None) => unnamed,
        (false, _) => action.verb == before.verb && (same_thing || unnamed),
    }
}
