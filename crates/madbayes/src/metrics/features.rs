//! Agreement of two feature allocations of the same rows: the one-to-one matching of their features with the fewest bits
//! that differ, min over injections p of sum_k sum_n [z_nk != z'_np(k)].

use super::assignment::cheapest_assignment;
use crate::error::{Error, Result};
use crate::structure::Allocation;

/// A true feature and the one found for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MatchedFeature {
    /// Its number in the truth.
    pub truth: usize,
    /// Its number in what was found.
    pub found: usize,
    /// Rows in which the two differ.
    pub distance: usize,
    /// Whether the found feature is the absence of the true one; `distance` is then to the rows that do not have it.
    pub complement: bool,
}

/// How well found features agree with true ones.
#[derive(Debug, Clone, PartialEq)]
pub struct FeatureMatching {
    /// The pairs in the order of the truth, as many as the smaller number of features.
    pub pairs: Vec<MatchedFeature>,
    /// Share of equal bits, from 0 to 1: those of the pairs, out of N times the larger number of features. No bit of a
    /// feature without a partner counts as equal; two allocations without features agree fully.
    pub equal_bits: f64,
    /// Features recovered in every row.
    pub n_exact: usize,
}

impl FeatureMatching {
    /// Whether both have the same features, as many and every row alike.
    pub fn is_exact(&self) -> bool {
        self.equal_bits == 1.0
    }
}

/// Matches each feature of one allocation with one of the other such that the fewest bits differ.
///
/// With `complements` a feature may also be matched with its opposite. That is right where every row has a base feature:
/// "the table and the ball, unless the ball is taken away" says the same as "the table, and the ball where it lies".
///
/// ```
/// use madbayes::metrics::match_features;
/// use madbayes::structure::Allocation;
///
/// let truth = Allocation::from_columns(4, &[[true, true, false, false], [true, false, true, false]]);
/// let found = Allocation::from_columns(4, &[[false, true, false, true], [true, true, false, false]]);
/// let matching = match_features(&truth, &found, true)?;
/// assert!(matching.is_exact());
/// assert!(!matching.pairs[0].complement && matching.pairs[1].complement);
/// # Ok::<(), madbayes::Error>(())
/// ```
pub fn match_features(truth: &Allocation, found: &Allocation, complements: bool) -> Result<FeatureMatching> {
    let n_rows = truth.n_rows();
    if found.n_rows() != n_rows {
        return Err(Error::argument(
            "found",
            format!("an allocation of {n_rows} rows, as many as the truth has"),
            format!("one of {} rows", found.n_rows()),
            "compare allocations of the same rows in the same order",
        ));
    }
    if n_rows == 0 {
        let help = "nothing can agree or disagree about no rows";
        return Err(Error::argument("truth", "an allocation of at least one row", "one of 0 rows", help));
    }
    let (n_true, n_found) = (truth.n_features(), found.n_features());
    let distances = hamming_distances(truth, found);
    let cost = |t: usize, f: usize| {
        let distance = distances[t * n_found + f];
        if complements { distance.min(n_rows - distance) } else { distance }
    };
    let pairs: Vec<(usize, usize)> = if n_true <= n_found {
        let costs: Vec<i64> = (0..n_true * n_found).map(|i| cost(i / n_found, i % n_found) as i64).collect();
        cheapest_assignment(&costs, n_true, n_found).into_iter().enumerate().collect()
    } else {
        let costs: Vec<i64> = (0..n_true * n_found).map(|i| cost(i % n_true, i / n_true) as i64).collect();
        let mut pairs: Vec<(usize, usize)> =
            cheapest_assignment(&costs, n_found, n_true).into_iter().enumerate().map(|(f, t)| (t, f)).collect();
        pairs.sort_unstable();
        pairs
    };
    let pairs: Vec<MatchedFeature> = pairs
        .into_iter()
        .map(|(truth, found)| {
            let distance = cost(truth, found);
            MatchedFeature { truth, found, distance, complement: distance < distances[truth * n_found + found] }
        })
        .collect();
    let equal: usize = pairs.iter().map(|pair| n_rows - pair.distance).sum();
    let most = n_true.max(n_found) * n_rows;
    Ok(FeatureMatching {
        equal_bits: if most == 0 { 1.0 } else { equal as f64 / most as f64 },
        n_exact: pairs.iter().filter(|pair| pair.distance == 0).count(),
        pairs,
    })
}

/// Rows in which each true feature (rows of the result) differs from each found one: S_t + S_f - 2 (rows with both).
fn hamming_distances(truth: &Allocation, found: &Allocation) -> Vec<usize> {
    let n_found = found.n_features();
    let mut both = vec![0; truth.n_features() * n_found];
    for row in 0..truth.n_rows() {
        for t in truth.features_of(row) {
            found.features_of(row).for_each(|f| both[t * n_found + f] += 1);
        }
    }
    let (true_counts, found_counts) = (truth.counts(), found.counts());
    let distance = |i: usize| true_counts[i / n_found] + found_counts[i % n_found] - 2 * both[i];
    (0..both.len()).map(distance).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Most equal bits over all ways to give each true feature from `t` on a found one or none, bit by bit.
    fn most_equal(
        truth: &[Vec<bool>],
        found: &[Vec<bool>],
        complements: bool,
        t: usize,
        taken: &mut Vec<bool>,
    ) -> usize {
        let Some(column) = truth.get(t) else { return 0 };
        let mut best = most_equal(truth, found, complements, t + 1, taken);
        for f in 0..found.len() {
            if !taken[f] {
                taken[f] = true;
                let equal = column.iter().zip(&found[f]).filter(|(a, b)| a == b).count();
                let equal = if complements { equal.max(column.len() - equal) } else { equal };
                best = best.max(equal + most_equal(truth, found, complements, t + 1, taken));
                taken[f] = false;
            }
        }
        best
    }

    fn columns(allocation: &Allocation) -> Vec<Vec<bool>> {
        (0..allocation.n_features()).map(|k| allocation.column(k)).collect()
    }

    proptest! {
        #[test]
        fn no_other_matching_has_more_equal_bits(
            n_rows in 1usize..8, n_true in 0usize..6, n_found in 0usize..6, complements: bool,
            bits in proptest::collection::vec(any::<bool>(), 8 * 12),
        ) {
            let truth = Allocation::from_bools(n_rows, n_true, bits[..n_rows * n_true].iter().copied());
            let found = Allocation::from_bools(n_rows, n_found, bits[48..48 + n_rows * n_found].iter().copied());
            let matching = match_features(&truth, &found, complements).unwrap();
            let (a, b) = (columns(&truth), columns(&found));
            let best = most_equal(&a, &b, complements, 0, &mut vec![false; n_found]);
            let most = n_rows * n_true.max(n_found);
            let share = if most == 0 { 1.0 } else { best as f64 / most as f64 };
            prop_assert!((matching.equal_bits - share).abs() < 1e-12);
            // The pairs are what they say.
            prop_assert_eq!(matching.pairs.len(), n_true.min(n_found));
            for pair in &matching.pairs {
                let differ = a[pair.truth].iter().zip(&b[pair.found]).filter(|(x, y)| (x != y) != pair.complement).count();
                prop_assert_eq!(differ, pair.distance);
                prop_assert!(complements || !pair.complement);
            }
            prop_assert!(matching.pairs.is_sorted_by(|p, q| p.truth < q.truth));
            let mut used: Vec<usize> = matching.pairs.iter().map(|pair| pair.found).collect();
            used.sort_unstable();
            used.dedup();
            prop_assert_eq!(used.len(), matching.pairs.len());
            prop_assert_eq!(matching.n_exact, matching.pairs.iter().filter(|pair| pair.distance == 0).count());
            if !complements {
                prop_assert_eq!(matching.is_exact(), truth.same_features(&found));
            }
            let reversed = match_features(&found, &truth, complements).unwrap();
            prop_assert_eq!(reversed.equal_bits, matching.equal_bits);
        }
    }

    #[test]
    fn shuffled_and_complemented_features_are_recognised() {
        let truth = Allocation::from_columns(
            5,
            &[[true, true, false, false, true], [false, true, true, false, false], [true, false, false, true, false]],
        );
        let not = |k: usize| truth.column(k).iter().map(|on| !on).collect::<Vec<_>>();
        let found = Allocation::from_columns(5, &[truth.column(2), not(0), truth.column(1), not(2)]);
        let matching = match_features(&truth, &found, true).unwrap();
        let found_of: Vec<(usize, bool)> = matching.pairs.iter().map(|pair| (pair.found, pair.complement)).collect();
        assert_eq!(found_of[..2], [(1, true), (2, false)]);
        assert!(matches!(found_of[2], (0, false) | (3, true)));
        assert_eq!((matching.n_exact, matching.equal_bits), (3, 0.75));
        assert!(!matching.is_exact(), "one feature too many");
        assert_eq!(match_features(&truth, &found, false).unwrap().n_exact, 2);
    }

    #[test]
    fn allocations_without_features_agree_and_those_of_other_rows_are_refused() {
        let none = match_features(&Allocation::new(3, 0), &Allocation::new(3, 0), false).unwrap();
        assert!(none.is_exact() && none.pairs.is_empty());
        assert_eq!(match_features(&Allocation::new(3, 2), &Allocation::new(3, 0), true).unwrap().equal_bits, 0.0);
        for (n, m, message) in [
            (3, 4, "found must be an allocation of 3 rows, as many as the truth has, got one of 4 rows"),
            (0, 0, "truth must be an allocation of at least one row, got one of 0 rows"),
        ] {
            let error = match_features(&Allocation::new(n, 1), &Allocation::new(m, 1), false).unwrap_err();
            assert!(error.to_string().starts_with(message), "{error}");
        }
    }
}
