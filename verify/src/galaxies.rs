//! How many clusters a mixture finds in the galaxy velocities, and how much that depends on its prior.

use crate::common::galaxies::{Clusters, Prior, number_of_clusters as clusters_under, velocities};
use anyhow::{Context, Result, bail};
use madbayes_draw::Lines;
use std::path::Path;

const SWEEPS: usize = 20_000;
/// The table's columns: from so many clusters and fewer to so many and more.
const FEWEST: usize = 3;
const MOST: usize = 16;

/// The distribution of the number of clusters under several priors, and a picture of it.
pub fn number_of_clusters() -> Result<String> {
    let velocities = velocities().context("the study needs galaxies.csv")?;
    let weak = Prior::default();
    let priors = [
        Prior { spread: 0.5, ..weak },
        weak,
        Prior { spread: 2.0, ..weak },
        Prior { diagonal: true, ..weak },
        Prior { concentration: Some(0.2), ..weak },
        Prior { concentration: Some(1.0), ..weak },
        Prior { concentration: Some(5.0), ..weak },
        Prior { strength: 0.1, ..weak },
        Prior { dof: 10.0, ..weak },
        Prior { dof: 10.0, spread: 0.5, ..weak },
    ];
    let mut page = String::from(
        "# Galaxies: how many clusters, and who says so\n\n\
         82 velocities of galaxies (Roeder 1990) are the classical example of a mixture whose number of components nobody \
         knows: published answers differ, because their priors do, and a sampler shows by how much. \
         Velocities are in 1000 km/s.\n\n\
         ![Probability of each number of clusters, for three guesses of the spread within one](galaxies.svg)\n\n\
         *Spread* is the guess of the standard deviation within a cluster: `prior_scale` is its square times \
         (`prior_dof` - 2). `prior_strength` is how many rows the prior mean (that of all velocities) is worth: the \
         smaller, the farther apart clusters may lie, and the more a cluster costs. The concentration is fixed, or redrawn \
         with its Gamma(1, 1) prior.\n\n\
         | likelihood | spread | `prior_dof` | `prior_strength` | concentration | mean K |",
    );
    page += &format!(" up to {FEWEST} |");
    page += &(FEWEST + 1..MOST).map(|k| format!(" {k} |")).collect::<String>();
    page += &format!(" {MOST} or more |\n|{}\n", "---|".repeat(7 + MOST - FEWEST));
    let (mut series, mut worst) = (vec![], 1.0_f64);
    for prior in priors {
        let Clusters { probabilities, mean, r_hat } = clusters_under(&velocities, prior, SWEEPS);
        if r_hat.is_nan() || r_hat > 1.05 {
            bail!("chains disagree under {prior:?}: R-hat {r_hat}");
        }
        worst = worst.max(r_hat);
        let Prior { diagonal, spread, strength, dof, concentration } = prior;
        let kind = if diagonal { "diagonal" } else { "full" };
        let concentration = concentration.map_or("Gamma(1, 1)".into(), |alpha| alpha.to_string());
        page += &format!("| {kind} | {spread} | {dof} | {strength} | {concentration} | {mean:.1} |");
        let between = |from: usize, to: usize| probabilities.iter().take(to).skip(from - 1).sum::<f64>();
        page += &format!(" {} |", rounded(between(1, FEWEST)));
        page += &(FEWEST + 1..MOST).map(|k| format!(" {} |", rounded(between(k, k)))).collect::<String>();
        page += &format!(" {} |", rounded(between(MOST, probabilities.len())));
        page += "\n";
        if prior == (Prior { spread, ..weak }) {
            series.push((format!("spread {spread}"), probabilities));
        }
    }
    page += &format!(
        "\nTwo chains from one cluster and two from 20 random ones, {SWEEPS} sweeps each, the first tenth left out; R-hat of \
         the number of clusters is at most {worst:.3}. With one column the diagonal law is the full one, and so are its \
         chains. Made by `cargo run --release -p verify -- galaxies`.\n\n\
         What to take from it: the number of clusters is a question to the prior as much as to the data. The guess of the \
         spread within a cluster and the concentration each change it by more than the data leave open. Give `prior_scale` \
         what you know of the spread, a larger `prior_dof` if you are sure of it, and report both beside the answer.\n"
    );
    let picture = Lines {
        title: "Clusters among 82 galaxies",
        x_name: "number of clusters",
        y_name: "probability",
        series: &series,
    };
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/galaxies.svg");
    std::fs::write(&path, picture.svg()).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(page)
}

/// Two decimals; a dot for what rounds to nothing.
fn rounded(probability: f64) -> String {
    if probability < 0.005 { "·".into() } else { format!("{probability:.2}") }
}
