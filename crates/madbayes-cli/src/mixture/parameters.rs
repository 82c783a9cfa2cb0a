//! From options to the parameters of a mixture, and whether they agree with a run that is gone on with.

use crate::arguments::{
    LikelihoodName, LossName, MixtureArguments, MixturePriorName, MixtureStartName, Numbers, PriorArguments,
    ScaleArgument,
};
use crate::matrix_file::read_matrix;
use crate::number::plural;
use crate::resumed::{Said, agree, named};
use anyhow::{Result, bail};
use madbayes::gibbs::{Loss, Schedule};
use madbayes::model::{DpMixture, MixtureLikelihood, MixturePrior, MixtureRun, MixtureStart, NormalPrior};

pub fn name_of(likelihood: &MixtureLikelihood) -> LikelihoodName {
    match likelihood {
        MixtureLikelihood::Full(_) => LikelihoodName::Gaussian,
        MixtureLikelihood::Diagonal(_) => LikelihoodName::Diagonal,
        MixtureLikelihood::Spherical { .. } => LikelihoodName::Spherical,
        MixtureLikelihood::Multinomial { .. } => LikelihoodName::Multinomial,
    }
}

pub fn name_of_loss(loss: Loss) -> LossName {
    match loss {
        Loss::VariationOfInformation => LossName::VariationOfInformation,
        Loss::Binder => LossName::Binder,
    }
}

fn loss(name: LossName) -> Loss {
    match name {
        LossName::VariationOfInformation => Loss::VariationOfInformation,
        LossName::Binder => Loss::Binder,
    }
}

fn partitions(name: MixturePriorName) -> MixturePrior {
    match name {
        MixturePriorName::DirichletProcess => MixturePrior::DirichletProcess,
        MixturePriorName::Finite => MixturePrior::Finite,
    }
}

fn name_of_partitions(prior: MixturePrior) -> MixturePriorName {
    match prior {
        MixturePrior::DirichletProcess => MixturePriorName::DirichletProcess,
        MixturePrior::Finite => MixturePriorName::Finite,
    }
}

fn start(name: MixtureStartName) -> MixtureStart {
    match name {
        MixtureStartName::DpMeans => MixtureStart::DpMeans,
        MixtureStartName::One => MixtureStart::One,
        MixtureStartName::Random => MixtureStart::Random,
    }
}

fn name_of_start(start: MixtureStart) -> MixtureStartName {
    match start {
        MixtureStart::DpMeans => MixtureStartName::DpMeans,
        MixtureStart::One => MixtureStartName::One,
        MixtureStart::Random => MixtureStartName::Random,
    }
}

/// Refuses options that mean nothing for a likelihood.
pub fn check_options(arguments: &MixtureArguments, likelihood: LikelihoodName) -> Result<()> {
    use LikelihoodName::{Diagonal, Gaussian, Multinomial, Spherical};
    let prior = &arguments.prior;
    let of_options: [(&str, bool, &[LikelihoodName]); 7] = [
        ("--prior-mean", prior.prior_mean.is_some(), &[Gaussian, Diagonal, Spherical]),
        ("--prior-strength", prior.prior_strength.is_some(), &[Gaussian, Diagonal]),
        ("--prior-dof", prior.prior_dof.is_some(), &[Gaussian, Diagonal]),
        ("--prior-scale", prior.prior_scale.is_some(), &[Gaussian, Diagonal]),
        ("--variance", prior.variance.is_some(), &[Spherical]),
        ("--prior-variance", prior.prior_variance.is_some(), &[Spherical]),
        ("--pseudocount", prior.pseudocount.is_some(), &[Multinomial]),
    ];
    for (option, given, of) in of_options {
        if given && !of.contains(&likelihood) {
            let known = of_options.iter().filter(|(_, _, of)| of.contains(&likelihood));
            bail!(
                "{option} is no parameter of --likelihood {}, which has {}",
                named(&likelihood),
                known.map(|(option, _, _)| *option).collect::<Vec<_>>().join(", ")
            );
        }
    }
    if likelihood == Multinomial && arguments.standardize {
        bail!("--standardize cannot be used with --likelihood multinomial: it compares shares of counts; leave it out");
    }
    Ok(())
}

/// The likelihood that the options ask for.
fn likelihood(prior: &PriorArguments, name: LikelihoodName, n_columns: usize) -> Result<MixtureLikelihood> {
    let mean = prior.prior_mean.as_ref().map(|Numbers(mean)| mean.clone());
    if let Some(mean) = &mean
        && mean.len() != n_columns
    {
        bail!(
            "--prior-mean must be one number for each of {}, got {}: leave it out for the mean of the rows",
            plural(n_columns, "column"),
            mean.len()
        );
    }
    let normal = || -> Result<NormalPrior> {
        let scale = prior.prior_scale.as_ref().map(|scale| scale_of(scale, name, n_columns)).transpose()?;
        Ok(NormalPrior { mean: mean.clone(), strength: prior.prior_strength, dof: prior.prior_dof, scale })
    };
    Ok(match name {
        LikelihoodName::Gaussian => MixtureLikelihood::Full(normal()?),
        LikelihoodName::Diagonal => MixtureLikelihood::Diagonal(normal()?),
        LikelihoodName::Spherical => MixtureLikelihood::Spherical {
            variance: prior.variance,
            prior_mean: mean,
            prior_variance: prior.prior_variance,
        },
        LikelihoodName::Multinomial => MixtureLikelihood::Multinomial { pseudocount: prior.pseudocount },
    })
}

/// D x D numbers, or D of them where columns are independent.
fn scale_of(scale: &ScaleArgument, name: LikelihoodName, n_columns: usize) -> Result<Vec<f64>> {
    let variances = match scale {
        ScaleArgument::File(path) if name == LikelihoodName::Gaussian => {
            return read_matrix("--prior-scale", path, n_columns);
        }
        ScaleArgument::File(path) => bail!(
            "--prior-scale must be a number, or one for each column, with --likelihood diagonal, got {}: a matrix is for \
             --likelihood gaussian",
            path.display()
        ),
        ScaleArgument::Numbers(numbers) if numbers.len() == 1 => vec![numbers[0]; n_columns],
        ScaleArgument::Numbers(numbers) if numbers.len() == n_columns => numbers.clone(),
        ScaleArgument::Numbers(numbers) => bail!(
            "--prior-scale must be one number, or one for each of {}, got {}",
            plural(n_columns, "column"),
            numbers.len()
        ),
    };
    if name == LikelihoodName::Diagonal {
        return Ok(variances);
    }
    let entry = |i: usize| if i / n_columns == i % n_columns { variances[i / n_columns] } else { 0.0 };
    Ok((0..n_columns * n_columns).map(entry).collect())
}

/// The parameters of a new run.
pub fn new_run(arguments: &MixtureArguments, name: LikelihoodName, n_columns: usize) -> Result<DpMixture> {
    let (chains, default) = (&arguments.chains, DpMixture::default());
    let sweeps = chains.sweeps.unwrap_or(default.schedule.sweeps);
    Ok(DpMixture {
        likelihood: likelihood(&arguments.prior, name, n_columns)?,
        prior: arguments.partitions.map_or(default.prior, partitions),
        discriminative: arguments.separation.term(),
        concentration: arguments.concentration,
        max_clusters: arguments.max_clusters,
        schedule: Schedule {
            sweeps,
            burn_in: chains.burn_in.unwrap_or(sweeps / 2),
            thin: chains.thin.unwrap_or(default.schedule.thin),
        },
        split_merge: chains.split_merge.unwrap_or(default.split_merge),
        chains: chains.chains.unwrap_or(default.chains),
        start: chains.start.map_or(default.start, start),
        loss: arguments.loss.map_or(default.loss, loss),
        seed: arguments.work.seed,
        threads: arguments.work.threads,
    })
}

/// The parameters of a run that is gone on with: its own, but for how long, how the answer is chosen, and threads.
pub fn continued(arguments: &MixtureArguments, run: &MixtureRun) -> Result<DpMixture> {
    check_agreement(arguments, run)?;
    let mut schedule = run.schedule_to(arguments.chains.sweeps.unwrap_or(run.mixture.schedule.sweeps));
    schedule.burn_in = arguments.chains.burn_in.unwrap_or(schedule.burn_in);
    let loss = arguments.loss.map_or(run.mixture.loss, loss);
    Ok(DpMixture { schedule, loss, threads: arguments.work.threads, ..run.mixture.clone() })
}

/// Refuses options that contradict the run.
fn check_agreement(arguments: &MixtureArguments, run: &MixtureRun) -> Result<()> {
    let (saved, chains, prior) = (&run.mixture, &arguments.chains, &arguments.prior);
    let name = name_of(&saved.likelihood);
    // What was asked for now, as it would be where nothing else was said.
    let asked = likelihood(prior, name, run.columns.len())?;
    let list = |numbers: Option<&Vec<f64>>| numbers.map(|numbers| format!("{numbers:?}"));
    let mut said = vec![
        Said::new("--likelihood", arguments.likelihood.as_ref().map(named), Some(named(&name))),
        Said::new("--prior", arguments.partitions.as_ref().map(named), Some(named(&name_of_partitions(saved.prior)))),
        Said::new("--concentration", arguments.concentration, saved.concentration),
        Said::new("--max-clusters", arguments.max_clusters, saved.max_clusters),
        Said::new("--thin", chains.thin, Some(saved.schedule.thin)),
        Said::new("--chains", chains.chains, Some(saved.chains)),
        Said::new("--start", chains.start.as_ref().map(named), Some(named(&name_of_start(saved.start)))),
        Said::new("--split-merge", chains.split_merge, Some(saved.split_merge)),
        // 0 may be the default.
        Said::new("--seed", Some(arguments.work.seed).filter(|seed| *seed != 0), Some(saved.seed)),
        Said::new("--standardize", arguments.standardize.then_some("on"), run.standardise.as_ref().map(|_| "on")),
    ];
    match (&asked, &saved.likelihood) {
        (MixtureLikelihood::Full(asked), MixtureLikelihood::Full(saved))
        | (MixtureLikelihood::Diagonal(asked), MixtureLikelihood::Diagonal(saved)) => said.extend([
            Said("--prior-mean", list(asked.mean.as_ref()), list(saved.mean.as_ref())),
            Said::new("--prior-strength", asked.strength, saved.strength),
            Said::new("--prior-dof", asked.dof, saved.dof),
            Said("--prior-scale", list(asked.scale.as_ref()), list(saved.scale.as_ref())),
        ]),
        (
            MixtureLikelihood::Spherical { variance, prior_mean, prior_variance },
            MixtureLikelihood::Spherical { variance: v, prior_mean: m, prior_variance: r },
        ) => said.extend([
            Said::new("--variance", *variance, *v),
            Said("--prior-mean", list(prior_mean.as_ref()), list(m.as_ref())),
            Said::new("--prior-variance", *prior_variance, *r),
        ]),
        (MixtureLikelihood::Multinomial { pseudocount }, MixtureLikelihood::Multinomial { pseudocount: saved }) => {
            said.push(Said::new("--pseudocount", *pseudocount, *saved))
        }
        _ => {}
    }
    said.extend(arguments.separation.said(saved.discriminative));
    agree(said)
}
