//! Fitted features as a model: which features new rows have, and the rows as sums of features.

use super::saved;
use crate::data::{Data, EitherRows, Real, Rows, check_about};
use crate::error::{Error, Result};
use crate::hard::{Features, RowSolver, allocate};
use crate::parallel::Workers;
use crate::structure::Allocation;
use serde::{Deserialize, Serialize};

const KIND: &str = "features";

/// Components, the point they are added to, and the price of one more.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FeatureModel {
    /// Names of the columns, in order; none for pictures.
    pub columns: Vec<String>,
    /// Height, width and channels, if rows are pictures.
    pub picture: Option<[usize; 3]>,
    /// What was taken from every row before the fit: the mean of the rows, or zeros.
    pub offset: Vec<f64>,
    /// What every column was divided by before the fit, if it was: residuals are measured in these units.
    pub scales: Option<Vec<f64>>,
    /// What each feature adds to a row that has it, in the units of the rows.
    pub components: Vec<Vec<f64>>,
    /// lambda^2; none if the number of features was given.
    pub penalty: Option<f64>,
    /// Rows in the fit, and how many of them had each feature.
    pub n_rows: usize,
    /// Rows with each feature.
    pub counts: Vec<usize>,
    /// |X - Z A|_F^2 of the fit.
    pub loss: f64,
    /// The objective of the fit.
    pub objective: f64,
    /// The seed of the fit.
    pub seed: u64,
}

/// What a model says of new rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Allocated {
    /// The features of each row.
    pub allocation: Allocation,
    /// |x - offset - z A|^2 of each row, in the units of the fit.
    pub residuals: Vec<f64>,
}

impl FeatureModel {
    /// The model of a fit of plain rows.
    pub fn new(fit: &Features, columns: Vec<String>, penalty: Option<f64>, seed: u64) -> Self {
        FeatureModel {
            columns,
            picture: None,
            offset: vec![0.0; fit.n_columns],
            scales: None,
            components: fit.components.chunks_exact(fit.n_columns).map(<[f64]>::to_vec).collect(),
            penalty,
            n_rows: fit.allocation.n_rows(),
            counts: fit.allocation.counts(),
            loss: fit.loss,
            objective: fit.objective,
            seed,
        }
    }

    /// Number of columns, D.
    pub fn n_columns(&self) -> usize {
        self.offset.len()
    }

    /// Number of features, K.
    pub fn n_features(&self) -> usize {
        self.components.len()
    }

    /// The features of new rows, each row by itself: those that leave the least residual.
    pub fn allocate<T: Real>(&self, rows: Rows<T>, solver: RowSolver, workers: &Workers) -> Result<Allocated> {
        fn either(this: &FeatureModel, rows: EitherRows, solver: RowSolver, workers: &Workers) -> Result<Allocated> {
            either!(rows, rows => this.allocate_on(rows, solver, workers))
        }
        either(self, T::either_rows(rows), solver, workers)
    }

    fn allocate_on<T: Real>(&self, rows: Rows<T>, solver: RowSolver, workers: &Workers) -> Result<Allocated> {
        if rows.n_columns() != self.n_columns() {
            return Err(Error::data(
                format!("the data has {} columns, the model {}", rows.n_columns(), self.n_columns()),
                match self.picture {
                    Some([height, width, _]) => format!("give pictures of {width} x {height} pixels, as in the fit"),
                    None => format!("give the columns it was fitted on: {}", self.columns.join(", ")),
                },
            ));
        }
        let offset: Vec<T> = self.offset.iter().map(|&x| T::from_f64(x)).collect();
        check_about(rows, &offset)?;
        let shifted = rows.iter().flat_map(|row| row.iter().zip(&self.offset).map(|(&x, offset)| x.into() - offset));
        let shifted = self.in_units_of_the_fit(shifted.collect());
        let rows = Rows::new(&shifted, rows.n_columns())?;
        let components = self.in_units_of_the_fit(self.components.concat());
        let allocation = allocate(&Data::new(rows)?, &components, solver, workers)?;
        let residual = |(n, row): (usize, &[f64])| {
            let mut left = row.to_vec();
            for feature in allocation.features_of(n) {
                let component = &components[feature * row.len()..(feature + 1) * row.len()];
                left.iter_mut().zip(component).for_each(|(x, a)| *x -= a);
            }
            left.iter().map(|x| x * x).sum::<f64>()
        };
        let residuals = rows.iter().enumerate().map(residual).collect();
        Ok(Allocated { allocation, residuals })
    }

    /// Rows after rows of numbers, each column divided by its scale.
    fn in_units_of_the_fit(&self, mut values: Vec<f64>) -> Vec<f64> {
        if let Some(scales) = &self.scales {
            values.iter_mut().zip(scales.iter().cycle()).for_each(|(x, scale)| *x /= scale);
        }
        values
    }

    /// A row as its features say: offset + z A.
    pub fn reconstruction(&self, allocation: &Allocation, row: usize) -> Vec<f64> {
        let mut sum = self.offset.clone();
        for feature in allocation.features_of(row) {
            sum.iter_mut().zip(&self.components[feature]).for_each(|(s, a)| *s += a);
        }
        sum
    }

    /// The model as JSON.
    pub fn to_bytes(&self) -> Vec<u8> {
        saved::to_bytes(KIND, self)
    }

    /// Reads what `to_bytes` of this or an older version wrote.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        saved::from_bytes(KIND, bytes, FeatureModel::check)
    }

    fn check(&self) -> std::result::Result<(), String> {
        let d = self.n_columns();
        if d == 0 {
            return Err("it has no columns".into());
        }
        if self.components.iter().any(|component| component.len() != d) {
            return Err(format!("its components do not all have {d} columns"));
        }
        let pixels = self.picture.map(|sides| sides.iter().product::<usize>());
        if pixels.unwrap_or(self.columns.len()) != d {
            return Err(format!("its column names or its picture are not of {d} columns"));
        }
        if self.scales.as_ref().is_some_and(|s| s.len() != d || s.iter().any(|x| !(x.is_finite() && *x > 0.0))) {
            return Err(format!("its scales are not {d} positive numbers"));
        }
        if self.counts.len() != self.n_features() {
            return Err("its counts are not one per feature".into());
        }
        if self.components.iter().flatten().chain(&self.offset).copied().chain(self.penalty).any(|x| !x.is_finite()) {
            return Err("it holds numbers that are not finite".into());
        }
        if self.penalty.is_some_and(|penalty| penalty <= 0.0) {
            return Err("its penalty is not positive".into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn model() -> FeatureModel {
        FeatureModel {
            columns: vec!["a".into(), "b".into()],
            picture: None,
            offset: vec![10.0, 0.1 + 0.2],
            scales: None,
            components: vec![vec![1.0, 0.0], vec![0.5, 3.0]],
            penalty: Some(0.25),
            n_rows: 9,
            counts: vec![3, 4],
            loss: 0.5,
            objective: 1.0,
            seed: u64::MAX,
        }
    }

    #[test]
    fn new_rows_get_the_features_that_explain_them_best() {
        let model = model();
        let rows = [10.0, 0.3, 11.1, 0.3, 10.5, 3.3, 11.5, 3.2];
        let found = model.allocate(Rows::new(&rows, 2).unwrap(), RowSolver::Auto, &Workers::serial()).unwrap();
        assert_eq!(found.allocation.to_bools(), [false, false, true, false, false, true, true, true]);
        for (residual, expected) in found.residuals.iter().zip([0.0, 0.01, 0.0, 0.01]) {
            assert!((residual - expected).abs() < 1e-12);
        }
        assert_eq!(model.reconstruction(&found.allocation, 3), [11.5, 3.3]);
        let narrow = [10.0f32, 0.3];
        let found = model.allocate(Rows::new(&narrow, 2).unwrap(), RowSolver::Auto, &Workers::serial()).unwrap();
        assert_eq!(found.allocation.counts(), [0, 0]);
        let error = model.allocate(Rows::new(&rows, 4).unwrap(), RowSolver::Auto, &Workers::serial()).unwrap_err();
        assert!(error.to_string().contains("the data has 4 columns, the model 2"), "{error}");
    }

    #[test]
    fn residuals_are_measured_in_the_units_of_the_fit() {
        // 0.6 off in the first column counts less than 0.5 in the second once the first is divided by 10.
        let model = FeatureModel { components: vec![vec![0.6, 0.5]], counts: vec![1], offset: vec![0.0; 2], ..model() };
        let scaled = FeatureModel { scales: Some(vec![10.0, 1.0]), ..model.clone() };
        let row = [0.0, 0.4];
        let allocated = |model: &FeatureModel| {
            model.allocate(Rows::new(&row, 2).unwrap(), RowSolver::Auto, &Workers::serial()).unwrap()
        };
        assert_eq!(allocated(&model).allocation.counts(), [0]);
        assert_eq!(allocated(&scaled).allocation.counts(), [1]);
        assert!((allocated(&scaled).residuals[0] - (0.0036 + 0.01)).abs() < 1e-12);
    }

    #[test]
    fn a_saved_model_comes_back_bit_for_bit_and_so_does_one_without_features() {
        assert_eq!(FeatureModel::from_bytes(&model().to_bytes()).unwrap(), model());
        let empty = FeatureModel { components: vec![], counts: vec![], ..model() };
        assert_eq!(FeatureModel::from_bytes(&empty.to_bytes()).unwrap(), empty);
        let found = empty.allocate(Rows::new(&[10.0, 1.3], 2).unwrap(), RowSolver::Auto, &Workers::serial()).unwrap();
        assert_eq!(found.allocation.n_features(), 0);
        assert!((found.residuals[0] - 1.0).abs() < 1e-12);
    }

    #[rstest]
    #[case("\"features\"", "\"clusters\"", "of kind \"clusters\"")]
    #[case("3.0", "1e999", "not whole JSON")]
    #[case("0.25", "-0.25", "penalty is not positive")]
    #[case("\"b\"", "\"b\", \"c\"", "not of 2 columns")]
    #[case("\"picture\": null", "\"picture\": [1, 2, 3]", "not of 2 columns")]
    fn damaged_models_are_refused_with_the_reason(#[case] from: &str, #[case] to: &str, #[case] message: &str) {
        let text = String::from_utf8(model().to_bytes()).unwrap();
        assert!(text.contains(from), "{text}");
        let error = FeatureModel::from_bytes(text.replacen(from, to, 1).as_bytes()).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
}
