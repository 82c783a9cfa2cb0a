//! The penalty path: against all partitions of tiny data, and as a search that can be stopped, sampled and repeated.

use crate::common::{blobs, data, sum_of_squares, uniform};
use madbayes::data::{Data, Rows};
use madbayes::hard::DpMeans;
use madbayes::parallel::Workers;
use madbayes::select::{ClusterPath, PathSearch, lower_hull};
use madbayes::structure::Partition;
use madbayes::watch::{Step, Unwatched, Watch};
use rstest::rstest;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};

fn path(values: &[f64], d: usize, search: &PathSearch) -> ClusterPath {
    search.clusters(&data(values, d), &Unwatched).unwrap()
}

#[test]
fn on_tiny_data_the_path_is_that_of_all_partitions() {
    for seed in 0..60 {
        let (n, d) = (3 + seed % 6, 1 + seed % 3);
        let values = uniform(n, d, seed as u64);
        let mut least = vec![f64::INFINITY; n + 1];
        for partition in Partition::all(n) {
            let entry = &mut least[partition.n_groups()];
            *entry = entry.min(sum_of_squares(&values, d, &partition));
        }
        let losses: Vec<(usize, f64)> = (1..=n).map(|k| (k, least[k])).collect();
        let expected = lower_hull(&losses, 1e-12);
        let found = path(&values, d, &PathSearch { max_groups: Some(n), ..PathSearch::default() }).path;
        assert_eq!(
            found.points.iter().map(|p| p.k).collect::<Vec<_>>(),
            expected.iter().map(|p| p.k).collect::<Vec<_>>(),
            "seed {seed}"
        );
        for (found, expected) in found.points.iter().zip(&expected) {
            assert!((found.low - expected.low).abs() < 1e-9, "seed {seed}: {found:?} {expected:?}");
            assert!(found.high == expected.high || (found.high - expected.high).abs() < 1e-9, "seed {seed}");
        }
    }
}

#[test]
fn losses_fall_and_intervals_join() {
    let values = uniform(300, 3, 8);
    let found = path(&values, 3, &PathSearch { max_groups: Some(50), ..PathSearch::default() });
    let path = &found.path;
    assert_eq!(path.losses.iter().map(|l| l.0).collect::<Vec<_>>(), (1..=50).collect::<Vec<_>>());
    assert!(path.losses.windows(2).all(|pair| pair[1].1 < pair[0].1));
    assert!(path.points.windows(2).all(|pair| pair[0].low == pair[1].high && pair[1].low < pair[1].high));
    for point in &path.points {
        let penalty = path.penalty_for(point.k).unwrap();
        assert_eq!(path.k_for(penalty), Some(point.k));
    }
    assert_eq!((path.penalty_for(0), path.penalty_for(51)), (None, None));
}

#[test]
fn labels_and_centres_have_the_loss_the_path_says() {
    let values = blobs(200, 2, 6, 7.0, 1);
    let rows = data(&values, 2);
    let found = path(&values, 2, &PathSearch { max_groups: Some(20), ..PathSearch::default() });
    for &(k, loss) in &found.path.losses {
        let labels = found.labels(k, &rows, &Workers::serial()).unwrap();
        let partition = Partition::from_labels(labels.iter());
        assert_eq!(partition.n_groups(), k);
        let again = sum_of_squares(&values, 2, &partition);
        assert!((again - loss).abs() < 1e-6 * loss, "K {k}: {again} {loss}");
    }
    assert_eq!(found.labels(21, &rows, &Workers::serial()), None);
    assert_eq!(found.centres(0), None);
}

#[test]
fn a_path_goes_on_to_the_least_penalty() {
    let values = uniform(400, 2, 3);
    let full = path(&values, 2, &PathSearch { max_groups: Some(60), ..PathSearch::default() }).path;
    let least_penalty = full.points[full.points.len() / 2].interval().middle();
    let search = PathSearch { max_groups: Some(60), least_penalty: Some(least_penalty), ..PathSearch::default() };
    let found = path(&values, 2, &search).path;
    assert!(found.points.last().unwrap().low <= least_penalty);
    assert!(found.losses.len() < 60);
}

#[rstest]
#[case::one_row(vec![3.0], 1)]
#[case::two_rows(vec![3.0, 4.0], 2)]
#[case::all_equal(vec![3.0; 20], 1)]
#[case::two_values(vec![0.0, 0.0, 0.0, 5.0], 2)]
#[case::duplicates((0..60).map(|i| f64::from(i % 5).powi(2)).collect(), 5)]
#[case::far_from_zero((0..40).map(|i| 1e9 + f64::from(i % 4)).collect(), 4)]
fn a_path_ends_at_the_last_distinct_row(#[case] values: Vec<f64>, #[case] distinct: usize) {
    let search = PathSearch { max_groups: Some(values.len()), ..PathSearch::default() };
    let found = path(&values, 1, &search).path;
    let last = found.points.last().unwrap();
    assert_eq!((last.k, last.loss, last.low), (distinct, 0.0, 0.0));
    assert!(found.points.iter().all(|p| p.low >= 0.0 && p.high > p.low));
    assert!(!found.stopped);
}

#[test]
fn the_same_bits_for_any_number_of_threads_and_another_seed_is_another_search() {
    let values = blobs(6000, 12, 9, 5.0, 2);
    let rows = data(&values, 12);
    let of = |threads, seed| {
        let search = PathSearch { max_groups: Some(12), sample: Some(3000), threads, seed, ..PathSearch::default() };
        search.clusters(&rows, &Unwatched).unwrap()
    };
    let one = of(1, 0);
    assert_eq!(one.path.sampled_rows, Some(3000));
    assert!(one == of(2, 0) && one == of(5, 0));
    assert_ne!(one.path.losses, of(1, 1).path.losses);
}

#[test]
fn a_sampled_path_is_refined_on_all_rows() {
    // In an order that any even step through the rows would miss: every 8th row is of the first cluster.
    let values = blobs(8000, 2, 8, 12.0, 4);
    let sampled = path(&values, 2, &PathSearch { max_groups: Some(12), sample: Some(1000), ..PathSearch::default() });
    let full = path(&values, 2, &PathSearch { max_groups: Some(12), ..PathSearch::default() });
    assert_eq!((sampled.path.sampled_rows, full.path.sampled_rows), (Some(1000), None));
    assert!(sampled.path.losses.iter().any(|(k, _)| *k == 8) && sampled.path.losses.len() >= 6);
    for (k, loss) in &sampled.path.losses {
        let (_, all) = full.path.losses.iter().find(|(other, _)| other == k).unwrap();
        assert!((loss - all).abs() < 0.02 * all, "{k}: {loss} {all}");
    }
    let rows = data(&values, 2);
    let labels = sampled.labels(8, &rows, &Workers::serial()).unwrap();
    assert_eq!(Partition::from_labels(labels), Partition::from_labels((0..8000).map(|i| i % 8)));
}

#[test]
fn weights_count_as_repeated_rows() {
    let values = uniform(40, 2, 5);
    let weights: Vec<f64> = (0..40).map(|i| f64::from(i % 3)).collect();
    let repeated: Vec<f64> = (0..40).flat_map(|i| values[2 * i..2 * i + 2].repeat(i % 3)).collect();
    let rows = Data::weighted(Rows::new(&values, 2).unwrap(), Some(&weights)).unwrap();
    let search = PathSearch { max_groups: Some(10), ..PathSearch::default() };
    let weighted = search.clusters(&rows, &Unwatched).unwrap().path;
    let plain = path(&repeated, 2, &search).path;
    for (a, b) in weighted.losses.iter().zip(&plain.losses).take(4) {
        assert!((a.1 - b.1).abs() < 1e-9 * b.1, "{a:?} {b:?}");
    }
}

/// Stops at the given pass.
struct StopAt(usize, AtomicUsize);

impl Watch for StopAt {
    fn step(&self, step: &Step) -> ControlFlow<()> {
        let passes = match step {
            Step::Pass { .. } => self.1.fetch_add(1, Ordering::Relaxed) + 1,
            _ => self.1.load(Ordering::Relaxed),
        };
        if passes >= self.0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

#[rstest]
#[case::before_anything(0, 10_000)]
#[case::early(5, 10_000)]
#[case::on_the_way(60, 10_000)]
#[case::on_a_sample(60, 500)]
#[case::while_refining(1200, 500)]
fn a_stopped_path_is_a_path(#[case] passes: usize, #[case] sample: usize) {
    let values = uniform(1000, 2, 6);
    let rows = data(&values, 2);
    let search = PathSearch { max_groups: Some(30), sample: Some(sample), threads: 1, ..PathSearch::default() };
    let found = search.clusters(&rows, &StopAt(passes, AtomicUsize::new(0))).unwrap();
    assert!(found.path.stopped);
    assert_eq!(found.path.points[0].k, 1);
    assert!(found.path.losses.windows(2).all(|pair| pair[1].1 < pair[0].1));
    for &(k, loss) in &found.path.losses {
        let labels = found.labels(k, &rows, &Workers::serial()).unwrap();
        let again = sum_of_squares(&values, 2, &Partition::from_labels(labels));
        // Losses of a sample are its own: somewhat less than those of all rows.
        assert!((again - loss).abs() < 0.3 * loss, "K {k}: {again} {loss}");
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    let rows = [1.0, 2.0, 3.0];
    let rows = data(&rows, 1);
    for (search, message) in [
        (
            PathSearch { max_groups: Some(0), ..PathSearch::default() },
            "max_groups must be between 1 and the number of rows, 3",
        ),
        (PathSearch { max_groups: Some(4), ..PathSearch::default() }, "max_groups must be between 1 and"),
        (
            PathSearch { least_penalty: Some(0.0), ..PathSearch::default() },
            "least_penalty must be a positive finite number",
        ),
        (PathSearch { least_penalty: Some(f64::NAN), ..PathSearch::default() }, "least_penalty must be"),
        (PathSearch { sample: Some(1), ..PathSearch::default() }, "sample must be at least 2"),
    ] {
        let error = search.clusters(&rows, &Unwatched).unwrap_err().to_string();
        assert!(error.starts_with(message), "{error}");
    }
}

#[test]
fn no_fit_inside_an_interval_beats_the_path() {
    let values = blobs(400, 2, 7, 4.0, 9);
    let rows = data(&values, 2);
    let found = path(&values, 2, &PathSearch { max_groups: Some(20), ..PathSearch::default() }).path;
    for point in &found.points[1..] {
        let penalty = point.interval().middle();
        let fit = DpMeans::with_penalty(penalty).fit(&rows, &Unwatched).unwrap();
        let ours = point.loss + (point.k - 1) as f64 * penalty;
        assert!(ours <= 1.005 * fit.objective, "K {}: {ours} {}", point.k, fit.objective);
    }
}
