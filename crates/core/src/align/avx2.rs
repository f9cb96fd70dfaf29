//! Drop-DTW where a second shows at most one step, on processors with AVX2.
//!
//! A second then depends only on the one before it, so its steps are computed eight at a time. The
//! back pointers are the bits of the comparisons, three a cell.

use std::arch::x86_64::*;

use super::AlignError;
use super::alignment::Alignment;
use super::costs::{Costs, LANES};

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
#[target_feature(enable = "avx2")]
pub(super) fn align(costs: &Costs, contiguous: bool) -> Result<Alignment, AlignError> {
    let mut bits = vec![Bits::default(); costs.columns().len()];
    let (matched, dropped) = match contiguous {
        true => forward::<true>(costs, &mut bits),
        false => forward::<false>(costs, &mut bits),
    };
    let cost = matched.min(dropped);
    if !cost.is_finite() {
        return Err(AlignError::Impossible);
    }
    Ok(walk_back(costs, &bits, cost, dropped < matched))
}

/// M and D of the last step at the last second.
#[target_feature(enable = "avx2")]
fn forward<const CONTIGUOUS: bool>(costs: &Costs, bits: &mut [Bits]) -> (f64, f64) {
    let groups = costs.stride() / LANES;
    let mut matched = vec![Lanes::splat(f64::INFINITY); groups];
    let mut dropped = matched.clone();
    // The cost of dropping every second so far, before the first step.
    let mut all_dropped = 0.0;
    let columns = costs.columns().chunks_exact(groups);
    for ((column, paid), bits) in columns.zip(costs.drop()).zip(bits.chunks_exact_mut(groups)) {
        let drop = Lanes::splat(*paid);
        // The cheaper of M and D one second back, of the group above.
        let mut above = Lanes::splat(all_dropped);
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
            *matched = Lanes::load(cost).add(best);
            *dropped = drop.add(kept);
            above = kept;
        }
        all_dropped += paid;
    }
    let last = costs.steps() - 1;
    let at = |row: &[Lanes]| row[last / LANES].to_array()[last % LANES];
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

/// Eight costs. A mask has one bit per lane, the first lane in the lowest.
#[derive(Clone, Copy)]
struct Lanes(__m256d, __m256d);

impl Lanes {
    #[target_feature(enable = "avx2")]
    fn splat(x: f64) -> Self {
        Self(_mm256_set1_pd(x), _mm256_set1_pd(x))
    }

    #[target_feature(enable = "avx2")]
    fn load(from: &[f64; LANES]) -> Self {
        let at = from.as_ptr();
        // Safety: eight numbers are there.
        unsafe { Self(_mm256_loadu_pd(at), _mm256_loadu_pd(at.add(4))) }
    }

    #[target_feature(enable = "avx2")]
    fn to_array(self) -> [f64; LANES] {
        let mut array = [0.0; LANES];
        let at = array.as_mut_ptr();
        // Safety: there is room for eight numbers.
        unsafe {
            _mm256_storeu_pd(at, self.0);
            _mm256_storeu_pd(at.add(4), self.1);
        }
        array
    }

    #[target_feature(enable = "avx2")]
    fn add(self, other: Self) -> Self {
        Self(_mm256_add_pd(self.0, other.0), _mm256_add_pd(self.1, other.1))
    }

    #[target_feature(enable = "avx2")]
    fn min(self, other: Self) -> Self {
        Self(_mm256_min_pd(self.0, other.0), _mm256_min_pd(self.1, other.1))
    }

    /// The lanes in which `self < other`.
    #[target_feature(enable = "avx2")]
    fn less(self, other: Self) -> u8 {
        let low = _mm256_movemask_pd(_mm256_cmp_pd::<_CMP_LT_OQ>(self.0, other.0));
        let high = _mm256_movemask_pd(_mm256_cmp_pd::<_CMP_LT_OQ>(self.1, other.1));
        (low | high << 4) as u8
    }

    /// Every lane moves up by one; the last of `before` comes in first.
    #[target_feature(enable = "avx2")]
    fn shift_in(self, before: Self) -> Self {
        Self(shift_half(self.0, before.1), shift_half(self.1, self.0))
    }
}

/// The last of `before`, then the first three of `half`.
#[target_feature(enable = "avx2")]
fn shift_half(half: __m256d, before: __m256d) -> __m256d {
    let middle = _mm256_permute2f128_pd::<0x21>(before, half);
    _mm256_shuffle_pd::<0b0101>(middle, half)
}

#[cfg(test)]
mod tests {
    use super::super::{AlignOptions, states};
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Whole costs make many ties.
        #[test]
        fn gives_what_the_general_programme_gives(
            steps in 1usize..70, more in 0usize..40, contiguous: bool,
            numbers in prop::collection::vec(0u8..5, 70 * 110 + 110)
        ) {
            let seconds = steps + more;
            let numbers: Vec<f64> = numbers.iter().map(|x| f64::from(*x)).collect();
            let (matching, drop) = numbers[..(steps + 1) * seconds].split_at(steps * seconds);
            let costs = Costs::new(matching.to_vec(), drop.to_vec()).unwrap();
            let options = AlignOptions { exclusive: true, contiguous };
            let general = states::align(&costs, None, &options);
            if std::arch::is_x86_feature_detected!("avx2") {
                // Safety: the processor was asked.
                prop_assert_eq!(unsafe { align(&costs, contiguous) }, general);
            }
        }
    }
}
