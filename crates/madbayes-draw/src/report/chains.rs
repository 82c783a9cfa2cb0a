//! Chains as the script of a report reads them.

use super::RowNames;
use super::pack::{short, shorts};
use crate::base64::base64;
use madbayes::overview::ChainOverview;
use serde_json::{Value, json};

/// Groups whose certainty is listed, and states whose transitions are.
const MOST_GROUPS: usize = 30;
const MOST_STATES: usize = 12;

pub(super) fn json(chains: &ChainOverview, names: RowNames) -> Value {
    let together = chains.together.as_ref().map(|together| {
        let shares: Vec<u8> = together.shares.iter().map(|share| (255.0 * share).round() as u8).collect();
        json!({
            "rows": together.rows.iter().map(|&row| names.name(row)).collect::<Vec<_>>(),
            "all": together.n_rows,
            "groups": together.groups,
            "shares": base64(&shares),
            "certainty": shorts(&together.certainty[..together.certainty.len().min(MOST_GROUPS)]),
            "nGroups": together.certainty.len(),
            "unsure": together.unsure.iter().map(|&(row, group, sure)| json!([names.name(row), group, short(sure)])).collect::<Vec<_>>(),
        })
    });
    json!({
        "every": chains.every,
        "burnIn": chains.burn_in,
        "numbers": chains.n_groups.iter().map(|trace| shorts(trace)).collect::<Vec<_>>(),
        "joints": chains.ln_joint.iter().map(|trace| shorts(trace)).collect::<Vec<_>>(),
        "distribution": chains.distribution.iter().map(|&(k, share)| json!([k, short(share)])).collect::<Vec<_>>(),
        "rHat": chains.r_hat.iter().map(|(name, r)| json!([name, short(*r)])).collect::<Vec<_>>(),
        "together": together,
    })
}

/// Sequences of states: a picture of them as SVG, what it shows in words, and the probabilities of transitions, K x K, of which
/// those among the states with most rows are listed.
pub(super) fn sequences((svg, said, transitions): (&str, &str, &[f64]), sizes: Option<&[usize]>) -> Value {
    let k = transitions.len().isqrt();
    let mut states: Vec<usize> = (0..k).collect();
    states.sort_by_key(|&state| std::cmp::Reverse(sizes.and_then(|sizes| sizes.get(state)).copied().unwrap_or(0)));
    states.truncate(MOST_STATES);
    states.sort_unstable();
    let from = |&from: &usize| shorts(&states.iter().map(|&to| transitions[from * k + to]).collect::<Vec<f64>>());
    json!({
        "svg": base64(svg.as_bytes()),
        "description": said,
        "all": k,
        "states": states,
        "transitions": states.iter().map(from).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transitions_of_many_states_are_those_of_the_largest() {
        let k = 20;
        let transitions: Vec<f64> = (0..k * k).map(|i| i as f64).collect();
        let mut sizes = vec![1; k];
        sizes[17] = 9;
        let found = sequences(("", "", &transitions), Some(&sizes));
        assert_eq!((&found["all"], &found["states"][11]), (&json!(20), &json!(17)));
        assert_eq!(found["transitions"][11][0], json!(17.0 * 20.0));
        assert_eq!(found["transitions"].as_array().unwrap().len(), MOST_STATES);
    }
}
