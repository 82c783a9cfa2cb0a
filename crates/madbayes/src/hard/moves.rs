//! Split, merge and swap moves: what frees DP-means and K-means from their bad local minima.
//!
//! Merging clusters i and j raises the loss by n_i n_j/(n_i + n_j) |m_i - m_j|^2; a split lowers it by the same formula
//! of its halves. Both are exact, so moves of different clusters add up and no certain move can raise the objective.
//! A trial applies a move that does not pay by itself, lets the passes settle, and takes it back unless they do.

use super::Goal;
use super::cheapest_merge::{Cheapest, cost_of_merge};
use super::known_splits::{KnownSplits, Split};
use super::nearby::most_nearby;
use super::passes::{CONTENT, Run, State};
use crate::data::Real;
use crate::linalg::{Gaps, of_gaps, on_this_processor, squared_distance};
use crate::watch::Step;
use std::f64::consts::FRAC_2_PI;

/// A trial is worth making when the split gains at least this share of what the merge costs.
const HOPE: f64 = 0.3;
/// Passes are cheap once the moves are made, not before: a few are enough to see the next moves.
const PASSES_BETWEEN_MOVES: usize = 3;
/// The same in a sample, whose rows will not be looked at again.
const PASSES_OF_GROWTH: usize = 2;
/// From so many clusters on, one matrix product finds the partners for merges.
const MANY_CLUSTERS: usize = 64;
const TRIAL_PASSES: usize = 12;
const TRIAL_TOLERANCE: f64 = 1e-4;
/// A trial is given up when so many falls like the last would not make it pay: falls shrink from pass to pass.
const PASSES_AHEAD: f64 = 4.0;
/// Trials in a row that may fail: by work (rows x columns x clusters x passes), never by the clock.
const TRIAL_WORK: f64 = 1e9;
const MOST_TRIALS: f64 = 64.0;
/// Clusters double from round to round.
const GROWTH_ROUNDS: usize = 32;
/// A move must lower the objective by this share of it.
const WORTHWHILE: f64 = 1e-10;

/// Two clusters and what merging them costs.
#[derive(Debug, Clone, Copy)]
struct Merge {
    keep: usize,
    close: usize,
    cost: f64,
}

/// Moves that may be made together: no cluster takes part in two of them.
#[derive(Debug, Clone, Default)]
struct Plan {
    splits: Vec<usize>,
    merges: Vec<Merge>,
}

/// Every cluster's best split, and the merge with its cheapest partner, best first.
pub(super) struct Options {
    splits: Vec<Split>,
    by_gain: Vec<usize>,
    merges: Vec<Merge>,
}

impl<T: Real> Run<'_, T> {
    /// Moves and passes in turn until no certain move is left and the trials fail. Ends settled to `tolerance`.
    pub fn polish(&self, state: &mut State) {
        let loose = self.tolerance.max(TRIAL_TOLERANCE);
        let mut known = KnownSplits::default();
        self.settle(state, loose, PASSES_BETWEEN_MOVES.min(self.max_passes));
        while self.passes_left(state) > 0 && !self.is_content(state) {
            let Some(options) = self.options(state, &mut known) else { break };
            if self.certain_moves(state, &options) {
                self.settle(state, loose, PASSES_BETWEEN_MOVES.min(self.passes_left(state)));
            } else if self.most_trials(state) == 0 {
                // Nothing but certain moves can follow: the passes below settle for good, and look for these again.
                break;
            } else if !state.converged {
                // Trials are judged by what they do themselves.
                self.settle(state, loose, self.passes_left(state));
            } else if self.trial(state, &options) {
                self.settle(state, loose, PASSES_BETWEEN_MOVES.min(self.passes_left(state)));
            } else {
                break;
            }
        }
        while !state.stopped && self.passes_left(state) > 0 {
            self.settle(state, self.tolerance, self.passes_left(state));
            let content = self.is_content(state);
            let options = if content { self.merges_only(state) } else { self.options(state, &mut known) };
            let Some(options) = options else { break };
            if !self.certain_moves(state, &options) {
                break;
            }
        }
    }

    /// Moves and passes in turn until no certain move is left: the growth of a sample, whose objective is not that of all rows.
    pub fn grow(&self, state: &mut State) {
        let mut known = KnownSplits::default();
        let mut before = f64::INFINITY;
        for _ in 0..GROWTH_ROUNDS {
            state.trace.clear();
            self.settle(state, TRIAL_TOLERANCE, PASSES_OF_GROWTH);
            let after = state.objective(&self.goal);
            if before - after < CONTENT * self.tolerance * after {
                break;
            }
            before = after;
            let Some(options) = self.options(state, &mut known) else { break };
            if !self.certain_moves(state, &options) {
                break;
            }
        }
    }

    fn passes_left(&self, state: &State) -> usize {
        self.max_passes.saturating_sub(state.trace.len())
    }

    /// Makes all moves that lower the objective for certain; false when there are none.
    pub fn certain_moves(&self, state: &mut State, options: &Options) -> bool {
        let plan = self.certain_plan(state, options);
        let any = !(plan.splits.is_empty() && plan.merges.is_empty());
        if any {
            self.apply(state, options, &plan);
        }
        any
    }

    /// The most hopeful moves one by one, until one of them pays once the passes have settled.
    fn trial(&self, state: &mut State, options: &Options) -> bool {
        let before = state.objective(&self.goal);
        let work = self.work_of_trial(state);
        for plan in self.hopeful_plans(state, options, self.most_trials(state)) {
            state.tried += work;
            let mut changed = state.clone();
            let touched = self.apply(&mut changed, options, &plan);
            let settled = self.settle_nearby(&mut changed, &touched, |run, part, elsewhere| {
                run.settle_while_hopeful(part, before - elsewhere);
            });
            if changed.stopped {
                state.stopped = true;
                return false;
            }
            let after = changed.objective(&self.goal);
            if settled && changed.k() <= self.goal.cap() && after < before - self.worthwhile(before) {
                changed.trace.push(after);
                *state = changed;
                return true;
            }
        }
        false
    }

    /// Multiply-adds of one trial.
    fn work_of_trial(&self, state: &State) -> f64 {
        let nearby = most_nearby(state.k());
        let rows = self.data.n_rows() * nearby / state.k();
        (rows * self.data.n_columns() * nearby * TRIAL_PASSES) as f64
    }

    /// How many trials may still be made.
    fn most_trials(&self, state: &State) -> usize {
        let work = TRIAL_WORK.min(self.trials - state.tried);
        (work / self.work_of_trial(state)).min(MOST_TRIALS) as usize
    }

    /// The passes of a trial, given up once the objective is not to be expected below `target`.
    fn settle_while_hopeful(&self, state: &mut State, target: f64) {
        let mut last = f64::INFINITY;
        for _ in 0..TRIAL_PASSES {
            self.settle(state, TRIAL_TOLERANCE, 1);
            let now = state.objective(&self.goal);
            if state.converged || state.stopped || now - PASSES_AHEAD * (last - now) > target {
                return;
            }
            last = now;
        }
    }

    /// What could be done; none once the watch has said stop.
    pub fn options(&self, state: &mut State, known: &mut KnownSplits) -> Option<Options> {
        let splits = if state.stopped { None } else { known.of(self, state) };
        let Some(splits) = splits else {
            state.stopped = true;
            return None;
        };
        let mut by_gain: Vec<usize> = (0..state.k()).filter(|&k| splits[k].is_some()).collect();
        by_gain.sort_by(|&a, &b| gain(&splits, b).total_cmp(&gain(&splits, a)).then(a.cmp(&b)));
        let merges = self.cheapest_merges(state);
        state.stopped = merges.is_none();
        Some(Options { splits, by_gain, merges: merges? })
    }

    /// What could be done without a look at the rows.
    fn merges_only(&self, state: &mut State) -> Option<Options> {
        let merges = self.cheapest_merges(state);
        state.stopped |= merges.is_none();
        Some(Options { splits: vec![None; state.k()], by_gain: Vec::new(), merges: merges? })
    }

    /// The cheapest partner of every cluster, cheapest first; none once the watch has said stop.
    fn cheapest_merges(&self, state: &State) -> Option<Vec<Merge>> {
        let exact = |i: usize, j: usize| {
            cost_of_merge(state.weights[i], state.weights[j], squared_distance(state.offset(i), state.offset(j)))
        };
        let merge = |i: usize, j: usize| Merge { keep: i.min(j), close: i.max(j), cost: exact(i, j) };
        let partners = if state.k() >= MANY_CLUSTERS {
            let cheapest = |gaps: Gaps| {
                let partner = on_this_processor(Cheapest { gaps, weights: &state.weights });
                partner.map(|j| merge(gaps.own, j))
            };
            of_gaps(&state.offsets, state.n_columns, self.workers, self.watch, cheapest)?
        } else {
            self.watch.step(&Step::Chunk).is_continue().then_some(())?;
            let cheapest = |i: usize| least_but(i, (0..state.k()).map(|j| exact(i, j))).map(|j| merge(i, j));
            self.workers.map(state.k(), cheapest)
        };
        let mut merges: Vec<Merge> = partners.into_iter().flatten().collect();
        merges.sort_by(|a, b| a.cost.total_cmp(&b.cost).then((a.keep, a.close).cmp(&(b.keep, b.close))));
        merges.dedup_by(|a, b| (a.keep, a.close) == (b.keep, b.close));
        Some(merges)
    }

    fn certain_plan(&self, state: &State, options: &Options) -> Plan {
        let mut plan = Plan::default();
        let mut taken = vec![false; state.k()];
        let least = self.worthwhile(state.objective(&self.goal));
        let take_merge = |plan: &mut Plan, taken: &mut Vec<bool>, merge: &Merge| {
            taken[merge.keep] = true;
            taken[merge.close] = true;
            plan.merges.push(*merge);
        };
        match self.goal {
            Goal::Penalty { .. } => {
                for merge in &options.merges {
                    if merge.cost < self.price(state, &[merge.keep, merge.close]) - least
                        && !taken[merge.keep]
                        && !taken[merge.close]
                    {
                        take_merge(&mut plan, &mut taken, merge);
                    }
                }
                for &k in &options.by_gain {
                    let room = state.k() - plan.merges.len() + plan.splits.len() < self.goal.cap();
                    if room && gain(&options.splits, k) > self.price(state, &[k]) + least && !taken[k] {
                        taken[k] = true;
                        plan.splits.push(k);
                    }
                }
            }
            Goal::Exactly(wanted) => {
                let missing = wanted.saturating_sub(state.k());
                plan.splits.extend(options.by_gain.iter().take(missing));
                let merges = options.merges.iter().filter(|_| state.k() > wanted);
                for merge in merges {
                    if plan.merges.len() < state.k() - wanted && !taken[merge.keep] && !taken[merge.close] {
                        take_merge(&mut plan, &mut taken, merge);
                    }
                }
                if state.k() != wanted {
                    return plan;
                }
            }
        }
        // Swaps: one cluster fewer here, one more there.
        for &k in &options.by_gain {
            if taken[k] {
                continue;
            }
            let free = |m: &&Merge| !taken[m.keep] && !taken[m.close] && m.keep != k && m.close != k;
            let Some(merge) = options.merges.iter().find(free) else { break };
            if gain(&options.splits, k) <= merge.cost + least {
                break;
            }
            taken[k] = true;
            plan.splits.push(k);
            take_merge(&mut plan, &mut taken, merge);
        }
        plan
    }

    /// What one cluster more must save beside these, which it is split from or merged with: the penalty, and in a sample also what
    /// it saves there alone. Round noise of D columns and n rows with loss l for each row seems to be wider by (1 + sqrt(D/n))^2
    /// along one direction (Marchenko & Pastur 1967): of what a cut there saves, 2/pi l (1 + 2 sqrt(n/D)) is not to be had in other
    /// rows, and the error of the means costs those 2 l.
    pub fn price(&self, state: &State, clusters: &[usize]) -> f64 {
        if self.others == 0.0 {
            return self.goal.penalty();
        }
        let total = |of: &[f64]| clusters.iter().map(|&k| of[k]).sum::<f64>();
        let n = total(&state.weights) / self.data.total_weight() * self.data.n_rows() as f64;
        let cut = FRAC_2_PI * (1.0 + 2.0 * (n / self.data.n_columns() as f64).sqrt());
        self.goal.penalty() + self.others * (2.0 + cut) * total(&state.losses) / n
    }

    /// By how much a move must lower the objective, or rounding could move in circles.
    fn worthwhile(&self, objective: f64) -> f64 {
        WORTHWHILE * objective + self.rounding_of_squares()
    }

    /// Single moves that do not pay by themselves but might once the passes settle, the least costly first: at most
    /// `most` of them, which are among as many of the cheapest merges and best splits.
    fn hopeful_plans(&self, state: &State, options: &Options, most: usize) -> Vec<Plan> {
        let mut plans: Vec<(f64, Plan)> = Vec::new();
        for merge in options.merges.iter().take(most) {
            for &k in options.by_gain.iter().take(most) {
                let gain = gain(&options.splits, k);
                if gain < HOPE * merge.cost {
                    break;
                }
                if k != merge.keep && k != merge.close {
                    plans.push((merge.cost - gain, Plan { splits: vec![k], merges: vec![*merge] }));
                }
            }
            if let Goal::Penalty { penalty, .. } = self.goal
                && penalty > HOPE * merge.cost
            {
                plans.push((merge.cost - penalty, Plan { splits: vec![], merges: vec![*merge] }));
            }
        }
        if let Goal::Penalty { penalty, .. } = self.goal
            && state.k() < self.goal.cap()
        {
            for &k in options.by_gain.iter().take(most) {
                let gain = gain(&options.splits, k);
                if gain > HOPE * penalty {
                    plans.push((penalty - gain, Plan { splits: vec![k], merges: vec![] }));
                }
            }
        }
        plans.sort_by(|a, b| a.0.total_cmp(&b.0));
        plans.into_iter().take(most).map(|(_, plan)| plan).collect()
    }

    /// Carries out a plan: labels, means, weights and losses stay exact. The clusters that are new or not what they were.
    fn apply(&self, state: &mut State, options: &Options, plan: &Plan) -> Vec<usize> {
        state.bounds = None;
        let (d, before) = (self.data.n_columns(), state.k());
        for merge in &plan.merges {
            let (i, j) = (merge.keep, merge.close);
            let (a, b) = (state.weights[i], state.weights[j]);
            for c in 0..d {
                state.offsets[i * d + c] = (a * state.offsets[i * d + c] + b * state.offsets[j * d + c]) / (a + b);
            }
            state.weights[i] = a + b;
            state.losses[i] += state.losses[j] + merge.cost;
            if let Some(tallies) = &mut state.tallies {
                tallies.merge(j, i);
            }
        }
        for (&k, split) in plan.splits.iter().filter_map(|k| options.splits[*k].as_ref().map(|s| (k, s))) {
            let new = state.weights.len() as u32;
            for &row in &split.leaving {
                state.labels[row as usize] = new;
            }
            let [stayer, leaver] = split.means(self.data, state.offset(k));
            state.offsets[k * d..(k + 1) * d].copy_from_slice(&stayer);
            state.offsets.extend_from_slice(&leaver);
            state.weights[k] = split.weights[0];
            state.weights.push(split.weights[1]);
            if let Some(tallies) = &mut state.tallies {
                let sum: Vec<f64> = leaver.iter().map(|mean| split.weights[1] * mean).collect();
                tallies.split(k, split.leaving.len(), split.weights[1], &sum, split.square);
            }
            // How the rest is shared between the halves matters to nobody: the next pass measures it.
            state.losses[k] = (state.losses[k] - split.gain).max(0.0);
            state.losses.push(0.0);
        }
        let mut names: Vec<u32> = (0..state.weights.len() as u32).collect();
        let mut keep = vec![true; state.weights.len()];
        for merge in &plan.merges {
            names[merge.close] = merge.keep as u32;
            keep[merge.close] = false;
        }
        if !plan.merges.is_empty() {
            for label in state.labels.iter_mut().filter(|l| **l != crate::linalg::NO_LABEL) {
                *label = names[*label as usize];
            }
        }
        let touched = plan.splits.iter().copied().chain(plan.merges.iter().map(|m| m.keep)).chain(before..keep.len());
        let touched = touched.map(|k| keep[..k].iter().filter(|keep| **keep).count()).collect();
        state.retain(&keep);
        touched
    }
}

/// The place of the least of these, the first of equals, but for one place.
fn least_but(but: usize, costs: impl Iterator<Item = f64>) -> Option<usize> {
    let others = costs.enumerate().filter(|(j, _)| *j != but);
    others.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(j, _)| j)
}

fn gain(splits: &[Split], k: usize) -> f64 {
    splits[k].as_ref().map_or(0.0, |s| s.gain)
}
