//! Studies of the mixture sampler: against enumeration, by the joint test, by calibration, and in its limit.

use crate::common::calibration::{Calibration, LIMIT, calibration};
use crate::common::exact::{crp, finite, joint_test, total_variation};
use crate::common::likelihoods::{Likelihood, ln_marginal, spherical};
use crate::common::{sum_of_squares, uniform};
use anyhow::{Result, bail};
use madbayes::gibbs::SPLIT_MERGE;
use madbayes::likelihood::Spherical;
use madbayes::prior::{Crp, PartitionPrior};
use madbayes::structure::Partition;

/// The priors of the studies, and their names.
fn priors() -> [(PartitionPrior, &'static str); 6] {
    [
        (crp(None, None), "CRP(0.8)"),
        (crp(Some((2.0, 0.5)), None), "CRP, alpha ~ Gamma(2, 0.5)"),
        (crp(None, Some(3)), "CRP(0.8), at most 3 groups"),
        (crp(Some((2.0, 0.5)), Some(3)), "CRP, alpha ~ Gamma(2, 0.5), at most 3 groups"),
        (finite(4, 2.0, None), "4 components, alpha = 2"),
        (finite(4, 2.0, Some((2.0, 0.5))), "4 components, alpha ~ Gamma(2, 0.5)"),
    ]
}

/// Long chains against the exact posterior over all partitions.
pub fn posterior() -> Result<String> {
    let mut page = String::from(
        "# The sampler against the exact posterior\n\n\
         Total variation between the exact posterior over all partitions (enumerated; marginals by plain loops over the \
         rows, the concentration's Gamma prior integrated numerically) and two chains of 400,000 sweeps each, with and \
         without split-merge proposals after each sweep. Five rows have 52 partitions, six have 203.\n\n\
         | likelihood | columns | rows | prior | total variation | with proposals |\n|---|---|---|---|---|---|\n",
    );
    for likelihood in Likelihood::ALL {
        for n in [5, 6] {
            // What bounds the number of groups does not depend on the likelihood: once is enough.
            let shown = if likelihood == Likelihood::Spherical(2) { 6 } else { 2 };
            for (prior, name) in &priors()[..shown] {
                let mut distances = [0.0; 2];
                for (distance, split_merge) in distances.iter_mut().zip([0, SPLIT_MERGE]) {
                    *distance = total_variation(likelihood, n, *prior, split_merge, 400_000).0;
                    if *distance > 0.01 {
                        bail!(
                            "total variation {distance} for {n} rows, {likelihood:?}, {name}, {split_merge} proposals"
                        );
                    }
                }
                let (kind, d, [without, with]) = (likelihood.name(), likelihood.n_columns(), distances);
                page += &format!("| {kind} | {d} | {n} | {name} | {without:.5} | {with:.5} |\n");
            }
        }
    }
    Ok(page)
}

/// Geweke's joint test with many draws.
pub fn geweke() -> Result<String> {
    let mut page = String::from(
        "# Geweke's joint test\n\n\
         400,000 independent draws of partition, concentration and 7 rows, beside a chain that alternates one step of the \
         sampler (a sweep, split-merge proposals, the concentration) with fresh rows, drawn from parameters drawn from \
         their prior. Right samplers give |z| below 4. Values x of the rows enter as x / (1 + |x|).\n\n\
         | likelihood | columns | prior | proposals | statistic | independent | chain | z |\n\
         |---|---|---|---|---|---|---|---|\n",
    );
    for likelihood in Likelihood::ALL {
        let shown = if likelihood == Likelihood::Spherical(2) { 0..6 } else { 1..2 };
        for (prior, name) in &priors()[shown] {
            for split_merge in [0, SPLIT_MERGE] {
                for agreement in joint_test(likelihood, *prior, split_merge, 400_000) {
                    if agreement.z.abs() > 4.0 {
                        bail!("the joint test fails: {likelihood:?}, {name}, {split_merge} proposals, {agreement:?}");
                    }
                    page += &format!(
                        "| {} | {} | {name} | {split_merge} | {} | {:.4} | {:.4} | {:.2} |\n",
                        likelihood.name(),
                        likelihood.n_columns(),
                        agreement.name,
                        agreement.independent,
                        agreement.chain,
                        agreement.z
                    );
                }
            }
        }
    }
    Ok(page)
}

/// Simulation-based calibration of the default sampler.
pub fn mixture_calibration() -> Result<String> {
    let mut page = format!(
        "# Calibration of the mixture sampler\n\n\
         Data sets drawn from the model itself (concentration Gamma(1, 1), parameters of every group from their prior, rows \
         from these), the default sampler on each: the rank of the truth among 19 draws is even if the sampler is right. Chi-square of 20 ranks: above {LIMIT} once in \
         a thousand.\n\n\
         | likelihood | columns | rows | data sets | statistic | chi-square | least and most often a rank came, of its \
         expected number |\n|---|---|---|---|---|---|---|\n"
    );
    let likelihoods =
        [Likelihood::Spherical(1), Likelihood::Diagonal(2), Likelihood::Full(2), Likelihood::Multinomial(3)];
    for likelihood in likelihoods {
        for (n_rows, data_sets, thin) in [(15, 5_000, 20), (50, 4_000, 40)] {
            for Calibration { name, counts, statistic } in calibration(likelihood, n_rows, data_sets, thin) {
                if statistic > LIMIT {
                    bail!("{name} of {n_rows} {likelihood:?} rows is not calibrated: {statistic}, {counts:?}");
                }
                let expected = data_sets as f64 / counts.len() as f64;
                let share = |count: Option<&usize>| count.map_or(0.0, |&count| count as f64 / expected);
                let (least, most) = (share(counts.iter().min()), share(counts.iter().max()));
                let (kind, d) = (likelihood.name(), likelihood.n_columns());
                page += &format!(
                    "| {kind} | {d} | {n_rows} | {data_sets} | {name} | {statistic:.1} | {least:.2} to {most:.2} |\n"
                );
            }
        }
    }
    Ok(page)
}

/// -2 s2 log joint over the objective, as the variance falls (B Sup. A).
pub fn limit() -> Result<String> {
    let (values, penalty) = (uniform(12, 2, 5), 6.0);
    let mut page = String::from(
        "# The limit of small variance\n\n\
         -2 s2 log P(rows, partition), less N D s2 log(2 pi s2), over the DP-means objective, with \
         theta = exp(-penalty/(2 s2)): it tends to 1 as s2 falls (Broderick et al. 2013, Sup. A; means integrated out). \
         12 rows in 2 columns, penalty 6.\n\n\
         | s2 | 1 cluster | 3 clusters | 6 clusters |\n|---|---|---|---|\n",
    );
    for s2 in [1.0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7] {
        let ratios: Vec<f64> = [12, 4, 2]
            .iter()
            .map(|size| {
                let partition = Partition::from_labels((0..12).map(|i| i / size));
                let objective = sum_of_squares(&values, 2, &partition) + (partition.n_groups() - 1) as f64 * penalty;
                let prior = Crp::from_penalty(penalty, s2)?.ln_prob(&partition);
                let joint = prior + ln_marginal(&values, 2, &Spherical { variance: s2, ..spherical(2) }, &partition);
                Ok((-2.0 * s2 * joint - 24.0 * s2 * (std::f64::consts::TAU * s2).ln()) / objective)
            })
            .collect::<madbayes::Result<_>>()?;
        page += &format!("| {s2:e} | {:.6} | {:.6} | {:.6} |\n", ratios[0], ratios[1], ratios[2]);
    }
    Ok(page)
}
