//! Chains as a report shows them: traces, the share of sweeps with each number of groups, and for some rows the share of draws
//! in which any two are together, ordered by group.

use super::thinned;
use crate::gibbs::coclustering;
use crate::structure::CompactPartition;
use std::collections::BTreeMap;

/// Sweeps of a trace that are shown.
const MOST_SWEEPS: usize = 1000;
/// Rows of the matrix, and draws it is of.
const MOST_TOGETHER: usize = 240;
const MOST_DRAWS: usize = 400;
/// Rows whose group is least sure.
const MOST_UNSURE: usize = 10;

/// What a report shows of chains.
#[derive(Debug, Clone, PartialEq)]
pub struct ChainOverview {
    /// Every how many sweeps one is shown.
    pub every: usize,
    /// Sweeps that were not kept.
    pub burn_in: usize,
    /// The number of groups in every chain.
    pub n_groups: Vec<Vec<f64>>,
    /// The log joint probability in every chain.
    pub ln_joint: Vec<Vec<f64>>,
    /// The share of sweeps after the burn-in with each number of groups.
    pub distribution: Vec<(usize, f64)>,
    /// Names and values of what tells whether chains agree.
    pub r_hat: Vec<(String, f64)>,
    /// Which rows go together, where draws of groups were kept.
    pub together: Option<Together>,
}

/// Which rows go together.
#[derive(Debug, Clone, PartialEq)]
pub struct Together {
    /// How many rows there are.
    pub n_rows: usize,
    /// Some rows, ordered by their group.
    pub rows: Vec<usize>,
    /// Their groups.
    pub groups: Vec<u32>,
    /// The share of draws in which two of them are in one group, one line for each.
    pub shares: Vec<f64>,
    /// The mean certainty of each group.
    pub certainty: Vec<f64>,
    /// The rows whose group is least sure, with that and their certainty.
    pub unsure: Vec<(usize, u32, f64)>,
}

impl ChainOverview {
    /// Of the number of groups and the log joint of every chain after each sweep.
    pub fn new(chains: &[(Vec<f64>, Vec<f64>)], burn_in: usize, r_hat: Vec<(String, f64)>) -> Self {
        let sweeps = chains.iter().map(|(numbers, _)| numbers.len()).max().unwrap_or(0);
        let every = sweeps.div_ceil(MOST_SWEEPS).max(1);
        let some = |trace: &[f64]| trace.iter().copied().step_by(every).collect::<Vec<f64>>();
        let kept = || chains.iter().flat_map(|(numbers, _)| numbers.iter().skip(burn_in));
        let (mut counts, total) = (BTreeMap::new(), kept().count() as f64);
        kept().for_each(|&k| *counts.entry(k as usize).or_insert(0.0) += 1.0);
        ChainOverview {
            every,
            burn_in,
            n_groups: chains.iter().map(|(numbers, _)| some(numbers)).collect(),
            ln_joint: chains.iter().map(|(_, joints)| some(joints)).collect(),
            distribution: counts.into_iter().map(|(k, count): (usize, f64)| (k, count / total)).collect(),
            r_hat,
            together: None,
        }
    }

    /// With the rows that go together in the draws; `certainty` of every row.
    pub fn with_draws(mut self, draws: &[&CompactPartition], labels: &[u32], certainty: &[f64], seed: u64) -> Self {
        if draws.is_empty() {
            return self;
        }
        let mut rows = thinned(labels.len(), MOST_TOGETHER, seed);
        rows.sort_by_key(|&row| (labels[row], row));
        let every = draws.len().div_ceil(MOST_DRAWS);
        let draws: Vec<&CompactPartition> = draws.iter().copied().step_by(every).collect();
        let pairs: Vec<(usize, usize)> = rows.iter().flat_map(|&a| rows.iter().map(move |&b| (a, b))).collect();
        let k = labels.iter().max().map_or(0, |&last| last as usize + 1);
        let (mut sums, mut sizes) = (vec![0.0; k], vec![0.0; k]);
        for (&label, sure) in labels.iter().zip(certainty) {
            sums[label as usize] += sure;
            sizes[label as usize] += 1.0;
        }
        let mut unsure: Vec<(usize, u32, f64)> =
            (0..labels.len()).map(|row| (row, labels[row], certainty[row])).collect();
        unsure.sort_by(|a, b| a.2.total_cmp(&b.2).then(a.0.cmp(&b.0)));
        unsure.truncate(MOST_UNSURE);
        self.together = Some(Together {
            n_rows: labels.len(),
            shares: coclustering(&draws, &pairs),
            groups: rows.iter().map(|&row| labels[row]).collect(),
            certainty: sums.iter().zip(&sizes).map(|(sum, size)| sum / size).collect(),
            rows,
            unsure,
        });
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::structure::Partition;

    #[test]
    fn the_distribution_is_of_sweeps_after_the_burn_in_and_traces_are_bounded() {
        let chain = |k: f64| (vec![k; 5000], vec![-1.0; 5000]);
        let mut chains = vec![chain(2.0), chain(3.0)];
        chains[0].0[..1000].fill(9.0);
        let seen = ChainOverview::new(&chains, 1000, vec![]);
        assert_eq!(seen.distribution, [(2, 0.5), (3, 0.5)]);
        assert_eq!((seen.every, seen.n_groups[0].len()), (5, 1000));
    }

    #[test]
    fn rows_are_ordered_by_group_and_shares_are_those_of_the_draws() {
        let draws = [[0, 1, 0, 1], [0, 1, 0, 0]].map(|labels| CompactPartition::from(&Partition::from_labels(labels)));
        let draws: Vec<&CompactPartition> = draws.iter().collect();
        let seen = ChainOverview::new(&[], 0, vec![]).with_draws(&draws, &[0, 1, 0, 1], &[1.0, 0.5, 0.8, 0.1], 0);
        let together = seen.together.unwrap();
        assert_eq!((&together.rows[..], &together.groups[..]), (&[0, 2, 1, 3][..], &[0, 0, 1, 1][..]));
        let expected = [1.0, 1.0, 0.0, 0.5, 1.0, 1.0, 0.0, 0.5, 0.0, 0.0, 1.0, 0.5, 0.5, 0.5, 0.5, 1.0];
        assert_eq!(together.shares, expected);
        assert_eq!(together.certainty, [0.9, 0.3]);
        assert_eq!(together.unsure[0], (3, 1, 0.1));
    }
}
