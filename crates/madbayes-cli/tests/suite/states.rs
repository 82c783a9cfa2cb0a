//! `madbayes states`: states of sequences from a file to an answer, and new sequences by the saved model.

use crate::common::{Folder, Noise, labels, says};
use serde_json::Value;

/// Two walks through three states that last 20 rows each, the second beginning in another: state, walk and two columns.
fn walks() -> Folder {
    let folder = Folder::new();
    let mut csv = String::from("x,y,kind,walk\n");
    let mut noise = Noise::new(7);
    for row in 0..240 {
        let (walk, state) = if row < 160 { ("one", row / 20 % 3) } else { ("two", (row / 20 + 1) % 3) };
        let (x, y) = (4.0 * f64::from(state) + noise.next(), 3.0 * f64::from(state % 2) + noise.next());
        csv += &format!("{x},{y},{},{walk}\n", ["sit", "walk", "run"][state as usize]);
    }
    folder.write("walks.csv", csv);
    folder
}

const SHORT: &str = "--sweeps 200 --seed 3";

#[test]
fn states_of_two_sequences_are_found_and_drawn() {
    let folder = walks();
    let fit = folder.json(&format!(
        "states walks.csv --sequence-column walk --label-column kind --plots pictures --model m.json {SHORT}"
    ));
    assert_eq!(fit["n_groups"], 3);
    assert_eq!(fit["n_rows"], 240);
    assert_eq!(fit["n_columns"], 2);
    assert_eq!(fit["lengths"], serde_json::json!([160, 80]));
    assert_eq!(fit["sequences"], serde_json::json!(["one", "two"]));
    assert!(fit["agreement"]["adjusted_rand_index"].as_f64().unwrap() > 0.98);
    assert_eq!(fit["penalty"], Value::Null);
    for key in ["objective", "sizes", "seconds", "seed", "converged", "certainty", "distribution", "r_hat"] {
        assert!(!fit[key].is_null(), "{key}");
    }
    for (state, row) in fit["transitions"].as_array().unwrap().iter().enumerate() {
        let row: Vec<f64> = row.as_array().unwrap().iter().map(|p| p.as_f64().unwrap()).collect();
        assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-9 && row[state] > 0.85, "{row:?}");
    }
    for name in ["states.svg", "number-of-states.svg", "states-trace.svg", "log-joint.svg"] {
        assert!(folder.read(&format!("pictures/{name}")).starts_with("<svg"), "{name}");
    }
    let assigned = folder.json("assign --model m.json walks.csv --sequence-column walk");
    assert_eq!(labels(&assigned), labels(&fit));
    let text = folder.text("assign --model m.json walks.csv --sequence-column walk --label-column kind");
    assert!(text.contains("240 rows in 2 sequences: states by a model of 3 states"), "{text}");
    assert!(text.contains("agreement with kind"), "{text}");
}

#[test]
fn text_shows_the_segmentation_and_csv_the_certainty() {
    let folder = walks();
    let text =
        folder.text(&format!("states walks.csv --exclude kind,walk --sticky --sampler direct --out s.csv {SHORT}"));
    assert!(text.starts_with("240 rows x 2 columns in 1 sequence: 3 states"), "{text}");
    assert!(text.contains("  1 aaaaaaaaaaaaaaaaaaaabbbbbbbbbbbbbbbbbbbbcccccccccccccccccccc"), "{text}");
    assert!(text.contains("share of sweeps by number of states"), "{text}");
    assert!(text.contains("\nchains began at the clusters of DP-means\n"), "{text}");
    let csv = folder.read("s.csv");
    assert_eq!(csv.lines().count(), 241);
    assert!(csv.starts_with("row,state,certainty\n1,0,"), "{csv}");
}

#[test]
fn a_standardised_model_reads_new_rows_in_the_units_of_the_file() {
    let folder = walks();
    let fit = folder.json(&format!("states walks.csv --exclude kind,walk --standardize --model m.json {SHORT}"));
    assert_eq!(labels(&folder.json("assign --model m.json walks.csv")), labels(&fit));
}

/// What a run says, but for how long it took.
fn said(folder: &Folder, arguments: &str) -> Value {
    let mut value = folder.json(arguments);
    value["seconds"] = Value::Null;
    value
}

#[test]
fn a_run_in_two_pieces_is_the_run_of_one() {
    let folder = walks();
    for options in [
        "--sticky",
        "--sticky=0.6 --split-merge 2",
        "--discriminative logistic --standardize",
        "--sampler direct --discriminative svm",
    ] {
        let base = format!("states walks.csv --sequence-column walk --exclude kind {options} --seed 3");
        let whole = said(&folder, &format!("{base} --sweeps 60 --model whole.json"));
        folder.text(&format!("{base} --sweeps 20 --burn-in 10 --save-state s.json"));
        let resume = "states walks.csv --sequence-column walk --resume s.json --sweeps 60";
        let resumed = said(&folder, &format!("{resume} --burn-in 30 --model m.json --save-state s.json"));
        assert_eq!(resumed, whole, "{options}");
        assert_eq!(folder.read("m.json"), folder.read("whole.json"));
        assert_eq!(whole["hyperplanes"].is_array(), options.contains("discriminative"));
    }
    let message = |options: &str| {
        folder.mistake(&format!("states walks.csv --sequence-column walk --resume s.json --sweeps 80 {options}"))
    };
    for (option, given, has) in [
        ("--sticky", "--sticky on", "none"),
        ("--sticky=0.5", "--sticky 0.5", "none"),
        ("--split-merge 3", "--split-merge 3", "8"),
        ("--sampler beam", "--sampler beam", "direct"),
        ("--discriminative logistic", "--discriminative logistic", "svm"),
    ] {
        says(&message(option), &[&format!("{given} contradicts the run in --resume, which has {has}")]);
    }
    says(&message("--columns x"), &["the run in --resume is of the columns x,y, the data has x"]);
    let cut = "states walks.csv --resume s.json --sweeps 80";
    says(&folder.mistake(cut), &["the sequences are not those that the chains began with"]);
}

#[test]
fn hyperplanes_are_told_in_the_units_of_the_file_and_used_by_assign() {
    let folder = walks();
    let base = format!("states walks.csv --exclude kind,walk --discriminative logistic {SHORT}");
    let fit = folder.json(&format!("{base} --standardize --model m.json"));
    assert_eq!(fit["discriminative"]["factor"], "logistic");
    assert_eq!((fit["hyperplanes"].as_array().unwrap().len(), fit["n_groups"].as_u64()), (3, Some(3)));
    assert_eq!(labels(&folder.json("assign --model m.json walks.csv")), labels(&fit));
    says(&folder.text(&base), &["separation: logistic hyperplanes of prior variance 1, one for each state"]);
    let alone = "states walks.csv --discriminative-scale 2";
    says(&folder.mistake(alone), &["--discriminative <DISCRIMINATIVE>"]);
}

#[test]
fn where_chains_began_is_told() {
    let folder = walks();
    let base = "states walks.csv --exclude kind,walk --sweeps 20";
    assert_eq!(folder.json(&format!("{base} --sticky --sampler direct --seed 3"))["start"], "dp-means");
    for (start, told) in [("one", "with all rows in one state"), ("random", "at random")] {
        assert_eq!(folder.json(&format!("{base} --start {start}"))["start"], start);
        says(&folder.text(&format!("{base} --start {start}")), &[&format!("chains began {told}\n")]);
    }
    // DP-means sees one cluster where only the spread differs, and rows leave it slowly one by one.
    let values = (0..200).map(|row| [0.05, 5.0][row / 10 % 2] * ((row * 7919 % 101) as f64 / 50.0 - 1.0));
    folder.write("spread.csv", values.fold("x\n".to_string(), |csv, x| csv + &format!("{x}\n")));
    let base = "states spread.csv --sweeps 20 --split-merge 0";
    assert_eq!(folder.json(&format!("{base} --save-state s.json"))["start"], "random");
    let told = "chains began at random, which led higher in 20 sweeps than the clusters of DP-means\n";
    says(&folder.text(base), &[told]);
    // Chains that go on began where they did.
    says(&folder.text("states spread.csv --resume s.json --sweeps 30"), &[told]);
}

#[test]
fn a_fixed_share_of_staying_is_not_drawn() {
    let folder = walks();
    let base = format!("states walks.csv --exclude kind,walk {SHORT}");
    let (fixed, drawn) = (folder.json(&format!("{base} --sticky=0.9")), folder.json(&format!("{base} --sticky")));
    assert_eq!((&fixed["n_groups"], &drawn["n_groups"]), (&3.into(), &3.into()));
    let shares = |fit: &Value| serde_json::from_value::<Vec<Vec<f64>>>(fit["stickiness_trace"].clone()).unwrap();
    assert!(shares(&fixed).concat().iter().all(|share| *share == 0.9));
    assert!(shares(&drawn)[0].windows(2).all(|pair| pair[0] != pair[1]));
    assert!(shares(&folder.json(&base)).concat().iter().all(|share| *share == 0.0));
}

#[test]
fn mistakes_are_named() {
    let folder = walks();
    folder.write("mixed.csv", "x,walk\n1,a\n2,b\n3,a\n");
    folder.json("cluster walks.csv --exclude kind,walk --model clusters.json");
    for (arguments, message) in [
        ("states mixed.csv --sequence-column walk", "row 3 goes on with sequence \"a\" of column walk"),
        ("states walks.csv --sequence-column kind --label-column kind", "both name kind"),
        ("states walks.csv --exclude kind,walk --gamma 0", "--gamma must be a positive finite number, got 0"),
        (
            "states walks.csv --exclude kind,walk --sticky=1",
            "--sticky must be above 0 and below 1, got 1: it is the share",
        ),
        ("states walks.csv --exclude kind,walk --sticky=much", "invalid value 'much' for '--sticky[=<SHARE>]'"),
        ("states walks.csv --exclude kind,walk --split-merge -1", "it must be a whole number of at least 0"),
        ("states walks.csv --exclude kind,walk --max-states 0", "--max-states must be at least 1"),
        ("states walks.csv --exclude kind,walk --burn-in 1000", "--burn-in must be less than the number of sweeps"),
        ("assign --model clusters.json walks.csv --sequence-column walk", "--sequence-column is for a model of states"),
    ] {
        says(&folder.mistake(arguments), &[message]);
    }
}
