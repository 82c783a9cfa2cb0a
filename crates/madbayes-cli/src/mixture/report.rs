//! A mixture for people: the answer first, then how sure it is, then how far the chains are to be trusted.

use super::files::row_number;
use super::parameters::name_of;
use super::{Answer, Clusters, pictures};
use crate::convergence::{stopped_after, verdict};
use crate::number::{count, number, plural, table};
use crate::resumed::named;
use crate::separation;
use madbayes::gibbs::cluster_coclustering;

/// Clusters and columns shown in the table.
const MOST_CLUSTERS: usize = 30;
const MOST_COLUMNS: usize = 8;
const MOST_SHARES: usize = 6;
/// Rows, and pairs of clusters, that are told to be uncertain.
const MOST_UNCERTAIN: usize = 5;
/// Rows of a certainty above this are not worth a word, nor pairs of clusters that go together less than this.
const CERTAIN: f64 = 0.99;
const TOGETHER: f64 = 0.05;
/// Effective sample size of each chain below which shares are rough.
const FEW_DRAWS: f64 = 100.0;

pub fn text(answer: &Answer) -> String {
    let (fit, job) = (answer.fit, answer.job);
    let mut out = format!("{} x {}", plural(fit.estimate.n_rows(), "row"), plural(job.names.len(), "column"));
    if job.dropped > 0 {
        out += &format!(" ({} with missing cells left out)", plural(job.dropped, "row"));
    }
    out += &format!("\n{}\n\n", headline(answer));
    out += &cluster_table(answer);
    out += &uncertain_rows(answer);
    out += &clusters_together(answer);
    if let Some(agreement) = &answer.agreement {
        out += &agreement.line();
    }
    out += "\n";
    if !fit.chains.is_empty() {
        out += &pictures::text(answer);
        out += "\n";
        out += &diagnosis(answer);
    }
    out += &prior(answer);
    out += &separation::line(answer.mixture.discriminative, "cluster");
    out + &tail(answer)
}

/// How many clusters, and how sure that is.
fn headline(answer: &Answer) -> String {
    let k = answer.fit.estimate.n_groups();
    let mut out = plural(k, "cluster");
    if answer.distribution.is_empty() {
        return out + "; stopped before a draw was kept, so nothing says how sure that is";
    }
    let share = answer.distribution.get(&k).copied().unwrap_or(0.0);
    if share >= 0.005 {
        out += &format!("; {:.0}% of sweeps have {}", 100.0 * share, if k == 1 { "one" } else { "as many" });
    } else {
        out += "; hardly a sweep has as many";
    }
    // The least and the most clusters, a twentieth of the sweeps left out on either side.
    let (mut below, mut low, mut high) = (0.0, None, k);
    for (&k, share) in &answer.distribution {
        if below <= 0.95 {
            high = k;
        }
        below += share;
        if below > 0.05 && low.is_none() {
            low = Some(k);
        }
    }
    let low = low.unwrap_or(k);
    if low < high {
        out += &format!(", 90% between {low} and {high}");
    }
    let often = answer.distribution.iter().max_by(|a, b| a.1.total_cmp(b.1)).map_or(k, |(&k, _)| k);
    if often != k {
        out += &format!(
            ", most often {often}\nThe answer is the partition nearest to all draws, not one of the most frequent number."
        );
    }
    out
}

/// Size, certainty and mean of every cluster, in the user's units, or its largest shares.
fn cluster_table(answer: &Answer) -> String {
    let (fit, names) = (answer.fit, answer.job.names);
    let sizes = fit.estimate.sizes();
    let mut certainty = vec![0.0; sizes.len()];
    for (&label, value) in fit.estimate.labels().iter().zip(&fit.certainty) {
        certainty[label as usize] += value / sizes[label as usize] as f64;
    }
    let columns = names.len().min(MOST_COLUMNS);
    let mut head: Vec<String> = ["cluster", "rows", "share", "certainty"].map(String::from).to_vec();
    match &answer.clusters {
        Clusters::Means(_) => head.extend(names[..columns].iter().cloned()),
        Clusters::Shares(_) => head.push("largest shares".into()),
    }
    let n_rows = fit.estimate.n_rows() as f64;
    let rows: Vec<Vec<String>> = (0..sizes.len().min(MOST_CLUSTERS))
        .map(|k| {
            let sure = if certainty[k].is_nan() { "unknown".into() } else { format!("{:.2}", certainty[k]) };
            let share = format!("{:.1}%", 100.0 * sizes[k] as f64 / n_rows);
            let mut cells = vec![k.to_string(), count(sizes[k]), share, sure];
            match &answer.clusters {
                Clusters::Means(means) => cells.extend(means[k][..columns].iter().map(|x| number(*x))),
                Clusters::Shares(shares) => cells.push(largest(&shares[k], names)),
            }
            cells
        })
        .collect();
    let mut out = table(&head, &rows);
    if sizes.len() > MOST_CLUSTERS {
        out += &format!("  and {} more clusters\n", sizes.len() - MOST_CLUSTERS);
    }
    if matches!(answer.clusters, Clusters::Means(_)) && names.len() > columns {
        out += &format!("  and {} more columns\n", names.len() - columns);
    }
    out
}

/// The columns with the largest shares.
fn largest(shares: &[f64], names: &[String]) -> String {
    let mut order: Vec<usize> = (0..shares.len()).filter(|&v| shares[v] > 0.0).collect();
    order.sort_by(|&a, &b| shares[b].total_cmp(&shares[a]).then(a.cmp(&b)));
    let shown = order.iter().take(MOST_SHARES).map(|&v| format!("{} {:.1}%", names[v], 100.0 * shares[v]));
    shown.collect::<Vec<_>>().join(", ")
}

/// The rows whose cluster is least certain.
fn uncertain_rows(answer: &Answer) -> String {
    let fit = answer.fit;
    if answer.draws().is_empty() {
        return String::new();
    }
    let mut order: Vec<usize> = (0..fit.certainty.len()).filter(|&n| fit.certainty[n] < CERTAIN).collect();
    order.sort_by(|&a, &b| fit.certainty[a].total_cmp(&fit.certainty[b]).then(a.cmp(&b)));
    if order.is_empty() {
        return format!("\nevery row is in its cluster with a certainty of {CERTAIN} or more\n");
    }
    let one = |&n: &usize| {
        format!("{} ({:.2}, cluster {})", row_number(answer, n), fit.certainty[n], fit.estimate.labels()[n])
    };
    let shown: Vec<String> = order.iter().take(MOST_UNCERTAIN).map(one).collect();
    format!("\nleast certain rows: {}\n", shown.join(", "))
}

/// The pairs of clusters that are one in some draws.
fn clusters_together(answer: &Answer) -> String {
    let (estimate, draws) = (&answer.fit.estimate, answer.draws());
    let k = estimate.n_groups();
    if draws.is_empty() || k < 2 {
        return String::new();
    }
    let together = cluster_coclustering(estimate, &draws);
    let mut pairs: Vec<(f64, usize, usize)> =
        (0..k).flat_map(|b| (0..b).map(move |a| (a, b))).map(|(a, b)| (together[a * k + b], a, b)).collect();
    pairs.retain(|pair| pair.0 >= TOGETHER);
    pairs.sort_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
    if pairs.is_empty() {
        return String::new();
    }
    let one = |(share, a, b): &(f64, usize, usize)| format!("{a} and {b} ({:.0}%)", 100.0 * share);
    let shown: Vec<String> = pairs.iter().take(MOST_UNCERTAIN).map(one).collect();
    format!("clusters whose rows are together in some draws: {}\n", shown.join(", "))
}

/// R-hat and effective sample sizes, and what they mean.
fn diagnosis(answer: &Answer) -> String {
    let fit = answer.fit;
    let listed = |values: [f64; 3], form: &dyn Fn(f64) -> String| {
        let one = |((name, _), value): (&(&str, &str), f64)| {
            format!("{} ({name})", if value.is_nan() { "unknown".into() } else { form(value) })
        };
        answer.diagnosed().iter().zip(values).map(one).collect::<Vec<_>>().join(", ")
    };
    let verdict = verdict(answer.largest_r_hat(), fit.chains.len());
    let mut out = format!("R-hat {}: {verdict}\n", listed(fit.r_hat, &|r| format!("{r:.3}")));
    let kept =
        answer.fit.chains.iter().map(|chain| chain.n_groups.len().saturating_sub(answer.mixture.schedule.burn_in));
    out += &format!(
        "effective sample size {}, of {} after the burn-in",
        listed(fit.effective_size, &|n| count(n.round().min(1e15) as usize)),
        plural(kept.sum(), "sweep")
    );
    let least = fit.effective_size[..answer.diagnosed().len()].iter().copied().fold(f64::INFINITY, f64::min);
    if least < FEW_DRAWS * fit.chains.len() as f64 {
        out += &format!("; below {FEW_DRAWS} a chain, shares are rough");
    }
    out + "\n"
}

/// What clusters were expected to look like, and whether that was guessed.
fn prior(answer: &Answer) -> String {
    use madbayes::model::{MixtureLaw, MixtureLikelihood as Likelihood};
    let d = answer.job.names.len();
    let units = if answer.fit.model.standardise.is_some() { " (standardised units)" } else { "" };
    let guessed = |option: &str| {
        let from = match answer.fit.guessed_from {
            Some(1) => {
                "DP-means, which saw ONE cluster: it is the spread of all rows, and finer clusters may be missed"
            }
            _ => "DP-means; it decides how fine clusters are",
        };
        format!("guessed from {from}; if you know it, give its square as {option}")
    };
    let source = |left_open: bool, option: &str| if left_open { guessed(option) } else { "as given".to_string() };
    let spreads = |variances: Vec<f64>| {
        let shown: Vec<String> = variances.iter().take(MOST_COLUMNS).map(|v| number(v.sqrt())).collect();
        shown.join(", ") + if variances.len() > MOST_COLUMNS { ", ..." } else { "" }
    };
    let mut firmness = String::new();
    let mut firm = |dof: f64, default: bool| {
        let more = if default { "; if small clusters break away from larger ones, raise it" } else { "" };
        firmness = format!("that is worth {} rows (--prior-dof){more}\n", number(dof));
    };
    let (variances, from) = match (&answer.fit.model.likelihood, &answer.mixture.likelihood) {
        (MixtureLaw::Full(law), Likelihood::Full(asked)) => {
            let freedom = law.prior_dof - d as f64 - 1.0;
            if freedom <= 0.0 {
                return String::new();
            }
            firm(law.prior_dof, asked.dof.is_none());
            let variances = law.prior_scale.iter().step_by(d + 1).map(|v| v / freedom).collect();
            (variances, source(asked.scale.is_none(), "--prior-scale"))
        }
        (MixtureLaw::Diagonal(law), Likelihood::Diagonal(asked)) => {
            if law.prior_dof <= 2.0 {
                return String::new();
            }
            firm(law.prior_dof, asked.dof.is_none());
            let variances = law.prior_scale.iter().map(|v| v / (law.prior_dof - 2.0)).collect();
            (variances, source(asked.scale.is_none(), "--prior-scale"))
        }
        (MixtureLaw::Spherical(law), Likelihood::Spherical { variance, .. }) => {
            (vec![law.variance], source(variance.is_none(), "--variance"))
        }
        (MixtureLaw::Multinomial(law), _) => return format!("pseudocount {}\n", number(law.pseudocount)),
        _ => return String::new(),
    };
    format!("standard deviation expected within a cluster {}{units}, {from}\n{firmness}", spreads(variances))
}

fn tail(answer: &Answer) -> String {
    let (fit, mixture) = (answer.fit, answer.mixture);
    let state = stopped_after(fit.stopped, fit.chains.iter().map(|chain| chain.n_groups.len()));
    format!(
        "{state}{} of {} ({} burn-in, every {} kept), {} likelihood, seed {}, {:.3} s\n",
        plural(fit.chains.len(), "chain"),
        plural(mixture.schedule.sweeps, "sweep"),
        count(mixture.schedule.burn_in),
        count(mixture.schedule.thin),
        named(&name_of(&mixture.likelihood)),
        mixture.seed,
        answer.seconds
    )
}
