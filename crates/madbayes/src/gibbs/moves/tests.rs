//! Split-merge proposals alone, without a sweep, against the exact posterior; and what they must never do.

use super::{Mixture, SplitMerge};
use crate::data::{Data, Rows};
use crate::likelihood::{Groups, Spherical, SphericalGroups};
use crate::prior::{Concentration, PartitionPrior};
use crate::random::{Stream, stream};
use crate::special::ln_sum_exp;
use crate::structure::Partition;
use crate::sweep::{LiveLabels, seat_all};
use crate::watch::{Step, Unwatched, Watch};
use rstest::rstest;
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};

const ROWS: [f64; 6] = [0.3, 1.1, 0.5, 2.7, 2.5, -1.0];

fn law() -> Spherical {
    Spherical { variance: 0.5, prior_mean: vec![0.4], prior_variance: 2.0 }
}

fn crp(max_groups: Option<usize>) -> PartitionPrior {
    PartitionPrior::Crp { concentration: 1.3, hyperprior: Concentration::Fixed, max_groups }
}

/// Log prior and likelihood of a partition, from seats and groups that hold it.
fn ln_joint(data: &Data<f64>, prior: &PartitionPrior, partition: &Partition) -> f64 {
    let labels = LiveLabels::new(partition.labels());
    let mut seats = prior.seats(data.n_rows(), prior.ln_concentration());
    let mut groups = SphericalGroups::new(data, law()).unwrap();
    seat_all(&labels, seats.as_mut(), &mut groups);
    seats.ln_prob() + groups.ln_marginal()
}

#[rstest]
#[case::crp(crp(None))]
#[case::capped_crp(crp(Some(3)))]
#[case::dirichlet_multinomial(PartitionPrior::DirichletMultinomial { components: 4, concentration: 2.8, hyperprior: Concentration::Fixed })]
fn proposals_alone_reach_the_exact_posterior(#[case] prior: PartitionPrior) {
    let data = Data::new(Rows::new(&ROWS, 1).unwrap()).unwrap();
    let new = || Box::new(SphericalGroups::new(&data, law()).unwrap());
    let mut moves = SplitMerge::new(new(), new());
    let mut labels = LiveLabels::new(&[0; 6]);
    let (mut seats, mut groups) = (prior.seats(6, prior.ln_concentration()), new());
    seat_all(&labels, seats.as_mut(), groups.as_mut());
    let mut rng = stream(1, Stream::Chain(0));
    let mut counts: HashMap<Partition, f64> = HashMap::new();
    let (steps, mut accepted) = (2_000_000, 0);
    for step in 0..steps {
        let mut mixture =
            Mixture { labels: &mut labels, seats: seats.as_mut(), groups: groups.as_mut(), separator: None };
        accepted += usize::from(moves.propose(&mut mixture, &mut rng, &Unwatched) == ControlFlow::Continue(true));
        *counts.entry(Partition::from_labels(labels.to_vec())).or_default() += 1.0 / f64::from(steps);
        if step % 1000 == 0 {
            // Labels, prior and likelihood hold the same.
            let held = seats.ln_prob() + groups.ln_marginal();
            let expected = ln_joint(&data, &prior, &Partition::from_labels(labels.to_vec()));
            assert!((held - expected).abs() < 1e-9, "{held} {expected}");
            groups.refresh(&|row| labels.group(row));
        }
    }
    let all: Vec<Partition> = Partition::all(6).filter(|p| p.n_groups() <= prior.most_groups(6)).collect();
    let joints: Vec<f64> = all.iter().map(|p| ln_joint(&data, &prior, p)).collect();
    let total = ln_sum_exp(&joints);
    let mut distance = 0.0;
    for (partition, joint) in all.iter().zip(&joints) {
        distance += 0.5 * ((joint - total).exp() - counts.remove(partition).unwrap_or(0.0)).abs();
    }
    assert!(counts.is_empty(), "more groups than the prior has: {counts:?}");
    assert!(distance < 0.01, "{distance}");
    assert!(accepted > steps as usize / 5, "{accepted} of {steps} accepted");
}

#[test]
fn clear_clusters_are_split_and_their_halves_merged() {
    let values: Vec<f64> = (0..90).map(|i| f64::from(i % 3) * 20.0 + f64::from(i) * 0.01).collect();
    let data = Data::new(Rows::new(&values, 1).unwrap()).unwrap();
    let new = || Box::new(SphericalGroups::new(&data, Spherical { prior_variance: 400.0, ..law() }).unwrap());
    let truth = Partition::from_labels((0..90).map(|i| i % 3));
    for start in [vec![0; 90], (0..90).map(|i| i % 6).collect()] {
        let mut moves = SplitMerge::new(new(), new());
        let mut labels = LiveLabels::new(&start);
        let (mut seats, mut groups) = (crp(None).seats(90, 0.0), new());
        seat_all(&labels, seats.as_mut(), groups.as_mut());
        let mut rng = stream(2, Stream::Chain(0));
        let mut found = 0;
        for step in 0..400 {
            let mut mixture =
                Mixture { labels: &mut labels, seats: seats.as_mut(), groups: groups.as_mut(), separator: None };
            let _ = moves.propose(&mut mixture, &mut rng, &Unwatched);
            found += usize::from(step >= 200 && Partition::from_labels(labels.to_vec()) == truth);
        }
        assert!(found > 150, "{found} of the last 200 are the clusters");
    }
}

/// Stops at the given poll.
struct StopAt(usize, AtomicUsize);

impl Watch for StopAt {
    fn step(&self, _: &Step) -> ControlFlow<()> {
        if self.1.fetch_add(1, Ordering::Relaxed) >= self.0 {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}

#[test]
fn a_stopped_proposal_changes_nothing() {
    let values: Vec<f64> = (0..400).map(|i| f64::from(i % 7)).collect();
    let data = Data::new(Rows::new(&values, 1).unwrap()).unwrap();
    let new = || Box::new(SphericalGroups::new(&data, law()).unwrap());
    let mut stopped = 0;
    for seed in 0..40 {
        let mut labels = LiveLabels::new(&(0..400).map(|i| i % 2).collect::<Vec<u32>>());
        let (mut seats, mut groups) = (crp(None).seats(400, 0.0), new());
        seat_all(&labels, seats.as_mut(), groups.as_mut());
        let before = (labels.to_vec(), seats.ln_prob(), groups.ln_marginal());
        let mut mixture =
            Mixture { labels: &mut labels, seats: seats.as_mut(), groups: groups.as_mut(), separator: None };
        let watch = StopAt(seed as usize / 2, AtomicUsize::new(0));
        let proposed = SplitMerge::new(new(), new()).propose(&mut mixture, &mut stream(seed, Stream::Chain(0)), &watch);
        if proposed.is_break() {
            stopped += 1;
            assert_eq!((labels.to_vec(), seats.ln_prob(), groups.ln_marginal()), before);
        }
    }
    assert!(stopped > 15, "{stopped} of 40 were stopped: the watch is asked every few rows");
}
