//! Sound as Whisper sees it: the logarithm of the power in 80 or 128 mel bands, a hundred times a
//! second, over thirty seconds.

use std::f64::consts::PI;

use gemm::{Parallelism, gemm};
use rayon::prelude::*;

/// Samples of one window of sound.
pub const WINDOW: usize = 30 * 16_000;
/// Samples from one column to the next.
pub const HOP: usize = 160;
/// Columns of a window.
pub const COLUMNS: usize = WINDOW / HOP;
/// Samples under one transform.
const SPAN: usize = 400;
/// Frequencies of one transform.
const BINS: usize = SPAN / 2 + 1;
/// Columns that one task takes.
const TASK: usize = 250;

/// How long a voice's throat is taken to be, as shares of the usual: a long one sounds lower in all its
/// vowels, and is heard better with the bands moved down as far.
pub const THROATS: [f64; 3] = [1.0, 0.9, 1.1];

/// Makes spectra with a given number of bands.
pub struct Spectrum {
    bands: usize,
    /// \[SPAN, 2·BINS\]: cosines and sines under a Hann window. In f64, and as a matrix product: with
    /// the product's speed it costs a hundredth of the network, and nothing is lost in the sums.
    waves: Vec<f64>,
    /// For each throat \[bands, BINS\].
    filters: [Vec<f64>; THROATS.len()],
}

impl Spectrum {
    /// Spectra of so many bands.
    pub fn new(bands: usize) -> Self {
        let mut waves = vec![0.0; SPAN * 2 * BINS];
        for (n, row) in waves.chunks_exact_mut(2 * BINS).enumerate() {
            let hann = 0.5 - 0.5 * (2.0 * PI * n as f64 / SPAN as f64).cos();
            for k in 0..BINS {
                // The product n·k is taken round the circle first, where f64 is exact.
                let angle = 2.0 * PI * ((n * k) % SPAN) as f64 / SPAN as f64;
                row[k] = hann * angle.cos();
                row[BINS + k] = hann * angle.sin();
            }
        }
        Self { bands, waves, filters: THROATS.map(|throat| filters(bands, throat)) }
    }

    /// The spectrum of up to [`WINDOW`] samples, the rest taken as silence, for one of the throats:
    /// \[COLUMNS, bands\].
    pub fn of(&self, samples: &[f32], throat: usize) -> Vec<f32> {
        let padded = padded(samples);
        let mut out = vec![0.0f64; COLUMNS * self.bands];
        let tasks = out.par_chunks_mut(TASK * self.bands).enumerate();
        tasks.for_each(|(i, out)| self.columns(&padded[i * TASK * HOP..], throat, out));
        let most = out.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        out.iter().map(|power| ((power.max(most - 8.0) + 4.0) / 4.0) as f32).collect()
    }

    /// The logarithms of some columns in order.
    fn columns(&self, samples: &[f64], throat: usize, out: &mut [f64]) {
        let count = out.len() / self.bands;
        let mut sums = vec![0.0; count * 2 * BINS];
        let (rows, waves) = ((count, SPAN, HOP), (2 * BINS, 1, 2 * BINS));
        product(samples, rows, &self.waves, waves, &mut sums);
        let mut power = vec![0.0; count * BINS];
        for (power, sums) in power.chunks_exact_mut(BINS).zip(sums.chunks_exact(2 * BINS)) {
            let (real, imaginary) = sums.split_at(BINS);
            let parts = real.iter().zip(imaginary);
            power.iter_mut().zip(parts).for_each(|(p, (re, im))| *p = re * re + im * im);
        }
        let filters = &self.filters[throat];
        product(&power, (count, BINS, BINS), filters, (self.bands, BINS, 1), out);
        out.iter_mut().for_each(|x| *x = x.max(1e-10).log10());
    }
}

/// out \[rows, columns\] = left \[rows, depth\] · right; `right` has (columns, distance of columns,
/// distance of rows).
fn product(
    left: &[f64],
    (rows, depth, stride): (usize, usize, usize),
    right: &[f64],
    (columns, by_column, by_row): (usize, usize, usize),
    out: &mut [f64],
) {
    let end = |count: usize, stride: usize| count.saturating_sub(1) * stride;
    assert!(end(rows, stride) + depth <= left.len() && rows * columns <= out.len());
    assert!(end(columns, by_column) + end(depth, by_row) < right.len());
    // SAFETY: every index of the three lies inside its slice, as checked above.
    unsafe {
        gemm(
            rows,
            columns,
            depth,
            out.as_mut_ptr(),
            1,
            columns as isize,
            false,
            left.as_ptr(),
            1,
            stride as isize,
            right.as_ptr(),
            by_column as isize,
            by_row as isize,
            1.0,
            1.0,
            false,
            false,
            false,
            Parallelism::None,
        );
    }
}

/// The samples filled up with silence, and mirrored by half a span at both ends.
fn padded(samples: &[f32]) -> Vec<f64> {
    let half = SPAN / 2;
    let mut padded = vec![0.0; WINDOW + SPAN];
    let room = padded[half..half + WINDOW].iter_mut();
    room.zip(samples).for_each(|(to, from)| *to = f64::from(*from));
    for i in 0..half {
        padded[i] = padded[2 * half - i];
        padded[half + WINDOW + i] = padded[half + WINDOW - 2 - i];
    }
    padded
}

/// Triangles on the mel scale of Slaney's Auditory Toolbox, each of area 1, over frequencies as a usual
/// throat would have made them: \[bands, BINS\].
fn filters(bands: usize, throat: f64) -> Vec<f64> {
    let top = mel(8000.0);
    let edge = |i: usize| hertz(top * i as f64 / (bands + 1) as f64);
    let mut filters = vec![0.0; bands * BINS];
    for (band, row) in filters.chunks_exact_mut(BINS).enumerate() {
        let (low, middle, high) = (edge(band), edge(band + 1), edge(band + 2));
        for (k, x) in row.iter_mut().enumerate() {
            let f = (k as f64 * 16_000.0 / SPAN as f64 * throat).min(8000.0);
            let rising = (f - low) / (middle - low);
            let falling = (high - f) / (high - middle);
            *x = rising.min(falling).max(0.0) * 2.0 / (high - low);
        }
    }
    filters
}

/// The scale is linear up to 1000 Hz and logarithmic above.
fn mel(hertz: f64) -> f64 {
    let step = 6.4f64.ln() / 27.0;
    if hertz < 1000.0 { hertz * 3.0 / 200.0 } else { 15.0 + (hertz / 1000.0).ln() / step }
}

fn hertz(mel: f64) -> f64 {
    let step = 6.4f64.ln() / 27.0;
    if mel < 15.0 { mel * 200.0 / 3.0 } else { 1000.0 * (step * (mel - 15.0)).exp() }
}
