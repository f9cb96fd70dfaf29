//! Drop-DTW where a second shows at most one step, eight steps at a time.
//!
//! A second then depends only on the one before it, so the steps of one second go through the
//! processor's lanes together. Strips of up to 32 steps keep both rows of the programme in
//! registers; between strips only the last row is carried over. The back pointers are the bits of
//! the comparisons, three or four a cell.

use super::AlignError;
use super::alignment::Alignment;
use super::costs::Costs;
use super::lanes::{LANES, Lanes, Plain};

/// How many groups of lanes a strip has at most.
const BLOCKS: usize = 4;

/// The comparisons of one group of lanes in one second.
#[derive(Clone, Copy, Default)]
struct Bits {
    /// M's predecessor: of the two one step and one second back, the dropped one.
    diagonal_dropped: u8,
    /// M's predecessor: the match one second back, rather than those.
    stayed: u8,
    /// M's predecessor: the drop one second back, rather than all of them.
    resumed: u8,
    /// D's predecessor: the drop one second back, rather than the match.
    still_dropped: u8,
}

/// The cheapest alignment; there are no more steps than seconds.
pub(super) fn align(costs: &Costs, contiguous: bool) -> Result<Alignment, AlignError> {
    align_in(costs, contiguous, Registers::widest())
}

fn align_in(
    costs: &Costs,
    contiguous: bool,
    registers: Registers,
) -> Result<Alignment, AlignError> {
    let seconds = costs.seconds();
    let mut above = Row::before_the_first_step(costs.drop());
    let blocks = costs.stride() / LANES;
    let mut bits = vec![Bits::default(); blocks * seconds];
    let mut ends = (f64::INFINITY, f64::INFINITY);
    for first in (0..blocks).step_by(BLOCKS) {
        let strip = Strip { costs, first, contiguous };
        let here = &mut bits[first * seconds..(first + BLOCKS).min(blocks) * seconds];
        ends = strip.run(&mut above, here, registers);
    }
    let cost = ends.0.min(ends.1);
    if !cost.is_finite() {
        return Err(AlignError::Impossible);
    }
    Ok(walk_back(costs, &bits, cost, ends.1 < ends.0))
}

/// Follows the bits from the last step and second to the first.
fn walk_back(costs: &Costs, bits: &[Bits], cost: f64, mut dropped: bool) -> Alignment {
    let (seconds, blocks) = (costs.seconds(), costs.stride() / LANES);
    let mut step = costs.steps();
    let mut alignment = Alignment::new(cost, step, seconds);
    for second in (1..=seconds).rev() {
        if step == 0 {
            alignment.pass(0, second);
            continue;
        }
        let (block, lane) = ((step - 1) / LANES, (step - 1) % LANES);
        let first = block - block % BLOCKS;
        let width = BLOCKS.min(blocks - first);
        let cell = bits[first * seconds + (second - 1) * width + block - first];
        let set = |mask: u8| mask >> lane & 1 == 1;
        if dropped {
            alignment.pass(step, second);
            dropped = set(cell.still_dropped);
            continue;
        }
        alignment.meet(step, second);
        if set(cell.resumed) {
            dropped = true;
        } else if !set(cell.stayed) {
            dropped = set(cell.diagonal_dropped);
            step -= 1;
        }
    }
    alignment
}

/// Which registers to compute in.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Registers {
    #[cfg(target_arch = "x86_64")]
    Avx512,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    Plain,
}

impl Registers {
    /// The ones this processor has, widest first.
    fn all() -> Vec<Self> {
        let mut all = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            if std::arch::is_x86_feature_detected!("avx512f") {
                all.push(Self::Avx512);
            }
            if std::arch::is_x86_feature_detected!("avx2") {
                all.push(Self::Avx2);
            }
        }
        all.push(Self::Plain);
        all
    }

    fn widest() -> Self {
        Self::all()[0]
    }
}

/// M and D of one step at every second, from before the first.
struct Row {
    matched: Vec<f64>,
    dropped: Vec<f64>,
}

impl Row {
    fn before_the_first_step(drop: &[f64]) -> Self {
        let mut matched = vec![f64::INFINITY; drop.len() + 1];
        matched[0] = 0.0;
        let mut dropped = Vec::with_capacity(drop.len() + 1);
        dropped.push(0.0);
        let mut sum = 0.0;
        dropped.extend(drop.iter().map(|x| {
            sum += x;
            sum
        }));
        Self { matched, dropped }
    }
}

/// Some groups of lanes over all seconds.
struct Strip<'a> {
    costs: &'a Costs,
    first: usize,
    contiguous: bool,
}

impl Strip<'_> {
    /// M and D of the last step at the last second, where this strip has it; `above` becomes the
    /// strip's last row.
    fn run(&self, above: &mut Row, bits: &mut [Bits], registers: Registers) -> (f64, f64) {
        match registers {
            // Safety: `Registers` are only those the processor said it has.
            #[cfg(target_arch = "x86_64")]
            Registers::Avx512 => unsafe { self.run_avx512(above, bits) },
            #[cfg(target_arch = "x86_64")]
            Registers::Avx2 => unsafe { self.run_avx2(above, bits) },
            Registers::Plain => self.run_in::<Plain>(above, bits),
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f")]
    fn run_avx512(&self, above: &mut Row, bits: &mut [Bits]) -> (f64, f64) {
        self.run_in::<super::lanes::x86::Avx512>(above, bits)
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn run_avx2(&self, above: &mut Row, bits: &mut [Bits]) -> (f64, f64) {
        self.run_in::<super::lanes::x86::Avx2>(above, bits)
    }

    #[inline(always)]
    fn run_in<L: Lanes>(&self, above: &mut Row, bits: &mut [Bits]) -> (f64, f64) {
        match (bits.len() / self.costs.seconds(), self.contiguous) {
            (1, true) => self.sweep::<L, 1, true>(above, bits),
            (2, true) => self.sweep::<L, 2, true>(above, bits),
            (3, true) => self.sweep::<L, 3, true>(above, bits),
            (_, true) => self.sweep::<L, BLOCKS, true>(above, bits),
            (1, false) => self.sweep::<L, 1, false>(above, bits),
            (2, false) => self.sweep::<L, 2, false>(above, bits),
            (3, false) => self.sweep::<L, 3, false>(above, bits),
            (_, false) => self.sweep::<L, BLOCKS, false>(above, bits),
        }
    }

    #[inline(always)]
    fn sweep<L: Lanes, const B: usize, const CONTIGUOUS: bool>(
        &self,
        above: &mut Row,
        bits: &mut [Bits],
    ) -> (f64, f64) {
        let stride = self.costs.stride();
        let last_step = self.costs.steps() - 1;
        let carries = last_step / LANES >= self.first + B;
        let mut matched = [L::splat(f64::INFINITY); B];
        let mut dropped = [L::splat(f64::INFINITY); B];
        let mut corner = (above.matched[0], above.dropped[0]);
        (above.matched[0], above.dropped[0]) = (f64::INFINITY, f64::INFINITY);
        let columns = self.costs.columns().chunks_exact(stride);
        let rows = above.matched[1..].iter_mut().zip(&mut above.dropped[1..]);
        for (((column, drop), row), bits) in
            columns.zip(self.costs.drop()).zip(rows).zip(bits.chunks_exact_mut(B))
        {
            let drop = L::splat(*drop);
            let (mut up_m, mut up_d) = (L::splat(corner.0), L::splat(corner.1));
            let costs = column[self.first * LANES..].as_chunks::<LANES>().0;
            for b in 0..B {
                let (m, d) = (matched[b], dropped[b]);
                let (diagonal_m, diagonal_d) = (m.shift_in(up_m), d.shift_in(up_d));
                let diagonal = diagonal_d.min(diagonal_m);
                let best = m.min(diagonal);
                let still = d.min(m);
                bits[b].diagonal_dropped = diagonal_d.less(diagonal_m);
                bits[b].stayed = m.less(diagonal);
                bits[b].still_dropped = d.less(m);
                let best = if CONTIGUOUS {
                    best
                } else {
                    bits[b].resumed = d.less(best);
                    d.min(best)
                };
                matched[b] = L::load(&costs[b]).add(best);
                dropped[b] = drop.add(still);
                (up_m, up_d) = (m, d);
            }
            corner = (*row.0, *row.1);
            if carries {
                let last = |lanes: L| lanes.to_array()[LANES - 1];
                (*row.0, *row.1) = (last(matched[B - 1]), last(dropped[B - 1]));
            }
        }
        let (block, lane) = (last_step / LANES - self.first, last_step % LANES);
        let at = |rows: &[L; B]| rows[block.min(B - 1)].to_array()[lane];
        (at(&matched), at(&dropped))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{AlignOptions, states};
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Whole costs make many ties; up to 70 steps make three strips.
        #[test]
        fn all_registers_give_the_plain_programme(
            steps in 1usize..70, more in 0usize..40, contiguous: bool,
            numbers in prop::collection::vec(0u8..5, 70 * 110 + 110)
        ) {
            let seconds = steps + more;
            let numbers: Vec<f64> = numbers.iter().map(|x| f64::from(*x)).collect();
            let (matching, drop) = numbers[..(steps + 1) * seconds].split_at(steps * seconds);
            let costs = Costs::new(matching.to_vec(), drop.to_vec()).unwrap();
            let options = AlignOptions { exclusive: true, contiguous };
            let plain = states::align(&costs, None, &options);
            for registers in Registers::all() {
                prop_assert_eq!(&align_in(&costs, contiguous, registers), &plain, "{:?}", registers);
            }
        }
    }
}
