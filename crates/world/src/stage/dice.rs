//! Small repeatable chance for drawing: the same seed gives the same picture, cheaply per frame.

/// A stream of chance from a seed.
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// Dice that always fall the same way for `seed`.
    pub fn new(seed: u64) -> Self {
        Dice(seed ^ 0x5157_1c4a_0ddb_a11d)
    }

    /// 64 mixed bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// In 0..1.
    pub fn unit(&mut self) -> f32 {
        (self.bits() >> 40) as f32 / (1u64 << 24) as f32
    }

    /// Between `low` and `high`.
    pub fn range(&mut self, low: f32, high: f32) -> f32 {
        low + (high - low) * self.unit()
    }

    /// One of 0..count; 0 where count is 0.
    pub fn below(&mut self, count: usize) -> usize {
        (self.bits() % count.max(1) as u64) as usize
    }

    /// True with the probability given.
    pub fn chance(&mut self, probability: f32) -> bool {
        self.unit() < probability
    }

    /// One of the choices.
    pub fn pick<T: Copy, const N: usize>(&mut self, choices: [T; N]) -> T {
        choices[self.below(N)]
    }
}

/// A repeatable number in 0..1 for the `i`-th of something.
pub fn chance_of(i: usize, salt: u64) -> f32 {
    Dice::new((i as u64).wrapping_mul(0x2545_f491_4f6c_dd1d) ^ salt.wrapping_mul(0x9e37_79b9))
        .unit()
}

/// Moves smoothly from 0 to 1 while `t` goes from `from` to `to`.
pub fn ease(t: f32, from: f32, to: f32) -> f32 {
    let x = ((t - from) / (to - from)).clamp(0.0, 1.0);
    x * x * (3.0 - 2.0 * x)
}

/// From `a` to `b` as `t` goes from 0 to 1.
pub fn lerp(a: f32, b: f32, t: f32) -> f32 {
    a + (b - a) * t
}

/// A wave between -1 and 1, `rate` times a second.
pub fn wave(seconds: f32, rate: f32) -> f32 {
    (seconds * rate * std::f32::consts::TAU).sin()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_falls_the_same_way() {
        let (mut a, mut b, mut c) = (Dice::new(7), Dice::new(7), Dice::new(8));
        let (first, second) = (a.bits(), b.bits());
        assert_eq!(first, second);
        assert_ne!(first, c.bits());
    }

    #[test]
    fn ease_starts_at_nought_and_ends_at_one() {
        assert_eq!((ease(0.1, 0.2, 0.4), ease(0.5, 0.2, 0.4)), (0.0, 1.0));
    }
}
