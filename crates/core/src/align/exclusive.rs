//! Drop-DTW where a second shows at most one step, eight steps at a time.
//!
//! A second then depends only on the one before it, so the steps of one second go through the
//! processor's lanes together. Strips of up to 32 steps keep both rows of the programme in
//! registers; between strips only the last row is carried over. The back pointers are the bits of
//! the comparisons, three a cell.

use super::AlignError;
use super::alignment::Alignment;
use super::costs::Costs;
use super::lanes::{LANES, Lanes, Plain};

/// How many groups of lanes a strip has at most.
const BLOCKS: usize = 4;

/// The comparisons of one group of lanes on coming to one second.
#[derive(Clone, Copy, Default)]
struct Bits {
    /// D was better than M one second back. So D comes from D, and so does the match of the next
    /// step where it comes from this one.
    dropped: u8,
    /// M comes from the match one second back, not from the step before.
    stayed: u8,
    /// M comes from the drop one second back, rather than from either.
    resumed: u8,
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
    let (seconds, blocks) = (costs.seconds(), costs.stride() / LANES);
    let mut bits = vec![Bits::default(); blocks * seconds];
    let mut row = Vec::new();
    let mut ends = (f64::INFINITY, f64::INFINITY);
    for first in (0..blocks).step_by(BLOCKS) {
        let is_last = first + BLOCKS >= blocks;
        let strip = Strip { costs, first, is_last, contiguous };
        let here = &mut bits[first * seconds..(first + BLOCKS).min(blocks) * seconds];
        ends = strip.run(&mut row, here, registers);
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
    let mut alignment = Alignment::new(cost, costs.steps(), seconds);
    let mut place = Place::of(costs.steps(), seconds, blocks);
    let mut step = costs.steps();
    for second in (1..=seconds).rev() {
        if step == 0 {
            alignment.pass(0, second);
            continue;
        }
        let cell = place.at(bits, second);
        if dropped {
            alignment.pass(step, second);
            dropped = place.in_lane(cell.dropped);
            continue;
        }
        alignment.meet(step, second);
        if place.in_lane(cell.resumed) {
            dropped = true;
        } else if !place.in_lane(cell.stayed) {
            step -= 1;
            if step > 0 {
                place = Place::of(step, seconds, blocks);
                dropped = place.in_lane(place.at(bits, second).dropped);
            }
        }
    }
    alignment
}

/// Where the bits of a step lie.
struct Place {
    first: usize,
    stride: usize,
    lane: usize,
}

impl Place {
    /// The place of a step, counted from 1.
    fn of(step: usize, seconds: usize, blocks: usize) -> Self {
        let (block, lane) = ((step - 1) / LANES, (step - 1) % LANES);
        let strip = block - block % BLOCKS;
        let stride = BLOCKS.min(blocks - strip);
        Self { first: strip * seconds + block - strip, stride, lane }
    }

    /// The bits of its group at a second, counted from 1.
    fn at(&self, bits: &[Bits], second: usize) -> Bits {
        bits[self.first + (second - 1) * self.stride]
    }

    fn in_lane(&self, mask: u8) -> bool {
        mask >> self.lane & 1 == 1
    }
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
            if std::arch::is_x86_feature_detected!("avx512f")
                && std::arch::is_x86_feature_detected!("avx512dq")
            {
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

/// The better of M and D of one step at every second.
type Row = Vec<f64>;

/// Some groups of lanes over all seconds.
struct Strip<'a> {
    costs: &'a Costs,
    first: usize,
    is_last: bool,
    contiguous: bool,
}

impl Strip<'_> {
    /// M and D of the last step at the last second, where this strip has it. `row` is the last
    /// step of the strip above, empty if there is none, and becomes this one's.
    fn run(&self, row: &mut Row, bits: &mut [Bits], registers: Registers) -> (f64, f64) {
        match registers {
            // Safety: `Registers` are only those the processor said it has.
            #[cfg(target_arch = "x86_64")]
            Registers::Avx512 => unsafe { self.run_avx512(row, bits) },
            #[cfg(target_arch = "x86_64")]
            Registers::Avx2 => unsafe { self.run_avx2(row, bits) },
            Registers::Plain => self.run_in::<Plain>(row, bits),
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512dq")]
    fn run_avx512(&self, row: &mut Row, bits: &mut [Bits]) -> (f64, f64) {
        self.run_in::<super::lanes::x86::Avx512>(row, bits)
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn run_avx2(&self, row: &mut Row, bits: &mut [Bits]) -> (f64, f64) {
        self.run_in::<super::lanes::x86::Avx2>(row, bits)
    }

    #[inline(always)]
    fn run_in<L: Lanes>(&self, row: &mut Row, bits: &mut [Bits]) -> (f64, f64) {
        match (bits.len() / self.costs.seconds(), self.contiguous) {
            (1, true) => self.sweep::<L, 1, true>(row, bits),
            (2, true) => self.sweep::<L, 2, true>(row, bits),
            (3, true) => self.sweep::<L, 3, true>(row, bits),
            (_, true) => self.sweep::<L, BLOCKS, true>(row, bits),
            (1, false) => self.sweep::<L, 1, false>(row, bits),
            (2, false) => self.sweep::<L, 2, false>(row, bits),
            (3, false) => self.sweep::<L, 3, false>(row, bits),
            (_, false) => self.sweep::<L, BLOCKS, false>(row, bits),
        }
    }

    #[inline(always)]
    fn sweep<L: Lanes, const B: usize, const CONTIGUOUS: bool>(
        &self,
        row: &mut Row,
        bits: &mut [Bits],
    ) -> (f64, f64) {
        let mut matched = [L::splat(f64::INFINITY); B];
        let mut dropped = [L::splat(f64::INFINITY); B];
        let is_first = row.is_empty();
        if !self.is_last {
            row.resize(self.costs.seconds(), f64::INFINITY);
        }
        // The better of M and D one step above and one second back.
        let mut corner = if is_first { 0.0 } else { f64::INFINITY };
        let columns = self.costs.columns().chunks_exact(self.costs.stride());
        let bits = bits.chunks_exact_mut(B);
        for (second, ((column, paid), bits)) in columns.zip(self.costs.drop()).zip(bits).enumerate()
        {
            let drop = L::splat(*paid);
            let mut above = L::splat(corner);
            let costs = column[self.first * LANES..].as_chunks::<LANES>().0;
            for b in 0..B {
                let (m, d) = (matched[b], dropped[b]);
                let kept = d.min(m);
                let diagonal = kept.shift_in(above);
                let mut best = m.min(diagonal);
                bits[b].dropped = d.less(m);
                bits[b].stayed = m.less(diagonal);
                if !CONTIGUOUS {
                    bits[b].resumed = d.less(best);
                    best = d.min(best);
                }
                matched[b] = L::load(&costs[b]).add(best);
                dropped[b] = drop.add(kept);
                above = kept;
            }
            corner = if is_first { corner + paid } else { row[second] };
            if !self.is_last {
                row[second] = dropped[B - 1].min(matched[B - 1]).to_array()[LANES - 1];
            }
        }
        let last_step = (self.costs.steps() - 1).saturating_sub(self.first * LANES);
        let at = |rows: &[L; B]| rows[(last_step / LANES).min(B - 1)].to_array()[last_step % LANES];
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
