//! `cargo xtask`: checks, benchmarks and long studies, one command each.

mod browser;
mod peers;

use anyhow::{Context, Result, anyhow, bail};
use clap::{Parser, Subcommand};
use std::ffi::OsStr;
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
        /// The Python package beside other packages, into docs/peers.md; extra arguments go to the script that measures
        #[arg(long, conflicts_with = "only")]
        peers: bool,
        /// Only this benchmark: ratio, kernels, fits, features, samplers or separators
        #[arg(long)]
        only: Option<String>,
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        extra: Vec<String>,
    },
    /// The references of the library and of the Python package, into target/doc and target/docs/python
    Docs,
    /// A release wheel of the Python package, into target/wheels, tried in a fresh environment
    Wheel,
    /// Pictures of reports in a browser, into docs/
    Screenshots,
    /// Long studies, whose tables are written into docs/verify
    Verify {
        /// Only these studies
        names: Vec<String>,
    },
    /// The papers' tables and figures: the scripts in experiments/, whose pages are written into docs/experiments
    Experiments {
        /// Only these scripts, by name
        names: Vec<String>,
        /// Small versions, whose pages are written into target/experiments/quick
        #[arg(long)]
        quick: bool,
    },
}

fn main() -> Result<()> {
    match Cli::parse().task {
        Task::Test => test(),
        Task::Bench { peers: true, extra, .. } => peers::compare(&extra),
        Task::Bench { only, extra, .. } => bench(only, &extra),
        Task::Docs => {
            cargo_with(&["doc", "--workspace", "--no-deps"], &[("RUSTDOCFLAGS", "-D warnings")])?;
            let python = install(&wheel(&["--features", "shared"])?, "docs")?;
            run(Command::new(python).args(["-m", "sphinx", "-W", "-b", "html", "docs/api", "target/docs/python"]))
        }
        Task::Wheel => {
            let wheel = wheel(&["--release"])?;
            try_alone(&wheel)?;
            eprintln!("built {}", wheel.strip_prefix(root()).unwrap_or(&wheel).display());
            Ok(())
        }
        Task::Screenshots => browser::screenshots(),
        Task::Verify { names } => {
            let mut arguments = vec!["run", "--release", "--package", "verify", "--"];
            arguments.extend(names.iter().map(String::as_str));
            cargo(&arguments)
        }
        Task::Experiments { names, quick } => experiments(&names, quick),
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map_or_else(PathBuf::new, Path::to_path_buf)
}

fn test() -> Result<()> {
    let begin = Instant::now();
    // What the Python tests need comes while others compile.
    let packages = std::thread::spawn(|| environment("venv", &needed_for("test")?).map(|_| ()));
    cargo(&["fmt", "--all", "--check"])?;
    cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])?;
    // Always the whole workspace, with dependencies as they are: a package by itself would build them once more, with fewer features.
    let smallest = ["--no-default-features", "--features", "madbayes-py/shared"];
    cargo(&[&["clippy", "--workspace"], &smallest[..], &["--", "-D", "warnings"]].concat())?;
    cargo_with(&["doc", "--workspace", "--no-deps"], &[("RUSTDOCFLAGS", "-D warnings")])?;
    if has_nextest() {
        cargo(&["nextest", "run", "--workspace"])?;
    } else {
        cargo(&["test", "--workspace", "--lib", "--bins", "--tests"])?;
    }
    cargo(&["test", "--doc", "--workspace"])?;
    cargo(&["build", "--workspace", "--bins", "--examples"])?;
    for example in stems("examples", "rs")? {
        run(&mut Command::new(program("debug/examples", &example)))?;
    }
    packages.join().map_err(|_| anyhow!("the installation of the packages for the Python tests panicked"))??;
    python_tests()?;
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

/// Runs scripts of experiments/ with a release build of the package.
fn experiments(names: &[String], quick: bool) -> Result<()> {
    let mut scripts = stems("experiments", "py")?;
    scripts.retain(|script| script != "common");
    if let Some(unknown) = names.iter().find(|name| !scripts.contains(name)) {
        bail!("there is no experiment {unknown}; there are: {}", scripts.join(", "));
    }
    scripts.retain(|script| names.is_empty() || names.contains(script));
    let python = install(&wheel(&["--release"])?, "experiments")?;
    let commit = Command::new("git").args(["describe", "--always", "--dirty"]).current_dir(root()).output();
    let commit = commit.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_string()).unwrap_or_default();
    for (i, script) in scripts.iter().enumerate() {
        eprintln!("experiment {} of {}: {script}", i + 1, scripts.len());
        let mut command = Command::new(&python);
        command.arg(Path::new("experiments").join(script).with_extension("py")).env("MADBAYES_COMMIT", &commit);
        run(if quick { command.arg("--quick") } else { &mut command })?;
    }
    Ok(())
}

/// Builds a wheel of the Python package, and runs its tests, doctests and type checks in an environment of their own; then
/// an example where only the wheel and what it needs are installed.
fn python_tests() -> Result<()> {
    let wheel = wheel(&["--features", "shared"])?;
    let python = install(&wheel, "test")?;
    run(Command::new(&python).args(["-m", "mypy"]))?;
    if browser::find_or_install().is_none() {
        eprintln!("SKIPPED: the tests that open reports, since there is no Chromium and it could not be installed");
    }
    let mut tests = Command::new(&python);
    tests.args([
        "-m",
        "pytest",
        "-q",
        "--numprocesses",
        "auto",
        "--dist",
        "worksteal",
        "--doctest-modules",
        "--pyargs",
        "madbayes",
        "python/tests",
    ]);
    run(tests.env("MADBAYES_PROGRAM", program("debug", "madbayes")))?;
    try_alone(&wheel)
}

/// A wheel by maturin with these extra options; its path.
fn wheel(options: &[&str]) -> Result<PathBuf> {
    let python = environment("venv", &["maturin>=1.16,<2"])?;
    let folder = target("wheels");
    if folder.exists() {
        std::fs::remove_dir_all(&folder)?;
    }
    let mut maturin = Command::new(python);
    maturin.args(["-m", "maturin", "build", "--quiet", "--out", "target/wheels"]).args(options);
    run(whole(&mut maturin))?;
    let built = std::fs::read_dir(&folder)?.next().context("maturin left no wheel")??;
    Ok(built.path())
}

/// The wheel with an extra in the environment of the tests; the path of its interpreter.
fn install(wheel: &Path, extra: &str) -> Result<PathBuf> {
    let python = environment("venv", &[&format!("{}[{extra}]", wheel.display())])?;
    // The same version may have been there already, with other code.
    let mut pip = Command::new(&python);
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--force-reinstall"]);
    run(pip.arg(wheel))?;
    Ok(python)
}

/// The wheel in a fresh environment, with nothing but what it depends on.
fn try_alone(wheel: &Path) -> Result<()> {
    let folder = target("venv-alone");
    if folder.exists() {
        std::fs::remove_dir_all(&folder)?;
    }
    let python = environment("venv-alone", &[&wheel.display().to_string()])?;
    for example in ["first_clusters.py", "uncertainty.py"] {
        run(Command::new(&python).arg(Path::new("examples").join(example)))?;
    }
    Ok(())
}

fn target(name: &str) -> PathBuf {
    root().join("target").join(name)
}

/// A program that was built.
fn program(folder: &str, name: &str) -> PathBuf {
    target(folder).join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
}

/// A virtual environment with these packages; the path of its interpreter.
fn environment(name: &str, packages: &[impl AsRef<OsStr>]) -> Result<PathBuf> {
    let folder = target(name);
    let python = folder.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    if !python.exists() {
        run(Command::new("python3").args(["-m", "venv"]).arg(&folder))
            .context("the Python package needs Python 3.11 or later, as python3")?;
    }
    run(Command::new(&python).args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(packages))?;
    Ok(python)
}

/// What the package and this extra of it depend on, as pyproject.toml says.
fn needed_for(extra: &str) -> Result<Vec<String>> {
    let script = "import sys, tomllib; project = tomllib.load(open('pyproject.toml', 'rb'))['project']; \
        print(*project['dependencies'], *project['optional-dependencies'][sys.argv[1]], sep='\\n')";
    let output = Command::new("python3").args(["-c", script, extra]).current_dir(root()).output();
    let output = output.context("the Python package needs Python 3.11 or later, as python3")?;
    if !output.status.success() {
        bail!("pyproject.toml could not be read: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8(output.stdout)?.lines().map(str::to_string).collect())
}

/// Names of the files in a folder that end so.
fn stems(folder: &str, extension: &str) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(root().join(folder)).with_context(|| format!("no folder {folder}"))? {
        let path = entry?.path();
        if path.extension().is_some_and(|e| e == extension)
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
    let mut command = Command::new("cargo");
    command.args(arguments).envs(environment.iter().copied());
    run(whole(&mut command))
}

/// What is built for the first time gains nothing from being built in parts.
fn whole(command: &mut Command) -> &mut Command {
    if has_parts() { command } else { command.env("CARGO_INCREMENTAL", "0") }
}

/// Whether the library was built in parts before.
fn has_parts() -> bool {
    let parts = std::fs::read_dir(target("debug/incremental")).into_iter().flatten().flatten();
    parts.map(|part| part.file_name()).any(|name| name.to_string_lossy().starts_with("madbayes"))
}

/// Runs a program at the root of the project, and fails when it fails.
fn run(command: &mut Command) -> Result<()> {
    let words: Vec<_> = std::iter::once(command.get_program()).chain(command.get_args()).collect();
    let line = words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ");
    eprintln!("> {}", line.replace(&*root().to_string_lossy(), "."));
    let status = command.current_dir(root()).status().with_context(|| format!("{line} could not be started"))?;
    if !status.success() {
        bail!("{line} failed");
    }
    Ok(())
}
