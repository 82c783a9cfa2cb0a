//! A fitted mixture as a model: the predictive density of new rows and their most probable cluster, averaged over draws.

use super::mixture_law::{MixtureLaw, MixtureRows, Predictives};
use super::saved;
use crate::counts::Counts;
use crate::data::{Real, Rows, check_about};
use crate::error::{Error, Result};
use crate::parallel::Workers;
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
    /// The rows of a group.
    pub likelihood: MixtureLaw,
    /// The point that sums are taken about.
    pub reference: Vec<f64>,
    /// Rows in each cluster of the point estimate.
    pub sizes: Vec<usize>,
    /// The groups of each draw.
    pub draws: Vec<DrawnGroups>,
    /// The seed of the fit.
    pub seed: u64,
}

/// The groups of one draw, without their rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DrawnGroups {
    /// The weight of a new group, where a group of n rows has n: alpha, or 0 where there may be no more groups.
    #[serde(alias = "concentration")]
    pub new_group: f64,
    /// Rows in each group.
    pub sizes: Vec<f64>,
    /// What the likelihood keeps of each group.
    #[serde(alias = "sums")]
    pub statistics: Vec<f64>,
    /// The share of each cluster of the point estimate that is in each group, K x clusters.
    pub shares: Vec<f64>,
}

/// New rows, as the likelihood wants them.
enum NewRows<'a, T> {
    Dense(Rows<'a, T>),
    Counts(&'a Counts),
}

impl MixtureModel {
    /// From draws, each with the weight of a new group, and the point estimate.
    pub fn new<T: Real>(
        rows: MixtureRows<T>,
        likelihood: MixtureLaw,
        draws: &[(&CompactPartition, f64)],
        estimate: &Partition,
        columns: Vec<String>,
        seed: u64,
    ) -> Result<Self> {
        let reference = rows.reference();
        let work = rows.n_rows() * likelihood.width(reference.len());
        let kept = draws.len().min((WORK / work.max(1)).clamp(FEWEST_DRAWS, MOST_DRAWS));
        let draws = (0..kept).map(|i| draws[i * draws.len() / kept]);
        let draws = draws
            .map(|(draw, new_group)| {
                let draw = draw.to_partition();
                let statistics = likelihood.statistics(rows, &draw)?;
                let sizes = draw.sizes().iter().map(|&size| size as f64).collect();
                Ok(DrawnGroups { new_group, sizes, statistics, shares: shares(&draw, estimate) })
            })
            .collect::<Result<_>>()?;
        Ok(MixtureModel { columns, likelihood, reference, sizes: estimate.sizes().to_vec(), draws, seed })
    }

    /// Number of columns, D.
    pub fn n_columns(&self) -> usize {
        self.reference.len()
    }

    /// The cluster of the point estimate whose rows a new row is most probably with, and the log of its predictive density,
    /// both averaged over draws: the density is the mean over draws of
    /// sum_k n_k/(alpha + N) p(x | group k) + alpha/(alpha + N) p(x | a new group), and the probability of being with a
    /// cluster the mean over its rows of being with them.
    pub fn assign<T: Real>(&self, rows: Rows<T>, workers: &Workers) -> Result<(Vec<u32>, Vec<f64>)> {
        self.check_columns(rows.n_columns())?;
        if let MixtureLaw::Multinomial(_) = self.likelihood {
            return self.assign_counts(&Counts::from_rows(rows)?, workers);
        }
        let reference: Vec<T> = self.reference.iter().map(|&r| T::from_f64(r)).collect();
        check_about(rows, &reference)?;
        self.score_all(rows.n_rows(), NewRows::Dense(rows), workers)
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
            let ln_total = (draw.new_group + draw.sizes.iter().sum::<f64>()).ln();
            let ln_prior: Vec<f64> = draw.sizes.iter().chain([&draw.new_group]).map(|n| n.ln() - ln_total).collect();
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
            match rows {
                NewRows::Counts(counts) => predictives.weigh_counts(counts, range.clone(), take)?,
                NewRows::Dense(rows) => {
                    let rows = rows.slice(range.start, range.end);
                    let rows: Vec<Vec<f64>> = rows.iter().map(|row| row.iter().map(|&x| x.into()).collect()).collect();
                    predictives.weigh_dense(&rows, take)?;
                }
            }
        }
        let ln_draws = (self.draws.len() as f64).ln();
        Ok(densities
            .iter()
            .zip(together.chunks_exact(clusters))
            .map(|(density, together)| {
                // The first of equals.
                let mut best = 0;
                for (cluster, ln_probability) in together.iter().enumerate() {
                    if ln_probability.value() > together[best].value() {
                        best = cluster;
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
        self.likelihood.check(d).map_err(|error| error.to_string())?;
        for draw in &self.draws {
            let k = draw.sizes.len();
            if draw.statistics.len() != k * self.likelihood.width(d) || draw.shares.len() != k * clusters {
                return Err("the groups of a draw do not fit together".into());
            }
            let sizes = draw.sizes.iter().all(|n| n.is_finite() && *n > 0.0);
            let allowed = sizes && draw.new_group.is_finite() && draw.new_group >= 0.0;
            if !allowed {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Data;
    use crate::likelihood::Spherical;

    fn model() -> MixtureModel {
        let values = [0.0, 0.4, 5.0, 5.2, 9.0];
        let data = Data::new(Rows::new(&values, 1).unwrap()).unwrap();
        let likelihood = Spherical { variance: 0.3, prior_mean: vec![4.0], prior_variance: 10.0 };
        let draws = [[0, 0, 1, 1, 2], [0, 0, 1, 1, 1]].map(Partition::from_labels);
        let compact = draws.each_ref().map(CompactPartition::from);
        let weighted = [(&compact[0], 0.8), (&compact[1], 1.7)];
        let law = MixtureLaw::Spherical(likelihood);
        MixtureModel::new(MixtureRows::Dense(&data), law, &weighted, &draws[0], vec!["x".into()], 7).unwrap()
    }

    #[test]
    fn the_predictive_density_integrates_to_1_and_is_the_formula() {
        let (low, high, steps) = (-40.0, 50.0, 9000);
        let grid: Vec<f64> = (0..steps).map(|i| low + (high - low) * (i as f64 + 0.5) / steps as f64).collect();
        let (_, densities) = model().assign(Rows::new(&grid, 1).unwrap(), &Workers::serial()).unwrap();
        let total: f64 = densities.iter().map(|d| d.exp()).sum::<f64>() * (high - low) / steps as f64;
        assert!((total - 1.0).abs() < 1e-6, "{total}");
        // At one point, written out: N(x; (r2 sum + s2 m0)/(n r2 + s2), s2 + s2 r2/(n r2 + s2)).
        let normal = |x: f64, n: f64, sum: f64| {
            let mean = (10.0 * sum + 0.3 * 4.0) / (n * 10.0 + 0.3);
            let variance: f64 = 0.3 + 3.0 / (n * 10.0 + 0.3);
            (-0.5 * (x - mean).powi(2) / variance).exp() / (std::f64::consts::TAU * variance).sqrt()
        };
        let x = 1.1;
        let first =
            2.0 * normal(x, 2.0, 0.4) + 2.0 * normal(x, 2.0, 10.2) + normal(x, 1.0, 9.0) + 0.8 * normal(x, 0.0, 0.0);
        let second = 2.0 * normal(x, 2.0, 0.4) + 3.0 * normal(x, 3.0, 19.2) + 1.7 * normal(x, 0.0, 0.0);
        let expected = (0.5 * (first / 5.8 + second / 6.7)).ln();
        let (labels, found) = model().assign(Rows::new(&[x], 1).unwrap(), &Workers::serial()).unwrap();
        assert!((found[0] - expected).abs() < 1e-9, "{} {expected}", found[0]);
        assert_eq!(labels, [0]);
    }

    #[test]
    fn new_rows_go_to_the_cluster_they_are_most_often_with() {
        let far = [1e4];
        assert_eq!(model().assign(Rows::new(&far, 1).unwrap(), &Workers::serial()).unwrap().0, [2], "far from all");
        let rows = [0.1, 5.1, 8.9];
        assert_eq!(model().assign(Rows::new(&rows, 1).unwrap(), &Workers::serial()).unwrap().0, [0, 1, 2]);
        let error = model().assign(Rows::new(&rows, 3).unwrap(), &Workers::serial()).unwrap_err().to_string();
        assert!(error.contains("the data has 3 columns, the model 1"), "{error}");
    }

    #[test]
    fn a_saved_model_comes_back_and_a_damaged_one_is_refused() {
        let bytes = model().to_bytes();
        assert_eq!(MixtureModel::from_bytes(&bytes).unwrap(), model());
        assert_eq!(saved::kind_of_model(&bytes).unwrap(), "mixture");
        let text = String::from_utf8(bytes.clone()).unwrap().replace("1.7", "-1.7");
        let error = MixtureModel::from_bytes(text.as_bytes()).unwrap_err().to_string();
        assert!(error.contains("not positive"), "{error}");
        let error = crate::model::ClusterModel::from_bytes(&bytes).unwrap_err().to_string();
        assert!(error.contains("of kind \"mixture\""), "{error}");
    }

    #[test]
    fn densities_of_every_law_are_the_ratio_of_marginals_with_the_row_and_without() {
        use crate::likelihood::{Diagonal, Full, Multinomial};
        let values = [0.0, 1.0, 0.4, 2.0, 5.0, 3.0, 5.2, 1.0, 9.0, 4.0];
        let with_row = [&values[..], &[1.0, 2.0]].concat();
        let estimate = Partition::from_labels([0, 0, 1, 1, 1]);
        let compact = CompactPartition::from(&estimate);
        let prior_mean = vec![4.0, 2.0];
        let (prior_strength, prior_dof) = (0.5, 4.0);
        let laws = [
            MixtureLaw::Full(Full {
                prior_mean: prior_mean.clone(),
                prior_strength,
                prior_dof,
                prior_scale: vec![2.0, 0.3, 0.3, 1.0],
            }),
            MixtureLaw::Diagonal(Diagonal {
                prior_mean: prior_mean.clone(),
                prior_strength,
                prior_dof,
                prior_scale: vec![2.0, 1.0],
            }),
            MixtureLaw::Spherical(Spherical { variance: 0.7, prior_mean, prior_variance: 3.0 }),
            MixtureLaw::Multinomial(Multinomial { pseudocount: 0.5 }),
        ];
        for law in laws {
            let data = Data::new(Rows::new(&values, 2).unwrap()).unwrap();
            let longer = Data::new(Rows::new(&with_row, 2).unwrap()).unwrap();
            let counts = Counts::from_rows(longer.rows()).unwrap();
            let all = Counts::from_rows(data.rows()).unwrap();
            let sparse = matches!(law, MixtureLaw::Multinomial(_));
            let (rows, more) = if sparse {
                (MixtureRows::Counts(&all), MixtureRows::Counts(&counts))
            } else {
                (MixtureRows::Dense(&data), MixtureRows::Dense(&longer))
            };
            let model =
                MixtureModel::new(rows, law.clone(), &[(&compact, 0.8)], &estimate, vec!["x".into(), "y".into()], 0);
            let model = model.unwrap();
            // By the live groups: the marginal of all six rows, the last in each group, less that of the first five.
            let mut groups = law.groups(more).unwrap();
            (0..3).for_each(|_| groups.open());
            (0..5).for_each(|row| groups.add(estimate.labels()[row] as usize, row));
            let before = groups.ln_marginal();
            let sizes = [2.0, 3.0, 0.8];
            let terms: Vec<f64> = (0..3)
                .map(|k| {
                    groups.add(k, 5);
                    let ratio = groups.ln_marginal() - before;
                    groups.sub(k, 5);
                    ratio + (sizes[k] / 5.8_f64).ln()
                })
                .collect();
            let (_, found) = model.assign(Rows::new(&with_row[10..], 2).unwrap(), &Workers::serial()).unwrap();
            assert!((found[0] - ln_sum_exp(&terms)).abs() < 1e-9, "{law:?}: {} {}", found[0], ln_sum_exp(&terms));
            assert_eq!(MixtureModel::from_bytes(&model.to_bytes()).unwrap(), model, "{law:?}");
        }
    }

    #[test]
    fn a_file_from_before_there_were_other_laws_is_read() {
        let text = String::from_utf8(model().to_bytes()).unwrap();
        let older = text.replace("\"new_group\"", "\"concentration\"").replace("\"statistics\"", "\"sums\"");
        assert_ne!(text, older);
        assert!(!text.contains("\"name\""), "the spherical law is written as it always was");
        assert_eq!(MixtureModel::from_bytes(older.as_bytes()).unwrap(), model());
    }
}
