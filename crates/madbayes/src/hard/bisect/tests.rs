//! Splits beside plain sums.

use super::{Bisection, Cluster, Room, Vectors};
use crate::data::{Data, Real, Rows};
use crate::linalg::Lanes;

fn bisect<T: Real + Default>(data: &Data<T>, rows: &[u32], mean: &[f64]) -> Option<Bisection> {
    super::bisect(data, rows, mean, &mut Room::default())
}

fn loss(values: &[f64], rows: &[u32], d: usize) -> f64 {
    let mean: Vec<f64> =
        (0..d).map(|j| rows.iter().map(|&r| values[r as usize * d + j]).sum::<f64>() / rows.len() as f64).collect();
    rows.iter().map(|&r| (0..d).map(|j| (values[r as usize * d + j] - mean[j]).powi(2)).sum::<f64>()).sum()
}

#[test]
fn the_gain_is_the_fall_of_the_loss() {
    let values: Vec<f64> = (0..60).map(|i| ((i * 7919) % 101) as f64 * 0.3 + f64::from(i > 30) * 50.0).collect();
    let data = Data::new(Rows::new(&values, 2).unwrap()).unwrap();
    let rows: Vec<u32> = (0..30).collect();
    let split = bisect(&data, &rows, &[0.0, 0.0]).unwrap();
    let staying: Vec<u32> = rows.iter().copied().filter(|r| !split.leaving.contains(r)).collect();
    let fall = loss(&values, &rows, 2) - loss(&values, &staying, 2) - loss(&values, &split.leaving, 2);
    assert!((split.gain - fall).abs() < 1e-9 * fall, "{} {fall}", split.gain);
    assert_eq!(split.weights, [staying.len() as f64, split.leaving.len() as f64]);
    let offset = |r: u32, j: usize| values[r as usize * 2 + j] - data.reference()[j];
    let square: f64 = split.leaving.iter().map(|&r| offset(r, 0).powi(2) + offset(r, 1).powi(2)).sum();
    assert!((split.square - square).abs() < 1e-9 * square, "{} {square}", split.square);
}

#[test]
fn weighted_splits_of_any_size_are_as_plain_sums_say_whatever_the_vectors() {
    for (n, d) in [(5, 1), (16, 3), (37, 10), (1500, 2)] {
        let values: Vec<f32> =
            (0..n * d).map(|i| ((i * 7919) % 101) as f32 * 0.1 + if i / d % 2 == 0 { 9.0 } else { 0.0 }).collect();
        let weights: Vec<f64> = (0..n).map(|i| [1.0, 0.0, 0.25, 3.0][i % 4]).collect();
        let data = Data::weighted(Rows::new(&values, d).unwrap(), Some(&weights)).unwrap();
        let rows: Vec<u32> = (0..n as u32).collect();
        let offset = |r: usize, j: usize| f64::from(values[r * d + j]) - f64::from(data.reference()[j]);
        let mean_of = |rows: &[u32]| -> (f64, Vec<f64>) {
            let weight: f64 = rows.iter().map(|&r| weights[r as usize]).sum();
            let sum = |j: usize| rows.iter().map(|&r| weights[r as usize] * offset(r as usize, j)).sum::<f64>();
            (weight, (0..d).map(|j| sum(j) / weight).collect())
        };
        let (_, mean) = mean_of(&rows);
        // SAFETY: plain vectors need no instructions of their own.
        let plain = unsafe { Vectors::<<f32 as Lanes>::Plain>::here() };
        let of = Cluster { data: &data, rows: &rows, mean: &mean };
        // SAFETY: as above.
        let by_plain = unsafe { of.split::<false, _>(&mut Room::default(), plain) };
        for split in [bisect(&data, &rows, &mean).unwrap(), by_plain.unwrap()] {
            assert!(split.leaving.iter().all(|&r| weights[r as usize] > 0.0), "rows without weight stay");
            let staying: Vec<u32> = rows.iter().copied().filter(|r| !split.leaving.contains(r)).collect();
            let sides = [mean_of(&staying), mean_of(&split.leaving)];
            let (mut gain, means) = (0.0, split.means(&data, &mean));
            for (side, (weight, mean)) in sides.iter().enumerate() {
                assert!((split.weights[side] - weight).abs() < 1e-9 * weight);
                for j in 0..d {
                    assert!((means[side][j] - mean[j]).abs() < 1e-9, "{} {}", means[side][j], mean[j]);
                }
            }
            for j in 0..d {
                gain += (sides[0].1[j] - sides[1].1[j]).powi(2);
            }
            gain *= sides[0].0 * sides[1].0 / (sides[0].0 + sides[1].0);
            assert!((split.gain - gain).abs() < 1e-9 * gain, "{} {gain}", split.gain);
            let square = |&r: &u32| weights[r as usize] * (0..d).map(|j| offset(r as usize, j).powi(2)).sum::<f64>();
            let square: f64 = split.leaving.iter().map(square).sum();
            assert!((split.square - square).abs() < 1e-9 * square, "{} {square}", split.square);
        }
    }
    // Nothing to split where only rows without weight differ.
    let (values, weights) = ([1.0, 1.0, 5.0], [1.0, 2.0, 0.0]);
    let data = Data::weighted(Rows::new(&values, 1).unwrap(), Some(&weights)).unwrap();
    assert!(bisect(&data, &[0, 1, 2], &[1.0 - data.reference()[0]]).is_none());
}

#[test]
fn a_sample_is_split_where_it_stands_as_a_copy_of_it_is() {
    let values: Vec<f32> = (0..900 * 70).map(|i| ((i * 7919) % 101) as f32 * 0.1 + (i / 70 % 2) as f32 * 9.0).collect();
    let data = Data::new(Rows::new(&values, 70).unwrap()).unwrap();
    let gathered = data.gather(&(1..900).step_by(3).collect::<Vec<_>>());
    let copy = data.sample(&gathered).unwrap();
    let sample = data.some_of(data.rows().every(3, 1), None).unwrap();
    let rows: Vec<u32> = (0..300).collect();
    let [of_sample, of_copy] = [&sample, &copy].map(|data| bisect(data, &rows, &[0.1; 70]).unwrap());
    assert_eq!((of_sample.leaving, of_sample.gain), (of_copy.leaving, of_copy.gain));
}

#[test]
fn a_room_that_was_used_before_gives_the_split_that_a_new_one_gives() {
    let values: Vec<f32> = (0..3000 * 3).map(|i| ((i * 7919) % 1009) as f32 * 0.1).collect();
    let data = Data::new(Rows::new(&values, 3).unwrap()).unwrap();
    let mut room = Room::default();
    for (first, last) in [(0, 2500), (10, 13), (40, 90), (0, 3000), (100, 1124), (7, 9)] {
        let rows: Vec<u32> = (first..last).collect();
        let mean = [0.3, -0.2, 0.1];
        let (kept, new) =
            (super::bisect(&data, &rows, &mean, &mut room).unwrap(), bisect(&data, &rows, &mean).unwrap());
        assert_eq!((kept.leaving, kept.gain, kept.weights), (new.leaving, new.gain, new.weights));
    }
}

#[test]
fn equal_rows_cannot_be_split_and_one_other_row_can_be_found() {
    let mut values = vec![3.0; 5000];
    let data = Data::new(Rows::new(&values, 1).unwrap()).unwrap();
    let rows: Vec<u32> = (0..5000).collect();
    assert!(bisect(&data, &rows, &[0.0]).is_none());
    values[4321] = 4.0;
    let data = Data::new(Rows::new(&values, 1).unwrap()).unwrap();
    let mean = 3.0 + 1.0 / 5000.0 - data.reference()[0];
    let split = bisect(&data, &rows, &[mean]).unwrap();
    assert!(split.weights == [1.0, 4999.0] || split.weights == [4999.0, 1.0], "{:?}", split.weights);
    assert!((split.gain - 4999.0 / 5000.0).abs() < 1e-9);
}

#[test]
fn rows_are_equal_where_their_numbers_are_whatever_their_distances_round_to() {
    // The square of 1e-25 is 0 in float32.
    let values = [-1.0, 1.0, 0.0, 1e-25f32];
    let data = Data::new(Rows::new(&values, 1).unwrap()).unwrap();
    let mean = 5e-26 - f64::from(data.reference()[0]);
    let split = bisect(&data, &[2, 3], &[mean]).unwrap();
    assert_eq!((split.leaving.len(), split.weights), (1, [1.0, 1.0]));
    // A mean that is rounded is apart from rows that are equal.
    let values = [0.1, 0.1, 0.1, 5.0];
    let data = Data::new(Rows::new(&values, 1).unwrap()).unwrap();
    let mean = (0.1 - data.reference()[0]) * (1.0 + 1e-15);
    assert!(bisect(&data, &[0, 1, 2], &[mean]).is_none());
}
