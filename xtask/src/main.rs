//! `cargo xtask`: checks, benchmarks and long studies, one command each.

use anyhow::{Context, Result, bail};
use clap::{Parser, Subcommand};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Checks, benchmarks and long studies of madbayes")]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Everything that checks the project: format, lints, tests, examples, documentation
    Test,
    /// Benchmarks of the kernels and of whole fits; extra arguments go to the benchmark program
    Bench {
        /// Only this benchmark: ratio, kernels or fits
        #[arg(long)]
        only: Option<String>,
        #[arg(trailing_var_arg = true)]
        extra: Vec<String>,
    },
    /// Long studies, whose tables are written into docs/verify.md
    Verify {
        /// Only these studies
        names: Vec<String>,
    },
}

fn main() -> Result<()> {
    match Cli::parse().task {
        Task::Test => test(),
        Task::Bench { only, extra } => bench(only, &extra),
        Task::Verify { names } => {
            let mut arguments = vec!["run", "--release", "--package", "verify", "--"];
            arguments.extend(names.iter().map(String::as_str));
            cargo(&arguments)
        }
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map_or_else(PathBuf::new, Path::to_path_buf)
}

fn test() -> Result<()> {
    let begin = Instant::now();
    cargo(&["fmt", "--all", "--check"])?;
    cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])?;
    cargo(&["clippy", "--package", "madbayes-cli", "--no-default-features", "--all-targets", "--", "-D", "warnings"])?;
    cargo_with(&["doc", "--workspace", "--no-deps"], &[("RUSTDOCFLAGS", "-D warnings")])?;
    cargo(&["test", "--doc", "--workspace"])?;
    for example in examples()? {
        cargo(&["run", "--quiet", "--package", "madbayes", "--example", &example])?;
    }
    if has_nextest() {
        cargo(&["nextest", "run", "--workspace"])?;
    } else {
        cargo(&["test", "--workspace", "--lib", "--bins", "--tests"])?;
    }
    if !root().join("../shared/data").is_dir() {
        eprintln!("SKIPPED: the tests on real data, since ../shared/data is not here");
    }
    eprintln!("all checks passed in {:.0} s", begin.elapsed().as_secs_f64());
    Ok(())
}

fn bench(only: Option<String>, extra: &[String]) -> Result<()> {
    let mut arguments = vec!["bench".to_string(), "--package".into(), "madbayes".into()];
    match only {
        Some(name) => arguments.extend(["--bench".into(), name]),
        None => arguments.push("--benches".into()),
    }
    if !extra.is_empty() {
        arguments.push("--".into());
        arguments.extend(extra.iter().cloned());
    }
    cargo(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Names of the Rust examples.
fn examples() -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(root().join("examples")).context("no examples folder")? {
        let path = entry?.path();
        if path.extension().is_some_and(|e| e == "rs")
            && let Some(stem) = path.file_stem()
        {
            names.push(stem.to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}

fn has_nextest() -> bool {
    Command::new("cargo").args(["nextest", "--version"]).output().is_ok_and(|output| output.status.success())
}

fn cargo(arguments: &[&str]) -> Result<()> {
    cargo_with(arguments, &[])
}

/// Runs cargo at the root of the project, and fails when it fails.
fn cargo_with(arguments: &[&str], environment: &[(&str, &str)]) -> Result<()> {
    eprintln!("> cargo {}", arguments.join(" "));
    let status = Command::new("cargo")
        .args(arguments)
        .envs(environment.iter().copied())
        .current_dir(root())
        .status()
        .context("cargo could not be started")?;
    if !status.success() {
        bail!("cargo {} failed", arguments.join(" "));
    }
    Ok(())
}
