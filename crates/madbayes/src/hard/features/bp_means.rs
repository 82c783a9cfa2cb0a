//! BP-means and its family: what a user sets (Broderick 2013, Eq. 6, 14, 15).

use super::FeatureGoal;
use super::fit::Fit;
use super::learned::{Features, check_components};
use super::row_problem::RowSolver;
use crate::data::{Data, EitherData, Real};
use crate::error::{Error, Result};
use crate::hard::Restarts;
use crate::structure::Allocation;
use crate::watch::Watch;

/// How the objective is lowered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FeatureAlgorithm {
    /// All rows at once, then the components (B Alg. 1 and 4).
    #[default]
    Alternating,
    /// Row after row with the components following every move (B Alg. 3).
    Collapsed,
    /// K-features for K = 1, 2, .. until the objective no longer falls, each step started from the one before as well
    /// (B Sec. 5). Where K is given, up to that K.
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
    /// This allocation of the same rows, as from another fit.
    Allocation(Allocation),
}

/// Parameters of BP-means and K-features.
///
/// Up to 2,048 rows all work is on their inner products. Of more rows runs see 512 of a sample, and are enough once they
/// leave nothing but noise; their features go on to the 2,048 rows of the sample, and from there to passes over all rows.
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
    /// Whether changes of basis, regrown features and collapsed sweeps are tried until none helps.
    pub polish: bool,
    /// How many runs; the best is kept. Later runs start from rows drawn at random, or from a random change of the first
    /// run's features.
    pub restarts: Restarts,
    /// Most passes of one run, between two moves where it is polished.
    pub max_passes: usize,
    /// Passes over more rows than a sample end when one lowers the objective by less than this share of it; 0: when
    /// nothing changes.
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
            tolerance: 1e-6,
            seed: 0,
            threads: 0,
        }
    }
}

impl BpMeans {
    /// The most rows whose inner products are held: starts and polishing see a sample of so many.
    pub const SAMPLE: usize = 2048;

    /// BP-means with this penalty (lambda^2), other parameters by default.
    pub fn with_penalty(penalty: f64) -> Self {
        BpMeans { goal: FeatureGoal::Penalty { penalty, max_features: None }, ..Default::default() }
    }

    /// K-features with this many features, other parameters by default.
    pub fn k_features(n_features: usize) -> Self {
        BpMeans { goal: FeatureGoal::Exactly(n_features), ..Default::default() }
    }

    /// Errors unless the parameters make sense for this data.
    pub fn check<T: Real>(&self, data: &Data<T>) -> Result<()> {
        self.goal.check(data.n_rows())?;
        self.check_start(data)?;
        self.restarts.check()?;
        if self.max_passes == 0 {
            return Err(Error::argument("max_passes", "at least 1", 0, "one pass gives every row its features"));
        }
        if !(self.tolerance.is_finite() && self.tolerance >= 0.0) {
            return Err(Error::argument(
                "tolerance",
                "a finite number of at least 0",
                self.tolerance,
                "0 goes on until nothing changes",
            ));
        }
        if data.weights().is_some() {
            return Err(Error::argument(
                "weights",
                "absent: features know no row weights",
                "row weights",
                "repeat the rows",
            ));
        }
        // Features are sums about the origin: there is no reference point to subtract.
        let largest = data.ranges().iter().map(|(low, high)| low.abs().max(high.abs())).fold(0.0, f64::max);
        if largest > T::LARGEST {
            return Err(Error::data(
                format!("a value of size {largest:e}, and {} squares overflow beyond {:e}", T::NAME, T::LARGEST),
                "divide the data by a constant, or subtract the column means",
            ));
        }
        Ok(())
    }

    fn check_start<T: Real>(&self, data: &Data<T>) -> Result<()> {
        let n_features = match &self.start {
            FeatureStart::Spectral | FeatureStart::PlusPlus => return Ok(()),
            FeatureStart::Given(components) => {
                check_components(components, data.n_columns())?;
                components.len() / data.n_columns()
            }
            FeatureStart::Allocation(allocation) => {
                if allocation.n_rows() != data.n_rows() {
                    return Err(Error::argument(
                        "start",
                        format!("an allocation of the data's {} rows", data.n_rows()),
                        format!("one of {} rows", allocation.n_rows()),
                        "start from a fit of the same rows, or from its components",
                    ));
                }
                allocation.n_features()
            }
        };
        let cap = self.goal.cap(data.n_rows());
        if n_features > cap {
            let help = "give fewer features or allow more";
            return Err(Error::argument("start", format!("at most {cap} features"), n_features, help));
        }
        Ok(())
    }

    /// Fits; the best of all runs. Stopped by the watch, it returns the best so far.
    pub fn fit<T: Real>(&self, data: &Data<T>, watch: &dyn Watch) -> Result<Features> {
        fn either(this: &BpMeans, data: EitherData, watch: &dyn Watch) -> Result<Features> {
            either!(data, data => this.fit_on(data, watch))
        }
        either(self, T::either_data(data), watch)
    }

    fn fit_on<T: Real>(&self, data: &Data<T>, watch: &dyn Watch) -> Result<Features> {
        self.check(data)?;
        Fit::new(self, data, watch).run()
    }
}
