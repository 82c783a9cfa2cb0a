//! The samplers of hidden states against enumeration of all state sequences, and Geweke's joint test.

use crate::common::data;
use crate::common::likelihoods::Likelihood::{self, Diagonal, Full, Multinomial, Spherical};
use crate::common::sequences::{exact_posterior, joint_test, ln_prior, total_variation};
use madbayes::gibbs::{HmmChain, HmmKernel, HmmMethod, HmmSampler, STATE_SPLIT_MERGE, Schedule, effective_sample_size};
use madbayes::likelihood::{self, FullGroups};
use madbayes::metrics::adjusted_rand_index;
use madbayes::model::InfiniteHmm;
use madbayes::prior::{Concentration, Hdp, HdpValues};
use madbayes::random::{Stream, stream};
use madbayes::simulate::HiddenMarkov;
use madbayes::structure::{CompactPartition, Partition, Sequences};
use madbayes::watch::Unwatched;
use rstest::rstest;
use std::collections::HashMap;

/// Fixed numbers; the start row's concentration is its own only where states are sticky.
fn fixed(share: f64, max_states: Option<usize>) -> Hdp {
    let values = HdpValues { concentration: 1.3, share, gamma: 0.8, start: if share > 0.0 { 0.7 } else { 1.3 } };
    Hdp { values, concentration: Concentration::Fixed, gamma: Concentration::Fixed, share: None, max_states }
}

fn resampled(sticky: bool, max_states: Option<usize>) -> Hdp {
    let gamma = |shape, rate| Concentration::Gamma { shape, rate };
    let hdp = Hdp { concentration: gamma(2.0, 1.5), gamma: gamma(2.0, 1.0), max_states, ..Hdp::default() };
    if sticky { Hdp { share: Some((2.0, 1.5)), ..hdp.sticky() } } else { hdp }
}

#[rstest]
fn the_enumerated_prior_sums_to_1_and_samples_follow_it(
    #[values(0.0, 0.4)] share: f64,
    #[values(None, Some(1), Some(3))] max_states: Option<usize>,
    #[values(&[5], &[1, 3, 1])] lengths: &[usize],
) {
    let (hdp, sequences) = (fixed(share, max_states), Sequences::new(lengths, 5).unwrap());
    let exact: HashMap<Partition, f64> =
        Partition::all(5).map(|p| (p.clone(), ln_prior(&hdp, &p, &sequences).exp())).collect();
    let total: f64 = exact.values().sum();
    assert!((total - 1.0).abs() < 1e-12, "{total}");
    let (n, mut rng) = (200_000, stream(1, Stream::Simulation));
    let mut counts: HashMap<Partition, f64> = HashMap::new();
    for _ in 0..n {
        let (states, weights) = hdp.sample(&hdp.values, &sequences, &mut rng);
        let rest = weights.states.iter().sum::<f64>() + weights.new;
        assert!((rest - 1.0).abs() < 1e-9, "{rest}");
        *counts.entry(Partition::from_labels(states)).or_default() += 1.0;
    }
    for (partition, p) in &exact {
        let seen = counts.remove(partition).unwrap_or(0.0) / f64::from(n);
        let error = (p * (1.0 - p).max(0.0) / f64::from(n)).sqrt();
        assert!((seen - p).abs() < 4.5 * error + 1e-9, "{partition:?}: {seen} {p}");
    }
    assert!(counts.is_empty());
}

fn assert_exact(likelihood: Likelihood, prior: Hdp, lengths: &[usize], method: HmmMethod) {
    let distance = total_variation(likelihood, prior, lengths, method, STATE_SPLIT_MERGE, 30_000);
    println!("total variation from the exact posterior: {distance:.5}");
    assert!(distance < 0.014, "{distance}");
}

#[rstest]
#[case::plain(0.0, None, &[5])]
#[case::sticky(0.4, None, &[5])]
#[case::several_sequences(0.0, None, &[2, 3])]
#[case::several_sticky_sequences(0.4, None, &[1, 3, 1])]
#[case::at_most_two(0.0, Some(2), &[5])]
#[case::at_most_three_sticky(0.4, Some(3), &[3, 2])]
fn the_samplers_match_the_exact_posterior_over_all_state_sequences(
    #[case] share: f64,
    #[case] max_states: Option<usize>,
    #[case] lengths: &[usize],
    #[values(HmmMethod::Direct, HmmMethod::Beam)] method: HmmMethod,
) {
    assert_exact(Spherical(1), fixed(share, max_states), lengths, method);
}

#[rstest]
fn every_likelihood_matches_the_exact_posterior_over_all_state_sequences(
    #[values(Spherical(2), Diagonal(2), Full(1), Full(2), Multinomial(3))] likelihood: Likelihood,
    #[values(HmmMethod::Direct, HmmMethod::Beam)] method: HmmMethod,
) {
    assert_exact(likelihood, fixed(0.3, None), &[2, 3], method);
}

/// Rows that move one by one, without proposals; draws of beam sampling depend on each other far longer then.
#[rstest]
fn sweeps_alone_match_the_exact_posterior_over_all_state_sequences(
    #[values(HmmMethod::Direct, HmmMethod::Beam)] method: HmmMethod,
) {
    let sweeps = if method == HmmMethod::Direct { 100_000 } else { 300_000 };
    let distance = total_variation(Spherical(1), fixed(0.4, None), &[2, 3], method, 0, sweeps);
    assert!(distance < 0.012, "{distance}");
}

/// Nothing else mends what is wrong in their ratio.
#[rstest]
fn proposals_alone_reach_the_exact_posterior_over_all_state_sequences(
    #[values(0.0, 0.4)] share: f64,
    #[values(None, Some(3))] max_states: Option<usize>,
) {
    let (prior, sequences) = (fixed(share, max_states), Sequences::new(&[3, 2], 5).unwrap());
    let mut left = exact_posterior(Spherical(1), &prior, &sequences);
    let (steps, mut rng) = (200_000, stream(1, Stream::Chain(0)));
    Spherical(1)
        .with_emissions(&Spherical(1).rows(5), &mut |make| {
            let (prior, sticks) = ((prior, prior.values), stream(1, Stream::Sticks(0)));
            let kernel = HmmKernel::new(&[0; 5], prior, None, &sequences, sticks, HmmMethod::Direct, make)?;
            let mut kernel = kernel.proposing(1);
            for _ in 0..steps {
                let _ = kernel.propose(&mut rng, &Unwatched);
                let states = CompactPartition::from(&Partition::from_labels(kernel.states()));
                *left.entry(states).or_default() -= 1.0 / f64::from(steps);
            }
            Ok(())
        })
        .unwrap();
    let distance: f64 = left.values().map(|difference| difference.abs() / 2.0).sum();
    println!("total variation from the exact posterior: {distance:.5}");
    assert!(distance < 0.014, "{distance}");
}

#[test]
fn beam_sampling_that_begins_with_one_state_finds_five_by_splits_and_not_without() {
    let sample = HiddenMarkov { n_rows: 2000, ..HiddenMarkov::default() }.sample(101).unwrap();
    let (data, truth) = (data(&sample.values, 2), Partition::from_labels(sample.labels.clone()));
    let law = likelihood::Full::weak(&data, likelihood::within_covariance(&data, &sample.labels));
    let agreement = |split_merge: usize| {
        let schedule = Schedule { sweeps: 100, burn_in: 99, thin: 1 };
        let sampler = HmmSampler { schedule, split_merge, chains: 4, ..HmmSampler::default() };
        let make = || Ok(Box::new(FullGroups::new(&data, law.clone())?) as Box<_>);
        let chains = sampler.fit(&Sequences::one(2000), &make, &Unwatched).unwrap();
        let of = |chain: &HmmChain| adjusted_rand_index(&chain.draws[0].states.to_partition(), &truth).unwrap();
        chains.iter().map(of).collect::<Vec<f64>>()
    };
    let (with, without) = (agreement(STATE_SPLIT_MERGE), agreement(0));
    println!("{with:?} {without:?}");
    assert!(with.iter().all(|agreement| *agreement > 0.95), "{with:?}");
    assert!(without.iter().all(|agreement| *agreement < 0.5), "{without:?}");
}

#[rstest]
#[case::plain(Full(2), false, None, &[7])]
#[case::sticky(Spherical(1), true, None, &[7])]
#[case::several(Diagonal(2), false, None, &[3, 1, 3])]
#[case::several_sticky(Multinomial(3), true, None, &[4, 3])]
#[case::at_most_three(Spherical(1), false, Some(3), &[4, 3])]
#[case::at_most_three_sticky(Spherical(1), true, Some(3), &[7])]
fn the_samplers_pass_gewekes_joint_test(
    #[case] likelihood: Likelihood,
    #[case] sticky: bool,
    #[case] max_states: Option<usize>,
    #[case] lengths: &[usize],
    #[values(HmmMethod::Direct, HmmMethod::Beam)] method: HmmMethod,
) {
    let results = joint_test(likelihood, resampled(sticky, max_states), lengths, method, 30_000);
    for agreement in &results {
        println!("{:28} {:9.4} {:9.4}  z {:6.2}", agreement.name, agreement.independent, agreement.chain, agreement.z);
    }
    assert!(results.iter().all(|a| a.z.abs() < 4.0), "{results:?}");
}

#[rstest]
fn a_chain_taken_up_again_is_the_longer_chain_whatever_the_threads(
    #[values(HmmMethod::Direct, HmmMethod::Beam)] method: HmmMethod,
    #[values(false, true)] sticky: bool,
) {
    let sequences = Sequences::new(&[4, 2], 6).unwrap();
    let run = |sweeps: usize, threads: usize| {
        let schedule = Schedule { sweeps, burn_in: 3, thin: 2 };
        HmmSampler { prior: resampled(sticky, None), method, schedule, chains: 3, threads, ..HmmSampler::default() }
    };
    Full(2)
        .with_emissions(&Full(2).rows(6), &mut |make| {
            let whole = run(40, 1).fit(&sequences, make, &Unwatched)?;
            assert_eq!(whole, run(40, 4).fit(&sequences, make, &Unwatched)?);
            assert_ne!(whole[0].draws, whole[1].draws, "chains have random streams of their own");
            let first = run(15, 1).fit(&sequences, make, &Unwatched)?;
            let states: Vec<_> = first.iter().map(|chain| chain.state.clone()).collect();
            let later = run(40, 2).resume(&sequences, &states, make, &Unwatched)?;
            let joined: Vec<_> = first.into_iter().zip(later).map(|(a, b)| a.followed_by(b)).collect();
            assert_eq!(joined, whole);
            assert!(run(15, 1).resume(&sequences, &states, make, &Unwatched).is_err());
            Ok(())
        })
        .unwrap();
}

#[rstest]
fn a_simulated_chain_of_five_states_is_recovered_with_everything_resampled(#[values(false, true)] sticky: bool) {
    let sample = HiddenMarkov { n_rows: 2000, ..HiddenMarkov::default() }.sample(11).unwrap();
    let data = data(&sample.values, 2);
    let schedule = Schedule { sweeps: 300, burn_in: 150, thin: 5 };
    let hmm = InfiniteHmm { sticky, schedule, ..InfiniteHmm::default() };
    let fit = hmm.fit(&data, &Sequences::one(2000), vec!["x".into(), "y".into()], &Unwatched).unwrap();
    let agreement = adjusted_rand_index(&fit.estimate, &Partition::from_labels(sample.labels)).unwrap();
    println!("{} states, adjusted Rand index {agreement:.4}, R-hat {:?}", fit.estimate.n_groups(), fit.r_hat);
    assert!(agreement > 0.98, "{agreement}");
    assert_eq!(fit.estimate.n_groups(), 5);
}

/// Mean, squared standard error and effective size of a trace.
fn summed_up(chains: &[HmmChain], of: impl Fn(&HmmChain, usize) -> f64) -> (f64, f64, f64) {
    let kept: Vec<Vec<f64>> =
        chains.iter().map(|chain| (1000..chain.n_states.len()).map(|sweep| of(chain, sweep)).collect()).collect();
    let size = effective_sample_size(&kept.iter().map(Vec::as_slice).collect::<Vec<_>>());
    let all = kept.concat();
    let mean = all.iter().sum::<f64>() / all.len() as f64;
    let variance = all.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / all.len() as f64;
    (mean, variance / size, size)
}

/// Runs of a short sequence by each sampler with so many proposals and sweeps agree on what they have in common.
fn assert_alike(sticky: bool, runs: [(HmmMethod, usize, usize); 2]) {
    let recipe = HiddenMarkov { n_rows: 40, n_columns: 1, n_states: 3, separation: 3.0, stay: 0.8 };
    let sample = recipe.sample(2).unwrap();
    let data = data(&sample.values, 1);
    let law = likelihood::Full { prior_mean: vec![0.0], prior_strength: 0.05, prior_dof: 5.0, prior_scale: vec![4.0] };
    let runs = runs.map(|(method, split_merge, sweeps)| {
        let schedule = Schedule { sweeps, burn_in: sweeps - 1, thin: 1 };
        let prior = resampled(sticky, None);
        let sampler = HmmSampler { prior, method, schedule, split_merge, chains: 2, ..HmmSampler::default() };
        let make = || Ok(Box::new(FullGroups::new(&data, law.clone())?) as Box<_>);
        let chains = sampler.fit(&Sequences::new(&[25, 15], 40).unwrap(), &make, &Unwatched).unwrap();
        [
            summed_up(&chains, |chain, sweep| chain.n_states[sweep] as f64),
            summed_up(&chains, |chain, sweep| f64::from(chain.n_states[sweep] <= 3)),
            summed_up(&chains, |chain, sweep| chain.ln_joint[sweep]),
            summed_up(&chains, |chain, sweep| chain.values[sweep].concentration),
            summed_up(&chains, |chain, sweep| chain.values[sweep].gamma),
        ]
    });
    for (one, other) in runs[0].iter().zip(&runs[1]) {
        let z = (one.0 - other.0) / (one.1 + other.1).sqrt();
        println!("{:.4} (size {:.0}), {:.4} (size {:.0}), z {z:.2}", one.0, one.2, other.0, other.2);
        assert!(z.abs() < 4.0);
        assert!(one.2 > 200.0 && other.2 > 200.0, "too few draws to tell");
    }
}

#[rstest]
fn direct_assignment_and_beam_sampling_agree_on_the_number_of_states_and_the_log_joint(
    #[values(false, true)] sticky: bool,
) {
    assert_alike(sticky, [(HmmMethod::Direct, STATE_SPLIT_MERGE, 6_000), (HmmMethod::Beam, STATE_SPLIT_MERGE, 12_000)]);
}

#[rstest]
fn proposals_change_neither_the_number_of_states_nor_the_log_joint(#[values(false, true)] sticky: bool) {
    assert_alike(sticky, [(HmmMethod::Direct, STATE_SPLIT_MERGE, 6_000), (HmmMethod::Direct, 0, 12_000)]);
}
