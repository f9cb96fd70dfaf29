//! Eight costs at a time, in the widest registers that the processor has.

/// How many costs are computed together.
pub(super) const LANES: usize = 8;

/// Eight costs. A mask has one bit per lane, the first lane in the lowest.
pub(super) trait Lanes: Copy {
    fn load(from: &[f64; LANES]) -> Self;
    fn to_array(self) -> [f64; LANES];
    fn add(self, other: Self) -> Self;
    fn min(self, other: Self) -> Self;
    /// The lanes in which `self < other`.
    fn less(self, other: Self) -> u8;
    /// Every lane moves up by one; the last of `before` comes in first.
    fn shift_in(self, before: Self) -> Self;

    #[inline(always)]
    fn splat(x: f64) -> Self {
        Self::load(&[x; LANES])
    }
}

/// For every processor.
pub(super) type Plain = [f64; LANES];

impl Lanes for Plain {
    #[inline(always)]
    fn load(from: &[f64; LANES]) -> Self {
        *from
    }

    #[inline(always)]
    fn to_array(self) -> [f64; LANES] {
        self
    }

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        std::array::from_fn(|lane| self[lane] + other[lane])
    }

    #[inline(always)]
    fn min(self, other: Self) -> Self {
        std::array::from_fn(|i| if self[i] < other[i] { self[i] } else { other[i] })
    }

    #[inline(always)]
    fn less(self, other: Self) -> u8 {
        (0..LANES).fold(0, |mask, lane| mask | u8::from(self[lane] < other[lane]) << lane)
    }

    #[inline(always)]
    fn shift_in(self, before: Self) -> Self {
        std::array::from_fn(|i| if i == 0 { before[LANES - 1] } else { self[i - 1] })
    }
}

#[cfg(target_arch = "x86_64")]
pub(super) mod x86 {
    //! Safety of every block here: these types are only made inside functions that are entered
    //! after the processor was asked for the feature, and loads are from arrays of eight.

    use super::{LANES, Lanes};
    use std::arch::x86_64::*;

    pub(crate) type Avx512 = __m512d;

    impl Lanes for Avx512 {
        #[inline(always)]
        fn load(from: &[f64; LANES]) -> Self {
            unsafe { _mm512_loadu_pd(from.as_ptr()) }
        }

        #[inline(always)]
        fn to_array(self) -> [f64; LANES] {
            let mut array = [0.0; LANES];
            unsafe { _mm512_storeu_pd(array.as_mut_ptr(), self) };
            array
        }

        #[inline(always)]
        fn add(self, other: Self) -> Self {
            unsafe { _mm512_add_pd(self, other) }
        }

        #[inline(always)]
        fn min(self, other: Self) -> Self {
            unsafe { _mm512_min_pd(self, other) }
        }

        #[inline(always)]
        fn less(self, other: Self) -> u8 {
            unsafe { _mm512_cmp_pd_mask::<_CMP_LT_OQ>(self, other) }
        }

        #[inline(always)]
        fn shift_in(self, before: Self) -> Self {
            unsafe {
                let (high, low) = (_mm512_castpd_si512(self), _mm512_castpd_si512(before));
                _mm512_castsi512_pd(_mm512_alignr_epi64::<7>(high, low))
            }
        }
    }

    pub(crate) type Avx2 = [__m256d; 2];

    impl Lanes for Avx2 {
        #[inline(always)]
        fn load(from: &[f64; LANES]) -> Self {
            let at = from.as_ptr();
            unsafe { [_mm256_loadu_pd(at), _mm256_loadu_pd(at.add(4))] }
        }

        #[inline(always)]
        fn to_array(self) -> [f64; LANES] {
            let mut array = [0.0; LANES];
            unsafe {
                _mm256_storeu_pd(array.as_mut_ptr(), self[0]);
                _mm256_storeu_pd(array.as_mut_ptr().add(4), self[1]);
            }
            array
        }

        #[inline(always)]
        fn add(self, other: Self) -> Self {
            unsafe { [_mm256_add_pd(self[0], other[0]), _mm256_add_pd(self[1], other[1])] }
        }

        #[inline(always)]
        fn min(self, other: Self) -> Self {
            unsafe { [_mm256_min_pd(self[0], other[0]), _mm256_min_pd(self[1], other[1])] }
        }

        #[inline(always)]
        fn less(self, other: Self) -> u8 {
            let mask = |i: usize| unsafe {
                _mm256_movemask_pd(_mm256_cmp_pd::<_CMP_LT_OQ>(self[i], other[i]))
            };
            (mask(0) | mask(1) << 4) as u8
        }

        #[inline(always)]
        fn shift_in(self, before: Self) -> Self {
            unsafe { [shift_half(self[0], before[1]), shift_half(self[1], self[0])] }
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
