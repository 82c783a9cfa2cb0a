//! Principal components: X - mean = scores * components, by the eigenvectors of X'X, or of XX' when rows are fewer.

use super::centred::{BLOCK, Centred, pieces};
use crate::data::{Data, EitherRows, Real, Rows, check_about};
use crate::error::{Error, Result};
use crate::linalg::{dot, symmetric_eigen};
use crate::parallel::Workers;
use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use serde::{Deserialize, Serialize};

/// How many components are kept. Never more than the data has: directions without variance are always dropped.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Keep {
    /// This many, or all there are.
    Number(usize),
    /// The fewest that explain this share of the total variance, above 0 and at most 1.
    Share(f64),
    /// All: distances between rows do not change.
    All,
}

impl Keep {
    /// Errors unless the number or share makes sense.
    pub fn check(&self) -> Result<()> {
        match *self {
            Keep::Number(0) => {
                Err(Error::argument("pca", "at least 1 component", 0, "leave it out to keep the data as they are"))
            }
            Keep::Share(share) if !(share > 0.0 && share <= 1.0) => Err(Error::argument(
                "pca",
                "a share of the variance above 0 and at most 1",
                share,
                "0.95 keeps what explains 95 % of the variance",
            )),
            _ => Ok(()),
        }
    }

    /// How many of these variances, largest first.
    fn number(&self, variances: &[f64], total: f64) -> usize {
        match *self {
            Keep::Number(number) => number.min(variances.len()),
            Keep::Share(share) => {
                let mut explained = 0.0;
                let enough = variances.iter().position(|variance| {
                    explained += variance;
                    explained >= share * total
                });
                enough.map_or(variances.len(), |last| last + 1)
            }
            Keep::All => variances.len(),
        }
    }
}

/// An orthonormal basis of the directions in which rows vary most.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pca {
    /// Mean of each column.
    pub mean: Vec<f64>,
    /// K x D, orthonormal rows in order of falling variance; the largest entry of each is positive.
    pub components: Vec<f64>,
    /// The variance of the rows along each component (divided by N - 1).
    pub variances: Vec<f64>,
    /// The variance of all columns together (divided by N - 1), kept or not.
    pub total_variance: f64,
}

impl Pca {
    /// The components of these rows. Errors when all rows are equal: then there are none.
    pub fn fit<T: Real>(rows: Rows<T>, keep: Keep, workers: &Workers) -> Result<Pca> {
        fn either(rows: EitherRows, keep: Keep, workers: &Workers) -> Result<Pca> {
            either!(rows, rows => Pca::fit_on(rows, keep, workers))
        }
        either(T::either_rows(rows), keep, workers)
    }

    fn fit_on<T: Real>(rows: Rows<T>, keep: Keep, workers: &Workers) -> Result<Pca> {
        keep.check()?;
        let data = Data::new(rows)?;
        if data.spreads().iter().all(|spread| *spread == 0.0) {
            return Err(Error::data(
                "all rows are equal, so there are no principal components",
                "leave PCA out, or give rows that differ",
            ));
        }
        Ok(Self::of_centred(&Centred::new(&data), keep, rows.n_columns() > rows.n_rows(), workers))
    }

    /// `wide`: through XX' (N x N), else through X'X (D x D). Both give the same components.
    fn of_centred<T: Real>(data: &Centred<T>, keep: Keep, wide: bool, workers: &Workers) -> Pca {
        let (n, d) = (data.rows.n_rows(), data.rows.n_columns());
        let order = if wide { n } else { d };
        let mut products = data.products(wide, workers);
        let trace: f64 = (0..order).map(|i| products[i * order + i]).sum();
        // Entries below 1 cannot overflow inside the decomposition.
        products.iter_mut().for_each(|product| *product /= trace);
        let (values, vectors) = symmetric_eigen(&products, order);
        drop(products);
        let falling = || (0..order).rev();
        // Rounding alone makes about one epsilon of an eigenvalue 0, seldom more.
        let rounding = 8.0 * order as f64 * f64::EPSILON * values[order - 1];
        let shares: Vec<f64> = falling().map(|i| values[i]).take_while(|value| *value > rounding).collect();
        let k = keep.number(&shares, 1.0);
        let chosen = vectors.as_ref().subcols(order - k, k).reverse_cols();
        let mut components = vec![0.0; k * d];
        match wide {
            true => data.combine(chosen.transpose(), &mut components, workers),
            false => (0..k * d).for_each(|i| components[i] = chosen[(i % d, i / d)]),
        }
        let mut each: Vec<&mut [f64]> = components.chunks_exact_mut(d).collect();
        workers.map_mut(&mut each, |_, component| normalise(component));
        // Through XX' a component is orthogonal to the others only up to epsilon times the ratio of the variances.
        let doubtful = (0..k).find(|&i| wide && shares[i] < 1e-4 * shares[0]).unwrap_or(k);
        (doubtful..k).for_each(|i| orthogonalise(&mut components, i, d));
        let total_variance = trace / (n as f64 - 1.0);
        let variances = shares[..k].iter().map(|share| share * total_variance).collect();
        Pca { mean: data.mean.clone(), components, variances, total_variance }
    }

    /// Number of components, K.
    pub fn n_components(&self) -> usize {
        self.variances.len()
    }

    /// Number of columns of the data, D.
    pub fn n_columns(&self) -> usize {
        self.mean.len()
    }

    /// One component.
    pub fn component(&self, k: usize) -> &[f64] {
        &self.components[k * self.n_columns()..(k + 1) * self.n_columns()]
    }

    /// The share of the total variance that the components explain.
    pub fn explained(&self) -> f64 {
        self.variances.iter().sum::<f64>() / self.total_variance
    }

    /// N x K: (x - mean) components'.
    pub fn apply<T: Real>(&self, rows: Rows<T>, workers: &Workers) -> Result<Vec<f64>> {
        fn either(this: &Pca, rows: EitherRows, workers: &Workers) -> Result<Vec<f64>> {
            either!(rows, rows => this.apply_on(rows, workers))
        }
        either(self, T::either_rows(rows), workers)
    }

    fn apply_on<T: Real>(&self, rows: Rows<T>, workers: &Workers) -> Result<Vec<f64>> {
        let (d, k) = (self.n_columns(), self.n_components());
        if rows.n_columns() != d {
            return Err(Error::data(
                format!("the data has {} columns, the principal components {d}", rows.n_columns()),
                "give the columns they were fitted on",
            ));
        }
        check_about(rows, &self.mean.iter().map(|&mean| T::from_f64(mean)).collect::<Vec<T>>())?;
        let data = Centred { rows, mean: self.mean.clone() };
        let components = MatRef::from_row_major_slice(&self.components, k, d);
        let height = 64;
        let mut scores = vec![0.0; rows.n_rows() * k];
        let mut chunks: Vec<&mut [f64]> = scores.chunks_mut(height * k).collect();
        workers.map_mut(&mut chunks, |i, scores| {
            let taken = i * height..i * height + scores.len() / k;
            let mut block = Vec::new();
            for columns in pieces(0..d, BLOCK / height) {
                let block = data.block(&mut block, taken.clone(), columns.clone());
                let scores = MatMut::from_row_major_slice_mut(scores, taken.len(), k);
                let basis = components.subcols(columns.start, columns.len()).transpose();
                matmul(scores, Accum::Add, block, basis, 1.0, Par::Seq);
            }
        });
        Ok(scores)
    }

    /// A row of scores in the original columns: mean + scores * components.
    ///
    /// # Panics
    /// When there are not K scores.
    pub fn undo(&self, scores: &[f64]) -> Vec<f64> {
        self.undo_direction(scores).iter().zip(&self.mean).map(|(x, mean)| x + mean).collect()
    }

    /// The same without the mean: for a difference of rows, or a feature that adds to others.
    ///
    /// # Panics
    /// When there are not K scores.
    pub fn undo_direction(&self, scores: &[f64]) -> Vec<f64> {
        assert_eq!(scores.len(), self.n_components(), "one score for each component");
        let mut row = vec![0.0; self.n_columns()];
        for (component, score) in self.components.chunks_exact(self.n_columns()).zip(scores) {
            row.iter_mut().zip(component).for_each(|(x, c)| *x += score * c);
        }
        row
    }
}

/// To length 1, the largest entry (the first of equals) positive.
fn normalise(component: &mut [f64]) {
    let length = dot(component, component).sqrt();
    let largest = component.iter().copied().fold(0.0, |best: f64, x| if x.abs() > best.abs() { x } else { best });
    let factor = length.copysign(largest);
    component.iter_mut().for_each(|x| *x /= factor);
}

/// Takes the components before the k-th out of it.
fn orthogonalise(components: &mut [f64], k: usize, d: usize) {
    let (before, rest) = components.split_at_mut(k * d);
    let component = &mut rest[..d];
    for other in before.chunks_exact(d) {
        let along = dot(component, other);
        component.iter_mut().zip(other).for_each(|(x, c)| *x -= along * c);
    }
    normalise(component);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Stream, stream};
    use rand::RngExt;
    use rstest::rstest;

    /// Rows of the given rank about a mean of `offset`.
    fn rows_of_rank(n: usize, d: usize, rank: usize, offset: f64) -> Vec<f64> {
        rows_falling(n, d, rank, offset, 1.5)
    }

    /// The same; each direction spreads less than the one before by the factor `fall`.
    fn rows_falling(n: usize, d: usize, rank: usize, offset: f64, fall: f64) -> Vec<f64> {
        let mut rng = stream(3, Stream::Simulation);
        let mut uniform = |size: usize| -> Vec<f64> { (0..size).map(|_| rng.random::<f64>() - 0.5).collect() };
        let (left, right) = (uniform(n * rank), uniform(rank * d));
        let entry = |i: usize, j: usize| -> f64 {
            (0..rank).map(|r| left[i * rank + r] * right[r * d + j] / fall.powi(r as i32)).sum()
        };
        (0..n * d).map(|i| offset + entry(i / d, i % d)).collect()
    }

    fn centred(values: &[f64], d: usize) -> Vec<f64> {
        let n = values.len() / d;
        let mean = |j: usize| values.iter().skip(j).step_by(d).sum::<f64>() / n as f64;
        let means: Vec<f64> = (0..d).map(mean).collect();
        values.iter().enumerate().map(|(i, x)| x - means[i % d]).collect()
    }

    fn fit(values: &[f64], d: usize, keep: Keep) -> Pca {
        Pca::fit(Rows::new(values, d).unwrap(), keep, &Workers::serial()).unwrap()
    }

    fn largest_difference(a: &[f64], b: &[f64]) -> f64 {
        assert_eq!(a.len(), b.len());
        a.iter().zip(b).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max)
    }

    /// Largest entry of |V V' - I|.
    fn departure_from_orthonormal(pca: &Pca) -> f64 {
        let k = pca.n_components();
        let entry = |i: usize| dot(pca.component(i / k), pca.component(i % k)) - f64::from(i / k == i % k);
        (0..k * k).map(|i| entry(i).abs()).fold(0.0, f64::max)
    }

    #[rstest]
    #[case::wide(7, 30)]
    #[case::tall(40, 6)]
    #[case::square(9, 9)]
    fn components_and_variances_are_those_of_the_singular_value_decomposition(#[case] n: usize, #[case] d: usize) {
        let values = rows_of_rank(n, d, n.min(d), 1.0);
        let pca = fit(&values, d, Keep::All);
        let rank = (n - 1).min(d);
        assert_eq!(pca.n_components(), rank);
        let svd = MatRef::from_row_major_slice(&centred(&values, d), n, d).svd().unwrap();
        for k in 0..rank {
            let singular = svd.S().column_vector()[k];
            let variance = singular * singular / (n - 1) as f64;
            assert!((pca.variances[k] - variance).abs() < 1e-12 * pca.total_variance);
            let expected: Vec<f64> = svd.V().col(k).iter().copied().collect();
            let largest = expected.iter().copied().max_by(|a, b| a.abs().total_cmp(&b.abs())).unwrap();
            let expected: Vec<f64> = expected.iter().map(|x| x * largest.signum()).collect();
            assert!(largest_difference(pca.component(k), &expected) < 1e-9, "component {k}");
        }
        let total: f64 = centred(&values, d).iter().map(|x| x * x).sum::<f64>() / (n - 1) as f64;
        assert!((pca.total_variance / total - 1.0).abs() < 1e-12);
        assert!((pca.explained() - 1.0).abs() < 1e-12);
    }

    #[rstest]
    #[case(30, 30, 30, 0.0)]
    #[case(60, 20, 20, 100.0)]
    #[case(20, 500, 20, 1e4)]
    #[case(500, 20, 5, 1e4)]
    fn both_routes_give_the_same_components(
        #[case] n: usize,
        #[case] d: usize,
        #[case] rank: usize,
        #[case] offset: f64,
    ) {
        let values = rows_of_rank(n, d, rank, offset);
        let data = Data::new(Rows::new(&values, d).unwrap()).unwrap();
        let data = Centred::new(&data);
        let by = |wide: bool| Pca::of_centred(&data, Keep::All, wide, &Workers::serial());
        let (gram, covariance) = (by(true), by(false));
        assert_eq!(gram.n_components(), covariance.n_components());
        assert!(largest_difference(&gram.variances, &covariance.variances) < 1e-12 * gram.total_variance);
        for k in 0..5 {
            assert!(largest_difference(gram.component(k), covariance.component(k)) < 1e-8);
        }
        assert!(departure_from_orthonormal(&gram).max(departure_from_orthonormal(&covariance)) < 1e-10);
    }

    #[rstest]
    #[case(12, 500)]
    #[case(200, 10)]
    fn all_components_preserve_distances_and_give_the_rows_back(#[case] n: usize, #[case] d: usize) {
        let values = rows_of_rank(n, d, 10, 5.0);
        let rows = Rows::new(&values, d).unwrap();
        let pca = fit(&values, d, Keep::All);
        assert_eq!(pca.n_components(), 10);
        let scores = pca.apply(rows, &Workers::new(2)).unwrap();
        let score = |i: usize| &scores[i * 10..(i + 1) * 10];
        let distance = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| (x - y).powi(2)).sum::<f64>();
        for i in 1..n {
            let expected = distance(rows.row(0), rows.row(i));
            assert!((distance(score(0), score(i)) - expected).abs() < 1e-12 * (1.0 + expected));
            assert!(largest_difference(&pca.undo(score(i)), rows.row(i)) < 1e-12);
            let difference: Vec<f64> = score(i).iter().zip(score(0)).map(|(x, y)| x - y).collect();
            let expected: Vec<f64> = rows.row(i).iter().zip(rows.row(0)).map(|(x, y)| x - y).collect();
            assert!(largest_difference(&pca.undo_direction(&difference), &expected) < 1e-12);
        }
    }

    #[test]
    fn scores_are_uncorrelated_and_their_variances_are_reported() {
        let values = rows_of_rank(300, 8, 8, 0.0);
        let pca = fit(&values, 8, Keep::Number(3));
        let scores = pca.apply(Rows::new(&values, 8).unwrap(), &Workers::serial()).unwrap();
        for (i, j) in [(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)] {
            let product: f64 = scores.chunks_exact(3).map(|row| row[i] * row[j]).sum::<f64>() / 299.0;
            let expected = if i == j { pca.variances[i] } else { 0.0 };
            assert!((product - expected).abs() < 1e-12 * pca.total_variance);
        }
    }

    #[test]
    fn a_share_keeps_the_fewest_components_that_reach_it() {
        let values = rows_of_rank(50, 8, 8, 0.0);
        let all = fit(&values, 8, Keep::All);
        let mut reached = 0.0;
        for k in 1..=8 {
            reached += all.variances[k - 1] / all.total_variance;
            assert_eq!(fit(&values, 8, Keep::Share(reached - 1e-9)).n_components(), k);
            assert_eq!(fit(&values, 8, Keep::Share((reached + 1e-9).min(1.0))).n_components(), (k + 1).min(8));
            let number = fit(&values, 8, Keep::Number(k));
            assert_eq!(number.components, all.components[..k * 8]);
            assert!((number.explained() - reached).abs() < 1e-12);
        }
    }

    #[test]
    fn directions_without_variance_are_dropped() {
        // Rank 2 in 5 columns, one of them constant; more components asked for than there are.
        let mut values = rows_of_rank(60, 5, 2, 3.0);
        values.iter_mut().skip(4).step_by(5).for_each(|x| *x = 7.7);
        for keep in [Keep::All, Keep::Number(4), Keep::Share(1.0)] {
            let pca = fit(&values, 5, keep);
            assert_eq!(pca.n_components(), 2);
            assert!(pca.component(0)[4].abs().max(pca.component(1)[4].abs()) < 1e-12);
            assert!((pca.explained() - 1.0).abs() < 1e-12);
        }
        assert_eq!(fit(&rows_of_rank(9, 400, 3, 1e3), 400, Keep::All).n_components(), 3);
        assert_eq!(fit(&[1.0, 2.0, 4.0, 2.0, 1.0, 3.0], 3, Keep::All).n_components(), 1);
    }

    #[rstest]
    #[case::wide(12, 2000)]
    #[case::tall(2000, 12)]
    fn components_of_very_different_variance_are_orthonormal(#[case] n: usize, #[case] d: usize) {
        // Variances from 1 to about 1e-11 of it.
        let values = rows_falling(n, d, 11, 0.0, 3.0);
        let pca = fit(&values, d, Keep::All);
        assert_eq!(pca.n_components(), 11);
        assert!(pca.variances[10] < 1e-9 * pca.variances[0]);
        assert!(departure_from_orthonormal(&pca) < 1e-12);
        let rows = Rows::new(&values, d).unwrap();
        let scores = pca.apply(rows, &Workers::serial()).unwrap();
        for (i, score) in scores.chunks_exact(pca.n_components()).enumerate() {
            assert!(largest_difference(&pca.undo(score), rows.row(i)) < 1e-9);
        }
    }

    #[rstest]
    #[case::wide(40, 3000)]
    #[case::tall(3000, 40)]
    fn threads_change_no_bit(#[case] n: usize, #[case] d: usize) {
        let values = rows_of_rank(n, d, 7, 0.5);
        let rows = Rows::new(&values, d).unwrap();
        let with = |workers: Workers| {
            let pca = Pca::fit(rows, Keep::All, &workers).unwrap();
            let scores = pca.apply(rows, &workers).unwrap();
            (pca, scores)
        };
        assert_eq!(with(Workers::serial()), with(Workers::new(3)));
    }

    #[test]
    fn float32_rows_far_from_the_origin_are_centred_in_float64() {
        let values: Vec<f32> = rows_of_rank(50, 200, 4, 1e4).iter().map(|x| *x as f32).collect();
        let exact: Vec<f64> = values.iter().map(|x| f64::from(*x)).collect();
        let narrow = Pca::fit(Rows::new(&values, 200).unwrap(), Keep::Number(4), &Workers::serial()).unwrap();
        let wide = fit(&exact, 200, Keep::Number(4));
        assert!(largest_difference(&narrow.components, &wide.components) < 1e-9);
        assert!(largest_difference(&narrow.mean, &wide.mean) < 1e-10);
    }

    #[test]
    fn what_cannot_be_decomposed_is_named() {
        let of = |values: &[f64], d: usize, keep: Keep| {
            Pca::fit(Rows::new(values, d).unwrap(), keep, &Workers::serial()).unwrap_err().to_string()
        };
        let good = [1.0, 2.0, 3.0, 5.0];
        for (found, message) in [
            (of(&[1.0, 2.0], 2, Keep::All), "all rows are equal"),
            (of(&[0.1, 0.1, 0.1], 1, Keep::Number(1)), "all rows are equal"),
            (of(&[1.0, f64::NAN], 1, Keep::All), "row 1, column 0"),
            (of(&good, 2, Keep::Number(0)), "pca must be at least 1"),
            (of(&good, 2, Keep::Share(1.5)), "pca must be a share"),
            (of(&good, 2, Keep::Share(f64::NAN)), "pca must be a share"),
        ] {
            assert!(found.contains(message), "{found}");
        }
        let pca = fit(&good, 2, Keep::All);
        let apply = |values: &[f64], d| pca.apply(Rows::new(values, d).unwrap(), &Workers::serial());
        assert!(apply(&good, 4).unwrap_err().to_string().contains("4 columns, the principal components 2"));
        assert!(apply(&[1.0, f64::INFINITY], 2).unwrap_err().to_string().contains("row 0, column 1"));
    }
}
