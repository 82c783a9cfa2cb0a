//! Chains of the mixture sampler: how fast they reach the answer, that they can be taken up again, and that their draws are
//! spread as they should be.

use crate::common::calibration::{LIMIT, calibration};
use crate::common::exact::{crp, finite};
use crate::common::likelihoods::Likelihood;
use crate::common::{blobs, data};
use madbayes::data::{Data, Rows};
use madbayes::gibbs::{Chain, ChainStart, ChainState, CrpMixture, Loss, MixtureSampler, Schedule, point_estimate};
use madbayes::hard::DpMeans;
use madbayes::likelihood::{Full, FullGroups, Groups, Spherical, SphericalGroups, within_covariance};
use madbayes::metrics::adjusted_rand_index;
use madbayes::prior::PartitionPrior;
use madbayes::simulate::GaussianMixture;
use madbayes::structure::Partition;
use madbayes::watch::{Step, Unwatched, Watch};
use rstest::rstest;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

#[rstest]
#[case::one_cluster(None)]
#[case::dp_means(Some(20_000.0))]
#[case::dp_means_with_far_too_many(Some(12.0))]
#[case::dp_means_with_too_few(Some(400_000.0))]
fn ten_clusters_of_ten_thousand_rows_are_found_within_100_sweeps(#[case] penalty: Option<f64>) {
    let recipe = GaussianMixture {
        n_rows: 10_000,
        n_columns: 10,
        n_clusters: 10,
        separation: 8.0,
        ..GaussianMixture::default()
    };
    let sample = recipe.sample(5).unwrap();
    let rows = data(&sample.values, 10);
    let start = match penalty {
        None => ChainStart::One,
        Some(penalty) => {
            let fit = DpMeans { threads: 1, ..DpMeans::with_penalty(penalty) }.fit(&rows, &Unwatched).unwrap();
            println!("DP-means: {} clusters", fit.n_clusters());
            ChainStart::Given(Partition::from_labels(fit.labels))
        }
    };
    let law = Spherical { variance: 1.0, prior_mean: vec![0.0; 10], prior_variance: 50.0 };
    let schedule = Schedule { sweeps: 100, burn_in: 99, thin: 1 };
    let chain = CrpMixture { schedule, start, ..CrpMixture::new(law) }.fit(&rows, &Unwatched).unwrap().remove(0);
    let last = chain.draws[0].to_partition();
    let truth = Partition::from_labels(sample.labels);
    assert_eq!(last.n_groups(), 10, "{:?}", chain.n_groups);
    assert!(adjusted_rand_index(&truth, &last).unwrap() > 0.99);
}

/// A chain of full covariances, the prior's scale guessed from DP-means as documented, and the true partition. It starts from
/// one cluster, or from DP-means.
fn full_covariance_chain(
    recipe: GaussianMixture,
    penalty: f64,
    from_one: bool,
    schedule: Schedule,
) -> (Chain, Partition) {
    let sample = recipe.sample(5).unwrap();
    let rows = data(&sample.values, recipe.n_columns);
    let hard = DpMeans { threads: 1, ..DpMeans::with_penalty(penalty) }.fit(&rows, &Unwatched).unwrap();
    let law = Full::weak(&rows, within_covariance(&rows, &hard.labels));
    let start = if from_one { ChainStart::One } else { ChainStart::Given(Partition::from_labels(hard.labels)) };
    let sampler = MixtureSampler { schedule, start, ..MixtureSampler::default() };
    let begin = Instant::now();
    let make_groups =
        || -> madbayes::Result<Box<dyn Groups + '_>> { Ok(Box::new(FullGroups::new(&rows, law.clone())?)) };
    let chain = sampler.fit(recipe.n_rows, &make_groups, &Unwatched).unwrap().remove(0);
    println!("{:.1} ms per sweep", begin.elapsed().as_secs_f64() * 1e3 / schedule.sweeps as f64);
    (chain, Partition::from_labels(sample.labels))
}

#[rstest]
fn ten_clusters_of_unknown_covariance_are_found_within_100_sweeps(#[values(true, false)] from_one: bool) {
    let recipe = GaussianMixture {
        n_rows: 10_000,
        n_columns: 10,
        n_clusters: 10,
        separation: 8.0,
        ..GaussianMixture::default()
    };
    let schedule = Schedule { sweeps: 100, burn_in: 99, thin: 1 };
    let (chain, truth) = full_covariance_chain(recipe, 20_000.0, from_one, schedule);
    let last = chain.draws[0].to_partition();
    assert_eq!(last.n_groups(), 10, "{:?}", chain.n_groups);
    assert!(adjusted_rand_index(&truth, &last).unwrap() > 0.99);
}

/// Draws have 6 to 13 clusters, the further ones small: the estimate is what they have in common.
#[rstest]
fn six_clusters_in_the_plane_are_what_the_draws_have_in_common(#[values(true, false)] from_one: bool) {
    let recipe =
        GaussianMixture { n_rows: 2000, n_columns: 2, n_clusters: 6, separation: 6.0, ..GaussianMixture::default() };
    let schedule = Schedule { sweeps: 400, burn_in: 200, thin: 1 };
    let (chain, truth) = full_covariance_chain(recipe, 500.0, from_one, schedule);
    let estimate = point_estimate(&chain.draws.iter().collect::<Vec<_>>(), Loss::default(), &Unwatched);
    let agreement = adjusted_rand_index(&truth, &estimate).unwrap();
    println!("{} clusters, ARI {agreement:.4}", estimate.n_groups());
    assert!(agreement > 0.98, "ARI {agreement}");
}

const N: usize = 80;

fn run(
    prior: PartitionPrior,
    sweeps: usize,
    from: Option<&[ChainState]>,
    watch: &dyn Watch,
) -> madbayes::Result<Vec<Chain>> {
    let values = blobs(N, 2, 3, 3.0, 1);
    let rows = Data::new(Rows::new(&values, 2)?)?;
    let law = Spherical { variance: 1.0, prior_mean: vec![3.0; 2], prior_variance: 9.0 };
    let make = || -> madbayes::Result<Box<dyn Groups + '_>> { Ok(Box::new(SphericalGroups::new(&rows, law.clone())?)) };
    let schedule = Schedule { sweeps, burn_in: 30, thin: 3 };
    let sampler = MixtureSampler { prior, schedule, chains: 2, ..MixtureSampler::default() };
    match from {
        None => sampler.fit(N, &make, watch),
        Some(states) => sampler.resume(N, states, &make, watch),
    }
}

/// Through JSON and back.
fn saved(chains: &[Chain]) -> Vec<ChainState> {
    let states: Vec<&ChainState> = chains.iter().map(|chain| &chain.state).collect();
    serde_json::from_slice(&serde_json::to_vec(&states).unwrap()).unwrap()
}

fn joined(first: Vec<Chain>, second: Vec<Chain>) -> Vec<Chain> {
    first.into_iter().zip(second).map(|(first, second)| first.followed_by(second)).collect()
}

#[rstest]
#[case::resampled(crp(Some((1.0, 1.0)), None))]
#[case::capped(crp(Some((1.0, 1.0)), Some(4)))]
#[case::finite(finite(5, 1.5, None))]
#[case::finite_resampled(finite(5, 1.5, Some((1.0, 1.0))))]
fn a_chain_in_two_parts_is_the_whole_chain_bit_for_bit(#[case] prior: PartitionPrior) {
    let whole = run(prior, 1000, None, &Unwatched).unwrap();
    for cut in [31, 500] {
        let first = run(prior, cut, None, &Unwatched).unwrap();
        let second = run(prior, 1000, Some(&saved(&first)), &Unwatched).unwrap();
        assert_eq!(joined(first, second), whole, "cut after {cut} sweeps");
    }
}

/// Stops at the given poll.
struct StopAt(usize, AtomicUsize);

impl Watch for StopAt {
    fn step(&self, _: &Step) -> ControlFlow<()> {
        if self.1.fetch_add(1, Ordering::Relaxed) >= self.0 {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}

#[test]
fn a_chain_stopped_in_the_middle_of_a_sweep_goes_on_from_the_last_whole_one() {
    let prior = crp(Some((1.0, 1.0)), None);
    let whole = run(prior, 120, None, &Unwatched).unwrap();
    for polls in [0, 5, 100, 901, 1502] {
        let first = run(prior, 120, None, &StopAt(polls, AtomicUsize::new(0))).unwrap();
        assert!(first.iter().any(|chain| chain.stopped));
        let second = run(prior, 120, Some(&saved(&first)), &Unwatched).unwrap();
        assert_eq!(joined(first, second), whole, "stopped at poll {polls}");
    }
}

#[test]
fn states_that_do_not_fit_are_refused() {
    let prior = crp(None, None);
    let good = run(prior, 40, None, &Unwatched).unwrap().remove(0).state;
    let wrong = |change: &dyn Fn(&mut ChainState), prior: PartitionPrior, sweeps: usize, message: &str| {
        let mut state = good.clone();
        change(&mut state);
        let error = run(prior, sweeps, Some(&[state]), &Unwatched).unwrap_err().to_string();
        assert!(error.starts_with(message), "{error}");
    };
    wrong(&|_| {}, prior, 40, "sweeps must be more than the 40 already done, got 40");
    wrong(&|state| state.labels.truncate(9), prior, 50, "state must be that of a chain of 80 rows, got one of 9");
    wrong(&|state| state.labels.fill(7), prior, 50, "state must be one whose groups all have rows");
    wrong(&|state| state.labels[3] = u32::MAX, prior, 50, "state must be one whose groups all have rows");
    wrong(&|state| state.ln_concentration = f64::NAN, prior, 50, "state must be one of a positive finite");
    let two = |state: &mut ChainState| (0..80).for_each(|row| state.labels[row] = row as u32 % 2);
    wrong(&two, crp(None, Some(1)), 50, "state must be one of at most 1 groups, got one of 2");
}

/// Stops after a time, and notes the last step.
struct Impatient(Instant, Duration);

impl Watch for Impatient {
    fn step(&self, _: &Step) -> ControlFlow<()> {
        if self.0.elapsed() > self.1 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

#[test]
fn a_long_sweep_with_long_proposals_stops_within_half_a_second() {
    let values = blobs(50_000, 8, 4, 6.0, 2);
    let rows = data(&values, 8);
    let law = Spherical { variance: 1.0, prior_mean: vec![6.0; 8], prior_variance: 50.0 };
    for milliseconds in [20, 150, 400] {
        let limit = Duration::from_millis(milliseconds);
        let begin = Instant::now();
        let sampler = CrpMixture { split_merge: 50, ..CrpMixture::new(law.clone()) };
        let chain = sampler.fit(&rows, &Impatient(begin, limit)).unwrap().remove(0);
        assert!(chain.stopped && begin.elapsed() < limit + Duration::from_millis(500), "{:?}", begin.elapsed());
    }
}

#[test]
fn draws_are_kept_in_one_byte_per_row() {
    let values = blobs(2000, 1, 3, 9.0, 3);
    let law = Spherical { variance: 1.0, prior_mean: vec![9.0], prior_variance: 100.0 };
    let schedule = Schedule { sweeps: 20, burn_in: 0, thin: 1 };
    let chain = CrpMixture { schedule, ..CrpMixture::new(law) }.fit(&data(&values, 1), &Unwatched).unwrap().remove(0);
    for draw in &chain.draws {
        // Printed, a draw says how it is kept; in files it is a character per row between quotes.
        assert!(format!("{draw:?}").contains("Bytes"));
        assert_eq!(serde_json::to_string(draw).unwrap().len(), 2002);
        assert_eq!(draw.n_rows(), 2000);
    }
}

#[rstest]
fn the_truth_has_an_even_rank_among_the_draws(
    #[values(Likelihood::Spherical(1), Likelihood::Diagonal(2), Likelihood::Full(2), Likelihood::Multinomial(3))]
    likelihood: Likelihood,
) {
    for result in calibration(likelihood, 15, 300, 20) {
        println!("{}: chi-square {:.1} of {:?}", result.name, result.statistic, result.counts);
        assert!(result.statistic < LIMIT, "{}: {:?}", result.name, result.counts);
    }
}
