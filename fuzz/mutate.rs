//! Seeded mutations of bytes, the same on every machine.

/// SplitMix64.
pub struct Random(pub u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// From 0 up to and without the end; 0 if that is 0.
    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }
}

/// One to eight changes to a copy of a seed: bits and bytes, lengths, parts of it or of another seed.
pub fn mutated(seeds: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut bytes = seeds[random.below(seeds.len())].clone();
    for _ in 0..1 + random.below(8) {
        let (at, end) = (random.below(bytes.len()), random.below(bytes.len() + 1));
        let range = at.min(end)..at.max(end);
        match random.below(8) {
            0 => bytes.truncate(end),
            1 => drop(bytes.drain(range.start..range.end.min(range.start + 64))),
            2 => {
                let copied = bytes[range.start..range.end.min(range.start + 256)].to_vec();
                let to = random.below(bytes.len() + 1);
                bytes.splice(to..to, copied);
            }
            3 => {
                let other = &seeds[random.below(seeds.len())];
                let from = random.below(other.len());
                bytes.splice(range, other[from..].iter().copied().take(256));
            }
            4 => {
                // A length, an offset or a count that is extreme.
                let value = [0, 1, 0x7F, 0xFF][random.below(4)];
                let width = 1 << random.below(4);
                bytes.iter_mut().skip(at).take(width).for_each(|byte| *byte = value);
            }
            5 => bytes.insert(end, b"\"{}[]<>:,.-0\n\0\xFF"[random.below(15)]),
            _ => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << random.below(8);
                }
            }
        }
    }
    bytes
}
