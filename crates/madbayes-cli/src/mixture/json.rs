//! A mixture for programs.

use super::parameters::{name_of, name_of_loss};
use super::{Answer, Clusters};
use crate::resumed::named;
use crate::separation;
use madbayes::gibbs::{Chain, cluster_coclustering};
use serde_json::{Map, Value, json};

/// `objective` is what the labels were chosen by: their expected loss over the draws (`loss`), null where none was kept.
pub fn json(answer: &Answer) -> String {
    let (fit, mixture, job) = (answer.fit, answer.mixture, answer.job);
    let n_clusters = fit.estimate.n_groups();
    let together = cluster_coclustering(&fit.estimate, &answer.draws());
    let together: Vec<&[f64]> = together.chunks_exact(n_clusters).collect();
    let best = fit.chains.iter().filter_map(|chain| chain.best.as_ref()).max_by(|a, b| a.1.total_cmp(&b.1));
    let traces = |trace: &dyn Fn(&Chain) -> Value| fit.chains.iter().map(trace).collect::<Vec<Value>>();
    let diagnosed = |values: [f64; 3]| -> Map<String, Value> {
        answer.diagnosed().iter().zip(values).map(|((_, name), value)| (name.to_string(), json!(value))).collect()
    };
    let mut value = json!({
        "n_rows": fit.estimate.n_rows(),
        "n_columns": job.names.len(),
        "columns": job.names,
        "likelihood": named(&name_of(&mixture.likelihood)),
        "prior": fit.model.likelihood,
        "penalty": null,
        "objective": answer.objective,
        "loss": named(&name_of_loss(mixture.loss)),
        "n_groups": n_clusters,
        "sizes": fit.estimate.sizes(),
        "labels": fit.estimate.labels(),
        "certainty": fit.certainty,
        "distribution": answer.distribution.iter().collect::<Vec<_>>(),
        "coclustering": together,
        "best": best.map(|(partition, joint)| json!({ "log_joint": joint, "n_groups": partition.n_groups() })),
        "r_hat": diagnosed(fit.r_hat),
        "effective_size": diagnosed(fit.effective_size),
        "agreement": answer.agreement,
        "standardized": fit.model.standardise.is_some(),
        "sweeps": mixture.schedule.sweeps,
        "burn_in": mixture.schedule.burn_in,
        "thin": mixture.schedule.thin,
        "chains": fit.chains.len(),
        "n_draws": answer.draws().len(),
        "n_clusters_trace": traces(&|chain| json!(chain.n_groups)),
        "log_joint_trace": traces(&|chain| json!(chain.ln_joint)),
        "concentration_trace": traces(&|chain| json!(chain.concentration)),
        "converged": answer.converged(),
        "stopped": fit.stopped,
        "seed": mixture.seed,
        "seconds": answer.seconds,
        "version": env!("CARGO_PKG_VERSION"),
    });
    match &answer.clusters {
        Clusters::Means(means) => value["centres"] = json!(means),
        Clusters::Shares(shares) => value["shares"] = json!(shares),
    }
    let standardise = fit.model.standardise.as_ref();
    separation::add_to(&mut value, mixture.discriminative, fit.model.hyperplanes.as_ref(), standardise, n_clusters);
    if let Some(numbers) = job.row_numbers {
        value["dropped_rows"] = job.dropped.into();
        value["row_numbers"] = json!(numbers);
    }
    format!("{value:#}\n")
}
