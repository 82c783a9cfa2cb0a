//! The sparse table of how often each pair of groups meets: n_ij = |a_i and b_j|, with purity read off it.

use crate::error::{Error, Result};
use crate::structure::Partition;

/// One pair of groups that share at least one row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cell {
    /// Group in the first partition.
    pub first: u32,
    /// Group in the second partition.
    pub second: u32,
    /// Rows in both, at least 1.
    pub count: usize,
}

/// The non-zero cells of the table of two partitions: at most N of them, whatever the numbers of groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contingency {
    n_rows: usize,
    first_sizes: Vec<usize>,
    second_sizes: Vec<usize>,
    cells: Vec<Cell>,
}

impl Contingency {
    /// Counts both partitions against each other in O(N) time and memory.
    ///
    /// Errors when they have different numbers of rows, or none.
    pub fn new(first: &Partition, second: &Partition) -> Result<Self> {
        if first.n_rows() != second.n_rows() {
            return Err(Error::argument(
                "second",
                format!("a partition of {} rows, as many as the first has", first.n_rows()),
                format!("one of {} rows", second.n_rows()),
                "agreement needs a label of either side for every row",
            ));
        }
        check_not_empty("first", first)?;
        let mut cells = Vec::new();
        let mut counts = vec![0usize; second.n_groups()];
        let mut met: Vec<u32> = Vec::new();
        for (group, rows) in first.members().iter().enumerate() {
            for &row in rows {
                let other = second.labels()[row];
                if counts[other as usize] == 0 {
                    met.push(other);
                }
                counts[other as usize] += 1;
            }
            for other in met.drain(..) {
                let count = std::mem::take(&mut counts[other as usize]);
                cells.push(Cell { first: group as u32, second: other, count });
            }
        }
        Ok(Contingency {
            n_rows: first.n_rows(),
            first_sizes: first.sizes().to_vec(),
            second_sizes: second.sizes().to_vec(),
            cells,
        })
    }

    /// Number of rows, N.
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// Rows in each group of the first partition: the sums over the second.
    pub fn first_sizes(&self) -> &[usize] {
        &self.first_sizes
    }

    /// Rows in each group of the second partition: the sums over the first.
    pub fn second_sizes(&self) -> &[usize] {
        &self.second_sizes
    }

    /// The non-zero cells, ordered by group of the first partition.
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }
}

/// The error of a partition of no rows.
pub(super) fn check_not_empty(argument: &'static str, partition: &Partition) -> Result<()> {
    if partition.n_rows() == 0 {
        return Err(Error::argument(
            argument,
            "a partition of at least one row",
            "one of 0 rows",
            "nothing can agree or disagree about no rows",
        ));
    }
    Ok(())
}

/// Share of rows whose true group is the most frequent one of the group they were found in:
/// (1/N) sum_j max_i |truth_i and found_j|.
///
/// Not symmetric, and 1 when every row is a group of its own: read it beside the number of groups.
pub fn purity(truth: &Partition, found: &Partition) -> Result<f64> {
    let table = Contingency::new(truth, found)?;
    let mut largest = vec![0; found.n_groups()];
    for cell in table.cells() {
        let top = &mut largest[cell.second as usize];
        *top = cell.count.max(*top);
    }
    Ok(largest.iter().sum::<usize>() as f64 / table.n_rows() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn partition(labels: &[u32]) -> Partition {
        Partition::from_labels(labels)
    }

    proptest! {
        #[test]
        fn cells_are_the_dense_table_without_its_zeros(
            pairs in proptest::collection::vec((0u32..5, 0u32..7), 1..60),
        ) {
            let (a, b): (Vec<u32>, Vec<u32>) = pairs.into_iter().unzip();
            let (a, b) = (partition(&a), partition(&b));
            let mut dense = vec![vec![0; b.n_groups()]; a.n_groups()];
            for (&i, &j) in a.labels().iter().zip(b.labels()) {
                dense[i as usize][j as usize] += 1;
            }
            let table = Contingency::new(&a, &b).unwrap();
            for cell in table.cells() {
                prop_assert!(cell.count > 0);
                let there = &mut dense[cell.first as usize][cell.second as usize];
                prop_assert_eq!(*there, cell.count);
                *there = 0;
            }
            prop_assert!(dense.iter().flatten().all(|&left| left == 0), "a cell is missing: {:?}", dense);
            prop_assert_eq!(table.first_sizes(), a.sizes());
            prop_assert_eq!(table.second_sizes(), b.sizes());
        }

        #[test]
        fn purity_is_at_least_the_share_of_the_largest_true_group(
            pairs in proptest::collection::vec((0u32..5, 0u32..7), 1..60),
        ) {
            let (a, b): (Vec<u32>, Vec<u32>) = pairs.into_iter().unzip();
            let (a, b) = (partition(&a), partition(&b));
            let value = purity(&a, &b).unwrap();
            let floor = *a.sizes().iter().max().unwrap() as f64 / a.n_rows() as f64;
            prop_assert!((floor..=1.0).contains(&value));
            prop_assert_eq!(purity(&a, &a).unwrap(), 1.0);
        }
    }

    #[test]
    fn purity_counts_the_majority_of_each_found_group() {
        let truth = partition(&[0, 0, 0, 1, 1, 1, 2, 2, 2, 2]);
        let found = partition(&[0, 0, 1, 1, 1, 1, 1, 2, 0, 3]);
        assert_eq!(purity(&truth, &found).unwrap(), 0.7);
        assert_eq!(purity(&found, &truth).unwrap(), 0.6);
    }

    #[test]
    fn many_rows_and_groups_need_no_dense_table() {
        // A dense table would hold 200,000 x 200,000 counts.
        let n = 400_000u32;
        let a = Partition::from_labels((0..n).map(|i| i / 2));
        let b = Partition::from_labels((0..n).map(|i| i % (n / 2)));
        let table = Contingency::new(&a, &b).unwrap();
        assert_eq!(table.cells().len(), n as usize);
        assert_eq!(table.cells().iter().map(|c| c.count).sum::<usize>(), n as usize);
    }

    #[test]
    fn different_numbers_of_rows_and_no_rows_are_errors() {
        let error = Contingency::new(&partition(&[0, 1]), &partition(&[0])).unwrap_err().to_string();
        assert!(error.starts_with("second must be a partition of 2 rows"), "{error}");
        assert!(error.contains("got one of 1 rows"), "{error}");
        let error = Contingency::new(&partition(&[]), &partition(&[])).unwrap_err().to_string();
        assert!(error.starts_with("first must be a partition of at least one row"), "{error}");
    }
}
