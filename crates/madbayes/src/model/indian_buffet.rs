//! The Indian buffet sampler from data alone: chains started from BP-means, the best state, and whether chains agree.

use super::FeatureModel;
use crate::data::{Data, EitherData, Real};
use crate::error::Result;
use crate::gibbs::{IbpChain, IbpSampler, IbpStart, IbpState, split_r_hat};
use crate::hard::BpMeans;
use crate::prior::Ibp;
use crate::select::fit_features_automatically;
use crate::structure::Allocation;
use crate::watch::{Silently, Watch};

/// Where the chains begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BuffetStart {
    /// At the features of BP-means, which are close to the answer already.
    #[default]
    BpMeans,
    /// With one feature that all rows share.
    One,
    /// At random, with as many features as the prior expects.
    Random,
}

/// A sampler and its start.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct IndianBuffet {
    /// The sampler; its own start is not used.
    pub sampler: IbpSampler,
    /// Where the chains begin.
    pub start: BuffetStart,
}

/// What the chains say.
#[derive(Debug, Clone, PartialEq)]
pub struct BuffetFit {
    /// What each chain saw. Those that were stopped before they began are left out.
    pub chains: Vec<IbpChain>,
    /// The state of highest log joint over all chains.
    pub best: IbpState,
    /// R-hat of the number of features, of the log joint and of the mass, after the burn-in.
    pub r_hat: [f64; 3],
    /// What the best state says of new rows.
    pub model: FeatureModel,
    /// Whether the watch stopped it.
    pub stopped: bool,
}

impl IndianBuffet {
    /// Runs the chains and keeps the best state.
    pub fn fit<T: Real>(&self, data: &Data<T>, columns: Vec<String>, watch: &dyn Watch) -> Result<BuffetFit> {
        fn either(this: &IndianBuffet, data: EitherData, columns: Vec<String>, watch: &dyn Watch) -> Result<BuffetFit> {
            either!(data, data => this.fit_on(data, columns, watch))
        }
        either(self, T::either_data(data), columns, watch)
    }

    fn fit_on<T: Real>(&self, data: &Data<T>, columns: Vec<String>, watch: &dyn Watch) -> Result<BuffetFit> {
        let mut sampler = IbpSampler { start: IbpStart::One, ..self.sampler.clone() };
        sampler.check(data)?;
        sampler.start = match self.start {
            BuffetStart::BpMeans => IbpStart::Given(self.bp_means(data, &Silently(watch))?),
            BuffetStart::One => IbpStart::One,
            BuffetStart::Random => {
                let expected = Ibp::new(sampler.mass.unwrap_or(1.0))?.expected_features(data.n_rows());
                IbpStart::Random((expected.round() as usize).clamp(1, data.n_rows()))
            }
        };
        let mut chains = sampler.fit(data, watch)?;
        let stopped = chains.iter().any(|chain| chain.stopped);
        chains.retain(|chain| chain.best.is_some());
        let best = chains.iter().filter_map(|chain| chain.best.as_ref()).max_by(|a, b| a.1.total_cmp(&b.1));
        let best = match best {
            Some((state, _)) => state.clone(),
            None => without_features(data),
        };
        let burn_in = sampler.schedule.burn_in;
        let r_hat = |trace: &dyn Fn(&IbpChain) -> Vec<f64>| {
            let kept = chains.iter().map(|chain| trace(chain).split_off(burn_in.min(chain.n_features.len())));
            let kept: Vec<Vec<f64>> = kept.collect();
            split_r_hat(&kept.iter().map(Vec::as_slice).collect::<Vec<_>>())
        };
        let r_hat = [
            r_hat(&|chain| chain.n_features.iter().map(|&k| k as f64).collect()),
            r_hat(&|chain| chain.ln_joint.clone()),
            r_hat(&|chain| chain.mass.clone()),
        ];
        let model = feature_model(data, &best, columns, sampler.seed);
        Ok(BuffetFit { chains, best, r_hat, model, stopped })
    }

    /// The features of BP-means at the penalty the data suggest.
    fn bp_means<T: Real>(&self, data: &Data<T>, watch: &dyn Watch) -> Result<Allocation> {
        let parameters = BpMeans { seed: self.sampler.seed, threads: self.sampler.threads, ..BpMeans::default() };
        Ok(fit_features_automatically(data, &parameters, watch)?.features.allocation)
    }
}

/// The best state as a model: its features without a penalty, and the loss they leave.
fn feature_model<T: Real>(data: &Data<T>, state: &IbpState, columns: Vec<String>, seed: u64) -> FeatureModel {
    let d = data.n_columns();
    let mut loss = 0.0;
    for (n, row) in data.rows().iter().enumerate() {
        let mut left: Vec<f64> = row.iter().map(|&x| x.into()).collect();
        for feature in state.allocation.features_of(n) {
            let component = &state.components[feature * d..(feature + 1) * d];
            left.iter_mut().zip(component).for_each(|(x, a)| *x -= a);
        }
        loss += left.iter().map(|x| x * x).sum::<f64>();
    }
    FeatureModel {
        columns,
        picture: None,
        offset: vec![0.0; d],
        scales: None,
        components: state.components.chunks_exact(d).map(<[f64]>::to_vec).collect(),
        penalty: None,
        n_rows: data.n_rows(),
        counts: state.allocation.counts(),
        loss,
        objective: loss,
        seed,
    }
}

/// The state of a fit that was stopped before its first sweep.
fn without_features<T: Real>(data: &Data<T>) -> IbpState {
    let allocation = Allocation::new(data.n_rows(), 0);
    IbpState { allocation, components: vec![], mass: f64::NAN, noise: f64::NAN, scale: f64::NAN }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Rows;
    use crate::gibbs::Schedule;
    use crate::metrics::match_features;
    use crate::simulate::FeatureMixture;
    use crate::watch::{Step, Unwatched};
    use rstest::rstest;
    use std::ops::ControlFlow;

    fn buffet(start: BuffetStart) -> IndianBuffet {
        let schedule = Schedule { sweeps: 120, burn_in: 60, thin: 2 };
        IndianBuffet { sampler: IbpSampler { schedule, chains: 2, ..IbpSampler::default() }, start }
    }

    #[rstest]
    #[case(BuffetStart::BpMeans, 3)]
    #[case(BuffetStart::One, 1)]
    #[case(BuffetStart::Random, 1)]
    fn planted_features_are_found_with_nothing_given(#[case] start: BuffetStart, #[case] exact: usize) {
        let recipe =
            FeatureMixture { n_rows: 60, n_columns: 12, n_features: 3, noise: 0.2, ..FeatureMixture::default() };
        let sample = recipe.sample(4).unwrap();
        let data = Data::new(Rows::new(&sample.values, 12).unwrap()).unwrap();
        let columns: Vec<String> = (0..12).map(|j| j.to_string()).collect();
        let fit = buffet(start).fit(&data, columns, &Unwatched).unwrap();
        let matching = match_features(&sample.allocation, &fit.best.allocation, false).unwrap();
        assert!(matching.n_exact >= exact, "{matching:?}");
        assert_eq!(fit.model.counts, fit.best.allocation.counts());
        assert_eq!(fit.chains.iter().map(|chain| chain.draws.len()).collect::<Vec<_>>(), [30, 30]);
    }

    /// Stops at once.
    struct Stop;

    impl Watch for Stop {
        fn step(&self, _: &Step) -> ControlFlow<()> {
            ControlFlow::Break(())
        }
    }

    #[test]
    fn a_fit_stopped_at_once_has_an_answer() {
        let data = Data::new(Rows::new(&[1.0, 2.0, 3.0], 1).unwrap()).unwrap();
        let fit = buffet(BuffetStart::BpMeans).fit(&data, vec!["x".into()], &Stop).unwrap();
        assert!(fit.stopped);
        assert_eq!(fit.best.allocation.n_rows(), 3);
    }
}
