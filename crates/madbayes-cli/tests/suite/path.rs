//! `madbayes path` and `--penalty auto`: the path is a hull, the choice stands on it, and both commands agree.

use crate::common::{
    Folder, Noise, close, counted_sizes, folder_of_a_square, folder_of_blobs, labels, says, sizes, timeless,
};
use serde_json::Value;

/// The points of a path as (k, low, high, loss); no upper end is infinity.
fn points(json: &Value) -> Vec<(u64, f64, f64, f64)> {
    let number = |value: &Value| value.as_f64().unwrap_or(f64::INFINITY);
    let points = json["path"].as_array().unwrap().iter();
    points
        .map(|p| (p["k"].as_u64().unwrap(), number(&p["penalty_low"]), number(&p["penalty_high"]), number(&p["loss"])))
        .collect()
}

#[test]
fn where_one_number_of_clusters_ends_the_next_begins() {
    let json = folder_of_blobs().json("path blobs.csv --label-column kind");
    let points = points(&json);
    assert_eq!(points[0].0, 1);
    assert_eq!(points[0].2, f64::INFINITY);
    for pair in points.windows(2) {
        let [(k, low, _, loss), (next, _, high, less)] = [pair[0], pair[1]];
        close(low, high, 1e-12);
        close(low, (loss - less) / (next - k) as f64, 1e-9);
        assert!(k < next && less < loss);
    }
    let chosen = points.iter().find(|p| p.0 == 6).unwrap();
    let persistence = json["path"].as_array().unwrap().iter().find(|p| p["k"] == 6).unwrap()["persistence"].as_f64();
    close(persistence.unwrap(), (chosen.2 / chosen.1).ln(), 1e-9);
}

#[test]
fn the_choice_is_on_the_path_and_comes_with_its_groups() {
    let json = folder_of_blobs().json("path blobs.csv --label-column kind --seed 3");
    assert_eq!((&json["n_rows"], &json["n_columns"], &json["n_groups"]), (&120.into(), &2.into(), &6.into()));
    assert_eq!((&json["kind"], &json["seed"], &json["converged"]), (&"clusters".into(), &3.into(), &true.into()));
    assert_eq!(json["agreement"]["adjusted_rand_index"], 1.0);
    assert_eq!((sizes(&json), counted_sizes(&json)), (vec![20; 6], vec![20; 6]));
    let (penalty, choice) = (json["penalty"].as_f64().unwrap(), &json["choice"]);
    assert!(choice["penalty_low"].as_f64().unwrap() < penalty && penalty < choice["penalty_high"].as_f64().unwrap());
    assert!((0.0..=1.0).contains(&choice["confidence"].as_f64().unwrap()));
    let runners_up = choice["runners_up"].as_array().unwrap();
    assert!(!runners_up.is_empty() && runners_up.iter().all(|c| c["k"] != 6 && c["score"].as_f64().unwrap() > 0.0));
    close(json["objective"].as_f64().unwrap(), json["loss"].as_f64().unwrap() + 5.0 * penalty, 1e-12);
}

#[test]
fn cluster_makes_the_choice_that_path_shows() {
    let folder = folder_of_blobs();
    let path = folder.json("path blobs.csv --exclude kind");
    let plain = folder.json("cluster blobs.csv --exclude kind");
    assert_eq!(plain["choice"], path["choice"]);
    assert_eq!((&plain["n_groups"], &plain["penalty"]), (&path["n_groups"], &path["penalty"]));
    assert_eq!(plain["penalty_low"], path["choice"]["penalty_low"]);
    assert_eq!(labels(&plain), labels(&path));
    let named = folder.text("cluster blobs.csv --exclude kind --penalty auto --format json");
    assert_eq!(timeless(&named), timeless(&folder.text("cluster blobs.csv --exclude kind --format json")));
    let text = folder.text("cluster blobs.csv --exclude kind");
    says(
        &text,
        &[
            "6 clusters at penalty ",
            "; the same number is optimal from ",
            "chosen by the data, confidence ",
            "next would be ",
        ],
    );
}

#[test]
fn the_chosen_penalty_leads_to_the_same_clusters() {
    let folder = folder_of_blobs();
    let chosen = folder.json("cluster blobs.csv --exclude kind");
    let penalty = chosen["penalty"].as_f64().unwrap();
    let given = folder.json(&format!("cluster blobs.csv --exclude kind --penalty {penalty}"));
    assert_eq!(labels(&given), labels(&chosen));
    assert!(given["choice"].is_null(), "nothing was chosen");
}

#[test]
fn data_without_structure_are_one_cluster() {
    let folder = Folder::new();
    let mut noise = Noise::new(4);
    let rows: String = (0..200).map(|_| format!("{},{}\n", noise.next(), noise.next())).collect();
    folder.write("even.csv", "a,b\n".to_string() + &rows);
    let json = folder.json("cluster even.csv");
    assert_eq!((&json["n_groups"], json["penalty_high"].is_null()), (&1.into(), true));
    let text = folder.text("path even.csv");
    says(
        &text,
        &[
            "1 cluster at penalty ",
            "the same number is optimal above ",
            "no number stands out from rows without clusters",
        ],
    );
}

#[test]
fn validation_and_farthest_first_are_alternatives() {
    let folder = folder_of_blobs();
    let validated = folder.json("cluster blobs.csv --exclude kind --penalty validation");
    let penalty = validated["penalty"].as_f64().unwrap();
    assert!(validated["penalty_low"].as_f64().unwrap() < penalty && validated["choice"].is_null());
    // Mean 190, farthest blob at 620: about 430 away in x.
    let farthest = folder.json("cluster blobs.csv --exclude kind --penalty farthest-first:1");
    assert!(
        (430.0f64.powi(2)..445.0f64.powi(2)).contains(&farthest["penalty"].as_f64().unwrap()),
        "{}",
        farthest["penalty"]
    );
    let smaller = folder.json("cluster blobs.csv --exclude kind --penalty farthest-first:6");
    assert!(smaller["penalty"].as_f64() < farthest["penalty"].as_f64());
    assert_eq!(smaller["n_groups"], 6);
}

#[test]
fn max_clusters_bounds_the_choice() {
    let json = folder_of_blobs().json("cluster blobs.csv --exclude kind --max-clusters 3");
    assert!(json["n_groups"].as_u64().unwrap() <= 3);
    assert!(json["choice"]["k"].as_u64().unwrap() <= 3);
}

#[test]
fn bounds_end_the_path() {
    let folder = folder_of_blobs();
    let few = points(&folder.json("path blobs.csv --exclude kind --max-groups 4"));
    assert_eq!(few.last().unwrap().0, 4);
    let all = points(&folder.json("path blobs.csv --exclude kind"));
    for (k, _, high, _) in &few {
        close(1.0 / *high, 1.0 / all.iter().find(|p| p.0 == *k).unwrap().2, 1e-9);
    }
    let cheap = points(&folder.json("path blobs.csv --exclude kind --least-penalty 1000"));
    assert!(cheap.last().unwrap().1 <= 1000.0 && cheap.len() < all.len());
}

#[test]
fn the_table_is_also_a_file() {
    let folder = folder_of_blobs();
    let text = folder.text("path blobs.csv --exclude kind --out path.csv --plots new/pictures");
    says(
        &text,
        &[
            "clusters  penalty from",
            "chosen         6 ",
            "next ",
            "For which penalties a number of clusters is optimal",
        ],
    );
    let csv = folder.read("path.csv");
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines[0], "k,penalty_low,penalty_high,loss,persistence");
    let json = folder.json("path blobs.csv --exclude kind");
    assert_eq!(lines.len() - 1, points(&json).len());
    for (line, (k, low, high, loss)) in lines[1..].iter().zip(points(&json)) {
        let cells: Vec<f64> = line.split(',').map(|cell| cell.parse().unwrap()).collect();
        assert_eq!(cells[..4], [k as f64, low, high, loss]);
    }
    assert_eq!(folder.text("path blobs.csv --exclude kind --out -"), csv, "- is standard output, alone");
    for name in ["penalties.svg", "loss.svg"] {
        let svg = folder.read(&format!("new/pictures/{name}"));
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"), "{name}");
    }
}

#[test]
fn text_of_a_small_path_is_this() {
    let out = folder_of_a_square().text("path square.csv");
    let without_time = out.rsplit_once(", ").unwrap().0;
    insta::assert_snapshot!(without_time, @r"
    4 rows x 2 columns
    up to 2 clusters tried, 2 of these numbers optimal

              clusters  penalty from   to  loss  persistence
      chosen         1             1  any     2            -
        next         2           0.5    1     1      0.69315

    For which penalties a number of clusters is optimal
    1 |                                                     ######################
    2 |                      ===============================
      '---------------------------------------------------------------------------
                            0.5                             1
                                         penalty

    1 cluster at penalty 2; the same number is optimal above 1
    chosen by the data, confidence 0.68 of 1; next would be 2 (from 0.5 to 1)
    no number stands out from rows without clusters but of the same covariance: 1.33 standard deviations below them in the loss explained (3 above count as evidence), 1.26 above in persistence (4 count)
    seed 0
    ");
}

#[test]
fn threads_change_no_bit_and_seeds_are_kept() {
    let folder = folder_of_blobs();
    let run = |options: &str| timeless(&folder.text(&format!("path blobs.csv --exclude kind --format json {options}")));
    assert_eq!(run("--threads 1"), run("--threads 3"));
    assert_eq!(run(""), run("--seed 0"));
}

#[test]
fn a_sample_of_many_rows_is_said_to_be_one() {
    let folder = Folder::new();
    let mut noise = Noise::new(9);
    let cloud = ndarray::Array2::from_shape_fn((9000, 2), |(n, _)| (n % 3) as f32 * 20.0 + noise.next() as f32);
    ndarray_npy::write_npy(folder.path("many.npy"), &cloud).unwrap();
    for command in ["path", "cluster"] {
        let json = folder
            .json(&format!("{command} many.npy --max-{} 6", if command == "path" { "groups" } else { "clusters" }));
        assert_eq!((&json["n_groups"], &json["sampled_rows"]), (&3.into(), &8192.into()), "{command}");
        assert_eq!(sizes(&json), [3000; 3]);
    }
    let text = folder.text("path many.npy --max-groups 6");
    says(&text, &["searched on a random sample of 8,192 rows, then refined on all of them"]);
}

#[test]
fn a_single_row_and_equal_rows_have_a_path() {
    let folder = Folder::new();
    folder.write("one.csv", "a,b\n3,4\n");
    folder.write("same.csv", "a,b\n1,2\n1,2\n1,2\n");
    folder.write("two.csv", "a\n1\n1\n1\n9\n9\n");
    for (file, k) in [("one.csv", 1), ("same.csv", 1), ("two.csv", 2)] {
        let json = folder.json(&format!("path {file}"));
        assert_eq!(json["n_groups"], k, "{file}");
        assert!(json["penalty"].as_f64().unwrap() > 0.0, "{file}");
        folder.text(&format!("path {file}"));
        assert_eq!(folder.json(&format!("cluster {file}"))["n_groups"], k, "{file}");
    }
}

#[test]
fn a_path_of_features_begins_with_none_and_features_makes_its_choice() {
    let folder = Folder::new();
    let mut noise = Noise::new(4);
    let mut text = String::from("a,b,c,d,e,f\n");
    for row in 0..60 {
        let cells: Vec<String> = (0..6)
            .map(|column| {
                let on = |bit: usize| f64::from((row >> bit & 1) as u8);
                let value = on(0) * [5.0, 1.0][column % 2] + on(1) * [0.0, 4.0, -3.0][column % 3];
                format!("{:.3}", value + 0.1 * noise.next())
            })
            .collect();
        text += &format!("{}\n", cells.join(","));
    }
    folder.write("sums.csv", &text);
    let json = folder.json("path sums.csv --features");
    let points = points(&json);
    assert_eq!((points[0].0, points[0].2), (0, f64::INFINITY));
    assert_eq!((&json["kind"], &json["n_groups"]), (&"features".into(), &2.into()));
    assert_eq!(json["allocation"].as_array().unwrap().len(), 60);
    assert_eq!(sizes(&json), [30, 30]);
    let fitted = folder.json("features sums.csv");
    assert_eq!(fitted["choice"], json["choice"]);
    assert_eq!((&fitted["n_groups"], &fitted["penalty"]), (&2.into(), &json["penalty"]));
    says(&folder.text("path sums.csv --features --plots pictures"), &["2 features at penalty", "chosen by the data"]);
    assert!(folder.path("pictures/penalties.svg").exists());
}
