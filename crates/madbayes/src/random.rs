//! Random streams: one seed, an independent ChaCha8 stream for every restart, chain and purpose.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Gamma, Open01};
use serde::{Deserialize, Serialize};

/// The generator used everywhere: counter based, so its streams do not overlap.
pub type Rng = ChaCha8Rng;

/// What a stream is for. Streams of one seed are independent of each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// The i-th restart of a hard algorithm.
    Restart(u32),
    /// The i-th chain of a sampler.
    Chain(u32),
    /// Simulated data.
    Simulation,
    /// Draws from a prior.
    Prior,
    /// The i-th data set without structure that others are compared with.
    Reference(u32),
    /// Which rows are looked at first.
    Sample,
    /// Hyperplanes of an empty group.
    Pool,
    /// Hyperplanes of the i-th chain.
    Hyperplanes(u32),
    /// The hyperplane of the i-th cluster of an estimate.
    Estimate(u32),
    /// The weights that new states of the i-th chain take.
    Sticks(u32),
}

/// The stream of `seed` that belongs to `purpose`.
pub fn stream(seed: u64, purpose: Stream) -> Rng {
    let number = match purpose {
        Stream::Restart(i) => (1 << 32) | u64::from(i),
        Stream::Chain(i) => (2 << 32) | u64::from(i),
        Stream::Simulation => 3 << 32,
        Stream::Prior => 4 << 32,
        Stream::Reference(i) => (9 << 32) | u64::from(i),
        Stream::Sample => 10 << 32,
        Stream::Pool => 11 << 32,
        Stream::Hyperplanes(i) => (12 << 32) | u64::from(i),
        Stream::Estimate(i) => (13 << 32) | u64::from(i),
        Stream::Sticks(i) => (20 << 32) | u64::from(i),
    };
    let mut rng = Rng::seed_from_u64(seed);
    rng.set_stream(number);
    rng
}

/// Where a stream stands, to be saved and taken up again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RngState {
    seed: [u8; 32],
    stream: u64,
    /// 32-bit words drawn so far.
    words: u64,
}

impl From<&Rng> for RngState {
    fn from(rng: &Rng) -> Self {
        // 2^64 words take centuries.
        RngState { seed: rng.get_seed(), stream: rng.get_stream(), words: rng.get_word_pos() as u64 }
    }
}

impl From<RngState> for Rng {
    fn from(state: RngState) -> Self {
        let mut rng = Rng::from_seed(state.seed);
        rng.set_stream(state.stream);
        rng.set_word_pos(u128::from(state.words));
        rng
    }
}

/// An index drawn with probability proportional to exp(its log weight); one uniform number per draw.
///
/// Panics if every weight is zero: the caller always has one live choice.
pub fn draw_ln_weights(ln_weights: &[f64], rng: &mut impl rand::Rng) -> usize {
    let top = ln_weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    assert!(top > f64::NEG_INFINITY, "no choice has positive weight: {ln_weights:?}");
    let total: f64 = ln_weights.iter().map(|w| (w - top).exp()).sum();
    let mut left = rng.random::<f64>() * total;
    let mut last = 0;
    for (i, w) in ln_weights.iter().enumerate() {
        let weight = (w - top).exp();
        if weight > 0.0 {
            if left < weight {
                return i;
            }
            left -= weight;
            last = i;
        }
    }
    last
}

/// The logarithm of a draw from Gamma(shape, 1): finite even where a tiny shape makes the draw itself underflow.
pub fn draw_ln_gamma(shape: f64, rng: &mut Rng) -> f64 {
    let draw = |shape: f64, rng: &mut Rng| rng.sample(Gamma::new(shape, 1.0).expect("a positive shape")).ln();
    if shape >= 1.0 {
        return draw(shape, rng);
    }
    // Gamma(a) is Gamma(a + 1) times U^(1/a).
    let uniform: f64 = rng.sample(Open01);
    draw(shape + 1.0, rng) + uniform.ln() / shape
}

/// A draw x from Beta(a, b), and 1 - x, neither of them lost to rounding where the other is near 1.
pub fn draw_beta(a: f64, b: f64, rng: &mut Rng) -> (f64, f64) {
    let (x, y) = (draw_ln_gamma(a, rng), draw_ln_gamma(b, rng));
    (1.0 / (1.0 + (y - x).exp()), 1.0 / (1.0 + (x - y).exp()))
}

/// `wanted` of the numbers below n, rising, every choice of them equally likely: each is taken with the share of what is
/// still wanted in what is left (Knuth's selection sampling). All of them if that many are wanted.
pub fn choose_some(n: usize, wanted: usize, rng: &mut Rng) -> Vec<usize> {
    let mut chosen = Vec::with_capacity(wanted.min(n));
    for i in 0..n {
        if rng.random_range(0..n - i) < wanted - chosen.len() {
            chosen.push(i);
            if chosen.len() == wanted {
                break;
            }
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_of_one_seed_differ_and_repeat() {
        let first = |purpose| stream(7, purpose).random::<u64>();
        assert_eq!(first(Stream::Restart(0)), first(Stream::Restart(0)));
        let all =
            [Stream::Restart(0), Stream::Restart(1), Stream::Chain(0), Stream::Simulation, Stream::Prior].map(first);
        for (i, a) in all.iter().enumerate() {
            assert!(all[i + 1..].iter().all(|b| a != b));
        }
        assert_ne!(stream(7, Stream::Prior).random::<u64>(), stream(8, Stream::Prior).random::<u64>());
    }

    #[test]
    fn a_saved_stream_goes_on_where_it_stood() {
        let mut rng = stream(3, Stream::Chain(1));
        for words in 0..100 {
            let json = serde_json::to_string(&RngState::from(&rng)).unwrap();
            let mut again = Rng::from(serde_json::from_str::<RngState>(&json).unwrap());
            assert_eq!(again.random::<[u64; 20]>(), rng.clone().random::<[u64; 20]>(), "after {words} words");
            let _: u32 = rng.random();
        }
    }

    #[test]
    fn draws_follow_their_weights() {
        let weights = [0.5f64.ln() + 800.0, f64::NEG_INFINITY, 0.2f64.ln() + 800.0, 0.3f64.ln() + 800.0];
        let mut rng = stream(0, Stream::Simulation);
        let mut counts = [0usize; 4];
        for _ in 0..100_000 {
            counts[draw_ln_weights(&weights, &mut rng)] += 1;
        }
        for (count, p) in counts.iter().zip([0.5f64, 0.0, 0.2, 0.3]) {
            assert!((*count as f64 / 1e5 - p).abs() < 4.0 * (p * (1.0 - p) / 1e5).sqrt() + 1e-12);
        }
    }

    #[test]
    fn logarithms_of_gammas_and_betas_have_their_means_whatever_the_shape() {
        let mut rng = stream(0, Stream::Simulation);
        let n = 200_000;
        // Mean and variance of log Gamma(a): digamma and trigamma of a.
        for (shape, mean, variance) in [
            (0.01, -100.56088545786868, 10001.62121352835),
            (0.5, -1.96351002602142, 4.93480220054468),
            (3.0, 0.92278433509847, 0.39493406684823),
        ] {
            let sum: f64 = (0..n).map(|_| draw_ln_gamma(shape, &mut rng)).sum();
            let error = (sum / f64::from(n) - mean) / f64::sqrt(variance / f64::from(n));
            assert!(error.abs() < 4.0, "{shape}: {error}");
        }
        for (a, b) in [(1.0, 3.0), (1e-4, 3e-4), (50.0, 0.2)] {
            let sum: f64 = (0..n)
                .map(|_| {
                    let (x, rest) = draw_beta(a, b, &mut rng);
                    assert!((x + rest - 1.0).abs() < 1e-12);
                    x
                })
                .sum();
            let (mean, variance) = (a / (a + b), a * b / ((a + b) * (a + b) * (a + b + 1.0)));
            let error = (sum / f64::from(n) - mean) / f64::sqrt(variance / f64::from(n));
            assert!(error.abs() < 4.0, "{a} {b}: {error}");
        }
    }

    #[test]
    fn all_numbers_are_chosen_where_all_are_wanted_and_none_where_none_is() {
        let mut rng = stream(0, Stream::Sample);
        assert_eq!(choose_some(5, 5, &mut rng), [0, 1, 2, 3, 4]);
        assert_eq!(choose_some(3, 9, &mut rng), [0, 1, 2]);
        assert!(choose_some(5, 0, &mut rng).is_empty());
        let some = choose_some(1000, 40, &mut rng);
        assert!(some.len() == 40 && some.is_sorted() && some[0] != some[1]);
    }
}
