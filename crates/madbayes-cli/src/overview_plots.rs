//! The pictures of a report as files of --plots.

use crate::number::count;
use crate::output::to_file;
use anyhow::Result;
use madbayes::overview::{ChainOverview, ClusterOverview, FeatureOverview};
use madbayes_draw::{Bars, Heat, Intervals, Matrix, Scatter};
use std::path::Path;

/// Writes principal-components.svg, sizes.svg, profiles.svg and, where there is a path, penalties.svg.
pub fn clusters(folder: &Path, clusters: &ClusterOverview, group: &str) -> Result<()> {
    let view = &clusters.views[clusters.fitted];
    let k = view.sizes.len();
    let name = |k: usize| format!("{group} {k} ({})", count(view.sizes[k]));
    let names: Vec<String> = (0..k).map(name).collect();
    if let [first, second, ..] = &clusters.axes.axes[..]
        && first.component.is_some()
        && second.component.is_some()
    {
        let pairs = first.values.iter().zip(&second.values);
        let points: Vec<(f64, f64)> = pairs.map(|(&x, &y)| (x, y)).collect();
        let centres: Vec<(f64, f64)> = view.centres.iter().map(|centre| (centre[0], centre[1])).collect();
        let picture = Scatter {
            title: &format!("Rows by {group}"),
            x_name: "principal component 1",
            y_name: "principal component 2",
            points: &points,
            groups: &view.labels,
            centres: &centres,
            colours: &view.colours,
            names: &names,
        };
        to_file(&folder.join("principal-components.svg"), picture.svg().as_bytes())?;
    }
    let sizes: Vec<f64> = view.sizes.iter().map(|&size| size as f64).collect();
    let numbered: Vec<String> = (0..k).map(|k| format!("{group} {k}")).collect();
    let title = format!("Rows in each {group}");
    let picture = Bars { title: &title, value_name: "rows", names: &numbered, values: &sizes };
    to_file(&folder.join("sizes.svg"), picture.svg().as_bytes())?;
    let columns: Vec<String> = view.telling.iter().map(|&column| clusters.columns[column].clone()).collect();
    let rows: Vec<String> = view.profiles.iter().map(|profile| name(profile.group)).collect();
    let picture = Heat {
        title: &format!("What the {group}s look like"),
        value_name: "standard deviations above the mean of all rows",
        row_names: &rows,
        column_names: &columns,
        n_columns: columns.len(),
        values: &view.profiles.iter().flat_map(|profile| profile.above.clone()).collect::<Vec<f64>>(),
    };
    to_file(&folder.join("profiles.svg"), picture.svg().as_bytes())?;
    if !clusters.points.is_empty() {
        let numbers: Vec<String> = clusters.points.iter().map(|point| point.k.to_string()).collect();
        let ranges: Vec<(f64, f64)> = clusters.points.iter().map(|point| (point.low, point.high)).collect();
        let picture = Intervals {
            title: &format!("For which penalties a number of {group}s is optimal"),
            axis_name: "penalty",
            names: &numbers,
            ranges: &ranges,
            marked: clusters.points.iter().position(|point| point.k == k),
        };
        to_file(&folder.join("penalties.svg"), picture.svg().as_bytes())?;
    }
    Ok(())
}

/// Writes number-of-clusters.svg (or of states, or features) and, where draws of groups were kept, coclustering.svg.
pub fn chains(folder: &Path, chains: &ChainOverview, group: &str) -> Result<()> {
    // Percent to one decimal.
    let bars = chains.distribution.iter().map(|(k, share)| (k.to_string(), (1000.0 * share).round() / 10.0));
    let (names, values): (Vec<String>, Vec<f64>) = bars.unzip();
    let title = format!("Number of {group}s");
    let picture = Bars { title: &title, value_name: "% of sweeps after the burn-in", names: &names, values: &values };
    to_file(&folder.join(format!("number-of-{group}s.svg")), picture.svg().as_bytes())?;
    let Some(together) = &chains.together else { return Ok(()) };
    let picture = Matrix {
        title: "Which rows go together",
        value_name: &format!("the darker, the more draws have both rows in one {group}; rows ordered by {group}"),
        n_rows: together.n_rows,
        shares: &together.shares,
    };
    to_file(&folder.join("coclustering.svg"), picture.svg().as_bytes())
}

/// Writes together.svg and, for tables, feature-columns.svg.
pub fn features(folder: &Path, features: &FeatureOverview) -> Result<()> {
    let view = &features.views[features.fitted];
    if view.counts.is_empty() {
        return Ok(());
    }
    let names: Vec<String> = (0..view.components.len()).map(|k| format!("feature {k}")).collect();
    let picture = Heat {
        title: "Features that occur together",
        value_name: "rows that have both",
        row_names: &names,
        column_names: &names,
        n_columns: names.len(),
        values: &view.together.iter().flatten().map(|&n| n as f64).collect::<Vec<f64>>(),
    };
    to_file(&folder.join("together.svg"), picture.svg().as_bytes())?;
    if features.picture.is_some() {
        return Ok(());
    }
    let columns: Vec<String> = view.telling.iter().map(|&column| features.columns[column].clone()).collect();
    let picture = Heat {
        title: "What each feature adds",
        value_name: "by column, in its units",
        row_names: &names,
        column_names: &columns,
        n_columns: columns.len(),
        values: &view.components.concat(),
    };
    to_file(&folder.join("feature-columns.svg"), picture.svg().as_bytes())
}
