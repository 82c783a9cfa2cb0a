//! `madbayes assign` and the model file: what was fitted is what is used later, or the file is refused.

use crate::common::{Folder, folder_of_blobs, labels, says, six_blobs, six_blobs_csv};
use serde_json::Value;

/// The blobs, their fit in `model.json`, and what the fit said.
fn fitted(options: &str) -> (Folder, Value) {
    let folder = folder_of_blobs();
    let fit = folder.json(&format!("cluster blobs.csv --exclude kind --model model.json {options}"));
    (folder, fit)
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

#[test]
fn the_training_rows_get_the_labels_of_the_fit() {
    for options in [
        "--penalty 300",
        "--penalty 3",
        "--clusters 4",
        "--penalty 0.05 --standardize",
        "--clusters 2 --algorithm serial",
    ] {
        let (folder, fit) = fitted(options);
        let assigned = folder.json("assign --model model.json blobs.csv");
        assert_eq!(labels(&assigned), labels(&fit), "{options}");
        assert_eq!(assigned["sizes"], fit["sizes"], "{options}");
        assert_eq!(assigned["penalty"], fit["penalty"], "{options}");
        let squares: f64 = numbers(&assigned["squared_distances"]).iter().sum();
        crate::common::close(squares, fit["loss"].as_f64().unwrap(), 1e-9);
    }
}

#[test]
fn a_standardised_model_measures_new_rows_as_it_was_fitted() {
    let folder = Folder::new();
    let rows = six_blobs().into_iter().map(|([x, y], kind)| format!("{x},{},{kind}\n", 1e4 * y));
    folder.write("scaled.csv", "x,y,kind\n".to_string() + &rows.collect::<String>());
    let fit = folder.json("cluster scaled.csv --exclude kind --clusters 6 --standardize --model model.json");
    assert_eq!(labels(&folder.json("assign --model model.json scaled.csv")), labels(&fit));
    let centres: Vec<Vec<f64>> = crate::common::centres(&fit);
    folder.write("centres.csv", format!("x,y\n{},{}\n", centres[3][0], centres[3][1]));
    let assigned = folder.json("assign --model model.json centres.csv");
    assert_eq!(labels(&assigned), [3]);
    assert!(
        numbers(&assigned["squared_distances"])[0] < 1e-20,
        "a centre in the units of the file is no distance away"
    );
}

#[test]
fn a_far_row_fits_nowhere_and_opening_would_gain() {
    let (folder, _) = fitted("--penalty 300");
    folder.write("new.csv", "x,y\n0.5,0.5\n620,57\n20,40\n620,58\n");
    let assigned = folder.json("assign --model model.json new.csv");
    assert_eq!(labels(&assigned), [0, 5, 1, 5]);
    let (squares, costs) = (numbers(&assigned["squared_distances"]), numbers(&assigned["opening_costs"]));
    for (square, cost) in squares.iter().zip(&costs) {
        crate::common::close(*cost, 300.0 - square, 1e-12);
    }
    assert!(costs[0] > 0.0 && costs[1] > 0.0 && costs[2] > 0.0 && costs[3] < 0.0, "{costs:?}");
    assert_eq!(assigned["fit_nowhere"], 1);
    let text = folder.text("assign --model model.json new.csv");
    says(&text, &["4 rows assigned to 6 clusters", "1 row fits nowhere", "penalty 300"]);
    folder.write("far.csv", "x,y\n0,1000\n0,-1000\n");
    says(&folder.text("assign --model model.json far.csv"), &["2 rows fit nowhere"]);
}

#[test]
fn without_a_penalty_no_row_is_said_to_fit_nowhere() {
    let folder = crate::common::folder_of_a_square();
    folder.text("cluster square.csv --clusters 3 --model model.json");
    let assigned = folder.json("assign --model model.json square.csv");
    assert!(assigned["opening_costs"].is_null() && assigned["fit_nowhere"].is_null() && assigned["penalty"].is_null());
    assert!(!folder.text("assign --model model.json square.csv").contains("nowhere"));
}

#[test]
fn the_model_knows_its_columns_whatever_else_is_in_the_file() {
    let (folder, fit) = fitted("--penalty 300");
    let rows = six_blobs().into_iter().map(|([x, y], kind)| format!("{y},some {kind},,{x}\n"));
    folder.write("wide.csv", "y,note,empty,x\n".to_string() + &rows.collect::<String>());
    let assigned = folder.json("assign --model model.json wide.csv --label-column note");
    assert_eq!(labels(&assigned), labels(&fit));
    assert_eq!(assigned["n_columns"], 2);
    assert_eq!(assigned["agreement"]["adjusted_rand_index"], 1.0);
}

#[test]
fn columns_of_other_names_are_given_in_the_order_of_the_model() {
    let (folder, fit) = fitted("--penalty 300");
    folder.write("other.csv", six_blobs_csv().replacen("x,y", "length,width", 1));
    let assigned = folder.json("assign --model model.json other.csv --columns length,width");
    assert_eq!(labels(&assigned), labels(&fit));
}

#[test]
fn columns_that_do_not_match_the_model_are_refused() {
    let (folder, _) = fitted("--penalty 300");
    folder.write("other.csv", "x,z\n1,2\n");
    let message = folder.mistake("assign --model model.json other.csv");
    says(&message, &["other.csv", "the model needs \"y\"", "there are 2 columns: x, z", "x,y", "--columns"]);
    for options in ["--columns x", "--exclude y", "--columns x,y,w"] {
        folder.write("three.csv", "x,y,w\n1,2,3\n");
        let message = folder.mistake(&format!("assign --model model.json three.csv {options}"));
        says(&message, &["columns, the model 2", "x, y"]);
    }
    let message = folder.mistake("assign --model model.json blobs.csv --columns y,x");
    says(&message, &["--columns", "another order, y,x", "give them as x,y"]);
}

#[test]
fn out_holds_label_distance_and_opening_cost_of_every_row() {
    let (folder, fit) = fitted("--penalty 300");
    let json = folder.json("assign --model model.json blobs.csv");
    let out = folder.text("assign --model model.json blobs.csv --out -");
    folder.text("assign --model model.json blobs.csv --out labels.csv");
    assert_eq!(folder.read("labels.csv"), out);
    let mut lines = out.lines();
    assert_eq!(lines.next(), Some("row,cluster,squared_distance,opening_cost"));
    let (squares, costs) = (numbers(&json["squared_distances"]), numbers(&json["opening_costs"]));
    for (n, label) in labels(&fit).into_iter().enumerate() {
        assert_eq!(lines.next().unwrap(), format!("{},{label},{},{}", n + 1, squares[n], costs[n]));
    }
    assert_eq!(lines.next(), None);
}

#[test]
fn rows_dropped_for_missing_cells_leave_the_numbers_of_the_others() {
    let (folder, _) = fitted("--penalty 300");
    folder.write("holes.csv", "x,y\n1,\n0,0\nNA,1\n620,0\n");
    let out = folder.text("assign --model model.json holes.csv --drop-missing --out -");
    let starts: Vec<String> =
        out.lines().skip(1).map(|line| line.split(',').take(2).collect::<Vec<_>>().join(",")).collect();
    assert_eq!(starts, ["2,0", "4,5"]);
    let message = folder.mistake("assign --model model.json holes.csv");
    says(&message, &["holes.csv, line 2 (data row 1), column \"y\"", "--drop-missing"]);
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    let (folder, _) = fitted("--penalty 300");
    let run =
        |threads: usize| folder.text(&format!("assign --model model.json blobs.csv --format json --threads {threads}"));
    assert_eq!(run(1), run(3));
}

#[test]
fn a_model_reads_every_format() {
    let (folder, fit) = fitted("--penalty 300");
    let values = crate::common::six_blobs_values().concat();
    let array = ndarray::Array2::from_shape_vec((120, 2), values).unwrap().mapv(|x| x as f32);
    ndarray_npy::write_npy(folder.path("blobs.npy"), &array).unwrap();
    let assigned = folder.json("assign --model model.json blobs.npy --columns 1,2");
    assert_eq!(labels(&assigned), labels(&fit));
    let ran =
        folder.madbayes("assign --model model.json - --format json").write_stdin(six_blobs_csv()).output().unwrap();
    assert_eq!(labels(&serde_json::from_slice(&ran.stdout).unwrap()), labels(&fit));
}

#[test]
fn the_same_fit_writes_the_same_model() {
    let (folder, _) = fitted("--penalty 300");
    let first = folder.read("model.json");
    folder.text("cluster blobs.csv --exclude kind --penalty 300 --model again.json --threads 2");
    assert_eq!(folder.read("again.json"), first);
}

#[test]
fn a_newer_model_asks_for_a_newer_program() {
    let (folder, _) = fitted("--penalty 300");
    let mut model: Value = serde_json::from_str(&folder.read("model.json")).unwrap();
    assert_eq!(model["version"], 1);
    model["version"] = 2.into();
    folder.write("model.json", model.to_string());
    let message = folder.mistake("assign --model model.json blobs.csv");
    says(&message, &["model.json", "version 2", "up to 1", "newer madbayes", "update"]);
}

#[test]
fn a_damaged_model_is_refused_with_the_reason() {
    let (folder, _) = fitted("--penalty 300");
    let whole = folder.read("model.json");
    let refused = |content: &str, words: &[&str]| {
        folder.write("model.json", content);
        let message = folder.mistake("assign --model model.json blobs.csv");
        says(&message, &["model.json", "cannot read what was saved"]);
        says(&message, words);
    };
    refused(&whole[..whole.len() / 2], &["not whole JSON", "damaged", "fit it again"]);
    refused("", &["not whole JSON", "fit it again"]);
    refused("x,y\n1,2\n", &["not whole JSON", "not a madbayes model"]);
    refused("[1, 2]", &["format", "not a madbayes model"]);
    refused("{\"format\": \"something else\"}", &["format", "not a madbayes model"]);
    let edited = |field: &str, value: Value| {
        let mut model: Value = serde_json::from_str(&whole).unwrap();
        model[field] = value;
        model.to_string()
    };
    refused(&edited("version", 0.into()), &["no valid version"]);
    refused(&edited("kind", "trees".into()), &["kind \"trees\""]);
    refused(&edited("penalty", (-1).into()), &["penalty is not positive"]);
    refused(&edited("columns", serde_json::json!(["x"])), &["do not all have 2 columns"]);
    refused(&edited("centres", serde_json::json!([])), &["no centres"]);
    refused(&edited("sizes", "many".into()), &["many", "fit it again"]);
    folder.write("model.json", &whole);
    folder.text("assign --model model.json blobs.csv");
}
