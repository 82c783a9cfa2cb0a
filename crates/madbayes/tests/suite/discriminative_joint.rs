//! Geweke's joint test with hyperplanes, in mixtures and among hidden states. Their inputs are given and stay, so that rows can be
//! drawn: p(z) prod_k E_k(z) / E_0, E_k the evidence of a group's hyperplane, then hyperplanes and rows given z.

use crate::common::data;
use crate::common::hyperplanes::{ROWS as INPUTS, SCALE, law};
use madbayes::gibbs::{
    Agreement, ChainState, HmmKernel, HmmMethod, MixtureSampler, STATE_SPLIT_MERGE, Schedule, Statistic, geweke,
};
use madbayes::likelihood::{Emissions, Groups, SphericalGroups};
use madbayes::parallel::Workers;
use madbayes::prior::{Concentration, Hdp, HdpValues, PartitionPrior, StateWeights};
use madbayes::random::{Rng, RngState, Stream, stream};
use madbayes::separator::{Discriminative, Factor, HyperplaneState, Inputs, NewCluster, Separation};
use madbayes::structure::{Partition, Sequences};
use madbayes::watch::Unwatched;
use rand::{RngExt, SeedableRng};
use rand_distr::StandardNormal;
use rstest::rstest;

const N: usize = INPUTS.len();
/// Sweeps after which hyperplanes play a part.
const WITH_TERM: usize = 10;
/// Each step takes one of so many pools of new hyperplanes: a pool is finite, and its own error is not what is looked for here.
const POOLS: u64 = 16;
/// Beyond so many standard errors a sampler is wrong.
const LARGEST_Z: f64 = 4.0;

/// The laws of one hyperplane on a grid, for each of the 2^N sets of rows on its near side.
struct Evidences {
    cumulative: Vec<Vec<f64>>,
}

const STEP: f64 = 0.01;
const STEPS: i32 = 1200;

impl Evidences {
    fn new(factor: Factor) -> Self {
        let of_set = |set: usize| {
            let density = |i: i32| {
                let eta = STEP * f64::from(i);
                let y = |row: usize| if set >> row & 1 == 1 { 1.0 } else { -1.0 };
                let ln: f64 = (0..N).map(|row| factor.ln_factor(y(row), eta * INPUTS[row])).sum();
                (ln - 0.5 * eta * eta / SCALE).exp()
            };
            let mut total = 0.0;
            (-STEPS..=STEPS)
                .map(|i| -> f64 {
                    total += density(i);
                    total
                })
                .collect()
        };
        Evidences { cumulative: (0..1 << N).map(of_set).collect() }
    }

    fn of(&self, set: usize) -> f64 {
        self.cumulative[set][2 * STEPS as usize]
    }

    /// prod_k E_k / E_0.
    fn ratio(&self, labels: &[u32]) -> f64 {
        sets(labels).into_iter().map(|set| self.of(set) / self.of(0)).product()
    }

    fn largest_ratio(&self) -> f64 {
        Partition::all(N).map(|partition| self.ratio(partition.labels())).fold(0.0, f64::max)
    }

    /// A hyperplane for each group.
    fn draw(&self, labels: &[u32], rng: &mut Rng) -> Vec<f64> {
        let of_set = |set: usize| {
            let at = rng.random::<f64>() * self.of(set);
            let i = self.cumulative[set].partition_point(|&below| below <= at) as f64 - f64::from(STEPS);
            STEP * (i + rng.random::<f64>() - 0.5)
        };
        sets(labels).into_iter().map(of_set).collect()
    }
}

/// The rows of each group as bits.
fn sets(labels: &[u32]) -> Vec<usize> {
    let mut sets = vec![0; labels.iter().max().map_or(0, |&label| label as usize + 1)];
    labels.iter().enumerate().for_each(|(row, &label)| sets[label as usize] |= 1 << row);
    sets
}

/// Groups, a hyperplane for each, rows, and what the prior has drawn.
struct Joint<P> {
    labels: Vec<u32>,
    etas: Vec<f64>,
    rows: Vec<f64>,
    prior: P,
}

impl<P> Joint<P> {
    fn n_groups(&self) -> f64 {
        self.etas.len() as f64
    }

    fn eta(&self, row: usize) -> f64 {
        self.etas[self.labels[row] as usize]
    }

    fn sum(&self, of: impl Fn(usize) -> f64) -> f64 {
        (0..N).map(of).sum()
    }
}

fn draw_rows(labels: &[u32], rng: &mut Rng) -> Vec<f64> {
    let law = law();
    let mut normal = |variance: f64| variance.sqrt() * rng.sample::<f64, _>(StandardNormal);
    let means: Vec<f64> = sets(labels).iter().map(|_| law.prior_mean[0] + normal(law.prior_variance)).collect();
    labels.iter().map(|&label| means[label as usize] + normal(law.variance)).collect()
}

/// What is compared of groups, hyperplanes and rows.
fn statistics<P>() -> Vec<Statistic<Joint<P>>> {
    vec![
        ("groups", |j| j.n_groups()),
        ("first two together", |j| f64::from(j.labels[0] == j.labels[1])),
        ("first and last together", |j| f64::from(j.labels[0] == j.labels[N - 1])),
        ("hyperplane of the first", |j| j.eta(0)),
        ("hyperplane of the middle", |j| j.eta(2)),
        ("hyperplane of the last", |j| j.eta(N - 1)),
        ("hyperplanes", |j| j.etas.iter().sum()),
        ("hyperplanes squared", |j| j.etas.iter().map(|eta| eta * eta).sum()),
        ("value at its rows", |j| j.sum(|row| j.eta(row) * INPUTS[row])),
        ("value at all rows", |j| j.etas.iter().map(|eta| eta * INPUTS.iter().sum::<f64>()).sum()),
        ("rows times hyperplanes", |j| j.sum(|row| j.eta(row) * j.rows[row])),
        ("rows times inputs", |j| j.sum(|row| j.rows[row] * INPUTS[row])),
        ("rows squared", |j| j.sum(|row| j.rows[row].powi(2))),
        ("first row times last", |j| j.rows[0] * j.rows[N - 1]),
    ]
}

/// The inputs with their term.
fn term(factor: Factor, new_cluster: NewCluster) -> (Inputs, Discriminative) {
    (Inputs::as_given(INPUTS.to_vec(), 1), Discriminative { factor, scale: SCALE, new_cluster })
}

/// One term for each pool.
fn separations((inputs, term): &(Inputs, Discriminative)) -> Vec<Separation<'_>> {
    (0..POOLS).map(|seed| Separation::new(*term, inputs, seed, &Unwatched).unwrap()).collect()
}

fn another_stream(rng: &mut Rng) -> Rng {
    Rng::seed_from_u64(rng.random())
}

fn mixture_test(factor: Factor, rule: NewCluster, split_merge: usize, n_draws: usize) -> Vec<Agreement> {
    let (term, evidences) = (term(factor, rule), Evidences::new(factor));
    let (separations, most) = (separations(&term), evidences.largest_ratio());
    let prior = PartitionPrior::Crp {
        concentration: 1.0,
        hyperprior: Concentration::Gamma { shape: 2.0, rate: 1.5 },
        max_groups: None,
    };
    let schedule = Schedule { sweeps: WITH_TERM + 1, burn_in: 0, thin: 1 };
    let sampler = MixtureSampler { prior, schedule, split_merge, threads: 1, ..MixtureSampler::default() };
    let draw = |rng: &mut Rng| {
        loop {
            let (partition, concentration) = prior.sample(N, rng);
            let labels = partition.labels().to_vec();
            if rng.random::<f64>() * most < evidences.ratio(&labels) {
                let (etas, rows) = (evidences.draw(&labels, rng), draw_rows(&labels, rng));
                return Joint { labels, etas, rows, prior: concentration };
            }
        }
    };
    let step = |joint: &mut Joint<f64>, rng: &mut Rng| {
        let separation = &separations[rng.random_range(0..separations.len())];
        let hyperplanes = joint.etas.clone();
        let state = ChainState {
            labels: joint.labels.clone(),
            ln_concentration: joint.prior.ln(),
            sweeps: WITH_TERM,
            rng: RngState::from(&another_stream(rng)),
            hyperplanes: Some(HyperplaneState { hyperplanes, rng: RngState::from(&another_stream(rng)) }),
        };
        let rows = data(&joint.rows, 1);
        let make = || Ok(Box::new(SphericalGroups::new(&rows, law())?) as Box<dyn Groups>);
        let state = sampler.resume_separated(N, &[state], &make, Some(separation), &Unwatched).unwrap().remove(0).state;
        *joint = Joint {
            rows: draw_rows(&state.labels, rng),
            labels: state.labels,
            etas: state.hyperplanes.unwrap().hyperplanes,
            prior: state.ln_concentration.exp(),
        };
    };
    let mut compared = statistics::<f64>();
    compared.push(("concentration", |j| j.prior));
    compared.push(("concentration times groups", |j| j.prior * j.n_groups()));
    geweke(n_draws, &mut stream(9, Stream::Simulation), draw, step, &compared)
}

fn states_test(factor: Factor, rule: NewCluster, method: HmmMethod, n_draws: usize) -> Vec<Agreement> {
    let (term, evidences) = (term(factor, rule), Evidences::new(factor));
    let (separations, most) = (separations(&term), evidences.largest_ratio());
    let gamma = |shape, rate| Concentration::Gamma { shape, rate };
    let hdp = Hdp { concentration: gamma(2.0, 1.5), gamma: gamma(2.0, 1.0), ..Hdp::default() };
    let hdp = Hdp { share: Some((2.0, 1.5)), ..hdp.sticky() };
    let sequences = Sequences::new(&[3, 2], N).unwrap();
    let proposals = if separations[0].leaves_a_joint_invariant() { STATE_SPLIT_MERGE } else { 0 };
    let draw = |rng: &mut Rng| {
        loop {
            let values = hdp.sample_values(rng);
            let (labels, weights) = hdp.sample(&values, &sequences, rng);
            if rng.random::<f64>() * most < evidences.ratio(&labels) {
                let (etas, rows) = (evidences.draw(&labels, rng), draw_rows(&labels, rng));
                return Joint { labels, etas, rows, prior: (weights, values) };
            }
        }
    };
    let mut sweeps = WITH_TERM;
    let step = |joint: &mut Joint<(StateWeights, HdpValues)>, rng: &mut Rng| {
        let separation = &separations[rng.random_range(0..separations.len())];
        let state = HyperplaneState { hyperplanes: joint.etas.clone(), rng: RngState::from(&another_stream(rng)) };
        let (weights, values) = joint.prior.clone();
        let rows = data(&joint.rows, 1);
        let make = || Ok(Box::new(SphericalGroups::new(&rows, law())?) as Box<dyn Emissions>);
        let sticks = another_stream(rng);
        let kernel = HmmKernel::new(&joint.labels, (hdp, values), Some(weights), &sequences, sticks, method, &make);
        let mut kernel = kernel.unwrap().after(sweeps).proposing(proposals);
        kernel = kernel.separated_by(separation.hyperplanes(0, 0, Workers::serial()), Some(&state));
        let _ = kernel.step(rng, &Unwatched);
        sweeps += 1;
        let (labels, etas) = (kernel.states(), kernel.hyperplane_state().unwrap().hyperplanes);
        let prior = (kernel.seats().weights(), *kernel.seats().values());
        drop(kernel);
        *joint = Joint { rows: draw_rows(&labels, rng), labels, etas, prior };
    };
    let mut compared = statistics::<(StateWeights, HdpValues)>();
    compared.push(("weight of the first", |j| j.prior.0.states[j.labels[0] as usize]));
    compared.push(("weight left", |j| j.prior.0.new));
    compared.push(("concentration", |j| j.prior.1.concentration));
    compared.push(("gamma", |j| j.prior.1.gamma));
    compared.push(("gamma times groups", |j| j.prior.1.gamma * j.n_groups()));
    compared.push(("share", |j| j.prior.1.share));
    geweke(n_draws, &mut stream(9, Stream::Simulation), draw, step, &compared)
}

/// How far the two ways are apart where they differ most, in standard errors.
fn largest_z(results: &[Agreement]) -> f64 {
    for Agreement { name, independent, chain, z } in results {
        println!("{name:28} {independent:9.4} {chain:9.4}  z {z:6.2}");
    }
    results.iter().map(|agreement| agreement.z.abs()).fold(0.0, f64::max)
}

#[rstest]
fn mixtures_with_hyperplanes_pass_gewekes_joint_test(
    #[values(Factor::Svm, Factor::Logistic)] factor: Factor,
    #[values(0, 3)] split_merge: usize,
) {
    let z = largest_z(&mixture_test(factor, NewCluster::Exact, split_merge, 40_000));
    assert!(z < LARGEST_Z, "{z}");
}

#[rstest]
fn hidden_states_with_hyperplanes_pass_gewekes_joint_test(
    #[values(Factor::Svm, Factor::Logistic)] factor: Factor,
    #[values(HmmMethod::Direct, HmmMethod::Beam)] method: HmmMethod,
) {
    let z = largest_z(&states_test(factor, NewCluster::Exact, method, 40_000));
    assert!(z < LARGEST_Z, "{z}");
}

#[rstest]
fn the_published_rule_for_new_groups_fails_gewekes_joint_test(#[values(Factor::Svm, Factor::Logistic)] factor: Factor) {
    let rule = NewCluster::Paper;
    for results in [mixture_test(factor, rule, 0, 40_000), states_test(factor, rule, HmmMethod::Direct, 40_000)] {
        let z = largest_z(&results);
        assert!(z > LARGEST_Z, "{z}");
    }
}
