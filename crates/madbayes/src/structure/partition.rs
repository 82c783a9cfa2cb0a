//! A partition of N rows into groups, in its canonical form: labels in order of first appearance.

use super::CompactPartition;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::hash::Hash;

/// A partition of rows 0..N. Two partitions are equal when they group the rows alike, whatever the groups were called.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "CompactPartition", from = "CompactPartition")]
pub struct Partition {
    labels: Vec<u32>,
    sizes: Vec<usize>,
}

impl Partition {
    /// From any labels: equal labels, same group. Groups are renamed 0, 1, ... in order of first appearance.
    pub fn from_labels<L: Eq + Hash>(names: impl IntoIterator<Item = L>) -> Self {
        let mut known: HashMap<L, u32> = HashMap::new();
        let mut sizes = Vec::new();
        let labels = names
            .into_iter()
            .map(|name| {
                let next = sizes.len() as u32;
                let label = *known.entry(name).or_insert(next);
                if label == next {
                    sizes.push(0);
                }
                sizes[label as usize] += 1;
                label
            })
            .collect();
        Partition { labels, sizes }
    }

    /// From labels that are in order of first appearance already.
    pub(super) fn from_canonical(labels: Vec<u32>, n_groups: usize) -> Self {
        let mut sizes = vec![0; n_groups];
        labels.iter().for_each(|&label| sizes[label as usize] += 1);
        Partition { labels, sizes }
    }

    /// The group of each row.
    pub fn labels(&self) -> &[u32] {
        &self.labels
    }

    /// Rows in each group.
    pub fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.labels.len()
    }

    /// Number of groups, K.
    pub fn n_groups(&self) -> usize {
        self.sizes.len()
    }

    /// The rows of every group, in order.
    pub fn members(&self) -> Vec<Vec<usize>> {
        let mut members: Vec<Vec<usize>> = self.sizes.iter().map(|&s| Vec::with_capacity(s)).collect();
        for (row, &label) in self.labels.iter().enumerate() {
            members[label as usize].push(row);
        }
        members
    }

    /// Every partition of `n` rows once (Bell(n) of them), for tests and tiny data: restricted growth strings in
    /// lexicographic order.
    pub fn all(n: usize) -> AllPartitions {
        AllPartitions { next: Some(vec![0; n]) }
    }
}

/// Iterator over all partitions of a small number of rows.
#[derive(Debug, Clone)]
pub struct AllPartitions {
    next: Option<Vec<u32>>,
}

impl Iterator for AllPartitions {
    type Item = Partition;

    fn next(&mut self) -> Option<Partition> {
        let labels = self.next.take()?;
        // The last position that may still grow: its label does not exceed the largest before it.
        let mut following = labels.clone();
        for i in (1..labels.len()).rev() {
            let largest_before = labels[..i].iter().max().copied().unwrap_or(0);
            if labels[i] <= largest_before {
                following[i] += 1;
                following[i + 1..].fill(0);
                self.next = Some(following);
                break;
            }
        }
        Some(Partition::from_labels(labels))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    #[test]
    fn all_partitions_are_distinct_and_as_many_as_the_bell_numbers() {
        for (n, bell) in [1usize, 1, 2, 5, 15, 52, 203, 877].into_iter().enumerate() {
            let all: HashSet<Partition> = Partition::all(n).collect();
            assert_eq!(all.len(), bell, "distinct partitions of {n}");
            assert_eq!(Partition::all(n).count(), bell);
        }
    }

    proptest! {
        #[test]
        fn renaming_groups_changes_nothing(labels in proptest::collection::vec(0u32..6, 0..40), shift in 1u32..100) {
            let a = Partition::from_labels(labels.iter());
            let b = Partition::from_labels(labels.iter().map(|l| (l * 7919 + shift) % 104_729));
            prop_assert_eq!(&a, &b);
            prop_assert_eq!(a.sizes().iter().sum::<usize>(), labels.len());
            for i in 0..labels.len() {
                for j in 0..i {
                    prop_assert_eq!(labels[i] == labels[j], a.labels()[i] == a.labels()[j]);
                }
            }
            for (group, rows) in a.members().iter().enumerate() {
                prop_assert_eq!(rows.len(), a.sizes()[group]);
                prop_assert!(rows.iter().all(|&r| a.labels()[r] == group as u32));
            }
        }
    }
}
