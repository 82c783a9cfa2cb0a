//! DP-means with Kullback-Leibler divergence against brute force, the formula in plain loops, and planted topics.

use super::*;
use crate::data::Rows;
use crate::metrics::adjusted_rand_index;
use crate::structure::Partition;
use crate::watch::Unwatched;
use rand::RngExt;

fn counts(values: &[f64], n_columns: usize) -> Counts {
    Counts::from_rows(Rows::new(values, n_columns).unwrap()).unwrap()
}

/// sum_n x_n. KL(x_n/x_n. || C/C.) + (K - 1) penalty, in plain loops.
fn objective(values: &[f64], v: usize, partition: &Partition, penalty: f64) -> f64 {
    let mut total = (partition.n_groups() - 1) as f64 * penalty;
    for members in partition.members() {
        let tally: Vec<f64> = (0..v).map(|j| members.iter().map(|n| values[n * v + j]).sum()).collect();
        let all: f64 = tally.iter().sum();
        for n in members {
            let row = &values[n * v..(n + 1) * v];
            let sum: f64 = row.iter().sum();
            for (x, c) in row.iter().zip(&tally).filter(|(x, _)| **x > 0.0) {
                total += x * ((x / sum) / (c / all)).ln();
            }
        }
    }
    total
}

/// Texts of `words` words from topics that prefer columns of their own, and their topics.
fn texts(n_rows: usize, topics: usize, words: usize, seed: u64) -> (Vec<f64>, usize, Vec<u32>) {
    let (mut rng, v) = (stream(seed, Stream::Simulation), 12 * topics);
    let mut values = vec![0.0; n_rows * v];
    let labels: Vec<u32> = (0..n_rows).map(|n| (n % topics) as u32).collect();
    for (row, &topic) in values.chunks_exact_mut(v).zip(&labels) {
        for _ in 0..words {
            let own = rng.random::<f64>() < 0.6;
            let column = if own { topic as usize * 12 + rng.random_range(0..12) } else { rng.random_range(0..v) };
            row[column] += 1.0;
        }
    }
    (values, v, labels)
}

#[test]
fn tiny_problems_are_solved_and_never_below_the_optimum() {
    let mut rng = stream(3, Stream::Simulation);
    let (mut solved, mut tried) = (0, 0);
    for case in 0..40 {
        let values: Vec<f64> = (0..7 * 4).map(|_| f64::from(rng.random_range(0..5u8))).collect();
        let (data, penalty) = (counts(&values, 4), 1.0 + f64::from(case % 8));
        for goal in [
            Goal::Penalty { penalty, max_clusters: None },
            Goal::Penalty { penalty, max_clusters: Some(2) },
            Goal::Exactly(3),
        ] {
            let allowed = |p: &Partition| match goal {
                Goal::Exactly(k) => p.n_groups() == k,
                Goal::Penalty { max_clusters, .. } => max_clusters.is_none_or(|cap| p.n_groups() <= cap),
            };
            let best = Partition::all(7).filter(|p| allowed(p)).map(|p| objective(&values, 4, &p, goal.penalty()));
            let best = best.fold(f64::INFINITY, f64::min);
            for algorithm in [Algorithm::Parallel, Algorithm::Collapsed] {
                let fit = DivergenceMeans { goal, algorithm, ..Default::default() }.fit(&data, &Unwatched).unwrap();
                let own = objective(&values, 4, &Partition::from_labels(fit.labels.clone()), goal.penalty());
                assert!((fit.objective - own).abs() < 1e-9 * (1.0 + own), "{} {own}", fit.objective);
                let rows: f64 = fit.row_losses(&data).iter().sum();
                assert!((rows - fit.loss()).abs() < 1e-9 * (1.0 + rows), "{rows} {}", fit.loss());
                assert!(fit.objective > best - 1e-9);
                tried += 1;
                solved += usize::from(fit.objective < best + 1e-9);
            }
        }
    }
    assert!(solved * 100 >= tried * 97, "{solved} of {tried}");
}

#[test]
fn planted_topics_are_found_and_no_pass_raises_the_objective() {
    let (values, v, truth) = texts(300, 5, 60, 1);
    let data = counts(&values, v);
    let truth = Partition::from_labels(truth);
    for (goal, threads) in [(Goal::Exactly(5), 1), (Goal::Penalty { penalty: 400.0, max_clusters: None }, 2)] {
        for algorithm in [Algorithm::Parallel, Algorithm::Collapsed] {
            let means = DivergenceMeans { goal, algorithm, threads, ..Default::default() };
            let fit = means.fit(&data, &Unwatched).unwrap();
            assert!(fit.trace.windows(2).all(|t| t[1] <= t[0] * (1.0 + 1e-9)), "{:?}", fit.trace);
            assert_eq!(fit.trace.last(), Some(&fit.objective));
            let found = Partition::from_labels(fit.labels.clone());
            assert_eq!(fit.n_clusters(), 5, "{goal:?} {algorithm:?}");
            assert!(adjusted_rand_index(&truth, &found).unwrap() > 0.97, "{goal:?} {algorithm:?}");
            assert!(fit.converged && !fit.stopped);
            assert!((fit.centre(0).iter().sum::<f64>() - 1.0).abs() < 1e-12);
        }
    }
}

#[test]
fn short_texts_do_not_draw_long_ones_to_themselves() {
    // A short row is cheap to be together with, whatever it says: seeds must be compared by their shares.
    for seed in 0..6 {
        let (mut rng, topics, v) = (stream(seed, Stream::Simulation), 6, 240);
        let mut values = vec![0.0; 240 * v];
        for (n, row) in values.chunks_exact_mut(v).enumerate() {
            for _ in 0..rng.random_range(15..150) {
                row[n % topics * 40 + (40.0 * rng.random::<f64>().powi(2)) as usize] += 1.0;
            }
        }
        let fit = DivergenceMeans::exactly(topics).fit(&counts(&values, v), &Unwatched).unwrap();
        let truth = Partition::from_labels((0..240).map(|n| n % topics));
        let found = Partition::from_labels(fit.labels);
        assert_eq!(adjusted_rand_index(&truth, &found).unwrap(), 1.0, "seed {seed}");
    }
}

#[test]
fn threads_change_no_bit_and_rows_are_nearest_to_their_own_cluster() {
    let (values, v, _) = texts(3000, 4, 40, 2);
    let data = counts(&values, v);
    let fit = |threads| {
        let means = DivergenceMeans { threads, restarts: Restarts::Exactly(3), ..DivergenceMeans::exactly(4) };
        means.fit(&data, &Unwatched).unwrap()
    };
    let one = fit(1);
    assert_eq!(one, fit(2));
    let tallies = Tallies::new(one.tallies.clone(), v);
    let (labels, divergences) = nearest_distributions(&data, &tallies, &Workers::new(2));
    let agree = labels.iter().zip(&one.labels).filter(|(a, b)| a == b).count();
    assert!(agree > 2995, "{agree}");
    assert!((divergences.iter().sum::<f64>() - one.loss()).abs() < 1e-3 * one.loss());
}

#[test]
fn a_new_row_with_an_unknown_column_joins_where_it_costs_least() {
    let tallies = Tallies::new(vec![8.0, 2.0, 0.0, 1.0, 9.0, 0.0], 3);
    let rows = counts(&[4.0, 1.0, 1.0, 0.0, 5.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0], 3);
    let (labels, costs) = nearest_distributions(&rows, &tallies, &Workers::serial());
    assert_eq!(labels, [0, 1, 1, 0]);
    assert!(costs.iter().all(|c| c.is_finite()) && (costs[2] + 0.9f64.ln()).abs() < 1e-12 && costs[3] == 0.0);
}

#[test]
fn a_weight_is_a_factor_of_the_counts() {
    let values = [3.0, 1.0, 0.0, 0.0, 2.0, 5.0, 1.0, 1.0, 1.0];
    let doubled: Vec<f64> = values.iter().map(|x| 2.0 * x).collect();
    let once = DivergenceMeans::with_penalty(2.0).fit(&counts(&values, 3), &Unwatched).unwrap();
    let twice = DivergenceMeans::with_penalty(4.0).fit(&counts(&doubled, 3), &Unwatched).unwrap();
    assert_eq!(once.labels, twice.labels);
    assert!((2.0 * once.objective - twice.objective).abs() < 1e-12 * twice.objective);
}

#[test]
fn equal_shares_and_empty_rows_cannot_be_told_apart() {
    let data = counts(&[1.0, 2.0, 2.0, 4.0, 0.0, 0.0, 5.0, 0.0], 2);
    let error = DivergenceMeans::exactly(3).fit(&data, &Unwatched).unwrap_err();
    assert_eq!(error, Error::Distinct { distinct: 2, wanted: 3 });
    assert_eq!(DivergenceMeans::exactly(2).fit(&data, &Unwatched).unwrap().objective, 0.0);
    let empty = counts(&[0.0; 6], 2);
    let fit = DivergenceMeans::with_penalty(1.0).fit(&empty, &Unwatched).unwrap();
    assert_eq!((fit.labels, fit.objective), (vec![0, 0, 0], 0.0));
}

#[test]
fn bad_parameters_are_named() {
    let data = counts(&[1.0, 2.0, 3.0, 4.0], 2);
    let error = |means: DivergenceMeans| means.fit(&data, &Unwatched).unwrap_err().to_string();
    for (found, says) in [
        (error(DivergenceMeans::with_penalty(0.0)), "penalty must be"),
        (error(DivergenceMeans::exactly(3)), "n_clusters must be"),
        (error(DivergenceMeans { max_passes: 0, ..Default::default() }), "max_passes must be"),
        (error(DivergenceMeans { tolerance: -1.0, ..Default::default() }), "tolerance must be"),
        (error(DivergenceMeans { algorithm: Algorithm::Serial, ..Default::default() }), "algorithm must be"),
    ] {
        assert!(found.starts_with(says), "{found}");
    }
}
