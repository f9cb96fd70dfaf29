//! What is done in a sentence: verbs that stand where a speaker says what hands do.

use super::words::*;
use crate::lexicon::{self, Form, Strength, Tense};

/// An action scoring less adds nothing to the step of its sentence; chosen by hand.
pub const MIN_ACTION_SCORE: f32 = 1.5;

/// Something done: a verb of the sentence and what belongs to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Action {
    /// In its base form.
    pub verb: String,
    /// The verb's index in the sentence.
    pub at: usize,
    /// One past the last word that belongs to it.
    pub end: usize,
    pub strength: Strength,
    /// How sure this is a step; about 2 and more is likely.
    pub score: f32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Frame {
    /// chop the onion
    Order,
    /// it's time to chop, go ahead and chop
    Urged,
    /// we're going to chop, I chop, you want to chop
    Doing,
    /// you can chop
    Possible,
    /// chopping the onion
    Gerund,
    /// I've chopped
    Done,
    /// I chopped
    Past,
    /// he chops
    Other,
}

/// The actions of a sentence in order, each to the end of its clause. Where no verb of the list tells
/// one, a word that stands as a verb does may.
pub fn actions(words: &[Word]) -> Vec<Action> {
    let known = actions_by(words, |_| false);
    if known.is_empty() { actions_by(words, |at| acts_as_verb(words, at)) } else { known }
}

/// The actions whose verbs are in the list, or pass for one.
fn actions_by(words: &[Word], passes: impl Fn(usize) -> bool + Copy) -> Vec<Action> {
    let mut actions: Vec<Action> = Vec::new();
    let mut i = 0;
    let mut subordinate = false;
    let mut opens = true; // whether a clause may open at this word
    while i < words.len() {
        let word = &words[i];
        if opens && is_subordinator(&word.low) && !is_purpose(words, i) {
            subordinate = true;
        } else if let Some((at, frame)) = frame_at(words, i, opens, actions.last(), passes) {
            let found = action(words, at, frame).filter(|_| !subordinate);
            subordinate = false; // only the clause it opens
            i = found.as_ref().map_or(at, |action| last_verb(words, action));
            actions.extend(found);
        }
        subordinate &= words[i].mark.is_none(); // "when it is hot, add the oil"
        opens = opens_after(words, i, opens);
        i += 1;
    }
    actions
}

/// Where the action's last verb stands: "let it simmer" has two, which are one action.
fn last_verb(words: &[Word], action: &Action) -> usize {
    let first = action.at + 1;
    let inner = || {
        let mut after = first..action.end.min(action.at + 6);
        after.find(|i| words[*i].low != "that" && lexicon::verb(&words[*i].low).is_some())
    };
    if carries_another(&action.verb) { inner().unwrap_or(action.at) } else { action.at }
}

/// Whether what is done stands in a second verb: "keep stirring".
pub fn carries_another(verb: &str) -> bool {
    matches!(verb, "let" | "give" | "keep" | "continue" | "start" | "allow")
}

/// `that` and `as` open clauses only after a verb or a comma; at the start they point at things, and
/// "after that" is a time.
fn is_purpose(words: &[Word], i: usize) -> bool {
    let (before, word, next) =
        (low_at(words, i.wrapping_sub(1)), low_at(words, i), low_at(words, i + 1));
    matches!((word, next), ("what", _) | ("after" | "once", "that") | ("as", "well"))
        || matches!((before, word), ("after" | "once", "that"))
}

fn opens_after(words: &[Word], i: usize, opened: bool) -> bool {
    let word = &words[i];
    let before = low_at(words, i.wrapping_sub(1));
    // "all you do is chop", but "until it is smooth"
    let joint = matches!(word.low.as_str(), "and" | "then" | "so" | "but" | "or" | "now")
        || word.low == "is" && before != "it"
        || word.low == "with" && matches!(before, "begin" | "start");
    // "make sure to", "it's time to", "the next thing is to"
    let urged = word.low == "to"
        && matches!(
            before,
            "sure" | "time" | "is" | "forget" | "remember" | "going" | "ready" | "want" | "need"
        );
    word.mark.is_some()
        || joint
        || urged
        || (opened && is_lead(&word.low))
        || is_subordinator(&word.low)
}

/// The verb of a clause that begins here, and how it is said.
fn frame_at(
    words: &[Word],
    i: usize,
    opens: bool,
    before: Option<&Action>,
    passes: impl Fn(usize) -> bool,
) -> Option<(usize, Frame)> {
    let first = words[i].low.as_str();
    // machines write "will" for "we'll"
    if is_subject(first)
        || (first == "will" && opens)
        || (first == "let" && low_at(words, i + 1) == "me")
    {
        return spoken_frame(words, i, passes);
    }
    let Some(form) = lexicon::verb(first) else {
        return (opens && passes(i)).then_some((i, Frame::Order));
    };
    let next = low_at(words, i + 1);
    if matches!((first, next), ("go", "ahead" | "and") | ("make", "sure")) {
        return None;
    }
    let stops = words[i].mark.is_some() || next.is_empty();
    let takes_thing = takes_thing(words, i);
    match form.tense {
        Tense::Plain if opens => {
            let urged = i > 0 && words[i - 1].low == "to" || i > 1 && words[i - 2].low == "ahead";
            let enough = form.strength != Strength::Noun || takes_thing || urged;
            let frame = if urged { Frame::Urged } else { Frame::Order };
            (enough && !is_noun_list(words, i, before)).then_some((i, frame))
        }
        // "once it's hot add the oil": an order in mid-sentence shows by what follows it
        Tense::Plain => {
            let after = low_at(words, i.wrapping_sub(1));
            let free = !is_determiner(after)
                && !is_subject(after)
                && !is_negation(after)
                && !matches!(
                    after,
                    "to" | "of" | "for" | "with" | "can" | "will" | "and" | "who" | "really"
                );
            let sure = matches!(form.strength, Strength::Sure | Strength::Handling);
            (free && sure && takes_thing).then_some((i, Frame::Order))
        }
        Tense::Gerund if opens && !stops => Some((i, Frame::Gerund)),
        _ => None,
    }
}

/// Whether a thing follows the word: `the onion`, `it`, `2 onions`.
pub fn takes_thing(words: &[Word], i: usize) -> bool {
    let next = low_at(words, i + 1);
    let follows = is_determiner(next) || is_pronoun(next) || next.parse::<f32>().is_ok();
    words[i].mark.is_none() && follows
}

/// Whether a word that is no verb of the list stands as one does, right before a thing: "spiralise the
/// courgette", or "great the cheese", which is how a machine hears an order.
fn acts_as_verb(words: &[Word], i: usize) -> bool {
    let low = words[i].low.as_str();
    let next = low_at(words, i + 1);
    let before_thing = words[i].mark.is_none()
        && matches!(next, "the" | "a" | "an" | "some" | "my" | "your" | "our");
    let plain = (is_content(low) || low == "great")
        && low.bytes().all(|b| b.is_ascii_lowercase())
        && !["ed", "ing", "ly", "s"].iter().any(|end| low.ends_with(end));
    let says_what_is = || words[i + 1..].iter().take(5).any(|w| is_state(&w.low));
    before_thing && plain && !says_what_is()
}

/// Whether a verb after "and" is one more thing in a list ("salt and pepper").
fn is_noun_list(words: &[Word], i: usize, before: Option<&Action>) -> bool {
    let after_and = i > 0 && matches!(words[i - 1].low.as_str(), "and" | "or");
    let alone = words[i].mark.is_some() || i + 1 == words.len();
    let unsure = lexicon::verb(&words[i].low).is_some_and(|f| f.strength != Strength::Sure);
    after_and && alone && (before.is_none() || unsure)
}

/// The verb after `we're going to`, `you want to`, `let's`, `I just`; none for another sentence.
fn spoken_frame(
    words: &[Word],
    i: usize,
    passes: impl Fn(usize) -> bool,
) -> Option<(usize, Frame)> {
    let subject = words[i].low.as_str();
    let (mut being, mut having, mut possible, mut to) = (false, false, false, subject == "let's");
    for (at, word) in words.iter().enumerate().skip(i + 1).take(9) {
        let low = word.low.as_str();
        if is_negation(low) {
            return None;
        }
        let form = lexicon::verb(low);
        let helps = is_auxiliary(low)
            || low == "me"
            || is_subject(low)
            || is_having(low)
            || low.ends_with("ly");
        let next_helps = matches!(low_at(words, at + 1), "to" | "by" | "ahead" | "going");
        match form {
            Some(form)
                if !helps
                    || (matches!(low, "start" | "keep" | "go")
                        && !next_helps
                        && !goes_on(words, at)) =>
            {
                let unsure =
                    form.strength == Strength::Noun && at == i + 1 && !takes_thing(words, at);
                let frame = fits(form, subject, being, having && !to, possible);
                return frame.filter(|_| !unsure).map(|frame| (at, frame));
            }
            _ if !helps => return passes(at).then_some((at, Frame::Doing)),
            _ if word.mark.is_some() => return None,
            _ => {}
        }
        being |= is_being(low);
        having |= is_having(low);
        possible |= matches!(low, "can" | "could" | "would");
        to |= low == "to";
    }
    None
}

/// Whether another verb follows at once ("keep stirring", "go and get").
fn goes_on(words: &[Word], at: usize) -> bool {
    let verb = |i: usize| lexicon::verb(low_at(words, i)).is_some();
    verb(at + 1) || low_at(words, at + 1) == "and" && verb(at + 2)
}

/// How a verb in this form is said after these helpers.
fn fits(form: Form, subject: &str, being: bool, having: bool, possible: bool) -> Option<Frame> {
    let third = matches!(subject, "he" | "she" | "they");
    match form.tense {
        Tense::Gerund if being => Some(if third { Frame::Other } else { Frame::Doing }),
        Tense::Past if having => Some(Frame::Done),
        Tense::Plain if having => None,
        Tense::Past if !being => Some(Frame::Past),
        Tense::Plain if third => Some(Frame::Other),
        Tense::Plain if possible => Some(Frame::Possible),
        Tense::Plain => Some(Frame::Doing),
        Tense::Third if third => Some(Frame::Other),
        Tense::Gerund | Tense::Past | Tense::Third => None,
    }
}

fn action(words: &[Word], at: usize, frame: Frame) -> Option<Action> {
    if at > 0 && is_negation(&words[at - 1].low) {
        return None;
    }
    let end = clause_end(words, at);
    let form = lexicon::verb(&words[at].low);
    let verb = form.map_or(words[at].low.as_str(), |form| form.verb).to_string();
    let strength = form.map_or(Strength::Noun, |form| inner_strength(words, at, end, form));
    let score =
        strength_score(strength) + frame_score(frame) + object_score(words, at, end, strength);
    Some(Action { verb, at, end, strength, score })
}

/// "Let it simmer" and "give it a stir" are as sure as the verb inside.
fn inner_strength(words: &[Word], at: usize, end: usize, form: Form) -> Strength {
    if !carries_another(form.verb) {
        return form.strength;
    }
    let inside = words[at + 1..end].iter().take(8).filter_map(|w| lexicon::verb(&w.low));
    let bare =
        inside.filter(|f| matches!(f.tense, Tense::Plain | Tense::Gerund)).map(|f| f.strength);
    match bare.max() {
        Some(Strength::Sure | Strength::Noun) => Strength::Sure,
        Some(other) => other.max(form.strength),
        None => form.strength.min(Strength::Handling),
    }
}

fn strength_score(strength: Strength) -> f32 {
    match strength {
        Strength::Sure => 3.0,
        Strength::Handling => 2.4,
        Strength::Noun => 1.8,
        Strength::Loose => 1.1,
    }
}

fn frame_score(frame: Frame) -> f32 {
    match frame {
        Frame::Urged => 0.9,
        Frame::Doing => 0.5,
        Frame::Order => 0.4,
        Frame::Gerund => -0.3,
        Frame::Possible => -0.4,
        Frame::Done => -1.0,
        Frame::Past => -1.5,
        Frame::Other => -1.0,
    }
}

/// A thing that it is done to makes an action sure; nothing at all makes it talk.
fn object_score(words: &[Word], at: usize, end: usize, strength: Strength) -> f32 {
    let after = &words[at + 1..end];
    let thing = after.iter().take(8).any(|w| !is_empty(&w.low) && !is_filler(&w.low));
    let pronoun = after.iter().take(3).any(|w| is_pronoun(&w.low));
    match (thing, pronoun, strength) {
        (true, _, _) => 0.6,
        (false, true, Strength::Loose) => -0.6,
        (false, true, _) => 0.0,
        (false, false, Strength::Sure) => -0.8,
        (false, false, _) => -2.0,
    }
}

/// One past the last word of the clause that the verb at this place opens.
fn clause_end(words: &[Word], at: usize) -> usize {
    for i in at..words.len().min(at + 28) {
        if matches!(words[i].mark, Some('.' | '!' | '?' | ';' | '…' | '—')) {
            return i + 1;
        }
        let next = low_at(words, i + 1);
        let far = i > at;
        let comma = words[i].mark == Some(',');
        // "chop it, that looks lovely"
        let remark =
            comma && matches!(next, "that" | "this" | "it") && is_state(low_at(words, i + 2));
        let person = is_subject(next)
            && (comma
                || matches!(words[i].low.as_str(), "and" | "then" | "or" | "so" | "now")
                || far && !is_subordinator(&words[i].low));
        if remark
            || (far || comma) && (is_clause_break(next) || person)
            || comma && is_lead(next) && next != "and" && next != "or"
        {
            return i + 1;
        }
    }
    words.len().min(at + 28)
}

/// Ends every action where the next begins, and without words that say nothing there.
pub fn trim_ends(words: &[Word], actions: &mut [Action]) {
    for i in 1..actions.len() {
        let next = actions[i].at;
        actions[i - 1].end = actions[i - 1].end.min(next);
    }
    for action in actions.iter_mut() {
        while action.end > action.at + 1 && ends_loosely(&words[action.end - 1].low) {
            action.end -= 1;
        }
    }
}

fn ends_loosely(word: &str) -> bool {
    is_filler(word) || is_subject(word) || is_dangling(word)
}
