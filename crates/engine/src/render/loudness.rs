//! Loudness as ITU-R BS.1770 measures it, and a limiter that keeps peaks below full scale.

use std::collections::VecDeque;

use crate::media::cut::RATE;

pub type Pair = [f32; 2];

/// Samples in a tenth of a second, by which the measuring window moves.
const HOP: u32 = RATE / 10;
/// Hops in a window of 400 ms.
const HOPS: usize = 4;
/// Windows below this are silence.
const ABSOLUTE_GATE: f64 = -70.0;

/// One stage of the weighting filter: `b0 b1 b2 a1 a2`, for 48 kHz.
const SHELF: [f64; 5] = [
    1.535_124_859_586_97,
    -2.691_696_189_406_38,
    1.198_392_810_852_85,
    -1.690_659_293_182_41,
    0.732_480_774_215_85,
];
const HIGH_PASS: [f64; 5] = [1.0, -2.0, 1.0, -1.990_047_454_833_98, 0.990_072_250_366_21];

/// A second-order filter for one channel.
#[derive(Clone, Copy)]
struct Biquad {
    c: [f64; 5],
    z1: f64,
    z2: f64,
}

impl Biquad {
    fn new(c: [f64; 5]) -> Self {
        Self { c, z1: 0.0, z2: 0.0 }
    }

    fn next(&mut self, x: f64) -> f64 {
        let [b0, b1, b2, a1, a2] = self.c;
        let y = b0 * x + self.z1;
        self.z1 = b1 * x - a1 * y + self.z2;
        self.z2 = b2 * x - a2 * y;
        y
    }
}

/// Measures sound as it passes.
pub struct Meter {
    filters: [[Biquad; 2]; 2],
    sum: f64,
    count: u32,
    hops: Vec<f64>,
    peak: f32,
}

impl Default for Meter {
    fn default() -> Self {
        let filters = [[Biquad::new(SHELF), Biquad::new(HIGH_PASS)]; 2];
        Self { filters, sum: 0.0, count: 0, hops: Vec::new(), peak: 0.0 }
    }
}

impl Meter {
    pub fn push(&mut self, pair: Pair) {
        for (filters, x) in self.filters.iter_mut().zip(pair) {
            self.peak = self.peak.max(x.abs());
            let weighted = filters.iter_mut().fold(f64::from(x), |x, filter| filter.next(x));
            self.sum += weighted * weighted;
        }
        self.count += 1;
        if self.count == HOP {
            self.hops.push(self.sum / f64::from(HOP));
            (self.sum, self.count) = (0.0, 0);
        }
    }

    pub fn peak(&self) -> f32 {
        self.peak
    }

    /// The loudness of everything so far in LUFS; minus infinity is silence. Sound shorter than a
    /// window is one window.
    pub fn loudness(&self) -> f64 {
        let mut windows: Vec<f64> =
            self.hops.windows(HOPS).map(|hops| hops.iter().sum::<f64>() / HOPS as f64).collect();
        if windows.is_empty() {
            let samples = self.hops.len() as f64 * f64::from(HOP) + f64::from(self.count);
            let energy = self.hops.iter().sum::<f64>() * f64::from(HOP) + self.sum;
            windows.push(energy / samples.max(1.0));
        }
        windows.retain(|energy| lufs(*energy) > ABSOLUTE_GATE);
        let gate = lufs(mean(&windows)) - 10.0;
        windows.retain(|energy| lufs(*energy) > gate);
        lufs(mean(&windows))
    }
}

fn lufs(energy: f64) -> f64 {
    -0.691 + 10.0 * energy.log10()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Looks five milliseconds ahead.
const AHEAD: usize = RATE as usize / 200;
/// How fast the gain comes back: a share of the way per sample, about 80 ms.
const RELEASE: f32 = 1.0 / (0.08 * RATE as f32);

/// Turns sound up by a fixed gain and down again around peaks, without a step that one hears.
/// What goes in comes out [`Limiter::DELAY`] pairs later.
pub struct Limiter {
    gain: f32,
    ceiling: f32,
    delayed: VecDeque<Pair>,
    /// Places and wanted gains of the coming samples, the smallest first.
    coming: VecDeque<(u64, f32)>,
    held: f32,
    smooth: VecDeque<f32>,
    smooth_sum: f64,
    place: u64,
}

impl Limiter {
    /// By how many pairs the sound comes later.
    pub const DELAY: usize = AHEAD;

    /// A limiter with this gain that lets no sample above `ceiling`.
    pub fn new(gain: f32, ceiling: f32) -> Self {
        let smooth = VecDeque::from(vec![1.0; AHEAD + 1]);
        let smooth_sum = smooth.len() as f64;
        let delayed = VecDeque::from(vec![[0.0; 2]; Self::DELAY]);
        let coming = VecDeque::new();
        Self { gain, ceiling, delayed, coming, held: 1.0, smooth, smooth_sum, place: 0 }
    }

    /// Takes a pair and gives the one that went in [`Self::DELAY`] pairs before.
    pub fn next(&mut self, pair: Pair) -> Pair {
        let pair = pair.map(|x| x * self.gain);
        self.delayed.push_back(pair);
        let least = self.least_coming(pair);
        self.held = least.min(self.held + (1.0 - self.held) * RELEASE);
        let factor = self.smoothed();
        let out = self.delayed.pop_front().unwrap_or_default();
        out.map(|x| (x * factor).clamp(-self.ceiling, self.ceiling))
    }

    /// The smallest gain that any of the last `AHEAD + 1` pairs wants.
    fn least_coming(&mut self, pair: Pair) -> f32 {
        let peak = pair.iter().fold(0.0f32, |peak, x| peak.max(x.abs()));
        let wanted = if peak > self.ceiling { self.ceiling / peak } else { 1.0 };
        while self.coming.back().is_some_and(|(_, gain)| *gain >= wanted) {
            self.coming.pop_back();
        }
        self.coming.push_back((self.place, wanted));
        self.place += 1;
        while self.coming.front().is_some_and(|(at, _)| at + AHEAD as u64 + 1 < self.place) {
            self.coming.pop_front();
        }
        self.coming.front().map_or(1.0, |(_, gain)| *gain)
    }

    /// The held gain averaged over the last `AHEAD + 1` pairs.
    fn smoothed(&mut self) -> f32 {
        self.smooth.push_back(self.held);
        let gone = self.smooth.pop_front().unwrap_or(1.0);
        self.smooth_sum += f64::from(self.held) - f64::from(gone);
        (self.smooth_sum / self.smooth.len() as f64) as f32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sine(frequency: f64, amplitude: f64, seconds: f64) -> impl Iterator<Item = Pair> {
        (0..(seconds * f64::from(RATE)) as u32).map(move |i| {
            let t = f64::from(i) / f64::from(RATE);
            let x = (amplitude * (std::f64::consts::TAU * frequency * t).sin()) as f32;
            [x, x]
        })
    }

    fn measure(pairs: impl Iterator<Item = Pair>) -> f64 {
        let mut meter = Meter::default();
        pairs.for_each(|pair| meter.push(pair));
        meter.loudness()
    }

    #[test]
    fn measures_what_the_standard_says() {
        // A 997 Hz sine at full scale in one channel is -3.01 LUFS, in both 0.0.
        assert!((measure(sine(997.0, 1.0, 2.0)) - 0.0).abs() < 0.05);
        assert!((measure(sine(997.0, 0.1, 2.0)) + 20.0).abs() < 0.05);
        // The gate leaves silence out.
        let half = sine(997.0, 0.1, 2.0).chain(sine(997.0, 0.0, 2.0));
        assert!((measure(half) + 20.0).abs() < 0.7);
        assert_eq!(measure(std::iter::repeat_n([0.0; 2], 48_000)), f64::NEG_INFINITY);
        assert!((measure(sine(997.0, 0.1, 0.2)) + 20.0).abs() < 0.2, "shorter than a window");
    }

    #[test]
    fn the_limiter_only_delays_what_is_below_the_ceiling_and_holds_the_rest() {
        let mut limiter = Limiter::new(2.0, 0.9);
        let quiet: Vec<Pair> = sine(440.0, 0.2, 0.1).collect();
        let through: Vec<Pair> = quiet.iter().map(|pair| limiter.next(*pair)).collect();
        for (out, pair) in through.iter().skip(Limiter::DELAY).zip(&quiet) {
            assert!((out[0] - 2.0 * pair[0]).abs() < 1e-5);
        }
        let mut limiter = Limiter::new(8.0, 0.9);
        let loud = sine(440.0, 0.5, 0.1).map(|pair| limiter.next(pair)[0].abs());
        let peak = loud.fold(0.0, f32::max);
        assert!(peak <= 0.9 && peak > 0.8, "{peak}");
    }
}
