//! The least losses for K = 1, 2, ...: up by the best split and down by the cheapest merge, until neither lowers any.

use super::hull::lower_hull;
use super::path::absolute;
use crate::data::{Data, Real};
use crate::hard::{DpMeans, Goal, Ladder, Restarts, Start, seeds};
use crate::parallel::Workers;
use crate::random::{Stream, stream};
use crate::watch::Watch;
use std::ops::ControlFlow;

/// Values below which one scan of all rows is too short for threads.
const SMALL: usize = 1 << 15;
static SERIAL: Workers = Workers::serial();
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
/// With more rows, the multiply-adds that one pass each of all crossings solved may take.
const GAP_WORK: usize = 1_200_000;
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
        let small = data.n_rows() * data.n_columns() < SMALL;
        let ladder = Ladder::new(data, if small { &SERIAL } else { workers }, watch, PASSES);
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
        let (data, workers, watch, seed) = (self.data, self.workers, self.watch, self.seed);
        if self.seeded >= most {
            let _ = self.sweep(most);
            return;
        }
        self.seeded = most;
        let (found, _) = workers.both(|| from_fresh_seeds(data, most, seed, workers, watch), || self.sweep(most));
        for seeded in found {
            let Some((k, loss, offsets)) = seeded else {
                let _ = self.stop();
                return;
            };
            self.keep(k, loss, &offsets);
        }
        let _ = self.sweep(most);
    }

    /// Solves at the penalties where neighbours on the hull cross, at which a solution between them would pay (Eisner &
    /// Severance 1976): from the larger neighbour, and with few rows, where splits and merges alone miss most, from starts
    /// of its own. With many rows only where a K between the neighbours was missed, the fewest clusters first.
    pub fn solve_crossings(&mut self, most: usize, workers: &Workers) {
        let few = self.data.n_rows() < FEW_ROWS;
        let mut starts = Vec::new();
        let mut gap_work = 0;
        for pair in lower_hull(&self.losses(), 0.0).windows(2) {
            let gap = !few && pair[1].k > pair[0].k + 1;
            if gap {
                gap_work += self.data.n_rows() * self.data.n_columns() * pair[1].k;
            }
            if few || gap && gap_work <= GAP_WORK {
                let centres = absolute(&self.rungs[pair[1].k - 1].offsets, self.data);
                starts.push((pair[0].low, Start::Given(centres), 1));
            }
            if few {
                let work = (self.data.n_rows() * self.data.n_columns() * (pair[1].k + 4)) as f64 * TYPICAL_PASSES;
                let runs = (CROSSING_WORK / work).clamp(1.0, MOST_RUNS) as usize;
                starts.push((pair[0].low, Start::default(), runs));
            }
        }
        let cap = Some(most.clamp(1, self.data.n_rows()));
        let (data, watch, seed) = (self.data, self.watch, self.seed);
        let fits = workers.map(starts.len(), |i| {
            let (penalty, start, runs) = starts[i].clone();
            let goal = Goal::Penalty { penalty, max_clusters: cap };
            let restarts = Restarts::Exactly(runs);
            DpMeans { goal, start, restarts, seed, threads: 1, ..DpMeans::default() }.fit(data, watch)
        });
        for fit in fits.into_iter().flatten() {
            let reference = data.reference().iter().map(|&r| r.into()).cycle();
            let offsets: Vec<f64> = fit.centres.iter().zip(reference).map(|(c, r): (&f64, f64)| c - r).collect();
            self.keep(fit.n_clusters(), fit.loss(), &offsets);
            if fit.stopped {
                let _ = self.stop();
            }
        }
        let _ = self.sweep(most);
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

/// (K, loss, centres) from rounds of fresh seeds, those of few clusters first, as far as the work allowed goes: in every round
/// a start of its own for each K, the first K seeds of one D^2 seeding. None once the watch has said stop.
fn from_fresh_seeds<T: Real>(
    data: &Data<T>,
    most: usize,
    seed: u64,
    workers: &Workers,
    watch: &dyn Watch,
) -> Vec<Option<(usize, f64, Vec<f64>)>> {
    let mut work = 0.0;
    let rounds: Vec<(usize, u32)> = (1..=FRESH_ROUNDS)
        .rev()
        .map(|round| (most / (round + 1), round as u32))
        .take_while(|(largest, _)| {
            work += (data.n_rows() * data.n_columns() * largest * largest) as f64 * 0.5 * SEEDED_PASSES;
            work <= FRESH_WORK
        })
        .filter(|(largest, _)| *largest >= 2)
        .collect();
    let seeds = workers.map(rounds.len(), |i| {
        let (largest, round) = rounds[i];
        seeds(data, largest, &mut stream(seed, Stream::Restart(round)), watch)
    });
    let d = data.n_columns();
    let starts: Vec<&[f64]> = seeds.iter().flat_map(|seeds| (2..=seeds.len() / d).map(|k| &seeds[..k * d])).collect();
    workers.map(starts.len(), |i| {
        let mut ladder = Ladder::new(data, &SERIAL, watch, PASSES)?;
        ladder.stand_on(starts[i], SEED_PASSES).continue_value()?;
        ladder.step_to(starts[i].len() / d).continue_value()?;
        Some((ladder.k(), ladder.loss(), ladder.offsets().to_vec()))
    })
}
