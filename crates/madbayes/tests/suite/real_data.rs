//! Real data with known answers, where the shared data sets are beside the project.

use crate::common::galaxies::{Prior, number_of_clusters, velocities};
use madbayes::hard::{DpMeans, Restarts};
use madbayes::metrics::adjusted_rand_index;
use madbayes::select::{PathSearch, automatic, fit_exactly};
use madbayes::structure::Partition;
use madbayes::watch::Unwatched;
use rstest::rstest;
use std::path::PathBuf;

/// Columns and labels of one of the CSV files; says visibly when the shared data are not there.
fn shared(name: &str) -> Option<(Vec<f64>, usize, Vec<String>)> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/clustering").join(name);
    let Ok(text) = std::fs::read_to_string(&path) else {
        eprintln!("SKIPPED: ../shared/data/clustering/{name} is not here");
        return None;
    };
    let mut lines = text.lines();
    let d = lines.next()?.split(',').count() - 1;
    let mut values = Vec::new();
    let mut labels = Vec::new();
    for line in lines {
        let mut cells = line.split(',');
        values.extend(cells.by_ref().take(d).map(|c| c.parse::<f64>().unwrap()));
        labels.push(cells.next().unwrap().to_string());
    }
    Some((values, d, labels))
}

#[rstest]
#[case("s1.csv", 15, 8.917616e12)]
#[case("s2.csv", 15, 1.327911e13)]
#[case("s4.csv", 15, 1.570317e13)]
#[case("a1.csv", 20, 1.214626e10)]
#[case("a3.csv", 50, 2.893742e10)]
#[case("r15.csv", 15, 108.619)]
fn one_run_comes_within_a_thousandth_of_the_best_known_sum_of_squares(
    #[case] name: &str,
    #[case] k: usize,
    #[case] best_known: f64,
) {
    let Some((values, d, labels)) = shared(name) else { return };
    let rows = crate::common::data(&values, d);
    let fit = fit_exactly(k, &DpMeans::default(), &rows, &Unwatched).unwrap();
    let plain = DpMeans::k_means(k).fit(&rows, &Unwatched).unwrap();
    let agreement = adjusted_rand_index(
        &Partition::from_labels(labels.iter()),
        &Partition::from_labels(fit.clustering.labels.iter()),
    );
    println!(
        "{name}: K {k}, sum of squares {:.6e} = best known x {:.6}; one plain fit x {:.6}; ARI {:.3}; penalties {:?}",
        fit.clustering.loss(),
        fit.clustering.loss() / best_known,
        plain.loss() / best_known,
        agreement.unwrap(),
        fit.penalties
    );
    assert_eq!(fit.clustering.n_clusters(), k);
    assert!(fit.clustering.loss() <= 1.001 * best_known);
    assert!(plain.loss() <= 1.001 * best_known);
}

/// Columns with mean 0 and variance 1.
fn standardised(values: &mut [f64], d: usize) {
    let n = (values.len() / d) as f64;
    for j in 0..d {
        let mean = values.iter().skip(j).step_by(d).sum::<f64>() / n;
        let variance = values.iter().skip(j).step_by(d).map(|x| (x - mean).powi(2)).sum::<f64>() / n;
        values.iter_mut().skip(j).step_by(d).for_each(|x| *x = (*x - mean) / variance.sqrt());
    }
}

#[rstest]
#[case("a1.csv", 20)]
#[case("hepta.csv", 7)]
#[case("r15.csv", 15)]
#[case("s1.csv", 15)]
#[case("s2.csv", 15)]
#[case("wine.csv", 3)]
#[case("iris.csv", 2)]
fn the_number_of_clusters_is_found(#[case] name: &str, #[case] k: usize) {
    let Some((mut values, d, _)) = shared(name) else { return };
    if name == "wine.csv" {
        standardised(&mut values, d);
    }
    let found = automatic(&crate::common::data(&values, d), &DpMeans::default(), &Unwatched).unwrap().choice;
    println!(
        "{name}: {}, confidence {:.2}, runners-up {:?}",
        found.k,
        found.confidence,
        found.runners_up.iter().map(|c| c.k).collect::<Vec<_>>()
    );
    assert_eq!(found.k, k);
    // Real data often have two right answers: the three species are two groups, one of which divides.
    if name == "iris.csv" {
        assert_eq!(found.runners_up[0].k, 3);
    }
}

#[rstest]
#[case("hepta.csv", 30)]
#[case("r15.csv", 30)]
#[case("a1.csv", 40)]
fn no_fit_at_a_penalty_beats_the_path_by_half_a_percent(#[case] name: &str, #[case] most: usize) {
    let Some((values, d, _)) = shared(name) else { return };
    let rows = crate::common::data(&values, d);
    let search = PathSearch { max_groups: Some(most), ..PathSearch::default() };
    let path = search.clusters(&rows, &Unwatched).unwrap().path;
    for point in path.points[1..].iter().step_by(3) {
        let penalty = point.interval().middle();
        let fit = DpMeans { restarts: Restarts::Exactly(8), ..DpMeans::with_penalty(penalty) };
        let objective = fit.fit(&rows, &Unwatched).unwrap().objective;
        let ours = point.loss + (point.k - 1) as f64 * penalty;
        assert!(ours <= 1.005 * objective, "K {}: {}", point.k, ours / objective);
    }
}

#[test]
fn galaxies_fall_into_more_clusters_the_narrower_and_the_more_welcome_clusters_are() {
    let Some(velocities) = velocities() else { return };
    assert_eq!(velocities.len(), 82);
    let of = |prior: Prior| {
        let found = number_of_clusters(&velocities, prior, 1000);
        println!("{prior:?}: mean {:.2}, R-hat {:.3}, {:.3?}", found.mean, found.r_hat, found.probabilities);
        assert!(found.r_hat < 1.1, "chains from one and from 20 clusters must agree: R-hat {}", found.r_hat);
        found
    };
    let middle = of(Prior::default());
    let (narrow, wide) = (of(Prior { spread: 0.5, ..Prior::default() }), of(Prior { spread: 2.0, ..Prior::default() }));
    assert!(narrow.mean > middle.mean + 0.5 && middle.mean > wide.mean + 0.5);
    let fixed = |alpha| of(Prior { concentration: Some(alpha), ..Prior::default() });
    assert!(fixed(2.0).mean > fixed(0.5).mean + 0.5);
    // With one column, separate variances are the whole covariance.
    let diagonal = of(Prior { diagonal: true, ..Prior::default() });
    assert!((diagonal.mean - middle.mean).abs() < 0.3, "{} {}", diagonal.mean, middle.mean);
}
