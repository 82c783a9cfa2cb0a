//! Discriminative mixtures against enumeration of all partitions and integration over all hyperplanes.

use crate::common::hyperplanes::{ROWS, SCALE, integrated, law};
use madbayes::data::{Data, Rows};
use madbayes::gibbs::{Chain, ChainStart, MixtureSampler, Schedule};
use madbayes::likelihood::{Groups, SphericalGroups};
use madbayes::prior::{Concentration, CrpSeats, PartitionPrior, Seats};
use madbayes::random::{Rng, Stream, draw_ln_weights, stream};
use madbayes::separator::{Discriminative, Factor, Inputs, NewCluster, Separation, Separator};
use madbayes::structure::Partition;
use madbayes::sweep::{LiveLabels, Regime, seat_all, separated_sweep};
use madbayes::watch::Unwatched;
use rstest::rstest;

/// The three rows of the test in which everything can be enumerated; hyperplanes are -2, 0 or 2, each as likely.
const POINTS: [f64; 3] = [-1.0, 0.2, 1.1];
const SLOPES: [f64; 3] = [-2.0, 0.0, 2.0];

/// log of prod over all rows of p(y; slope x), y = 1 for the rows inside.
fn ln_evidence_at(slope: f64, inside: impl Fn(usize) -> bool) -> f64 {
    let of = |i: usize| Factor::Logistic.ln_factor(if inside(i) { 1.0 } else { -1.0 }, slope * POINTS[i]);
    (0..POINTS.len()).map(of).sum()
}

fn evidence(inside: impl Fn(usize) -> bool) -> f64 {
    SLOPES.iter().map(|&slope| ln_evidence_at(slope, &inside).exp() / 3.0).sum()
}

/// P(K = 1, 2, 3) where a partition of K groups has this log weight beside the evidence of its groups.
fn numbers_of_groups(ln_weight: impl Fn(&Partition) -> f64) -> [f64; 3] {
    let mut weights = [0.0; 3];
    for partition in Partition::all(3) {
        let labels = partition.labels();
        let of_groups: f64 = (0..partition.n_groups()).map(|k| evidence(|i| labels[i] as usize == k)).product();
        weights[partition.n_groups() - 1] += ln_weight(&partition).exp() * of_groups;
    }
    let total: f64 = weights.iter().sum();
    weights.map(|weight| weight / total)
}

/// CRP of concentration 1: prod of (size - 1)!, times one over the evidence of an empty group for each.
fn exact() -> [f64; 3] {
    let empty = evidence(|_| false);
    numbers_of_groups(|p| p.sizes().iter().map(|&n| if n == 3 { 2f64.ln() } else { 0.0 } - empty.ln()).sum())
}

struct DiscreteSlopes {
    rule: NewCluster,
    slopes: Vec<f64>,
    candidate: f64,
    kept: bool,
    rng: Rng,
}

impl Separator for DiscreteSlopes {
    fn n_groups(&self) -> usize {
        self.slopes.len()
    }
    fn open(&mut self) {
        self.slopes.push(self.candidate);
    }
    fn close(&mut self, group: usize) {
        let slope = self.slopes.swap_remove(group);
        if self.rule == NewCluster::Exact {
            (self.candidate, self.kept) = (slope, true);
        }
    }
    fn weigh(&mut self, row: usize, out: &mut [f64]) {
        if !std::mem::take(&mut self.kept) {
            self.draw_candidate();
        }
        out.iter_mut().enumerate().for_each(|(k, weight)| *weight += self.ln_ratio(k, row));
    }
    fn draw_candidate(&mut self) {
        let weights = match self.rule {
            NewCluster::Exact => SLOPES.map(|slope| ln_evidence_at(slope, |_| false)),
            NewCluster::Paper => [0.0; 3],
        };
        self.candidate = SLOPES[draw_ln_weights(&weights, &mut self.rng)];
    }
    fn ln_ratio(&self, group: usize, row: usize) -> f64 {
        POINTS[row] * self.slopes.get(group).unwrap_or(&self.candidate)
    }
    fn refresh(&mut self, group_of_row: &dyn Fn(usize) -> usize) {
        for k in 0..self.slopes.len() {
            let weights = SLOPES.map(|slope| ln_evidence_at(slope, |i| group_of_row(i) == k));
            self.slopes[k] = SLOPES[draw_ln_weights(&weights, &mut self.rng)];
        }
    }
}

/// Rows that all likelihoods find alike: marginals of 1.
struct Indifferent(usize);

impl Groups for Indifferent {
    fn n_groups(&self) -> usize {
        self.0
    }
    fn open(&mut self) {
        self.0 += 1;
    }
    fn close(&mut self, _: usize) {
        self.0 -= 1;
    }
    fn add(&mut self, _: usize, _: usize) {}
    fn sub(&mut self, _: usize, _: usize) {}
    fn weigh(&mut self, _: usize, _: &mut [f64]) {}
    fn charge(&mut self, _: usize, _: &mut [f64]) {}
    fn ln_marginal(&self) -> f64 {
        0.0
    }
    fn loss(&self) -> f64 {
        0.0
    }
    fn refresh(&mut self, _: &dyn Fn(usize) -> usize) {}
}

fn share_of_each_number(rule: NewCluster, sweeps: usize) -> [f64; 3] {
    let mut labels = LiveLabels::new(&[0, 0, 0]);
    let mut seats = CrpSeats::new(0.0, f64::INFINITY);
    let mut groups = Indifferent(0);
    seat_all(&labels, &mut seats, &mut groups);
    let slopes = vec![0.0];
    let rng = stream(1, Stream::Hyperplanes(0));
    let mut slopes = DiscreteSlopes { rule, slopes, candidate: 0.0, kept: false, rng };
    let mut rng = stream(1, Stream::Chain(0));
    let mut counts = [0.0; 3];
    for _ in 0..sweeps {
        let term: Option<&mut dyn Separator> = Some(&mut slopes);
        separated_sweep(&mut labels, &mut seats, &mut groups, term, Regime::Posterior, 0..3, &mut rng, &Unwatched);
        slopes.refresh(&|row| labels.group(row));
        assert_eq!(slopes.n_groups(), labels.n_groups());
        counts[labels.n_groups() - 1] += 1.0 / sweeps as f64;
    }
    counts
}

#[test]
fn three_points_have_the_enumerated_numbers_of_groups_under_the_exact_rule() {
    let enumerated = exact();
    for (found, published) in enumerated.iter().zip([0.102, 0.626, 0.272]) {
        assert!((found - published).abs() < 5e-4, "{enumerated:?}");
    }
    let found = share_of_each_number(NewCluster::Exact, 300_000);
    for (found, exact) in found.iter().zip(enumerated) {
        assert!((found - exact).abs() < 0.005, "{found:?} {enumerated:?}");
    }
}

#[test]
fn three_points_have_other_numbers_of_groups_under_the_published_rule() {
    let found = share_of_each_number(NewCluster::Paper, 300_000);
    for (found, reported) in found.iter().zip([0.229, 0.583, 0.188]) {
        assert!((found - reported).abs() < 0.005, "{found:?}");
    }
}

#[test]
fn the_exact_rule_is_the_limit_of_many_components_that_all_keep_their_hyperplanes() {
    let (exact, empty) = (exact(), evidence(|_| false));
    let mut last = f64::INFINITY;
    for components in [4.0, 40.0, 400.0, 4000.0f64] {
        let finite = numbers_of_groups(|p| {
            let k = p.n_groups() as f64;
            // Which components they are, and Dirichlet(1/L) for each size; L - K components stay empty.
            let which: f64 = (0..p.n_groups()).map(|j| (components - j as f64).ln()).sum();
            let a = 1.0 / components;
            let rising = |n: usize| (0..n).map(|i| (a + i as f64).ln()).sum::<f64>();
            which + p.sizes().iter().map(|&n| rising(n)).sum::<f64>() - k * empty.ln()
        });
        let distance: f64 = finite.iter().zip(exact).map(|(a, b)| 0.5 * (a - b).abs()).sum();
        assert!(distance < 0.3 * last, "{components}: {distance} after {last}");
        last = distance;
    }
    assert!(last < 1e-3);
}

fn sampler(sweeps: usize, split_merge: usize) -> MixtureSampler {
    MixtureSampler {
        prior: PartitionPrior::Crp { concentration: 1.0, hyperprior: Concentration::Fixed, max_groups: None },
        schedule: Schedule { sweeps, burn_in: 20, thin: 1 },
        split_merge,
        ..MixtureSampler::default()
    }
}

fn run(sampler: &MixtureSampler, term: Discriminative, inputs: &Inputs) -> Vec<Chain> {
    let data = Data::new(Rows::new(&ROWS, 1).unwrap()).unwrap();
    let separation = Separation::new(term, inputs, 0, &Unwatched).unwrap();
    let make = || Ok(Box::new(SphericalGroups::new(&data, law())?) as Box<dyn Groups>);
    sampler.fit_separated(5, &make, Some(&separation), &Unwatched).unwrap()
}

#[rstest]
fn partitions_have_their_exact_posterior(
    #[values(Factor::Svm, Factor::Logistic)] factor: Factor,
    #[values(0, 3)] split_merge: usize,
) {
    let data = Data::new(Rows::new(&ROWS, 1).unwrap()).unwrap();
    let empty = integrated(factor, |_| false);
    let partitions: Vec<Partition> = Partition::all(5).collect();
    let weights: Vec<f64> = partitions
        .iter()
        .map(|partition| {
            let labels = partition.labels();
            let mut seats = CrpSeats::new(0.0, f64::INFINITY);
            let mut groups = SphericalGroups::new(&data, law()).unwrap();
            seat_all(&LiveLabels::new(labels), &mut seats, &mut groups);
            let evidence = |k: usize| integrated(factor, |row| labels[row] as usize == k) / empty;
            let of_groups: f64 = (0..partition.n_groups()).map(evidence).product();
            (seats.ln_prob() + groups.ln_marginal()).exp() * of_groups
        })
        .collect();
    let total: f64 = weights.iter().sum();
    let inputs = Inputs::as_given(ROWS.to_vec(), 1);
    let sweeps = 100_000;
    let term = Discriminative { scale: SCALE, ..Discriminative::new(factor) };
    let chains = run(&sampler(sweeps, split_merge), term, &inputs);
    let mut shares = vec![0.0; partitions.len()];
    for draw in &chains[0].draws {
        let partition = draw.to_partition();
        let at = partitions.iter().position(|p| *p == partition).unwrap();
        shares[at] += 1.0 / chains[0].draws.len() as f64;
    }
    let distance: f64 = shares.iter().zip(&weights).map(|(share, w)| 0.5 * (share - w / total).abs()).sum();
    assert!(distance < 0.014, "{factor:?} {split_merge}: {distance}");
    // The term is no formality: without it the posterior is another.
    let plain = {
        let make = || Ok(Box::new(SphericalGroups::new(&data, law())?) as Box<dyn Groups>);
        sampler(20_000, 3).fit(5, &make, &Unwatched).unwrap()
    };
    let mut shares = vec![0.0; partitions.len()];
    for draw in &plain[0].draws {
        let partition = draw.to_partition();
        let at = partitions.iter().position(|p| *p == partition).unwrap();
        shares[at] += 1.0 / plain[0].draws.len() as f64;
    }
    let distance: f64 = shares.iter().zip(&weights).map(|(share, w)| 0.5 * (share - w / total).abs()).sum();
    assert!(distance > 0.05, "{distance}");
}

#[rstest]
fn a_scale_of_zero_gives_the_plain_sampler_draw_for_draw(
    #[values(Factor::Svm, Factor::Logistic)] factor: Factor,
    #[values(NewCluster::Exact, NewCluster::Paper)] rule: NewCluster,
) {
    let data = Data::new(Rows::new(&ROWS, 1).unwrap()).unwrap();
    let inputs = Inputs::new(&data);
    let sampler = MixtureSampler { chains: 2, start: ChainStart::Random(3), ..sampler(200, 3) };
    let make = || Ok(Box::new(SphericalGroups::new(&data, law())?) as Box<dyn Groups>);
    let plain = sampler.fit(5, &make, &Unwatched).unwrap();
    let separated = run(&sampler, Discriminative { factor, scale: 0.0, new_cluster: rule }, &inputs);
    for (plain, separated) in plain.iter().zip(&separated) {
        assert_eq!(plain.draws, separated.draws);
        assert_eq!(plain.ln_joint, separated.ln_joint);
        assert_eq!(plain.state.rng, separated.state.rng);
    }
}

#[test]
fn a_chain_with_hyperplanes_goes_on_with_the_same_bits_whatever_the_threads() {
    let data = Data::new(Rows::new(&ROWS, 1).unwrap()).unwrap();
    let inputs = Inputs::new(&data);
    let separation = Separation::new(Discriminative::new(Factor::Logistic), &inputs, 0, &Unwatched).unwrap();
    let make = || Ok(Box::new(SphericalGroups::new(&data, law())?) as Box<dyn Groups>);
    let schedule = |sweeps| Schedule { sweeps, burn_in: 3, thin: 1 };
    let of = |sweeps, threads| MixtureSampler { chains: 2, threads, schedule: schedule(sweeps), ..sampler(sweeps, 3) };
    let whole = of(120, 2).fit_separated(5, &make, Some(&separation), &Unwatched).unwrap();
    let alone = of(120, 1).fit_separated(5, &make, Some(&separation), &Unwatched).unwrap();
    assert_eq!(whole, alone);
    // Taken up before and after the term has come in.
    for first in [6, 60] {
        let begun = of(first, 1).fit_separated(5, &make, Some(&separation), &Unwatched).unwrap();
        let states: Vec<_> = begun.iter().map(|chain| chain.state.clone()).collect();
        assert!(states.iter().all(|state| state.hyperplanes.is_some() == (first > 10)));
        let later = of(120, 2).resume_separated(5, &states, &make, Some(&separation), &Unwatched).unwrap();
        let joined: Vec<Chain> = begun.into_iter().zip(later).map(|(a, b)| a.followed_by(b)).collect();
        assert_eq!(joined, whole);
    }
}

#[test]
fn columns_that_repeat_each_other_and_the_largest_scale_do_no_harm() {
    let values: Vec<f64> = ROWS.iter().flat_map(|x| [*x, *x, 3.0]).collect();
    let data = Data::new(Rows::new(&values, 3).unwrap()).unwrap();
    let inputs = Inputs::new(&data);
    for factor in [Factor::Svm, Factor::Logistic] {
        let term = Discriminative { scale: 1e6, ..Discriminative::new(factor) };
        term.check().unwrap();
        let chains = run(&sampler(300, 3), term, &inputs);
        assert!(chains[0].state.hyperplanes.iter().all(|s| s.hyperplanes.iter().all(|eta| eta.is_finite())));
        for scale in [-1.0, 2e6, f64::NAN, f64::INFINITY] {
            let error = Discriminative { scale, ..term }.check().unwrap_err().to_string();
            assert!(error.starts_with("discriminative_scale must be"), "{error}");
        }
    }
}
