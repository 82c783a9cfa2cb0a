use super::*;
use crate::data::Rows;
use crate::metrics::adjusted_rand_index;
use crate::model::NormalPrior;
use crate::random::{Stream, stream};
use crate::simulate::GaussianMixture;
use crate::watch::{Step, Unwatched};
use rand::RngExt;
use rstest::rstest;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};

const GAUSSIAN: [fn() -> MixtureLikelihood; 3] = [
    || MixtureLikelihood::Full(NormalPrior::default()),
    || MixtureLikelihood::Diagonal(NormalPrior::default()),
    || MixtureLikelihood::SPHERICAL,
];

fn short(start: MixtureStart) -> DpMixture {
    DpMixture { schedule: Schedule { sweeps: 200, burn_in: 100, thin: 2 }, start, ..DpMixture::default() }
}

#[rstest]
fn clear_clusters_are_found_from_every_start_with_nothing_given(
    #[values(MixtureStart::DpMeans, MixtureStart::One, MixtureStart::Random)] start: MixtureStart,
    #[values(0, 1, 2)] likelihood: usize,
) {
    let recipe = GaussianMixture { n_rows: 200, n_clusters: 4, separation: 9.0, ..GaussianMixture::default() };
    let sample = recipe.sample(3).unwrap();
    let data = Data::new(Rows::new(&sample.values, 2).unwrap()).unwrap();
    let mixture = DpMixture { likelihood: GAUSSIAN[likelihood](), ..short(start) };
    let fit = mixture.fit(&data, vec!["a".into(), "b".into()], &Unwatched).unwrap();
    let truth = Partition::from_labels(sample.labels);
    assert!(adjusted_rand_index(&truth, &fit.estimate).unwrap() > 0.98);
    let within = match &fit.model.likelihood {
        MixtureLaw::Full(law) => law.prior_scale[0] / (law.prior_dof - 3.0),
        MixtureLaw::Diagonal(law) => law.prior_scale[0] / (law.prior_dof - 2.0),
        MixtureLaw::Spherical(law) => law.variance,
        MixtureLaw::Multinomial(_) => f64::NAN,
    };
    assert!((0.7..1.4).contains(&within), "{within}");
    assert!(fit.certainty.iter().all(|c| (0.3..=1.0).contains(c)));
    assert_eq!(fit.chains.iter().map(|chain| chain.draws.len()).collect::<Vec<_>>(), [50, 50]);
    assert!(fit.effective_size[1] > 1.0, "{:?}", fit.effective_size);
    let (labels, _) = fit.model.assign(data.rows(), &Workers::serial()).unwrap();
    assert!(adjusted_rand_index(&fit.estimate, &Partition::from_labels(labels)).unwrap() > 0.98);
}

#[test]
fn topics_are_found_in_counts_dense_or_sparse() {
    // Three topics of four words each, most counts in the topic's own.
    let mut rng = stream(5, Stream::Simulation);
    let values: Vec<f64> =
        (0..60 * 12).map(|i| f64::from(rng.random_range(if i % 12 / 4 == i / 12 % 3 { 3..8 } else { 0..2 }))).collect();
    let rows = Rows::new(&values, 12).unwrap();
    let columns: Vec<String> = (0..12).map(|i| format!("word {i}")).collect();
    let likelihood = MixtureLikelihood::Multinomial { pseudocount: Some(1.0) };
    let mixture = DpMixture { likelihood, ..short(MixtureStart::DpMeans) };
    let dense = mixture.fit(&Data::new(rows).unwrap(), columns.clone(), &Unwatched).unwrap();
    assert_eq!(dense.estimate, Partition::from_labels((0..60).map(|i| i % 3)));
    let counts = Counts::from_rows(rows).unwrap();
    assert!(mixture.fit_counts(&counts, columns.clone(), &Unwatched).unwrap() == dense);
    let serial = Workers::serial();
    let (labels, densities) = dense.model.assign(rows, &serial).unwrap();
    assert_eq!(Partition::from_labels(labels), dense.estimate);
    assert_eq!(dense.model.assign_counts(&counts, &serial).unwrap().1, densities);
    let gaussian = short(MixtureStart::One).fit_counts(&counts, columns, &Unwatched).unwrap_err().to_string();
    assert!(gaussian.contains("multinomial"), "{gaussian}");
}

#[rstest]
fn chains_taken_up_again_are_the_chains_of_one_run(#[values(0, 1, 2)] likelihood: usize) {
    let values: Vec<f64> = (0..60).map(|i| f64::from(i % 3) * 4.0 + f64::from(i * i % 17) * 0.1).collect();
    let data = Data::new(Rows::new(&values, 2).unwrap()).unwrap();
    let columns = || vec!["a".to_string(), "b".into()];
    let prior = [MixturePrior::DirichletProcess, MixturePrior::Finite][likelihood % 2];
    let whole =
        DpMixture { likelihood: GAUSSIAN[likelihood](), prior, max_clusters: Some(5), ..short(MixtureStart::DpMeans) };
    let half = DpMixture { schedule: Schedule { sweeps: 130, ..whole.schedule }, ..whole.clone() };
    let first = half.fit(&data, columns(), &Unwatched).unwrap();
    assert!(first.chains.iter().all(|chain| chain.n_groups.iter().all(|&k| k <= 5)));
    let law = first.model.likelihood.clone();
    let resumed = whole.resume(&data, columns(), (law, first.chains), &Unwatched).unwrap();
    let whole = whole.fit(&data, columns(), &Unwatched).unwrap();
    // Where a law came from, it does not say.
    assert!(MixtureFit { guessed_from: whole.guessed_from, ..resumed } == whole);
}

#[rstest]
fn the_next_row_goes_where_the_prior_of_one_more_row_says(
    #[values(MixturePrior::DirichletProcess, MixturePrior::Finite)] prior: MixturePrior,
    #[values(None, Some(3), Some(9))] max_clusters: Option<usize>,
) {
    let alpha = 1.7;
    let mixture = DpMixture { prior, max_clusters, ..DpMixture::default() };
    let ln_prob = |partition: &Partition| match (prior, max_clusters) {
        (MixturePrior::Finite, Some(k)) => DirichletMultinomial::new(k, alpha / k as f64).unwrap().ln_prob(partition),
        (_, Some(most)) if partition.n_groups() > most => f64::NEG_INFINITY,
        _ => Crp::new(alpha).unwrap().ln_prob(partition),
    };
    if (prior, max_clusters) == (MixturePrior::Finite, None) {
        let error = mixture.partition_prior().unwrap_err().to_string();
        assert!(error.starts_with("max_clusters must be a whole number of at least 1 for the finite prior, got none"));
        return;
    }
    for partition in Partition::all(5).filter(|partition| ln_prob(partition).is_finite()) {
        let compact = CompactPartition::from(&partition);
        let DrawnPartition { new_group, per_group, .. } = mixture.weighed(&compact, alpha);
        let weights = partition.sizes().iter().map(|&n| n as f64 + per_group).chain([new_group]);
        let weights: Vec<f64> = weights.collect();
        let longer = |k: usize| Partition::from_labels(partition.labels().iter().copied().chain([k as u32]));
        let expected: Vec<f64> =
            (0..weights.len()).map(|k| (ln_prob(&longer(k)) - ln_prob(&partition)).exp()).collect();
        for (weight, expected_one) in weights.iter().zip(&expected) {
            let (share, right) = (weight / weights.iter().sum::<f64>(), expected_one / expected.iter().sum::<f64>());
            assert!((share - right).abs() < 1e-12, "{partition:?}: {weights:?} {expected:?}");
        }
    }
}

#[test]
fn degenerate_data_have_an_answer() {
    for values in [vec![3.0], vec![3.0; 6], vec![1.0, 2.0], vec![0.0, 0.0, 0.0, 1e12]] {
        let data = Data::new(Rows::new(&values, 1).unwrap()).unwrap();
        let fit = short(MixtureStart::DpMeans).fit(&data, vec!["x".into()], &Unwatched).unwrap();
        assert_eq!(fit.estimate.n_rows(), values.len());
        assert!(fit.certainty.iter().all(|c| c.is_finite()));
    }
}

/// Stops at the given pass.
struct StopAt(usize, AtomicUsize);

impl Watch for StopAt {
    fn step(&self, step: &Step) -> ControlFlow<()> {
        let passes = match step {
            Step::Pass { .. } => self.1.fetch_add(1, Ordering::Relaxed) + 1,
            _ => self.1.load(Ordering::Relaxed),
        };
        if passes >= self.0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

#[rstest]
#[case::before_anything(0)]
#[case::in_the_burn_in(50)]
#[case::after_it(150)]
fn a_stopped_fit_keeps_what_it_has(#[case] passes: usize) {
    let values: Vec<f64> = (0..40).map(|i| f64::from(i % 2) * 20.0 + f64::from(i) * 0.01).collect();
    let data = Data::new(Rows::new(&values, 1).unwrap()).unwrap();
    let sampler = DpMixture { chains: 1, threads: 1, ..short(MixtureStart::DpMeans) };
    let fit = sampler.fit(&data, vec!["x".into()], &StopAt(passes, AtomicUsize::new(0))).unwrap();
    assert!(fit.stopped);
    assert_eq!(fit.estimate.n_rows(), 40);
    assert!(fit.model.assign(data.rows(), &Workers::serial()).is_ok());
}
