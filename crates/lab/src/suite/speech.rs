//! Speech recognition: word error rate and times against subtitles that are known to be right.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Serialize;
use stitch_engine::files::FileError;
use stitch_engine::index;
use stitch_engine::listen::Listener;
use stitch_engine::progress::{Progress, Within};
use stitch_engine::transcript::{self, Sentence};

use super::MeasureError;
use super::made_up::RESAMPLES;
use super::metrics::{Estimate, count_ratio};

/// A sentence begins at the right time within this; chosen by hand.
const TOLERANCE_MS: u64 = 500;

#[derive(Clone, Debug, Serialize)]
pub struct SpeechReport {
    pub files: usize,
    /// Of the subtitles.
    pub words: usize,
    /// Word error rate.
    pub word_errors: Estimate,
    /// Share of the subtitles' sentences whose first word is recognised as a sentence's and begins
    /// within half a second.
    pub in_time: Estimate,
    pub seconds: f64,
    /// The right words, what was recognised, how often; the most frequent first.
    pub confusions: Vec<(String, String, usize)>,
}

/// Recognises every file that has subtitles beside it, as indexing does, and compares.
pub fn evaluate(
    listener: &Listener,
    folder: &Path,
    seed: u64,
    progress: &dyn Progress,
) -> Result<SpeechReport, MeasureError> {
    let files = with_subtitles(folder)?;
    progress.begin("listening", files.len() as u64);
    let (mut files_errors, mut seconds) = (Vec::new(), 0.0);
    for (media, subtitles) in &files {
        let truth = transcript::read(subtitles)?;
        let listened = listener.listen(media, &index::hint(media), &Within(progress))?;
        files_errors.push(FileErrors::of(&truth, &listened.sentences));
        seconds += listened.length_ms as f64 / 1000.0;
        progress.advance(1);
    }
    Ok(report(&files_errors, seconds, seed))
}

/// The media files of a folder that have a `.srt` beside them, by name.
fn with_subtitles(folder: &Path) -> Result<Vec<(PathBuf, PathBuf)>, MeasureError> {
    let entries = std::fs::read_dir(folder).map_err(FileError::at(folder))?.flatten();
    let is_text = |path: &PathBuf| {
        path.extension().is_some_and(|end| ["srt", "json", "vtt", "txt"].iter().any(|e| end == *e))
    };
    let media = entries.map(|entry| entry.path()).filter(|path| !is_text(path));
    let pair = |path: PathBuf| {
        let subtitles = path.with_extension("srt");
        subtitles.is_file().then_some((path, subtitles))
    };
    let mut pairs: Vec<(PathBuf, PathBuf)> = media.filter_map(pair).collect();
    pairs.sort();
    match pairs.is_empty() {
        true => Err(MeasureError::NoSubtitles { folder: folder.into() }),
        false => Ok(pairs),
    }
}

struct FileErrors {
    words: usize,
    errors: Vec<(String, String)>,
    sentences: usize,
    in_time: usize,
}

/// A word, and the start of the sentence that it is the first of, if it is.
struct Word {
    text: String,
    sentence_start_ms: Option<u64>,
}

impl FileErrors {
    fn of(truth: &[Sentence], heard: &[Sentence]) -> Self {
        let (truth, heard) = (words(truth), words(heard));
        let (mut errors, mut in_time) = (Vec::new(), 0);
        for pair in aligned(&truth, &heard) {
            let [right, found] = pair.map(|word| word.map_or("", |word| word.text.as_str()));
            if right != found {
                errors.push((right.to_owned(), found.to_owned()));
            }
            let [right, found] = pair.map(|word| word?.sentence_start_ms);
            let off_ms = right.zip(found).map(|(right, found)| right.abs_diff(found));
            in_time += usize::from(off_ms.is_some_and(|off| off <= TOLERANCE_MS));
        }
        let sentences = truth.iter().filter(|word| word.sentence_start_ms.is_some()).count();
        Self { words: truth.len(), errors, sentences, in_time }
    }
}

/// The words of sentences, normalised.
fn words(sentences: &[Sentence]) -> Vec<Word> {
    let of = |sentence: &Sentence| {
        let starts = std::iter::once(Some(sentence.start_ms)).chain(std::iter::repeat(None));
        let words = normalised(&sentence.text).into_iter().zip(starts);
        words.map(|(text, sentence_start_ms)| Word { text, sentence_start_ms })
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
    const SMALL: &str = "zero one two three four five six seven eight nine ten eleven twelve thirteen \
                         fourteen fifteen sixteen seventeen eighteen nineteen";
    const TENS: &str = "twenty thirty forty fifty sixty seventy eighty ninety";
    let nth = |words: &'static str, at: usize| words.split_whitespace().nth(at).unwrap_or_default();
    match number {
        0..20 => nth(SMALL, number).into(),
        20..100 if number.is_multiple_of(10) => nth(TENS, number / 10 - 2).into(),
        20..100 => format!("{} {}", nth(TENS, number / 10 - 2), nth(SMALL, number % 10)),
        _ => "one hundred".into(),
    }
}

/// The two sequences of words aligned with the fewest errors (Levenshtein).
fn aligned<'a>(truth: &'a [Word], heard: &'a [Word]) -> Vec<[Option<&'a Word>; 2]> {
    let mut costs = vec![vec![0; heard.len() + 1]; truth.len() + 1];
    let differs = |i: usize, j: usize| usize::from(truth[i].text != heard[j].text);
    for i in 0..=truth.len() {
        for j in 0..=heard.len() {
            costs[i][j] = match (i, j) {
                (0, _) | (_, 0) => i + j,
                _ => {
                    let one = costs[i - 1][j].min(costs[i][j - 1]) + 1;
                    one.min(costs[i - 1][j - 1] + differs(i - 1, j - 1))
                }
            };
        }
    }
    let (mut i, mut j) = (truth.len(), heard.len());
    let mut pairs = Vec::new();
    while i > 0 || j > 0 {
        let here = costs[i][j];
        if i > 0 && j > 0 && here == costs[i - 1][j - 1] + differs(i - 1, j - 1) {
            (i, j) = (i - 1, j - 1);
            pairs.push([Some(&truth[i]), Some(&heard[j])]);
        } else if i > 0 && here == costs[i - 1][j] + 1 {
            i -= 1;
            pairs.push([Some(&truth[i]), None]);
        } else {
            j -= 1;
            pairs.push([None, Some(&heard[j])]);
        }
    }
    pairs.reverse();
    pairs
}

fn report(files: &[FileErrors], seconds: f64, seed: u64) -> SpeechReport {
    let share =
        |counts: fn(&FileErrors) -> (usize, usize)| count_ratio(files, counts, RESAMPLES, seed);
    let mut counts = BTreeMap::new();
    for error in files.iter().flat_map(|file| &file.errors) {
        *counts.entry(error.clone()).or_insert(0) += 1;
    }
    let mut confusions: Vec<_> = counts.into_iter().map(|((a, b), n)| (a, b, n)).collect();
    confusions.sort_by_key(|(_, _, count)| std::cmp::Reverse(*count));
    SpeechReport {
        files: files.len(),
        words: files.iter().map(|file| file.words).sum(),
        word_errors: share(|file| (file.errors.len(), file.words)),
        in_time: share(|file| (file.in_time, file.sentences)),
        seconds,
        confusions,
    }
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
        let verdict = FileErrors::of(&truth, &heard);
        assert_eq!((verdict.words, verdict.errors.len()), (6, 2));
        assert_eq!((verdict.sentences, verdict.in_time), (2, 1));
        let nothing = FileErrors::of(&truth, &[]);
        assert_eq!((nothing.errors.len(), nothing.in_time), (6, 0));
    }
}
