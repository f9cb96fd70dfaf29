//! The title and steps of a text by what a model says of each of its sentences.

use super::lines::{inline, item};
use super::outline::{Draft, closes, sentences};

/// What a sentence of a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Label {
    /// Neither title nor step: ingredients, remarks, headings.
    Other,
    Title,
    /// The beginning of a step.
    Step,
    /// Goes on with the step before it.
    More,
}

impl Label {
    fn is_step(self) -> bool {
        matches!(self, Self::Step | Self::More)
    }
}

/// Tells what each sentence of a text is.
pub trait Labeller {
    /// A label for every sentence of every line; none where the text cannot be labelled.
    fn label(&self, lines: &[Vec<&str>]) -> Option<Vec<Vec<Label>>>;
}

/// A line of the text: its list mark, its sentences and their labels.
struct Line<'a> {
    /// Whether the list is numbered; none outside of lists.
    item: Option<bool>,
    sentences: Vec<&'a str>,
    labels: Vec<Label>,
}

/// The title and steps of the lines of a text; none where the labeller has no answer, or finds no step
/// though there is a numbered list.
pub fn draft(lines: &[String], labeller: &dyn Labeller) -> Option<Draft> {
    let split: Vec<Vec<&str>> = lines.iter().map(|line| sentences(line)).collect();
    let labels = labeller.label(&split)?;
    let mut lines = Vec::with_capacity(split.len());
    for (sentences, labels) in split.into_iter().zip(labels) {
        let item = sentences.first().and_then(|first| Some(item(first)?.0));
        lines.push(Line { item, sentences, labels });
    }
    lists(&lines).iter().for_each(|list| vote(list, &mut lines));
    for at in headings(&lines) {
        let announcement = lines[at].labels.last_mut().filter(|label| label.is_step());
        announcement.into_iter().for_each(|label| *label = Label::Other);
    }
    let steps = steps(&lines);
    let numbered = lines.iter().any(|line| line.item == Some(true));
    (!steps.is_empty() || !numbered).then(|| Draft { title: title(&lines), steps })
}

/// The lines whose last sentence only announces a list: `Chop everything small:`.
fn headings(lines: &[Line]) -> Vec<usize> {
    let mut headings = Vec::new();
    let mut item_follows = false;
    for (at, line) in lines.iter().enumerate().rev() {
        let Some(last) = line.sentences.last() else { continue };
        if item_follows && line.item.is_none() && last.ends_with(':') {
            headings.push(at);
        }
        item_follows = line.item.is_some();
    }
    headings
}

/// The lines of each list: items with the same kind of mark, and lines that go on with them.
fn lists(lines: &[Line]) -> Vec<Vec<usize>> {
    let mut lists: Vec<Vec<usize>> = Vec::new();
    let mut kind = None;
    for (at, line) in lines.iter().enumerate() {
        let goes_on = line.labels.iter().all(|label| *label == Label::More);
        match lists.last_mut() {
            Some(list) if line.item.is_some() && line.item == kind => list.push(at),
            _ if line.item.is_some() => lists.push(vec![at]),
            Some(list) if kind.is_some() && goes_on => {
                list.push(at);
                continue;
            }
            _ => {}
        }
        kind = line.item;
    }
    lists
}

/// The items of a list are all steps where at least half of them are, else none is; short lists are left
/// alone.
fn vote(list: &[usize], lines: &mut [Line]) {
    const MIN_ITEMS: usize = 3;
    let items: Vec<usize> = list.iter().copied().filter(|at| lines[*at].item.is_some()).collect();
    let is_step = |at: &&usize| lines[**at].labels.iter().any(|label| label.is_step());
    let steps = items.iter().filter(is_step).count();
    if items.len() < MIN_ITEMS {
        return;
    }
    let (label, lines_of) = match 2 * steps >= items.len() {
        true => (Label::Step, &items[..]),
        false => (Label::Other, list),
    };
    lines_of.iter().for_each(|at| lines[*at].labels.fill(label));
}

fn title(lines: &[Line]) -> String {
    let of = |line: &Line| {
        let labelled = line.sentences.iter().zip(&line.labels);
        let words: Vec<&str> =
            labelled.filter(|(_, l)| **l == Label::Title).map(|(s, _)| *s).collect();
        (!words.is_empty()).then(|| words.join(" "))
    };
    let title = lines.iter().find_map(of).unwrap_or_default();
    let bare = inline(title.trim_start_matches(['#', '=', ' ']));
    let named = bare.get(..6).is_some_and(|head| head.eq_ignore_ascii_case("title:"));
    bare[if named { 6 } else { 0 }..].trim().trim_end_matches([':', '=', '#']).trim().to_owned()
}

/// Every list item is one step; elsewhere a step begins where a label says so, and on a line that does not go
/// on with a sentence of the line before.
fn steps(lines: &[Line]) -> Vec<String> {
    let mut steps: Vec<String> = Vec::new();
    let mut before: Option<&str> = None; // the sentence before, if it belongs to the last step
    let mut in_item = false; // whether that sentence belongs to an item of a list
    for line in lines {
        let first = line.sentences.first().copied().unwrap_or_default();
        let bare = item(first).map_or_else(|| without_hashes(first), |(_, text)| text);
        let mark = first.len() - bare.len();
        for (at, (sentence, label)) in line.sentences.iter().zip(&line.labels).enumerate() {
            let text = if at == 0 { &sentence[mark..] } else { sentence };
            let wrapped = |before: &str| !ends(before) && !text.starts_with(char::is_uppercase);
            let goes_on = match (at, label, before) {
                (0, Label::Step, _) => false,
                (0, _, before) if line.item.is_none() => {
                    before.is_some_and(|b| in_item || wrapped(b))
                }
                (0, ..) => false,
                (_, Label::Step, before) => line.item.is_some() && before.is_some(),
                (_, _, before) => before.is_some(),
            };
            match steps.last_mut() {
                _ if !label.is_step() => {}
                Some(last) if goes_on => {
                    last.push(' ');
                    last.push_str(&inline(text));
                }
                _ => steps.push(inline(text)),
            }
            before = label.is_step().then_some(sentence);
            in_item = before.is_some() && (line.item.is_some() || in_item && goes_on);
        }
    }
    steps
}

/// The text of a Markdown heading.
fn without_hashes(line: &str) -> &str {
    let text = line.trim_start_matches('#');
    if text.starts_with(' ') { text.trim_start() } else { line }
}

/// Whether the text ends as a sentence does.
fn ends(text: &str) -> bool {
    text.ends_with([':', ';', ')']) || text.split_whitespace().last().is_some_and(closes)
}
