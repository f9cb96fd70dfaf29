//! Fingerprints of footage: a coarse grid of brightness per second, stable under another encoding,
//! another size or a shift of half a second.

use std::ops::Range;

/// A row's grid has so many cells a side.
pub const GRID_SIDE: usize = 16;
pub const GRID_CELLS: usize = GRID_SIDE * GRID_SIDE;
/// The least correlation of two rows that show the same. Chosen by hand, as are the others.
const MIN_CORRELATION: f32 = 0.95;
/// The least share of seconds that correlate: cuts fall on different sides of the seconds' bounds.
const MIN_ALIKE_SHARE: f32 = 0.75;
const MIN_COMMON_SECONDS: usize = 2;
/// A second whose brightness deviates less than this, out of 255, is not compared: black, white, fog.
const MIN_DEVIATION: f32 = 6.0;

/// The mean brightness of a video's grid cells, a row per second. Empty if no frames were decoded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Footage(Vec<u8>);

impl Footage {
    pub fn new(rows: Vec<u8>) -> Self {
        Self(rows)
    }

    pub fn as_slice(&self) -> &[u8] {
        &self.0
    }

    pub fn seconds(&self) -> usize {
        self.0.len() / GRID_CELLS
    }

    fn row(&self, second: usize) -> &[u8] {
        &self.0[second * GRID_CELLS..(second + 1) * GRID_CELLS]
    }

    /// Whether these seconds show the same footage as those of the other video: nearly all of the
    /// shorter range lies in the longer one.
    pub fn same(&self, own: Range<usize>, other: &Self, others: Range<usize>) -> bool {
        let (mine, theirs) = (self.centred(own), other.centred(others));
        let (short, long) =
            if mine.len() <= theirs.len() { (mine, theirs) } else { (theirs, mine) };
        let slack = short.len() / 5;
        let shifts = -(slack as isize)..=(long.len() - short.len() + slack) as isize;
        shifts.into_iter().any(|shift| alike(&short, &long, shift))
    }

    /// The rows of a range less their mean, scaled to length 1; none for one that is not compared.
    fn centred(&self, range: Range<usize>) -> Vec<Option<Vec<f32>>> {
        let range = range.start.min(self.seconds())..range.end.min(self.seconds());
        range.map(|second| centred(self.row(second))).collect()
    }
}

/// Whether the short range, laid over the long one from `shift` on, correlates in most seconds.
fn alike(short: &[Option<Vec<f32>>], long: &[Option<Vec<f32>>], shift: isize) -> bool {
    let pairs = short.iter().enumerate().filter_map(|(at, one)| {
        let other = long.get(usize::try_from(at as isize + shift).ok()?)?;
        one.as_ref().zip(other.as_ref())
    });
    let (mut both, mut same) = (0, 0);
    for (one, other) in pairs {
        both += 1;
        same += usize::from(correlation(one, other) >= MIN_CORRELATION);
    }
    both >= MIN_COMMON_SECONDS.max(short.len() * 4 / 5)
        && same as f32 >= MIN_ALIKE_SHARE * both as f32
}

fn centred(row: &[u8]) -> Option<Vec<f32>> {
    let mean = row.iter().map(|x| f32::from(*x)).sum::<f32>() / row.len() as f32;
    let off: Vec<f32> = row.iter().map(|x| f32::from(*x) - mean).collect();
    let length = off.iter().map(|x| x * x).sum::<f32>().sqrt();
    let compared = length / (row.len() as f32).sqrt() >= MIN_DEVIATION;
    compared.then(|| off.iter().map(|x| x / length).collect())
}

fn correlation(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A video whose seconds look as these numbers say; equal numbers look the same.
    fn video(seconds: &[u64]) -> Footage {
        let square = |second: &u64, at: u64| {
            let mixed = (second * 1009 + at + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            (mixed >> 40) as u8
        };
        let row = |second: &u64| (0..GRID_CELLS as u64).map(|at| square(second, at)).collect();
        Footage(seconds.iter().flat_map(|s: &u64| -> Vec<u8> { row(s) }).collect())
    }

    fn dimmed(footage: &Footage) -> Footage {
        Footage(footage.0.iter().enumerate().map(|(i, x)| x / 2 + 40 + (i % 3) as u8).collect())
    }

    #[test]
    fn a_part_of_a_longer_video_is_the_same_and_other_footage_is_not() {
        let long = video(&[1, 2, 3, 4, 5, 6, 7, 8]);
        let part = dimmed(&video(&[4, 5, 6]));
        assert!(part.same(0..3, &long, 0..8));
        assert!(long.same(2..6, &part, 0..3));
        assert!(!part.same(0..3, &long, 0..3));
        assert!(!video(&[11, 12, 13]).same(0..3, &long, 0..8));
        assert!(!part.same(0..0, &long, 0..8));
        assert!(!Footage::default().same(0..9, &long, 0..8));
    }

    #[test]
    fn black_pictures_are_the_same_as_nothing() {
        let black = Footage(vec![16; 5 * GRID_CELLS]);
        assert!(!black.same(0..5, &black, 0..5));
    }

    proptest! {
        #[test]
        fn it_is_the_same_both_ways(
            one in prop::collection::vec(0u64..4, 0..7),
            other in prop::collection::vec(0u64..4, 0..7),
        ) {
            let (a, b) = (video(&one), video(&other));
            let ranges = (0..one.len(), 0..other.len());
            prop_assert_eq!(a.same(ranges.0.clone(), &b, ranges.1.clone()), b.same(ranges.1, &a, ranges.0));
        }

        #[test]
        fn a_stretch_is_the_same_as_itself(seconds in prop::collection::vec(0u64..9, 2..9)) {
            let own = video(&seconds);
            prop_assert!(own.same(0..seconds.len(), &own, 0..seconds.len()));
        }
    }
}
