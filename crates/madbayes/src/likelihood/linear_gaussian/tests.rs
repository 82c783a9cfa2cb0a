//! The laws of the linear-Gaussian likelihood: against full evaluations, dense Gaussian densities and its own limit.

use super::*;
use crate::data::Rows;
use crate::random::{Rng, Stream, stream};
use rand::RngExt;

const LAW: LinearGaussian = LinearGaussian { noise: 0.4, scale: 1.7 };

fn values(n: usize, d: usize, rng: &mut Rng) -> Vec<f64> {
    (0..n * d).map(|_| rng.random::<f64>() * 6.0 - 2.0).collect()
}

fn data(values: &[f64], d: usize) -> Data<'_, f64> {
    Data::new(Rows::new(values, d).unwrap()).unwrap()
}

fn random_allocation(n: usize, k: usize, rng: &mut Rng) -> Allocation {
    Allocation::from_bools(n, k, (0..n * k).map(|_| rng.random::<f64>() < 0.4))
}

fn assert_close(a: f64, b: f64, tolerance: f64) {
    assert!((a - b).abs() <= tolerance * (1.0 + a.abs().min(b.abs())), "{a} is not {b}");
}

/// The loss of all rows but one, the row given other features; `own` more of its own.
fn loss_with(rows: &CollapsedRows<f64>, data: &Data<f64>, row: usize, bits: &[bool], own: bool) -> f64 {
    collapsed_loss(&with_row(rows.allocation(), row, bits, usize::from(own)), data)
}

fn with_row(allocation: &Allocation, row: usize, bits: &[bool], own: usize) -> Allocation {
    let mut all = allocation.clone();
    (0..bits.len()).for_each(|k| all.set(row, k, bits[k]));
    for _ in 0..own {
        all.push();
        all.set(row, all.n_features() - 1, true);
    }
    all
}

/// The loss without a row: what is left after the row's own share, by leaving it out of the data.
fn loss_without(rows: &CollapsedRows<f64>, values: &[f64], d: usize, row: usize) -> f64 {
    let others: Vec<usize> = (0..values.len() / d).filter(|n| *n != row).collect();
    let left: Vec<f64> = others.iter().flat_map(|n| values[n * d..(n + 1) * d].to_vec()).collect();
    collapsed_loss(&rows.allocation().select_rows(&others), &data(&left, d))
}

#[test]
fn the_marginal_is_the_joint_gaussian_density() {
    // Columns of X are N(0, r2 ZZ' + s2 I): its density by an N x N Cholesky factor, another route altogether.
    let mut rng = stream(1, Stream::Simulation);
    let (n, d) = (6, 2);
    let values = values(n, d, &mut rng);
    for k in 0..4 {
        let z = random_allocation(n, k, &mut rng);
        let mut covariance = vec![0.0; n * n];
        for (a, b) in (0..n).flat_map(|a| (0..n).map(move |b| (a, b))) {
            let shared = (0..k).filter(|f| z.get(a, *f) && z.get(b, *f)).count() as f64;
            covariance[a * n + b] = LAW.scale * shared;
        }
        let factor = Factor::new(&covariance, n, LAW.noise).unwrap();
        let mut solved = values.clone();
        factor.solve(&mut solved, d);
        let expected =
            -0.5 * (n * d) as f64 * TAU.ln() - 0.5 * d as f64 * factor.ln_det() - 0.5 * dot(&values, &solved);
        assert_close(LAW.ln_marginal(&z, &data(&values, d)), expected, 1e-12);
    }
}

#[test]
fn the_reference_loss_is_the_trace_of_the_residual_projection() {
    // Two features over four rows, by the textbook 2 x 2 inverse; then with a copy and the sum of disjoint columns added.
    let values = [1.0, -2.0, 0.5, 3.0, 2.5, 1.0, -1.0, 4.0];
    let (a, b) = ([true, true, false, false], [false, true, true, false]);
    let rows = data(&values, 2);
    let mut expected = 0.0;
    for j in 0..2 {
        let x: Vec<f64> = (0..4).map(|n| values[n * 2 + j]).collect();
        let (p, q) = (x[0] + x[1], x[1] + x[2]);
        // (Z'Z)^-1 = [[2, -1], [-1, 2]]/3.
        expected += x.iter().map(|v| v * v).sum::<f64>() - (2.0 * p * p - 2.0 * p * q + 2.0 * q * q) / 3.0;
    }
    assert_close(collapsed_loss(&Allocation::from_columns(4, &[a, b]), &rows), expected, 1e-13);
    let empty = [false; 4];
    assert_close(collapsed_loss(&Allocation::from_columns(4, &[a, empty, b, a]), &rows), expected, 1e-13);
    let (c, d) = ([true, false, false, false], [false, true, false, false]);
    let dependent = collapsed_loss(&Allocation::from_columns(4, &[a, c, d]), &rows);
    assert_close(dependent, collapsed_loss(&Allocation::from_columns(4, &[c, d]), &rows), 1e-13);
}

#[test]
fn charge_is_the_difference_of_two_full_evaluations() {
    let mut rng = stream(2, Stream::Simulation);
    let (mut alone, mut dependent, mut plain) = (0, 0, 0);
    for trial in 0..300 {
        let (n, d, k) = (4 + trial % 6, 1 + trial % 4, 1 + trial % 4);
        let values = values(n, d, &mut rng);
        let rows = data(&values, d);
        let mut live = CollapsedRows::in_the_limit(&rows, random_allocation(n, k, &mut rng)).unwrap();
        for row in 0..n {
            let before = collapsed_loss(live.allocation(), &rows);
            assert_close(live.loss(), before, 1e-9);
            let had_own = live.allocation().features_of(row).any(|f| live.counts()[f] == 1);
            match live.take_out(row) {
                0 => plain += 1,
                1 if had_own => alone += 1,
                1 => dependent += 1,
                more => panic!("{more} features went with one row"),
            }
            let without = loss_without(&live, &values, d, row);
            assert_close(live.loss(), without, 1e-9);
            // Dropping a feature loses nothing: with one of its own the row is back where it was.
            let own = loss_with(&live, &rows, row, live.bits(), true);
            assert_close(own, without, 1e-9);
            if live.n_features() > 0 {
                for _ in 0..6 {
                    let k = rng.random_range(0..live.n_features());
                    let mut bits = live.bits().to_vec();
                    assert_close(live.charge(), loss_with(&live, &rows, row, &bits, false) - without, 1e-9);
                    bits[k] = !bits[k];
                    assert_close(live.charge_flipped(k), loss_with(&live, &rows, row, &bits, false) - without, 1e-9);
                    if rng.random::<bool>() {
                        live.flip(k);
                    }
                }
            }
            live.put_back(usize::from(rng.random::<f64>() < 0.3));
        }
    }
    assert!(alone > 50 && dependent > 5 && plain > 500, "{alone} {dependent} {plain}");
}

#[test]
fn predictive_is_the_ratio_of_marginals() {
    let mut rng = stream(3, Stream::Simulation);
    // With little noise log densities are differences of terms of the size |X|^2/s2.
    let laws = [LAW, LinearGaussian { noise: 1e-5, ..LAW }, LinearGaussian { noise: 1e9, ..LAW }];
    for trial in 0..600 {
        let (n, d, k) = (3 + trial % 5, 1 + trial % 3, trial % 5);
        let law = laws[trial / 200];
        let values = values(n, d, &mut rng);
        let rows = data(&values, d);
        let size = dot(&values, &values) / law.noise;
        let assert_close = |a: f64, b: f64| assert!((a - b).abs() < 1e-10 * (size + b.abs()), "{a} is not {b}");
        let mut live = CollapsedRows::new(&rows, random_allocation(n, k, &mut rng), law).unwrap();
        for row in 0..n {
            assert_close(live.ln_marginal(), law.ln_marginal(live.allocation(), &rows));
            let had = live.allocation().features_of(row).filter(|f| live.counts()[*f] == 1).count();
            assert_eq!(live.take_out(row), had);
            let others: Vec<usize> = (0..n).filter(|m| *m != row).collect();
            let left: Vec<f64> = others.iter().flat_map(|m| values[m * d..(m + 1) * d].to_vec()).collect();
            let without = law.ln_marginal(&live.allocation().select_rows(&others), &data(&left, d));
            for own in 0..3 {
                let bits = live.bits().to_vec();
                let with = law.ln_marginal(&with_row(live.allocation(), row, &bits, own), &rows);
                assert_close(without + live.weigh(own), with);
                for k in 0..bits.len() {
                    let mut flipped = bits.clone();
                    flipped[k] = !flipped[k];
                    let with = law.ln_marginal(&with_row(live.allocation(), row, &flipped, own), &rows);
                    assert_close(without + live.weigh_flipped(k, own), with);
                }
                if !bits.is_empty() {
                    live.flip(rng.random_range(0..bits.len()));
                }
            }
            live.put_back(rng.random_range(0..4usize).saturating_sub(1));
        }
    }
}

/// How far M, A, A A', the loss and log |B| are from those computed anew.
fn drift(live: &CollapsedRows<f64>) -> f64 {
    let mut anew = live.clone();
    anew.refactor();
    assert_eq!(anew.allocation(), live.allocation());
    let gap = |a: &[f64], b: &[f64]| {
        let largest = b.iter().fold(1e-300f64, |m, x| m.max(x.abs()));
        a.iter().zip(b).map(|(x, y)| (x - y).abs() / largest).fold(0.0, f64::max)
    };
    gap(live.inverse(), anew.inverse())
        .max(gap(live.components(), anew.components()))
        .max(gap(live.products(), anew.products()))
        .max((live.loss() / anew.loss() - 1.0).abs())
        .max((live.ln_marginal() / anew.ln_marginal() - 1.0).abs())
}

#[test]
fn taking_out_and_putting_back_are_inverse() {
    let mut rng = stream(4, Stream::Simulation);
    let values = values(20, 3, &mut rng);
    let rows = data(&values, 3);
    let allocation = random_allocation(20, 4, &mut rng);
    for limit in [false, true] {
        let mut live = match limit {
            true => CollapsedRows::in_the_limit(&rows, allocation.clone()).unwrap(),
            false => CollapsedRows::new(&rows, allocation.clone(), LAW).unwrap(),
        };
        let before = live.clone();
        for row in 0..20 {
            let own = live.take_out(row);
            assert!((live.loss() - before.loss()).abs() > 1e-6, "taking a row out changes the loss");
            live.put_back(own);
        }
        assert_eq!(live.allocation(), &allocation);
        assert!(drift(&live) < 1e-12, "{}", drift(&live));
        assert_close(live.loss(), before.loss(), 1e-12);
    }
}

#[test]
fn a_thousand_moves_drift_by_less_than_1e_11() {
    // Random walks with features coming and going, in both regimes and with little noise: just before the period ends.
    let mut worst = 0.0f64;
    for seed in 0..20 {
        let mut rng = stream(seed, Stream::Chain(5));
        let values = values(40, 5, &mut rng);
        let rows = data(&values, 5);
        let allocation = random_allocation(40, 5, &mut rng);
        let mut live = match seed % 3 {
            0 => CollapsedRows::in_the_limit(&rows, allocation).unwrap(),
            1 => CollapsedRows::new(&rows, allocation, LAW).unwrap(),
            _ => CollapsedRows::new(&rows, allocation, LinearGaussian { noise: 1e-4, scale: 1.0 }).unwrap(),
        };
        for done in 0..999 {
            live.take_out(done % 40);
            for k in 0..live.n_features() {
                if rng.random::<f64>() < 0.3 {
                    live.flip(k);
                }
            }
            let wanted = live.n_features() < 8 && rng.random::<f64>() < 0.2;
            live.put_back(usize::from(wanted));
        }
        worst = worst.max(drift(&live));
    }
    assert!(worst < 1e-11, "{worst:e}");
}

#[test]
fn minus_2_s2_log_marginal_tends_to_the_collapsed_loss() {
    // B Sup. B and D: less N D s2 log(2 pi s2), what is left is O(s2 log s2).
    let mut rng = stream(6, Stream::Simulation);
    let (n, d) = (12, 3);
    let values = values(n, d, &mut rng);
    let rows = data(&values, d);
    for k in [0, 1, 3] {
        let z = random_allocation(n, k, &mut rng);
        let loss = collapsed_loss(&z, &rows);
        let mut last = f64::INFINITY;
        for noise in [1e-1, 1e-3, 1e-5, 1e-7, 1e-9] {
            let law = LinearGaussian { noise, scale: 1.7 };
            let limit = -2.0 * noise * law.ln_marginal(&z, &rows) - (n * d) as f64 * noise * (TAU * noise).ln();
            let gap = (limit / loss - 1.0).abs();
            assert!(gap < last || gap < 1e-13, "the gap must shrink with the variance: {gap} {last}");
            last = gap;
        }
        assert!(last < 1e-7, "{last}");
    }
}

#[test]
fn at_small_variance_weights_rank_rows_as_charges_do() {
    let mut rng = stream(7, Stream::Simulation);
    let values = values(10, 4, &mut rng);
    let rows = data(&values, 4);
    let allocation = random_allocation(10, 3, &mut rng);
    let (s2, r2) = (1e-8, 1.0);
    let mut posterior = CollapsedRows::new(&rows, allocation.clone(), LinearGaussian { noise: s2, scale: r2 }).unwrap();
    let mut limit = CollapsedRows::in_the_limit(&rows, allocation).unwrap();
    for row in 0..10 {
        assert_eq!(posterior.take_out(row), limit.take_out(row));
        for k in 0..limit.n_features() {
            let by_weight = -2.0 * s2 * (posterior.weigh_flipped(k, 0) - posterior.weigh(0));
            assert_close(by_weight, limit.charge_flipped(k) - limit.charge(), 1e-5);
        }
        posterior.put_back(0);
        limit.put_back(0);
    }
}

#[test]
fn dependent_and_empty_features_are_dropped_from_the_limit_only() {
    let mut rng = stream(8, Stream::Simulation);
    let values = values(4, 2, &mut rng);
    let rows = data(&values, 2);
    let columns = [
        [true, true, false, false],
        [false, false, true, true],
        [true, false, true, false],
        [false, true, false, true],
    ];
    let dependent = Allocation::from_columns(4, &columns);
    let limit = CollapsedRows::in_the_limit(&rows, dependent.clone()).unwrap();
    assert_eq!(limit.n_features(), 3);
    assert_close(limit.loss(), collapsed_loss(&dependent, &rows), 1e-12);
    assert_eq!(CollapsedRows::new(&rows, dependent.clone(), LAW).unwrap().n_features(), 4);
    let mut with_empty = dependent;
    with_empty.push();
    assert_eq!(CollapsedRows::new(&rows, with_empty, LAW).unwrap().n_features(), 4);
}

#[test]
fn bad_parameters_are_named() {
    let values = [1.0, 2.0];
    let (rows, one) = (data(&values, 1), Allocation::new(2, 1));
    for (law, name) in [
        (LinearGaussian { noise: 0.0, ..LAW }, "noise must be a positive finite number"),
        (LinearGaussian { scale: f64::NAN, ..LAW }, "scale must be a positive finite number"),
        (LinearGaussian { noise: 1e-12, scale: 1.0 }, "noise must be at least 1e-8 of the scale"),
    ] {
        let error = CollapsedRows::new(&rows, one.clone(), law).unwrap_err().to_string();
        assert!(error.starts_with(name), "{error}");
    }
    let error = CollapsedRows::in_the_limit(&rows, Allocation::new(3, 1)).unwrap_err().to_string();
    assert!(error.starts_with("allocation must be one of the 2 rows"), "{error}");
    let weights = [1.0, 2.0];
    let weighted = Data::weighted(Rows::new(&values, 1).unwrap(), Some(&weights)).unwrap();
    assert!(CollapsedRows::in_the_limit(&weighted, one).is_err());
}
