//! Full-covariance means against brute force, its own formula written out, and spherical clusters on long strips.

use super::*;
use crate::metrics::adjusted_rand_index;
use crate::structure::Partition;
use crate::watch::Unwatched;
use rand::RngExt;
use rand_distr::StandardNormal;

fn data(values: &[f64]) -> Data<'_, f64> {
    Data::new(Rows::new(values, 2).unwrap()).unwrap()
}

/// Inverse and determinant of a 2 x 2 matrix.
fn invert(m: &[f64]) -> ([f64; 4], f64) {
    let det = m[0] * m[3] - m[1] * m[2];
    ([m[3] / det, -m[1] / det, -m[2] / det, m[0] / det], det)
}

/// x'Mx.
fn quadratic(x: [f64; 2], m: &[f64]) -> f64 {
    x[0] * (m[0] * x[0] + m[1] * x[1]) + x[1] * (m[2] * x[0] + m[3] * x[1])
}

/// sum_k c log|I + Phi^-1 scatter_k| + (K - 1) penalty, in plain loops.
fn collapsed_objective(values: &[f64], partition: &Partition, c: f64, prior: &[f64], penalty: f64) -> f64 {
    let phi: Vec<f64> = prior.iter().map(|p| c * p).collect();
    let mut total = (partition.n_groups() - 1) as f64 * penalty;
    for members in partition.members() {
        let mean = |j: usize| members.iter().map(|n| values[n * 2 + j]).sum::<f64>() / members.len() as f64;
        let (mut sum, mean) = (phi.clone(), [mean(0), mean(1)]);
        for n in members {
            for e in 0..4 {
                sum[e] += (values[n * 2 + e / 2] - mean[e / 2]) * (values[n * 2 + e % 2] - mean[e % 2]);
            }
        }
        total += c * (invert(&sum).1 / invert(&phi).1).ln();
    }
    total
}

/// Three strips of 50 rows, 5 long and 0.2 wide, 1.5 apart, turned by 30 degrees; their covariance; their labels.
fn strips(seed: u64) -> (Vec<f64>, Vec<f64>, Partition) {
    let mut rng = stream(seed, Stream::Simulation);
    let (cos, sin) = (30f64.to_radians().cos(), 30f64.to_radians().sin());
    let mut values = vec![];
    for n in 0..150 {
        let along: f64 = 5.0 * rng.sample::<f64, _>(StandardNormal);
        let across: f64 = 0.2 * rng.sample::<f64, _>(StandardNormal) + 1.5 * f64::from(n % 3);
        values.extend([cos * along - sin * across, sin * along + cos * across]);
    }
    let (long, wide) = (25.0, 0.04);
    let mixed = cos * sin * (long - wide);
    let covariance = vec![cos * cos * long + sin * sin * wide, mixed, mixed, sin * sin * long + cos * cos * wide];
    (values, covariance, Partition::from_labels((0..150).map(|n| n % 3)))
}

#[test]
fn long_strips_are_found_where_round_clusters_fail() {
    for seed in 0..3 {
        let (values, covariance, truth) = strips(seed);
        let data = data(&values);
        let agreement = |labels: &[u32]| adjusted_rand_index(&truth, &Partition::from_labels(labels)).unwrap();
        // Below the first penalty of each c a strip is worth splitting, above the second all three are worth merging.
        for (c, penalty) in [(50.0, 25.0), (50.0, 40.0), (150.0, 50.0), (150.0, 150.0)] {
            for algorithm in [CovarianceAlgorithm::Frozen, CovarianceAlgorithm::Collapsed] {
                let means = FullCovarianceMeans {
                    goal: Goal::Penalty { penalty, max_clusters: None },
                    covariance_penalty: c,
                    covariance_prior: CovariancePrior::Expected(covariance.clone()),
                    algorithm,
                    ..Default::default()
                };
                let fit = means.fit(&data, &Unwatched).unwrap();
                let found = agreement(&fit.labels);
                assert!(found > 0.95 && fit.n_clusters() == 3, "{algorithm:?} {c} {penalty}: {found}");
                assert!(fit.converged);
                assert!(fit.trace.windows(2).all(|t| t[1] <= t[0] + 1e-9 * t[0].abs()), "{:?}", fit.trace);
            }
        }
        for penalty in [3.0, 10.0, 30.0, 100.0, 300.0, 1000.0] {
            let round = DpMeans::with_penalty(penalty).fit(&data, &Unwatched).unwrap();
            assert!(agreement(&round.labels) < 0.7, "{penalty}");
        }
        assert!(agreement(&DpMeans::k_means(3).fit(&data, &Unwatched).unwrap().labels) < 0.7);
    }
}

#[test]
fn tiny_problems_are_solved_and_never_below_the_optimum() {
    let prior = vec![1.0, 0.3, 0.3, 0.5];
    let (mut solved, mut problems) = (0, 0);
    for seed in 0..15 {
        let mut rng = stream(seed, Stream::Simulation);
        let values: Vec<f64> = (0..14).map(|_| 6.0 * rng.random::<f64>()).collect();
        for (penalty, c, max_clusters) in [(3.0, 2.0, None), (8.0, 5.0, None), (3.0, 5.0, Some(2))] {
            let means = FullCovarianceMeans {
                goal: Goal::Penalty { penalty, max_clusters },
                covariance_penalty: c,
                covariance_prior: CovariancePrior::Expected(prior.clone()),
                ..Default::default()
            };
            let fit = means.fit(&data(&values), &Unwatched).unwrap();
            let of = |p: &Partition| collapsed_objective(&values, p, c, &prior, penalty);
            let best = Partition::all(7)
                .filter(|p| p.n_groups() <= max_clusters.unwrap_or(7))
                .map(|p| of(&p))
                .fold(f64::INFINITY, f64::min);
            let found = of(&Partition::from_labels(fit.labels.clone()));
            assert!((found - fit.objective).abs() < 1e-9 * found, "{found} {}", fit.objective);
            assert!(found >= best - 1e-9);
            solved += usize::from(found <= best + 1e-9);
            problems += 1;
        }
    }
    assert!(solved * 10 >= problems * 9, "{solved} of {problems}");
}

#[test]
fn the_objective_is_that_of_the_labels_centres_and_covariances() {
    let (values, covariance, _) = strips(7);
    let (c, penalty) = (20.0, 9.0);
    let means = FullCovarianceMeans {
        goal: Goal::Penalty { penalty, max_clusters: Some(4) },
        covariance_penalty: c,
        covariance_prior: CovariancePrior::Expected(covariance.clone()),
        ..Default::default()
    };
    let fit = means.fit(&data(&values), &Unwatched).unwrap();
    let phi: Vec<f64> = covariance.iter().map(|s| c * s).collect();
    let mut total = (fit.n_clusters() - 1) as f64 * penalty;
    for k in 0..fit.n_clusters() {
        let (inverse, det) = invert(fit.covariance(k));
        let trace: f64 = phi[0] * inverse[0] + phi[1] * inverse[2] + phi[2] * inverse[1] + phi[3] * inverse[3];
        total += c * det.ln() + trace - c * invert(&phi).1.ln() + 2.0 * c * (c.ln() - 1.0);
    }
    for (n, &label) in fit.labels.iter().enumerate() {
        let centre = fit.centre(label as usize);
        let deviation = [values[2 * n] - centre[0], values[2 * n + 1] - centre[1]];
        total += quadratic(deviation, &invert(fit.covariance(label as usize)).0);
    }
    assert!((fit.objective - total).abs() < 1e-9 * total, "{} {total}", fit.objective);
    let own = own_ellipses(&data(&values), &fit.labels, &fit.centres, &fit.covariances, &Workers::serial()).unwrap();
    let (centre, covariance) = (fit.centre(fit.labels[3] as usize), fit.covariance(fit.labels[3] as usize));
    let distance = quadratic([values[6] - centre[0], values[7] - centre[1]], &invert(covariance).0);
    assert!((own[3] - distance).abs() < 1e-9 * distance);
}

#[test]
fn other_units_and_a_far_origin_change_nothing() {
    let (values, covariance, _) = strips(3);
    let fit = |values: &[f64], prior: Vec<f64>| {
        let covariance_prior = CovariancePrior::Expected(prior);
        let goal = Goal::Penalty { penalty: 20.0, max_clusters: None };
        FullCovarianceMeans { goal, covariance_prior, ..Default::default() }.fit(&data(values), &Unwatched).unwrap()
    };
    let here = fit(&values, covariance.clone());
    let far: Vec<f64> = values.chunks(2).flat_map(|x| [1000.0 * x[0] + 3e7, 0.01 * x[1] - 200.0]).collect();
    let prior = covariance.iter().zip([1e6, 10.0, 10.0, 1e-4]).map(|(s, units)| s * units).collect();
    let there = fit(&far, prior);
    assert_eq!(here.labels, there.labels);
    assert!((here.objective - there.objective).abs() < 1e-6 * here.objective);
}

#[test]
fn without_a_prior_a_small_cluster_is_an_explained_error() {
    let mut values: Vec<f64> = strips(0).0;
    values.extend([300.0, 300.0, 301.0, 300.0]);
    let means = FullCovarianceMeans {
        goal: Goal::Exactly(2),
        covariance_prior: CovariancePrior::Nothing,
        ..Default::default()
    };
    let error = means.fit(&data(&values), &Unwatched).unwrap_err().to_string();
    assert!(error.contains("a cluster of 2 rows in 2 columns"), "{error}");
    assert!(error.contains("unbounded below") && error.contains("covariance expected within a cluster"), "{error}");
    // Two large clusters far apart are no error, and the objective is the paper's.
    let mut values = strips(0).0;
    values.iter_mut().take(150).for_each(|x| *x += 100.0);
    let fit = means.fit(&data(&values), &Unwatched).unwrap();
    assert!(fit.sizes == [75, 75] && fit.converged);
    let c = means.covariance_penalty;
    let expected: f64 = (0..2).map(|k| c * invert(fit.covariance(k)).1.ln() + 2.0 * c).sum();
    assert!((fit.objective - expected).abs() < 1e-9 * expected.abs());
    let free = FullCovarianceMeans { goal: Goal::Penalty { penalty: 1.0, max_clusters: None }, ..means };
    let error = free.fit(&data(&values), &Unwatched).unwrap_err().to_string();
    assert!(error.starts_with("n_clusters must be given where there is no covariance prior"), "{error}");
}

#[test]
fn given_covariances_are_held() {
    // A long flat cloud and a tall one, crossing: only their shapes tell the rows apart.
    let mut rng = stream(5, Stream::Simulation);
    let values: Vec<f64> = (0..200)
        .flat_map(|n| {
            let (long, thin): (f64, f64) =
                (4.0 * rng.sample::<f64, _>(StandardNormal), 0.2 * rng.sample::<f64, _>(StandardNormal));
            if n % 2 == 0 { [long, thin] } else { [thin, long] }
        })
        .collect();
    let covariances = vec![16.0, 0.0, 0.0, 0.04, 0.04, 0.0, 0.0, 16.0];
    let means = FullCovarianceMeans {
        goal: Goal::Exactly(2),
        covariance_prior: CovariancePrior::Fixed(covariances.clone()),
        ..Default::default()
    };
    let fit = means.fit(&data(&values), &Unwatched).unwrap();
    assert_eq!(fit.covariances, covariances);
    let right = fit.labels.iter().enumerate().filter(|(n, l)| **l as usize == n % 2).count();
    assert!(right > 185, "{right}");
    assert!(fit.trace.windows(2).all(|t| t[1] <= t[0] * (1.0 + 1e-9)));
    let loss: f64 = (0..200)
        .map(|n| {
            let (k, x) = (fit.labels[n] as usize, &values[2 * n..2 * n + 2]);
            let deviation = [x[0] - fit.centre(k)[0], x[1] - fit.centre(k)[1]];
            quadratic(deviation, &invert(fit.covariance(k)).0)
        })
        .sum();
    assert!((fit.objective - loss).abs() < 1e-9 * loss);
    // One for all is DP-means in its units.
    let (values, covariance, truth) = strips(1);
    let means = FullCovarianceMeans {
        goal: Goal::Penalty { penalty: 100.0, max_clusters: None },
        covariance_prior: CovariancePrior::Shared(covariance),
        ..Default::default()
    };
    let fit = means.fit(&data(&values), &Unwatched).unwrap();
    assert_eq!(adjusted_rand_index(&truth, &Partition::from_labels(fit.labels)).unwrap(), 1.0);
}

#[test]
fn a_guess_is_made_where_no_covariance_is_given() {
    // Round clusters are what the guess is right for.
    let mut rng = stream(9, Stream::Simulation);
    let normal: Vec<f64> = (0..300).map(|_| rng.sample(StandardNormal)).collect();
    let values: Vec<f64> = normal.iter().enumerate().map(|(i, x)| x + 12.0 * f64::from((i / 2 % 3) as u32)).collect();
    let data = data(&values);
    for goal in [Goal::Penalty { penalty: 80.0, max_clusters: None }, Goal::Exactly(3)] {
        let fit = FullCovarianceMeans { goal, ..Default::default() }.fit(&data, &Unwatched).unwrap();
        assert_eq!(fit.n_clusters(), 3, "{goal:?} {:?}", fit.covariance_prior);
        let prior = fit.covariance_prior.unwrap();
        assert!((prior[0] - 1.0).abs() < 0.3 && (prior[3] - 1.0).abs() < 0.3, "{prior:?}");
    }
}

#[test]
fn bad_parameters_are_named() {
    let values = [0.0, 1.0, 2.0, 0.5, 3.0, 1.0];
    let good = FullCovarianceMeans::default();
    for (means, message) in [
        (FullCovarianceMeans { covariance_penalty: 0.0, ..good.clone() }, "covariance_penalty must be a positive"),
        (
            FullCovarianceMeans { covariance_prior: CovariancePrior::Expected(vec![1.0]), ..good.clone() },
            "covariance_prior must be 2 x 2",
        ),
        (
            FullCovarianceMeans { covariance_prior: CovariancePrior::Fixed(vec![1.0; 4]), ..good.clone() },
            "n_clusters must be given with fixed covariances",
        ),
        (
            FullCovarianceMeans {
                covariance_prior: CovariancePrior::Fixed(vec![1.0; 4]),
                goal: Goal::Exactly(2),
                ..good.clone()
            },
            "covariances must be 2 matrices of 2 x 2",
        ),
        (FullCovarianceMeans { max_passes: 0, ..good.clone() }, "max_passes must be at least 1"),
    ] {
        let error = means.fit(&data(&values), &Unwatched).unwrap_err().to_string();
        assert!(error.starts_with(message), "{error}");
    }
}
