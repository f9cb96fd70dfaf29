//! Drop-DTW where a second shows at most one step.
//!
//! A second then depends only on the one before it, so its steps are computed eight at a time. The
//! back pointers are the bits of the comparisons, three a cell.

use super::AlignError;
use super::alignment::Alignment;
use super::costs::Costs;
use super::lanes::{LANES, Lanes, Plain};

/// The comparisons of one group of lanes at one second.
#[derive(Clone, Copy, Default)]
struct Bits {
    /// D was cheaper than M one second back. So D comes from D, and so does the match of the next
    /// step where it comes from this one.
    dropped: u8,
    /// M comes from the match one second back, not from the step before.
    stayed: u8,
    /// M comes from the drop one second back, rather than from either.
    resumed: u8,
}

/// The cheapest alignment; there are no more steps than seconds.
pub(super) fn align(costs: &Costs, contiguous: bool) -> Result<Alignment, AlignError> {
    align_in(costs, contiguous, has_avx2())
}

fn has_avx2() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::arch::is_x86_feature_detected!("avx2");
    #[cfg(not(target_arch = "x86_64"))]
    return false;
}

/// `avx2` must be false where the processor has no such registers.
fn align_in(costs: &Costs, contiguous: bool, avx2: bool) -> Result<Alignment, AlignError> {
    let mut bits = vec![Bits::default(); costs.columns().len() / LANES];
    let (matched, dropped) = match avx2 {
        // Safety: the processor has AVX2.
        #[cfg(target_arch = "x86_64")]
        true => unsafe { forward_avx2(costs, contiguous, &mut bits) },
        _ => forward::<Plain>(costs, contiguous, &mut bits),
    };
    let cost = matched.min(dropped);
    if !cost.is_finite() {
        return Err(AlignError::Impossible);
    }
    Ok(walk_back(costs, &bits, cost, dropped < matched))
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn forward_avx2(costs: &Costs, contiguous: bool, bits: &mut [Bits]) -> (f64, f64) {
    forward::<super::lanes::x86::Avx2>(costs, contiguous, bits)
}

/// M and D of the last step at the last second.
#[inline(always)]
fn forward<L: Lanes>(costs: &Costs, contiguous: bool, bits: &mut [Bits]) -> (f64, f64) {
    match contiguous {
        true => sweep::<L, true>(costs, bits),
        false => sweep::<L, false>(costs, bits),
    }
}

#[inline(always)]
fn sweep<L: Lanes, const CONTIGUOUS: bool>(costs: &Costs, bits: &mut [Bits]) -> (f64, f64) {
    let groups = costs.stride() / LANES;
    let mut matched = vec![L::splat(f64::INFINITY); groups];
    let mut dropped = matched.clone();
    // The cost of dropping every second so far, before the first step.
    let mut all_dropped = 0.0;
    let columns = costs.columns().as_chunks::<LANES>().0.chunks_exact(groups);
    for ((column, paid), bits) in columns.zip(costs.drop()).zip(bits.chunks_exact_mut(groups)) {
        let drop = L::splat(*paid);
        // The cheaper of M and D one second back, of the group above.
        let mut above = L::splat(all_dropped);
        let rows = matched.iter_mut().zip(&mut dropped);
        for ((cost, bits), (matched, dropped)) in column.iter().zip(bits).zip(rows) {
            let (m, d) = (*matched, *dropped);
            let kept = d.min(m);
            let diagonal = kept.shift_in(above);
            let mut best = m.min(diagonal);
            bits.dropped = d.less(m);
            bits.stayed = m.less(diagonal);
            if !CONTIGUOUS {
                bits.resumed = d.less(best);
                best = d.min(best);
            }
            *matched = L::load(cost).add(best);
            *dropped = drop.add(kept);
            above = kept;
        }
        all_dropped += paid;
    }
    let last = costs.steps() - 1;
    let at = |row: &[L]| row[last / LANES].to_array()[last % LANES];
    (at(&matched), at(&dropped))
}

/// Follows the bits from the last step and second to the first.
fn walk_back(costs: &Costs, bits: &[Bits], cost: f64, mut is_drop: bool) -> Alignment {
    let (mut step, seconds) = (costs.steps(), costs.seconds());
    let mut alignment = Alignment::new(cost, step, seconds);
    for second in (1..=seconds).rev() {
        let is_set = |step: usize, bit: fn(&Bits) -> u8| {
            let group = (second - 1) * costs.stride() / LANES + (step - 1) / LANES;
            bit(&bits[group]) >> ((step - 1) % LANES) & 1 == 1
        };
        alignment.push(step, second, step > 0 && !is_drop);
        if step == 0 {
            continue;
        } else if is_drop {
            is_drop = is_set(step, |bits| bits.dropped);
        } else if is_set(step, |bits| bits.resumed) {
            is_drop = true;
        } else if !is_set(step, |bits| bits.stayed) {
            step -= 1;
            is_drop = step > 0 && is_set(step, |bits| bits.dropped);
        }
    }
    alignment
}

#[cfg(test)]
mod tests {
    use super::super::{AlignOptions, states};
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Whole costs make many ties.
        #[test]
        fn all_registers_give_what_the_general_programme_gives(
            steps in 1usize..70, more in 0usize..40, contiguous: bool,
            numbers in prop::collection::vec(0u8..5, 70 * 110 + 110)
        ) {
            let seconds = steps + more;
            let numbers: Vec<f64> = numbers.iter().map(|x| f64::from(*x)).collect();
            let (matching, drop) = numbers[..(steps + 1) * seconds].split_at(steps * seconds);
            let costs = Costs::new(matching.to_vec(), drop.to_vec()).unwrap();
            let options = AlignOptions { exclusive: true, contiguous };
            let general = states::align(&costs, None, &options);
            prop_assert_eq!(&align_in(&costs, contiguous, false), &general);
            prop_assert_eq!(&align_in(&costs, contiguous, has_avx2()), &general);
        }
    }
}
