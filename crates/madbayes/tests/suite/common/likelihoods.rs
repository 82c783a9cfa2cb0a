//! The likelihoods under test, each with its marginal by plain loops over the rows and its way to draw rows from parameters.

use madbayes::counts::Counts;
use madbayes::data::Rows;
use madbayes::gibbs::{MakeEmissions, TestStep};
use madbayes::likelihood::{
    Diagonal, DiagonalGroups, Full, FullGroups, Groups, Multinomial, MultinomialGroups, Spherical, SphericalGroups,
};
use madbayes::random::Rng;
use madbayes::special::ln_gamma;
use madbayes::structure::Partition;
use rand::RngExt;
use rand_distr::{ChiSquared, Distribution, Gamma, Normal, StandardNormal};
use std::f64::consts::{PI, TAU};

/// A likelihood with the parameters of the tests, of this many columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Likelihood {
    Spherical(usize),
    Diagonal(usize),
    /// Of 1 or 2 columns.
    Full(usize),
    Multinomial(usize),
}

/// What is done with a likelihood that can draw its parameters.
pub type EmissionsStep<'s> = dyn for<'a, 'g> FnMut(MakeEmissions<'a, 'g>) -> madbayes::Result<()> + 's;

/// k0 and v0 of the normal laws: few, so that the prior matters; v0 above the columns, so that tails are not too long.
const STRENGTH: f64 = 0.3;
const DOF: f64 = 6.5;
const PSEUDOCOUNT: f64 = 0.4;

/// The spherical law of the tests.
pub fn spherical(d: usize) -> Spherical {
    Spherical { variance: 0.5, prior_mean: vec![0.4; d], prior_variance: 2.0 }
}

fn diagonal(d: usize) -> Diagonal {
    let prior_scale = (0..d).map(|j| 1.2 + 0.6 * j as f64).collect();
    Diagonal { prior_mean: vec![0.4; d], prior_strength: STRENGTH, prior_dof: DOF, prior_scale }
}

fn full(d: usize) -> Full {
    let prior_scale = if d == 1 { vec![1.2] } else { vec![1.2, 0.7, 0.7, 1.8] };
    Full { prior_mean: vec![0.4; d], prior_strength: STRENGTH, prior_dof: DOF, prior_scale }
}

impl Likelihood {
    /// Of each kind, those that the exact posterior is compared with.
    pub const ALL: [Likelihood; 6] = [
        Likelihood::Spherical(1),
        Likelihood::Spherical(2),
        Likelihood::Diagonal(2),
        Likelihood::Full(1),
        Likelihood::Full(2),
        Likelihood::Multinomial(3),
    ];

    pub fn name(self) -> &'static str {
        match self {
            Likelihood::Spherical(_) => "spherical",
            Likelihood::Diagonal(_) => "diagonal",
            Likelihood::Full(_) => "full covariance",
            Likelihood::Multinomial(_) => "multinomial",
        }
    }

    pub fn n_columns(self) -> usize {
        let (Self::Spherical(d) | Self::Diagonal(d) | Self::Full(d) | Self::Multinomial(d)) = self;
        d
    }

    /// Up to six rows that leave the posterior undecided.
    pub fn rows(self, n: usize) -> Vec<f64> {
        const NUMBERS: [f64; 12] = [0.3, 1.0, 0.5, 0.7, 2.5, -1.0, 2.1, -0.4, -1.0, 0.2, 0.9, 1.4];
        const COUNTS: [f64; 18] =
            [3.0, 0.0, 1.0, 0.0, 2.0, 2.0, 2.0, 1.0, 0.0, 0.0, 4.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 5.0];
        let all: &[f64] = if matches!(self, Likelihood::Multinomial(_)) { &COUNTS } else { &NUMBERS };
        all[..n * self.n_columns()].to_vec()
    }

    /// Makes the likelihood of these rows and calls `step` with it.
    pub fn with_groups(self, values: &[f64], step: &mut TestStep) -> madbayes::Result<()> {
        self.with_emissions(values, &mut |make| step(&|| Ok(make()? as Box<dyn Groups>)))
    }

    /// The same for a step that draws parameters.
    pub fn with_emissions(self, values: &[f64], step: &mut EmissionsStep) -> madbayes::Result<()> {
        let d = self.n_columns();
        if let Likelihood::Multinomial(_) = self {
            let counts = Counts::from_rows(Rows::new(values, d)?)?;
            let law = Multinomial { pseudocount: PSEUDOCOUNT };
            return step(&|| Ok(Box::new(MultinomialGroups::new(&counts, law)?)));
        }
        let data = super::data(values, d);
        step(&|| {
            Ok(match self {
                Likelihood::Spherical(_) => Box::new(SphericalGroups::new(&data, spherical(d))?),
                Likelihood::Diagonal(_) => Box::new(DiagonalGroups::new(&data, diagonal(d))?),
                _ => Box::new(FullGroups::new(&data, full(d))?),
            })
        })
    }

    /// Log marginal likelihood of a partition, by other ways than the library's, which works from live sums.
    pub fn ln_marginal(self, values: &[f64], partition: &Partition) -> f64 {
        let d = self.n_columns();
        let of_group = |members: Vec<usize>| -> f64 {
            let rows: Vec<&[f64]> = members.iter().map(|&n| &values[n * d..(n + 1) * d]).collect();
            match self {
                Likelihood::Spherical(_) => ln_gaussian_one_by_one(&rows, &spherical(d)),
                Likelihood::Multinomial(_) => ln_urn(&rows),
                Likelihood::Full(_) => ln_normal_inverse_wishart(&rows, &full(d)),
                Likelihood::Diagonal(_) => {
                    // Column by column, each a normal-inverse-Wishart of one column.
                    let Diagonal { prior_mean, prior_scale, .. } = diagonal(d);
                    let column = |j: usize| {
                        let rows: Vec<&[f64]> = rows.iter().map(|row| &row[j..=j]).collect();
                        let (prior_mean, prior_scale) = (vec![prior_mean[j]], vec![prior_scale[j]]);
                        ln_normal_inverse_wishart(&rows, &Full { prior_mean, prior_scale, ..full(1) })
                    };
                    (0..d).map(column).sum()
                }
            }
        };
        partition.members().into_iter().map(of_group).sum()
    }

    /// Rows given a partition: parameters for every group, rows given them.
    pub fn draw_rows(self, partition: &Partition, rng: &mut Rng) -> Vec<f64> {
        let d = self.n_columns();
        let mut values = vec![0.0; partition.n_rows() * d];
        for members in partition.members() {
            match self {
                Likelihood::Spherical(_) => {
                    let law = spherical(d);
                    let normal = |mean: f64, variance: f64| Normal::new(mean, variance.sqrt()).unwrap();
                    let means: Vec<f64> =
                        law.prior_mean.iter().map(|&m| normal(m, law.prior_variance).sample(rng)).collect();
                    for n in members {
                        (0..d).for_each(|j| values[n * d + j] = normal(means[j], law.variance).sample(rng));
                    }
                }
                Likelihood::Diagonal(_) => {
                    let law = diagonal(d);
                    for j in 0..d {
                        let precision = Gamma::new(0.5 * law.prior_dof, 2.0 / law.prior_scale[j]).unwrap().sample(rng);
                        let spread = 1.0 / f64::sqrt(precision);
                        let mean = Normal::new(law.prior_mean[j], spread / law.prior_strength.sqrt()).unwrap();
                        let rows = Normal::new(mean.sample(rng), spread).unwrap();
                        members.iter().for_each(|n| values[n * d + j] = rows.sample(rng));
                    }
                }
                Likelihood::Full(_) => {
                    let law = full(d);
                    let root = draw_root(&law, rng);
                    let deviation = root_times_noise(&root, d, rng);
                    let mean: Vec<f64> =
                        (0..d).map(|j| law.prior_mean[j] + deviation[j] / law.prior_strength.sqrt()).collect();
                    for n in members {
                        let deviation = root_times_noise(&root, d, rng);
                        (0..d).for_each(|j| values[n * d + j] = mean[j] + deviation[j]);
                    }
                }
                Likelihood::Multinomial(_) => {
                    let gamma = Gamma::new(PSEUDOCOUNT, 1.0).unwrap();
                    let shares: Vec<f64> = (0..d).map(|_| gamma.sample(rng).max(f64::MIN_POSITIVE)).collect();
                    let total: f64 = shares.iter().sum();
                    // Totals are given: they differ from row to row.
                    for n in members {
                        for _ in 0..2 + n % 3 {
                            let mut left = rng.random::<f64>() * total;
                            let column = shares.iter().position(|share| {
                                left -= share;
                                left < 0.0
                            });
                            values[n * d + column.unwrap_or(d - 1)] += 1.0;
                        }
                    }
                }
            }
        }
        values
    }
}

/// Log marginal likelihood of a partition under a spherical law.
pub fn ln_marginal(values: &[f64], d: usize, law: &Spherical, partition: &Partition) -> f64 {
    let of_group = |members: Vec<usize>| {
        let rows: Vec<&[f64]> = members.iter().map(|&n| &values[n * d..(n + 1) * d]).collect();
        ln_gaussian_one_by_one(&rows, law)
    };
    partition.members().into_iter().map(of_group).sum()
}

/// From the joint Gaussian density, one row after the other.
fn ln_gaussian_one_by_one(rows: &[&[f64]], law: &Spherical) -> f64 {
    let mut total = 0.0;
    for (j, &prior_mean) in law.prior_mean.iter().enumerate() {
        let (mut mean, mut variance) = (prior_mean, law.prior_variance);
        for row in rows {
            let spread = variance + law.variance;
            let error = row[j] - mean;
            total += -0.5 * (TAU * spread).ln() - error * error / (2.0 * spread);
            mean += variance / spread * error;
            variance *= law.variance / spread;
        }
    }
    total
}

/// Murphy 2007, Eq. 266: P = P0 + sum x x' + k0 m0 m0' - k m m', of 1 or 2 columns.
fn ln_normal_inverse_wishart(rows: &[&[f64]], law: &Full) -> f64 {
    let (d, n) = (law.prior_mean.len(), rows.len() as f64);
    let (k0, v0) = (law.prior_strength, law.prior_dof);
    let (k, v) = (k0 + n, v0 + n);
    let m0 = &law.prior_mean;
    let mean: Vec<f64> = (0..d).map(|j| (k0 * m0[j] + rows.iter().map(|row| row[j]).sum::<f64>()) / k).collect();
    let entry = |i: usize, j: usize| {
        let squares: f64 = rows.iter().map(|row| row[i] * row[j]).sum();
        law.prior_scale[i * d + j] + squares + k0 * m0[i] * m0[j] - k * mean[i] * mean[j]
    };
    let determinant = |of: &dyn Fn(usize, usize) -> f64| match d {
        1 => of(0, 0),
        _ => of(0, 0) * of(1, 1) - of(0, 1) * of(1, 0),
    };
    let gammas = |v: f64| (0..d).map(|j| ln_gamma(0.5 * (v - j as f64))).sum::<f64>();
    gammas(v) - gammas(v0) - 0.5 * n * d as f64 * PI.ln()
        + 0.5 * d as f64 * (k0 / k).ln()
        + 0.5 * v0 * determinant(&|i, j| law.prior_scale[i * d + j]).ln()
        - 0.5 * v * determinant(&entry).ln()
}

/// Polya's urn, event by event, times the orders in which a row's events may come.
fn ln_urn(rows: &[&[f64]]) -> f64 {
    let mut urn = vec![PSEUDOCOUNT; rows[0].len()];
    let mut ln_probability = 0.0;
    for row in rows {
        let mut events = 0.0;
        for (column, &count) in row.iter().enumerate() {
            for nth in 1..=count as usize {
                events += 1.0;
                ln_probability += f64::ln(urn[column] / urn.iter().sum::<f64>() * events / nth as f64);
                urn[column] += 1.0;
            }
        }
    }
    ln_probability
}

/// A root of Sigma ~ InverseWishart(v0, P0) by Bartlett's decomposition: L A^-T with P0 = L L', A lower triangular,
/// A_ii^2 ~ chi-square(v0 - i) for i = 0, 1, and A_10 normal. Row by row.
fn draw_root(law: &Full, rng: &mut Rng) -> Vec<f64> {
    let p = &law.prior_scale;
    let mut chi = |lost: f64| ChiSquared::new(law.prior_dof - lost).unwrap().sample(rng).sqrt();
    if p.len() == 1 {
        return vec![p[0].sqrt() / chi(0.0)];
    }
    let (a00, a11) = (chi(0.0), chi(1.0));
    let a10: f64 = rng.sample(StandardNormal);
    let l00 = p[0].sqrt();
    let l10 = p[2] / l00;
    let l11 = (p[3] - l10 * l10).sqrt();
    // A^-T is upper triangular: 1/a00, -a10/(a00 a11), 1/a11.
    let (u00, u01, u11) = (1.0 / a00, -a10 / (a00 * a11), 1.0 / a11);
    vec![l00 * u00, l00 * u01, l10 * u00, l10 * u01 + l11 * u11]
}

fn root_times_noise(root: &[f64], d: usize, rng: &mut Rng) -> Vec<f64> {
    let noise: Vec<f64> = (0..d).map(|_| rng.sample(StandardNormal)).collect();
    (0..d).map(|i| (0..d).map(|j| root[i * d + j] * noise[j]).sum()).collect()
}
