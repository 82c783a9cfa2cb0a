//! Clusters with covariances of their own as a model: new rows go where (x - mu_k)'S_k^-1(x - mu_k) is least.

use super::Assigned;
use super::saved::{from_bytes, to_bytes};
use crate::data::{Data, EitherRows, Real, Rows};
use crate::error::{Error, Result};
use crate::hard::{FullCovarianceClustering, nearest_ellipses};
use crate::likelihood::check_covariance;
use crate::parallel::Workers;
use crate::prepare::Standardise;
use serde::{Deserialize, Serialize};

const KIND: &str = "covariance clusters";

/// Centres and covariances, the units they are in, and the price of one more cluster.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CovarianceModel {
    /// Names of the columns, in order.
    pub columns: Vec<String>,
    /// How the columns were standardised before the fit, if they were.
    pub standardise: Option<Standardise>,
    /// Centres in the units of the fit, one per cluster.
    pub centres: Vec<Vec<f64>>,
    /// Covariances in the units of the fit, D x D, one per cluster.
    pub covariances: Vec<Vec<f64>>,
    /// In squared standard deviations of a cluster; none where the number of clusters was given.
    pub penalty: Option<f64>,
    /// c.
    pub covariance_penalty: f64,
    /// Phi / c, D x D, where covariances were learned about it.
    pub covariance_prior: Option<Vec<f64>>,
    /// Rows in each cluster when it was fitted.
    pub sizes: Vec<usize>,
    /// The objective when it was fitted.
    pub objective: f64,
    /// The seed of the fit.
    pub seed: u64,
}

impl CovarianceModel {
    /// The model of a fit.
    pub fn new(
        fit: &FullCovarianceClustering,
        columns: Vec<String>,
        standardise: Option<Standardise>,
        (penalty, covariance_penalty): (Option<f64>, f64),
        seed: u64,
    ) -> Self {
        let k = fit.n_clusters();
        CovarianceModel {
            columns,
            standardise,
            centres: (0..k).map(|k| fit.centre(k).to_vec()).collect(),
            covariances: (0..k).map(|k| fit.covariance(k).to_vec()).collect(),
            penalty,
            covariance_penalty,
            covariance_prior: fit.covariance_prior.clone(),
            sizes: fit.sizes.clone(),
            objective: fit.objective,
            seed,
        }
    }

    /// Number of clusters, K.
    pub fn n_clusters(&self) -> usize {
        self.centres.len()
    }

    /// Number of columns, D.
    pub fn n_columns(&self) -> usize {
        self.columns.len()
    }

    /// Centres in the units of the user's columns.
    pub fn centres_in_original_units(&self) -> Vec<Vec<f64>> {
        let undo = |centre: &Vec<f64>| self.standardise.as_ref().map_or_else(|| centre.clone(), |s| s.undo(centre));
        self.centres.iter().map(undo).collect()
    }

    /// Covariances in the units of the user's columns.
    pub fn covariances_in_original_units(&self) -> Vec<Vec<f64>> {
        let d = self.n_columns();
        let undo = |covariance: &Vec<f64>| match &self.standardise {
            Some(s) => covariance.iter().enumerate().map(|(e, x)| x * s.scales[e / d] * s.scales[e % d]).collect(),
            None => covariance.clone(),
        };
        self.covariances.iter().map(undo).collect()
    }

    /// The nearest cluster of new rows, given in the user's units; distances are squared Mahalanobis distances.
    pub fn assign<T: Real>(&self, rows: Rows<T>, workers: &Workers) -> Result<Assigned> {
        fn either(this: &CovarianceModel, rows: EitherRows, workers: &Workers) -> Result<Assigned> {
            either!(rows, rows => this.assign_on(rows, workers))
        }
        either(self, T::either_rows(rows), workers)
    }

    fn assign_on<T: Real>(&self, rows: Rows<T>, workers: &Workers) -> Result<Assigned> {
        if rows.n_columns() != self.n_columns() {
            return Err(Error::data(
                format!("the data has {} columns, the model {}", rows.n_columns(), self.n_columns()),
                format!("give the columns it was fitted on: {}", self.columns.join(", ")),
            ));
        }
        let prepared = self.standardise.as_ref().map(|s| s.apply(rows)).transpose()?;
        let rows = prepared.as_ref().map_or(Ok(rows), |values| Rows::new(values, rows.n_columns()))?;
        let (centres, covariances) = (self.centres.concat(), self.covariances.concat());
        let (labels, squared_distances) = nearest_ellipses(&Data::new(rows)?, &centres, &covariances, workers)?;
        let opening_costs = self.penalty.map(|penalty| squared_distances.iter().map(|d| penalty - d).collect());
        Ok(Assigned { labels, squared_distances, opening_costs })
    }

    /// The model as JSON.
    pub fn to_bytes(&self) -> Vec<u8> {
        to_bytes(KIND, self)
    }

    /// Reads what `to_bytes` of this or an older version wrote.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        from_bytes(KIND, bytes, CovarianceModel::check)
    }

    /// Says what does not fit together.
    fn check(&self) -> std::result::Result<(), String> {
        let (k, d) = (self.n_clusters(), self.n_columns());
        if k == 0 || d == 0 {
            return Err("it has no centres".into());
        }
        if self.centres.iter().any(|c| c.len() != d) {
            return Err(format!("its centres do not all have {d} columns"));
        }
        if self.sizes.len() != k || self.covariances.len() != k {
            return Err(format!("its sizes and covariances are not {k}, one per centre"));
        }
        let matrices = self.covariances.iter().chain(&self.covariance_prior);
        if let Some(wrong) = matrices.into_iter().find_map(|m| check_covariance("covariances", m, d).err()) {
            return Err(wrong.to_string());
        }
        if self
            .standardise
            .as_ref()
            .is_some_and(|s| s.means.len() != d || s.scales.len() != d || s.scales.contains(&0.0))
        {
            return Err(format!("its standardisation is not of {d} columns, or divides by 0"));
        }
        let numbers = self.centres.iter().flatten().copied().chain(self.penalty).chain([self.covariance_penalty]);
        if numbers.into_iter().any(|x| !x.is_finite()) {
            return Err("it holds numbers that are not finite".into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn model() -> CovarianceModel {
        CovarianceModel {
            columns: vec!["length".into(), "width".into()],
            standardise: Some(Standardise { means: vec![10.0, 0.0], scales: vec![2.0, 1.0] }),
            centres: vec![vec![0.0, 0.0], vec![0.0, 3.0]],
            covariances: vec![vec![25.0, 0.0, 0.0, 0.25], vec![1.0, 0.5, 0.5, 4.0]],
            penalty: Some(9.0),
            covariance_penalty: 50.0,
            covariance_prior: Some(vec![1.0, 0.0, 0.0, 1.0 / 3.0]),
            sizes: vec![5, 6],
            objective: 12.5,
            seed: 3,
        }
    }

    #[test]
    fn a_saved_model_comes_back_bit_for_bit_and_measures_along_its_ellipses() {
        let model = model();
        assert_eq!(CovarianceModel::from_bytes(&model.to_bytes()).unwrap(), model);
        assert_eq!(model.covariances_in_original_units()[1], [4.0, 1.0, 1.0, 4.0]);
        assert_eq!(model.centres_in_original_units()[1], [10.0, 3.0]);
        // Far along the first cluster, and between the two, where the second is wider.
        let rows = [20.0, 0.0, 10.0, 1.2, 10.0, 100.0];
        let assigned = model.assign(Rows::new(&rows, 2).unwrap(), &Workers::serial()).unwrap();
        assert_eq!(assigned.labels, [0, 1, 1]);
        assert!((assigned.squared_distances[0] - 1.0).abs() < 1e-12);
        let opening = assigned.opening_costs.unwrap();
        assert!(opening[0] > 0.0 && opening[2] < 0.0, "the last row fits nowhere");
        assert!(model.assign(Rows::new(&rows, 3).unwrap(), &Workers::serial()).is_err());
    }

    #[rstest]
    #[case("25.0", "-25.0", "covariances must be")]
    #[case("\"width\"", "\"width\", \"height\"", "do not all have 3 columns")]
    #[case("covariance clusters", "clusters", "of kind \"clusters\"")]
    #[case("2.0", "0.0", "divides by 0")]
    fn damaged_models_are_refused_with_the_reason(#[case] from: &str, #[case] to: &str, #[case] message: &str) {
        let text = String::from_utf8(model().to_bytes()).unwrap().replacen(from, to, 1);
        let error = CovarianceModel::from_bytes(text.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
}
