//! `madbayes features`: from a table or a folder of pictures to overlapping features.

mod page;
mod plots;
mod report;
mod source;

pub use page::{Page, pictures_or_table};
pub use report::{allocation_csv, allocation_json, combinations, feature_table};
pub use source::{Prepared, Source};

use crate::arguments::{FeatureAlgorithmName, FeatureArguments, FeatureStartName, Penalty, RowSolverName};
use crate::output::{check_targets, hint, make_folder, to_file};
use crate::watching::Watching;
use anyhow::Result;
use madbayes::data::{Data, Real, Rows};
use madbayes::hard::Restarts;
use madbayes::hard::{BpMeans, FeatureAlgorithm, FeatureGoal, FeatureStart, RowSolver};
use madbayes::model::FeatureModel;
use madbayes::select::{ChosenFeatures, fit_features_automatically};
use report::Answer;
use std::path::Path;
use std::time::Instant;

pub fn run(arguments: &FeatureArguments) -> Result<()> {
    let targets = [&arguments.model, &arguments.output.out, &arguments.report].into_iter().flatten();
    check_targets(&[Path::new(&arguments.input.file)], targets.map(|path| path.as_path()))?;
    let source = Source::read(&arguments.input, None, arguments.scale, arguments.work.threads)?;
    source.give_hints(arguments.output.quiet, arguments.preparation.standardize);
    // A folder that cannot be made is better known now than after the work.
    arguments.plots.as_deref().map(make_folder).transpose()?;
    match source.values() {
        crate::read::Values::F32(values) => learn(arguments, &source, values),
        crate::read::Values::F64(values) => learn(arguments, &source, values),
    }
}

fn learn<T: Real>(arguments: &FeatureArguments, source: &Source, values: &[T]) -> Result<()> {
    let rows = Rows::new(values, source.n_columns())?;
    let prepared = Prepared::new(rows, &arguments.preparation, arguments.work.threads)?;
    match prepared.values() {
        Some(values) => fit(arguments, source, &prepared, Data::new(Rows::new(values, prepared.n_columns())?)?),
        None => fit(arguments, source, &prepared, Data::new(rows)?),
    }
}

fn fit<T: Real>(arguments: &FeatureArguments, source: &Source, prepared: &Prepared, data: Data<T>) -> Result<()> {
    let parameters = parameters(arguments);
    parameters.check(&data)?;
    let watching = Watching::counting("features", arguments.output.quiet, arguments.work.time_limit)?;
    let begin = Instant::now();
    let (features, choice, path) = match (parameters.goal, arguments.penalty) {
        (FeatureGoal::Penalty { .. }, Some(Penalty::Auto) | None) => {
            let ChosenFeatures { features, choice, path } = fit_features_automatically(&data, &parameters, &watching)?;
            (features, Some(choice), Some(path))
        }
        _ => (parameters.fit(&data, &watching)?, None, None),
    };
    let penalty = match features.goal {
        FeatureGoal::Penalty { penalty, .. } => Some(penalty),
        FeatureGoal::Exactly(_) => None,
    };
    let seconds = begin.elapsed().as_secs_f64();
    watching.finish();
    if features.stopped && !arguments.output.quiet {
        hint(&format!("{}: this is the best result so far", watching.reason()));
    }
    let plain = FeatureModel::new(&features, source.columns(), penalty, arguments.work.seed);
    let model = prepared.in_original_units(FeatureModel { picture: source.picture(), ..plain });
    if let Some(path) = &arguments.model {
        to_file(path, &model.to_bytes())?;
    }
    page::of_fit(arguments, source, prepared, &data, (&features, choice.as_ref(), path), &model, seconds)?;
    if let Some(folder) = &arguments.plots {
        plots::write(folder, source, &model, &features)?;
    }
    Answer { arguments, source, prepared, features: &features, choice: choice.as_ref(), model: &model, seconds }.tell()
}

fn parameters(arguments: &FeatureArguments) -> BpMeans {
    BpMeans {
        goal: match arguments.components {
            Some(k) => FeatureGoal::Exactly(k),
            None => {
                // A penalty that the data choose is filled in once they are there.
                let penalty = if let Some(Penalty::Value(given)) = arguments.penalty { given } else { 1.0 };
                FeatureGoal::Penalty { penalty, max_features: arguments.max_components }
            }
        },
        algorithm: match arguments.algorithm {
            FeatureAlgorithmName::Alternating => FeatureAlgorithm::Alternating,
            FeatureAlgorithmName::Collapsed => FeatureAlgorithm::Collapsed,
            FeatureAlgorithmName::Stepwise => FeatureAlgorithm::Stepwise,
        },
        start: match arguments.start {
            FeatureStartName::Spectral => FeatureStart::Spectral,
            FeatureStartName::PlusPlus => FeatureStart::PlusPlus,
        },
        row_solver: match arguments.row_solver {
            RowSolverName::Auto => RowSolver::Auto,
            RowSolverName::Exact => RowSolver::Exact,
            RowSolverName::Coordinate => RowSolver::Coordinate,
            RowSolverName::Paper => RowSolver::Paper,
        },
        base_feature: !arguments.no_base,
        restarts: arguments.restarts.map_or(Restarts::Auto, Restarts::Exactly),
        max_passes: arguments.max_passes,
        seed: arguments.work.seed,
        threads: arguments.work.threads,
        ..BpMeans::default()
    }
}
