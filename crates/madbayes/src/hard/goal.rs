//! What a hard clustering minimises: the DP-means objective (Broderick 2013, Eq. 3), capped (Eq. 12), or K-means.

use crate::error::{Error, Result};

/// The objective.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Goal {
    /// sum_n w_n |x_n - mu_{z_n}|^2 + (K - 1) penalty, K free (B Eq. 3) or at most `max_clusters` (B Eq. 12).
    Penalty {
        /// lambda^2: the price of one more cluster, in squared-distance units.
        penalty: f64,
        /// The cap on K, if there is one.
        max_clusters: Option<usize>,
    },
    /// sum_n w_n |x_n - mu_{z_n}|^2 with exactly this many clusters: K-means (B Sec. 4.2).
    Exactly(usize),
}

impl Goal {
    /// The price of one more cluster; 0 for K-means.
    pub fn penalty(&self) -> f64 {
        match *self {
            Goal::Penalty { penalty, .. } => penalty,
            Goal::Exactly(_) => 0.0,
        }
    }

    /// The cap on K, where there is one and K is free.
    pub fn max_clusters(&self) -> Option<usize> {
        match *self {
            Goal::Penalty { max_clusters, .. } => max_clusters,
            Goal::Exactly(_) => None,
        }
    }

    /// The largest K allowed.
    pub fn cap(&self) -> usize {
        match *self {
            Goal::Penalty { max_clusters, .. } => max_clusters.unwrap_or(usize::MAX),
            Goal::Exactly(k) => k,
        }
    }

    /// loss + (K - 1) penalty.
    pub fn objective(&self, loss: f64, k: usize) -> f64 {
        loss + k.saturating_sub(1) as f64 * self.penalty()
    }

    /// Errors unless the goal makes sense for `n_rows` rows.
    pub fn check(&self, n_rows: usize) -> Result<()> {
        match *self {
            Goal::Penalty { penalty, .. } if !(penalty.is_finite() && penalty > 0.0) => Err(Error::argument(
                "penalty",
                "a positive finite number",
                penalty,
                "it is the price of one more cluster in squared-distance units",
            )),
            Goal::Penalty { max_clusters: Some(cap), .. } if cap == 0 || cap > n_rows => Err(Error::argument(
                "max_clusters",
                format!("between 1 and the number of rows, {n_rows}"),
                cap,
                "leave it out for no cap",
            )),
            Goal::Exactly(k) if k == 0 || k > n_rows => Err(Error::argument(
                "n_clusters",
                format!("between 1 and the number of rows, {n_rows}"),
                k,
                "a cluster needs at least one row",
            )),
            _ => Ok(()),
        }
    }
}
