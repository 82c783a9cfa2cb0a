//! `madbayes mixture --save-state` and `--resume`: a run in two pieces is the run of one, or it is refused.

use crate::common::{Folder, folder_of_blobs, says, six_blobs_csv};
use serde_json::Value;

/// What a run says, but for how long it took.
fn said(folder: &Folder, arguments: &str) -> Value {
    let mut fit = folder.json(arguments);
    assert!(fit["seconds"].take().is_number());
    fit
}

fn folder() -> Folder {
    let folder = folder_of_blobs();
    folder.write("counts.npz", include_bytes!("../data/counts.npz"));
    folder
}

#[test]
fn five_hundred_sweeps_and_five_hundred_more_are_a_thousand_bit_for_bit() {
    for (file, options) in [
        ("blobs.csv", "--exclude kind"),
        ("blobs.csv", "--exclude kind --likelihood diagonal --burn-in 100 --thin 7 --chains 3 --seed 9"),
        ("blobs.csv", "--columns y,x --likelihood spherical --standardize --start random --split-merge 1"),
        ("blobs.csv", "--exclude kind --prior-scale 0.3 --prior-dof 6 --concentration 2 --max-clusters 8 --start one"),
        ("counts.npz", "--likelihood multinomial --pseudocount 0.5"),
    ] {
        let folder = folder();
        let whole = format!(
            "mixture {file} {options} --sweeps 1000 --draws all.csv --model all.json --save-state all-state.json"
        );
        let whole = said(&folder, &whole);
        folder.text(&format!("mixture {file} {options} --sweeps 500 --save-state half.json"));
        let arguments = format!("mixture {file} --resume half.json --sweeps 1000");
        let more = "--draws two.csv --model two.json --save-state half.json";
        let resumed = said(&folder, &format!("{arguments} {more}"));
        assert_eq!(resumed, whole, "{options}");
        for (one, two) in [("all.csv", "two.csv"), ("all.json", "two.json"), ("all-state.json", "half.json")] {
            assert_eq!(folder.read(one), folder.read(two), "{options}");
        }
        // What the run was begun with may be said again.
        folder.text(&format!("mixture {file} {options} --resume half.json --sweeps 1010"));
    }
}

#[test]
fn a_run_that_was_stopped_goes_on_as_if_it_had_not_been() {
    let folder = folder();
    let options = "--exclude kind --prior-scale 1 --start one --thin 50 --burn-in 50 --threads 1";
    let stopped = folder
        .json(&format!("mixture blobs.csv {options} --sweeps 10000000 --time-limit 0.7 --save-state s.json --quiet"));
    assert_eq!((&stopped["stopped"], &stopped["converged"]), (&true.into(), &false.into()));
    let length = |trace: &Value| trace.as_array().unwrap().len();
    let done = stopped["n_clusters_trace"].as_array().unwrap().iter().map(length).max().unwrap();
    assert!(done > 0, "no sweep in 0.7 seconds");
    let sweeps = done.max(60) + 20;
    let resumed = said(&folder, &format!("mixture blobs.csv --resume s.json --sweeps {sweeps} --burn-in 50"));
    let whole = said(&folder, &format!("mixture blobs.csv {options} --sweeps {sweeps}"));
    assert_eq!(resumed["n_clusters_trace"].as_array().unwrap().len(), 2, "the chain that had not begun is there");
    assert!(resumed == whole);
}

#[test]
fn options_that_contradict_the_run_are_refused() {
    let folder = folder();
    folder.text("mixture blobs.csv --exclude kind --sweeps 20 --prior-strength 0.1 --save-state s.json");
    let message = |options: &str| folder.mistake(&format!("mixture blobs.csv --resume s.json --sweeps 40 {options}"));
    for (option, given, has) in [
        ("--likelihood", "diagonal", "gaussian"),
        ("--prior", "finite", "dirichlet-process"),
        ("--discriminative", "svm", "none"),
        ("--concentration", "1", "none"),
        ("--max-clusters", "4", "none"),
        ("--thin", "2", "5"),
        ("--chains", "3", "2"),
        ("--start", "one", "dp-means"),
        ("--split-merge", "0", "3"),
        ("--seed", "4", "0"),
        ("--prior-strength", "0.2", "0.1"),
        ("--prior-dof", "9", "none"),
    ] {
        let expected = format!("{option} {given} contradicts the run in --resume, which has {has}: leave it out");
        says(&message(&format!("{option} {given}")), &[&expected, "begin anew without --resume"]);
    }
    says(&message("--standardize"), &["--standardize on contradicts"]);
    says(&message("--prior-mean 1,2"), &["--prior-mean [1.0, 2.0] contradicts"]);
    says(&message("--prior-scale 1"), &["--prior-scale [1.0, 0.0, 0.0, 1.0] contradicts"]);
    says(&message("--variance 1"), &["--variance is no parameter of --likelihood gaussian"]);
    says(&message("--burn-in 3"), &["--burn-in must be 10, that and a multiple of 5 (thin)", "got 3"]);
    says(
        &folder.mistake("mixture blobs.csv --resume s.json"),
        &["--sweeps must be more than the 20 already done, got 20"],
    );
    for fewer in [15, 8] {
        let said = folder.mistake(&format!("mixture blobs.csv --resume s.json --sweeps {fewer}"));
        says(&said, &["--sweeps must be more than the 20"]);
    }
    // Another loss is another answer from the same chains.
    assert_eq!(folder.json("mixture blobs.csv --resume s.json --sweeps 40 --loss binder")["loss"], "binder");
}

#[test]
fn other_data_and_other_columns_are_refused() {
    let folder = folder();
    folder.text("mixture blobs.csv --exclude kind --sweeps 20 --save-state s.json");
    let message =
        |file: &str, options: &str| folder.mistake(&format!("mixture {file} --resume s.json --sweeps 40 {options}"));
    folder.write("other.csv", six_blobs_csv().replacen("ant", "bee", 1).replacen("0.", "1.", 1));
    says(&message("other.csv", ""), &["the rows are not those that the chains began with", "begin anew"]);
    folder.write("fewer.csv", six_blobs_csv().lines().take(101).map(|line| format!("{line}\n")).collect::<String>());
    says(&message("fewer.csv", ""), &["there are 100 rows, and the chains are of 120"]);
    says(&message("blobs.csv", "--columns y,x"), &["is of the columns x,y, the data has y,x", "in the same order"]);
    says(&message("blobs.csv", "--columns x"), &["is of the columns x,y, the data has x"]);
    folder.write("names.csv", six_blobs_csv().replacen("x,y", "a,b", 1));
    says(&message("names.csv", ""), &["names.csv", "\"x\"", "not a column"]);
}

#[test]
fn a_damaged_or_newer_state_is_refused_with_the_reason() {
    let folder = folder();
    folder.text("mixture blobs.csv --exclude kind --sweeps 20 --save-state s.json --model m.json");
    let whole = folder.read("s.json");
    let refused = |content: &str, words: &[&str]| {
        folder.write("s.json", content);
        let message = folder.mistake("mixture blobs.csv --resume s.json --sweeps 40");
        says(&message, &["s.json"]);
        says(&message, words);
    };
    refused(&whole[..whole.len() / 2], &["not whole JSON", "damaged"]);
    refused(&whole.replacen("\"version\":1", "\"version\":2", 1), &["version 2", "newer madbayes", "update"]);
    refused(&folder.read("m.json"), &["of kind \"mixture\"", "only \"mixture run\""]);
    refused(&whole.replacen("\"n_rows\":120", "\"n_rows\":119", 1), &["not of its 119 rows", "damaged"]);
    says(&folder.mistake("mixture blobs.csv --resume none.json --sweeps 40"), &["cannot read none.json"]);
    folder.write("s.json", &whole);
    says(
        &folder.mistake("assign --model s.json blobs.csv"),
        &["holds chains to go on with", "--resume s.json --model"],
    );
    says(
        &folder.mistake("mixture blobs.csv --resume s.json --sweeps 40 --model s.json"),
        &["s.json is read by this command"],
    );
}
