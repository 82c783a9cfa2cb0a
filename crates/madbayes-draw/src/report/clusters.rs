//! Clusters as the script of a report reads them.

use super::RowNames;
use super::pack::{integers, short, shorts, steps};
use madbayes::overview::{Axis, ClusterOverview, ClusterView, LabelTable, Misfit, Profile, Standing};
use madbayes::select::HullPoint;
use serde_json::{Map, Value, json};

/// Rows up to which the labels of the fit are all there to download.
const MOST_LABELS: usize = 200_000;
/// Colours and shapes that differ: beyond, they repeat.
const STYLES: u32 = 50;

pub(super) fn json(clusters: &ClusterOverview, names: RowNames) -> Value {
    let all_shown = clusters.shown.len() == clusters.n_rows;
    let all = (!all_shown && clusters.n_rows <= MOST_LABELS).then(|| integers(clusters.labels.iter().copied()));
    let all_rows: Vec<usize> = if all.is_some() { (0..clusters.n_rows).collect() } else { Vec::new() };
    json!({
        "rows": clusters.n_rows,
        "nColumns": clusters.columns.len(),
        "columns": column_names(clusters),
        "shown": (!all_shown).then(|| integers(clusters.shown.iter().map(|&row| row as u32))),
        "names": names.json(&clusters.shown),
        "axes": clusters.axes.axes.iter().map(|axis| axis_json(axis, clusters)).collect::<Vec<_>>(),
        "views": clusters.views.iter().map(|view| view_json(view, clusters, names)).collect::<Vec<_>>(),
        "fitted": clusters.fitted,
        "points": clusters.points.iter().map(point).collect::<Vec<_>>(),
        "sampled": clusters.sampled_rows,
        "measure": clusters.measure,
        "labels": all,
        "allNames": names.json(&all_rows),
        "truth": clusters.truth,
    })
}

/// k, the ends of its penalties and its loss.
pub(super) fn point(point: &HullPoint) -> Value {
    let finite = |x: f64| x.is_finite().then_some(x);
    json!([point.k, finite(point.low), finite(point.high), point.loss])
}

/// What the automatic choice thought of a number: 0 chosen, 1 next, ...; null for others.
pub(super) fn place(standing: Standing) -> Option<usize> {
    match standing {
        Standing::Chosen => Some(0),
        Standing::RunnerUp(place) => Some(place),
        Standing::Other => None,
    }
}

/// Only the columns that are spoken of: there may be very many.
fn column_names(clusters: &ClusterOverview) -> Value {
    let mut names = Map::new();
    let mut add = |column: usize| {
        names
            .entry(column.to_string())
            .or_insert_with(|| json!([clusters.columns[column], short(clusters.means[column])]));
    };
    for view in &clusters.views {
        view.telling.iter().copied().for_each(&mut add);
        view.profiles.iter().flat_map(|profile| &profile.most).for_each(|(column, _)| add(*column));
        view.misfits.iter().for_each(|misfit| add(misfit.column));
    }
    Value::Object(names)
}

fn axis_json(axis: &Axis, clusters: &ClusterOverview) -> Value {
    let name = match (axis.component, axis.column) {
        (Some((i, share)), _) => format!("principal component {} ({:.1}% of the variance)", i + 1, 100.0 * share),
        (_, Some(column)) => clusters.columns[column].clone(),
        _ => "row".into(),
    };
    json!({ "name": name, "values": steps(&axis.values) })
}

fn view_json(view: &ClusterView, clusters: &ClusterOverview, names: RowNames) -> Value {
    let finite = |x: f64| x.is_finite().then_some(x);
    let spreads: Vec<f64> = view.largest.iter().map(|&group| view.spreads[group]).collect();
    json!({
        "k": view.sizes.len(),
        "low": view.penalties.and_then(|penalties| finite(penalties.low)),
        "high": view.penalties.and_then(|penalties| finite(penalties.high)),
        "optimal": view.penalties.is_some(),
        "place": place(view.standing),
        "loss": view.loss,
        "largest": view.largest,
        "sizes": view.largest.iter().map(|&group| view.sizes[group]).collect::<Vec<_>>(),
        "spreads": shorts(&spreads),
        "colours": integers(view.colours.iter().map(|colour| colour % STYLES)),
        "labels": integers(view.labels.iter().copied()),
        "centres": view.centres.iter().map(|centre| shorts(centre)).collect::<Vec<_>>(),
        "telling": view.telling,
        "profiles": view.profiles.iter().map(profile_json).collect::<Vec<_>>(),
        "misfits": view.misfits.iter().map(|misfit| misfit_json(misfit, names)).collect::<Vec<_>>(),
        "agreement": view.agreement.as_ref().map(agreement_json),
        "fitted": std::ptr::eq(view, &clusters.views[clusters.fitted]),
    })
}

fn profile_json(profile: &Profile) -> Value {
    json!({
        "group": profile.group,
        "means": shorts(&profile.means),
        "above": shorts(&profile.above),
        "most": profile.most.iter().map(|&(column, above)| json!([column, short(above)])).collect::<Vec<_>>(),
    })
}

fn misfit_json(misfit: &Misfit, names: RowNames) -> Value {
    json!({
        "row": names.name(misfit.row), "group": misfit.group, "measure": short(misfit.measure), "spreads": short(misfit.spreads),
        "column": misfit.column, "value": short(misfit.value), "mean": short(misfit.mean),
    })
}

fn agreement_json(table: &LabelTable) -> Value {
    json!({
        "ari": short(table.adjusted_rand_index), "nmi": short(table.normalized_mutual_information),
        "purity": short(table.purity), "all": table.n_labels, "labels": table.labels, "counts": table.counts,
    })
}
