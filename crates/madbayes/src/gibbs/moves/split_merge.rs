//! Split-merge moves with restricted Gibbs scans (Jain & Neal 2004, Sec. 3), launched by sequential allocation (Dahl 2005):
//! A(split) = min(1, p(split) p(x | split) / [p(merged) p(x | merged)] * w_b (n-1) / n_b * Beta(f; n_b, n_a) / q).
//!
//! Rows i and j are the anchors. A split puts i's group of n rows in two, a with i and b with j; q is the probability of
//! the last scan's choices. A merge joins i's group a with another, b. i is any row with probability 1/N either way; for
//! a split j is any other row of its group, 1/(n-1); for a merge b is chosen with probability w_b and j from it, 1/n_b.
//!
//! In the scans b has weight f against 1 - f of a. A split draws f evenly from 0 to 1, a merge draws it from
//! Beta(n_b, n_a): so the scan that has to find the present halves again expects their sizes. (With the sizes themselves as
//! weights, halves of one large cluster are seldom merged: the launch state nearly always has other sizes, and q is tiny.)
//! The launch state depends on i, j, f and the rows of both groups together, so it is as likely in either direction.

use super::anchors::{draw_other, ln_choice, ln_pairs, logistic, nth_member, poll, shuffle, softplus};
use crate::likelihood::Groups;
use crate::prior::Seats;
use crate::random::Rng;
use crate::separator::Separator;
use crate::special::ln_gamma;
use crate::sweep::LiveLabels;
use crate::watch::Watch;
use rand::RngExt;
use rand_distr::Gamma;
use std::ops::ControlFlow;

/// Restricted scans between the launch by sequential allocation and the last one, whose choices are the proposal.
const SCANS: usize = 1;

/// The state of a mixture that a move changes: labels, prior and likelihood always say the same.
pub struct Mixture<'a> {
    /// Group of every row.
    pub labels: &'a mut LiveLabels,
    /// Prior.
    pub seats: &'a mut dyn Seats,
    /// Likelihood.
    pub groups: &'a mut dyn Groups,
    /// Discriminative term.
    pub separator: Option<&'a mut dyn Separator>,
}

/// Room for one proposal at a time.
pub struct SplitMerge<'g> {
    /// The two groups a and b.
    halves: Box<dyn Groups + 'g>,
    /// Both together.
    whole: Box<dyn Groups + 'g>,
    /// Rows of both groups but for the anchors, in the order of the scans.
    rows: Vec<usize>,
    /// Which of them are in b.
    in_second: Vec<bool>,
    /// log f/(1-f).
    ln_odds: f64,
    scores: Vec<f64>,
}

impl<'g> SplitMerge<'g> {
    /// From two empty likelihoods. Their groups are closed with rows inside, to be rid of them at once.
    pub fn new(halves: Box<dyn Groups + 'g>, whole: Box<dyn Groups + 'g>) -> Self {
        SplitMerge { halves, whole, rows: vec![], in_second: vec![], ln_odds: 0.0, scores: vec![] }
    }

    /// One proposal: a split or a merge with equal probability. Whether it was accepted; `Break` if the watch stopped it, and
    /// then nothing has changed.
    pub fn propose(&mut self, mixture: &mut Mixture, rng: &mut Rng, watch: &dyn Watch) -> ControlFlow<(), bool> {
        let accepted = if rng.random::<bool>() {
            self.propose_split(mixture, rng, watch)
        } else {
            self.propose_merge(mixture, rng, watch)
        };
        self.clear();
        accepted
    }

    fn propose_split(&mut self, mixture: &mut Mixture, rng: &mut Rng, watch: &dyn Watch) -> ControlFlow<(), bool> {
        let i = rng.random_range(0..mixture.labels.n_rows());
        let old = mixture.labels.group(i);
        let new = mixture.labels.n_groups();
        if mixture.labels.size(old) == 1 || !may_open(mixture.seats, &mut self.scores) {
            return ControlFlow::Continue(false);
        }
        self.gather(mixture.labels, [old, old], &[i]);
        let j = self.rows.swap_remove(rng.random_range(0..self.rows.len()));
        shuffle(&mut self.rows, rng);
        let pair = [i, j];
        self.ln_odds = draw_ln_odds([1, 1], rng);
        self.launch(pair, rng, watch)?;
        let ln_q = self.scan(None, rng, watch)?;
        let sizes = self.half_sizes();
        let ln_share = ln_beta_density(self.ln_odds, sizes);
        let ln_likelihood = self.halves.ln_marginal() - self.ln_marginal_of_whole(pair, watch)?;

        // w_b as the merge that undoes this would see it: all other groups, and b.
        self.scores.clear();
        self.scores.resize(new + 1, 0.0);
        mixture.groups.weigh(i, &mut self.scores);
        let mut of_halves = [0.0; 3];
        self.halves.weigh(i, &mut of_halves);
        self.scores[new] = of_halves[1];
        let ln_anchors = ln_choice(&mut self.scores, old, new) + ln_pairs(sizes);

        let before = mixture.seats.ln_prob();
        mixture.seats.open();
        self.reseat(mixture.seats, j, old, new);
        let ln_prior = mixture.seats.ln_prob() - before;
        if let Some(separator) = &mut mixture.separator {
            separator.draw_candidate();
        }
        let ln_term = self.ln_separation(mixture, j, old, new);
        let accepted = rng.random::<f64>().ln() < ln_prior + ln_likelihood + ln_term + ln_anchors + ln_share - ln_q;
        if accepted {
            mixture.groups.open();
            mixture.labels.open();
            if let Some(separator) = &mut mixture.separator {
                separator.open();
            }
            self.relocate(mixture, j, old, new);
        } else {
            self.reseat(mixture.seats, j, new, old);
            mixture.seats.close(new);
        }
        ControlFlow::Continue(accepted)
    }

    fn propose_merge(&mut self, mixture: &mut Mixture, rng: &mut Rng, watch: &dyn Watch) -> ControlFlow<(), bool> {
        let k = mixture.labels.n_groups();
        let i = rng.random_range(0..mixture.labels.n_rows());
        let a = mixture.labels.group(i);
        if k == 1 {
            return ControlFlow::Continue(false);
        }
        self.scores.clear();
        self.scores.resize(k + 1, 0.0);
        mixture.groups.weigh(i, &mut self.scores);
        self.scores.truncate(k);
        let b = draw_other(&mut self.scores, a, rng);
        let ln_chosen = ln_choice(&mut self.scores, a, b);
        let j = nth_member(mixture.labels, b, rng.random_range(0..mixture.labels.size(b)));
        let pair = [i, j];
        self.gather(mixture.labels, [a, b], &pair);
        shuffle(&mut self.rows, rng);

        // The present halves, and the whole.
        self.open_halves(pair);
        self.in_second.clear();
        for visited in 0..self.rows.len() {
            poll(visited, watch)?;
            let second = mixture.labels.group(self.rows[visited]) == b;
            self.halves.add(usize::from(second), self.rows[visited]);
            self.in_second.push(second);
        }
        let actual = self.in_second.clone();
        let ln_likelihood = self.ln_marginal_of_whole(pair, watch)? - self.halves.ln_marginal();
        let sizes = self.half_sizes();
        self.ln_odds = draw_ln_odds(sizes, rng);
        let ln_anchors = -ln_chosen - ln_pairs(sizes) - ln_beta_density(self.ln_odds, sizes);
        let before = mixture.seats.ln_prob();
        self.reseat(mixture.seats, j, b, a);
        let ln_term = self.ln_separation(mixture, j, b, a);
        let ln_rest = mixture.seats.ln_prob() - before + ln_likelihood + ln_term + ln_anchors;
        let ln_uniform = rng.random::<f64>().ln();
        // ln q is never above 0: most merges are out of the question without it.
        let mut accepted = ln_uniform < ln_rest;
        let mut stopped = false;
        if accepted {
            let ln_q = match self.launch(pair, rng, watch) {
                ControlFlow::Continue(()) => self.scan(Some(&actual), rng, watch),
                ControlFlow::Break(()) => ControlFlow::Break(()),
            };
            stopped = ln_q.is_break();
            accepted = matches!(ln_q, ControlFlow::Continue(ln_q) if ln_uniform < ln_rest + ln_q);
            self.in_second.clone_from(&actual);
        }
        if accepted {
            self.relocate(mixture, j, b, a);
            mixture.groups.close(b);
            mixture.seats.close(b);
            mixture.labels.close(b);
            if let Some(separator) = &mut mixture.separator {
                separator.close(b);
                // Nothing keeps the hyperplane of a merged group: the next row that could open one has a new candidate.
                separator.draw_candidate();
            }
        } else {
            self.reseat(mixture.seats, j, a, b);
        }
        if stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(accepted) }
    }

    /// The rows of two groups in their order, but for some.
    fn gather(&mut self, labels: &LiveLabels, groups: [usize; 2], but: &[usize]) {
        self.rows.clear();
        let of_pair = |row: &usize| groups.contains(&labels.group(*row)) && !but.contains(row);
        self.rows.extend((0..labels.n_rows()).filter(of_pair));
    }

    /// Each anchor alone in its half.
    fn open_halves(&mut self, pair: [usize; 2]) {
        while self.halves.n_groups() > 0 {
            self.halves.close(0);
        }
        for side in 0..2 {
            self.halves.open();
            self.halves.add(side, pair[side]);
        }
    }

    /// Rows in a and b, anchors included.
    fn half_sizes(&self) -> [usize; 2] {
        let second = 1 + self.in_second.iter().filter(|second| **second).count();
        [self.rows.len() + 2 - second, second]
    }

    /// The launch state: rows join the anchors one after the other, then a few restricted scans.
    fn launch(&mut self, pair: [usize; 2], rng: &mut Rng, watch: &dyn Watch) -> ControlFlow<()> {
        self.open_halves(pair);
        self.in_second.clear();
        for visited in 0..self.rows.len() {
            poll(visited, watch)?;
            let row = self.rows[visited];
            let second = rng.random::<f64>() < logistic(self.weigh(row));
            self.halves.add(usize::from(second), row);
            self.in_second.push(second);
        }
        for _ in 0..SCANS {
            self.scan(None, rng, watch)?;
        }
        ControlFlow::Continue(())
    }

    /// One restricted scan: every row but the anchors chooses between a and b, or takes the side it is told to. The log
    /// probability of these choices.
    fn scan(&mut self, told: Option<&[bool]>, rng: &mut Rng, watch: &dyn Watch) -> ControlFlow<(), f64> {
        let mut ln_q = 0.0;
        for visited in 0..self.rows.len() {
            poll(visited, watch)?;
            let row = self.rows[visited];
            self.halves.sub(usize::from(self.in_second[visited]), row);
            let ln_odds = self.weigh(row);
            let second = match told {
                Some(told) => told[visited],
                None => rng.random::<f64>() < logistic(ln_odds),
            };
            ln_q -= softplus(if second { -ln_odds } else { ln_odds });
            self.halves.add(usize::from(second), row);
            self.in_second[visited] = second;
        }
        ControlFlow::Continue(ln_q)
    }

    /// Log odds of b against a for a row that is out: by f and the predictive densities.
    fn weigh(&mut self, row: usize) -> f64 {
        let mut scores = [0.0; 3];
        self.halves.weigh(row, &mut scores);
        scores[1] - scores[0] + self.ln_odds
    }

    fn ln_marginal_of_whole(&mut self, pair: [usize; 2], watch: &dyn Watch) -> ControlFlow<(), f64> {
        self.whole.open();
        for (visited, &row) in pair.iter().chain(&self.rows).enumerate() {
            poll(visited, watch)?;
            self.whole.add(0, row);
        }
        ControlFlow::Continue(self.whole.ln_marginal())
    }

    /// What the discriminative term gains when j and the rows of its half change sides: the sum over them of the log ratios
    /// p(y = 1)/p(y = -1) under the other group's hyperplane less those under theirs. A split draws the new hyperplane from h,
    /// whose density the joint has too, so nothing else is left of it.
    fn ln_separation(&self, mixture: &Mixture, j: usize, from: usize, to: usize) -> f64 {
        let Some(separator) = &mixture.separator else { return 0.0 };
        self.second_half(j).map(|row| separator.ln_ratio(to, row) - separator.ln_ratio(from, row)).sum()
    }

    /// In the prior alone: j and the rows of its half change from one group to the other.
    fn reseat(&self, seats: &mut dyn Seats, j: usize, from: usize, to: usize) {
        for row in self.second_half(j) {
            seats.left(from, row);
            seats.joined(to, row);
        }
    }

    /// The same in labels and likelihood.
    fn relocate(&self, mixture: &mut Mixture, j: usize, from: usize, to: usize) {
        for row in self.second_half(j) {
            mixture.groups.sub(from, row);
            mixture.groups.add(to, row);
            mixture.labels.leave(row);
            mixture.labels.join(row, to);
        }
    }

    fn second_half(&self, j: usize) -> impl Iterator<Item = usize> {
        let others = self.rows.iter().zip(&self.in_second).filter(|(_, second)| **second).map(|(row, _)| *row);
        std::iter::once(j).chain(others)
    }

    fn clear(&mut self) {
        for groups in [&mut self.halves, &mut self.whole] {
            while groups.n_groups() > 0 {
                groups.close(0);
            }
        }
    }
}

/// log f/(1-f) for f ~ Beta(b, a), as a ratio of Gamma draws: f itself may round to 0 or 1.
fn draw_ln_odds(sizes: [usize; 2], rng: &mut Rng) -> f64 {
    let [a, b] = sizes.map(|size| {
        let gamma = Gamma::new(size as f64, 1.0).expect("a group has rows");
        rng.sample(gamma).max(f64::MIN_POSITIVE)
    });
    b.ln() - a.ln()
}

/// log Beta(f; b, a) = lgamma(a+b) - lgamma(a) - lgamma(b) + (b-1) log f + (a-1) log(1-f).
fn ln_beta_density(ln_odds: f64, [a, b]: [usize; 2]) -> f64 {
    let (a, b) = (a as f64, b as f64);
    // log f = -log(1 + exp(-log odds)).
    ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) - (b - 1.0) * softplus(-ln_odds) - (a - 1.0) * softplus(ln_odds)
}

fn may_open(seats: &dyn Seats, scores: &mut Vec<f64>) -> bool {
    scores.clear();
    scores.resize(seats.n_groups() + 1, 0.0);
    seats.weigh(scores);
    scores[seats.n_groups()] > f64::NEG_INFINITY
}
