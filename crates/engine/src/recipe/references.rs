//! What a step means in its procedure: pronouns, omitted objects and "the same again" in the words of the
//! steps before it and of the title.

use stitch_core::procedure::Procedure;

use super::clauses::{
    Clauses, SubAction, has_particle, is_number, low, object_range, phrase, sentences,
};
use crate::lexicon::clause::takes_thing;
use crate::lexicon::words::*;
use crate::lexicon::{self, Strength, Tense};

/// For every step, what it asks for where that is known only from the rest of the procedure; none where
/// the step stands alone and where nothing fits.
pub fn understood(procedure: &Procedure) -> Vec<Option<String>> {
    let mut discourse = Discourse { title: title(procedure.title()), ..Discourse::default() };
    procedure.steps().iter().map(|step| discourse.read(step)).collect()
}

/// Longer things are not carried from step to step.
const MAX_THING_WORDS: usize = 8;
const MAX_TITLE_WORDS: usize = 5;
const MAX_WORD_BYTES: usize = 40;
/// A longer action is not repeated.
const MAX_ACTION_BYTES: usize = 400;
/// A mixture of more is named by the title.
const MAX_INGREDIENTS: usize = 3;
/// A pronoun reaches back over no more things.
const MAX_THINGS: usize = 4;
/// A pronoun further back in its action is left as it is.
const MAX_WORDS_BEFORE: usize = 40;

/// Something that actions are done to.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Thing {
    /// Without article; several for a list or a mixture.
    items: Vec<String>,
    number: Number,
}

impl Thing {
    /// What a step was about that could not be followed: what refers back to it stays as it is.
    const UNKNOWN: Self = Self { items: Vec::new(), number: Number::Mixed };
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Number {
    Singular,
    Plural,
    /// A mixture: `it` and `them`.
    Mixed,
}

/// What refers to an earlier thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Anaphor {
    It,
    Them,
    Both,
    Rest,
    /// The other side.
    OtherPart,
    Mixture,
    /// No word at all.
    Omitted,
}

#[derive(Default)]
struct Discourse {
    title: Option<Thing>,
    /// The newest last.
    things: Vec<Thing>,
    last: Option<SubAction>,
}

impl Discourse {
    fn read(&mut self, step: &str) -> Option<String> {
        let (mut texts, mut changed, mut followed) = (Vec::new(), false, false);
        // A pronoun means what its own step names first.
        let mut named = false;
        for sentence in sentences(&words(step)) {
            let clauses = Clauses::of(sentence);
            let timed = !clauses.times.is_empty() || clauses.condition.is_some();
            let condition = clauses.condition.unwrap_or_default();
            named |= condition.iter().any(|word| is_replaced(&word.low));
            for mut action in clauses.actions {
                action.verb = action.verb.or_else(|| bare_verb(&action.words, timed));
                let meant = match self.repeated(&action.words) {
                    Some(again) => Some(again).filter(|again| !refers_back(&again.words)),
                    None if named => None,
                    None => self.resolved(&action, texts.is_empty()),
                };
                changed |= meant.is_some();
                followed |= meant.is_some() || needs_nothing(&action);
                let action = meant.unwrap_or(action);
                let notes = self.note(&action);
                followed |= notes;
                named |= notes || refers_back(&action.words);
                let text = phrase(&action.words);
                let verb = action.verb.filter(|verb| !is_preparing(low(&action.words, *verb)));
                if verb.is_some() && text.len() <= MAX_ACTION_BYTES {
                    self.last = Some(action);
                }
                texts.push(text);
            }
        }
        if !followed {
            self.push(Thing::UNKNOWN);
            self.last = None;
        }
        changed.then(|| listed(&texts))
    }

    /// The action before in place of "repeat", "ditto" and "do the same with the tomatoes".
    fn repeated(&self, said: &[Word]) -> Option<SubAction> {
        let (order, rest) = after_repeat(said)?;
        let mut action = self.last.clone()?;
        let joined = matches!(low(rest, 0), "with" | "for" | "to" | "on" | "using");
        let new = rest[usize::from(joined)..].split_inclusive(|word| word.mark.is_some()).next();
        let new = new.unwrap_or_default();
        // "repeat three times"
        if new.is_empty() || !joined && is_number(low(new, 0)) {
            return Some(action);
        }
        let direct = matches!(order, "ditto" | "likewise")
            || matches!(lows(new)[..], ["other", ..] | ["the", "other", ..]);
        let object = object_range(&action.words, action.verb?);
        let is_thing = !is_preposition(low(new, 0)) && lexicon::verb(low(new, 0)).is_none();
        let clause = new.iter().any(|word| is_subordinator(&word.low));
        if object.is_empty() || clause || !(joined || direct && is_thing) {
            return None;
        }
        let known = bare_noun(&action.words[object.clone()]);
        let thing = match lows(new)[..] {
            [.., "one" | "ones"] if object.end < action.words.len() => return None,
            ["the", "other", "one"] => {
                let known = known.filter(|noun| number(noun) == Number::Singular)?;
                let side = |word: &&Word| matches!(word.low.as_str(), "left" | "right" | "first");
                let kind: Vec<Word> = known.iter().filter(|w| !side(w)).cloned().collect();
                words(&format!("the other {}", join(&kind)))
            }
            ["the", "other", part @ ("side" | "end" | "half")] | ["other", part @ "side"] => {
                let whole = whole(&format!("the {}", join(known?)));
                words(&format!("the other {part} of {whole}"))
            }
            _ => marked(&join(new), None),
        };
        action.words.splice(object, thing);
        Some(action)
    }

    /// The action with what it refers to; none where it refers to nothing that is known. Only the first action
    /// of a step is given an object that it omits.
    fn resolved(&mut self, action: &SubAction, first: bool) -> Option<SubAction> {
        let (said, verb) = (&action.words, action.verb);
        let mut words: Vec<Word> = Vec::new();
        let (mut at, mut found) = (0, false);
        while at < said.len() {
            let reference = anaphor(said, at).filter(|_| refers_outside(action, at));
            let part = low(said, at + 2);
            let text = reference.and_then(|(_, anaphor)| self.refer(anaphor, part));
            let (Some((length, _)), Some(text)) = (reference, text) else {
                words.push(said[at].clone());
                at += 1;
                continue;
            };
            (at, found) = (at + length, true);
            words.extend(marked(&text, said[at - 1].mark));
            at += usize::from(is_dispensable(&said[at..]));
        }
        let words = match found {
            true => words,
            false if first => self.completed(action)?,
            false => return None,
        };
        Some(SubAction { words, verb })
    }

    /// The action with the object that it omits.
    fn completed(&mut self, SubAction { words, verb }: &SubAction) -> Option<Vec<Word>> {
        let lid = verb.is_none() && matches!(lows(words)[..], ["lid", "on" | "off"]);
        if !lid && (*verb != Some(0) || !omits_object(words)) {
            return None;
        }
        let served = matches!(low(words, 0), "serve" | "plate" | "garnish");
        let text = match self.title.clone().filter(|_| served) {
            Some(dish) => self.mention(dish)?,
            None => self.refer(Anaphor::Omitted, "")?,
        };
        let (before, rest) = words.split_at(if lid { 2 } else { 1 });
        let mut completed = before.to_vec();
        let mark = completed.last_mut().and_then(|word| word.mark.take());
        completed.extend(marked(&text, mark));
        completed.extend_from_slice(&rest[usize::from(is_dispensable(rest))..]);
        Some(completed)
    }

    /// The newest thing that fits, in words; it becomes the newest.
    fn refer(&mut self, anaphor: Anaphor, part: &str) -> Option<String> {
        let fits = |thing: &&Thing| match anaphor {
            Anaphor::It => thing.number != Number::Plural,
            Anaphor::Them | Anaphor::Both => thing.number != Number::Singular,
            Anaphor::Mixture => thing.number == Number::Mixed,
            Anaphor::Rest | Anaphor::OtherPart | Anaphor::Omitted => true,
        };
        let pair = self.pair().filter(|_| anaphor == Anaphor::Both);
        let newest = || self.things.iter().rev().chain(&self.title).find(fits).cloned();
        let thing = pair.or_else(newest)?;
        let name = self.mention(thing)?;
        Some(match anaphor {
            Anaphor::Rest => format!("the rest of {name}"),
            Anaphor::OtherPart => format!("the other {part} of {}", whole(&name)),
            _ => name,
        })
    }

    /// The two newest things, where neither is a list.
    fn pair(&self) -> Option<Thing> {
        let [.., first, second] = &self.things[..] else { return None };
        let single = first.items.len() == 1 && second.items.len() == 1 && first != second;
        let items = [&first.items[..], &second.items[..]].concat();
        single.then_some(Thing { items, number: Number::Plural })
    }

    fn mention(&mut self, thing: Thing) -> Option<String> {
        let name = match thing.items.len() {
            0 => return None,
            1..=MAX_INGREDIENTS => format!("the {}", listed(&thing.items)),
            _ => format!("the {} mixture", listed(&self.title.as_ref()?.items)),
        };
        self.push(thing);
        Some(name)
    }

    fn push(&mut self, thing: Thing) {
        self.things.retain(|old| *old != thing);
        self.things.push(thing);
        let old = self.things.len().saturating_sub(MAX_THINGS);
        self.things.drain(..old);
    }

    /// Remembers what the action is done to; whether it names something.
    fn note(&mut self, SubAction { words, verb }: &SubAction) -> bool {
        let Some(verb) = *verb else { return false };
        let Some(noun) = bare_noun(&words[object_range(words, verb)]) else { return false };
        let (mut items, mut number) = (items(noun), number(noun));
        let action = low(words, verb);
        // "pour off the grease"
        if matches!(low(words, verb + 1), "off" | "away") || action == "discard" {
            return true;
        }
        if items.is_empty() || is_preparing(action) || lexicon::verb(action).is_none() {
            return false;
        }
        let adds = action == "add" || has_particle(words, verb) && low(words, verb + 1) == "in";
        if let Some(base) = self.things.last().filter(|_| adds) {
            items.retain(|item| !base.items.contains(item));
            items.splice(0..0, base.items.iter().cloned());
            if *base == Thing::UNKNOWN {
                items.clear();
            }
            number = Number::Mixed;
        } else if is_mixing(action) && items.len() > 1 {
            number = Number::Mixed;
        }
        items.truncate(MAX_INGREDIENTS + 1);
        self.push(Thing { items, number });
        true
    }
}

/// The word that orders to repeat, and what follows.
fn after_repeat(words: &[Word]) -> Option<(&str, &[Word])> {
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
    Some((order, &words[at..]))
}

/// What refers back at this word, and how many words it is.
fn anaphor(words: &[Word], at: usize) -> Option<(usize, Anaphor)> {
    let ends = |length: usize| {
        let next = low(words, at + length);
        words[at + length - 1].mark.is_some()
            || next.is_empty()
            || is_preposition(next) && next != "of"
            || is_manner(next)
            || next.ends_with("ly")
            || matches!(next, "and" | "or" | "then")
    };
    let after = (low(words, at + 1), low(words, at + 2));
    let found = match (low(words, at), after) {
        ("it", _) => return Some((1, Anaphor::It)),
        ("them" | "they", _) => return Some((1, Anaphor::Them)),
        ("this" | "that", _) if at > 0 => (1, Anaphor::It),
        ("these" | "those", _) if at > 0 => (1, Anaphor::Them),
        ("both", _) => (1, Anaphor::Both),
        ("the", ("rest" | "remainder", _)) => (2, Anaphor::Rest),
        ("the", ("mixture", _)) => (2, Anaphor::Mixture),
        ("the", ("other", "side" | "end" | "half" | "edge")) => (3, Anaphor::OtherPart),
        _ => return None,
    };
    ends(found.0).then_some(found)
}

/// Whether the pronoun at this word may mean something outside of its action: nothing is named before it, or
/// it only says where: "drill two holes in it".
fn refers_outside(SubAction { words, verb }: &SubAction, at: usize) -> bool {
    let before = &words[..at];
    if at > MAX_WORDS_BEFORE || before.iter().any(|word| is_subject(&word.low)) {
        return false;
    }
    if verb.is_none() && at == 1 {
        return true;
    }
    let after_verb = verb.filter(|verb| *verb < at).map_or(0, |verb| verb + 1);
    let (leading, after) = before.split_at(after_verb);
    let names = leading.iter().any(|word| is_replaced(&word.low));
    let bare = |word: &Word| {
        let word = word.low.as_str();
        is_preposition(word) || is_manner(word) || word.ends_with("ly")
    };
    let where_to = |last: &str| match low(words, at) {
        "it" => {
            let object = verb.map(|verb| object_range(words, verb));
            is_preposition(last) && last != "as" && object.is_some_and(|o| o.end + 1 == at)
        }
        "the" => matches!(last, "over" | "on" | "to" | "onto" | "with"),
        _ => false,
    };
    let last = before.last().map_or("", |word| word.low.as_str());
    !names && (after.iter().all(bare) || where_to(last))
}

/// Whether nothing need be known to follow the action: "wait", "cut half into sticks".
fn needs_nothing(SubAction { words, verb }: &SubAction) -> bool {
    let Some(verb) = *verb else { return false };
    let object = &words[object_range(words, verb)];
    let measures = !object.is_empty() && object.iter().all(|word| is_measured(&word.low));
    verb == 0 && is_intransitive(low(words, 0)) || measures
}

fn refers_back(words: &[Word]) -> bool {
    (0..words.len()).any(|at| anaphor(words, at).is_some())
}

/// Whether these words, the last of an action, are left out of a short text.
fn is_dispensable(rest: &[Word]) -> bool {
    rest.len() == 1 && is_emphasis(low(rest, 0))
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
        && !refers_back(words)
        && (words[0].mark.is_some() || says_where(&words[1..]))
}

/// What the procedure makes or works on, out of its title.
fn title(text: &str) -> Option<Thing> {
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
    Some(Thing { items: vec![join(noun)], number: number(noun) })
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
    let sound = !broken
        && noun.len() <= MAX_THING_WORDS
        && noun.iter().any(|word| word.low.len() > 1 && word.low.starts_with(char::is_alphabetic))
        && noun.iter().all(|word| plain(word) && !vague(word));
    sound.then_some(noun)
}

fn number(noun: &[Word]) -> Number {
    let (words, count) = (lows(noun), noun.len());
    let head = words.iter().position(|word| *word == "of").filter(|at| *at > 0).unwrap_or(count);
    let head = head.checked_sub(1).map_or("", |at| words[at]);
    let plural = head.ends_with('s') && !["ss", "us", "is"].iter().any(|end| head.ends_with(end));
    let list = words.contains(&"and") || noun.iter().rev().skip(1).any(|w| w.mark == Some(','));
    if list || plural || is_irregular_plural(head) { Number::Plural } else { Number::Singular }
}

/// The things of a list.
fn items(noun: &[Word]) -> Vec<String> {
    let lists = noun.split(|word| matches!(word.low.as_str(), "and" | "or"));
    let items = lists.flat_map(|list| list.split_inclusive(|word| word.mark == Some(',')));
    items.filter_map(bare_noun).map(phrase).collect()
}

/// "the board" of "the top of the board".
fn whole(name: &str) -> String {
    name.rsplit_once(" of the ").map_or(name.to_owned(), |(_, whole)| format!("the {whole}"))
}

fn lows(words: &[Word]) -> Vec<&str> {
    words.iter().map(|word| word.low.as_str()).collect()
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
    use std::time::{Duration, Instant};

    use proptest::prelude::*;

    use super::*;

    fn read(title: &str, steps: &[&str]) -> Vec<String> {
        let procedure = Procedure::new(title, steps).unwrap();
        understood(&procedure).into_iter().map(Option::unwrap_or_default).collect()
    }

    /// A title, and steps with what they mean in the procedure; nothing where they stand alone.
    type Case = (&'static str, &'static [(&'static str, &'static str)]);

    const CASES: &[Case] = &[
        (
            "Planting out lettuce seedlings",
            &[
                ("Dig a small hole for each.", ""),
                ("Set them in the holes.", "set the lettuce seedlings in the holes"),
                ("Water them well.", "water the lettuce seedlings"),
                ("Water well.", "water the lettuce seedlings"),
            ],
        ),
        (
            "Beef tacos",
            &[
                ("Brown the beef. Drain it, then stir in the beans.", ""),
                ("Wash and shred the lettuce.", ""),
                ("Chop it finely.", "chop the lettuce finely"),
                ("Dice the tomatoes and the onion.", ""),
                ("Season both.", "season the tomatoes and onion"),
                ("Serve with lime.", "serve the beef tacos with lime"),
            ],
        ),
        (
            "Lasagne",
            &[
                ("Make the white sauce.", ""),
                ("Layer the sheets and the sauce in a dish.", ""),
                ("Bake until bubbly.", "bake the sheets and sauce"),
            ],
        ),
        (
            "Steamed rice",
            &[
                ("Rinse the rice.", ""),
                ("Add 2 cups of water.", ""),
                ("Lid on, 6 minutes", "lid on the rice and water"),
                ("Fluff it with a fork.", "fluff the rice and water with a fork"),
            ],
        ),
        (
            "",
            &[
                ("Slice the cucumber thinly.", ""),
                ("Do likewise with the tomatoes.", "slice the tomatoes thinly"),
                ("Ditto the radishes.", "slice the radishes thinly"),
                ("Salt both.", "salt the tomatoes and radishes"),
            ],
        ),
        (
            "",
            &[
                ("Sand the top of the board.", ""),
                ("Repeat on the other side.", "sand the other side of the board"),
                ("Sand the other side.", "sand the other side of the board"),
                ("Wipe it down.", "wipe the top of the board down"),
            ],
        ),
        (
            "Banana bread",
            &[
                ("Mash the bananas.", ""),
                ("Mix the flour, sugar, salt and baking soda.", ""),
                ("Fold in the bananas.", ""),
                ("Pour the mixture into a tin.", "pour the banana bread mixture into a tin"),
                ("Bake for an hour.", "bake the banana bread mixture"),
                ("Let it cool.", "let the banana bread mixture cool"),
            ],
        ),
        (
            "",
            &[
                ("Mix the flour and water.", ""),
                ("Knead it for ten minutes.", "knead the flour and water"),
                ("Cover and leave overnight.", "cover the flour and water and leave"),
                ("Shape it into a ball.", "shape the flour and water into a ball"),
            ],
        ),
        (
            "",
            &[
                ("Drill a hole in the left leg.", ""),
                ("Repeat with the other one.", ""),
                ("Screw them on.", ""),
            ],
        ),
        (
            "",
            &[
                ("Fry the steak for 2 minutes.", ""),
                ("Turn it over.", "turn the steak over"),
                ("The same again.", "turn the steak over"),
            ],
        ),
        (
            "",
            &[
                ("Peel the carrots.", ""),
                ("Cut half into sticks.", ""),
                ("Grate the rest.", "grate the rest of the carrots"),
                ("Toss with oil.", "toss the carrots with oil"),
            ],
        ),
        (
            "How to paint a door",
            &[
                ("Sand it lightly.", "sand the door lightly"),
                ("Wipe clean.", "wipe the door clean"),
                ("Apply the primer.", ""),
                ("If it looks patchy, apply a second coat.", ""),
                ("Leave to dry overnight.", "leave the second coat to dry"),
            ],
        ),
        (
            "",
            &[
                ("If the wood is rough, sand it first.", ""),
                ("Wait for an hour.", ""),
                ("Preheat the oven.", ""),
                ("Salt and pepper.", ""),
                ("Same pan: fry the eggs.", ""),
            ],
        ),
        (
            "",
            &[
                ("Peel the onion and cut it into small dice.", ""),
                ("Fry in butter until golden.", "fry the onion in butter"),
                ("Set aside.", "set the onion aside"),
                ("Add it to the sauce.", "add the onion to the sauce"),
            ],
        ),
        (
            "",
            &[
                ("Boil the potatoes until they are tender.", ""),
                ("Drain and mash them.", "drain the potatoes and mash them"),
                ("Beat in the butter and milk.", ""),
                ("Serve.", "serve the potatoes, butter and milk"),
            ],
        ),
        (
            "",
            &[
                ("Glue the two halves together.", ""),
                ("Clamp them overnight.", "clamp the halves"),
                ("Remove the clamps.", ""),
                ("Oil it.", ""),
            ],
        ),
        (
            "",
            &[
                ("Cut the leek", ""),
                ("Repeat.", "cut the leek"),
                ("Repeat 3 times", "cut the leek"),
                ("Repeat the cutting.", ""),
                ("Drain.", "drain the leek"),
            ],
        ),
        (
            "Water kefir",
            &[
                ("Let the dough rise.", ""),
                ("Shape it into a roll.", "shape the dough into a roll"),
                ("Wipe the bench clean.", ""),
                ("Dry it.", "dry the bench"),
            ],
        ),
        (
            "Tomato soup",
            &[
                ("Fry the onion.", ""),
                ("Add the garlic, chilli and ginger.", ""),
                ("Stir in the tomatoes.", ""),
                ("Blend the mixture.", "blend the tomato soup mixture"),
                ("Serve.", "serve the tomato soup"),
            ],
        ),
        (
            "Pruning roses",
            &[
                ("Cut off the dead wood.", ""),
                ("Feed them in spring.", "feed the roses in spring"),
                ("Wait.", ""),
                ("Tie in the long shoots.", ""),
            ],
        ),
        (
            "Shelf",
            &[
                ("Cut the board to length.", ""),
                ("Drill two holes in it.", "drill two holes in the board"),
                ("Hang the brackets.", ""),
                ("Tighten them.", "tighten the brackets"),
                ("Scatter over the nuts.", ""),
            ],
        ),
        (
            "",
            &[
                ("Wash the spinach.", ""),
                ("If it is gritty, rinse again.", "rinse the spinach"),
                ("Top with the cheese.", "top the spinach with the cheese"),
            ],
        ),
        (
            "",
            &[
                ("Plane the left rail.", ""),
                ("Repeat with the other one.", "plane the other rail"),
                ("Sand both sides.", ""),
                ("Oil them.", ""),
            ],
        ),
        (
            "",
            &[
                ("Stir it.", ""),
                ("Bake until golden.", ""),
                ("Water them well.", ""),
                ("Repeat.", ""),
                ("The mixture should be thick.", ""),
            ],
        ),
        (
            "",
            &[
                ("Whisk the eggs, then pour them into the pan.", ""),
                ("Turn them over.", "turn the eggs over"),
                ("Do the same with the bacon.", "turn the bacon over"),
            ],
        ),
        (
            "",
            &[
                ("Sharpen the blade.", ""),
                ("Hold it steady.", "hold the blade steady"),
                ("Put this on the bench.", "put the blade on the bench"),
                (
                    "Spread the paint over the other side.",
                    "spread the paint over the other side of the blade",
                ),
            ],
        ),
    ];

    #[test]
    fn steps_are_understood_in_their_procedure() {
        for (title, steps) in CASES {
            let (texts, expected): (Vec<&str>, Vec<&str>) = steps.iter().copied().unzip();
            assert_eq!(read(title, &texts), expected, "{texts:?}");
        }
    }

    #[test]
    fn what_is_understood_stands_alone() {
        for (title, steps) in CASES {
            let said = |(step, text): &(&'static str, &'static str)| {
                if text.is_empty() { *step } else { *text }
            };
            let texts: Vec<&str> = steps.iter().map(said).collect();
            assert_eq!(read(title, &texts), vec![""; texts.len()], "{texts:?}");
        }
    }

    #[test]
    fn titles_name_what_is_worked_on() {
        let cases = [
            ("How to make a Bird House", "bird house"),
            ("Easy Shepherd's Pie Recipe", "shepherd's pie"),
            ("Plant out lettuce seedlings", "lettuce seedlings"),
            ("Roast chicken with lemon", "roast chicken"),
            ("Bread: a guide", "bread"),
            ("", ""),
            ("Cooking", "cooking"),
            ("What you always wanted to know", ""),
        ];
        for (text, expected) in cases {
            let items = title(text).map_or(String::new(), |thing| listed(&thing.items));
            assert_eq!(items, expected, "{text}");
        }
    }

    #[test]
    fn long_procedures_take_linear_time() {
        let started = Instant::now();
        for unit in ["cut it ", "Repeat. ", "Add the oil. ", "stir the rest and ", "of the board "]
        {
            let long = unit.repeat(100_000 / unit.len());
            read("Oak board", &["Cut the board.", long.as_str(), "Wipe it."]);
            read("", &["x".repeat(100_000).as_str(), long.as_str()]);
        }
        assert!(started.elapsed() < Duration::from_secs(120), "{:?}", started.elapsed());
    }

    proptest! {
        #[test]
        fn any_procedure_is_read(
            steps in proptest::collection::vec(
                "((repeat|it|them|the|rest|other|side|one|both|mixture|stir|add|in|and|with|lid|on|\\PC{1,5})[,.]? ?){1,12}",
                1..8,
            )
        ) {
            if let Ok(procedure) = Procedure::new("Oak board", &steps) {
                let texts = understood(&procedure);
                prop_assert_eq!(texts.len(), procedure.steps().len());
                prop_assert!(texts.iter().flatten().all(|text| !text.trim().is_empty()));
            }
        }
    }
}
