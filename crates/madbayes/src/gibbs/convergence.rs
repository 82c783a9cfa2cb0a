//! Whether chains agree and how much they say: rank-normalised split R-hat and effective sample size (Vehtari, Gelman,
//! Simpson, Carpenter & Buerkner 2021, Sec. 3-4).

use statrs::distribution::{ContinuousCDF, Normal};

/// The larger of R-hat of the ranks and of the ranks of the distance from the median, every chain split in two. Near 1 the
/// chains agree; above 1.01 look closer, above 1.1 run longer. NaN for fewer than 4 values per chain or a value that is not
/// a number; 1 if all are equal.
pub fn split_r_hat(chains: &[&[f64]]) -> f64 {
    let Some((halves, half)) = split(chains) else { return f64::NAN };
    if halves.iter().all(|v| *v == halves[0]) {
        return 1.0;
    }
    let median = median(&halves);
    let folded: Vec<f64> = halves.iter().map(|v| (v - median).abs()).collect();
    r_hat(&rank_normalised(&halves), half).max(r_hat(&rank_normalised(&folded), half))
}

/// The number of independent draws that would say as much about the middle of the distribution (bulk ESS): of the ranks,
/// every chain split in two. Below 100 per chain, means and quantiles are not to be trusted. NaN where R-hat is; the
/// number of draws if all are equal.
pub fn effective_sample_size(chains: &[&[f64]]) -> f64 {
    let Some((halves, half)) = split(chains) else { return f64::NAN };
    if halves.iter().all(|v| *v == halves[0]) {
        return halves.len() as f64;
    }
    sample_size(&rank_normalised(&halves), half)
}

/// M n / tau for M chains of length n: tau = 1 + 2 sum of autocorrelations rho_t, in pairs as long as these are positive and
/// made to fall (Geyer 1992), at least 1/log10(M n). rho_t = 1 - (W - mean autocovariance at lag t) / var+,
/// var+ = (n-1)/n W + B/n.
fn sample_size(values: &[f64], n: usize) -> f64 {
    let means: Vec<f64> = values.chunks_exact(n).map(mean).collect();
    let within = mean(&values.chunks_exact(n).map(variance).collect::<Vec<_>>());
    let total = (n - 1) as f64 / n as f64 * within + variance(&means);
    let autocovariance = |lag: usize| {
        let of_chain = |(chain, mean): (&[f64], &f64)| {
            chain.iter().zip(&chain[lag..]).map(|(a, b)| (a - mean) * (b - mean)).sum::<f64>() / n as f64
        };
        values.chunks_exact(n).zip(&means).map(of_chain).sum::<f64>() / means.len() as f64
    };
    let rho = |lag: usize| if lag == 0 { 1.0 } else { 1.0 - (within - autocovariance(lag)) / total };
    let mut pairs: Vec<f64> = vec![];
    let mut lag = 0;
    let last = loop {
        let (even, odd) = (rho(lag), rho(lag + 1));
        let enough = lag + 1 >= n.saturating_sub(3);
        if enough || even + odd <= 0.0 {
            break even;
        }
        // Initial monotone sequence: no pair above the one before.
        let limit = pairs.last().copied().unwrap_or(f64::INFINITY);
        pairs.push((even + odd).min(limit));
        lag += 2;
    };
    // The first half of the pair that ended the sequence, if it helps.
    let tau = -1.0 + 2.0 * pairs.iter().sum::<f64>() + last.max(0.0);
    let draws = values.len() as f64;
    draws / tau.max(1.0 / draws.log10())
}

/// The first and the second half of every chain one after another, and their length. None for fewer than 4 values per chain
/// or one that is not a number.
fn split(chains: &[&[f64]]) -> Option<(Vec<f64>, usize)> {
    let length = chains.iter().map(|chain| chain.len()).min().unwrap_or(0);
    let half = length / 2;
    if half < 2 || chains.iter().any(|chain| chain.iter().any(|v| !v.is_finite())) {
        return None;
    }
    let halves = chains.iter().flat_map(|chain| [&chain[..half], &chain[length - half..length]]);
    Some((halves.flatten().copied().collect(), half))
}

/// sqrt(((n-1)/n W + B/n) / W): W the mean variance within chains of length n, B/n the variance of their means. 1 if
/// nothing varies.
fn r_hat(values: &[f64], n: usize) -> f64 {
    let means: Vec<f64> = values.chunks_exact(n).map(mean).collect();
    let within = mean(&values.chunks_exact(n).map(variance).collect::<Vec<_>>());
    let between = variance(&means);
    if within == 0.0 && between == 0.0 {
        return 1.0;
    }
    // Chains that stand still at different values: their variance is only rounding.
    if within <= 1e-20 * between {
        return f64::INFINITY;
    }
    (((n - 1) as f64 / n as f64 * within + between) / within).sqrt()
}

/// Normal scores of the ranks, ties sharing their mean rank: Phi^-1((rank - 3/8) / (S + 1/4)).
fn rank_normalised(values: &[f64]) -> Vec<f64> {
    let normal = Normal::standard();
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut scores = vec![0.0; values.len()];
    let mut before = 0.0;
    for equal in order.chunk_by(|&a, &b| values[a] == values[b]) {
        let rank = before + 0.5 * (equal.len() as f64 + 1.0);
        before += equal.len() as f64;
        let score = normal.inverse_cdf((rank - 0.375) / (values.len() as f64 + 0.25));
        equal.iter().for_each(|&i| scores[i] = score);
    }
    scores
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// With divisor n - 1.
fn variance(values: &[f64]) -> f64 {
    let centre = mean(values);
    values.iter().map(|v| (v - centre).powi(2)).sum::<f64>() / (values.len() as f64 - 1.0)
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    if sorted.len().is_multiple_of(2) { 0.5 * (sorted[middle - 1] + sorted[middle]) } else { sorted[middle] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Stream, stream};
    use rand_distr::{Distribution, StandardNormal};
    use rstest::rstest;

    fn chain(n: usize, shift: f64, slope: f64, seed: u64) -> Vec<f64> {
        let mut rng = stream(seed, Stream::Simulation);
        (0..n)
            .map(|i| {
                let noise: f64 = StandardNormal.sample(&mut rng);
                shift + slope * i as f64 / n as f64 + noise
            })
            .collect()
    }

    #[test]
    fn chains_that_agree_are_near_1_and_others_are_not() {
        let [a, b] = [1, 2].map(|seed| chain(500, 0.0, 0.0, seed));
        assert!(split_r_hat(&[&a, &b]) < 1.01);
        let far = chain(500, 2.0, 0.0, 3);
        assert!(split_r_hat(&[&a, &far]) > 1.3, "another place");
        let wide: Vec<f64> = b.iter().map(|v| 4.0 * v).collect();
        assert!(split_r_hat(&[&a, &wide]) > 1.1, "the same place, another spread");
        let trend = chain(500, 0.0, 4.0, 4);
        assert!(split_r_hat(&[&trend]) > 1.3, "one chain that still climbs");
    }

    /// y_t = rho y_{t-1} + u_t - 1/2, u_t of the linear congruential generator of C: easy to repeat elsewhere.
    fn series(n: usize, seed: u64, rho: f64) -> Vec<f64> {
        let (mut x, mut y) = (seed, 0.0);
        (0..n)
            .map(|_| {
                x = (x * 1_103_515_245 + 12_345) % 2_147_483_648;
                y = rho * y + (x as f64 / 2_147_483_648.0 - 0.5);
                y
            })
            .collect()
    }

    // ArviZ 0.23.4: ess(chains, method="bulk") and rhat(chains, method="rank"), which it does not give for one chain.
    #[rstest]
    #[case::independent(vec![series(500, 1, 0.0), series(500, 2, 0.0)], 944.461202045197, Some(1.002859257845598))]
    #[case::sticky((1..=4).map(|seed| series(500, seed, 0.9)).collect(), 134.7078332355111, Some(1.0189851160405274))]
    #[case::antithetic(vec![series(501, 5, -0.6), series(501, 6, -0.6)], 3000.0, Some(1.0032002798483242))]
    #[case::one_chain(vec![series(100, 9, 0.5)], 13.573076356980911, None)]
    #[case::ties(
        [1, 2].map(|seed| series(300, seed, 0.8).iter().map(|y| (4.0 * y).floor()).collect()).into(),
        99.85485794716993,
        Some(1.0213083554858116)
    )]
    #[case::apart(
        vec![series(200, 1, 0.5), series(200, 2, 0.5).iter().map(|y| y + 1.0).collect()],
        3.2806982205914372,
        Some(1.719094345434183)
    )]
    fn values_are_those_of_arviz(#[case] chains: Vec<Vec<f64>>, #[case] size: f64, #[case] r_hat: Option<f64>) {
        let chains: Vec<&[f64]> = chains.iter().map(Vec::as_slice).collect();
        let found = effective_sample_size(&chains);
        assert!((found - size).abs() < 1e-6 * size, "{found} {size}");
        if let Some(r_hat) = r_hat {
            let found = split_r_hat(&chains);
            assert!((found - r_hat).abs() < 1e-6, "{found} {r_hat}");
        }
    }

    #[test]
    fn ties_constants_and_short_chains_have_an_answer() {
        assert_eq!(split_r_hat(&[&[3.0; 10], &[3.0; 10]]), 1.0);
        assert_eq!(split_r_hat(&[&[3.0; 10], &[4.0; 10]]), f64::INFINITY);
        assert!(split_r_hat(&[&[1.0, 2.0, 3.0]]).is_nan());
        assert!(split_r_hat(&[&[1.0, 2.0, f64::NAN, 3.0]]).is_nan());
        assert!(split_r_hat(&[]).is_nan());
        assert_eq!(effective_sample_size(&[&[3.0; 10], &[3.0; 10]]), 20.0);
        assert!(effective_sample_size(&[&[1.0, 2.0, 3.0]]).is_nan());
        assert!(effective_sample_size(&[&[1.0, 2.0, 4.0, 3.0]]).is_finite());
        // Normal scores worked by hand: ranks 1, 2.5, 2.5, 4 of 4.
        let scores = rank_normalised(&[1.0, 2.0, 2.0, 3.0]);
        assert!((scores[0] + scores[3]).abs() < 1e-12 && scores[1].abs() < 1e-12 && scores[1] == scores[2]);
        assert!((scores[3] - 1.049_131_397_963_971_4).abs() < 1e-9, "{}", scores[3]);
    }
}
