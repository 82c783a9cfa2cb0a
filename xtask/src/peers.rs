//! `cargo xtask bench --peers`: the Python package beside the packages people would use instead, as a table in docs/peers.md.

use crate::{environment, root, run, target, wheel};
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::collections::BTreeMap;
use std::process::Command;

/// The script that measures; it lies beside the project, as the data of the tests do.
const SCRIPT: &str = "../shared/bench/peers.py";

/// Workloads in the order of the table, and what they are.
const WORKLOADS: [(&str, &str); 8] = [
    ("d", "1,000 x 10, 10 clusters"),
    ("a", "100,000 x 32, 50 clusters, well apart"),
    ("c", "20,000 x 784, 30 clusters with covariance of rank 20"),
    ("e10k", "10,000 x 16, 100 clusters"),
    ("e100k", "100,000 x 16, 100 clusters"),
    ("e1M", "1,000,000 x 16, 100 clusters"),
    ("e4M", "4,000,000 x 16, 100 clusters"),
    ("b", "1,000,000 x 8, 200 clusters that overlap"),
];

/// Seconds after which a package is given up, unless `--cap` says otherwise.
const CAP: &str = "150";

/// Measures and writes the table. `extra` goes to the script: `--workloads a d`, `--reps 1`, `--cap 60`.
pub fn compare(extra: &[String]) -> Result<()> {
    let script = root().join(SCRIPT);
    if !script.is_file() {
        bail!("{SCRIPT} is not here: the comparison with other packages needs it beside the project");
    }
    let wheel = wheel(&["--release"])?;
    let python = environment("venv-peers", &[&wheel.display().to_string()])?;
    // The same version may have been there already, with other code.
    run(Command::new(&python).args(["-m", "pip", "install", "--quiet", "--no-deps", "--force-reinstall"]).arg(&wheel))?;
    let (folder, rows) = (target("peers"), target("peers.json"));
    if !folder.join("pdc").is_dir() {
        run(Command::new("python3").arg(&script).arg("setup").arg(&folder))?;
    }
    let mut measure = Command::new("python3");
    measure.arg(&script).arg("run").arg(&folder).arg("--python").arg(&python).arg("--json").arg(&rows);
    measure.args(["--cap", CAP]);
    if !extra.iter().any(|word| word == "--workloads") {
        measure.arg("--workloads").args(WORKLOADS.map(|(name, _)| name));
    }
    run(measure.args(extra))?;
    let text = std::fs::read_to_string(&rows)?;
    let cap = extra.iter().position(|word| word == "--cap").and_then(|at| extra.get(at + 1));
    let page = page(&serde_json::from_str::<Vec<Value>>(&text)?, cap.map_or(CAP, String::as_str))?;
    std::fs::write(root().join("docs/peers.md"), page).context("cannot write docs/peers.md")
}

/// One table for each number of threads: a line for each package, a column for each workload.
fn page(rows: &[Value], cap: &str) -> Result<String> {
    let text = |row: &Value, key: &str| row[key].as_str().unwrap_or_default().to_string();
    let threads: Vec<u64> = {
        let mut all: Vec<u64> = rows.iter().filter_map(|row| row["threads"].as_u64()).collect();
        all.sort_unstable();
        all.dedup();
        all
    };
    let mut peers: Vec<String> = Vec::new();
    let mut cells: BTreeMap<(String, String, String), String> = BTreeMap::new();
    for row in rows {
        let (peer, workload) = (text(row, "peer"), text(row, "workload"));
        if !peers.contains(&peer) {
            peers.push(peer.clone());
        }
        let threads = row["threads"].as_u64().context("threads")?;
        let seconds = row[if threads == 1 { "cpu" } else { "wall" }].as_f64();
        let cell = match (seconds, row["k"].as_u64(), row["objective"].as_f64()) {
            (Some(seconds), Some(k), Some(objective)) => format!("{seconds:.4} / {k} / {objective:.4e}"),
            _ => "-".to_string(),
        };
        cells.insert((heading(threads), peer.clone(), workload.clone()), cell);
        if let Some(memory) = row["extra_mb"].as_f64().filter(|_| threads == 1) {
            cells.insert((MEMORY.to_string(), peer, workload), format!("{memory:.0}"));
        }
    }
    let measured = |name: &str| rows.iter().any(|row| row["workload"] == name);
    let workloads: Vec<_> = WORKLOADS.iter().filter(|(name, _)| measured(name)).collect();
    let mut page = format!(
        "# Beside other packages\n\nWritten by `cargo xtask bench --peers` on {}. Simulated clusters, float32, the same penalty for \
         all that find K by themselves; the others are given the true K, which is an advantage. Seconds (median of the seeds) / clusters / \
         objective of the worst seed, sum of squares + (K - 1) penalty. `-`: not within {cap} s.\n\n{CARE}\n\n",
        processor(),
    );
    for (name, what) in &workloads {
        page += &format!("- {name}: {what}\n");
    }
    for table in threads.into_iter().map(heading).chain([MEMORY.to_string()]) {
        page += &format!("\n{table}:\n\n| |");
        workloads.iter().for_each(|(name, _)| page += &format!(" {name} |"));
        page += &format!("\n|---|{}\n", "---|".repeat(workloads.len()));
        for peer in &peers {
            page += &format!("| {peer} |");
            for (name, _) in &workloads {
                let cell = cells.get(&(table.clone(), peer.clone(), (*name).to_string()));
                page += &format!(" {} |", cell.map_or("", String::as_str));
            }
            page += "\n";
        }
    }
    Ok(page)
}

const CARE: &str = "With two threads read small sets with care: between the fits the script multiplies matrices, and the threads of \
                    that library go on spinning for a tenth of a second, so that the second processor is not free. (A fit of `e1M` \
                    on one thread takes 0.12 s of processor time by itself, and 0.22 after such a product, spinning included; on two \
                    threads 0.067 s by itself, and 0.112 after one.)";

const MEMORY: &str =
    "Memory beyond the data, MB, by which the peak of the process rises in its first fit on one thread";

fn heading(threads: u64) -> String {
    if threads == 1 { "One thread, CPU seconds".to_string() } else { format!("{threads} threads, wall seconds") }
}

/// What the machine calls its processor.
fn processor() -> String {
    let told = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let has = |feature: &str| told.lines().any(|line| line.starts_with("flags") && line.contains(feature));
    let name = told
        .lines()
        .find_map(|line| line.strip_prefix("model name"))
        .map(|name| name.trim_start_matches([' ', '\t', ':']));
    let vectors = if has(" avx512f") {
        "AVX-512"
    } else if has(" avx2") {
        "AVX2"
    } else {
        "no AVX2"
    };
    format!("{} ({vectors})", name.unwrap_or("an unknown processor"))
}
