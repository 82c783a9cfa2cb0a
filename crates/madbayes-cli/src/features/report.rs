//! What is said of learned features: for people, for programs, and as a table of which row has which.

use super::{Prepared, Source};
use crate::agreement::Agreement;
use crate::arguments::{FeatureArguments, Format};
use crate::choice;
use crate::number::{count, number, plural, table};
use crate::output::{to_file, to_stdout};
use anyhow::Result;
use madbayes::hard::{BpMeans, Features};
use madbayes::model::FeatureModel;
use madbayes::select::Choice;
use madbayes::structure::{Allocation, Partition};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Features, columns and combinations shown.
const MOST_FEATURES: usize = 30;
const MOST_COLUMNS: usize = 4;
const MOST_COMBINATIONS: usize = 12;

/// A fit with all that is said about it.
pub struct Answer<'a> {
    pub arguments: &'a FeatureArguments,
    pub source: &'a Source,
    pub prepared: &'a Prepared,
    pub features: &'a Features,
    /// How the number of features was chosen, where it was.
    pub choice: Option<&'a Choice>,
    pub model: &'a FeatureModel,
    pub seconds: f64,
}

impl Answer<'_> {
    /// Writes the answer where it was asked for.
    pub fn tell(&self) -> Result<()> {
        let to_standard_output = self.arguments.output.out.as_ref().is_some_and(|path| path.as_os_str() == "-");
        if let Some(path) = &self.arguments.output.out {
            to_file(path, allocation_csv(self.source, &self.features.allocation).as_bytes())?;
        }
        match self.arguments.output.format {
            _ if to_standard_output => Ok(()),
            Format::Json => to_stdout(format!("{:#}\n", self.json()?).as_bytes()),
            Format::Text => to_stdout(self.text()?.as_bytes()),
        }
    }

    /// How the label column agrees with the combinations of features, each combination a group.
    fn agreement(&self) -> Result<Option<Agreement>> {
        let Source::Table(table) = self.source else { return Ok(None) };
        let allocation = &self.features.allocation;
        let combinations = Partition::from_labels((0..allocation.n_rows()).map(|row| allocation.row(row)));
        table.labels.as_ref().map(|truth| Agreement::new(truth, combinations.labels())).transpose()
    }

    /// How many rows starts and polishing saw, where not all.
    fn sampled_rows(&self) -> Option<usize> {
        (self.source.n_rows() > BpMeans::SAMPLE).then_some(BpMeans::SAMPLE)
    }

    fn json(&self) -> Result<Value> {
        Ok(json!({
            "n_rows": self.source.n_rows(),
            "n_columns": self.source.n_columns(),
            "picture": self.source.picture(),
            "principal_components": self.prepared.pca.as_ref().map(|pca| pca.n_components()),
            "penalty": self.model.penalty,
            "objective": self.features.objective,
            "loss": self.features.loss,
            "n_groups": self.model.n_features(),
            "sizes": self.model.counts,
            "losses": self.features.losses_by_k,
            "choice": self.choice.map(choice::json),
            "seconds": self.seconds,
            "seed": self.arguments.work.seed,
            "converged": self.features.converged,
            "stopped": self.features.stopped,
            "sampled_rows": self.sampled_rows(),
            "allocation": allocation_json(&self.features.allocation),
            "components": self.model.components,
            "offset": self.model.offset,
            "agreement": self.agreement()?,
        }))
    }

    fn text(&self) -> Result<String> {
        let k = self.model.n_features();
        let mut out = self.source.described();
        if let Some(pca) = &self.prepared.pca {
            let kept = plural(pca.n_components(), "principal component");
            out += &format!(", {kept} with {:.1}% of the variance", 100.0 * pca.explained());
        }
        out += &format!(
            ": {}, loss {}{}\n",
            plural(k, "feature"),
            number(self.features.loss),
            match self.model.penalty {
                Some(penalty) => {
                    format!(", objective {} (penalty {})", number(self.features.objective), number(penalty))
                }
                None => String::new(),
            }
        );
        if let Some(rows) = self.sampled_rows() {
            out += &format!("searched on a random sample of {}, then refined on all\n", plural(rows, "row"));
        }
        if let Some(found) = self.choice {
            out += &format!("the same number is optimal {}\n", choice::range(found.penalties));
            out += &choice::text(found, "feature", self.features.stopped);
        }
        if k > 0 {
            out += "\n";
            out += &feature_table(self.model);
            out += &combinations(&self.features.allocation);
        }
        if let Some(agreement) = self.agreement()? {
            out += &format!("\neach combination as a group: {}", agreement.line());
        }
        let tried = &self.features.losses_by_k;
        if tried.len() > 1 {
            out += "\nloss by number of features:\n";
            let rows: Vec<Vec<String>> = tried.iter().map(|(k, loss)| vec![k.to_string(), number(*loss)]).collect();
            out += &table(&["features".into(), "loss".into()], &rows);
        }
        out += &format!(
            "\n{} in {} s, seed {}\n",
            match (self.features.stopped, self.features.converged) {
                (true, _) => "stopped",
                (_, true) => "converged",
                _ => "not converged (raise --max-passes)",
            },
            number(self.seconds),
            self.arguments.work.seed
        );
        if self.source.picture().is_some() && self.arguments.plots.is_none() && !self.arguments.output.quiet {
            out += "give --plots FOLDER to see the features as pictures\n";
        }
        Ok(out)
    }
}

/// Each feature with its rows, its size, and for tables the columns it changes most.
pub fn feature_table(model: &FeatureModel) -> String {
    let tabular = !model.columns.is_empty();
    let mut head: Vec<String> = ["feature", "rows", "share", "length"].map(String::from).to_vec();
    if tabular {
        head.push("adds most to".into());
    }
    let row = |k: usize| {
        let component = &model.components[k];
        let length = component.iter().map(|x| x * x).sum::<f64>().sqrt();
        let share = 100.0 * model.counts[k] as f64 / model.n_rows.max(1) as f64;
        let mut cells = vec![k.to_string(), count(model.counts[k]), format!("{share:.1}%"), number(length)];
        if tabular {
            cells.push(most_changed(component, &model.columns));
        }
        cells
    };
    let shown = model.n_features().min(MOST_FEATURES);
    let mut out = table(&head, &(0..shown).map(row).collect::<Vec<_>>());
    if shown < model.n_features() {
        out += &format!("  ... and {} more\n", model.n_features() - shown);
    }
    out
}

/// The columns with the largest entries, with their signs.
fn most_changed(component: &[f64], columns: &[String]) -> String {
    let mut order: Vec<usize> = (0..component.len()).collect();
    order.sort_by(|&a, &b| component[b].abs().total_cmp(&component[a].abs()));
    let shown = order.iter().take(MOST_COLUMNS).filter(|j| component[**j] != 0.0);
    let signed = |j: &usize| {
        let sign = if component[*j] > 0.0 { "+" } else { "" };
        format!("{} {sign}{}", columns[*j], number(component[*j]))
    };
    shown.map(signed).collect::<Vec<_>>().join(", ")
}

/// The most frequent combinations of features.
pub fn combinations(allocation: &Allocation) -> String {
    let mut counts: BTreeMap<Vec<usize>, usize> = BTreeMap::new();
    for row in 0..allocation.n_rows() {
        *counts.entry(allocation.features_of(row).collect()).or_default() += 1;
    }
    let mut ordered: Vec<(Vec<usize>, usize)> = counts.into_iter().collect();
    ordered.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let name = |features: &[usize]| match features.is_empty() {
        true => "none".to_string(),
        false => features.iter().map(usize::to_string).collect::<Vec<_>>().join(" + "),
    };
    let shown: Vec<Vec<String>> =
        ordered.iter().take(MOST_COMBINATIONS).map(|(features, rows)| vec![name(features), count(*rows)]).collect();
    let mut out = format!("\n{} of features:\n", plural(ordered.len(), "combination"));
    out += &table(&["features".into(), "rows".into()], &shown);
    if ordered.len() > MOST_COMBINATIONS {
        out += &format!("  ... and {} more; --out lists every row\n", ordered.len() - MOST_COMBINATIONS);
    }
    out
}

/// Rows of 0 and 1.
pub fn allocation_json(allocation: &Allocation) -> Vec<Vec<u8>> {
    let bit = |row: usize, k: usize| u8::from(allocation.get(row, k));
    (0..allocation.n_rows()).map(|row| (0..allocation.n_features()).map(|k| bit(row, k)).collect()).collect()
}

/// row,feature_0,feature_1,... with 0 and 1; pictures are called by their names.
pub fn allocation_csv(source: &Source, allocation: &Allocation) -> String {
    let mut out = String::from(if source.picture().is_some() { "picture" } else { "row" });
    (0..allocation.n_features()).for_each(|k| out += &format!(",feature_{k}"));
    out.push('\n');
    for row in 0..allocation.n_rows() {
        out += &quoted(&source.row_name(row));
        (0..allocation.n_features()).for_each(|k| out += if allocation.get(row, k) { ",1" } else { ",0" });
        out.push('\n');
    }
    out
}

/// A cell of CSV.
fn quoted(cell: &str) -> String {
    if cell.contains([',', '"', '\n', '\r']) { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell.into() }
}
