//! The penalty of clusters as the user writes it: a number, or the name of the rule that chooses one.

use madbayes::select::PenaltyRule;
use std::str::FromStr;

/// What `madbayes cluster --penalty` takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ClusterPenalty {
    Value(f64),
    Rule(PenaltyRule),
}

impl Default for ClusterPenalty {
    fn default() -> Self {
        ClusterPenalty::Rule(PenaltyRule::Automatic)
    }
}

impl FromStr for ClusterPenalty {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text.parse(), text.parse::<f64>()) {
            (Ok(rule), _) => Ok(ClusterPenalty::Rule(rule)),
            (_, Ok(value)) if value.is_finite() && value > 0.0 => Ok(ClusterPenalty::Value(value)),
            _ => Err("it must be a positive finite number, with a decimal point: the price of one more cluster in \
                      squared-distance units; or auto, validation or farthest-first:K, which choose one; or give the number \
                      of clusters itself with --clusters K"
                .into()),
        }
    }
}
