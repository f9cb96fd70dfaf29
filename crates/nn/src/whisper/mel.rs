//! The log-mel spectrum that Whisper takes: 80 or 128 bands, a hundred frames a second, over thirty
//! seconds.

use std::f64::consts::PI;

use rayon::prelude::*;

use crate::matrix::{Cores, Matrix, multiply};

/// Samples of one window of sound.
pub const WINDOW_SAMPLES: usize = 30 * 16_000;
/// Samples from one frame to the next.
const HOP: usize = 160;
pub const FRAMES: usize = WINDOW_SAMPLES / HOP;
/// Samples of one Fourier transform.
const FFT_SAMPLES: usize = 400;
/// Frequencies of one transform.
const BINS: usize = FFT_SAMPLES / 2 + 1;
/// Frames that one task takes.
const FRAMES_PER_TASK: usize = 250;

/// Warps of the frequency axis (vocal tract length normalisation): a voice of a longer vocal tract
/// has lower formants, and is recognised better with the bands moved down as far. 1 is none.
pub const VTLN_WARPS: [f64; 3] = [1.0, 0.9, 1.1];

pub struct LogMel {
    bands: usize,
    /// \[FFT_SAMPLES, 2·BINS\]: cosines and sines under a Hann window. In f64, and as a matrix product:
    /// it costs a hundredth of the network, and nothing is lost in the sums.
    waves: Vec<f64>,
    /// For each of [`VTLN_WARPS`] \[bands, BINS\].
    filters: [Vec<f64>; VTLN_WARPS.len()],
}

impl LogMel {
    pub fn new(bands: usize) -> Self {
        let mut waves = vec![0.0; FFT_SAMPLES * 2 * BINS];
        for (n, row) in waves.chunks_exact_mut(2 * BINS).enumerate() {
            let hann = 0.5 - 0.5 * (2.0 * PI * n as f64 / FFT_SAMPLES as f64).cos();
            for k in 0..BINS {
                // The product n·k is taken round the circle first, where f64 is exact.
                let angle = 2.0 * PI * ((n * k) % FFT_SAMPLES) as f64 / FFT_SAMPLES as f64;
                row[k] = hann * angle.cos();
                row[BINS + k] = hann * angle.sin();
            }
        }
        Self { bands, waves, filters: VTLN_WARPS.map(|warp| filters(bands, warp)) }
    }

    /// The spectrum of up to [`WINDOW_SAMPLES`] samples, the rest taken as silence, with one of
    /// [`VTLN_WARPS`]: \[FRAMES, bands\].
    pub fn forward(&self, samples: &[f32], warp: usize) -> Vec<f32> {
        let padded = padded(samples);
        let mut out = vec![0.0f64; FRAMES * self.bands];
        let tasks = out.par_chunks_mut(FRAMES_PER_TASK * self.bands).enumerate();
        tasks.for_each(|(i, out)| self.frames(&padded[i * FRAMES_PER_TASK * HOP..], warp, out));
        let max = out.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        out.iter().map(|power| ((power.max(max - 8.0) + 4.0) / 4.0) as f32).collect()
    }

    /// The logarithms of some frames in order.
    fn frames(&self, samples: &[f64], warp: usize, out: &mut [f64]) {
        let count = out.len() / self.bands;
        let mut sums = vec![0.0; count * 2 * BINS];
        let samples = Matrix::strided(samples, count, FFT_SAMPLES, HOP);
        let waves = Matrix::new(&self.waves, 2 * BINS);
        multiply(samples, waves, &mut sums, false, Cores::One);
        let mut power = vec![0.0; count * BINS];
        for (power, sums) in power.chunks_exact_mut(BINS).zip(sums.chunks_exact(2 * BINS)) {
            let (real, imaginary) = sums.split_at(BINS);
            let parts = real.iter().zip(imaginary);
            power.iter_mut().zip(parts).for_each(|(p, (re, im))| *p = re * re + im * im);
        }
        let filters = Matrix::new(&self.filters[warp], BINS).transposed();
        multiply(Matrix::new(&power, BINS), filters, out, false, Cores::One);
        out.iter_mut().for_each(|x| *x = x.max(1e-10).log10());
    }
}

/// The samples filled up with silence, and mirrored by half a transform at both ends.
fn padded(samples: &[f32]) -> Vec<f64> {
    let half = FFT_SAMPLES / 2;
    let mut padded = vec![0.0; WINDOW_SAMPLES + FFT_SAMPLES];
    let room = padded[half..half + WINDOW_SAMPLES].iter_mut();
    room.zip(samples).for_each(|(to, from)| *to = f64::from(*from));
    for i in 0..half {
        padded[i] = padded[2 * half - i];
        padded[half + WINDOW_SAMPLES + i] = padded[half + WINDOW_SAMPLES - 2 - i];
    }
    padded
}

/// Triangles on the mel scale of Slaney's Auditory Toolbox, each of area 1, over warped
/// frequencies: \[bands, BINS\].
fn filters(bands: usize, warp: f64) -> Vec<f64> {
    let top = mel(8000.0);
    let edge = |i: usize| hertz(top * i as f64 / (bands + 1) as f64);
    let mut filters = vec![0.0; bands * BINS];
    for (band, row) in filters.chunks_exact_mut(BINS).enumerate() {
        let (low, middle, high) = (edge(band), edge(band + 1), edge(band + 2));
        for (k, x) in row.iter_mut().enumerate() {
            let f = (k as f64 * 16_000.0 / FFT_SAMPLES as f64 * warp).min(8000.0);
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
