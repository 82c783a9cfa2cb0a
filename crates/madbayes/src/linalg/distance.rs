//! Squared distances in float64, about a reference point, summed in eight lanes.

use crate::data::Real;

const LANES: usize = 8;

/// |x - y|^2.
#[inline(always)]
pub fn squared_distance(x: &[f64], y: &[f64]) -> f64 {
    let ((x_head, x_tail), (y_head, y_tail)) = (x.as_chunks::<LANES>(), y.as_chunks::<LANES>());
    let mut sums = [0.0; LANES];
    for (x, y) in x_head.iter().zip(y_head) {
        for l in 0..LANES {
            let difference = x[l] - y[l];
            sums[l] += difference * difference;
        }
    }
    sum_lanes(sums) + x_tail.iter().zip(y_tail).map(|(x, y)| (x - y) * (x - y)).sum::<f64>()
}

/// x'y.
#[inline(always)]
pub fn dot(x: &[f64], y: &[f64]) -> f64 {
    let ((x_head, x_tail), (y_head, y_tail)) = (x.as_chunks::<LANES>(), y.as_chunks::<LANES>());
    let mut sums = [0.0; LANES];
    for (x, y) in x_head.iter().zip(y_head) {
        for l in 0..LANES {
            sums[l] += x[l] * y[l];
        }
    }
    sum_lanes(sums) + x_tail.iter().zip(y_tail).map(|(x, y)| x * y).sum::<f64>()
}

/// |(x - reference) - centre|^2, the row and the reference as the user gave them, the centre relative to the reference.
#[inline(always)]
pub fn offset_squared_distance<T: Real>(row: &[T], reference: &[T], centre: &[f64]) -> f64 {
    let (row_head, row_tail) = row.as_chunks::<LANES>();
    let (reference_head, reference_tail) = reference.as_chunks::<LANES>();
    let (centre_head, centre_tail) = centre.as_chunks::<LANES>();
    let mut sums = [0.0; LANES];
    for ((x, r), c) in row_head.iter().zip(reference_head).zip(centre_head) {
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

/// sum += weight (x - reference), and |x - reference|^2: both from one look at the row.
///
/// # Safety
/// `FUSED` only inside a kernel that runs with it.
#[inline(always)]
pub(crate) unsafe fn add_and_square<T: Real, const FUSED: bool>(
    sum: &mut [f64],
    row: &[T],
    reference: &[f64],
    weight: f64,
) -> f64 {
    let (sum_head, sum_tail) = sum.as_chunks_mut::<LANES>();
    let (row_head, row_tail) = row.as_chunks::<LANES>();
    let (reference_head, reference_tail) = reference.as_chunks::<LANES>();
    let mut squares = [0.0; LANES];
    for ((s, x), r) in sum_head.iter_mut().zip(row_head).zip(reference_head) {
        // One kind of work per loop: then the compiler turns each into vector instructions.
        // SAFETY: the caller vouches for FUSED.
        let mut offset = unsafe { T::widen::<FUSED>(x) };
        for l in 0..LANES {
            offset[l] -= r[l];
        }
        for l in 0..LANES {
            squares[l] += offset[l] * offset[l];
        }
        for l in 0..LANES {
            s[l] += weight * offset[l];
        }
    }
    let mut tail = 0.0;
    for ((s, x), r) in sum_tail.iter_mut().zip(row_tail).zip(reference_tail) {
        let offset = (*x).into() - r;
        tail += offset * offset;
        *s += weight * offset;
    }
    sum_lanes(squares) + tail
}

/// The sum of eight numbers, halves first.
#[inline(always)]
pub(crate) fn sum_lanes(s: [f64; LANES]) -> f64 {
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
            let (plain_dot, size): (f64, f64) = x.iter().zip(&y).fold((0.0, 0.0), |(s, a), (x, y)| (s + x * y, a + (x * y).abs()));
            prop_assert!((dot(&x, &y) - plain_dot).abs() <= 1e-12 * size);
            let reference: Vec<f32> = y.iter().map(|v| *v as f32).collect();
            let row: Vec<f32> = x.iter().map(|v| *v as f32).collect();
            let centre = vec![0.25; x.len()];
            let plain: f64 = row.iter().zip(&reference).map(|(a, b)| (f64::from(*a) - f64::from(*b) - 0.25).powi(2)).sum();
            prop_assert!((offset_squared_distance(&row, &reference, &centre) - plain).abs() <= 1e-12 * plain);
            let mut sum = vec![1.0; x.len()];
            add_offset_row(&mut sum, &row, &reference, 2.0);
            let mut same = vec![1.0; x.len()];
            let wide: Vec<f64> = reference.iter().map(|r| f64::from(*r)).collect();
            // SAFETY: nothing is claimed of the processor.
            let square = unsafe { add_and_square::<f32, false>(&mut same, &row, &wide, 2.0) };
            prop_assert_eq!(&same, &sum);
            prop_assert_eq!(square, offset_squared_distance(&row, &reference, &vec![0.0; x.len()]));
            for (j, s) in sum.iter().enumerate() {
                prop_assert_eq!(*s, 1.0 + 2.0 * (f64::from(row[j]) - f64::from(reference[j])));
            }
        }
    }
}
