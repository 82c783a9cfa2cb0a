//! Whole numbers against distances in float64.

use super::*;
use crate::random::{Stream, stream};
use rand::RngExt;

/// Where the processor cannot do it, that is said.
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
fn can() -> bool {
    let can = whole_numbers::available();
    if !can {
        eprintln!("SKIPPED: this processor has no instructions for whole numbers (AVX-512 VNNI)");
    }
    can
}

/// Checks what is sure of all rows, and of some in another order, against distances in float64; how many of all are in doubt.
fn check<T: Real>(rows: Rows<T>, reference: &[T], centres: &FrozenCentres<T>, some: Option<&SomeCentres<T>>) -> usize {
    let backwards: Vec<u32> = (0..rows.n_rows() as u32).rev().step_by(2).collect();
    check_search(Search { some, numbers: Some(&backwards), ..Search::all(rows, reference) }, centres);
    check_search(Search { some, ..Search::all(rows, reference) }, centres)
}

fn check_search<T: Real>(search: Search<T>, centres: &FrozenCentres<T>) -> usize {
    let minus: Vec<T> = search.reference.iter().map(|r| T::from_f64(-(*r).into())).collect();
    let whole = centres.in_whole_numbers(search, &minus).expect("so many rows and centres are rounded");
    let n = search.numbers.map_or(search.rows.n_rows(), <[u32]>::len);
    let (mut labels, mut within, mut beyond) = (vec![NO_LABEL; n], vec![0.0; n], vec![0.0; n]);
    let reach = Reach { nearest: &mut within, others: &mut beyond };
    // SAFETY: centres are rounded only where the processor has the instructions.
    let doubtful = unsafe { whole.nearest(&mut labels, Some(reach)) };
    let all: Vec<u32> = (0..centres.n_centres() as u32).collect();
    let names = search.some.map_or(&all, |some| &some.names);
    for i in (0..n).filter(|i| !doubtful.contains(&(*i as u32))) {
        let row = search.rows.row(search.number(i));
        let distance = |k: &u32| offset_squared_distance(row, search.reference, centres.offset(*k as usize)).sqrt();
        let mut distances: Vec<f64> = names.iter().map(distance).collect();
        let found = distances[labels[i] as usize];
        distances.sort_by(f64::total_cmp);
        assert_eq!(found, distances[0], "row {i}");
        assert!(found <= f64::from(within[i]), "row {i}: {found} {}", within[i]);
        assert!(f64::from(beyond[i]) <= distances[1], "row {i}: {} {}", beyond[i], distances[1]);
        assert!(
            f64::from(within[i]) <= 1.03 * found + 1e-3 * distances[names.len() - 1],
            "row {i} is loose: {found} {}",
            within[i]
        );
    }
    doubtful.len()
}

fn draw<T: Real>(seed: u64, count: usize, shift: f64) -> Vec<T> {
    let mut rng = stream(seed, Stream::Simulation);
    (0..count).map(|_| T::from_f64(rng.random::<f64>() - 0.5 + shift)).collect()
}

#[test]
fn what_whole_numbers_are_sure_of_is_so_in_float64() {
    fn shapes<T: Real>() {
        for (d, k) in
            [(2, 300), (5, 103), (8, 64), (16, 37), (33, 24), (127, 24), (128, 50), (129, 25), (257, 33), (300, 40)]
        {
            let (values, reference) = (draw::<T>(1, 203 * d, 100.0), draw::<T>(2, d, 100.0));
            let centres = FrozenCentres::<T>::new(draw::<f64>(3, k * d, 0.0), d);
            let in_doubt = check(Rows::new(&values, d).unwrap(), &reference, &centres, None);
            assert!(in_doubt <= 25, "{d} columns, {k} centres: {in_doubt} of 203 rows in doubt");
        }
    }
    if can() {
        shapes::<f32>();
        shapes::<f64>();
    }
}

#[test]
fn rows_that_are_too_long_or_as_near_to_two_centres_are_in_doubt() {
    if !can() {
        return;
    }
    for d in [20, 200] {
        let mut values = draw::<f32>(1, 100 * d, 0.0);
        // A row that no number of 16 bits has room for, and one between two centres; neither is looked at for lengths.
        values[5 * d..6 * d].iter_mut().for_each(|x| *x *= 1e6);
        let mut offsets = draw::<f64>(3, 40 * d, 0.0);
        for j in 0..d {
            let x = f64::from(values[7 * d + j]);
            offsets[j] = x + if j == 0 { 0.1 } else { 0.0 };
            offsets[d + j] = x - if j == 0 { 0.1 } else { 0.0 };
        }
        let centres = FrozenCentres::<f32>::new(offsets, d);
        let rows = Rows::new(&values, d).unwrap();
        let minus = vec![0.0; d];
        let whole = centres.in_whole_numbers(Search::all(rows, &minus), &minus).unwrap();
        // SAFETY: as above.
        let doubtful = unsafe { whole.nearest(&mut vec![NO_LABEL; 100], None) };
        assert!(doubtful.contains(&5) && doubtful.contains(&7), "{d} columns: {doubtful:?}");
        // And in the end they are where they belong.
        let mut labels = vec![NO_LABEL; 100];
        centres.nearest(rows, &minus, &mut labels);
        for (row, label) in rows.iter().zip(labels) {
            assert_eq!(label, centres.nearest_in_float64(row, &minus, None).0);
        }
    }
}

#[test]
fn fewer_centres_leave_nothing_of_those_before_them() {
    if !can() {
        return;
    }
    for d in [24, 200] {
        // Long centres first: where their numbers stay behind, sums of the lanes that are filled up run over.
        let mut offsets = draw::<f64>(3, 80 * d, 0.0);
        offsets[..40 * d].iter_mut().for_each(|c| *c *= 10.0);
        let (values, origin) = (draw::<f32>(1, 100 * d, 0.0), vec![0.0; d]);
        let all = FrozenCentres::<f32>::new(offsets, d);
        let mut some = SomeCentres::default();
        some.take(&all, 0..40);
        some.take(&all, 55..80);
        assert!(check(Rows::new(&values, d).unwrap(), &origin, &all, Some(&some)) <= 60);
    }
}

#[test]
fn rows_most_of_which_stay_in_doubt_are_given_up_soon() {
    if !can() {
        return;
    }
    // Clusters far smaller than their distance from the reference point.
    let d = 32;
    let values: Vec<f64> = draw::<f64>(1, 1000 * d, 0.0).iter().map(|x| 1.0 + 1e-7 * x).collect();
    let offsets: Vec<f64> = draw::<f64>(2, 30 * d, 0.0).iter().map(|x| 1.0 + 1e-7 * x).collect();
    let (rows, origin) = (Rows::new(&values, d).unwrap(), vec![0.0; d]);
    let centres = FrozenCentres::<f64>::new(offsets, d);
    assert!(check(rows, &origin, &centres, None) > 900);
    let mut labels = vec![NO_LABEL; 1000];
    centres.nearest(rows, &origin, &mut labels);
    for (row, label) in rows.iter().zip(labels) {
        assert_eq!(label, centres.nearest_in_float64(row, &origin, None).0);
    }
}

#[test]
fn centres_of_no_length_and_huge_ones_are_left_to_float64() {
    assert!(RoundedCentres::new(&vec![0.0; 40 * 20], 20).is_none());
    assert!(RoundedCentres::new(&vec![1e30; 40 * 20], 20).is_none());
    assert!(RoundedCentres::new(&vec![1.0; 40 * 20], 20).is_some());
    assert!(RoundedCentres::new(&vec![1.0; 8 * 20], 20).is_none(), "too few to pay");
}
