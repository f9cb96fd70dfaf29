//! Dropout whose masks follow from a seed, a site in the network and an index alone: nothing is stored,
//! the backward pass finds the same mask, and any thread may compute it.

use stitch_core::random::mix64;

/// Sets a share of values to 0, the same ones for the same seed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dropout {
    rate: f64,
    seed: u64,
}

/// The mask of one matrix in one pass.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mask {
    pub key: u32,
    /// A value is dropped if the hash of its index is below this.
    pub threshold: u32,
    /// What the others are multiplied by: 1 / (1 - rate).
    pub scale: f32,
}

/// The token embeddings' site; those of layers follow.
pub(super) const EMBEDDING_SITE: u64 = 0;

/// The three sites of a layer.
#[derive(Clone, Copy)]
pub(super) enum LayerSite {
    Attention = 1,
    Hidden = 2,
    FeedForward = 3,
}

impl LayerSite {
    pub fn of(self, layer: usize) -> u64 {
        3 * layer as u64 + self as u64
    }
}

impl Dropout {
    /// Drops this share of values, from 0 up to (not including) 1.
    pub fn new(rate: f64, seed: u64) -> Self {
        Self { rate, seed }
    }

    pub fn none() -> Self {
        Self::new(0.0, 0)
    }

    /// The mask of a site; none where nothing is dropped.
    pub(super) fn mask(&self, site: u64) -> Option<Mask> {
        let key = mix64(self.seed.wrapping_add(mix64(site + 1))) as u32;
        let threshold = (self.rate * f64::from(u32::MAX)) as u32;
        let scale = (1.0 / (1.0 - self.rate)) as f32;
        (self.rate > 0.0).then_some(Mask { key, threshold, scale })
    }
}

impl Mask {
    /// What the value at this index is multiplied by.
    #[inline(always)]
    pub fn factor(self, index: u32) -> f32 {
        // Rounds of multiplying and shifting on 32 bits: as random as is needed, and vectorised.
        let mut x = index ^ self.key;
        x = (x ^ (x >> 16)).wrapping_mul(0x7feb_352d);
        x = (x ^ (x >> 15)).wrapping_mul(0x846c_a68b);
        x ^= x >> 16;
        if x < self.threshold { 0.0 } else { self.scale }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_kept_and_sites_are_independent() {
        let dropout = Dropout::new(0.25, 7);
        let mask = |site| dropout.mask(site).unwrap();
        let dropped = |mask: Mask| (0..40_000).map(|i| mask.factor(i) == 0.0).collect::<Vec<_>>();
        let (here, there) = (dropped(mask(0)), dropped(mask(1)));
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
