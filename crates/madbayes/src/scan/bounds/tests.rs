//! Bounds that hold whatever the centres do, and how many distances they leave open.

use super::*;
use crate::data::Rows;
use crate::linalg::offset_squared_distance;
use crate::scan::{Assign, Sought, assign};
use crate::watch::Unwatched;
use proptest::prelude::*;

/// The rows' labels and bounds after a first look, then whatever the centres do: moved, some new at the end.
fn follow<T: Real>(values: &[f64], weights: Option<&[f64]>, first: &[f64], then: &[f64], d: usize, penalty: f64) {
    let workers = Workers::serial();
    let values: Vec<T> = values.iter().map(|v| T::from_f64(*v)).collect();
    let data = Data::weighted(Rows::new(&values, d).unwrap(), weights).unwrap();
    let n = data.n_rows();
    let (mut labels, mut bounds) = (vec![NO_LABEL; n], vec![Bound::default(); n]);
    let centres = FrozenCentres::<T>::new(first.to_vec(), d);
    let mut tallies = Tallies::empty(first.len() / d, d);
    let first_look =
        Assign { data: &data, centres: &centres, sought: Sought::All, penalty, workers: &workers, watch: &Unwatched };
    assert!(first_look.run(&mut labels, Some(&mut bounds), &mut tallies).is_continue());
    assert_eq!(tallies, Tallies::of(&data, &labels, first.len() / d));
    tallies.grow(then.len() / d);
    let (mut plain, mut plain_tallies) = (labels.clone(), tallies.clone());
    check_bounds(&data, first, &labels, &bounds);
    let mut radii = vec![0.0f32; then.len() / d];
    labels.iter().zip(&bounds).for_each(|(&l, b)| radii[l as usize] = radii[l as usize].max(b[0]));
    let centres = FrozenCentres::<T>::new(then.to_vec(), d);
    let shifts = Shifts::new(first, &radii, &centres, &workers, &Unwatched).unwrap();
    let found = assign_within_bounds(
        &data,
        &centres,
        &shifts,
        penalty,
        &mut labels,
        &mut bounds,
        &mut tallies,
        &workers,
        &Unwatched,
    );
    let ControlFlow::Continue(changes) = found else { panic!("unwatched") };
    let found = assign(&data, &centres, penalty, &mut plain, &mut plain_tallies, &workers, &Unwatched);
    let ControlFlow::Continue(all) = found else { panic!("unwatched") };
    let distances = |labels: &[u32]| -> Vec<f64> { (0..n).map(|r| distance(&data, r, then, labels[r])).collect() };
    assert_eq!(distances(&labels), distances(&plain), "every row is as near to its centre as without bounds");
    assert_eq!(changes.changed, all.changed);
    assert_eq!(tallies.counts, plain_tallies.counts);
    assert_eq!(changes.far, all.far);
    check_bounds(&data, then, &labels, &bounds);
}

fn distance<T: Real>(data: &Data<T>, row: usize, centres: &[f64], k: u32) -> f64 {
    let d = data.n_columns();
    let centre = &centres[k as usize * d..(k as usize + 1) * d];
    offset_squared_distance(data.rows().row(row), data.reference(), centre).sqrt()
}

fn check_bounds<T: Real>(data: &Data<T>, centres: &[f64], labels: &[u32], bounds: &[Bound]) {
    for (row, (&label, bound)) in labels.iter().zip(bounds).enumerate() {
        for k in 0..(centres.len() / data.n_columns()) as u32 {
            let distance = distance(data, row, centres, k);
            if k == label {
                assert!(distance <= f64::from(bound[0]), "row {row}: {distance} {bound:?}");
            } else {
                assert!(distance >= f64::from(bound[1]), "row {row}, centre {k}: {distance} {bound:?}");
            }
        }
    }
}

#[test]
fn nothing_is_foreseen_where_centres_stay_and_everything_where_they_go_far() {
    let (k, d) = (20, 2);
    let offsets: Vec<f64> = (0..k * d).map(|i| (i / d) as f64 * 10.0).collect();
    let centres = FrozenCentres::<f64>::new(offsets.clone(), d);
    let labels: Vec<u32> = (0..10_000).map(|n| n % k as u32).collect();
    let bounds = vec![[1.0f32, 13.0]; labels.len()];
    let foreseen = |shift: f64| {
        let anchors: Vec<f64> = offsets.iter().map(|c| c + shift).collect();
        Shifts::new(&anchors, &vec![1.0; k], &centres, &Workers::serial(), &Unwatched)
            .unwrap()
            .foreseen(&centres, &labels, &bounds)
    };
    assert_eq!(foreseen(0.0), 0);
    let all = labels.len() * k;
    assert!((0.99..1.01).contains(&(foreseen(1000.0) as f64 / all as f64)), "{} of {all}", foreseen(1000.0));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn bounds_hold_and_no_row_is_left_behind(
        d in 1usize..4,
        k in 1usize..30,
        new in 0usize..4,
        seed in any::<u64>(),
        shift in prop_oneof![Just(0.0), Just(1e-6), Just(0.1), Just(3.0)],
        spread in prop_oneof![Just(1e-4), Just(1.0)],
        penalty in prop_oneof![Just(0.5), Just(f64::INFINITY)],
        weighted in any::<bool>(),
        // Beyond what float32 can hold.
        scale in prop_oneof![4 => Just(1.0), 1 => Just(1e50)],
    ) {
        use rand::RngExt;
        let mut rng = crate::random::stream(seed, crate::random::Stream::Simulation);
        // Sites on a grid, so that some distances are equal.
        let mut draw = |n: usize| -> Vec<f64> {
            (0..n).map(|_| f64::from(rng.random_range(-3i32..=3)) + spread * (rng.random::<f64>() - 0.5)).collect()
        };
        let (values, first, noise, opened) = (draw(120 * d), draw(k * d), draw(k * d), draw(new * d));
        let weights: Vec<f64> = (0..120).map(|n| f64::from(n % 4)).collect();
        let weights = weighted.then_some(&weights[..]);
        let mut then: Vec<f64> = first.iter().zip(&noise).map(|(c, e)| c + shift * e).collect();
        then.extend(opened);
        if scale == 1.0 {
            follow::<f32>(&values, weights, &first, &then, d, penalty);
        }
        let scaled = |numbers: &[f64]| -> Vec<f64> { numbers.iter().map(|x| x * scale).collect() };
        follow::<f64>(&scaled(&values), weights, &scaled(&first), &scaled(&then), d, penalty * scale * scale);
    }
}
