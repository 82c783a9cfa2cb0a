//! A penalty where none is given, by a named rule, and the clusters at it: `auto`, `validation` or `farthest-first:K`.

use super::automatic::{Choice, automatic};
use super::exactly::keep_better;
use super::path::{ClusterPath, PathSearch};
use super::{PenaltyInterval, farthest_first_penalty};
use crate::data::{Data, EitherData, Real};
use crate::error::{Error, Result};
use crate::hard::{Algorithm, Clustering, DpMeans, Goal, Restarts, Start};
use crate::parallel::Workers;
use crate::watch::{Step, Watch};
use std::str::FromStr;

/// How a penalty is chosen from the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PenaltyRule {
    /// By the K that persists, see [`automatic`](super::automatic()).
    #[default]
    Automatic,
    /// By the largest K that held-out rows confirm, see [`PathSearch::validate_clusters`].
    Validation,
    /// For about this many clusters, see [`farthest_first_penalty`](super::farthest_first_penalty()).
    FarthestFirst(usize),
}

/// A penalty that a rule has chosen.
#[derive(Debug, Clone, PartialEq)]
pub struct Chosen {
    /// The penalty.
    pub penalty: f64,
    /// The penalties for which the same number of clusters is optimal, where the rule looked for them.
    pub penalties: Option<PenaltyInterval>,
    /// What the automatic choice says of itself.
    pub choice: Option<Choice>,
    /// How many rows were searched for it, where not all were.
    pub sampled_rows: Option<usize>,
    /// The path the choice was made on, where the rule looked for one.
    pub path: Option<ClusterPath>,
    /// The number of clusters on it.
    k: usize,
}

/// Clusters at a penalty that a rule has chosen.
#[derive(Debug, Clone, PartialEq)]
pub struct ChosenFit {
    /// The clusters.
    pub clustering: Clustering,
    /// The penalty.
    pub chosen: Chosen,
}

impl FromStr for PenaltyRule {
    type Err = ();

    /// From its name; what is no name of a rule may still be a number.
    fn from_str(name: &str) -> std::result::Result<Self, ()> {
        match (name, name.strip_prefix("farthest-first:").map(str::parse)) {
            ("auto", _) => Ok(PenaltyRule::Automatic),
            ("validation", _) => Ok(PenaltyRule::Validation),
            (_, Some(Ok(k))) => Ok(PenaltyRule::FarthestFirst(k)),
            _ => Err(()),
        }
    }
}

impl PenaltyRule {
    /// A penalty for this data. Of `parameters` the cap, the seed and the threads count. Stopped by the watch, it chooses by
    /// what it has seen.
    pub fn choose<T: Real>(&self, data: &Data<T>, parameters: &DpMeans, watch: &dyn Watch) -> Result<Chosen> {
        match *self {
            PenaltyRule::Automatic => {
                let found = automatic(data, parameters, watch)?;
                let (penalty, penalties) = (found.choice.penalty, Some(found.choice.penalties));
                let (k, sampled_rows) = (found.choice.k, found.path.path.sampled_rows);
                Ok(Chosen { penalty, penalties, choice: Some(found.choice), sampled_rows, path: Some(found.path), k })
            }
            PenaltyRule::Validation => {
                let max_groups = parameters.goal.max_clusters();
                let (seed, threads) = (parameters.seed, parameters.threads);
                let search = PathSearch { max_groups, seed, threads, ..PathSearch::default() };
                let found = search.validate_clusters(data, watch)?;
                let k = found.path.path.k_for(found.penalty).unwrap_or(1);
                let (penalty, penalties) = (found.penalty, Some(found.penalties));
                let sampled_rows = found.path.path.sampled_rows;
                Ok(Chosen { penalty, penalties, choice: None, sampled_rows, path: Some(found.path), k })
            }
            PenaltyRule::FarthestFirst(k) => {
                let penalty = farthest_first(k, data, parameters.threads, watch)?;
                Ok(Chosen { penalty, penalties: None, choice: None, sampled_rows: None, path: None, k })
            }
        }
    }

    /// Clusters at the penalty that the rule chooses: from the parameters' own starts and, where these are the usual ones,
    /// from the clusters on the path too, the better of both. Stopped by the watch, it has at least those on the path.
    pub fn fit<T: Real>(&self, data: &Data<T>, parameters: &DpMeans, watch: &dyn Watch) -> Result<ChosenFit> {
        fn either(this: &PenaltyRule, data: EitherData, parameters: &DpMeans, watch: &dyn Watch) -> Result<ChosenFit> {
            either!(data, data => this.fit_on(data, parameters, watch))
        }
        either(self, T::either_data(data), parameters, watch)
    }

    fn fit_on<T: Real>(&self, data: &Data<T>, parameters: &DpMeans, watch: &dyn Watch) -> Result<ChosenFit> {
        parameters.check(data)?;
        let chosen = self.choose(data, parameters, watch)?;
        let goal = Goal::Penalty { penalty: chosen.penalty, max_clusters: parameters.goal.max_clusters() };
        let centres = chosen.path.as_ref().and_then(|path| path.centres(chosen.k)).unwrap_or_default();
        let from_path = DpMeans {
            goal,
            start: Start::Given(centres.to_vec()),
            restarts: Restarts::Exactly(1),
            algorithm: Algorithm::Parallel,
            ..parameters.clone()
        };
        let has_path = !centres.is_empty();
        if has_path && watch.step(&Step::Chunk).is_break() {
            return Ok(ChosenFit { clustering: from_path.fit(data, watch)?, chosen });
        }
        let mut clustering = DpMeans { goal, ..parameters.clone() }.fit(data, watch)?;
        let usual = parameters.algorithm == Algorithm::Parallel && parameters.start == Start::PlusPlus;
        if has_path && (usual || clustering.stopped) {
            keep_better(&mut clustering, from_path.fit(data, watch)?);
        }
        Ok(ChosenFit { clustering, chosen })
    }
}

/// The farthest-first penalty of at least one and at most all rows.
fn farthest_first<T: Real>(k: usize, data: &Data<T>, threads: usize, watch: &dyn Watch) -> Result<f64> {
    let wrong =
        |allowed: String, help: &str| Err(Error::argument("penalty", allowed, format!("farthest-first:{k}"), help));
    if !(1..=data.n_rows()).contains(&k) {
        let allowed = format!("farthest-first:K with K between 1 and the number of rows, {}", data.n_rows());
        return wrong(allowed, "it gives a penalty for about K clusters");
    }
    match farthest_first_penalty(data, k, &Workers::new(threads), watch) {
        penalty if penalty > 0.0 => Ok(penalty),
        // Stopped before the first row was found: any penalty will do for what is kept.
        _ if watch.step(&Step::Chunk).is_break() => Ok(1.0),
        _ => wrong(
            "farthest-first:K with K below the number of distinct rows".into(),
            "a further row would be equal to one that was taken already; give a smaller K",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Rows;
    use crate::simulate::GaussianMixture;
    use crate::watch::Unwatched;
    use std::ops::ControlFlow;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn blobs() -> Vec<f64> {
        let recipe = GaussianMixture { n_rows: 300, n_clusters: 4, separation: 8.0, ..GaussianMixture::default() };
        recipe.sample(1).unwrap().values
    }

    #[test]
    fn rules_have_names() {
        assert_eq!("auto".parse(), Ok(PenaltyRule::Automatic));
        assert_eq!("validation".parse(), Ok(PenaltyRule::Validation));
        assert_eq!("farthest-first:3".parse(), Ok(PenaltyRule::FarthestFirst(3)));
        for name in ["", "Auto", "farthest-first", "farthest-first:", "farthest-first:-1", "3"] {
            assert_eq!(name.parse::<PenaltyRule>(), Err(()), "{name}");
        }
    }

    #[test]
    fn every_rule_finds_clear_clusters() {
        let values = blobs();
        let data = Data::new(Rows::new(&values, 2).unwrap()).unwrap();
        for rule in [PenaltyRule::Automatic, PenaltyRule::Validation] {
            let fit = rule.fit(&data, &DpMeans::default(), &Unwatched).unwrap();
            assert_eq!(fit.clustering.n_clusters(), 4, "{rule:?}");
            let penalties = fit.chosen.penalties.unwrap();
            assert!(penalties.low < fit.chosen.penalty && fit.chosen.penalty < penalties.high, "{rule:?}");
            assert_eq!(fit.chosen.choice.is_some(), rule == PenaltyRule::Automatic);
        }
        let fit = PenaltyRule::FarthestFirst(4).fit(&data, &DpMeans::default(), &Unwatched).unwrap();
        let penalty = farthest_first_penalty(&data, 4, &Workers::serial(), &Unwatched);
        assert_eq!((fit.chosen.penalty, fit.clustering.goal.penalty()), (penalty, penalty));
    }

    #[test]
    fn farthest_first_needs_rows_that_differ() {
        let data = Data::new(Rows::new(&[1.0, 1.0, 5.0], 1).unwrap()).unwrap();
        for (k, says) in [(0, "between 1 and the number of rows, 3"), (4, "rows, 3"), (3, "distinct rows")] {
            let error = PenaltyRule::FarthestFirst(k).choose(&data, &DpMeans::default(), &Unwatched).unwrap_err();
            assert!(error.to_string().contains(says), "{error}");
        }
    }

    /// Says stop from some step on.
    struct After(usize, AtomicUsize);

    impl Watch for After {
        fn step(&self, _: &Step) -> ControlFlow<()> {
            if self.1.fetch_add(1, Ordering::Relaxed) < self.0 {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        }
    }

    #[test]
    fn a_stopped_fit_keeps_what_the_path_had_found() {
        let values = blobs();
        let data = Data::new(Rows::new(&values, 2).unwrap()).unwrap();
        let endless = After(usize::MAX, AtomicUsize::new(0));
        PenaltyRule::Automatic.choose(&data, &DpMeans::default(), &endless).unwrap();
        let all = endless.1.load(Ordering::Relaxed);
        for steps in [all / 4, all / 2, all] {
            let watch = After(steps, AtomicUsize::new(0));
            let fit = PenaltyRule::Automatic.fit(&data, &DpMeans::default(), &watch).unwrap();
            assert!(fit.clustering.stopped);
            assert_eq!(fit.clustering.n_clusters(), 4, "after {steps} of {all} steps");
        }
    }
}
