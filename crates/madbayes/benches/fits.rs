//! Whole fits with one and with two threads.

use divan::Bencher;
use madbayes::data::{Data, Rows};
use madbayes::hard::{DpMeans, Goal};
use madbayes::select::fit_exactly;
use madbayes::simulate::GaussianMixture;
use madbayes::watch::Unwatched;

fn main() {
    divan::main();
}

fn sample(n: usize, d: usize, k: usize) -> Vec<f32> {
    let recipe =
        GaussianMixture { n_rows: n, n_columns: d, n_clusters: k, separation: 5.0, ..GaussianMixture::default() };
    recipe.sample(0).expect("a sample").values.iter().map(|v| *v as f32).collect()
}

/// Half the rows of a cluster times its variance: splitting a true cluster does not pay, finding one does.
fn penalty(n: usize, d: usize, k: usize) -> f64 {
    (n / k) as f64 * (2.0 + (d as f64).sqrt()) / 2.0
}

#[divan::bench(sample_count = 5, args = [(1_000, 10, 10, 1), (100_000, 32, 50, 1), (100_000, 32, 50, 2), (100_000, 16, 100, 2)])]
fn dp_means(bencher: Bencher, (n, d, k, threads): (usize, usize, usize, usize)) {
    let values = sample(n, d, k);
    let data = Data::new(Rows::new(&values, d).expect("rows")).expect("data");
    let goal = Goal::Penalty { penalty: penalty(n, d, k), max_clusters: None };
    let parameters = DpMeans { goal, threads, ..DpMeans::default() };
    bencher.bench_local(|| parameters.fit(&data, &Unwatched));
}

#[divan::bench(sample_count = 5, args = [(5_000, 2, 15, 1), (100_000, 16, 100, 2)])]
fn exactly_k(bencher: Bencher, (n, d, k, threads): (usize, usize, usize, usize)) {
    let values = sample(n, d, k);
    let data = Data::new(Rows::new(&values, d).expect("rows")).expect("data");
    let parameters = DpMeans { threads, ..DpMeans::default() };
    bencher.bench_local(|| fit_exactly(k, &parameters, &data, &Unwatched));
}
