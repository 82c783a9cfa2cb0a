//! The least losses for K = 1, 2, ...: up by the best split and down by the cheapest merge, until neither lowers any.

use super::hull::lower_hull;
use super::path::absolute;
use crate::data::{Data, Real};
use crate::hard::{DpMeans, Goal, Ladder, Restarts, Start, seeds};
use crate::parallel::Workers;
use crate::random::{Stream, stream};
use crate::watch::Watch;
use std::ops::ControlFlow;

/// Passes of one step from K to a neighbour.
const PASSES: usize = 20;
/// Passes from fresh seeds before the first moves.
const SEED_PASSES: usize = 3;
/// Sweeps up and down; improvements become rare long before.
const SWEEPS: usize = 4;
/// Neighbours are tried again when a loss falls by this share of its fall from K - 1.
const WORTHWHILE: f64 = 0.05;
/// Rounds of fresh seeds; the i-th goes up to 1/(i + 1) of the largest K: few large clusters have the worst local minima.
const FRESH_ROUNDS: usize = 16;
/// The multiply-adds they may take; the rounds of few clusters come first.
const FRESH_WORK: f64 = 1.5e9;
/// Passes from typical fresh seeds.
const SEEDED_PASSES: f64 = 10.0;
/// Rows below which crossings are solved from starts of their own, as many as this many multiply-adds allow.
const FEW_ROWS: usize = 2048;
const CROSSING_WORK: f64 = 4e6;
const TYPICAL_PASSES: f64 = 20.0;
const MOST_RUNS: f64 = 24.0;

/// The best clustering found with K clusters.
#[derive(Debug, Clone)]
pub(super) struct Rung {
    /// Its centres relative to the reference point, K x D.
    pub offsets: Vec<f64>,
    pub loss: f64,
    /// Whether K + 1 and K - 1 have been tried from here.
    climbed: bool,
    descended: bool,
}

/// Clusterings of the same data for K = 1, 2, ..., each the start of its neighbours.
pub(super) struct Climb<'a, T> {
    data: &'a Data<'a, T>,
    workers: &'a Workers,
    watch: &'a dyn Watch,
    seed: u64,
    /// None once the watch has said stop.
    ladder: Option<Ladder<'a, T>>,
    /// The K on whose rung the ladder stands; 0 if on none.
    standing: usize,
    /// The largest K that fresh seeds were tried for.
    seeded: usize,
    pub rungs: Vec<Rung>,
}

impl<'a, T: Real> Climb<'a, T> {
    /// With all rows in one cluster.
    pub fn new(data: &'a Data<'a, T>, workers: &'a Workers, watch: &'a dyn Watch, seed: u64) -> Self {
        let ladder = Ladder::new(data, workers, watch, PASSES);
        let mut climb = Climb { data, workers, watch, seed, ladder, standing: 0, seeded: 1, rungs: Vec::new() };
        climb.keep_standing();
        climb
    }

    /// Whether the watch has said stop.
    pub fn stopped(&self) -> bool {
        self.ladder.is_none()
    }

    /// (K, loss) of all rungs.
    pub fn losses(&self) -> Vec<(usize, f64)> {
        self.rungs.iter().enumerate().map(|(i, rung)| (i + 1, rung.loss)).collect()
    }

    /// Rungs for all K up to `most`, or as far as there are distinct rows.
    pub fn reach(&mut self, most: usize) {
        let _ = self.sweep(most);
        if self.seeded < most {
            self.seed_rounds(most);
            self.seeded = most;
            let _ = self.sweep(most);
        }
    }

    /// Solves at the penalties where neighbours on the hull cross, at which a solution between them would pay (Eisner &
    /// Severance 1976): from the larger neighbour, and with few rows, where splits and merges alone miss most, from starts
    /// of its own. With many rows only where a K between the neighbours was missed.
    pub fn solve_crossings(&mut self, most: usize) {
        let few = self.data.n_rows() < FEW_ROWS;
        for pair in lower_hull(&self.losses(), 0.0).windows(2) {
            if self.stopped() {
                return;
            }
            if few || pair[1].k > pair[0].k + 1 {
                let centres = absolute(&self.rungs[pair[1].k - 1].offsets, self.data);
                let _ = self.solve(pair[0].low, most, Start::Given(centres), 1);
            }
            if few {
                let work = (self.data.n_rows() * self.data.n_columns() * (pair[1].k + 4)) as f64 * TYPICAL_PASSES;
                let _ = self.solve(
                    pair[0].low,
                    most,
                    Start::default(),
                    (CROSSING_WORK / work).clamp(1.0, MOST_RUNS) as usize,
                );
            }
        }
        let _ = self.sweep(most);
    }

    /// One fit at a penalty, kept if it is better than what is known for its K.
    fn solve(&mut self, penalty: f64, most: usize, start: Start, runs: usize) -> ControlFlow<()> {
        let cap = Some(most.clamp(1, self.data.n_rows()));
        let parameters = DpMeans {
            goal: Goal::Penalty { penalty, max_clusters: cap },
            start,
            restarts: Restarts::Exactly(runs),
            seed: self.seed,
            threads: self.workers.count(),
            ..DpMeans::default()
        };
        let Ok(fit) = parameters.fit(self.data, self.watch) else { return ControlFlow::Continue(()) };
        let reference = self.data.reference().iter().map(|&r| r.into()).cycle();
        let offsets: Vec<f64> = fit.centres.iter().zip(reference).map(|(c, r): (&f64, f64)| c - r).collect();
        self.keep(fit.n_clusters(), fit.loss(), &offsets);
        if fit.stopped { self.stop() } else { ControlFlow::Continue(()) }
    }

    /// Up and down until no rung gets better.
    pub fn sweep(&mut self, most: usize) -> ControlFlow<()> {
        for _ in 0..SWEEPS {
            let improved = self.up(most)? + self.down(most)?;
            if improved == 0 {
                return ControlFlow::Continue(());
            }
        }
        // Losses fall from K to K + 1, whatever the sweeps have left undone.
        self.up(most).map_continue(|_| ())
    }

    /// From every rung that was not climbed from yet to the next; how many got better.
    fn up(&mut self, most: usize) -> ControlFlow<(), usize> {
        let mut improved = 0;
        let mut k = 1;
        while k < most && k <= self.rungs.len() {
            if !self.rungs[k - 1].climbed && self.rungs[k - 1].loss > 0.0 {
                improved += usize::from(self.step(k, k + 1)?);
                self.rungs[k - 1].climbed = true;
            }
            k += 1;
        }
        ControlFlow::Continue(improved)
    }

    /// From every rung that was not left downwards yet to the one below; how many got better.
    fn down(&mut self, most: usize) -> ControlFlow<(), usize> {
        let mut improved = 0;
        for k in (3..=self.rungs.len().min(most)).rev() {
            if !self.rungs[k - 1].descended {
                improved += usize::from(self.step(k, k - 1)?);
                self.rungs[k - 1].descended = true;
            }
        }
        ControlFlow::Continue(improved)
    }

    /// Rounds of fresh seeds, those of few clusters first, as far as the work allowed goes.
    fn seed_rounds(&mut self, most: usize) {
        let mut work = 0.0;
        for round in (1..=FRESH_ROUNDS).rev() {
            let largest = most / (round + 1);
            work += (self.data.n_rows() * self.data.n_columns() * largest * largest) as f64 * 0.5 * SEEDED_PASSES;
            if work > FRESH_WORK || self.seed_anew(largest, round as u32).is_break() {
                return;
            }
        }
    }

    /// A start of its own for every K up to `most`: the first K seeds of one D^2 seeding.
    fn seed_anew(&mut self, most: usize, round: u32) -> ControlFlow<()> {
        let (most, d) = (most.min(self.rungs.len()), self.data.n_columns());
        let rng = &mut stream(self.seed, Stream::Restart(round));
        let seeds = if most < 2 { Vec::new() } else { seeds(self.data, most, rng, self.watch) };
        let (data, watch, serial) = (self.data, self.watch, Workers::serial());
        let found = self.workers.map((seeds.len() / d).saturating_sub(1), |i| {
            let mut ladder = Ladder::new(data, &serial, watch, PASSES)?;
            ladder.stand_on(&seeds[..(i + 2) * d], SEED_PASSES).continue_value()?;
            ladder.step_to(i + 2).continue_value()?;
            Some((ladder.k(), ladder.loss(), ladder.offsets().to_vec()))
        });
        for seeded in found {
            let Some((k, loss, offsets)) = seeded else { return self.stop() };
            self.keep(k, loss, &offsets);
        }
        ControlFlow::Continue(())
    }

    /// From the rung of one K to another K; whether that one is better than what was there.
    fn step(&mut self, from: usize, to: usize) -> ControlFlow<(), bool> {
        let there = self.standing == from;
        let offsets = if there { Vec::new() } else { self.rungs[from - 1].offsets.clone() };
        self.walk(|ladder| {
            if !there {
                ladder.stand_on(&offsets, 1)?;
            }
            ladder.step_to(to)
        })?;
        ControlFlow::Continue(self.keep_standing())
    }

    /// Leaves the rung the ladder stands on.
    fn walk(&mut self, way: impl FnOnce(&mut Ladder<'a, T>) -> ControlFlow<()>) -> ControlFlow<()> {
        self.standing = 0;
        let walked = self.ladder.as_mut().map_or(ControlFlow::Break(()), way);
        if walked.is_break() { self.stop() } else { walked }
    }

    fn stop(&mut self) -> ControlFlow<()> {
        self.ladder = None;
        ControlFlow::Break(())
    }

    /// Keeps where the ladder stands, if that is better than what is known for its K.
    fn keep_standing(&mut self) -> bool {
        let Some(ladder) = &self.ladder else { return false };
        let (k, loss, offsets) = (ladder.k(), ladder.loss(), ladder.offsets().to_vec());
        let kept = self.keep(k, loss, &offsets);
        if kept {
            self.standing = k;
        }
        kept
    }

    fn keep(&mut self, k: usize, loss: f64, offsets: &[f64]) -> bool {
        if k == self.rungs.len() + 1 {
            self.rungs.push(Rung { offsets: offsets.to_vec(), loss, climbed: false, descended: false });
            self.standing = 0;
            return true;
        }
        if k > self.rungs.len() || loss >= self.rungs[k - 1].loss {
            return false;
        }
        let before = if k > 1 { self.rungs[k - 2].loss } else { f64::INFINITY };
        let rung = &mut self.rungs[k - 1];
        let worthwhile = rung.loss - loss > WORTHWHILE * (before - loss);
        (rung.offsets, rung.loss) = (offsets.to_vec(), loss);
        if worthwhile {
            (rung.climbed, rung.descended) = (false, false);
        }
        self.standing = 0;
        worthwhile
    }
}
