//! The CRP mixture on tiny data: its exact posterior by enumeration, and Geweke's joint test.

use madbayes::data::{Data, Rows};
use madbayes::gibbs::{Agreement, CrpMixture, Schedule, geweke};
use madbayes::likelihood::{Spherical, SphericalGroups};
use madbayes::prior::{Concentration, Crp, CrpSeats, Seats as _};
use madbayes::random::{Rng, Stream, stream};
use madbayes::special::{ln_gamma, ln_sum_exp};
use madbayes::structure::Partition;
use madbayes::sweep::{LiveLabels, Regime, seat_all, sweep};
use madbayes::watch::Unwatched;
use rand_distr::{Distribution, Gamma, Normal};
use std::collections::HashMap;

/// The likelihood of the tests.
pub fn law(d: usize) -> Spherical {
    Spherical { variance: 0.5, prior_mean: vec![0.4; d], prior_variance: 2.0 }
}

/// Log marginal likelihood of a partition from the joint Gaussian density, one row after the other:
/// independent of the library's formula, which works from sums.
pub fn ln_marginal(values: &[f64], d: usize, law: &Spherical, partition: &Partition) -> f64 {
    let mut total = 0.0;
    for members in partition.members() {
        for j in 0..d {
            let (mut mean, mut variance) = (law.prior_mean[j], law.prior_variance);
            for &n in &members {
                let spread = variance + law.variance;
                let error = values[n * d + j] - mean;
                total += -0.5 * (std::f64::consts::TAU * spread).ln() - error * error / (2.0 * spread);
                mean += variance / spread * error;
                variance *= law.variance / spread;
            }
        }
    }
    total
}

/// Log prior of a partition with the concentration fixed, or integrated over its Gamma(a, b) prior by quadrature.
pub fn ln_prior(partition: &Partition, hyperprior: Option<(f64, f64)>) -> f64 {
    let Some((a, b)) = hyperprior else { return Crp::new(0.8).unwrap().ln_prob(partition) };
    let grid: Vec<f64> = (0..4000)
        .map(|i| {
            // Substitution alpha = exp(t), t in [-20, 10].
            let t = -20.0 + 30.0 * (f64::from(i) + 0.5) / 4000.0;
            let alpha = t.exp();
            let density = a * b.ln() - ln_gamma(a) + (a - 1.0) * t - b * alpha + t;
            density + Crp { ln_concentration: t }.ln_prob(partition) + (30.0f64 / 4000.0).ln()
        })
        .collect();
    ln_sum_exp(&grid)
}

fn exact_posterior(values: &[f64], d: usize, hyperprior: Option<(f64, f64)>) -> HashMap<Partition, f64> {
    let all: Vec<Partition> = Partition::all(values.len() / d).collect();
    let joint: Vec<f64> = all.iter().map(|p| ln_prior(p, hyperprior) + ln_marginal(values, d, &law(d), p)).collect();
    let total = ln_sum_exp(&joint);
    all.into_iter().zip(joint).map(|(p, j)| (p, (j - total).exp())).collect()
}

/// Total variation between the exact posterior over all partitions and two chains, and how many partitions there are.
pub fn total_variation(values: &[f64], d: usize, hyperprior: Option<(f64, f64)>, sweeps: usize) -> (f64, usize) {
    let exact = exact_posterior(values, d, hyperprior);
    let sampler = CrpMixture {
        concentration: 0.8,
        hyperprior: hyperprior.map_or(Concentration::Fixed, |(shape, rate)| Concentration::Gamma { shape, rate }),
        schedule: Schedule { sweeps, burn_in: 100, thin: 1 },
        chains: 2,
        ..CrpMixture::new(law(d))
    };
    let chains = sampler.fit(&super::data(values, d), &Unwatched).unwrap();
    let draws: Vec<&Partition> = chains.iter().flat_map(|c| &c.draws).collect();
    let mut counts: HashMap<&Partition, f64> = HashMap::new();
    draws.iter().for_each(|p| *counts.entry(p).or_default() += 1.0 / draws.len() as f64);
    let distance = exact.iter().map(|(p, e)| (e - counts.get(p).unwrap_or(&0.0)).abs()).sum::<f64>() / 2.0;
    (distance, exact.len())
}

/// Structure, data and concentration of the joint test.
struct Joint {
    partition: Partition,
    values: Vec<f64>,
    concentration: f64,
}

fn draw_rows(partition: &Partition, rng: &mut Rng) -> Vec<f64> {
    let law = law(1);
    let normal = |mean: f64, variance: f64| Normal::new(mean, variance.sqrt()).unwrap();
    let means: Vec<f64> =
        (0..partition.n_groups()).map(|_| normal(law.prior_mean[0], law.prior_variance).sample(rng)).collect();
    partition.labels().iter().map(|l| normal(means[*l as usize], law.variance).sample(rng)).collect()
}

/// Geweke's joint test of one sweep and one draw of the concentration.
pub fn joint_test(n_draws: usize) -> Vec<Agreement> {
    let (shape, rate) = (2.0, 1.5);
    geweke(
        n_draws,
        &mut stream(3, Stream::Simulation),
        |rng| {
            let concentration = Gamma::new(shape, 1.0 / rate).unwrap().sample(rng);
            let partition = Crp::new(concentration).unwrap().sample(7, rng);
            Joint { values: draw_rows(&partition, rng), partition, concentration }
        },
        |joint, rng| {
            let rows = Data::new(Rows::new(&joint.values, 1).unwrap()).unwrap();
            let mut labels = LiveLabels::new(joint.partition.labels());
            let mut groups = SphericalGroups::new(&rows, law(1)).unwrap();
            let mut seats = CrpSeats::new(joint.concentration.ln(), f64::INFINITY)
                .with_hyperprior(Concentration::Gamma { shape, rate })
                .unwrap();
            seat_all(&labels, &mut seats, &mut groups);
            sweep(&mut labels, &mut seats, &mut groups, Regime::Posterior, 0..7, rng, &Unwatched);
            seats.refresh(rng);
            joint.concentration = seats.ln_concentration().exp();
            joint.partition = Partition::from_labels(labels.to_vec());
            joint.values = draw_rows(&joint.partition, rng);
        },
        &[
            ("groups", |j: &Joint| j.partition.n_groups() as f64),
            ("first two together", |j| f64::from(j.partition.labels()[1] == 0)),
            ("largest group", |j| *j.partition.sizes().iter().max().unwrap() as f64),
            ("concentration", |j| j.concentration),
            ("concentration times groups", |j| j.concentration * j.partition.n_groups() as f64),
            ("mean", |j| j.values.iter().sum::<f64>() / 7.0),
            ("square", |j| j.values.iter().map(|x| x * x).sum::<f64>() / 7.0),
            ("first times last", |j| j.values[0] * j.values[6]),
        ],
    )
}
