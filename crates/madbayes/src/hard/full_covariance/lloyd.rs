//! K clusters whose covariances are given and held fixed, or learned without a prior (Phi = 0, the paper's own objective:
//! sum_k [sum_n (x_n-mu_k)'S_k^-1(x_n-mu_k) + c log|S_k|], S_k = scatter_k / c): rows to clusters, clusters to rows.

use super::Outcome;
use super::ellipses::{Ellipses, nearest, offset_means};
use crate::data::{CHUNK, Data, Real};
use crate::error::{Error, Result};
use crate::hard::seeds;
use crate::linalg::add_offset_row;
use crate::random::Rng;
use crate::watch::{Step, Watch};

/// The problem of one fit.
pub struct Lloyd<'a, T> {
    pub data: &'a Data<'a, T>,
    pub n_clusters: usize,
    pub c: f64,
    /// K x D x D, where they are given.
    pub fixed: Option<&'a [f64]>,
    pub tolerance: f64,
    pub watch: &'a dyn Watch,
}

impl<T: Real> Lloyd<'_, T> {
    /// From D^2 seeds to labels that do not change.
    pub fn run(&self, number: usize, max_passes: usize, rng: &mut Rng) -> Result<Outcome> {
        let (d, k) = (self.data.n_columns(), self.n_clusters);
        let identity: Vec<f64> = (0..d * d).map(|e| f64::from(u8::from(e / d == e % d))).collect();
        let offsets = seeds(self.data, k, rng, self.watch);
        let distinct = offsets.len() / d;
        if distinct < k {
            return Err(Error::Distinct { distinct, wanted: k });
        }
        let mut start = Ellipses::new(d);
        for (j, offset) in offsets.chunks_exact(d).enumerate() {
            let covariance = self.fixed.map_or(&identity[..], |f| &f[j * d * d..(j + 1) * d * d]);
            start.push(offset, covariance).expect("checked to be positive definite");
        }
        let mut outcome = Outcome { labels: vec![0; self.data.n_rows()], ..Outcome::default() };
        self.assign(&mut start, &mut outcome, true);
        loop {
            let offsets = offset_means(self.data, &outcome.labels, k);
            outcome.covariances = match self.fixed {
                Some(fixed) => fixed.to_vec(),
                None => self.scatters(&outcome.labels, &offsets),
            };
            let (mut ellipses, mut price) = (Ellipses::new(d), 0.0);
            for (j, covariance) in outcome.covariances.chunks_exact(d * d).enumerate() {
                let ln_det = ellipses.push(&offsets[j * d..(j + 1) * d], covariance);
                let ln_det = ln_det.ok_or_else(|| self.unbounded(&outcome.labels, j))?;
                price += if self.fixed.is_some() { 0.0 } else { self.c * ln_det };
            }
            let reference = self.data.reference().iter().map(|&r| r.into()).cycle();
            outcome.centres = offsets.iter().zip(reference).map(|(m, r): (_, f64)| m + r).collect();
            let rows = 0..self.data.n_rows();
            let loss: f64 =
                rows.map(|n| self.data.weight(n) * ellipses.distances(self.data, n)[outcome.labels[n] as usize]).sum();
            let objective = loss + price;
            let before = outcome.trace.last().copied();
            debug_assert!(
                before.is_none_or(|b| objective <= b + 1e-9 * (1.0 + b.abs() + loss)),
                "{before:?} {objective}"
            );
            outcome.trace.push(objective);
            let step = Step::Pass { run: number, pass: outcome.trace.len(), groups: k, objective };
            outcome.stopped |= self.watch.step(&step).is_break();
            if outcome.stopped || outcome.trace.len() >= max_passes {
                break;
            }
            // Without a prior the objective may be negative.
            let small = before.is_some_and(|b| b - objective < self.tolerance * objective.abs());
            if small || self.assign(&mut ellipses, &mut outcome, false) == 0 {
                outcome.converged = !outcome.stopped;
                break;
            }
        }
        Ok(outcome)
    }

    /// Every row to the nearest cluster; an empty cluster of fixed covariance takes the row farthest from its own. Returns
    /// how many rows moved.
    fn assign(&self, ellipses: &mut Ellipses, outcome: &mut Outcome, first: bool) -> usize {
        let (mut moved, mut sizes) = (0, vec![0; self.n_clusters]);
        let mut farthest = vec![];
        for row in 0..self.data.n_rows() {
            if row % CHUNK == 0 && self.watch.step(&Step::Chunk).is_break() && !first {
                outcome.stopped = true;
                return moved;
            }
            let stay = outcome.labels[row] as usize;
            let (chosen, distance) = nearest(ellipses.distances(self.data, row), (!first).then_some(stay));
            moved += usize::from(chosen != stay);
            outcome.labels[row] = chosen as u32;
            sizes[chosen] += 1;
            farthest.push((self.data.weight(row) * distance, row));
        }
        farthest.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let mut candidates = farthest.into_iter().filter(|(distance, _)| *distance > 0.0);
        for empty in 0..self.n_clusters {
            while sizes[empty] == 0 && self.fixed.is_some() {
                let Some((_, row)) = candidates.next() else { break };
                let from = &mut sizes[outcome.labels[row] as usize];
                if *from > 1 {
                    *from -= 1;
                    outcome.labels[row] = empty as u32;
                    sizes[empty] = 1;
                    moved += 1;
                }
            }
        }
        moved
    }

    /// scatter_k / c, K x D x D.
    fn scatters(&self, labels: &[u32], offsets: &[f64]) -> Vec<f64> {
        let d = self.data.n_columns();
        let mut scatters = vec![0.0; self.n_clusters * d * d];
        let mut deviation = vec![0.0; d];
        for (n, &label) in labels.iter().enumerate() {
            let label = label as usize;
            deviation.fill(0.0);
            add_offset_row(&mut deviation, self.data.rows().row(n), self.data.reference(), 1.0);
            deviation.iter_mut().zip(&offsets[label * d..]).for_each(|(x, m)| *x -= m);
            let share = self.data.weight(n) / self.c;
            for (e, entry) in scatters[label * d * d..(label + 1) * d * d].iter_mut().enumerate() {
                *entry += share * deviation[e / d] * deviation[e % d];
            }
        }
        scatters
    }

    fn unbounded(&self, labels: &[u32], cluster: usize) -> Error {
        let (rows, d) = (labels.iter().filter(|l| **l as usize == cluster).count(), self.data.n_columns());
        Error::argument(
            "covariance_prior",
            "given where a cluster may have no spread in some direction",
            format!("no prior, and a cluster of {rows} rows in {d} columns whose covariance is singular"),
            format!(
                "the objective is unbounded below there; give the covariance expected within a cluster, or ask for so few \
                 clusters that each has well over {d} rows"
            ),
        )
    }
}
