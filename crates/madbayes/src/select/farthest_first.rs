//! Farthest-first (Kulis & Jordan 2012): a penalty for about K clusters.

use crate::data::{Data, EitherData, Real};
use crate::hard::mean_offset;
use crate::linalg::{Kernel, add_offset_row, offset_squared_distance, on_this_processor};
use crate::parallel::Workers;
use crate::scan::{Chunk, scan};
use crate::watch::Watch;

/// T = {global mean}; K times, the row farthest from T joins T. The squared distance of the K-th is the penalty.
/// Rows of weight 0 do not count. Stopped by the watch, it answers with what it has.
pub fn farthest_first_penalty<T: Real>(data: &Data<T>, k: usize, workers: &Workers, watch: &dyn Watch) -> f64 {
    fn either(data: EitherData, k: usize, workers: &Workers, watch: &dyn Watch) -> f64 {
        either!(data, data => farthest_first_penalty_on(data, k, workers, watch))
    }
    either(T::either_data(data), k, workers, watch)
}

fn farthest_first_penalty_on<T: Real>(data: &Data<T>, k: usize, workers: &Workers, watch: &dyn Watch) -> f64 {
    let mut joined = mean_offset(data);
    let mut distances = vec![f64::INFINITY; data.n_rows()];
    let mut penalty = 0.0;
    for _ in 0..k {
        let mut farthest = (0, -1.0);
        let scanned = scan(
            data,
            &mut distances,
            workers,
            watch,
            |chunk, distances| on_this_processor(Nearer { chunk, joined: &joined, distances }),
            |found: (usize, f64)| {
                if found.1 > farthest.1 {
                    farthest = found;
                }
            },
        );
        if scanned.is_break() {
            break;
        }
        penalty = farthest.1;
        joined.fill(0.0);
        add_offset_row(&mut joined, data.rows().row(farthest.0), data.reference(), 1.0);
    }
    penalty
}

/// Distances to T after a point has joined it; the farthest row of the chunk.
struct Nearer<'a, T> {
    chunk: Chunk<'a, T>,
    joined: &'a [f64],
    distances: &'a mut [f64],
}

impl<T: Real> Kernel for Nearer<'_, T> {
    type Output = (usize, f64);
    #[inline(always)]
    unsafe fn run<const FUSED: bool, const WIDE: bool>(self) -> (usize, f64) {
        let mut farthest = (0, -1.0);
        for (n, (row, distance)) in self.chunk.rows.iter().zip(self.distances).enumerate() {
            *distance = distance.min(offset_squared_distance(row, self.chunk.reference, self.joined));
            let counts = self.chunk.weights.is_none_or(|w| w[n] > 0.0);
            if counts && *distance > farthest.1 {
                farthest = (self.chunk.first_row + n, *distance);
            }
        }
        farthest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Rows;
    use crate::watch::Unwatched;

    #[test]
    fn a_line_of_points_worked_by_hand() {
        // Mean 4; farthest 10 (36), then 0 (16), then 5 or 3... from {4, 10, 0}: 2 is 4 away from both 0 and 4: 4; 5: 1.
        let values = [0.0, 2.0, 3.0, 10.0, 5.0];
        let data = Data::new(Rows::new(&values, 1).unwrap()).unwrap();
        let penalties: Vec<f64> =
            (1..=5).map(|k| farthest_first_penalty(&data, k, &Workers::serial(), &Unwatched)).collect();
        for (found, expected) in penalties.iter().zip([36.0, 16.0, 4.0, 1.0, 1.0]) {
            assert!((found - expected).abs() < 1e-12, "{penalties:?}");
        }
    }
}
