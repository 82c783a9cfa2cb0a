//! The automatic choice: clear clusters are counted, data without structure are one cluster, and nothing breaks it.

use crate::common::{data, uniform};
use madbayes::data::{Data, Rows};
use madbayes::hard::{DpMeans, Goal};
use madbayes::random::{Stream, stream};
use madbayes::select::{Automatic, HullPoint, automatic, automatic_penalty, candidates};
use madbayes::simulate::{GaussianMixture, Weights};
use madbayes::watch::{Step, Unwatched, Watch};
use rand::RngExt;
use rand_distr::StandardNormal;
use rstest::rstest;
use std::ops::ControlFlow;

fn choose(values: &[f64], d: usize) -> Automatic {
    automatic(&data(values, d), &DpMeans::default(), &Unwatched).unwrap()
}

#[rstest]
#[case(2, 2, 300, 6.0)]
#[case(3, 10, 200, 5.0)]
#[case(5, 2, 400, 6.0)]
#[case(8, 3, 600, 6.0)]
#[case(12, 20, 600, 6.0)]
#[case(25, 2, 1500, 7.0)]
fn clear_clusters_are_counted_and_the_penalty_finds_them(
    #[case] n_clusters: usize,
    #[case] n_columns: usize,
    #[case] n_rows: usize,
    #[case] separation: f64,
) {
    for (seed, weights) in [(0, Weights::Equal), (1, Weights::Equal), (2, Weights::Dirichlet { concentration: 20.0 })] {
        let recipe = GaussianMixture { n_rows, n_columns, n_clusters, separation, weights };
        let sample = recipe.sample(seed).unwrap();
        let rows = data(&sample.values, n_columns);
        let found = automatic(&rows, &DpMeans::default(), &Unwatched).unwrap();
        let choice = &found.choice;
        assert_eq!(choice.k, n_clusters, "seed {seed}: {choice:?}");
        assert!((0.0..=1.0).contains(&choice.confidence));
        assert!(choice.penalties.low < choice.penalty && choice.penalty < choice.penalties.high);
        assert!(choice.runners_up.iter().all(|c| c.k != choice.k && c.score <= choice.runners_up[0].score));
        let fit = DpMeans::with_penalty(choice.penalty).fit(&rows, &Unwatched).unwrap();
        assert_eq!(fit.n_clusters(), n_clusters, "seed {seed}");
    }
}

fn gaussian(n: usize, d: usize, long_axis: f64, seed: u64) -> Vec<f64> {
    let mut rng = stream(seed, Stream::Simulation);
    let mut draw = |i: usize| rng.sample::<f64, _>(StandardNormal) * if i.is_multiple_of(d) { long_axis } else { 1.0 };
    (0..n * d).map(&mut draw).collect()
}

#[rstest]
#[case(100, 2)]
#[case(400, 2)]
#[case(100, 10)]
#[case(400, 10)]
#[case(100, 50)]
#[case(300, 50)]
fn data_without_structure_are_one_cluster(#[case] n: usize, #[case] d: usize) {
    for seed in 0..3 {
        let shapes = [
            ("box", uniform(n, d, seed)),
            ("round", gaussian(n, d, 1.0, seed)),
            ("one axis three times the others", gaussian(n, d, 3.0, seed)),
        ];
        for (name, values) in shapes {
            let choice = choose(&values, d).choice;
            assert_eq!(choice.k, 1, "{name}, seed {seed}: {choice:?}");
            let fit = DpMeans::with_penalty(choice.penalty).fit(&data(&values, d), &Unwatched).unwrap();
            assert_eq!(fit.n_clusters(), 1, "{name}, seed {seed}");
        }
    }
}

#[rstest]
#[case::one_row(vec![3.0], 1)]
#[case::two_rows(vec![1.0, 2.0], 1)]
#[case::all_equal(vec![3.0; 30], 1)]
#[case::two_values(vec![0.0, 0.0, 0.0, 0.0, 5.0, 5.0, 5.0], 2)]
#[case::evenly_spaced_values((0..300).map(|i| f64::from(i % 10)).collect(), 1)]
#[case::uneven_repeated_values((0..120).map(|i| [0.0, 1.0, 50.0][i % 3]).collect(), 2)]
#[case::far_from_zero((0..100).map(|i| 1e8 + f64::from(i % 2) * 50.0 + f64::from(i * 37 % 100) * 0.01).collect(), 2)]
fn degenerate_data_have_an_answer(#[case] values: Vec<f64>, #[case] k: usize) {
    let choice = choose(&values, 1).choice;
    assert_eq!(choice.k, k, "{choice:?}");
    assert!(choice.penalty.is_finite() && choice.penalty > 0.0, "{choice:?}");
    let fit = DpMeans::with_penalty(choice.penalty).fit(&data(&values, 1), &Unwatched).unwrap();
    assert_eq!(fit.n_clusters(), k);
}

#[test]
fn equal_rows_do_not_persist_for_ever() {
    let points = [
        HullPoint { k: 1, loss: 100.0, low: 90.0, high: f64::INFINITY },
        HullPoint { k: 2, loss: 10.0, low: 5.0, high: 90.0 },
        HullPoint { k: 4, loss: 0.0, low: 0.0, high: 5.0 },
    ];
    let found = candidates(&points, 0.0);
    assert_eq!(found.iter().map(|c| (c.k, c.persistence)).collect::<Vec<_>>(), [(4, 4.0), (2, 18f64.ln())]);
    let resolved = candidates(&points, 2.5);
    assert_eq!(resolved.iter().map(|c| c.k).collect::<Vec<_>>(), [2, 4]);
    assert!((resolved[1].score - 2.0 * 2f64.ln()).abs() < 1e-12);
}

#[test]
fn the_cap_is_kept() {
    let sample = GaussianMixture { n_rows: 300, n_clusters: 6, separation: 8.0, ..GaussianMixture::default() };
    let values = sample.sample(0).unwrap().values;
    let goal = Goal::Penalty { penalty: 1.0, max_clusters: Some(4) };
    let found = automatic(&data(&values, 2), &DpMeans { goal, ..DpMeans::default() }, &Unwatched).unwrap();
    assert!(found.choice.k <= 4, "{:?}", found.choice);
}

#[test]
fn the_same_choice_for_any_number_of_threads() {
    let sample =
        GaussianMixture { n_rows: 4200, n_columns: 8, n_clusters: 4, separation: 3.0, weights: Weights::Equal };
    let values = sample.sample(5).unwrap().values;
    let rows = data(&values, 8);
    let of = |threads| automatic(&rows, &DpMeans { threads, ..DpMeans::default() }, &Unwatched).unwrap();
    let one = of(1);
    assert!(one == of(3));
}

#[test]
fn rows_without_weight_do_not_count() {
    let sample = GaussianMixture { n_rows: 200, n_clusters: 3, separation: 9.0, ..GaussianMixture::default() };
    let mut values = sample.sample(1).unwrap().values;
    values.extend((0..100).map(|i| 40.0 + f64::from(i % 10)));
    let weights: Vec<f64> = (0..250).map(|i| if i < 200 { 1.0 } else { 0.0 }).collect();
    let rows = Data::weighted(Rows::new(&values, 2).unwrap(), Some(&weights)).unwrap();
    let found = automatic(&rows, &DpMeans::default(), &Unwatched).unwrap().choice;
    assert_eq!(found.k, 3);
    assert_eq!(automatic_penalty(&rows, &DpMeans::default(), &Unwatched).unwrap(), found.penalty);
}

struct Stop;

impl Watch for Stop {
    fn step(&self, _: &Step) -> ControlFlow<()> {
        ControlFlow::Break(())
    }
}

#[test]
fn a_stopped_choice_is_a_choice() {
    let values = uniform(200, 2, 1);
    let found = automatic(&data(&values, 2), &DpMeans::default(), &Stop).unwrap();
    assert!(found.path.path.stopped);
    assert_eq!(found.choice.k, 1);
    assert!(found.choice.penalty > 0.0 && found.choice.penalty.is_finite());
}
