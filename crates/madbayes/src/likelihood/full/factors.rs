//! The matrices P of all groups, each by the inverse R of its Cholesky factor.

use crate::likelihood::normal_groups::{Covariances, Growth};
use crate::linalg::{Quadratics, RankOne, Room, on_this_processor, padded};
use crate::special::ln_gamma;

/// The factors of all groups.
#[derive(Debug, Clone)]
pub struct Factors {
    order: usize,
    entries: Vec<f64>,
    deviation: Vec<f64>,
    room: Room,
}

impl Factors {
    /// Slot 0 alone.
    pub fn new(factor: Vec<f64>, order: usize) -> Self {
        Factors { order, entries: factor, deviation: vec![0.0; padded(order)], room: Room::new(order) }
    }

    /// R of a slot.
    pub fn factor(&self, slot: usize) -> &[f64] {
        let size = self.size();
        &self.entries[slot * size..(slot + 1) * size]
    }

    /// Numbers in a factor.
    fn size(&self) -> usize {
        self.width() * self.width()
    }
}

impl Covariances for Factors {
    fn width(&self) -> usize {
        self.deviation.len()
    }

    /// lnGamma_D(v/2), without what does not depend on v.
    fn ln_gamma(n_columns: usize, v: f64) -> f64 {
        (0..n_columns).map(|j| ln_gamma(0.5 * (v - j as f64))).sum()
    }

    fn open(&mut self) {
        self.entries.extend_from_within(..self.size());
    }

    fn close(&mut self, slot: usize) {
        let size = self.size();
        let last = self.entries.len() - size;
        self.entries.copy_within(last.., slot * size);
        self.entries.truncate(last);
    }

    fn reset(&mut self, slot: usize) {
        let size = self.size();
        self.entries.copy_within(..size, slot * size);
    }

    /// |P + share y y'| / |P| = 1 + share y'P^-1 y.
    fn ln_growths(&mut self, row: &[f64], means: &[f64], shares: &[f64], out: &mut [f64]) {
        let (order, factors, deviation) = (self.order, &self.entries[..], &mut self.deviation[..]);
        on_this_processor(Quadratics { order, row, means, factors, deviation, out });
        out.iter_mut().zip(shares).for_each(|(out, share)| *out = (share * *out).ln_1p());
    }

    fn change(&mut self, slot: usize, y: &[f64], share: f64, least: f64) -> Option<Growth> {
        let size = self.size();
        let factor = &mut self.entries[slot * size..(slot + 1) * size];
        let ratio = on_this_processor(RankOne { order: self.order, factor, y, share, least, room: &mut self.room });
        (ratio > least).then(|| Growth { ln_ratio: ratio.ln(), least: ratio.min(1.0) })
    }
}
