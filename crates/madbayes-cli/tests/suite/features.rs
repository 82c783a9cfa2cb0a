//! `madbayes features` and `buffet`: rows that are sums of features, from tables and from pictures.

use crate::common::{Folder, Noise, close, says};
use serde_json::Value;

/// What the three planted features add to x, y and z.
const PLANTED: [[f64; 3]; 3] = [[8.0, 0.0, 1.0], [0.0, 6.0, 0.0], [-2.0, 1.0, 9.0]];

/// Every combination of the planted features ten times, with a little noise.
fn folder_of_sums() -> Folder {
    let mut noise = Noise::new(3);
    let mut csv = String::from("x,y,z,what\n");
    for row in 0..80 {
        let combination = row % 8;
        let sum = |j: usize| (0..3).filter(|k| combination >> k & 1 == 1).map(|k| PLANTED[k][j]).sum::<f64>();
        let cells: Vec<String> = (0..3).map(|j| (sum(j) + 0.2 * (noise.next() - 0.5)).to_string()).collect();
        csv += &format!("{},c{combination}\n", cells.join(","));
    }
    let folder = Folder::new();
    folder.write("sums.csv", csv);
    folder
}

/// Whether rows have the same features exactly when they were made from the same combination.
fn planted(fit: &Value) -> bool {
    let rows = fit["allocation"].as_array().unwrap();
    (0..80).all(|a| (0..80).all(|b| (rows[a] == rows[b]) == (a % 8 == b % 8)))
}

/// |X - offset - Z A|^2 from what the program printed.
fn loss(folder: &Folder, fit: &Value) -> f64 {
    let number = |value: &Value| value.as_f64().unwrap();
    let csv = folder.read("sums.csv");
    let rows = csv.lines().skip(1).zip(fit["allocation"].as_array().unwrap());
    rows.map(|(line, bits)| {
        let cells = line.split(',').take(3).map(|cell| cell.parse::<f64>().unwrap());
        let square = |(j, x): (usize, f64)| {
            let on = bits.as_array().unwrap().iter().enumerate().filter(|(_, bit)| **bit == 1);
            let sum: f64 = on.map(|(k, _)| number(&fit["components"][k][j])).sum();
            (x - number(&fit["offset"][j]) - sum).powi(2)
        };
        cells.enumerate().map(square).sum::<f64>()
    })
    .sum()
}

#[test]
fn planted_features_are_found_by_every_algorithm() {
    let folder = folder_of_sums();
    for options in [
        "",
        "--penalty auto",
        "--penalty 20",
        "--components 3",
        "--penalty 20 --algorithm collapsed",
        "--penalty 20 --algorithm stepwise",
        "--components 3 --start ++ --restarts 20",
        "--components 3 --row-solver exact",
    ] {
        let fit = folder.json(&format!("features sums.csv --exclude what {options}"));
        assert_eq!(fit["n_groups"], 3, "{options}");
        assert!(planted(&fit), "{options}");
        close(fit["loss"].as_f64().unwrap(), loss(&folder, &fit), 1e-9);
        let penalty = fit["penalty"].as_f64().unwrap_or(0.0);
        close(fit["objective"].as_f64().unwrap(), fit["loss"].as_f64().unwrap() + 3.0 * penalty, 1e-9);
        for field in ["n_rows", "n_columns", "sizes", "seconds", "seed", "converged", "losses"] {
            assert!(!fit[field].is_null(), "{field}");
        }
    }
}

#[test]
fn prepared_rows_give_features_in_the_original_columns() {
    let folder = folder_of_sums();
    for options in ["--center", "--pca 3", "--pca 99.99%", "--center --pca 1.0"] {
        let fit = folder.json(&format!("features sums.csv --exclude what --components 4 {options}"));
        assert_eq!(fit["components"][0].as_array().unwrap().len(), 3, "{options}");
        assert!(planted(&fit), "{options}: {}", fit["loss"]);
        close(fit["loss"].as_f64().unwrap(), loss(&folder, &fit), 1e-6);
    }
    // Standardised: the loss is in those units, the features are not.
    let fit = folder.json("features sums.csv --exclude what --components 4 --standardize");
    assert!(planted(&fit) && loss(&folder, &fit) < 5.0);
}

#[test]
fn the_report_says_what_was_found_and_which_rows_have_what() {
    let folder = folder_of_sums();
    let out = folder.text("features sums.csv --label-column what --out bits.csv --plots pictures --penalty 20");
    says(
        &out,
        &["80 rows, 3 columns: 3 features", "penalty 20", "adds most to", "8 combinations", "ARI 1", "converged"],
    );
    let bits = folder.read("bits.csv");
    assert_eq!(bits.lines().next(), Some("row,feature_0,feature_1,feature_2"));
    assert_eq!(bits.lines().count(), 81);
    for name in ["allocation.svg", "objective.svg"] {
        assert!(folder.read(&format!("pictures/{name}")).starts_with("<svg"));
    }
}

#[test]
fn a_saved_model_finds_the_features_of_new_rows() {
    let folder = folder_of_sums();
    for options in ["--penalty 20", "--components 4 --center", "--components 4 --standardize", "--components 4 --pca 3"]
    {
        let fit = folder.json(&format!("features sums.csv --exclude what --model model.json {options}"));
        let assigned = folder.json("assign --model model.json sums.csv");
        assert_eq!(assigned["allocation"], fit["allocation"], "{options}");
        close(assigned["loss"].as_f64().unwrap(), fit["loss"].as_f64().unwrap(), 1e-6);
    }
    says(&folder.text("assign --model model.json sums.csv --out bits.csv"), &["when fitted", "mean squared residual"]);
    assert_eq!(folder.read("bits.csv").lines().count(), 81);
    folder.write("narrow.csv", "x,y\n1,2\n");
    folder.mistake("assign --model model.json narrow.csv");
}

#[test]
fn pictures_are_rows_and_features_are_pictures() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("pictures")).unwrap();
    // A bright square at the left, one at the right, both or none, on grey.
    for picture in 0..12u32 {
        let lit = |x: u32, y: u32| {
            let left = picture & 1 == 1 && (2..6).contains(&x) && (2..6).contains(&y);
            let right = picture & 2 == 2 && (10..14).contains(&x) && (4..8).contains(&y);
            image::Luma([if left || right { 250u8 } else { 60 }])
        };
        let name = folder.path(&format!("pictures/p{picture}.png"));
        image::GrayImage::from_fn(16, 10, lit).save(name).unwrap();
    }
    let fit = folder.json("features pictures --model model.json --plots found --out bits.csv --components 3");
    assert_eq!(fit["picture"], serde_json::json!([10, 16, 1]));
    assert!(fit["loss"].as_f64().unwrap() < 1e-6);
    says(&folder.read("bits.csv"), &["picture,feature_0", "p0.png,", "p11.png,"]);
    for name in ["feature-0.png", "feature-2.png", "features.png", "pictures.png"] {
        assert!(image::open(folder.path(&format!("found/{name}"))).is_ok(), "{name}");
    }
    let assigned = folder.json("assign --model model.json pictures");
    assert_eq!(assigned["allocation"], fit["allocation"]);
    says(&folder.text("features pictures --scale 1/2"), &["12 pictures of 8 x 5 pixels", "--plots FOLDER"]);
    says(&folder.mistake("features pictures --exclude x"), &["are for tables"]);
}

#[test]
fn the_sampler_tells_how_far_to_trust_it() {
    let folder = folder_of_sums();
    let fit = folder.json("buffet sums.csv --exclude what --sweeps 200 --model model.json --plots traces");
    assert!(planted(&fit), "{}", fit["n_groups"]);
    assert_eq!(fit["n_features_trace"].as_array().unwrap().len(), 2);
    assert_eq!(fit["n_features_trace"][0].as_array().unwrap().len(), 200);
    for name in ["features-trace.svg", "number-of-features.svg", "log-joint.svg"] {
        assert!(folder.read(&format!("traces/{name}")).starts_with("<svg"));
    }
    says(&folder.text("assign --model model.json sums.csv"), &["80 rows, 3 columns"]);
    let out = folder.text("buffet sums.csv --exclude what --sweeps 60 --uncollapsed --mass 1 --start one");
    says(&out, &["the most probable state has", "share of sweeps", "R-hat", "2 chains of 60 sweeps"]);
}

#[test]
fn mistakes_are_named() {
    let folder = folder_of_sums();
    for (arguments, words) in [
        ("features sums.csv --exclude what --penalty -1", &["positive finite number", "--components"][..]),
        (
            "features sums.csv --exclude what --components 81",
            &["--components must be between 1 and the number of rows"],
        ),
        ("features sums.csv --exclude what --penalty 3 --components 2", &["cannot be used with"]),
        ("features sums.csv --exclude what --pca 0", &["number of components of at least 1"]),
        ("features sums.csv --exclude what --scale 80", &["not a folder of pictures"]),
        ("features nowhere.csv", &["nowhere.csv"]),
        ("buffet sums.csv --exclude what --mass -1", &["--mass must be"]),
        ("buffet sums.csv --exclude what --noise 0", &["--noise must be"]),
        ("buffet sums.csv --exclude what --burn-in 1000", &["--burn-in must be less than"]),
    ] {
        says(&folder.mistake(arguments), words);
    }
}

#[test]
fn the_demonstration_repeats_the_experiment_of_the_paper() {
    let folder = Folder::new();
    let out = folder.text("demo --only features");
    says(&out, &["100 pictures of a table", "one spectral start", "Gibbs sampling", "8,500 s", "Right are 5 features"]);
    let ours = out.lines().find(|line| line.contains("one spectral start")).unwrap();
    says(ours, &["4 of 4"]);
    assert!(image::open(folder.path("madbayes-demo-features.png")).is_ok());
    assert!(image::open(folder.path("madbayes-demo-pictures.png")).is_ok());
}
