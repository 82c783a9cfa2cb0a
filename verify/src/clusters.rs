//! Studies of hard clustering: against brute force, against the best known sums of squares, and start against start.

use crate::common::{data, success_rate};
use anyhow::Result;
use madbayes::hard::{Algorithm, DpMeans, Restarts, Start};
use madbayes::metrics::adjusted_rand_index;
use madbayes::parallel::Workers;
use madbayes::select::{farthest_first_penalty, fit_exactly};
use madbayes::simulate::GaussianMixture;
use madbayes::structure::Partition;
use madbayes::watch::Unwatched;
use std::path::Path;

const BEST_KNOWN: [(&str, usize, f64); 6] = [
    ("s1", 15, 8.917616e12),
    ("s2", 15, 1.327911e13),
    ("s4", 15, 1.570317e13),
    ("a1", 20, 1.214626e10),
    ("a3", 50, 2.893742e10),
    ("r15", 15, 108.619),
];

/// How often each algorithm, with its default restarts, reaches the global optimum of tiny problems.
pub fn optimum() -> Result<String> {
    let mut page = String::from(
        "# Reaching the optimum\n\n\
         200 random data sets (N = 5..8, D = 1..3), three penalties and one cap each: 800 problems whose global optimum \
         is known from all partitions. No algorithm ever reports less than it (the study would stop).\n\n\
         | algorithm | start | optimum reached |\n|---|---|---|\n",
    );
    for (algorithm, start, name) in [
        (Algorithm::Parallel, Start::PlusPlus, "`++`"),
        (Algorithm::Collapsed, Start::PlusPlus, "`++`"),
        (Algorithm::Serial, Start::PlusPlus, "`++`"),
        (Algorithm::Serial, Start::Mean, "mean (as published), shuffled restarts"),
    ] {
        let rate = success_rate(algorithm, start, 200);
        page += &format!("| {algorithm:?} | {name} | {:.1} % |\n", 100.0 * rate);
    }
    Ok(page)
}

/// Columns and labels of one of the shared CSV files.
pub fn shared(name: &str) -> Option<(Vec<f64>, usize, Vec<String>)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../shared/data/clustering/{name}.csv"));
    let text = std::fs::read_to_string(path).ok()?;
    let mut lines = text.lines();
    let d = lines.next()?.split(',').count() - 1;
    let (mut values, mut labels) = (Vec::new(), Vec::new());
    for line in lines {
        let mut cells = line.split(',');
        values.extend(cells.by_ref().take(d).filter_map(|c| c.parse::<f64>().ok()));
        labels.push(cells.next().unwrap_or_default().to_string());
    }
    Some((values, d, labels))
}

/// Sums of squares with K given, over 20 seeds, on data whose best known value is published.
pub fn best_known() -> Result<String> {
    let mut page = String::from(
        "# Sums of squares with K given\n\n\
         Fränti's sets. For each of 20 seeds: one fit with default settings (`DpMeans::k_means`), and one of \
         `fit_exactly`, which `madbayes cluster --clusters K` uses. Loss over the best known, the worst of the seeds; \
         how many of 20 come within 0.1 %.\n\n\
         | data | K | best known | one fit, worst | within 0.1 % | exactly K, worst | within 0.1 % | ARI |\n\
         |---|---|---|---|---|---|---|---|\n",
    );
    for (name, k, best) in BEST_KNOWN {
        let Some((values, d, labels)) = shared(name) else {
            page += &format!("| {name} | {k} | {best:e} | skipped: the data are not here | | | | |\n");
            continue;
        };
        let rows = data(&values, d);
        let truth = Partition::from_labels(labels.iter());
        let (mut worst, mut hits, mut agreement) = ([0.0f64; 2], [0; 2], 0.0);
        for seed in 0..20 {
            let parameters = DpMeans { seed, ..DpMeans::k_means(k) };
            let exact = fit_exactly(k, &parameters, &rows, &Unwatched)?.clustering;
            let ratios = [parameters.fit(&rows, &Unwatched)?.loss() / best, exact.loss() / best];
            for i in 0..2 {
                worst[i] = worst[i].max(ratios[i]);
                hits[i] += usize::from(ratios[i] <= 1.001);
            }
            agreement += adjusted_rand_index(&truth, &Partition::from_labels(exact.labels.iter()))? / 20.0;
        }
        page += &format!(
            "| {name} | {k} | {best:e} | {:.6} | {} of 20 | {:.6} | {} of 20 | {agreement:.3} |\n",
            worst[0], hits[0], worst[1], hits[1]
        );
    }
    Ok(page)
}

/// What one start buys: share of single runs that come within 0.1 % of the best of all kinds, at two penalties.
pub fn starts() -> Result<String> {
    let mut page = String::from(
        "# What one start buys\n\n\
         Simulated round clusters (unit variance, closest centres `separation` apart), 50 data sets each, one run of \
         each kind at the same penalty: share of data sets on which it comes within 0.1 % of the lowest objective of \
         all kinds, its mean excess over that, and the mean number of clusters it finds.\n\n\
         Two penalties. `true K`: rows per cluster times the separation, at which the clusters as simulated are about \
         optimal; no single row is that far from the mean, so serial DP-means, which opens clusters for single rows only, \
         rarely opens any. `farthest-first`: the penalty that Kulis & Jordan (2012) propose for it; it is far smaller, so \
         the optimum has far more clusters than were simulated.\n\n\
         | rows | columns | clusters | separation | penalty | kind | within 0.1 % | mean excess | mean K |\n\
         |---|---|---|---|---|---|---|---|---|\n",
    );
    let kinds = [
        (Algorithm::Parallel, Start::PlusPlus, "parallel from `++`"),
        (Algorithm::Parallel, Start::Mean, "parallel from the mean"),
        (Algorithm::Collapsed, Start::PlusPlus, "collapsed from `++`"),
        (Algorithm::Serial, Start::PlusPlus, "serial from `++`"),
        (Algorithm::Serial, Start::Mean, "serial from the mean (as published)"),
    ];
    for (n_rows, n_columns, n_clusters, separation) in
        [(500, 2, 10, 5.0), (500, 2, 10, 3.0), (2000, 10, 20, 5.0), (2000, 2, 40, 4.0)]
    {
        for penalty_name in ["true K", "farthest-first"] {
            let mut excesses = vec![Vec::new(); kinds.len()];
            let mut found = vec![0.0; kinds.len()];
            for seed in 0..50 {
                let recipe =
                    GaussianMixture { n_rows, n_columns, n_clusters, separation, ..GaussianMixture::default() };
                let sample = recipe.sample(seed)?;
                let rows = data(&sample.values, n_columns);
                let penalty = match penalty_name {
                    "true K" => (n_rows / n_clusters) as f64 * separation,
                    _ => farthest_first_penalty(&rows, n_clusters, &Workers::serial(), &Unwatched),
                };
                let mut objectives = Vec::new();
                for (i, (algorithm, start, _)) in kinds.iter().enumerate() {
                    let parameters = DpMeans {
                        algorithm: *algorithm,
                        start: start.clone(),
                        restarts: Restarts::Exactly(1),
                        ..DpMeans::with_penalty(penalty)
                    };
                    let fit = parameters.fit(&rows, &Unwatched)?;
                    objectives.push(fit.objective);
                    found[i] += fit.n_clusters() as f64 / 50.0;
                }
                let best = objectives.iter().copied().fold(f64::INFINITY, f64::min);
                excesses.iter_mut().zip(objectives).for_each(|(all, objective)| all.push(objective / best - 1.0));
            }
            for (((_, _, name), excess), found) in kinds.iter().zip(excesses).zip(found) {
                let hits = excess.iter().filter(|e| **e <= 1e-3).count();
                let mean = excess.iter().sum::<f64>() / excess.len() as f64;
                page += &format!(
                    "| {n_rows} | {n_columns} | {n_clusters} | {separation} | {penalty_name} | {name} | {} % | {:.2} % | \
                     {found:.1} |\n",
                    2 * hits,
                    100.0 * mean
                );
            }
        }
    }
    Ok(page)
}
