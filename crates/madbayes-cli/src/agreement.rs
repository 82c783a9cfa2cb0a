//! How a clustering agrees with a label column.

use crate::number::number;
use crate::read::Labels;
use anyhow::Result;
use madbayes::metrics::{
    Average, adjusted_rand_index, normalized_mutual_information, pairwise_f1, purity, variation_of_information,
};
use madbayes::structure::Partition;
use serde::Serialize;

/// Agreement by several measures; 1 is best but for the variation of information, where 0 is.
#[derive(Debug, Serialize)]
pub struct Agreement {
    pub column: String,
    pub n_labels: usize,
    pub adjusted_rand_index: f64,
    pub normalized_mutual_information: f64,
    pub pairwise_f1: f64,
    pub purity: f64,
    pub variation_of_information: f64,
}

impl Agreement {
    pub fn new(truth: &Labels, labels: &[u32]) -> Result<Self> {
        let (known, found) = (Partition::from_labels(truth.values.iter()), Partition::from_labels(labels.iter()));
        Ok(Agreement {
            column: truth.name.clone(),
            n_labels: known.n_groups(),
            adjusted_rand_index: adjusted_rand_index(&known, &found)?,
            normalized_mutual_information: normalized_mutual_information(&known, &found, Average::Arithmetic)?,
            pairwise_f1: pairwise_f1(&known, &found)?.f1,
            purity: purity(&known, &found)?,
            variation_of_information: variation_of_information(&known, &found)?,
        })
    }

    /// One line for people.
    pub fn line(&self) -> String {
        format!(
            "agreement with {} ({} labels): ARI {}, NMI {}, pairwise F1 {}, purity {}, variation of information {}\n",
            self.column,
            self.n_labels,
            number(self.adjusted_rand_index),
            number(self.normalized_mutual_information),
            number(self.pairwise_f1),
            number(self.purity),
            number(self.variation_of_information),
        )
    }
}
