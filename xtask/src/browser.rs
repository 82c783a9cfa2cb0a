//! Chromium: for the tests that open reports, and for `cargo xtask screenshots`, which makes the pictures of them in docs/.

use crate::{cargo, program, root, run, target};
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::process::Command;

const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];
const OPTIONS: [&str; 10] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
    "--hide-scrollbars",
    "--force-device-scale-factor=1",
];

/// The pictures: the page, its name in docs/, and the size of the window.
const PICTURES: [(&str, &str, &str); 3] = [
    ("madbayes-demo-clusters.html", "report-clusters.png", "900,1330"),
    ("madbayes-demo-features.html", "report-features.png", "900,1523"),
    ("mixture.html", "report-sampler.png", "900,1812"),
];

/// Where Chromium is, if it is here.
fn find() -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    let mut places = std::env::split_paths(&folders).flat_map(|folder| NAMES.map(|name| folder.join(name)));
    places.find(|place| place.is_file())
}

/// Chromium, installed where it is missing and may be: as root of a machine with apt-get.
pub fn find_or_install() -> Option<PathBuf> {
    let quietly = |program: &str, arguments: &[&str]| {
        let mut command = Command::new(program);
        command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive");
        command.output().ok().filter(|output| output.status.success())
    };
    if find().is_none() && quietly("id", &["-u"]).is_some_and(|output| output.stdout.trim_ascii() == b"0") {
        eprintln!("> apt-get install chromium");
        quietly("apt-get", &["update", "--quiet"]);
        quietly("apt-get", &["install", "--yes", "--quiet", "chromium"]);
    }
    find()
}

/// Makes the pictures of reports in docs/.
pub fn screenshots() -> Result<()> {
    let chromium =
        find_or_install().context("there is no Chromium here, and it could not be installed: install it first")?;
    cargo(&["build", "--package", "madbayes-cli"])?;
    let program = program("debug", "madbayes");
    let folder = target("screenshots");
    std::fs::create_dir_all(&folder)?;
    run(Command::new(&program).args(["demo", "--dir"]).arg(&folder))?;
    let table = folder.join("madbayes-demo.csv");
    let report = folder.join("mixture.html");
    let options = ["--exclude", "truth", "--likelihood", "spherical", "--variance", "1", "--quiet", "--report"];
    run(Command::new(&program).arg("mixture").arg(&table).args(options).arg(&report))?;
    for (page, picture, window) in PICTURES {
        photograph(&chromium, &folder.join(page), &root().join("docs").join(picture), window)?;
    }
    Ok(())
}

fn photograph(chromium: &Path, page: &Path, picture: &Path, window: &str) -> Result<()> {
    let mut command = Command::new(chromium);
    command.args(OPTIONS).arg(format!("--window-size={window}"));
    command.arg(format!("--screenshot={}", picture.display())).arg(format!("file://{}", page.display()));
    run(&mut command)
}
