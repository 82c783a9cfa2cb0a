//! Real data with known answers, where the shared data sets are beside the project.

mod common;

use madbayes::hard::DpMeans;
use madbayes::metrics::adjusted_rand_index;
use madbayes::select::fit_exactly;
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
    let rows = common::data(&values, d);
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
