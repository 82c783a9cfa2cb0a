//! The CRP mixture sampler against enumeration, Geweke's joint test, and its own limit.

use crate::common::exact::{crp, distance, exact_posterior, finite, joint_test, total_variation};
use crate::common::likelihoods::Likelihood::{self, Diagonal, Full, Multinomial, Spherical};
use crate::common::likelihoods::{ln_marginal, spherical};
use crate::common::{data, uniform};
use madbayes::data::{Data, Rows};
use madbayes::gibbs::{ChainStart, CrpMixture, SPLIT_MERGE, Schedule};
use madbayes::likelihood::{self, SphericalGroups};
use madbayes::model::{DpMixture, MixtureLikelihood, MixturePrior};
use madbayes::prior::{Concentration, Crp, CrpSeats, PartitionPrior};
use madbayes::random::{Stream, stream};
use madbayes::structure::{CompactPartition, Partition};
use madbayes::sweep::{LiveLabels, Regime, seat_all, sweep};
use madbayes::watch::Unwatched;
use rstest::rstest;

const ROWS: [f64; 12] = [0.3, 1.0, 0.5, 0.7, 2.5, -1.0, 2.1, -0.4, -1.0, 0.2, 0.9, 1.4];

fn assert_exact(likelihood: Likelihood, n: usize, prior: PartitionPrior, split_merge: usize) {
    // Five rows have a quarter of the partitions of six.
    let sweeps = if n == 5 { 60_000 } else { 100_000 };
    let (distance, partitions) = total_variation(likelihood, n, prior, split_merge, sweeps);
    println!("total variation from the exact posterior over {partitions} partitions: {distance:.5}");
    assert!(distance < 0.012, "total variation {distance}");
}

/// Likelihood, rows, prior of the concentration, largest number of groups, split-merge proposals after each sweep.
#[rstest]
#[case::split_merge_above_all(Spherical(1), 6, crp(Some((1.0, 1.0)), None), 15)]
#[case::capped_fixed(Spherical(1), 6, crp(None, Some(2)), 0)]
#[case::capped_fixed_split_merge(Spherical(2), 5, crp(None, Some(3)), SPLIT_MERGE)]
#[case::capped_resampled(Spherical(1), 5, crp(Some((1.0, 1.0)), Some(2)), 0)]
#[case::capped_resampled_split_merge(Full(2), 6, crp(Some((2.0, 0.5)), Some(3)), SPLIT_MERGE)]
#[case::finite(Spherical(1), 5, finite(3, 1.5, None), 0)]
#[case::finite_split_merge(Multinomial(3), 6, finite(4, 2.0, None), SPLIT_MERGE)]
#[case::finite_resampled(Spherical(2), 6, finite(4, 2.0, Some((2.0, 0.5))), 0)]
#[case::finite_resampled_split_merge(Diagonal(2), 5, finite(3, 2.0, Some((1.0, 1.0))), SPLIT_MERGE)]
fn the_sampler_matches_the_exact_posterior_over_all_partitions(
    #[case] likelihood: Likelihood,
    #[case] n: usize,
    #[case] prior: PartitionPrior,
    #[case] split_merge: usize,
) {
    assert_exact(likelihood, n, prior, split_merge);
}

/// Each of rows, concentration and proposals with each of the others; all together are in docs/verify/posterior.md.
#[rstest]
#[case::fixed(5, None, 0)]
#[case::resampled_split_merge(5, Some((2.0, 0.5)), SPLIT_MERGE)]
#[case::resampled(6, Some((2.0, 0.5)), 0)]
#[case::fixed_split_merge(6, None, SPLIT_MERGE)]
fn every_likelihood_matches_the_exact_posterior_over_all_partitions(
    #[case] n: usize,
    #[case] hyperprior: Option<(f64, f64)>,
    #[case] split_merge: usize,
    #[values(Spherical(2), Diagonal(2), Full(1), Full(2), Multinomial(3))] likelihood: Likelihood,
) {
    assert_exact(likelihood, n, crp(hyperprior, None), split_merge);
}

#[rstest]
fn a_finite_mixture_as_users_fit_it_matches_the_exact_posterior(#[values(Some(1.4), None)] concentration: Option<f64>) {
    let law = spherical(2);
    let mixture = DpMixture {
        likelihood: MixtureLikelihood::Spherical {
            variance: Some(law.variance),
            prior_mean: Some(law.prior_mean),
            prior_variance: Some(law.prior_variance),
        },
        prior: MixturePrior::Finite,
        max_clusters: Some(3),
        concentration,
        schedule: Schedule { sweeps: 60_000, burn_in: 100, thin: 1 },
        ..DpMixture::default()
    };
    let fit = mixture.fit(&data(&ROWS[..10], 2), vec!["a".into(), "b".into()], &Unwatched).unwrap();
    let hyperprior = concentration.is_none().then_some((1.0, 1.0));
    let exact = exact_posterior(Spherical(2), 5, &finite(3, concentration.unwrap_or(1.0), hyperprior));
    assert_eq!(exact.len(), 41, "of the 52 partitions of 5 rows, 11 have more than 3 groups");
    let draws: Vec<&CompactPartition> = fit.chains.iter().flat_map(|chain| &chain.draws).collect();
    let distance = distance(&exact, &draws);
    println!("total variation {distance:.5}");
    assert!(distance < 0.01, "{distance}");
}

#[test]
fn the_log_joint_of_the_trace_is_that_of_the_draw() {
    let sampler = CrpMixture {
        hyperprior: Concentration::Fixed,
        concentration: 0.8,
        schedule: Schedule { sweeps: 20, burn_in: 0, thin: 1 },
        ..CrpMixture::new(spherical(2))
    };
    let chain = sampler.fit(&data(&ROWS, 2), &Unwatched).unwrap().remove(0);
    for (draw, traced) in chain.draws.iter().zip(&chain.ln_joint) {
        let draw = draw.to_partition();
        let expected = Crp::new(0.8).unwrap().ln_prob(&draw) + ln_marginal(&ROWS, 2, &spherical(2), &draw);
        assert!((traced - expected).abs() < 1e-9 * expected.abs());
    }
    assert!(chain.n_groups.iter().zip(&chain.draws).all(|(k, draw)| *k == draw.n_groups()));
    let best = chain.ln_joint.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    assert_eq!(chain.best.unwrap().1, best);
}

fn assert_joint(likelihood: Likelihood, prior: PartitionPrior, split_merge: usize) {
    let results = joint_test(likelihood, prior, split_merge, 40_000);
    for agreement in &results {
        println!("{:28} {:9.4} {:9.4}  z {:6.2}", agreement.name, agreement.independent, agreement.chain, agreement.z);
    }
    assert!(results.iter().all(|a| a.z.abs() < 4.0), "{results:?}");
}

#[rstest]
fn every_likelihood_passes_gewekes_joint_test(
    #[values(Spherical(1), Diagonal(2), Full(1), Full(2), Multinomial(3))] likelihood: Likelihood,
    #[values(0, SPLIT_MERGE)] split_merge: usize,
) {
    assert_joint(likelihood, crp(Some((2.0, 1.5)), None), split_merge);
}

#[rstest]
#[case::capped(Spherical(1), crp(Some((2.0, 1.5)), Some(3)))]
#[case::finite(Full(2), finite(3, 1.5, None))]
#[case::finite_resampled(Spherical(1), finite(4, 2.0, Some((2.0, 1.5))))]
fn every_prior_passes_gewekes_joint_test(#[case] likelihood: Likelihood, #[case] prior: PartitionPrior) {
    assert_joint(likelihood, prior, SPLIT_MERGE);
}

#[test]
fn minus_2_s2_log_joint_over_the_objective_tends_to_1() {
    // B Sup. A, means integrated out: subtract N D s2 log(2 pi s2), what is left tends to B Eq. 9.
    let values = uniform(12, 2, 5);
    let penalty = 6.0;
    for partition in [[0; 12].to_vec(), (0..12).map(|i| i % 3).collect(), (0..12).map(|i| i / 2).collect::<Vec<u32>>()]
    {
        let partition = Partition::from_labels(partition);
        let objective =
            crate::common::sum_of_squares(&values, 2, &partition) + (partition.n_groups() - 1) as f64 * penalty;
        let mut last = f64::INFINITY;
        for s2 in [1e-1, 1e-3, 1e-5, 1e-7] {
            let law = likelihood::Spherical { variance: s2, ..spherical(2) };
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
                let mut groups =
                    SphericalGroups::new(&rows, likelihood::Spherical { variance: s2, ..spherical(2) }).unwrap();
                let ln_concentration = Crp::from_penalty(penalty, s2).unwrap().ln_concentration;
                let mut seats = CrpSeats::new(ln_concentration, penalty);
                seat_all(&labels, &mut seats, &mut groups);
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
        seat_all(&labels, &mut seats, &mut groups);
        let objective = |labels: &LiveLabels| {
            let partition = Partition::from_labels(labels.to_vec());
            crate::common::sum_of_squares(&values, 3, &partition) + (partition.n_groups() - 1) as f64 * penalty
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
#[case(CrpMixture { chains: 0, ..CrpMixture::new(spherical(2)) }, "chains must be at least 1")]
#[case(CrpMixture { concentration: 0.0, ..CrpMixture::new(spherical(2)) }, "concentration must be")]
#[case(CrpMixture::new(spherical(3)), "prior_mean must be 2 finite numbers")]
#[case(CrpMixture { start: ChainStart::Random(9), ..CrpMixture::new(spherical(2)) }, "start must be between 1 and 6")]
#[case(
    CrpMixture { schedule: Schedule { sweeps: 10, burn_in: 10, thin: 1 }, ..CrpMixture::new(spherical(2)) },
    "burn_in must be less than the number of sweeps, 10"
)]
#[case(
    CrpMixture { schedule: Schedule { sweeps: 10, burn_in: 1, thin: 0 }, ..CrpMixture::new(spherical(2)) },
    "thin must be at least 1"
)]
#[case(
    CrpMixture { start: ChainStart::Given(Partition::from_labels([0, 1])), ..CrpMixture::new(spherical(2)) },
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
    let error = CrpMixture::new(spherical(2)).fit(&weighted, &Unwatched).unwrap_err().to_string();
    assert!(error.contains("repeat the rows"), "{error}");
    for start in [ChainStart::One, ChainStart::Random(3), ChainStart::Given(Partition::from_labels([0, 0, 1, 1, 2, 2]))]
    {
        let run = |threads| {
            let schedule = Schedule { sweeps: 50, burn_in: 0, thin: 3 };
            let sampler =
                CrpMixture { threads, chains: 3, schedule, start: start.clone(), ..CrpMixture::new(spherical(2)) };
            sampler.fit(&data(&ROWS, 2), &Unwatched).unwrap()
        };
        assert_eq!(run(1), run(4));
        let chains = run(1);
        assert_ne!(chains[0].draws, chains[1].draws, "chains have random streams of their own");
        assert_eq!(chains[0].draws.len(), 17);
    }
}
