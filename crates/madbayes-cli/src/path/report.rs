//! What is said of a path: a table and a picture for people, JSON for programs, CSV and SVG files.

use super::PathArguments;
use crate::agreement::Agreement;
use crate::arguments::Format;
use crate::choice;
use crate::number::{count, number, plural, table};
use crate::output::{make_folder, to_file, to_stdout};
use crate::read::Table;
use anyhow::Result;
use madbayes::select::{Choice, HullPoint, PenaltyPath};
use madbayes_draw::{Intervals, Lines};
use serde_json::{Value, json};
use std::path::Path;

/// Points of a path that are shown, besides the choice and the runners-up.
const MOST_POINTS: usize = 20;
const WIDTH: usize = 78;

/// A path with the choice on it, of clusters or of features.
pub struct Found {
    pub path: PenaltyPath,
    pub choice: Choice,
    /// The groups of the choice, for programs.
    pub members: Value,
    pub agreement: Option<Agreement>,
}

/// What was found, with all that is said about it.
pub struct Answer<'a> {
    pub arguments: &'a PathArguments,
    pub table: &'a Table,
    /// What is counted, in the singular.
    pub group: &'static str,
    pub found: &'a Found,
    pub seconds: f64,
}

impl Answer<'_> {
    /// Writes the answer where it was asked for.
    pub fn tell(&self) -> Result<()> {
        if let Some(folder) = &self.arguments.plots {
            self.write_plots(folder)?;
        }
        let to_standard_output = self.arguments.out.as_ref().is_some_and(|path| path.as_os_str() == "-");
        if let Some(path) = &self.arguments.out {
            to_file(path, self.csv().as_bytes())?;
        }
        match self.arguments.format {
            _ if to_standard_output => Ok(()),
            Format::Json => to_stdout(format!("{:#}\n", self.json()).as_bytes()),
            Format::Text => to_stdout(self.text().as_bytes()),
        }
    }

    /// Every point of the path; `inf` is a number to most readers of CSV.
    fn csv(&self) -> String {
        let mut out = String::from("k,penalty_low,penalty_high,loss,persistence\n");
        for point in &self.found.path.points {
            let HullPoint { k, loss, low, high } = point;
            out += &format!("{k},{low},{high},{loss},{}\n", point.persistence());
        }
        out
    }

    fn json(&self) -> Value {
        let finite = |x: f64| x.is_finite().then_some(x);
        let point = |point: &HullPoint| {
            json!({
                "k": point.k,
                "penalty_low": finite(point.low),
                "penalty_high": finite(point.high),
                "loss": point.loss,
                "persistence": finite(point.persistence()),
            })
        };
        let loss = self.found.path.losses.iter().find(|(k, _)| *k == self.found.choice.k).map(|(_, loss)| *loss);
        let first = self.found.path.points.first().map_or(1, |point| point.k);
        let paid = self.found.choice.k.saturating_sub(first) as f64 * self.found.choice.penalty;
        let mut value = json!({
            "n_rows": self.table.n_rows,
            "n_columns": self.table.names.len(),
            "columns": self.table.names,
            "kind": format!("{}s", self.group),
            "path": self.found.path.points.iter().map(point).collect::<Vec<_>>(),
            "losses": self.found.path.losses,
            "n_groups": self.found.choice.k,
            "penalty": self.found.choice.penalty,
            "loss": loss,
            "objective": loss.map(|loss| loss + paid),
            "choice": choice::json(&self.found.choice),
            "agreement": self.found.agreement,
            "standardized": self.arguments.standardize,
            "sampled_rows": self.found.path.sampled_rows,
            "converged": !self.found.path.stopped,
            "stopped": self.found.path.stopped,
            "seed": self.arguments.work.seed,
            "seconds": self.seconds,
            "version": env!("CARGO_PKG_VERSION"),
        });
        if let (Value::Object(all), Value::Object(members)) = (&mut value, &self.found.members) {
            all.extend(members.clone());
        }
        value
    }

    fn text(&self) -> String {
        let (path, group) = (&self.found.path, self.group);
        let mut out = format!("{} x {}", plural(self.table.n_rows, "row"), plural(self.table.names.len(), "column"));
        if self.table.dropped > 0 {
            out += &format!(" ({} with missing cells left out)", plural(self.table.dropped, "row"));
        }
        let tried = path.losses.last().map_or(1, |(k, _)| *k);
        out +=
            &format!("\nup to {} tried, {} of these numbers optimal", plural(tried, group), count(path.points.len()));
        if let Some(rows) = path.sampled_rows {
            out += &format!("\nsearched on a random sample of {}, then refined on all of them", plural(rows, "row"));
        }
        if path.stopped {
            out += "\nstopped early: this is the path so far";
        }
        let shown = self.shown();
        out += "\n\n";
        out += &self.point_table(&shown);
        if shown.len() < path.points.len() {
            out += &format!("  and {} more; --out PATH.csv writes all\n", path.points.len() - shown.len());
        }
        out += "\n";
        out += &self.picture(&shown, |picture| picture.text(WIDTH));
        let heading = plural(self.found.choice.k, group);
        out += &format!("\n{heading} at penalty {}; ", number(self.found.choice.penalty));
        out += &format!("the same number is optimal {}\n", choice::range(self.found.choice.penalties));
        out += &choice::text(&self.found.choice, group, path.stopped);
        if let Some(agreement) = &self.found.agreement {
            out += &agreement.line();
        }
        out += &format!("seed {}, {:.3} s\n", self.arguments.work.seed, self.seconds);
        out
    }

    /// The first points of the path, the choice and the runners-up.
    fn shown(&self) -> Vec<&HullPoint> {
        let points = self.found.path.points.iter().enumerate();
        points.filter(|(i, point)| *i < MOST_POINTS || !self.rank(point).is_empty()).map(|(_, point)| point).collect()
    }

    fn rank(&self, point: &HullPoint) -> &'static str {
        match point.k {
            k if k == self.found.choice.k => "chosen",
            k if self.found.choice.runners_up.iter().any(|c| c.k == k) => "next",
            _ => "",
        }
    }

    fn point_table(&self, shown: &[&HullPoint]) -> String {
        let head = ["", &format!("{}s", self.group), "penalty from", "to", "loss", "persistence"].map(String::from);
        let rows: Vec<Vec<String>> = shown
            .iter()
            .map(|point| {
                // The last number of a path that could go on: nothing is known of smaller penalties.
                let open = point.low == point.high;
                let or = |x: f64, otherwise: &str| if x.is_finite() { number(x) } else { otherwise.into() };
                vec![
                    self.rank(point).into(),
                    point.k.to_string(),
                    if open { "unknown".into() } else { number(point.low) },
                    or(point.high, "any"),
                    number(point.loss),
                    if open { "unknown".into() } else { or(point.persistence(), "-") },
                ]
            })
            .collect();
        table(&head, &rows)
    }

    /// The penalties of each number, one below the other.
    fn picture(&self, shown: &[&HullPoint], draw: impl Fn(Intervals) -> String) -> String {
        let names: Vec<String> = shown.iter().map(|point| point.k.to_string()).collect();
        let ranges: Vec<(f64, f64)> = shown.iter().map(|point| (point.low, point.high)).collect();
        draw(Intervals {
            title: &format!("For which penalties a number of {}s is optimal", self.group),
            axis_name: "penalty",
            names: &names,
            ranges: &ranges,
            marked: shown.iter().position(|point| point.k == self.found.choice.k),
        })
    }

    /// Writes penalties.svg and loss.svg.
    fn write_plots(&self, folder: &Path) -> Result<()> {
        make_folder(folder)?;
        let all: Vec<&HullPoint> = self.found.path.points.iter().collect();
        to_file(&folder.join("penalties.svg"), self.picture(&all, |picture| picture.svg()).as_bytes())?;
        let last = self.found.path.losses.last().map_or(1, |(k, _)| *k);
        let known =
            |k: usize| self.found.path.losses.iter().find(|(other, _)| *other == k).map_or(f64::NAN, |(_, loss)| *loss);
        let series = [
            ("least found".to_string(), (1..=last).map(known).collect()),
            ("lower hull".to_string(), (1..=last).map(|k| self.hull_at(k)).collect()),
        ];
        let (title, x_name) = (format!("Loss by number of {}s", self.group), format!("{}s", self.group));
        let picture = Lines { title: &title, x_name: &x_name, y_name: "loss", series: &series };
        to_file(&folder.join("loss.svg"), picture.svg().as_bytes())
    }

    /// The height of the hull at any number of groups; not a number beyond it.
    fn hull_at(&self, k: usize) -> f64 {
        let points = &self.found.path.points;
        let between = points.windows(2).find(|pair| (pair[0].k..=pair[1].k).contains(&k));
        match between {
            Some(pair) => pair[0].loss - (k - pair[0].k) as f64 * pair[0].low,
            None => points.iter().find(|point| point.k == k).map_or(f64::NAN, |point| point.loss),
        }
    }
}
