//! Small data and plain recomputations that the tests share.
#![allow(dead_code, reason = "each test file uses its own part")]

pub mod buffet;
pub mod calibration;
pub mod exact;
pub mod galaxies;
pub mod hyperplanes;
pub mod likelihoods;
pub mod sequences;

use madbayes::data::{Data, Real, Rows};
use madbayes::hard::{Algorithm, Clustering, DpMeans, FeatureGoal, Goal, Start};
use madbayes::likelihood::collapsed_loss;
use madbayes::random::{Stream, stream};
use madbayes::structure::{Allocation, Partition};
use madbayes::watch::Unwatched;
use rand::RngExt;

/// Uniform values in a box, `n` rows of `d` columns.
pub fn uniform(n: usize, d: usize, seed: u64) -> Vec<f64> {
    let mut rng = stream(seed, Stream::Simulation);
    (0..n * d).map(|_| rng.random::<f64>() * 10.0).collect()
}

/// Round clusters with unit variance, centres on a grid `gap` apart.
pub fn blobs(n: usize, d: usize, k: usize, gap: f64, seed: u64) -> Vec<f64> {
    let mut rng = stream(seed, Stream::Simulation);
    let mut values = Vec::with_capacity(n * d);
    for i in 0..n {
        let cluster = i % k;
        for j in 0..d {
            let place = ((cluster / 3usize.pow(j.min(6) as u32)) % 3) as f64 * gap;
            let noise: f64 = (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0;
            values.push(place + noise);
        }
    }
    values
}

/// Within-cluster sum of squares about the means, in plain loops.
pub fn sum_of_squares(values: &[f64], d: usize, partition: &Partition) -> f64 {
    let mut total = 0.0;
    for members in partition.members() {
        for j in 0..d {
            let mean = members.iter().map(|&n| values[n * d + j]).sum::<f64>() / members.len() as f64;
            total += members.iter().map(|&n| (values[n * d + j] - mean).powi(2)).sum::<f64>();
        }
    }
    total
}

/// The least of B Eq. 3 over all partitions with at most `cap` clusters.
pub fn brute_force(values: &[f64], d: usize, penalty: f64, cap: usize) -> f64 {
    Partition::all(values.len() / d)
        .filter(|p| p.n_groups() <= cap)
        .map(|p| sum_of_squares(values, d, &p) + (p.n_groups() - 1) as f64 * penalty)
        .fold(f64::INFINITY, f64::min)
}

/// The objective of labels and centres as returned, in plain loops.
pub fn recomputed<T: Real>(data: &Data<T>, fit: &Clustering) -> f64 {
    let mut loss = 0.0;
    for (n, row) in data.rows().iter().enumerate() {
        let centre = fit.centre(fit.labels[n] as usize);
        loss += data.weight(n) * row.iter().zip(centre).map(|(x, c)| ((*x).into() - c).powi(2)).sum::<f64>();
    }
    loss + (fit.n_clusters() - 1) as f64 * fit.goal.penalty()
}

/// Data over values that outlive it.
pub fn data<T: Real>(values: &[T], d: usize) -> Data<'_, T> {
    Data::new(Rows::new(values, d).unwrap()).unwrap()
}

/// Share of small problems (N = 5..8, D = 1..3, three penalties and a cap for each data set) solved to optimality;
/// fails when a result is below the optimum, which would be a wrong objective.
pub fn success_rate(algorithm: Algorithm, start: Start, data_sets: usize) -> f64 {
    let mut solved = 0;
    let mut problems = 0;
    for seed in 0..data_sets {
        let (n, d) = (5 + seed % 4, 1 + seed % 3);
        let values = uniform(n, d, seed as u64);
        for (penalty, max_clusters) in [(0.5, None), (4.0, None), (15.0, None), (4.0, Some(2))] {
            let goal = Goal::Penalty { penalty, max_clusters };
            let fitted = DpMeans { goal, algorithm, start: start.clone(), tolerance: 0.0, ..DpMeans::default() }
                .fit(&data(&values, d), &Unwatched)
                .unwrap();
            let best = brute_force(&values, d, penalty, max_clusters.unwrap_or(n));
            assert!(fitted.objective >= best - 1e-9 * best.max(1.0), "below the optimum: {} {best}", fitted.objective);
            assert!((fitted.objective - recomputed(&data(&values, d), &fitted)).abs() < 1e-9);
            solved += usize::from(fitted.objective <= best + 1e-9 * best.max(1.0));
            problems += 1;
        }
    }
    f64::from(solved as u32) / f64::from(problems as u32)
}

/// The least of the objective over all allocations with at most, or exactly, so many features.
pub fn brute_force_features(values: &[f64], d: usize, goal: FeatureGoal) -> f64 {
    let n = values.len() / d;
    let all = |k: usize| {
        let data = data(values, d);
        Allocation::all_multisets(n, k).map(move |z| collapsed_loss(&z, &data)).fold(f64::INFINITY, f64::min)
    };
    match goal {
        FeatureGoal::Exactly(k) => all(k),
        _ => (0..=3.min(n)).map(|k| goal.objective(all(k), k)).fold(f64::INFINITY, f64::min),
    }
}
