//! Eight costs at a time: in AVX2 registers where the processor has them.

/// How many costs go together.
pub(super) const LANES: usize = 8;

/// Eight costs. A mask has one bit per lane, the first lane in the lowest.
pub(super) trait Lanes: Copy {
    fn splat(x: f64) -> Self;
    fn load(from: &[f64; LANES]) -> Self;
    fn to_array(self) -> [f64; LANES];
    fn add(self, other: Self) -> Self;
    fn min(self, other: Self) -> Self;
    /// The lanes in which `self < other`.
    fn less(self, other: Self) -> u8;
    /// Every lane moves up by one; the last of `before` comes in first.
    fn shift_in(self, before: Self) -> Self;
}

#[derive(Clone, Copy)]
pub(super) struct Plain([f64; LANES]);

impl Lanes for Plain {
    #[inline(always)]
    fn splat(x: f64) -> Self {
        Self([x; LANES])
    }

    #[inline(always)]
    fn load(from: &[f64; LANES]) -> Self {
        Self(*from)
    }

    #[inline(always)]
    fn to_array(self) -> [f64; LANES] {
        self.0
    }

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self(std::array::from_fn(|lane| self.0[lane] + other.0[lane]))
    }

    #[inline(always)]
    fn min(self, other: Self) -> Self {
        let smaller = |lane: usize| {
            if self.0[lane] < other.0[lane] { self.0[lane] } else { other.0[lane] }
        };
        Self(std::array::from_fn(smaller))
    }

    #[inline(always)]
    fn less(self, other: Self) -> u8 {
        (0..LANES).fold(0, |mask, lane| mask | u8::from(self.0[lane] < other.0[lane]) << lane)
    }

    #[inline(always)]
    fn shift_in(self, before: Self) -> Self {
        Self(std::array::from_fn(
            |lane| if lane == 0 { before.0[LANES - 1] } else { self.0[lane - 1] },
        ))
    }
}

#[cfg(target_arch = "x86_64")]
pub(super) mod x86 {
    //! Safety of every block here: `Avx2` is only used inside functions that are entered after the
    //! processor was asked for the feature, and loads are from arrays of eight.

    use super::{LANES, Lanes};
    use std::arch::x86_64::*;

    #[derive(Clone, Copy)]
    pub(crate) struct Avx2(__m256d, __m256d);

    impl Lanes for Avx2 {
        #[inline(always)]
        fn splat(x: f64) -> Self {
            unsafe { Self(_mm256_set1_pd(x), _mm256_set1_pd(x)) }
        }

        #[inline(always)]
        fn load(from: &[f64; LANES]) -> Self {
            let at = from.as_ptr();
            unsafe { Self(_mm256_loadu_pd(at), _mm256_loadu_pd(at.add(4))) }
        }

        #[inline(always)]
        fn to_array(self) -> [f64; LANES] {
            let mut array = [0.0; LANES];
            unsafe {
                _mm256_storeu_pd(array.as_mut_ptr(), self.0);
                _mm256_storeu_pd(array.as_mut_ptr().add(4), self.1);
            }
            array
        }

        #[inline(always)]
        fn add(self, other: Self) -> Self {
            unsafe { Self(_mm256_add_pd(self.0, other.0), _mm256_add_pd(self.1, other.1)) }
        }

        #[inline(always)]
        fn min(self, other: Self) -> Self {
            unsafe { Self(_mm256_min_pd(self.0, other.0), _mm256_min_pd(self.1, other.1)) }
        }

        #[inline(always)]
        fn less(self, other: Self) -> u8 {
            unsafe {
                let low = _mm256_movemask_pd(_mm256_cmp_pd::<_CMP_LT_OQ>(self.0, other.0));
                let high = _mm256_movemask_pd(_mm256_cmp_pd::<_CMP_LT_OQ>(self.1, other.1));
                (low | high << 4) as u8
            }
        }

        #[inline(always)]
        fn shift_in(self, before: Self) -> Self {
            unsafe { Self(shift_half(self.0, before.1), shift_half(self.1, self.0)) }
        }
    }

    /// The last of `before`, then the first three of `half`.
    #[inline(always)]
    unsafe fn shift_half(half: __m256d, before: __m256d) -> __m256d {
        unsafe {
            let middle = _mm256_permute2f128_pd::<0x21>(before, half);
            _mm256_shuffle_pd::<0b0101>(middle, half)
        }
    }
}
