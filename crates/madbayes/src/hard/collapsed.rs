//! Collapsed DP-means (Broderick 2013, Alg. 2): the sweep in its limit regime, every single move scored exactly (Eq. 9).

use super::passes::{Run, State};
use crate::data::Real;
use crate::likelihood::{Groups, SphericalGroups};
use crate::linalg::NO_LABEL;
use crate::prior::{CrpSeats, DirichletMultinomialSeats, Seats};
use crate::random::Rng;
use crate::sweep::{LiveLabels, Regime, seat_all, sweep};
use crate::watch::Step;
use rand::seq::SliceRandom;

impl<T: Real> Run<'_, T> {
    /// Sweeps until no row moves. The first run takes the rows as they come, others in an order of their own.
    pub fn collapsed(&self, state: &mut State, rng: &mut Rng) {
        // One pass turns the start's centres into labels.
        self.settle(state, 0.0, 1);
        if state.stopped {
            return;
        }
        state.converged = false;
        state.labels.iter_mut().filter(|l| **l == NO_LABEL).for_each(|l| *l = 0);
        let mut order: Vec<usize> = (0..self.data.n_rows()).collect();
        if self.number > 0 {
            order.shuffle(rng);
        }
        let mut labels = LiveLabels::new(&state.labels);
        let mut groups = SphericalGroups::in_the_limit(self.data);
        let mut seats = self.seats();
        seat_all(&labels, seats.as_mut(), &mut groups);
        for _ in 1..self.max_passes {
            let regime = Regime::Limit { temperature: 0.0 };
            let visits = order.iter().copied();
            let swept = sweep(&mut labels, seats.as_mut(), &mut groups, regime, visits, rng, self.watch);
            groups.refresh(&|row| labels.group(row));
            state.labels = labels.to_vec();
            state.offsets = vec![0.0; labels.n_groups() * self.data.n_columns()];
            self.take_means(state);
            let objective = state.objective(&self.goal);
            let before = state.trace.last().copied();
            debug_assert!(before.is_none_or(|b| objective <= b + self.rounding(b)), "{before:?} -> {objective}");
            state.trace.push(objective);
            let step = Step::Pass { run: self.number, pass: state.trace.len(), groups: labels.n_groups(), objective };
            if swept.stopped || self.watch.step(&step).is_break() {
                state.stopped = true;
                break;
            }
            if swept.moved == 0 || -swept.change < self.tolerance * objective {
                state.converged = true;
                break;
            }
        }
    }

    /// The prior whose limit is the goal: the CRP, or the Dirichlet-multinomial where there is a cap (B Eq. 12).
    fn seats(&self) -> Box<dyn Seats> {
        let penalty = self.goal.penalty();
        match self.goal.cap() {
            usize::MAX => Box::new(CrpSeats::new(f64::NEG_INFINITY, penalty)),
            cap => Box::new(DirichletMultinomialSeats::new(cap, f64::NEG_INFINITY, penalty)),
        }
    }
}
