//! The full-covariance law against scipy's multivariate t, numerical integrals, fresh factors and its own limit.

use super::*;
use crate::data::Rows;
use crate::likelihood::{Groups, laws};
use crate::random::{Stream, stream};
use rand::RngExt;
use std::f64::consts::{FRAC_PI_2, PI};

const SCALE: [f64; 9] = [2.0, 0.3, -0.4, 0.3, 1.5, 0.2, -0.4, 0.2, 0.9];

fn law() -> Full {
    Full { prior_mean: vec![0.5, -1.0, 2.0], prior_strength: 0.7, prior_dof: 5.5, prior_scale: SCALE.to_vec() }
}

fn data(values: &[f64], n_columns: usize) -> Data<'_, f64> {
    Data::new(Rows::new(values, n_columns).unwrap()).unwrap()
}

laws::likelihood_laws!(posterior, laws::rows(3), |data| FullGroups::new(data, law()).unwrap());
laws::limit_laws!(limit, laws::rows(3), |data| FullGroups::in_the_limit(data, 4.0, &SCALE).unwrap());

#[test]
fn the_loss_is_the_limit_of_the_marginal() {
    // nu = c / s2 and Sigma = s2 S, so that the scale of Sigma stays Phi; the prior of the mean keeps its own width.
    let rows = laws::rows(3);
    let data = rows.data();
    let c = 4.0;
    let at = |s2: f64| FullGroups::new(&data, Full { prior_dof: c / s2, prior_strength: s2, ..law() }).unwrap();
    laws::loss_is_the_limit_of_the_marginal(
        |s2, labels| laws::seated_ln_marginal(at(s2), labels),
        |labels| laws::seated_loss(FullGroups::in_the_limit(&data, c, &SCALE).unwrap(), labels),
    );
}

#[test]
fn predictives_are_those_of_scipy() {
    // scipy.stats.multivariate_t.logpdf, before any row and after four.
    let values = [1.0, -0.5, 2.5, 0.2, 0.1, 1.4, 2.2, -1.9, 3.0, -0.7, 0.4, 2.1];
    let data = data(&values, 3);
    let mut groups = FullGroups::new(&data, law()).unwrap();
    laws::seat(&mut groups, &[0, 0, 0, 0]);
    let expected = [
        ([0.3, 0.4, 1.9], -2.6000403584499456, -4.100638307092462),
        ([-4.0, 7.5, 0.0], -14.929804083671298, -14.419278978214077),
    ];
    let (with_rows, without) = (groups.posterior(0).predictive().unwrap(), law().predictive().unwrap());
    for (row, old, new) in expected {
        let mut weights = [0.0; 2];
        groups.weigh_new(&row, &mut weights);
        assert!((weights[0] - old).abs() < 1e-10 && (weights[1] - new).abs() < 1e-10, "{weights:?}");
        assert!((with_rows.ln_density(&row) - old).abs() < 1e-10);
        assert!((without.ln_density(&row) - new).abs() < 1e-10);
    }
}

/// Integral over the whole line by x = tan t, midpoints: quickly exact for densities with tails of a power.
fn integral(f: impl Fn(f64) -> f64) -> f64 {
    let steps = 300;
    let width = PI / f64::from(steps);
    (0..steps)
        .map(|i| {
            let t = -FRAC_PI_2 + width * (f64::from(i) + 0.5);
            f(t.tan()) / t.cos().powi(2) * width
        })
        .sum()
}

#[test]
fn densities_integrate_to_one() {
    let line = Full { prior_mean: vec![0.4], prior_strength: 1.3, prior_dof: 5.0, prior_scale: vec![2.0] };
    let density = line.predictive().unwrap();
    assert!((integral(|x| density.ln_density(&[x]).exp()) - 1.0).abs() < 1e-9);
    let scale = vec![2.0, 0.8, 0.8, 1.1];
    let plane = Full { prior_mean: vec![0.4, -0.3], prior_strength: 0.5, prior_dof: 7.0, prior_scale: scale };
    let density = plane.predictive().unwrap();
    let total = integral(|x| integral(|y| density.ln_density(&[x, y]).exp()));
    assert!((total - 1.0).abs() < 1e-6, "{total}");
}

/// Largest difference of P from a fresh one made of sums over the rows, relative to the diagonal.
fn gap_to_fresh(groups: &FullGroups<f64>, law: &Full, rows: &[&[f64]], group: usize) -> f64 {
    let (d, n) = (law.prior_mean.len(), rows.len() as f64);
    let found = groups.posterior(group);
    let mean = |j: usize| rows.iter().map(|r| r[j]).sum::<f64>() / n;
    let share = law.prior_strength * n / (law.prior_strength + n);
    let mut fresh = law.prior_scale.clone();
    for i in 0..d {
        for j in 0..d {
            let scatter: f64 = rows.iter().map(|r| (r[i] - mean(i)) * (r[j] - mean(j))).sum();
            fresh[i * d + j] += scatter + share * (mean(i) - law.prior_mean[i]) * (mean(j) - law.prior_mean[j]);
        }
    }
    let (mut gap, diagonal): (f64, Vec<f64>) = (0.0, (0..d).map(|i| fresh[i * d + i].sqrt()).collect());
    for i in 0..d {
        for j in 0..d {
            gap = gap.max((found.prior_scale[i * d + j] - fresh[i * d + j]).abs() / (diagonal[i] * diagonal[j]));
        }
    }
    let (factor, ln_det) = inverse_factor(&fresh, d).unwrap();
    for (a, b) in factor.iter().zip(groups.covariances().factor(group + 1)) {
        gap = gap.max((a - b).abs() / factor.iter().fold(0.0, |m: f64, x| m.max(x.abs())));
    }
    let ln_det_prior = inverse_factor(&law.prior_scale, d).unwrap().1;
    gap.max((ln_det - ln_det_prior - groups.group_loss(group) / law.prior_dof).abs())
}

#[test]
fn after_a_million_moves_the_factor_is_that_of_the_rows() {
    let (n, d, k) = (400, 5, 3);
    let mut rng = stream(1, Stream::Simulation);
    // Columns of very different spread, far from 0, one row in fifty far out: removals that take nearly all.
    let values: Vec<f64> = (0..n * d)
        .map(|i| {
            let far = if i / d % 50 == 0 { 1e3 } else { 1.0 };
            1e4 + far * 10f64.powi((i % d) as i32 - 2) * (rng.random::<f64>() - 0.5)
        })
        .collect();
    let data = data(&values, d);
    let scale = (0..d * d).map(|e| if e / d == e % d { 100f64.powi((e % d) as i32 - 2) / 12.0 } else { 0.0 });
    let law = Full { prior_scale: scale.collect(), ..Full::weak(&data, vec![]) };
    let mut groups = FullGroups::new(&data, law.clone()).unwrap();
    (0..k).for_each(|_| groups.open());
    let mut labels = vec![usize::MAX; n];
    for _ in 0..1_000_000 {
        let row = rng.random_range(0..n);
        if labels[row] == usize::MAX {
            labels[row] = rng.random_range(0..k);
            groups.add(labels[row], row);
        } else {
            groups.sub(labels[row], row);
            labels[row] = usize::MAX;
        }
    }
    for group in 0..k {
        let rows: Vec<&[f64]> = (0..n).filter(|r| labels[*r] == group).map(|r| data.rows().row(r)).collect();
        assert!(rows.len() > 20);
        let gap = gap_to_fresh(&groups, &law, &rows, group);
        assert!(gap < 1e-8, "group {group}: {gap}");
    }
}

#[test]
fn a_row_far_out_leaves_no_trace() {
    // At 1e9 standard deviations its square is 1e18: plain sums would lose all the others.
    let values = [0.1, -0.4, 0.7, 0.2, -0.3, 0.9, 1e9, -2e9, 0.5, 0.6];
    let data = data(&values, 2);
    let law = Full { prior_mean: vec![0.0; 2], ..Full::weak(&data, vec![1.0, 0.2, 0.2, 0.5]) };
    let mut groups = FullGroups::new(&data, law.clone()).unwrap();
    laws::seat(&mut groups, &[0, 0, 0, 0, 0]);
    groups.sub(0, 3);
    let found = groups.ln_marginal();
    let mut fresh = FullGroups::new(&data, law).unwrap();
    fresh.open();
    [0, 1, 2, 4].into_iter().for_each(|row| fresh.add(0, row));
    assert!((found - fresh.ln_marginal()).abs() < 1e-9, "{found} {}", fresh.ln_marginal());
}

#[test]
fn rows_far_from_zero_lose_nothing() {
    // Multiples of 2^-20, so that the shift is exact.
    let near: Vec<f64> =
        laws::rows(3).data().rows().values().iter().map(|x| (x * 1048576.0).round() / 1048576.0).collect();
    let far: Vec<f64> = near.iter().map(|x| x + 16384.0).collect();
    let far_mean = law().prior_mean.iter().map(|m| m + 16384.0).collect();
    let [near, far] = [(near, law()), (far, Full { prior_mean: far_mean, ..law() })].map(|(values, law)| {
        let data = data(&values, 3);
        let mut groups = FullGroups::new(&data, law).unwrap();
        laws::seat(&mut groups, &[0, 1, 2, 0, 1, 2, 0, 0, 1]);
        let mut scores = vec![0.0; 4];
        groups.weigh(10, &mut scores);
        scores.extend([groups.ln_marginal(), groups.loss()]);
        scores
    });
    for (a, b) in near.iter().zip(&far) {
        assert!((a - b).abs() < 1e-10 * a.abs(), "{a} {b}");
    }
}

#[test]
fn weights_count_rows_in_the_limit_and_are_refused_otherwise() {
    let values = [0.1, -0.4, 0.7, 0.2, -0.3, 0.9, 1.5, -0.2];
    let twice = [0.1, -0.4, 0.7, 0.2, 0.7, 0.2, -0.3, 0.9];
    let weights = [1.0, 2.0, 1.0, 0.0];
    let weighted = Data::weighted(Rows::new(&values, 2).unwrap(), Some(&weights)).unwrap();
    let scale = vec![1.0, 0.2, 0.2, 0.5];
    let repeated = data(&twice, 2);
    let mut a = FullGroups::in_the_limit(&weighted, 3.0, &scale).unwrap();
    let mut b = FullGroups::in_the_limit(&repeated, 3.0, &scale).unwrap();
    laws::seat(&mut a, &[0, 0, 0, 0]);
    laws::seat(&mut b, &[0, 0, 0, 0]);
    assert!((a.loss() - b.loss()).abs() < 1e-12);
    a.sub(0, 1);
    a.sub(0, 3);
    let (mut charges, before) = (vec![0.0; 2], a.loss());
    a.charge(1, &mut charges);
    assert!((before + charges[0] - b.loss()).abs() < 1e-12 && charges[1] == 0.0);
    let error = FullGroups::new(&weighted, Full::weak(&weighted, scale)).unwrap_err().to_string();
    assert!(error.starts_with("weights must be left out"), "{error}");
}

#[test]
fn bad_parameters_are_named() {
    let values = [1.0, 2.0, 0.5, 3.0];
    let data = data(&values, 2);
    let good = Full::weak(&data, vec![1.0, 0.0, 0.0, 1.0]);
    assert!(FullGroups::new(&data, good.clone()).is_ok());
    let with_scale = |prior_scale: Vec<f64>| Full { prior_scale, ..good.clone() };
    for (law, message) in [
        (Full { prior_mean: vec![0.0], ..good.clone() }, "prior_mean must be 2 finite numbers"),
        (Full { prior_strength: 0.0, ..good.clone() }, "prior_strength must be a positive"),
        (Full { prior_dof: 1.0, ..good.clone() }, "prior_dof must be a finite number above"),
        (with_scale(vec![1.0]), "prior_scale must be 2 x 2 finite numbers, got 1 numbers"),
        (with_scale(vec![1.0, f64::NAN, 0.0, 1.0]), "prior_scale must be 2 x 2 finite numbers, got NaN"),
        (with_scale(vec![1.0, 0.5, 0.0, 1.0]), "prior_scale must be a symmetric matrix"),
        (with_scale(vec![1.0, 2.0, 2.0, 1.0]), "prior_scale must be a positive definite matrix"),
        (with_scale(vec![1e-250, 0.0, 0.0, 1e-250]), "prior_scale must be of the order"),
    ] {
        let error = FullGroups::new(&data, law).unwrap_err().to_string();
        assert!(error.starts_with(message), "{error}");
    }
    let error = FullGroups::in_the_limit(&data, -1.0, &[1.0, 0.0, 0.0, 1.0]).unwrap_err().to_string();
    assert!(error.starts_with("covariance_penalty must be a positive"), "{error}");
}
