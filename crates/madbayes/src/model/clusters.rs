//! A fitted clustering as a model: which cluster new rows belong to, and which rows fit nowhere.

use crate::data::{EitherRows, Real, Rows, check_about};
use crate::error::{Error, Result};
use crate::hard::{Clustering, nearest_centres};
use crate::linalg::squared_distance;
use crate::parallel::Workers;
use crate::prepare::Standardise;
use serde::{Deserialize, Serialize};

/// Centres, the units they are in, and the price of one more cluster.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClusterModel {
    /// Names of the columns, in order.
    pub columns: Vec<String>,
    /// How the columns were standardised before the fit, if they were.
    pub standardise: Option<Standardise>,
    /// Centres in the units of the fit, one per cluster.
    pub centres: Vec<Vec<f64>>,
    /// The point distances are computed about.
    pub reference: Vec<f64>,
    /// lambda^2 in the units of the fit; none if no penalty makes this number of clusters optimal.
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

/// What a model says of new rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Assigned {
    /// The nearest cluster of each row.
    pub labels: Vec<u32>,
    /// The squared distance to its centre, in the units of the fit.
    pub squared_distances: Vec<f64>,
    /// What a cluster of its own would cost more than joining: penalty - squared distance. Negative: the row fits
    /// nowhere. Absent if the model has no penalty.
    pub opening_costs: Option<Vec<f64>>,
}

impl ClusterModel {
    /// The model of a fit.
    pub fn new(
        fit: &Clustering,
        columns: Vec<String>,
        standardise: Option<Standardise>,
        penalty: Option<f64>,
        seed: u64,
    ) -> Self {
        ClusterModel {
            columns,
            standardise,
            centres: fit.centres.chunks_exact(fit.n_columns).map(<[f64]>::to_vec).collect(),
            reference: fit.reference.clone(),
            penalty,
            sizes: fit.sizes.clone(),
            losses: fit.losses.clone(),
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
        self.reference.len()
    }

    /// Centres in the units of the user's columns.
    pub fn centres_in_original_units(&self) -> Vec<Vec<f64>> {
        let undo = |centre: &Vec<f64>| self.standardise.as_ref().map_or_else(|| centre.clone(), |s| s.undo(centre));
        self.centres.iter().map(undo).collect()
    }

    /// The nearest cluster of new rows, given in the user's units.
    pub fn assign<T: Real>(&self, rows: Rows<T>, workers: &Workers) -> Result<Assigned> {
        fn either(this: &ClusterModel, rows: EitherRows, workers: &Workers) -> Result<Assigned> {
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
        let reference: Vec<T> = self.reference.iter().map(|&r| T::from_f64(r)).collect();
        check_about(rows, &reference)?;
        let labels = nearest_centres(rows, &reference, &self.centres.concat(), workers);
        let distance = |(row, label): (&[T], &u32)| {
            let row: Vec<f64> = row.iter().map(|&x| x.into()).collect();
            squared_distance(&row, &self.centres[*label as usize])
        };
        let squared_distances: Vec<f64> = rows.iter().zip(&labels).map(distance).collect();
        let opening_costs = self.penalty.map(|penalty| squared_distances.iter().map(|d| penalty - d).collect());
        Ok(Assigned { labels, squared_distances, opening_costs })
    }
}
