//! The discriminative term on the command line: what its options ask for, and its hyperplanes in the user's units.

use crate::arguments::{FactorName, NewClusterName, SeparationArguments};
use crate::number::number;
use crate::resumed::{Said, named};
use madbayes::prepare::Standardise;
use madbayes::separator::{Discriminative, Factor, FittedHyperplanes, NewCluster};
use serde_json::{Value, json};

impl SeparationArguments {
    /// The term that the options ask for.
    pub fn term(&self) -> Option<Discriminative> {
        let default = Discriminative::new(match self.discriminative? {
            FactorName::Svm => Factor::Svm,
            FactorName::Logistic => Factor::Logistic,
        });
        Some(Discriminative {
            scale: self.discriminative_scale.unwrap_or(default.scale),
            new_cluster: match self.new_cluster {
                Some(NewClusterName::Paper) => NewCluster::Paper,
                Some(NewClusterName::Exact) => NewCluster::Exact,
                None => default.new_cluster,
            },
            ..default
        })
    }

    /// The options beside what a saved run has.
    pub fn said(&self, saved: Option<Discriminative>) -> [Said; 3] {
        [
            Said::new(
                "--discriminative",
                self.discriminative.as_ref().map(named),
                saved.map(|term| named(&name_of_factor(term.factor))),
            ),
            Said::new("--discriminative-scale", self.discriminative_scale, saved.map(|term| term.scale)),
            Said::new(
                "--new-cluster",
                self.new_cluster.as_ref().map(named),
                saved.map(|term| named(&name_of_new_cluster(term.new_cluster))),
            ),
        ]
    }
}

fn name_of_factor(factor: Factor) -> FactorName {
    match factor {
        Factor::Svm => FactorName::Svm,
        Factor::Logistic => FactorName::Logistic,
    }
}

fn name_of_new_cluster(rule: NewCluster) -> NewClusterName {
    match rule {
        NewCluster::Exact => NewClusterName::Exact,
        NewCluster::Paper => NewClusterName::Paper,
    }
}

/// What keeps groups apart, beside what makes them alike: a line of the report, empty without a term.
pub fn line(term: Option<Discriminative>, group: &str) -> String {
    let Some(term) = term else { return String::new() };
    let (factor, scale) = (named(&name_of_factor(term.factor)), number(term.scale));
    format!("separation: {factor} hyperplanes of prior variance {scale}, one for each {group} (in --format json)\n")
}

/// Adds the term and the hyperplanes of `n_groups` groups, in the user's units, to a JSON object.
pub fn add_to(
    value: &mut Value,
    term: Option<Discriminative>,
    hyperplanes: Option<&FittedHyperplanes>,
    standardise: Option<&Standardise>,
    n_groups: usize,
) {
    let Some(hyperplanes) = hyperplanes else { return };
    let of = |group: usize| in_units(hyperplanes, group, standardise);
    let (slopes, intercepts): (Vec<_>, Vec<_>) = (0..n_groups).map(of).unzip();
    value["discriminative"] = json!(term);
    value["hyperplanes"] = json!(slopes);
    value["intercepts"] = json!(intercepts);
}

/// The hyperplane of a group in the user's units: coefficients of the columns, and the intercept.
fn in_units(hyperplanes: &FittedHyperplanes, group: usize, standardise: Option<&Standardise>) -> (Vec<f64>, f64) {
    let (mut slopes, mut intercept) = hyperplanes.in_units(group);
    if let Some(Standardise { means, scales }) = standardise {
        slopes.iter_mut().zip(scales).for_each(|(slope, scale)| *slope /= scale);
        intercept -= slopes.iter().zip(means).map(|(slope, mean)| slope * mean).sum::<f64>();
    }
    (slopes, intercept)
}
