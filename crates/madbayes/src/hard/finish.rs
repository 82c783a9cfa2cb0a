//! The end of a run: labels and centres that agree, every row in a cluster, K as asked for.

use super::Goal;
use super::clustering::{Clustering, losses, nearest_centres, nearest_unless_stopped};
use super::known_splits::KnownSplits;
use super::passes::{ROUNDING, ROUNDING_OF_SQUARES, Run, State};
use super::start::mean_offset;
use crate::data::{CHUNK, Data, Real};
use crate::error::{Error, Result};
use crate::linalg::{NO_LABEL, offset_squared_distance};
use crate::scan::Tallies;
use crate::watch::Unwatched;
use std::collections::HashSet;

/// Rows x columns x clusters that a stopped run may still look at: a small part of half a second.
const WORK_AFTER_STOP: f64 = 1e9;

/// Centres, the label of every row, and what is tallied of the rows with each label, where that is known.
struct Ended {
    centres: Vec<f64>,
    labels: Vec<u32>,
    tallies: Option<Tallies>,
}

impl<T: Real> Run<'_, T> {
    /// Centres in order of first appearance, labels as the centres say, the objective of both. A stopped run keeps the
    /// labels it has: another look at every centre for every row could take long.
    pub fn finish(&self, mut state: State) -> Result<Clustering> {
        let d = self.data.n_columns();
        let Ended { centres, labels, tallies } = if state.stopped {
            self.make_whole(&mut state)?;
            self.as_it_is(&mut state, None)
        } else {
            self.settled(&mut state)?
        };
        state.bounds = None;
        let sizes = match &tallies {
            Some(tallies) => tallies.counts.clone(),
            None => {
                let mut sizes = vec![0; centres.len() / d];
                labels.iter().for_each(|label| sizes[*label as usize] += 1);
                sizes
            }
        };
        let weights = match self.data.weights() {
            None => sizes.iter().map(|size| *size as f64).collect(),
            Some(all) => {
                let mut weights = vec![0.0; sizes.len()];
                labels.iter().zip(all).for_each(|(label, weight)| weights[*label as usize] += weight);
                weights
            }
        };
        let known = tallies.and_then(|tallies| self.tallied_losses(&tallies, &centres));
        let losses = known.unwrap_or_else(|| losses(self.data, &centres, &labels, self.workers));
        let objective = self.goal.objective(losses.iter().sum(), sizes.len());
        state.trace.push(objective);
        Ok(Clustering {
            labels,
            centres,
            n_columns: d,
            reference: self.data.reference().iter().map(|&r| r.into()).collect(),
            sizes,
            weights,
            losses,
            goal: self.goal,
            objective,
            traces: vec![state.trace.clone()],
            trace: state.trace,
            spared: if state.distances > 0.0 { 1.0 - state.measured / state.distances } else { 0.0 },
            best_run: 0,
            converged: state.converged,
            stopped: state.stopped,
        })
    }

    /// The losses of tallied rows about these centres; none where that of one cluster would round, which is small and far away.
    fn tallied_losses(&self, tallies: &Tallies, centres: &[f64]) -> Option<Vec<f64>> {
        let offset = |(centre, reference): (&f64, &T)| centre - (*reference).into();
        let offsets = |centre: &[f64]| -> Vec<f64> { centre.iter().zip(self.data.reference()).map(offset).collect() };
        let centres = centres.chunks_exact(self.data.n_columns());
        let loss = |(k, centre): (usize, &[f64])| {
            let loss = tallies.loss_about(k, &offsets(centre));
            (tallies.squares[k] * ROUNDING_OF_SQUARES <= ROUNDING * loss).then_some(loss)
        };
        centres.enumerate().map(loss).collect()
    }

    /// Centres and the labels they imply. A centre that no row is nearest to has a twin, and goes; where K is asked for
    /// exactly, another cluster is split instead.
    fn settled(&self, state: &mut State) -> Result<Ended> {
        const TRIES: usize = 3;
        for _ in 0..TRIES {
            if let Goal::Exactly(wanted) = self.goal {
                self.fill_up(state, wanted)?;
            }
            let followed = Run { watch: &Unwatched, ..*self }.follow_centres(state);
            let order = first_appearances(&state.labels, state.k());
            if followed.is_some() {
                if order.len() == state.k() {
                    return Ok(self.as_it_is(state, followed));
                }
                self.take_means(state);
                continue;
            }
            // What is tallied is not of the labels to come.
            state.tallies = None;
            let centres = self.centres(state, &order);
            let (rows, reference) = (self.data.rows(), self.data.reference());
            let labels = nearest_unless_stopped(rows, reference, &centres, self.workers, self.watch);
            let Some(labels) = labels else {
                (state.converged, state.stopped) = (false, true);
                return Ok(self.as_it_is(state, None));
            };
            let taken = first_appearances(&labels, order.len());
            if taken.len() == order.len() {
                return Ok(Ended { centres, labels, tallies: None });
            }
            let offsets: Vec<f64> = order.iter().flat_map(|&k| state.offset(k).to_vec()).collect();
            (state.labels, state.offsets) = (labels, offsets);
            state.assigned.clear();
            self.take_means(state);
        }
        Ok(self.as_it_is(state, None))
    }

    /// Splits until there are `wanted` clusters.
    fn fill_up(&self, state: &mut State, wanted: usize) -> Result<()> {
        let unwatched = Run { watch: &Unwatched, ..*self };
        let mut known = KnownSplits::default();
        while state.k() < wanted {
            let moved =
                unwatched.options(state, &mut known).is_some_and(|options| unwatched.certain_moves(state, &options));
            if !moved {
                return Err(self.too_few_distinct(state, wanted));
            }
            unwatched.settle(state, 0.0, 2);
        }
        Ok(())
    }

    /// Labels and centres of the run as they are, and what is tallied of them, in order of first appearance.
    fn as_it_is(&self, state: &mut State, tallies: Option<Tallies>) -> Ended {
        let order = first_appearances(&state.labels, state.k());
        let mut names = vec![0; state.k()];
        order.iter().enumerate().for_each(|(new, &old)| names[old] = new as u32);
        let mut labels = std::mem::take(&mut state.labels);
        let mut parts: Vec<&mut [u32]> = labels.chunks_mut(16 * CHUNK).collect();
        self.workers.map_mut(&mut parts, |_, part| {
            for label in part.iter_mut() {
                *label = if *label == NO_LABEL { 0 } else { names[*label as usize] };
            }
        });
        Ended { centres: self.centres(state, &order), labels, tallies: tallies.map(|tallies| tallies.in_order(&order)) }
    }

    /// After a stop: a label for every row and means that fit them, and K as asked for, without another long look.
    fn make_whole(&self, state: &mut State) -> Result<()> {
        if state.weights.is_empty() {
            self.label_by_start(state);
        }
        state.labels.iter_mut().filter(|l| **l == NO_LABEL).for_each(|l| *l = 0);
        self.take_means(state);
        // Rows of no weight may have lost their cluster.
        state.labels.iter_mut().filter(|l| **l == NO_LABEL).for_each(|l| *l = 0);
        if let Goal::Exactly(wanted) = self.goal
            && state.k() < wanted
        {
            self.add_single_rows(state, wanted)?;
            self.take_means(state);
        }
        Ok(())
    }

    /// Stopped before the first pass was over: rows join the nearest centre of the start if that is quickly done, else
    /// all are one cluster.
    fn label_by_start(&self, state: &mut State) {
        let work = (self.data.n_rows() * self.data.n_columns()) as f64 * state.k() as f64;
        if work <= WORK_AFTER_STOP {
            let centres = self.centres(state, &(0..state.k()).collect::<Vec<_>>());
            state.labels = nearest_centres(self.data.rows(), self.data.reference(), &centres, self.workers);
        } else {
            state.offsets = mean_offset(self.data);
            state.labels.fill(0);
        }
    }

    /// Takes distinct rows out of larger clusters, each into a cluster of its own, until there are `wanted` clusters.
    fn add_single_rows(&self, state: &mut State, wanted: usize) -> Result<()> {
        let mut sizes = vec![0usize; state.k()];
        state.labels.iter().for_each(|&l| sizes[l as usize] += 1);
        let mut chosen = HashSet::new();
        for n in 0..self.data.n_rows() {
            if state.k() == wanted {
                return Ok(());
            }
            let (row, label) = (self.data.rows().row(n), state.labels[n] as usize);
            // The cluster keeps a row that differs from this one, so that no two clusters hold equal rows only.
            let differs = offset_squared_distance(row, self.data.reference(), state.offset(label)) > 0.0;
            if sizes[label] > 1 && differs && self.data.weight(n) > 0.0 && chosen.insert(key(row)) {
                sizes[label] -= 1;
                sizes.push(1);
                state.labels[n] = state.k() as u32;
                state.offsets.extend(std::iter::repeat_n(0.0, state.n_columns));
            }
        }
        if state.k() == wanted { Ok(()) } else { Err(self.too_few_distinct(state, wanted)) }
    }

    fn too_few_distinct(&self, state: &State, wanted: usize) -> Error {
        Error::Distinct { distinct: count_distinct(self.data).min(state.k()), wanted }
    }

    /// These clusters' centres in the units of the data.
    fn centres(&self, state: &State, clusters: &[usize]) -> Vec<f64> {
        let mut centres = Vec::with_capacity(clusters.len() * self.data.n_columns());
        for &k in clusters {
            let columns = state.offset(k).iter().zip(self.data.reference()).zip(self.data.ranges());
            centres.extend(columns.map(|((offset, &reference), &(low, high))| {
                let centre = offset + reference.into();
                // A mean lies in the range of its column; rounding about the reference point does not know that.
                if state.weights.is_empty() { centre } else { centre.clamp(low, high) }
            }));
        }
        centres
    }
}

/// Clusters in the order in which rows first name them.
fn first_appearances(labels: &[u32], k: usize) -> Vec<usize> {
    let mut order = Vec::with_capacity(k);
    let mut seen = vec![false; k];
    for &label in labels.iter().filter(|l| **l != NO_LABEL) {
        if !std::mem::replace(&mut seen[label as usize], true) {
            order.push(label as usize);
            if order.len() == k {
                break;
            }
        }
    }
    order
}

/// A row as something that can be compared and hashed.
fn key<T: Real>(row: &[T]) -> Vec<u64> {
    // Adding 0 makes 0 of -0.
    row.iter().map(|&x| (x.into() + 0.0f64).to_bits()).collect()
}

/// Distinct rows that have weight.
fn count_distinct<T: Real>(data: &Data<T>) -> usize {
    let rows = data.rows().iter().enumerate().filter(|(n, _)| data.weight(*n) > 0.0);
    rows.map(|(_, row)| key(row)).collect::<HashSet<_>>().len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Rows;
    use crate::hard::DpMeans;
    use crate::parallel::Workers;
    use crate::random::{Stream, stream};
    use rand::RngExt;

    #[test]
    fn losses_are_those_of_the_rows_even_where_a_tight_cluster_is_far_from_a_wide_one() {
        let mut rng = stream(9, Stream::Simulation);
        for tight in [1e-4, 1.0] {
            let mut values = Vec::new();
            for n in 0..20_000 {
                let (site, spread) = if n % 100 == 0 { (1e6, tight) } else { (f64::from(n % 3) * 100.0, 1.0) };
                values.extend((0..2).map(|_| site + spread * (rng.random::<f64>() - 0.5)));
            }
            let data = Data::new(Rows::new(&values, 2).unwrap()).unwrap();
            let fit = DpMeans::with_penalty(1e6).fit(&data, &Unwatched).unwrap();
            assert_eq!(fit.n_clusters(), 4);
            let measured = losses(&data, &fit.centres, &fit.labels, &Workers::serial());
            for (loss, measured) in fit.losses.iter().zip(measured) {
                assert!((loss - measured).abs() <= 1e-8 * measured, "{loss} {measured}");
            }
        }
    }
}
