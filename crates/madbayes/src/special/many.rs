//! Log gamma and x log x of many numbers at once, in vector instructions (Stirling's series; fdlibm's logarithm).

use crate::linalg::{Kernel, multiply_add, on_this_processor};

const LANES: usize = 8;
type Block = [f64; LANES];

/// Stirling's series is used from here on; smaller arguments are first shifted up by it.
const SHIFT: f64 = 8.0;
/// B_2k / (2k (2k - 1)), k = 1..7; at 8 the next term is below 1e-15.
#[rustfmt::skip]
const STIRLING: [f64; 7] = [1.0 / 12.0, -1.0 / 360.0, 1.0 / 1260.0, -1.0 / 1680.0, 1.0 / 1188.0, -691.0 / 360_360.0, 1.0 / 156.0];
/// log(2 pi) / 2.
const HALF_LN_TAU: f64 = 0.918_938_533_204_672_7;

/// Replaces every number, positive and normal, by its log gamma.
pub fn ln_gammas(values: &mut [f64]) {
    on_this_processor(InPlace { values });
}

/// sum_i log Gamma(upper_i) - ln_lower_i, the numbers positive and normal.
pub fn sum_ln_gammas_less(upper: &[f64], ln_lower: &[f64]) -> f64 {
    on_this_processor(SumLess { upper, ln_lower })
}

/// sum_i x_i log x_i of numbers not below 0, with 0 log 0 = 0.
pub fn sum_x_ln_x(values: &[f64]) -> f64 {
    on_this_processor(SumXLnX { values })
}

/// log Gamma(x + n) - log Gamma(x) for x > 0 and n >= 0, without the loss of a difference of large numbers.
pub fn ln_gamma_ratio(x: f64, n: f64) -> f64 {
    if x < SHIFT {
        return super::ln_gamma(x + n) - super::ln_gamma(x);
    }
    let series = |x: f64| {
        let square = 1.0 / (x * x);
        STIRLING.iter().rev().fold(0.0, |sum, c| sum * square + c) / x
    };
    (x - 0.5) * (n / x).ln_1p() + n * ((x + n).ln() - 1.0) + series(x + n) - series(x)
}

struct InPlace<'a> {
    values: &'a mut [f64],
}

impl Kernel for InPlace<'_> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<const FUSED: bool, const WIDE: bool>(self) {
        let (blocks, tail) = self.values.as_chunks_mut::<LANES>();
        blocks.iter_mut().for_each(|block| *block = ln_gamma_block::<FUSED>(block));
        let mut last = [1.0; LANES];
        last[..tail.len()].copy_from_slice(tail);
        tail.copy_from_slice(&ln_gamma_block::<FUSED>(&last)[..tail.len()]);
    }
}

struct SumLess<'a> {
    upper: &'a [f64],
    ln_lower: &'a [f64],
}

impl Kernel for SumLess<'_> {
    type Output = f64;
    #[inline(always)]
    unsafe fn run<const FUSED: bool, const WIDE: bool>(self) -> f64 {
        let (upper, upper_tail) = self.upper.as_chunks::<LANES>();
        let (lower, lower_tail) = self.ln_lower.as_chunks::<LANES>();
        let mut sums = [0.0; LANES];
        for (upper, lower) in upper.iter().zip(lower) {
            let value = ln_gamma_block::<FUSED>(upper);
            for l in 0..LANES {
                sums[l] += value[l] - lower[l];
            }
        }
        let mut last = [1.0; LANES];
        last[..upper_tail.len()].copy_from_slice(upper_tail);
        let tail = ln_gamma_block::<FUSED>(&last);
        sums.iter().sum::<f64>() + tail.iter().zip(lower_tail).map(|(u, l)| u - l).sum::<f64>()
    }
}

struct SumXLnX<'a> {
    values: &'a [f64],
}

impl Kernel for SumXLnX<'_> {
    type Output = f64;
    #[inline(always)]
    unsafe fn run<const FUSED: bool, const WIDE: bool>(self) -> f64 {
        let (blocks, tail) = self.values.as_chunks::<LANES>();
        let mut last = [1.0; LANES];
        last[..tail.len()].copy_from_slice(tail);
        let mut sums = [0.0; LANES];
        for block in blocks.iter().chain([&last]) {
            // 0 times the logarithm of the least normal number is 0.
            let ln = ln_block::<FUSED>(&block.map(|x| x.max(f64::MIN_POSITIVE)));
            for l in 0..LANES {
                sums[l] = multiply_add::<FUSED>(block[l], ln[l], sums[l]);
            }
        }
        sums.iter().sum()
    }
}

/// (x - 1/2) log x - x + log(2 pi)/2 + series(1/x), after log Gamma(x) = log Gamma(x + 8) - log(x (x+1) .. (x+7)).
#[inline(always)]
fn ln_gamma_block<const FUSED: bool>(x: &Block) -> Block {
    if x.iter().all(|x| *x >= SHIFT) {
        return stirling_block::<FUSED>(x);
    }
    let (mut shifted, mut product) = (*x, [1.0; LANES]);
    for l in 0..LANES {
        let rising = (0..SHIFT as usize).map(|i| x[l] + i as f64).product();
        let small = x[l] < SHIFT;
        product[l] = if small { rising } else { 1.0 };
        shifted[l] = if small { x[l] + SHIFT } else { x[l] };
    }
    let (mut value, ln) = (stirling_block::<FUSED>(&shifted), ln_block::<FUSED>(&product));
    for l in 0..LANES {
        value[l] -= ln[l];
    }
    value
}

#[inline(always)]
fn stirling_block<const FUSED: bool>(x: &Block) -> Block {
    let ln = ln_block::<FUSED>(x);
    let mut value = [0.0; LANES];
    for l in 0..LANES {
        let inverse = 1.0 / x[l];
        let square = inverse * inverse;
        let mut series = STIRLING[6];
        for k in (0..6).rev() {
            series = multiply_add::<FUSED>(series, square, STIRLING[k]);
        }
        let rest = multiply_add::<FUSED>(series, inverse, HALF_LN_TAU - x[l]);
        value[l] = multiply_add::<FUSED>(x[l] - 0.5, ln[l], rest);
    }
    value
}

/// log x of positive normal numbers: x = 2^k m with m in [sqrt(1/2), sqrt 2), and the series of atanh for log m.
#[inline(always)]
fn ln_block<const FUSED: bool>(x: &Block) -> Block {
    /// The bits of about sqrt(1/2), and their distance from those of 1.
    const LOWEST: u64 = 0x3fe6_a09e_0000_0000;
    const UP: u64 = 0x3ff0_0000_0000_0000 - LOWEST;
    const MANTISSA: u64 = (1 << 52) - 1;
    /// 2^52: a small integer put into its last bits is that integer added.
    const TWO_52: u64 = 0x4330_0000_0000_0000;
    const LN_2_HIGH: f64 = 6.931_471_803_691_238e-1;
    const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;
    #[rustfmt::skip]
    const SERIES: [f64; 7] = [6.666_666_666_666_735e-1, 3.999_999_999_940_942e-1, 2.857_142_874_366_239e-1,
        2.222_219_843_214_978_4e-1, 1.818_357_216_161_805e-1, 1.531_383_769_920_937_3e-1, 1.479_819_860_511_658_6e-1];
    let mut value = [0.0; LANES];
    for l in 0..LANES {
        let bits = x[l].to_bits() + UP;
        let k = f64::from_bits((bits >> 52) | TWO_52) - (4_503_599_627_370_496.0 + 1023.0);
        let f = f64::from_bits((bits & MANTISSA) + LOWEST) - 1.0;
        let s = f / (2.0 + f);
        let z = s * s;
        let mut series = SERIES[6];
        for i in (0..6).rev() {
            series = multiply_add::<FUSED>(series, z, SERIES[i]);
        }
        let half = 0.5 * f * f;
        let low = multiply_add::<FUSED>(k, LN_2_LOW, s * multiply_add::<FUSED>(series, z, half));
        value[l] = multiply_add::<FUSED>(k, LN_2_HIGH, f - (half - low));
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::special::ln_gamma;

    /// Numbers over the whole range that counts have, and a length that leaves a rest.
    fn numbers() -> Vec<f64> {
        let spread = (0..4001).map(|i| 10f64.powf(-12.0 + 0.005 * f64::from(i)));
        spread.chain((1..60).map(f64::from)).chain([0.5, 7.999_999, 8.0, 1e-300, 1e15]).collect()
    }

    #[test]
    fn log_gammas_are_those_of_libm() {
        let x = numbers();
        let mut found = x.clone();
        ln_gammas(&mut found);
        for (x, found) in x.iter().zip(&found) {
            let expected = ln_gamma(*x);
            assert!((found - expected).abs() < 4e-15 * expected.abs().max(3.0), "{x}: {found} {expected}");
        }
        // The plain kernel too, whatever this processor has.
        let mut plain = x.clone();
        // SAFETY: nothing is claimed of the processor.
        unsafe { InPlace { values: &mut plain }.run::<false, false>() };
        for (a, b) in plain.iter().zip(&found) {
            assert!((a - b).abs() < 4e-15 * b.abs().max(3.0));
        }
        let lower: Vec<f64> = x.iter().map(|x| ln_gamma(x + 1.0)).collect();
        // log Gamma(x) - log Gamma(x + 1) = -log x.
        let expected: f64 = x.iter().map(|x| -x.ln()).sum();
        let scale: f64 = lower.iter().map(|l| l.abs()).fold(0.0, f64::max);
        assert!((sum_ln_gammas_less(&x, &lower) - expected).abs() < 1e-14 * scale);
    }

    #[test]
    fn sums_of_x_ln_x_are_the_plain_ones() {
        let mut x: Vec<f64> = numbers().into_iter().filter(|x| *x < 1e6).collect();
        x.extend([0.0, 1.0, 0.0]);
        let expected: f64 = x.iter().filter(|x| **x > 0.0).map(|x| x * x.ln()).sum();
        assert!((sum_x_ln_x(&x) - expected).abs() < 1e-13 * expected.abs());
        assert_eq!(sum_x_ln_x(&[]), 0.0);
    }

    #[test]
    fn ratios_of_gammas_are_rising_products() {
        for x in [1e-3, 0.7, 7.5, 8.0, 123.25, 1e6, 1e12] {
            let product: f64 = (0..5).map(|i| (x + f64::from(i)).ln()).sum();
            assert!((ln_gamma_ratio(x, 5.0) - product).abs() < 1e-14 * product.abs().max(1.0), "{x}");
            assert_eq!(ln_gamma_ratio(x, 0.0), 0.0);
        }
    }
}
