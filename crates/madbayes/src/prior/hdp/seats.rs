//! The states of sequences while rows come and go (Teh et al. 2006, direct assignment). With p and q the states before and
//! after, counts without the two transitions at the row, state k weighs
//!
//! (n_pk + alpha beta_k + kappa [p=k]) (n_kq + alpha beta_q + kappa [k=q] + [p=k=q]) / (n_k. + alpha + kappa + [p=k]),
//!
//! a new one alpha beta_new alpha beta_q / (alpha + kappa). The last row of a sequence has no second factor; before the first
//! is the start row, which is not sticky.

use super::tables::{Counts, redraw};
use super::{Hdp, HdpValues, StateWeights};
use crate::prior::Seats;
use crate::random::{Rng, draw_ln_gamma};
use crate::special::{ln_gamma, ln_sum_exp};
use crate::structure::Sequences;

/// A row that is out.
const OUT: u32 = u32::MAX;

/// Live states of sequences that stand one after another.
///
/// Groups point to slots, and counts and weights stand by slot: closing a group moves nothing.
#[derive(Debug, Clone)]
pub struct HdpSeats {
    hdp: Hdp,
    values: HdpValues,
    /// Whether a row is the first of its sequence.
    is_first: Vec<bool>,
    slot_of_row: Vec<u32>,
    slot_of_group: Vec<u32>,
    free: Vec<u32>,
    /// beta by slot.
    weights: Vec<f64>,
    new: f64,
    /// Transitions between rows that are in: from the start (0) or slot + 1, to a slot; `stride` slots have room.
    counts: Vec<f64>,
    totals: Vec<f64>,
    stride: usize,
    /// The row that went out last.
    out: usize,
    /// Draws the parts of beta_new that new states take.
    rng: Rng,
}

impl HdpSeats {
    /// These sequences, all rows out. `rng` draws the weights of new states.
    pub fn new(hdp: Hdp, values: HdpValues, sequences: &Sequences, rng: Rng) -> Self {
        let n_rows = sequences.n_rows();
        let mut is_first = vec![false; n_rows];
        sequences.ranges().for_each(|rows| is_first[rows.start] = true);
        HdpSeats {
            hdp,
            values,
            is_first,
            slot_of_row: vec![OUT; n_rows],
            slot_of_group: vec![],
            free: vec![],
            weights: vec![],
            new: 1.0,
            counts: vec![],
            totals: vec![0.0],
            stride: 0,
            out: 0,
            rng,
        }
    }

    /// All rows in states 0..K with these weights, whatever was before; without weights they are drawn as for new states.
    pub fn seat(&mut self, states: &[u32], weights: Option<StateWeights>) {
        let k = states.iter().max().map_or(0, |&state| state as usize + 1);
        let weights = weights.unwrap_or_else(|| self.hdp.split_all(self.values.gamma, k, &mut self.rng));
        debug_assert_eq!(weights.states.len(), k);
        self.slot_of_group = (0..k as u32).collect();
        self.free.clear();
        (self.weights, self.new) = (weights.states, weights.new);
        self.stride = k.next_power_of_two().max(8);
        self.weights.resize(self.stride, 0.0);
        self.counts = vec![0.0; (self.stride + 1) * self.stride];
        self.totals = vec![0.0; self.stride + 1];
        self.free.extend((k as u32..self.stride as u32).rev());
        self.slot_of_row.fill(OUT);
        (0..states.len()).for_each(|row| self.joined(states[row] as usize, row));
    }

    /// The numbers of the prior.
    pub fn values(&self) -> &HdpValues {
        &self.values
    }

    /// The prior.
    pub fn hdp(&self) -> &Hdp {
        &self.hdp
    }

    /// beta, in the order of the groups.
    pub fn weights(&self) -> StateWeights {
        let states = self.slot_of_group.iter().map(|&slot| self.weights[slot as usize]).collect();
        StateWeights { states, new: self.new }
    }

    /// Transitions so far from a group (none: the start) to a group.
    pub fn count(&self, from: Option<usize>, to: usize) -> f64 {
        let from = from.map_or(0, |group| self.slot_of_group[group] as usize + 1);
        self.counts[from * self.stride + self.slot_of_group[to] as usize]
    }

    /// Transitions so far from a group (none: the start) to any.
    pub fn total(&self, from: Option<usize>) -> f64 {
        self.totals[from.map_or(0, |group| self.slot_of_group[group] as usize + 1)]
    }

    /// The stream that draws the weights of new states.
    pub fn stick_rng(&self) -> &Rng {
        &self.rng
    }

    /// The row of counts that leads to a row, where what comes before it is in.
    fn before(&self, row: usize) -> Option<usize> {
        if self.is_first[row] {
            return Some(0);
        }
        let slot = self.slot_of_row[row - 1];
        (slot != OUT).then_some(slot as usize + 1)
    }

    /// The slot after a row, where there is one and it is in.
    fn after(&self, row: usize) -> Option<usize> {
        if row + 1 == self.is_first.len() || self.is_first[row + 1] {
            return None;
        }
        let slot = self.slot_of_row[row + 1];
        (slot != OUT).then_some(slot as usize)
    }

    /// The weight of a state for a row that is out, between a row of counts and a slot.
    fn weight(&self, slot: usize, from: usize, after: Option<usize>) -> f64 {
        let (alpha, kappa) = (self.values.alpha(), self.values.kappa());
        // The start row weighs by its own concentration and stays nowhere.
        let stays = from.checked_sub(1) == Some(slot);
        let share = if from == 0 { self.values.start } else { alpha };
        let into = self.counts[from * self.stride + slot];
        let mut weight = into + share * self.weights[slot] + if stays { kappa } else { 0.0 };
        if let Some(to) = after {
            let same = if to == slot { kappa + f64::from(stays) } else { 0.0 };
            weight *= self.counts[(slot + 1) * self.stride + to] + alpha * self.weights[to] + same;
            weight /= self.totals[slot + 1] + alpha + kappa + f64::from(stays);
        }
        weight
    }

    /// Log odds of the second of two states for a row that is out, as `weigh` has them; the row before must be in.
    pub(crate) fn ln_odds(&self, row: usize, groups: [usize; 2]) -> f64 {
        let from = self.before(row).expect("the row before is in");
        let [a, b] = groups.map(|group| self.weight(self.slot_of_group[group] as usize, from, self.after(row)));
        (b / a).ln()
    }

    /// Counts the transitions to and from a row in `slot` that go to rows that are in, `by` times.
    fn change(&mut self, slot: usize, row: usize, by: f64) {
        if let Some(from) = self.before(row) {
            self.counts[from * self.stride + slot] += by;
            self.totals[from] += by;
        }
        if let Some(to) = self.after(row) {
            self.counts[(slot + 1) * self.stride + to] += by;
            self.totals[slot + 1] += by;
        }
    }

    /// Whether a row is the first of its sequence.
    pub(crate) fn is_first(&self, row: usize) -> bool {
        self.is_first[row]
    }

    /// A state without weight, until `redraw` gives it some.
    pub(crate) fn open_without_weight(&mut self) {
        if self.free.is_empty() {
            self.grow();
        }
        if let Some(slot) = self.free.pop() {
            self.weights[slot as usize] = 0.0;
            self.slot_of_group.push(slot);
        }
    }

    /// Draws the weights of some states and what is left for new ones given the transitions, their sum s held, from
    /// s Dirichlet(m_k + gamma/L, .., gamma (L-K)/L), m_k the fewest tables there can be. The log density of the draw.
    pub(crate) fn redraw(&mut self, groups: &[usize], rng: &mut Rng) -> f64 {
        let (shapes, total) = self.shapes_and_sum(groups);
        let ln_draws: Vec<f64> = shapes.iter().map(|&shape| draw_ln_gamma(shape, rng)).collect();
        let ln_total = ln_sum_exp(&ln_draws);
        let parts = ln_draws.iter().map(|ln| ((ln - ln_total).exp() * total).max(f64::MIN_POSITIVE));
        let mut parts: Vec<f64> = parts.collect();
        self.new = if parts.len() > groups.len() { parts.pop().unwrap_or(0.0) } else { 0.0 };
        for (&group, part) in groups.iter().zip(parts) {
            self.weights[self.slot_of_group[group] as usize] = part;
        }
        self.ln_redrawn(groups)
    }

    /// The log density with which `redraw` gives the present weights.
    pub(crate) fn ln_redrawn(&self, groups: &[usize]) -> f64 {
        let (shapes, total) = self.shapes_and_sum(groups);
        let weights = groups.iter().map(|&group| self.weights[self.slot_of_group[group] as usize]).chain([self.new]);
        let parts = shapes.iter().zip(weights).map(|(a, weight)| (a - 1.0) * (weight / total).ln() - ln_gamma(*a));
        // Of as many coordinates as there are parts but one.
        parts.sum::<f64>() + ln_gamma(shapes.iter().sum()) - (shapes.len() - 1) as f64 * total.ln()
    }

    /// The shapes of `redraw`, without what is left where nothing can be, and the sum of the weights.
    fn shapes_and_sum(&self, groups: &[usize]) -> (Vec<f64>, f64) {
        let gamma = self.values.gamma;
        let (each, rest) = (self.hdp.added_to_each(gamma), self.hdp.added_to_rest(gamma, self.n_groups()));
        let shapes = groups.iter().map(|&group| self.fewest_tables(group) + each).chain((rest > 0.0).then_some(rest));
        let states = groups.iter().map(|&group| self.weights[self.slot_of_group[group] as usize]);
        (shapes.collect(), states.sum::<f64>() + self.new)
    }

    /// The fewest tables that can have taken a state from beta: one in each cell with transitions to it, but none where
    /// stickiness alone can do; at least 1.
    fn fewest_tables(&self, group: usize) -> f64 {
        let slot = self.slot_of_group[group] as usize;
        let own = self.values.is_sticky().then_some(slot + 1);
        let cells = (0..=self.stride).filter(|from| self.counts[from * self.stride + slot] > 0.0 && Some(*from) != own);
        cells.count().max(1) as f64
    }

    /// Gives two states equal weights within the sum that `redraw` holds, the means of its draws for one table each: known
    /// whatever their rows are.
    pub(crate) fn share_evenly(&mut self, groups: [usize; 2]) {
        let gamma = self.values.gamma;
        let (each, rest) = (self.hdp.added_to_each(gamma), self.hdp.added_to_rest(gamma, self.n_groups()));
        let slots = groups.map(|group| self.slot_of_group[group] as usize);
        let total = slots.iter().map(|&slot| self.weights[slot]).sum::<f64>() + self.new;
        let part = total * (1.0 + each) / (2.0 + 2.0 * each + rest);
        slots.iter().for_each(|&slot| self.weights[slot] = part);
        self.new = (total - 2.0 * part).max(0.0);
    }

    fn is_full(&self) -> bool {
        self.slot_of_group.len() >= self.hdp.most_states()
    }

    /// Twice the room for slots.
    fn grow(&mut self) {
        let (old, stride) = (self.stride, (2 * self.stride).max(8));
        let mut counts = vec![0.0; (stride + 1) * stride];
        for from in 0..=old {
            counts[from * stride..from * stride + old].copy_from_slice(&self.counts[from * old..(from + 1) * old]);
        }
        self.free.extend((old as u32..stride as u32).rev());
        self.totals.resize(stride + 1, 0.0);
        self.weights.resize(stride, 0.0);
        (self.counts, self.stride) = (counts, stride);
    }
}

impl Seats for HdpSeats {
    fn n_groups(&self) -> usize {
        self.slot_of_group.len()
    }

    fn open(&mut self) {
        let (part, new) = self.hdp.split(self.values.gamma, self.n_groups(), self.new, &mut self.rng);
        self.open_without_weight();
        if let Some(&slot) = self.slot_of_group.last() {
            self.weights[slot as usize] = part;
        }
        self.new = new;
    }

    /// A state left empty gives its weight back.
    fn close(&mut self, group: usize) {
        let slot = self.slot_of_group.swap_remove(group);
        self.new += self.weights[slot as usize];
        self.free.push(slot);
        debug_assert_eq!(self.totals[slot as usize + 1], 0.0, "only an empty state can be closed");
    }

    fn joined(&mut self, group: usize, row: usize) {
        let slot = self.slot_of_group[group];
        self.change(slot as usize, row, 1.0);
        self.slot_of_row[row] = slot;
    }

    fn left(&mut self, group: usize, row: usize) {
        let slot = self.slot_of_group[group] as usize;
        debug_assert_eq!(self.slot_of_row[row] as usize, slot);
        self.slot_of_row[row] = OUT;
        self.change(slot, row, -1.0);
        self.out = row;
    }

    fn weigh(&self, out: &mut [f64]) {
        let (alpha, kappa) = (self.values.alpha(), self.values.kappa());
        let from = self.before(self.out).expect("one row is out, its neighbours are in");
        let after = self.after(self.out);
        for (out, &slot) in out.iter_mut().zip(&self.slot_of_group) {
            *out += self.weight(slot as usize, from, after).ln();
        }
        let mut new = if from == 0 { self.values.start } else { alpha } * self.new;
        if let Some(to) = after {
            new *= alpha * self.weights[to] / (alpha + kappa);
        }
        out[self.slot_of_group.len()] += if self.is_full() { f64::NEG_INFINITY } else { new.ln() };
    }

    /// With gamma = exp(-1/(2 s2)) and beta integrated out, only a state more has a price that does not vanish: 1. Counts of
    /// transitions do not grow as s2 -> 0.
    fn charge(&self, out: &mut [f64]) {
        if self.is_full() {
            out[self.slot_of_group.len()] += f64::INFINITY;
        } else if !self.slot_of_group.is_empty() {
            out[self.slot_of_group.len()] += 1.0;
        }
    }

    /// log p(z | beta) + log p(beta): over rows j of the transition matrix, with c_jk what is added to n_jk and c_j its sum,
    /// lgamma(c_j) - lgamma(c_j + n_j.) + sum_k lgamma(c_jk + n_jk) - lgamma(c_jk).
    fn ln_prob(&self) -> f64 {
        let k = self.n_groups();
        let weights = self.weights();
        let rows = (0..=k).map(|row| row.checked_sub(1));
        let of_row = |from: Option<usize>| {
            let cells = (0..k).map(|to| (self.values.added(from, to, weights.states[to]), self.count(from, to)));
            let cells: f64 =
                cells.filter(|(_, n)| *n > 0.0).map(|(added, n)| ln_gamma(added + n) - ln_gamma(added)).sum();
            let all = self.values.added_in_all(from);
            cells + ln_gamma(all) - ln_gamma(all + self.total(from))
        };
        rows.map(of_row).sum::<f64>() + self.hdp.ln_weights(self.values.gamma, &weights)
    }

    fn ln_concentration(&self) -> f64 {
        self.values.concentration.ln()
    }

    fn ln_hyperprior(&self) -> f64 {
        self.hdp.ln_values(&self.values)
    }

    /// Tables, overrides, the prior's numbers, beta.
    fn refresh(&mut self, rng: &mut Rng) {
        let k = self.n_groups();
        let cells = (0..=k).flat_map(|row| (0..k).map(move |to| (row.checked_sub(1), to)));
        let counts = Counts { k, cells: cells.map(|(from, to)| self.count(from, to) as usize).collect() };
        let before = self.weights();
        let weights = redraw(&self.hdp, &mut self.values, &before, &counts, rng);
        for (&slot, weight) in self.slot_of_group.iter().zip(weights.states) {
            self.weights[slot as usize] = weight;
        }
        self.new = weights.new;
    }
}
