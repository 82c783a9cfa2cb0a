//! The nearest centre of every row among those near its own: what a row may change to when centres have moved a little.

use super::Members;
use crate::data::{Real, Rows};
use crate::linalg::{FrozenCentres, Gaps, Kernel, NO_LABEL, Reach, Search, SomeCentres, of_gaps, on_this_processor};
use crate::parallel::Workers;
use crate::watch::{Step, Watch};

/// Centres that a row may go to beside its own, those nearest to that one: with it as many as fill vectors.
pub(super) const NEIGHBOURS: usize = 15;

/// From so many centres on it pays: each cluster's centres are packed, and its rows measured in blocks, filled or not.
pub(crate) const PAYS_FROM: usize = 6 * (NEIGHBOURS + 1);

/// Which centres are near each of them.
pub(super) struct Neighbourhoods<'a, T> {
    centres: &'a FrozenCentres<T>,
    /// Each centre and those nearest to it.
    names: Vec<Vec<u32>>,
}

impl<'a, T: Real> Neighbourhoods<'a, T> {
    /// None once the watch has said stop.
    pub fn new(centres: &'a FrozenCentres<T>, workers: &Workers, watch: &dyn Watch) -> Option<Self> {
        let nearest = |gaps: Gaps| on_this_processor(Nearest { gaps });
        let names = of_gaps(centres.offsets(), centres.offset(0).len(), workers, watch, nearest)?;
        Some(Neighbourhoods { centres, names })
    }

    /// For every row with its label the nearest of its own centre and the centres nearest to that, and a distance that is no less. None
    /// once the watch has said stop.
    pub fn nearest(
        &self,
        rows: Rows<T>,
        reference: &[T],
        labels: &[u32],
        workers: &Workers,
        watch: &dyn Watch,
    ) -> Option<Vec<(u32, f32)>> {
        let members = Members::new(labels, self.names.len());
        let found = workers.map(members.k(), |own| {
            let among = AmongNeighbours {
                rows,
                reference,
                centres: self.centres,
                names: &self.names[own],
                members: members.of(own),
            };
            watch.step(&Step::Chunk).is_continue().then(|| on_this_processor(among))
        });
        let mut nearest = vec![(NO_LABEL, f32::INFINITY); labels.len()];
        for (own, found) in found.into_iter().enumerate() {
            let (labels, within) = found?;
            let found = labels.into_iter().zip(within);
            members.of(own).iter().zip(found).for_each(|(&row, found)| nearest[row as usize] = found);
        }
        Some(nearest)
    }
}

/// One centre and those nearest to it, of equally near ones the lowest numbers, in order.
struct Nearest<'a> {
    gaps: Gaps<'a>,
}

impl Kernel for Nearest<'_> {
    type Output = Vec<u32>;

    #[inline(always)]
    unsafe fn run<const FUSED: bool, const WIDE: bool>(self) -> Vec<u32> {
        let own = self.gaps.own;
        let mut gaps: Vec<f64> = self.gaps.iter().collect();
        gaps[own] = f64::INFINITY;
        // The least of every sixteenth: but for the largest of these there are fifteen centres no farther than the next.
        let mut least = [f64::INFINITY; NEIGHBOURS + 1];
        for several in gaps.chunks(NEIGHBOURS + 1) {
            least.iter_mut().zip(several).for_each(|(least, &gap)| *least = if gap < *least { gap } else { *least });
        }
        least.sort_unstable_by(f64::total_cmp);
        let mut others: Vec<(f64, u32)> =
            gaps.iter().copied().zip(0..).filter(|o| o.0 <= least[NEIGHBOURS - 1]).collect();
        others.retain(|(_, j)| *j != own as u32);
        if others.len() > NEIGHBOURS {
            others.select_nth_unstable_by(NEIGHBOURS, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        }
        let near = others.iter().take(NEIGHBOURS).map(|(_, j)| *j);
        let mut names: Vec<u32> = near.chain([own as u32]).collect();
        names.sort_unstable();
        names
    }
}

struct AmongNeighbours<'a, T> {
    rows: Rows<'a, T>,
    reference: &'a [T],
    centres: &'a FrozenCentres<T>,
    names: &'a [u32],
    members: &'a [u32],
}

impl<T: Real> Kernel for AmongNeighbours<'_, T> {
    type Output = (Vec<u32>, Vec<f32>);

    #[inline(always)]
    unsafe fn run<const FUSED: bool, const WIDE: bool>(self) -> (Vec<u32>, Vec<f32>) {
        let AmongNeighbours { rows, reference, centres, names, members } = self;
        let mut nearest = vec![NO_LABEL; members.len()];
        let (mut within, mut others) = (vec![0.0; members.len()], vec![0.0; members.len()]);
        let mut some = SomeCentres::default();
        some.take(centres, names.iter().copied());
        let search = Search { rows, numbers: Some(members), reference, some: Some(&some) };
        let reach = Reach { nearest: &mut within, others: &mut others };
        // SAFETY: this kernel runs with FUSED and WIDE.
        unsafe { centres.nearest_inlined::<FUSED, WIDE>(search, &mut nearest, Some(reach)) };
        (nearest, within)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Data;
    use crate::linalg::offset_squared_distance;
    use crate::random::{Stream, stream};
    use crate::watch::Unwatched;
    use rand::RngExt;

    #[test]
    fn rows_go_to_the_nearest_of_the_centres_near_their_own() {
        let mut rng = stream(3, Stream::Simulation);
        for d in [1, 3, 20, 140] {
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
            let workers = Workers::new(2);
            let around = Neighbourhoods::new(&centres, &workers, &Unwatched).unwrap();
            let found = around.nearest(data.rows(), data.reference(), &labels, &workers, &Unwatched).unwrap();
            for n in 0..700 {
                let own = labels[n];
                let mut near: Vec<u32> = (0..40).collect();
                near.sort_by(|a, b| gap(own, *a).total_cmp(&gap(own, *b)));
                let least = near[..=NEIGHBOURS].iter().map(|&k| distance(n, k)).fold(f64::INFINITY, f64::min);
                let (nearest, within) = found[n];
                assert_eq!(distance(n, nearest), least, "row {n} of {d} columns");
                assert!(least.sqrt() <= f64::from(within), "row {n} of {d} columns: {least} {within}");
            }
        }
    }
}
