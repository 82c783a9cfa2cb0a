//! `madbayes buffet`: overlapping features sampled from their posterior, with the traces that show how far to trust them.

use crate::arguments::{BuffetArguments, BuffetStartName, Format};
use crate::features::{Page, Prepared, Source, allocation_csv, allocation_json, combinations, feature_table};
use crate::number::{number, plural, table};
use crate::output::{check_targets, hint, make_folder, to_file, to_stdout};
use crate::read::Values;
use crate::report::Run;
use crate::watching::Watching;
use anyhow::{Context, Result, bail};
use madbayes::data::{Data, Real, Rows};
use madbayes::gibbs::{IbpChain, IbpSampler, Schedule};
use madbayes::model::{BuffetFit, BuffetStart, FeatureModel, IndianBuffet};
use madbayes::overview::ChainOverview;
use madbayes_draw::Lines;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

const THIN: usize = 5;

pub fn run(arguments: &BuffetArguments) -> Result<()> {
    let targets = [&arguments.model, &arguments.output.out, &arguments.report].into_iter().flatten();
    check_targets(&[Path::new(&arguments.input.file)], targets.map(|path| path.as_path()))?;
    let source = Source::read(&arguments.input, None, arguments.scale, arguments.work.threads)?;
    source.give_hints(arguments.output.quiet, arguments.preparation.standardize);
    arguments.plots.as_deref().map(make_folder).transpose()?;
    match source.values() {
        Values::F32(values) => sample(arguments, &source, values),
        Values::F64(values) => sample(arguments, &source, values),
    }
}

fn sample<T: Real>(arguments: &BuffetArguments, source: &Source, values: &[T]) -> Result<()> {
    let rows = Rows::new(values, source.n_columns())?;
    let prepared = Prepared::new(rows, &arguments.preparation, arguments.work.threads)?;
    let watching = Watching::counting("features", arguments.output.quiet, arguments.work.time_limit)?;
    let begin = Instant::now();
    let buffet = buffet(arguments);
    let mut fit = match prepared.values() {
        Some(values) => {
            let data = Data::new(Rows::new(values, prepared.n_columns())?)?;
            buffet.fit(&data, source.columns(), &watching)?
        }
        None => buffet.fit(&Data::new(rows)?, source.columns(), &watching)?,
    };
    let seconds = begin.elapsed().as_secs_f64();
    watching.finish();
    if fit.chains.iter().all(|chain| chain.n_features.is_empty()) {
        bail!(
            "{} before the first sweep: there is no state to show; allow more time, or give fewer rows",
            watching.reason()
        );
    }
    if fit.stopped && !arguments.output.quiet {
        hint(&format!("{}: this is the best state so far", watching.reason()));
    }
    fit.model = prepared.in_original_units(FeatureModel { picture: source.picture(), ..fit.model });
    if let Some(path) = &arguments.model {
        to_file(path, &fit.model.to_bytes())?;
    }
    let (report, plots) = (arguments.report.as_deref(), arguments.plots.as_deref());
    if report.is_some() || plots.is_some() {
        let page = page(arguments, source, &prepared, &fit, seconds);
        match prepared.values() {
            Some(values) => page.write(&Data::new(Rows::new(values, prepared.n_columns())?)?, report, plots)?,
            None => page.write(&Data::new(rows)?, report, plots)?,
        }
    }
    if let Some(folder) = &arguments.plots {
        write_plots(folder, &fit.chains)?;
    }
    let to_standard_output = arguments.output.out.as_ref().is_some_and(|path| path.as_os_str() == "-");
    if let Some(path) = &arguments.output.out {
        to_file(path, allocation_csv(source, &fit.best.allocation).as_bytes())?;
    }
    match arguments.output.format {
        _ if to_standard_output => Ok(()),
        Format::Json => to_stdout(format!("{:#}\n", json(arguments, source, &fit, seconds)).as_bytes()),
        Format::Text => to_stdout(text(arguments, source, &fit, seconds).as_bytes()),
    }
}

/// The most probable state and the chains, for --report.
fn page<'a>(
    arguments: &'a BuffetArguments,
    source: &'a Source,
    prepared: &'a Prepared,
    fit: &'a BuffetFit,
    seconds: f64,
) -> Page<'a> {
    let traces: Vec<(Vec<f64>, Vec<f64>)> = fit
        .chains
        .iter()
        .map(|chain| (chain.n_features.iter().map(|&k| k as f64).collect(), chain.ln_joint.clone()))
        .collect();
    let r_hat =
        ["features", "log joint", "mass"].iter().zip(fit.r_hat).map(|(name, r)| (name.to_string(), r)).collect();
    let run = Run {
        file: &arguments.input.file,
        n_rows: source.n_rows(),
        n_columns: source.n_columns(),
        seed: arguments.work.seed,
        seconds,
        objective: Some(fit.model.objective),
        converged: !fit.stopped && fit.r_hat.iter().all(|r| r.is_nan() || *r <= 1.1),
        stopped: fit.stopped,
    };
    Page {
        source,
        prepared,
        run,
        allocation: &fit.best.allocation,
        components: &fit.best.components,
        model: &fit.model,
        choice: None,
        path: None,
        estimate: "the most probable state of all chains",
        chains: Some(ChainOverview::new(&traces, schedule(arguments).burn_in, r_hat)),
        more: vec![
            ("Chains".into(), format!("{} of {} sweeps", arguments.chains, arguments.sweeps)),
            ("Mass, noise, scale".into(), [fit.best.mass, fit.best.noise, fit.best.scale].map(number).join(", ")),
        ],
    }
}

fn buffet(arguments: &BuffetArguments) -> IndianBuffet {
    let sampler = IbpSampler {
        mass: arguments.mass,
        noise: arguments.noise,
        scale: arguments.feature_scale,
        collapsed: !arguments.uncollapsed,
        schedule: schedule(arguments),
        chains: arguments.chains,
        seed: arguments.work.seed,
        threads: arguments.work.threads,
        ..IbpSampler::default()
    };
    let start = match arguments.start {
        BuffetStartName::BpMeans => BuffetStart::BpMeans,
        BuffetStartName::One => BuffetStart::One,
        BuffetStartName::Random => BuffetStart::Random,
    };
    IndianBuffet { sampler, start }
}

fn schedule(arguments: &BuffetArguments) -> Schedule {
    let burn_in = arguments.burn_in.unwrap_or(arguments.sweeps / 2);
    Schedule { sweeps: arguments.sweeps, burn_in, thin: THIN }
}

/// The share of sweeps after the burn-in with each number of features.
fn distribution(arguments: &BuffetArguments, chains: &[IbpChain]) -> BTreeMap<usize, f64> {
    let burn_in = schedule(arguments).burn_in;
    let kept = || chains.iter().flat_map(|chain| chain.n_features.iter().skip(burn_in));
    let total = kept().count();
    let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
    kept().for_each(|k| *counts.entry(*k).or_default() += 1);
    counts.into_iter().map(|(k, count)| (k, count as f64 / total as f64)).collect()
}

fn json(arguments: &BuffetArguments, source: &Source, fit: &BuffetFit, seconds: f64) -> Value {
    let traces = |trace: &dyn Fn(&IbpChain) -> Value| fit.chains.iter().map(trace).collect::<Vec<Value>>();
    json!({
        "n_rows": source.n_rows(),
        "n_columns": source.n_columns(),
        "penalty": null,
        "objective": fit.model.objective,
        "loss": fit.model.loss,
        "n_groups": fit.best.allocation.n_features(),
        "sizes": fit.model.counts,
        "mass": fit.best.mass,
        "noise": fit.best.noise,
        "scale": fit.best.scale,
        "distribution": distribution(arguments, &fit.chains).into_iter().collect::<Vec<_>>(),
        "r_hat": { "n_features": fit.r_hat[0], "log_joint": fit.r_hat[1], "mass": fit.r_hat[2] },
        "converged": !fit.stopped && fit.r_hat.iter().all(|r| r.is_nan() || *r <= 1.1),
        "seconds": seconds,
        "seed": arguments.work.seed,
        "stopped": fit.stopped,
        "allocation": allocation_json(&fit.best.allocation),
        "components": fit.model.components,
        "offset": fit.model.offset,
        "n_features_trace": traces(&|chain| json!(chain.n_features)),
        "log_joint_trace": traces(&|chain| json!(chain.ln_joint)),
        "mass_trace": traces(&|chain| json!(chain.mass)),
        "noise_trace": traces(&|chain| json!(chain.noise)),
        "scale_trace": traces(&|chain| json!(chain.scale)),
    })
}

fn text(arguments: &BuffetArguments, source: &Source, fit: &BuffetFit, seconds: f64) -> String {
    let k = fit.best.allocation.n_features();
    let mut out = format!(
        "{}: the most probable state has {}, mass {}, noise {}, scale {}\n",
        source.described(),
        plural(k, "feature"),
        number(fit.best.mass),
        number(fit.best.noise),
        number(fit.best.scale),
    );
    if k > 0 {
        out += "\n";
        out += &feature_table(&fit.model);
        out += &combinations(&fit.best.allocation);
    }
    let shares = distribution(arguments, &fit.chains);
    if !shares.is_empty() {
        out += "\nshare of sweeps by number of features, after the burn-in:\n";
        let rows: Vec<Vec<String>> =
            shares.iter().map(|(k, share)| vec![k.to_string(), format!("{:.1}%", 100.0 * share)]).collect();
        out += &table(&["features".into(), "share".into()], &rows);
    }
    let numbers: Vec<(String, Vec<f64>)> =
        series(&fit.chains, |chain| chain.n_features.iter().map(|&k| k as f64).collect());
    if numbers.iter().any(|(_, trace)| trace.len() > 1) {
        let title = "Features after each sweep";
        out += "\n";
        out += &Lines { title, x_name: "sweep", y_name: "features", series: &numbers }.text(78, 16);
    }
    let r_hat = |r: f64| if r.is_nan() { "unknown".to_string() } else { format!("{r:.2}") };
    out += &format!(
        "\nR-hat {} (features), {} (log joint), {} (mass): near 1 the chains agree, above 1.1 raise --sweeps\n\
         {} of {} sweeps in {} s, seed {}\n",
        r_hat(fit.r_hat[0]),
        r_hat(fit.r_hat[1]),
        r_hat(fit.r_hat[2]),
        plural(arguments.chains, "chain"),
        arguments.sweeps,
        number(seconds),
        arguments.work.seed
    );
    out
}

fn series(chains: &[IbpChain], trace: impl Fn(&IbpChain) -> Vec<f64>) -> Vec<(String, Vec<f64>)> {
    chains.iter().enumerate().map(|(i, chain)| (format!("chain {}", i + 1), trace(chain))).collect()
}

/// Writes features-trace.svg and log-joint.svg.
fn write_plots(folder: &Path, chains: &[IbpChain]) -> Result<()> {
    make_folder(folder)?;
    let numbers = series(chains, |chain| chain.n_features.iter().map(|&k| k as f64).collect());
    let joints = series(chains, |chain| chain.ln_joint.clone());
    let pictures = [
        ("features-trace.svg", "Features after each sweep", "features", &numbers),
        ("log-joint.svg", "Log joint probability after each sweep", "log joint", &joints),
    ];
    for (name, title, y_name, series) in pictures {
        let path = folder.join(name);
        std::fs::write(&path, Lines { title, x_name: "sweep", y_name, series }.svg())
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}
