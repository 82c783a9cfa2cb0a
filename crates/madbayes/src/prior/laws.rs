//! The laws every prior over partitions obeys, given to each by one line of `prior_laws!`.

use super::{Crp, CrpSeats, DirichletMultinomial, DirichletMultinomialSeats, Seats};
use crate::random::{Rng, Stream, stream};
use crate::special::ln_sum_exp;
use crate::structure::Partition;
use rand::RngExt;
use statrs::distribution::{ChiSquared, ContinuousCDF};

/// `prior_laws!(name, |ln_theta| prior, |ln_theta, penalty| empty seats)`: the prior has `ln_prob`, `charge`, `sample`
/// and `expected_groups`; the seats implement [`Seats`].
macro_rules! prior_laws {
    ($name:ident, $prior:expr, $seats:expr) => {
        mod $name {
            use super::*;

            #[test]
            fn probabilities_of_all_partitions_sum_to_one() {
                for ln_theta in LN_THETAS {
                    super::sums_to_one(|p| ($prior)(ln_theta).ln_prob(p));
                }
            }

            #[test]
            fn permuting_rows_changes_no_probability() {
                super::is_exchangeable(|p| ($prior)(0.4).ln_prob(p), || ($seats)(0.4, 1.0));
            }

            #[test]
            fn seats_have_the_probability_of_their_partition() {
                for ln_theta in LN_THETAS {
                    super::seats_agree(|p| ($prior)(ln_theta).ln_prob(p), || ($seats)(ln_theta, 1.0));
                }
            }

            #[test]
            fn weights_are_ratios_of_probabilities() {
                for ln_theta in LN_THETAS {
                    super::weights_are_ratios(|p| ($prior)(ln_theta).ln_prob(p), || ($seats)(ln_theta, 1.0));
                }
            }

            #[test]
            fn charges_are_differences_of_charges() {
                super::charges_are_differences(|k| ($prior)(0.0).charge(k, 2.5), || ($seats)(0.0, 2.5));
            }

            #[test]
            fn weights_and_charges_are_added_to_what_is_there() {
                super::faces_are_added(|| ($seats)(0.2, 2.5));
            }

            #[test]
            fn joining_and_leaving_are_inverse() {
                super::joining_and_leaving_are_inverse(|p| ($prior)(-0.6).ln_prob(p), || ($seats)(-0.6, 1.3));
            }

            #[test]
            fn closing_moves_the_last_group_into_the_gap() {
                super::closing_swaps_with_the_last(|| ($seats)(0.2, 1.0));
            }

            #[test]
            fn the_log_probability_tends_to_the_charge() {
                for penalty in [2.5, 0.0] {
                    super::tends_to_the_charge(
                        |ln_theta, p| ($prior)(ln_theta).ln_prob(p),
                        |k| ($prior)(0.0).charge(k, penalty),
                        |ln_theta| ($seats)(ln_theta, penalty),
                        penalty,
                    );
                }
            }

            #[test]
            fn samples_match_their_probabilities() {
                for ln_theta in [-1.0, 0.0, 1.0] {
                    let prior = ($prior)(ln_theta);
                    super::samples_match(|n, rng| prior.sample(n, rng), |p| prior.ln_prob(p));
                }
            }

            #[test]
            fn samples_have_the_expected_number_of_groups() {
                for ln_theta in [-3.0, 0.0, 1.0] {
                    let prior = ($prior)(ln_theta);
                    super::groups_match(|n, rng| prior.sample(n, rng), |n| prior.expected_groups(n));
                }
            }
        }
    };
}

prior_laws!(crp, |ln_theta| Crp { ln_concentration: ln_theta }, CrpSeats::new);
prior_laws!(dirichlet_multinomial, |ln_theta| DirichletMultinomial { components: 3, ln_theta }, |ln_theta, penalty| {
    DirichletMultinomialSeats::new(3, ln_theta, penalty)
});
prior_laws!(
    dirichlet_multinomial_with_a_component_for_every_row,
    |ln_theta| DirichletMultinomial { components: 7, ln_theta },
    |ln_theta, penalty| DirichletMultinomialSeats::new(7, ln_theta, penalty)
);

const LN_THETAS: [f64; 4] = [-40.0, -1.5, 0.0, 2.0];

type Probability<'a> = &'a dyn Fn(&Partition) -> f64;

/// Partitions of `n` rows that are possible at all.
fn possible(n: usize, ln_prob: Probability) -> Vec<Partition> {
    Partition::all(n).filter(|p| ln_prob(p) > f64::NEG_INFINITY).collect()
}

/// Puts every row in its group, rows in order.
fn seat<S: Seats>(mut seats: S, partition: &Partition) -> S {
    for (row, &group) in partition.labels().iter().enumerate() {
        if group as usize == seats.n_groups() {
            seats.open();
        }
        seats.joined(group as usize, row);
    }
    seats
}

/// Weights and charges of all groups and a new one.
fn faces(seats: &impl Seats) -> (Vec<f64>, Vec<f64>) {
    let (mut weights, mut charges) = (vec![0.0; seats.n_groups() + 1], vec![0.0; seats.n_groups() + 1]);
    seats.weigh(&mut weights);
    seats.charge(&mut charges);
    (weights, charges)
}

fn assert_close(a: f64, b: f64, tolerance: f64, what: &dyn std::fmt::Debug) {
    assert!(a == b || (a - b).abs() <= tolerance * (1.0 + a.abs().min(b.abs())), "{a} is not {b}: {what:?}");
}

fn sums_to_one(ln_prob: impl Fn(&Partition) -> f64) {
    for n in 0..=7 {
        let total: f64 = Partition::all(n).map(|p| ln_prob(&p).exp()).sum();
        assert!((total - 1.0).abs() < 1e-12, "{n} rows: {total}");
    }
}

fn is_exchangeable<S: Seats>(ln_prob: impl Fn(&Partition) -> f64, empty: impl Fn() -> S) {
    let mut rng = stream(0, Stream::Prior);
    for partition in possible(6, &ln_prob) {
        let mut labels = partition.labels().to_vec();
        for i in (1..labels.len()).rev() {
            labels.swap(i, rng.random_range(0..=i));
        }
        let permuted = Partition::from_labels(labels);
        assert_close(ln_prob(&permuted), ln_prob(&partition), 1e-13, &partition);
        assert_close(seat(empty(), &permuted).ln_prob(), ln_prob(&partition), 1e-13, &partition);
    }
}

fn seats_agree<S: Seats>(ln_prob: impl Fn(&Partition) -> f64, empty: impl Fn() -> S) {
    for n in 0..=6 {
        for partition in possible(n, &ln_prob) {
            let seats = seat(empty(), &partition);
            assert_eq!(seats.n_groups(), partition.n_groups());
            assert_close(seats.ln_prob(), ln_prob(&partition), 1e-13, &partition);
        }
    }
}

/// The normalised weights of the next row are p(partition with it) / p(partition without it).
fn weights_are_ratios<S: Seats>(ln_prob: impl Fn(&Partition) -> f64, empty: impl Fn() -> S) {
    for n in 0..=5 {
        for partition in possible(n, &ln_prob) {
            let (weights, _) = faces(&seat(empty(), &partition));
            let total = ln_sum_exp(&weights);
            for (group, weight) in weights.iter().enumerate() {
                let larger = Partition::from_labels(partition.labels().iter().copied().chain([group as u32]));
                let ratio = ln_prob(&larger) - ln_prob(&partition);
                assert_close(weight - total, ratio, 1e-12, &larger);
            }
        }
    }
}

fn charges_are_differences<S: Seats>(charge: impl Fn(usize) -> f64, empty: impl Fn() -> S) {
    for n in 0..=5 {
        for partition in Partition::all(n).filter(|p| charge(p.n_groups()).is_finite()) {
            let (_, charges) = faces(&seat(empty(), &partition));
            let k = partition.n_groups();
            for (group, found) in charges.iter().enumerate() {
                let expected = if group < k { 0.0 } else { charge(k + 1) - charge(k) };
                assert_close(*found, expected, 1e-14, &(&partition, group));
            }
        }
    }
}

fn faces_are_added<S: Seats>(empty: impl Fn() -> S) {
    let seats = seat(empty(), &Partition::from_labels([0, 1, 1]));
    let there = [1.0, 20.0, 300.0];
    let (mut weights, mut charges) = (there, there);
    seats.weigh(&mut weights);
    seats.charge(&mut charges);
    let (alone_weights, alone_charges) = faces(&seats);
    for i in 0..3 {
        assert_close(weights[i], there[i] + alone_weights[i], 1e-14, &i);
        assert_close(charges[i], there[i] + alone_charges[i], 1e-14, &i);
    }
}

fn joining_and_leaving_are_inverse<S: Seats>(ln_prob: impl Fn(&Partition) -> f64, empty: impl Fn() -> S) {
    for partition in possible(5, &ln_prob) {
        let mut seats = seat(empty(), &partition);
        let (before, ln_prob) = (faces(&seats), seats.ln_prob());
        for (row, &label) in partition.labels().iter().enumerate() {
            let (group, last) = (label as usize, partition.n_groups() - 1);
            seats.left(group, row);
            if partition.sizes()[group] > 1 {
                seats.joined(group, row);
                assert_eq!(faces(&seats), before);
            } else {
                // Without its row the group counts for nothing, open or closed.
                let open = seats.ln_prob();
                seats.close(group);
                assert_eq!((seats.ln_prob(), seats.n_groups()), (open, last));
                seats.open();
                seats.joined(last, row);
                let mut swapped = before.clone();
                swapped.0.swap(group, last);
                swapped.1.swap(group, last);
                assert_eq!(faces(&seats), swapped);
                // Back to the numbering of the partition.
                seats = seat(empty(), &partition);
            }
            assert_close(seats.ln_prob(), ln_prob, 1e-14, &partition);
        }
    }
}

fn closing_swaps_with_the_last<S: Seats>(empty: impl Fn() -> S) {
    let mut seats = seat(empty(), &Partition::from_labels([0, 1, 2, 2, 2, 0]));
    seats.left(1, 1);
    seats.close(1);
    let expected = seat(empty(), &Partition::from_labels([0, 0, 1, 1, 1]));
    assert_eq!(seats.n_groups(), 2);
    assert_eq!(faces(&seats), faces(&expected));
    seats.left(0, 0);
    seats.left(0, 5);
    seats.close(0);
    assert_eq!(faces(&seats), faces(&seat(empty(), &Partition::from_labels([0, 0, 0]))));
}

/// With log theta = -penalty/(2 s2): -2 s2 log p -> charge, and the same for the weights of a next row.
fn tends_to_the_charge<S: Seats>(
    ln_prob: impl Fn(f64, &Partition) -> f64,
    charge: impl Fn(usize) -> f64,
    empty: impl Fn(f64) -> S,
    penalty: f64,
) {
    for variance in [1e-2, 1e-4, 1e-6] {
        let ln_theta = -penalty / (2.0 * variance);
        let close = |found: f64, limit: f64, what: &Partition| {
            // What is left is 2 s2 times logarithms of group sizes and of the number of components.
            assert!(found == limit || (found - limit).abs() < 60.0 * variance, "{found} {limit}: {what:?}");
        };
        for partition in Partition::all(5) {
            let limit = charge(partition.n_groups());
            close(-2.0 * variance * ln_prob(ln_theta, &partition), limit, &partition);
            if limit.is_finite() {
                let (weights, charges) = faces(&seat(empty(ln_theta), &partition));
                let total = ln_sum_exp(&weights);
                let least = charges.iter().copied().fold(f64::INFINITY, f64::min);
                for (weight, charge) in weights.iter().zip(&charges) {
                    close(-2.0 * variance * (weight - total), charge - least, &partition);
                }
            }
        }
    }
}

/// Chi-square test over all partitions of five rows.
fn samples_match(sample: impl Fn(usize, &mut Rng) -> Partition, ln_prob: impl Fn(&Partition) -> f64) {
    let n_draws = 100_000;
    let mut rng = stream(5, Stream::Prior);
    let mut counts = std::collections::HashMap::new();
    for _ in 0..n_draws {
        *counts.entry(sample(5, &mut rng)).or_insert(0u32) += 1;
    }
    let mut statistic = 0.0;
    let partitions = possible(5, &ln_prob);
    for partition in &partitions {
        let expected = f64::from(n_draws) * ln_prob(partition).exp();
        assert!(expected > 5.0, "too few draws for {partition:?}");
        statistic += (f64::from(counts.remove(partition).unwrap_or(0)) - expected).powi(2) / expected;
    }
    assert!(counts.is_empty(), "impossible partitions were drawn: {counts:?}");
    let p_value = ChiSquared::new(partitions.len() as f64 - 1.0).unwrap().sf(statistic);
    assert!(p_value > 1e-3, "p = {p_value}");
}

fn groups_match(sample: impl Fn(usize, &mut Rng) -> Partition, expected_groups: impl Fn(usize) -> f64) {
    let n_draws = 10_000;
    let mut rng = stream(6, Stream::Prior);
    let counts: Vec<f64> = (0..n_draws).map(|_| sample(30, &mut rng).n_groups() as f64).collect();
    let n = f64::from(n_draws);
    let mean = counts.iter().sum::<f64>() / n;
    let error = (counts.iter().map(|c| (c - mean).powi(2)).sum::<f64>() / (n * (n - 1.0))).sqrt();
    let z = (mean - expected_groups(30)) / error;
    assert!(z.abs() < 4.0, "mean {mean}, expected {}, z = {z}", expected_groups(30));
    assert_eq!(expected_groups(0), 0.0);
    assert!((expected_groups(1) - 1.0).abs() < 1e-12);
}
