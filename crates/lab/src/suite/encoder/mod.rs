//! How well an encoder tells which picture shows which step, on a set of videos with steps and
//! pictures: putting a video's pictures in the order of its texts, and finding one among all.

pub mod assignment;

use std::path::PathBuf;

use serde::Serialize;
use stitch_core::features::{Features, similarity};
use stitch_engine::encoder::{Encoder, EncoderError};
use stitch_engine::progress::{Progress, Stopped};

use super::metrics::{self, Estimate};
use super::plain::look::{self, Item};
use super::plain::set::{self, Complaint, Set};

/// How many bootstrap samples of videos an interval is from.
const RESAMPLES: usize = 2000;

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum EncoderEvalError {
    /// Nothing in the set can be used.
    #[error("{}: no step with a text and a readable picture; {} wants lines such as \
        {{\"video\": \"v1\", \"steps\": [{{\"text\": \"chop\", \"image\": \"v1/0.webp\"}}]}} and the \
        pictures in images.tar or a folder{}", path.display(), Set::FILE, set::first(complaints))]
    NothingUsable {
        /// The set.
        path: PathBuf,
        /// What was wrong with its lines and pictures.
        complaints: Vec<Complaint>,
    },
    /// The encoder does not look at pictures.
    #[error("the encoder `{name}` does not look at pictures; name one that does with --encoder")]
    Blind {
        /// Its name.
        name: String,
    },
    /// The encoder failed.
    #[error(transparent)]
    Encoder(#[from] EncoderError),
    /// The work was asked to stop.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

/// What an encoder makes of a set. All shares are fractions of 1.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The encoder's name.
    pub encoder: String,
    /// Videos with at least one usable step.
    pub videos: usize,
    /// Usable steps: a text and at least one readable picture.
    pub steps: usize,
    /// Readable pictures.
    pub pictures: usize,
    /// Videos with two usable steps or more, over which the orders are taken.
    pub ordered_videos: usize,
    /// Among them those that have another number of steps than three.
    pub not_of_three: usize,
    /// What guessing would get of the orders by assignment.
    pub order_chance: f64,
    /// Share of videos in which the texts, first to last, take their own pictures.
    pub order_greedy: f64,
    /// Share of videos whose best one-to-one assignment gives every text its own picture.
    pub order_optimal: f64,
    /// From a text to its picture among all pictures of the set.
    pub text_to_frame: Retrieval,
    /// From a picture to its text among all texts of the set.
    pub frame_to_text: Retrieval,
    /// The 95 % intervals of the figures above.
    pub intervals: Intervals,
    /// Columns of the list that nobody here reads.
    pub unread_columns: Vec<String>,
    /// Lines, steps and pictures that could not be used, and why.
    pub complaints: Vec<Complaint>,
}

/// How far down the list the right answer stands.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Retrieval {
    /// Share that is first.
    pub r1: f64,
    /// Share within the first five.
    pub r5: f64,
    /// Share within the first ten.
    pub r10: f64,
    /// The median rank; the mean of the two middle ones of an even number.
    pub medr: f64,
}

/// Lower and upper ends.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Intervals {
    /// Of [`Report::order_greedy`].
    pub order_greedy: [f64; 2],
    /// Of [`Report::order_optimal`].
    pub order_optimal: [f64; 2],
    /// Of [`Report::text_to_frame`].
    pub text_to_frame: RetrievalIntervals,
    /// Of [`Report::frame_to_text`].
    pub frame_to_text: RetrievalIntervals,
}

/// Lower and upper ends.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct RetrievalIntervals {
    /// Of [`Retrieval::r1`].
    pub r1: [f64; 2],
    /// Of [`Retrieval::r5`].
    pub r5: [f64; 2],
    /// Of [`Retrieval::r10`].
    pub r10: [f64; 2],
    /// Of [`Retrieval::medr`].
    pub medr: [f64; 2],
}

/// Looks at every picture of the set, reads every text, and compares.
pub fn evaluate(
    encoder: &dyn Encoder,
    mut set: Set,
    seed: u64,
    progress: &dyn Progress,
) -> Result<Report, EncoderEvalError> {
    let Some(tower) = encoder.image_tower() else {
        return Err(EncoderEvalError::Blind { name: encoder.id().name.clone() });
    };
    let (items, frames, pictures) = look::look(tower, &mut set, progress)?;
    if items.is_empty() {
        let Set { folder: path, complaints, .. } = set;
        return Err(EncoderEvalError::NothingUsable { path, complaints });
    }
    progress.begin("reading the texts", items.len() as u64);
    let texts: Vec<&str> = items.iter().map(|item| item.text.as_str()).collect();
    let texts = encoder.encode_text(&texts)?;
    let mut report = compare(&items, &texts, &frames, seed);
    report.encoder = encoder.id().name.clone();
    report.pictures = pictures;
    report.unread_columns = set.unread.into_iter().collect();
    report.complaints = set.complaints;
    Ok(report)
}

/// The figures, from one row per item on either side.
pub fn compare(items: &[Item], texts: &Features, frames: &Features, seed: u64) -> Report {
    let videos = by_video(items);
    let ordered: Vec<&Vec<usize>> = videos.iter().filter(|rows| rows.len() >= 2).collect();
    let share = |right: &dyn Fn(&[Vec<f64>]) -> bool| {
        let hit = |rows: &&Vec<usize>| (f64::from(right(&table(rows, texts, frames))), 1.0);
        let clusters: Vec<_> = ordered.iter().map(hit).collect();
        metrics::ratio(&clusters, RESAMPLES, seed)
    };
    let greedy = share(&assignment::greedy_is_in_order);
    let optimal = share(&assignment::best_is_in_order);
    let chance = ordered.iter().map(|rows| 1.0 / factorial(rows.len())).sum::<f64>();
    let (to_frame, to_frame_ends) =
        retrieval(&videos, seed, |row| rank(row, texts.row(row), frames, |_| false));
    let (to_text, to_text_ends) = retrieval(&videos, seed, |row| {
        rank(row, frames.row(row), texts, |other| same(&items[row].text, &items[other].text))
    });
    Report {
        encoder: String::new(),
        videos: videos.len(),
        steps: items.len(),
        pictures: items.len(),
        ordered_videos: ordered.len(),
        not_of_three: ordered.iter().filter(|rows| rows.len() != 3).count(),
        order_chance: chance / ordered.len().max(1) as f64,
        order_greedy: greedy.value,
        order_optimal: optimal.value,
        text_to_frame: to_frame,
        frame_to_text: to_text,
        intervals: Intervals {
            order_greedy: ends(&greedy),
            order_optimal: ends(&optimal),
            text_to_frame: to_frame_ends,
            frame_to_text: to_text_ends,
        },
        unread_columns: Vec::new(),
        complaints: Vec::new(),
    }
}

fn factorial(n: usize) -> f64 {
    (1..=n).map(|i| i as f64).product()
}

/// The rows of each video that has any.
fn by_video(items: &[Item]) -> Vec<Vec<usize>> {
    let mut videos: std::collections::BTreeMap<usize, Vec<usize>> = Default::default();
    for (row, item) in items.iter().enumerate() {
        videos.entry(item.video).or_default().push(row);
    }
    videos.into_values().collect()
}

/// How similar each text of a video is to each of its pictures.
fn table(rows: &[usize], texts: &Features, frames: &Features) -> Vec<Vec<f64>> {
    let line = |&text: &usize| {
        let cell = |&frame: &usize| f64::from(similarity(texts.row(text), frames.row(frame)));
        rows.iter().map(cell).collect()
    };
    rows.iter().map(line).collect()
}

/// 1 for the first. A tie counts against the encoder, except with an equally `right` answer.
fn rank(own: usize, query: &[f32], pool: &Features, right: impl Fn(usize) -> bool) -> f64 {
    let best = similarity(query, pool.row(own));
    let ahead = |&(other, row): &(usize, &[f32])| {
        other != own && similarity(query, row) >= best && !right(other)
    };
    1.0 + pool.rows().enumerate().filter(ahead).count() as f64
}

/// Whether two texts say the same, but for case and spaces.
fn same(a: &str, b: &str) -> bool {
    let words = |text: &str| text.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ");
    a == b || words(a) == words(b)
}

fn ends(estimate: &Estimate) -> [f64; 2] {
    [estimate.low, estimate.high]
}

fn retrieval(
    videos: &[Vec<usize>],
    seed: u64,
    rank: impl Fn(usize) -> f64,
) -> (Retrieval, RetrievalIntervals) {
    let ranks: Vec<Vec<f64>> =
        videos.iter().map(|rows| rows.iter().map(|&row| rank(row)).collect()).collect();
    let within = |most: f64| {
        let hits = |ranks: &Vec<f64>| {
            (ranks.iter().filter(|rank| **rank <= most).count() as f64, ranks.len() as f64)
        };
        metrics::ratio(&ranks.iter().map(hits).collect::<Vec<_>>(), RESAMPLES, seed)
    };
    let (r1, r5, r10) = (within(1.0), within(5.0), within(10.0));
    let medr = metrics::median(&ranks, RESAMPLES, seed);
    (
        Retrieval { r1: r1.value, r5: r5.value, r10: r10.value, medr: medr.value },
        RetrievalIntervals { r1: ends(&r1), r5: ends(&r5), r10: ends(&r10), medr: ends(&medr) },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items(videos: &[(usize, &str)]) -> Vec<Item> {
        let item =
            |(video, text): &(usize, &str)| Item { video: *video, step: 0, text: text.to_string() };
        videos.iter().map(item).collect()
    }

    fn rows(rows: &[[f32; 2]]) -> Features {
        Features::new(2, rows.concat()).unwrap()
    }

    #[test]
    fn figures_of_a_set_that_can_be_counted_by_hand() {
        // The first video is in order; in the second both texts prefer the second picture, yet the
        // best assignment is right; the third has one step only.
        let items = items(&[(0, "a"), (0, "b"), (1, "c"), (1, "d"), (2, "e")]);
        let texts = rows(&[[1.0, 0.0], [0.0, 1.0], [0.62, 0.78], [0.0, 1.0], [-1.0, 0.0]]);
        let frames = rows(&[[1.0, 0.05], [0.0, 1.0], [1.0, 0.3], [0.3, 1.0], [-1.0, -0.1]]);
        let report = compare(&items, &texts, &frames, 1);
        assert_eq!((report.videos, report.steps, report.ordered_videos), (3, 5, 2));
        assert_eq!(report.not_of_three, 2);
        assert_eq!((report.order_greedy, report.order_optimal), (0.5, 1.0));
        assert_eq!(report.order_chance, 0.5);
        // Ranks of the own pictures: 1, 1, 2, 2, 1.
        let found = report.text_to_frame;
        assert_eq!((found.r1, found.r5, found.medr), (0.6, 1.0, 1.0));
        assert!(report.intervals.text_to_frame.r1[0] <= 0.6);
    }

    #[test]
    fn ties_count_against_the_encoder_but_not_equal_texts() {
        let blind = rows(&[[1.0, 0.0]; 3]);
        let different = compare(&items(&[(0, "a"), (0, "b"), (0, "c")]), &blind, &blind, 1);
        assert_eq!((different.order_greedy, different.order_optimal), (0.0, 0.0));
        assert_eq!((different.text_to_frame.r1, different.text_to_frame.medr), (0.0, 3.0));
        let blind = rows(&[[1.0, 0.0]; 2]);
        let equal = compare(&items(&[(0, "Stir it"), (1, "stir  it")]), &blind, &blind, 1);
        assert_eq!(equal.frame_to_text.r1, 1.0);
        assert_eq!(equal.text_to_frame.r1, 0.0);
    }
}
