//! Passes that look nearby, and when they may end.

use super::*;
use crate::data::Rows;
use crate::hard::DpMeans;
use crate::random::{Stream, stream};
use crate::watch::Unwatched;
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};

fn run<'a>(data: &'a Data<'a, f64>, goal: Goal, workers: &'a Workers) -> Run<'a, f64> {
    Run {
        data,
        goal,
        opens_above: f64::INFINITY,
        others: 0.0,
        workers,
        watch: &Unwatched,
        number: 0,
        max_passes: 100,
        tolerance: 0.0,
        trials: 0.0,
    }
}

#[test]
fn rows_are_far_from_means_not_from_seeds() {
    // In 128 columns a row is at 256 from another of its cluster and at 320 from one elsewhere, with a standard deviation of 40: many
    // rows are farther than the penalty from any seed, few from any mean.
    let (n, d, k, penalty) = (20_000, 128, 80, 400.0);
    let mut rng = stream(1, Stream::Simulation);
    let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
    let centres: Vec<f64> = (0..k * d).map(|_| 0.5 * normal()).collect();
    let noise: Vec<f64> = (0..n * d).map(|_| normal()).collect();
    let values: Vec<f32> = (0..n * d).map(|i| (centres[i / d % k * d + i % d] + noise[i]) as f32).collect();
    let data = Data::new(Rows::new(&values, d).unwrap()).unwrap();
    let planted = noise.iter().map(|e| e * e).sum::<f64>() + (k - 1) as f64 * penalty;
    let fit = DpMeans::with_penalty(penalty).fit(&data, &Unwatched).unwrap();
    assert!(fit.objective < 1.002 * planted, "{} {planted}, {} clusters", fit.objective, fit.n_clusters());
}

#[test]
fn passes_nearby_have_not_converged_before_a_look_at_all_centres() {
    // The fifteen centres nearest to that of the row at 30, which begins at 0, are on the other side; one at 40 is nearer.
    let sites: Vec<f64> = (0..16).map(|i| -f64::from(i)).chain((0..81).map(|i| 40.0 + 1000.0 * f64::from(i))).collect();
    let mut values: Vec<f64> = sites.iter().flat_map(|site| [*site; 50]).collect();
    values.push(30.0);
    let data = Data::new(Rows::new(&values, 1).unwrap()).unwrap();
    let (workers, goal) = (Workers::serial(), Goal::Exactly(sites.len()));
    let run = run(&data, goal, &workers);
    let mut state = State::new(vec![0.0; sites.len()], values.len(), 1);
    state.labels = (0..values.len()).map(|n| if n + 1 < values.len() { n as u32 / 50 } else { 0 }).collect();
    run.take_means(&mut state);
    (state.loose, state.nearby) = (true, true);
    run.settle(&mut state, 0.0, 10);
    assert!(state.converged);
    assert_eq!(state.labels[values.len() - 1], 16, "the row at 30 is with those at 40");
}

#[test]
fn where_bounds_tell_little_passes_look_nearby_with_the_same_bits_for_any_number_of_threads() {
    let (n, d, k) = (1 << 14, 24, 128);
    let mut rng = stream(3, Stream::Simulation);
    let values: Vec<f64> = (0..n * d).map(|_| rng.random::<f64>()).collect();
    let data = Data::new(Rows::new(&values, d).unwrap()).unwrap();
    let goal = Goal::Penalty { penalty: 1.0, max_clusters: Some(k) };
    let ended = |threads: usize| {
        let workers = Workers::new(threads);
        let offsets = (0..k * d).map(|i| values[i] - data.reference()[i % d]).collect();
        let mut state = State::new(offsets, n, d);
        run(&data, goal, &workers).settle(&mut state, 1e-3, 12);
        assert!(state.loose, "such bounds leave most distances open");
        assert!(state.measured < 0.8 * state.distances, "{} of {}", state.measured, state.distances);
        assert!(state.trace.windows(2).all(|pair| pair[1] <= pair[0] * (1.0 + 1e-9)), "{:?}", state.trace);
        (state.labels, state.offsets, state.trace)
    };
    assert_eq!(ended(1), ended(3));
}
