//! The CRP mixture sampler against enumeration, Geweke's joint test, and its own limit.

mod common;

use common::{data, uniform};
use madbayes::data::{Data, Rows};
use madbayes::gibbs::{ChainStart, CrpMixture, Schedule, geweke};
use madbayes::likelihood::{Groups, Spherical, SphericalGroups};
use madbayes::prior::{Concentration, Crp, CrpSeats, Seats};
use madbayes::random::{Rng, Stream, stream};
use madbayes::special::{ln_gamma, ln_sum_exp};
use madbayes::structure::Partition;
use madbayes::sweep::{LiveLabels, Regime, sweep};
use madbayes::watch::Unwatched;
use rand_distr::{Distribution, Gamma, Normal};
use rstest::rstest;
use std::collections::HashMap;

const ROWS: [f64; 12] = [0.3, 1.0, 0.5, 0.7, 2.5, -1.0, 2.1, -0.4, -1.0, 0.2, 0.9, 1.4];

fn law(d: usize) -> Spherical {
    Spherical { variance: 0.5, prior_mean: vec![0.4; d], prior_variance: 2.0 }
}

/// Log marginal likelihood of a partition from the joint Gaussian density, one row after the other:
/// independent of the library's formula, which works from sums.
fn ln_marginal(values: &[f64], d: usize, law: &Spherical, partition: &Partition) -> f64 {
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
fn ln_prior(partition: &Partition, hyperprior: Option<(f64, f64)>) -> f64 {
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

#[rstest]
#[case::five_rows_fixed(&ROWS[..10], 2, None)]
#[case::six_rows_fixed(&ROWS[..6], 1, None)]
#[case::five_rows_resampled(&ROWS[..5], 1, Some((1.0, 1.0)))]
#[case::six_rows_resampled(&ROWS[..12], 2, Some((2.0, 0.5)))]
fn the_sampler_matches_the_exact_posterior_over_all_partitions(
    #[case] values: &[f64],
    #[case] d: usize,
    #[case] hyperprior: Option<(f64, f64)>,
) {
    let exact = exact_posterior(values, d, hyperprior);
    let sampler = CrpMixture {
        concentration: 0.8,
        hyperprior: hyperprior.map_or(Concentration::Fixed, |(shape, rate)| Concentration::Gamma { shape, rate }),
        schedule: Schedule { sweeps: 150_000, burn_in: 100, thin: 1 },
        chains: 2,
        ..CrpMixture::new(law(d))
    };
    let chains = sampler.fit(&data(values, d), &Unwatched).unwrap();
    let draws: Vec<&Partition> = chains.iter().flat_map(|c| &c.draws).collect();
    let mut counts: HashMap<&Partition, f64> = HashMap::new();
    draws.iter().for_each(|p| *counts.entry(p).or_default() += 1.0 / draws.len() as f64);
    let distance: f64 = 0.5 * exact.iter().map(|(p, e)| (e - counts.get(p).unwrap_or(&0.0)).abs()).sum::<f64>();
    println!("total variation from the exact posterior over {} partitions: {distance:.5}", exact.len());
    assert!(distance < 0.01, "total variation {distance}");
}

#[test]
fn the_log_joint_of_the_trace_is_that_of_the_draw() {
    let sampler = CrpMixture {
        hyperprior: Concentration::Fixed,
        concentration: 0.8,
        schedule: Schedule { sweeps: 20, burn_in: 0, thin: 1 },
        ..CrpMixture::new(law(2))
    };
    let chain = sampler.fit(&data(&ROWS, 2), &Unwatched).unwrap().remove(0);
    for (draw, traced) in chain.draws.iter().zip(&chain.ln_joint) {
        let expected = ln_prior(draw, None) + ln_marginal(&ROWS, 2, &law(2), draw);
        assert!((traced - expected).abs() < 1e-9 * expected.abs());
    }
    assert!(chain.n_groups.iter().zip(&chain.draws).all(|(k, draw)| *k == draw.n_groups()));
    let best = chain.ln_joint.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    assert_eq!(chain.best.unwrap().1, best);
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

#[test]
fn the_sampler_passes_gewekes_joint_test() {
    let (shape, rate) = (2.0, 1.5);
    let results = geweke(
        40_000,
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
            for _ in 0..labels.n_groups() {
                groups.open();
                seats.open();
            }
            groups.refresh(&|row| labels.group(row));
            (0..7).for_each(|row| seats.joined(labels.group(row), row));
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
    );
    for agreement in &results {
        println!("{:28} {:9.4} {:9.4}  z {:6.2}", agreement.name, agreement.independent, agreement.chain, agreement.z);
    }
    assert!(results.iter().all(|a| a.z.abs() < 4.0), "{results:?}");
}

#[test]
fn minus_2_s2_log_joint_over_the_objective_tends_to_1() {
    // B Sup. A, means integrated out: subtract N D s2 log(2 pi s2), what is left tends to B Eq. 9.
    let values = uniform(12, 2, 5);
    let penalty = 6.0;
    for partition in [[0; 12].to_vec(), (0..12).map(|i| i % 3).collect(), (0..12).map(|i| i / 2).collect::<Vec<u32>>()]
    {
        let partition = Partition::from_labels(partition);
        let objective = common::sum_of_squares(&values, 2, &partition) + (partition.n_groups() - 1) as f64 * penalty;
        let mut last = f64::INFINITY;
        for s2 in [1e-1, 1e-3, 1e-5, 1e-7] {
            let law = Spherical { variance: s2, ..law(2) };
            let ln_joint =
                Crp::from_penalty(penalty, s2).unwrap().ln_prob(&partition) + ln_marginal(&values, 2, &law, &partition);
            let limit = -2.0 * s2 * ln_joint - 24.0 * s2 * (std::f64::consts::TAU * s2).ln();
            let gap = (limit / objective - 1.0).abs();
            assert!(gap < last, "the gap must shrink with the variance");
            last = gap;
        }
        assert!(last < 1e-5, "{last}");
    }
}

#[test]
fn at_small_variance_both_regimes_choose_alike() {
    let s2 = 1e-5;
    let mut choices = 0;
    for seed in 0..60 {
        let values = uniform(30, 2, 2000 + seed);
        let rows = data(&values, 2);
        for penalty in [1.0, 8.0, 40.0] {
            let run = |regime: Regime| {
                let mut labels = LiveLabels::new(&(0..30).map(|i| i % 4).collect::<Vec<u32>>());
                let mut groups = SphericalGroups::new(&rows, Spherical { variance: s2, ..law(2) }).unwrap();
                let ln_concentration = Crp::from_penalty(penalty, s2).unwrap().ln_concentration;
                let mut seats = CrpSeats::new(ln_concentration, penalty);
                for _ in 0..4 {
                    groups.open();
                    seats.open();
                }
                groups.refresh(&|row| labels.group(row));
                (0..30).for_each(|row| seats.joined(labels.group(row), row));
                let mut rng = stream(seed, Stream::Chain(0));
                for _ in 0..2 {
                    sweep(&mut labels, &mut seats, &mut groups, regime, 0..30, &mut rng, &Unwatched);
                }
                labels.to_vec()
            };
            let (limit, posterior) = (run(Regime::Limit { temperature: 0.0 }), run(Regime::Posterior));
            assert_eq!(limit, posterior, "seed {seed}, penalty {penalty}");
            // The temperature between the two: as small as the variance, it chooses alike as well.
            assert_eq!(limit, run(Regime::Limit { temperature: s2 }));
            choices += 60;
        }
    }
    println!("{choices} of {choices} choices alike");
}

#[test]
fn collapsed_charges_equal_the_change_of_the_objective() {
    for seed in 0..30 {
        let values = uniform(25, 3, 3000 + seed);
        let rows = data(&values, 3);
        let penalty = 5.0;
        let mut labels = LiveLabels::new(&(0..25).map(|i| i % 5).collect::<Vec<u32>>());
        let mut groups = SphericalGroups::in_the_limit(&rows);
        let mut seats = CrpSeats::new(f64::NEG_INFINITY, penalty);
        for _ in 0..5 {
            groups.open();
            seats.open();
        }
        groups.refresh(&|row| labels.group(row));
        (0..25).for_each(|row| seats.joined(labels.group(row), row));
        let objective = |labels: &LiveLabels| {
            let partition = Partition::from_labels(labels.to_vec());
            common::sum_of_squares(&values, 3, &partition) + (partition.n_groups() - 1) as f64 * penalty
        };
        let mut rng = stream(seed, Stream::Chain(0));
        for row in 0..25 {
            let before = objective(&labels);
            let regime = Regime::Limit { temperature: if seed % 2 == 0 { 0.0 } else { 10.0 } };
            let swept = sweep(&mut labels, &mut seats, &mut groups, regime, [row], &mut rng, &Unwatched);
            let change = objective(&labels) - before;
            assert!((swept.change - change).abs() < 1e-9 * before, "row {row}: {} {change}", swept.change);
        }
    }
}

#[rstest]
#[case(CrpMixture { chains: 0, ..CrpMixture::new(law(2)) }, "chains must be at least 1")]
#[case(CrpMixture { concentration: 0.0, ..CrpMixture::new(law(2)) }, "concentration must be")]
#[case(CrpMixture::new(law(3)), "prior_mean must be 2 finite numbers")]
#[case(CrpMixture { start: ChainStart::Random(9), ..CrpMixture::new(law(2)) }, "start must be between 1 and 6")]
#[case(
    CrpMixture { schedule: Schedule { sweeps: 10, burn_in: 10, thin: 1 }, ..CrpMixture::new(law(2)) },
    "burn_in must be less than the number of sweeps, 10"
)]
#[case(
    CrpMixture { schedule: Schedule { sweeps: 10, burn_in: 1, thin: 0 }, ..CrpMixture::new(law(2)) },
    "thin must be at least 1"
)]
#[case(
    CrpMixture { start: ChainStart::Given(Partition::from_labels([0, 1])), ..CrpMixture::new(law(2)) },
    "start must be a partition of the 6 rows"
)]
fn bad_parameters_are_named(#[case] sampler: CrpMixture, #[case] message: &str) {
    let error = sampler.fit(&data(&ROWS, 2), &Unwatched).unwrap_err().to_string();
    assert!(error.starts_with(message), "{error}");
}

#[test]
fn weights_are_refused_and_chains_do_not_depend_on_threads() {
    let weights = [1.0; 6];
    let weighted = Data::weighted(Rows::new(&ROWS, 2).unwrap(), Some(&weights)).unwrap();
    let error = CrpMixture::new(law(2)).fit(&weighted, &Unwatched).unwrap_err().to_string();
    assert!(error.contains("repeat the rows"), "{error}");
    for start in [ChainStart::One, ChainStart::Random(3), ChainStart::Given(Partition::from_labels([0, 0, 1, 1, 2, 2]))]
    {
        let run = |threads| {
            let schedule = Schedule { sweeps: 50, burn_in: 0, thin: 3 };
            let sampler = CrpMixture { threads, chains: 3, schedule, start: start.clone(), ..CrpMixture::new(law(2)) };
            sampler.fit(&data(&ROWS, 2), &Unwatched).unwrap()
        };
        assert_eq!(run(1), run(4));
        let chains = run(1);
        assert_ne!(chains[0].draws, chains[1].draws, "chains have random streams of their own");
        assert_eq!(chains[0].draws.len(), 17);
    }
}
