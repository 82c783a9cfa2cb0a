//! `madbayes features --report`: the features and the path around them as a page.

use super::{Prepared, Source};
use crate::arguments::FeatureArguments;
use crate::number::{number, plural};
use crate::output::to_file;
use crate::overview_plots;
use crate::read::Values;
use crate::report::{ALL_ROWS, Facts, Run};
use crate::watching::Watching;
use anyhow::Result;
use madbayes::data::{Data, Real, Rows};
use madbayes::hard::Features;
use madbayes::model::FeatureModel;
use madbayes::overview::{ChainOverview, FeatureOverview, FeaturedRows, QUICK_PATH};
use madbayes::select::{Choice, FeaturePath, PathSearch};
use madbayes::structure::Allocation;
use madbayes_draw::Report;
use std::path::Path;

/// Rows with features, and all that the page says of them.
pub struct Page<'a> {
    pub source: &'a Source,
    pub prepared: &'a Prepared,
    pub run: Run<'a>,
    pub allocation: &'a Allocation,
    /// In the units of the fit.
    pub components: &'a [f64],
    pub model: &'a FeatureModel,
    pub choice: Option<&'a Choice>,
    pub path: Option<&'a FeaturePath>,
    pub chains: Option<ChainOverview>,
    /// How the features were taken from the draws of a sampler.
    pub estimate: &'static str,
    pub more: Facts,
}

/// Writes the page of a fit, with a path where there is one or it takes little time, and its pictures.
pub fn of_fit<T: Real>(
    arguments: &FeatureArguments,
    source: &Source,
    prepared: &Prepared,
    data: &Data<T>,
    (features, choice, path): (&Features, Option<&Choice>, Option<FeaturePath>),
    model: &FeatureModel,
    seconds: f64,
) -> Result<()> {
    if arguments.report.is_none() && arguments.plots.is_none() {
        return Ok(());
    }
    let small = data.n_rows() * data.n_columns() <= QUICK_PATH && !features.stopped && arguments.report.is_some();
    let path = match path {
        None if small => {
            let watching = Watching::counting("features", arguments.output.quiet, arguments.work.time_limit)?;
            let (seed, threads) = (arguments.work.seed, arguments.work.threads);
            let path = PathSearch { seed, threads, ..PathSearch::default() }.features(data, &watching)?;
            watching.finish();
            Some(path)
        }
        path => path,
    };
    let mut more: Facts = Vec::new();
    more.extend(model.penalty.map(|penalty| ("Penalty".to_string(), number(penalty))));
    more.push(("Loss".into(), number(features.loss)));
    let run = Run {
        file: &arguments.input.file,
        n_rows: source.n_rows(),
        n_columns: source.n_columns(),
        seed: arguments.work.seed,
        seconds,
        objective: Some(features.objective),
        converged: features.converged,
        stopped: features.stopped,
    };
    let (allocation, components) = (&features.allocation, &features.components[..]);
    let page = Page {
        source,
        prepared,
        run,
        allocation,
        components,
        model,
        choice,
        path: path.as_ref(),
        chains: None,
        estimate: "",
        more,
    };
    page.write(data, arguments.report.as_deref(), arguments.plots.as_deref())
}

impl Page<'_> {
    /// Writes the page where it is asked for, and its pictures; `data` are the rows as they were fitted.
    pub fn write<T: Real>(self, data: &Data<T>, report: Option<&Path>, plots: Option<&Path>) -> Result<()> {
        let d = self.source.n_columns();
        let overview = match self.source.values() {
            Values::F32(values) => self.overview(data, Rows::new(values, d)?),
            Values::F64(values) => self.overview(data, Rows::new(values, d)?),
        };
        if let Some(folder) = plots {
            overview_plots::features(folder, &overview)?;
            self.chains.as_ref().map(|chains| overview_plots::chains(folder, chains, "feature")).transpose()?;
        }
        let Some(target) = report else { return Ok(()) };
        let mut more = self.more;
        if let Some(pca) = &self.prepared.pca {
            let kept = plural(pca.n_components(), "principal component");
            more.push(("Prepared".into(), format!("{kept} with {:.1}% of the variance", 100.0 * pca.explained())));
        }
        let page = Report {
            title: &self.run.title("Features"),
            answer: &plural(self.allocation.n_features(), "feature"),
            run: &self.run.facts(more),
            group: "feature",
            no_slider: pictures_or_table(self.source.picture().is_some(), self.chains.is_some()),
            all_rows: ALL_ROWS,
            estimate: self.estimate,
            choice: self.choice,
            row_names: self.source.row_names(),
            features: Some(&overview),
            chains: self.chains.as_ref(),
            ..Report::default()
        };
        to_file(target, page.html().as_bytes())
    }

    fn overview<T: Real, U: Real>(&self, data: &Data<T>, originals: Rows<U>) -> FeatureOverview {
        FeatureOverview::new(&FeaturedRows {
            data,
            originals,
            columns: &self.source.columns(),
            picture: self.source.picture(),
            offset: &self.model.offset,
            undo: &|component| self.prepared.direction(component),
            allocation: self.allocation,
            components: self.components,
            loss: self.model.loss,
            penalties: self.choice.map(|choice| choice.penalties),
            path: self.path,
            choice: self.choice,
            seed: self.run.seed,
        })
    }
}

/// Why there is no slider, and how to get one.
pub fn pictures_or_table(pictures: bool, sampled: bool) -> &'static str {
    match (sampled, pictures) {
        (true, _) => {
            "A sampler has no penalty to move: the numbers of features that its draws have are below. madbayes features with \
             --report has a slider over penalties."
        }
        (false, true) => {
            "There is no slider over other penalties here, since a path takes long for so many pixels: give --pca 100 or a \
             smaller --scale."
        }
        (false, false) => {
            "There is no slider over other penalties here, since a path takes long for so many rows: run the same command \
             without --penalty and --components."
        }
    }
}
