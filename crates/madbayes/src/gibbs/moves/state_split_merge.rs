//! Split-merge moves of hidden states (Jain & Neal 2004, Sec. 3, with whole paths in place of restricted Gibbs scans):
//! A(split) = min(1, p(split) p(x | split) / [p(merged) p(x | merged)] * w_b (n-1)/n_b * g(beta_merged | merged) / [g(beta_split | split) q] * c).
//!
//! Rows i and j are the anchors, as for mixtures: a split puts i's state of n rows in two, a with i and b with j; a merge joins i's state
//! a with another, b, chosen with probability w_b. [`Halves`] shares the rows with probability q, in one of two ways, either of which
//! leaves the posterior unchanged: at once, which finds two true states in one, or one by one, which merges the halves of one true
//! state. Each is taken with probability r for what it is good at, else with 1-r: c = (1-r)/r for a split at once, r/(1-r) one by one.
//! At once q is r(T) q(z | T) / r(T | z): T is the switching between the halves, which a split draws from r(T), a merge
//! from r(T | z) given the present halves.
//!
//! p is the joint of states and their weights beta. The weights of the states that change and what is left for new ones are drawn anew
//! within their sum, with density g given the transitions, after the rows are shared: weights drawn without them hardly ever fit a
//! merged state. One by one the halves have equal weights meanwhile.

use super::anchors::{draw_other, ln_choice, ln_pairs, nth_member};
use super::halves::{Halves, Switches, Switching};
use crate::likelihood::Groups;
use crate::prior::{HdpSeats, Seats};
use crate::random::Rng;
use crate::separator::Separator;
use crate::sweep::LiveLabels;
use crate::watch::Watch;
use rand::RngExt;
use std::ops::ControlFlow;

/// What a move changes: labels, prior and likelihood always say the same.
pub(in crate::gibbs) struct States<'a> {
    /// State of every row.
    pub labels: &'a mut LiveLabels,
    /// Prior.
    pub seats: &'a mut HdpSeats,
    /// Likelihood.
    pub groups: &'a mut dyn Groups,
    /// Discriminative term.
    pub separator: Option<&'a mut dyn Separator>,
}

/// The probability r of splits at once, and of merges one by one.
const USUAL: f64 = 0.8;

/// How rows are shared.
#[derive(Debug, Clone, Copy)]
struct Way {
    at_once: bool,
    /// Whether that is what it is good at.
    is_usual: bool,
}

impl Way {
    fn draw(is_split: bool, rng: &mut Rng) -> Self {
        let is_usual = rng.random::<f64>() < USUAL;
        Way { at_once: is_usual == is_split, is_usual }
    }

    /// How much likelier this way is for the move that undoes the proposal: log c, or -log c for a merge.
    fn ln_undone(self) -> f64 {
        let ln_odds = (USUAL / (1.0 - USUAL)).ln();
        if self.is_usual { -ln_odds } else { ln_odds }
    }
}

/// Room for one proposal at a time.
pub(in crate::gibbs) struct StateSplitMerge<'g> {
    halves: Halves<'g>,
    scores: Vec<f64>,
    /// A proposal of more rows than this is made with probability `rows` over their number, which is the same for a split and the
    /// merge that undoes it.
    rows: f64,
}

impl<'g> StateSplitMerge<'g> {
    /// From an empty likelihood; so many rows a proposal should take at most, on average.
    pub fn new(groups: Box<dyn Groups + 'g>, rows: f64) -> Self {
        StateSplitMerge { halves: Halves::new(groups), scores: vec![], rows }
    }

    /// One proposal: a split or a merge with equal probability. Whether it was accepted; `Break` if the watch stopped it, and then
    /// nothing has changed.
    pub fn propose(&mut self, states: &mut States, rng: &mut Rng, watch: &dyn Watch) -> ControlFlow<(), bool> {
        let is_split = rng.random::<bool>();
        let way = Way::draw(is_split, rng);
        let accepted = if is_split {
            self.propose_split(states, way, rng, watch)
        } else {
            self.propose_merge(states, way, rng, watch)
        };
        self.halves.clear();
        accepted
    }

    fn propose_split(
        &mut self,
        states: &mut States,
        way: Way,
        rng: &mut Rng,
        watch: &dyn Watch,
    ) -> ControlFlow<(), bool> {
        let i = rng.random_range(0..states.labels.n_rows());
        let (old, new) = (states.labels.group(i), states.labels.n_groups());
        let n = states.labels.size(old);
        if n == 1 || new >= states.seats.hdp().most_states() || !self.is_worth(n, rng) {
            return ControlFlow::Continue(false);
        }
        self.halves.gather(states.labels, states.seats, [old, old]);
        let ln_whole = self.halves.ln_marginal_of_whole(watch)?;
        let mut nth = rng.random_range(0..n - 1);
        nth += usize::from(self.halves.rows()[nth] >= i);
        let anchors = [i, self.halves.rows()[nth]];

        let mut seats = states.seats.clone();
        let ln_weights = seats.ln_redrawn(&[old]);
        seats.open_without_weight();
        let ln_q = if way.at_once {
            let switching = Switching::draw(&Switches::default(), rng);
            let ln_q = self.halves.at_once(anchors, &switching, None, rng, watch)?;
            self.reseat(&mut seats, old, new);
            ln_q - switching.ln_density(&self.halves.switches()) + switching.ln_density(&Switches::default())
        } else {
            seats.share_evenly([old, new]);
            self.halves.one_by_one(anchors, (&mut seats, [old, new]), None, rng, watch)?
        };
        let ln_weights = ln_weights - seats.redraw(&[old, new], rng);
        let ln_prior = seats.ln_prob() - states.seats.ln_prob();
        let ln_likelihood = self.halves.ln_marginal() - ln_whole;

        // w_b as the merge that undoes this would see it: all other states, and b.
        self.scores.clear();
        self.scores.resize(new + 1, 0.0);
        states.groups.weigh(i, &mut self.scores);
        self.scores[new] = self.halves.ln_predictive(i);
        let ln_anchors = ln_choice(&mut self.scores, old, new) + ln_pairs(self.halves.sizes());
        if let Some(separator) = &mut states.separator {
            separator.draw_candidate();
        }
        let ln_term = self.ln_separation(states, old, new);
        let ln_ratio = ln_prior + ln_likelihood + ln_term + ln_anchors + ln_weights + way.ln_undone() - ln_q;
        let accepted = rng.random::<f64>().ln() < ln_ratio;
        if accepted {
            *states.seats = seats;
            states.groups.open();
            states.labels.open();
            if let Some(separator) = &mut states.separator {
                separator.open();
            }
            self.relocate(states, old, new);
        }
        ControlFlow::Continue(accepted)
    }

    fn propose_merge(
        &mut self,
        states: &mut States,
        way: Way,
        rng: &mut Rng,
        watch: &dyn Watch,
    ) -> ControlFlow<(), bool> {
        let k = states.labels.n_groups();
        let i = rng.random_range(0..states.labels.n_rows());
        let a = states.labels.group(i);
        if k == 1 {
            return ControlFlow::Continue(false);
        }
        self.scores.clear();
        self.scores.resize(k + 1, 0.0);
        states.groups.weigh(i, &mut self.scores);
        self.scores.truncate(k);
        let b = draw_other(&mut self.scores, a, rng);
        let ln_chosen = ln_choice(&mut self.scores, a, b);
        if !self.is_worth(states.labels.size(a) + states.labels.size(b), rng) {
            return ControlFlow::Continue(false);
        }
        let anchors = [i, nth_member(states.labels, b, rng.random_range(0..states.labels.size(b)))];
        self.halves.gather(states.labels, states.seats, [a, b]);
        let ln_likelihood = self.halves.ln_marginal_of_whole(watch)? - self.halves.ln_marginal_of_both(watch)?;
        let ln_anchors = -ln_chosen - ln_pairs(self.halves.sizes());

        let mut seats = states.seats.clone();
        let ln_weights = seats.ln_redrawn(&[a, b]);
        self.reseat(&mut seats, b, a);
        seats.close(b);
        // The last state has taken b's number.
        let merged = if a == k - 1 { b } else { a };
        let ln_weights = ln_weights - seats.redraw(&[merged], rng);
        let ln_prior = seats.ln_prob() - states.seats.ln_prob();
        let ln_term = self.ln_separation(states, b, a);
        let mut ln_rest = ln_prior + ln_likelihood + ln_term + ln_anchors + ln_weights + way.ln_undone();
        let switching = way.at_once.then(|| {
            let seen = self.halves.switches();
            let switching = Switching::draw(&seen, rng);
            ln_rest += switching.ln_density(&Switches::default()) - switching.ln_density(&seen);
            switching
        });
        let ln_uniform = rng.random::<f64>().ln();
        // ln q is never above 0: most merges are out of the question without it.
        if ln_uniform >= ln_rest {
            return ControlFlow::Continue(false);
        }
        let present = self.halves.in_second().to_vec();
        let ln_q = match switching {
            Some(switching) => self.halves.at_once(anchors, &switching, Some(&present), rng, watch)?,
            None => {
                let mut seats = states.seats.clone();
                seats.share_evenly([a, b]);
                self.halves.one_by_one(anchors, (&mut seats, [a, b]), Some(&present), rng, watch)?
            }
        };
        let accepted = ln_uniform < ln_rest + ln_q;
        if accepted {
            *states.seats = seats;
            self.relocate(states, b, a);
            states.groups.close(b);
            states.labels.close(b);
            if let Some(separator) = &mut states.separator {
                separator.close(b);
                // Nothing keeps the hyperplane of a merged state: the next row that could open one has a new candidate.
                separator.draw_candidate();
            }
        }
        ControlFlow::Continue(accepted)
    }

    /// Whether a proposal that takes n rows is made.
    fn is_worth(&self, n: usize, rng: &mut Rng) -> bool {
        rng.random::<f64>() * (n as f64) < self.rows
    }

    /// What the discriminative term gains when the rows of b change sides, as for mixtures.
    fn ln_separation(&self, states: &States, from: usize, to: usize) -> f64 {
        let Some(separator) = &states.separator else { return 0.0 };
        self.halves.second().map(|row| separator.ln_ratio(to, row) - separator.ln_ratio(from, row)).sum()
    }

    /// In the prior alone: the rows of b change from one state to the other.
    fn reseat(&self, seats: &mut HdpSeats, from: usize, to: usize) {
        for row in self.halves.second() {
            seats.left(from, row);
            seats.joined(to, row);
        }
    }

    /// The same in labels and likelihood.
    fn relocate(&self, states: &mut States, from: usize, to: usize) {
        for row in self.halves.second() {
            states.groups.sub(from, row);
            states.groups.add(to, row);
            states.labels.leave(row);
            states.labels.join(row, to);
        }
    }
}
