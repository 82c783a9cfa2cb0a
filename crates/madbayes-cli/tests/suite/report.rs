//! Pages of `--report`: the numbers in them are those of the answer, for every command.

use crate::common::{folder_of_blobs, says};
use serde_json::Value;

/// The data of a page.
fn data_of(html: &str) -> Value {
    let from = html.find("id=\"data\">").unwrap() + "id=\"data\">".len();
    let length = html[from..].find("</script>").unwrap();
    serde_json::from_str(&html[from..from + length]).unwrap()
}

#[test]
fn the_slider_has_the_numbers_of_the_path() {
    let folder = folder_of_blobs();
    let found = folder.json("cluster blobs.csv --label-column kind --report r.html");
    let path = folder.json("path blobs.csv --label-column kind --report p.html");
    for page in ["r.html", "p.html"] {
        let html = folder.read(page);
        let clusters = &data_of(&html)["clusters"];
        let views = clusters["views"].as_array().unwrap();
        for (view, point) in views.iter().zip(path["path"].as_array().unwrap()) {
            assert_eq!(
                (&view["k"], &view["low"], &view["high"]),
                (&point["k"], &point["penalty_low"], &point["penalty_high"])
            );
        }
        let fitted = &views[clusters["fitted"].as_u64().unwrap() as usize];
        assert_eq!((&fitted["sizes"], &fitted["place"]), (&found["sizes"], &Value::from(0)), "{page}");
        let next: Vec<&Value> = views.iter().filter(|view| view["place"] == 1).map(|view| &view["k"]).collect();
        assert_eq!(next, [&found["choice"]["runners_up"][0]["k"]]);
        says(&html, &["What was run", "--report", "blobs.csv: ", "Seed", "Converged"]);
    }
}

#[test]
fn a_number_or_penalty_of_ones_own_has_a_slider_too() {
    let folder = folder_of_blobs();
    for options in ["--clusters 4", "--penalty 3000"] {
        folder.text(&format!("cluster blobs.csv --exclude kind {options} --report r.html"));
        let clusters = &data_of(&folder.read("r.html"))["clusters"];
        assert!(clusters["views"].as_array().unwrap().len() > 4, "{options}");
    }
    folder.text("cluster blobs.csv --exclude kind --covariance full --clusters 3 --report r.html");
    let data = data_of(&folder.read("r.html"));
    assert_eq!(data["clusters"]["views"].as_array().unwrap().len(), 1);
    says(data["noSlider"].as_str().unwrap(), &["--covariance full"]);
}

#[test]
fn rows_fit_worst_by_the_measure_of_the_model() {
    // Two thin stripes: row 21 lies across its own, nearer to the mean than the ends are.
    let stripe = |at: f64| (0..21).map(move |i| format!("{},{}\n", i - 10, at + 0.01 * f64::from(i % 3)));
    let rows: String = stripe(0.0).chain(std::iter::once("0,1\n".to_string())).chain(stripe(50.0)).collect();
    let (folder, options) = (folder_of_blobs(), "--clusters 2 --covariance-prior 0.5 --covariance-penalty 5");
    folder.write("stripes.csv", format!("x,y\n{rows}"));
    folder.text(&format!("cluster stripes.csv --covariance full {options} --report r.html --quiet"));
    let clusters = &data_of(&folder.read("r.html"))["clusters"];
    assert_eq!(clusters["measure"], "squared Mahalanobis distance");
    assert_eq!(clusters["views"][0]["misfits"][0]["row"], "22");
}

#[test]
fn pictures_have_the_colours_of_the_page() {
    let folder = folder_of_blobs();
    folder.text("cluster blobs.csv --exclude kind --report r.html --plots d --quiet");
    let clusters = &data_of(&folder.read("r.html"))["clusters"];
    let view = &clusters["views"][clusters["fitted"].as_u64().unwrap() as usize];
    let colours = view["colours"]["text"].as_str().unwrap();
    assert_ne!(colours, "AAEC", "the clusters of the fit do not have the colours of their numbers here");
    let first = folder.read("d/principal-components.svg");
    let second = folder.read("d/clusters.svg");
    let fills =
        |svg: &str| svg.lines().filter(|line| line.starts_with("<g fill")).map(str::to_string).collect::<Vec<_>>();
    assert_eq!(fills(&first).last(), fills(&second).last());
}

#[test]
fn every_command_writes_a_page_and_the_pictures_on_it() {
    let folder = folder_of_blobs();
    for (command, part, pictures) in [
        ("cluster", "clusters", &["principal-components.svg", "profiles.svg", "penalties.svg"][..]),
        ("mixture --sweeps 20", "chains", &["profiles.svg", "coclustering.svg", "number-of-clusters.svg"]),
        ("states --sweeps 20", "sequences", &["coclustering.svg", "number-of-states.svg"]),
        ("features", "features", &["together.svg", "feature-columns.svg"]),
        ("buffet --sweeps 10 --columns x,y", "chains", &["together.svg", "number-of-features.svg"]),
        ("path --features", "features", &["penalties.svg"]),
    ] {
        let exclude = if command.contains("--columns") { "" } else { "--exclude kind" };
        folder.text(&format!("{command} blobs.csv {exclude} --report r.html --plots d --quiet"));
        let html = folder.read("r.html");
        assert!(!data_of(&html)[part].is_null(), "{command} has {part}");
        assert!(html.starts_with("<!doctype html>") && html.trim_end().ends_with("</html>"), "{command}");
        for picture in pictures {
            assert!(folder.read(&format!("d/{picture}")).starts_with("<svg"), "{command} draws {picture}");
        }
        std::fs::remove_dir_all(folder.path("d")).unwrap();
    }
    folder.write("counts.csv", "a,b,c\n9,1,0\n8,0,1\n0,9,1\n1,8,0\n0,7,0\n7,1,1\n");
    folder.text("cluster counts.csv --divergence kullback-leibler --clusters 2 --report r.html --plots d --quiet");
    says(&folder.read("r.html"), &["2 clusters", "the share of each column", "Kullback-Leibler divergence"]);
    for picture in ["principal-components.svg", "sizes.svg", "profiles.svg"] {
        assert!(folder.read(&format!("d/{picture}")).starts_with("<svg"), "counts have {picture}");
    }
}

#[test]
fn a_page_that_cannot_be_written_is_refused_before_the_work() {
    let folder = folder_of_blobs();
    says(&folder.mistake("cluster blobs.csv --exclude kind --report nowhere/r.html"), &["its folder does not exist"]);
    says(&folder.mistake("cluster blobs.csv --exclude kind --report blobs.csv"), &["would be overwritten"]);
}
