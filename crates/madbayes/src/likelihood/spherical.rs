//! Spherical Gaussian rows of known variance, means integrated out (Broderick 2013, Sec. 2, Eq. 7-9): predictive and limit.

use super::Groups;
use crate::data::{Data, Real};
use crate::error::{Error, Result};
use crate::linalg::{Kernel, add_offset_row, on_this_processor, squared_distance};
use serde::{Deserialize, Serialize};
use std::f64::consts::TAU;

/// Rows x ~ N(mu, variance I) with mu ~ N(prior_mean, prior_variance I).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Spherical {
    /// s2, the variance of a row about its group's mean, in every column.
    pub variance: f64,
    /// The mean of the groups' means.
    pub prior_mean: Vec<f64>,
    /// r2, the variance of the groups' means about it.
    pub prior_variance: f64,
}

impl Spherical {
    /// Errors unless the parameters fit rows of `n_columns` columns.
    pub fn check(&self, n_columns: usize) -> Result<()> {
        for (name, value) in [("variance", self.variance), ("prior_variance", self.prior_variance)] {
            if !(value.is_finite() && value > 0.0) {
                let help = "it is a variance in squared units of the data";
                return Err(Error::argument(name, "a positive finite number", value, help));
            }
        }
        if self.prior_mean.len() != n_columns || self.prior_mean.iter().any(|m| !m.is_finite()) {
            return Err(Error::argument(
                "prior_mean",
                format!("{n_columns} finite numbers, one per column"),
                format!("{:?}", self.prior_mean),
                "the column means are a good choice",
            ));
        }
        Ok(())
    }

    /// Adds the log predictive density of a row under each group of size n and under a new one:
    /// log N(x; (r2 sum + s2 m0)/(n r2 + s2), (s2 + s2 r2/(n r2 + s2)) I); a new group has n = 0. The row, the prior mean
    /// and the sums (K x D) are all relative to one point.
    pub fn weigh(&self, row: &[f64], prior_mean: &[f64], sizes: &[f64], sums: &[f64], out: &mut [f64]) {
        let (s2, r2) = (self.variance, self.prior_variance);
        let d = row.len() as f64;
        let density = |n: f64, distance: f64| {
            let variance = s2 * (1.0 + r2 / (n * r2 + s2));
            -0.5 * d * (TAU * variance).ln() - distance / (2.0 * variance)
        };
        let shares = |n: f64| (r2 / (n * r2 + s2), s2 / (n * r2 + s2));
        on_this_processor(AddToEach { row, prior_mean, sizes, sums, shares, value: density, out });
        out[sizes.len()] += density(0.0, squared_distance(row, prior_mean));
    }

    /// Log marginal of one group of n rows in D columns with Q = sum |x - m0|^2 and s = |sum (x - m0)|^2:
    /// -(nD/2) log(2 pi s2) - (D/2) log(1 + n r2/s2) - (Q - r2/(n r2 + s2) s) / (2 s2).
    fn ln_marginal(&self, n: f64, d: f64, squares: f64, square_of_sum: f64) -> f64 {
        let (s2, r2) = (self.variance, self.prior_variance);
        -0.5 * n * d * (TAU * s2).ln()
            - 0.5 * d * (n * r2 / s2).ln_1p()
            - (squares - r2 / (n * r2 + s2) * square_of_sum) / (2.0 * s2)
    }
}

/// Live groups: their sizes and sums, all relative to the reference point.
#[derive(Debug, Clone)]
pub struct SphericalGroups<'a, T> {
    data: &'a Data<'a, T>,
    law: Spherical,
    /// The prior mean relative to the reference point.
    prior_offset: Vec<f64>,
    /// Rows (or their weights) in each group.
    sizes: Vec<f64>,
    /// sum (x - reference), K x D.
    sums: Vec<f64>,
    /// sum |x - reference|^2.
    squares: Vec<f64>,
    /// The row being scored, relative to the reference point.
    row: Vec<f64>,
}

impl<'a, T: Real> SphericalGroups<'a, T> {
    /// No groups yet.
    pub fn new(data: &'a Data<'a, T>, law: Spherical) -> Result<Self> {
        law.check(data.n_columns())?;
        let square: f64 = data.spreads().iter().map(|s| s * s).sum();
        let far: f64 = law.prior_mean.iter().zip(data.reference()).map(|(m, &r)| (m - r.into()).powi(2)).sum();
        let scale = (square + far) / law.variance;
        if scale.is_nan() || scale > 1e200 || law.variance.max(law.prior_variance) > 1e280 {
            return Err(Error::argument(
                "variance",
                format!("of the order of the data's squared spread, {square:e}"),
                law.variance,
                "it is the variance of a row about its group's mean, in every column",
            ));
        }
        let prior_offset = law.prior_mean.iter().zip(data.reference()).map(|(m, &r)| m - r.into()).collect();
        let row = vec![0.0; data.n_columns()];
        Ok(SphericalGroups { data, law, prior_offset, sizes: vec![], sums: vec![], squares: vec![], row })
    }

    /// For the limit alone, where variances and the prior mean play no part (B Eq. 9).
    pub fn in_the_limit(data: &'a Data<'a, T>) -> Self {
        let law = Spherical { variance: 1.0, prior_mean: vec![], prior_variance: 1.0 };
        let row = vec![0.0; data.n_columns()];
        SphericalGroups { data, law, prior_offset: row.clone(), sizes: vec![], sums: vec![], squares: vec![], row }
    }

    /// Weight of each group.
    pub fn sizes(&self) -> &[f64] {
        &self.sizes
    }

    /// Mean and variance of a group's mean given its rows (none: without any), relative to the reference point.
    pub(super) fn posterior_mean(&self, group: Option<usize>) -> (Vec<f64>, f64) {
        let (s2, r2) = (self.law.variance, self.law.prior_variance);
        let Some(group) = group else { return (self.prior_offset.clone(), r2) };
        let total = self.sizes[group] * r2 + s2;
        let columns = self.sum(group).iter().zip(&self.prior_offset);
        (columns.map(|(sum, m)| (r2 * sum + s2 * m) / total).collect(), s2 * r2 / total)
    }

    /// s2.
    pub(super) fn variance(&self) -> f64 {
        self.law.variance
    }

    /// The rows.
    pub(super) fn data(&self) -> &'a Data<'a, T> {
        self.data
    }

    /// The mean of a group relative to the reference point.
    pub fn mean_offset(&self, group: usize) -> Vec<f64> {
        self.sum(group).iter().map(|s| s / self.sizes[group]).collect()
    }

    /// sum |x - mean|^2 over a group's rows.
    pub fn group_loss(&self, group: usize) -> f64 {
        let square_of_sum: f64 = self.sum(group).iter().map(|s| s * s).sum();
        (self.squares[group] - square_of_sum / self.sizes[group]).max(0.0)
    }

    fn sum(&self, group: usize) -> &[f64] {
        let d = self.data.n_columns();
        &self.sums[group * d..(group + 1) * d]
    }

    /// Adds a row `times` times (-1: takes it out).
    fn change(&mut self, group: usize, row: usize, times: f64) {
        let d = self.data.n_columns();
        let weight = times * self.data.weight(row);
        let (values, reference) = (self.data.rows().row(row), self.data.reference());
        add_offset_row(&mut self.sums[group * d..(group + 1) * d], values, reference, weight);
        let square: f64 = values.iter().zip(reference).map(|(x, r)| ((*x).into() - (*r).into()).powi(2)).sum();
        self.squares[group] += weight * square;
        self.sizes[group] += weight;
    }

    fn load(&mut self, row: usize) {
        self.row.fill(0.0);
        add_offset_row(&mut self.row, self.data.rows().row(row), self.data.reference(), 1.0);
    }
}

impl<T: Real> Groups for SphericalGroups<'_, T> {
    fn n_groups(&self) -> usize {
        self.sizes.len()
    }

    fn open(&mut self) {
        self.sizes.push(0.0);
        self.squares.push(0.0);
        self.sums.extend(std::iter::repeat_n(0.0, self.data.n_columns()));
    }

    fn close(&mut self, group: usize) {
        let d = self.data.n_columns();
        let last = self.sizes.len() - 1;
        self.sums.copy_within(last * d..(last + 1) * d, group * d);
        self.sums.truncate(last * d);
        self.sizes.swap_remove(group);
        self.squares.swap_remove(group);
    }

    fn add(&mut self, group: usize, row: usize) {
        self.change(group, row, 1.0);
    }

    fn sub(&mut self, group: usize, row: usize) {
        self.change(group, row, -1.0);
    }

    fn weigh(&mut self, row: usize, out: &mut [f64]) {
        self.load(row);
        self.law.weigh(&self.row, &self.prior_offset, &self.sizes, &self.sums, out);
    }

    /// w S/(S + w) |x - mean|^2 for a row of weight w (B Eq. 9); a group of its own costs nothing here.
    fn charge(&mut self, row: usize, out: &mut [f64]) {
        self.load(row);
        let weight = self.data.weight(row);
        let cost = |n: f64, distance: f64| if n > 0.0 { weight * n / (n + weight) * distance } else { 0.0 };
        let shares = |n: f64| (if n > 0.0 { 1.0 / n } else { 0.0 }, 0.0);
        let SphericalGroups { row, prior_offset, sizes, sums, .. } = self;
        on_this_processor(AddToEach { row, prior_mean: prior_offset, sizes, sums, shares, value: cost, out });
    }

    fn ln_marginal(&self) -> f64 {
        let d = self.data.n_columns() as f64;
        let prior_square: f64 = self.prior_offset.iter().map(|m| m * m).sum();
        (0..self.sizes.len())
            .map(|k| {
                let n = self.sizes[k];
                let (mut cross, mut square_of_sum) = (0.0, 0.0);
                for (s, m) in self.sum(k).iter().zip(&self.prior_offset) {
                    cross += s * m;
                    square_of_sum += (s - n * m).powi(2);
                }
                let squares = self.squares[k] - 2.0 * cross + n * prior_square;
                self.law.ln_marginal(n, d, squares, square_of_sum)
            })
            .sum()
    }

    fn loss(&self) -> f64 {
        (0..self.sizes.len()).map(|k| self.group_loss(k)).sum()
    }

    fn refresh(&mut self, group_of_row: &dyn Fn(usize) -> usize) {
        self.sums.fill(0.0);
        self.squares.fill(0.0);
        self.sizes.fill(0.0);
        for row in 0..self.data.n_rows() {
            self.change(group_of_row(row), row, 1.0);
        }
    }
}

/// out[k] += value(n_k, |row - (a sum_k + b prior)|^2) with (a, b) = shares(n_k).
struct AddToEach<'a, S, V> {
    row: &'a [f64],
    prior_mean: &'a [f64],
    sizes: &'a [f64],
    sums: &'a [f64],
    shares: S,
    value: V,
    out: &'a mut [f64],
}

impl<S: Fn(f64) -> (f64, f64), V: Fn(f64, f64) -> f64> Kernel for AddToEach<'_, S, V> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<const FUSED: bool, const WIDE: bool>(self) {
        const LANES: usize = 8;
        let (row, prior) = (self.row, self.prior_mean);
        let d = row.len();
        for ((sum, &n), out) in self.sums.chunks_exact(d).zip(self.sizes).zip(self.out) {
            let (a, b) = (self.shares)(n);
            let deviation = |j: usize| row[j] - a * sum[j] - b * prior[j];
            let mut lanes = [0.0; LANES];
            let whole = d - d % LANES;
            for start in (0..whole).step_by(LANES) {
                for (l, lane) in lanes.iter_mut().enumerate() {
                    let y = deviation(start + l);
                    *lane += y * y;
                }
            }
            let tail: f64 = (whole..d).map(|j| deviation(j) * deviation(j)).sum();
            *out += (self.value)(n, lanes.iter().sum::<f64>() + tail);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Rows;
    use crate::likelihood::laws;

    fn law() -> Spherical {
        Spherical { variance: 0.7, prior_mean: vec![0.5, -1.0, 2.0], prior_variance: 2.5 }
    }

    laws::likelihood_laws!(posterior, laws::rows(3), |data| SphericalGroups::new(data, law()).unwrap());
    laws::limit_laws!(limit, laws::rows(3), |data| SphericalGroups::in_the_limit(data));

    #[test]
    fn the_loss_is_the_limit_of_the_marginal() {
        let rows = laws::rows(3);
        let data = rows.data();
        let at = |variance| SphericalGroups::new(&data, Spherical { variance, ..law() }).unwrap();
        laws::loss_is_the_limit_of_the_marginal(
            |variance, labels| laws::seated_ln_marginal(at(variance), labels),
            |labels| laws::seated_loss(SphericalGroups::in_the_limit(&data), labels),
        );
    }

    #[test]
    fn the_marginal_is_the_joint_gaussian_density() {
        // Two rows in one column: covariance [[s2 + r2, r2], [r2, s2 + r2]], written out.
        let (s2, r2, m) = (0.7, 2.5, 0.5);
        let values = [1.3, -0.4];
        let data = Data::new(Rows::new(&values, 1).unwrap()).unwrap();
        let law = Spherical { variance: s2, prior_mean: vec![m], prior_variance: r2 };
        let mut groups = SphericalGroups::new(&data, law).unwrap();
        groups.open();
        groups.add(0, 0);
        groups.add(0, 1);
        let (x, y) = (values[0] - m, values[1] - m);
        let det = (s2 + r2).powi(2) - r2 * r2;
        let quadratic = ((s2 + r2) * (x * x + y * y) - 2.0 * r2 * x * y) / det;
        let expected = -TAU.ln() - 0.5 * det.ln() - 0.5 * quadratic;
        assert!((groups.ln_marginal() - expected).abs() < 1e-12);
    }

    #[test]
    fn bad_parameters_are_named() {
        let values = [1.0, 2.0];
        let data = Data::new(Rows::new(&values, 1).unwrap()).unwrap();
        let good = Spherical { variance: 1.0, prior_mean: vec![0.0], prior_variance: 1.0 };
        for (law, name) in [
            (Spherical { variance: 0.0, ..good.clone() }, "variance must be"),
            (Spherical { prior_variance: f64::NAN, ..good.clone() }, "prior_variance must be"),
            (Spherical { prior_mean: vec![], ..good.clone() }, "prior_mean must be 1 finite numbers"),
            (Spherical { variance: 1e-308, ..good.clone() }, "variance must be of the order"),
            (Spherical { variance: 1e290, ..good.clone() }, "variance must be of the order"),
        ] {
            assert!(SphericalGroups::new(&data, law).unwrap_err().to_string().starts_with(name));
        }
    }
}
