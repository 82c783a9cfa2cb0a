//! `madbayes demo`: a small data set from simulation to picture, as a user would see it with real data.

use crate::arguments::{DemoArguments, DemoName};
use crate::demo_table;
use crate::number::{number, plural};
use crate::output::{make_folder, to_stdout};
use crate::picture::{Seen, View};
use crate::report::Run;
use anyhow::{Context, Result};
use madbayes::data::{Data, Rows};
use madbayes::hard::DpMeans;
use madbayes::metrics::adjusted_rand_index;
use madbayes::overview::{ClusterOverview, GroupedRows};
use madbayes::select::PathSearch;
use madbayes::simulate::GaussianMixture;
use madbayes::structure::Partition;
use madbayes::watch::Unwatched;
use madbayes_draw::Report;
use std::time::Instant;

const PENALTY: f64 = 300.0;

pub fn run(arguments: &DemoArguments) -> Result<()> {
    if arguments.only != Some(DemoName::Features) {
        to_stdout(clusters(arguments)?.as_bytes())?;
    }
    if arguments.only != Some(DemoName::Clusters) {
        to_stdout(demo_table::experiment(&arguments.dir, arguments.seed)?.as_bytes())?;
    }
    Ok(())
}

fn clusters(arguments: &DemoArguments) -> Result<String> {
    let recipe =
        GaussianMixture { n_rows: 600, n_columns: 2, n_clusters: 6, separation: 5.0, ..GaussianMixture::default() };
    let sample = recipe.sample(arguments.seed)?;
    make_folder(&arguments.dir)?;
    let csv_path = arguments.dir.join("madbayes-demo.csv");
    let svg_path = arguments.dir.join("madbayes-demo.svg");
    let mut csv = String::from("x,y,truth\n");
    for (row, label) in sample.values.chunks_exact(2).zip(&sample.labels) {
        csv += &format!("{},{},{label}\n", row[0], row[1]);
    }
    std::fs::write(&csv_path, csv).with_context(|| format!("cannot write {}", csv_path.display()))?;

    let data = Data::new(Rows::new(&sample.values, 2)?)?;
    let begin = Instant::now();
    let fit = DpMeans::with_penalty(PENALTY).fit(&data, &Unwatched)?;
    let columns = ["x".to_string(), "y".to_string()];
    let found = PathSearch { seed: arguments.seed, ..PathSearch::default() }.automatic_clusters(&data, &Unwatched)?;
    let page_path = arguments.dir.join("madbayes-demo-clusters.html");
    let truth: Vec<String> = sample.labels.iter().map(u32::to_string).collect();
    let clusters = ClusterOverview::new(&GroupedRows {
        data: &data,
        columns: &columns,
        units: None,
        labels: &fit.labels,
        penalties: None,
        path: Some(&found.path),
        choice: Some(&found.choice),
        truth: Some(("truth", &truth)),
        row_losses: None,
        seed: arguments.seed,
        threads: 0,
    })?;
    let view = View::new(data.rows(), Seen::new(&fit, &clusters.views[clusters.fitted].colours), &columns);
    std::fs::write(&svg_path, view.svg(&fit.labels)).with_context(|| format!("cannot write {}", svg_path.display()))?;
    let run = Run {
        file: "madbayes-demo.csv",
        n_rows: data.n_rows(),
        n_columns: 2,
        seed: arguments.seed,
        seconds: begin.elapsed().as_secs_f64(),
        objective: Some(fit.objective),
        converged: fit.converged,
        stopped: false,
    };
    let page = Report {
        title: &run.title("Clusters"),
        answer: &plural(fit.n_clusters(), "cluster"),
        run: &run.facts(vec![("Penalty".into(), number(PENALTY))]),
        group: "cluster",
        choice: Some(&found.choice).filter(|choice| choice.k == fit.n_clusters()),
        clusters: Some(&clusters),
        ..Report::default()
    };
    std::fs::write(&page_path, page.html()).with_context(|| format!("cannot write {}", page_path.display()))?;

    let agreement = adjusted_rand_index(&Partition::from_labels(&sample.labels), &Partition::from_labels(&fit.labels))?;
    let found = plural(fit.n_clusters(), "cluster");
    let mut out = format!(
        "600 points were drawn from {} clusters; nobody tells madbayes how many.\n\
         It is told what one more cluster costs: a penalty of {}, in squared-distance units.\n\n",
        recipe.n_clusters,
        number(PENALTY)
    );
    out += &view.text(&fit.labels, 78, 26);
    out += &format!(
        "\nIt found {found} (agreement with the truth: ARI {}), objective {}.\n\
         Sizes: {}. Every + is a centre.\n\n",
        number(agreement),
        number(fit.objective),
        fit.sizes.iter().map(usize::to_string).collect::<Vec<_>>().join(", "),
    );
    // Commands are to be pasted: a path with spaces needs quotes.
    let quoted = |path: &std::path::Path| match path.display().to_string() {
        path if path.contains(' ') => format!("'{path}'"),
        path => path,
    };
    let (csv, svg, page) = (quoted(&csv_path), quoted(&svg_path), quoted(&page_path));
    out += &format!(
        "Written: {csv} (the data), {svg} (the picture) and\n{page} (a report: open it in a browser and move the slider).\n\nNext:\n  \
         madbayes cluster {csv} --penalty {} --label-column truth\n  \
         madbayes cluster {csv} --clusters 6 --exclude truth --out labels.csv --model model.json\n  \
         madbayes assign --model model.json {csv}\n  \
         madbayes cluster --help\n",
        number(PENALTY)
    );
    Ok(out)
}
