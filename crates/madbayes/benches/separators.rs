//! The discriminative term. Polya-Gamma and mixing variables: a thousand draws, so that microseconds are nanoseconds a draw.
//! Hyperplanes: those of 15 groups of 1,000 rows in 784 columns, once, on one thread and on two; their precisions alone; and a
//! whole sweep of a mixture of counts with them.

use divan::Bencher;
use madbayes::counts::Counts;
use madbayes::data::{Data, Rows};
use madbayes::likelihood::{Groups, Multinomial, MultinomialGroups};
use madbayes::parallel::Workers;
use madbayes::prior::CrpSeats;
use madbayes::random::{Stream, stream};
use madbayes::separator::{
    Discriminative, Factor, Hyperplane, Inputs, NewCluster, Separation, Separator, hinge_mixing, polya_gamma,
};
use madbayes::sweep::{LiveLabels, Regime, seat_all, separated_sweep};
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

const ROWS: usize = 1000;
const COLUMNS: usize = 784;
const CLUSTERS: usize = 15;

/// Like pictures of 28 x 28 pixels: 2,000 drops of ink on the 157 pixels of one of 15 patterns.
fn pictures() -> Vec<f64> {
    let mut rng = stream(0, Stream::Simulation);
    let patterns: Vec<usize> = (0..CLUSTERS * 157).map(|_| rng.random_range(0..COLUMNS)).collect();
    let mut values = vec![0.0; ROWS * COLUMNS];
    for (n, row) in values.chunks_exact_mut(COLUMNS).enumerate() {
        for _ in 0..2_000 {
            row[patterns[n % CLUSTERS * 157 + rng.random_range(0..157)]] += 1.0;
        }
    }
    values
}

/// The term under the published rule, which needs no pool: hyperplanes alone are the same under both.
fn without_pool() -> Discriminative {
    Discriminative { new_cluster: NewCluster::Paper, ..Discriminative::new(Factor::Logistic) }
}

#[divan::bench(sample_count = 5, args = [1, 2])]
fn fifteen_hyperplanes_of_784_columns(bencher: Bencher, threads: usize) {
    let values = pictures();
    let inputs = Inputs::new(&Data::new(Rows::new(&values, COLUMNS).expect("rows")).expect("data"));
    let separation = Separation::new(without_pool(), &inputs, 0, &Unwatched).expect("not stopped");
    let mut hyperplanes = separation.hyperplanes(0, 0, Workers::new(threads));
    hyperplanes.begin(CLUSTERS);
    bencher.bench_local(|| hyperplanes.refresh(&|row| row % CLUSTERS));
}

/// The share of the precisions in the line above, one thread.
#[divan::bench(sample_count = 5)]
fn fifteen_precisions_of_784_columns(bencher: Bencher) {
    let values = pictures();
    let inputs = Inputs::new(&Data::new(Rows::new(&values, COLUMNS).expect("rows")).expect("data"));
    let hyperplane = Hyperplane::new(Factor::Logistic, 1.0, &inputs);
    let mut rng = stream(0, Stream::Simulation);
    let weights: Vec<f64> = (0..ROWS).map(|_| polya_gamma(1.0, &mut rng)).collect();
    bencher.bench_local(|| (0..CLUSTERS).map(|_| hyperplane.precision(&weights)[0]).sum::<f64>());
}

/// A sweep of a discriminative mixture of counts: rows, then hyperplanes.
#[divan::bench(sample_count = 5, args = [1, 2])]
fn discriminative_sweep_of_counts(bencher: Bencher, threads: usize) {
    let values = pictures();
    let counts = Counts::from_rows(Rows::new(&values, COLUMNS).expect("rows")).expect("counts");
    let inputs = Inputs::from_counts(&counts);
    let separation =
        Separation::new(Discriminative::new(Factor::Logistic), &inputs, 0, &Unwatched).expect("not stopped");
    let mut hyperplanes = separation.hyperplanes(0, 0, Workers::new(threads));
    hyperplanes.begin(CLUSTERS);
    let mut labels = LiveLabels::new(&(0..ROWS).map(|row| (row % CLUSTERS) as u32).collect::<Vec<_>>());
    let mut seats = CrpSeats::new(0.0, 1e3);
    let mut groups = MultinomialGroups::new(&counts, Multinomial::default()).expect("groups");
    seat_all(&labels, &mut seats, &mut groups);
    let mut rng = stream(0, Stream::Chain(0));
    bencher.bench_local(|| {
        let separator: Option<&mut dyn Separator> = Some(&mut hyperplanes);
        let rows = 0..ROWS;
        separated_sweep(&mut labels, &mut seats, &mut groups, separator, Regime::Posterior, rows, &mut rng, &Unwatched);
        groups.refresh(&|row| labels.group(row));
        hyperplanes.refresh(&|row| labels.group(row));
    });
    assert_eq!(labels.n_groups(), CLUSTERS);
}
