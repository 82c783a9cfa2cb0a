//! The path of features: against all allocations of tiny data, and the choice on it.

use crate::common::{data, uniform};
use madbayes::hard::{BpMeans, FeatureGoal};
use madbayes::likelihood::collapsed_loss;
use madbayes::random::{Stream, stream};
use madbayes::select::{
    AutomaticFeatures, ChosenFeatures, PathSearch, automatic_features, fit_features_automatically, lower_hull,
};
use madbayes::simulate::FeatureMixture;
use madbayes::structure::Allocation;
use madbayes::watch::{Step, Unwatched, Watch};
use rand::RngExt;
use rand_distr::StandardNormal;
use rstest::rstest;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};

#[test]
fn on_tiny_data_the_path_is_that_of_all_allocations() {
    for seed in 0..40 {
        let (n, d) = (2 + seed % 3, 1 + seed / 3 % 3);
        let values: Vec<f64> = uniform(n, d, seed as u64).iter().map(|x| x - 3.0).collect();
        let rows = data(&values, d);
        let least =
            |k: usize| Allocation::all_multisets(n, k).map(|z| collapsed_loss(&z, &rows)).fold(f64::INFINITY, f64::min);
        let losses: Vec<(usize, f64)> = (0..=n).map(|k| (k, least(k))).collect();
        let expected = lower_hull(&losses, 1e-10);
        let found = PathSearch { max_groups: Some(n), ..PathSearch::default() }.features(&rows, &Unwatched).unwrap();
        let points = &found.path.points;
        assert_eq!(
            points.iter().map(|p| p.k).collect::<Vec<_>>(),
            expected.iter().map(|p| p.k).collect::<Vec<_>>(),
            "seed {seed}: {points:?} {expected:?}"
        );
        for (found, expected) in points.iter().zip(&expected) {
            assert!((found.low - expected.low).abs() < 1e-9, "seed {seed}: {found:?} {expected:?}");
            assert!(found.high == expected.high || (found.high - expected.high).abs() < 1e-9, "seed {seed}");
        }
    }
}

#[test]
fn losses_fall_and_are_those_of_the_allocations_whatever_the_number_of_threads() {
    let recipe = FeatureMixture { n_rows: 90, n_columns: 12, n_features: 4, noise: 0.8, ..FeatureMixture::default() };
    let sample = recipe.sample(3).unwrap();
    let rows = data(&sample.values, 12);
    let with = |threads: usize| {
        PathSearch { max_groups: Some(8), threads, ..PathSearch::default() }.features(&rows, &Unwatched).unwrap()
    };
    let found = with(1);
    assert_eq!(found, with(3));
    let path = &found.path;
    assert_eq!(path.losses.iter().map(|l| l.0).collect::<Vec<_>>(), (0..=8).collect::<Vec<_>>());
    assert!(path.losses.windows(2).all(|pair| pair[1].1 < pair[0].1));
    for &(k, loss) in &path.losses {
        let allocation = found.allocation(k).unwrap();
        let again = collapsed_loss(allocation, &rows);
        assert!((again - loss).abs() < 1e-9 * path.losses[0].1, "K {k}: {again} {loss}");
    }
    assert!(found.allocation(9).is_none());
    // A fit with the number given, from its own start, finds nothing better.
    let planted = BpMeans::k_features(4).fit(&rows, &Unwatched).unwrap().loss;
    assert!(path.losses[4].1 <= planted * (1.0 + 1e-9));
}

#[test]
fn a_path_goes_on_to_the_least_penalty_only() {
    let recipe = FeatureMixture { n_rows: 60, n_columns: 8, n_features: 3, noise: 0.3, ..FeatureMixture::default() };
    let sample = recipe.sample(1).unwrap();
    let rows = data(&sample.values, 8);
    let full = PathSearch { max_groups: Some(7), ..PathSearch::default() }.features(&rows, &Unwatched).unwrap().path;
    let penalty = full.point(3).unwrap().interval().middle();
    let short =
        PathSearch { least_penalty: Some(penalty), ..PathSearch::default() }.features(&rows, &Unwatched).unwrap().path;
    assert_eq!(short.k_for(penalty), Some(3));
    assert!(short.losses.len() < full.losses.len(), "{:?}", short.losses);
}

fn choose(values: &[f64], d: usize) -> AutomaticFeatures {
    automatic_features(&data(values, d), &BpMeans::default(), &Unwatched).unwrap()
}

#[rstest]
#[case(2, 100, 20, 0.3, false)]
#[case(3, 150, 30, 1.0, false)]
#[case(4, 100, 36, 0.5, true)]
#[case(5, 100, 36, 0.5, true)]
fn planted_features_are_counted_and_fitted(
    #[case] n_features: usize,
    #[case] n_rows: usize,
    #[case] n_columns: usize,
    #[case] noise: f64,
    #[case] base: bool,
) {
    for seed in 0..3 {
        let recipe = FeatureMixture { n_rows, n_columns, n_features, noise, base, ..FeatureMixture::default() };
        let sample = recipe.sample(seed).unwrap();
        let rows = data(&sample.values, n_columns);
        let ChosenFeatures { features: fit, choice, .. } =
            fit_features_automatically(&rows, &BpMeans::default(), &Unwatched).unwrap();
        assert_eq!((choice.k, fit.n_features()), (n_features, n_features), "seed {seed}: {choice:?}");
        assert!(choice.penalties.low < choice.penalty && choice.penalty < choice.penalties.high);
        assert!((0.0..=1.0).contains(&choice.confidence));
        assert!(choice.runners_up.iter().all(|c| c.k != choice.k));
        assert!(fit.loss <= collapsed_loss(&sample.allocation, &rows) * (1.0 + 1e-9));
        assert!(fit.losses_by_k.len() > n_features);
    }
}

#[test]
fn a_base_far_from_0_does_not_hide_the_features_on_it() {
    let recipe =
        FeatureMixture { n_rows: 100, n_columns: 20, n_features: 3, noise: 0.5, base: false, ..Default::default() };
    let values: Vec<f64> = recipe.sample(5).unwrap().values.iter().map(|x| x + 100.0).collect();
    assert_eq!(choose(&values, 20).choice.k, 4);
}

#[rstest]
#[case(100, 2)]
#[case(100, 10)]
#[case(60, 40)]
fn data_without_features_have_none_or_a_base(#[case] n: usize, #[case] d: usize) {
    let mut rng = stream(0, Stream::Simulation);
    let round: Vec<f64> = (0..n * d).map(|_| rng.sample(StandardNormal)).collect();
    let stretched: Vec<f64> = round.iter().enumerate().map(|(i, x)| if i % d == 0 { 3.0 * x } else { *x }).collect();
    for (values, shape) in [(&round, "round"), (&stretched, "stretched")] {
        let found = choose(values, d).choice;
        assert_eq!(found.k, 0, "{shape}: {found:?}");
        let fit = BpMeans::with_penalty(found.penalty).fit(&data(values, d), &Unwatched).unwrap();
        assert_eq!(fit.n_features(), 0);
        let shifted: Vec<f64> = values.iter().map(|x| x + 6.0).collect();
        assert_eq!(choose(&shifted, d).choice.k, 1, "{shape} and shifted");
    }
    let box_shaped = uniform(n, d, 0);
    assert_eq!(choose(&box_shaped, d).choice.k, 1, "a box");
}

#[test]
fn degenerate_data_get_a_choice_too() {
    for values in [vec![3.0], vec![0.0; 10], vec![3.0; 10], vec![1.0, 2.0], vec![0.0, 0.0, 0.0, 5.0]] {
        let found = choose(&values, 1).choice;
        assert!(found.penalty.is_finite() && found.penalty > 0.0, "{values:?}: {found:?}");
        let rows = data(&values, 1);
        let ChosenFeatures { features: fit, .. } =
            fit_features_automatically(&rows, &BpMeans::default(), &Unwatched).unwrap();
        assert_eq!(fit.n_features(), found.k, "{values:?}");
    }
}

#[test]
fn a_cap_is_kept_and_weights_are_refused() {
    let recipe = FeatureMixture { n_rows: 60, n_columns: 8, n_features: 4, ..FeatureMixture::default() };
    let sample = recipe.sample(1).unwrap();
    let goal = FeatureGoal::Penalty { penalty: 1.0, max_features: Some(2) };
    let parameters = BpMeans { goal, ..BpMeans::default() };
    let ChosenFeatures { features: fit, choice, .. } =
        fit_features_automatically(&data(&sample.values, 8), &parameters, &Unwatched).unwrap();
    assert_eq!((fit.n_features(), choice.k), (2, 2));
    let weights = vec![1.0; 60];
    let weighted =
        madbayes::data::Data::weighted(madbayes::data::Rows::new(&sample.values, 8).unwrap(), Some(&weights)).unwrap();
    let error = PathSearch::default().features(&weighted, &Unwatched).unwrap_err();
    assert!(error.to_string().contains("row weights"), "{error}");
}

#[test]
fn more_rows_than_a_sample_are_searched_on_one_and_refined_on_all() {
    let recipe = FeatureMixture { n_rows: 3_000, n_columns: 8, n_features: 3, noise: 0.3, ..FeatureMixture::default() };
    let sample = recipe.sample(2).unwrap();
    let rows = data(&sample.values, 8);
    let found = PathSearch { max_groups: Some(4), ..PathSearch::default() }.features(&rows, &Unwatched).unwrap();
    assert_eq!(found.path.sampled_rows, Some(BpMeans::SAMPLE));
    let loss = found.path.point(3).unwrap().loss;
    assert!(loss <= collapsed_loss(&sample.allocation, &rows) * (1.0 + 1e-6));
    assert_eq!(found.allocation(3).unwrap().n_rows(), 3_000);
}

/// Says stop from some step on.
struct After(usize, AtomicUsize);

impl Watch for After {
    fn step(&self, _: &Step) -> ControlFlow<()> {
        if self.1.fetch_add(1, Ordering::Relaxed) < self.0 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }
}

#[test]
fn a_stopped_search_has_the_path_so_far() {
    let recipe = FeatureMixture { n_rows: 80, n_columns: 10, n_features: 4, noise: 0.4, ..FeatureMixture::default() };
    let sample = recipe.sample(6).unwrap();
    let rows = data(&sample.values, 10);
    let endless = After(usize::MAX, AtomicUsize::new(0));
    automatic_features(&rows, &BpMeans::default(), &endless).unwrap();
    let all = endless.1.load(Ordering::Relaxed);
    for steps in [0, 1, all / 8, all / 2] {
        let watch = After(steps, AtomicUsize::new(0));
        let ChosenFeatures { features: fit, choice, .. } =
            fit_features_automatically(&rows, &BpMeans::default(), &watch).unwrap();
        assert!(fit.stopped, "after {steps} of {all} steps");
        assert!(choice.penalty > 0.0 && choice.penalty.is_finite());
    }
}

#[test]
fn rows_of_noise_are_not_as_many_features() {
    for (n, d) in [(3, 20), (5, 20), (8, 20), (5, 3)] {
        let mut rng = stream(n as u64, Stream::Simulation);
        let values: Vec<f64> = (0..n * d).map(|_| rng.sample(StandardNormal)).collect();
        let found = choose(&values, d).choice;
        assert!(found.k <= n / 2, "{n} x {d}: {found:?}");
    }
}

#[test]
fn copies_of_few_rows_do_not_make_a_feature_of_each() {
    let few = uniform(5, 6, 8);
    let values: Vec<f64> = (0..20).flat_map(|_| few.iter().copied()).collect();
    let found = choose(&values, 6).choice;
    assert!(found.k < 5, "{found:?}");
}

#[test]
fn data_far_from_0_end_and_keep_their_features() {
    let recipe = FeatureMixture { n_rows: 120, n_columns: 12, n_features: 3, noise: 0.2, ..FeatureMixture::default() };
    let values: Vec<f64> = recipe.sample(4).unwrap().values.iter().map(|x| x + 1e5).collect();
    let rows = data(&values, 12);
    assert_eq!(choose(&values, 12).choice.k, 4);
    for k in [9, 10] {
        assert_eq!(BpMeans::k_features(k).fit(&rows, &Unwatched).unwrap().n_features(), k);
    }
}

#[test]
fn a_path_ends_where_a_word_of_bits_does() {
    let values = uniform(70, 2, 1);
    let found = PathSearch { max_groups: Some(70), ..PathSearch::default() }.features(&data(&values, 2), &Unwatched);
    assert!(found.unwrap().path.losses.len() <= 65);
}

#[test]
fn one_row_unlike_all_others_is_a_choice_too() {
    let mut values = vec![0.0; 2 * 2_000];
    (values[40], values[41]) = (5.0, 3.0);
    assert_eq!(choose(&values, 2).choice.k, 1);
    // Of more rows a sample is searched: it may have the one row, or nothing in it but zeros.
    values.resize(2 * 3_000, 0.0);
    assert!(choose(&values, 2).choice.k <= 1);
    let rows = data(&values, 2);
    let clusters = madbayes::select::automatic(&rows, &madbayes::hard::DpMeans::default(), &Unwatched).unwrap();
    assert_eq!(clusters.choice.k, 2);
}
