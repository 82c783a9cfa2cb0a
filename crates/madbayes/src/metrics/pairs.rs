//! Agreement by pairs of rows: is a pair together in one partition, in both, in neither?

use super::contingency::Contingency;
use crate::error::Result;
use crate::structure::Partition;

/// How pairs put together in the found partition compare with those of the truth. All are 0..1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PairAgreement {
    /// Of the pairs found together, the share that is truly together; 1 when no pair was found together.
    pub precision: f64,
    /// Of the pairs truly together, the share that was found together; 1 when no pair is truly together.
    pub recall: f64,
    /// 2 both / (2 both + wrong + missed), the harmonic mean of the other two; 1 when nothing is wrong or missed.
    pub f1: f64,
}

/// Pairs of rows by where they are together. N < 2^32 rows have fewer than 2^63 pairs: products of two counts fit.
struct PairCounts {
    both: i128,
    only_first: i128,
    only_second: i128,
    neither: i128,
}

fn count_pairs(first: &Partition, second: &Partition) -> Result<PairCounts> {
    let pairs = |n: usize| n as i128 * (n as i128 - 1) / 2;
    let table = Contingency::new(first, second)?;
    let both: i128 = table.cells().iter().map(|cell| pairs(cell.count)).sum();
    let only_first = table.first_sizes().iter().map(|&n| pairs(n)).sum::<i128>() - both;
    let only_second = table.second_sizes().iter().map(|&n| pairs(n)).sum::<i128>() - both;
    Ok(PairCounts { both, only_first, only_second, neither: pairs(table.n_rows()) - both - only_first - only_second })
}

/// Rand index corrected for chance (Hubert & Arabie 1985):
/// 2 (t u - f g) / ((t + f)(f + u) + (t + g)(g + u)),
/// pairs together in both t, in neither u, only in the first f, only in the second g.
///
/// 1 for equal partitions (also a single group, or a single row), 0 on average for independent ones, never below -1/2.
pub fn adjusted_rand_index(first: &Partition, second: &Partition) -> Result<f64> {
    let PairCounts { both, only_first, only_second, neither } = count_pairs(first, second)?;
    if only_first == 0 && only_second == 0 {
        return Ok(1.0);
    }
    let [t, u, f, g] = [both, neither, only_first, only_second];
    // Exact in integers: for large N the difference is far smaller than its parts.
    let excess = (t * u - f * g) as f64;
    Ok(2.0 * excess / (((t + f) * (f + u)) as f64 + ((t + g) * (g + u)) as f64))
}

/// Precision, recall and F1 of the pairs of rows that are together. The first partition is the truth.
pub fn pairwise_f1(truth: &Partition, found: &Partition) -> Result<PairAgreement> {
    let PairCounts { both, only_first: missed, only_second: wrong, .. } = count_pairs(truth, found)?;
    let share = |part: i128, whole: i128| if whole == 0 { 1.0 } else { part as f64 / whole as f64 };
    let f1 = if wrong == 0 && missed == 0 {
        1.0
    } else {
        2.0 * both as f64 / (2.0 * both as f64 + wrong as f64 + missed as f64)
    };
    Ok(PairAgreement { precision: share(both, both + wrong), recall: share(both, both + missed), f1 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_abs_diff_eq;
    use proptest::prelude::*;
    use rstest::rstest;

    fn partition(labels: &[u32]) -> Partition {
        Partition::from_labels(labels)
    }

    /// Together in both, only in a, only in b, in neither: by looking at every pair.
    fn brute_force(a: &[u32], b: &[u32]) -> [f64; 4] {
        let mut counts = [0.0; 4];
        for i in 0..a.len() {
            for j in 0..i {
                let kind = match (a[i] == a[j], b[i] == b[j]) {
                    (true, true) => 0,
                    (true, false) => 1,
                    (false, true) => 2,
                    (false, false) => 3,
                };
                counts[kind] += 1.0;
            }
        }
        counts
    }

    // scikit-learn 1.9.1: adjusted_rand_score; precision and recall from pair_confusion_matrix.
    #[rstest]
    #[case::ten_rows(
        vec![0, 0, 0, 1, 1, 1, 2, 2, 2, 2],
        vec![0, 0, 1, 1, 1, 1, 1, 2, 0, 3],
        0.0590405904059041,
        [0.3076923076923077, 0.3333333333333333],
    )]
    #[case::nearly_independent(
        (0..200).map(|n| n * n % 7).collect(),
        (0..200).map(|n| (n * n * n + n) % 11).collect(),
        -0.0147822352756807,
        [0.2470938091376048, 0.1759722757027339],
    )]
    #[case::many_groups(
        (0..200).map(|n| n / 10).collect(),
        (0..200).map(|n| (n * n / 400) % 13).collect(),
        0.1356487143530999,
        [0.1450906816760475, 0.2577777777777778],
    )]
    fn values_are_those_of_scikit_learn(
        #[case] truth: Vec<u32>,
        #[case] found: Vec<u32>,
        #[case] rand: f64,
        #[case] shares: [f64; 2],
    ) {
        let [precision, recall] = shares;
        let (truth, found) = (partition(&truth), partition(&found));
        assert_abs_diff_eq!(adjusted_rand_index(&truth, &found).unwrap(), rand, epsilon = 1e-12);
        let agreement = pairwise_f1(&truth, &found).unwrap();
        assert_abs_diff_eq!(agreement.precision, precision, epsilon = 1e-12);
        assert_abs_diff_eq!(agreement.recall, recall, epsilon = 1e-12);
        let harmonic = 2.0 * precision * recall / (precision + recall);
        assert_abs_diff_eq!(agreement.f1, harmonic, epsilon = 1e-12);
    }

    #[test]
    fn partitions_without_pairs_follow_the_documented_conventions() {
        let (alone, one, singles) = (partition(&[0]), partition(&[0; 4]), partition(&[0, 1, 2, 3]));
        let perfect = PairAgreement { precision: 1.0, recall: 1.0, f1: 1.0 };
        for p in [&alone, &one, &singles] {
            assert_eq!(adjusted_rand_index(p, p).unwrap(), 1.0);
            assert_eq!(pairwise_f1(p, p).unwrap(), perfect);
        }
        assert_eq!(adjusted_rand_index(&one, &singles).unwrap(), 0.0);
        assert_eq!(pairwise_f1(&one, &singles).unwrap(), PairAgreement { precision: 1.0, recall: 0.0, f1: 0.0 });
        assert_eq!(pairwise_f1(&singles, &one).unwrap(), PairAgreement { precision: 0.0, recall: 1.0, f1: 0.0 });
        assert!(adjusted_rand_index(&partition(&[]), &partition(&[])).is_err());
        assert!(pairwise_f1(&one, &alone).is_err());
    }

    #[test]
    fn the_adjusted_rand_index_reaches_its_lower_bound() {
        let (rows, columns) = (partition(&[0, 0, 1, 1]), partition(&[0, 1, 0, 1]));
        assert_eq!(adjusted_rand_index(&rows, &columns).unwrap(), -0.5);
    }

    #[test]
    fn large_partitions_neither_overflow_nor_lose_the_difference() {
        // Independent by construction: 1000 x 1000 groups that meet exactly 3 times each. From the definition,
        // t = 10^6 * 3, t + f = t + g = 1000 * C(3000, 2), all = C(3 * 10^6, 2).
        let a = Partition::from_labels((0..3_000_000u32).map(|i| i % 1000));
        let b = Partition::from_labels((0..3_000_000u32).map(|i| i / 1000 % 1000));
        let (t, side, all) = (3e6, 1000.0 * 3000.0 * 2999.0 / 2.0, 3e6 * (3e6 - 1.0) / 2.0);
        let expected = (t - side * side / all) / (side - side * side / all);
        assert_abs_diff_eq!(adjusted_rand_index(&a, &b).unwrap(), expected, epsilon = 1e-12);
        assert!(expected < 0.0);
    }

    proptest! {
        #[test]
        fn pair_scores_match_a_count_over_all_pairs(
            pairs in proptest::collection::vec((0u32..5, 0u32..7), 2..40),
        ) {
            let (a, b): (Vec<u32>, Vec<u32>) = pairs.into_iter().unzip();
            let [t, f, g, u] = brute_force(&a, &b);
            let (a, b) = (partition(&a), partition(&b));
            let all = t + f + g + u;
            let expected = (t + f) * (t + g) / all;
            let best = ((t + f) + (t + g)) / 2.0;
            if (best - expected).abs() > 1e-9 {
                let hubert_arabie = (t - expected) / (best - expected);
                prop_assert!((adjusted_rand_index(&a, &b).unwrap() - hubert_arabie).abs() < 1e-12);
            }
            let agreement = pairwise_f1(&a, &b).unwrap();
            if t + g > 0.0 {
                prop_assert!((agreement.precision - t / (t + g)).abs() < 1e-14);
            }
            if t + f > 0.0 {
                prop_assert!((agreement.recall - t / (t + f)).abs() < 1e-14);
            }
            if t + f + g > 0.0 {
                prop_assert!((agreement.f1 - 2.0 * t / (2.0 * t + f + g)).abs() < 1e-14);
            }
        }

        #[test]
        fn pair_scores_are_symmetric_in_range_and_blind_to_names(
            pairs in proptest::collection::vec((0u32..5, 0u32..7), 1..40),
        ) {
            let (a, b): (Vec<u32>, Vec<u32>) = pairs.into_iter().unzip();
            let renamed: Vec<u32> = a.iter().map(|l| 1000 - 17 * l).collect();
            let (a, b, renamed) = (partition(&a), partition(&b), partition(&renamed));
            let rand = adjusted_rand_index(&a, &b).unwrap();
            prop_assert!((-0.5..=1.0).contains(&rand), "{}", rand);
            prop_assert_eq!(rand, adjusted_rand_index(&b, &a).unwrap());
            prop_assert_eq!(rand, adjusted_rand_index(&renamed, &b).unwrap());
            prop_assert_eq!(rand == 1.0, a == b);
            let (there, back) = (pairwise_f1(&a, &b).unwrap(), pairwise_f1(&b, &a).unwrap());
            prop_assert_eq!((there.precision, there.recall, there.f1), (back.recall, back.precision, back.f1));
            prop_assert_eq!(there, pairwise_f1(&renamed, &b).unwrap());
            prop_assert!([there.precision, there.recall, there.f1].iter().all(|v| (0.0..=1.0).contains(v)));
        }
    }
}
