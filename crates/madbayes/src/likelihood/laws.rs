//! The laws every likelihood obeys, as tests that one macro line gives it.

use super::Groups;
use crate::counts::Counts;
use crate::data::{Data, Rows};
use crate::random::{Stream, stream};
use rand::RngExt;

/// Rows for the laws: 12 of them, in general position.
pub struct Sample {
    values: Vec<f64>,
    n_columns: usize,
}

/// 12 rows of so many columns.
pub fn rows(n_columns: usize) -> Sample {
    let mut rng = stream(42, Stream::Simulation);
    Sample { values: (0..12 * n_columns).map(|_| rng.random::<f64>() * 6.0 - 3.0).collect(), n_columns }
}

impl Sample {
    /// As a likelihood of real numbers reads them.
    pub fn data(&self) -> Data<'_, f64> {
        Data::new(Rows::new(&self.values, self.n_columns).unwrap()).unwrap()
    }
}

/// 12 rows of counts from 0 to 5, half of them 0, times a factor.
pub struct SampleOfCounts {
    values: Vec<f64>,
    n_columns: usize,
}

/// 12 rows of so many columns.
pub fn counts(n_columns: usize, factor: f64) -> SampleOfCounts {
    let mut rng = stream(43, Stream::Simulation);
    let values = (0..12 * n_columns).map(|_| factor * f64::from(rng.random_range(0..9u8).saturating_sub(3))).collect();
    SampleOfCounts { values, n_columns }
}

impl SampleOfCounts {
    /// As a likelihood of counts reads them.
    pub fn data(&self) -> Counts {
        Counts::from_rows(Rows::new(&self.values, self.n_columns).unwrap()).unwrap()
    }
}

/// Puts row n into group labels[n].
pub fn seat(groups: &mut dyn Groups, labels: &[usize]) {
    for (row, &label) in labels.iter().enumerate() {
        while groups.n_groups() <= label {
            groups.open();
        }
        groups.add(label, row);
    }
}

/// Taking rows out and putting them back changes nothing.
pub fn add_and_sub_are_inverse(groups: &mut dyn Groups) {
    seat(groups, &[0, 1, 2, 0, 1, 2, 0, 0, 1]);
    let before = groups.ln_marginal();
    for row in [4, 0, 7, 5] {
        let group = [0, 1, 2, 0, 1, 2, 0, 0, 1][row];
        groups.sub(group, row);
        assert!((groups.ln_marginal() - before).abs() > 1e-6, "taking a row out must change the marginal");
        groups.add(group, row);
        assert!((groups.ln_marginal() - before).abs() < 1e-9 * before.abs());
    }
}

/// weigh = log marginal with the row - log marginal without it, for every group and a new one.
pub fn predictive_is_a_ratio_of_marginals(groups: &mut dyn Groups) {
    seat(groups, &[0, 1, 2, 0, 1, 2, 0, 0, 1]);
    let before = groups.ln_marginal();
    for row in 9..12 {
        let mut weights = vec![0.25; 4];
        groups.weigh(row, &mut weights);
        groups.open();
        for (group, weight) in weights.iter().enumerate() {
            groups.add(group, row);
            let ratio = groups.ln_marginal() - before;
            assert!((weight - 0.25 - ratio).abs() < 1e-9 * ratio.abs().max(1.0), "group {group}: {weight} {ratio}");
            groups.sub(group, row);
        }
        groups.close(3);
    }
}

/// charge = loss with the row - loss without it.
pub fn charge_is_the_change_of_the_loss(groups: &mut dyn Groups) {
    seat(groups, &[0, 1, 2, 0, 1, 2, 0, 0, 1]);
    let before = groups.loss();
    for row in 9..12 {
        let mut charges = vec![0.0; 4];
        groups.charge(row, &mut charges);
        groups.open();
        for (group, charge) in charges.iter().enumerate() {
            groups.add(group, row);
            let change = groups.loss() - before;
            assert!((charge - change).abs() <= 1e-9 * before, "group {group}: {charge} {change}");
            groups.sub(group, row);
        }
        groups.close(3);
    }
}

/// A closed group's number goes to the last; sums formed anew change nothing.
pub fn close_moves_the_last_and_refresh_changes_nothing(groups: &mut dyn Groups) {
    let labels = [0, 1, 2, 0, 2, 2, 0];
    seat(groups, &labels);
    let before = groups.ln_marginal();
    groups.sub(1, 1);
    groups.close(1);
    assert_eq!(groups.n_groups(), 2);
    let name = |label: usize| if label == 2 { 1 } else { label };
    // Row 1 goes back into a group of its own, the third.
    groups.open();
    groups.add(2, 1);
    assert!((groups.ln_marginal() - before).abs() < 1e-9 * before.abs());
    let all = |row: usize| match labels.get(row) {
        Some(1) => 2,
        Some(&label) => name(label),
        None => 2,
    };
    for row in labels.len()..12 {
        groups.add(2, row);
    }
    let full = groups.ln_marginal();
    groups.refresh(&all);
    assert!((groups.ln_marginal() - full).abs() < 1e-9 * full.abs());
}

/// Closing a full group equals taking its rows out first, and nothing of it lingers: the rows that were in it may go
/// anywhere, and the groups that are left give up theirs as before.
pub fn closing_a_full_group_drops_its_rows(groups: &mut dyn Groups) {
    let labels = [0, 1, 2, 0, 1, 2, 0, 0, 1];
    let scores = |groups: &mut dyn Groups| {
        let mut numbers = vec![groups.ln_marginal(), groups.loss()];
        for row in [1, 4, 8, 9, 10] {
            let (mut weights, mut charges) = ([0.0; 3], [0.0; 3]);
            groups.weigh(row, &mut weights);
            groups.charge(row, &mut charges);
            numbers.extend(weights.into_iter().chain(charges));
        }
        numbers
    };
    for closed in 0..2 {
        // The group of rows 1, 4 and 8 is a middle one, then the last.
        let mut held = Vec::new();
        for emptied in [true, false] {
            while groups.n_groups() > 0 {
                groups.close(0);
            }
            seat(groups, &labels.map(|label| if closed == 0 { label } else { [0, 2, 1][label] }));
            if emptied {
                [1, 4, 8].into_iter().for_each(|row| groups.sub(closed + 1, row));
            }
            groups.close(closed + 1);
            assert_eq!(groups.n_groups(), 2);
            let mut numbers = scores(groups);
            // Its rows come back elsewhere, and the others leave.
            groups.open();
            for (row, group) in [(1, 0), (8, 2), (4, 1)] {
                groups.add(group, row);
            }
            for (row, group) in [(0, 0), (5, 1), (7, 0)] {
                groups.sub(group, row);
            }
            groups.sub(2, 8);
            groups.close(2);
            numbers.extend(scores(groups));
            held.push(numbers);
        }
        for (after_emptying, at_once) in held[0].iter().zip(&held[1]) {
            assert!((after_emptying - at_once).abs() < 1e-9 * after_emptying.abs().max(1.0), "{held:?}");
        }
    }
}

/// Two ways to put nine rows into three groups.
const STRUCTURES: [&[usize]; 2] = [&[0, 1, 2, 0, 1, 2, 0, 0, 1], &[0, 0, 1, 1, 0, 1, 2, 2, 0]];

/// -2 s2 (log marginal of one structure - of another) tends to the difference of their losses as s2 -> 0.
/// `ln_marginal` seats the labels at a variance s2, `loss` seats them in the limit.
pub fn loss_is_the_limit_of_the_marginal(ln_marginal: impl Fn(f64, &[usize]) -> f64, loss: impl Fn(&[usize]) -> f64) {
    let [a, b] = STRUCTURES.map(&loss);
    assert!((a - b).abs() > 1e-2, "the two structures must differ");
    let mut gap = f64::INFINITY;
    for variance in [1e-2, 1e-4, 1e-6, 1e-8] {
        let [at_a, at_b] = STRUCTURES.map(|labels| -2.0 * variance * ln_marginal(variance, labels));
        let now = ((at_a - at_b) - (a - b)).abs();
        assert!(now < gap, "the gap must shrink with the variance");
        gap = now;
    }
    assert!(gap < 1e-5, "{gap}");
}

/// Log marginal of seated labels.
pub fn seated_ln_marginal(mut groups: impl Groups, labels: &[usize]) -> f64 {
    seat(&mut groups, labels);
    groups.ln_marginal()
}

/// Loss of seated labels.
pub fn seated_loss(mut groups: impl Groups, labels: &[usize]) -> f64 {
    seat(&mut groups, labels);
    groups.loss()
}

/// All laws for one likelihood: `likelihood_laws!(module, its rows, |data| its groups)`.
macro_rules! likelihood_laws {
    ($name:ident, $rows:expr, $make:expr) => {
        mod $name {
            use super::*;
            use crate::likelihood::laws;

            fn with_groups(law: fn(&mut dyn Groups)) {
                let rows = $rows;
                let data = rows.data();
                let make = $make;
                law(&mut make(&data));
            }

            #[test]
            fn add_and_sub_are_inverse() {
                with_groups(laws::add_and_sub_are_inverse);
            }
            #[test]
            fn predictive_is_a_ratio_of_marginals() {
                with_groups(laws::predictive_is_a_ratio_of_marginals);
            }
            #[test]
            fn charge_is_the_change_of_the_loss() {
                with_groups(laws::charge_is_the_change_of_the_loss);
            }
            #[test]
            fn close_moves_the_last_and_refresh_changes_nothing() {
                with_groups(laws::close_moves_the_last_and_refresh_changes_nothing);
            }
            #[test]
            fn closing_a_full_group_drops_its_rows() {
                with_groups(laws::closing_a_full_group_drops_its_rows);
            }
        }
    };
}

/// The laws of the limit alone, for groups that have no posterior: `limit_laws!(module, its rows, |data| its groups)`.
macro_rules! limit_laws {
    ($name:ident, $rows:expr, $make:expr) => {
        mod $name {
            use super::*;
            use crate::likelihood::laws;

            #[test]
            fn charge_is_the_change_of_the_loss() {
                let rows = $rows;
                let data = rows.data();
                let make = $make;
                laws::charge_is_the_change_of_the_loss(&mut make(&data));
            }
        }
    };
}

pub(crate) use {likelihood_laws, limit_laws};
