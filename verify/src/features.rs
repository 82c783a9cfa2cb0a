//! Studies of feature learning: against brute force, against planted features, and on pictures, start against start.

use crate::common::{brute_force_features, data};
use anyhow::Result;
use madbayes::data::{Data, Rows};
use madbayes::hard::{BpMeans, FeatureAlgorithm, FeatureGoal, FeatureStart, Restarts};
use madbayes::likelihood::collapsed_loss;
use madbayes::parallel::Workers;
use madbayes::random::{Stream, stream};
use madbayes::simulate::FeatureMixture;
use madbayes::watch::Unwatched;
use rand::RngExt;

/// The paper's start, with nothing of ours: coordinate flips as published, no polishing.
fn as_published(goal: FeatureGoal, algorithm: FeatureAlgorithm, runs: usize) -> BpMeans {
    BpMeans {
        goal,
        algorithm,
        start: FeatureStart::PlusPlus,
        row_solver: madbayes::hard::RowSolver::Paper,
        polish: false,
        restarts: Restarts::Exactly(runs),
        threads: 1,
        ..BpMeans::default()
    }
}

/// How often each algorithm reaches the global optimum of tiny problems.
pub fn optimum() -> Result<String> {
    let goals = [
        FeatureGoal::Exactly(1),
        FeatureGoal::Exactly(2),
        FeatureGoal::Exactly(3),
        FeatureGoal::Penalty { penalty: 0.5, max_features: Some(3) },
        FeatureGoal::Penalty { penalty: 3.0, max_features: Some(3) },
    ];
    let ways = |goal| {
        let own = BpMeans { goal, threads: 1, ..BpMeans::default() };
        [
            ("by default", own.clone()),
            ("by default, 100 runs", BpMeans { restarts: Restarts::Exactly(100), ..own.clone() }),
            ("collapsed, by default", BpMeans { algorithm: FeatureAlgorithm::Collapsed, ..own.clone() }),
            ("spectral start alone", BpMeans { polish: false, restarts: Restarts::Exactly(1), ..own.clone() }),
            ("stepwise", BpMeans { algorithm: FeatureAlgorithm::Stepwise, ..own }),
            ("`++`, alternating, 1 run", as_published(goal, FeatureAlgorithm::Alternating, 1)),
            ("`++`, alternating, 100 runs", as_published(goal, FeatureAlgorithm::Alternating, 100)),
            ("`++`, collapsed, 1 run", as_published(goal, FeatureAlgorithm::Collapsed, 1)),
            ("`++`, collapsed, 100 runs", as_published(goal, FeatureAlgorithm::Collapsed, 100)),
        ]
    };
    let (data_sets, n_ways) = (60, ways(goals[0]).len());
    let problems: Vec<Result<Vec<bool>>> = Workers::new(0).map(data_sets * goals.len(), |problem| {
        let (seed, goal) = (problem / goals.len(), goals[problem % goals.len()]);
        let (n, d) = (3 + seed % 3, 1 + seed / 3 % 3);
        let mut rng = stream(seed as u64, Stream::Simulation);
        let x: Vec<f64> = (0..n * d).map(|_| 4.0 * rng.random::<f64>() - 1.0).collect();
        let best = brute_force_features(&x, d, goal);
        let solve = |(name, parameters): (&str, BpMeans)| {
            let objective = parameters.fit(&data(&x, d), &Unwatched)?.objective;
            anyhow::ensure!(objective >= best - 1e-9, "{name} is below the optimum: {objective} {best}");
            Ok(objective <= best + 1e-9)
        };
        ways(goal).into_iter().map(solve).collect()
    });
    let problems: Vec<Vec<bool>> = problems.into_iter().collect::<Result<_>>()?;
    let mut page = format!(
        "# Features: reaching the optimum\n\n\
         {data_sets} random data sets (N = 3..5, D = 1..3), each with K = 1, 2, 3 and with penalties 0.5 and 3 and at most \
         3 features: {} problems whose global optimum is known from all allocations. No algorithm ever reports less than \
         it (the study would stop). The runs from `++` are as published: bits flipped one by one, no polishing.\n\n\
         | algorithm | optimum reached |\n|---|---|\n",
        problems.len()
    );
    for way in 0..n_ways {
        let reached = problems.iter().filter(|solved| solved[way]).count();
        page += &format!("| {} | {:.1} % |\n", ways(goals[0])[way].0, 100.0 * reached as f64 / problems.len() as f64);
    }
    Ok(page)
}

/// How often the loss of the planted allocation is reached, by our start and by the paper's.
pub fn planted() -> Result<String> {
    let data_sets = 25;
    let (mut small, mut small_reached) = (0, 0);
    let mut page = format!(
        "# Features: reaching what was planted\n\n\
         X = Z A + noise, A standard normal, every bit of Z by a coin. {data_sets} data sets for every setting; shown is \
         how often the loss with the planted allocation (with its own best A) is reached or beaten with K given: by \
         default settings; by the spectral start and alternation alone; by one run and by the best of 100 runs from the \
         paper's `++` start, bits flipped one by one.\n\n\
         | K | N | D | noise | default | spectral start alone | `++`, 1 run | `++`, 100 runs |\n\
         |---|---|---|---|---|---|---|---|\n"
    );
    for k in [5, 6, 8, 10, 12] {
        for (n_rows, n_columns) in [(200, 36), (200, 100), (1000, 36), (1000, 100)] {
            for noise in [0.3, 1.0] {
                let recipe = FeatureMixture { n_rows, n_columns, n_features: k, noise, ..FeatureMixture::default() };
                let goal = FeatureGoal::Exactly(k);
                let own = BpMeans { goal, threads: 1, ..BpMeans::default() };
                let ways = [
                    own.clone(),
                    BpMeans { polish: false, restarts: Restarts::Exactly(1), ..own },
                    as_published(goal, FeatureAlgorithm::Alternating, 1),
                    as_published(goal, FeatureAlgorithm::Alternating, 100),
                ];
                let reached: Vec<Result<[bool; 4]>> = Workers::new(0).map(data_sets, |seed| {
                    let sample = recipe.sample(seed as u64)?;
                    let rows = Data::new(Rows::new(&sample.values, n_columns)?)?;
                    let known = collapsed_loss(&sample.allocation, &rows);
                    let mut reached = [false; 4];
                    for (reached, way) in reached.iter_mut().zip(&ways) {
                        *reached = way.fit(&rows, &Unwatched)?.loss <= known * (1.0 + 1e-9);
                    }
                    Ok(reached)
                });
                let reached: Vec<[bool; 4]> = reached.into_iter().collect::<Result<_>>()?;
                let share = |way: usize| 100.0 * reached.iter().filter(|r| r[way]).count() as f64 / data_sets as f64;
                page += &format!(
                    "| {k} | {n_rows} | {n_columns} | {noise} | {:.0} % | {:.0} % | {:.0} % | {:.0} % |\n",
                    share(0),
                    share(1),
                    share(2),
                    share(3)
                );
                if k <= 10 {
                    small += reached.len();
                    small_reached += reached.iter().filter(|r| r[0]).count();
                }
            }
        }
    }
    page += &format!("\nUp to K = 10, by default: {small_reached} of {small}.\n");
    Ok(page)
}
