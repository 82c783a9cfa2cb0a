//! The rows of one state or two, shared anew between two halves a and b that follow each other in time: the path of a hidden Markov
//! chain of two states, drawn backward after filtering forward, so that its probability q is known.
//!
//! o_t = log p_b(x_t)/p_a(x_t) + log P(b)/P(a), P(k) = sum over j of P(z_t-1 = j | past) T_jk, or T_0k where another state is before;
//! then z_t = b with log odds o_t + log T_b,z_t+1 / T_a,z_t+1.

use super::anchors::{logistic, poll, shuffle, softplus};
use crate::likelihood::Groups;
use crate::prior::{HdpSeats, Seats};
use crate::random::{Rng, draw_beta};
use crate::special::ln_gamma;
use crate::sweep::LiveLabels;
use crate::watch::Watch;
use rand::RngExt;
use std::ops::ControlFlow;

/// Paths drawn between the launch row by row and the last one, whose choices are the proposal.
const SCANS: usize = 1;

/// How often the two halves follow each other: from outside, from a and from b, to a and to b.
pub(super) type Switches = [[f64; 2]; 3];

/// What is known of T before anything is seen: halves that last are likelier than halves that do not.
const PRIOR: Switches = [[1.0, 1.0], [1.0, 0.5], [0.5, 1.0]];

/// T, the probabilities of a and b from outside, from a and from b: each row Beta with the prior's shapes and the switches seen.
#[derive(Debug, Clone, Copy)]
pub(super) struct Switching(Switches);

impl Switching {
    /// Given switches that were seen.
    pub fn draw(seen: &Switches, rng: &mut Rng) -> Self {
        let mut drawn = PRIOR;
        for (row, seen) in drawn.iter_mut().zip(seen) {
            let (a, b) = draw_beta(row[0] + seen[0], row[1] + seen[1], rng);
            *row = [a.max(f64::MIN_POSITIVE), b.max(f64::MIN_POSITIVE)];
        }
        Switching(drawn)
    }

    /// The log density of this draw.
    pub fn ln_density(&self, seen: &Switches) -> f64 {
        let rows = self.0.iter().zip(PRIOR.iter().zip(seen));
        rows.map(|(p, (prior, seen))| {
            let [a, b] = [prior[0] + seen[0], prior[1] + seen[1]];
            ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + (a - 1.0) * p[0].ln() + (b - 1.0) * p[1].ln()
        })
        .sum()
    }

    /// Log odds of b after a (1), b (2) or another state (0).
    fn ln_odds_after(&self, from: usize) -> f64 {
        (self.0[from][1] / self.0[from][0]).ln()
    }

    /// log T_bk / T_ak.
    fn ln_odds_before(&self, second: bool) -> f64 {
        (self.0[2][usize::from(second)] / self.0[1][usize::from(second)]).ln()
    }
}

/// Both halves, each with an anchor that stays in it.
pub(super) struct Halves<'g> {
    groups: Box<dyn Groups + 'g>,
    /// The rows in the order of time, anchors among them.
    rows: Vec<usize>,
    /// Whether a row comes right after the one before it here.
    follows: Vec<bool>,
    /// Which of them are in b.
    in_second: Vec<bool>,
    /// Where the anchors of a and b are among them.
    anchors: [usize; 2],
    ln_odds: Vec<f64>,
}

impl<'g> Halves<'g> {
    /// Without rows, from an empty likelihood.
    pub fn new(groups: Box<dyn Groups + 'g>) -> Self {
        let (rows, follows, in_second, ln_odds) = (vec![], vec![], vec![], vec![]);
        Halves { groups, rows, follows, in_second, anchors: [0; 2], ln_odds }
    }

    /// The rows of two states, or of one given twice; those of the second in b.
    pub fn gather(&mut self, labels: &LiveLabels, seats: &HdpSeats, states: [usize; 2]) {
        let Halves { rows, follows, in_second, .. } = self;
        rows.clear();
        follows.clear();
        in_second.clear();
        for row in 0..labels.n_rows() {
            let state = labels.group(row);
            if states.contains(&state) {
                follows.push(row > 0 && rows.last() == Some(&(row - 1)) && !seats.is_first(row));
                rows.push(row);
                in_second.push(state != states[0]);
            }
        }
    }

    /// The rows in the order of time.
    pub fn rows(&self) -> &[usize] {
        &self.rows
    }

    /// Which of them are in b.
    pub fn in_second(&self) -> &[bool] {
        &self.in_second
    }

    /// The rows of b.
    pub fn second(&self) -> impl Iterator<Item = usize> {
        self.rows.iter().zip(&self.in_second).filter(|(_, second)| **second).map(|(row, _)| *row)
    }

    /// Rows in a and b.
    pub fn sizes(&self) -> [usize; 2] {
        let second = self.in_second.iter().filter(|second| **second).count();
        [self.rows.len() - second, second]
    }

    /// How often they follow each other.
    pub fn switches(&self) -> Switches {
        let mut seen = Switches::default();
        for at in 0..self.rows.len() {
            seen[self.from(at)][usize::from(self.in_second[at])] += 1.0;
        }
        seen
    }

    /// Where a row comes from: 0 outside, 1 a, 2 b.
    fn from(&self, at: usize) -> usize {
        if self.follows[at] { 1 + usize::from(self.in_second[at - 1]) } else { 0 }
    }

    /// The likelihood of both halves, as a path left them.
    pub fn ln_marginal(&self) -> f64 {
        self.groups.ln_marginal()
    }

    /// The likelihood of both halves as they were gathered.
    pub fn ln_marginal_of_both(&mut self, watch: &dyn Watch) -> ControlFlow<(), f64> {
        self.clear();
        (0..2).for_each(|_| self.groups.open());
        for (visited, (&row, &second)) in self.rows.iter().zip(&self.in_second).enumerate() {
            poll(visited, watch)?;
            self.groups.add(usize::from(second), row);
        }
        ControlFlow::Continue(self.groups.ln_marginal())
    }

    /// The likelihood of all rows together.
    pub fn ln_marginal_of_whole(&mut self, watch: &dyn Watch) -> ControlFlow<(), f64> {
        self.clear();
        self.groups.open();
        for (visited, &row) in self.rows.iter().enumerate() {
            poll(visited, watch)?;
            self.groups.add(0, row);
        }
        ControlFlow::Continue(self.groups.ln_marginal())
    }

    /// The log predictive density of a row under b, as `ln_marginal` or a path left it.
    pub fn ln_predictive(&mut self, row: usize) -> f64 {
        let mut scores = [0.0; 3];
        self.groups.weigh(row, &mut scores);
        scores[1]
    }

    /// Draws a path with these anchors, or takes the one that is told, and its log probability: rows one after another in the order of
    /// time by the prior and the halves so far (Dahl 2005), in `seats` too, where the halves are these states.
    ///
    /// From the anchors alone halves are seldom good; but q follows the present ones, so that those of one true state are merged.
    pub fn one_by_one(
        &mut self,
        anchors: [usize; 2],
        (seats, states): (&mut HdpSeats, [usize; 2]),
        told: Option<&[bool]>,
        rng: &mut Rng,
        watch: &dyn Watch,
    ) -> ControlFlow<(), f64> {
        for (&row, &second) in self.rows.iter().zip(&self.in_second) {
            seats.left(states[usize::from(second)], row);
        }
        self.set_anchors(anchors);
        anchors.iter().zip(states).for_each(|(&row, state)| seats.joined(state, row));
        let mut ln_q = 0.0;
        for at in 0..self.rows.len() {
            poll(at, watch)?;
            if self.anchors.contains(&at) {
                continue;
            }
            let row = self.rows[at];
            let ln_odds = self.weigh(at) + seats.ln_odds(row, states);
            let second = told.map_or_else(|| rng.random::<f64>() < logistic(ln_odds), |told| told[at]);
            ln_q += ln_chosen(second, ln_odds);
            self.in_second[at] = second;
            self.groups.add(usize::from(second), row);
            seats.joined(states[usize::from(second)], row);
        }
        ControlFlow::Continue(ln_q)
    }

    /// The same by a whole path from a launch state (Jain & Neal 2004), which has the same law whatever the halves were.
    ///
    /// This finds two true states in one. Of one true state it finds other halves than the present ones, which have a tiny q.
    pub fn at_once(
        &mut self,
        anchors: [usize; 2],
        switching: &Switching,
        told: Option<&[bool]>,
        rng: &mut Rng,
        watch: &dyn Watch,
    ) -> ControlFlow<(), f64> {
        self.set_anchors(anchors);
        self.launch(switching, rng, watch)?;
        for _ in 0..SCANS {
            self.path(switching, None, rng, watch)?;
        }
        self.path(switching, told, rng, watch)
    }

    /// Each anchor alone in its half.
    fn set_anchors(&mut self, anchors: [usize; 2]) {
        self.clear();
        let place = |row: usize| self.rows.binary_search(&row).expect("an anchor is one of the rows");
        self.anchors = anchors.map(place);
        for (half, at) in self.anchors.into_iter().enumerate() {
            self.groups.open();
            self.groups.add(half, self.rows[at]);
            self.in_second[at] = half == 1;
        }
    }

    /// Rows in any order join the anchors, each by its densities under the halves so far and the neighbours that are in.
    fn launch(&mut self, switching: &Switching, rng: &mut Rng, watch: &dyn Watch) -> ControlFlow<()> {
        let mut order: Vec<usize> = (0..self.rows.len()).filter(|at| !self.anchors.contains(at)).collect();
        shuffle(&mut order, rng);
        let mut is_in = vec![false; self.rows.len()];
        self.anchors.iter().for_each(|&at| is_in[at] = true);
        for (visited, &at) in order.iter().enumerate() {
            poll(visited, watch)?;
            let mut ln_odds = self.weigh(at);
            if !self.follows[at] || is_in[at - 1] {
                ln_odds += switching.ln_odds_after(self.from(at));
            }
            if self.follows.get(at + 1) == Some(&true) && is_in[at + 1] {
                ln_odds += switching.ln_odds_before(self.in_second[at + 1]);
            }
            self.in_second[at] = rng.random::<f64>() < logistic(ln_odds);
            self.groups.add(usize::from(self.in_second[at]), self.rows[at]);
            is_in[at] = true;
        }
        ControlFlow::Continue(())
    }

    /// A whole path given where the halves stand.
    fn path(
        &mut self,
        switching: &Switching,
        told: Option<&[bool]>,
        rng: &mut Rng,
        watch: &dyn Watch,
    ) -> ControlFlow<(), f64> {
        self.filter(switching, watch)?;
        let mut ln_q = 0.0;
        for at in (0..self.rows.len()).rev() {
            let mut ln_odds = self.ln_odds[at];
            if self.follows.get(at + 1) == Some(&true) {
                ln_odds += switching.ln_odds_before(self.in_second[at + 1]);
            }
            let second = told.map_or_else(|| rng.random::<f64>() < logistic(ln_odds), |told| told[at]);
            ln_q += ln_chosen(second, ln_odds);
            if second != self.in_second[at] {
                self.groups.sub(usize::from(!second), self.rows[at]);
                self.groups.add(usize::from(second), self.rows[at]);
                self.in_second[at] = second;
            }
        }
        ControlFlow::Continue(ln_q)
    }

    /// Forward: log odds of b given the rows so far, each row's densities those of halves without it.
    fn filter(&mut self, switching: &Switching, watch: &dyn Watch) -> ControlFlow<()> {
        self.ln_odds.clear();
        for at in 0..self.rows.len() {
            poll(at, watch)?;
            let ln_ratio = match self.anchors.iter().position(|&anchor| anchor == at) {
                Some(0) => f64::NEG_INFINITY,
                Some(_) => f64::INFINITY,
                None => {
                    let (half, row) = (usize::from(self.in_second[at]), self.rows[at]);
                    self.groups.sub(half, row);
                    let ln_ratio = self.weigh(at);
                    self.groups.add(half, row);
                    ln_ratio
                }
            };
            let [outside, after_a, after_b] = switching.0;
            let [a, b] = if self.follows[at] {
                let before = self.ln_odds[at - 1];
                let (a, b) = (logistic(-before), logistic(before));
                [a * after_a[0] + b * after_b[0], a * after_a[1] + b * after_b[1]]
            } else {
                outside
            };
            self.ln_odds.push(ln_ratio + (b / a).ln());
        }
        ControlFlow::Continue(())
    }

    /// Log ratio of the predictive densities under b and a for a row that is out.
    fn weigh(&mut self, at: usize) -> f64 {
        let mut scores = [0.0; 3];
        self.groups.weigh(self.rows[at], &mut scores);
        scores[1] - scores[0]
    }

    /// Rid of all groups, rows inside.
    pub fn clear(&mut self) {
        while self.groups.n_groups() > 0 {
            self.groups.close(0);
        }
    }
}

/// The log probability of b, or of a, with these log odds of b.
fn ln_chosen(second: bool, ln_odds: f64) -> f64 {
    -softplus(if second { -ln_odds } else { ln_odds })
}
