//! What a hard clustering gives back, and the last pass that makes labels and centres agree.

use super::Goal;
use super::passes::{Run, State};
use super::start::mean_offset;
use crate::data::{CHUNK, Data, Real, Rows};
use crate::error::{Error, Result};
use crate::linalg::{FrozenCentres, NO_LABEL};
use crate::parallel::Workers;
use crate::watch::Unwatched;

/// The result of a hard clustering. `objective` is the objective of exactly these labels and centres.
#[derive(Debug, Clone, PartialEq)]
pub struct Clustering {
    /// The cluster of each row.
    pub labels: Vec<u32>,
    /// K x D.
    pub centres: Vec<f64>,
    /// Number of columns, D.
    pub n_columns: usize,
    /// The point distances were computed about.
    pub reference: Vec<f64>,
    /// Rows in each cluster.
    pub sizes: Vec<usize>,
    /// Their weight.
    pub weights: Vec<f64>,
    /// Loss of each cluster: sum of w_n |x_n - mu_k|^2 over its rows.
    pub losses: Vec<f64>,
    /// What was minimised.
    pub goal: Goal,
    /// Sum of the losses + (K - 1) penalty.
    pub objective: f64,
    /// The objective after every pass of the best run; the last is `objective`.
    pub trace: Vec<f64>,
    /// The same for every run.
    pub traces: Vec<Vec<f64>>,
    /// Which run was best.
    pub best_run: usize,
    /// Whether the best run ended because nothing changed any more (within the tolerance).
    pub converged: bool,
    /// Whether the watch stopped the computation.
    pub stopped: bool,
}

impl Clustering {
    /// Number of clusters, K.
    pub fn n_clusters(&self) -> usize {
        self.sizes.len()
    }

    /// Sum of weighted squared distances to the centres.
    pub fn loss(&self) -> f64 {
        self.losses.iter().sum()
    }

    /// One centre.
    pub fn centre(&self, k: usize) -> &[f64] {
        &self.centres[k * self.n_columns..(k + 1) * self.n_columns]
    }

    /// Passes of the best run.
    pub fn n_passes(&self) -> usize {
        self.trace.len()
    }
}

/// The nearest centre of every row, the lowest number where two are equally near: what a fitted model says of any rows.
/// Distances are computed about `reference`.
pub fn nearest_centres<T: Real>(rows: Rows<T>, reference: &[T], centres: &[f64], workers: &Workers) -> Vec<u32> {
    let offsets = centres.iter().zip(reference.iter().cycle()).map(|(c, &r)| c - r.into()).collect();
    let frozen = FrozenCentres::new(offsets, rows.n_columns());
    let mut labels = vec![NO_LABEL; rows.n_rows()];
    let mut parts: Vec<&mut [u32]> = labels.chunks_mut(CHUNK).collect();
    workers.map_mut(&mut parts, |i, part| {
        frozen.nearest(rows.slice(i * CHUNK, i * CHUNK + part.len()), reference, part);
    });
    labels
}

/// sum over the rows of each cluster of w_n |x_n - c_k|^2, from scratch.
pub fn losses<T: Real>(data: &Data<T>, centres: &[f64], labels: &[u32], workers: &Workers) -> Vec<f64> {
    let d = data.n_columns();
    let k = centres.len() / d;
    let parts = workers.map(data.n_chunks(), |index| {
        let (start, end) = data.chunk(index);
        let mut part = vec![0.0; k];
        for n in start..end {
            let label = labels[n] as usize;
            let centre = &centres[label * d..(label + 1) * d];
            let distance: f64 = data.rows().row(n).iter().zip(centre).map(|(x, c)| ((*x).into() - c).powi(2)).sum();
            part[label] += data.weight(n) * distance;
        }
        part
    });
    let mut total = vec![0.0; k];
    for part in parts {
        total.iter_mut().zip(part).for_each(|(t, p)| *t += p);
    }
    total
}

impl<T: Real> Run<'_, T> {
    /// Centres in order of first appearance, labels as the centres say, the objective of both. A stopped run keeps the
    /// labels it has: another look at every centre for every row could take long.
    pub fn finish(&self, mut state: State) -> Result<Clustering> {
        if state.stopped && !state.weights.is_empty() {
            // A pass may have been cut short: its labels are good, the rest is older than they are.
            self.take_means(&mut state);
        }
        if let Goal::Exactly(wanted) = self.goal {
            self.fill_up(&mut state, wanted)?;
        }
        let d = self.data.n_columns();
        let (mut centres, mut labels) = if state.stopped {
            self.as_is(&state)
        } else {
            self.settled(&state, &first_appearances(&state.labels, state.k()))
        };
        if matches!(self.goal, Goal::Exactly(wanted) if wanted != centres.len() / d) {
            // Rows so close that the kernel's rounding confuses their centres: the labels of the run tell them apart.
            (centres, labels) = self.as_is(&state);
        }
        let (mut sizes, mut weights) = (vec![0; centres.len() / d], vec![0.0; centres.len() / d]);
        for (n, &label) in labels.iter().enumerate() {
            sizes[label as usize] += 1;
            weights[label as usize] += self.data.weight(n);
        }
        let losses = losses(self.data, &centres, &labels, self.workers);
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
            best_run: 0,
            converged: state.converged,
            stopped: state.stopped,
        })
    }

    /// Centres and the labels they imply; a centre that no row is nearest to goes.
    fn settled(&self, state: &State, clusters: &[usize]) -> (Vec<f64>, Vec<u32>) {
        let d = self.data.n_columns();
        let mut centres = self.centres(state, clusters);
        loop {
            let labels = nearest_centres(self.data.rows(), self.data.reference(), &centres, self.workers);
            let mut taken = vec![false; centres.len() / d];
            labels.iter().for_each(|&l| taken[l as usize] = true);
            if taken.iter().all(|t| *t) {
                return (centres, labels);
            }
            let kept = centres.chunks_exact(d).zip(&taken).filter(|(_, taken)| **taken);
            centres = kept.flat_map(|(centre, _)| centre.to_vec()).collect();
        }
    }

    /// The labels of the run as they are; rows that have none yet join the first cluster. Stopped before the first pass was
    /// over, nothing is known but the start: then it is one cluster, or K as asked for.
    fn as_is(&self, state: &State) -> (Vec<f64>, Vec<u32>) {
        if state.weights.is_empty() {
            return match self.goal {
                Goal::Exactly(_) => self.settled(state, &(0..state.k()).collect::<Vec<_>>()),
                Goal::Penalty { .. } => {
                    let mean = mean_offset(self.data);
                    let one = State::new(mean, 0, self.data.n_columns());
                    (self.centres(&one, &[0]), vec![0; self.data.n_rows()])
                }
            };
        }
        let order = first_appearances(&state.labels, state.k());
        let mut names = vec![0; state.k()];
        order.iter().enumerate().for_each(|(new, &old)| names[old] = new as u32);
        let labels = state.labels.iter().map(|&l| if l == NO_LABEL { 0 } else { names[l as usize] }).collect();
        (self.centres(state, &order), labels)
    }

    /// K asked for exactly: splits until it is reached.
    fn fill_up(&self, state: &mut State, wanted: usize) -> Result<()> {
        if state.weights.is_empty() && state.k() < wanted {
            Run { watch: &Unwatched, ..*self }.settle(state, 0.0, 1);
        }
        // A stop must not leave fewer clusters than asked for; few splits are missing, if any.
        let stopped = std::mem::replace(&mut state.stopped, false);
        while state.k() < wanted {
            let unwatched = Run { watch: &Unwatched, ..*self };
            let Some(options) = unwatched.options(state) else { break };
            if !unwatched.certain_moves(state, &options) {
                return Err(Error::Distinct { distinct: state.k(), wanted });
            }
            unwatched.settle(state, 0.0, 2);
        }
        state.stopped = stopped;
        Ok(())
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
        }
    }
    order
}
