use super::*;
use crate::data::Data;
use crate::likelihood::Spherical;
use crate::prior::{HdpValues, StateWeights};
use crate::separator::{Discriminative, Factor, Inputs, Separation};
use crate::structure::CompactPartition;
use crate::watch::Unwatched;

const VALUES: [f64; 6] = [0.0, 0.4, 5.0, 5.2, 0.1, 9.0];

fn model() -> HmmModel {
    let data = Data::new(Rows::new(&VALUES, 1).unwrap()).unwrap();
    let likelihood = Spherical { variance: 0.3, prior_mean: vec![4.0], prior_variance: 10.0 };
    let values = HdpValues { concentration: 1.5, share: 0.2, gamma: 1.0, start: 0.8 };
    let draws = [(vec![0, 0, 1, 1, 0, 2], vec![0.4, 0.3, 0.1], 0.2), (vec![0, 0, 1, 1, 0, 1], vec![0.5, 0.3], 0.2)];
    let estimate = Partition::from_labels(&draws[0].0);
    let draws = draws.map(|(labels, states, new)| HmmDraw {
        states: CompactPartition::from(&Partition::from_labels(labels)),
        weights: StateWeights { states, new },
        values,
    });
    let sequences = Sequences::new(&[4, 2], 6).unwrap();
    let law = MixtureLaw::Spherical(likelihood);
    let draws: Vec<&HmmDraw> = draws.iter().collect();
    HmmModel::new(MixtureRows::Dense(&data), &sequences, law, &draws, &estimate, vec!["x".into()], 7).unwrap()
}

#[test]
fn transitions_are_their_means_given_the_states() {
    let model = model();
    // The first draw: 0 -> 0 and 0 -> 1 and 0 -> 2 once each, alpha = 1.2, kappa = 0.3.
    let expected = [1.0 + 1.2 * 0.4 + 0.3, 1.0 + 1.2 * 0.3, 1.0 + 1.2 * 0.1, 1.2 * 0.2].map(|x| x / 4.5);
    for (found, expected) in model.draws[0].leaving(0).iter().zip(expected) {
        assert!((found - expected).abs() < 1e-12);
    }
    // From state 0 to state 1 of the estimate, by hand: the second draw has one state for 1 and 2, two thirds of it 1.
    let second = (1.0 + 1.2 * 0.3 + 1.0) / 4.5;
    let to_1 = 0.5 * (expected[1] + second * 2.0 / 3.0);
    let to_new = 0.5 * (expected[3] + 1.2 * 0.2 / 4.5);
    assert!((model.new_state[0] - to_new).abs() < 1e-12);
    assert!((model.transitions[1] - to_1 / (1.0 - to_new)).abs() < 1e-12);
    for row in model.transitions.chunks_exact(3) {
        assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }
    for sequence in 0..2 {
        assert!((model.next_states(sequence).iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }
    // The start row has its own concentration and no stickiness: both sequences begin in state 0.
    assert!((model.draws[0].start[0] - (2.0 + 0.8 * 0.4) / 2.8).abs() < 1e-12);
}

#[test]
fn the_density_of_the_next_row_integrates_to_1() {
    let (low, high, steps) = (-40.0, 50.0, 9000);
    let grid: Vec<f64> = (0..steps).map(|i| low + (high - low) * (i as f64 + 0.5) / steps as f64).collect();
    for sequence in 0..2 {
        let densities = model().ln_next(sequence, Rows::new(&grid, 1).unwrap()).unwrap();
        let total: f64 = densities.iter().map(|d| d.exp()).sum::<f64>() * (high - low) / steps as f64;
        assert!((total - 1.0).abs() < 1e-6, "{total}");
    }
}

#[test]
fn forward_backward_sums_over_all_paths() {
    let model = model();
    let draw = &model.draws[0];
    let k = draw.start.len();
    let ln_emissions: Vec<f64> = (0..4 * k).map(|i| -((i * 7 % 5) as f64)).collect();
    let ln_start: Vec<f64> = draw.start.iter().map(|p| p.ln()).collect();
    let (posterior, ln_density) = forward_backward(&ln_start, &draw.transitions, &ln_emissions);
    let (mut total, mut shares) = (0.0, vec![0.0; 4 * k]);
    for code in 0..k.pow(4) {
        let path: Vec<usize> = (0..4).map(|t| code / k.pow(t) % k).collect();
        let emitted: f64 = (0..4).map(|t| ln_emissions[t * k + path[t]]).sum();
        let moved: f64 = (1..4).map(|t| draw.transitions[path[t - 1] * k + path[t]]).product();
        let weight = draw.start[path[0]] * moved * emitted.exp();
        total += weight;
        (0..4).for_each(|t| shares[t * k + path[t]] += weight);
    }
    assert!((ln_density - total.ln()).abs() < 1e-12);
    for (found, share) in posterior.iter().zip(shares) {
        assert!((found.exp() - share / total).abs() < 1e-12);
    }
}

#[test]
fn new_sequences_have_the_states_their_rows_and_neighbours_say() {
    let model = model();
    let rows = [0.1, 5.1, 8.9, 1e4];
    let sequences = Sequences::new(&[3, 1], 4).unwrap();
    let assigned = model.assign(Rows::new(&rows, 1).unwrap(), &sequences, &Workers::serial()).unwrap();
    assert_eq!(assigned.states[..3], [0, 1, 2]);
    assert_eq!(assigned, model.assign(Rows::new(&rows, 1).unwrap(), &sequences, &Workers::new(3)).unwrap());
    let far: f64 = assigned.probabilities[9..].iter().sum();
    assert!(far < 1e-9, "a row far from all is in a new state");
    // One row alone: the density of a first row, by hand for the first draw's states.
    let next = model.ln_next(0, Rows::new(&rows[..1], 1).unwrap()).unwrap();
    assert!(next[0].is_finite() && assigned.ln_density[1] < assigned.ln_density[0]);
    let error = model.assign(Rows::new(&rows, 2).unwrap(), &Sequences::one(2), &Workers::serial()).unwrap_err();
    assert!(error.to_string().contains("the data has 2 columns, the model 1"), "{error}");
}

#[test]
fn hyperplanes_weigh_in_the_states_of_new_rows_and_in_no_density() {
    let values: Vec<f64> = VALUES.to_vec();
    let data = Data::new(Rows::new(&values, 1).unwrap()).unwrap();
    let inputs = Inputs::new(&data);
    let term = Discriminative::new(Factor::Logistic);
    let separation = Separation::new(term, &inputs, 0, &Unwatched).unwrap();
    let plain = model();
    let fitted = separation.fitted(&[0, 0, 1, 1, 0, 2], 3, 0, &Workers::serial());
    let separated = HmmModel { hyperplanes: Some(fitted.clone()), ..model() };
    let rows = [2.6, 5.1, 7.3, 6.0];
    let assign =
        |model: &HmmModel| model.assign(Rows::new(&rows, 1).unwrap(), &Sequences::one(4), &Workers::serial()).unwrap();
    let (before, after) = (assign(&plain), assign(&separated));
    assert_eq!(before.ln_density, after.ln_density);
    for (row, (p, q)) in before.probabilities.chunks(3).zip(after.probabilities.chunks(3)).enumerate() {
        let ratios: Vec<f64> = (0..3).map(|k| fitted.ln_ratio(k, [rows[row]].into_iter()).exp()).collect();
        let total: f64 = p.iter().zip(&ratios).map(|(p, r)| p * r).sum();
        let kept: f64 = p.iter().sum();
        for k in 0..3 {
            let expected = p[k] * ratios[k] / total * kept;
            assert!((q[k] - expected).abs() < 1e-12, "{p:?} {q:?}");
        }
    }
    assert_eq!(HmmModel::from_bytes(&separated.to_bytes()).unwrap(), separated);
    let mut damaged = separated;
    damaged.hyperplanes.as_mut().unwrap().hyperplanes.pop();
    assert!(HmmModel::from_bytes(&damaged.to_bytes()).unwrap_err().to_string().contains("hyperplanes"));
}

#[test]
fn a_saved_model_comes_back_and_a_damaged_one_is_refused() {
    let bytes = model().to_bytes();
    assert_eq!(HmmModel::from_bytes(&bytes).unwrap(), model());
    assert_eq!(saved::kind_of_model(&bytes).unwrap(), "states");
    let mut damaged = model();
    damaged.draws[1].last[0] = 9;
    let error = HmmModel::from_bytes(&damaged.to_bytes()).unwrap_err().to_string();
    assert!(error.contains("do not fit together"), "{error}");
    let mut damaged = model();
    damaged.draws[0].transitions[1] = -0.5;
    assert!(HmmModel::from_bytes(&damaged.to_bytes()).unwrap_err().to_string().contains("a probability that is none"));
}
