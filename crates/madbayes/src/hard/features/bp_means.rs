//! BP-means and its family: parameters, restarts, and the best of the runs (Broderick 2013, Eq. 6, 14, 15).

use super::FeatureGoal;
use super::coordinates::Coordinates;
use super::features::Features;
use super::core::{Core, Products};
use super::polish::Search;
use super::row_problem::Scratch;
use super::passes::{Run, State, squares};
use super::row_problem::RowSolver;
use super::spectral::spectral;
use crate::data::{Data, Real, Rows};
use crate::error::{Error, Result};
use crate::hard::Restarts;
use crate::parallel::Workers;
use crate::random::{Rng, Stream, stream};
use crate::structure::Allocation;
use crate::watch::{Step, Watch};
use std::ops::ControlFlow;

/// How the objective is lowered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FeatureAlgorithm {
    /// All rows at once, then the components (B Alg. 1 and 4).
    #[default]
    Alternating,
    /// Row after row with the components following every move (B Alg. 3).
    Collapsed,
    /// K-features for K = 1, 2, .. until the objective no longer falls (B Sec. 5).
    Stepwise,
}

/// Where a run begins.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum FeatureStart {
    /// 0/1 columns near the column space of the data, with and without a base feature; the better is kept.
    #[default]
    Spectral,
    /// A base feature, then residuals drawn by their squares, as in the paper.
    PlusPlus,
    /// These components, K x D.
    Given(Vec<f64>),
    /// This allocation, as from another fit.
    Allocation(Allocation),
}

/// Parameters of BP-means and K-features.
#[derive(Debug, Clone, PartialEq)]
pub struct BpMeans {
    /// The objective.
    pub goal: FeatureGoal,
    /// How it is lowered.
    pub algorithm: FeatureAlgorithm,
    /// Where a run begins.
    pub start: FeatureStart,
    /// How the features of one row are found.
    pub row_solver: RowSolver,
    /// Whether spectral starts with a feature that all rows have are tried as well; the better is kept.
    pub base_feature: bool,
    /// Whether changes of basis and regrown features are tried until none helps.
    pub polish: bool,
    /// How many runs; the best is kept.
    pub restarts: Restarts,
    /// Most passes of one run between two moves of the polishing.
    pub max_passes: usize,
    /// A run has converged when a pass lowers the objective by less than this share of it; 0: when nothing changes.
    pub tolerance: f64,
    /// Seed of all random choices.
    pub seed: u64,
    /// Threads; 0: one per processor.
    pub threads: usize,
}

impl Default for BpMeans {
    fn default() -> Self {
        BpMeans {
            goal: FeatureGoal::Penalty { penalty: 1.0, max_features: None },
            algorithm: FeatureAlgorithm::default(),
            start: FeatureStart::default(),
            row_solver: RowSolver::default(),
            base_feature: true,
            polish: true,
            restarts: Restarts::default(),
            max_passes: 300,
            tolerance: 0.0,
            seed: 0,
            threads: 0,
        }
    }
}

impl BpMeans {
    /// BP-means with this penalty (lambda^2), other parameters by default.
    pub fn with_penalty(penalty: f64) -> Self {
        BpMeans { goal: FeatureGoal::Penalty { penalty, max_features: None }, ..Default::default() }
    }

    /// K-features with this many features, other parameters by default.
    pub fn k_features(n_features: usize) -> Self {
        BpMeans { goal: FeatureGoal::Exactly(n_features), ..Default::default() }
    }

    /// Fits; the best of all runs.
    pub fn fit<T: Real>(&self, data: &Data<T>, watch: &dyn Watch) -> Result<Features> {
        let workers = Workers::serial();
        let values: Vec<f64> = data.rows().values().iter().map(|&x| x.into()).collect();
        let k = self.goal.cap(data.n_rows()).min(32);
        let coordinates = Coordinates::new(&values, data.n_rows(), data.n_columns(), k);
        let core = Data::new(Rows::new(&coordinates.values, coordinates.n_columns)?)?;
        let squares = squares(&core);
        let run = Run {
            data: &core,
            squares: &squares,
            total: squares.iter().sum(),
            goal: self.goal,
            solver: self.row_solver,
            workers: &workers,
            watch,
            number: 0,
            max_passes: self.max_passes,
            tolerance: self.tolerance,
        };
        let products = Products::new(&coordinates.values, coordinates.n_rows, coordinates.n_columns);
        let mut search = Search { products: &products, goal: self.goal, solver: self.row_solver, watch, scratch: Scratch::default(), passes: 0 };
        let mut best: Option<Core> = None;
        let var = |n: &str, d: &str| std::env::var(n).unwrap_or(d.into());
        let kicks: usize = var("KICKS", "0").parse().unwrap();
        let starts: usize = var("STARTS", "0").parse().unwrap();
        let coll = var("COLL", "1") == "1";
        let mut rng = stream(self.seed, Stream::Restart(0));
        for i in 0..2 + starts {
            let base = i % 2 == 0;
            let z = spectral(&coordinates, k, base, if i < 2 { None } else { Some(&mut rng) });
            let mut state = Core::new(&z, &products);
            search.refill(&mut state);
            let _ = search.settle(&mut state, 300);
            if best.as_ref().is_none_or(|b| state.loss < b.loss) {
                best = Some(state);
            }
        }
        let mut best = best.unwrap();
        let finish = |search: &mut Search, best: &mut Core| loop {
            let _ = search.polish(best);
            if !coll { break; }
            let ControlFlow::Continue(mut s) = run.fit_allocation(best.allocation()) else { break };
            let _ = run.sweep_collapsed(&mut s, 20);
            if s.loss < best.loss * (1.0 - 1e-9) - 1e-13 * products.total { *best = Core::new(&s.allocation, &products); } else { break }
        };
        finish(&mut search, &mut best);
        for _ in 0..kicks {
            if let ControlFlow::Continue(mut trial) = search.kick(&best, &mut rng) {
                if trial.loss < best.loss * (1.0 - 1e-9) {
                    finish(&mut search, &mut trial);
                    best = trial;
                }
            }
        }
        if var("SHOW", "0") == "1" { eprintln!("passes {}", search.passes); }
        let best = run.fit_allocation(best.allocation());
        let ControlFlow::Continue(best) = best else { panic!() };
        Ok(Features { loss: best.loss, allocation: best.allocation })
    }
}
