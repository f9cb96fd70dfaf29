//! The title and steps of a text by what a model says of each of its sentences.

use super::lines::{inline, item};
use super::outline::{Draft, sentences};

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

/// The title and steps of a plain text or Markdown; none where the labeller has no answer.
pub fn draft(text: &str, labeller: &dyn Labeller) -> Option<Draft> {
    let split: Vec<Vec<&str>> = text.lines().map(|line| sentences(line)).collect();
    let labels = labeller.label(&split)?;
    let line = |(sentences, labels): (Vec<&'_ str>, Vec<Label>)| Line {
        item: sentences.first().and_then(|first| Some(item(first)?.0)),
        sentences,
        labels,
    };
    let mut lines: Vec<Line> = split.into_iter().zip(labels).map(line).collect();
    vote_on_lists(&mut lines);
    Some(Draft { title: title(&lines), steps: steps(&lines) })
}

/// The items of a list are all steps or none is, as most of them are; lists of two are left alone.
fn vote_on_lists(lines: &mut [Line]) {
    const MIN_ITEMS: usize = 3;
    let mut items: Vec<usize> = Vec::new();
    for at in 0..=lines.len() {
        let line = lines.get(at);
        let goes_on = |line: &Line| match (line.item, items.first()) {
            (Some(kind), Some(first)) => lines[*first].item == Some(kind),
            (Some(_), None) => true,
            (None, first) => first.is_some() && line.labels.iter().all(|l| *l == Label::More),
        };
        if line.is_some_and(goes_on) {
            items.extend(lines[at].item.map(|_| at));
            continue;
        }
        let is_step = |at: &&usize| lines[**at].labels.iter().any(|label| label.is_step());
        let steps = items.iter().filter(is_step).count();
        if items.len() >= MIN_ITEMS {
            let label = if 2 * steps >= items.len() { Label::Step } else { Label::Other };
            items.iter().for_each(|item| lines[*item].labels.fill(label));
        }
        items.clear();
        items.extend(line.and_then(|line| line.item).map(|_| at));
    }
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

/// Every list item is one step; elsewhere a step begins where a label says so.
fn steps(lines: &[Line]) -> Vec<String> {
    let mut steps: Vec<String> = Vec::new();
    let mut open = false; // whether the sentence before belongs to the last step
    for line in lines {
        let mark = line
            .sentences
            .first()
            .map_or(0, |first| item(first).map_or(0, |(_, text)| first.len() - text.len()));
        for (at, (sentence, label)) in line.sentences.iter().zip(&line.labels).enumerate() {
            let text = if at == 0 { &sentence[mark..] } else { sentence };
            let begins = *label == Label::Step && (at == 0 || line.item.is_none());
            match steps.last_mut() {
                _ if !label.is_step() => {}
                Some(last) if open && !begins => *last = format!("{last} {}", inline(text)),
                _ => steps.push(inline(text)),
            }
            open = label.is_step();
        }
    }
    steps
}
