//! The page of a report, read without a browser.

use madbayes::data::{Data, Rows};
use madbayes::hard::least_squares_components;
use madbayes::overview::{ClusterOverview, FeatureOverview, FeaturedRows, GroupedRows};
use madbayes::select::PathSearch;
use madbayes::simulate::GaussianMixture;
use madbayes::structure::Allocation;
use madbayes::watch::Unwatched;
use madbayes_draw::{Report, RowNames};
use serde_json::Value;

const HOSTILE: &str = "</script><script>alert(1)</script><!--";

/// The JSON of a page.
fn data_of(html: &str) -> Value {
    let from = html.find("id=\"data\">").unwrap() + "id=\"data\">".len();
    let length = html[from..].find("</script>").unwrap();
    serde_json::from_str(&html[from..from + length]).unwrap()
}

fn overview(values: &[f64], n_columns: usize, labels: &[u32], names: &[String], truth: &[String]) -> ClusterOverview {
    let data = Data::new(Rows::new(values, n_columns).unwrap()).unwrap();
    let path = PathSearch { max_groups: Some(4), ..PathSearch::default() }.clusters(&data, &Unwatched).unwrap();
    ClusterOverview::new(&GroupedRows {
        data: &data,
        columns: names,
        units: None,
        labels,
        penalties: None,
        path: Some(&path),
        choice: None,
        truth: Some((HOSTILE, truth)),
        row_losses: None,
        seed: 0,
        threads: 1,
    })
    .unwrap()
}

#[test]
fn names_cannot_leave_the_place_they_stand_in() {
    let values: Vec<f64> = (0..40).map(|i| f64::from(i % 7) + f64::from(i / 20) * 50.0).collect();
    let labels: Vec<u32> = (0..20).map(|i| u32::from(i >= 10)).collect();
    let names = [HOSTILE.to_string(), "\u{2028}\"'&".to_string()];
    let truth: Vec<String> = labels.iter().map(|label| format!("{HOSTILE}{label}")).collect();
    let clusters = overview(&values, 2, &labels, &names, &truth);
    let rows: Vec<String> = (0..20).map(|n| format!("{HOSTILE}{n}")).collect();
    let html = Report {
        title: HOSTILE,
        answer: HOSTILE,
        sentences: &[HOSTILE.to_string()],
        run: &[(HOSTILE.to_string(), HOSTILE.to_string())],
        group: "cluster",
        no_slider: HOSTILE,
        row_names: RowNames::Names(&rows),
        clusters: Some(&clusters),
        ..Report::default()
    }
    .html();
    assert_eq!(html.matches("<script").count(), 2, "the data and the script, no other");
    assert_eq!(html.matches("</script").count(), 2);
    assert!(!html.contains("alert(1)<"), "what a name says is escaped where it stands");
    let data = data_of(&html);
    assert_eq!(data["clusters"]["columns"]["0"][0], HOSTILE, "and is whole in the data");
    assert_eq!(data["clusters"]["truth"], HOSTILE);
    assert_eq!(data["clusters"]["names"][3], format!("{HOSTILE}3"));
}

#[test]
fn nothing_outside_is_named_and_nothing_may_be_loaded() {
    let html = Report { title: "t", answer: "a", group: "cluster", ..Report::default() }.html();
    assert!(html.contains(
        "content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data: blob:\""
    ));
    // The name of the SVG language is no address that is asked for.
    let without = html.replace("http://www.w3.org/2000/svg", "");
    for outside in ["http:", "https:", "//cdn", "@import", "url(", " src="] {
        assert!(!without.contains(outside), "{outside}");
    }
    assert!(html.len() < 100_000, "{} bytes without data", html.len());
    for wanted in [
        "<html lang=\"en\">",
        "name=\"viewport\"",
        "<title>t</title>",
        "<h1>a</h1>",
        "<main id=\"main\">",
        "<noscript>",
    ] {
        assert!(html.contains(wanted), "{wanted}");
    }
}

#[test]
fn the_page_of_many_rows_and_columns_is_bounded() {
    let recipe = GaussianMixture {
        n_rows: 60_000,
        n_columns: 30,
        n_clusters: 40,
        separation: 9.0,
        ..GaussianMixture::default()
    };
    let sample = recipe.sample(0).unwrap();
    let names: Vec<String> = (0..30).map(|j| format!("column {j}")).collect();
    let data = Data::new(Rows::new(&sample.values, 30).unwrap()).unwrap();
    let path = PathSearch { max_groups: Some(60), sample: Some(1000), ..PathSearch::default() }
        .clusters(&data, &Unwatched)
        .unwrap();
    let clusters = ClusterOverview::new(&GroupedRows {
        data: &data,
        columns: &names,
        units: None,
        labels: &sample.labels,
        penalties: None,
        path: Some(&path),
        choice: None,
        truth: None,
        row_losses: None,
        seed: 0,
        threads: 0,
    })
    .unwrap();
    assert_eq!(clusters.shown.len(), 20_000);
    assert!(clusters.views.iter().all(|view| view.sizes.iter().sum::<usize>() == 60_000), "sizes are of all rows");
    let html = Report { group: "cluster", clusters: Some(&clusters), ..Report::default() }.html();
    assert!(html.len() < 4_000_000, "{} bytes", html.len());
    let view = &data_of(&html)["clusters"]["views"][clusters.fitted];
    assert_eq!(view["profiles"].as_array().unwrap().len(), 30, "of 40 clusters");
    assert_eq!(view["telling"].as_array().unwrap().len(), 12, "of 30 columns");
}

#[test]
fn very_many_clusters_or_features_do_not_make_a_large_page() {
    let n = 60_000;
    let values: Vec<f64> = (0..2 * n).map(|i| ((i * 7919) % 10_007) as f64).collect();
    let data = Data::new(Rows::new(&values, 2).unwrap()).unwrap();
    let names = ["a".to_string(), "b".to_string()];
    let labels: Vec<u32> = (0..n as u32).collect();
    let clusters = ClusterOverview::new(&GroupedRows {
        data: &data,
        columns: &names,
        units: None,
        labels: &labels,
        penalties: None,
        path: None,
        choice: None,
        truth: None,
        row_losses: None,
        seed: 0,
        threads: 0,
    })
    .unwrap();
    let html = Report { group: "cluster", clusters: Some(&clusters), ..Report::default() }.html();
    assert!(html.len() < 3_000_000, "{} bytes", html.len());
    let view = &data_of(&html)["clusters"]["views"][0];
    assert_eq!((&view["k"], view["centres"].as_array().unwrap().len()), (&serde_json::json!(n), 200));
    let k = 2000;
    let allocation = Allocation::from_bools(n, k, (0..n * k).map(|i| i % 4999 == 0));
    let features = FeatureOverview::new(&FeaturedRows {
        data: &data,
        originals: data.rows(),
        columns: &names,
        picture: None,
        offset: &[0.0, 0.0],
        undo: &<[f64]>::to_vec,
        allocation: &allocation,
        components: &vec![1.0; 2 * k],
        loss: 0.0,
        penalties: None,
        path: None,
        choice: None,
        seed: 0,
    });
    let html = Report { group: "feature", features: Some(&features), ..Report::default() }.html();
    assert!(html.len() < 3_000_000, "{} bytes", html.len());
}

#[test]
fn features_with_all_their_numbers_are_in_the_page() {
    let rows: Vec<f64> = (0..12).flat_map(|n| [f64::from(n % 2) * 4.0, f64::from(n / 2 % 2) * -3.0]).collect();
    let data = Data::new(Rows::new(&rows, 2).unwrap()).unwrap();
    let allocation = Allocation::from_bools(12, 2, (0..12).flat_map(|n| [n % 2 == 1, n / 2 % 2 == 1]));
    let names = ["a".to_string(), "b".to_string()];
    let components = [4.0, 0.0, 0.0, -3.0];
    let found = least_squares_components(&data, &allocation);
    assert!(found.iter().zip(&components).all(|(a, b)| (a - b).abs() < 1e-12), "{found:?}");
    let features = FeatureOverview::new(&FeaturedRows {
        data: &data,
        originals: data.rows(),
        columns: &names,
        picture: None,
        offset: &[0.0, 0.0],
        undo: &<[f64]>::to_vec,
        allocation: &allocation,
        components: &components,
        loss: 0.0,
        penalties: None,
        path: None,
        choice: None,
        seed: 0,
    });
    let html = Report { group: "feature", features: Some(&features), ..Report::default() }.html();
    let view = data_of(&html)["features"]["views"][0].clone();
    assert_eq!(view["counts"], serde_json::json!([6, 6]));
    assert_eq!(view["together"], serde_json::json!([[6, 3], [3, 6]]));
    assert_eq!(view["components"], serde_json::json!([[4.0, 0.0], [0.0, -3.0]]));
    assert_eq!(view["combinations"][0][1], 3, "each of the four combinations three times");
}
