//! A sentence as words: small letters, contractions taken apart, what each is good for.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// As it was said, punctuation removed.
    pub text: String,
    pub low: String,
    /// The punctuation after it, if any.
    pub mark: Option<char>,
}

/// The words of a sentence; `we're` is two words, `don't` is one.
pub fn words(sentence: &str) -> Vec<Word> {
    let sentence = sentence.replace(['’', '‘'], "'");
    sentence.split_whitespace().flat_map(split).collect()
}

fn split(token: &str) -> Vec<Word> {
    // "(gently.)"
    let said = token.trim_end_matches([')', ']', '"', '”', '\'']);
    let mark = said.chars().last().filter(|c| ".,;:!?…—–".contains(*c));
    let keep =
        |c: char| c.is_alphanumeric() || matches!(c, '\'' | '%' | '°' | '½' | '¼' | '¾' | '/');
    let bare = token.trim_matches(|c: char| !keep(c));
    if bare.is_empty() {
        return Vec::new();
    }
    let word = |text: &str, mark| Word { text: text.to_string(), low: text.to_lowercase(), mark };
    const TAILS: [&str; 5] = ["'m", "'re", "'ll", "'ve", "'d"];
    let cut = TAILS.iter().find_map(|tail| {
        let at = bare.len().checked_sub(tail.len())?;
        (at > 0 && bare.get(at..)?.eq_ignore_ascii_case(tail)).then_some(at)
    });
    match cut {
        Some(at) => vec![word(&bare[..at], None), word(&bare[at..], mark)],
        None => vec![word(bare, mark)],
    }
}

/// The word at this place in small letters; empty outside the sentence.
pub fn low_at(words: &[Word], at: usize) -> &str {
    words.get(at).map_or("", |word| &word.low)
}

pub fn join(words: &[Word]) -> String {
    let mut text = String::new();
    for (i, word) in words.iter().enumerate() {
        if !text.is_empty() && !word.text.starts_with('\'') {
            text.push(' ');
        }
        text.push_str(&word.text);
        if word.mark == Some(',') && i + 1 < words.len() {
            text.push(',');
        }
    }
    text
}

/// "a", "b" and "c".
pub fn listed(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [before @ .., last] => format!("{} and {last}", before.join(", ")),
    }
}

/// Whether the word names something (is no function word).
pub fn is_content(word: &str) -> bool {
    const FUNCTION_WORDS: &str = "is_lead is_subject is_auxiliary is_negation is_subordinator is_determiner \
        is_pronoun is_preposition is_empty is_filler is_talking is_state";
    word.len() > 2 && !FUNCTION_WORDS.split(' ').any(|list| LISTS[list].contains(word))
}

/// The lists of words.txt by name. Each is a paragraph: what it is for, its name and a colon, the words.
static LISTS: LazyLock<HashMap<&str, HashSet<&str>>> = LazyLock::new(|| {
    let lists = include_str!("words.txt").split("\n\n").filter_map(|list| {
        let (head, words) = list.split_once(':')?;
        Some((head.lines().last()?, words.split_whitespace().collect()))
    });
    lists.collect()
});

macro_rules! word_lists {
    ($($name:ident)*) => {
        $(pub fn $name(word: &str) -> bool {
            LISTS[stringify!($name)].contains(word)
        })*
    };
}

word_lists! {
    is_lead is_subject is_auxiliary is_being is_having is_negation is_subordinator
    is_clause_break is_determiner is_pronoun is_preposition is_empty is_state is_filler
    is_replaced is_dangling is_measure is_time_unit is_number_word is_time_lead is_abbreviation
    is_conditional is_asking is_modal is_tool is_bare_order is_particle takes_particle is_vessel
    is_manner is_result is_spreading is_intransitive is_quantity is_vague is_title_lead
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contractions_come_apart_and_together() {
        let words = words("Now we’re going to chop it, don't we?");
        let low: Vec<&str> = words.iter().map(|w| w.low.as_str()).collect();
        assert_eq!(low, ["now", "we", "'re", "going", "to", "chop", "it", "don't", "we"]);
        assert_eq!(join(&words), "Now we're going to chop it, don't we");
    }

    #[test]
    fn a_mark_inside_a_bracket_or_quotes_is_the_words() {
        let marks = |text: &str| words(text).iter().map(|word| word.mark).collect::<Vec<_>>();
        assert_eq!(marks("(Stir gently.) Add"), [None, Some('.'), None]);
        assert_eq!(marks("“Stir!” [Add,] 'Mix;' (Serve)"), [Some('!'), Some(','), Some(';'), None]);
    }
}
