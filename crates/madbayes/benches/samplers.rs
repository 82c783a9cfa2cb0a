//! One thread. Mixtures: one sweep of 1,000 rows, so that milliseconds are microseconds per row and sweep. IBP: a thousand
//! sweeps on 100 rows in 100 columns with five planted features.

use divan::Bencher;
use madbayes::counts::Counts;
use madbayes::data::{Data, Rows};
use madbayes::gibbs::{HmmKernel, HmmMethod, IbpSampler, IbpStart, MakeEmissions, Schedule};
use madbayes::likelihood::{
    Diagonal, DiagonalGroups, Full, FullGroups, Groups, Multinomial, MultinomialGroups, Spherical, SphericalGroups,
    within_covariance,
};
use madbayes::prior::{CrpSeats, Hdp};
use madbayes::random::{Stream, stream};
use madbayes::simulate::{GaussianMixture, HiddenMarkov};
use madbayes::structure::{Allocation, Partition, Sequences};
use madbayes::sweep::{LiveLabels, Regime, seat_all, sweep};
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

const SEQUENCE: usize = 10_000;

/// A sweep of a sequence of 10,000 rows in 2 columns with 5 states, everything redrawn: 15 milliseconds are 1.5 microseconds per
/// row and sweep.
#[divan::bench(sample_count = 10, args = [HmmMethod::Beam, HmmMethod::Direct])]
fn hidden_states(bencher: Bencher, method: HmmMethod) {
    let sample = HiddenMarkov { n_rows: SEQUENCE, ..HiddenMarkov::default() }.sample(0).expect("rows");
    let data = Data::new(Rows::new(&sample.values, 2).expect("rows")).expect("data");
    let law = Full::weak(&data, within_covariance(&data, &sample.labels));
    let make: MakeEmissions = &|| Ok(Box::new(FullGroups::new(&data, law.clone())?));
    let (hdp, sequences) = (Hdp::default(), Sequences::one(SEQUENCE));
    let states = Partition::from_labels(&sample.labels);
    let sticks = stream(0, Stream::Sticks(0));
    let kernel = HmmKernel::new(states.labels(), (hdp, hdp.values), None, &sequences, sticks, method, make);
    let mut kernel = kernel.expect("a law");
    let mut rng = stream(0, Stream::Chain(0));
    (0..20).for_each(|_| assert!(kernel.step(&mut rng, &Unwatched).is_continue()));
    bencher.bench_local(|| kernel.step(&mut rng, &Unwatched));
    assert!(kernel.n_states() < 10, "{} states", kernel.n_states());
}

const MIXTURE_ROWS: usize = 1000;

/// Sweeps from the planted labels on, concentration 1.
fn sweeps(bencher: Bencher, groups: &mut dyn Groups, labels: &[u32], regime: Regime) {
    let mut labels = LiveLabels::new(labels);
    let mut seats = CrpSeats::new(0.0, 1e3);
    let mut rng = stream(0, Stream::Chain(0));
    seat_all(&labels, &mut seats, groups);
    bencher.bench_local(|| {
        sweep(&mut labels, &mut seats, groups, regime, 0..MIXTURE_ROWS, &mut rng, &Unwatched);
        groups.refresh(&|row| labels.group(row));
    });
}

#[divan::bench(sample_count = 50, args = ["full", "diagonal", "spherical"], consts = [2, 10])]
fn gaussian<const D: usize>(bencher: Bencher, law: &str) {
    let n_clusters = if D == 2 { 6 } else { 10 };
    let shape = GaussianMixture { n_rows: MIXTURE_ROWS, n_columns: D, n_clusters, ..Default::default() };
    let sample = shape.sample(0).expect("a mixture");
    let data = Data::new(Rows::new(&sample.values, D).expect("rows")).expect("data");
    let identity = (0..D * D).map(|e| f64::from(u8::from(e / D == e % D))).collect();
    let prior_mean = vec![0.0; D];
    let groups: &mut dyn Groups = match law {
        "full" => &mut FullGroups::new(&data, Full::weak(&data, identity)).expect("groups"),
        "diagonal" => &mut DiagonalGroups::new(&data, Diagonal::weak(&data, vec![1.0; D])).expect("groups"),
        _ => {
            let law = Spherical { variance: 1.0, prior_mean, prior_variance: 100.0 };
            &mut SphericalGroups::new(&data, law).expect("groups")
        }
    };
    sweeps(bencher, groups, &sample.labels, Regime::Posterior);
}

/// Like pictures of 28 x 28 pixels with values to 255 and about 150 of them above 0, drawn from 10 patterns.
#[divan::bench(sample_count = 10, args = [true, false])]
fn multinomial(bencher: Bencher, posterior: bool) {
    const COLUMNS: usize = 784;
    let mut rng = stream(0, Stream::Simulation);
    let patterns: Vec<Vec<usize>> = (0..10).map(|_| (0..170).map(|_| rng.random_range(0..COLUMNS)).collect()).collect();
    let mut values = vec![0.0; MIXTURE_ROWS * COLUMNS];
    for (n, row) in values.chunks_exact_mut(COLUMNS).enumerate() {
        for _ in 0..17_000 {
            row[patterns[n % 10][rng.random_range(0..170)]] += 1.0;
        }
    }
    let counts = Counts::from_rows(Rows::new(&values, COLUMNS).expect("rows")).expect("counts");
    let labels: Vec<u32> = (0..MIXTURE_ROWS as u32).map(|n| n % 10).collect();
    let mut groups = MultinomialGroups::new(&counts, Multinomial::default()).expect("groups");
    let regime = if posterior { Regime::Posterior } else { Regime::Limit { temperature: 0.0 } };
    sweeps(bencher, &mut groups, &labels, regime);
}
