//! Studies of the CRP mixture sampler: against enumeration, by the joint test, and in its limit.

use crate::common::exact::{joint_test, law, ln_marginal, total_variation};
use crate::common::{sum_of_squares, uniform};
use anyhow::{Result, bail};
use madbayes::likelihood::Spherical;
use madbayes::prior::Crp;
use madbayes::structure::Partition;

const ROWS: [f64; 12] = [0.3, 1.0, 0.5, 0.7, 2.5, -1.0, 2.1, -0.4, -1.0, 0.2, 0.9, 1.4];

/// Long chains against the exact posterior over all partitions.
pub fn posterior() -> Result<String> {
    let mut page = String::from(
        "# The sampler against the exact posterior\n\n\
         Total variation between the exact posterior over all partitions (enumerated; the concentration's Gamma prior \
         integrated numerically) and two chains of a million sweeps each.\n\n\
         | rows | columns | partitions | concentration | total variation |\n|---|---|---|---|---|\n",
    );
    for (n, d, hyperprior, name) in [
        (5, 2, None, "0.8"),
        (6, 1, None, "0.8"),
        (5, 1, Some((1.0, 1.0)), "Gamma(1, 1)"),
        (6, 2, Some((2.0, 0.5)), "Gamma(2, 0.5)"),
    ] {
        let (distance, partitions) = total_variation(&ROWS[..n * d], d, hyperprior, 1_000_000);
        if distance > 0.01 {
            bail!("total variation {distance} for {n} rows");
        }
        page += &format!("| {n} | {d} | {partitions} | {name} | {distance:.5} |\n");
    }
    Ok(page)
}

/// Geweke's joint test with many draws.
pub fn geweke() -> Result<String> {
    let mut page = String::from(
        "# Geweke's joint test\n\n\
         400,000 independent draws of partition, concentration (Gamma(2, 1.5)) and 7 rows, beside a chain that alternates \
         one sweep of the sampler with fresh rows. Right samplers give |z| below 4.\n\n\
         | statistic | independent | chain | z |\n|---|---|---|---|\n",
    );
    for agreement in joint_test(400_000) {
        if agreement.z.abs() > 4.0 {
            bail!("the joint test fails: {agreement:?}");
        }
        page += &format!(
            "| {} | {:.4} | {:.4} | {:.2} |\n",
            agreement.name, agreement.independent, agreement.chain, agreement.z
        );
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
                let joint = prior + ln_marginal(&values, 2, &Spherical { variance: s2, ..law(2) }, &partition);
                Ok((-2.0 * s2 * joint - 24.0 * s2 * (std::f64::consts::TAU * s2).ln()) / objective)
            })
            .collect::<madbayes::Result<_>>()?;
        page += &format!("| {s2:e} | {:.6} | {:.6} | {:.6} |\n", ratios[0], ratios[1], ratios[2]);
    }
    Ok(page)
}
