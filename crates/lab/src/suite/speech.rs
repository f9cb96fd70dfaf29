//! How well speech is recognised: word errors and times against subtitles that are known to be right,
//! and whether an index made from speech answers as one made from subtitles.

use std::path::{Path, PathBuf};

use serde::Serialize;
use stitch_core::procedure::Procedure;
use stitch_engine::demonstrate::{Choice, Demonstrator, Options, demonstrate};
use stitch_engine::files::FileError;
use stitch_engine::index;
use stitch_engine::listen::{ListenError, Listener};
use stitch_engine::progress::{Progress, Within};
use stitch_engine::transcript::{self, Sentence, TranscriptError};

use super::made_up::EvaluateError;
use super::metrics::{Estimate, ratio};
use crate::world::library::MixedProcedure;

/// Bootstrap samples of an interval.
const RESAMPLES: usize = 10_000;
/// A sentence's beginning is right within this, in milliseconds.
const NEAR_MS: u64 = 500;

/// How the recogniser fared on a folder.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// How many files were listened to.
    pub files: usize,
    /// How many words their subtitles have.
    pub words: usize,
    /// Wrong, missing and added words against the words of the subtitles.
    pub word_errors: Estimate,
    /// Share of the subtitles' sentences whose first words are recognised as a sentence's and begin
    /// within half a second.
    pub in_time: Estimate,
    /// Seconds of sound in all.
    pub seconds: f64,
    /// The commonest errors: what is right, what was heard, how often.
    pub confusions: Vec<(String, String, usize)>,
}

/// How files are listened to.
#[derive(Clone, Copy, Debug)]
pub struct Listening {
    /// Whether the recogniser is told what a file is called, as when indexing.
    pub titles: bool,
    /// The seed of the intervals.
    pub seed: u64,
}

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum SpeechError {
    /// There is nothing to compare.
    #[error("{}: holds no media file with a .srt beside it", folder.display())]
    Nothing {
        /// Where it was looked.
        folder: PathBuf,
    },
    /// The folder could not be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// A file could not be listened to.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// Subtitles could not be read.
    #[error(transparent)]
    Transcript(#[from] TranscriptError),
}

/// Listens to every file that has subtitles beside it, without looking at them, and compares.
pub fn evaluate(
    listener: &Listener,
    folder: &Path,
    options: &Listening,
    progress: &dyn Progress,
) -> Result<Report, SpeechError> {
    let files = with_subtitles(folder)?;
    progress.begin("listening", files.len() as u64);
    let (mut judged, mut seconds) = (Vec::new(), 0.0);
    for (media, subtitles) in &files {
        let truth = transcript::read(subtitles)?.sentences;
        let hint = if options.titles { index::hint(media) } else { String::new() };
        let listened = listener.listen(media, &hint, &Within(progress))?;
        let heard = listened.transcript.map_or_else(Vec::new, |found| found.sentences);
        judged.push(Verdict::of(&truth, &heard));
        seconds += listened.length_ms as f64 / 1000.0;
        progress.advance(1);
    }
    Ok(report(&judged, seconds, options.seed))
}

/// The media files of a folder that have a `.srt` beside them, by name.
fn with_subtitles(folder: &Path) -> Result<Vec<(PathBuf, PathBuf)>, SpeechError> {
    let entries = std::fs::read_dir(folder).map_err(FileError::at(folder))?.flatten();
    let paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    let is_text = |path: &Path| {
        let name = path.extension().unwrap_or_default().to_string_lossy();
        ["srt", "json", "vtt", "txt"].contains(&&*name)
    };
    let media = paths.iter().filter(|path| !is_text(path));
    let mut pairs: Vec<(PathBuf, PathBuf)> = media
        .map(|path| (path.clone(), path.with_extension("srt")))
        .filter(|(_, subtitles)| subtitles.is_file())
        .collect();
    pairs.sort();
    if pairs.is_empty() {
        return Err(SpeechError::Nothing { folder: folder.into() });
    }
    Ok(pairs)
}

/// One file's verdict.
struct Verdict {
    words: usize,
    errors: Vec<(String, String)>,
    sentences: usize,
    in_time: usize,
}

/// A word, and the sentence that it opens, if it does.
struct Word {
    text: String,
    opens_at_ms: Option<u64>,
}

impl Verdict {
    fn of(truth: &[Sentence], heard: &[Sentence]) -> Self {
        let (truth, heard) = (words(truth), words(heard));
        let (mut errors, mut in_time) = (Vec::new(), 0);
        for (right, found) in aligned(&truth, &heard) {
            let text =
                |word: Option<&Word>| word.map_or_else(String::new, |word| word.text.clone());
            if text(right) != text(found) {
                errors.push((text(right), text(found)));
            }
            let times =
                right.and_then(|word| word.opens_at_ms).zip(found.and_then(|w| w.opens_at_ms));
            in_time += usize::from(times.is_some_and(|(a, b)| a.abs_diff(b) <= NEAR_MS));
        }
        let sentences = truth.iter().filter(|word| word.opens_at_ms.is_some()).count();
        Self { words: truth.len(), errors, sentences, in_time }
    }
}

/// The words of sentences, normalised.
fn words(sentences: &[Sentence]) -> Vec<Word> {
    let of = |sentence: &Sentence| {
        let words = normalised(&sentence.text).into_iter().enumerate();
        let start_ms = sentence.start_ms;
        let word = move |(i, text): (usize, String)| Word {
            text,
            opens_at_ms: (i == 0).then_some(start_ms),
        };
        words.map(word).collect::<Vec<_>>()
    };
    sentences.iter().flat_map(of).collect()
}

/// The words of a text as they are compared: lower case, apostrophes dropped, any other sign a
/// space, numbers up to a hundred written out, and the few spellings that differ between British and
/// American English as the former.
pub fn normalised(text: &str) -> Vec<String> {
    let plain: String = text.to_lowercase().chars().filter(|c| !"'’‘".contains(*c)).collect();
    let words = plain.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.flat_map(|word| spelt(word).split(' ').map(str::to_owned).collect::<Vec<_>>()).collect()
}

fn spelt(word: &str) -> String {
    const SPELLINGS: [(&str, &str); 10] = [
        ("color", "colour"),
        ("colors", "colours"),
        ("gray", "grey"),
        ("mold", "mould"),
        ("center", "centre"),
        ("flavor", "flavour"),
        ("okay", "ok"),
        ("favorite", "favourite"),
        ("neighbor", "neighbour"),
        ("alright", "all right"),
    ];
    match (word.parse::<usize>(), SPELLINGS.iter().find(|(american, _)| *american == word)) {
        (Ok(number), _) if number <= 100 => number_in_words(number),
        (_, Some((_, british))) => (*british).to_owned(),
        _ => word.to_owned(),
    }
}

fn number_in_words(number: usize) -> String {
    const SMALL: [&str; 20] = [
        "zero",
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
        "twelve",
        "thirteen",
        "fourteen",
        "fifteen",
        "sixteen",
        "seventeen",
        "eighteen",
        "nineteen",
    ];
    const TENS: [&str; 8] =
        ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];
    match number {
        0..20 => SMALL[number].into(),
        20..100 if number.is_multiple_of(10) => TENS[number / 10 - 2].into(),
        20..100 => format!("{} {}", TENS[number / 10 - 2], SMALL[number % 10]),
        _ => "one hundred".into(),
    }
}

/// The two lines of words side by side with the fewest errors.
fn aligned<'a>(truth: &'a [Word], heard: &'a [Word]) -> Vec<(Option<&'a Word>, Option<&'a Word>)> {
    let width = heard.len() + 1;
    let mut costs: Vec<usize> =
        (0..(truth.len() + 1) * width).map(|i| i / width + i % width).collect();
    let differs = |i: usize, j: usize| usize::from(truth[i].text != heard[j].text);
    for i in 1..=truth.len() {
        for j in 1..=heard.len() {
            let both = costs[(i - 1) * width + j - 1] + differs(i - 1, j - 1);
            let one = costs[(i - 1) * width + j].min(costs[i * width + j - 1]) + 1;
            costs[i * width + j] = both.min(one);
        }
    }
    let (mut i, mut j) = (truth.len(), heard.len());
    let mut pairs = Vec::new();
    while i > 0 || j > 0 {
        let here = costs[i * width + j];
        if i > 0 && j > 0 && here == costs[(i - 1) * width + j - 1] + differs(i - 1, j - 1) {
            (i, j) = (i - 1, j - 1);
            pairs.push((Some(&truth[i]), Some(&heard[j])));
        } else if i > 0 && here == costs[(i - 1) * width + j] + 1 {
            i -= 1;
            pairs.push((Some(&truth[i]), None));
        } else {
            j -= 1;
            pairs.push((None, Some(&heard[j])));
        }
    }
    pairs.reverse();
    pairs
}

fn report(judged: &[Verdict], seconds: f64, seed: u64) -> Report {
    let share = |part: fn(&Verdict) -> usize, whole: fn(&Verdict) -> usize| {
        let clusters: Vec<_> = judged.iter().map(|v| (part(v) as f64, whole(v) as f64)).collect();
        ratio(&clusters, RESAMPLES, seed)
    };
    let mut counts = std::collections::BTreeMap::new();
    for error in judged.iter().flat_map(|verdict| &verdict.errors) {
        *counts.entry(error.clone()).or_insert(0) += 1;
    }
    let mut confusions: Vec<_> = counts.into_iter().map(|((a, b), n)| (a, b, n)).collect();
    confusions.sort_by_key(|(_, _, count)| std::cmp::Reverse(*count));
    Report {
        files: judged.len(),
        words: judged.iter().map(|v| v.words).sum(),
        word_errors: share(|v| v.errors.len(), |v| v.words),
        in_time: share(|v| v.in_time, |v| v.sentences),
        seconds,
        confusions,
    }
}

/// Share of steps for which two libraries of the same videos give the same clip: the same file, and
/// at least half of the shorter span in common. Two gaps agree as well.
pub fn same_clips(
    one: &Demonstrator<'_>,
    other: &Demonstrator<'_>,
    procedures: &[MixedProcedure],
    options: &Options,
    progress: &dyn Progress,
) -> Result<Estimate, EvaluateError> {
    progress.begin("answering procedures", procedures.len() as u64);
    let mut clusters = Vec::new();
    for mixed in procedures {
        progress.check()?;
        let procedure = Procedure::new(&mixed.title, mixed.steps.iter().map(|s| &s.text))?;
        let answers =
            (demonstrate(one, &procedure, options)?, demonstrate(other, &procedure, options)?);
        let steps = answers.0.steps.iter().zip(&answers.1.steps);
        let same = steps.filter(|(a, b)| agree(a.chosen.as_ref(), b.chosen.as_ref())).count();
        clusters.push((same as f64, mixed.steps.len() as f64));
        progress.advance(1);
    }
    Ok(ratio(&clusters, RESAMPLES, options.seed))
}

fn agree(a: Option<&Choice>, b: Option<&Choice>) -> bool {
    let (Some(a), Some(b)) = (a, b) else { return a.is_none() && b.is_none() };
    let length = |choice: &Choice| choice.span.end_ms.saturating_sub(choice.span.start_ms);
    let both =
        a.span.end_ms.min(b.span.end_ms).saturating_sub(a.span.start_ms.max(b.span.start_ms));
    a.source.path.file_name() == b.source.path.file_name() && both * 2 >= length(a).min(length(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(start_ms: u64, text: &str) -> Sentence {
        Sentence { start_ms, end_ms: start_ms + 1000, text: text.into() }
    }

    #[test]
    fn texts_are_compared_by_their_words() {
        let check = |text: &str, expected: &str| assert_eq!(normalised(text).join(" "), expected);
        check("All right, it's 21 °C – 3-4 mm!", "all right its twenty one c three four mm");
        check("Alright it’s Twenty-one", "all right its twenty one");
    }

    #[test]
    fn errors_and_times_are_counted() {
        let truth = [said(0, "Chop the onion."), said(5000, "Fry it now.")];
        let heard = [said(300, "Chop an onion."), said(5900, "Fry it."), said(9000, "Thanks.")];
        let verdict = Verdict::of(&truth, &heard);
        assert_eq!((verdict.words, verdict.errors.len()), (6, 2));
        assert_eq!((verdict.sentences, verdict.in_time), (2, 1));
        let nothing = Verdict::of(&truth, &[]);
        assert_eq!((nothing.errors.len(), nothing.in_time), (6, 0));
    }
}
