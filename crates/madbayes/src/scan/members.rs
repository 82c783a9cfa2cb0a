//! The rows of every cluster, side by side in one piece of memory.

use crate::linalg::NO_LABEL;

/// The rows of every cluster, each in order.
#[derive(Debug)]
pub(crate) struct Members {
    rows: Vec<u32>,
    /// Where the rows of a cluster begin, and behind all where the last ones end.
    starts: Vec<usize>,
}

impl Members {
    /// Of rows with these labels, sorted by counting; rows without a label are nowhere.
    pub fn new(labels: &[u32], k: usize) -> Self {
        let mut starts = vec![0; k];
        for &label in labels.iter().filter(|label| **label != NO_LABEL) {
            starts[label as usize] += 1;
        }
        starts.push(0);
        let mut end = 0;
        for start in &mut starts {
            end += *start;
            *start = end;
        }
        let mut rows = vec![0; end];
        for (row, &label) in labels.iter().enumerate().rev().filter(|(_, label)| **label != NO_LABEL) {
            let place = &mut starts[label as usize];
            *place -= 1;
            rows[*place] = row as u32;
        }
        Members { rows, starts }
    }

    /// How many clusters.
    pub fn k(&self) -> usize {
        self.starts.len() - 1
    }

    /// The rows of one cluster.
    pub fn of(&self, k: usize) -> &[u32] {
        &self.rows[self.starts[k]..self.starts[k + 1]]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_with_a_label_is_with_those_of_its_cluster_in_order() {
        let labels = [2, NO_LABEL, 0, 2, 3, 0, 2];
        let members = Members::new(&labels, 5);
        let all: Vec<&[u32]> = (0..members.k()).map(|k| members.of(k)).collect();
        assert_eq!(all, [&[2, 5][..], &[], &[0, 3, 6], &[4], &[]]);
        assert_eq!(Members::new(&[], 2).of(1), &[] as &[u32]);
    }
}
