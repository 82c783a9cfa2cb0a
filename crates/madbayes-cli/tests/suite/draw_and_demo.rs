//! Draws from priors, the demonstration, help, completions and manual pages, and pipes that close early.

use crate::common::{Folder, PROGRAM, counted_sizes, labels, says, six_blobs_csv, sizes};
use predicates::prelude::*;
use std::io::Write;
use std::process::{Command, Stdio};

#[test]
fn draws_seat_every_row_in_a_group() {
    let folder = Folder::new();
    for prior in ["crp", "polya-urn", "polya-urn --base uniform"] {
        for (rows, concentration) in [(1, 1.0), (500, 0.1), (500, 20.0)] {
            let json = folder.json(&format!("draw {prior} {rows} --concentration {concentration} --seed 3"));
            assert_eq!(labels(&json).len(), rows, "{prior}");
            assert_eq!(sizes(&json).iter().sum::<usize>(), rows, "{prior}");
            assert_eq!(sizes(&json), counted_sizes(&json), "{prior}");
            assert_eq!((&json["n_rows"], &json["seed"]), (&rows.into(), &3.into()));
            assert_eq!(json["concentration"], concentration);
            assert!(sizes(&json).iter().all(|size| *size > 0), "no group is empty");
        }
    }
}

#[test]
fn a_higher_concentration_makes_more_groups() {
    let folder = Folder::new();
    let groups = |a: f64| folder.json(&format!("draw crp 2000 --concentration {a}"))["n_groups"].as_u64().unwrap();
    assert!(groups(0.1) < groups(5.0) && groups(5.0) < groups(100.0));
}

#[test]
fn every_group_of_an_urn_has_its_colour() {
    let folder = Folder::new();
    let atoms = |base: &str| -> Vec<f64> {
        let json = folder.json(&format!("draw polya-urn 300 --concentration 20 --base {base}"));
        let atoms: Vec<f64> = json["atoms"].as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect();
        assert_eq!(atoms.len() as u64, json["n_groups"].as_u64().unwrap());
        assert!(json["log_density"].as_f64().unwrap().is_finite());
        atoms
    };
    assert!(atoms("uniform").iter().all(|x| (0.0..1.0).contains(x)));
    assert!(atoms("normal").iter().any(|x| *x < 0.0));
}

#[test]
fn the_same_seed_draws_the_same() {
    let folder = Folder::new();
    for prior in ["crp", "polya-urn", "ibp"] {
        for format in ["text", "json"] {
            let draw = |seed: usize| folder.text(&format!("draw {prior} 200 --seed {seed} --format {format}"));
            assert_eq!(draw(4), draw(4));
            assert_ne!(draw(4), draw(5));
        }
        let unseeded = folder.text(&format!("draw {prior} 200"));
        assert_eq!(
            unseeded,
            folder.text(&format!("draw {prior} 200 --seed 0")),
            "the default seed is 0, not the clock"
        );
    }
}

#[test]
fn text_shows_the_groups_as_bars_largest_first() {
    let folder = Folder::new();
    for (prior, name) in [("crp", "table "), ("polya-urn", "colour ")] {
        let out = folder.text(&format!("draw {prior} 400 --concentration 3"));
        assert!(out.starts_with("400 rows in "), "{out}");
        says(&out, &["at concentration 3", "expected)"]);
        let bars: Vec<&str> = out.lines().filter(|line| line.starts_with(name)).collect();
        assert!(bars.len() > 2 && bars[0].contains("#####"), "{out}");
        let sizes: Vec<usize> = bars.iter().map(|bar| bar.split(' ').next_back().unwrap().parse().unwrap()).collect();
        assert_eq!(sizes.iter().sum::<usize>(), 400, "{out}");
        assert!(sizes.is_sorted_by(|a, b| a >= b), "{out}");
        assert!(out.lines().all(|line| line.chars().count() <= 80), "{out}");
    }
}

#[test]
fn a_concentration_must_be_a_positive_finite_number() {
    let folder = Folder::new();
    for prior in ["crp", "polya-urn"] {
        for (concentration, shown) in [("0", "0"), ("-1", "-1"), ("nan", "NaN"), ("inf", "inf")] {
            let message = folder.mistake(&format!("draw {prior} 10 --concentration {concentration}"));
            says(&message, &["--concentration must be a positive finite number", &format!("got {shown}")]);
        }
        says(&folder.mistake(&format!("draw {prior} 10 --concentration much")), &["--concentration", "'much'"]);
        says(&folder.mistake(&format!("draw {prior} 0")), &["N must be between 1 and", "got 0"]);
        says(&folder.mistake(&format!("draw {prior} 999999999999")), &["N must be between 1 and"]);
    }
    says(&folder.mistake("draw polya-urn 10 --base cauchy"), &["'cauchy'", "normal, uniform"]);
}

/// The features of every row in a JSON result.
fn features(json: &serde_json::Value) -> Vec<Vec<u64>> {
    let rows = json["allocation"].as_array().unwrap().iter();
    rows.map(|row| row.as_array().unwrap().iter().map(|bit| bit.as_u64().unwrap()).collect()).collect()
}

#[test]
fn a_buffet_is_drawn_in_left_ordered_form_alike_as_json_csv_text_and_svg() {
    let folder = Folder::new();
    let json = folder.json("draw ibp 30 --mass 3 --seed 2 --out features.csv --plots pictures");
    let rows = features(&json);
    let k = json["n_groups"].as_u64().unwrap() as usize;
    assert!(rows.len() == 30 && k > 5 && rows.iter().all(|row| row.len() == k), "{json}");
    let columns: Vec<Vec<u64>> = (0..k).map(|k| rows.iter().map(|row| row[k]).collect()).collect();
    assert!(columns.is_sorted_by(|a, b| a >= b), "{columns:?}");
    assert_eq!(sizes(&json), columns.iter().map(|c| c.iter().sum::<u64>() as usize).collect::<Vec<_>>());
    assert!(sizes(&json).iter().all(|size| *size > 0));
    let harmonic: f64 = (1..=30).map(|i| 1.0 / f64::from(i)).sum();
    crate::common::close(json["expected_features"].as_f64().unwrap(), 3.0 * harmonic, 1e-12);
    assert!(json["log_probability"].as_f64().unwrap() < 0.0);

    let csv = folder.read("features.csv");
    let lines: Vec<&str> = csv.lines().collect();
    assert!(lines[0].starts_with("row,feature_0,feature_1,"), "{csv}");
    for (n, row) in rows.iter().enumerate() {
        let bits: Vec<String> = row.iter().map(u64::to_string).collect();
        assert_eq!(lines[n + 1], format!("{},{}", n + 1, bits.join(",")));
    }
    assert_eq!(folder.text("draw ibp --rows 30 --mass 3 --seed 2 --out -"), csv);

    let text = folder.text("draw ibp --rows 30 --mass 3 --seed 2");
    assert!(text.starts_with(&format!("30 rows with {k} features at mass 3 (11.985 expected), ")), "{text}");
    let picture: Vec<String> =
        rows.iter().map(|row| row.iter().map(|bit| if *bit == 1 { '#' } else { '.' }).collect()).collect();
    assert_eq!(text.lines().skip(2).collect::<Vec<_>>(), picture);
    let svg = folder.read("pictures/features.svg");
    assert!(svg.starts_with("<svg") && svg.contains("30 rows with "), "{svg}");
}

#[test]
fn a_buffet_without_any_dish_is_drawn_too() {
    let folder = Folder::new();
    let json = folder.json("draw ibp 3 --mass 1e-9 --plots pictures");
    assert_eq!((features(&json), &json["n_groups"]), (vec![vec![]; 3], &0.into()));
    says(&folder.text("draw ibp 3 --mass 1e-9"), &["3 rows with 0 features at mass 1.0000e-9"]);
    assert_eq!(folder.text("draw ibp 2 --mass 1e-9 --out -"), "row\n1\n2\n");
    assert!(folder.read("pictures/features.svg").ends_with("</svg>\n"));
}

#[test]
fn a_buffet_that_cannot_be_drawn_is_refused() {
    let folder = Folder::new();
    for (mass, shown) in [("0", "0"), ("-1", "-1"), ("nan", "NaN"), ("inf", "inf")] {
        let message = folder.mistake(&format!("draw ibp 10 --mass {mass}"));
        says(&message, &["--mass must be a positive finite number", &format!("got {shown}")]);
    }
    says(&folder.mistake("draw ibp 10 --mass 1e9"), &["--mass must be small enough for 1e7 features"]);
    says(&folder.mistake("draw ibp 0"), &["N must be between 1 and", "got 0"]);
    says(&folder.mistake("draw ibp"), &["<N>"]);
    says(&folder.mistake("draw ibp 3 --rows 3"), &["--rows"]);
    says(&folder.mistake("draw ibp 3 --out nowhere/x.csv"), &["its folder does not exist"]);
}

/// The commands that the demonstration proposes, without the name of the program.
fn proposed(out: &str) -> Vec<String> {
    out.lines().filter_map(|line| line.strip_prefix("  madbayes ")).map(String::from).collect()
}

#[test]
fn the_demonstration_finds_six_clusters_and_its_next_commands_work() {
    for dir in ["", "--dir new/place"] {
        let folder = Folder::new();
        let out = folder.text(&format!("demo --only clusters {dir}"));
        says(&out, &["6 clusters", "It found 6 clusters", "penalty of 300", "Next:"]);
        let place = dir.strip_prefix("--dir ").unwrap_or(".");
        let csv = folder.read(&format!("{place}/madbayes-demo.csv"));
        assert_eq!(csv.lines().count(), 601);
        let svg = folder.read(&format!("{place}/madbayes-demo.svg"));
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
        says(&out, &["madbayes-demo-clusters.html (a report"]);
        says(
            &folder.read(&format!("{place}/madbayes-demo-clusters.html")),
            &["<h1>6 clusters</h1>", "600 rows x 2 columns"],
        );
        let commands = proposed(&out);
        assert_eq!(commands.len(), 4, "{out}");
        let results: Vec<String> = commands.iter().map(|command| folder.text(command)).collect();
        says(&results[0], &["600 rows x 2 columns", "6 clusters at penalty 300", "agreement with truth (6 labels)"]);
        says(&results[1], &["6 clusters, optimal for penalties from "]);
        assert_eq!(folder.read("labels.csv").lines().count(), 601);
        says(&results[2], &["600 rows assigned to 6 clusters", " fit nowhere"]);
        says(&results[3], &["Usage: madbayes cluster"]);
    }
}

#[test]
fn another_seed_makes_other_data() {
    let folder = Folder::new();
    folder.text("demo --only clusters");
    let first = folder.read("madbayes-demo.csv");
    folder.text("demo --only clusters");
    assert_eq!(folder.read("madbayes-demo.csv"), first);
    folder.text("demo --only clusters --seed 1");
    assert_ne!(folder.read("madbayes-demo.csv"), first);
}

#[test]
fn the_demonstration_does_not_depend_on_the_processor_count() {
    let out = Folder::new().text("demo --only clusters");
    let lines: Vec<&str> =
        out.lines().filter(|line| line.starts_with("It found") || line.starts_with("Sizes")).collect();
    insta::assert_snapshot!(lines.join("\n"), @r"
    It found 6 clusters (agreement with the truth: ARI 0.98797), objective 2649.7.
    Sizes: 120, 103, 108, 76, 94, 99. Every + is a centre.
    ");
}

#[test]
fn completions_are_scripts_for_each_shell() {
    let folder = Folder::new();
    for (shell, mark) in [
        ("bash", "complete -F _madbayes"),
        ("zsh", "#compdef madbayes"),
        ("fish", "complete -c madbayes"),
        ("powershell", "Register-ArgumentCompleter"),
        ("elvish", "edit:completion"),
    ] {
        says(&folder.text(&format!("completions {shell}")), &[mark, "cluster", "label-column", "polya-urn"]);
    }
    says(&folder.mistake("completions tcsh"), &["'tcsh'", "bash", "zsh", "fish"]);
}

#[test]
fn the_manual_is_roff_with_a_page_for_every_command() {
    let folder = Folder::new();
    let page = folder.text("man");
    says(&page, &[".TH madbayes 1", ".SH NAME", ".SH SYNOPSIS", "madbayes\\-cluster(1)"]);
    assert_eq!(folder.text("man --dir pages/man1"), "");
    for command in [
        "",
        "-cluster",
        "-assign",
        "-draw",
        "-draw-crp",
        "-draw-polya-urn",
        "-draw-ibp",
        "-demo",
        "-completions",
        "-man",
    ] {
        let page = folder.read(&format!("pages/man1/madbayes{command}.1"));
        says(&page, &[&format!(".TH madbayes{command} 1"), ".SH SYNOPSIS"]);
    }
    says(&folder.read("pages/man1/madbayes-cluster.1"), &["\\-\\-penalty", "\\-\\-label\\-column", "Examples:"]);
}

#[test]
fn the_version_is_that_of_the_package() {
    let folder = Folder::new();
    let expected = concat!("madbayes ", env!("CARGO_PKG_VERSION"), "\n");
    for option in ["--version", "-V"] {
        folder.madbayes(option).assert().success().stdout(predicate::eq(expected));
    }
}

#[test]
fn every_help_has_examples() {
    let folder = Folder::new();
    for command in ["", "cluster", "assign", "draw crp", "draw polya-urn", "draw ibp", "man"] {
        folder
            .madbayes(&format!("{command} --help"))
            .assert()
            .success()
            .stdout(predicate::str::contains("Examples:\n  ").and(predicate::str::contains("  madbayes ")));
    }
    says(
        &folder.text("help cluster"),
        &["--penalty <X>", "--clusters <K>", "--standardize", "Input", "Work", "Output"],
    );
    says(&folder.text("draw --help"), &["crp", "polya-urn"]);
    says(&folder.text("completions --help"), &["Example:\n  madbayes completions bash"]);
}

#[test]
fn examples_in_the_help_are_understood() {
    let folder = Folder::new();
    for command in ["", "cluster", "assign", "draw crp", "draw polya-urn"] {
        let help = folder.text(&format!("{command} --help"));
        let examples = help.split("Examples:\n").nth(1).unwrap();
        let lines = examples.lines().filter_map(|line| line.split_once("madbayes ").map(|(_, rest)| rest));
        for example in lines.filter(|line| line.contains(' ')) {
            // The files of the examples are not there; the options must be.
            let ran = folder.run(example.split(['<', '>']).next().unwrap());
            assert!(
                !ran.err.contains("unexpected argument") && !ran.err.contains("invalid value"),
                "{example}: {}",
                ran.err
            );
        }
    }
}

#[test]
fn without_a_command_the_help_is_shown() {
    let folder = Folder::new();
    folder.madbayes("").assert().code(2).stderr(predicate::str::contains("Usage: madbayes <COMMAND>"));
    says(&folder.mistake("clutser"), &["'clutser'", "cluster"]);
}

#[test]
fn a_pipe_that_closes_early_is_not_an_error() {
    let folder = Folder::new();
    folder.write("blobs.csv", six_blobs_csv());
    folder.text("cluster blobs.csv --exclude kind --penalty 300 --model model.json");
    for arguments in [
        "cluster - --penalty 300 --label-column kind",
        "cluster - --penalty 300 --label-column kind --format json",
        "cluster - --penalty 300 --label-column kind --out -",
        "assign --model model.json - --format json",
    ] {
        let mut child = Command::new(PROGRAM)
            .current_dir(folder.path(""))
            .args(arguments.split(' '))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // The reader has gone before the program has anything to say: it still waits for its input.
        drop(child.stdout.take());
        child.stdin.take().unwrap().write_all(six_blobs_csv().as_bytes()).unwrap();
        let ended = child.wait_with_output().unwrap();
        assert_eq!(ended.status.code(), Some(0), "{arguments}");
        assert_eq!(String::from_utf8(ended.stderr).unwrap(), "", "{arguments}");
    }
}
