//! The IBP linear-Gaussian model on tiny data: its exact posterior by enumeration, and Geweke's joint test.

use madbayes::gibbs::{Agreement, IbpSampler, IbpState, InverseGamma, Schedule, geweke};
use madbayes::prior::Ibp;
use madbayes::random::{Rng, Stream, stream};
use madbayes::special::{ln_factorial, ln_gamma, ln_sum_exp};
use madbayes::structure::Allocation;
use madbayes::watch::Unwatched;
use rand::RngExt;
use rand_distr::{Gamma, StandardNormal};
use std::collections::HashMap;

/// Variances of the enumerated posteriors.
pub const NOISE: f64 = 0.3;
/// See [`NOISE`].
pub const SCALE: f64 = 1.2;

/// log p(X | Z): the columns of X are N(0, r2 ZZ' + s2 I), by elimination in N dimensions. The library works in K.
pub fn ln_marginal(values: &[f64], d: usize, noise: f64, scale: f64, allocation: &Allocation) -> f64 {
    let n = values.len() / d;
    let mut left: Vec<Vec<f64>> = (0..n)
        .map(|a| {
            let shared = |b: usize| allocation.features_of(a).filter(|k| allocation.get(b, *k)).count() as f64;
            let covariance = (0..n).map(|b| scale * shared(b) + if a == b { noise } else { 0.0 });
            covariance.chain(values[a * d..(a + 1) * d].iter().copied()).collect()
        })
        .collect();
    let mut total = -0.5 * (n * d) as f64 * std::f64::consts::TAU.ln();
    for a in 0..n {
        let pivot = left[a][a];
        total -= 0.5 * d as f64 * pivot.ln() + left[a][n..].iter().map(|x| x * x).sum::<f64>() / (2.0 * pivot);
        let row = left[a].clone();
        for later in &mut left[a + 1..] {
            let factor = later[a] / pivot;
            later.iter_mut().zip(&row).for_each(|(x, y)| *x -= factor * y);
        }
    }
    total
}

/// log p(Z), every column of S rows by itself: Poisson(gamma (S-1)! (N-S)!/N!) features. With a Gamma(a, b) prior the mass
/// is integrated out: gamma^K exp(-gamma H_N) becomes Gamma(a+K)/Gamma(a) b^a/(b + H_N)^(a+K).
pub fn ln_prior(allocation: &Allocation, mass: Result<f64, (f64, f64)>) -> f64 {
    let (n, k) = (allocation.n_rows(), allocation.n_features() as f64);
    let column = |s: &usize| ln_factorial(s - 1) + ln_factorial(n - s) - ln_factorial(n);
    let columns: f64 = allocation.counts().iter().map(column).sum();
    let repeated: f64 = allocation.multiplicities().into_iter().map(ln_factorial).sum();
    let harmonic: f64 = (1..=n).map(|i| 1.0 / i as f64).sum();
    let of_mass = match mass {
        Ok(mass) => k * mass.ln() - mass * harmonic,
        Err((a, b)) => ln_gamma(a + k) - ln_gamma(a) + a * b.ln() - (a + k) * (b + harmonic).ln(),
    };
    of_mass + columns - repeated
}

/// Total variation between the exact posterior over all multisets of at most `most` columns and two chains, and how many
/// multisets there are. `mass` is fixed, or has this Gamma prior.
pub fn total_variation(
    values: &[f64],
    d: usize,
    collapsed: bool,
    mass: Result<f64, (f64, f64)>,
    most: usize,
    sweeps: usize,
) -> (f64, usize) {
    let n = values.len() / d;
    let all: Vec<Allocation> = (0..=most).flat_map(|k| Allocation::all_multisets(n, k)).collect();
    let joint: Vec<f64> = all.iter().map(|z| ln_prior(z, mass) + ln_marginal(values, d, NOISE, SCALE, z)).collect();
    let total = ln_sum_exp(&joint);
    let sampler = IbpSampler {
        mass: mass.ok(),
        mass_prior: mass.err().unwrap_or((1.0, 1.0)),
        noise: Some(NOISE),
        scale: Some(SCALE),
        collapsed,
        schedule: Schedule { sweeps, burn_in: 100, thin: 1 },
        chains: 2,
        ..IbpSampler::default()
    };
    let chains = sampler.fit(&super::data(values, d), &Unwatched).unwrap();
    let n_draws: usize = chains.iter().map(|c| c.draws.len()).sum();
    let mut shares: HashMap<Allocation, f64> = HashMap::new();
    for draw in chains.iter().flat_map(|c| &c.draws) {
        *shares.entry(draw.left_ordered()).or_default() += 1.0 / n_draws as f64;
    }
    let gaps: f64 =
        all.iter().zip(&joint).map(|(z, j)| ((j - total).exp() - shares.remove(z).unwrap_or(0.0)).abs()).sum();
    // What is left was drawn beyond the enumeration.
    ((gaps + shares.values().sum::<f64>()) / 2.0, all.len())
}

/// State and data of the joint test.
struct Joint {
    state: IbpState,
    values: Vec<f64>,
}

const ROWS: usize = 4;
const COLUMNS: usize = 2;
const MASS: (f64, f64) = (3.0, 3.0);
const NOISE_PRIOR: InverseGamma = InverseGamma { shape: 6.0, rate: 3.0 };
const SCALE_PRIOR: InverseGamma = InverseGamma { shape: 7.0, rate: 9.0 };

fn draw_components(k: usize, scale: f64, rng: &mut Rng) -> Vec<f64> {
    (0..k * COLUMNS).map(|_| scale.sqrt() * rng.sample::<f64, _>(StandardNormal)).collect()
}

fn draw_rows(state: &IbpState, components: &[f64], rng: &mut Rng) -> Vec<f64> {
    let mut values = Vec::new();
    for row in 0..ROWS {
        for column in 0..COLUMNS {
            let mean: f64 = state.allocation.features_of(row).map(|k| components[k * COLUMNS + column]).sum();
            values.push(mean + state.noise.sqrt() * rng.sample::<f64, _>(StandardNormal));
        }
    }
    values
}

/// Geweke's joint test of one sweep with mass, noise and scale redrawn. The uncollapsed sampler's own draw of the
/// features' values makes the next rows; the collapsed one has none, so they are drawn afresh.
pub fn joint_test(collapsed: bool, n_draws: usize) -> Vec<Agreement> {
    let sampler = IbpSampler {
        mass_prior: MASS,
        noise_prior: Some(NOISE_PRIOR),
        scale_prior: Some(SCALE_PRIOR),
        collapsed,
        ..IbpSampler::default()
    };
    geweke(
        n_draws,
        &mut stream(11, Stream::Simulation),
        |rng| {
            let mass: f64 = rng.sample(Gamma::new(MASS.0, 1.0 / MASS.1).unwrap());
            let allocation = Ibp::new(mass).unwrap().sample(ROWS, rng).unwrap();
            let (noise, scale) = (NOISE_PRIOR.sample(rng), SCALE_PRIOR.sample(rng));
            let components = draw_components(allocation.n_features(), scale, rng);
            let state = IbpState { allocation, components, mass, noise, scale };
            Joint { values: draw_rows(&state, &state.components, rng), state }
        },
        |joint, rng| {
            sampler.step(&super::data(&joint.values, COLUMNS), &mut joint.state, rng).unwrap();
            let state = &mut joint.state;
            if collapsed {
                state.components = draw_components(state.allocation.n_features(), state.scale, rng);
            }
            joint.values = draw_rows(state, &state.components, rng);
        },
        &[
            ("features", |j: &Joint| j.state.allocation.n_features() as f64),
            ("features squared", |j| (j.state.allocation.n_features() as f64).powi(2)),
            ("ones", |j| ones(j) as f64),
            ("features of one row", |j| j.state.allocation.counts().iter().filter(|c| **c == 1).count() as f64),
            ("distinct columns", |j| j.state.allocation.multiplicities().len() as f64),
            ("mass", |j| j.state.mass),
            ("mass times features", |j| j.state.mass * j.state.allocation.n_features() as f64),
            ("noise", |j| j.state.noise),
            ("noise squared", |j| j.state.noise.powi(2)),
            ("scale", |j| j.state.scale),
            ("scale times ones", |j| j.state.scale * ones(j) as f64),
            ("sum of squares of rows", |j| j.values.iter().map(|x| x * x).sum()),
            ("sum of squares of features", |j| j.state.components.iter().map(|x| x * x).sum()),
            ("first row times last", |j| j.values[0] * j.values[(ROWS - 1) * COLUMNS]),
            ("sum", |j| j.values.iter().sum()),
        ],
    )
}

fn ones(joint: &Joint) -> usize {
    joint.state.allocation.counts().iter().sum()
}
