//! A fitted mixture as a model: the predictive density of new rows and their most probable cluster, averaged over draws.

#[cfg(test)]
mod tests;

use super::mixture_law::{MixtureLaw, MixtureRows, Predictives};
use super::new_rows::NewRows;
use super::saved;
use crate::counts::Counts;
use crate::data::{EitherRows, Real, Rows, check_about};
use crate::error::{Error, Result};
use crate::parallel::Workers;
use crate::prepare::Standardise;
use crate::separator::FittedHyperplanes;
use crate::special::ln_sum_exp;
use crate::structure::{CompactPartition, Partition};
use serde::{Deserialize, Serialize};
use std::ops::Range;

const KIND: &str = "mixture";
/// Draws that are averaged over: more are thinned evenly, and further where what is kept of them takes more additions.
const MOST_DRAWS: usize = 500;
const FEWEST_DRAWS: usize = 20;
const WORK: usize = 2_000_000_000;
/// Rows scored by one task.
const ROWS_PER_TASK: usize = 256;

/// What the draws of a sampler say of rows it has not seen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MixtureModel {
    /// Names of the columns, in order.
    pub columns: Vec<String>,
    /// What was done to the rows before; none: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub standardise: Option<Standardise>,
    /// The rows of a group.
    pub likelihood: MixtureLaw,
    /// The point that sums are taken about.
    pub reference: Vec<f64>,
    /// Rows in each cluster of the point estimate.
    pub sizes: Vec<usize>,
    /// The groups of each draw.
    pub draws: Vec<DrawnGroups>,
    /// The hyperplanes of the clusters of the point estimate, of a discriminative mixture.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hyperplanes: Option<FittedHyperplanes>,
    /// The seed of the fit.
    pub seed: u64,
}

/// The groups of one draw, without their rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DrawnGroups {
    /// The weight of a new group, where a group of n rows has n + `per_group`: alpha, or 0 where there may be no more groups.
    #[serde(alias = "concentration")]
    pub new_group: f64,
    /// What the prior adds to the rows of a group: alpha / K where there are K components, else 0.
    #[serde(default)]
    pub per_group: f64,
    /// Rows in each group.
    pub sizes: Vec<f64>,
    /// What the likelihood keeps of each group.
    #[serde(alias = "sums")]
    pub statistics: Vec<f64>,
    /// The share of each cluster of the point estimate that is in each group, K x clusters.
    pub shares: Vec<f64>,
}

/// A draw of a sampler and what it says of where the next row goes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DrawnPartition<'a> {
    /// The groups of all rows.
    pub partition: &'a CompactPartition,
    /// The weight of a new group.
    pub new_group: f64,
    /// A group of n rows has the weight n + `per_group`.
    pub per_group: f64,
}

impl MixtureModel {
    /// From draws and the point estimate.
    pub fn new<T: Real>(
        rows: MixtureRows<T>,
        likelihood: MixtureLaw,
        draws: &[DrawnPartition],
        estimate: &Partition,
        columns: Vec<String>,
        seed: u64,
    ) -> Result<Self> {
        let reference = rows.reference();
        let work = rows.n_rows() * likelihood.width(reference.len());
        let kept = draws.len().min((WORK / work.max(1)).clamp(FEWEST_DRAWS, MOST_DRAWS));
        let draws = (0..kept).map(|i| draws[i * draws.len() / kept]);
        let draws = draws
            .map(|DrawnPartition { partition, new_group, per_group }| {
                let draw = partition.to_partition();
                let statistics = likelihood.statistics(rows, &draw)?;
                let sizes = draw.sizes().iter().map(|&size| size as f64).collect();
                Ok(DrawnGroups { new_group, per_group, sizes, statistics, shares: shares(&draw, estimate) })
            })
            .collect::<Result<_>>()?;
        Ok(MixtureModel {
            columns,
            standardise: None,
            likelihood,
            reference,
            sizes: estimate.sizes().to_vec(),
            draws,
            hyperplanes: None,
            seed,
        })
    }

    /// Number of columns, D.
    pub fn n_columns(&self) -> usize {
        self.reference.len()
    }

    /// The cluster of the point estimate whose rows a new row is most probably with, and the log of its predictive density,
    /// both averaged over draws: the density is the mean over draws of
    /// sum_k n_k/(alpha + N) p(x | group k) + alpha/(alpha + N) p(x | a new group), with the weights of a finite prior
    /// where that was used, and the probability of being with a cluster the mean over its rows of being with them, times
    /// p(y = 1)/p(y = -1) under its hyperplane where there is one. Rows are given in the user's units, and densities are in
    /// these.
    pub fn assign<T: Real>(&self, rows: Rows<T>, workers: &Workers) -> Result<(Vec<u32>, Vec<f64>)> {
        fn either(this: &MixtureModel, rows: EitherRows, workers: &Workers) -> Result<(Vec<u32>, Vec<f64>)> {
            either!(rows, rows => this.assign_on(rows, workers))
        }
        either(self, T::either_rows(rows), workers)
    }

    fn assign_on<T: Real>(&self, rows: Rows<T>, workers: &Workers) -> Result<(Vec<u32>, Vec<f64>)> {
        self.check_columns(rows.n_columns())?;
        if let MixtureLaw::Multinomial(_) = self.likelihood {
            return self.assign_counts(&Counts::from_rows(rows)?, workers);
        }
        let prepared = self.standardise.as_ref().map(|s| s.apply(rows)).transpose()?;
        let rows = prepared.as_ref().map_or(Ok(rows), |values| Rows::new(values, rows.n_columns()))?;
        let reference: Vec<T> = self.reference.iter().map(|&r| T::from_f64(r)).collect();
        check_about(rows, &reference)?;
        let (labels, mut densities) = self.score_all(rows.n_rows(), NewRows::Dense(rows), workers)?;
        if let Some(standardise) = &self.standardise {
            let ln_volume: f64 = standardise.scales.iter().map(|scale| scale.ln()).sum();
            densities.iter_mut().for_each(|density| *density -= ln_volume);
        }
        Ok((labels, densities))
    }

    /// The same for rows of counts.
    pub fn assign_counts(&self, counts: &Counts, workers: &Workers) -> Result<(Vec<u32>, Vec<f64>)> {
        self.check_columns(counts.n_columns())?;
        self.score_all::<f64>(counts.n_rows(), NewRows::Counts(counts), workers)
    }

    fn check_columns(&self, n_columns: usize) -> Result<()> {
        if n_columns == self.n_columns() {
            return Ok(());
        }
        Err(Error::data(
            format!("the data has {n_columns} columns, the model {}", self.n_columns()),
            format!("give the columns it was fitted on: {}", named(&self.columns)),
        ))
    }

    fn score_all<T: Real>(&self, n_rows: usize, rows: NewRows<T>, workers: &Workers) -> Result<(Vec<u32>, Vec<f64>)> {
        let predictives = self
            .draws
            .iter()
            .map(|draw| self.likelihood.predictives(&self.reference, &draw.sizes, &draw.statistics))
            .collect::<Result<Vec<_>>>()?;
        let scored = workers.map(n_rows.div_ceil(ROWS_PER_TASK), |task| {
            let start = task * ROWS_PER_TASK;
            self.score(&rows, start..(start + ROWS_PER_TASK).min(n_rows), &predictives)
        });
        let scored = scored.into_iter().collect::<Result<Vec<_>>>()?;
        Ok(scored.into_iter().flatten().unzip())
    }

    fn score<T: Real>(
        &self,
        rows: &NewRows<T>,
        range: Range<usize>,
        predictives: &[Predictives],
    ) -> Result<Vec<(u32, f64)>> {
        let clusters = self.sizes.len();
        // Logarithms: far from all rows a new group has nearly all the weight, and some cluster is still the likeliest.
        let mut together = vec![LnSum::default(); range.len() * clusters];
        let mut densities = vec![LnSum::default(); range.len()];
        for (draw, predictives) in self.draws.iter().zip(predictives) {
            let groups = draw.sizes.iter().map(|n| n + draw.per_group);
            let ln_total = (draw.new_group + groups.clone().sum::<f64>()).ln();
            let ln_prior: Vec<f64> = groups.chain([draw.new_group]).map(|weight| weight.ln() - ln_total).collect();
            let take = |n: usize, ln_predictives: &[f64]| {
                let weights: Vec<f64> = ln_prior.iter().zip(ln_predictives).map(|(a, b)| a + b).collect();
                let ln_density = ln_sum_exp(&weights);
                densities[n].add(ln_density);
                for (weight, shares) in weights.iter().zip(draw.shares.chunks_exact(clusters)) {
                    for (cluster, share) in shares.iter().enumerate().filter(|(_, share)| **share > 0.0) {
                        together[n * clusters + cluster].add(weight - ln_density + share.ln());
                    }
                }
            };
            rows.weigh(predictives, range.clone(), take)?;
        }
        let ln_draws = (self.draws.len() as f64).ln();
        Ok(densities
            .iter()
            .zip(together.chunks_exact(clusters))
            .zip(range)
            .map(|((density, together), row)| {
                // The first of equals.
                let (mut best, mut highest) = (0, f64::NEG_INFINITY);
                for (cluster, ln_probability) in together.iter().enumerate() {
                    let of = |hyperplanes| rows.ln_ratio(hyperplanes, cluster, row);
                    let weight = ln_probability.value() + self.hyperplanes.as_ref().map_or(0.0, of);
                    if weight > highest {
                        (best, highest) = (cluster, weight);
                    }
                }
                (best as u32, density.value() - ln_draws)
            })
            .collect())
    }

    /// The model as JSON.
    pub fn to_bytes(&self) -> Vec<u8> {
        saved::to_bytes(KIND, self)
    }

    /// Reads what `to_bytes` of this or an older version wrote.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        saved::from_bytes(KIND, bytes, MixtureModel::check)
    }

    fn check(&self) -> std::result::Result<(), String> {
        let (d, clusters) = (self.n_columns(), self.sizes.len());
        if d == 0 || clusters == 0 || self.draws.is_empty() {
            return Err("it has no columns, clusters or draws".into());
        }
        if self.columns.len() != d {
            return Err(format!("its column names are not {d}"));
        }
        if let Some(standardise) = &self.standardise {
            check_standardisation(standardise, d)?;
        }
        self.likelihood.check(d).map_err(|error| error.to_string())?;
        self.hyperplanes.as_ref().map_or(Ok(()), |hyperplanes| hyperplanes.check(clusters, d))?;
        for draw in &self.draws {
            let k = draw.sizes.len();
            if draw.statistics.len() != k * self.likelihood.width(d) || draw.shares.len() != k * clusters {
                return Err("the groups of a draw do not fit together".into());
            }
            let sizes = draw.sizes.iter().all(|n| n.is_finite() && *n > 0.0);
            let weights = [draw.new_group, draw.per_group].iter().all(|w| w.is_finite() && *w >= 0.0);
            if !(sizes && weights) {
                return Err("a draw has a size or a concentration that is not positive".into());
            }
            if draw.statistics.iter().chain(&draw.shares).any(|x| !x.is_finite()) {
                return Err("it holds numbers that are not finite".into());
            }
            self.likelihood
                .predictives(&self.reference, &draw.sizes, &draw.statistics)
                .map_err(|error| error.to_string())?;
        }
        Ok(())
    }
}

/// Says what is wrong with the standardisation of D columns.
pub(super) fn check_standardisation(standardise: &Standardise, d: usize) -> std::result::Result<(), String> {
    if standardise.means.len() != d || standardise.scales.len() != d {
        return Err(format!("its standardisation is not of {d} columns"));
    }
    let usable = |scale: &f64| scale.is_finite() && *scale > 0.0;
    if !standardise.scales.iter().all(usable) || standardise.means.iter().any(|mean| !mean.is_finite()) {
        return Err("its standardisation is not by positive finite numbers".into());
    }
    Ok(())
}

/// The share of each cluster of the estimate that is in each group of the draw, K x clusters.
fn shares(draw: &Partition, estimate: &Partition) -> Vec<f64> {
    let clusters = estimate.n_groups();
    let mut shares = vec![0.0; draw.n_groups() * clusters];
    for (&group, &cluster) in draw.labels().iter().zip(estimate.labels()) {
        shares[group as usize * clusters + cluster as usize] += 1.0 / estimate.sizes()[cluster as usize] as f64;
    }
    shares
}

/// The first few names.
fn named(columns: &[String]) -> String {
    const SHOWN: usize = 10;
    let more = if columns.len() > SHOWN { ", ..." } else { "" };
    columns[..columns.len().min(SHOWN)].join(", ") + more
}

/// log sum exp of what was added, without overflow.
#[derive(Debug, Clone, Copy)]
pub(super) struct LnSum {
    top: f64,
    sum: f64,
}

impl Default for LnSum {
    fn default() -> Self {
        LnSum { top: f64::NEG_INFINITY, sum: 0.0 }
    }
}

impl LnSum {
    pub fn add(&mut self, x: f64) {
        if x > self.top {
            self.sum = self.sum * (self.top - x).exp() + 1.0;
            self.top = x;
        } else if x > f64::NEG_INFINITY {
            self.sum += (x - self.top).exp();
        }
    }

    pub fn value(&self) -> f64 {
        if self.sum == 0.0 { f64::NEG_INFINITY } else { self.top + self.sum.ln() }
    }
}
