//! The algorithms against the best of all partitions.

use crate::common::{data, success_rate, uniform};
use madbayes::hard::{Algorithm, DpMeans, Start};
use madbayes::watch::Unwatched;
use rstest::rstest;

#[rstest]
#[case::collapsed(Algorithm::Collapsed, Start::PlusPlus, 0.99)]
#[case::parallel(Algorithm::Parallel, Start::PlusPlus, 0.97)]
#[case::serial(Algorithm::Serial, Start::PlusPlus, 0.70)]
#[case::serial_from_the_mean(Algorithm::Serial, Start::Mean, 0.55)]
fn the_optimum_is_reached_nearly_always_and_never_undercut(
    #[case] algorithm: Algorithm,
    #[case] start: Start,
    #[case] least: f64,
) {
    let rate = success_rate(algorithm, start, 50);
    println!("{algorithm:?}: optimum reached in {:.1} % of 200 problems", 100.0 * rate);
    assert!(rate >= least, "{algorithm:?} reached the optimum in {rate} of the problems");
}

#[test]
fn k_means_reaches_the_best_partition_into_exactly_k() {
    for seed in 0..40 {
        let values = uniform(7, 2, 1000 + seed);
        for k in 1..=7 {
            let fitted = DpMeans::k_means(k).fit(&data(&values, 2), &Unwatched).unwrap();
            let best = madbayes::structure::Partition::all(7)
                .filter(|p| p.n_groups() == k)
                .map(|p| crate::common::sum_of_squares(&values, 2, &p))
                .fold(f64::INFINITY, f64::min);
            assert_eq!(fitted.n_clusters(), k);
            assert!((fitted.objective - best).abs() < 1e-9, "seed {seed}, K {k}: {} {best}", fitted.objective);
        }
    }
}
