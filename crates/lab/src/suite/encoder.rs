//! How well an encoder tells which picture shows which step: the order of a video's pictures by its texts,
//! and retrieval among all pictures and texts of a set.

use serde::Serialize;
use stitch_core::features::{Features, similarity};
use stitch_engine::encoder::Encoder;
use stitch_engine::progress::Progress;

use super::metrics::{Estimate, count_ratio, median};
use super::plain::pictures::{PicturedStep, encode_pictures};
use super::plain::set::Set;
use super::plain::{DataIssue, SetError};
use super::ranks::Clusters;

/// Bootstrap samples of videos for an interval.
const RESAMPLES: usize = 2000;

/// Sums of similarities that differ by less are equal: f32 has seven digits.
const EPSILON: f64 = 1e-6;

/// All shares are fractions of 1.
#[derive(Clone, Debug, Serialize)]
pub struct EncoderReport {
    pub encoder: String,
    /// Videos with at least one usable step.
    pub videos: usize,
    /// Usable steps: a text and at least one readable picture.
    pub steps: usize,
    pub pictures: usize,
    /// Videos with two usable steps or more, over which the orders are taken.
    pub ordered_videos: usize,
    /// Among them those with another number of steps than three.
    pub not_of_three: usize,
    /// The expected value of `order_optimal` for random vectors.
    pub order_chance: f64,
    #[serde(flatten)]
    pub values: EncoderMetrics<f64>,
    /// 95 % intervals.
    pub intervals: EncoderMetrics<[f64; 2]>,
    pub unread_columns: Vec<String>,
    #[serde(rename = "complaints")]
    pub issues: Vec<DataIssue>,
}

#[derive(Clone, Copy, Debug, Serialize)]
pub struct EncoderMetrics<T> {
    /// Share of videos in which the texts, first to last, take their own pictures.
    pub order_greedy: T,
    /// Share of videos whose best one-to-one assignment gives every text its own picture.
    pub order_optimal: T,
    /// From a text to its picture among all pictures of the set.
    pub text_to_frame: Retrieval<T>,
    /// From a picture to its text among all texts of the set.
    pub frame_to_text: Retrieval<T>,
}

#[derive(Clone, Copy, Debug, Serialize)]
pub struct Retrieval<T> {
    pub r1: T,
    pub r5: T,
    pub r10: T,
    pub medr: T,
}

impl EncoderMetrics<Estimate> {
    fn map<T>(&self, of: fn(&Estimate) -> T) -> EncoderMetrics<T> {
        EncoderMetrics {
            order_greedy: of(&self.order_greedy),
            order_optimal: of(&self.order_optimal),
            text_to_frame: self.text_to_frame.map(of),
            frame_to_text: self.frame_to_text.map(of),
        }
    }
}

impl Retrieval<Estimate> {
    fn map<T>(&self, of: fn(&Estimate) -> T) -> Retrieval<T> {
        Retrieval { r1: of(&self.r1), r5: of(&self.r5), r10: of(&self.r10), medr: of(&self.medr) }
    }
}

/// Encodes every picture and every text of the set, and compares.
pub fn evaluate(
    encoder: &dyn Encoder,
    mut set: Set,
    seed: u64,
    progress: &dyn Progress,
) -> Result<EncoderReport, SetError> {
    let Some(tower) = encoder.image_tower() else {
        return Err(SetError::NoImageTower { name: encoder.id().name.clone(), or: "" });
    };
    let (steps, seen, pictures) = encode_pictures(tower, &mut set, progress)?;
    let frames = seen.features;
    if steps.is_empty() {
        let Set { folder: path, issues, .. } = set;
        return Err(SetError::NoPictures { path, issues });
    }
    progress.begin("encoding texts", steps.len() as u64);
    let texts: Vec<&str> = steps.iter().map(|step| step.text.as_str()).collect();
    let texts = encoder.encode_text(&texts)?;
    let mut report = compare(&steps, &texts, &frames, seed);
    report.encoder = encoder.id().name.clone();
    report.pictures = pictures;
    report.unread_columns = set.unread.into_iter().collect();
    report.issues = set.issues;
    Ok(report)
}

fn compare(
    steps: &[PicturedStep],
    texts: &Features,
    frames: &Features,
    seed: u64,
) -> EncoderReport {
    let Clusters(videos) = Clusters::of(steps.iter().map(|step| step.video));
    let ordered: Vec<&Vec<usize>> = videos.iter().filter(|rows| rows.len() >= 2).collect();
    let share = |right: fn(&[Vec<f64>]) -> bool| {
        let hit = |rows: &&Vec<usize>| (usize::from(right(&table(rows, texts, frames))), 1);
        count_ratio(&ordered, hit, RESAMPLES, seed)
    };
    let chance = ordered.iter().map(|rows| 1.0 / factorial(rows.len())).sum::<f64>();
    let to_text = |row: usize| {
        let same = |other: usize| same_words(&steps[row].text, &steps[other].text);
        rank(row, frames.row(row), texts, same)
    };
    let metrics = EncoderMetrics {
        order_greedy: share(greedy_is_in_order),
        order_optimal: share(best_is_in_order),
        text_to_frame: retrieval(&videos, seed, |row| rank(row, texts.row(row), frames, |_| false)),
        frame_to_text: retrieval(&videos, seed, to_text),
    };
    EncoderReport {
        encoder: String::new(),
        videos: videos.len(),
        steps: steps.len(),
        pictures: steps.len(),
        ordered_videos: ordered.len(),
        not_of_three: ordered.iter().filter(|rows| rows.len() != 3).count(),
        order_chance: chance / ordered.len().max(1) as f64,
        values: metrics.map(|estimate| estimate.value),
        intervals: metrics.map(Estimate::interval),
        unread_columns: Vec::new(),
        issues: Vec::new(),
    }
}

fn factorial(n: usize) -> f64 {
    (1..=n).map(|i| i as f64).product()
}

/// Whether every row gets its own column when the rows, first to last, take the largest entry among
/// the columns that are still free. A tie is no preference.
fn greedy_is_in_order(table: &[Vec<f64>]) -> bool {
    let own = |(i, row): (usize, &Vec<f64>)| row[i + 1..].iter().all(|other| *other < row[i]);
    // As long as all rows before it took their own, the columns from i on are free.
    table.iter().enumerate().all(own)
}

/// Whether giving every row its own column makes a larger sum than any other one-to-one assignment.
/// Another one moves rows along cycles, so every cycle must lose: the longest are found by Floyd and
/// Warshall's method.
fn best_is_in_order(table: &[Vec<f64>]) -> bool {
    let n = table.len();
    let gain = |i: usize, j: usize| if i == j { f64::MIN } else { table[i][j] - table[i][i] };
    let mut gains: Vec<Vec<f64>> = (0..n).map(|i| (0..n).map(|j| gain(i, j)).collect()).collect();
    for over in 0..n {
        for i in 0..n {
            for j in 0..n {
                gains[i][j] = gains[i][j].max(gains[i][over] + gains[over][j]);
            }
        }
        if (0..n).any(|i| gains[i][i] >= -EPSILON) {
            return false;
        }
    }
    true
}

/// How similar each text of a video is to each of its pictures.
fn table(rows: &[usize], texts: &Features, frames: &Features) -> Vec<Vec<f64>> {
    let line = |&text: &usize| {
        let cell = |&frame: &usize| f64::from(similarity(texts.row(text), frames.row(frame)));
        rows.iter().map(cell).collect()
    };
    rows.iter().map(line).collect()
}

/// From 1. A tie counts against the encoder, except with an equally `right` answer.
fn rank(own: usize, query: &[f32], pool: &Features, right: impl Fn(usize) -> bool) -> f64 {
    let best = similarity(query, pool.row(own));
    let ahead = |&(other, row): &(usize, &[f32])| {
        other != own && similarity(query, row) >= best && !right(other)
    };
    1.0 + pool.rows().enumerate().filter(ahead).count() as f64
}

/// Whether two texts say the same, but for case and spaces.
fn same_words(a: &str, b: &str) -> bool {
    let words = |text: &str| text.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ");
    a == b || words(a) == words(b)
}

fn retrieval(videos: &[Vec<usize>], seed: u64, rank: impl Fn(usize) -> f64) -> Retrieval<Estimate> {
    let ranks: Vec<Vec<f64>> =
        videos.iter().map(|rows| rows.iter().map(|&row| rank(row)).collect()).collect();
    let recall = |k: f64| {
        let hits =
            |ranks: &Vec<f64>| (ranks.iter().filter(|rank| **rank <= k).count(), ranks.len());
        count_ratio(&ranks, hits, RESAMPLES, seed)
    };
    let medr = median(&ranks, RESAMPLES, seed);
    Retrieval { r1: recall(1.0), r5: recall(5.0), r10: recall(10.0), medr }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn items(videos: &[(usize, &str)]) -> Vec<PicturedStep> {
        let item = |(video, text): &(usize, &str)| PicturedStep {
            video: *video,
            step: 0,
            text: text.to_string(),
        };
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
        assert_eq!((report.values.order_greedy, report.values.order_optimal), (0.5, 1.0));
        assert_eq!(report.order_chance, 0.5);
        // Ranks of the own pictures: 1, 1, 2, 2, 1.
        let found = report.values.text_to_frame;
        assert_eq!((found.r1, found.r5, found.medr), (0.6, 1.0, 1.0));
        assert!(report.intervals.text_to_frame.r1[0] <= 0.6);
    }

    #[test]
    fn ties_count_against_the_encoder_but_not_equal_texts() {
        let blind = rows(&[[1.0, 0.0]; 3]);
        let different = compare(&items(&[(0, "a"), (0, "b"), (0, "c")]), &blind, &blind, 1);
        assert_eq!((different.values.order_greedy, different.values.order_optimal), (0.0, 0.0));
        assert_eq!(
            (different.values.text_to_frame.r1, different.values.text_to_frame.medr),
            (0.0, 3.0)
        );
        let blind = rows(&[[1.0, 0.0]; 2]);
        let equal = compare(&items(&[(0, "Stir it"), (1, "stir  it")]), &blind, &blind, 1);
        assert_eq!(equal.values.frame_to_text.r1, 1.0);
        assert_eq!(equal.values.text_to_frame.r1, 0.0);
    }

    /// All orders of 0..n.
    fn orders(n: usize) -> Vec<Vec<usize>> {
        let Some(last) = n.checked_sub(1) else { return vec![vec![]] };
        let insert = |order: Vec<usize>| {
            (0..n).map(move |at| {
                let mut longer = order.clone();
                longer.insert(at, last);
                longer
            })
        };
        orders(last).into_iter().flat_map(insert).collect()
    }

    fn tables() -> impl Strategy<Value = Vec<Vec<f64>>> {
        (1..=6_usize).prop_flat_map(|n| {
            let row = proptest::collection::vec((-20..=20).prop_map(|x| f64::from(x) / 20.0), n);
            proptest::collection::vec(row, n)
        })
    }

    proptest! {
        #[test]
        fn the_order_is_best_if_every_other_is_worse(table in tables()) {
            let all = orders(table.len());
            let total = |order: &[usize]| -> f64 {
                order.iter().enumerate().map(|(row, column)| table[row][*column]).sum()
            };
            let own: Vec<usize> = (0..table.len()).collect();
            let mut others = all.iter().filter(|order| **order != own);
            let in_order = others.all(|order| total(order) < total(&own) - EPSILON);
            prop_assert_eq!(best_is_in_order(&table), in_order);
        }
    }

    #[test]
    fn greedy_takes_what_is_left() {
        let table = |rows: [[f64; 3]; 3]| rows.map(Vec::from).to_vec();
        assert!(greedy_is_in_order(&table([[0.9, 0.1, 0.2], [0.8, 0.7, 0.1], [0.9, 0.9, 0.3]])));
        assert!(!greedy_is_in_order(&table([[0.5, 0.6, 0.2], [0.1, 0.7, 0.1], [0.1, 0.1, 0.3]])));
        assert!(!greedy_is_in_order(&table([[0.5, 0.5, 0.2], [0.1, 0.7, 0.1], [0.1, 0.1, 0.3]])));
    }
}
