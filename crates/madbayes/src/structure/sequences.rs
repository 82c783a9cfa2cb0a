//! Sequences of rows that stand one after another: where each begins and ends.

use crate::error::{Error, Result};
use std::ops::Range;

/// N rows cut into sequences, none of them empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sequences {
    /// One past the last row of each.
    ends: Vec<usize>,
}

impl Sequences {
    /// Sequences of these lengths among `n_rows` rows. Errors unless they are positive and add up.
    pub fn new(lengths: &[usize], n_rows: usize) -> Result<Self> {
        if let Some(at) = lengths.iter().position(|&length| length == 0) {
            let found = format!("0 for sequence {at}");
            return Err(Error::argument("lengths", "at least 1 each", found, "leave empty sequences out"));
        }
        let ends: Vec<usize> = lengths
            .iter()
            .scan(0usize, |end, &length| {
                *end = end.saturating_add(length);
                Some(*end)
            })
            .collect();
        let total = ends.last().copied().unwrap_or(0);
        if total != n_rows {
            let allowed = format!("numbers whose sum is the {n_rows} rows");
            return Err(Error::argument(
                "lengths",
                allowed,
                format!("a sum of {total}"),
                "give the rows of each sequence",
            ));
        }
        Ok(Sequences { ends })
    }

    /// All rows in one sequence.
    pub fn one(n_rows: usize) -> Self {
        Sequences { ends: if n_rows > 0 { vec![n_rows] } else { vec![] } }
    }

    /// Number of rows, N.
    pub fn n_rows(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }

    /// Number of sequences.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The rows of each sequence.
    pub fn ranges(&self) -> impl ExactSizeIterator<Item = Range<usize>> {
        let start = |i: usize| if i == 0 { 0 } else { self.ends[i - 1] };
        self.ends.iter().enumerate().map(move |(i, &end)| start(i)..end)
    }

    /// Rows in each sequence.
    pub fn lengths(&self) -> Vec<usize> {
        self.ranges().map(|range| range.len()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_become_ranges_and_wrong_ones_are_named() {
        let sequences = Sequences::new(&[2, 1, 4], 7).unwrap();
        assert_eq!(sequences.ranges().collect::<Vec<_>>(), [0..2, 2..3, 3..7]);
        assert_eq!((sequences.n_rows(), sequences.len(), sequences.lengths()), (7, 3, vec![2, 1, 4]));
        assert_eq!(Sequences::one(5).ranges().collect::<Vec<_>>(), [Range { start: 0, end: 5 }]);
        assert!(Sequences::one(0).is_empty());
        for (lengths, message) in [(&[2, 0, 5][..], "0 for sequence 1"), (&[3], "a sum of 3"), (&[], "a sum of 0")] {
            let error = Sequences::new(lengths, 7).unwrap_err().to_string();
            assert!(error.starts_with("lengths must be") && error.contains(message), "{error}");
        }
        assert!(Sequences::new(&[usize::MAX, usize::MAX], 7).is_err());
    }
}
