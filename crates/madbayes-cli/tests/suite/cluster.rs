//! `madbayes cluster`: what it says is what the labels and centres say, under every option.

use crate::common::{
    Folder, Noise, centres, close, counted_sizes, folder_of_a_square, folder_of_blobs, labels, loss, says, six_blobs,
    six_blobs_csv, six_blobs_values, sizes, timeless,
};
use ndarray::Array2;
use serde_json::Value;

/// Overlapping rows, enough of them for several chunks and threads.
fn folder_of_a_cloud() -> Folder {
    let folder = Folder::new();
    let mut noise = Noise::new(2);
    let cloud = Array2::from_shape_fn((20_000, 4), |_| 10.0 * noise.next());
    ndarray_npy::write_npy(folder.path("cloud.npy"), &cloud).unwrap();
    folder
}

#[test]
fn text_tells_clusters_sizes_objective_and_how_the_penalty_compares_with_the_spread() {
    let out = folder_of_blobs().text("cluster blobs.csv --penalty 300 --label-column kind");
    says(&out, &["120 rows x 2 columns\n", "6 clusters at penalty 300\n", "16.7%", "converged after ", "seed 0"]);
    let rows: Vec<Vec<&str>> = out.lines().skip(3).take(7).map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[0], ["cluster", "rows", "share", "spread", "x", "y"]);
    for (k, row) in rows[1..].iter().enumerate() {
        assert_eq!(row[..3], [&k.to_string(), "20", "16.7%"], "{out}");
        let x: f64 = row[4].parse().unwrap();
        assert!((x - crate::common::SIX[k].1[0]).abs() < 0.5, "{out}");
    }
    let word = |after: &str| -> f64 {
        let rest = &out[out.find(after).unwrap_or_else(|| panic!("{after:?} is not in {out}")) + after.len()..];
        rest.split([' ', '\n', ',']).next().unwrap().parse().unwrap()
    };
    close(word("objective "), word("= loss ") + 5.0 * 300.0, 1e-4);
    says(&out, &["+ 5 x penalty 300\n"]);
    let mean_square = word("mean squared distance of a row to its centre, ");
    close(mean_square, word("= loss ") / 120.0, 1e-3);
    close(word("the penalty is "), 300.0 / mean_square, 1e-3);
}

#[test]
fn text_of_a_small_table_is_this() {
    let folder = folder_of_a_square();
    let out = folder.text("cluster square.csv --penalty 0.1 --seed 5");
    let without_time = out.rsplit_once(", ").unwrap().0;
    insta::assert_snapshot!(without_time, @r"
    4 rows x 2 columns
    4 clusters at penalty 0.1

      cluster  rows  share  spread  a  b
            0     1  25.0%       0  0  0
            1     1  25.0%       0  0  1
            2     1  25.0%       0  1  0
            3     1  25.0%       0  1  1

    objective 0.3 = loss 0 + 3 x penalty 0.1
    converged after 4 passes, best of 32 runs, seed 5
    ");
}

#[test]
fn json_has_every_promised_field_and_they_agree() {
    let json = folder_of_blobs().json("cluster blobs.csv --penalty 300 --label-column kind --seed 9");
    for field in
        ["n_rows", "n_columns", "penalty", "objective", "n_groups", "sizes", "seconds", "seed", "converged", "labels"]
    {
        assert!(!json[field].is_null(), "{field} is missing");
    }
    assert_eq!((&json["n_rows"], &json["n_columns"], &json["n_groups"]), (&120.into(), &2.into(), &6.into()));
    assert_eq!((&json["penalty"], &json["seed"]), (&300.0.into(), &9.into()));
    assert_eq!((&json["converged"], &json["stopped"]), (&true.into(), &false.into()));
    assert_eq!(json["columns"], serde_json::json!(["x", "y"]));
    assert_eq!(sizes(&json), counted_sizes(&json));
    assert!(json["seconds"].as_f64().unwrap() >= 0.0);
}

#[test]
fn the_objective_is_that_of_the_labels_and_centres() {
    let folder = folder_of_blobs();
    for options in
        ["--penalty 300", "--penalty 3", "--penalty 100000", "--clusters 4", "--algorithm serial --penalty 3"]
    {
        let json = folder.json(&format!("cluster blobs.csv --exclude kind {options}"));
        let loss = loss(&six_blobs_values(), &json, [1.0, 1.0]);
        let k = centres(&json).len() as f64;
        close(json["loss"].as_f64().unwrap(), loss, 1e-9);
        close(json["objective"].as_f64().unwrap(), loss + (k - 1.0) * json["penalty"].as_f64().unwrap(), 1e-9);
    }
}

#[test]
fn asked_for_k_clusters_it_finds_k_and_a_penalty_that_leads_there() {
    let folder = folder_of_blobs();
    for k in 1..=6 {
        let json = folder.json(&format!("cluster blobs.csv --exclude kind --clusters {k}"));
        assert_eq!(json["n_groups"], k);
        let low = json["penalty_low"].as_f64().unwrap();
        let high = json["penalty_high"].as_f64().unwrap_or(f64::INFINITY);
        assert_eq!(json["penalty_high"].is_null(), k == 1, "only one cluster has no upper end");
        let penalty = json["penalty"].as_f64().unwrap();
        assert!(low < penalty && penalty < high, "{low} {penalty} {high}");
        let again = folder.json(&format!("cluster blobs.csv --exclude kind --penalty {penalty}"));
        assert_eq!(again["n_groups"], k, "penalty {penalty}");
        assert_eq!(labels(&again), labels(&json), "penalty {penalty}");
        let text = folder.text(&format!("cluster blobs.csv --exclude kind --clusters {k}"));
        says(&text, &[if k == 1 { "optimal for penalties above " } else { "optimal for penalties from " }]);
    }
}

#[test]
fn where_the_penalties_for_k_clusters_end_those_for_its_neighbours_begin() {
    let folder = folder_of_blobs();
    let mut above = f64::INFINITY;
    for k in 1..=6 {
        let json = folder.json(&format!("cluster blobs.csv --exclude kind --clusters {k}"));
        let low = json["penalty_low"].as_f64().unwrap();
        let high = json["penalty_high"].as_f64().unwrap_or(f64::INFINITY);
        assert!(high == above || (high - above).abs() <= 1e-9 * high, "K = {k} ends at {high}, not at {above}");
        above = low;
        for inside in [low * 1.001, if k == 1 { 100.0 * low } else { high * 0.999 }] {
            let again = folder.json(&format!("cluster blobs.csv --exclude kind --penalty {inside}"));
            assert_eq!(again["n_groups"], k, "penalty {inside}");
        }
    }
}

#[test]
fn a_number_of_clusters_that_no_penalty_chooses_is_reported_as_such() {
    let folder = folder_of_a_square();
    let json = folder.json("cluster square.csv --clusters 3");
    assert_eq!(json["n_groups"], 3);
    for field in ["penalty", "penalty_low", "penalty_high"] {
        assert!(json[field].is_null(), "{field}: {}", json[field]);
    }
    close(json["objective"].as_f64().unwrap(), 0.5, 1e-12);
    says(&folder.text("cluster square.csv --clusters 3"), &["3 clusters, but no penalty makes this number optimal"]);
}

#[test]
fn max_clusters_is_a_cap_and_not_a_target() {
    let folder = folder_of_blobs();
    for (cap, found) in [(1, 1), (4, 4), (6, 6), (60, 6)] {
        let json = folder.json(&format!("cluster blobs.csv --exclude kind --penalty 300 --max-clusters {cap}"));
        assert_eq!(json["n_groups"], found, "cap {cap}");
    }
}

#[test]
fn every_algorithm_and_start_finds_clear_clusters() {
    let folder = folder_of_blobs();
    for algorithm in ["parallel", "serial", "collapsed"] {
        for start in ["++", "mean"] {
            let json = folder.json(&format!(
                "cluster blobs.csv --label-column kind --penalty 300 --algorithm {algorithm} --start {start}"
            ));
            assert_eq!(json["agreement"]["adjusted_rand_index"], 1.0, "{algorithm} from {start}");
            assert_eq!(json["algorithm"], algorithm);
        }
    }
}

#[test]
fn starting_at_the_mean_leaves_nothing_to_chance() {
    let folder = folder_of_a_cloud();
    let from = |start: &str, seed: usize| {
        let options = format!("--penalty 20000 --max-passes 2 --restarts 1 --start {start} --seed {seed}");
        labels(&folder.json(&format!("cluster cloud.npy {options}")))
    };
    assert_eq!(from("mean", 0), from("mean", 1));
    assert_ne!(from("++", 0), from("++", 1));
    assert_ne!(from("++", 0), from("mean", 0));
}

#[test]
fn restarts_are_counted_and_never_make_it_worse() {
    let folder = folder_of_a_cloud();
    let run = |restarts: usize| folder.json(&format!("cluster cloud.npy --penalty 20000 --restarts {restarts}"));
    let (one, three) = (run(1), run(3));
    assert_eq!((&one["runs"], &three["runs"]), (&1.into(), &3.into()));
    assert!(three["objective"].as_f64() <= one["objective"].as_f64());
}

#[test]
fn few_passes_are_reported_as_not_converged() {
    let folder = folder_of_a_cloud();
    let options = "cluster cloud.npy --penalty 20000 --max-passes 1 --restarts 1";
    let json = folder.json(options);
    assert_eq!((&json["converged"], &json["stopped"]), (&false.into(), &false.into()));
    says(&folder.text(options), &["not converged (raise --max-passes)"]);
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let folder = folder_of_a_cloud();
    let run = |seed: usize| folder.text(&format!("cluster cloud.npy --penalty 20000 --format json --seed {seed}"));
    let first = run(7);
    assert_eq!(timeless(&first), timeless(&run(7)));
    assert_ne!(timeless(&first), timeless(&run(8)), "the seed is used at all");
    assert_eq!(timeless(&run(0)), timeless(&folder.text("cluster cloud.npy --penalty 20000 --format json")));
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    let folder = folder_of_a_cloud();
    for options in ["--penalty 5000", "--clusters 5", "--penalty 50000 --algorithm collapsed --restarts 2"] {
        let run = |threads: usize| {
            timeless(&folder.text(&format!("cluster cloud.npy {options} --format json --threads {threads}")))
        };
        let one = run(1);
        for threads in [2, 3, 8] {
            assert!(one == run(threads), "{options}: {threads} threads differ from one");
        }
    }
}

/// Two blobs told apart by `small`, in front of a column with a far larger spread.
fn folder_of_scales() -> (Folder, Vec<[f64; 2]>) {
    let mut noise = Noise::new(3);
    let rows: Vec<[f64; 2]> =
        (0..60).map(|n| [f64::from(n % 2) + 0.1 * noise.next(), 5e4 + 1e4 * noise.next()]).collect();
    let text = rows.iter().enumerate().map(|(n, row)| format!("{},{},{}\n", row[0], row[1], n % 2));
    let folder = Folder::new();
    folder.write("scales.csv", "small,large,side\n".to_string() + &text.collect::<String>());
    (folder, rows)
}

#[test]
fn standardize_weighs_the_columns_alike_and_reports_centres_in_the_units_of_the_file() {
    let (folder, rows) = folder_of_scales();
    let agreement = |json: &Value| json["agreement"]["adjusted_rand_index"].as_f64().unwrap();
    let plain = folder.json("cluster scales.csv --clusters 2 --label-column side");
    assert!(agreement(&plain) < 0.2, "the large column outweighs the small one");
    for option in ["--standardize", "--standardise"] {
        let json = folder.json(&format!("cluster scales.csv --clusters 2 --label-column side {option}"));
        assert_eq!(agreement(&json), 1.0);
        assert_eq!(json["standardized"], true);
        let centres = centres(&json);
        assert!((centres[0][0] - 0.05).abs() < 0.05 && (centres[1][0] - 1.05).abs() < 0.05, "{centres:?}");
        assert!(centres.iter().all(|centre| (centre[1] - 5.5e4).abs() < 3e3), "{centres:?}");
        let n = rows.len() as f64;
        let scales = [0, 1].map(|j| {
            let mean = rows.iter().map(|row| row[j]).sum::<f64>() / n;
            (rows.iter().map(|row| (row[j] - mean).powi(2)).sum::<f64>() / n).sqrt()
        });
        let objective = loss(&rows, &json, scales) + json["penalty"].as_f64().unwrap();
        close(json["objective"].as_f64().unwrap(), objective, 1e-9);
    }
    says(&folder.text("cluster scales.csv --clusters 2 --label-column side --standardize"), &["(standardised units)"]);
}

#[test]
fn a_label_column_is_scored_and_left_out_of_the_data() {
    let folder = folder_of_blobs();
    let json = folder.json("cluster blobs.csv --penalty 300 --label-column kind");
    let agreement = &json["agreement"];
    assert_eq!((&agreement["column"], &agreement["n_labels"]), (&"kind".into(), &6.into()));
    for measure in ["adjusted_rand_index", "normalized_mutual_information", "pairwise_f1", "purity"] {
        close(agreement[measure].as_f64().unwrap(), 1.0, 1e-12);
    }
    close(1.0 + agreement["variation_of_information"].as_f64().unwrap(), 1.0, 1e-12);
    assert_eq!(json["columns"], serde_json::json!(["x", "y"]));
    // A wrong answer is scored as wrong.
    let two = folder.json("cluster blobs.csv --clusters 2 --label-column kind");
    assert!(two["agreement"]["adjusted_rand_index"].as_f64().unwrap() < 0.5);
    says(
        &folder.text("cluster blobs.csv --penalty 300 --label-column kind"),
        &["agreement with kind (6 labels): ARI 1,"],
    );
    assert!(folder.json("cluster blobs.csv --penalty 300 --exclude kind")["agreement"].is_null());
}

#[test]
fn columns_and_exclude_choose_the_data() {
    let folder = folder_of_blobs();
    let chosen = |options: &str| folder.json(&format!("cluster blobs.csv --penalty 300 {options}"));
    let only_x = chosen("--columns x");
    assert_eq!(only_x["columns"], serde_json::json!(["x"]));
    assert_eq!(only_x["n_groups"], 6);
    let only_y = chosen("--exclude x,kind");
    assert_eq!(only_y["columns"], serde_json::json!(["y"]));
    assert_eq!(only_y["n_groups"], 2, "y tells only every other blob apart");
    let swapped = chosen("--columns y,x");
    assert_eq!(swapped["columns"], serde_json::json!(["y", "x"]));
    assert_eq!(labels(&swapped), labels(&chosen("--exclude kind")));
}

#[test]
fn rows_with_missing_cells_can_be_dropped_and_the_others_keep_their_numbers() {
    let folder = Folder::new();
    let mut lines: Vec<String> = six_blobs_csv().lines().map(String::from).collect();
    lines[3] = "NA,0.5,ant".into();
    lines[120] = "7,,fox".into();
    folder.write("holes.csv", lines.join("\n"));
    let ran = folder.run("cluster holes.csv --drop-missing --penalty 300 --label-column kind --out labels.csv").well();
    says(&ran.out, &["118 rows x 2 columns (2 rows with missing cells left out)", "ARI 1,"]);
    let written = folder.read("labels.csv");
    let rows: Vec<usize> =
        written.lines().skip(1).map(|line| line.split_once(',').unwrap().0.parse().unwrap()).collect();
    let expected: Vec<usize> = (1..=120).filter(|row| ![3, 120].contains(row)).collect();
    assert_eq!(rows, expected);
    let json = folder.json("cluster holes.csv --drop-missing --penalty 300 --label-column kind");
    assert_eq!((&json["n_rows"], &json["dropped_rows"]), (&118.into(), &2.into()));
    assert_eq!(labels(&json).len(), 118);
}

#[test]
fn out_writes_the_cluster_of_every_row() {
    let folder = folder_of_blobs();
    let options = "cluster blobs.csv --penalty 300 --exclude kind";
    let out = folder.text(&format!("{options} --out labels.csv"));
    says(&out, &["6 clusters"]);
    let expected: String =
        (0..120).map(|row| format!("{},{}\n", row + 1, row / 20)).fold("row,cluster\n".into(), |all, line| all + &line);
    assert_eq!(folder.read("labels.csv"), expected);
    // A second time over its own old result.
    folder.text(&format!("{options} --out labels.csv"));
    assert_eq!(folder.read("labels.csv"), expected);
    assert_eq!(folder.text(&format!("{options} --out -")), expected, "- is standard output, alone");
    assert_eq!(folder.text(&format!("{options} --out - --format json")), expected);
}

#[test]
fn plots_are_pictures() {
    let folder = folder_of_blobs();
    folder.text("cluster blobs.csv --penalty 300 --exclude kind --plots new/pictures");
    for name in ["clusters.svg", "sizes.svg", "objective.svg"] {
        let svg = folder.read(&format!("new/pictures/{name}"));
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"), "{name}: {svg}");
    }
    let points = folder.read("new/pictures/clusters.svg");
    says(&points, &["cluster 0 (20)", "cluster 5 (20)"]);
}

#[test]
fn hints_name_the_options_that_would_help_unless_quiet() {
    let folder = Folder::new();
    let rows = six_blobs().into_iter().enumerate().map(|(n, ([x, y], _))| format!("{},{x},{}\n", n + 1, y * 1e-3));
    folder.write("ids.csv", "id,x,y\n".to_string() + &rows.collect::<String>());
    let options = "cluster ids.csv --penalty 300";
    let ran = folder.run(options).well();
    says(&ran.err, &["hint: ", "\"id\"", "--exclude id", "--standardize"]);
    assert!(!ran.out.contains("hint"), "hints are no results");
    for quiet in ["--quiet", "-q"] {
        assert_eq!(folder.run(&format!("{options} {quiet}")).well().err, "");
    }
    let followed = folder.run(&format!("{options} --exclude id")).well();
    assert!(!followed.err.contains("--exclude"), "{}", followed.err);
    let followed = folder.run(&format!("{options} --exclude id --standardize")).well();
    assert_eq!(followed.err, "", "no advice that was already taken");
}

#[test]
fn nothing_but_results_and_hints_is_written_where_no_terminal_is() {
    let ran = folder_of_blobs().run("cluster blobs.csv --penalty 300 --label-column kind").well();
    assert_eq!(ran.err, "");
}

#[test]
fn a_dash_reads_standard_input() {
    let folder = folder_of_blobs();
    let options = "--penalty 300 --label-column kind --format json";
    let piped = folder.madbayes(&format!("cluster - {options}")).write_stdin(six_blobs_csv()).output().unwrap();
    let from_file = folder.text(&format!("cluster blobs.csv {options}"));
    assert_eq!(timeless(&String::from_utf8(piped.stdout).unwrap()), timeless(&from_file));
}

#[test]
fn a_single_row_a_constant_column_and_equal_rows_are_data_like_any_other() {
    let folder = Folder::new();
    folder.write("one.csv", "a,b\n3,4\n");
    for options in ["--penalty 1", "--clusters 1", "--penalty 1 --standardize", "--penalty 1 --algorithm collapsed"] {
        let json = folder.json(&format!("cluster one.csv {options}"));
        assert_eq!((sizes(&json), centres(&json)), (vec![1], vec![vec![3.0, 4.0]]), "{options}");
        assert_eq!(json["objective"], 0.0, "{options}");
    }
    folder.write("constant.csv", "a,b\n0,7\n0.5,7\n9,7\n9.5,7\n");
    for options in ["--clusters 2", "--clusters 2 --standardize", "--penalty 1"] {
        let json = folder.json(&format!("cluster constant.csv {options}"));
        assert_eq!(labels(&json), [0, 0, 1, 1], "{options}");
        assert_eq!(centres(&json).iter().map(|centre| centre[1]).collect::<Vec<_>>(), [7.0, 7.0], "{options}");
    }
    folder.write("equal.csv", "a,b\n1,2\n1,2\n1,2\n5,6\n5,6\n");
    for options in ["--penalty 1", "--penalty 1e-9", "--penalty 1 --algorithm serial"] {
        let json = folder.json(&format!("cluster equal.csv {options}"));
        assert_eq!(labels(&json), [0, 0, 0, 1, 1], "{options}");
        assert_eq!(json["loss"], 0.0, "{options}");
    }
    folder.write("same.csv", "a,b\n1,2\n1,2\n1,2\n");
    let json = folder.json("cluster same.csv --penalty 1e-9 --standardize");
    assert_eq!((sizes(&json), centres(&json)), (vec![3], vec![vec![1.0, 2.0]]));
}

#[test]
fn as_many_clusters_as_distinct_rows_cost_nothing() {
    let folder = Folder::new();
    folder.write("equal.csv", "a,b\n1,2\n1,2\n1,2\n5,6\n5,6\n");
    for algorithm in ["parallel", "serial", "collapsed"] {
        let json = folder.json(&format!("cluster equal.csv --clusters 2 --algorithm {algorithm}"));
        assert_eq!(labels(&json), [0, 0, 0, 1, 1], "{algorithm}");
        assert!(json["loss"].as_f64().unwrap() < 1e-28, "{algorithm}");
    }
}

#[test]
fn far_from_the_origin_nothing_is_lost() {
    let folder = Folder::new();
    let rows = six_blobs_values();
    let shifted = |shift: f64| -> String {
        let lines = rows.iter().map(|[x, y]| format!("{},{}\n", x + shift, y + shift));
        "x,y\n".to_string() + &lines.collect::<String>()
    };
    folder.write("near.csv", shifted(0.0));
    folder.write("far.csv", shifted(1e8));
    let (near, far) = (folder.json("cluster near.csv --penalty 300"), folder.json("cluster far.csv --penalty 300"));
    assert_eq!(labels(&near), labels(&far));
    close(near["loss"].as_f64().unwrap(), far["loss"].as_f64().unwrap(), 1e-6);
}
