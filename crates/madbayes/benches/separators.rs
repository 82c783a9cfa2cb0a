//! The discriminative term. Polya-Gamma and mixing variables: a thousand draws, so that microseconds are nanoseconds a draw.
//! Hyperplanes: those of 15 groups of 1,000 rows in 784 columns, once, on one thread and on two.

use divan::Bencher;
use madbayes::data::{Data, Rows};
use madbayes::parallel::Workers;
use madbayes::random::{Stream, stream};
use madbayes::separator::{
    Discriminative, Factor, Inputs, NewCluster, Separation, Separator, hinge_mixing, polya_gamma,
};
use madbayes::watch::Unwatched;
use rand::RngExt;

fn main() {
    divan::main();
}

#[divan::bench(args = [0.0, 1.0, 3.0, 10.0])]
fn thousand_polya_gamma(bencher: Bencher, z: f64) {
    let mut rng = stream(0, Stream::Simulation);
    bencher.bench_local(|| (0..1000).map(|_| polya_gamma(divan::black_box(z), &mut rng)).sum::<f64>());
}

#[divan::bench(args = [0.0, 1.0])]
fn thousand_hinge_mixing(bencher: Bencher, u: f64) {
    let mut rng = stream(0, Stream::Simulation);
    bencher.bench_local(|| (0..1000).map(|_| hinge_mixing(divan::black_box(u), &mut rng)).sum::<f64>());
}

#[divan::bench(sample_count = 5, args = [1, 2])]
fn fifteen_hyperplanes_of_784_columns(bencher: Bencher, threads: usize) {
    let mut rng = stream(0, Stream::Simulation);
    // Like pictures: a fifth of the pixels are above 0.
    let pixel = |_| if rng.random_range(0..5) == 0 { rng.random_range(0.0..255.0) } else { 0.0 };
    let values: Vec<f64> = (0..784_000).map(pixel).collect();
    let inputs = Inputs::new(&Data::new(Rows::new(&values, 784).expect("rows")).expect("data"));
    // The published rule needs no pool.
    let term = Discriminative { new_cluster: NewCluster::Paper, ..Discriminative::new(Factor::Logistic) };
    let separation = Separation::new(term, &inputs, 0, &Unwatched);
    let separation = separation.expect("not stopped");
    let mut hyperplanes = separation.hyperplanes(0, 0, Workers::new(threads));
    hyperplanes.begin(15);
    bencher.bench_local(|| hyperplanes.refresh(&|row| row % 15));
}
