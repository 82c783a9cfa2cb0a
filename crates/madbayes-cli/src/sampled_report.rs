//! `madbayes mixture --report` and `madbayes states --report`: groups and the chains they come from as a page.

use crate::number::plural;
use crate::output::to_file;
use crate::overview_plots;
use crate::read::Labels;
use crate::report::{ALL_ROWS, Facts, Run, row_names, truth};
use anyhow::Result;
use madbayes::data::{Data, Real, Rows};
use madbayes::gibbs::Loss;
use madbayes::model::MixtureRows;
use madbayes::overview::{ChainOverview, ClusterOverview, GroupedRows, Shares};
use madbayes::prepare::Standardise;
use madbayes::structure::Partition;
use madbayes_draw::Report;
use std::path::Path;

/// Groups of a sampler, and all that the page says of them.
pub struct Sampled<'a> {
    pub run: Run<'a>,
    /// What is counted, in the singular.
    pub group: &'static str,
    pub columns: &'a [String],
    pub units: Option<&'a Standardise>,
    pub estimate: &'a Partition,
    /// What the estimate has least of.
    pub loss: Loss,
    pub labels: Option<&'a Labels>,
    pub row_numbers: Option<&'a [usize]>,
    pub chains: ChainOverview,
    /// A picture of the sequences, what it shows, and the probabilities of transitions.
    pub sequences: Option<(String, String, &'a [f64])>,
    pub more: Facts,
    pub threads: usize,
}

impl Sampled<'_> {
    /// Writes the page where it is asked for, and its pictures; counts are shown by their shares.
    pub fn write<T: Real>(self, rows: MixtureRows<T>, report: Option<&Path>, plots: Option<&Path>) -> Result<()> {
        if report.is_none() && plots.is_none() {
            return Ok(());
        }
        let clusters = match rows {
            MixtureRows::Dense(data) => self.clusters(data, self.columns, self.units)?,
            MixtureRows::Counts(counts) => {
                let shares = Shares::new(counts);
                let names: Vec<String> = shares.columns.iter().map(|&column| self.columns[column].clone()).collect();
                self.clusters(&Data::new(Rows::new(&shares.values, names.len())?)?, &names, None)?
            }
        };
        if let Some(folder) = plots {
            overview_plots::clusters(folder, &clusters, self.group)?;
            overview_plots::chains(folder, &self.chains, self.group)?;
        }
        let Some(target) = report else { return Ok(()) };
        let title = format!("{}{}s", self.group[..1].to_uppercase(), &self.group[1..]);
        let page = Report {
            title: &self.run.title(&title),
            answer: &plural(self.estimate.n_groups(), self.group),
            run: &self.run.facts(self.more),
            group: self.group,
            all_rows: ALL_ROWS,
            estimate: match self.loss {
                Loss::VariationOfInformation => {
                    "the labels with the least expected variation of information from the draws"
                }
                Loss::Binder => "the labels with the least expected Binder loss over the draws",
            },
            row_names: row_names(self.row_numbers),
            clusters: Some(&clusters),
            chains: Some(&self.chains),
            sequences: self.sequences.as_ref().map(|(svg, said, steps)| (svg.as_str(), said.as_str(), *steps)),
            ..Report::default()
        };
        to_file(target, page.html().as_bytes())
    }

    fn clusters<T: Real>(
        &self,
        data: &Data<T>,
        columns: &[String],
        units: Option<&Standardise>,
    ) -> Result<ClusterOverview> {
        Ok(ClusterOverview::new(&GroupedRows {
            data,
            columns,
            units,
            labels: self.estimate.labels(),
            penalties: None,
            path: None,
            choice: None,
            truth: truth(self.labels),
            row_losses: None,
            seed: self.run.seed,
            threads: self.threads,
        })?)
    }
}
