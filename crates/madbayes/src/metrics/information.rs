//! Agreement by information: entropy, mutual information and what is built from them, in nats.

use super::contingency::{Contingency, check_not_empty};
use crate::error::Result;
use crate::structure::Partition;

/// The mean of both entropies that mutual information is divided by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Average {
    /// (H(a) + H(b)) / 2: scikit-learn's default.
    #[default]
    Arithmetic,
    /// sqrt(H(a) H(b)).
    Geometric,
    /// max(H(a), H(b)): the most severe.
    Max,
    /// min(H(a), H(b)): 1 when one partition refines the other.
    Min,
}

/// Entropy of a partition: H = sum_k (S_k/N) log(N/S_k). One group has entropy 0, N groups of one row log N.
pub fn entropy(partition: &Partition) -> Result<f64> {
    check_not_empty("partition", partition)?;
    Ok(entropy_of(partition.sizes(), partition.n_rows() as f64))
}

fn entropy_of(sizes: &[usize], n: f64) -> f64 {
    sizes.iter().map(|&size| size as f64 / n * (n / size as f64).ln()).sum()
}

/// Mutual information of two partitions: I = sum_ij (n_ij/N) log(N n_ij / (a_i b_j)), never below 0.
pub fn mutual_information(first: &Partition, second: &Partition) -> Result<f64> {
    Ok(mutual_information_of(&Contingency::new(first, second)?))
}

fn mutual_information_of(table: &Contingency) -> f64 {
    let n = table.n_rows() as f64;
    let terms = table.cells().iter().map(|cell| {
        let a = table.first_sizes()[cell.first as usize] as f64;
        let b = table.second_sizes()[cell.second as usize] as f64;
        let count = cell.count as f64;
        // In this order the ratio is exactly n/a where the groups are the same, as in the entropy.
        count / n * ((n / a) * (count / b)).ln()
    });
    terms.sum::<f64>().max(0.0)
}

/// Normalized mutual information: I(a, b) / average(H(a), H(b)), from 0 to 1.
///
/// Two partitions of one group each agree perfectly: 1, as in scikit-learn. So do two of a single row.
/// Where only one of them has a single group it tells nothing about the other: 0.
pub fn normalized_mutual_information(first: &Partition, second: &Partition, average: Average) -> Result<f64> {
    let table = Contingency::new(first, second)?;
    if first.n_groups() == 1 && second.n_groups() == 1 {
        return Ok(1.0);
    }
    if first.n_groups() == 1 || second.n_groups() == 1 {
        return Ok(0.0);
    }
    let n = table.n_rows() as f64;
    let (a, b) = (entropy_of(table.first_sizes(), n), entropy_of(table.second_sizes(), n));
    let scale = match average {
        Average::Arithmetic => (a + b) / 2.0,
        Average::Geometric => (a * b).sqrt(),
        Average::Max => a.max(b),
        Average::Min => a.min(b),
    };
    Ok((mutual_information_of(&table) / scale).min(1.0))
}

/// Variation of information: H(a|b) + H(b|a) = sum_ij (n_ij/N) [log(a_i/n_ij) + log(b_j/n_ij)].
///
/// A metric on partitions: 0 only when they are equal, symmetric, triangle inequality (Meila 2007). At most log N.
pub fn variation_of_information(first: &Partition, second: &Partition) -> Result<f64> {
    let table = Contingency::new(first, second)?;
    let n = table.n_rows() as f64;
    let terms = table.cells().iter().map(|cell| {
        let a = table.first_sizes()[cell.first as usize] as f64;
        let b = table.second_sizes()[cell.second as usize] as f64;
        let count = cell.count as f64;
        count / n * ((a / count).ln() + (b / count).ln())
    });
    Ok(terms.sum())
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_abs_diff_eq;
    use proptest::prelude::*;
    use rstest::rstest;

    const AVERAGES: [Average; 4] = [Average::Arithmetic, Average::Geometric, Average::Max, Average::Min];

    fn partition(labels: &[u32]) -> Partition {
        Partition::from_labels(labels)
    }

    // scikit-learn 1.9.1: normalized_mutual_info_score in the order of AVERAGES, mutual_info_score;
    // scipy.stats.entropy of the group sizes of either side.
    #[rstest]
    #[case::ten_rows(
        vec![0, 0, 0, 1, 1, 1, 2, 2, 2, 2],
        vec![0, 0, 1, 1, 1, 1, 1, 2, 0, 3],
        [0.3746356080567328, 0.3748675066432813, 0.3619077348771809, 0.3882913626718702],
        0.4228104552401628,
        [1.0888999753452238, 1.1682824501765625],
    )]
    #[case::nearly_independent(
        (0..200).map(|n| n * n % 7).collect(),
        (0..200).map(|n| (n * n * n + n) % 11).collect(),
        [0.0026062938604860, 0.0026327508263237, 0.0022833944493975, 0.0030355582739273],
        0.0041078711684543,
        [1.3532506372014574, 1.7990195121733217],
    )]
    #[case::many_groups(
        (0..200).map(|n| n / 10).collect(),
        (0..200).map(|n| (n * n / 400) % 13).collect(),
        [0.4052369337099445, 0.4067557321233917, 0.3730308997457491, 0.4435295460188531],
        1.1175007054012236,
        [2.995732273553991, 2.5195631619854297],
    )]
    fn values_are_those_of_scikit_learn(
        #[case] a: Vec<u32>,
        #[case] b: Vec<u32>,
        #[case] normalized: [f64; 4],
        #[case] mutual: f64,
        #[case] entropies: [f64; 2],
    ) {
        let (a, b) = (partition(&a), partition(&b));
        for (average, expected) in AVERAGES.into_iter().zip(normalized) {
            let found = normalized_mutual_information(&a, &b, average).unwrap();
            assert_abs_diff_eq!(found, expected, epsilon = 1e-12);
        }
        assert_abs_diff_eq!(mutual_information(&a, &b).unwrap(), mutual, epsilon = 1e-12);
        assert_abs_diff_eq!(entropy(&a).unwrap(), entropies[0], epsilon = 1e-12);
        assert_abs_diff_eq!(entropy(&b).unwrap(), entropies[1], epsilon = 1e-12);
        let expected = entropies[0] + entropies[1] - 2.0 * mutual;
        assert_abs_diff_eq!(variation_of_information(&a, &b).unwrap(), expected, epsilon = 1e-12);
    }

    #[test]
    fn a_single_group_agrees_with_itself_and_tells_nothing_about_others() {
        let (one, halves, alone) = (partition(&[0; 4]), partition(&[0, 0, 1, 1]), partition(&[0]));
        for average in AVERAGES {
            assert_eq!(normalized_mutual_information(&one, &one, average).unwrap(), 1.0);
            assert_eq!(normalized_mutual_information(&alone, &alone, average).unwrap(), 1.0);
            assert_eq!(normalized_mutual_information(&one, &halves, average).unwrap(), 0.0);
            assert_eq!(normalized_mutual_information(&halves, &one, average).unwrap(), 0.0);
        }
        assert_eq!(entropy(&one).unwrap(), 0.0);
        assert_abs_diff_eq!(variation_of_information(&one, &halves).unwrap(), 2f64.ln(), epsilon = 1e-15);
    }

    #[test]
    fn a_refinement_has_all_the_information_of_the_coarser() {
        let (coarse, fine) = (partition(&[0, 0, 0, 1, 1, 1]), partition(&[0, 0, 1, 2, 3, 3]));
        assert_abs_diff_eq!(mutual_information(&coarse, &fine).unwrap(), 2f64.ln(), epsilon = 1e-15);
        assert_abs_diff_eq!(normalized_mutual_information(&coarse, &fine, Average::Min).unwrap(), 1.0, epsilon = 1e-15);
    }

    #[test]
    fn no_rows_and_unequal_rows_are_errors() {
        let (none, one, two) = (partition(&[]), partition(&[0]), partition(&[0, 1]));
        assert!(entropy(&none).is_err());
        assert!(mutual_information(&none, &none).is_err());
        assert!(variation_of_information(&one, &two).is_err());
        assert!(normalized_mutual_information(&two, &one, Average::Max).is_err());
    }

    proptest! {
        #[test]
        fn information_is_symmetric_in_range_and_blind_to_names(
            pairs in proptest::collection::vec((0u32..5, 0u32..7), 1..60),
        ) {
            let (a, b): (Vec<u32>, Vec<u32>) = pairs.into_iter().unzip();
            let renamed: Vec<u32> = a.iter().map(|l| 1000 - 17 * l).collect();
            let (a, b, renamed) = (partition(&a), partition(&b), partition(&renamed));
            let (h_a, h_b) = (entropy(&a).unwrap(), entropy(&b).unwrap());
            let mutual = mutual_information(&a, &b).unwrap();
            prop_assert!(mutual >= 0.0 && mutual <= h_a.min(h_b) + 1e-14);
            prop_assert!((mutual - mutual_information(&b, &a).unwrap()).abs() < 1e-14);
            prop_assert_eq!(mutual, mutual_information(&renamed, &b).unwrap());
            for average in AVERAGES {
                let value = normalized_mutual_information(&a, &b, average).unwrap();
                prop_assert!((0.0..=1.0).contains(&value));
                let swapped = normalized_mutual_information(&b, &a, average).unwrap();
                prop_assert!((value - swapped).abs() < 1e-13);
                prop_assert_eq!(normalized_mutual_information(&a, &a, average).unwrap(), 1.0);
            }
        }

        #[test]
        fn variation_of_information_is_a_metric(
            triples in proptest::collection::vec((0u32..4, 0u32..5, 0u32..6), 1..40),
        ) {
            let [a, b, c] = [
                Partition::from_labels(triples.iter().map(|t| t.0)),
                Partition::from_labels(triples.iter().map(|t| t.1)),
                Partition::from_labels(triples.iter().map(|t| t.2)),
            ];
            let distance = |x: &Partition, y: &Partition| variation_of_information(x, y).unwrap();
            prop_assert_eq!(distance(&a, &a), 0.0);
            if a != b {
                prop_assert!(distance(&a, &b) > 1e-3, "unequal partitions are apart");
            }
            prop_assert!((distance(&a, &b) - distance(&b, &a)).abs() < 1e-13);
            prop_assert!(distance(&a, &c) <= distance(&a, &b) + distance(&b, &c) + 1e-13);
            prop_assert!(distance(&a, &b) <= (triples.len() as f64).ln() + 1e-13);
        }
    }
}
