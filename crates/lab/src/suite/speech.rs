//! How well speech is recognised: word errors and times against subtitles that are known to be right,
//! and whether an index made from speech answers as one made from subtitles.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use serde::Serialize;
use stitch_core::clip::VideoId;
use stitch_core::procedure::Procedure;
use stitch_engine::demonstrate::{Choice, Demonstration, Demonstrator, Options, Step, demonstrate};
use stitch_engine::files::FileError;
use stitch_engine::index;
use stitch_engine::library::{Library, LibraryError};
use stitch_engine::listen::{ListenError, Listener};
use stitch_engine::progress::{Progress, Within};
use stitch_engine::transcript::{self, Sentence, TranscriptError};

use super::made_up::{EvaluateError, chosen_rightly, file_name};
use super::metrics::{Estimate, ratio};
use stitch_world::library::{MixedProcedure, MixedStep};

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
        let truth = transcript::read(subtitles)?;
        let hint = if options.titles { index::hint(media) } else { String::new() };
        let listened = listener.listen(media, &hint, &Within(progress))?;
        let heard = listened.sentences;
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

/// How the answers of two libraries of the same videos compare, the first made from speech.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// How many clips the second has.
    pub clips: usize,
    /// Share of those that the first has too: of the same file, with at least half of the shorter span
    /// in common, and none for two.
    pub found: Estimate,
    /// How many steps were asked for.
    pub steps: usize,
    /// Share of steps with the same clip: the same file, and at least half of the shorter span in
    /// common. Two gaps agree as well.
    pub same: Estimate,
    /// Share of steps with the same clip, or with two that both show the step.
    pub as_good: Estimate,
    /// Share of steps with the same clip when each is asked for by itself: no other step then decides
    /// which of two sources to stay with.
    pub same_alone: Estimate,
    /// Share of steps that the first answers rightly.
    pub right: Estimate,
    /// Share of steps that the second answers rightly.
    pub right_of_other: Estimate,
    /// Every step with another clip, for looking at.
    pub different: Vec<Different>,
}

/// A step that two libraries answer differently.
#[derive(Clone, Debug, Serialize)]
pub struct Different {
    /// The procedure.
    pub procedure: String,
    /// The step.
    pub step: String,
    /// What the first shows; nothing for a gap.
    pub shown: Option<Shown>,
    /// What the second shows.
    pub shown_by_other: Option<Shown>,
}

/// A clip that was chosen.
#[derive(Clone, Debug, Serialize)]
pub struct Shown {
    /// Its file.
    pub file: String,
    /// Where it begins, in milliseconds.
    pub start_ms: u64,
    /// Where it ends.
    pub end_ms: u64,
    /// What it is said to show; nothing for a scene without words.
    pub text: String,
    /// Whether it shows the step.
    pub right: bool,
}

/// Asks both libraries for every procedure and compares step by step.
pub fn compare(
    one: &Demonstrator<'_>,
    other: &Demonstrator<'_>,
    procedures: &[MixedProcedure],
    options: &Options,
    progress: &dyn Progress,
) -> Result<Comparison, EvaluateError> {
    progress.begin("answering procedures", procedures.len() as u64);
    let found = also_found(&places(one.library)?, &places(other.library)?);
    let (mut counts, mut different) = (Vec::new(), Vec::new());
    for mixed in procedures {
        progress.check()?;
        let ask = |steps: &[MixedStep]| {
            let procedure = Procedure::new(&mixed.title, steps.iter().map(|step| &step.text))?;
            let answers = [one, other].map(|library| demonstrate(library, &procedure, options));
            let [one, other] = answers;
            Ok::<_, EvaluateError>(pairs(steps, &one?, &other?))
        };
        let mut count = Count::default();
        for (step, pair) in mixed.steps.iter().zip(ask(&mixed.steps)?) {
            let alone = ask(std::slice::from_ref(step))?;
            let same = |(a, b): &Pair| agree(a.as_ref(), b.as_ref());
            count.same_alone += usize::from(alone.iter().all(same));
            if !count.add(&pair) {
                let (procedure, step) = (mixed.title.clone(), step.text.clone());
                let (shown, shown_by_other) = pair;
                different.push(Different { procedure, step, shown, shown_by_other });
            }
        }
        counts.push(count);
        progress.advance(1);
    }
    Ok(comparison(&found, &counts, different, options.seed))
}

/// The spans of every file's clips, by start.
type Places = BTreeMap<String, Vec<(u64, u64)>>;

fn places(library: &Library) -> Result<Places, LibraryError> {
    let videos = library.videos()?;
    let files: HashMap<_, _> = videos.iter().map(|v| (VideoId(v.id), file_name(&v.path))).collect();
    let mut places = Places::new();
    for clip in library.pool()?.clips() {
        let spans = places.entry(files[&clip.video].clone()).or_default();
        spans.push((clip.span.start(), clip.span.end()));
    }
    places.values_mut().for_each(|spans| spans.sort_unstable());
    Ok(places)
}

/// For every file of `other` how many of its clips `one` has too, and how many they are.
fn also_found(one: &Places, other: &Places) -> Vec<(f64, f64)> {
    let of_file = |(file, wanted): (&String, &Vec<(u64, u64)>)| {
        let mut left = one.get(file).cloned().unwrap_or_default();
        let found = wanted.iter().filter(|&&wanted| {
            let at = left.iter().position(|&span| same_place(span, wanted));
            at.map(|at| left.remove(at)).is_some()
        });
        (found.count() as f64, wanted.len() as f64)
    };
    other.iter().map(of_file).collect()
}

/// Whether at least half of the shorter span is in both.
fn same_place((a, a_end): (u64, u64), (b, b_end): (u64, u64)) -> bool {
    let both = a_end.min(b_end).saturating_sub(a.max(b));
    both * 2 >= a_end.saturating_sub(a).min(b_end.saturating_sub(b))
}

/// What the two libraries show for a step.
type Pair = (Option<Shown>, Option<Shown>);

fn pairs(steps: &[MixedStep], one: &Demonstration, other: &Demonstration) -> Vec<Pair> {
    let chosen = one.steps.iter().zip(&other.steps);
    let pair = |(step, (a, b)): (&MixedStep, (&Step, &Step))| {
        (shown(a.chosen.as_ref(), step), shown(b.chosen.as_ref(), step))
    };
    steps.iter().zip(chosen).map(pair).collect()
}

/// One procedure's steps, counted.
#[derive(Default)]
struct Count {
    steps: usize,
    same: usize,
    as_good: usize,
    same_alone: usize,
    right: usize,
    right_of_other: usize,
}

impl Count {
    /// Counts a step; whether both show the same.
    fn add(&mut self, (a, b): &Pair) -> bool {
        let right = |shown: &Option<Shown>| shown.as_ref().is_some_and(|shown| shown.right);
        let same = agree(a.as_ref(), b.as_ref());
        self.steps += 1;
        self.same += usize::from(same);
        self.as_good += usize::from(same || right(a) && right(b));
        self.right += usize::from(right(a));
        self.right_of_other += usize::from(right(b));
        same
    }
}

fn comparison(
    found: &[(f64, f64)],
    counts: &[Count],
    different: Vec<Different>,
    seed: u64,
) -> Comparison {
    let share = |part: fn(&Count) -> usize| {
        let clusters: Vec<_> = counts.iter().map(|c| (part(c) as f64, c.steps as f64)).collect();
        ratio(&clusters, RESAMPLES, seed)
    };
    Comparison {
        clips: found.iter().map(|(_, clips)| *clips as usize).sum(),
        found: ratio(found, RESAMPLES, seed),
        steps: counts.iter().map(|count| count.steps).sum(),
        same: share(|count| count.same),
        as_good: share(|count| count.as_good),
        same_alone: share(|count| count.same_alone),
        right: share(|count| count.right),
        right_of_other: share(|count| count.right_of_other),
        different,
    }
}

fn shown(choice: Option<&Choice>, step: &MixedStep) -> Option<Shown> {
    let choice = choice?;
    Some(Shown {
        file: file_name(&choice.source.path),
        start_ms: choice.span.start_ms,
        end_ms: choice.span.end_ms,
        text: choice.text.clone(),
        right: chosen_rightly(choice, step),
    })
}

fn agree(a: Option<&Shown>, b: Option<&Shown>) -> bool {
    let (Some(a), Some(b)) = (a, b) else { return a.is_none() && b.is_none() };
    a.file == b.file && same_place((a.start_ms, a.end_ms), (b.start_ms, b.end_ms))
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

    #[test]
    fn a_clip_is_found_at_its_place_and_only_once() {
        let places = |spans: &[(u64, u64)]| Places::from([("a.mp4".to_owned(), spans.to_vec())]);
        let other = places(&[(0, 4000), (4000, 8000), (9000, 12_000)]);
        assert_eq!(also_found(&places(&[(0, 8000)]), &other), [(1.0, 3.0)]);
        assert_eq!(also_found(&places(&[(500, 4000), (7000, 9500)]), &other), [(1.0, 3.0)]);
        assert_eq!(also_found(&Places::new(), &other), [(0.0, 3.0)]);
    }

    #[test]
    fn steps_are_the_same_as_good_or_neither() {
        let clip = |file: &str, start_ms, right| {
            let (file, text) = (file.to_owned(), String::new());
            Some(Shown { file, start_ms, end_ms: start_ms + 4000, text, right })
        };
        let mut count = Count::default();
        assert!(count.add(&(clip("a", 0, true), clip("a", 2000, true))));
        assert!(!count.add(&(clip("a", 0, true), clip("a", 2001, true))));
        assert!(!count.add(&(clip("a", 0, true), clip("b", 0, false))));
        assert!(!count.add(&(None, clip("b", 0, true))));
        assert!(count.add(&(None, None)));
        assert_eq!((count.steps, count.same, count.as_good), (5, 2, 3));
        assert_eq!((count.right, count.right_of_other), (3, 3));
    }
}
