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

/// Checks all rows, some of them in another order, and some with others between them, against distances in float64; how many of all are in doubt.
fn check<T: Real>(rows: Rows<T>, reference: &[T], centres: &FrozenCentres<T>, some: Option<&SomeCentres<T>>) -> usize {
    let backwards: Vec<u32> = (0..rows.n_rows() as u32).rev().step_by(2).collect();
    check_search(Search { some, numbers: Some(&backwards), ..Search::all(rows, reference) }, centres);
    check_search(Search { some, ..Search::all(rows.every(2, 1), reference) }, centres);
    check_search(Search { some, ..Search::all(rows, reference) }, centres)
}

fn check_search<T: Real>(search: Search<T>, centres: &FrozenCentres<T>) -> usize {
    let minus: Vec<T> = search.reference.iter().map(|r| T::from_f64(-(*r).into())).collect();
    let n = search.numbers.map_or(search.rows.n_rows(), <[u32]>::len);
    let all: Vec<u32> = (0..centres.n_centres() as u32).collect();
    let names = search.some.map_or(&all, |some| &some.names);
    let whole = centres.in_whole_numbers(search, &minus).expect("so many rows and centres are rounded");
    let (mut labels, mut within, mut beyond) = (vec![NO_LABEL; n], vec![0.0; n], vec![0.0; n]);
    // SAFETY: centres are rounded only where the processor has the instructions.
    let doubtful = unsafe { whole.nearest(&mut labels, Some(Reach { nearest: &mut within, others: &mut beyond })) };
    for i in (0..n).filter(|i| !doubtful.contains(&(*i as u32))) {
        check_row(search, centres, names, i, (names[labels[i] as usize], within[i], beyond[i]));
    }
    // What is in doubt is decided then, whatever stood in the labels before.
    labels.fill(NO_LABEL);
    let whole = centres.in_whole_numbers(search, &minus).expect("as above");
    let reach = Reach { nearest: &mut within, others: &mut beyond };
    // SAFETY: as above.
    unsafe { centres.nearest_by_whole_numbers(whole, &mut labels, Some(reach)) };
    (0..n).for_each(|i| check_row(search, centres, names, i, (labels[i], within[i], beyond[i])));
    doubtful.len()
}

/// Whether the label of a row is the nearest centre, and its bounds hold and say something.
fn check_row<T: Real>(
    search: Search<T>,
    centres: &FrozenCentres<T>,
    names: &[u32],
    i: usize,
    (label, within, beyond): (u32, f32, f32),
) {
    let row = search.rows.row(search.number(i));
    let distance = |k: &u32| offset_squared_distance(row, search.reference, centres.offset(*k as usize)).sqrt();
    let mut distances: Vec<f64> = names.iter().map(distance).collect();
    distances.sort_by(f64::total_cmp);
    let found = distance(&label);
    assert_eq!(found, distances[0], "row {i}");
    assert!(found <= f64::from(within), "row {i}: {found} {within}");
    assert!(f64::from(beyond) <= distances[1], "row {i}: {beyond} {}", distances[1]);
    let length = offset_squared_distance(row, search.reference, &vec![0.0; row.len()]).sqrt();
    let loose = 1.03 * found + 2e-3 * distances[names.len() - 1] + 1e-6 * length;
    assert!(f64::from(within) <= loose, "row {i} is loose: {found} {within}");
}

fn draw<T: Real>(seed: u64, count: usize, shift: f64) -> Vec<T> {
    let mut rng = stream(seed, Stream::Simulation);
    (0..count).map(|_| T::from_f64(rng.random::<f64>() - 0.5 + shift)).collect()
}

#[test]
fn what_whole_numbers_are_sure_of_is_so_in_float64() {
    fn shapes<T: Real>() {
        for (d, k) in [
            (1, 600),
            (2, 300),
            (3, 200),
            (5, 103),
            (8, 64),
            (12, 4000),
            (16, 37),
            (32, 41),
            (33, 24),
            (127, 24),
            (128, 50),
            (129, 25),
            (257, 33),
            (300, 40),
        ] {
            let (values, reference) = (draw::<T>(1, 203 * d, 100.0), draw::<T>(2, d, 100.0));
            let centres = FrozenCentres::<T>::new(draw::<f64>(3, k * d, 0.0), d);
            let in_doubt = check(Rows::new(&values, d).unwrap(), &reference, &centres, None);
            // In one column so many centres are nearer to each other than the last bits of scores can tell.
            let most = if d == 1 { 203 } else { 40 };
            assert!(in_doubt <= most, "{d} columns, {k} centres: {in_doubt} of 203 rows in doubt");
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
        // Rows that no number of 16 bits, or no score, has room for, and one between two centres; none is looked at for lengths.
        for (row, factor) in [(5, 1e30), (21, 30.0), (37, 3.0), (53, 1.3)] {
            values[row * d..(row + 1) * d].iter_mut().for_each(|x| *x *= factor);
        }
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
        assert!([5, 7, 21, 37].iter().all(|row| doubtful.contains(row)), "{d} columns: {doubtful:?}");
        // And in the end they are where they belong.
        check_search(Search::all(rows, &minus), &centres);
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
    // Rows that nobody looked at have no label yet that could be taken for the number of a centre.
    let mut some = SomeCentres::default();
    some.take(&centres, 3..30);
    assert!(check(rows, &origin, &centres, Some(&some)) > 900);
}

#[test]
fn centres_of_no_length_and_huge_ones_are_left_to_float64() {
    assert!(RoundedCentres::new(&vec![0.0; 40 * 20], 20).is_none());
    assert!(RoundedCentres::new(&vec![1e30; 40 * 20], 20).is_none());
    assert!(RoundedCentres::new(&vec![1.0; 40 * 20], 20).is_some());
    assert!(RoundedCentres::new(&[f64::NAN; 20].repeat(40), 20).is_none());
    assert!(RoundedCentres::new(&vec![1.0; 8 * 20], 20).is_none(), "too few to pay");
}

#[test]
#[should_panic(expected = "the same columns")]
fn rows_must_have_the_columns_of_the_centres() {
    if !can() {
        panic!("the same columns");
    }
    // As many pairs of columns.
    let centres = FrozenCentres::<f32>::new(draw(3, 200 * 4, 0.0), 4);
    centres.nearest(Rows::new(&draw::<f32>(1, 100 * 3, 0.0), 3).unwrap(), &[0.0; 3], &mut [NO_LABEL; 100]);
}
