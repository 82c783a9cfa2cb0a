//! Long studies of hidden states: exact posteriors, the joint test, and simulated chains recovered.

use crate::common::data;
use crate::common::likelihoods::Likelihood;
use crate::common::sequences::{joint_test, total_variation};
use anyhow::Result;
use madbayes::gibbs::{HmmMethod, STATE_SPLIT_MERGE, Schedule};
use madbayes::metrics::adjusted_rand_index;
use madbayes::model::InfiniteHmm;
use madbayes::prior::{Concentration, Hdp, HdpValues};
use madbayes::simulate::HiddenMarkov;
use madbayes::structure::{Partition, Sequences};
use madbayes::watch::Unwatched;
use std::fmt::Write;
use std::time::Instant;

/// Sweeps of each chain that is compared with an exact posterior.
const SWEEPS: usize = 200_000;

const METHODS: [(&str, HmmMethod); 2] = [("direct", HmmMethod::Direct), ("beam", HmmMethod::Beam)];

fn fixed(share: f64, max_states: Option<usize>) -> Hdp {
    let values = HdpValues { concentration: 1.3, share, gamma: 0.8, start: if share > 0.0 { 0.7 } else { 1.3 } };
    Hdp { values, concentration: Concentration::Fixed, gamma: Concentration::Fixed, share: None, max_states }
}

/// Total variation of both samplers from the exact posterior.
fn distances(likelihood: Likelihood, prior: Hdp, lengths: &[usize]) -> [f64; 2] {
    METHODS.map(|(_, method)| total_variation(likelihood, prior, lengths, method, STATE_SPLIT_MERGE, SWEEPS))
}

/// Both samplers against the posterior over all state sequences of five rows.
pub fn posterior() -> Result<String> {
    let mut page = String::from(
        "# Hidden states against the exact posterior\n\nTotal variation between two chains of 200,000 sweeps each, with \
         split-merge moves of states, and the posterior over all 52 ways to share states among five rows, by enumeration; \
         concentrations fixed. Chance alone leaves about 0.002 to 0.004, more where draws depend on each other.\n\n\
         | likelihood | sequences | staying | most states | direct | beam |\n|---|---|---|---|---|---|\n",
    );
    for likelihood in Likelihood::ALL {
        for (share, max_states, lengths) in [(0.0, None, &[5][..]), (0.4, None, &[2, 3]), (0.4, Some(3), &[1, 3, 1])] {
            let [direct, beam] = distances(likelihood, fixed(share, max_states), lengths);
            let most = max_states.map_or("any".to_string(), |most| most.to_string());
            let d = likelihood.n_columns();
            let name = likelihood.name();
            writeln!(page, "| {name}, {d} columns | {lengths:?} | {share} | {most} | {direct:.4} | {beam:.4} |")?;
        }
    }
    // Large concentrations: beam sampling splits many states off what is left in every sweep.
    let values = HdpValues { concentration: 4.0, share: 0.0, gamma: 6.0, start: 4.0 };
    let many = Hdp { values, ..fixed(0.0, None) };
    let [direct, beam] = distances(Likelihood::Spherical(1), many, &[2, 3]);
    writeln!(page, "| spherical, 1 columns, concentration 4, gamma 6 | [2, 3] | 0 | any | {direct:.4} | {beam:.4} |")?;
    Ok(page)
}

/// Geweke's joint test with all numbers of the prior redrawn.
pub fn geweke() -> Result<String> {
    let gamma = |shape, rate| Concentration::Gamma { shape, rate };
    let plain = Hdp { concentration: gamma(2.0, 1.5), gamma: gamma(2.0, 1.0), ..Hdp::default() };
    let sticky = Hdp { share: Some((2.0, 1.5)), ..plain.sticky() };
    let mut page = String::from(
        "# Geweke's joint test of hidden states\n\n100,000 independent draws of the prior's numbers, states, their weights and \
         rows, beside a chain that alternates one step of the sampler, split-merge moves included, with fresh rows. Right samplers give |z| below 4.\n\n\
         | sampler | model | statistic | independent | chain | z |\n|---|---|---|---|---|---|\n",
    );
    let models: [(&str, Likelihood, Hdp, &[usize]); 4] = [
        ("full covariance, one sequence", Likelihood::Full(2), plain, &[7]),
        ("diagonal, sticky, two sequences", Likelihood::Diagonal(2), sticky, &[4, 3]),
        (
            "multinomial, sticky, at most 3 states",
            Likelihood::Multinomial(3),
            Hdp { max_states: Some(3), ..sticky },
            &[7],
        ),
        ("spherical, three sequences", Likelihood::Spherical(1), plain, &[3, 1, 3]),
    ];
    for (sampler, method) in METHODS {
        for (name, likelihood, prior, lengths) in models {
            for a in joint_test(likelihood, prior, lengths, method, 100_000).iter().filter(|a| a.z != 0.0) {
                writeln!(
                    page,
                    "| {sampler} | {name} | {} | {:.4} | {:.4} | {:.2} |",
                    a.name, a.independent, a.chain, a.z
                )?;
            }
        }
    }
    Ok(page)
}

/// Chains of five states, everything redrawn, from the default start; the time includes start and summary.
pub fn recovery() -> Result<String> {
    let mut page = String::from(
        "# Simulated chains of five states\n\nTwo columns, means at least 4 standard deviations apart, 20 steps in a state on \
         average. `InfiniteHmm` with its defaults but for 400 sweeps; concentrations redrawn. Agreement is the adjusted Rand \
         index of the point estimate with the truth, over 5 data sets.\n\n\
         | rows | sampler | sticky | states found | least agreement | mean agreement | seconds a fit |\n|---|---|---|---|---|---|---|\n",
    );
    let runs = [(2000, 0, false), (2000, 1, false), (2000, 1, true), (10_000, 1, false), (10_000, 1, true)];
    for (n_rows, method, sticky) in runs {
        let (name, method) = METHODS[method];
        let (mut found, mut agreements, begin) = (vec![], vec![], Instant::now());
        for seed in 0..5 {
            let sample = HiddenMarkov { n_rows, ..HiddenMarkov::default() }.sample(100 + seed)?;
            let rows = data(&sample.values, 2);
            let schedule = Schedule { sweeps: 400, burn_in: 200, thin: 5 };
            let hmm = InfiniteHmm { method, sticky, schedule, ..InfiniteHmm::default() };
            let fit = hmm.fit(&rows, &Sequences::one(n_rows), vec!["x".into(), "y".into()], &Unwatched)?;
            found.push(fit.estimate.n_groups().to_string());
            agreements.push(adjusted_rand_index(&fit.estimate, &Partition::from_labels(sample.labels))?);
        }
        let seconds = begin.elapsed().as_secs_f64() / 5.0;
        let least = agreements.iter().copied().fold(1.0, f64::min);
        let mean = agreements.iter().sum::<f64>() / 5.0;
        let found = found.join(" ");
        writeln!(page, "| {n_rows} | {name} | {sticky} | {found} | {least:.4} | {mean:.4} | {seconds:.1} |")?;
    }
    Ok(page)
}
