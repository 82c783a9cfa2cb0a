//! Kernels by themselves: nearest centre, one sweep of the sampler and of collapsed DP-means.

use divan::Bencher;
use divan::counter::ItemsCount;
use madbayes::data::{Data, Real, Rows};
use madbayes::gibbs::{CrpMixture, Schedule};
use madbayes::hard::{Algorithm, DpMeans, Restarts, Start};
use madbayes::likelihood::Spherical;
use madbayes::linalg::{FrozenCentres, NO_LABEL};
use madbayes::simulate::GaussianMixture;
use madbayes::watch::Unwatched;

fn main() {
    divan::main();
}

fn sample<T: Real>(n: usize, d: usize, k: usize) -> (Vec<T>, Vec<f64>) {
    let recipe =
        GaussianMixture { n_rows: n, n_columns: d, n_clusters: k, separation: 4.0, ..GaussianMixture::default() };
    let sample = recipe.sample(0).expect("a sample");
    (sample.values.iter().map(|v| T::from_f64(*v)).collect(), sample.centres)
}

#[divan::bench(types = [f32, f64], args = [(100_000, 2, 15), (100_000, 32, 50), (20_000, 784, 30)])]
fn nearest_centre<T: Real>(bencher: Bencher, (n, d, k): (usize, usize, usize)) {
    let (values, centres) = sample::<T>(n, d, k);
    let data = Data::new(Rows::new(&values, d).expect("rows")).expect("data");
    let frozen = FrozenCentres::<T>::new(centres, d);
    let mut labels = vec![NO_LABEL; n];
    bencher.counter(ItemsCount::new(n)).bench_local(|| frozen.nearest(data.rows(), data.reference(), &mut labels));
}

#[divan::bench(args = [(2_000, 2, 6), (10_000, 10, 10)])]
fn ten_sweeps_of_the_sampler(bencher: Bencher, (n, d, k): (usize, usize, usize)) {
    let (values, _) = sample::<f64>(n, d, k);
    let data = Data::new(Rows::new(&values, d).expect("rows")).expect("data");
    let law = Spherical { variance: 1.0, prior_mean: vec![0.0; d], prior_variance: 50.0 };
    let schedule = Schedule { sweeps: 10, burn_in: 0, thin: 10 };
    let sampler = CrpMixture { schedule, ..CrpMixture::new(law) };
    bencher.counter(ItemsCount::new(10 * n)).bench_local(|| sampler.fit(&data, &Unwatched));
}

#[divan::bench(args = [(2_000, 2, 6), (10_000, 10, 10)])]
fn collapsed_from_seeds(bencher: Bencher, (n, d, k): (usize, usize, usize)) {
    let (values, _) = sample::<f64>(n, d, k);
    let data = Data::new(Rows::new(&values, d).expect("rows")).expect("data");
    let parameters = DpMeans {
        algorithm: Algorithm::Collapsed,
        restarts: Restarts::Exactly(1),
        start: Start::PlusPlus,
        ..DpMeans::k_means(k)
    };
    bencher.counter(ItemsCount::new(n)).bench_local(|| parameters.fit(&data, &Unwatched));
}
