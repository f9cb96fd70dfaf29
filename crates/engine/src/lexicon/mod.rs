//! The verbs of procedures in all their forms: what a step is recognised by.

pub mod words;
pub mod clause;

use std::collections::HashMap;
use std::sync::LazyLock;

/// How sure a sign of a step a verb is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Strength {
    /// An action only in a clear frame: make, take.
    Loose,
    /// As often a noun or an adjective: salt, water.
    Noun,
    /// Handling, which needs an object: put, turn.
    Handling,
    /// Nearly always an action: chop, sand, prune.
    Sure,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// The verb itself: `chop` for `chopping`.
    pub verb: &'static str,
    /// How it is bent; `cut` counts as the plain form.
    pub tense: Tense,
    /// How sure a sign of a step it is.
    pub strength: Strength,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tense {
    /// chop
    Plain,
    /// chops
    Third,
    /// chopping
    Gerund,
    /// chopped
    Past,
}

/// The verb that this word, in small letters, is a form of.
pub fn verb(word: &str) -> Option<Form> {
    FORMS.get(word).copied()
}

/// Whether the word, in small letters, is a verb as orders have it: `chop`, not `chopping`.
pub fn is_plain_verb(word: &str) -> bool {
    verb(word).is_some_and(|form| form.tense == Tense::Plain)
}

static FORMS: LazyLock<HashMap<String, Form>> = LazyLock::new(|| {
    let mut forms = HashMap::new();
    let lines = include_str!("verbs.txt").lines().filter(|line| !line.starts_with('#'));
    // plain forms first, so that "cut" and "ground" are what they most often are
    let entries: Vec<(Form, Vec<&str>)> = lines.filter_map(entry).collect();
    for (form, _) in &entries {
        forms.entry(form.verb.to_string()).or_insert(*form);
    }
    for (form, past) in entries {
        for (word, tense) in bent(form.verb, &past) {
            forms.entry(word).or_insert(Form { tense, ..form });
        }
    }
    forms
});

/// The verb of a line of the list, with its irregular forms.
fn entry(line: &'static str) -> Option<(Form, Vec<&'static str>)> {
    let mut words = line.split_whitespace();
    let first = words.next()?;
    let strength = match first.as_bytes().first()? {
        b'!' => Strength::Loose,
        b'?' => Strength::Noun,
        b'~' => Strength::Handling,
        _ => Strength::Sure,
    };
    let verb = first.trim_start_matches(['!', '?', '~']);
    Some((Form { verb, tense: Tense::Plain, strength }, words.collect()))
}

/// Every bent form of a verb. Where English doubles a consonant or may, both spellings are given.
fn bent(verb: &str, past: &[&str]) -> Vec<(String, Tense)> {
    let stem = verb.strip_suffix('e').filter(|_| !verb.ends_with("ee")).unwrap_or(verb);
    let mut forms = vec![(third(verb), Tense::Third), (format!("{stem}ing"), Tense::Gerund)];
    if past.is_empty() {
        forms.push((regular_past(verb, stem), Tense::Past));
    }
    if doubles(verb) {
        let last = &verb[verb.len() - 1..];
        forms.push((format!("{verb}{last}ing"), Tense::Gerund));
        forms.push((format!("{verb}{last}ed"), Tense::Past));
    }
    forms.extend(past.iter().map(|word| (word.to_string(), Tense::Past)));
    forms
}

fn third(verb: &str) -> String {
    match ending_in_y(verb) {
        Some(stem) => format!("{stem}ies"),
        None if verb.ends_with(['s', 'x', 'z', 'o']) => format!("{verb}es"),
        None if verb.ends_with("ch") || verb.ends_with("sh") => format!("{verb}es"),
        None => format!("{verb}s"),
    }
}

fn regular_past(verb: &str, stem: &str) -> String {
    match ending_in_y(verb) {
        Some(stem) => format!("{stem}ied"),
        None if verb.ends_with("ee") => format!("{verb}d"),
        None => format!("{stem}ed"),
    }
}

/// The verb without a `y` that follows a consonant: `fr` of `fry`.
fn ending_in_y(verb: &str) -> Option<&str> {
    verb.strip_suffix('y').filter(|stem| !stem.ends_with(is_vowel))
}

fn is_vowel(c: char) -> bool {
    matches!(c, 'a' | 'e' | 'i' | 'o' | 'u')
}

/// Whether the verb ends like `chop`: consonant, vowel, consonant.
fn doubles(verb: &str) -> bool {
    let end: Vec<char> = verb.chars().rev().take(3).collect();
    let [last, middle, before] = end[..] else { return false };
    let consonant =
        last.is_ascii_alphabetic() && !is_vowel(last) && !matches!(last, 'w' | 'x' | 'y');
    consonant && is_vowel(middle) && !is_vowel(before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_verbs_in_every_form() {
        let cases = [
            ("chop", "chop", Tense::Plain),
            ("chopping", "chop", Tense::Gerund),
            ("chopped", "chop", Tense::Past),
            ("slices", "slice", Tense::Third),
            ("slicing", "slice", Tense::Gerund),
            ("fries", "fry", Tense::Third),
            ("fried", "fry", Tense::Past),
            ("washes", "wash", Tense::Third),
            ("ground", "grind", Tense::Past),
            ("cut", "cut", Tense::Plain),
            ("cutting", "cut", Tense::Gerund),
            ("dug", "dig", Tense::Past),
            ("transferring", "transfer", Tense::Gerund),
            ("seasoned", "season", Tense::Past),
            ("gluing", "glue", Tense::Gerund),
            ("kneading", "knead", Tense::Gerund),
        ];
        for (word, expected, tense) in cases {
            let form = verb(word).unwrap_or_else(|| panic!("{word}"));
            assert_eq!((form.verb, form.tense), (expected, tense), "{word}");
        }
        assert_eq!(verb("grandmother"), None);
        assert_eq!(verb("salt").unwrap().strength, Strength::Noun);
        assert!(FORMS.len() > 1200, "{}", FORMS.len());
    }
}
