//! `madbayes path --report`: the path as a page, with the groups of every number on it.

use super::PathArguments;
use crate::features::pictures_or_table;
use crate::number::{number, plural};
use crate::read::Table;
use crate::report::{Run, row_names, truth};
use anyhow::Result;
use madbayes::data::{Data, Real, Rows};
use madbayes::hard::least_squares_components;
use madbayes::overview::{ClusterOverview, FeatureOverview, FeaturedRows, GroupedRows};
use madbayes::parallel::Workers;
use madbayes::prepare::Standardise;
use madbayes::select::{Automatic, AutomaticFeatures, Choice, PenaltyPath};
use madbayes::structure::{Allocation, Partition};
use madbayes_draw::Report;

/// What a path was sought in.
pub struct Sought<'a, T> {
    pub arguments: &'a PathArguments,
    pub table: &'a Table,
    pub data: &'a Data<'a, T>,
    /// The rows of the file, before they were standardised.
    pub originals: Rows<'a, T>,
    pub units: Option<&'a Standardise>,
    pub seconds: f64,
}

impl<T: Real> Sought<'_, T> {
    /// The page of a path of clusters.
    pub fn clusters(&self, found: &Automatic) -> Result<String> {
        let workers = Workers::new(self.arguments.work.threads);
        let labels = found.path.labels(found.choice.k, self.data, &workers).unwrap_or_default();
        let clusters = ClusterOverview::new(&GroupedRows {
            data: self.data,
            columns: &self.table.names,
            units: self.units,
            labels: Partition::from_labels(labels).labels(),
            penalties: Some(found.choice.penalties),
            path: Some(&found.path),
            choice: Some(&found.choice),
            truth: truth(self.table.labels.as_ref()),
            row_losses: None,
            seed: self.arguments.work.seed,
            threads: self.arguments.work.threads,
        })?;
        let report = Report { clusters: Some(&clusters), group: "cluster", ..Report::default() };
        Ok(self.html(report, "Path of clusters", &found.path.path, &found.choice))
    }

    /// The page of a path of features.
    pub fn features(&self, found: &AutomaticFeatures) -> Result<String> {
        let none = Allocation::new(self.data.n_rows(), 0);
        let allocation = found.path.allocation(found.choice.k).unwrap_or(&none);
        let offset = vec![0.0; self.table.names.len()];
        let scaled = |component: &[f64]| match self.units {
            Some(units) => component.iter().zip(&units.scales).map(|(x, scale)| x * scale).collect(),
            None => component.to_vec(),
        };
        let features = FeatureOverview::new(&FeaturedRows {
            data: self.data,
            originals: self.originals,
            columns: &self.table.names,
            picture: None,
            offset: self.units.map_or(&offset, |units| &units.means),
            undo: &scaled,
            allocation,
            components: &least_squares_components(self.data, allocation),
            loss: found.path.path.losses.iter().find(|(k, _)| *k == found.choice.k).map_or(f64::NAN, |(_, loss)| *loss),
            penalties: Some(found.choice.penalties),
            path: Some(&found.path),
            choice: Some(&found.choice),
            seed: self.arguments.work.seed,
        });
        let report = Report { features: Some(&features), group: "feature", ..Report::default() };
        Ok(self.html(report, "Path of features", &found.path.path, &found.choice))
    }

    fn html(&self, report: Report, title: &str, path: &PenaltyPath, choice: &Choice) -> String {
        let run = Run {
            file: &self.arguments.input.file,
            n_rows: self.table.n_rows,
            n_columns: self.table.names.len(),
            seed: self.arguments.work.seed,
            seconds: self.seconds,
            objective: None,
            converged: !path.stopped,
            stopped: path.stopped,
        };
        let tried = path.losses.last().map_or(1, |(k, _)| *k);
        let more = vec![
            ("Penalty".to_string(), number(choice.penalty)),
            (
                format!("Numbers of {}s tried", report.group),
                format!("up to {tried}, {} of them optimal", path.points.len()),
            ),
        ];
        Report {
            title: &run.title(title),
            answer: &plural(choice.k, report.group),
            run: &run.facts(more),
            no_slider: pictures_or_table(false, false),
            all_rows: "madbayes cluster or madbayes features with --out writes all of them.",
            choice: Some(choice),
            row_names: row_names(self.table.row_numbers.as_deref()),
            ..report
        }
        .html()
    }
}
