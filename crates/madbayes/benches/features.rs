//! A pass of K-features against the bare matrix product X A', in turns within one run, and whole fits of 100 rows and of
//! many, on one thread and on two.

use cpu_time::ProcessTime;
use madbayes::data::{Data, Real, Rows};
use madbayes::hard::{BpMeans, FeatureAlgorithm, FeatureStart, Restarts, RowSolver, allocate, reconstruct};
use madbayes::parallel::Workers;
use madbayes::random::{Stream, stream};
use madbayes::structure::Allocation;
use madbayes::watch::{Step, Unwatched, Watch};
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};
use std::ops::ControlFlow;
use std::sync::Mutex;
use std::time::{Duration, Instant};

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

fn pass_against_product<T: Real + faer::traits::ComplexField>(n: usize, d: usize, k: usize, noise: f64, one: T) {
    let (x, a) = planted(n, d, k, noise);
    let x: Vec<T> = x.into_iter().map(T::from_f64).collect();
    let narrow: Vec<T> = a.iter().map(|a| T::from_f64(*a)).collect();
    let data = Data::new(Rows::new(&x, d).expect("rows")).expect("data");
    let mut products = vec![T::default(); n * k];
    let product = fastest(|| {
        faer::linalg::matmul::matmul(
            faer::MatMut::from_row_major_slice_mut(&mut products, n, k),
            faer::Accum::Replace,
            faer::MatRef::from_row_major_slice(&x, n, d),
            faer::MatRef::from_row_major_slice(&narrow, k, d).transpose(),
            one,
            faer::Par::Seq,
        );
    });
    let cold = fastest(|| {
        allocate(&data, &a, RowSolver::Auto, &Workers::serial()).expect("an allocation");
    });
    println!(
        "{} {n} x {d}, K = {k}, noise {noise}: product {:.1} ms = {:.1} GFLOP/s; allocation and sums from nothing {:.1} ms = \
         {:.2} x",
        T::NAME,
        product * 1e3,
        2e-9 * (n * d * k) as f64 / product,
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

/// Fits of more and more rows, float32 as from Python: twice the rows should take about twice the time.
fn large_fits(d: usize, k: usize, noise: f64) {
    let (x, _) = planted(1_000_000, d, k, noise);
    let x: Vec<f32> = x.into_iter().map(|x| x as f32).collect();
    for n in [10_000, 100_000, 300_000, 1_000_000] {
        let data = Data::new(Rows::new(&x[..n * d], d).expect("rows")).expect("data");
        for (name, parameters) in
            [("K-features", BpMeans::k_features(k)), ("BP-means", BpMeans::with_penalty(0.5 * n as f64))]
        {
            let fit = |threads: usize| {
                let parameters = BpMeans { threads, ..parameters.clone() };
                let (mut wall, mut loss) = (f64::INFINITY, 0.0);
                let cpu = fastest(|| {
                    let begin = Instant::now();
                    loss = parameters.fit(&data, &Unwatched).expect("a fit").loss;
                    wall = wall.min(begin.elapsed().as_secs_f64());
                });
                (cpu, wall, loss / (n * d) as f64)
            };
            let (one, two) = (fit(1), fit(2));
            println!(
                "float32 {n} x {d}, {name}: {:.0} ms of CPU; wall {:.0} ms, on two threads {:.0} = {:.2} x faster; loss a \
                 number {:.5}",
                one.0 * 1e3,
                one.1 * 1e3,
                two.1 * 1e3,
                one.1 / two.1,
                one.2,
            );
        }
    }
}

fn main() {
    small_fits();
    pass_against_product(1_000_000, 64, 10, 0.3, 1.0f32);
    pass_against_product(1_000_000, 64, 10, 1.0, 1.0f32);
    pass_against_product(1_000_000, 64, 10, 0.5, 1.0f64);
    pass_against_product(200_000, 64, 5, 1.0, 1.0f64);
    large_fits(64, 10, 0.3);
}
