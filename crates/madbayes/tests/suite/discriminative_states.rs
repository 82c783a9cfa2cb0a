//! Discriminative hidden states against enumeration of all state sequences and integration over all hyperplanes.

use crate::common::hyperplanes::{ROWS, SCALE, integrated, law};
use crate::common::sequences::ln_prior;
use madbayes::data::{Data, Rows};
use madbayes::gibbs::{ChainStart, HmmChain, HmmMethod, HmmSampler, HmmState, Schedule};
use madbayes::likelihood::{Emissions, Groups, SphericalGroups};
use madbayes::prior::{Concentration, Hdp, HdpValues};
use madbayes::separator::{Discriminative, Factor, Inputs, NewCluster, Separation};
use madbayes::structure::{CompactPartition, Partition, Sequences};
use madbayes::watch::Unwatched;
use rstest::rstest;
use std::collections::HashMap;

fn prior() -> Hdp {
    let values = HdpValues { concentration: 1.5, share: 0.0, gamma: 2.0, start: 1.5 };
    Hdp { values, concentration: Concentration::Fixed, gamma: Concentration::Fixed, share: None, max_states: None }
}

fn sticky_and_capped() -> Hdp {
    let values = HdpValues { share: 0.4, start: 0.7, ..prior().values };
    Hdp { values, max_states: Some(3), ..prior() }
}

fn sampler(method: HmmMethod, sweeps: usize) -> HmmSampler {
    let schedule = Schedule { sweeps, burn_in: 20, thin: 1 };
    HmmSampler { prior: prior(), method, schedule, ..HmmSampler::default() }
}

/// Chains of the five rows as sequences of 3 and 2.
fn run(sampler: &HmmSampler, from: Option<&[HmmState]>, separation: Option<&Separation>) -> Vec<HmmChain> {
    let data = Data::new(Rows::new(&ROWS, 1).unwrap()).unwrap();
    let make = || Ok(Box::new(SphericalGroups::new(&data, law())?) as Box<dyn Emissions>);
    let sequences = Sequences::new(&[3, 2], 5).unwrap();
    match from {
        None => sampler.fit_separated(&sequences, &make, separation, &Unwatched),
        Some(states) => sampler.resume_separated(&sequences, states, &make, separation, &Unwatched),
    }
    .unwrap()
}

fn separation(inputs: &Inputs, term: Discriminative) -> Separation<'_> {
    Separation::new(term, inputs, 0, &Unwatched).unwrap()
}

/// p(z) p(X | z) times the evidence of each state relative to that of an empty one.
fn exact(factor: Factor, prior: &Hdp) -> HashMap<CompactPartition, f64> {
    let data = Data::new(Rows::new(&ROWS, 1).unwrap()).unwrap();
    let (sequences, empty) = (Sequences::new(&[3, 2], 5).unwrap(), integrated(factor, |_| false));
    let mut weights: HashMap<CompactPartition, f64> = Partition::all(5)
        .map(|partition| {
            let labels = partition.labels();
            let mut groups = SphericalGroups::new(&data, law()).unwrap();
            (0..partition.n_groups()).for_each(|_| groups.open());
            groups.refresh(&|row| labels[row] as usize);
            let evidence = |k: usize| integrated(factor, |row| labels[row] as usize == k) / empty;
            let of_states: f64 = (0..partition.n_groups()).map(evidence).product();
            let plain = (ln_prior(prior, &partition, &sequences) + groups.ln_marginal()).exp();
            (CompactPartition::from(&partition), plain * of_states)
        })
        .collect();
    let total: f64 = weights.values().sum();
    weights.values_mut().for_each(|weight| *weight /= total);
    weights
}

/// Total variation between draws and the exact posterior.
fn distance(chains: &[HmmChain], exact: &HashMap<CompactPartition, f64>) -> f64 {
    let mut left = exact.clone();
    let total: usize = chains.iter().map(|chain| chain.draws.len()).sum();
    for draw in chains.iter().flat_map(|chain| &chain.draws) {
        *left.entry(draw.states.clone()).or_default() -= 1.0 / total as f64;
    }
    left.values().map(|difference| difference.abs() / 2.0).sum()
}

fn assert_exact(factor: Factor, prior: Hdp, method: HmmMethod) {
    let inputs = Inputs::as_given(ROWS.to_vec(), 1);
    let separation = separation(&inputs, Discriminative { scale: SCALE, ..Discriminative::new(factor) });
    let exact = exact(factor, &prior);
    let of = |sweeps| HmmSampler { prior, ..sampler(method, sweeps) };
    let found = distance(&run(&of(50_000), None, Some(&separation)), &exact);
    println!("{factor:?} {method:?}: total variation {found:.5}");
    assert!(found < 0.014, "{factor:?} {method:?}: {found}");
    // The term is no formality: without it the posterior is another.
    let plain = distance(&run(&of(10_000), None, None), &exact);
    assert!(plain > 0.04, "{plain}");
}

#[rstest]
fn state_sequences_have_their_exact_posterior(
    #[values(Factor::Svm, Factor::Logistic)] factor: Factor,
    #[values(HmmMethod::Direct, HmmMethod::Beam)] method: HmmMethod,
) {
    assert_exact(factor, prior(), method);
}

#[test]
fn sticky_state_sequences_of_at_most_three_states_have_their_exact_posterior() {
    assert_exact(Factor::Logistic, sticky_and_capped(), HmmMethod::Direct);
}

#[rstest]
fn a_scale_of_zero_gives_the_plain_sampler_draw_for_draw(
    #[values(Factor::Svm, Factor::Logistic)] factor: Factor,
    #[values(NewCluster::Exact, NewCluster::Paper)] new_cluster: NewCluster,
    #[values(HmmMethod::Direct, HmmMethod::Beam)] method: HmmMethod,
) {
    let inputs = Inputs::as_given(ROWS.to_vec(), 1);
    let separation = separation(&inputs, Discriminative { factor, scale: 0.0, new_cluster });
    let sampler = HmmSampler { chains: 2, start: ChainStart::Random(3), ..sampler(method, 200) };
    let (plain, separated) = (run(&sampler, None, None), run(&sampler, None, Some(&separation)));
    for (plain, separated) in plain.iter().zip(&separated) {
        assert_eq!(plain.draws, separated.draws);
        assert_eq!(plain.ln_joint, separated.ln_joint);
        assert_eq!((plain.state.rng, plain.state.sticks), (separated.state.rng, separated.state.sticks));
    }
}

#[rstest]
fn the_published_rule_runs_and_draws_other_states_than_the_exact_one(
    #[values(HmmMethod::Direct, HmmMethod::Beam)] method: HmmMethod,
) {
    let inputs = Inputs::as_given(ROWS.to_vec(), 1);
    let term = |new_cluster| Discriminative { new_cluster, scale: SCALE, ..Discriminative::new(Factor::Logistic) };
    let exact = exact(Factor::Logistic, &prior());
    let paper = separation(&inputs, term(NewCluster::Paper));
    let found = distance(&run(&sampler(method, 20_000), None, Some(&paper)), &exact);
    // There are no proposals under this rule; where one sweep in four of beam sampling goes row by row, it is 0.019.
    let least = if method == HmmMethod::Direct { 0.03 } else { 0.012 };
    assert!(found > least, "{found}");
}

#[rstest]
fn a_chain_with_hyperplanes_goes_on_with_the_same_bits_whatever_the_threads(
    #[values(HmmMethod::Direct, HmmMethod::Beam)] method: HmmMethod,
) {
    let inputs = Inputs::as_given(ROWS.to_vec(), 1);
    let separation = separation(&inputs, Discriminative::new(Factor::Logistic));
    let of = |sweeps, threads| HmmSampler { chains: 2, threads, ..sampler(method, sweeps) };
    let schedule =
        |sampler: HmmSampler| HmmSampler { schedule: Schedule { burn_in: 3, ..sampler.schedule }, ..sampler };
    let whole = run(&schedule(of(90, 2)), None, Some(&separation));
    assert_eq!(whole, run(&schedule(of(90, 1)), None, Some(&separation)));
    // Taken up before and after the term has come in, from what a file would hold.
    for first in [6, 40] {
        let begun = run(&schedule(of(first, 1)), None, Some(&separation));
        let saved = serde_json::to_string(&begun.iter().map(|chain| &chain.state).collect::<Vec<_>>()).unwrap();
        let states: Vec<HmmState> = serde_json::from_str(&saved).unwrap();
        assert!(states.iter().all(|state| state.hyperplanes.is_some() == (first > 10)));
        let later = run(&schedule(of(90, 2)), Some(&states), Some(&separation));
        let joined: Vec<HmmChain> = begun.into_iter().zip(later).map(|(a, b)| a.followed_by(b)).collect();
        assert_eq!(joined, whole);
    }
}
