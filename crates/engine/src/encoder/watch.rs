//! Watching pictures go by: which are the same as one already looked at, and where a new shot
//! begins. Static shots are common; a picture that shows nothing new need not be encoded.

use super::wants::Wants;
use crate::footage::SQUARES;

/// The mean of a square may differ so much, out of 255, in a picture that shows the same: less than
/// the noise of an encoder between its key frames.
const SAME: f32 = 2.5;
/// The mean over the squares differs at least so much, out of 255, where a new shot begins ...
const NEW_SHOT: f32 = 14.0;
/// ... and so many times as much as around it, so that a quick movement of the camera is none.
const STANDS_OUT: f32 = 2.5;

/// A picture as the mean colours of its squares.
#[derive(Clone, Debug, PartialEq)]
pub struct Glance(Vec<[f32; 3]>);

impl Glance {
    pub fn at(rgb: &[u8], wants: &Wants) -> Self {
        let (width, height) = (wants.width as usize, wants.height as usize);
        let mut sums = vec![[0u32; 3]; SQUARES * SQUARES];
        let mut counts = vec![0u32; SQUARES * SQUARES];
        let column: Vec<usize> = (0..width).map(|x| x * SQUARES / width).collect();
        // Every other row and column is enough for a mean.
        for y in (0..height).step_by(2) {
            let row = &rgb[y * width * 3..(y + 1) * width * 3];
            let squares = y * SQUARES / height * SQUARES;
            for x in (0..width).step_by(2) {
                let square = squares + column[x];
                counts[square] += 1;
                (0..3).for_each(|c| sums[square][c] += u32::from(row[x * 3 + c]));
            }
        }
        let mean = |(sum, n): (&[u32; 3], &u32)| sum.map(|s| s as f32 / (*n).max(1) as f32);
        Self(sums.iter().zip(&counts).map(mean).collect())
    }

    /// Whether the other picture shows the same, square for square.
    pub fn same(&self, other: &Self) -> bool {
        let near = |(a, b): (&[f32; 3], &[f32; 3])| distance(a, b) < SAME;
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

/// Where new shots begin, by number of the picture: `differences[i]` is that between pictures `i` and
/// `i + 1`.
pub fn shots(differences: &[f32]) -> Vec<usize> {
    const AROUND: usize = 4;
    let begins = |&at: &usize| {
        let here = differences[at];
        let around = at.saturating_sub(AROUND)..(at + AROUND + 1).min(differences.len());
        let most = around.filter(|i| *i != at).map(|i| differences[i]).fold(0.0, f32::max);
        here >= NEW_SHOT && here >= STANDS_OUT * most
    };
    (0..differences.len()).filter(begins).map(|at| at + 1).collect()
}

#[cfg(test)]
mod tests {
    use super::super::wants::{Filter, Fit};
    use super::*;

    const WANTS: Wants = Wants::pictures((40, 32), Fit::Squash, Filter::Bilinear, 8);

    fn picture(of: impl Fn(usize, usize) -> u8) -> Vec<u8> {
        let pixels = (0..32).flat_map(|y| (0..40).map(move |x| (x, y)));
        pixels.flat_map(|(x, y)| [of(x, y); 3]).collect()
    }

    #[test]
    fn noise_is_the_same_and_a_small_thing_that_moves_is_not() {
        let still = Glance::at(&picture(|x, y| (x * 3 + y) as u8), &WANTS);
        let noisy = Glance::at(&picture(|x, y| (x * 3 + y) as u8 ^ ((x + y) % 2) as u8), &WANTS);
        let moved = Glance::at(
            &picture(|x, y| if x < 4 && y < 4 { 250 } else { (x * 3 + y) as u8 }),
            &WANTS,
        );
        assert!(still.same(&noisy));
        assert!(!still.same(&moved));
        assert!(still.difference(&moved) < NEW_SHOT);
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
