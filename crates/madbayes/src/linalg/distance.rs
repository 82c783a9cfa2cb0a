//! Squared distances in float64, about a reference point, summed in eight lanes.

use crate::data::Real;

const LANES: usize = 8;

/// |x - y|^2.
#[inline(always)]
pub fn squared_distance(x: &[f64], y: &[f64]) -> f64 {
    let mut sums = [0.0; LANES];
    let (mut xs, mut ys) = (x.chunks_exact(LANES), y.chunks_exact(LANES));
    for (x, y) in (&mut xs).zip(&mut ys) {
        for l in 0..LANES {
            let difference = x[l] - y[l];
            sums[l] += difference * difference;
        }
    }
    let tail: f64 = xs.remainder().iter().zip(ys.remainder()).map(|(x, y)| (x - y) * (x - y)).sum();
    sum_lanes(sums) + tail
}

/// |(x - reference) - centre|^2, the row and the reference as the user gave them, the centre relative to the reference.
#[inline(always)]
pub fn offset_squared_distance<T: Real>(row: &[T], reference: &[T], centre: &[f64]) -> f64 {
    let mut sums = [0.0; LANES];
    let whole = row.len() - row.len() % LANES;
    let (row_head, row_tail) = row.split_at(whole);
    let (reference_head, reference_tail) = reference.split_at(whole);
    let (centre_head, centre_tail) = centre.split_at(whole);
    for ((x, r), c) in
        row_head.chunks_exact(LANES).zip(reference_head.chunks_exact(LANES)).zip(centre_head.chunks_exact(LANES))
    {
        for l in 0..LANES {
            let difference = x[l].into() - r[l].into() - c[l];
            sums[l] += difference * difference;
        }
    }
    let mut tail = 0.0;
    for ((x, r), c) in row_tail.iter().zip(reference_tail).zip(centre_tail) {
        let difference = (*x).into() - (*r).into() - c;
        tail += difference * difference;
    }
    sum_lanes(sums) + tail
}

/// sum += weight (x - reference).
#[inline(always)]
pub fn add_offset_row<T: Real>(sum: &mut [f64], row: &[T], reference: &[T], weight: f64) {
    for ((s, x), r) in sum.iter_mut().zip(row).zip(reference) {
        *s += weight * ((*x).into() - (*r).into());
    }
}

#[inline(always)]
fn sum_lanes(s: [f64; LANES]) -> f64 {
    ((s[0] + s[4]) + (s[1] + s[5])) + ((s[2] + s[6]) + (s[3] + s[7]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn distances_equal_the_plain_sum(pairs in proptest::collection::vec((-1e3f64..1e3, -1e3f64..1e3), 0..40)) {
            let (x, y): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
            let plain: f64 = x.iter().zip(&y).map(|(a, b)| (a - b).powi(2)).sum();
            prop_assert!((squared_distance(&x, &y) - plain).abs() <= 1e-12 * plain);
            let reference: Vec<f32> = y.iter().map(|v| *v as f32).collect();
            let row: Vec<f32> = x.iter().map(|v| *v as f32).collect();
            let centre = vec![0.25; x.len()];
            let plain: f64 = row.iter().zip(&reference).map(|(a, b)| (f64::from(*a) - f64::from(*b) - 0.25).powi(2)).sum();
            prop_assert!((offset_squared_distance(&row, &reference, &centre) - plain).abs() <= 1e-12 * plain);
            let mut sum = vec![1.0; x.len()];
            add_offset_row(&mut sum, &row, &reference, 2.0);
            for (j, s) in sum.iter().enumerate() {
                prop_assert_eq!(*s, 1.0 + 2.0 * (f64::from(row[j]) - f64::from(reference[j])));
            }
        }
    }
}
