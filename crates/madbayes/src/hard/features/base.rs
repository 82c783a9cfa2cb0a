//! A base, a feature that most rows have, may be minus the sum of others: rows with base + zA are as well the sums without it of
//! those others that they have not, with their signs changed. One feature fewer, and out of reach for moves that change one
//! feature at a time.

use super::core::Core;
use super::row_problem::{RowProblem, RowSolver};
use super::search::Search;
use std::ops::ControlFlow;

impl Search<'_> {
    /// Drops a base for the complements of others, where that lowers the objective once it has settled; whether it did.
    pub fn drop_base(&mut self, core: &mut Core) -> ControlFlow<(), bool> {
        for base in 0..core.k() {
            let have = core.rows().iter().filter(|row| *row >> base & 1 == 1).count();
            let opposite = if 4 * have > 3 * core.rows().len() { self.opposite(core, base) } else { 0 };
            if opposite > 0 {
                let rows = core.rows().iter().map(|row| without_bit(row ^ opposite, base)).collect();
                let trial = Core::of_rows(rows, core.k() - 1, self.products);
                if self.attempt(core, trial, None)? {
                    return ControlFlow::Continue(true);
                }
            }
        }
        ControlFlow::Continue(false)
    }

    /// The features whose sum is nearest to -A_base: the problem of a row, with G for all that is known of it.
    fn opposite(&mut self, core: &Core, base: usize) -> u64 {
        let (k, gram) = (core.k(), core.frozen().gram);
        let others: Vec<usize> = (0..k).filter(|i| *i != base).collect();
        if others.is_empty() {
            return 0;
        }
        let among = others.iter().flat_map(|i| others.iter().map(|j| gram[*i * k + *j]).collect::<Vec<_>>()).collect();
        let along: Vec<f64> = others.iter().map(|i| -gram[i * k + base]).collect();
        let (mut word, mut cost) = ([0], [0.0]);
        RowProblem::new(among, others.len(), RowSolver::Auto).solve_block(
            &along,
            &mut word,
            &mut cost,
            &mut self.scratch,
        );
        others.iter().enumerate().fold(0, |mask, (bit, other)| mask | (word[0] >> bit & 1) << other)
    }
}

/// The word with one bit taken out, and those above it one place lower.
fn without_bit(word: u64, bit: usize) -> u64 {
    let below = (1 << bit) - 1;
    word & below | word >> 1 & !below
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hard::FeatureGoal;
    use crate::hard::features::core::Products;
    use crate::hard::features::row_problem::Scratch;
    use crate::hard::reconstruct;
    use crate::random::{Stream, stream};
    use crate::structure::Allocation;
    use crate::watch::Unwatched;
    use rand::RngExt;
    use rand_distr::{Distribution, StandardNormal};

    #[test]
    fn complements_beside_a_base_are_features_without_it() {
        assert_eq!([without_bit(0b1011, 0), without_bit(0b1011, 2), without_bit(0b1011, 1)], [0b101, 0b111, 0b101]);
        let (n, d, k) = (200, 12, 5);
        let mut rng = stream(4, Stream::Simulation);
        let z = Allocation::from_bools(n, k, (0..n * k).map(|_| rng.random::<bool>()));
        let a: Vec<f64> = (0..k * d).map(|_| StandardNormal.sample(&mut rng)).collect();
        let mut x = reconstruct(&z, &a, d);
        x.iter_mut().for_each(|x| *x += 0.1 * Distribution::<f64>::sample(&StandardNormal, &mut rng));
        let products = Products::new(&x, n, d);
        let mut search = Search {
            products: &products,
            goal: FeatureGoal::Penalty { penalty: 20.0, max_features: None },
            solver: RowSolver::Auto,
            watch: &Unwatched,
            number: 0,
            max_passes: 100,
            until_noise: false,
            scratch: Scratch::default(),
            work: 0,
            most_work: u64::MAX,
            trace: Vec::new(),
        };
        let mut planted = Core::new(&z, &products);
        assert!(search.settle(&mut planted).is_continue());
        // Features 1, 2 and 4 the other way round, and a base that a few rows have not.
        let bits = |row: &u64| row ^ 0b10110 | 1 << k;
        let rows = planted.rows().iter().enumerate().map(|(n, row)| if n % 90 == 7 { *row } else { bits(row) });
        let mut core = Core::of_rows(rows.collect(), k + 1, &products);
        search.trace.clear();
        assert!(search.settle(&mut core).is_continue());
        assert_eq!(core.k(), k + 1, "no pass finds that one is too many");
        let one_less = (0..=k).map(|feature| core.without(feature, &products));
        for trial in one_less {
            let mut settled = core.clone();
            assert_eq!(
                search.attempt(&mut settled, trial, None),
                ControlFlow::Continue(false),
                "nor does dropping one"
            );
        }
        assert_eq!(search.drop_base(&mut core), ControlFlow::Continue(true));
        assert_eq!(core.k(), k);
        assert!((core.loss - planted.loss).abs() < 1e-9 * planted.loss, "{} for {}", core.loss, planted.loss);
        assert_eq!(search.drop_base(&mut core), ControlFlow::Continue(false));
    }
}
