//! Live groups of Gaussian rows whose mean and covariance are integrated out: both follow every row in and out.
//!
//! With k = k0 + n, v = v0 + n and mean m, a row x in changes P into P + k/(k+1) (x-m)(x-m)', and everything is said by the
//! growth tau = |P + k/(k+1) (x-m)(x-m)'| / |P|: the log predictive is a constant - log|P|/2 - (v+1)/2 log tau, and the
//! charge in the limit c log tau, there with k0 = 0.

use super::Groups;
use super::members::{LOSS_LIMIT, Members};
use crate::data::{Data, Real};
use crate::linalg::add_offset_row;
use std::f64::consts::PI;

/// The matrices P of all groups, of one shape. Slot 0 is the prior's, slot k + 1 that of group k.
pub trait Covariances: Clone {
    /// Numbers a row is padded to.
    fn width(&self) -> usize;
    /// log of the multivariate gamma function at v / 2, or what stands for it in this shape.
    fn ln_gamma(n_columns: usize, v: f64) -> f64;
    /// Adds a copy of slot 0.
    fn open(&mut self);
    /// Removes a slot; the last takes its place.
    fn close(&mut self, slot: usize);
    /// Makes a slot equal to slot 0.
    fn reset(&mut self, slot: usize);
    /// out = log |P + share (x-m)(x-m)'| / |P| for every slot.
    fn ln_growths(&mut self, row: &[f64], means: &[f64], shares: &[f64], out: &mut [f64]);
    /// P += share y y'. None, and nothing done, where some direction would shrink to `least` or below.
    fn change(&mut self, slot: usize, y: &[f64], share: f64, least: f64) -> Option<Growth>;
}

/// What a change did.
#[derive(Debug, Clone, Copy)]
pub struct Growth {
    /// log of the ratio of determinants.
    pub ln_ratio: f64,
    /// The least ratio in any direction, 1 where none shrinks.
    pub least: f64,
}

/// Live groups: size, mean and covariance of each, relative to the reference point.
#[derive(Debug, Clone)]
pub struct NormalGroups<'a, T, C> {
    data: &'a Data<'a, T>,
    /// v0.
    prior_dof: f64,
    /// c, the price of log |S| in the limit.
    covariance_penalty: f64,
    members: Members,
    /// Slot 0 is an empty group, by which a new one is weighed; group k is in slot k + 1.
    slots: Vec<Slot>,
    /// m - reference, padded.
    means: Vec<f64>,
    covariances: C,
    /// The constant of the log predictive for n = 0, 1, ... rows, as far as any group has been.
    ln_constants: Vec<f64>,
    /// The row at hand, relative to the reference point, and its deviation from a mean; both padded.
    row: Vec<f64>,
    deviation: Vec<f64>,
    shares: Vec<f64>,
    ln_growths: Vec<f64>,
}

#[derive(Debug, Clone, Copy)]
struct Slot {
    /// k = k0 + weight of the rows.
    strength: f64,
    /// log |P|.
    ln_det: f64,
    /// Roundings since it was last formed anew.
    lost: f64,
    /// (v + 1) / 2, and the log predictive without the growth: `weigh` reads them, every change renews them.
    power: f64,
    ln_constant: f64,
}

impl<'a, T: Real, C: Covariances> NormalGroups<'a, T, C> {
    /// No groups yet; `covariances` has slot 0 alone, of log determinant `ln_det`.
    pub(super) fn with(
        data: &'a Data<'a, T>,
        prior_offset: Vec<f64>,
        (prior_strength, prior_dof): (f64, f64),
        covariance_penalty: f64,
        (covariances, ln_det): (C, f64),
    ) -> Self {
        let prior = Slot { strength: prior_strength, ln_det, lost: 0.0, power: 0.0, ln_constant: 0.0 };
        let row = vec![0.0; covariances.width()];
        let mut means = prior_offset;
        means.resize(row.len(), 0.0);
        let mut groups = NormalGroups {
            data,
            prior_dof,
            covariance_penalty,
            members: Members::new(data.n_rows()),
            slots: vec![prior],
            means,
            covariances,
            ln_constants: vec![],
            deviation: row.clone(),
            row,
            shares: vec![],
            ln_growths: vec![],
        };
        groups.renew(0, 0);
        groups
    }

    /// Adds the log predictive density of any row under each group, and under a new one.
    pub fn weigh_new(&mut self, row: &[T], out: &mut [f64]) {
        debug_assert!(self.slots[0].strength > 0.0, "in the limit rows are charged, not weighed");
        self.measure(row, 1.0);
        let score = |slot: usize| {
            let Slot { power, ln_constant, .. } = self.slots[slot];
            ln_constant - power * self.ln_growths[slot]
        };
        let (new, groups) = out.split_last_mut().expect("room for a new group");
        groups.iter_mut().enumerate().for_each(|(k, out)| *out += score(k + 1));
        *new += score(0);
    }

    /// c log |P0^-1 P|: what a group adds to the loss.
    pub fn group_loss(&self, group: usize) -> f64 {
        (self.covariance_penalty * (self.slots[group + 1].ln_det - self.slots[0].ln_det)).max(0.0)
    }

    /// Weight of a group's rows.
    pub fn size(&self, group: usize) -> f64 {
        self.strength(group) - self.slots[0].strength
    }

    /// m, in the data's own units.
    pub fn mean(&self, group: usize) -> Vec<f64> {
        let width = self.row.len();
        let mean = &self.means[(group + 1) * width..];
        mean.iter().zip(self.data.reference()).map(|(m, &r)| m + r.into()).collect()
    }

    /// k = k0 + weight of the rows.
    pub(super) fn strength(&self, group: usize) -> f64 {
        self.slots[group + 1].strength
    }

    /// v = v0 + rows.
    pub(super) fn dof(&self, group: usize) -> f64 {
        self.prior_dof + self.members.size(group) as f64
    }

    /// k, v and m (relative to the reference point) of a group, or of one without rows.
    pub(super) fn posterior_numbers(&self, group: Option<usize>) -> (f64, f64, &[f64]) {
        let (slot, width) = (group.map_or(0, |group| group + 1), self.row.len());
        let v = group.map_or(self.prior_dof, |group| self.dof(group));
        let mean = &self.means[slot * width..][..self.data.n_columns()];
        (self.slots[slot].strength, v, mean)
    }

    /// The rows.
    pub(super) fn data(&self) -> &'a Data<'a, T> {
        self.data
    }

    /// The covariances; group k is in slot k + 1.
    pub(super) fn covariances(&self) -> &C {
        &self.covariances
    }

    /// The log growth of every slot if a row of this weight came in: share w k/(k+w), nothing where there is no mean yet.
    fn measure(&mut self, row: &[T], weight: f64) {
        self.load(row);
        self.shares.clear();
        self.shares.extend(self.slots.iter().map(|s| weight * s.strength / (s.strength + weight)));
        self.ln_growths.resize(self.slots.len(), 0.0);
        self.covariances.ln_growths(&self.row, &self.means, &self.shares, &mut self.ln_growths);
    }

    fn load(&mut self, row: &[T]) {
        self.row.fill(0.0);
        add_offset_row(&mut self.row, row, self.data.reference(), 1.0);
    }

    /// A row of this weight comes in (above 0) or goes out (below 0). False, and nothing done, where too much would be lost
    /// to rounding.
    fn change(&mut self, group: usize, row: usize, weight: f64) -> bool {
        self.load(self.data.rows().row(row));
        let (slot, width) = (group + 1, self.row.len());
        let mean = &mut self.means[slot * width..(slot + 1) * width];
        for ((y, x), m) in self.deviation.iter_mut().zip(&self.row).zip(&*mean) {
            *y = x - m;
        }
        let Slot { strength, lost, .. } = self.slots[slot];
        let after = strength + weight;
        // In, about the mean without x: w k/(k+w). Out, about the mean with x: -w k/(k-w).
        let share = weight * strength / after;
        let limit = LOSS_LIMIT.max(self.members.size(group) as f64);
        let Some(growth) = self.covariances.change(slot, &self.deviation, share, 1.0 / (limit - lost)) else {
            return false;
        };
        for (m, y) in mean.iter_mut().zip(&self.deviation) {
            *m += weight / after * y;
        }
        self.slots[slot].strength = after;
        self.slots[slot].ln_det += growth.ln_ratio;
        self.slots[slot].lost += 1.0 / growth.least;
        self.renew(slot, self.members.size(group));
        true
    }

    /// The numbers `weigh` reads, for n rows: the constant is
    /// G(v+1) - G(v) + (D/2) log(k/(k+1)) - (D/2) log pi, with G the log of the multivariate gamma function at half of it.
    fn renew(&mut self, slot: usize, n: usize) {
        let d = self.data.n_columns();
        while self.ln_constants.len() <= n {
            let rows = self.ln_constants.len() as f64;
            let (k, v) = (self.slots[0].strength + rows, self.prior_dof + rows);
            let gammas = C::ln_gamma(d, v + 1.0) - C::ln_gamma(d, v);
            self.ln_constants.push(gammas + 0.5 * d as f64 * ((k / (k + 1.0)).ln() - PI.ln()));
        }
        let slot = &mut self.slots[slot];
        slot.power = 0.5 * (self.prior_dof + n as f64 + 1.0);
        slot.ln_constant = self.ln_constants[n] - 0.5 * slot.ln_det;
    }

    /// A group without rows, exactly as the prior has it.
    fn reset(&mut self, group: usize) {
        let (slot, width) = (group + 1, self.row.len());
        self.slots[slot] = self.slots[0];
        self.means.copy_within(..width, slot * width);
        self.covariances.reset(slot);
    }

    /// Forms a group anew from its rows.
    fn form(&mut self, group: usize) {
        self.reset(group);
        for i in 0..self.members.size(group) {
            let row = self.members.row(group, i);
            self.change(group, row, self.data.weight(row));
            self.slots[group + 1].lost = 0.0;
        }
    }

    /// Log marginal of a group of n rows:
    /// -(nD/2) log pi + G(v) - G(v0) + (v0/2) log|P0| - (v/2) log|P| + (D/2) log(k0/k).
    fn group_ln_marginal(&self, group: usize) -> f64 {
        let (d, prior, slot) = (self.data.n_columns(), &self.slots[0], &self.slots[group + 1]);
        let (n, v0, v) = (self.members.size(group) as f64, self.prior_dof, self.dof(group));
        C::ln_gamma(d, v) - C::ln_gamma(d, v0)
            + 0.5 * (v0 * prior.ln_det - v * slot.ln_det)
            + 0.5 * d as f64 * ((prior.strength / slot.strength).ln() - n * PI.ln())
    }
}

impl<T: Real, C: Covariances> Groups for NormalGroups<'_, T, C> {
    fn n_groups(&self) -> usize {
        self.slots.len() - 1
    }

    fn open(&mut self) {
        self.members.open();
        self.slots.push(self.slots[0]);
        self.means.extend_from_within(..self.row.len());
        self.covariances.open();
    }

    fn close(&mut self, group: usize) {
        self.members.close(group);
        let (slot, last, width) = (group + 1, self.slots.len() - 1, self.row.len());
        self.slots.swap_remove(slot);
        self.means.copy_within(last * width.., slot * width);
        self.means.truncate(last * width);
        self.covariances.close(slot);
    }

    fn add(&mut self, group: usize, row: usize) {
        // A row of weight 0 is nowhere.
        let weight = self.data.weight(row);
        if weight > 0.0 {
            self.members.add(group, row);
            if !self.change(group, row, weight) {
                self.form(group);
            }
        }
    }

    fn sub(&mut self, group: usize, row: usize) {
        let weight = self.data.weight(row);
        if weight > 0.0 {
            self.members.sub(group, row);
            if self.members.size(group) == 0 {
                self.reset(group);
            } else if !self.change(group, row, -weight) {
                self.form(group);
            }
        }
    }

    fn weigh(&mut self, row: usize, out: &mut [f64]) {
        self.weigh_new(self.data.rows().row(row), out);
    }

    /// c log tau; in the limit, where k0 = 0, a group of its own costs nothing here.
    fn charge(&mut self, row: usize, out: &mut [f64]) {
        let weight = self.data.weight(row);
        if weight > 0.0 {
            self.measure(self.data.rows().row(row), weight);
            let (new, groups) = out.split_last_mut().expect("room for a new group");
            for (out, ln_growth) in groups.iter_mut().zip(&self.ln_growths[1..]) {
                *out += self.covariance_penalty * ln_growth;
            }
            *new += self.covariance_penalty * self.ln_growths[0];
        }
    }

    fn ln_marginal(&self) -> f64 {
        debug_assert!(self.slots[0].strength > 0.0, "in the limit there is a loss, and no marginal");
        (0..self.n_groups()).map(|group| self.group_ln_marginal(group)).sum()
    }

    fn loss(&self) -> f64 {
        (0..self.n_groups()).map(|group| self.group_loss(group)).sum()
    }

    fn refresh(&mut self, group_of_row: &dyn Fn(usize) -> usize) {
        self.members.clear();
        for row in (0..self.data.n_rows()).filter(|row| self.data.weight(*row) > 0.0) {
            self.members.add(group_of_row(row), row);
        }
        (0..self.n_groups()).for_each(|group| self.form(group));
    }
}
