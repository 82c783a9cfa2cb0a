//! Shared rows of hidden states: all paths by enumeration.

use super::halves::{Halves, Switches, Switching};
use crate::data::{Data, Rows};
use crate::likelihood::{Spherical, SphericalGroups};
use crate::prior::{Hdp, HdpSeats, HdpValues, StateWeights};
use crate::random::{Stream, stream};
use crate::structure::Sequences;
use crate::sweep::LiveLabels;
use crate::watch::Unwatched;
use rstest::rstest;
use std::ops::ControlFlow;

const VALUES: [f64; 10] = [0.3, 1.1, 0.5, 2.7, 2.5, -1.0, 0.9, 0.2, 1.4, -0.3];
/// Rows 3 and 7 are in another state.
const STATES: [u32; 10] = [0, 0, 0, 1, 0, 0, 0, 1, 0, 0];
const ANCHORS: [usize; 2] = [2, 6];

/// log q of a path with these anchors, told or drawn, and the path.
fn ln_q(at_once: bool, share: f64, told: Option<&[bool]>) -> (f64, Vec<bool>) {
    let data = Data::new(Rows::new(&VALUES, 1).unwrap()).unwrap();
    let law = Spherical { variance: 0.5, prior_mean: vec![0.4], prior_variance: 2.0 };
    let start = if share > 0.0 { 0.7 } else { 1.3 };
    let hdp = Hdp { values: HdpValues { concentration: 1.3, share, gamma: 0.8, start }, ..Hdp::default() };
    // Row 5 begins a second sequence.
    let sequences = Sequences::new(&[5, 5], 10).unwrap();
    let mut seats = HdpSeats::new(hdp, hdp.values, &sequences, stream(0, Stream::Sticks(0)));
    seats.seat(&STATES, Some(StateWeights { states: vec![0.5, 0.2], new: 0.3 }));
    let mut halves = Halves::new(Box::new(SphericalGroups::new(&data, law).unwrap()));
    halves.gather(&LiveLabels::new(&STATES), &seats, [0, 0]);
    // The same launch for all paths.
    let mut rng = stream(3, Stream::Chain(0));
    let ln_q = if at_once {
        let switching = Switching::draw(&Switches::default(), &mut rng);
        halves.at_once(ANCHORS, &switching, told, &mut rng, &Unwatched)
    } else {
        seats.open_without_weight();
        seats.share_evenly([0, 2]);
        halves.one_by_one(ANCHORS, (&mut seats, [0, 2]), told, &mut rng, &Unwatched)
    };
    let ControlFlow::Continue(ln_q) = ln_q else { panic!("nothing stops it") };
    (ln_q, halves.in_second().to_vec())
}

#[rstest]
fn the_probabilities_of_all_paths_sum_to_1_and_a_drawn_path_has_its_own(
    #[values(false, true)] at_once: bool,
    #[values(0.0, 0.4)] share: f64,
) {
    let mut total = 0.0;
    for number in 0..256 {
        let path: Vec<bool> = (0..8).map(|at| number >> at & 1 == 1).collect();
        // The anchors are the third and the sixth of the eight rows.
        if !path[2] && path[5] {
            let (ln_q, held) = ln_q(at_once, share, Some(&path));
            assert_eq!(held, path);
            total += ln_q.exp();
        }
    }
    assert!((total - 1.0).abs() < 1e-12, "{total}");
    let (drawn_ln_q, drawn) = ln_q(at_once, share, None);
    assert_eq!(ln_q(at_once, share, Some(&drawn)).0, drawn_ln_q);
}
