//! A partition in as few bytes as its number of groups allows, for keeping many: one byte per row up to 256 groups.

use super::Partition;
use serde::{Deserialize, Serialize};

/// A partition of rows 0..N in its canonical form, like [`Partition`], in N bytes up to 256 groups, 2N up to 65536, else 4N.
///
/// In files it is a text: the group of each row as one of `0-9A-Za-z`, or, beyond 62 groups, as numbers with spaces between.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct CompactPartition {
    labels: Labels,
    n_groups: u32,
}

/// The groups that have a character of their own in files.
const CHARACTERS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Labels {
    Bytes(Vec<u8>),
    Pairs(Vec<u16>),
    Quads(Vec<u32>),
}

impl CompactPartition {
    /// From the group of each row, groups numbered 0..K in any order and none of them empty.
    pub fn from_groups(n_groups: usize, groups: impl ExactSizeIterator<Item = u32>) -> Self {
        // Renamed in order of first appearance, as in a `Partition`.
        let mut names = vec![u32::MAX; n_groups];
        let mut next = 0;
        let renamed = groups.map(|group| {
            let name = &mut names[group as usize];
            if *name == u32::MAX {
                *name = next;
                next += 1;
            }
            *name
        });
        let labels = match n_groups {
            0..=0x100 => Labels::Bytes(renamed.map(|label| label as u8).collect()),
            0x101..=0x1_0000 => Labels::Pairs(renamed.map(|label| label as u16).collect()),
            _ => Labels::Quads(renamed.collect()),
        };
        debug_assert_eq!(next as usize, n_groups, "a group without rows");
        CompactPartition { labels, n_groups: next }
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        match &self.labels {
            Labels::Bytes(labels) => labels.len(),
            Labels::Pairs(labels) => labels.len(),
            Labels::Quads(labels) => labels.len(),
        }
    }

    /// Number of groups, K.
    pub fn n_groups(&self) -> usize {
        self.n_groups as usize
    }

    /// The group of a row.
    pub fn label(&self, row: usize) -> u32 {
        match &self.labels {
            Labels::Bytes(labels) => u32::from(labels[row]),
            Labels::Pairs(labels) => u32::from(labels[row]),
            Labels::Quads(labels) => labels[row],
        }
    }

    /// The group of every row.
    pub fn labels(&self) -> Vec<u32> {
        match &self.labels {
            Labels::Bytes(labels) => labels.iter().map(|&label| u32::from(label)).collect(),
            Labels::Pairs(labels) => labels.iter().map(|&label| u32::from(label)).collect(),
            Labels::Quads(labels) => labels.clone(),
        }
    }

    /// The same partition, four bytes per row.
    pub fn to_partition(&self) -> Partition {
        Partition::from_canonical(self.labels(), self.n_groups())
    }
}

impl From<&Partition> for CompactPartition {
    fn from(partition: &Partition) -> Self {
        CompactPartition::from_groups(partition.n_groups(), partition.labels().iter().copied())
    }
}

impl From<CompactPartition> for Partition {
    fn from(compact: CompactPartition) -> Self {
        compact.to_partition()
    }
}

impl From<Partition> for CompactPartition {
    fn from(partition: Partition) -> Self {
        CompactPartition::from(&partition)
    }
}

impl From<CompactPartition> for String {
    fn from(compact: CompactPartition) -> Self {
        let labels = compact.labels();
        if compact.n_groups() <= CHARACTERS.len() {
            return labels.iter().map(|&label| char::from(CHARACTERS[label as usize])).collect();
        }
        labels.iter().map(u32::to_string).collect::<Vec<_>>().join(" ")
    }
}

impl TryFrom<String> for CompactPartition {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let place = |c: u8| CHARACTERS.iter().position(|&known| known == c).map(|at| at as u32);
        let labels: Option<Vec<u32>> = match text.contains(' ') {
            true => text.split(' ').map(|number| number.parse().ok()).collect(),
            false => text.bytes().map(place).collect(),
        };
        let labels = labels.ok_or("a partition with a row whose group cannot be read")?;
        // In order of first appearance, so none of them is empty.
        let mut groups = 0;
        for &label in &labels {
            match label {
                old if old < groups => {}
                new if new == groups => groups += 1,
                _ => return Err("a partition whose groups are not numbered as they appear".into()),
            }
        }
        Ok(CompactPartition::from_groups(groups as usize, labels.into_iter()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn nothing_is_lost(labels in proptest::collection::vec(0u32..9, 0..50)) {
            let partition = Partition::from_labels(labels.iter());
            let compact = CompactPartition::from(&partition);
            prop_assert_eq!(&compact.to_partition(), &partition);
            prop_assert_eq!(compact.labels(), partition.labels());
            prop_assert!(labels.iter().enumerate().all(|(row, _)| compact.label(row) == partition.labels()[row]));
            // Other names of the groups, the same bytes.
            let k = partition.n_groups();
            let reversed = partition.labels().iter().map(|label| k as u32 - 1 - label);
            prop_assert_eq!(CompactPartition::from_groups(k, reversed), compact);
        }
    }

    #[test]
    fn as_text_it_comes_back_and_damaged_text_is_refused() {
        let some = CompactPartition::from(&Partition::from_labels([7, 7, 1, 7, 2]));
        assert_eq!(serde_json::to_string(&some).unwrap(), "\"00102\"");
        for k in [0u32, 1, 62, 63, 300] {
            let compact = CompactPartition::from_groups(k as usize, (0..k).chain(0..k).collect::<Vec<_>>().into_iter());
            let text = String::from(compact.clone());
            assert_eq!(text.contains(' '), k > 62, "{text}");
            assert_eq!(CompactPartition::try_from(text), Ok(compact));
        }
        for damaged in ["1", "02", "0-", "0 2", "0 1 x", "0  1", "00\u{e9}"] {
            assert!(CompactPartition::try_from(damaged.to_string()).is_err(), "{damaged}");
        }
    }

    #[test]
    fn the_number_of_bytes_follows_the_number_of_groups() {
        for (k, bytes) in [(1usize, 1usize), (256, 1), (257, 2), (65_536, 2), (65_537, 4)] {
            let compact = CompactPartition::from_groups(k, 0..k as u32);
            assert_eq!(compact.to_partition(), Partition::from_labels(0..k));
            let width = match compact.labels {
                Labels::Bytes(_) => 1,
                Labels::Pairs(_) => 2,
                Labels::Quads(_) => 4,
            };
            assert_eq!(width, bytes, "{k} groups");
        }
    }
}
