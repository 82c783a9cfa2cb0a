//! A thousand sweeps of the IBP samplers on 100 rows in 100 columns with five planted features, one thread.

use divan::Bencher;
use madbayes::data::{Data, Rows};
use madbayes::gibbs::{IbpSampler, IbpStart, Schedule};
use madbayes::random::{Stream, stream};
use madbayes::structure::Allocation;
use madbayes::watch::Unwatched;
use rand::RngExt;
use rand_distr::StandardNormal;

fn main() {
    divan::main();
}

const N: usize = 100;
const D: usize = 100;
const K: usize = 5;

#[divan::bench(sample_count = 5, args = [(true, true), (true, false), (false, true), (false, false)])]
fn ibp(bencher: Bencher, (collapsed, resampled): (bool, bool)) {
    let mut rng = stream(0, Stream::Simulation);
    let truth = Allocation::from_bools(N, K, (0..N * K).map(|_| rng.random()));
    let features: Vec<f64> = (0..K * D).map(|_| rng.sample(StandardNormal)).collect();
    let mut values = Vec::new();
    for row in 0..N {
        for column in 0..D {
            let mean: f64 = truth.features_of(row).map(|k| features[k * D + column]).sum();
            values.push(mean + 0.5 * rng.sample::<f64, _>(StandardNormal));
        }
    }
    let data = Data::new(Rows::new(&values, D).expect("rows")).expect("data");
    let schedule = Schedule { sweeps: 1000, burn_in: 500, thin: 1 };
    let start = IbpStart::Given(truth);
    let fixed = |value: f64| (!resampled).then_some(value);
    let sampler =
        IbpSampler { collapsed, noise: fixed(0.25), scale: fixed(1.0), schedule, start, ..IbpSampler::default() };
    bencher.bench_local(|| {
        let chains = sampler.fit(&data, &Unwatched).expect("chains");
        assert_eq!(chains[0].n_features[999], K);
    });
}
