//! Ctrl-C and time limits end the work soon and keep the best result so far.
#![cfg(unix)]

use crate::common::{Folder, Noise, PROGRAM, counted_sizes, labels, says, sizes};
use serde_json::Value;
use std::io::{BufWriter, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const ROWS: usize = 600_000;
const COLUMNS: usize = 8;

/// The promise is half a second; the rest is for builds with assertions on a busy machine.
const SOON: Duration = Duration::from_secs(3);

/// Far more work than the tests have time for: rows without clusters, cut into about a hundred.
const LONG: &str = "cluster cloud.npy --penalty 30000 --restarts 200 --format json";

/// Row-major float32 without structure.
fn cloud() -> Vec<f32> {
    let mut noise = Noise::new(5);
    (0..ROWS * COLUMNS).map(|_| 10.0 * noise.next() as f32).collect()
}

fn folder_of_a_cloud() -> Folder {
    let folder = Folder::new();
    let mut header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({ROWS}, {COLUMNS}), }}");
    while (10 + header.len() + 1) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let mut file = BufWriter::new(std::fs::File::create(folder.path("cloud.npy")).unwrap());
    file.write_all(b"\x93NUMPY\x01\x00").unwrap();
    file.write_all(&u16::try_from(header.len()).unwrap().to_le_bytes()).unwrap();
    file.write_all(header.as_bytes()).unwrap();
    cloud().iter().for_each(|x| file.write_all(&x.to_le_bytes()).unwrap());
    file.flush().unwrap();
    folder
}

fn start(folder: &Folder, arguments: &str) -> Child {
    Command::new(PROGRAM)
        .current_dir(folder.path(""))
        .args(arguments.split_whitespace())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Waits until the program listens to Ctrl-C, where that can be seen, and then a little longer.
fn wait_until_it_works(child: &Child) {
    let caught = |status: String| {
        let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:").map(str::trim).map(String::from));
        // SIGINT is number 2, the second bit.
        mask.and_then(|mask| u64::from_str_radix(&mask, 16).ok()).is_some_and(|mask| mask & 2 != 0)
    };
    let begin = Instant::now();
    if cfg!(target_os = "linux") {
        while !std::fs::read_to_string(format!("/proc/{}/status", child.id())).is_ok_and(caught) {
            assert!(begin.elapsed() < Duration::from_secs(60), "the program never listened to Ctrl-C");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    std::thread::sleep(Duration::from_millis(1500));
}

/// Sends the signal and waits for the end: how long it took, standard output and standard error.
fn end_by(signal: &str, mut child: Child) -> (Duration, String, String) {
    assert!(child.try_wait().unwrap().is_none(), "the work ended by itself, before the signal");
    let sent = Instant::now();
    assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
    let ended = child.wait_with_output().unwrap();
    let took = sent.elapsed();
    eprintln!("{signal}: ended after {:.3} s", took.as_secs_f64());
    let (out, err) = (String::from_utf8(ended.stdout).unwrap(), String::from_utf8(ended.stderr).unwrap());
    assert_eq!(ended.status.code(), Some(0), "{err}");
    (took, out, err)
}

/// A stopped result is a result: a label for every row, an objective that is that of labels and centres.
fn check_stopped(out: &str) -> Value {
    let json: Value = serde_json::from_str(out).unwrap();
    assert_eq!(json["stopped"], true);
    assert_eq!(json["n_rows"], ROWS);
    assert_eq!(labels(&json).len(), ROWS);
    assert_eq!(sizes(&json), counted_sizes(&json));
    assert!(sizes(&json).iter().all(|size| *size > 0));
    let rows: Vec<[f64; COLUMNS]> =
        cloud().chunks_exact(COLUMNS).map(|row| std::array::from_fn(|j| f64::from(row[j]))).collect();
    let loss = crate::common::loss(&rows, &json, [1.0; COLUMNS]);
    crate::common::close(json["loss"].as_f64().unwrap(), loss, 1e-9);
    if let Some(penalty) = json["penalty"].as_f64() {
        let k = sizes(&json).len() as f64;
        crate::common::close(json["objective"].as_f64().unwrap(), loss + (k - 1.0) * penalty, 1e-9);
    }
    json
}

/// The result of a run with these options that Ctrl-C ended.
fn ends_soon(options: &str) -> Value {
    let folder = folder_of_a_cloud();
    let child = start(&folder, &format!("cluster cloud.npy {options} --format json"));
    wait_until_it_works(&child);
    let (took, out, _) = end_by("-INT", child);
    assert!(took < SOON, "{options}: {took:?}");
    check_stopped(&out)
}

#[test]
fn ctrl_c_ends_soon_with_the_best_result_so_far() {
    let folder = folder_of_a_cloud();
    let child = start(&folder, &format!("{LONG} --model model.json --out labels.csv"));
    wait_until_it_works(&child);
    let (took, out, err) = end_by("-INT", child);
    assert!(took < SOON, "{took:?}");
    says(&err, &["hint: interrupted: this is the best result so far"]);
    let json = check_stopped(&out);
    assert_eq!(folder.read("labels.csv").lines().count(), ROWS + 1);
    let assigned = folder.json("assign --model model.json cloud.npy");
    assert_eq!(assigned["n_groups"], json["n_groups"]);
    let squares = assigned["squared_distances"].as_array().unwrap().iter().map(|x| x.as_f64().unwrap());
    let loss = json["loss"].as_f64().unwrap();
    assert!(squares.sum::<f64>() <= loss * (1.0 + 1e-6), "the nearest centres cost no more than the labels so far");
}

#[test]
fn ctrl_c_ends_soon_however_many_clusters_a_penalty_leads_to() {
    ends_soon("--penalty 300 --restarts 200");
}

#[test]
fn ctrl_c_ends_soon_however_many_clusters_are_asked_for() {
    assert_eq!(ends_soon("--clusters 2000 --restarts 1")["n_groups"], 2000);
}

#[test]
fn ctrl_c_ends_soon_however_many_restarts_are_left() {
    for options in ["--penalty 1e8", "--clusters 2"] {
        let json = ends_soon(&format!("{options} --max-passes 2 --restarts 1000"));
        assert!(json["runs"].as_u64().unwrap() > 1, "some runs had ended");
    }
}

#[test]
fn ctrl_c_while_seeking_exactly_k_clusters_reports_no_penalty() {
    let json = ends_soon("--clusters 60 --restarts 1");
    assert_eq!(json["n_groups"], 60);
    assert!(json["penalty"].is_null(), "which penalties lead to 60 clusters was not found out");
}

#[test]
fn ctrl_c_while_the_data_choose_keeps_the_clusters_so_far() {
    let json = ends_soon("");
    assert!(json["n_groups"].as_u64().unwrap() > 1, "the path so far had more than one cluster");
    assert!(json["choice"]["evidence"].is_null());
}

#[test]
fn ctrl_c_keeps_the_path_so_far_and_says_so() {
    let folder = folder_of_a_cloud();
    let child = start(&folder, "path cloud.npy --max-groups 2000 --format json");
    wait_until_it_works(&child);
    let (took, out, err) = end_by("-INT", child);
    assert!(took < SOON, "{took:?}");
    says(&err, &["hint: interrupted: this is the path so far"]);
    let json: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&json["stopped"], labels(&json).len()), (&true.into(), ROWS));
    let path = json["path"].as_array().unwrap();
    assert!(path.len() > 1 && path.windows(2).all(|pair| pair[0]["penalty_low"] == pair[1]["penalty_high"]));
    let text = folder.text("path cloud.npy --time-limit 1 --quiet");
    says(&text, &["stopped early: this is the path so far", "a guess so far"]);
}

#[test]
fn termination_is_ctrl_c_for_programs() {
    let folder = folder_of_a_cloud();
    let child = start(&folder, &format!("{LONG} --algorithm collapsed --quiet"));
    wait_until_it_works(&child);
    let (took, out, err) = end_by("-TERM", child);
    assert!(took < SOON, "{took:?}");
    check_stopped(&out);
    assert_eq!(err, "", "quiet is quiet");
}

#[test]
fn a_time_limit_ends_the_work_and_says_so() {
    let folder = folder_of_a_cloud();
    for algorithm in ["parallel", "serial"] {
        let ran = folder.run(&format!("{LONG} --time-limit 0.5 --algorithm {algorithm}")).well();
        says(&ran.err, &["hint: time limit reached: this is the best result so far"]);
        let seconds = check_stopped(&ran.out)["seconds"].as_f64().unwrap();
        eprintln!("a limit of 0.5 s: {algorithm} ended after {seconds:.3} s");
        assert!((0.5..0.5 + SOON.as_secs_f64()).contains(&seconds), "{seconds}");
    }
    let text = folder.text("cluster cloud.npy --penalty 30000 --restarts 200 --time-limit 0.5 --quiet");
    says(&text, &["stopped early after "]);
}

#[test]
fn a_limit_that_is_not_reached_changes_nothing() {
    let folder = crate::common::folder_of_blobs();
    let run = |limit: &str| {
        crate::common::timeless(
            &folder.text(&format!("cluster blobs.csv --exclude kind --penalty 300 --format json {limit}")),
        )
    };
    assert_eq!(run("--time-limit 1000"), run(""));
}
