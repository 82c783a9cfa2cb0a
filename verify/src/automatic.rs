//! Studies of the automatic choice: on the shared sets, on simulated mixtures, and on data without structure.

use crate::clusters::shared;
use crate::common::{data, uniform};
use anyhow::Result;
use madbayes::hard::DpMeans;
use madbayes::metrics::adjusted_rand_index;
use madbayes::parallel::Workers;
use madbayes::random::{Stream, stream};
use madbayes::select::{Automatic, automatic};
use madbayes::simulate::{GaussianMixture, Weights};
use madbayes::structure::Partition;
use madbayes::watch::Unwatched;
use ndarray_npy::NpzReader;
use rand::RngExt;
use rand_distr::StandardNormal;
use std::fs::File;
use std::path::Path;

/// Sets, whether their columns are standardised, and the number of labelled groups.
const SETS: [(&str, bool, Option<usize>); 26] = [
    ("a1", false, Some(20)),
    ("a3", false, Some(50)),
    ("aggregation", false, Some(7)),
    ("birch1", false, Some(100)),
    ("compound", false, Some(6)),
    ("dim032", false, Some(16)),
    ("dim256", false, Some(16)),
    ("engytime", false, Some(2)),
    ("faithful", false, None),
    ("flame", false, Some(2)),
    ("g2mg_64_50", false, Some(2)),
    ("galaxies", false, None),
    ("h2mg_64_50", false, Some(2)),
    ("hepta", false, Some(7)),
    ("ionosphere", true, Some(2)),
    ("iris", false, Some(3)),
    ("jain", false, Some(2)),
    ("r15", false, Some(15)),
    ("s1", false, Some(15)),
    ("s2", false, Some(15)),
    ("s4", false, Some(15)),
    ("sonar", true, Some(2)),
    ("statlog", true, Some(7)),
    ("wdbc", true, Some(2)),
    ("wine", true, Some(3)),
    ("yeast", true, Some(10)),
];

/// Values, columns and labels of a shared set of any format; no labels where the last column is none.
fn load(name: &str, labelled: bool) -> Option<(Vec<f64>, usize, Vec<String>)> {
    if !labelled {
        let (values, d, last) = shared(name)?;
        let mut last = last.iter().filter_map(|cell| cell.parse().ok());
        let row = |n: usize| values[n * d..(n + 1) * d].iter().copied().chain(last.next()).collect::<Vec<f64>>();
        let n_rows = shared(name)?.2.len();
        return Some(((0..n_rows).flat_map(row).collect(), d + 1, Vec::new()));
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../shared/data/clustering/{name}.npz"));
    let Ok(file) = File::open(path) else { return shared(name) };
    let mut archive = NpzReader::new(file).ok()?;
    let x: ndarray::Array2<f64> = if let Ok(x) = archive.by_name("X") {
        x
    } else if let Ok(x) = archive.by_name::<ndarray::OwnedRepr<f32>, ndarray::Ix2>("X") {
        x.mapv(f64::from)
    } else {
        archive.by_name::<ndarray::OwnedRepr<i16>, ndarray::Ix2>("X").ok()?.mapv(f64::from)
    };
    let d = x.ncols();
    let labels: Option<ndarray::Array1<i16>> = archive.by_name("y").ok();
    let labels = labels.map(|y| y.iter().map(i16::to_string).collect()).unwrap_or_default();
    Some((x.iter().copied().collect(), d, labels))
}

fn standardise(values: &mut [f64], d: usize) {
    let n = (values.len() / d) as f64;
    for j in 0..d {
        let mean = values.iter().skip(j).step_by(d).sum::<f64>() / n;
        let variance = values.iter().skip(j).step_by(d).map(|x| (x - mean).powi(2)).sum::<f64>() / n;
        let scale = if variance > 0.0 { variance.sqrt() } else { 1.0 };
        values.iter_mut().skip(j).step_by(d).for_each(|x| *x = (*x - mean) / scale);
    }
}

fn choose(values: &[f64], d: usize) -> Result<Automatic> {
    Ok(automatic(&data(values, d), &DpMeans::default(), &Unwatched)?)
}

/// What the automatic choice finds.
pub fn automatic_choice() -> Result<String> {
    let mut page = String::from(
        "# The automatic choice\n\n\
         The number of clusters whose interval of penalties is widest for its size: sqrt(K) times log(upper end/lower end), \
         if data of the same covariance without structure do not show the like. Confidence: by what share the score of the \
         runner-up is below that of the choice.\n\n\
         ## Real and published sets\n\n\
         `*`: columns standardised. Several have no round clusters at all (jain, flame, compound, aggregation), or labels that \
         are not clusters (sonar, ionosphere, statlog, yeast). Evidence: standard deviations above data without structure, of \
         the score and of the loss explained; none where the score alone is decisive.\n\n\
         | data | rows | columns | labelled | found | confidence | runners-up | evidence | ARI |\n\
         |---|---|---|---|---|---|---|---|---|\n",
    );
    for (name, standardised, labelled) in SETS {
        let Some((mut values, d, labels)) = load(name, labelled.is_some()) else {
            page += &format!("| {name} | skipped: the data are not here | | | | | | | |\n");
            continue;
        };
        if standardised {
            standardise(&mut values, d);
        }
        let found = choose(&values, d)?;
        let choice = &found.choice;
        let runners_up: Vec<String> = choice.runners_up.iter().map(|c| c.k.to_string()).collect();
        let evidence =
            choice.evidence.map_or("-".into(), |e| format!("{:.1}, {:.1}", e.persistence.unwrap_or(f64::NAN), e.loss));
        let rows = data(&values, d);
        let agreement = match found.path.labels(choice.k, &rows, &Workers::new(0)) {
            Some(own) if labels.len() == own.len() => {
                let truth = Partition::from_labels(labels.iter());
                format!("{:.2}", adjusted_rand_index(&truth, &Partition::from_labels(own))?)
            }
            _ => "-".into(),
        };
        page += &format!(
            "| {name}{} | {} | {d} | {} | {} | {:.2} | {} | {evidence} | {agreement} |\n",
            if standardised { "\\*" } else { "" },
            values.len() / d,
            labelled.map_or("-".into(), |k| k.to_string()),
            choice.k,
            choice.confidence,
            runners_up.join(", "),
        );
    }
    page += &simulated()?;
    page += &structureless()?;
    Ok(page)
}

fn simulated() -> Result<String> {
    let mut page = String::from(
        "\n## Simulated mixtures\n\n\
         Round clusters of unit variance, closest centres `separation` apart, 40 rows to a cluster and at least 200; 6 data sets \
         each: three with equal shares and three with shares from a Dirichlet distribution of concentration 5.\n\n\
         | columns | separation | clusters | exact | within one |\n|---|---|---|---|---|\n",
    );
    for n_columns in [2, 10, 50] {
        for separation in [4.0, 6.0] {
            for n_clusters in [1, 2, 3, 5, 8, 12, 20, 30] {
                let n_rows = (40 * n_clusters).max(200);
                let (mut exact, mut near) = (0, 0);
                for seed in 0..6 {
                    let weights = if seed < 3 { Weights::Equal } else { Weights::Dirichlet { concentration: 5.0 } };
                    let recipe = GaussianMixture { n_rows, n_columns, n_clusters, separation, weights };
                    let k = choose(&recipe.sample(seed)?.values, n_columns)?.choice.k;
                    exact += usize::from(k == n_clusters);
                    near += usize::from(k.abs_diff(n_clusters) <= 1);
                }
                page += &format!("| {n_columns} | {separation} | {n_clusters} | {exact} of 6 | {near} of 6 |\n");
            }
        }
    }
    Ok(page)
}

fn structureless() -> Result<String> {
    let mut page = String::from(
        "\n## Data without structure\n\n\
         Uniform in a box, a round Gaussian, and a Gaussian with one axis three times the others: how many of 10 are said to be \
         one cluster.\n\n| rows | columns | box | round | one long axis |\n|---|---|---|---|---|\n",
    );
    for n in [100, 500, 2000] {
        for d in [2, 10, 50] {
            let mut ones = [0; 3];
            for seed in 0..10 {
                let gaussian = |long_axis: f64| -> Vec<f64> {
                    let mut rng = stream(seed, Stream::Simulation);
                    let scale = |i: usize| if i.is_multiple_of(d) { long_axis } else { 1.0 };
                    (0..n * d).map(|i| scale(i) * rng.sample::<f64, _>(StandardNormal)).collect()
                };
                for (i, values) in [uniform(n, d, seed), gaussian(1.0), gaussian(3.0)].iter().enumerate() {
                    ones[i] += usize::from(choose(values, d)?.choice.k == 1);
                }
            }
            page += &format!("| {n} | {d} | {} | {} | {} |\n", ones[0], ones[1], ones[2]);
        }
    }
    Ok(page)
}
