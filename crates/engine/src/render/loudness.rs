//! Loudness by ITU-R BS.1770, and a limiter that keeps peaks below full scale.

use std::collections::VecDeque;

use ebur128::{EbuR128, Mode};

use crate::media::audio::RATE;

/// A left and a right sample, from -1 to 1.
pub type Pair = [f32; 2];

/// How many pairs are given to the meter at once: a tenth of a second.
const BLOCK: usize = RATE as usize / 10;
/// The gating block of BS.1770 in pairs: 400 ms.
const GATE: usize = 4 * BLOCK;

/// Measured sound.
#[derive(Clone, Copy, Debug)]
pub struct Loudness {
    /// Minus infinity for silence.
    pub lufs: f64,
    /// The largest sample.
    pub peak: f32,
}

/// The integrated loudness of all pairs; sound shorter than a gating block is measured as one.
pub fn measure(pairs: impl Iterator<Item = Pair>) -> Result<Loudness, ebur128::Error> {
    let mut meter = EbuR128::new(2, RATE, Mode::I | Mode::SAMPLE_PEAK)?;
    let mut block = Vec::with_capacity(2 * BLOCK);
    let mut count = 0;
    for pair in pairs {
        block.extend(pair);
        count += 1;
        if block.len() == 2 * BLOCK {
            meter.add_frames_f32(&block)?;
            block.clear();
        }
    }
    meter.add_frames_f32(&block)?;
    let lufs = match count {
        0..GATE => meter.loudness_window((count * 1000 / RATE as usize) as u32)?,
        _ => meter.loudness_global()?,
    };
    Ok(Loudness { lufs, peak: meter.sample_peak(0)?.max(meter.sample_peak(1)?) as f32 })
}

/// How far the limiter looks ahead, in pairs: 5 ms.
const AHEAD: usize = RATE as usize / 200;
/// How fast the gain returns to 1: the share of the way per sample, about 80 ms.
const RELEASE: f32 = 1.0 / (0.08 * RATE as f32);

/// Applies a fixed gain, lowered smoothly around peaks. What goes in comes out [`Limiter::DELAY`]
/// pairs later.
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
    pub const DELAY: usize = AHEAD;

    pub fn new(gain: f32, ceiling: f32) -> Self {
        let smooth = VecDeque::from(vec![1.0; AHEAD + 1]);
        let smooth_sum = smooth.len() as f64;
        let delayed = VecDeque::from(vec![[0.0; 2]; Self::DELAY]);
        let coming = VecDeque::new();
        Self { gain, ceiling, delayed, coming, held: 1.0, smooth, smooth_sum, place: 0 }
    }

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

    fn lufs(pairs: impl Iterator<Item = Pair>) -> f64 {
        measure(pairs).unwrap().lufs
    }

    #[test]
    fn measures_what_the_standard_says() {
        // A 997 Hz sine at full scale in one channel is -3.01 LUFS, in both 0.0.
        assert!((lufs(sine(997.0, 1.0, 2.0)) - 0.0).abs() < 0.05);
        assert!((lufs(sine(997.0, 0.1, 2.0)) + 20.0).abs() < 0.05);
        // The gate leaves silence out.
        let half = sine(997.0, 0.1, 2.0).chain(sine(997.0, 0.0, 2.0));
        assert!((lufs(half) + 20.0).abs() < 0.7);
        assert_eq!(lufs(std::iter::repeat_n([0.0; 2], 48_000)), f64::NEG_INFINITY);
        assert!((lufs(sine(997.0, 0.1, 0.2)) + 20.0).abs() < 0.2, "shorter than a window");
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
