//! The second half of `madbayes demo`: the experiment of Broderick, Kulis & Jordan (2013), Sec. 5, on pictures made here.

use crate::number::{count, number, plural, table};
use crate::output::make_folder;
use crate::report::Run;
use anyhow::{Context, Result};
use madbayes::data::{Data, Rows};
use madbayes::gibbs::{IbpSampler, IbpStart, Schedule};
use madbayes::hard::Restarts;
use madbayes::hard::{BpMeans, FeatureAlgorithm, FeatureGoal, FeatureStart, Features, RowSolver};
use madbayes::metrics::match_features;
use madbayes::overview::{FeatureOverview, FeaturedRows};
use madbayes::parallel::Workers;
use madbayes::prepare::{Keep, Pca};
use madbayes::select::PathSearch;
use madbayes::simulate::{Pictures, Tabletop};
use madbayes::structure::Allocation;
use madbayes::watch::Unwatched;
use madbayes_draw::{FeatureImages, Report, RowNames};
use std::path::Path;
use std::time::Instant;

/// Between what light and jitter explain, about 27, and what the least of the objects does, about 150.
const PENALTY: f64 = 60.0;
/// The paper starts BP-means a thousand times; runs that row by row follow every move are dearer.
const RESTARTS: usize = 1000;
const COLLAPSED_RESTARTS: usize = 100;
const SWEEPS: usize = 1000;

/// One line of the table.
struct Line {
    name: &'static str,
    start: &'static str,
    runs: usize,
    seconds: f64,
    found: Allocation,
    /// Seconds per run, seconds in all and features in the paper, on its machine and pictures.
    paper: [&'static str; 3],
}

/// Makes the pictures, runs the paper's algorithms and the one start of this program, and tells what came out.
pub fn experiment(folder: &Path, seed: u64) -> Result<String> {
    let pictures = Tabletop::default().sample(seed)?;
    let d = pictures.height * pictures.width * pictures.channels;
    let rows = Rows::new(&pictures.pixels, d)?;
    let workers = Workers::new(0);
    let pca = Pca::fit(rows, Keep::Number(100), &workers)?;
    let scores = pca.apply(rows, &workers)?;
    let data = Data::new(Rows::new(&scores, pca.n_components())?)?;

    let begin = Instant::now();
    let one = BpMeans { algorithm: FeatureAlgorithm::Stepwise, seed, ..BpMeans::with_penalty(PENALTY) };
    let ours = one.fit(&data, &Unwatched)?;
    let mut lines = vec![Line {
        name: "one spectral start",
        start: "spectral",
        runs: 1,
        seconds: begin.elapsed().as_secs_f64(),
        found: ours.allocation.clone(),
        paper: ["-", "-", "-"],
    }];
    for (name, algorithm, runs, paper) in [
        ("stepwise K-features", FeatureAlgorithm::Stepwise, RESTARTS, ["0.10", "155", "5"]),
        ("BP-means", FeatureAlgorithm::Alternating, RESTARTS, ["0.36", "360", "6"]),
        ("collapsed BP-means", FeatureAlgorithm::Collapsed, COLLAPSED_RESTARTS, ["11", "11,000", "5"]),
    ] {
        let begin = Instant::now();
        let as_published = BpMeans {
            goal: FeatureGoal::Penalty { penalty: PENALTY, max_features: None },
            algorithm,
            start: FeatureStart::PlusPlus,
            row_solver: RowSolver::Paper,
            polish: false,
            restarts: Restarts::Exactly(runs),
            seed,
            ..BpMeans::default()
        };
        let fit = as_published.fit(&data, &Unwatched)?;
        let seconds = begin.elapsed().as_secs_f64();
        lines.push(Line { name, start: "++", runs, seconds, found: fit.allocation, paper });
    }
    let begin = Instant::now();
    let schedule = Schedule { sweeps: SWEEPS, burn_in: SWEEPS - 1, thin: 1 };
    let sampler = IbpSampler { schedule, start: IbpStart::One, seed, ..IbpSampler::default() };
    let chain = sampler.fit(&data, &Unwatched)?.remove(0);
    let found = chain.draws.last().cloned().unwrap_or_else(|| Allocation::new(data.n_rows(), 0));
    let seconds = begin.elapsed().as_secs_f64();
    lines.push(Line { name: "Gibbs sampling", start: "one", runs: 1, seconds, found, paper: ["8,500", "8,500", "10"] });

    // The features in pixels, and some pictures beside their sums of features.
    make_folder(folder)?;
    let components: Vec<Vec<f64>> =
        ours.components.chunks_exact(ours.n_columns).map(|component| pca.undo_direction(component)).collect();
    let images = FeatureImages { height: pictures.height, width: pictures.width, channels: pictures.channels };
    let sums: Vec<Vec<f64>> = (0..16)
        .map(|row| {
            let mut sum = pca.mean.clone();
            for feature in ours.allocation.features_of(row) {
                sum.iter_mut().zip(&components[feature]).for_each(|(s, a)| *s += a);
            }
            sum
        })
        .collect();
    let narrow: Vec<f32> = pictures.pixels.iter().take(16 * d).map(|&x| x as f32).collect();
    let originals: Vec<&[f32]> = narrow.chunks_exact(d).collect();
    let files = [
        ("madbayes-demo-features.png", images.features(&components)),
        ("madbayes-demo-pictures.png", images.sheet(&originals, &sums)),
    ];
    for (name, bytes) in &files {
        let path = folder.join(name);
        std::fs::write(&path, bytes).with_context(|| format!("cannot write {}", path.display()))?;
    }
    let page = folder.join("madbayes-demo-features.html");
    let html = page_of(&pictures, &pca, &data, &ours, seed, lines[0].seconds)?;
    std::fs::write(&page, html).with_context(|| format!("cannot write {}", page.display()))?;
    text(&lines, &pictures.allocation, &pictures.names, folder)
}

/// The features of the one start, and the path around them, as a report.
fn page_of(
    pictures: &Pictures,
    pca: &Pca,
    data: &Data<f64>,
    fit: &Features,
    seed: u64,
    seconds: f64,
) -> Result<String> {
    let found = PathSearch { seed, ..PathSearch::default() }.automatic_features(data, &Unwatched)?;
    let d = pictures.height * pictures.width * pictures.channels;
    let overview = FeatureOverview::new(&FeaturedRows {
        data,
        originals: Rows::new(&pictures.pixels, d)?,
        columns: &[],
        picture: Some([pictures.height, pictures.width, pictures.channels]),
        offset: &pca.mean,
        undo: &|component| pca.undo_direction(component),
        allocation: &fit.allocation,
        components: &fit.components,
        loss: fit.loss,
        penalties: None,
        path: Some(&found.path),
        choice: Some(&found.choice),
        seed,
    });
    let run = Run {
        file: "the pictures of a table",
        n_rows: data.n_rows(),
        n_columns: d,
        seed,
        seconds,
        objective: Some(fit.objective),
        converged: fit.converged,
        stopped: false,
    };
    let names: Vec<String> = (1..=data.n_rows()).map(|i| format!("picture {i}")).collect();
    let page = Report {
        title: &run.title("Features"),
        answer: &plural(fit.n_features(), "feature"),
        run: &run
            .facts(vec![("Penalty".into(), number(PENALTY)), ("Prepared".into(), "100 principal components".into())]),
        group: "feature",
        choice: Some(&found.choice).filter(|choice| choice.k == fit.n_features()),
        row_names: RowNames::Names(&names),
        features: Some(&overview),
        ..Report::default()
    };
    Ok(page.html())
}

fn text(lines: &[Line], truth: &Allocation, names: &[&str], folder: &Path) -> Result<String> {
    let mut out = format!(
        "\n{} pictures of a table were made, on which a {}, a {}, a {} and a {} may or may not lie (jitter, changing light,\n\
         noise). What is on them? The four algorithms of the paper, as published, and one start of this program;\n\
         penalty {}. The paper's numbers are for its own pictures, on its own machine.\n\n",
        truth.n_rows(),
        names[0],
        names[1],
        names[2],
        names[3],
        number(PENALTY)
    );
    let head = ["", "start", "runs", "per run", "total", "features", "objects", "paper: per run", "total", "features"];
    let mut rows = Vec::new();
    for line in lines {
        // With a base feature, an object may also be one that is taken away.
        let exact = match_features(truth, &line.found, true)?.n_exact;
        let seconds = |s: f64| format!("{} s", number((1e4 * s).round() / 1e4));
        let paper = |s: &str| if s == "-" { s.to_string() } else { format!("{s} s") };
        rows.push(vec![
            line.name.to_string(),
            line.start.into(),
            count(line.runs),
            seconds(line.seconds / line.runs as f64),
            seconds(line.seconds),
            line.found.n_features().to_string(),
            format!("{exact} of {}", truth.n_features()),
            paper(line.paper[0]),
            paper(line.paper[1]),
            line.paper[2].into(),
        ]);
    }
    out += &table(&head.map(String::from), &rows);
    out += &format!(
        "\nRight are {} features: the table, which all pictures share, and one for each object. An object counts when it is right\n\
         on all pictures (a feature may also take an object away).\n\
         Written: {} (what each feature adds and takes away), {} (pictures and their sums of features) and\n\
         {} (a report: open it in a browser and move the slider).\n",
        truth.n_features() + 1,
        folder.join("madbayes-demo-features.png").display(),
        folder.join("madbayes-demo-pictures.png").display(),
        folder.join("madbayes-demo-features.html").display(),
    );
    Ok(out)
}
