//! The IBP linear-Gaussian samplers against enumeration, Geweke's joint test, and each other.

use crate::common::buffet::{joint_test, ln_marginal, ln_prior, total_variation};
use crate::common::data;
use madbayes::data::{Data, Rows};
use madbayes::gibbs::{IbpSampler, IbpStart, InverseGamma, Schedule};
use madbayes::random::{Rng, Stream, stream};
use madbayes::structure::Allocation;
use madbayes::watch::{Step, Unwatched, Watch};
use rand::RngExt;
use rand_distr::StandardNormal;
use rstest::rstest;
use std::ops::ControlFlow;

const ROWS: [f64; 6] = [1.3, -0.4, 1.6, 0.9, -0.2, 1.1];

#[rstest]
fn both_samplers_match_the_exact_posterior_over_all_multisets_of_columns(
    #[values(true, false)] collapsed: bool,
    #[values(Ok(0.8), Err((2.0, 4.0)))] mass: Result<f64, (f64, f64)>,
) {
    let (distance, multisets) = total_variation(&ROWS, 2, collapsed, mass, 9, 150_000);
    println!("total variation from the exact posterior over {multisets} multisets: {distance:.5}");
    // With bits drawn in the order of the columns it stays at 0.02 however long the chain.
    assert!(distance < 0.015, "total variation {distance}");
}

#[rstest]
fn both_samplers_pass_gewekes_joint_test(#[values(true, false)] collapsed: bool) {
    let results = joint_test(collapsed, 60_000);
    for agreement in &results {
        println!("{:28} {:9.4} {:9.4}  z {:6.2}", agreement.name, agreement.independent, agreement.chain, agreement.z);
    }
    assert!(results.iter().all(|a| a.z.abs() < 4.0), "{results:?}");
}

/// Rows with `k` planted features and some noise; and the features.
fn planted(n: usize, d: usize, k: usize, noise: f64, rng: &mut Rng) -> (Vec<f64>, Allocation) {
    let allocation = Allocation::from_bools(n, k, (0..n * k).map(|_| rng.random()));
    let features: Vec<f64> = (0..k * d).map(|_| rng.sample(StandardNormal)).collect();
    let mut values = Vec::new();
    for row in 0..n {
        for column in 0..d {
            let mean: f64 = allocation.features_of(row).map(|f| features[f * d + column]).sum();
            values.push(mean + noise * rng.sample::<f64, _>(StandardNormal));
        }
    }
    (values, allocation)
}

#[rstest]
fn the_log_joint_of_the_trace_is_that_of_the_draw(#[values(true, false)] collapsed: bool) {
    let (values, _) = planted(12, 3, 2, 0.3, &mut stream(1, Stream::Simulation));
    let sampler = IbpSampler {
        noise_prior: Some(InverseGamma { shape: 2.0, rate: 0.3 }),
        scale_prior: Some(InverseGamma { shape: 1.5, rate: 0.8 }),
        mass_prior: (2.0, 3.0),
        collapsed,
        start: IbpStart::Random(3),
        schedule: Schedule { sweeps: 30, burn_in: 0, thin: 1 },
        ..IbpSampler::default()
    };
    let chain = sampler.fit(&data(&values, 3), &Unwatched).unwrap().remove(0);
    assert_eq!(chain.draws.len(), 30);
    for (i, draw) in chain.draws.iter().enumerate() {
        let (mass, noise, scale) = (chain.mass[i], chain.noise[i], chain.scale[i]);
        let hyper = 2.0 * 3f64.ln() + mass.ln() - 3.0 * mass
            + InverseGamma { shape: 2.0, rate: 0.3 }.ln_density(noise)
            + InverseGamma { shape: 1.5, rate: 0.8 }.ln_density(scale);
        let expected = ln_prior(draw, Ok(mass)) + ln_marginal(&values, 3, noise, scale, draw) + hyper;
        assert!((chain.ln_joint[i] - expected).abs() < 1e-9 * expected.abs(), "{} {expected}", chain.ln_joint[i]);
        assert_eq!(chain.n_features[i], draw.n_features());
    }
    let (best, ln_joint) = chain.best.unwrap();
    assert_eq!(ln_joint, chain.ln_joint.iter().copied().fold(f64::NEG_INFINITY, f64::max));
    let at = chain.ln_joint.iter().position(|l| *l == ln_joint).unwrap();
    assert_eq!(
        (&best.allocation, best.mass, best.noise, best.scale),
        (&chain.draws[at], chain.mass[at], chain.noise[at], chain.scale[at])
    );
    // Its components solve the ridged normal equations: Z'(X - ZA) = s2/r2 A.
    for k in 0..best.allocation.n_features() {
        for column in 0..3 {
            let mut left = -best.noise / best.scale * best.components[k * 3 + column];
            for row in (0..12).filter(|row| best.allocation.get(*row, k)) {
                let fit: f64 = best.allocation.features_of(row).map(|f| best.components[f * 3 + column]).sum();
                left += values[row * 3 + column] - fit;
            }
            assert!(left.abs() < 1e-9, "{left}");
        }
    }
}

#[rstest]
fn started_at_planted_features_both_samplers_stay_there(#[values(true, false)] collapsed: bool) {
    let (values, truth) = planted(60, 30, 4, 0.3, &mut stream(2, Stream::Simulation));
    let sampler = IbpSampler {
        collapsed,
        start: IbpStart::Given(truth.clone()),
        schedule: Schedule { sweeps: 100, burn_in: 50, thin: 1 },
        ..IbpSampler::default()
    };
    let chain = sampler.fit(&data(&values, 30), &Unwatched).unwrap().remove(0);
    let wrong = |draw: &Allocation| {
        draw.n_features() != 4 || draw.to_bools().iter().zip(truth.to_bools()).filter(|(a, b)| **a != *b).count() > 2
    };
    assert!(chain.draws.iter().filter(|draw| wrong(draw)).count() < 5, "{:?}", chain.n_features);
    let noise = chain.noise[50..].iter().sum::<f64>() / 50.0;
    assert!((noise / 0.09 - 1.0).abs() < 0.15, "{noise}");
}

#[test]
fn bad_parameters_are_named() {
    let good = IbpSampler::default();
    for (sampler, message) in [
        (IbpSampler { chains: 0, ..good.clone() }, "chains must be at least 1"),
        (IbpSampler { mass: Some(-1.0), ..good.clone() }, "mass must be a positive finite number"),
        (IbpSampler { noise: Some(0.0), ..good.clone() }, "noise must be a positive finite number"),
        (IbpSampler { scale: Some(f64::NAN), ..good.clone() }, "scale must be a positive finite number"),
        (
            IbpSampler { noise: Some(1e-9), scale: Some(1e9), ..good.clone() },
            "noise must be at least 1e-8 of the scale",
        ),
        (IbpSampler { mass_prior: (1.0, 0.0), ..good.clone() }, "mass_prior must be a positive finite shape and rate"),
        (
            IbpSampler { noise_prior: Some(InverseGamma { shape: -1.0, rate: 1.0 }), ..good.clone() },
            "noise_prior must be a positive finite shape and rate",
        ),
        (
            IbpSampler { schedule: Schedule { sweeps: 10, burn_in: 10, thin: 1 }, ..good.clone() },
            "burn_in must be less than the number of sweeps, 10",
        ),
        (IbpSampler { start: IbpStart::Random(9), ..good.clone() }, "start must be at most 3 random features"),
        (
            IbpSampler { start: IbpStart::Given(Allocation::new(2, 1)), ..good.clone() },
            "start must be an allocation of the 3 rows",
        ),
    ] {
        let error = sampler.fit(&data(&ROWS, 2), &Unwatched).unwrap_err().to_string();
        assert!(error.starts_with(message), "{error}");
    }
    let weights = [1.0; 3];
    let weighted = Data::weighted(Rows::new(&ROWS, 2).unwrap(), Some(&weights)).unwrap();
    let error = good.fit(&weighted, &Unwatched).unwrap_err().to_string();
    assert!(error.contains("repeat the rows"), "{error}");
}

#[rstest]
fn odd_data_are_sampled_without_a_panic(
    #[values(true, false)] collapsed: bool,
    #[values(&[0.0; 4], &[3.0; 4], &[1e6, 1e6, 1e6 + 1e-3, 1e6], &[1e-9, -1e-9, 0.0, 0.0], &[1.0])] values: &[f64],
) {
    let schedule = Schedule { sweeps: 50, burn_in: 0, thin: 1 };
    let chain = IbpSampler { collapsed, schedule, ..IbpSampler::default() }.fit(&data(values, 1), &Unwatched).unwrap();
    assert!(chain[0].ln_joint.iter().all(|l| l.is_finite()), "{:?}", chain[0].ln_joint);
}

#[rstest]
fn chains_do_not_depend_on_threads(#[values(true, false)] collapsed: bool) {
    let (values, _) = planted(20, 4, 2, 0.5, &mut stream(3, Stream::Simulation));
    for start in [IbpStart::One, IbpStart::Random(3), IbpStart::Given(Allocation::new(20, 0))] {
        let run = |threads| {
            let schedule = Schedule { sweeps: 50, burn_in: 0, thin: 3 };
            let sampler =
                IbpSampler { threads, chains: 3, schedule, start: start.clone(), collapsed, ..IbpSampler::default() };
            sampler.fit(&data(&values, 4), &Unwatched).unwrap()
        };
        let chains = run(1);
        assert_eq!(chains, run(4));
        assert_ne!(chains[0].draws, chains[1].draws, "chains have random streams of their own");
        assert_eq!(chains[0].draws.len(), 17);
    }
}

struct StopAfter(usize);

impl Watch for StopAfter {
    fn step(&self, step: &Step) -> ControlFlow<()> {
        match step {
            Step::Pass { pass, .. } if *pass >= self.0 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    }
}

#[test]
fn a_stopped_chain_keeps_what_it_has() {
    let chain = IbpSampler::default().fit(&data(&ROWS, 2), &StopAfter(7)).unwrap().remove(0);
    assert!(chain.stopped && chain.best.is_some());
    assert_eq!(chain.n_features.len(), 7);
}
