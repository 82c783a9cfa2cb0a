use super::*;
use crate::data::Rows;
use crate::metrics::adjusted_rand_index;
use crate::model::NormalPrior;
use crate::parallel::Workers;
use crate::random::{Stream, stream};
use crate::simulate::HiddenMarkov;
use crate::watch::{Step, Unwatched};
use rand::RngExt;
use rand_distr::StandardNormal;
use rstest::rstest;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};

fn short(likelihood: MixtureLikelihood) -> InfiniteHmm {
    let schedule = Schedule { sweeps: 200, burn_in: 100, thin: 2 };
    InfiniteHmm { likelihood, schedule, ..InfiniteHmm::default() }
}

#[rstest]
fn states_of_several_sequences_are_found_with_nothing_given(
    #[values(0, 1, 2)] likelihood: usize,
    #[values(HmmMethod::Beam, HmmMethod::Direct)] method: HmmMethod,
    #[values(false, true)] sticky: bool,
) {
    let recipe = HiddenMarkov { n_rows: 300, n_states: 3, separation: 6.0, ..HiddenMarkov::default() };
    let sample = recipe.sample(5).unwrap();
    let data = Data::new(Rows::new(&sample.values, 2).unwrap()).unwrap();
    let likelihood = match likelihood {
        0 => MixtureLikelihood::Full(NormalPrior::default()),
        1 => MixtureLikelihood::Diagonal(NormalPrior::default()),
        _ => MixtureLikelihood::SPHERICAL,
    };
    let sequences = Sequences::new(&[120, 1, 179], 300).unwrap();
    let hmm = InfiniteHmm { method, sticky, ..short(likelihood) };
    let fit = hmm.fit(&data, &sequences, vec!["a".into(), "b".into()], &Unwatched).unwrap();
    let truth = Partition::from_labels(sample.labels);
    assert!(adjusted_rand_index(&truth, &fit.estimate).unwrap() > 0.98);
    assert!(fit.certainty.iter().all(|c| (0.3..=1.0).contains(c)));
    // A few rows far out may have states of their own.
    let (k, sizes) = (fit.estimate.n_groups(), fit.estimate.sizes());
    let far_out: usize = sizes.iter().filter(|size| **size <= 20).sum();
    assert!(sizes.iter().filter(|size| **size > 20).count() == 3 && far_out <= 3, "{sizes:?}");
    for state in (0..k).filter(|&state| sizes[state] > 20) {
        let stay = fit.model.transitions[state * k + state];
        assert!((0.85..0.995).contains(&stay), "{stay}");
        assert!(fit.model.new_state[state] < 0.05);
    }
    assert_eq!(fit.model.next_states(2).len(), k + 1);
    let assigned = fit.model.assign(data.rows(), &sequences, &Workers::serial()).unwrap();
    assert!(adjusted_rand_index(&fit.estimate, &Partition::from_labels(assigned.states)).unwrap() > 0.98);
    assert!(fit.effective_size[1] > 1.0, "{:?}", fit.effective_size);
    assert_eq!(fit, hmm.fit(&data, &sequences, vec!["a".into(), "b".into()], &Unwatched).unwrap());
}

#[test]
fn states_are_found_in_counts_and_a_largest_number_is_kept() {
    let mut rng = stream(5, Stream::Simulation);
    let state = |row: usize| row / 10 % 3;
    let values: Vec<f64> = (0..120 * 12)
        .map(|i| f64::from(rng.random_range(if i % 12 / 4 == state(i / 12) { 3..8 } else { 0..2 })))
        .collect();
    let data = Data::new(Rows::new(&values, 12).unwrap()).unwrap();
    let columns: Vec<String> = (0..12).map(|i| format!("word {i}")).collect();
    let hmm = short(MixtureLikelihood::Multinomial { pseudocount: Some(1.0) });
    let sequences = Sequences::one(120);
    let fit = hmm.fit(&data, &sequences, columns.clone(), &Unwatched).unwrap();
    assert_eq!(fit.estimate, Partition::from_labels((0..120).map(state)));
    assert_eq!(HmmModel::from_bytes(&fit.model.to_bytes()).unwrap(), fit.model);
    let two = InfiniteHmm { max_states: Some(2), ..hmm };
    let fit = two.fit(&data, &sequences, columns.clone(), &Unwatched).unwrap();
    assert!(fit.chains.iter().all(|chain| chain.n_states.iter().all(|&k| k <= 2)));
    let wrong = two.fit(&data, &Sequences::one(7), columns, &Unwatched).unwrap_err().to_string();
    assert!(wrong.starts_with("lengths must be numbers whose sum is the 120 rows"), "{wrong}");
}

#[test]
fn a_fit_that_is_stopped_has_an_answer_at_any_moment() {
    struct After(AtomicUsize);
    impl Watch for After {
        fn step(&self, _: &Step) -> ControlFlow<()> {
            match self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)) {
                Ok(_) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            }
        }
    }
    let sample = HiddenMarkov { n_rows: 60, ..HiddenMarkov::default() }.sample(1).unwrap();
    let data = Data::new(Rows::new(&sample.values, 2).unwrap()).unwrap();
    for steps in [0, 40, 200, 1000] {
        let watch = After(AtomicUsize::new(steps));
        let hmm = InfiniteHmm { threads: 1, ..InfiniteHmm::default() };
        let fit = hmm.fit(&data, &Sequences::one(60), vec!["a".into(), "b".into()], &watch).unwrap();
        assert!(fit.stopped && fit.estimate.n_rows() == 60, "{steps}");
    }
}

/// Rows of two states with means 0 and 9, ten in a row.
fn two_states() -> Vec<f64> {
    let mut rng = stream(8, Stream::Simulation);
    (0..200).map(|row| [0.0, 9.0][row / 10 % 2] + rng.sample::<f64, _>(StandardNormal)).collect()
}

fn fit_of(values: &[f64], hmm: &InfiniteHmm) -> Result<HmmFit> {
    let data = Data::new(Rows::new(values, 1)?)?;
    hmm.fit(&data, &Sequences::one(values.len()), vec!["x".into()], &Unwatched)
}

#[test]
fn the_start_that_led_higher_is_told_and_others_are_as_asked() {
    let schedule = Schedule { sweeps: 10, burn_in: 5, thin: 1 };
    let hmm = InfiniteHmm { schedule, ..InfiniteHmm::default() };
    // Rows at random take longer than a few sweeps to find five states.
    let sample = HiddenMarkov { n_rows: 500, ..HiddenMarkov::default() }.sample(1).unwrap();
    let data = Data::new(Rows::new(&sample.values, 2).unwrap()).unwrap();
    let apart = hmm.fit(&data, &Sequences::one(500), vec!["a".into(), "b".into()], &Unwatched).unwrap();
    assert_eq!(apart.start, Some(MixtureStart::DpMeans));
    // DP-means sees one cluster where only the spread differs, and rows leave it slowly one by one.
    let spread: Vec<f64> =
        (0..200).map(|row| [0.05, 5.0][row / 10 % 2] * ((row * 7919 % 101) as f64 / 50.0 - 1.0)).collect();
    let hmm = InfiniteHmm { split_merge: 0, ..hmm };
    let chosen = fit_of(&spread, &hmm).unwrap();
    assert_eq!(chosen.start, Some(MixtureStart::Random));
    for start in [MixtureStart::One, MixtureStart::Random] {
        let asked = fit_of(&spread, &InfiniteHmm { start, ..hmm.clone() }).unwrap();
        assert_eq!(asked.start, Some(start));
        assert_eq!(asked.chains == chosen.chains, start == MixtureStart::Random);
    }
}

#[test]
fn a_given_share_of_staying_is_kept_and_one_that_is_none_is_refused() {
    let values = two_states();
    let schedule = Schedule { sweeps: 20, burn_in: 10, thin: 1 };
    let hmm = |stickiness| InfiniteHmm { sticky: true, stickiness, schedule, ..InfiniteHmm::default() };
    let shares = |hmm: &InfiniteHmm| -> Vec<f64> {
        let fit = fit_of(&values, hmm).unwrap();
        fit.chains.iter().flat_map(|chain| &chain.values).map(|values| values.share).collect()
    };
    assert!(shares(&hmm(Some(0.7))).iter().all(|share| *share == 0.7));
    assert!(shares(&hmm(None)).windows(2).all(|pair| pair[0] != pair[1]));
    for share in [0.0, 1.0, -0.5, f64::NAN, f64::INFINITY] {
        let error = fit_of(&values, &hmm(Some(share))).unwrap_err().to_string();
        assert!(error.starts_with("stickiness must be above 0 and below 1, got"), "{error}");
    }
    let error = fit_of(&values, &InfiniteHmm { sticky: false, ..hmm(Some(0.7)) }).unwrap_err().to_string();
    assert!(error.starts_with("stickiness must be absent where states are not sticky, got 0.7"), "{error}");
}

#[test]
fn one_state_is_split_by_proposals_within_a_few_sweeps_and_not_without() {
    let values = two_states();
    let schedule = Schedule { sweeps: 20, burn_in: 10, thin: 1 };
    let hmm = |split_merge| InfiniteHmm {
        split_merge,
        schedule,
        start: MixtureStart::One,
        method: HmmMethod::Direct,
        ..InfiniteHmm::default()
    };
    assert_eq!(InfiniteHmm::default().split_merge, STATE_SPLIT_MERGE);
    let states = |split_merge| fit_of(&values, &hmm(split_merge)).unwrap().chains[0].n_states.clone();
    let (with, without) = (states(STATE_SPLIT_MERGE), states(0));
    assert!(with[5..].iter().all(|&k| k >= 2), "{with:?}");
    assert!(without.iter().filter(|&&k| k == 1).count() > 10, "{without:?}");
}
