use super::*;
use crate::prior::Seats;
use crate::random::{Stream, stream};
use crate::structure::Partition;
use rstest::rstest;

fn hdp(share: f64, max_states: Option<usize>) -> Hdp {
    let values = HdpValues { concentration: 1.3, share, gamma: 0.8, start: if share > 0.0 { 0.7 } else { 1.3 } };
    Hdp { values, concentration: Concentration::Fixed, gamma: Concentration::Fixed, share: None, max_states }
}

fn seated(hdp: Hdp, lengths: &[usize], states: &[u32], weights: StateWeights) -> HdpSeats {
    let sequences = Sequences::new(lengths, states.len()).unwrap();
    let mut seats = HdpSeats::new(hdp, hdp.values, &sequences, stream(0, Stream::Sticks(0)));
    seats.seat(states, Some(weights));
    seats
}

/// log of the density of the part b that a new state takes of beta_new.
fn ln_part(hdp: &Hdp, k: usize, new: f64, part: f64) -> f64 {
    let (each, rest) = (hdp.added_to_each(hdp.values.gamma), hdp.added_to_rest(hdp.values.gamma, k + 1));
    if rest == 0.0 {
        return 0.0;
    }
    let share = part / new;
    ln_gamma(1.0 + each + rest) - ln_gamma(1.0 + each) - ln_gamma(rest)
        + each * share.ln()
        + (rest - 1.0) * (-share).ln_1p()
        - new.ln()
}

#[rstest]
fn weights_are_ratios_of_joint_probabilities(
    #[values(0.0, 0.4)] share: f64,
    #[values(None, Some(4), Some(3))] max_states: Option<usize>,
    #[values(&[6], &[2, 1, 3])] lengths: &[usize],
) {
    let hdp = hdp(share, max_states);
    let (beta, new) = ([0.3, 0.25, 0.2], 0.25);
    for partition in Partition::all(6).filter(|p| p.n_groups() <= 3) {
        let k = partition.n_groups();
        let rest = if max_states == Some(k) { 0.0 } else { new };
        for row in 0..6 {
            let weights = StateWeights { states: beta[..k].to_vec(), new: rest };
            let mut seats = seated(hdp, lengths, partition.labels(), weights);
            let group = partition.labels()[row] as usize;
            seats.left(group, row);
            if partition.sizes()[group] == 1 {
                seats.close(group);
            }
            let k = seats.n_groups();
            let mut weighed = vec![0.0; k + 1];
            seats.weigh(&mut weighed);
            let StateWeights { new, .. } = seats.weights();
            let joint: Vec<f64> = (0..=k)
                .filter(|&to| to < hdp.most_states())
                .map(|to| {
                    let mut joined = seats.clone();
                    let mut ln_density = 0.0;
                    if to == k {
                        joined.open();
                        ln_density = ln_part(&hdp, k, new, joined.weights().states[k]);
                    }
                    joined.joined(to, row);
                    joined.ln_prob() - ln_density
                })
                .collect();
            for to in 1..joint.len() {
                let (found, expected) = (weighed[to] - weighed[0], joint[to] - joint[0]);
                assert!((found - expected).abs() < 1e-9, "{partition:?} row {row} to {to}: {found} {expected}");
            }
            assert!(joint.len() == k + 1 || weighed[k] == f64::NEG_INFINITY);
        }
    }
}

#[test]
fn rows_that_go_out_and_come_in_again_leave_everything_as_it_was() {
    let states = [0, 1, 1, 0, 2, 2, 2, 1];
    let weights = StateWeights { states: vec![0.3, 0.25, 0.2], new: 0.25 };
    let mut seats = seated(hdp(0.4, None), &[3, 5], &states, weights.clone());
    let before = seats.ln_prob();
    // More states than there was room for, all given back.
    let mut opened = seats.clone();
    (0..20).for_each(|_| opened.open());
    assert_eq!((opened.n_groups(), opened.count(Some(1), 1)), (23, 1.0));
    (3..23).rev().for_each(|group| opened.close(group));
    assert!((opened.ln_prob() - before).abs() < 1e-12);
    for row in [3, 0, 7, 4] {
        seats.left(states[row] as usize, row);
    }
    for row in [0, 4, 7, 3] {
        seats.joined(states[row] as usize, row);
    }
    assert_eq!((seats.ln_prob(), seats.weights()), (before, weights));
    assert_eq!(seats.count(None, 0), 2.0, "both sequences begin in state 0");
    assert_eq!([0, 1, 2].map(|k| seats.total(Some(k))), [2.0, 1.0, 3.0], "the last rows lead nowhere");
}

#[test]
fn a_state_more_costs_its_price_in_the_limit_and_transitions_nothing() {
    // One sequence 0 1 0 2 against 0 1 0 1, with gamma = exp(-1/(2 s2)) and beta integrated by its moments for one table in each
    // cell: gamma^K Gamma(gamma) / Gamma(gamma + tables) prod (tables_k - 1)!.
    let s2 = 1e-3;
    let ln_gamma_value: f64 = -0.5 / s2;
    let gamma = ln_gamma_value.exp();
    let ln_moment = |tables: &[usize]| {
        let total: usize = tables.iter().sum();
        // log(gamma^K Gamma(gamma)) without underflow: Gamma(gamma) is 1/gamma here.
        (tables.len() as f64 - 1.0) * ln_gamma_value - ln_gamma(gamma + total as f64)
            + tables.iter().map(|&m| ln_factorial(m - 1)).sum::<f64>()
    };
    let seats = seated(hdp(0.0, None), &[4], &[0, 1, 0, 1], StateWeights { states: vec![0.5, 0.3], new: 0.2 });
    let mut charges = vec![0.0; 3];
    seats.charge(&mut charges);
    assert_eq!(charges, [0.0, 0.0, 1.0]);
    let limit = -2.0 * s2 * (ln_moment(&[2, 1, 1]) - ln_moment(&[2, 2]));
    assert!((limit - 1.0).abs() < 0.01, "{limit}");
    let full = seated(hdp(0.0, Some(2)), &[4], &[0, 1, 0, 1], StateWeights { states: vec![0.6, 0.4], new: 0.0 });
    let mut charges = vec![0.0; 3];
    full.charge(&mut charges);
    assert_eq!(charges[2], f64::INFINITY);
}

#[rstest]
#[case(Hdp { max_states: Some(0), ..Hdp::default() }, "max_states must be at least 1")]
#[case(Hdp { share: Some((1.0, 1.0)), ..Hdp::default() }, "share must be two positive finite numbers")]
#[case(Hdp { share: Some((0.0, 1.0)), ..Hdp::default().sticky() }, "share must be two positive finite numbers")]
#[case(Hdp { values: HdpValues { gamma: 0.0, ..Hdp::default().values }, ..Hdp::default() }, "gamma must be a positive finite")]
#[case(Hdp { values: HdpValues { share: 1.0, ..Hdp::default().values }, ..Hdp::default() }, "share must be at least 0 and below 1")]
#[case(Hdp { values: HdpValues { start: 2.0, ..Hdp::default().values }, ..Hdp::default() }, "start must be equal to the concentration, 1")]
fn bad_numbers_are_named(#[case] hdp: Hdp, #[case] message: &str) {
    let error = hdp.check().unwrap_err().to_string();
    assert!(error.starts_with(message), "{error}");
    assert!(Hdp::default().check().is_ok() && Hdp::default().sticky().check().is_ok());
}
