//! The assignment pass against the bare matrix product of the same shape, and two chains of a sampler against one, in turns
//! within one run: ratios survive a noisy machine where seconds do not.

use cpu_time::ProcessTime;
use madbayes::data::{Data, Real, Rows};
use madbayes::gibbs::{ChainStart, MixtureSampler, Schedule};
use madbayes::hard::DpMeans;
use madbayes::likelihood::{Full, FullGroups};
use madbayes::linalg::{FrozenCentres, NO_LABEL};
use madbayes::parallel::Workers;
use madbayes::random::{Stream, stream};
use madbayes::scan::{Tallies, assign};
use madbayes::simulate::GaussianMixture;
use madbayes::structure::Partition;
use madbayes::watch::Unwatched;
use rand::RngExt;
use std::time::Instant;

const ROUNDS: usize = 31;

/// Wall and process CPU seconds of one call.
fn time(mut work: impl FnMut()) -> (f64, f64) {
    let (wall, cpu) = (Instant::now(), ProcessTime::now());
    work();
    (wall.elapsed().as_secs_f64(), cpu.elapsed().as_secs_f64())
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Where the rows of a comparison are.
#[derive(Clone, Copy)]
enum Lie {
    /// About the centres, half as spread as these, as in the passes of a fit.
    InClusters,
    /// Anywhere: many rows are nearly as near to two centres.
    Anywhere,
}

fn compare<T: Real + faer::traits::ComplexField>(n: usize, d: usize, k: usize, rows: Lie, one: T) {
    let mut rng = stream(0, Stream::Simulation);
    let centres: Vec<f64> = (0..k * d).map(|_| rng.random::<f64>() - 0.5).collect();
    let mut value = |i: usize| match rows {
        Lie::InClusters => centres[i / d % k * d + i % d] + 0.5 * (rng.random::<f64>() - 0.5),
        Lie::Anywhere => rng.random::<f64>() - 0.5,
    };
    let values: Vec<T> = (0..n * d).map(|i| T::from_f64(value(i))).collect();
    let narrow: Vec<T> = centres.iter().map(|c| T::from_f64(*c)).collect();
    let data = Data::new(Rows::new(&values, d).expect("rows")).expect("data");
    let frozen = FrozenCentres::<T>::new(centres, d);
    let (mut labels, mut tallies) = (vec![NO_LABEL; n], Tallies::empty(k, d));
    let mut products = vec![T::default(); n * k];
    let (mut nearest, mut pass, mut product) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        nearest.push(time(|| frozen.nearest(data.rows(), data.reference(), &mut labels)));
        labels.fill(NO_LABEL);
        pass.push(time(|| {
            let serial = Workers::serial();
            let _ = assign(&data, &frozen, f64::INFINITY, &mut labels, &mut tallies, &serial, &Unwatched);
        }));
        product.push(time(|| {
            faer::linalg::matmul::matmul(
                faer::MatMut::from_row_major_slice_mut(&mut products, n, k),
                faer::Accum::Replace,
                faer::MatRef::from_row_major_slice(&values, n, d),
                faer::MatRef::from_row_major_slice(&narrow, k, d).transpose(),
                one,
                faer::Par::Seq,
            );
        }));
    }
    let summary = |times: Vec<(f64, f64)>| {
        let (wall, cpu): (Vec<f64>, Vec<f64>) = times.into_iter().unzip();
        (median(wall), median(cpu))
    };
    let (nearest, pass, product) = (summary(nearest), summary(pass), summary(product));
    println!(
        "{} {n} x {d}, {k} centres, rows {}: product {:.3} ms; nearest centre {:.3} ms = {:.2} x (CPU {:.2} x); \
         first pass with sums {:.3} ms = {:.2} x (CPU {:.2} x)",
        T::NAME,
        if matches!(rows, Lie::InClusters) { "in clusters" } else { "anywhere" },
        product.0 * 1e3,
        nearest.0 * 1e3,
        nearest.0 / product.0,
        nearest.1 / product.1,
        pass.0 * 1e3,
        pass.0 / product.0,
        pass.1 / product.1,
    );
}

/// Two chains on two threads against one: 2 is perfect. The CPU time of both over that of one should stay 2: more is work
/// that threads cost each other.
fn chains(n_rows: usize, n_columns: usize, n_clusters: usize, sweeps: usize) {
    let shape = GaussianMixture { n_rows, n_columns, n_clusters, separation: 8.0, ..Default::default() };
    let sample = shape.sample(0).expect("a mixture");
    let data = Data::new(Rows::new(&sample.values, n_columns).expect("rows")).expect("data");
    let identity = (0..n_columns * n_columns).map(|e| f64::from(u8::from(e / n_columns == e % n_columns))).collect();
    let law = Full::weak(&data, identity);
    let run = |chains: usize| {
        let sampler = MixtureSampler {
            schedule: Schedule { sweeps, burn_in: sweeps - 1, thin: 1 },
            chains,
            threads: chains,
            start: ChainStart::Given(Partition::from_labels(sample.labels.iter())),
            ..MixtureSampler::default()
        };
        time(|| {
            let make_groups = || -> madbayes::Result<Box<dyn madbayes::likelihood::Groups + '_>> {
                Ok(Box::new(FullGroups::new(&data, law.clone())?))
            };
            let chains = sampler.fit(n_rows, &make_groups, &Unwatched).expect("chains");
            assert!(chains.iter().all(|chain| chain.draws.len() == 1));
        })
    };
    let (mut one, mut two) = (Vec::new(), Vec::new());
    for _ in 0..7 {
        one.push(run(1));
        two.push(run(2));
    }
    // The least of each: what else runs on the machine only adds.
    let least = |times: &[(f64, f64)], cpu: bool| {
        times.iter().map(|(wall, process)| if cpu { *process } else { *wall }).fold(f64::INFINITY, f64::min)
    };
    let (wall, cpu) = ([least(&one, false), least(&two, false)], [least(&one, true), least(&two, true)]);
    println!(
        "full covariance {n_rows} x {n_columns}, {n_clusters} clusters, {sweeps} sweeps: one chain {:.0} ms (CPU {:.0}), two on \
         two threads {:.0} ms (CPU {:.0}); two chains / one chain {:.2} in sweeps per second (CPU {:.2} x)",
        wall[0] * 1e3,
        cpu[0] * 1e3,
        wall[1] * 1e3,
        cpu[1] * 1e3,
        2.0 * wall[0] / wall[1],
        cpu[1] / cpu[0],
    );
}

/// How many of the distances between rows and centres the passes of a fit do without, and what a second thread gains.
fn spared(n_rows: usize, n_columns: usize, n_clusters: usize, separation: f64) {
    let shape = GaussianMixture { n_rows, n_columns, n_clusters, separation, ..Default::default() };
    let values: Vec<f32> = shape.sample(0).expect("a mixture").values.iter().map(|v| *v as f32).collect();
    let data = Data::new(Rows::new(&values, n_columns).expect("rows")).expect("data");
    let penalty = n_rows as f64 / n_clusters as f64 * (2.0 + (n_columns as f64).sqrt()) / 2.0;
    let fit =
        |threads: usize| DpMeans { threads, ..DpMeans::with_penalty(penalty) }.fit(&data, &Unwatched).expect("a fit");
    let (mut one, mut two, mut share) = (f64::INFINITY, f64::INFINITY, 0.0);
    for _ in 0..5 {
        one = one.min(time(|| share = fit(1).spared).0);
        two = two.min(time(|| share = fit(2).spared).0);
    }
    println!(
        "DP-means {n_rows} x {n_columns}, {n_clusters} clusters, {separation} apart: {:.0} % of the distances spared; {:.0} ms, on two \
         threads {:.0} ms: {:.2} times faster",
        100.0 * share,
        one * 1e3,
        two * 1e3,
        one / two,
    );
}

fn main() {
    spared(1_000_000, 16, 100, 5.0);
    spared(1_000_000, 8, 200, 3.0);
    spared(100_000, 32, 50, 8.0);
    chains(2_000, 2, 6, 100);
    chains(2_000, 10, 10, 50);
    for rows in [Lie::InClusters, Lie::Anywhere] {
        compare::<f32>(100_000, 32, 50, rows, 1.0);
        compare::<f32>(100_000, 32, 116, rows, 1.0);
        compare::<f32>(100_000, 16, 250, rows, 1.0);
        compare::<f32>(1_000_000, 8, 200, rows, 1.0);
        compare::<f32>(20_000, 784, 30, rows, 1.0);
        compare::<f32>(8_192, 784, 300, rows, 1.0);
    }
    compare::<f32>(100_000, 2, 15, Lie::Anywhere, 1.0);
    compare::<f64>(100_000, 32, 50, Lie::InClusters, 1.0);
}
