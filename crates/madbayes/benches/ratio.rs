//! The assignment pass against the bare matrix product of the same shape, in turns within one run: ratios survive a
//! noisy machine where seconds do not.

use cpu_time::ProcessTime;
use madbayes::data::{Data, Real, Rows};
use madbayes::linalg::{FrozenCentres, NO_LABEL};
use madbayes::parallel::Workers;
use madbayes::random::{Stream, stream};
use madbayes::scan::assign;
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

fn compare<T: Real + faer::traits::ComplexField>(n: usize, d: usize, k: usize, one: T) {
    let mut rng = stream(0, Stream::Simulation);
    let values: Vec<T> = (0..n * d).map(|_| T::from_f64(rng.random::<f64>() - 0.5)).collect();
    let centres: Vec<f64> = (0..k * d).map(|_| rng.random::<f64>() - 0.5).collect();
    let narrow: Vec<T> = centres.iter().map(|c| T::from_f64(*c)).collect();
    let data = Data::new(Rows::new(&values, d).expect("rows")).expect("data");
    let frozen = FrozenCentres::<T>::new(centres, d);
    let mut labels = vec![NO_LABEL; n];
    let mut products = vec![T::default(); n * k];
    let (mut nearest, mut pass, mut product) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        nearest.push(time(|| frozen.nearest(data.rows(), data.reference(), &mut labels)));
        pass.push(time(|| {
            let _ = assign(&data, &frozen, f64::INFINITY, &mut labels, &Workers::serial(), &Unwatched);
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
        "{} {n} x {d}, {k} centres: product {:.3} ms; nearest centre {:.3} ms = {:.2} x (CPU {:.2} x); \
         whole pass with sums and losses {:.3} ms = {:.2} x (CPU {:.2} x)",
        T::NAME,
        product.0 * 1e3,
        nearest.0 * 1e3,
        nearest.0 / product.0,
        nearest.1 / product.1,
        pass.0 * 1e3,
        pass.0 / product.0,
        pass.1 / product.1,
    );
}

fn main() {
    compare::<f32>(100_000, 32, 50, 1.0);
    compare::<f64>(100_000, 32, 50, 1.0);
    compare::<f32>(100_000, 2, 15, 1.0);
    compare::<f32>(20_000, 784, 30, 1.0);
    compare::<f32>(1_000_000, 8, 200, 1.0);
}
