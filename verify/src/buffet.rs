//! Studies of the IBP linear-Gaussian samplers: against enumeration, by the joint test, and from several starts.

use crate::common::buffet::{NOISE, SCALE, joint_test, total_variation};
use crate::common::data;
use anyhow::{Result, bail};
use madbayes::data::Rows;
use madbayes::gibbs::{IbpSampler, IbpStart, Schedule};
use madbayes::hard::BpMeans;
use madbayes::parallel::Workers;
use madbayes::prepare::{Keep, Pca};
use madbayes::random::{Stream, stream};
use madbayes::simulate::Tabletop;
use madbayes::structure::Allocation;
use madbayes::watch::Unwatched;
use rand::RngExt;
use rand_distr::StandardNormal;

const ROWS: [f64; 6] = [1.3, -0.4, 1.6, 0.9, -0.2, 1.1];

fn name(collapsed: bool) -> &'static str {
    if collapsed { "collapsed" } else { "uncollapsed" }
}

/// Chains of growing length against the exact posterior over all multisets of columns.
pub fn posterior() -> Result<String> {
    let mut page = format!(
        "# The feature samplers against the exact posterior\n\n\
         Total variation between the exact posterior over all multisets of at most 9 columns of 3 rows (enumerated; the \
         mass's Gamma prior integrated in closed form; noise {NOISE}, scale {SCALE}) and two chains of as many sweeps \
         each. Four times the sweeps halve it: what is left is chance. With each row's bits drawn in the order of the \
         columns, instead of a new order for each row, the collapsed sampler stays at 0.02: the order of the columns is \
         their age, in which the bits themselves had a part.\n\n\
         | sampler | mass | multisets | 100,000 | 400,000 | 1,600,000 |\n|---|---|---|---|---|---|\n",
    );
    for collapsed in [true, false] {
        for (mass, words) in [(Ok(0.8), "0.8"), (Err((2.0, 4.0)), "Gamma(2, 4)")] {
            let runs =
                [100_000, 400_000, 1_600_000].map(|sweeps| total_variation(&ROWS, 2, collapsed, mass, 9, sweeps));
            if runs[2].0 > 0.006 {
                bail!("total variation {} of the {} sampler", runs[2].0, name(collapsed));
            }
            let shown = runs.map(|(distance, _)| format!("{distance:.4}")).join(" | ");
            page += &format!("| {} | {words} | {} | {shown} |\n", name(collapsed), runs[0].1);
        }
    }
    Ok(page)
}

/// Geweke's joint test of both samplers with many draws.
pub fn geweke() -> Result<String> {
    let mut page = String::from(
        "# Geweke's joint test of the feature samplers\n\n\
         400,000 independent draws of mass (Gamma(3, 3)), noise (InvGamma(6, 3)), scale (InvGamma(7, 9)), features and 4 \
         rows in 2 columns, beside a chain that alternates one sweep of the sampler, mass, noise and scale redrawn, with \
         fresh rows. Right samplers give |z| below 4.\n\n\
         | sampler | statistic | independent | chain | z |\n|---|---|---|---|---|\n",
    );
    for collapsed in [true, false] {
        for agreement in joint_test(collapsed, 400_000) {
            if agreement.z.abs() > 4.0 {
                bail!("the joint test of the {} sampler fails: {agreement:?}", name(collapsed));
            }
            page += &format!(
                "| {} | {} | {:.4} | {:.4} | {:.2} |\n",
                name(collapsed),
                agreement.name,
                agreement.independent,
                agreement.chain,
                agreement.z
            );
        }
    }
    Ok(page)
}

/// What chains find from one feature, random features and the planted ones.
pub fn starts() -> Result<String> {
    let (n, d, k, data_sets) = (100, 36, 4, 20);
    let mut page = format!(
        "# Where the feature samplers begin\n\n\
         {data_sets} data sets of {n} rows in {d} columns: {k} features N(0, I), each row with each of them by a coin, noise \
         of standard deviation 0.5. One chain of 1,000 sweeps each, mass, noise and scale redrawn. Shown: how often the \
         best state has the planted features and no others (up to 1 % of the bits), the median number of features after the last sweep, and how often the \
         best log joint reaches that of the chain begun at the planted features, or comes within 5 of it.\n\n\
         | sampler | start | planted features found | median features | as good a joint |\n|---|---|---|---|---|\n"
    );
    for collapsed in [true, false] {
        let mut rows: Vec<(&str, usize, Vec<usize>, usize)> =
            ["planted", "one feature", "4 random features"].map(|start| (start, 0, vec![], 0)).into();
        for seed in 0..data_sets {
            let mut rng = stream(seed, Stream::Simulation);
            let truth = Allocation::from_bools(n, k, (0..n * k).map(|_| rng.random()));
            let features: Vec<f64> = (0..k * d).map(|_| rng.sample(StandardNormal)).collect();
            let mut values = Vec::new();
            for row in 0..n {
                for column in 0..d {
                    let mean: f64 = truth.features_of(row).map(|f| features[f * d + column]).sum();
                    values.push(mean + 0.5 * rng.sample::<f64, _>(StandardNormal));
                }
            }
            let mut planted_joint = f64::NEG_INFINITY;
            for (row, start) in
                rows.iter_mut().zip([IbpStart::Given(truth.clone()), IbpStart::One, IbpStart::Random(k)])
            {
                let schedule = Schedule { sweeps: 1000, burn_in: 500, thin: 10 };
                let sampler = IbpSampler { collapsed, schedule, start, seed, ..IbpSampler::default() };
                let chain = sampler.fit(&data(&values, d), &Unwatched)?.remove(0);
                let Some((best, ln_joint)) = chain.best else { bail!("an unwatched chain has a best state") };
                planted_joint = if row.0 == "planted" { ln_joint } else { planted_joint };
                row.1 += usize::from(same_up_to(&best.allocation, &truth, n * k / 100));
                row.2.push(*chain.n_features.last().unwrap_or(&0));
                row.3 += usize::from(ln_joint > planted_joint - 5.0);
            }
        }
        for (start, found, mut last, joint) in rows {
            last.sort_unstable();
            let median = last[last.len() / 2];
            let of = data_sets;
            page += &format!("| {} | {start} | {found} of {of} | {median} | {joint} of {of} |\n", name(collapsed));
        }
    }
    Ok(page)
}

/// What chains from one start found, over all seeds.
struct TableRow {
    start: &'static str,
    /// The number of features after the last sweep.
    ends: Vec<usize>,
    /// Its least and its largest late in the chains.
    range: (usize, usize),
    joints: Vec<f64>,
}

impl TableRow {
    fn new(start: &'static str) -> Self {
        TableRow { start, ends: Vec::new(), range: (usize::MAX, 0), joints: Vec::new() }
    }
}

/// Chains on pictures of a table, from a fit of BP-means and from less.
pub fn tabletop() -> Result<String> {
    let mut page = String::from(
        "# The feature sampler on pictures of a table\n\n\
         100 pictures of a table on which four objects may lie, in 100 principal components: five features, the table \
         itself among them. `plain` pictures are sums of features and noise; in the `rendered` ones objects and light \
         move a little, which is no sum of few features. Collapsed chains of 1,000 sweeps, mass, noise and scale redrawn, \
         from a fit of BP-means, from one feature, and from five random features. Five seeds each: the number of features \
         after the last sweep, its range over the last 500 sweeps, and the best log joint above that from BP-means.\n\n\
         | pictures | start | features at the end | in the last 500 sweeps | best joint against BP-means |\n\
         |---|---|---|---|---|\n",
    );
    for (name, recipe) in
        [("plain", Tabletop { jitter: 0.0, lighting: 0.0, ..Tabletop::default() }), ("rendered", Tabletop::default())]
    {
        let mut rows: Vec<TableRow> = ["BP-means", "one feature", "5 random features"].map(TableRow::new).into();
        for seed in 0..5 {
            let pictures = recipe.sample(seed)?;
            let pixels = Rows::new(&pictures.pixels, pictures.height * pictures.width * pictures.channels)?;
            let workers = Workers::new(0);
            let pca = Pca::fit(pixels, Keep::Number(100), &workers)?;
            let scores = pca.apply(pixels, &workers)?;
            let rows_of = data(&scores, pca.n_components());
            let fit = BpMeans::k_features(5).fit(&rows_of, &Unwatched)?;
            let mut reference = 0.0;
            let starts = [IbpStart::Given(fit.allocation), IbpStart::One, IbpStart::Random(5)];
            for (row, start) in rows.iter_mut().zip(starts) {
                let schedule = Schedule { sweeps: 1000, burn_in: 500, thin: 10 };
                let sampler = IbpSampler { schedule, start, seed, ..IbpSampler::default() };
                let chain = sampler.fit(&rows_of, &Unwatched)?.remove(0);
                let Some((_, ln_joint)) = chain.best else { bail!("an unwatched chain has a best state") };
                reference = if row.start == "BP-means" { ln_joint } else { reference };
                let late = &chain.n_features[chain.n_features.len() - 500..];
                row.ends.push(late[late.len() - 1]);
                row.range = late.iter().fold(row.range, |(low, high), k| (low.min(*k), high.max(*k)));
                row.joints.push(ln_joint - reference);
            }
        }
        for TableRow { start, ends, range: (low, high), joints } in rows {
            let ends: Vec<String> = ends.iter().map(usize::to_string).collect();
            let joints: Vec<String> = joints.iter().map(|j| format!("{j:.0}")).collect();
            page += &format!("| {name} | {start} | {} | {low} to {high} | {} |\n", ends.join(", "), joints.join(", "));
        }
    }
    Ok(page)
}

/// Whether both have as many features and these, each matched with its nearest, differ in at most `bits` bits.
fn same_up_to(a: &Allocation, b: &Allocation, bits: usize) -> bool {
    let differ = |i: usize, j: usize| (0..a.n_rows()).filter(|row| a.get(*row, i) != b.get(*row, j)).count();
    let nearest = (0..a.n_features()).map(|i| (0..b.n_features()).map(|j| differ(i, j)).min().unwrap_or(a.n_rows()));
    a.n_features() == b.n_features() && nearest.sum::<usize>() <= bits
}
