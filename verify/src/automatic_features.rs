//! Studies of the automatic number of features: on planted features, and on data without any.

use crate::common::data;
use anyhow::Result;
use madbayes::hard::BpMeans;
use madbayes::parallel::Workers;
use madbayes::random::{Stream, stream};
use madbayes::select::automatic_features;
use madbayes::simulate::FeatureMixture;
use madbayes::watch::Unwatched;
use rand::RngExt;
use rand_distr::StandardNormal;
use std::collections::BTreeMap;

const SHAPES: [(&str, usize); 4] = [
    ("Gaussian, round", 0),
    ("Gaussian, one axis three times", 0),
    ("the same, far from 0", 1),
    ("uniform in a box", 1),
];

/// The number of features chosen, one data set after the other.
fn chosen(n: usize, make: impl Fn(usize) -> (Vec<f64>, usize) + Sync) -> Result<Vec<usize>> {
    let found: Vec<Result<usize>> = Workers::new(0).map(n, |i| {
        let (values, d) = make(i);
        let parameters = BpMeans { threads: 1, ..BpMeans::default() };
        Ok(automatic_features(&data(&values, d), &parameters, &Unwatched)?.choice.k)
    });
    found.into_iter().collect()
}

/// How often the planted number is chosen, and how often none where there is none.
pub fn automatic_choice() -> Result<String> {
    let each = 36;
    let mut page = format!(
        "# The automatic number of features\n\n\
         X = Z A + noise, A standard normal, every bit by a coin, in half of the data sets a base that all rows have; \
         {each} data sets for each K, over 100 x 36, 200 x 36 and 400 x 50 cells and noise of standard deviation 0.3, 0.65 \
         and 1.\n\n\
         | planted | chosen | others |\n|---|---|---|\n"
    );
    let (mut right, mut all) = (0, 0);
    for k in 3..=8 {
        let found = chosen(each, |i| {
            let (n_rows, n_columns) = [(100, 36), (200, 36), (400, 50)][i % 3];
            let noise = [0.3, 0.65, 1.0][i / 3 % 3];
            let base = i / 9 % 2 == 1;
            let recipe = FeatureMixture { n_rows, n_columns, n_features: k, noise, base, ..FeatureMixture::default() };
            let sample = recipe.sample(i as u64).map_or_else(|_| Vec::new(), |sample| sample.values);
            (sample, n_columns)
        })?;
        let hits = found.iter().filter(|found| **found == k).count();
        (right, all) = (right + hits, all + each);
        page += &format!("| {k} | {hits} of {each} | {} |\n", others(&found, k));
    }
    page += &format!("\nIn all {right} of {all}.\n\n## Data without features\n\n");
    let sets = 20;
    page += &format!(
        "200 rows; {sets} data sets each. Right is no feature about 0, and one, the mean, away from it.\n\n\
         | data | columns | right | others |\n|---|---|---|---|\n"
    );
    for (shape, (name, expected)) in SHAPES.into_iter().enumerate() {
        for d in [2, 10, 50] {
            let found = chosen(sets, |seed| {
                let mut rng = stream(seed as u64, Stream::Simulation);
                let mut draw = |i: usize| {
                    let (normal, even): (f64, f64) = (rng.sample(StandardNormal), rng.random());
                    let long = if i.is_multiple_of(d) { 3.0 } else { 1.0 };
                    [normal, long * normal, long * normal + 10.0, even][shape]
                };
                ((0..200 * d).map(&mut draw).collect(), d)
            })?;
            let hits = found.iter().filter(|found| **found == expected).count();
            page += &format!("| {name} | {d} | {hits} of {sets} | {} |\n", others(&found, expected));
        }
    }
    Ok(page)
}

/// "2 x 5, 1 x 7": what else was chosen.
fn others(found: &[usize], expected: usize) -> String {
    let mut counts = BTreeMap::<usize, usize>::new();
    found.iter().filter(|k| **k != expected).for_each(|k| *counts.entry(*k).or_default() += 1);
    counts.iter().map(|(k, times)| format!("{times} times {k}")).collect::<Vec<_>>().join(", ")
}
