//! What feature learning minimises: BP-means (Broderick 2013, Eq. 6), capped (Eq. 15), or K-features (Eq. 14).

use crate::error::{Error, Result};

/// The objective.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FeatureGoal {
    /// |X - Z A|_F^2 + K penalty, K free (B Eq. 6) or at most `max_features` (B Eq. 15). No feature at all is allowed.
    Penalty {
        /// lambda^2: the price of one more feature, in squared-distance units.
        penalty: f64,
        /// The cap on K, if there is one.
        max_features: Option<usize>,
    },
    /// |X - Z A|_F^2 with exactly this many features: K-features (B Eq. 14).
    Exactly(usize),
}

impl FeatureGoal {
    /// The price of one more feature; 0 for K-features.
    pub fn penalty(&self) -> f64 {
        match *self {
            FeatureGoal::Penalty { penalty, .. } => penalty,
            FeatureGoal::Exactly(_) => 0.0,
        }
    }

    /// The largest K allowed for `n_rows` rows: more columns than rows are dependent.
    pub fn cap(&self, n_rows: usize) -> usize {
        match *self {
            FeatureGoal::Penalty { max_features, .. } => max_features.unwrap_or(n_rows).min(n_rows),
            FeatureGoal::Exactly(k) => k,
        }
    }

    /// loss + K penalty.
    pub fn objective(&self, loss: f64, k: usize) -> f64 {
        loss + k as f64 * self.penalty()
    }

    /// Errors unless the goal makes sense for `n_rows` rows.
    pub fn check(&self, n_rows: usize) -> Result<()> {
        match *self {
            FeatureGoal::Penalty { penalty, .. } if !(penalty.is_finite() && penalty > 0.0) => Err(Error::argument(
                "penalty",
                "a positive finite number",
                penalty,
                "it is the price of one more feature in squared-distance units",
            )),
            FeatureGoal::Penalty { max_features: Some(cap), .. } if cap == 0 || cap > n_rows => Err(Error::argument(
                "max_features",
                format!("between 1 and the number of rows, {n_rows}"),
                cap,
                "leave it out for no cap",
            )),
            FeatureGoal::Exactly(k) if k == 0 || k > n_rows => Err(Error::argument(
                "n_features",
                format!("between 1 and the number of rows, {n_rows}"),
                k,
                "more features than rows are never independent",
            )),
            _ => Ok(()),
        }
    }
}
