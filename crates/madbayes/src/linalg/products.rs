//! Squared distances between all pairs of centres by matrix products: |a - b|^2 = a'a - 2 a'b + b'b.
//!
//! Where centres are many and have many columns that is several times faster than pair by pair, and rounds more: enough to
//! see which are near each other, not to say how near.

use crate::parallel::Workers;

/// Points that are multiplied at once with those up to them: the other half of the pairs is the same.
const BAND: usize = 64;

/// Multiply-adds that one thread has done before another would have begun.
const FEW: usize = 1 << 22;

/// Products of all pairs of points.
pub(crate) struct Products {
    k: usize,
    values: Vec<f64>,
    /// a'a.
    norms: Vec<f64>,
}

impl Products {
    /// Of K points with `d` columns each.
    pub fn new(points: &[f64], d: usize, workers: &Workers) -> Self {
        let k = points.len() / d;
        let mut values = vec![0.0; k * k];
        let workers = if k * k * d < FEW { &Workers::serial() } else { workers };
        let mut bands: Vec<&mut [f64]> = values.chunks_mut(BAND * k).collect();
        workers.map_mut(&mut bands, |i, band| {
            let (first, last) = (i * BAND, (i * BAND + BAND).min(k));
            let rows = faer::MatRef::from_row_major_slice(&points[first * d..last * d], last - first, d);
            let before = faer::MatRef::from_row_major_slice(&points[..last * d], last, d);
            let out = faer::MatMut::from_row_major_slice_mut(band, last - first, k).subcols_mut(0, last);
            faer::linalg::matmul::matmul(out, faer::Accum::Replace, rows, before.transpose(), 1.0, faer::Par::Seq);
        });
        for a in 0..k {
            for b in 0..a / BAND * BAND {
                values[b * k + a] = values[a * k + b];
            }
        }
        let norms = (0..k).map(|a| values[a * k + a]).collect();
        Products { k, values, norms }
    }

    /// About |a - b|^2 from one of them to all, itself among them, in order.
    #[inline(always)]
    pub fn gaps(&self, a: usize) -> impl Iterator<Item = f64> {
        let own = self.norms[a];
        let products = &self.values[a * self.k..(a + 1) * self.k];
        products.iter().zip(&self.norms).map(move |(product, norm)| (own - 2.0 * product + norm).max(0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::squared_distance;
    use crate::random::{Stream, stream};
    use rand::RngExt;

    #[test]
    fn gaps_are_squared_distances() {
        let mut rng = stream(0, Stream::Simulation);
        for (k, d) in [(1, 1), (7, 3), (40, 50), (64, 2), (150, 9)] {
            let points: Vec<f64> = (0..k * d).map(|_| rng.random::<f64>() - 0.5).collect();
            let products = Products::new(&points, d, &Workers::new(2));
            for a in 0..k {
                let gaps: Vec<f64> = products.gaps(a).collect();
                for b in 0..k {
                    let gap = squared_distance(&points[a * d..(a + 1) * d], &points[b * d..(b + 1) * d]);
                    assert!((gaps[b] - gap).abs() < 1e-13 * d as f64, "{a} {b}");
                }
            }
        }
    }
}
