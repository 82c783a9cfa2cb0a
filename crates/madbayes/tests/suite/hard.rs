//! What every hard clustering promises: falling traces, honest objectives, the same bits, K that shrinks.

use crate::common::{blobs, data, recomputed, uniform};
use madbayes::Error;
use madbayes::data::{Data, Real, Rows};
use madbayes::hard::{Algorithm, Clustering, DpMeans, Goal, Restarts, Start, nearest_centres};
use madbayes::parallel::Workers;
use madbayes::structure::Partition;
use madbayes::watch::{Step, Unwatched, Watch};
use proptest::prelude::*;
use rstest::rstest;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};

const ALGORITHMS: [Algorithm; 3] = [Algorithm::Parallel, Algorithm::Serial, Algorithm::Collapsed];

/// What rounding may add to an objective: a share of it, and of the rows' own squares.
fn rounding<T: Real>(data: &Data<T>, objective: f64) -> f64 {
    let square: f64 = data.spreads().iter().map(|s| s * s).sum();
    (if size_of::<T>() == 4 { 1e-6 } else { 1e-9 }) * objective + 2e-14 * data.total_weight() * square
}

fn check_promises<T: Real>(data: &Data<T>, fit: &Clustering) {
    for trace in &fit.traces {
        for pair in trace.windows(2) {
            assert!(pair[1] <= pair[0] + rounding(data, pair[0]), "a trace rose: {trace:?}");
        }
    }
    assert_eq!(fit.trace.last(), Some(&fit.objective));
    let again = recomputed(data, fit);
    assert!((fit.objective - again).abs() <= 1e-12 * again.abs() + 1e-12, "{} {again}", fit.objective);
    assert!(fit.traces.iter().all(|t| t.last().is_some_and(|o| *o >= fit.objective)));
    assert_eq!(fit.sizes.iter().sum::<usize>(), data.n_rows());
    assert!(fit.sizes.iter().all(|s| *s > 0), "no cluster is empty");
    if fit.stopped {
        return;
    }
    let predicted = nearest_centres(data.rows(), data.reference(), &fit.centres, &Workers::serial());
    assert!(fit.labels == predicted, "labels are what predict says");
    for (row, &label) in data.rows().iter().zip(&fit.labels) {
        let distance =
            |k: usize| -> f64 { row.iter().zip(fit.centre(k)).map(|(x, c)| ((*x).into() - c).powi(2)).sum() };
        let least = (0..fit.n_clusters()).map(distance).fold(f64::INFINITY, f64::min);
        let size: f64 = row.iter().zip(data.reference()).map(|(x, r)| ((*x).into() - (*r).into()).powi(2)).sum();
        assert!(distance(label as usize) <= least * (1.0 + 1e-9) + 1e-14 * size, "every row is at its nearest centre");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn every_fit_keeps_its_promises(
        n in 1usize..80, d in 1usize..5, seed in 0u64..1000, penalty in 0.01f64..200.0,
        cap in proptest::option::of(1usize..10), weighted: bool, kind in 0usize..5,
    ) {
        let mut values = uniform(n, d, seed);
        match kind {
            // Ties and duplicates.
            0 => values.iter_mut().for_each(|v| *v = (*v / 3.0).round()),
            // Tight groups about two sites that are far apart.
            1 => values.iter_mut().enumerate().for_each(|(i, v)| *v = 1e-3 * *v + (i / d % 2) as f64 * 1e4),
            // One row far away.
            2 => values[0] = 1e7,
            // All far from 0.
            3 => values.iter_mut().for_each(|v| *v += 1e5),
            _ => {}
        }
        let weights: Vec<f64> = (0..n).map(|i| ((i * 7 + seed as usize) % 5) as f64 * 0.5).collect();
        let weights = (weighted && weights.iter().sum::<f64>() > 0.0).then_some(&weights[..]);
        let narrow: Vec<f32> = values.iter().map(|v| *v as f32).collect();
        let goal = Goal::Penalty { penalty, max_clusters: cap.map(|c| c.min(n)) };
        let wide_data = Data::weighted(Rows::new(&values, d).unwrap(), weights).unwrap();
        let narrow_data = Data::weighted(Rows::new(&narrow, d).unwrap(), weights).unwrap();
        for algorithm in ALGORITHMS {
            for start in [Start::Mean, Start::PlusPlus, Start::Given(values[..d].to_vec())] {
                let parameters = DpMeans { goal, algorithm, start, restarts: Restarts::Exactly(2), ..DpMeans::default() };
                let fit = parameters.fit(&wide_data, &Unwatched).unwrap();
                check_promises(&wide_data, &fit);
                prop_assert!(fit.n_clusters() <= goal.cap());
                prop_assert!(fit.converged);
                check_promises(&narrow_data, &parameters.fit(&narrow_data, &Unwatched).unwrap());
            }
            if let Some(k) = cap {
                let fit = DpMeans { algorithm, ..DpMeans::k_means(k.min(n)) }.fit(&wide_data, &Unwatched);
                let distinct: std::collections::HashSet<Vec<u64>> = (0..n)
                    .filter(|i| wide_data.weight(*i) > 0.0)
                    .map(|i| values[i * d..(i + 1) * d].iter().map(|v| (v + 0.0).to_bits()).collect())
                    .collect();
                match fit {
                    Ok(fit) => {
                        prop_assert_eq!(fit.n_clusters(), k.min(n));
                        check_promises(&wide_data, &fit);
                    }
                    Err(Error::Distinct { distinct: found, .. }) => prop_assert_eq!(found, distinct.len()),
                    Err(other) => prop_assert!(false, "{}", other),
                }
            }
        }
    }
}

#[test]
fn tight_groups_far_apart_are_told_apart_in_float32() {
    // Two sites 1e4 apart, each with two groups half a unit apart: squares of the distances differ in the 9th digit.
    let values: Vec<f32> = (0..3000usize)
        .map(|i| f32::from(u8::from(i % 3 == 0)) * 1e4 + f32::from(u8::from(i % 2 == 0)) * 0.5 + (i % 7) as f32 * 1e-3)
        .collect();
    for algorithm in ALGORITHMS {
        let fit = DpMeans { algorithm, ..DpMeans::with_penalty(5.0) }.fit(&data(&values, 1), &Unwatched).unwrap();
        check_promises(&data(&values, 1), &fit);
        assert_eq!(fit.n_clusters(), 4, "{algorithm:?}");
    }
}

#[test]
fn a_tiny_penalty_ends_and_keeps_to_its_passes() {
    let values = [1e8, 1e8, 1.0, 0.6, 2.1, 2.0, 1.0, 1.0, 0.1, 0.0, 0.6, 0.5];
    let parameters =
        DpMeans { max_passes: 2, restarts: Restarts::Exactly(1), ..DpMeans::with_penalty(0.16666666667200083) };
    let fit = parameters.fit(&data(&values, 2), &Unwatched).unwrap();
    assert!(fit.n_passes() <= 4, "{} passes", fit.n_passes());
    // Thousands of clusters: neither memory nor time may grow with their square.
    let values = uniform(4000, 2, 77);
    let fit = DpMeans::with_penalty(1e-4).fit(&data(&values, 2), &Unwatched).unwrap();
    assert!(fit.n_clusters() > 1500);
}

/// Serial DP-means in ten plain lines: labels after each pass.
fn plain_serial(values: &[f64], d: usize, penalty: f64, cap: usize) -> Vec<Vec<usize>> {
    let n = values.len() / d;
    let distance = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| (x - y) * (x - y)).sum::<f64>();
    let mean = |rows: &[usize]| -> Vec<f64> {
        (0..d).map(|j| rows.iter().map(|r| values[r * d + j]).sum::<f64>() / rows.len() as f64).collect()
    };
    let mut centres = vec![mean(&(0..n).collect::<Vec<_>>())];
    let mut passes: Vec<Vec<usize>> = vec![];
    loop {
        let mut z = vec![0; n];
        for i in 0..n {
            let row = &values[i * d..(i + 1) * d];
            let near = |k: &usize| distance(row, &centres[*k]);
            z[i] = (0..centres.len()).min_by(|a, b| near(a).total_cmp(&near(b))).unwrap();
            if near(&z[i]) > penalty && centres.len() < cap {
                z[i] = centres.len();
                centres.push(row.to_vec());
            }
        }
        let groups: Vec<Vec<usize>> = (0..centres.len()).map(|k| (0..n).filter(|i| z[*i] == k).collect()).collect();
        centres = groups.iter().filter(|g| !g.is_empty()).map(|g| mean(g)).collect();
        let canonical = Partition::from_labels(z).labels().iter().map(|l| *l as usize).collect();
        if passes.last() == Some(&canonical) {
            return passes;
        }
        passes.push(canonical);
    }
}

#[test]
fn serial_agrees_step_by_step_with_the_plain_version() {
    for seed in 0..60 {
        let (n, d) = (30 + seed as usize, 1 + seed as usize % 3);
        let values = uniform(n, d, seed);
        let cap = if seed % 2 == 0 { n } else { 3 };
        let plain = plain_serial(&values, d, 8.0, cap);
        for pass in 1..=plain.len() {
            let fit = DpMeans {
                goal: Goal::Penalty { penalty: 8.0, max_clusters: Some(cap) },
                algorithm: Algorithm::Serial,
                start: Start::Mean,
                restarts: Restarts::Exactly(1),
                max_passes: pass,
                tolerance: 0.0,
                ..DpMeans::default()
            }
            .fit(&data(&values, d), &Unwatched)
            .unwrap();
            // The trace holds the objective of every pass's labels about their means.
            let partition = Partition::from_labels(plain[pass - 1].iter());
            let expected =
                crate::common::sum_of_squares(&values, d, &partition) + 8.0 * (partition.n_groups() - 1) as f64;
            assert!((fit.trace[pass - 1] - expected).abs() < 1e-9 * expected, "seed {seed}, pass {pass}");
        }
        let fit = DpMeans {
            goal: Goal::Penalty { penalty: 8.0, max_clusters: Some(cap) },
            algorithm: Algorithm::Serial,
            start: Start::Mean,
            restarts: Restarts::Exactly(1),
            tolerance: 0.0,
            ..DpMeans::default()
        };
        let labels = fit.fit(&data(&values, d), &Unwatched).unwrap().labels;
        assert_eq!(Partition::from_labels(labels), Partition::from_labels(plain.last().unwrap().iter()));
    }
}

#[test]
fn k_means_from_given_centres_is_lloyds_algorithm() {
    // Far apart and well started: no move beyond Lloyd's steps can help, so the answer is theirs.
    let values = blobs(300, 2, 3, 20.0, 1);
    let start = Start::Given(vec![0.0, 1.0, 18.0, 1.0, 41.0, -1.0]);
    let fit = DpMeans { start, tolerance: 0.0, ..DpMeans::k_means(3) }.fit(&data(&values, 2), &Unwatched).unwrap();
    for (n, label) in fit.labels.iter().enumerate() {
        assert_eq!(*label as usize, n % 3);
    }
    for (k, centre) in fit.centres.chunks(2).enumerate() {
        let rows: Vec<usize> = (0..300).filter(|n| n % 3 == k).collect();
        for j in 0..2 {
            let mean = rows.iter().map(|n| values[n * 2 + j]).sum::<f64>() / 100.0;
            assert!((centre[j] - mean).abs() < 1e-12);
        }
    }
}

#[rstest]
#[case(Algorithm::Parallel)]
#[case(Algorithm::Serial)]
#[case(Algorithm::Collapsed)]
fn the_same_bits_with_any_number_of_threads(#[case] algorithm: Algorithm) {
    // Large enough to be cut into many chunks and shared between threads.
    let values = blobs(20_000, 4, 9, 5.0, 2);
    let narrow: Vec<f32> = values.iter().map(|v| *v as f32).collect();
    for goal in [Goal::Penalty { penalty: 5000.0, max_clusters: None }, Goal::Exactly(7)] {
        let fit = |threads: usize| {
            let parameters = DpMeans {
                goal,
                algorithm,
                threads,
                restarts: Restarts::Exactly(2),
                max_passes: 20,
                ..DpMeans::default()
            };
            (
                parameters.fit(&data(&values, 4), &Unwatched).unwrap(),
                parameters.fit(&data(&narrow, 4), &Unwatched).unwrap(),
            )
        };
        let one = fit(1);
        for threads in [2, 3, 8] {
            assert!(fit(threads) == one, "{algorithm:?} with {threads} threads");
        }
    }
}

#[test]
fn data_far_from_the_origin_give_the_same_labels_in_float32() {
    let near = blobs(3000, 3, 5, 6.0, 3);
    // Values that float32 holds exactly at both places, so that only the arithmetic can differ.
    let near: Vec<f32> = near.iter().map(|v| (v * 64.0).round() as f32 / 64.0).collect();
    // 1e4 standard deviations of the data (about 7).
    let far: Vec<f32> = near.iter().map(|v| v + 70_000.0).collect();
    for algorithm in ALGORITHMS {
        let parameters = DpMeans { algorithm, ..DpMeans::with_penalty(3000.0) };
        let (a, b) =
            (parameters.fit(&data(&near, 3), &Unwatched).unwrap(), parameters.fit(&data(&far, 3), &Unwatched).unwrap());
        assert!(a.labels == b.labels, "{algorithm:?}");
        assert!((a.objective - b.objective).abs() < 1e-5 * a.objective, "{} {}", a.objective, b.objective);
        assert_eq!(a.n_clusters(), 5);
    }
}

#[test]
fn clusters_that_do_not_pay_are_given_up() {
    let values = blobs(600, 2, 3, 15.0, 4);
    // Fifty centres to start from, three clusters in truth.
    let start = Start::Given(values[..100].to_vec());
    let fit = DpMeans { start, ..DpMeans::with_penalty(1000.0) }.fit(&data(&values, 2), &Unwatched).unwrap();
    assert_eq!(fit.n_clusters(), 3);
}

#[test]
fn parallel_ends_no_higher_than_serial() {
    for seed in 0..20 {
        let values = blobs(400, 2, 7, 3.5, 100 + seed);
        let fit = |algorithm, start| {
            let restarts = Restarts::Exactly(1);
            let parameters = DpMeans { algorithm, start, restarts, tolerance: 0.0, ..DpMeans::with_penalty(12.0) };
            parameters.fit(&data(&values, 2), &Unwatched).unwrap()
        };
        let (parallel, serial) = (fit(Algorithm::Parallel, Start::PlusPlus), fit(Algorithm::Serial, Start::Mean));
        assert!(parallel.objective <= serial.objective * (1.0 + 1e-9), "{} {}", parallel.objective, serial.objective);
    }
}

#[test]
fn the_number_of_passes_does_not_grow_with_k() {
    // From the mean alone, so that every cluster has to be opened by a pass.
    for k in [9, 27, 81] {
        let values = blobs(4000, 4, k, 12.0, 5);
        let fit =
            DpMeans { start: Start::Mean, ..DpMeans::with_penalty(1500.0) }.fit(&data(&values, 4), &Unwatched).unwrap();
        assert_eq!(fit.n_clusters(), k);
        println!("{k} clusters: {} passes", fit.n_passes());
        assert!(fit.n_passes() < 30, "{} passes for {k} clusters", fit.n_passes());
    }
}

#[rstest]
#[case(Algorithm::Parallel)]
#[case(Algorithm::Serial)]
#[case(Algorithm::Collapsed)]
fn whole_weights_are_repeated_rows(#[case] algorithm: Algorithm) {
    let values = blobs(90, 2, 3, 12.0, 6);
    let weights: Vec<f64> = (0..90).map(|i| (i % 4) as f64).collect();
    let repeated: Vec<f64> = (0..90).flat_map(|i| values[2 * i..2 * i + 2].repeat(weights[i] as usize)).collect();
    let parameters = DpMeans { algorithm, ..DpMeans::with_penalty(80.0) };
    let weighted = Data::weighted(Rows::new(&values, 2).unwrap(), Some(&weights)).unwrap();
    let (a, b) =
        (parameters.fit(&weighted, &Unwatched).unwrap(), parameters.fit(&data(&repeated, 2), &Unwatched).unwrap());
    assert_eq!(a.n_clusters(), 3);
    assert!((a.objective - b.objective).abs() < 1e-9 * b.objective, "{} {}", a.objective, b.objective);
}

#[rstest]
#[case(DpMeans::with_penalty(-1.0), "penalty must be a positive finite number, got -1")]
#[case(DpMeans::with_penalty(0.0), "penalty must be a positive finite number, got 0")]
#[case(DpMeans::with_penalty(f64::NAN), "penalty must be a positive finite number, got NaN")]
#[case(DpMeans::with_penalty(f64::INFINITY), "penalty must be a positive finite number, got inf")]
#[case(DpMeans::k_means(0), "n_clusters must be between 1 and the number of rows, 4")]
#[case(DpMeans::k_means(5), "n_clusters must be between 1 and the number of rows, 4, got 5")]
#[case(DpMeans::k_means(4), "n_clusters must be at most the number of distinct rows, 3, got 4")]
#[case(
    DpMeans { goal: Goal::Penalty { penalty: 1.0, max_clusters: Some(5) }, ..DpMeans::default() },
    "max_clusters must be between 1 and the number of rows, 4, got 5"
)]
#[case(DpMeans { restarts: Restarts::Exactly(0), ..DpMeans::default() }, "restarts must be at least 1 and at most 1000000, got 0")]
#[case(DpMeans { max_passes: 0, ..DpMeans::default() }, "max_passes must be at least 1, got 0")]
#[case(DpMeans { tolerance: -1.0, ..DpMeans::default() }, "tolerance must be a finite number of at least 0, got -1")]
#[case(DpMeans { start: Start::Given(vec![1.0]), ..DpMeans::default() }, "start must be centres with 2 columns each")]
#[case(DpMeans { start: Start::Given(vec![]), ..DpMeans::default() }, "start must be centres with 2 columns each")]
#[case(DpMeans { start: Start::Given(vec![0.0, f64::NAN]), ..DpMeans::default() }, "start must be finite centres")]
#[case(DpMeans { start: Start::Given(vec![0.0; 4]), ..DpMeans::k_means(1) }, "start must be at most 1 centres, got 2")]
fn bad_parameters_are_named(#[case] parameters: DpMeans, #[case] message: &str) {
    let values = [0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 5.0, 5.0];
    let error: Error = parameters.fit(&data(&values, 2), &Unwatched).unwrap_err();
    assert!(error.to_string().starts_with(message), "{error}");
}

#[test]
fn one_row_one_value_and_equal_rows_are_one_cluster() {
    for values in [vec![3.0], vec![3.0; 50], vec![-0.0, 0.0, 0.0]] {
        for algorithm in ALGORITHMS {
            let fit = DpMeans { algorithm, ..DpMeans::with_penalty(1e-9) }.fit(&data(&values, 1), &Unwatched).unwrap();
            assert_eq!((fit.n_clusters(), fit.objective), (1, 0.0));
        }
    }
}

/// Stops after so many polls.
struct StopAfter(AtomicUsize);

impl Watch for StopAfter {
    fn step(&self, _: &Step) -> ControlFlow<()> {
        match self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)) {
            Ok(_) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    }
}

#[test]
fn a_stopped_fit_is_a_valid_fit() {
    let values = blobs(9000, 3, 9, 4.0, 7);
    for algorithm in ALGORITHMS {
        for goal in [Goal::Penalty { penalty: 4000.0, max_clusters: None }, Goal::Exactly(9)] {
            for polls in [0, 1, 2, 3, 5, 8, 13] {
                let watch = StopAfter(AtomicUsize::new(polls));
                let data = data(&values, 3);
                let fit = DpMeans { algorithm, goal, ..DpMeans::default() }.fit(&data, &watch).unwrap();
                check_promises(&data, &fit);
                assert!(fit.stopped, "{algorithm:?} after {polls} polls");
                assert!(!fit.converged || polls > 2);
                if let Goal::Exactly(k) = goal {
                    assert_eq!(fit.n_clusters(), k);
                }
            }
        }
    }
}

#[test]
fn thousands_of_clusters_keep_the_promises_and_stop_where_they_are() {
    // More than are bounded, and than all products of pairs are held for.
    let values = uniform(30_000, 2, 7);
    let data = data(&values, 2);
    let with = |threads: usize| DpMeans { threads, ..DpMeans::with_penalty(0.02) };
    let fit = with(1).fit(&data, &Unwatched).unwrap();
    assert!(fit.n_clusters() > 4200, "{}", fit.n_clusters());
    check_promises(&data, &fit);
    assert_eq!(fit, with(3).fit(&data, &Unwatched).unwrap());
    let polls = StopAfter(AtomicUsize::new(usize::MAX));
    with(1).fit(&data, &polls).unwrap();
    let all = usize::MAX - polls.0.into_inner();
    for share in [2, 3, 5, 9] {
        let stopped = with(2).fit(&data, &StopAfter(AtomicUsize::new(all - all / share))).unwrap();
        assert!(stopped.stopped && !stopped.converged);
        check_promises(&data, &stopped);
    }
}

#[test]
fn the_same_seed_gives_the_same_bits_and_another_seed_may_not() {
    let values = uniform(200, 2, 8);
    let fit = |seed| {
        let parameters = DpMeans { seed, restarts: Restarts::Exactly(1), ..DpMeans::with_penalty(3.0) };
        parameters.fit(&data(&values, 2), &Unwatched).unwrap()
    };
    assert!(fit(1) == fit(1));
    assert!((2..30).any(|seed| fit(seed).trace != fit(1).trace), "the seed must matter");
}

#[test]
fn bounds_spare_most_distances_where_clusters_are_apart_and_few_rows_need_none() {
    let values = blobs(20_000, 3, 27, 12.0, 5);
    let data = Data::new(Rows::new(&values, 3).unwrap()).unwrap();
    let many = DpMeans { restarts: Restarts::Exactly(1), ..DpMeans::k_means(27) }.fit(&data, &Unwatched).unwrap();
    assert!((0.3..1.0).contains(&many.spared), "{}", many.spared);
    let few = Data::new(Rows::new(&values[..600], 3).unwrap()).unwrap();
    assert_eq!(DpMeans::k_means(5).fit(&few, &Unwatched).unwrap().spared, 0.0, "every distance is measured");
}
