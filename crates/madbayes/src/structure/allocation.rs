//! A feature allocation: which of K overlapping features each of N rows has, one bit each, rows packed into words.

/// Bits of a word.
const WORD: usize = 64;

/// An N x K binary matrix. Features have an order here; compare with [`Allocation::same_features`] where it means nothing.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Allocation {
    n_rows: usize,
    n_features: usize,
    /// Words of a row: just enough for its features.
    stride: usize,
    /// Bits beyond the last feature are 0.
    bits: Vec<u64>,
}

impl Allocation {
    /// No row has any of the `n_features` features.
    pub fn new(n_rows: usize, n_features: usize) -> Self {
        let stride = n_features.div_ceil(WORD);
        Allocation { n_rows, n_features, stride, bits: vec![0; n_rows * stride] }
    }

    /// From an N x K matrix row by row.
    ///
    /// # Panics
    /// When the number of entries is not `n_rows * n_features`.
    pub fn from_bools(n_rows: usize, n_features: usize, entries: impl IntoIterator<Item = bool>) -> Self {
        let mut allocation = Allocation::new(n_rows, n_features);
        let mut entries = entries.into_iter();
        for row in 0..n_rows {
            for feature in 0..n_features {
                let on = entries.next();
                assert!(on.is_some(), "fewer entries than {n_rows} x {n_features}");
                allocation.set(row, feature, on == Some(true));
            }
        }
        assert!(entries.next().is_none(), "more entries than {n_rows} x {n_features}");
        allocation
    }

    /// From one column per feature.
    ///
    /// # Panics
    /// When a column does not have `n_rows` entries.
    pub fn from_columns<C: AsRef<[bool]>>(n_rows: usize, columns: &[C]) -> Self {
        let mut allocation = Allocation::new(n_rows, columns.len());
        for (feature, column) in columns.iter().enumerate() {
            assert_eq!(column.as_ref().len(), n_rows, "feature {feature} has another number of rows");
            column.as_ref().iter().enumerate().for_each(|(row, &on)| allocation.set(row, feature, on));
        }
        allocation
    }

    /// Number of rows, N.
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// Number of features, K.
    pub fn n_features(&self) -> usize {
        self.n_features
    }

    /// Whether a row has a feature.
    pub fn get(&self, row: usize, feature: usize) -> bool {
        debug_assert!(feature < self.n_features);
        self.bits[row * self.stride + feature / WORD] >> (feature % WORD) & 1 == 1
    }

    /// Gives a row a feature, or takes it away.
    pub fn set(&mut self, row: usize, feature: usize, on: bool) {
        debug_assert!(feature < self.n_features);
        let word = &mut self.bits[row * self.stride + feature / WORD];
        *word = *word & !(1 << (feature % WORD)) | u64::from(on) << (feature % WORD);
    }

    /// The words of a row: feature k is bit k % 64 of word k / 64.
    pub fn row(&self, row: usize) -> &[u64] {
        &self.bits[row * self.stride..(row + 1) * self.stride]
    }

    /// The words of a row; bits beyond the last feature must stay 0.
    pub fn row_mut(&mut self, row: usize) -> &mut [u64] {
        &mut self.bits[row * self.stride..(row + 1) * self.stride]
    }

    /// The features of a row in order.
    pub fn features_of(&self, row: usize) -> impl Iterator<Item = usize> + '_ {
        ones(self.row(row))
    }

    /// Words per row.
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// The rows as consecutive words, to be changed in parallel chunk by chunk.
    pub fn words_mut(&mut self) -> &mut [u64] {
        &mut self.bits
    }

    /// The rows that have a feature, as a column.
    pub fn column(&self, feature: usize) -> Vec<bool> {
        (0..self.n_rows).map(|row| self.get(row, feature)).collect()
    }

    /// The matrix row by row.
    pub fn to_bools(&self) -> Vec<bool> {
        let mut entries = vec![false; self.n_rows * self.n_features];
        for (row, entries) in entries.chunks_exact_mut(self.n_features.max(1)).enumerate() {
            for (words, entries) in self.row(row).iter().zip(entries.chunks_mut(WORD)) {
                entries.iter_mut().enumerate().for_each(|(bit, on)| *on = words >> bit & 1 == 1);
            }
        }
        entries
    }

    /// Rows that have each feature, S_k.
    pub fn counts(&self) -> Vec<usize> {
        let mut counts = vec![0; self.n_features];
        (0..self.n_rows).for_each(|row| self.features_of(row).for_each(|k| counts[k] += 1));
        counts
    }

    /// One more feature with number K, which no row has.
    pub fn push(&mut self) {
        self.n_features += 1;
        if self.n_features > self.stride * WORD {
            let old = std::mem::take(&mut self.bits);
            let (from, to) = (self.stride, self.stride + 1);
            self.stride = to;
            self.bits = vec![0; self.n_rows * to];
            for row in 0..self.n_rows {
                self.bits[row * to..row * to + from].copy_from_slice(&old[row * from..(row + 1) * from]);
            }
        }
    }

    /// These features only, in this order.
    pub fn select(&self, features: &[usize]) -> Allocation {
        let mut chosen = Allocation::new(self.n_rows, features.len());
        for row in 0..self.n_rows {
            for (new, &old) in features.iter().enumerate() {
                chosen.set(row, new, self.get(row, old));
            }
        }
        chosen
    }

    /// These rows only, in this order.
    pub fn select_rows(&self, rows: &[usize]) -> Allocation {
        let mut chosen = Allocation::new(rows.len(), self.n_features);
        for (new, &old) in rows.iter().enumerate() {
            chosen.row_mut(new).copy_from_slice(self.row(old));
        }
        chosen
    }

    /// For each feature the first one with the same column: itself, unless it is a duplicate.
    pub fn first_of_equals(&self) -> Vec<usize> {
        let columns: Vec<Vec<bool>> = (0..self.n_features).map(|k| self.column(k)).collect();
        let mut first = std::collections::HashMap::new();
        columns.iter().enumerate().map(|(k, column)| *first.entry(column).or_insert(k)).collect()
    }

    /// How many features share each distinct column, K_h, in order of first appearance.
    pub fn multiplicities(&self) -> Vec<usize> {
        let mut counts = vec![0; self.n_features];
        self.first_of_equals().into_iter().for_each(|first| counts[first] += 1);
        counts.retain(|count| *count > 0);
        counts
    }

    /// The same features with their columns sorted, largest first, read from the first row down: the left-ordered form of
    /// Griffiths & Ghahramani. Two allocations with the same features have the same one.
    pub fn left_ordered(&self) -> Allocation {
        let mut columns: Vec<Vec<bool>> = (0..self.n_features).map(|k| self.column(k)).collect();
        columns.sort_by(|a, b| b.cmp(a));
        Allocation::from_columns(self.n_rows, &columns)
    }

    /// Whether both have the same features, in whatever order.
    pub fn same_features(&self, other: &Allocation) -> bool {
        self.left_ordered() == other.left_ordered()
    }

    /// Every N x K matrix once (2^(N K) of them), for tests and tiny data.
    ///
    /// # Panics
    /// When N K exceeds 24.
    pub fn all(n_rows: usize, n_features: usize) -> impl Iterator<Item = Allocation> {
        let size = n_rows * n_features;
        assert!(size <= 24, "2^{size} allocations are too many to enumerate");
        (0u32..1 << size)
            .map(move |code| Allocation::from_bools(n_rows, n_features, (0..size).map(|i| code >> i & 1 == 1)))
    }

    /// Every multiset of K nonempty columns once, as an allocation in left order: the structures an IBP is a law over.
    ///
    /// # Panics
    /// When N exceeds 16.
    pub fn all_multisets(n_rows: usize, n_features: usize) -> impl Iterator<Item = Allocation> {
        assert!(n_rows <= 16, "2^{n_rows} columns are too many to enumerate");
        let last = (1u32 << n_rows) - 1;
        // Columns as numbers, the first row the highest bit, never increasing.
        let mut next = (n_features == 0 || last > 0).then(|| vec![last; n_features]);
        std::iter::from_fn(move || {
            let codes = next.take()?;
            if let Some(at) = codes.iter().rposition(|code| *code > 1) {
                let mut following = codes.clone();
                following[at] -= 1;
                let ceiling = following[at];
                following[at + 1..].fill(ceiling);
                next = Some(following);
            }
            let columns: Vec<Vec<bool>> =
                codes.iter().map(|code| (0..n_rows).rev().map(|bit| code >> bit & 1 == 1).collect()).collect();
            Some(Allocation::from_columns(n_rows, &columns))
        })
    }
}

/// Positions of the bits that are 1, in order.
pub fn ones(words: &[u64]) -> impl Iterator<Item = usize> + '_ {
    words.iter().enumerate().flat_map(|(w, &word)| {
        let mut left = word;
        std::iter::from_fn(move || {
            let bit = (left != 0).then(|| left.trailing_zeros() as usize)?;
            left &= left - 1;
            Some(w * WORD + bit)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    #[test]
    fn all_matrices_and_all_multisets_of_columns_are_counted_by_their_formulas() {
        let all: HashSet<Allocation> = Allocation::all(3, 2).collect();
        assert_eq!(all.len(), 64);
        // Multisets of size K from 2^N - 1 columns: (2^N - 2 + K) choose K.
        for (n, k, count) in [(1, 3, 1), (2, 2, 6), (3, 2, 28), (3, 3, 84), (2, 0, 1), (0, 0, 1), (0, 1, 0)] {
            let all: Vec<Allocation> = Allocation::all_multisets(n, k).collect();
            assert_eq!(all.len(), count, "{n} rows, {k} features");
            assert_eq!(all.iter().collect::<HashSet<_>>().len(), count);
            assert!(all.iter().all(|a| *a == a.left_ordered() && a.counts().iter().all(|c| *c > 0)));
        }
        let nonempty: HashSet<Allocation> =
            Allocation::all(3, 3).filter(|a| a.counts().iter().all(|c| *c > 0)).map(|a| a.left_ordered()).collect();
        assert_eq!(nonempty, Allocation::all_multisets(3, 3).collect());
    }

    #[test]
    fn duplicates_are_found() {
        let a = [true, false, true];
        let b = [false, true, true];
        let allocation = Allocation::from_columns(3, &[a, b, a, a]);
        assert_eq!(allocation.first_of_equals(), [0, 1, 0, 0]);
        assert_eq!(allocation.multiplicities(), [3, 1]);
    }

    proptest! {
        #[test]
        fn it_behaves_as_a_plain_matrix(
            n_rows in 1usize..12, n_features in 0usize..140,
            changes in proptest::collection::vec((0usize..12, 0usize..150, any::<bool>()), 0..60),
            pushes in 0usize..10,
        ) {
            let mut plain = vec![vec![false; n_features]; n_rows];
            let mut allocation = Allocation::new(n_rows, n_features);
            for _ in 0..pushes {
                allocation.push();
                plain.iter_mut().for_each(|row| row.push(false));
            }
            let k = n_features + pushes;
            for (row, feature, on) in changes {
                if k > 0 {
                    allocation.set(row % n_rows, feature % k, on);
                    plain[row % n_rows][feature % k] = on;
                }
            }
            prop_assert_eq!(&allocation, &Allocation::from_bools(n_rows, k, plain.concat()));
            prop_assert_eq!(allocation.to_bools(), plain.concat());
            for (row, expected) in plain.iter().enumerate() {
                let features: Vec<usize> = (0..k).filter(|f| expected[*f]).collect();
                prop_assert_eq!(allocation.features_of(row).collect::<Vec<_>>(), features);
            }
            let counts: Vec<usize> = (0..k).map(|f| plain.iter().filter(|row| row[f]).count()).collect();
            prop_assert_eq!(allocation.counts(), counts);
            let reversed: Vec<usize> = (0..k).rev().collect();
            let turned = allocation.select(&reversed);
            prop_assert!(turned.same_features(&allocation));
            prop_assert_eq!(turned.select(&reversed), allocation.clone());
            let rows: Vec<usize> = (0..n_rows).rev().collect();
            prop_assert_eq!(allocation.select_rows(&rows).select_rows(&rows), allocation);
        }
    }
}
