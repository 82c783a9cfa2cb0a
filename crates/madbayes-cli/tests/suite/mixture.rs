//! `madbayes mixture`: the answer, how sure it is, and what is written of it.

use crate::common::{Folder, Noise, close, counted_sizes, folder_of_blobs, labels, says, sizes};
use serde_json::Value;
use std::collections::HashMap;

const SHORT: &str = "--sweeps 60 --thin 2";

/// The draws of a file, each the cluster of every row.
fn draws(csv: &str) -> Vec<Vec<usize>> {
    let cells = |line: &str| line.split(',').skip(5).map(|cell| cell.parse().unwrap()).collect();
    csv.lines().skip(1).map(cells).collect()
}

/// Two clusters of 20 rows that overlap, in one column.
fn folder_of_a_saddle() -> Folder {
    let folder = Folder::new();
    let mut noise = Noise::new(7);
    let mut bell = || (0..4).map(|_| noise.next() - 0.5).sum::<f64>();
    let rows: Vec<String> = (0..40).map(|n| format!("{}\n", bell() + if n < 20 { 0.0 } else { 1.6 })).collect();
    folder.write("saddle.csv", "x\n".to_string() + &rows.concat());
    folder
}

/// Variation of information in nats, from counts of pairs.
fn variation(a: &[usize], b: &[usize]) -> f64 {
    let share = |keys: Vec<(usize, usize)>| {
        let mut counts: HashMap<(usize, usize), f64> = HashMap::new();
        keys.iter().for_each(|key| *counts.entry(*key).or_default() += 1.0 / keys.len() as f64);
        counts.values().map(|p| -p * p.ln()).sum::<f64>()
    };
    let pairs = || a.iter().copied().zip(b.iter().copied());
    let both = share(pairs().collect());
    2.0 * both - share(a.iter().map(|&x| (x, 0)).collect()) - share(b.iter().map(|&x| (x, 0)).collect())
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

#[test]
fn blobs_are_found_by_every_likelihood_from_every_start() {
    let folder = folder_of_blobs();
    for likelihood in ["gaussian", "diagonal", "spherical"] {
        for start in ["dp-means", "one", "random"] {
            let fit = folder.json(&format!(
                "mixture blobs.csv --label-column kind --likelihood {likelihood} --start {start} {SHORT}"
            ));
            assert_eq!(fit["n_groups"], 6, "{likelihood} {start}");
            assert_eq!(fit["agreement"]["adjusted_rand_index"], 1.0, "{likelihood} {start}");
            assert_eq!((sizes(&fit), fit["likelihood"].as_str()), (counted_sizes(&fit), Some(likelihood)));
        }
    }
}

#[test]
fn columns_that_say_nothing_are_named_before_they_mislead() {
    let folder = Folder::new();
    let mut noise = Noise::new(3);
    let mut rows = "a,b,unit,total\n".to_string();
    for n in 0..40 {
        let (a, b) = (noise.next() + if n % 2 == 0 { 0.0 } else { 9.0 }, noise.next());
        rows += &format!("{a},{b},1,{}\n", a + b);
    }
    folder.write("sums.csv", rows);
    for likelihood in ["gaussian", "diagonal"] {
        let said = folder.run(&format!("mixture sums.csv --likelihood {likelihood} {SHORT}")).well();
        says(
            &said.err,
            &[
                "\"unit\" is the same in every row",
                "--exclude unit",
                "\"total\" is a linear combination",
                "--exclude total",
            ],
        );
    }
    for quiet in ["--likelihood spherical", "--exclude unit,total", "--quiet"] {
        let said = folder.run(&format!("mixture sums.csv {SHORT} {quiet}")).well().err;
        assert!(!said.contains("every row") && !said.contains("combination"), "{quiet}: {said}");
    }
}

#[test]
fn a_guess_from_one_cluster_is_told() {
    let folder = Folder::new();
    let mut noise = Noise::new(5);
    let rows: Vec<String> = (0..60).map(|_| format!("{},{}\n", noise.next(), noise.next())).collect();
    folder.write("one.csv", "x,y\n".to_string() + &rows.concat());
    let text = folder.text(&format!("mixture one.csv {SHORT} --save-state one.json"));
    let told = ["ONE cluster", "that is worth 8 rows (--prior-dof)", "raise it"];
    says(&text, &told);
    says(&folder.text("mixture one.csv --resume one.json --sweeps 80"), &told);
    let given = folder.text(&format!("mixture one.csv --prior-scale 0.1 {SHORT}"));
    says(&given, &["that is worth 4 rows (--prior-dof)"]);
    assert!(!given.contains("ONE cluster"));
}

#[test]
fn a_finite_prior_has_no_more_clusters_than_components() {
    let folder = folder_of_blobs();
    let fit = folder.json(&format!("mixture blobs.csv --exclude kind --prior finite --max-clusters 8 {SHORT}"));
    assert_eq!(fit["n_groups"], 6);
    let few = folder.json(&format!("mixture blobs.csv --exclude kind --prior finite --max-clusters 4 {SHORT}"));
    let traces = few["n_clusters_trace"].as_array().unwrap();
    assert!(traces.iter().flat_map(numbers).all(|k| k <= 4.0));
    says(&folder.mistake("mixture blobs.csv --exclude kind --prior finite"), &["--max-clusters"]);
}

#[test]
fn hyperplanes_have_their_clusters_on_one_side() {
    let folder = folder_of_blobs();
    for (factor, more) in [("svm", ""), ("logistic", ""), ("logistic", "--standardize")] {
        let fit = folder.json(&format!("mixture blobs.csv --exclude kind --discriminative {factor} {more} {SHORT}"));
        assert_eq!(fit["n_groups"], 6, "{factor}");
        let (slopes, intercepts) = (&fit["hyperplanes"], numbers(&fit["intercepts"]));
        // At its own mean a cluster's hyperplane is above all others of it.
        let centres: Vec<Vec<f64>> = fit["centres"].as_array().unwrap().iter().map(numbers).collect();
        let value = |k: usize, at: &[f64]| {
            numbers(&slopes[k]).iter().zip(at).map(|(slope, x)| slope * x).sum::<f64>() + intercepts[k]
        };
        let corners = (0..6).filter(|&k| (0..6).all(|j| j == k || value(k, &centres[k]) > value(k, &centres[j])));
        assert!(corners.count() >= 3, "{factor} {more}: clusters inside the others cannot be cut off, corners can");
    }
    let text = folder.text(&format!("mixture blobs.csv --exclude kind --discriminative svm {SHORT}"));
    assert!(text.contains("separation: svm hyperplanes of prior variance 1"), "{text}");
    // Taken up again, saved, and used for new rows.
    let all = "--discriminative logistic --new-cluster paper --discriminative-scale 0.5 --thin 2";
    folder.json(&format!("mixture blobs.csv --exclude kind {all} --sweeps 30 --save-state s.json"));
    let resumed = folder.json("mixture blobs.csv --resume s.json --sweeps 60 --burn-in 15 --model m.json");
    let whole = folder.json(&format!("mixture blobs.csv --exclude kind {all} --sweeps 60 --burn-in 15"));
    assert_eq!(resumed["n_clusters_trace"], whole["n_clusters_trace"]);
    assert_eq!(resumed["hyperplanes"], whole["hyperplanes"]);
    folder.text("assign --model m.json blobs.csv --exclude kind");
    says(
        &folder.mistake("mixture blobs.csv --exclude kind --discriminative svm --discriminative-scale -1"),
        &["--discriminative-scale must be a finite number of at least 0 and at most 1e6, got -1"],
    );
}

#[test]
fn json_says_what_the_draws_say() {
    let folder = folder_of_a_saddle();
    let fit = folder.json("mixture saddle.csv --sweeps 300 --burn-in 100 --thin 4 --chains 3 --seed 5 --draws d.csv");
    for (name, value) in [("n_rows", 40), ("n_columns", 1), ("seed", 5), ("sweeps", 300), ("burn_in", 100), ("thin", 4)]
    {
        assert_eq!(fit[name], value, "{name}");
    }
    assert!(fit["penalty"].is_null() && fit["seconds"].as_f64().unwrap() > 0.0 && fit["stopped"] == false);
    let (csv, found) = (folder.read("d.csv"), labels(&fit));
    let draws = draws(&csv);
    assert_eq!((draws.len(), fit["n_draws"].as_u64()), (150, Some(150)));
    // The objective is the expected loss of the labels, and no draw has less.
    let expected = |labels: &[usize]| draws.iter().map(|d| variation(labels, d)).sum::<f64>() / 150.0;
    close(fit["objective"].as_f64().unwrap(), expected(&found), 1e-9);
    assert!(draws.iter().all(|draw| expected(draw) >= expected(&found) - 1e-9));
    // Certainty: the mean overlap of a row's cluster with its group in the draw.
    for (n, certainty) in numbers(&fit["certainty"]).into_iter().enumerate() {
        let overlap = |draw: &Vec<usize>| {
            let (mut both, mut either) = (0.0, 0.0);
            for m in 0..40 {
                let (here, there) = (found[m] == found[n], draw[m] == draw[n]);
                both += f64::from(here && there);
                either += f64::from(here || there);
            }
            both / either
        };
        close(certainty, draws.iter().map(overlap).sum::<f64>() / 150.0, 1e-12);
    }
    // The distribution of K is that of the traces after the burn-in.
    let traces: Vec<Vec<f64>> = fit["n_clusters_trace"].as_array().unwrap().iter().map(numbers).collect();
    assert_eq!(traces.iter().map(Vec::len).collect::<Vec<_>>(), [300; 3]);
    for pair in fit["distribution"].as_array().unwrap() {
        let (k, share) = (pair[0].as_f64().unwrap(), pair[1].as_f64().unwrap());
        let count = traces.iter().flat_map(|t| &t[100..]).filter(|&&x| x == k).count();
        close(share, count as f64 / 600.0, 1e-12);
    }
    // A line of the draws has what its sweep had, and as many clusters as are in it.
    for (line, draw) in csv.lines().skip(1).zip(&draws) {
        let cells: Vec<f64> = line.split(',').take(5).map(|cell| cell.parse().unwrap()).collect();
        let (chain, sweep) = (cells[0] as usize - 1, cells[1] as usize - 1);
        assert_eq!(traces[chain][sweep], cells[2]);
        assert_eq!(fit["log_joint_trace"][chain][sweep], cells[3]);
        assert_eq!(fit["concentration_trace"][chain][sweep], cells[4]);
        assert_eq!(draw.iter().max().unwrap() + 1, cells[2] as usize);
    }
    let best = fit["best"]["log_joint"].as_f64().unwrap();
    let joints = fit["log_joint_trace"].as_array().unwrap().iter().flat_map(numbers);
    assert_eq!(joints.fold(f64::NEG_INFINITY, f64::max), best);
    for name in ["n_clusters", "log_joint", "concentration"] {
        assert!(fit["r_hat"][name].as_f64().unwrap() >= 0.99, "{name}");
        assert!(fit["effective_size"][name].as_f64().unwrap() > 1.0, "{name}");
    }
    let fixed = folder.json("mixture saddle.csv --concentration 0.5 --sweeps 50");
    assert_eq!(fixed["r_hat"].as_object().unwrap().len(), 2, "a fixed concentration has no R-hat");
    assert!(numbers(&fixed["concentration_trace"][0]).iter().all(|&alpha| (alpha - 0.5).abs() < 1e-12));
}

#[test]
fn text_gives_the_answer_first_and_says_how_far_to_trust_it() {
    let folder = folder_of_blobs();
    let text = folder.text(&format!("mixture blobs.csv --label-column kind {SHORT}"));
    assert!(text.starts_with("120 rows x 2 columns\n6 clusters; "), "{text}");
    says(&text, &["% of sweeps have as many", "cluster  rows  share  certainty", "20  16.7%"]);
    says(&text, &["Number of clusters (% of sweeps after the burn-in)\n6 ", "|####", "agreement with kind", "ARI 1,"]);
    says(
        &text,
        &["Clusters after each sweep (burn-in before |), from 6 to ", "Log joint after each sweep", "  chain 2 "],
    );
    says(&text, &["R-hat ", "effective sample size", "of 60 sweeps after the burn-in", "below 100 a chain"]);
    says(&text, &["guessed from DP-means", "--prior-scale", "2 chains of 60 sweeps (30 burn-in, every 2 kept)"]);
    assert!(text.is_ascii(), "not a terminal: {text}");
    let given = folder.text(&format!("mixture blobs.csv --exclude kind --prior-scale 0.25,1 {SHORT}"));
    says(&given, &["standard deviation expected within a cluster 0.5, 1, as given"]);
    // Clusters that overlap name the rows between them.
    let text = folder_of_a_saddle().text("mixture saddle.csv --sweeps 300");
    says(&text, &["least certain rows: ", ", cluster "]);
}

#[test]
fn chains_that_disagree_are_told_of_with_what_to_do() {
    let folder = folder_of_blobs();
    // Rows that move one by one do not leave halves of a blob.
    let apart = "mixture blobs.csv --exclude kind --start random --prior-dof 4 --concentration 20 --split-merge 0 --chains 4 --sweeps 40";
    let ran = folder.run(apart).well();
    says(&ran.out, &["THE CHAINS DISAGREE OR STILL MOVE: raise --sweeps"]);
    says(&ran.err, &["hint: chains disagree or still move", "above 1.1", "raise --sweeps", "--start random"]);
    assert_eq!(folder.json(apart)["converged"], false);
    assert!(!folder.run(&format!("{apart} --quiet")).well().err.contains("hint"));
    let saved = folder.run(&format!("{apart} --save-state s.json")).well();
    says(&saved.err, &["go on with --resume s.json and --sweeps 80"]);
    let few = folder.run("mixture blobs.csv --exclude kind --sweeps 3").well();
    says(&few.out, &["R-hat unknown (clusters)", "too few sweeps to tell"]);
    says(&few.err, &["too few sweeps to tell whether chains agree: raise --sweeps"]);
}

#[test]
fn out_has_the_certainty_of_every_row_as_numbered_in_the_file() {
    let folder = Folder::new();
    folder.write("holes.csv", "x\n0\n\n0.1\nNA\n0.2\n9\n9.1\n9.2\n".replace("\n\n", "\n"));
    let arguments = format!("mixture holes.csv --drop-missing --draws d.csv {SHORT}");
    let fit = folder.json(&arguments);
    let out = folder.text(&format!("{arguments} --out -"));
    let mut lines = out.lines();
    assert_eq!(lines.next(), Some("row,cluster,certainty"));
    for ((row, label), certainty) in [1, 2, 4, 5, 6, 7].iter().zip(labels(&fit)).zip(numbers(&fit["certainty"])) {
        assert_eq!(lines.next().unwrap(), format!("{row},{label},{certainty}"));
    }
    assert_eq!(lines.next(), None);
    let head = folder.read("d.csv");
    assert!(head.starts_with("chain,sweep,n_clusters,log_joint,concentration,row_1,row_2,row_4,row_5,row_6,row_7\n"));
    assert_eq!((&fit["dropped_rows"], &fit["row_numbers"]), (&1.into(), &serde_json::json!([0, 1, 3, 4, 5, 6])));
}

#[test]
fn counts_are_clustered_dense_or_sparse() {
    let folder = Folder::new();
    folder.write("counts.npz", include_bytes!("../data/counts.npz"));
    let options = format!("--likelihood multinomial --pseudocount 0.5 {SHORT}");
    let sparse = folder.json(&format!("mixture counts.npz {options} --plots pictures --model m.json"));
    assert_eq!((sparse["n_rows"].as_u64(), sparse["n_groups"].as_u64()), (Some(24), Some(3)));
    assert_eq!(sizes(&sparse), [8, 8, 8]);
    assert_eq!(sparse["prior"]["pseudocount"], 0.5);
    for share in sparse["shares"].as_array().unwrap() {
        close(numbers(share).iter().sum(), 1.0, 1e-12);
    }
    assert!(!folder.path("pictures/clusters.svg").exists() && folder.path("pictures/log-joint.svg").exists());
    let again = folder.json("assign --model m.json counts.npz");
    assert_eq!((labels(&again), sizes(&again)), (labels(&sparse), sizes(&sparse)));
    says(&folder.text(&format!("mixture counts.npz {options}")), &["largest shares", "pseudocount 0.5"]);
    let message = folder.mistake("mixture counts.npz --likelihood gaussian");
    says(&message, &["counts.npz", "sparse"]);
    folder.write("halves.csv", "a,b\n1,2\n-3,4\n");
    says(&folder.mistake("mixture halves.csv --likelihood multinomial"), &["halves.csv does not hold counts"]);
}

#[test]
fn a_model_assigns_rows_in_the_users_units() {
    let folder = folder_of_blobs();
    let fit = folder.json(&format!("mixture blobs.csv --exclude kind --standardize --model m.json {SHORT}"));
    assert_eq!(fit["standardized"], true);
    let centres: Vec<Vec<f64>> = fit["centres"].as_array().unwrap().iter().map(numbers).collect();
    assert!((centres[5][0] - 620.0).abs() < 1.0 && (centres[5][1] - 40.0).abs() < 1.0, "{centres:?}");
    let again = folder.json("assign --model m.json blobs.csv --label-column kind");
    assert_eq!(labels(&again), labels(&fit));
    assert_eq!(again["agreement"]["adjusted_rand_index"], 1.0);
    folder.write("new.csv", "y,x\n40,620\n0,0\n20,150\n");
    let new = folder.json("assign --model m.json new.csv");
    assert_eq!(labels(&new)[..2], [5, 0]);
    let densities = numbers(&new["log_densities"]);
    assert!(densities[2] < densities[0] - 5.0 && densities[2] < densities[1] - 5.0, "{densities:?}");
    // One of six squares of side 2, evenly: log(1/24) = -3.2, and 8.4 more in standardised units.
    assert!((densities[0] + 3.2).abs() < 3.0, "{densities:?}");
    let out = folder.text("assign --model m.json new.csv --out -");
    assert_eq!(out.lines().next(), Some("row,cluster,log_density"));
    assert_eq!(out.lines().nth(3).unwrap(), format!("3,{},{}", labels(&new)[2], densities[2]));
    says(&folder.text("assign --model m.json new.csv"), &["3 rows assigned to 6 clusters", "least for rows 3 ("]);
}

#[test]
fn plots_are_written_into_the_folder() {
    let folder = folder_of_blobs();
    folder.text(&format!("mixture blobs.csv --exclude kind --plots pictures {SHORT}"));
    for name in ["clusters", "sizes", "number-of-clusters", "clusters-trace", "log-joint"] {
        let svg = folder.read(&format!("pictures/{name}.svg"));
        assert!(svg.starts_with("<svg"), "{name}");
    }
    says(&folder.read("pictures/clusters.svg"), &["6 clusters", "cluster 5 (20)"]);
    says(&folder.read("pictures/log-joint.svg"), &["chain 2"]);
}

#[test]
fn the_number_of_threads_changes_no_bit_and_the_seed_does() {
    let folder = folder_of_a_saddle();
    let run = |options: &str| {
        let mut fit = folder.json(&format!("mixture saddle.csv --chains 3 --sweeps 40 {options}"));
        fit["seconds"].take();
        fit
    };
    assert_eq!(run("--threads 1"), run("--threads 2"));
    let (first, second) = (run(""), run("--seed 1"));
    assert_ne!(first["log_joint_trace"], second["log_joint_trace"]);
}

#[test]
fn a_largest_number_of_clusters_and_a_loss_are_kept_to() {
    let folder = folder_of_blobs();
    let fit = folder.json(&format!("mixture blobs.csv --exclude kind --max-clusters 3 --loss binder {SHORT}"));
    assert!(fit["n_groups"].as_u64().unwrap() <= 3 && fit["loss"] == "binder");
    let traces = fit["n_clusters_trace"].as_array().unwrap();
    assert!(traces.iter().flat_map(numbers).all(|k| k <= 3.0));
}

#[test]
fn mistakes_are_named_by_their_option() {
    let folder = folder_of_blobs();
    folder.write("three.csv", "1,0,0\n0,1,0\n0,0,1\n");
    let message = |options: &str| folder.mistake(&format!("mixture blobs.csv --exclude kind {options}"));
    says(&folder.mistake("mixture blobs.csv"), &["column \"kind\" is text", "--exclude kind", "--label-column kind"]);
    says(&message("--sweeps 10 --burn-in 10"), &["--burn-in must be less than the number of sweeps, 10, got 10"]);
    says(&message("--sweeps 0"), &["'0' for '--sweeps", "whole number of at least 1"]);
    says(&message("--thin 0"), &["--thin", "0"]);
    says(&message("--chains 0"), &["--chains", "0"]);
    says(&message("--chains two"), &["--chains", "whole number of at least 1"]);
    says(&message("--burn-in -1"), &["--burn-in", "whole number of at least 0"]);
    says(&message("--concentration -1"), &["--concentration must be", "-1"]);
    says(&message("--max-clusters 0"), &["--max-clusters", "0"]);
    says(&message("--variance 1"), &["--variance is no parameter of --likelihood gaussian, which has --prior-mean, "]);
    says(
        &message("--likelihood multinomial --prior-scale 1"),
        &["--prior-scale is no parameter of --likelihood multinomial, which has --pseudocount"],
    );
    says(&message("--likelihood multinomial --standardize"), &["--standardize cannot be used", "leave it out"]);
    says(&message("--prior-mean 1,2,3"), &["--prior-mean must be one number for each of 2 columns, got 3"]);
    says(&message("--prior-mean 1,x"), &["--prior-mean", "one number for each column"]);
    says(&message("--prior-scale 1,2,3"), &["--prior-scale must be one number, or one for each of 2 columns, got 3"]);
    says(&message("--prior-scale -1"), &["--prior-scale", "positive number"]);
    says(&message("--prior-scale three.csv"), &["--prior-scale three.csv", "3 x 3", "2 x 2"]);
    says(&message("--likelihood diagonal --prior-scale three.csv"), &["--prior-scale", "--likelihood gaussian"]);
    says(&message("--prior-strength 0"), &["--prior-strength must be", "got 0"]);
    says(&message("--prior-dof 0.5"), &["--prior-dof must be", "0.5"]);
    says(&message("--likelihood spherical --variance 0"), &["--variance must be", "got 0"]);
    says(&message("--out blobs.csv"), &["blobs.csv is read by this command"]);
    says(&message("--draws a.csv --out a.csv"), &["two results would be written to a.csv"]);
    says(&message("--time-limit 0"), &["--time-limit must be"]);
    let given = folder.json(&format!(
        "mixture blobs.csv --exclude kind --prior-mean -1.5,2 --prior-strength 0.5 --prior-dof 7 --prior-scale 3 {SHORT}"
    ));
    let expected = serde_json::json!({"name": "full", "prior_mean": [-1.5, 2.0], "prior_strength": 0.5, "prior_dof": 7.0,
        "prior_scale": [3.0, 0.0, 0.0, 3.0]});
    assert_eq!(given["prior"], expected);
}
