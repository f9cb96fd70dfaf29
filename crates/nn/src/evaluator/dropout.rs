//! Which numbers are left out in training: told by a seed, a place in the network and an index alone,
//! so that nothing is stored, the way back finds the same ones, and any thread may ask.

/// Leaves out a share of numbers, the same ones for the same seed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dropout {
    rate: f64,
    seed: u64,
}

/// The choice for one matrix of one pass.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mask {
    /// Stirs the indices.
    pub key: u32,
    /// A number is left out if its hash is below this.
    pub below: u32,
    /// What the others are multiplied by, so that the sum stays.
    pub scale: f32,
}

impl Dropout {
    /// Leaves out this share of numbers, from 0 up to (not including) 1, chosen by the seed.
    pub fn new(rate: f64, seed: u64) -> Self {
        Self { rate, seed }
    }

    /// Leaves out nothing.
    pub fn none() -> Self {
        Self::new(0.0, 0)
    }

    /// The share that is left out.
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// The seed.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The choice at this place of the network; none where nothing is left out.
    pub(super) fn mask(&self, place: u64) -> Option<Mask> {
        let key = mixed(self.seed.wrapping_add(mixed(place + 1))) as u32;
        let below = (self.rate * f64::from(u32::MAX)) as u32;
        let scale = (1.0 / (1.0 - self.rate)) as f32;
        (self.rate > 0.0).then_some(Mask { key, below, scale })
    }
}

impl Mask {
    /// What the number at this index is multiplied by.
    #[inline(always)]
    pub fn factor(self, index: u32) -> f32 {
        // Rounds of multiplying and shifting on 32 bits: as random as is needed, and vectorised.
        let mut x = index ^ self.key;
        x = (x ^ (x >> 16)).wrapping_mul(0x7feb_352d);
        x = (x ^ (x >> 15)).wrapping_mul(0x846c_a68b);
        x ^= x >> 16;
        if x < self.below { 0.0 } else { self.scale }
    }
}

/// All bits of a number stirred (the last part of splitmix64).
pub(super) fn mixed(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_are_left_out_as_asked_and_others_elsewhere() {
        let dropout = Dropout::new(0.25, 7);
        let mask = |place| dropout.mask(place).unwrap();
        let left_out = |mask: Mask| (0..40_000).map(|i| mask.factor(i) == 0.0).collect::<Vec<_>>();
        let (here, there) = (left_out(mask(0)), left_out(mask(1)));
        let share = |which: &[bool]| which.iter().filter(|out| **out).count() as f64 / 40_000.0;
        assert!((share(&here) - 0.25).abs() < 0.01 && (share(&there) - 0.25).abs() < 0.01);
        let both: Vec<bool> = here.iter().zip(&there).map(|(a, b)| *a && *b).collect();
        assert!((share(&both) - 0.0625).abs() < 0.01, "independent of one another");
        let pairs: Vec<bool> = here.windows(2).map(|pair| pair[0] && pair[1]).collect();
        assert!((share(&pairs) - 0.0625).abs() < 0.01, "and of their neighbours");
        assert_eq!(mask(0).scale, 1.0 / 0.75);
        assert!(Dropout::none().mask(0).is_none());
    }
}
