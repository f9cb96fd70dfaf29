//! What a step may mean in its procedure: "Water them well." with each thing that the title and the steps before
//! name in place of "them". The rules only propose; a model that knows the procedure chooses.

use stitch_core::procedure::Procedure;

use super::clauses::{
    Clauses, SubAction, has_particle, is_number, low, object_range, phrase, sentences,
};
use crate::lexicon::clause::takes_thing;
use crate::lexicon::words::*;
use crate::lexicon::{self, Strength, Tense, is_plain_verb};

/// For every step, what it may ask for, the likeliest first; nothing where it refers to nothing.
pub fn readings(procedure: &Procedure) -> Vec<Vec<String>> {
    let mut discourse = Discourse { title: title(procedure.title()), ..Discourse::default() };
    procedure.steps().iter().map(|step| discourse.read(step)).collect()
}

/// Longer things are not carried from step to step.
const MAX_THING_WORDS: usize = 8;
const MAX_TITLE_WORDS: usize = 5;
const MAX_WORD_BYTES: usize = 40;
/// A longer action is not repeated.
const MAX_ACTION_BYTES: usize = 400;
/// A step reaches back over no more things.
const MAX_THINGS: usize = 6;

#[derive(Default)]
struct Discourse {
    title: Option<String>,
    /// What was named, without article; the newest last.
    things: Vec<String>,
    last: Option<SubAction>,
}

impl Discourse {
    fn read(&mut self, step: &str) -> Vec<String> {
        let words = words(step);
        let actions: Vec<SubAction> = sentences(&words)
            .flat_map(|sentence| {
                let clauses = Clauses::of(sentence);
                let timed = !clauses.times.is_empty() || clauses.condition.is_some();
                clauses.actions.into_iter().map(move |action| {
                    let verb = action.verb.or_else(|| bare_verb(&action.words, timed));
                    SubAction { verb, ..action }
                })
            })
            .collect();
        let readings = self.readings(&actions);
        for action in &actions {
            self.note(action);
            let text_length = action.words.iter().map(|word| word.text.len()).sum::<usize>();
            if action.verb.is_some()
                && text_length <= MAX_ACTION_BYTES
                && after_repeat(&action.words).is_none()
            {
                self.last = Some(action.clone());
            }
        }
        readings
    }

    /// The step with each thing in the first place that refers back to one.
    fn readings(&self, actions: &[SubAction]) -> Vec<String> {
        let told = |actions: &[SubAction]| {
            listed(&actions.iter().map(|action| phrase(&action.words)).collect::<Vec<_>>())
        };
        let with = |at: usize, action: SubAction| {
            let mut actions = actions.to_vec();
            actions[at] = action;
            told(&actions)
        };
        for (at, action) in actions.iter().enumerate() {
            if after_repeat(&action.words).is_some() {
                return self
                    .repeated(&action.words)
                    .map(|again| with(at, again))
                    .into_iter()
                    .collect();
            }
            if let Some(reference) = reference(action, at == 0) {
                let things = self.things.iter().rev().chain(&self.title);
                return things.map(|thing| with(at, reference.means(action, thing))).collect();
            }
            if names_something(&action.words, action.verb) {
                break; // later pronouns mean that
            }
        }
        Vec::new()
    }

    /// The action before in place of "repeat", "ditto" and "do the same with the tomatoes".
    fn repeated(&self, said: &[Word]) -> Option<SubAction> {
        let rest = after_repeat(said)?;
        let mut action = self.last.clone()?;
        let joined = matches!(low(rest, 0), "with" | "for" | "to" | "on" | "using");
        let new = rest[usize::from(joined)..].split_inclusive(|word| word.mark.is_some()).next();
        let new = new.unwrap_or_default();
        // "repeat three times"
        if new.is_empty() || !joined && is_number(low(new, 0)) {
            return Some(action);
        }
        let object = object_range(&action.words, action.verb?);
        let is_thing = !is_preposition(low(new, 0)) && lexicon::verb(low(new, 0)).is_none();
        let clause = new.iter().any(|word| is_subordinator(&word.low));
        if object.is_empty() || clause || !is_thing {
            return None;
        }
        action.words.splice(object, marked(&join(new), None));
        Some(action)
    }

    /// Remembers what the action is done to.
    fn note(&mut self, SubAction { words, verb }: &SubAction) {
        let Some(verb) = *verb else { return };
        let object = &words[object_range(words, verb)];
        let lists = object.split(|word| matches!(word.low.as_str(), "and" | "or"));
        let items = lists.flat_map(|list| list.split_inclusive(|word| word.mark == Some(',')));
        let items: Vec<String> = items.filter_map(bare_noun).map(phrase).collect();
        let all = (2..=MAX_THINGS).contains(&items.len()).then(|| listed(&items));
        let older = items.len().saturating_sub(MAX_THINGS);
        for thing in items.into_iter().skip(older).chain(all) {
            self.things.retain(|old| *old != thing);
            self.things.push(thing);
        }
        let old = self.things.len().saturating_sub(MAX_THINGS);
        self.things.drain(..old);
    }
}

/// Where an action refers to an earlier thing.
struct Reference {
    /// The first word of it, and how many words it is.
    at: usize,
    length: usize,
    /// What stands before the thing: "the other side of".
    before: String,
}

impl Reference {
    fn means(&self, SubAction { words, verb }: &SubAction, thing: &str) -> SubAction {
        let end = self.at + self.length;
        let mark = self.length.checked_sub(1).and_then(|last| words[self.at + last].mark);
        let mut meant = words[..self.at].to_vec();
        let open = meant.last_mut().filter(|_| self.length == 0).and_then(|word| word.mark.take());
        let owned = |word: &str| word.ends_with("'s") || word.ends_with("s'");
        let article = if thing.split(' ').next().is_some_and(owned) { "" } else { "the " };
        meant.extend(marked(&format!("{}{article}{thing}", self.before), mark.or(open)));
        let rest = &words[end..];
        let emphasis = rest.len() == 1 && is_emphasis(low(rest, 0));
        meant.extend_from_slice(&rest[usize::from(emphasis)..]);
        SubAction { words: meant, verb: *verb }
    }
}

/// The first word that refers back and means nothing that its own action names before it, or the place of the
/// object that the first action of a step omits.
fn reference(action: &SubAction, is_first: bool) -> Option<Reference> {
    let words = &action.words;
    let found = (0..words.len()).find_map(|at| anaphor(words, at));
    let omits = || is_first && action.verb == Some(0) && omits_object(words);
    match found {
        Some(found) => {
            let named = names_something(&words[..found.at], action.verb);
            (!named).then_some(found)
        }
        None => omits().then(|| Reference { at: 1, length: 0, before: String::new() }),
    }
}

/// Whether a determiner and a noun are among the words, or the verb has a thing as its object: "peel onions".
fn names_something(words: &[Word], verb: Option<usize>) -> bool {
    let noun = |pair: &[Word]| is_determiner(&pair[0].low) && is_content(&pair[1].low);
    let verb = verb.filter(|verb| *verb < words.len());
    words.windows(2).any(noun)
        || verb.is_some_and(|verb| bare_noun(&words[object_range(words, verb)]).is_some())
}

/// What follows a word that orders to repeat.
fn after_repeat(words: &[Word]) -> Option<&[Word]> {
    let mut at = usize::from(low(words, 0) == "do");
    at += usize::from(low(words, at) == "the");
    let order = low(words, at);
    if !matches!(order, "repeat" | "ditto" | "same" | "likewise") {
        return None;
    }
    at += 1;
    let filler = |at: usize| {
        let word = low(words, at);
        let step = |word: &str| matches!(word, "step" | "steps" | "process");
        matches!(word, "again" | "too" | "this" | "that" | "it")
            || step(word)
            || word == "the" && step(low(words, at + 1))
    };
    while filler(at) {
        at += 1;
    }
    Some(&words[at..])
}

/// What refers back at this word.
fn anaphor(words: &[Word], at: usize) -> Option<Reference> {
    let ends = |length: usize| {
        let next = low(words, at + length);
        words[at + length - 1].mark.is_some()
            || next.is_empty()
            || is_preposition(next) && next != "of"
            || is_manner(next)
            || next.ends_with("ly")
            || matches!(next, "and" | "or" | "then")
    };
    let part = low(words, at + 2);
    let (length, before) = match (low(words, at), (low(words, at + 1), part)) {
        ("it" | "them" | "they" | "both", _) => (1, String::new()),
        ("this" | "that" | "these" | "those", _) if at > 0 => (1, String::new()),
        ("the", ("rest" | "remainder", _)) => (2, "the rest of ".to_owned()),
        ("the", ("mixture" | "lot", _)) => (2, String::new()),
        ("the", ("other", "side" | "end" | "half" | "edge")) => {
            (3, format!("the other {part} of "))
        }
        _ => return None,
    };
    let sure = matches!(low(words, at), "it" | "them" | "they");
    (sure || ends(length)).then_some(Reference { at, length, before })
}

fn is_emphasis(word: &str) -> bool {
    matches!(word, "well" | "again" | "too" | "first" | "now")
}

/// The verb of an action that is told by nothing but its verb: "Water well.", "Serve with rice."
fn bare_verb(words: &[Word], timed: bool) -> Option<usize> {
    let form = lexicon::verb(low(words, 0)).filter(|form| form.tense == Tense::Plain)?;
    let (alone, next) = (words.len() == 1, low(words, 1));
    let adverb = is_emphasis(next) || next.ends_with("ly");
    let order = is_bare_order(form.verb) && (alone || is_preposition(next));
    let verb = form.strength != Strength::Noun || order || adverb || alone && timed;
    verb.then_some(0)
}

/// Whether these words after a verb begin with no thing: "well", "with lime", "in a bowl", but not "in the nails".
fn says_where(words: &[Word]) -> bool {
    let adverb =
        |word: &&Word| is_manner(&word.low) || is_result(&word.low) || word.low.ends_with("ly");
    let rest = &words[words.iter().take_while(adverb).count()..];
    let (first, second) = (low(rest, 0), low(rest, 1));
    match first {
        "in" | "on" => {
            let vessel = rest.iter().skip(1).take(3).any(|word| is_vessel(&word.low));
            vessel || !is_determiner(second) && second.parse::<f32>().is_err()
        }
        "" | "without" | "while" | "as" => true,
        _ => is_preposition(first) && first != "of",
    }
}

/// Whether the action, whose verb comes first, lacks the thing that it is done to.
fn omits_object(words: &[Word]) -> bool {
    let (verb, next) = (low(words, 0), low(words, 1));
    // "scatter over the nuts"
    let adverbial = is_spreading(verb) && matches!(next, "over" | "on" | "in");
    object_range(words, 0).is_empty()
        && !has_particle(words, 0)
        && !is_intransitive(verb)
        && !adverbial
        && (words[0].mark.is_some() || says_where(&words[1..]))
}

/// What the procedure makes or works on, out of its title.
fn title(text: &str) -> Option<String> {
    let words = words(&text.to_lowercase());
    let is_lead = |at: usize| {
        let (word, next) = (low(&words, at), low(&words, at + 1));
        let told = at > 0 && low(&words, at - 1) == "to" || takes_thing(&words, at);
        let verb = lexicon::verb(word).filter(|_| !next.is_empty());
        is_title_lead(word)
            || at > 0 && is_particle(word)
            || verb.is_some_and(|form| match form.tense {
                Tense::Gerund => true,
                Tense::Plain => told || is_particle(next),
                Tense::Third | Tense::Past => false,
            })
    };
    let from = (0..words.len()).take_while(|at| is_lead(*at)).count();
    let ends = |word: &Word| {
        is_preposition(&word.low) && word.low != "top"
            || is_subordinator(&word.low)
            || word.low == "recipe"
    };
    let count = words[from..].iter().take_while(|word| !ends(word)).count();
    let stops = |word: &Word| word.mark.is_some();
    let thing = words[from..from + count].split_inclusive(stops).next()?;
    let noun = bare_noun(thing).filter(|noun| noun.len() <= MAX_TITLE_WORDS)?;
    Some(join(noun))
}

/// Whether the word only says which or how much.
fn is_measured(word: &str) -> bool {
    is_determiner(word) || is_replaced(word) || is_number(word) || is_quantity(word)
}

/// A thing without article and quantity; none where it is no plain thing.
fn bare_noun(words: &[Word]) -> Option<&[Word]> {
    let noun = &words[words.iter().take_while(|word| is_measured(&word.low)).count()..];
    let (first, last) = (noun.first()?.low.as_str(), noun.last()?.low.as_str());
    let broken = is_preposition(first) && first != "top"
        || noun.len() == 1 && is_result(first)
        || is_determiner(last)
        || last == "of";
    let vague = |word: &Word| {
        let word = word.low.as_str();
        is_pronoun(word)
            || is_subject(word)
            || is_state(word)
            || is_subordinator(word)
            || is_vague(word)
    };
    let plain = |word: &Word| {
        let odd = |c: char| !c.is_alphanumeric() && !"-'/.%°".contains(c);
        word.text.len() <= MAX_WORD_BYTES && !word.text.contains(odd)
    };
    // "the children scoop soil"
    let clause =
        noun.len() > 2 && noun[1..noun.len() - 1].iter().any(|word| is_plain_verb(&word.low));
    let sound = !broken
        && !clause
        && noun.len() <= MAX_THING_WORDS
        && noun.iter().any(|word| word.low.len() > 1 && word.low.starts_with(char::is_alphabetic))
        && noun.iter().all(|word| plain(word) && !vague(word));
    sound.then_some(noun)
}

/// The words of a text, with this mark after the last.
fn marked(text: &str, mark: Option<char>) -> Vec<Word> {
    let mut marked = words(text);
    if let Some(last) = marked.last_mut() {
        last.mark = mark;
    }
    marked
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(title: &str, steps: &[&str]) -> Vec<Vec<String>> {
        readings(&Procedure::new(title, steps).unwrap())
    }

    #[test]
    fn what_a_step_may_mean_is_among_its_readings() {
        let cases: [(&str, &[&str], &str); 22] = [
            ("", &["Sow the lettuce seeds.", "Water them well."], "water the lettuce seeds"),
            ("Potato gratin", &["Bake until bubbly."], "bake the potato gratin"),
            ("", &["Peel the onion.", "Cut it into dice."], "cut the onion into dice"),
            (
                "",
                &["Sand the board.", "Turn it over and sand the other side."],
                "turn the board over and sand the other side",
            ),
            (
                "",
                &["Brush the left post with oil.", "Ditto the right post."],
                "brush the right post with oil",
            ),
            ("", &["Chop the carrots.", "Do the same with the leeks."], "chop the leeks"),
            ("", &["Cut a slot.", "Glue the pin.", "Repeat three times."], "glue the pin"),
            ("", &["Mix flour and sugar.", "Stir the mixture."], "stir the flour and sugar"),
            ("", &["Fry the onion.", "Add the rest."], "add the rest of the onion"),
            ("", &["Saw the plank.", "Sand well."], "sand the plank"),
            ("", &["Wash the beans.", "Drain."], "drain the beans"),
            ("", &["Fry or bake the fish.", "Serve it."], "serve the fish"),
            ("", &["Roll the dough.", "Chill."], "chill the dough"),
            ("", &["Oil the chain.", "Wipe the frame.", "Let them dry."], "let the chain dry"),
            ("", &["Whisk the eggs.", "Pour them into the pan."], "pour the eggs into the pan"),
            ("Rose pruning", &["Water them."], "water the rose pruning"),
            ("", &["Slice the bread.", "Toast both sides.", "Butter it."], "butter the bread"),
            ("", &["Give the berries a quick rinse.", "Drain them."], "drain the berries"),
            ("", &["Get the butter foaming.", "Skim it."], "skim the butter"),
            ("", &["Leave the icing to set.", "Cut it."], "cut the icing"),
            ("", &["Sift half the flour.", "Fold it in."], "fold the flour in"),
            ("Grandad's nest box", &["Paint it."], "paint grandad's nest box"),
        ];
        for (title, steps, expected) in cases {
            let found = of(title, steps).pop().unwrap();
            assert!(found.iter().any(|text| text == expected), "{expected}: {found:?}");
        }
    }

    #[test]
    fn a_step_that_names_its_things_has_no_other_reading() {
        let alone = [
            "Chop the onion.",
            "Peel the apple and core it.",
            "Wait ten minutes.",
            "If the wood is rough, sand the wood.",
            "Salt and pepper the steak.",
            "Fry, grill or bake the fish.",
            "Beat 2 eggs and add them.",
            "Peel onions and cut them into dice.",
        ];
        for step in alone {
            assert_eq!(of("", &["Boil the water.", step])[1], [""; 0], "{step}");
        }
    }

    #[test]
    fn long_texts_cost_no_more_than_their_length() {
        let long = "stir it and fry them, ".repeat(20_000);
        assert!(of("", &["Chop the onion.", &long])[1].len() <= MAX_THINGS + 1);
        let list = format!("Mix {} and salt.", vec!["flour"; 50_000].join(", "));
        let found = of("", &[&list, "Stir it."]).remove(1);
        assert_eq!(found, ["stir the salt", "stir the flour"], "no list of all");
    }

    proptest! {
        #[test]
        fn any_text_is_read(title in ".{0,40}", steps in prop::collection::vec(".{1,80}", 1..6)) {
            if let Ok(procedure) = Procedure::new(&title, &steps) {
                prop_assert_eq!(readings(&procedure).len(), procedure.steps().len());
            }
        }
    }
}
