//! Pictures of a clustering: which columns to show, and the files of --plots.

use crate::number::{count, number};
use crate::output::make_folder;
use anyhow::{Context, Result};
use madbayes::data::{Real, Rows};
use madbayes::hard::Clustering;
use madbayes_draw::{Lines, Scatter};
use std::path::Path;

/// What is drawn of a clustering: rows and centres in the same units.
pub struct Seen<'a> {
    pub labels: &'a [u32],
    pub sizes: &'a [usize],
    /// One centre after another.
    pub centres: &'a [f64],
    /// A point among the rows.
    pub reference: &'a [f64],
    /// The colour of each cluster; none: that of its number.
    pub colours: &'a [u32],
    pub title: String,
}

impl<'a> Seen<'a> {
    /// A fit by distances.
    pub fn new(fit: &'a Clustering, colours: &'a [u32]) -> Self {
        Seen {
            colours,
            labels: &fit.labels,
            sizes: &fit.sizes,
            centres: &fit.centres,
            reference: &fit.reference,
            title: format!("{} clusters, objective {}", fit.n_clusters(), number(fit.objective)),
        }
    }
}

/// A clustering seen in two columns.
pub struct View {
    points: Vec<(f64, f64)>,
    centres: Vec<(f64, f64)>,
    colours: Vec<u32>,
    x_name: String,
    y_name: String,
    names: Vec<String>,
    title: String,
}

impl View {
    /// The two columns that tell the clusters apart best; a single column is drawn against the row number.
    pub fn new<T: Real>(rows: Rows<T>, seen: Seen, columns: &[String]) -> Self {
        let (x, y) = telling_columns(rows, &seen);
        let point = |row: &[f64], at: f64| (row[x], y.map_or(at, |y| row[y]));
        let points = rows.iter().enumerate().map(|(n, row)| {
            let row: Vec<f64> = row.iter().map(|&v| v.into()).collect();
            point(&row, n as f64)
        });
        let middle = rows.n_rows() as f64 / 2.0;
        let names = seen.sizes.iter().enumerate().map(|(k, size)| format!("cluster {k} ({})", count(*size)));
        View {
            points: points.collect(),
            centres: seen.centres.chunks_exact(rows.n_columns()).map(|centre| point(centre, middle)).collect(),
            x_name: columns[x].clone(),
            y_name: y.map_or("row".into(), |y| columns[y].clone()),
            names: names.collect(),
            colours: seen.colours.to_vec(),
            title: seen.title,
        }
    }

    fn scatter<'a>(&'a self, labels: &'a [u32]) -> Scatter<'a> {
        Scatter {
            title: &self.title,
            x_name: &self.x_name,
            y_name: &self.y_name,
            points: &self.points,
            groups: labels,
            centres: &self.centres,
            colours: &self.colours,
            names: &self.names,
        }
    }

    /// As SVG.
    pub fn svg(&self, labels: &[u32]) -> String {
        self.scatter(labels).svg()
    }

    /// As text for the terminal.
    pub fn text(&self, labels: &[u32], width: usize, height: usize) -> String {
        self.scatter(labels).text(width, height)
    }
}

/// The columns with the largest share of their variance between clusters, best first.
fn telling_columns<T: Real>(rows: Rows<T>, seen: &Seen) -> (usize, Option<usize>) {
    let d = rows.n_columns();
    let (mut total, mut within) = (vec![0.0; d], vec![0.0; d]);
    for (row, label) in rows.iter().zip(seen.labels) {
        let centre = &seen.centres[*label as usize * d..(*label as usize + 1) * d];
        for j in 0..d {
            let x: f64 = row[j].into();
            total[j] += (x - seen.reference[j]).powi(2);
            within[j] += (x - centre[j]).powi(2);
        }
    }
    let share = |j: usize| if total[j] > 0.0 { 1.0 - within[j] / total[j] } else { -1.0 };
    let mut order: Vec<usize> = (0..d).collect();
    order.sort_by(|&a, &b| share(b).total_cmp(&share(a)).then(a.cmp(&b)));
    match order[..] {
        [only] => (only, None),
        // The two best in the order of the table.
        _ => (order[0].min(order[1]), Some(order[0].max(order[1]))),
    }
}

/// Writes clusters.svg and objective.svg; `colours` are those of the clusters.
pub fn write_plots<T: Real>(
    folder: &Path,
    rows: Rows<T>,
    fit: &Clustering,
    columns: &[String],
    colours: &[u32],
) -> Result<()> {
    make_folder(folder)?;
    let view = View::new(rows, Seen::new(fit, colours), columns);
    let series: Vec<(String, Vec<f64>)> =
        fit.traces.iter().enumerate().map(|(i, trace)| (format!("run {}", i + 1), trace.clone())).collect();
    let pictures = [
        ("clusters.svg", view.svg(&fit.labels)),
        (
            "objective.svg",
            Lines { title: "Objective after each pass", x_name: "pass", y_name: "objective", series: &series }.svg(),
        ),
    ];
    for (name, svg) in pictures {
        let path = folder.join(name);
        std::fs::write(&path, svg).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}
