//! Models as versioned JSON bytes: older versions are read, newer and damaged ones refused with a reason.

use super::ClusterModel;
use crate::error::{Error, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

const FORMAT: &str = "madbayes model";
/// The version written. Raise it when the meaning of a field changes, and keep reading the older ones.
const VERSION: u64 = 1;
const KIND: &str = "clusters";

/// A model as JSON with its kind and version.
pub(super) fn to_bytes(kind: &str, model: &impl Serialize) -> Vec<u8> {
    let mut bytes = serde_json::to_vec_pretty(&fields(kind, model)).unwrap_or_default();
    bytes.push(b'\n');
    bytes
}

/// The same on one line, for what is too long to be read by people.
pub(super) fn to_compact_bytes(kind: &str, model: &impl Serialize) -> Vec<u8> {
    let mut bytes = serde_json::to_vec(&fields(kind, model)).unwrap_or_default();
    bytes.push(b'\n');
    bytes
}

fn fields(kind: &str, model: &impl Serialize) -> Value {
    let mut fields = Map::new();
    fields.insert("format".into(), FORMAT.into());
    fields.insert("version".into(), VERSION.into());
    fields.insert("kind".into(), kind.into());
    // Plain numbers and strings always serialise.
    if let Ok(Value::Object(model)) = serde_json::to_value(model) {
        fields.extend(model);
    }
    Value::Object(fields)
}

/// Reads what `to_bytes` of this or an older version wrote for this kind; `check` says what does not fit together.
pub(super) fn from_bytes<M: DeserializeOwned>(
    kind: &str,
    bytes: &[u8],
    check: impl Fn(&M) -> std::result::Result<(), String>,
) -> Result<M> {
    let (found, value) = opened(bytes)?;
    if found != kind {
        return Err(Error::model(format!("it is of kind {found:?}"), format!("only {kind:?} can be read here")));
    }
    let model: M = serde_json::from_value(value).map_err(|e| damaged(e.to_string()))?;
    check(&model).map_err(damaged)?;
    Ok(model)
}

/// The kind of a model file: "clusters", "covariance clusters", "count clusters", "features", "mixture", "states", or
/// "mixture run" for chains to go on with.
pub fn kind_of_model(bytes: &[u8]) -> Result<String> {
    Ok(opened(bytes)?.0)
}

fn damaged(what: String) -> Error {
    Error::model(what, "the file is damaged or not a madbayes model; fit it again")
}

/// The kind and the fields, format and version checked.
fn opened(bytes: &[u8]) -> Result<(String, Value)> {
    let value: Value = serde_json::from_slice(bytes).map_err(|e| damaged(format!("it is not whole JSON ({e})")))?;
    if value.get("format").and_then(Value::as_str) != Some(FORMAT) {
        return Err(damaged(format!("it does not say \"format\": \"{FORMAT}\"")));
    }
    match value.get("version").and_then(Value::as_u64) {
        Some(1..=VERSION) => {}
        Some(version) if version > VERSION => {
            return Err(Error::model(
                format!("it has version {version}, and this madbayes reads versions up to {VERSION}"),
                "it was written by a newer madbayes: update this one",
            ));
        }
        _ => return Err(damaged("it has no valid version".into())),
    }
    let kind = value.get("kind").and_then(Value::as_str).unwrap_or("none").to_string();
    Ok((kind, value))
}

impl ClusterModel {
    /// The model as JSON.
    pub fn to_bytes(&self) -> Vec<u8> {
        to_bytes(KIND, self)
    }

    /// Reads what `to_bytes` of this or an older version wrote.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        from_bytes(KIND, bytes, ClusterModel::check)
    }

    /// Says what does not fit together.
    fn check(&self) -> std::result::Result<(), String> {
        let (k, d) = (self.n_clusters(), self.n_columns());
        if k == 0 || d == 0 {
            return Err("it has no centres".into());
        }
        if self.centres.iter().any(|c| c.len() != d) || self.columns.len() != d {
            return Err(format!("its centres and column names do not all have {d} columns"));
        }
        if self.sizes.len() != k || self.losses.len() != k {
            return Err(format!("its sizes and losses are not {k}, one per centre"));
        }
        let scales = self.standardise.iter().flat_map(|s| s.means.iter().chain(&s.scales));
        if self.standardise.as_ref().is_some_and(|s| s.means.len() != d || s.scales.len() != d) {
            return Err(format!("its standardisation is not of {d} columns"));
        }
        if self.standardise.as_ref().is_some_and(|s| s.scales.contains(&0.0)) {
            return Err("its standardisation divides by 0".into());
        }
        let numbers = self.centres.iter().flatten().chain(&self.reference).chain(scales);
        if numbers.copied().chain(self.penalty).any(|x| !x.is_finite()) {
            return Err("it holds numbers that are not finite".into());
        }
        if self.penalty.is_some_and(|p| p <= 0.0) {
            return Err("its penalty is not positive".into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Rows;
    use crate::parallel::Workers;
    use crate::prepare::Standardise;
    use proptest::prelude::*;
    use rstest::rstest;

    fn model() -> ClusterModel {
        ClusterModel {
            columns: vec!["length".into(), "width".into()],
            standardise: Some(Standardise { means: vec![10.0, 100.0], scales: vec![2.0, 5.0] }),
            centres: vec![vec![0.1 + 0.2, -1.0], vec![2.0, 1.0 / 3.0]],
            reference: vec![1.0, 0.0],
            penalty: Some(2.5),
            sizes: vec![3, 4],
            losses: vec![0.5, 1e-300],
            objective: 3.0,
            seed: u64::MAX,
        }
    }

    #[test]
    fn a_saved_model_comes_back_bit_for_bit() {
        assert_eq!(ClusterModel::from_bytes(&model().to_bytes()).unwrap(), model());
    }

    #[test]
    fn new_rows_are_measured_in_the_units_of_the_fit() {
        let rows = [10.6, 95.0, 14.0, 100.0, 200.0, 100.0];
        let assigned = model().assign(Rows::new(&rows, 2).unwrap(), &Workers::serial()).unwrap();
        assert_eq!(assigned.labels, [0, 1, 1]);
        assert!(assigned.squared_distances[0] < 1e-25);
        let opening = assigned.opening_costs.unwrap();
        assert!(opening[0] > 2.4 && opening[1] > 0.0 && opening[2] < 0.0, "only the last row fits nowhere");
        let narrow = [10.6f32, 95.0];
        assert_eq!(model().assign(Rows::new(&narrow, 2).unwrap(), &Workers::serial()).unwrap().labels, [0]);
        let error = model().assign(Rows::new(&rows, 3).unwrap(), &Workers::serial()).unwrap_err().to_string();
        assert!(error.contains("the data has 3 columns, the model 2") && error.contains("length, width"), "{error}");
    }

    #[rstest]
    #[case("", "", "not whole JSON")]
    #[case("\"version\": 1", "\"version\": 2", "newer madbayes")]
    #[case("\"version\": 1", "\"version\": 0", "no valid version")]
    #[case("madbayes model", "something else", "does not say \"format\"")]
    #[case("\"clusters\"", "\"trees\"", "of kind \"trees\"")]
    #[case("2.5", "-2.5", "penalty is not positive")]
    #[case("\"reference\"", "\"preference\"", "missing field `reference`")]
    #[case("\"width\"", "\"width\", \"height\"", "do not all have 2 columns")]
    #[case("5.0", "0.0", "divides by 0")]
    fn damaged_and_newer_models_are_refused_with_the_reason(
        #[case] from: &str,
        #[case] to: &str,
        #[case] message: &str,
    ) {
        let text = String::from_utf8(model().to_bytes()).unwrap();
        let text = if from.is_empty() { text[..text.len() / 2].to_string() } else { text.replacen(from, to, 1) };
        let error = ClusterModel::from_bytes(text.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(at in 0usize..700, byte: u8, cut in 0usize..700) {
            let mut bytes = model().to_bytes();
            let at = at % bytes.len();
            bytes[at] = byte;
            bytes.truncate(cut.max(at));
            let _ = ClusterModel::from_bytes(&bytes);
        }
    }
}
