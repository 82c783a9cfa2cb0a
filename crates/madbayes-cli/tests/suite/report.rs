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
fn every_command_writes_a_page_and_the_pictures_on_it() {
    let folder = folder_of_blobs();
    for (command, part, pictures) in [
        ("cluster", "clusters", &["principal-components.svg", "profiles.svg", "penalties.svg"][..]),
        ("mixture --sweeps 20", "chains", &["profiles.svg", "coclustering.svg"]),
        ("states --sweeps 20", "sequences", &["coclustering.svg"]),
        ("features", "features", &["together.svg", "feature-columns.svg"]),
        ("buffet --sweeps 10 --columns x,y", "chains", &["together.svg"]),
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
    folder.text("cluster counts.csv --divergence kullback-leibler --clusters 2 --report r.html --quiet");
    says(&folder.read("r.html"), &["2 clusters", "the share of each column"]);
}

#[test]
fn a_page_that_cannot_be_written_is_refused_before_the_work() {
    let folder = folder_of_blobs();
    says(&folder.mistake("cluster blobs.csv --exclude kind --report nowhere/r.html"), &["its folder does not exist"]);
    says(&folder.mistake("cluster blobs.csv --exclude kind --report blobs.csv"), &["would be overwritten"]);
}
