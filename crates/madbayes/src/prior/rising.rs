//! Rising factorials x (x+1) ... (x+n-1) of a mass x known by its logarithm, since x = exp(-penalty/(2 s2)) underflows.

use crate::special::ln_gamma;

/// Above this, x and its Gamma functions are handled by Stirling's series: its error there is below 1e-17.
const LARGE: f64 = 100.0;

/// log[(x+1)(x+2)...(x+n-1)] = lgamma(x+n) - lgamma(x+1), x = exp(ln_x), n >= 1: the rising factorial without
/// its first factor. Right for ln_x = -1e6 and 1e6 alike.
pub(super) fn ln_rising_rest(ln_x: f64, n: usize) -> f64 {
    debug_assert!(n >= 1, "the first factor is left out, so there must be one");
    let x = ln_x.exp();
    let more = n as f64 - 1.0;
    if x < LARGE {
        ln_gamma(x + n as f64) - ln_gamma(x + 1.0)
    } else if ln_x > 80.0 {
        // x + n and x are the same number for any n < 2^32.
        more * ln_x
    } else {
        // The difference of two Stirling series, with the large terms cancelled by hand.
        let from = x + 1.0;
        let to = x + n as f64;
        more * from.ln() + (to - 0.5) * (more / from).ln_1p() - more + stirling_rest(to) - stirling_rest(from)
    }
}

/// lgamma(x) - [(x - 1/2) log x - x + log(2 pi)/2], for large x.
fn stirling_rest(x: f64) -> f64 {
    let square = x * x;
    (1.0 / 12.0 - (1.0 / 360.0 - 1.0 / (1260.0 * square)) / square) / x
}

/// x/(x + n), x = exp(ln_mass): the chance that the next of n draws from an urn of mass x is a fresh one.
pub(super) fn fresh_probability(ln_mass: f64, n: usize) -> f64 {
    1.0 / (1.0 + ((n as f64).ln() - ln_mass).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rising_factorials_are_products_of_their_factors() {
        for ln_x in [-1e6, -700.0, -30.0, -1.0, 0.0, 1.5, 4.6, 4.61, 10.0, 30.0, 79.0, 81.0] {
            for n in [1usize, 2, 3, 10, 100, 5000] {
                let x = f64::exp(ln_x);
                let product: f64 = (1..n).map(|i| (x + i as f64).ln()).sum();
                let found = ln_rising_rest(ln_x, n);
                assert!((found - product).abs() <= 3e-14 * (product.abs() + n as f64), "{ln_x} {n}: {found} {product}");
            }
        }
        assert_eq!(ln_rising_rest(1e6, 4), 3e6);
    }

    #[test]
    fn the_chance_of_a_fresh_draw_neither_underflows_to_nan_nor_leaves_zero_to_one() {
        for (ln_mass, n, expected) in
            [(0.0, 0, 1.0), (0.0, 3, 0.25), (2f64.ln(), 6, 0.25), (-1e6, 0, 1.0), (-1e6, 1, 0.0), (1e6, 9, 1.0)]
        {
            let found = fresh_probability(ln_mass, n);
            assert!((found - expected).abs() < 1e-15, "{ln_mass} {n}: {found}");
        }
    }
}
