//! The kernel against a plain loop in float64.

use super::*;
use crate::linalg::vector::Four;
use crate::random::{Stream, stream};
use rand::RngExt;

/// Checks the kernel against a plain loop in float64, for clusters of size `scale` about far sites.
fn check<T: Real>(n: usize, d: usize, k: usize, scale: f64) {
    let mut rng = stream((n * 1000 + d * 10 + k) as u64, Stream::Simulation);
    let mut draw = |count: usize, scale: f64| -> Vec<f64> {
        let sites: Vec<f64> = (0..count).map(|_| f64::from(rng.random_range(-1..=1)) * 2.0).collect();
        sites.iter().map(|site| site + scale * (rng.random::<f64>() - 0.5)).collect()
    };
    let reference: Vec<T> = draw(d, 1.0).into_iter().map(|v| T::from_f64(v + 100.0)).collect();
    let values: Vec<T> = draw(n * d, scale).into_iter().map(|v| T::from_f64(v + 100.0)).collect();
    let centres = FrozenCentres::<T>::new(draw(k * d, scale), d);
    let rows = Rows::new(&values, d).unwrap();
    let mut labels = vec![NO_LABEL; n];
    centres.nearest(rows, &reference, &mut labels);
    for (row, &label) in rows.iter().zip(&labels) {
        let distance = |c: usize| -> f64 {
            (0..d).map(|j| (row[j].into() - reference[j].into() - centres.offset(c)[j]).powi(2)).sum()
        };
        let least = (0..k).map(distance).fold(f64::INFINITY, f64::min);
        let found = distance(label as usize);
        assert!(found <= least * (1.0 + 1e-12), "{n} x {d}, {k} centres, scale {scale}: {found} {least}");
    }
}

#[test]
fn the_kernel_finds_the_nearest_centre_for_every_shape_and_scale() {
    for n in [1, 7, 8, 15, 16, 17, 33, 100] {
        for d in [1, 2, 3, 7, 8, 9, 16, 33, 128, 129, 300] {
            for k in [1, 2, 5, 6, 7, 12, 13, 50] {
                for scale in [4.0, 1e-3, 1e-5] {
                    check::<f32>(n, d, k, scale);
                    check::<f64>(n, d, k, scale * scale);
                }
            }
        }
    }
}

#[test]
fn rows_with_others_between_them_are_searched_as_copies_of_them_are() {
    let mut rng = stream(8, Stream::Simulation);
    for (n, d) in [(2, 1), (40, 3), (131, 17), (131, 300)] {
        let values: Vec<f32> = (0..n * d).map(|_| rng.random::<f32>()).collect();
        let centres = FrozenCentres::<f32>::new((0..9 * d).map(|_| rng.random::<f64>()).collect(), d);
        let (all, origin) = (Rows::new(&values, d).unwrap(), vec![0.0; d]);
        for (step, first) in [(1, 0), (2, 0), (2, 1), (7, 3)] {
            let numbers: Vec<usize> = (first..n).step_by(step).collect();
            let copied: Vec<f32> = numbers.iter().flat_map(|&row| all.row(row)).copied().collect();
            let (Some(some), Ok(copies)) = ((first < n).then(|| all.every(step, first)), Rows::new(&copied, d)) else {
                continue;
            };
            assert_eq!(some.n_rows(), copies.n_rows());
            assert!(some.iter().eq(copies.iter()));
            for (start, end) in [(0, some.n_rows()), (some.n_rows() / 3, some.n_rows()), (0, some.n_rows() / 2)] {
                let labels = |rows: Rows<f32>| {
                    let mut labels = vec![NO_LABEL; end - start];
                    centres.nearest(rows.slice(start, end), &origin, &mut labels);
                    labels
                };
                assert_eq!(labels(some), labels(copies), "{n} x {d}, one in {step} from {first} on");
            }
        }
    }
}

#[test]
fn some_centres_are_searched_as_if_there_were_no_others() {
    let mut rng = stream(5, Stream::Simulation);
    let mut draw = |n: usize| -> Vec<f64> { (0..n).map(|_| f64::from(rng.random_range(-4..=4))).collect() };
    for d in [1, 3, 9, 130] {
        let (values, offsets) = (draw(70 * d), draw(40 * d));
        let all = FrozenCentres::<f64>::new(offsets.clone(), d);
        let rows = Rows::new(&values, d).unwrap();
        let origin = vec![0.0; d];
        let mut some = SomeCentres::default();
        for names in [vec![7], vec![39, 0, 11, 12, 13], (5..30).rev().collect::<Vec<u32>>()] {
            some.take(&all, names.iter().copied());
            let mut labels = vec![NO_LABEL; 70];
            let search = Search { some: Some(&some), ..Search::all(rows, &origin) };
            on_this_processor(Nearest { centres: &all, search, labels: &mut labels });
            for (row, label) in rows.iter().zip(labels) {
                let distance = |k: &u32| offset_squared_distance(row, &vec![0.0; d], all.offset(*k as usize));
                let nearest = names.iter().min_by(|a, b| distance(a).total_cmp(&distance(b)).then(a.cmp(b)));
                assert_eq!(Some(&label), nearest);
            }
        }
    }
}

#[test]
fn equal_distances_take_the_lowest_number() {
    let centres = FrozenCentres::<f64>::new(vec![1.0, -1.0, 1.0, -1.0], 1);
    let mut labels = vec![NO_LABEL; 3];
    centres.nearest(Rows::new(&[0.0, 3.0, -3.0], 1).unwrap(), &[0.0], &mut labels);
    assert_eq!(labels, [0, 0, 1]);
}

#[test]
fn every_kind_of_processor_agrees_with_the_plain_kernel() {
    // The narrow kernel without fused multiply-add is what an old processor runs.
    let mut rng = stream(1, Stream::Simulation);
    let values: Vec<f64> = (0..200 * 5).map(|_| rng.random()).collect();
    let offsets: Vec<f64> = (0..20 * 5).map(|_| rng.random()).collect();
    let centres = FrozenCentres::<f64>::new(offsets, 5);
    let rows = Rows::new(&values, 5).unwrap();
    let (mut best, mut plain) = (vec![NO_LABEL; 200], vec![NO_LABEL; 200]);
    centres.nearest(rows, &[0.0; 5], &mut best);
    let parts = Parts {
        search: Search::all(rows, &[0.0; 5]),
        panels: centres.exact(None),
        minus_reference: &[0.0; 5],
        centres: &centres,
        labels: &mut plain,
        reach: None,
    };
    // SAFETY: arrays of four need no special instructions.
    unsafe {
        match centres.exact(None).width {
            6 => nearest_in_blocks::<Four<f64, false>, RowsInLanes<f64, 6>>(parts),
            8 => nearest_in_blocks::<Four<f64, false>, RowsInLanes<f64, 8>>(parts),
            10 => nearest_in_blocks::<Four<f64, false>, RowsInLanes<f64, 10>>(parts),
            12 => nearest_in_blocks::<Four<f64, false>, RowsInLanes<f64, 12>>(parts),
            _ => nearest_in_blocks::<Four<f64, false>, RowsInLanes<f64, 4>>(parts),
        }
    }
    assert_eq!(best, plain);
}

/// Labels and reach by one kernel, checked against distances in float64.
fn check_reach<T: Real>(rows: Rows<T>, centres: &FrozenCentres<T>, panels: &Panels<T>, kernel: impl Fn(Parts<T>)) {
    let (n, origin) = (rows.n_rows(), vec![T::default(); rows.n_columns()]);
    let (mut labels, mut nearest, mut others) = (vec![NO_LABEL; n], vec![0.0; n], vec![0.0; n]);
    let reach = Some(Reach { nearest: &mut nearest, others: &mut others });
    let search = Search::all(rows, &origin);
    kernel(Parts { search, panels, minus_reference: &origin, centres, labels: &mut labels, reach });
    let mut open = 0;
    for (i, row) in rows.iter().enumerate() {
        let distance = |k: usize| offset_squared_distance(row, &origin, centres.offset(k)).sqrt();
        let mut distances: Vec<f64> = (0..centres.n_centres()).map(distance).collect();
        let found = distances[labels[i] as usize];
        distances.sort_by(f64::total_cmp);
        assert_eq!(found, distances[0]);
        assert!(found <= f64::from(nearest[i]) && f64::from(nearest[i]) <= 1.001 * found, "{found} {}", nearest[i]);
        assert!(f64::from(others[i]) <= distances[1], "{} {}", others[i], distances[1]);
        open += usize::from(f64::from(others[i]) < 0.999 * distances[1]);
    }
    assert!(open <= n / 10, "{open} of {n} rows have loose bounds");
}

#[cfg(target_arch = "x86_64")]
#[test]
fn wide_narrow_and_plain_vectors_find_the_same_and_bound_it() {
    fn check<T: Real>(d: usize, k: usize) {
        let mut rng = stream(d as u64, Stream::Simulation);
        let mut draw = |n: usize| -> Vec<f64> { (0..n).map(|_| rng.random::<f64>() - 0.5).collect() };
        let values: Vec<T> = draw(75 * d).into_iter().map(T::from_f64).collect();
        let centres = FrozenCentres::<T>::new(draw(k * d), d);
        let rows = Rows::new(&values, d).unwrap();
        let packed = |width: usize| {
            let (mut panels, names) = (Panels::default(), (0..k as u32).collect::<Vec<_>>());
            let norms = |k: u32| centres.minus_half_norms[k as usize];
            panels.pack_by(width, &centres.offsets, d, &names, norms);
            panels
        };
        // SAFETY: arrays of four need no special instructions.
        unsafe {
            check_reach(rows, &centres, &packed(6), |parts| nearest_in_blocks::<T::Plain, RowsInLanes<T, 6>>(parts));
            let lanes = <T::Plain as Vector>::LANES;
            check_reach(rows, &centres, &packed(lanes), |parts| {
                nearest_in_blocks::<T::Plain, CentresInLanes<T, 4>>(parts)
            });
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            // SAFETY: the processor has just been asked for these features.
            unsafe {
                check_reach(rows, &centres, &packed(6), |parts| on_narrow::<T::Narrow, RowsInLanes<T, 6>>(parts));
                let lanes = <T::Narrow as Vector>::LANES;
                check_reach(rows, &centres, &packed(lanes), |parts| {
                    on_narrow::<T::Narrow, CentresInLanes<T, 4>>(parts)
                });
            }
        }
        if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vl") {
            // SAFETY: as above.
            unsafe {
                check_reach(rows, &centres, &packed(6), |parts| on_wide::<T::Wide, RowsInLanes<T, 6>>(parts));
                let lanes = <T::Wide as Vector>::LANES;
                check_reach(rows, &centres, &packed(lanes), |parts| on_wide::<T::Wide, CentresInLanes<T, 8>>(parts));
            }
        }
    }
    for (d, k) in [(2, 6), (5, 3), (16, 17), (40, 6), (130, 2), (300, 40)] {
        check::<f32>(d, k);
        check::<f64>(d, k);
    }
}
