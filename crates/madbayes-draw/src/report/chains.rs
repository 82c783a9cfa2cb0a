//! Chains as the script of a report reads them.

use super::RowNames;
use super::pack::{base64, short, shorts};
use madbayes::overview::ChainOverview;
use serde_json::{Value, json};

pub(super) fn json(chains: &ChainOverview, names: RowNames) -> Value {
    let together = chains.together.as_ref().map(|together| {
        let shares: Vec<u8> = together.shares.iter().map(|share| (255.0 * share).round() as u8).collect();
        json!({
            "rows": together.rows.iter().map(|&row| names.name(row)).collect::<Vec<_>>(),
            "groups": together.groups,
            "shares": base64(&shares),
            "certainty": shorts(&together.certainty),
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
