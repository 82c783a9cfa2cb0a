//! Covariances learned about a prior scale Phi: frozen passes, collapsed sweeps and merges, all on
//! sum_k c log|I + Phi^-1 scatter_k| + (K - 1) penalty, the objective with mu_k and S_k at their optimum.

use super::ellipses::{Ellipses, nearest};
use super::{CovarianceAlgorithm, Outcome};
use crate::data::{CHUNK, Data, Real};
use crate::error::Result;
use crate::hard::Goal;
use crate::likelihood::{FullGroups, Groups};
use crate::linalg::inverse_factor;
use crate::prior::{CrpSeats, DirichletMultinomialSeats, Seats};
use crate::random::Rng;
use crate::sweep::{LiveLabels, Regime, seat_all, sweep};
use crate::watch::{Step, Watch};

/// A merge must lower the objective by this share of it: rounding does not merge.
const MARGIN: f64 = 1e-9;

/// The problem of one fit.
pub struct Learned<'a, T> {
    pub data: &'a Data<'a, T>,
    pub goal: Goal,
    pub c: f64,
    /// Phi / c.
    pub prior: &'a [f64],
    /// Phi.
    pub scale: Vec<f64>,
    pub algorithm: CovarianceAlgorithm,
    pub tolerance: f64,
    pub watch: &'a dyn Watch,
}

/// Where a run stands.
struct State<'a, T> {
    labels: Vec<u32>,
    groups: FullGroups<'a, T>,
    trace: Vec<f64>,
    stopped: bool,
}

impl<'a, T: Real> Learned<'a, T> {
    /// From labels to labels that no pass, sweep or merge improves.
    pub fn run(&self, number: usize, labels: Vec<u32>, max_passes: usize, rng: &mut Rng) -> Result<Outcome> {
        let mut state = self.seated(labels)?;
        self.record(&mut state, number);
        let mut converged = false;
        while !state.stopped && state.trace.len() < max_passes {
            let before = self.objective(&state);
            let settled = |state: &State<T>| before - self.objective(state) <= self.tolerance * before;
            let mut moved = self.frozen_pass(&mut state)?;
            if self.algorithm == CovarianceAlgorithm::Collapsed && !state.stopped && settled(&state) {
                moved += self.collapsed_sweep(&mut state, rng)?;
            }
            let merged = !state.stopped && settled(&state) && self.merge_best_pair(&mut state)?;
            if moved > 0 || merged {
                self.record(&mut state, number);
            }
            if !merged && !state.stopped && settled(&state) {
                converged = true;
                break;
            }
        }
        let State { labels, groups, trace, stopped } = state;
        let k = groups.n_groups();
        Ok(Outcome {
            centres: (0..k).flat_map(|k| groups.mean(k)).collect(),
            covariances: (0..k).flat_map(|k| self.covariance(&groups, k)).collect(),
            labels,
            trace,
            converged,
            stopped,
        })
    }

    /// S_k = (scatter_k + Phi) / c.
    fn covariance(&self, groups: &FullGroups<T>, cluster: usize) -> Vec<f64> {
        groups.scale(cluster).iter().map(|p| p / self.c).collect()
    }

    /// Groups of these labels, numbered as they first appear.
    fn seated(&self, labels: Vec<u32>) -> Result<State<'a, T>> {
        let labels = crate::structure::Partition::from_labels(labels).labels().to_vec();
        let mut groups = FullGroups::in_the_limit(self.data, self.c, &self.scale)?;
        let k = labels.iter().max().map_or(0, |l| *l + 1);
        (0..k).for_each(|_| groups.open());
        groups.refresh(&|row| labels[row] as usize);
        Ok(State { labels, groups, trace: vec![], stopped: false })
    }

    fn reseat(&self, state: &mut State<'a, T>) -> Result<()> {
        let seated = self.seated(std::mem::take(&mut state.labels))?;
        (state.labels, state.groups) = (seated.labels, seated.groups);
        Ok(())
    }

    fn objective(&self, state: &State<T>) -> f64 {
        self.goal.objective(state.groups.loss(), state.groups.n_groups())
    }

    fn record(&self, state: &mut State<T>, run: usize) {
        let (groups, objective) = (state.groups.n_groups(), self.objective(state));
        let before = state.trace.last().copied();
        debug_assert!(before.is_none_or(|b| objective <= b + 1e-9 * (1.0 + b.abs())), "{before:?} -> {objective}");
        state.trace.push(objective);
        let step = Step::Pass { run, pass: state.trace.len(), groups, objective };
        state.stopped |= self.watch.step(&step).is_break();
    }

    /// Every row to the nearest cluster, parameters held still; a row farther than the penalty from all opens one, with
    /// covariance Phi / c, that later rows may join. Returns how many rows moved.
    fn frozen_pass(&self, state: &mut State<'a, T>) -> Result<usize> {
        let mut ellipses = Ellipses::new(self.data.n_columns());
        let reference = || self.data.reference().iter().map(|&r| r.into());
        for k in 0..state.groups.n_groups() {
            let offset: Vec<f64> = state.groups.mean(k).iter().zip(reference()).map(|(m, r): (_, f64)| m - r).collect();
            ellipses.push(&offset, &self.covariance(&state.groups, k)).expect("Phi is positive definite");
        }
        let (cap, penalty) = (self.goal.cap(), self.goal.penalty());
        let zeros = vec![0.0; self.data.n_columns()];
        let mut moved = 0;
        for row in 0..self.data.n_rows() {
            if row % CHUNK == 0 && self.watch.step(&Step::Chunk).is_break() {
                state.stopped = true;
                break;
            }
            let stay = state.labels[row] as usize;
            let (mut chosen, distance) = nearest(ellipses.distances(self.data, row), Some(stay));
            if self.data.weight(row) * distance > penalty && ellipses.len() < cap {
                chosen = ellipses.len();
                ellipses.push(&zeros, self.prior).expect("Phi is positive definite");
                ellipses.move_to(chosen, self.data, row);
            }
            moved += usize::from(chosen != stay);
            state.labels[row] = chosen as u32;
        }
        if moved > 0 {
            self.reseat(state)?;
        }
        Ok(moved)
    }

    /// Row after row with means and covariances following every move. Returns how many rows moved.
    fn collapsed_sweep(&self, state: &mut State<'a, T>, rng: &mut Rng) -> Result<usize> {
        let mut labels = LiveLabels::new(&state.labels);
        let penalty = self.goal.penalty();
        let mut seats: Box<dyn Seats> = match self.goal.cap() {
            usize::MAX => Box::new(CrpSeats::new(f64::NEG_INFINITY, penalty)),
            cap => Box::new(DirichletMultinomialSeats::new(cap, f64::NEG_INFINITY, penalty)),
        };
        let mut groups = FullGroups::in_the_limit(self.data, self.c, &self.scale)?;
        seat_all(&labels, seats.as_mut(), &mut groups);
        let regime = Regime::Limit { temperature: 0.0 };
        let rows = 0..self.data.n_rows();
        let swept = sweep(&mut labels, seats.as_mut(), &mut groups, regime, rows, rng, self.watch);
        state.stopped |= swept.stopped;
        if swept.moved > 0 {
            state.labels = labels.to_vec();
            self.reseat(state)?;
        }
        Ok(swept.moved)
    }

    /// Merges the pair that lowers the objective most, if any does:
    /// c [log|I + Phi^-1 W| - log|I + Phi^-1 scatter_i| - log|I + Phi^-1 scatter_j|] - penalty, with
    /// W = scatter_i + scatter_j + n_i n_j/(n_i+n_j) (m_i-m_j)(m_i-m_j)'.
    fn merge_best_pair(&self, state: &mut State<'a, T>) -> Result<bool> {
        let (d, k, groups) = (self.data.n_columns(), state.groups.n_groups(), &state.groups);
        if matches!(self.goal, Goal::Exactly(_)) {
            return Ok(false);
        }
        let (_, ln_det_prior) = inverse_factor(&self.scale, d).expect("Phi is positive definite");
        let scales: Vec<Vec<f64>> = (0..k).map(|k| groups.scale(k)).collect();
        let means: Vec<Vec<f64>> = (0..k).map(|k| groups.mean(k)).collect();
        let objective = self.goal.objective(groups.loss(), k);
        let mut best = (-MARGIN * (1.0 + objective), None);
        for i in 0..k {
            for j in 0..i {
                let (n_i, n_j) = (groups.size(i), groups.size(j));
                let share = if n_i * n_j > 0.0 { n_i * n_j / (n_i + n_j) } else { 0.0 };
                let apart = |a: usize| means[i][a] - means[j][a];
                let entry =
                    |e: usize| scales[i][e] + scales[j][e] - self.scale[e] + share * apart(e / d) * apart(e % d);
                let joint: Vec<f64> = (0..d * d).map(entry).collect();
                let Some((_, ln_det)) = inverse_factor(&joint, d) else { continue };
                let growth = self.c * (ln_det - ln_det_prior) - groups.group_loss(i) - groups.group_loss(j);
                let change = growth - self.goal.penalty();
                if change < best.0 {
                    best = (change, Some((i as u32, j as u32)));
                }
            }
        }
        let Some((from, to)) = best.1 else { return Ok(false) };
        state.labels.iter_mut().filter(|l| **l == from).for_each(|l| *l = to);
        self.reseat(state)?;
        Ok(true)
    }
}
