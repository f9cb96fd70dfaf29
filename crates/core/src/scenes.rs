//! A video without words cut into scenes: stretches of seconds that look alike, found exactly.

use std::ops::Range;

use crate::features::Features;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SceneOptions {
    /// The fewest seconds of a scene; a video that is shorter is one scene all the same.
    pub shortest: usize,
    /// The most seconds of a scene.
    pub longest: usize,
    /// The penalty of one more scene, in units of scatter (squared distance of a second from its scene's mean).
    pub price: f64,
    /// The part of the price that a cut costs where a new shot begins.
    pub at_shot: f64,
}

impl Default for SceneOptions {
    fn default() -> Self {
        Self { shortest: 2, longest: 20, price: 0.8, at_shot: 0.2 }
    }
}

/// The scenes of a video, first to last, without gaps: the cut with the least scatter plus penalty.
/// `shots` are the seconds in which a new shot begins.
pub fn scenes(seconds: &Features, shots: &[usize], options: &SceneOptions) -> Vec<Range<usize>> {
    let length = seconds.len();
    let sums = Sums::of(seconds);
    let mut new_shot = vec![false; length + 1];
    shots.iter().filter(|at| **at < length).for_each(|at| new_shot[*at] = true);
    // best[end] is the least cost of the first `end` seconds, and where their last scene begins.
    let mut best = vec![(f64::INFINITY, 0); length + 1];
    best[0] = (0.0, 0);
    let shortest = options.shortest.clamp(1, length.max(1));
    for end in shortest..=length {
        let earliest = end.saturating_sub(options.longest.max(2 * shortest));
        for start in earliest..=end - shortest {
            let price =
                if new_shot[start] { options.price * options.at_shot } else { options.price };
            let cost = best[start].0 + price + sums.scatter(start..end);
            if cost < best[end].0 {
                best[end] = (cost, start);
            }
        }
    }
    walk_back(&best)
}

fn walk_back(best: &[(f64, usize)]) -> Vec<Range<usize>> {
    let mut scenes = Vec::new();
    let mut end = best.len() - 1;
    while end > 0 {
        let start = best[end].1;
        scenes.push(start..end);
        end = start;
    }
    scenes.reverse();
    scenes
}

/// Running sums of rows, so that any stretch's mean costs one subtraction.
struct Sums {
    dim: usize,
    data: Vec<f64>,
}

impl Sums {
    fn of(rows: &Features) -> Self {
        let dim = rows.dim();
        let mut data = vec![0.0; dim];
        for row in rows.rows() {
            let before = data.len() - dim;
            let sum = data[before..].iter().zip(row).map(|(sum, x)| sum + f64::from(*x));
            let sum: Vec<f64> = sum.collect();
            data.extend(sum);
        }
        Self { dim, data }
    }

    /// How far the rows of a stretch lie from their mean: squared, summed.
    fn scatter(&self, stretch: Range<usize>) -> f64 {
        let length = stretch.len() as f64;
        let at = |row: usize| &self.data[row * self.dim..(row + 1) * self.dim];
        let sums = at(stretch.start).iter().zip(at(stretch.end));
        let square: f64 = sums.map(|(from, to)| (to - from) * (to - from)).sum();
        (length - square / length).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rows(kinds: &[usize]) -> Features {
        let mut rows = Features::empty(4);
        for kind in kinds {
            let mut row = [0.1; 4];
            row[*kind] = 1.0;
            rows.push(&row);
        }
        rows
    }

    #[test]
    fn a_scene_ends_where_the_picture_changes() {
        let seconds = rows(&[0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 2]);
        assert_eq!(scenes(&seconds, &[], &SceneOptions::default()), [0..4, 4..9, 9..12]);
    }

    #[test]
    fn short_videos_and_none_do_no_harm() {
        let options = SceneOptions::default();
        assert!(scenes(&Features::empty(4), &[], &options).is_empty());
        assert_eq!(scenes(&rows(&[0]), &[0, 7], &options), vec![Range { start: 0, end: 1 }]);
        assert_eq!(scenes(&rows(&[0, 1]), &[1], &options), vec![Range { start: 0, end: 2 }]);
    }

    /// The best of all ways to cut, by trying them all.
    fn by_hand(seconds: &Features, shots: &[usize], options: &SceneOptions) -> f64 {
        fn from(start: usize, cost: &dyn Fn(usize, usize) -> Option<f64>, length: usize) -> f64 {
            if start == length {
                return 0.0;
            }
            let ends = (start + 1..=length).filter_map(|end| cost(start, end).map(|c| (end, c)));
            ends.map(|(end, c)| c + from(end, cost, length)).fold(f64::INFINITY, f64::min)
        }
        let cost = |start: usize, end: usize| {
            let length = end - start;
            let fits = (options.shortest..=options.longest).contains(&length);
            let mut mean = [0.0f64; 4];
            for row in start..end {
                let row = seconds.row(row);
                mean.iter_mut().zip(row).for_each(|(m, x)| *m += f64::from(*x) / length as f64);
            }
            let apart = |row: usize| -> f64 {
                let pairs = seconds.row(row).iter().zip(&mean);
                pairs.map(|(x, m)| (f64::from(*x) - m).powi(2)).sum()
            };
            let part = if shots.contains(&start) { options.at_shot } else { 1.0 };
            fits.then(|| options.price * part + (start..end).map(apart).sum::<f64>())
        };
        from(0, &cost, seconds.len())
    }

    proptest! {
        #[test]
        fn no_other_cut_costs_less(
            kinds in prop::collection::vec(0usize..4, 2..12),
            shots in prop::collection::vec(0usize..12, 0..3),
        ) {
            let options = SceneOptions { longest: 5, ..SceneOptions::default() };
            let seconds = rows(&kinds);
            let found = scenes(&seconds, &shots, &options);
            prop_assert_eq!(found.first().map(|s| s.start), Some(0));
            prop_assert_eq!(found.last().map(|s| s.end), Some(kinds.len()));
            prop_assert!(found.windows(2).all(|pair| pair[0].end == pair[1].start));
            let sums = Sums::of(&seconds);
            let price = |s: &Range<usize>| match shots.contains(&s.start) {
                true => options.price * options.at_shot,
                false => options.price,
            };
            let cost: f64 = found.iter().map(|s| price(s) + sums.scatter(s.clone())).sum();
            let least = by_hand(&seconds, &shots, &options);
            prop_assert!((cost - least).abs() < 1e-6, "{cost} instead of {least}");
        }
    }
}
