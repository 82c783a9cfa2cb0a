//! Squared distances between all pairs of centres by matrix products: |a - b|^2 = a'a - 2 a'b + b'b.
//!
//! Where centres are many and have many columns that is several times faster than pair by pair, and rounds more: enough to
//! see which are near each other, not to say how near.

use super::dot;
use crate::parallel::Workers;
use crate::watch::{Step, Watch};

/// Points that are multiplied at once with those up to them: the other half of the pairs is the same.
const BAND: usize = 64;

/// The most points whose products are all held at once (32 MB), and how many are multiplied with all where they are more.
const MOST_HELD: usize = 2048;
const FEW_POINTS: usize = 16;

/// Multiply-adds that one thread has done before another would have begun.
const FEW: usize = 1 << 22;

/// One point and its products with all.
#[derive(Clone, Copy)]
pub(crate) struct Gaps<'a> {
    pub own: usize,
    products: &'a [f64],
    /// a'a of all points.
    norms: &'a [f64],
}

impl Gaps<'_> {
    /// About |a - b|^2 to all points, itself among them, in order.
    #[inline(always)]
    pub fn iter(&self) -> impl Iterator<Item = f64> {
        let own = self.norms[self.own];
        self.products.iter().zip(self.norms).map(move |(product, norm)| (own - 2.0 * product + norm).max(0.0))
    }
}

/// What `of` makes of the gaps from each of these points, K x D; none once the watch has said stop.
pub(crate) fn of_gaps<R: Send>(
    points: &[f64],
    d: usize,
    workers: &Workers,
    watch: &dyn Watch,
    of: impl Fn(Gaps) -> R + Sync + Send,
) -> Option<Vec<R>> {
    let k = points.len() / d;
    let goes_on = || watch.step(&Step::Chunk).is_continue();
    if k <= MOST_HELD {
        let products = products(points, d, workers);
        let norms: Vec<f64> = (0..k).map(|a| products[a * k + a]).collect();
        let found = workers.map(k, |own| {
            goes_on().then(|| of(Gaps { own, products: &products[own * k..(own + 1) * k], norms: &norms }))
        });
        return found.into_iter().collect();
    }
    let norms: Vec<f64> = points.chunks_exact(d).map(|a| dot(a, a)).collect();
    let found = workers.map_with(k.div_ceil(FEW_POINTS), Vec::new, |values: &mut Vec<f64>, part| {
        if !goes_on() {
            return None;
        }
        let (first, last) = (part * FEW_POINTS, (part * FEW_POINTS + FEW_POINTS).min(k));
        values.resize((last - first) * k, 0.0);
        multiply(values, &points[first * d..last * d], points, d, k);
        let of =
            |own: usize| of(Gaps { own, products: &values[(own - first) * k..(own - first + 1) * k], norms: &norms });
        Some((first..last).map(of).collect::<Vec<R>>())
    });
    let found: Vec<Vec<R>> = found.into_iter().collect::<Option<_>>()?;
    Some(found.into_iter().flatten().collect())
}

/// Inner products of all pairs.
fn products(points: &[f64], d: usize, workers: &Workers) -> Vec<f64> {
    let k = points.len() / d;
    let mut values = vec![0.0; k * k];
    let workers = if k * k * d < FEW { &Workers::serial() } else { workers };
    let mut bands: Vec<&mut [f64]> = values.chunks_mut(BAND * k).collect();
    workers.map_mut(&mut bands, |i, band| {
        let (first, last) = (i * BAND, (i * BAND + BAND).min(k));
        multiply(band, &points[first * d..last * d], &points[..last * d], d, k);
    });
    for a in 0..k {
        for b in 0..a / BAND * BAND {
            values[b * k + a] = values[a * k + b];
        }
    }
    values
}

/// A B' into the first columns of rows of `stride` numbers.
fn multiply(to: &mut [f64], a: &[f64], b: &[f64], d: usize, stride: usize) {
    let (rows, columns) = (a.len() / d, b.len() / d);
    let (a, b) = (faer::MatRef::from_row_major_slice(a, rows, d), faer::MatRef::from_row_major_slice(b, columns, d));
    let to = faer::MatMut::from_row_major_slice_mut(to, rows, stride).subcols_mut(0, columns);
    faer::linalg::matmul::matmul(to, faer::Accum::Replace, a, b.transpose(), 1.0, faer::Par::Seq);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::squared_distance;
    use crate::random::{Stream, stream};
    use crate::watch::Unwatched;
    use rand::RngExt;

    #[test]
    fn gaps_are_squared_distances() {
        let mut rng = stream(0, Stream::Simulation);
        for (k, d) in [(1, 1), (7, 3), (40, 50), (64, 2), (150, 9), (MOST_HELD + 5, 3)] {
            let points: Vec<f64> = (0..k * d).map(|_| rng.random::<f64>() - 0.5).collect();
            let right = |gaps: Gaps| {
                let own = &points[gaps.own * d..(gaps.own + 1) * d];
                let near = |(b, gap): (&[f64], f64)| (gap - squared_distance(own, b)).abs() < 1e-13 * d as f64;
                gaps.iter().count() == k && points.chunks_exact(d).zip(gaps.iter()).all(near)
            };
            let found = of_gaps(&points, d, &Workers::new(2), &Unwatched, |gaps| (gaps.own, right(gaps))).unwrap();
            assert_eq!(found, (0..k).map(|own| (own, true)).collect::<Vec<_>>());
        }
    }
}
