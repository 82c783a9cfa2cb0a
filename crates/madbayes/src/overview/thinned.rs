//! Which rows a picture shows where there are too many: a random choice that the seed repeats.

use crate::random::{Stream, choose_some, stream};

/// Rows that a picture shows at most.
pub const MOST_SHOWN: usize = 20_000;

/// `most` of the rows in their order, every choice of them equally likely; all where there are no more.
pub fn thinned(n_rows: usize, most: usize, seed: u64) -> Vec<usize> {
    match n_rows <= most {
        true => (0..n_rows).collect(),
        false => choose_some(n_rows, most, &mut stream(seed, Stream::Sample)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_rows_are_all_shown_and_many_are_thinned_in_order_and_reproducibly() {
        assert_eq!(thinned(5, 5, 0), [0, 1, 2, 3, 4]);
        let rows = thinned(1000, 100, 3);
        assert_eq!(rows.len(), 100);
        assert!(rows.is_sorted_by(|a, b| a < b) && rows[99] < 1000);
        assert_eq!(rows, thinned(1000, 100, 3));
        assert_ne!(rows, thinned(1000, 100, 4));
    }
}
