//! Drop-DTW where a second shows at most one step.
//!
//! A second then depends only on the one before it, so its steps are computed eight at a time. The
//! back pointers are the bits of the comparisons, three a cell.

use super::costs::Costs;
use super::lanes::{LANES, Lanes, Plain};
use super::{AlignError, Alignment};

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

/// Fills the bits; returns M and D of the last step at the last second.
type Forward = fn(&Costs, bool, &mut [Bits]) -> [f64; 2];

/// The versions of the forward pass that this processor can run, fastest first.
fn versions() -> Vec<Forward> {
    let mut versions: Vec<Forward> = vec![forward::<Plain>];
    #[cfg(target_arch = "x86_64")]
    {
        use super::lanes::x86::{Avx2, Avx512};

        #[target_feature(enable = "avx2")]
        fn avx2(costs: &Costs, contiguous: bool, bits: &mut [Bits]) -> [f64; 2] {
            forward::<Avx2>(costs, contiguous, bits)
        }
        #[target_feature(enable = "avx512f,avx512dq")]
        fn avx512(costs: &Costs, contiguous: bool, bits: &mut [Bits]) -> [f64; 2] {
            forward::<Avx512>(costs, contiguous, bits)
        }
        // Safety: the processor has the features.
        if std::arch::is_x86_feature_detected!("avx2") {
            versions.insert(0, |costs, contiguous, bits| unsafe { avx2(costs, contiguous, bits) });
        }
        if std::arch::is_x86_feature_detected!("avx512f")
            && std::arch::is_x86_feature_detected!("avx512dq")
        {
            versions
                .insert(0, |costs, contiguous, bits| unsafe { avx512(costs, contiguous, bits) });
        }
    }
    versions
}

/// The cheapest alignment; there are no more steps than seconds.
pub(super) fn align(costs: &Costs, contiguous: bool) -> Result<Alignment, AlignError> {
    align_by(versions()[0], costs, contiguous)
}

fn align_by(forward: Forward, costs: &Costs, contiguous: bool) -> Result<Alignment, AlignError> {
    let mut bits = vec![Bits::default(); costs.columns().len()];
    let [matched, dropped] = forward(costs, contiguous, &mut bits);
    let cost = matched.min(dropped);
    if !cost.is_finite() {
        return Err(AlignError::Impossible);
    }
    Ok(walk_back(costs, &bits, cost, dropped < matched))
}

#[inline(always)]
fn forward<L: Lanes>(costs: &Costs, contiguous: bool, bits: &mut [Bits]) -> [f64; 2] {
    match contiguous {
        true => by_groups::<L, true>(costs, bits),
        false => by_groups::<L, false>(costs, bits),
    }
}

/// Up to 64 steps are kept in registers, which takes two thirds of the time.
#[inline(always)]
fn by_groups<L: Lanes, const CONTIGUOUS: bool>(costs: &Costs, bits: &mut [Bits]) -> [f64; 2] {
    let start = [L::splat(f64::INFINITY); 2];
    match costs.stride() / LANES {
        1 => sweep::<L, CONTIGUOUS>(costs, bits, &mut [start; 1]),
        2 => sweep::<L, CONTIGUOUS>(costs, bits, &mut [start; 2]),
        3 => sweep::<L, CONTIGUOUS>(costs, bits, &mut [start; 3]),
        4 => sweep::<L, CONTIGUOUS>(costs, bits, &mut [start; 4]),
        5 => sweep::<L, CONTIGUOUS>(costs, bits, &mut [start; 5]),
        6 => sweep::<L, CONTIGUOUS>(costs, bits, &mut [start; 6]),
        7 => sweep::<L, CONTIGUOUS>(costs, bits, &mut [start; 7]),
        8 => sweep::<L, CONTIGUOUS>(costs, bits, &mut [start; 8]),
        groups => sweep::<L, CONTIGUOUS>(costs, bits, &mut vec![start; groups]),
    }
}

/// `rows` are M and D of each group of steps.
#[inline(always)]
fn sweep<L: Lanes, const CONTIGUOUS: bool>(
    costs: &Costs,
    bits: &mut [Bits],
    rows: &mut [[L; 2]],
) -> [f64; 2] {
    let groups = rows.len();
    // The cost of dropping every second so far, before the first step.
    let mut all_dropped = 0.0;
    let columns = costs.columns().chunks_exact(groups);
    for ((column, paid), bits) in columns.zip(costs.drop()).zip(bits.chunks_exact_mut(groups)) {
        let drop = L::splat(*paid);
        // The cheaper of M and D one second back, of the group above.
        let mut above = L::splat(all_dropped);
        for ((cost, bits), row) in column.iter().zip(bits).zip(rows.iter_mut()) {
            let [m, d] = *row;
            let kept = d.min(m);
            let diagonal = kept.shift_in(above);
            let mut best = m.min(diagonal);
            bits.dropped = d.less(m);
            bits.stayed = m.less(diagonal);
            if !CONTIGUOUS {
                bits.resumed = d.less(best);
                best = d.min(best);
            }
            *row = [L::load(cost).add(best), drop.add(kept)];
            above = kept;
        }
        all_dropped += paid;
    }
    let last = costs.steps() - 1;
    rows[last / LANES].map(|row| row.to_array()[last % LANES])
}

/// Follows the bits from the last step and second to the first.
fn walk_back(costs: &Costs, bits: &[Bits], cost: f64, mut is_drop: bool) -> Alignment {
    let (mut step, groups) = (costs.steps(), costs.stride() / LANES);
    let mut alignment = Alignment::new(cost, step, costs.seconds());
    for second in (1..=costs.seconds()).rev() {
        alignment.push(step, second, step > 0 && !is_drop);
        if step == 0 {
            continue;
        }
        let at = |step: usize| {
            let Bits { dropped, stayed, resumed } =
                bits[(second - 1) * groups + (step - 1) / LANES];
            [dropped, stayed, resumed].map(|mask| mask >> ((step - 1) % LANES) & 1 == 1)
        };
        let [dropped, stayed, resumed] = at(step);
        if is_drop {
            is_drop = dropped;
        } else if resumed {
            is_drop = true;
        } else if !stayed {
            step -= 1;
            is_drop = step > 0 && at(step)[0];
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
        fn every_version_gives_what_the_general_programme_gives(
            steps in 1usize..70, more in 0usize..40, contiguous: bool,
            numbers in prop::collection::vec(0u8..5, 70 * 110 + 110)
        ) {
            let seconds = steps + more;
            let numbers: Vec<f64> = numbers.iter().map(|x| f64::from(*x)).collect();
            let (matching, drop) = numbers[..(steps + 1) * seconds].split_at(steps * seconds);
            let costs = Costs::new(matching.to_vec(), drop.to_vec()).unwrap();
            let options = AlignOptions { exclusive: true, contiguous };
            let general = states::align(&costs, None, &options);
            for forward in versions() {
                prop_assert_eq!(&align_by(forward, &costs, contiguous), &general);
            }
        }
    }
}
