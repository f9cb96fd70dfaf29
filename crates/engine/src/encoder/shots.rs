//! Differences between frames: which repeat one that is encoded already, and where shots begin.

use super::tower::FrameSpec;
use crate::footage::GRID_SIDE;

/// The largest difference of a cell, out of 255, between frames that show the same: less than the
/// noise of video codecs between key frames.
const MAX_NOISE: f32 = 2.5;
/// The least mean difference, out of 255, where a shot begins. Chosen by hand.
const MIN_SHOT_DIFFERENCE: f32 = 14.0;
/// The least ratio to the differences around it, so that fast camera movement is no shot boundary.
const MIN_SHOT_RATIO: f32 = 2.5;
/// How many frames count as around.
const SHOT_NEIGHBOURS: usize = 4;

/// The mean colours of a frame's cells.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid(Vec<[f32; 3]>);

impl Grid {
    pub fn new(rgb: &[u8], spec: &FrameSpec) -> Self {
        let (width, height) = (spec.width as usize, spec.height as usize);
        let mut sums = vec![[0u32; 3]; GRID_SIDE * GRID_SIDE];
        let mut counts = vec![0u32; GRID_SIDE * GRID_SIDE];
        let column: Vec<usize> = (0..width).map(|x| x * GRID_SIDE / width).collect();
        // Every other row and column is enough for a mean.
        for y in (0..height).step_by(2) {
            let row = &rgb[y * width * 3..(y + 1) * width * 3];
            let cells = y * GRID_SIDE / height * GRID_SIDE;
            for x in (0..width).step_by(2) {
                let cell = cells + column[x];
                counts[cell] += 1;
                (0..3).for_each(|c| sums[cell][c] += u32::from(row[x * 3 + c]));
            }
        }
        let mean = |(sum, n): (&[u32; 3], &u32)| sum.map(|s| s as f32 / (*n).max(1) as f32);
        Self(sums.iter().zip(&counts).map(mean).collect())
    }

    pub fn same(&self, other: &Self) -> bool {
        let near = |(a, b): (&[f32; 3], &[f32; 3])| distance(a, b) < MAX_NOISE;
        self.0.iter().zip(&other.0).all(near)
    }

    pub fn brightness(&self) -> impl Iterator<Item = f32> {
        self.0.iter().map(|[r, g, b]| 0.299 * r + 0.587 * g + 0.114 * b)
    }

    pub fn difference(&self, other: &Self) -> f32 {
        let sum: f32 = self.0.iter().zip(&other.0).map(|(a, b)| distance(a, b)).sum();
        sum / self.0.len() as f32
    }
}

fn distance(a: &[f32; 3], b: &[f32; 3]) -> f32 {
    a.iter().zip(b).map(|(x, y)| (x - y).abs()).fold(0.0, f32::max)
}

/// The frames with which shots begin; `differences[i]` is that between frames `i` and `i + 1`.
pub fn shots(differences: &[f32]) -> Vec<usize> {
    let begins = |&at: &usize| {
        let here = differences[at];
        let around =
            at.saturating_sub(SHOT_NEIGHBOURS)..(at + SHOT_NEIGHBOURS + 1).min(differences.len());
        let most = around.filter(|i| *i != at).map(|i| differences[i]).fold(0.0, f32::max);
        here >= MIN_SHOT_DIFFERENCE && here >= MIN_SHOT_RATIO * most
    };
    (0..differences.len()).filter(begins).map(|at| at + 1).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::media::frames::{Filter, Fit};

    const SPEC: FrameSpec = FrameSpec::single((40, 32), Fit::Squash, Filter::Bilinear, 8, 1);

    fn picture(of: impl Fn(usize, usize) -> u8) -> Vec<u8> {
        let pixels = (0..32).flat_map(|y| (0..40).map(move |x| (x, y)));
        pixels.flat_map(|(x, y)| [of(x, y); 3]).collect()
    }

    #[test]
    fn noise_is_the_same_and_a_small_thing_that_moves_is_not() {
        let still = Grid::new(&picture(|x, y| (x * 3 + y) as u8), &SPEC);
        let noisy = Grid::new(&picture(|x, y| (x * 3 + y) as u8 ^ ((x + y) % 2) as u8), &SPEC);
        let moved =
            Grid::new(&picture(|x, y| if x < 4 && y < 4 { 250 } else { (x * 3 + y) as u8 }), &SPEC);
        assert!(still.same(&noisy));
        assert!(!still.same(&moved));
        assert!(still.difference(&moved) < MIN_SHOT_DIFFERENCE);
    }

    #[test]
    fn a_cut_is_a_shot_and_a_pan_is_not() {
        let mut calm = vec![1.0; 20];
        calm[9] = 60.0;
        assert_eq!(shots(&calm), [10]);
        assert!(shots(&[30.0; 20]).is_empty(), "a steady pan");
        assert!(shots(&[]).is_empty());
    }
}
