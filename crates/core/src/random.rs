//! Random numbers from a seed (SplitMix64). Written here, not taken from a crate, so that what a seed
//! gives never changes: synthetic libraries and trained weights are compared across years.

/// Vigna's SplitMix64: 64 bits of state, equally distributed, one multiplication chain a number.
#[derive(Clone, Debug)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix64(self.0)
    }

    /// Uniform in 0..1, in steps of 2^-24.
    pub fn unit(&mut self) -> f32 {
        (self.next_u64() >> 40) as f32 / (1u64 << 24) as f32
    }

    /// Uniform in `low..high`.
    pub fn range(&mut self, low: f32, high: f32) -> f32 {
        low + (high - low) * self.unit()
    }

    /// Uniform in `0..count`, by remainder: the bias is below `count` / 2^64. 0 where `count` is 0.
    pub fn below(&mut self, count: usize) -> usize {
        (self.next_u64() % count.max(1) as u64) as usize
    }

    /// Uniform in `low..=high`.
    pub fn between(&mut self, low: i64, high: i64) -> i64 {
        low + self.below((high - low).max(0) as usize + 1) as i64
    }

    pub fn chance(&mut self, probability: f32) -> bool {
        self.unit() < probability
    }

    /// One item of a list that is not empty.
    pub fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }

    /// Fisher-Yates, from the end.
    pub fn shuffle<T>(&mut self, list: &mut [T]) {
        for last in (1..list.len()).rev() {
            list.swap(last, self.below(last + 1));
        }
    }
}

/// SplitMix64's finaliser: every bit of `z` changes half of the result's bits.
pub fn mix64(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_of_the_published_algorithm() {
        // Java's SplittableRandom and the reference C code give these for the seed 1234567.
        let mut random = SplitMix64::new(1_234_567);
        let first = [(); 3].map(|()| random.next_u64());
        let published =
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        assert_eq!(first, published);
    }

    #[test]
    fn ranges_hold_and_shuffling_keeps_everything() {
        let mut random = SplitMix64::new(1);
        assert!((0..1000).all(|_| (0.0..1.0).contains(&random.unit())));
        assert!((0..1000).all(|_| (-3..=3).contains(&random.between(-3, 3))));
        assert_eq!(random.below(0), 0);
        let mut list: Vec<usize> = (0..20).collect();
        random.shuffle(&mut list);
        assert!(!list.is_sorted());
        list.sort_unstable();
        assert_eq!(list, (0..20).collect::<Vec<_>>());
    }
}
