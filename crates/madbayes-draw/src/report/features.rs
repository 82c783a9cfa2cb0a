//! Features as the script of a report reads them.

use super::RowNames;
use super::clusters::{place, point};
use super::pack::{integers, levels, short, shorts};
use crate::base64::base64;
use madbayes::overview::{FeatureOverview, FeatureView};
use madbayes::structure::Allocation;
use serde_json::{Map, Value, json};

pub(super) fn json(features: &FeatureOverview, names: RowNames) -> Value {
    let all_shown = features.shown.len() == features.n_rows;
    let numbers = |values: &[f64]| if features.picture.is_some() { levels(values) } else { shorts(values) };
    let all_rows: Vec<usize> = if features.all.is_some() { (0..features.n_rows).collect() } else { Vec::new() };
    json!({
        "rows": features.n_rows,
        "nColumns": features.columns.len(),
        "columns": column_names(features),
        "picture": features.picture,
        "offset": if features.picture.is_some() { levels(&features.offset) } else { Value::Null },
        "tones": [features.tones.0, features.tones.1],
        "shown": (!all_shown).then(|| integers(features.shown.iter().map(|&row| row as u32))),
        "names": names.json(&features.shown),
        "bits": features.all.as_ref().map(bits),
        "allNames": names.json(&all_rows),
        "examples": features.examples.iter().map(|&row| names.name(row)).collect::<Vec<_>>(),
        "typical": features.n_typical,
        "originals": features.originals.iter().map(|values| numbers(values)).collect::<Vec<_>>(),
        "views": features.views.iter().enumerate().map(|(i, view)| view_json(view, features, i)).collect::<Vec<_>>(),
        "fitted": features.fitted,
        "points": features.points.iter().map(point).collect::<Vec<_>>(),
        "sampled": features.sampled_rows,
    })
}

fn column_names(features: &FeatureOverview) -> Value {
    let mut names = Map::new();
    for &column in features.views.iter().flat_map(|view| &view.telling) {
        let numbers = [features.offset[column], features.deviations[column]].map(short);
        names.insert(column.to_string(), json!([features.columns[column], numbers[0], numbers[1]]));
    }
    Value::Object(names)
}

fn view_json(view: &FeatureView, features: &FeatureOverview, index: usize) -> Value {
    let finite = |x: f64| x.is_finite().then_some(x);
    let numbers = |values: &Vec<f64>| if features.picture.is_some() { levels(values) } else { shorts(values) };
    json!({
        "k": view.counts.len(),
        "low": view.penalties.and_then(|penalties| finite(penalties.low)),
        "high": view.penalties.and_then(|penalties| finite(penalties.high)),
        "optimal": view.penalties.is_some(),
        "place": place(view.standing),
        "loss": finite(view.loss),
        "counts": view.counts,
        "telling": view.telling,
        "components": view.components.iter().map(numbers).collect::<Vec<_>>(),
        "rest": view.rest.iter().map(|rest| if rest.is_empty() { Value::Null } else { numbers(rest) }).collect::<Vec<_>>(),
        "originals": view.originals.iter().map(|values| shorts(values)).collect::<Vec<_>>(),
        "together": view.together,
        "combinations": view.combinations,
        "examples": view.examples,
        "bits": bits(&view.allocation),
        "fitted": index == features.fitted,
    })
}

/// The features of every row as bits, the first feature the lowest, in whole bytes.
fn bits(allocation: &Allocation) -> Value {
    let bytes = allocation.n_features().div_ceil(8);
    let row = |row: usize| (0..bytes).map(move |byte| (allocation.row(row)[byte / 8] >> (byte % 8 * 8)) as u8);
    let all: Vec<u8> = (0..allocation.n_rows()).flat_map(row).collect();
    json!({ "bytes": bytes, "text": base64(&all) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_of_a_row_are_its_features_from_the_lowest() {
        let mut allocation = Allocation::new(2, 10);
        for (row, feature) in [(0, 0), (0, 9), (1, 3)] {
            allocation.set(row, feature, true);
        }
        assert_eq!(bits(&allocation), json!({ "bytes": 2, "text": base64(&[1, 2, 8, 0]) }));
    }
}
