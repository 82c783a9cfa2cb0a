//! The madbayes program: reads its arguments, runs a command, says what was wrong.

// Results go through one door that knows broken pipes.
#![warn(clippy::print_stdout)]

mod agreement;
mod arguments;
mod assign;
mod assign_features;
mod assign_mixture;
mod assign_states;
mod buffet;
mod choice;
mod cluster;
mod cluster_counts;
mod cluster_covariance;
mod cluster_report;
mod convergence;
mod demo;
mod demo_table;
mod draw;
mod features;
mod matrix_file;
mod mixture;
mod number;
mod output;
mod overview_plots;
mod path;
mod penalty;
mod picture;
mod read;
mod redundancy;
mod report;
mod resumed;
mod sampled_report;
mod separation;
mod states;
mod watching;

use anyhow::{Context, Result};
use arguments::{Cli, Command};
use clap::{CommandFactory, Parser};
use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    match run(Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            // A reader of standard error that has gone away is no reason to panic.
            let _ = writeln!(std::io::stderr(), "error: {}", message(&error));
            ExitCode::from(2)
        }
    }
}

fn run(cli: Cli) -> Result<()> {
    match cli.command {
        Command::Cluster(arguments) => cluster::run(&arguments),
        Command::Path(arguments) => path::run(&arguments),
        Command::Features(arguments) => features::run(&arguments),
        Command::Mixture(arguments) => mixture::run(&arguments),
        Command::Buffet(arguments) => buffet::run(&arguments),
        Command::States(arguments) => states::run(&arguments),
        Command::Assign(arguments) => assign::run(&arguments),
        Command::Draw(arguments) => draw::run(&arguments),
        Command::Demo(arguments) => demo::run(&arguments),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "madbayes", &mut script);
            output::to_stdout(&script)
        }
        Command::Man { dir: Some(dir) } => {
            output::make_folder(&dir)?;
            clap_mangen::generate_to(Cli::command(), &dir)
                .with_context(|| format!("cannot write into {}", dir.display()))
        }
        Command::Man { dir: None } => {
            let mut page = Vec::new();
            clap_mangen::Man::new(Cli::command()).render(&mut page)?;
            output::to_stdout(&page)
        }
    }
}

/// What the library's arguments are called here.
const OPTIONS: [(&str, &str); 33] = [
    ("discriminative_scale", "--discriminative-scale"),
    ("covariances", "--covariances"),
    ("covariance_penalty", "--covariance-penalty"),
    ("covariance_prior", "--covariance-prior"),
    ("n_clusters", "--clusters"),
    ("max_clusters", "--max-clusters"),
    ("max_groups", "--max-groups"),
    ("least_penalty", "--least-penalty"),
    ("restarts", "--restarts"),
    ("max_passes", "--max-passes"),
    ("concentration", "--concentration"),
    ("mass", "--mass"),
    ("gamma", "--gamma"),
    ("max_states", "--max-states"),
    ("stickiness", "--sticky"),
    ("noise", "--noise"),
    ("scale", "--feature-scale"),
    ("n_features", "--components"),
    ("max_features", "--max-components"),
    ("pca", "--pca"),
    ("sweeps", "--sweeps"),
    ("burn_in", "--burn-in"),
    ("chains", "--chains"),
    ("penalty", "--penalty"),
    ("thin", "--thin"),
    ("state", "--resume"),
    ("prior_mean", "--prior-mean"),
    ("prior_strength", "--prior-strength"),
    ("prior_dof", "--prior-dof"),
    ("prior_scale", "--prior-scale"),
    ("variance", "--variance"),
    ("prior_variance", "--prior-variance"),
    ("pseudocount", "--pseudocount"),
];

/// The error for people, who know the library's arguments as options.
fn message(error: &anyhow::Error) -> String {
    let text = format!("{error:#}");
    let renamed = |(argument, option): &(&str, &str)| {
        let rest = text.strip_prefix(argument).filter(|rest| rest.starts_with(" must be "))?;
        Some(format!("{option}{rest}"))
    };
    OPTIONS.iter().find_map(renamed).unwrap_or(text)
}

/// `madbayes ... | head` is not a mistake.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .any(|cause| cause.downcast_ref::<std::io::Error>().is_some_and(|e| e.kind() == std::io::ErrorKind::BrokenPipe))
}
