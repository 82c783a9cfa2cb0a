//! A fitted mixture as a model: the predictive density of new rows and their most probable cluster, averaged over draws.

use super::saved;
use crate::data::{Data, Real, Rows, check_about};
use crate::error::{Error, Result};
use crate::likelihood::Spherical;
use crate::parallel::Workers;
use crate::structure::{CompactPartition, Partition};
use serde::{Deserialize, Serialize};

const KIND: &str = "mixture";
/// Draws that are averaged over: more are thinned evenly.
const MOST_DRAWS: usize = 500;
/// Rows scored by one task.
const ROWS_PER_TASK: usize = 256;

/// What the draws of a sampler say of rows it has not seen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MixtureModel {
    /// Names of the columns, in order.
    pub columns: Vec<String>,
    /// The rows of a group.
    pub likelihood: Spherical,
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
    /// alpha.
    pub concentration: f64,
    /// Rows in each group.
    pub sizes: Vec<f64>,
    /// sum (x - reference) of each group, K x D.
    pub sums: Vec<f64>,
    /// The share of each cluster of the point estimate that is in each group, K x clusters.
    pub shares: Vec<f64>,
}

impl MixtureModel {
    /// From draws, each with its concentration, and the point estimate.
    pub fn new<T: Real>(
        data: &Data<T>,
        likelihood: Spherical,
        draws: &[(&CompactPartition, f64)],
        estimate: &Partition,
        columns: Vec<String>,
        seed: u64,
    ) -> Self {
        let kept = draws.len().min(MOST_DRAWS);
        let draws = (0..kept).map(|i| draws[i * draws.len() / kept]);
        let draws = draws
            .map(|(draw, concentration)| drawn_groups(data, &draw.to_partition(), concentration, estimate))
            .collect();
        MixtureModel {
            columns,
            likelihood,
            reference: data.reference().iter().map(|&r| r.into()).collect(),
            sizes: estimate.sizes().to_vec(),
            draws,
            seed,
        }
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
        if rows.n_columns() != self.n_columns() {
            return Err(Error::data(
                format!("the data has {} columns, the model {}", rows.n_columns(), self.n_columns()),
                format!("give the columns it was fitted on: {}", self.columns.join(", ")),
            ));
        }
        let reference: Vec<T> = self.reference.iter().map(|&r| T::from_f64(r)).collect();
        check_about(rows, &reference)?;
        let prior_mean: Vec<f64> =
            self.likelihood.prior_mean.iter().zip(&self.reference).map(|(mean, reference)| mean - reference).collect();
        let scored = workers.map(rows.n_rows().div_ceil(ROWS_PER_TASK), |task| {
            let start = task * ROWS_PER_TASK;
            let end = (start + ROWS_PER_TASK).min(rows.n_rows());
            rows.slice(start, end).iter().map(|row| self.score(row, &prior_mean)).collect::<Vec<_>>()
        });
        Ok(scored.into_iter().flatten().unzip())
    }

    fn score<T: Real>(&self, row: &[T], prior_mean: &[f64]) -> (u32, f64) {
        let row: Vec<f64> = row.iter().zip(&self.reference).map(|(&x, reference)| x.into() - reference).collect();
        // Logarithms: far from all rows a new group has nearly all the weight, and some cluster is still the likeliest.
        let mut together = vec![Vec::with_capacity(self.draws.len()); self.sizes.len()];
        let mut weights = Vec::new();
        let mut ln_densities = Vec::with_capacity(self.draws.len());
        for draw in &self.draws {
            let ln_total = (draw.concentration + draw.sizes.iter().sum::<f64>()).ln();
            weights.clear();
            weights.extend(draw.sizes.iter().chain([&draw.concentration]).map(|size| size.ln() - ln_total));
            self.likelihood.weigh(&row, prior_mean, &draw.sizes, &draw.sums, &mut weights);
            let ln_density = ln_sum_exp(&weights);
            ln_densities.push(ln_density);
            let clusters = self.sizes.len();
            for (cluster, together) in together.iter_mut().enumerate() {
                let shares = draw.shares.iter().skip(cluster).step_by(clusters);
                let terms = weights.iter().zip(shares).filter(|(_, share)| **share > 0.0);
                let terms: Vec<f64> = terms.map(|(weight, share)| weight - ln_density + share.ln()).collect();
                together.push(ln_sum_exp(&terms));
            }
        }
        let together: Vec<f64> = together.iter().map(|terms| ln_sum_exp(terms)).collect();
        // The first of equals.
        let mut best = 0;
        for (cluster, ln_probability) in together.iter().enumerate() {
            if *ln_probability > together[best] {
                best = cluster;
            }
        }
        (best as u32, ln_sum_exp(&ln_densities) - (self.draws.len() as f64).ln())
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
            if draw.sums.len() != k * d || draw.shares.len() != k * clusters {
                return Err("the groups of a draw do not fit together".into());
            }
            if draw.sizes.iter().chain([&draw.concentration]).any(|x| !(x.is_finite() && *x > 0.0)) {
                return Err("a draw has a size or a concentration that is not positive".into());
            }
            if draw.sums.iter().chain(&draw.shares).any(|x| !x.is_finite()) {
                return Err("it holds numbers that are not finite".into());
            }
        }
        Ok(())
    }
}

fn drawn_groups<T: Real>(data: &Data<T>, draw: &Partition, concentration: f64, estimate: &Partition) -> DrawnGroups {
    let (d, clusters) = (data.n_columns(), estimate.n_groups());
    let mut sums = vec![0.0; draw.n_groups() * d];
    let mut shares = vec![0.0; draw.n_groups() * clusters];
    for (n, row) in data.rows().iter().enumerate() {
        let (group, cluster) = (draw.labels()[n] as usize, estimate.labels()[n] as usize);
        crate::linalg::add_offset_row(&mut sums[group * d..(group + 1) * d], row, data.reference(), 1.0);
        shares[group * clusters + cluster] += 1.0 / estimate.sizes()[cluster] as f64;
    }
    let sizes = draw.sizes().iter().map(|&size| size as f64).collect();
    DrawnGroups { concentration, sizes, sums, shares }
}

/// log sum exp(x), without overflow.
fn ln_sum_exp(values: &[f64]) -> f64 {
    let top = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if top == f64::NEG_INFINITY { top } else { top + values.iter().map(|v| (v - top).exp()).sum::<f64>().ln() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model() -> MixtureModel {
        let values = [0.0, 0.4, 5.0, 5.2, 9.0];
        let data = Data::new(Rows::new(&values, 1).unwrap()).unwrap();
        let likelihood = Spherical { variance: 0.3, prior_mean: vec![4.0], prior_variance: 10.0 };
        let draws = [[0, 0, 1, 1, 2], [0, 0, 1, 1, 1]].map(Partition::from_labels);
        let compact = draws.each_ref().map(CompactPartition::from);
        let weighted = [(&compact[0], 0.8), (&compact[1], 1.7)];
        MixtureModel::new(&data, likelihood, &weighted, &draws[0], vec!["x".into()], 7)
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
}
