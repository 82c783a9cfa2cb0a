//! One run of DP-means with Kullback-Leibler divergence: a seeded start, frozen passes, collapsed sweeps, merges and moves, on
//! sum_n x_n. KL(x_n/x_n. || C/C.) + (K - 1) penalty with C the summed counts of the row's cluster.

use super::tallies::{Distributions, Merging, Tallies, lowest, negentropy};
use super::{ROWS, Tried};
use crate::counts::Counts;
use crate::error::{Error, Result};
use crate::hard::Goal;
use crate::likelihood::MultinomialGroups;
use crate::parallel::Workers;
use crate::prior::{CrpSeats, DirichletMultinomialSeats, Seats};
use crate::random::Rng;
use crate::structure::Partition;
use crate::sweep::{LiveLabels, Regime, seat_all, sweep};
use crate::watch::{Step, Watch};
use rand::RngExt;
use rand::seq::SliceRandom;
use std::collections::HashSet;

/// Rows on which the seeds are sought; more are thinned evenly.
const SAMPLE: usize = 4096;
/// The share of all counts that is mixed into the seeds, and into the clusters in each round before the first pass.
const SEED_SHARE: f64 = 0.5;
const ROUND_SHARES: [f64; 3] = [0.5, 0.2, 0.05];
/// A change must be larger than this share of what is summed: rounding does not move rows.
pub(super) const MARGIN: f64 = 1e-12;

/// The problem of one fit.
pub struct Problem<'a> {
    pub counts: &'a Counts,
    /// sum x_v log(x_v / x.) of each row.
    pub negentropies: Vec<f64>,
    pub goal: Goal,
    /// Whether frozen passes come before sweeps.
    pub frozen: bool,
    /// Whether clusters are split and swapped where nothing else helps.
    pub moves: bool,
    pub max_passes: usize,
    pub tolerance: f64,
    pub workers: &'a Workers,
    pub watch: &'a dyn Watch,
}

/// Where a run stands.
pub(super) struct State {
    pub labels: Vec<u32>,
    pub tallies: Tallies,
    trace: Vec<f64>,
    stopped: bool,
}

impl<'a> Problem<'a> {
    pub fn new(counts: &'a Counts, goal: Goal, workers: &'a Workers, watch: &'a dyn Watch) -> Self {
        let negentropies = (0..counts.n_rows()).map(|n| negentropy(counts.row(n).1, counts.total(n))).collect();
        Problem {
            counts,
            negentropies,
            goal,
            frozen: true,
            moves: true,
            max_passes: 300,
            tolerance: 0.0,
            workers,
            watch,
        }
    }

    /// A run from seeds of its own.
    pub fn run(&self, number: usize, rng: &mut Rng) -> Result<Tried> {
        let labels = self.start(rng);
        self.improve(number, labels, rng)
    }

    /// From labels to labels that no pass, sweep, merge, split or swap improves.
    pub fn improve(&self, number: usize, labels: Vec<u32>, rng: &mut Rng) -> Result<Tried> {
        let mut state = self.seated(labels, vec![]);
        let mut order: Vec<usize> = (0..self.counts.n_rows()).collect();
        if number > 0 {
            order.shuffle(rng);
        }
        self.record(&mut state, number);
        let mut converged = false;
        while !state.stopped && state.trace.len() < self.max_passes {
            let (before, mut moved) = (state.trace[state.trace.len() - 1], 0);
            while self.frozen && !state.stopped && state.trace.len() < self.max_passes {
                let (last, passed) = (state.trace[state.trace.len() - 1], self.frozen_pass(&mut state));
                if passed == 0 {
                    break;
                }
                moved += passed;
                self.record(&mut state, number);
                if last - state.trace[state.trace.len() - 1] <= self.tolerance * last {
                    break;
                }
            }
            if !state.stopped && state.trace.len() < self.max_passes {
                let swept = self.collapsed_sweep(&mut state, &order, rng);
                let merged = if state.stopped { 0 } else { self.merges(&mut state) };
                moved += swept + merged;
                if swept + merged > 0 {
                    self.record(&mut state, number);
                }
                let now = state.trace[state.trace.len() - 1];
                if !state.stopped && (moved == 0 || before - now < self.tolerance * now) {
                    if self.splits_and_swaps(&mut state, rng) == 0 {
                        converged = !state.stopped;
                        break;
                    }
                    self.record(&mut state, number);
                }
            }
        }
        if let Goal::Exactly(wanted) = self.goal
            && state.tallies.len() < wanted
        {
            self.fill_up(&mut state, wanted)?;
            self.record(&mut state, number);
        }
        let State { labels, tallies, trace, stopped } = state;
        Ok(Tried { labels, tallies, trace, converged, stopped })
    }

    fn seated(&self, labels: Vec<u32>, trace: Vec<f64>) -> State {
        let labels = Partition::from_labels(labels).labels().to_vec();
        let k = labels.iter().max().map_or(0, |l| *l as usize + 1);
        let tallies = Tallies::of(self.counts, &labels, k);
        State { labels, tallies, trace, stopped: false }
    }

    pub(super) fn reseat(&self, state: &mut State) {
        let stopped = state.stopped;
        *state = self.seated(std::mem::take(&mut state.labels), std::mem::take(&mut state.trace));
        state.stopped = stopped;
    }

    /// The loss of each cluster.
    pub fn losses(&self, labels: &[u32], tallies: &Tallies) -> Vec<f64> {
        let mut losses: Vec<f64> = (0..tallies.len()).map(|k| tallies.entropy(k)).collect();
        labels.iter().zip(&self.negentropies).for_each(|(&label, negentropy)| losses[label as usize] += negentropy);
        losses.iter_mut().for_each(|loss| *loss = loss.max(0.0));
        losses
    }

    fn record(&self, state: &mut State, run: usize) {
        let groups = state.tallies.len();
        let objective = self.goal.objective(self.losses(&state.labels, &state.tallies).iter().sum(), groups);
        let before = state.trace.last().copied();
        let rounding = || 1e-9 * objective + MARGIN * self.negentropies.iter().map(|e| e.abs()).sum::<f64>();
        debug_assert!(before.is_none_or(|b| objective <= b + rounding()), "{before:?} -> {objective}");
        state.trace.push(objective);
        let step = Step::Pass { run, pass: state.trace.len(), groups, objective };
        state.stopped |= self.watch.step(&step).is_break();
    }

    /// Rounding of the divergence of a row.
    fn margin(&self, row: usize) -> f64 {
        MARGIN * (self.negentropies[row].abs() + self.counts.total(row))
    }

    /// Every row to the nearest distribution, all held still; the farthest row opens a cluster if it is farther than the
    /// penalty. Returns how many rows moved.
    fn frozen_pass(&self, state: &mut State) -> usize {
        let distributions = Distributions::of(&state.tallies);
        let k = state.tallies.len();
        let mut parts: Vec<&mut [u32]> = state.labels.chunks_mut(ROWS).collect();
        let done = self.workers.map_mut(&mut parts, |chunk, labels| {
            let (mut moved, mut farthest, mut divergences) = (0, (0.0, 0), Vec::new());
            if self.watch.step(&Step::Chunk).is_break() {
                return (moved, farthest, true);
            }
            for (i, label) in labels.iter_mut().enumerate() {
                let row = chunk * ROWS + i;
                let (columns, values) = self.counts.row(row);
                distributions.divergences(columns, values, self.negentropies[row], &mut divergences);
                let (stay, margin) = (*label, self.margin(row));
                let mut least = divergences[stay as usize] - margin;
                for (cluster, &divergence) in divergences.iter().enumerate() {
                    if divergence < least {
                        (*label, least) = (cluster as u32, divergence);
                    }
                }
                moved += usize::from(*label != stay);
                let excess = divergences[*label as usize] - self.goal.penalty() - margin;
                if excess > farthest.0 {
                    farthest = (excess, row);
                }
            }
            (moved, farthest, false)
        });
        let (mut moved, mut farthest) = (0, (0.0, 0));
        for (moves, far, stopped) in done {
            moved += moves;
            state.stopped |= stopped;
            if far.0 > farthest.0 {
                farthest = far;
            }
        }
        if farthest.0 > 0.0 && k < self.goal.cap() && !state.stopped {
            state.labels[farthest.1] = k as u32;
            moved += 1;
        }
        if moved > 0 {
            self.reseat(state);
        }
        moved
    }

    /// Row after row with the distributions following every move. Returns how many rows moved.
    fn collapsed_sweep(&self, state: &mut State, order: &[usize], rng: &mut Rng) -> usize {
        let mut labels = LiveLabels::new(&state.labels);
        let penalty = self.goal.penalty();
        let mut seats: Box<dyn Seats> = match self.goal.cap() {
            usize::MAX => Box::new(CrpSeats::new(f64::NEG_INFINITY, penalty)),
            cap => Box::new(DirichletMultinomialSeats::new(cap, f64::NEG_INFINITY, penalty)),
        };
        let mut groups = MultinomialGroups::in_the_limit(self.counts);
        seat_all(&labels, seats.as_mut(), &mut groups);
        let regime = Regime::Limit { temperature: 0.0 };
        let visits = order.iter().copied();
        let swept = sweep(&mut labels, seats.as_mut(), &mut groups, regime, visits, rng, self.watch);
        state.stopped |= swept.stopped;
        // Moves that gain less than rounding are no moves.
        let worth = MARGIN * self.negentropies.iter().map(|e| e.abs()).sum::<f64>();
        if swept.moved == 0 || -swept.change <= worth {
            return 0;
        }
        state.labels = labels.to_vec();
        self.reseat(state);
        swept.moved
    }

    /// Merges pairs, the cheapest first, as long as one saves more than it costs. Returns how many clusters went.
    fn merges(&self, state: &mut State) -> usize {
        if matches!(self.goal, Goal::Exactly(_)) || state.tallies.len() < 2 {
            return 0;
        }
        let margin = MARGIN * self.negentropies.iter().map(|e| e.abs()).sum::<f64>();
        let (mut merging, mut merged) = (Merging::new(state.tallies.clone(), self.workers), 0);
        while let Some((to, from, cost)) = merging.cheapest()
            && cost < self.goal.penalty() - margin
        {
            merging.merge(to, from);
            merged += 1;
        }
        if merged > 0 {
            merging.relabel(&mut state.labels);
            self.reseat(state);
        }
        merged
    }

    /// Gives rows that are far from their cluster clusters of their own, until there are `wanted`.
    fn fill_up(&self, state: &mut State, wanted: usize) -> Result<()> {
        while state.tallies.len() < wanted {
            let distributions = Distributions::of(&state.tallies);
            let (mut divergences, mut farthest) = (Vec::new(), (0.0, 0));
            for row in 0..self.counts.n_rows() {
                let (columns, values) = self.counts.row(row);
                distributions.divergences(columns, values, self.negentropies[row], &mut divergences);
                let excess = divergences[state.labels[row] as usize] - self.margin(row);
                if excess > farthest.0 {
                    farthest = (excess, row);
                }
            }
            if farthest.0 == 0.0 {
                return Err(Error::Distinct { distinct: distinct(self.counts).min(state.tallies.len()), wanted });
            }
            state.labels[farthest.1] = state.tallies.len() as u32;
            self.reseat(state);
        }
        Ok(())
    }

    /// Labels to begin with: seeds drawn with probability proportional to the divergence from the nearest seed, the best of several
    /// draws each time; with a penalty as long as the best one pays for it. Then rows go to the nearest, a few times. All counts are
    /// mixed into the seeds, since a single row lacks most columns of its cluster.
    fn start(&self, rng: &mut Rng) -> Vec<u32> {
        let n = self.counts.n_rows();
        let step = n.div_ceil(SAMPLE);
        let rows: Vec<usize> = (rng.random_range(0..step)..n).step_by(step).collect();
        let totals: Vec<f64> = rows.iter().map(|&row| self.counts.total(row)).collect();
        if totals.iter().sum::<f64>() <= 0.0 {
            return vec![0; n];
        }
        let mut overall = Tallies::of(self.counts, &vec![0; n], 1).into_counts();
        let total = self.counts.grand_total();
        overall.iter_mut().for_each(|count| *count /= total);
        let mut seeds = vec![rows[draw(&totals, rng)]];
        let mut pays = self.divergences_from(&rows, seeds[0], &overall);
        while seeds.len() < self.goal.cap().min(rows.len()) {
            let loss: f64 = pays.iter().sum();
            if loss <= 0.0 || self.watch.step(&Step::Chunk).is_break() {
                break;
            }
            let draws = 2 + seeds.len().ilog2() as usize;
            let candidates = (0..draws).map(|_| {
                let seed = rows[draw(&pays, rng)];
                let mut with_seed = self.divergences_from(&rows, seed, &overall);
                with_seed.iter_mut().zip(&pays).for_each(|(new, old)| *new = new.min(*old));
                (with_seed.iter().sum::<f64>(), seed, with_seed)
            });
            let Some((lower, seed, with_seed)) = candidates.min_by(|a, b| a.0.total_cmp(&b.0)) else { break };
            if (loss - lower) * step as f64 <= self.goal.penalty() {
                break;
            }
            seeds.push(seed);
            pays = with_seed;
        }
        let mut tallies = self.alone(&seeds);
        let mut labels = vec![0; n];
        for share in ROUND_SHARES {
            if self.watch.step(&Step::Chunk).is_break() {
                break;
            }
            labels = self.nearest(&Distributions::smoothed(&tallies, &overall, share));
            tallies = Tallies::of(self.counts, &labels, seeds.len());
        }
        labels
    }

    /// A cluster for each of these rows.
    fn alone(&self, rows: &[usize]) -> Tallies {
        let v = self.counts.n_columns();
        let mut tallies = Tallies::new(vec![0.0; rows.len() * v], v);
        rows.iter().enumerate().for_each(|(cluster, &row)| tallies.add(cluster, self.counts, row));
        tallies
    }

    /// The divergence of each row from this one.
    fn divergences_from(&self, rows: &[usize], seed: usize, overall: &[f64]) -> Vec<f64> {
        let distribution = Distributions::smoothed(&self.alone(&[seed]), overall, SEED_SHARE);
        let mut divergence = Vec::new();
        let from = |row: &usize| {
            let (columns, values) = self.counts.row(*row);
            distribution.divergences(columns, values, self.negentropies[*row], &mut divergence);
            divergence[0]
        };
        rows.iter().map(from).collect()
    }

    /// The nearest distribution of every row.
    fn nearest(&self, distributions: &Distributions) -> Vec<u32> {
        let n = self.counts.n_rows();
        let parts = self.workers.map(n.div_ceil(ROWS), |chunk| {
            let mut divergences = Vec::new();
            let rows = chunk * ROWS..((chunk + 1) * ROWS).min(n);
            let nearest = rows.map(|row| {
                let (columns, values) = self.counts.row(row);
                distributions.divergences(columns, values, self.negentropies[row], &mut divergences);
                lowest(&divergences).0
            });
            nearest.collect::<Vec<u32>>()
        });
        parts.concat()
    }
}

/// An index drawn in proportion to its weight.
fn draw(weights: &[f64], rng: &mut Rng) -> usize {
    let mut left = rng.random::<f64>() * weights.iter().sum::<f64>();
    let mut last = 0;
    for (i, w) in weights.iter().enumerate().filter(|(_, w)| **w > 0.0) {
        if left < *w {
            return i;
        }
        (left, last) = (left - w, i);
    }
    last
}

/// Rows of different shares x/x., empty ones not counted.
fn distinct(counts: &Counts) -> usize {
    let shares = |n: usize| {
        let (columns, values) = counts.row(n);
        // Shares to 12 digits: 1/3 and 2/6 are the same.
        let share = |x: &f64| (x / counts.total(n) * 1e12).round() as u64;
        columns.iter().copied().zip(values.iter().map(share)).collect::<Vec<_>>()
    };
    (0..counts.n_rows()).filter(|&n| counts.total(n) > 0.0).map(shares).collect::<HashSet<_>>().len().max(1)
}
