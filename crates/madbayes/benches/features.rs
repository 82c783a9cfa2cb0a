//! A pass of K-features against the bare matrix product X A', in turns within one run, and whole fits of 100 rows.

use cpu_time::ProcessTime;
use madbayes::data::{Data, Rows};
use madbayes::hard::{BpMeans, FeatureAlgorithm, FeatureStart, Restarts, RowSolver, allocate, reconstruct};
use madbayes::parallel::Workers;
use madbayes::random::{Stream, stream};
use madbayes::structure::Allocation;
use madbayes::watch::{Step, Unwatched, Watch};
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};
use std::ops::ControlFlow;
use std::sync::Mutex;
use std::time::Duration;

const ROUNDS: usize = 5;

/// X = Z A + noise, with the A it was made of.
fn planted(n: usize, d: usize, k: usize, noise: f64) -> (Vec<f64>, Vec<f64>) {
    let mut rng = stream(0, Stream::Simulation);
    let z = Allocation::from_bools(n, k, (0..n * k).map(|_| rng.random::<bool>()));
    let a: Vec<f64> = (0..k * d).map(|_| StandardNormal.sample(&mut rng)).collect();
    let mut x = reconstruct(&z, &a, d);
    x.iter_mut().for_each(|x| *x += noise * Distribution::<f64>::sample(&StandardNormal, &mut rng));
    (x, a)
}

/// CPU seconds of the fastest of some calls: the one that the rest of the machine disturbed least.
fn fastest(mut work: impl FnMut()) -> f64 {
    (0..ROUNDS).fold(f64::INFINITY, |least, _| {
        let start = ProcessTime::now();
        work();
        least.min(start.elapsed().as_secs_f64())
    })
}

fn pass_against_product(n: usize, d: usize, k: usize, noise: f64) {
    let (x, a) = planted(n, d, k, noise);
    let data = Data::new(Rows::new(&x, d).expect("rows")).expect("data");
    let mut products = vec![0.0; n * k];
    let product = fastest(|| {
        faer::linalg::matmul::matmul(
            faer::MatMut::from_row_major_slice_mut(&mut products, n, k),
            faer::Accum::Replace,
            faer::MatRef::from_row_major_slice(&x, n, d),
            faer::MatRef::from_row_major_slice(&a, k, d).transpose(),
            1.0,
            faer::Par::Seq,
        );
    });
    let cold = fastest(|| {
        allocate(&data, &a, RowSolver::Auto, &Workers::serial()).expect("an allocation");
    });
    println!(
        "{n} x {d}, K = {k}, noise {noise}: product {:.1} ms; allocation and sums from nothing {:.1} ms = {:.2} x",
        product * 1e3,
        cold * 1e3,
        cold / product
    );
    // Passes of a fit, by the watch: from the end of one to the end of the next; the first is counted apart.
    let far: Vec<f64> = a.iter().enumerate().map(|(i, a)| a + 0.5 * (i as f64).sin()).collect();
    let start = FeatureStart::Given(far);
    let parameters =
        BpMeans { start, polish: false, max_passes: 12, tolerance: 0.0, threads: 1, ..BpMeans::k_features(k) };
    let clock = Clock(Mutex::new(Vec::new()));
    let passes = parameters.fit(&data, &clock).expect("a fit").n_passes();
    let times = clock.0.into_inner().expect("no panic");
    let times = &times[times.len() - passes..];
    let seconds: Vec<f64> = times.windows(2).map(|t| (t[1] - t[0]).as_secs_f64()).collect();
    let pass = seconds.iter().copied().fold(f64::INFINITY, f64::min);
    let mean = seconds.iter().sum::<f64>() / seconds.len() as f64;
    println!(
        "    CPU of a pass of a fit: mean {:.1} ms = {:.2} x, least {:.1} ms = {:.2} x",
        mean * 1e3,
        mean / product,
        pass * 1e3,
        pass / product
    );
}

/// CPU time at the end of every pass.
struct Clock(Mutex<Vec<Duration>>);

impl Watch for Clock {
    fn step(&self, step: &Step) -> ControlFlow<()> {
        if let Step::Pass { .. } = step {
            self.0.lock().expect("no panic").push(ProcessTime::now().as_duration());
        }
        ControlFlow::Continue(())
    }
}

fn small_fits() {
    let (x, _) = planted(100, 100, 5, 1.0);
    let data = Data::new(Rows::new(&x, 100).expect("rows")).expect("data");
    let one = Restarts::Exactly(1);
    let thousand = BpMeans {
        start: FeatureStart::PlusPlus,
        polish: false,
        restarts: Restarts::Exactly(1000),
        ..BpMeans::with_penalty(1000.0)
    };
    for (name, parameters) in [
        ("K-features, K = 5, one polished run", BpMeans { restarts: one, ..BpMeans::k_features(5) }),
        ("K-features, K = 5, by default", BpMeans::k_features(5)),
        ("stepwise K = 1..6", BpMeans { algorithm: FeatureAlgorithm::Stepwise, ..BpMeans::k_features(6) }),
        ("BP-means by default", BpMeans::with_penalty(1000.0)),
        ("BP-means, 1000 ++ runs", thousand.clone()),
        ("BP-means, one collapsed run", BpMeans { algorithm: FeatureAlgorithm::Collapsed, restarts: one, ..thousand }),
    ] {
        let seconds = fastest(|| {
            parameters.fit(&data, &Unwatched).expect("a fit");
        });
        println!("100 x 100: {name}: {:.2} ms of CPU", seconds * 1e3);
    }
}

fn main() {
    small_fits();
    pass_against_product(1_000_000, 64, 10, 0.5);
    pass_against_product(1_000_000, 64, 10, 1.0);
    pass_against_product(200_000, 64, 5, 1.0);
}
