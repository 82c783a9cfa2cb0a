//! The nearest centre of every row among those near its own: what a row may change to when centres have moved a little.

use crate::data::{Data, Real};
use crate::linalg::{FrozenCentres, Kernel, NO_LABEL, Products, Search, SomeCentres, on_this_processor};
use crate::parallel::Workers;

/// Centres that a row may go to beside its own, those nearest to that one.
pub(super) const NEIGHBOURS: usize = 16;

/// From so many centres on it pays: each cluster's rows are copied and measured in blocks, filled or not.
pub(crate) const PAYS_FROM: usize = 6 * NEIGHBOURS;

/// For every row the nearest of its own centre and the centres nearest to that.
pub(super) fn nearest_nearby<T: Real>(
    data: &Data<T>,
    centres: &FrozenCentres<T>,
    labels: &[u32],
    workers: &Workers,
) -> Vec<u32> {
    let k = centres.n_centres();
    let mut members = vec![Vec::new(); k];
    labels.iter().enumerate().for_each(|(row, &label)| members[label as usize].push(row as u32));
    let products = Products::new(centres.offsets(), data.n_columns());
    let found = workers.map(k, |own| {
        on_this_processor(AmongNeighbours { data, centres, products: &products, own, rows: &members[own] })
    });
    let mut nearest = vec![NO_LABEL; labels.len()];
    for (rows, found) in members.iter().zip(found) {
        rows.iter().zip(found).for_each(|(&row, label)| nearest[row as usize] = label);
    }
    nearest
}

struct AmongNeighbours<'a, T> {
    data: &'a Data<'a, T>,
    centres: &'a FrozenCentres<T>,
    products: &'a Products,
    own: usize,
    rows: &'a [u32],
}

impl<T: Real> AmongNeighbours<'_, T> {
    /// Its own centre and the nearest to it; of equally near ones the lowest numbers.
    fn neighbours(&self) -> Vec<u32> {
        let k = self.centres.n_centres();
        let gap = |j: usize| (self.products.gap(self.own, j), j as u32);
        let mut others: Vec<(f64, u32)> = (0..k).filter(|&j| j != self.own).map(gap).collect();
        if others.len() > NEIGHBOURS {
            others.select_nth_unstable_by(NEIGHBOURS, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        }
        let near = others.iter().take(NEIGHBOURS).map(|(_, j)| *j);
        let mut names: Vec<u32> = near.chain([self.own as u32]).collect();
        names.sort_unstable();
        names
    }
}

impl<T: Real> Kernel for AmongNeighbours<'_, T> {
    type Output = Vec<u32>;

    #[inline(always)]
    unsafe fn run<const FUSED: bool, const WIDE: bool>(self) -> Vec<u32> {
        let mut nearest = vec![self.own as u32; self.rows.len()];
        let mut some = SomeCentres::default();
        some.take(self.centres, self.neighbours().into_iter());
        let search = Search {
            rows: self.data.rows(),
            numbers: Some(self.rows),
            reference: self.data.reference(),
            some: Some(&some),
        };
        // SAFETY: this kernel runs with FUSED and WIDE.
        unsafe { self.centres.nearest_inlined::<FUSED, WIDE>(search, &mut nearest, None) };
        nearest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Rows;
    use crate::linalg::offset_squared_distance;
    use crate::random::{Stream, stream};
    use rand::RngExt;

    #[test]
    fn rows_go_to_the_nearest_of_the_centres_near_their_own() {
        let mut rng = stream(3, Stream::Simulation);
        for d in [1, 3, 20] {
            let mut draw = |n: usize| -> Vec<f64> { (0..n).map(|_| rng.random::<f64>() - 0.5).collect() };
            let (values, offsets) = (draw(700 * d), draw(40 * d));
            let data = Data::new(Rows::new(&values, d).unwrap()).unwrap();
            let centres = FrozenCentres::<f64>::new(offsets, d);
            let labels: Vec<u32> = (0..700).map(|n| n % 40).collect();
            let distance = |n: usize, k: u32| {
                offset_squared_distance(data.rows().row(n), data.reference(), centres.offset(k as usize))
            };
            let gap = |a: u32, b: u32| {
                crate::linalg::squared_distance(centres.offset(a as usize), centres.offset(b as usize))
            };
            let found = nearest_nearby(&data, &centres, &labels, &Workers::new(2));
            for n in 0..700 {
                let own = labels[n];
                let mut near: Vec<u32> = (0..40).collect();
                near.sort_by(|a, b| gap(own, *a).total_cmp(&gap(own, *b)));
                let least = near[..=NEIGHBOURS].iter().map(|&k| distance(n, k)).fold(f64::INFINITY, f64::min);
                assert_eq!(distance(n, found[n]), least, "row {n} of {d} columns");
            }
        }
    }
}
