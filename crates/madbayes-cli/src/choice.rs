//! What is said of a number of groups that the data chose: for people and for programs.

use crate::number::number;
use madbayes::select::{Choice, FEATURE_EVIDENCE, LOSS_EVIDENCE, PERSISTENCE_EVIDENCE, PenaltyInterval};
use serde_json::{Value, json};

/// Runners-up that people are told of.
const SHOWN: usize = 3;

/// "from 3 to 12" or "above 3".
pub fn range(PenaltyInterval { low, high }: PenaltyInterval) -> String {
    match high.is_finite() {
        true => format!("from {} to {}", number(low), number(high)),
        false => format!("above {}", number(low)),
    }
}

/// How sure the choice is, what else could be, and how it compares with data without structure; `group` is what is counted.
pub fn text(choice: &Choice, group: &str, stopped: bool) -> String {
    let mut out = format!("chosen by the data, confidence {:.2} of 1", choice.confidence);
    let next: Vec<String> =
        choice.runners_up.iter().take(SHOWN).map(|c| format!("{} ({})", c.k, range(c.penalties))).collect();
    if !next.is_empty() {
        out += &format!("; next would be {}", next.join(", "));
    }
    format!("{out}\n{}\n", evidence(choice, group, stopped))
}

/// The evidence as a sentence.
fn evidence(choice: &Choice, group: &str, stopped: bool) -> String {
    let enough = if group == "feature" { FEATURE_EVIDENCE } else { LOSS_EVIDENCE };
    // One cluster is no choice; one feature can be.
    let many = choice.k > 1 || group == "feature" && choice.evidence.is_some_and(|found| found.loss >= enough);
    match choice.evidence {
        Some(found) => {
            let side = |x: f64| if x < 0.0 { "below" } else { "above" };
            let deviations = |x: f64| number((x.abs() * 100.0).round() / 100.0);
            let mut out = format!(
                "{} rows without {group}s but of the same covariance: {} standard deviations {} them in the loss explained \
                 ({} above count as evidence)",
                if many { "it stands out from" } else { "no number stands out from" },
                deviations(found.loss),
                side(found.loss),
                number(enough),
            );
            if let Some(persistence) = found.persistence {
                let enough = number(PERSISTENCE_EVIDENCE);
                out += &format!(", {} {} in persistence ({enough} count)", deviations(persistence), side(persistence));
            }
            out
        }
        None if stopped => format!("stopped before it was compared with rows without {group}s: a guess so far"),
        None if many => format!("it is too clear to need a comparison with rows without {group}s"),
        None => format!("no larger number of {group}s is optimal over a range of penalties"),
    }
}

/// For programs; ends that are infinite are null.
pub fn json(choice: &Choice) -> Value {
    let finite = |x: f64| x.is_finite().then_some(x);
    let runners_up: Vec<Value> = choice
        .runners_up
        .iter()
        .map(|c| {
            json!({
                "k": c.k,
                "penalty_low": c.penalties.low,
                "penalty_high": finite(c.penalties.high),
                "persistence": c.persistence,
                "score": c.score,
            })
        })
        .collect();
    json!({
        "k": choice.k,
        "penalty": choice.penalty,
        "penalty_low": choice.penalties.low,
        "penalty_high": finite(choice.penalties.high),
        "confidence": choice.confidence,
        "runners_up": runners_up,
        "evidence": choice.evidence.map(|e| json!({ "loss": e.loss, "persistence": e.persistence })),
    })
}
