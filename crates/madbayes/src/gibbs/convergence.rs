//! Whether chains agree: rank-normalised split R-hat (Vehtari, Gelman, Simpson, Carpenter & Buerkner 2021, Sec. 4).

use statrs::distribution::{ContinuousCDF, Normal};

/// The larger of R-hat of the ranks and of the ranks of the distance from the median, every chain split in two. Near 1 the
/// chains agree; above 1.01 look closer, above 1.1 run longer. NaN for fewer than 4 values per chain or a value that is not
/// a number; 1 if all are equal.
pub fn split_r_hat(chains: &[&[f64]]) -> f64 {
    let length = chains.iter().map(|chain| chain.len()).min().unwrap_or(0);
    let half = length / 2;
    if half < 2 || chains.iter().any(|chain| chain.iter().any(|v| !v.is_finite())) {
        return f64::NAN;
    }
    let halves: Vec<f64> =
        chains.iter().flat_map(|chain| [&chain[..half], &chain[length - half..length]]).flatten().copied().collect();
    if halves.iter().all(|v| *v == halves[0]) {
        return 1.0;
    }
    let median = median(&halves);
    let folded: Vec<f64> = halves.iter().map(|v| (v - median).abs()).collect();
    r_hat(&rank_normalised(&halves), half).max(r_hat(&rank_normalised(&folded), half))
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

    #[test]
    fn ties_constants_and_short_chains_have_an_answer() {
        assert_eq!(split_r_hat(&[&[3.0; 10], &[3.0; 10]]), 1.0);
        assert_eq!(split_r_hat(&[&[3.0; 10], &[4.0; 10]]), f64::INFINITY);
        assert!(split_r_hat(&[&[1.0, 2.0, 3.0]]).is_nan());
        assert!(split_r_hat(&[&[1.0, 2.0, f64::NAN, 3.0]]).is_nan());
        assert!(split_r_hat(&[]).is_nan());
        // Normal scores worked by hand: ranks 1, 2.5, 2.5, 4 of 4.
        let scores = rank_normalised(&[1.0, 2.0, 2.0, 3.0]);
        assert!((scores[0] + scores[3]).abs() < 1e-12 && scores[1].abs() < 1e-12 && scores[1] == scores[2]);
        assert!((scores[3] - 1.049_131_397_963_971_4).abs() < 1e-9, "{}", scores[3]);
    }
}
