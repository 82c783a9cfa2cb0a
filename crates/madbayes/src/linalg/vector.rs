//! Vectors of numbers as the processor has them: just the operations that nearest centres, seeds and splits need.
//!
//! Plain loops over arrays are at the mercy of the compiler here: a small change elsewhere made the kernel 12 times
//! slower. With the instructions named, the scores stay in registers.

use crate::data::Real;

/// Bytes that come from memory at once.
pub(crate) const LINE: usize = 64;

/// Numbers side by side in one register.
///
/// # Safety
/// All operations need the processor's instructions for the type: call them only inside a kernel that
/// [`on_this_processor`](super::on_this_processor) runs with them. `load`, `store` and `store_whole` touch
/// `LANES` numbers, `turned` as many in every row.
pub trait Vector: Copy {
    /// Its numbers.
    type Number: Real;
    /// How many.
    const LANES: usize;
    /// The same number in all lanes.
    unsafe fn splat(value: Self::Number) -> Self;
    /// Reads from memory, aligned or not.
    unsafe fn load(from: *const Self::Number) -> Self;
    /// Writes to memory, aligned or not.
    unsafe fn store(self, to: *mut Self::Number);
    /// self * factor + addend.
    unsafe fn multiply_add(self, factor: Self, addend: Self) -> Self;
    /// In each lane: `yes` where self > other, else `no`.
    unsafe fn where_greater(self, other: Self, yes: Self, no: Self) -> Self;
    /// In each lane the smaller of the two.
    unsafe fn smaller(self, other: Self) -> Self;
    /// In each lane the larger of the two.
    unsafe fn larger(self, other: Self) -> Self;
    /// The square root of each, which is not below 0.
    unsafe fn square_root(self) -> Self;
    /// The numbers of both in turns: a0 b0 a1 b1 .., the first half and the second.
    unsafe fn interleave(self, other: Self) -> [Self; 2];
    /// The first `LANES` numbers of as many rows, turned: the i-th of all rows in the i-th vector. A square is turned by interleaving
    /// its first half with its second, as often as its side can be halved.
    #[inline(always)]
    unsafe fn turned(row: impl Fn(usize) -> *const Self::Number) -> [Self; 16] {
        // SAFETY: the caller vouches for the instructions and for whole vectors in every row.
        unsafe {
            let mut square = [Self::splat(Self::Number::default()); 16];
            for i in 0..Self::LANES {
                square[i] = Self::load(row(i));
            }
            for _ in 0..Self::LANES.ilog2() {
                let before = square;
                for i in 0..Self::LANES / 2 {
                    [square[2 * i], square[2 * i + 1]] = before[i].interleave(before[i + Self::LANES / 2]);
                }
            }
            square
        }
    }
    /// Whether self > other in all lanes.
    unsafe fn all_greater(self, other: Self) -> bool;
    /// Writes whole numbers, which are at least 0 and below 2^31.
    unsafe fn store_whole(self, to: *mut u32);
}

/// Asks for the line that a number stands in, which may be anywhere.
#[inline(always)]
pub(crate) fn fetch<T>(place: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 processor has this instruction, and it reads nothing.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(place.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
}

/// The vectors of a number type: with 64-byte registers, with 32-byte registers, and on any processor.
pub trait Lanes: Sized {
    /// For processors with 32 registers of 64 bytes.
    type Wide: Vector<Number = Self>;
    /// For processors with 16 registers of 32 bytes and fused multiply-add.
    type Narrow: Vector<Number = Self>;
    /// For all others.
    type Plain: Vector<Number = Self>;
    /// Eight numbers as float64.
    ///
    /// # Safety
    /// `FUSED` only inside a kernel that runs with it.
    unsafe fn widen<const FUSED: bool>(numbers: &[Self; 8]) -> [f64; 8];
    /// Up to 16 sums of two numbers each as float32, 0 where a bit is not set.
    ///
    /// # Safety
    /// Only with AVX-512; the numbers whose bits are set can be read.
    #[cfg(target_arch = "x86_64")]
    unsafe fn sixteen_sums(first: *const Self, second: *const Self, which: u16) -> std::arch::x86_64::__m512;
}

/// Four numbers in an array: what every processor can do.
#[derive(Clone, Copy)]
pub struct Four<T, const FUSED: bool>([T; 4]);

impl<T: Real, const FUSED: bool> Vector for Four<T, FUSED> {
    type Number = T;
    const LANES: usize = 4;
    #[inline(always)]
    unsafe fn splat(value: T) -> Self {
        Four([value; 4])
    }
    #[inline(always)]
    unsafe fn load(from: *const T) -> Self {
        // SAFETY: the caller vouches for four readable numbers.
        Four(unsafe { from.cast::<[T; 4]>().read_unaligned() })
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut T) {
        // SAFETY: the caller vouches for room for four numbers.
        unsafe { to.cast::<[T; 4]>().write_unaligned(self.0) }
    }
    #[inline(always)]
    unsafe fn multiply_add(self, factor: Self, addend: Self) -> Self {
        let one = |l: usize| {
            let (x, a, b) = (self.0[l], factor.0[l], addend.0[l]);
            if FUSED { x.fused_mul_add(a, b) } else { x * a + b }
        };
        Four([one(0), one(1), one(2), one(3)])
    }
    #[inline(always)]
    unsafe fn where_greater(self, other: Self, yes: Self, no: Self) -> Self {
        let one = |l: usize| if self.0[l] > other.0[l] { yes.0[l] } else { no.0[l] };
        Four([one(0), one(1), one(2), one(3)])
    }
    #[inline(always)]
    unsafe fn smaller(self, other: Self) -> Self {
        // SAFETY: arrays need no special instructions.
        unsafe { self.where_greater(other, other, self) }
    }
    #[inline(always)]
    unsafe fn larger(self, other: Self) -> Self {
        // SAFETY: arrays need no special instructions.
        unsafe { self.where_greater(other, self, other) }
    }
    #[inline(always)]
    unsafe fn square_root(self) -> Self {
        Four(self.0.map(|x| T::from_f64(x.into().sqrt())))
    }
    #[inline(always)]
    unsafe fn interleave(self, other: Self) -> [Self; 2] {
        let (a, b) = (self.0, other.0);
        [Four([a[0], b[0], a[1], b[1]]), Four([a[2], b[2], a[3], b[3]])]
    }
    #[inline(always)]
    unsafe fn all_greater(self, other: Self) -> bool {
        (0..4).all(|l| self.0[l] > other.0[l])
    }
    #[inline(always)]
    unsafe fn store_whole(self, to: *mut u32) {
        // SAFETY: the caller vouches for room for four numbers.
        unsafe { to.cast::<[u32; 4]>().write_unaligned(self.0.map(|x| x.into() as u32)) }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{Four, Lanes, Vector};
    use std::arch::x86_64::*;

    /// One vector type by its instructions; behind `sqrt` stands what `where_greater` does with (self, other, yes, no),
    /// `interleave` and `all_greater` with (self, other), `store_whole` with (self, to), and how rows are turned, where it has a way of its own.
    macro_rules! vector {
        ($vector:ty, $number:ty, $lanes:literal, $splat:ident, $load:ident, $store:ident, $multiply_add:ident, $min:ident, $max:ident,
         $sqrt:ident, |$a:ident, $b:ident, $yes:ident, $no:ident| $choice:expr, |$first:ident, $second:ident| $turns:expr,
         |$high:ident, $low:ident| $all:expr, |$whole:ident, $to:ident| $store_whole:expr $(, $turned:ident)?) => {
            impl Vector for $vector {
                type Number = $number;
                const LANES: usize = $lanes;
                #[inline(always)]
                unsafe fn splat(value: $number) -> Self {
                    // SAFETY: the caller runs on a processor with this instruction.
                    unsafe { $splat(value) }
                }
                #[inline(always)]
                unsafe fn load(from: *const $number) -> Self {
                    // SAFETY: as above, and the caller vouches for the memory.
                    unsafe { $load(from) }
                }
                #[inline(always)]
                unsafe fn store(self, to: *mut $number) {
                    // SAFETY: as above, and the caller vouches for the memory.
                    unsafe { $store(to, self) }
                }
                #[inline(always)]
                unsafe fn multiply_add(self, factor: Self, addend: Self) -> Self {
                    // SAFETY: the caller runs on a processor with this instruction.
                    unsafe { $multiply_add(self, factor, addend) }
                }
                #[inline(always)]
                unsafe fn where_greater(self, $b: Self, $yes: Self, $no: Self) -> Self {
                    let $a = self;
                    // SAFETY: the caller runs on a processor with these instructions.
                    unsafe { $choice }
                }
                #[inline(always)]
                unsafe fn smaller(self, other: Self) -> Self {
                    // SAFETY: the caller runs on a processor with this instruction.
                    unsafe { $min(self, other) }
                }
                #[inline(always)]
                unsafe fn larger(self, other: Self) -> Self {
                    // SAFETY: the caller runs on a processor with this instruction.
                    unsafe { $max(self, other) }
                }
                #[inline(always)]
                unsafe fn square_root(self) -> Self {
                    // SAFETY: the caller runs on a processor with this instruction.
                    unsafe { $sqrt(self) }
                }
                #[inline(always)]
                unsafe fn interleave(self, $second: Self) -> [Self; 2] {
                    let $first = self;
                    // SAFETY: the caller runs on a processor with these instructions.
                    unsafe { $turns }
                }
                #[inline(always)]
                unsafe fn all_greater(self, $low: Self) -> bool {
                    let $high = self;
                    // SAFETY: the caller runs on a processor with these instructions.
                    unsafe { $all }
                }
                #[inline(always)]
                unsafe fn store_whole(self, $to: *mut u32) {
                    let $whole = self;
                    // SAFETY: as above, and the caller vouches for the memory.
                    unsafe { $store_whole }
                }
                $(
                    #[inline(always)]
                    unsafe fn turned(row: impl Fn(usize) -> *const $number) -> [Self; 16] {
                        // SAFETY: as above.
                        unsafe { $turned(row) }
                    }
                )?
            }
        };
    }

    #[rustfmt::skip]
    mod kinds {
        use super::*;
        vector!(__m256, f32, 8, _mm256_set1_ps, _mm256_loadu_ps, _mm256_storeu_ps, _mm256_fmadd_ps, _mm256_min_ps, _mm256_max_ps,
            _mm256_sqrt_ps, |a, b, yes, no| _mm256_blendv_ps(no, yes, _mm256_cmp_ps::<_CMP_GT_OQ>(a, b)),
            |a, b| {
                let (low, high) = (_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b));
                [_mm256_permute2f128_ps::<0x20>(low, high), _mm256_permute2f128_ps::<0x31>(low, high)]
            },
            |a, b| _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_GT_OQ>(a, b)) == 0xff,
            |x, to| _mm256_storeu_si256(to.cast(), _mm256_cvttps_epi32(x)));
        vector!(__m256d, f64, 4, _mm256_set1_pd, _mm256_loadu_pd, _mm256_storeu_pd, _mm256_fmadd_pd, _mm256_min_pd, _mm256_max_pd,
            _mm256_sqrt_pd, |a, b, yes, no| _mm256_blendv_pd(no, yes, _mm256_cmp_pd::<_CMP_GT_OQ>(a, b)),
            |a, b| {
                let (low, high) = (_mm256_unpacklo_pd(a, b), _mm256_unpackhi_pd(a, b));
                [_mm256_permute2f128_pd::<0x20>(low, high), _mm256_permute2f128_pd::<0x31>(low, high)]
            },
            |a, b| _mm256_movemask_pd(_mm256_cmp_pd::<_CMP_GT_OQ>(a, b)) == 0xf,
            |x, to| _mm_storeu_si128(to.cast(), _mm256_cvttpd_epi32(x)));
        vector!(__m512, f32, 16, _mm512_set1_ps, _mm512_loadu_ps, _mm512_storeu_ps, _mm512_fmadd_ps, _mm512_min_ps, _mm512_max_ps,
            _mm512_sqrt_ps, |a, b, yes, no| _mm512_mask_blend_ps(_mm512_cmp_ps_mask::<_CMP_GT_OQ>(a, b), no, yes),
            |a, b| {
                let low = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
                let high = _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
                [_mm512_permutex2var_ps(a, low, b), _mm512_permutex2var_ps(a, high, b)]
            },
            |a, b| _mm512_cmp_ps_mask::<_CMP_GT_OQ>(a, b) == 0xffff,
            |x, to| _mm512_storeu_si512(to.cast(), _mm512_cvttps_epi32(x)), quarters_turned);
        vector!(__m512d, f64, 8, _mm512_set1_pd, _mm512_loadu_pd, _mm512_storeu_pd, _mm512_fmadd_pd, _mm512_min_pd, _mm512_max_pd,
            _mm512_sqrt_pd, |a, b, yes, no| _mm512_mask_blend_pd(_mm512_cmp_pd_mask::<_CMP_GT_OQ>(a, b), no, yes),
            |a, b| {
                let low = _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11);
                let high = _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15);
                [_mm512_permutex2var_pd(a, low, b), _mm512_permutex2var_pd(a, high, b)]
            },
            |a, b| _mm512_cmp_pd_mask::<_CMP_GT_OQ>(a, b) == 0xff,
            |x, to| _mm256_storeu_si256(to.cast(), _mm512_cvttpd_epi32(x)));
    }

    /// [`Vector::turned`] of 16 rows: four rows' quarters are put side by side as they are read, which more parts of the processor can do
    /// than permutations; then every square of 4 x 4 is turned by itself.
    ///
    /// # Safety
    /// Only with AVX-512; every row has 16 numbers.
    #[inline(always)]
    unsafe fn quarters_turned(row: impl Fn(usize) -> *const f32) -> [__m512; 16] {
        // SAFETY: the caller vouches for the instructions and for the memory.
        unsafe {
            let mut square = [_mm512_setzero_ps(); 16];
            for quarter in 0..4 {
                let four = |i: usize| _mm_loadu_ps(row(i).add(4 * quarter));
                let mut rows = [_mm512_setzero_ps(); 4];
                for i in 0..4 {
                    let mut side = _mm512_castps128_ps512(four(i));
                    side = _mm512_mask_broadcast_f32x4(side, 0x00f0, four(i + 4));
                    side = _mm512_mask_broadcast_f32x4(side, 0x0f00, four(i + 8));
                    rows[i] = _mm512_mask_broadcast_f32x4(side, 0xf000, four(i + 12));
                }
                let low = |a, b| _mm512_castps_pd(_mm512_unpacklo_ps(a, b));
                let high = |a, b| _mm512_castps_pd(_mm512_unpackhi_ps(a, b));
                let (first, second) = (low(rows[0], rows[1]), low(rows[2], rows[3]));
                let (third, fourth) = (high(rows[0], rows[1]), high(rows[2], rows[3]));
                square[4 * quarter] = _mm512_castpd_ps(_mm512_unpacklo_pd(first, second));
                square[4 * quarter + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(first, second));
                square[4 * quarter + 2] = _mm512_castpd_ps(_mm512_unpacklo_pd(third, fourth));
                square[4 * quarter + 3] = _mm512_castpd_ps(_mm512_unpackhi_pd(third, fourth));
            }
            square
        }
    }

    impl Lanes for f32 {
        type Wide = __m512;
        type Narrow = __m256;
        type Plain = Four<f32, false>;
        #[inline(always)]
        unsafe fn widen<const FUSED: bool>(numbers: &[f32; 8]) -> [f64; 8] {
            if !FUSED {
                return numbers.map(f64::from);
            }
            // SAFETY: a fused kernel runs with AVX2, and two vectors of four are eight numbers.
            unsafe {
                let low = _mm256_cvtps_pd(_mm_loadu_ps(numbers.as_ptr()));
                let high = _mm256_cvtps_pd(_mm_loadu_ps(numbers.as_ptr().add(4)));
                std::mem::transmute::<[__m256d; 2], [f64; 8]>([low, high])
            }
        }
        #[inline(always)]
        unsafe fn sixteen_sums(first: *const f32, second: *const f32, which: u16) -> __m512 {
            // SAFETY: the caller vouches for the instructions and the memory.
            unsafe { _mm512_add_ps(_mm512_maskz_loadu_ps(which, first), _mm512_maskz_loadu_ps(which, second)) }
        }
    }

    impl Lanes for f64 {
        type Wide = __m512d;
        type Narrow = __m256d;
        type Plain = Four<f64, false>;
        #[inline(always)]
        unsafe fn widen<const FUSED: bool>(numbers: &[f64; 8]) -> [f64; 8] {
            *numbers
        }
        #[inline(always)]
        unsafe fn sixteen_sums(first: *const f64, second: *const f64, which: u16) -> __m512 {
            // SAFETY: the caller vouches for the instructions and the memory; what lies beyond is not touched.
            unsafe {
                let eight = |which: u8, from: usize| {
                    let (first, second) = (first.wrapping_add(from), second.wrapping_add(from));
                    let sum = _mm512_add_pd(_mm512_maskz_loadu_pd(which, first), _mm512_maskz_loadu_pd(which, second));
                    _mm256_castps_pd(_mm512_cvtpd_ps(sum))
                };
                let low = _mm512_castpd256_pd512(eight(which as u8, 0));
                _mm512_castpd_ps(_mm512_insertf64x4::<1>(low, eight((which >> 8) as u8, 8)))
            }
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod other {
    use super::{Four, Lanes};

    impl Lanes for f32 {
        type Wide = Four<f32, true>;
        type Narrow = Four<f32, true>;
        type Plain = Four<f32, false>;
        unsafe fn widen<const FUSED: bool>(numbers: &[f32; 8]) -> [f64; 8] {
            numbers.map(Into::into)
        }
    }

    impl Lanes for f64 {
        type Wide = Four<f64, true>;
        type Narrow = Four<f64, true>;
        type Plain = Four<f64, false>;
        unsafe fn widen<const FUSED: bool>(numbers: &[f64; 8]) -> [f64; 8] {
            numbers.map(Into::into)
        }
    }
}
