//! A largest number of groups for the Chinese restaurant process: p(z) = CRP(z) [K <= C] / P(K <= C | theta, N).
//!
//! P(K <= C) = sum over k = 1..C of theta^(k-1) e_{k-1} / prod over i = 1..N-1 of (1 + theta/i), where e_j is the j-th
//! elementary symmetric polynomial of 1, 1/2, ..., 1/(N-1): (N-1)! e_{k-1} is the Stirling number |s(N, k)|.

use super::rising::ln_rising_rest;
use crate::special::{ln_factorial, ln_sum_exp};

/// At most `most` groups among `n_rows` rows.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Cap {
    /// C.
    pub most: usize,
    n_rows: usize,
    /// log e_j for j = 0..min(C, N)-1; none where every number of groups is allowed.
    ln_symmetric: Option<Vec<f64>>,
}

impl Cap {
    /// In O(N C) additions, once.
    pub fn new(most: usize, n_rows: usize) -> Self {
        let ln_symmetric = (most < n_rows).then(|| ln_elementary_symmetric(n_rows, most));
        Cap { most, n_rows, ln_symmetric }
    }

    /// log P(K <= C | theta, N).
    pub fn ln_allowed(&self, ln_theta: f64) -> f64 {
        let Some(ln_symmetric) = &self.ln_symmetric else { return 0.0 };
        let terms: Vec<f64> = ln_symmetric.iter().enumerate().map(|(j, e)| j as f64 * ln_theta + e).collect();
        ln_sum_exp(&terms) + ln_factorial(self.n_rows - 1) - ln_rising_rest(ln_theta, self.n_rows)
    }
}

/// log e_0, .., log e_{count-1} of 1, 1/2, .., 1/(N-1), by e_j(n) = e_j(n-1) + e_{j-1}(n-1)/n.
///
/// e_j may be far above and below what a number holds, so each has a scale of its own: e_j = value exp(ln_scale). They only
/// grow, and not so fast that looking every 64 steps were too late.
fn ln_elementary_symmetric(n_rows: usize, count: usize) -> Vec<f64> {
    let (mut value, mut ln_scale) = (vec![1.0f64], vec![0.0f64]);
    // What a value of the scale before is worth on the next scale.
    let mut ratio = vec![0.0f64];
    for n in 1..n_rows {
        let inverse = 1.0 / n as f64;
        for j in (1..value.len()).rev() {
            value[j] += value[j - 1] * ratio[j] * inverse;
        }
        if value.len() < count {
            // e_n(n) = 1/n!, and before the step that was e_{n-1}(n-1).
            ln_scale.push(-ln_factorial(n));
            value.push(1.0);
            ratio.push((ln_scale[n - 1] - ln_scale[n]).exp());
        }
        if n % 64 == 0 {
            for j in 1..value.len() {
                if value[j] > 1e100 {
                    ln_scale[j] += value[j].ln();
                    value[j] = 1.0;
                }
                ratio[j] = (ln_scale[j - 1] - ln_scale[j]).exp();
            }
        }
    }
    value.iter().zip(ln_scale).map(|(value, scale)| value.ln() + scale).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prior::{Crp, CrpSeats, Seats};
    use crate::structure::Partition;
    use rstest::rstest;

    /// P(K <= most) as the sum of independent table openings with probability theta/(theta+i).
    fn by_convolution(theta: f64, n: usize, most: usize) -> f64 {
        let mut law = vec![0.0; most + 1];
        law[0] = 1.0;
        for i in 0..n {
            let fresh = theta / (theta + i as f64);
            for k in (0..=most).rev() {
                law[k] = law[k] * (1.0 - fresh) + if k > 0 { law[k - 1] * fresh } else { 0.0 };
            }
        }
        law.iter().sum()
    }

    #[rstest]
    #[case(0.3, 1, 1)]
    #[case(0.3, 7, 2)]
    #[case(5.0, 100, 20)]
    #[case(0.5, 5000, 3)]
    #[case(20.0, 3000, 90)]
    #[case(400.0, 20_000, 1500)]
    #[case(1.0, 10, 10)]
    #[case(1.0, 10, 12)]
    fn the_share_of_allowed_partitions_is_that_of_a_convolution(
        #[case] theta: f64,
        #[case] n: usize,
        #[case] most: usize,
    ) {
        let (found, expected) = (Cap::new(most, n).ln_allowed(theta.ln()), by_convolution(theta, n, most).ln());
        assert!((found - expected).abs() < 1e-8 * (1.0 + expected.abs()), "{found} {expected}");
    }

    #[test]
    fn capped_probabilities_sum_to_1_and_weights_are_their_conditionals() {
        for (most, ln_theta) in [(1, 0.3), (2, -1.0), (3, 1.2), (6, 0.0)] {
            let empty = || CrpSeats::new(ln_theta, 1.0).capped(most, 6);
            let seat = |partition: &Partition| {
                let mut seats = empty();
                (0..partition.n_groups()).for_each(|_| seats.open());
                partition.labels().iter().enumerate().for_each(|(row, &group)| seats.joined(group as usize, row));
                seats
            };
            let allowed: Vec<Partition> = Partition::all(6).filter(|p| p.n_groups() <= most).collect();
            let total: f64 = allowed.iter().map(|p| seat(p).ln_prob().exp()).sum();
            assert!((total - 1.0).abs() < 1e-12, "{total}");
            for partition in &allowed {
                let mut seats = seat(partition);
                // Row 0 goes out; it was in group 0.
                seats.left(0, 0);
                if partition.sizes()[0] == 1 {
                    seats.close(0);
                }
                let mut weights = vec![0.0; seats.n_groups() + 1];
                seats.weigh(&mut weights);
                for (group, weight) in weights.iter().enumerate() {
                    if *weight == f64::NEG_INFINITY {
                        assert_eq!((group, seats.n_groups()), (most, most));
                        continue;
                    }
                    let mut joined = seats.clone();
                    if group == joined.n_groups() {
                        joined.open();
                    }
                    joined.joined(group, 0);
                    let mut first = seats.clone();
                    let least = if first.n_groups() == 0 { 0 } else { first.n_groups() - 1 };
                    if first.n_groups() == 0 {
                        first.open();
                    }
                    first.joined(least, 0);
                    let ratio = joined.ln_prob() - first.ln_prob();
                    assert!((weight - weights[least] - ratio).abs() < 1e-12, "{partition:?} {group}");
                }
            }
            let uncapped = Crp { ln_concentration: ln_theta };
            let two = Partition::from_labels([0; 6]);
            let shift = seat(&two).ln_prob() - uncapped.ln_prob(&two);
            assert!((shift + by_convolution(ln_theta.exp(), 6, most).ln()).abs() < 1e-12);
        }
    }
}
