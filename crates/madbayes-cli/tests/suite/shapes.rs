//! `madbayes cluster --covariance full` and `--divergence kullback-leibler`: long clusters, and counts.

use crate::common::{Folder, Noise, close, counted_sizes, labels, says, sizes};
use ndarray::Array1;
use ndarray_npy::NpzWriter;
use serde_json::Value;

/// Three strips of 40 rows, far longer than wide, and what one looks like.
fn folder_of_strips() -> Folder {
    let folder = Folder::new();
    let mut noise = Noise::new(1);
    let mut csv = String::from("x,y,strip\n");
    for n in 0..120 {
        // Sums of three have about the shape of a bell.
        let mut bell = || (0..3).map(|_| 2.0 * noise.next() - 1.0).sum::<f64>();
        csv += &format!("{},{},s{}\n", 4.0 * bell(), 1.5 * f64::from(n % 3) + 0.2 * bell(), n % 3);
    }
    folder.write("strips.csv", csv);
    folder.write("strip.csv", "16,0\n0,0.04\n");
    folder
}

fn agreement(json: &Value) -> f64 {
    json["agreement"]["adjusted_rand_index"].as_f64().unwrap()
}

fn numbers(json: &Value) -> Vec<f64> {
    match json {
        Value::Array(items) => items.iter().flat_map(numbers).collect(),
        other => vec![other.as_f64().unwrap()],
    }
}

#[test]
fn strips_are_found_where_their_shape_is_given_and_not_by_round_clusters() {
    let folder = folder_of_strips();
    let round = folder.json("cluster strips.csv --clusters 3 --label-column strip");
    assert!(agreement(&round) < 0.7);
    for penalties in
        ["", "--covariance-penalty 40", "--covariance-penalty 40 --penalty 30", "--clusters 3", "--max-clusters 5"]
    {
        let full = folder.json(&format!(
            "cluster strips.csv --label-column strip --covariance full --covariance-prior strip.csv {penalties}"
        ));
        assert_eq!((full["n_groups"].as_u64(), agreement(&full)), (Some(3), 1.0), "{penalties}");
        assert_eq!(numbers(&full["covariance_prior"]), [16.0, 0.0, 0.0, 0.04]);
        assert_eq!(numbers(&full["covariances"]).len(), 3 * 2 * 2);
        assert_eq!(counted_sizes(&full), sizes(&full));
        assert_eq!(full["guessed"]["covariance_prior"], false);
        assert_eq!(full["guessed"]["penalty"], penalties != "--clusters 3" && !penalties.contains("--penalty 30"));
    }
}

#[test]
fn a_number_is_a_variance_after_standardising_and_covariances_are_told_in_the_users_units() {
    let folder = folder_of_strips();
    let found = folder
        .json("cluster strips.csv --exclude strip --covariance full --covariance-prior 0.5 --standardize --clusters 2");
    assert_eq!(numbers(&found["covariance_prior"]), [0.5, 0.0, 0.0, 0.5]);
    let plain = folder.json("cluster strips.csv --exclude strip --clusters 1 --covariance full --covariance-prior 1");
    let scaled = folder.json(
        "cluster strips.csv --exclude strip --clusters 1 --covariance full --covariance-prior 1e-9 --covariance-penalty 120 \
         --standardize",
    );
    // With hardly any prior, the covariance of one cluster of 120 rows at c = 120 is that of the data, in any units.
    assert_eq!(plain["n_groups"], 1);
    let values = numbers(&scaled["covariances"]);
    assert!(values[0] > 10.0 && values[3] < 5.0, "{values:?}");
}

#[test]
fn given_covariances_are_held_fixed_one_for_all_or_one_for_each() {
    let folder = folder_of_strips();
    folder.write("three.csv", "16,0\n0,0.04\n".repeat(3));
    let strips = "cluster strips.csv --label-column strip --covariance full";
    for options in ["--covariances strip.csv", "--covariances strip.csv --penalty 60", "--covariances three.csv"] {
        let found = folder.json(&format!("{strips} {options}"));
        assert_eq!((found["n_groups"].as_u64(), agreement(&found)), (Some(3), 1.0), "{options}");
        for (value, expected) in numbers(&found["covariances"]).iter().zip([16.0, 0.0, 0.0, 0.04].iter().cycle()) {
            close(*value, *expected, 1e-12);
        }
        assert!(found["covariance_prior"].is_null());
        assert_eq!(found["guessed"]["covariance_prior"], false);
        assert_eq!(found["guessed"]["penalty"], options == "--covariances strip.csv");
    }
    let out = folder.text(&format!("{strips} --covariances three.csv"));
    says(&out, &["3 clusters of given covariances\n"]);
    assert!(!out.contains("guess"), "{out}");
}

#[test]
fn without_a_prior_the_clusters_must_have_spread_in_every_direction() {
    let folder = folder_of_strips();
    let found = folder.json(
        "cluster strips.csv --exclude strip --covariance full --covariance-prior 0 --clusters 1 --covariance-penalty 120",
    );
    // The covariance of all rows, of which y has a variance of 1.5 for the strips and 0.04 for each.
    let values = numbers(&found["covariances"]);
    assert!((10.0..25.0).contains(&values[0]) && (1.4..1.7).contains(&values[3]), "{values:?}");
    assert!(found["covariance_prior"].is_null());
    folder.write("flat.csv", "x,y\n1,0\n2,0\n3,0\n9,0\n8,0\n7,0\n");
    let error = folder.mistake("cluster flat.csv --covariance full --covariance-prior 0 --clusters 2");
    says(&error, &["no spread"]);
}

#[test]
fn the_frozen_and_the_collapsed_form_find_the_strips_and_the_collapsed_is_never_worse() {
    let folder = folder_of_strips();
    let fit = |algorithm: &str| {
        folder.json(&format!(
            "cluster strips.csv --label-column strip --covariance full --covariance-prior strip.csv --clusters 3 \
             --covariance-penalty 40 {algorithm}"
        ))
    };
    let (frozen, collapsed, neither) = (fit("--algorithm parallel"), fit("--algorithm collapsed"), fit(""));
    assert_eq!((agreement(&frozen), &frozen["algorithm"]), (1.0, &"parallel".into()));
    assert_eq!(neither["objective"], collapsed["objective"]);
    assert!(collapsed["objective"].as_f64().unwrap() <= frozen["objective"].as_f64().unwrap() + 1e-9);
}

#[test]
fn text_tells_what_was_guessed_and_what_to_give() {
    let folder = folder_of_strips();
    let out = folder.text("cluster strips.csv --exclude strip --covariance full");
    says(
        &out,
        &[
            "120 rows x 2 columns\n",
            "with covariances of their own\n",
            "both penalties are guesses from",
            "spherical fit",
        ],
    );
    says(
        &out,
        &[
            "covariance expected within a cluster, guessed from a spherical fit:",
            "--covariance-prior",
            "converged after",
        ],
    );
    let out =
        folder.text("cluster strips.csv --exclude strip --covariance full --covariance-prior strip.csv --clusters 3");
    says(&out, &["3 clusters with covariances of their own\n", "as given:", "0.04"]);
    assert!(!out.contains("such a guess"), "{out}");
}

#[test]
fn a_model_of_long_clusters_assigns_rows_along_them() {
    let folder = folder_of_strips();
    let fit = folder.json(
        "cluster strips.csv --exclude strip --covariance full --covariance-prior strip.csv --standardize --clusters 3 \
         --covariance-penalty 40 --model m.json --plots pictures",
    );
    let again = folder.json("assign --model m.json strips.csv");
    assert_eq!(labels(&again), labels(&fit));
    assert!(folder.path("pictures").read_dir().unwrap().count() > 0);
    folder.write("far.csv", "x,y\n9,0\n-9,1.5\n");
    let far = folder.json("assign --model m.json far.csv");
    assert_eq!(labels(&far), [labels(&fit)[0], labels(&fit)[1]]);
}

/// Counts as SciPy wrote them: 24 texts of 40 words, three topics of eight texts each.
fn folder_of_texts() -> Folder {
    let folder = Folder::new();
    folder.write("counts.npz", include_bytes!("../data/counts.npz"));
    folder.write("columns.npz", include_bytes!("../data/columns.npz"));
    folder
}

#[test]
fn sparse_counts_are_clustered_as_scipy_wrote_them() {
    let folder = folder_of_texts();
    let topics: Vec<usize> = (0..24).map(|n| n / 8).collect();
    for options in ["", "--clusters 3", "--penalty 120", "--clusters 3 --algorithm collapsed --threads 2"] {
        let found = folder.json(&format!("cluster counts.npz --divergence kullback-leibler {options}"));
        assert_eq!(labels(&found), topics, "{options}");
        let (loss, penalty) = (found["loss"].as_f64().unwrap(), found["penalty"].as_f64().unwrap());
        close(found["objective"].as_f64().unwrap(), loss + 2.0 * penalty, 1e-9);
        close(numbers(&found["centres"]).iter().sum(), 3.0, 1e-9);
        assert_eq!((found["n_columns"].as_u64(), found["n_rows"].as_u64()), (Some(30), Some(24)));
    }
    let out = folder.text("cluster counts.npz --divergence kullback-leibler --model m.json");
    says(
        &out,
        &["24 rows x 30 columns\n", "3 clusters at penalty ", "chosen by the data", "largest shares", "= divergence "],
    );
    let again = folder.json("assign --model m.json counts.npz");
    assert_eq!(labels(&again), topics);
}

#[test]
fn dense_counts_and_labels_of_any_file_will_do() {
    let folder = Folder::new();
    folder.write(
        "texts.csv",
        "goal,vote,the,about\n9,0,7,sport\n6,1,8,sport\n8,0,9,sport\n0,9,6,news\n1,7,8,news\n0,6,9,news\n",
    );
    let found = folder.json("cluster texts.csv --divergence kullback-leibler --penalty 12 --label-column about");
    assert_eq!((labels(&found), agreement(&found)), (vec![0, 0, 0, 1, 1, 1], 1.0));
    let mut file = NpzWriter::new(std::fs::File::create(folder.path("own.npz")).unwrap());
    // The columns of a row in any order, and a cell in two parts, as SciPy allows.
    file.add_array("indptr", &Array1::from(vec![0i32, 3, 5, 7])).unwrap();
    file.add_array("indices", &Array1::from(vec![1i32, 0, 1, 0, 1, 2, 0])).unwrap();
    file.add_array("data", &Array1::from(vec![2.0f32, 3.0, 4.0, 5.0, 5.0, 9.0, 1.0])).unwrap();
    file.add_array("shape", &Array1::from(vec![3i64, 3])).unwrap();
    file.add_array("y", &Array1::from(vec![1i64, 1, 2])).unwrap();
    file.finish().unwrap();
    let found = folder.json("cluster own.npz --divergence kullback-leibler --penalty 3 --label-column y");
    assert_eq!((labels(&found), agreement(&found)), (vec![0, 0, 1], 1.0));
    close(numbers(&found["centres"])[1], 11.0 / 19.0, 1e-12);
}

#[test]
fn bad_combinations_are_refused_with_what_to_do() {
    let folder = folder_of_strips();
    folder.write("counts.npz", include_bytes!("../data/counts.npz"));
    folder.write("columns.npz", include_bytes!("../data/columns.npz"));
    folder.write("wide.csv", "1,0,0\n0,1,0\n0,0,1\n");
    folder.write("flat.csv", "1,2\n2,1\n");
    folder.write("three.csv", "16,0\n0,0.04\n".repeat(3));
    let strips = "cluster strips.csv --exclude strip";
    for (arguments, words) in [
        (format!("{strips} --covariance-prior 1"), &["--covariance full"][..]),
        (format!("{strips} --covariance-penalty 5"), &["--covariance full"]),
        (format!("{strips} --covariance full --divergence kullback-leibler"), &["leave one of them out"]),
        (format!("{strips} --covariance full --penalty validation"), &["--penalty", "number or auto"]),
        (format!("{strips} --covariance full --algorithm serial"), &["--algorithm serial"]),
        (format!("{strips} --covariance full --covariance-penalty -1"), &["--covariance-penalty must be"]),
        (format!("{strips} --covariance full --covariance-prior -1"), &["positive variance", "0 for none"]),
        (format!("{strips} --covariance full --covariance-prior 0"), &["--clusters", "covariance_prior"]),
        (format!("{strips} --covariances strip.csv"), &["--covariance full"]),
        (format!("{strips} --covariance full --covariances strip.csv --covariance-prior 1"), &["cannot be used with"]),
        (format!("{strips} --covariance full --covariances wide.csv"), &["3 x 3", "2 x 2 covariance of all clusters"]),
        (format!("{strips} --covariance full --covariances none.csv"), &["--covariances takes a file", "none.csv"]),
        (format!("{strips} --covariance full --covariances flat.csv"), &["--covariances must be"]),
        (format!("{strips} --covariance full --covariances three.csv --clusters 2"), &["3 covariances", "--clusters"]),
        (format!("{strips} --covariance full --covariance-prior none.csv"), &["a variance, or a file", "none.csv"]),
        (format!("{strips} --covariance full --covariance-prior wide.csv"), &["3 x 3", "2 x 2"]),
        (format!("{strips} --covariance full --covariance-prior flat.csv"), &["--covariance-prior must be"]),
        (format!("{strips} --divergence kullback-leibler --standardize"), &["--standardize", "leave it out"]),
        (format!("{strips} --divergence kullback-leibler"), &["strips.csv does not hold counts", "between 0 and"]),
        ("cluster counts.npz --divergence kullback-leibler --start mean".into(), &["--start mean"]),
        ("cluster counts.npz --divergence kullback-leibler --penalty farthest-first:3".into(), &["number or auto"]),
        ("cluster counts.npz --divergence kullback-leibler --exclude 3".into(), &["--exclude", "before you save it"]),
        ("cluster columns.npz --divergence kullback-leibler".into(), &["\"csc\"", "tocsr()"]),
        ("cluster counts.npz".into(), &["sparse matrix", "all their zeros", "--divergence kullback-leibler"]),
        ("features counts.npz".into(), &["sparse matrix", "toarray()"]),
    ] {
        says(&folder.mistake(&arguments), words);
    }
}
