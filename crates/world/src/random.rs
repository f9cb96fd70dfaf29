//! Streams of random numbers: one for each purpose, so that a new use of chance in one place changes
//! nothing elsewhere.

pub use stitch_core::random::SplitMix64;

/// The stream of a seed for one purpose; streams of different purposes are independent.
pub fn stream(seed: u64, purpose: &str) -> SplitMix64 {
    let fnv = |state: u64, byte: u8| (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let mut random = SplitMix64::new(purpose.bytes().fold(seed ^ 0xcbf2_9ce4_8422_2325, fnv));
    random.next_u64();
    random
}

/// The stream of a seed for drawing, cheap enough to be made many times a frame.
pub fn seeded(seed: u64) -> SplitMix64 {
    SplitMix64::new(seed ^ 0x5157_1c4a_0ddb_a11d)
}

/// A number in 0..1 for the `i`-th of something, the same in every frame.
pub fn unit_of(i: usize, salt: u64) -> f32 {
    seeded((i as u64).wrapping_mul(0x2545_f491_4f6c_dd1d) ^ salt.wrapping_mul(0x9e37_79b9)).unit()
}

/// True `percent` times in a hundred.
pub fn percent(random: &mut SplitMix64, percent: usize) -> bool {
    random.below(100) < percent
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_streams_never_change() {
        let mut random = stream(7, "order");
        assert_eq!([(); 8].map(|()| random.below(100)), [44, 65, 36, 93, 66, 41, 16, 74]);
    }

    #[test]
    fn purposes_and_seeds_have_streams_of_their_own() {
        let first = |mut random: SplitMix64| random.next_u64();
        assert_ne!(first(stream(7, "order")), first(stream(7, "title")));
        assert_ne!(first(seeded(7)), first(seeded(8)));
        assert_eq!(first(seeded(7)), first(seeded(7)));
    }
}
