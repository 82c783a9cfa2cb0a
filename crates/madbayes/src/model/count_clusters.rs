//! Clusters of counts as a model: new rows go where x. KL(x/x. || C/C.) is least, C the summed counts of a cluster.

use super::Assigned;
use super::saved::{from_bytes, to_bytes};
use crate::counts::Counts;
use crate::error::{Error, Result};
use crate::hard::{DivergenceClustering, Tallies, nearest_distributions};
use crate::parallel::Workers;
use serde::{Deserialize, Serialize};

const KIND: &str = "count clusters";

/// The summed counts of the clusters, and the price of one more.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CountModel {
    /// Names of the columns, in order.
    pub columns: Vec<String>,
    /// Summed counts, one row per cluster.
    pub tallies: Vec<Vec<f64>>,
    /// None if no penalty makes this number of clusters optimal.
    pub penalty: Option<f64>,
    /// Rows in each cluster when it was fitted.
    pub sizes: Vec<usize>,
    /// Loss of each cluster when it was fitted.
    pub losses: Vec<f64>,
    /// The objective when it was fitted.
    pub objective: f64,
    /// The seed of the fit.
    pub seed: u64,
}

impl CountModel {
    /// The model of a fit.
    pub fn new(fit: &DivergenceClustering, columns: Vec<String>, penalty: Option<f64>, seed: u64) -> Self {
        CountModel {
            columns,
            tallies: fit.tallies.chunks_exact(fit.n_columns).map(<[f64]>::to_vec).collect(),
            penalty,
            sizes: fit.sizes.clone(),
            losses: fit.losses.clone(),
            objective: fit.objective,
            seed,
        }
    }

    /// Number of clusters, K.
    pub fn n_clusters(&self) -> usize {
        self.tallies.len()
    }

    /// Number of columns, V.
    pub fn n_columns(&self) -> usize {
        self.columns.len()
    }

    /// The nearest cluster of new rows; distances are x. KL(x/x. || C/C.). A row with a column that no cluster has goes where
    /// it raises the loss least, and that rise is its distance.
    pub fn assign(&self, counts: &Counts, workers: &Workers) -> Result<Assigned> {
        if counts.n_columns() != self.n_columns() {
            return Err(Error::data(
                format!("the counts have {} columns, the model {}", counts.n_columns(), self.n_columns()),
                "give the columns it was fitted on",
            ));
        }
        let tallies = Tallies::new(self.tallies.concat(), self.n_columns());
        let (labels, squared_distances) = nearest_distributions(counts, &tallies, workers);
        let opening_costs = self.penalty.map(|penalty| squared_distances.iter().map(|d| penalty - d).collect());
        Ok(Assigned { labels, squared_distances, opening_costs })
    }

    /// The model as JSON.
    pub fn to_bytes(&self) -> Vec<u8> {
        to_bytes(KIND, self)
    }

    /// Reads what `to_bytes` of this or an older version wrote.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        from_bytes(KIND, bytes, CountModel::check)
    }

    /// Says what does not fit together.
    fn check(&self) -> std::result::Result<(), String> {
        let (k, v) = (self.n_clusters(), self.n_columns());
        if k == 0 || v == 0 {
            return Err("it has no clusters or no columns".into());
        }
        if self.tallies.iter().any(|tally| tally.len() != v) {
            return Err(format!("its summed counts do not all have {v} columns"));
        }
        if self.sizes.len() != k || self.losses.len() != k {
            return Err(format!("its sizes and losses are not {k}, one per cluster"));
        }
        if self.tallies.iter().flatten().any(|c| !(c.is_finite() && *c >= 0.0)) {
            return Err("it holds summed counts that are not numbers of at least 0".into());
        }
        if self.penalty.is_some_and(|p| !(p.is_finite() && p > 0.0)) {
            return Err("its penalty is not positive".into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn model() -> CountModel {
        CountModel {
            columns: vec!["goal".into(), "vote".into()],
            tallies: vec![vec![8.0, 2.0], vec![0.0, 10.0]],
            penalty: Some(3.5),
            sizes: vec![2, 3],
            losses: vec![0.1 + 0.2, 0.0],
            objective: 3.8,
            seed: 1,
        }
    }

    #[test]
    fn a_saved_model_comes_back_bit_for_bit_and_measures_divergences() {
        assert_eq!(CountModel::from_bytes(&model().to_bytes()).unwrap(), model());
        let counts = Counts::new(&[0, 2, 3], &[0, 1, 1], &[4.0, 1.0, 7.0], 2).unwrap();
        let assigned = model().assign(&counts, &Workers::serial()).unwrap();
        assert_eq!(assigned.labels, [0, 1]);
        assert!(assigned.squared_distances.iter().all(|d| d.abs() < 1e-12));
        assert_eq!(assigned.opening_costs.unwrap().len(), 2);
        let wide = Counts::new(&[0, 1], &[2], &[1.0], 3).unwrap();
        let error = model().assign(&wide, &Workers::serial()).unwrap_err().to_string();
        assert!(error.contains("the counts have 3 columns, the model 2"), "{error}");
    }

    #[rstest]
    #[case("8.0", "-8.0", "at least 0")]
    #[case("\"vote\"", "\"vote\", \"rain\"", "do not all have 3 columns")]
    #[case("3.5", "-3.5", "penalty is not positive")]
    #[case("count clusters", "clusters", "of kind \"clusters\"")]
    fn damaged_models_are_refused_with_the_reason(#[case] from: &str, #[case] to: &str, #[case] message: &str) {
        let text = String::from_utf8(model().to_bytes()).unwrap().replacen(from, to, 1);
        let error = CountModel::from_bytes(text.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
}
