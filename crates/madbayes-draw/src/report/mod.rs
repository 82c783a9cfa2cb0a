//! A report for the browser: one page that holds its data, its style and its script, and asks nothing of the network.

mod chains;
mod clusters;
mod features;
mod pack;
mod sentences;

use crate::palette::COLOURS;
use crate::svg::escaped;
use madbayes::overview::{ChainOverview, ClusterOverview, FeatureOverview};
use madbayes::select::Choice;
use serde_json::{Value, json};

const STYLE: &str = include_str!("page.css");
const SCRIPTS: [&str; 7] = [
    include_str!("page.js"),
    include_str!("slider.js"),
    include_str!("scatter.js"),
    include_str!("clusters.js"),
    include_str!("features.js"),
    include_str!("chains.js"),
    include_str!("order.js"),
];
/// Nothing may be loaded, and only what the page brings along may run.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data: blob:";

/// How rows are called.
#[derive(Debug, Clone, Copy, Default)]
pub enum RowNames<'a> {
    /// 1, 2, 3, ...
    #[default]
    Counted,
    /// By these numbers, which count from 0.
    Numbers(&'a [usize]),
    /// By these names, such as those of picture files.
    Names(&'a [String]),
}

impl RowNames<'_> {
    fn name(&self, row: usize) -> String {
        match self {
            RowNames::Counted => (row + 1).to_string(),
            RowNames::Numbers(numbers) => (numbers[row] + 1).to_string(),
            RowNames::Names(names) => names[row].clone(),
        }
    }

    fn json(&self, rows: &[usize]) -> Value {
        match self {
            RowNames::Counted => Value::Null,
            RowNames::Numbers(numbers) => pack::integers(rows.iter().map(|&row| numbers[row] as u32 + 1)),
            RowNames::Names(names) => rows.iter().map(|&row| names[row].as_str()).collect(),
        }
    }
}

/// What the page shows; names are shown as text, whatever is in them.
#[derive(Debug, Clone, Copy, Default)]
pub struct Report<'a> {
    /// What it is a report of.
    pub title: &'a str,
    /// The answer in a few words, such as `4 clusters`.
    pub answer: &'a str,
    /// What else is to be said at the head, one sentence each.
    pub sentences: &'a [String],
    /// What was run: pairs of a name and a value.
    pub run: &'a [(String, String)],
    /// What is counted, in the singular: cluster, feature or state.
    pub group: &'a str,
    /// Why there is no slider, and how to get one.
    pub no_slider: &'a str,
    /// Where the groups of all rows are, for pages that have no room for them.
    pub all_rows: &'a str,
    /// How the groups shown were taken from the draws of a sampler, such as `the most probable draw`.
    pub estimate: &'a str,
    /// The automatic choice, where there was one.
    pub choice: Option<&'a Choice>,
    /// How rows are called.
    pub row_names: RowNames<'a>,
    /// Rows in clusters.
    pub clusters: Option<&'a ClusterOverview>,
    /// Rows as sums of features.
    pub features: Option<&'a FeatureOverview>,
    /// Chains of a sampler.
    pub chains: Option<&'a ChainOverview>,
    /// Sequences of states: a picture of them as SVG, what it shows in words, and the probabilities of transitions, K x K.
    pub sequences: Option<(&'a str, &'a str, &'a [f64])>,
}

impl Report<'_> {
    /// How many groups the fit has.
    fn n_groups(&self) -> usize {
        let clusters = self.clusters.map(|clusters| clusters.views[clusters.fitted].sizes.len());
        let features = self.features.map(|features| features.views[features.fitted].counts.len());
        clusters.or(features).unwrap_or(0)
    }

    /// The page.
    pub fn html(&self) -> String {
        let data = json!({
            "group": self.group,
            "noSlider": self.no_slider,
            "allRows": self.all_rows,
            "confidence": self.choice.map(|choice| choice.confidence),
            "clusters": self.clusters.map(|clusters| clusters::json(clusters, self.row_names)),
            "features": self.features.map(|features| features::json(features, self.row_names)),
            "chains": self.chains.map(|chains| chains::json(chains, self.row_names)),
            "sequences": self.sequences.map(|sequences| {
                let sizes = self.clusters.map(|clusters| &clusters.views[clusters.fitted].sizes[..]);
                chains::sequences(sequences, sizes)
            }),
        });
        // Inside a script element only "<" could end it or open a comment; in JSON it stands in strings alone.
        let data = data.to_string().replace('<', "\\u003c");
        let k = self.n_groups();
        let of_choice = self.choice.into_iter().flat_map(|choice| sentences::of_choice(choice, k, self.group));
        let of_chains =
            self.chains.into_iter().flat_map(|chains| sentences::of_chains(chains, k, self.estimate, self.group));
        let all = of_choice.chain(of_chains).chain(self.sentences.iter().cloned());
        let sentences: String = all.map(|text| format!("<p>{}</p>\n", escaped(&text))).collect();
        let line = |(name, value): &(String, String)| {
            format!("<tr><th scope=\"row\">{}</th><td>{}</td></tr>\n", escaped(name), escaped(value))
        };
        let run: String = self.run.iter().map(line).collect();
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n\
             <title>{title}</title>\n<style>\n{STYLE}{colours}</style>\n</head>\n<body>\n\
             <header>\n<p class=\"title\">{title}</p>\n<h1>{answer}</h1>\n{sentences}</header>\n\
             <noscript><p>The pictures and tables of this page are drawn by the script in it, which is not allowed to run.</p></noscript>\n\
             <main id=\"main\">\n</main>\n\
             <section id=\"run\" aria-labelledby=\"run-title\">\n<h2 id=\"run-title\">What was run</h2>\n\
             <div class=\"wide\"><table class=\"names\"><tbody>\n{run}</tbody></table></div>\n</section>\n\
             <script type=\"application/json\" id=\"data\">{data}</script>\n<script>\n{scripts}</script>\n</body>\n</html>\n",
            title = escaped(self.title),
            answer = escaped(self.answer),
            colours = colours(),
            scripts = SCRIPTS.concat(),
        )
    }
}

/// The palette as classes c0, c1, ...; grey is lighter on a dark page.
fn colours() -> String {
    let class = |(i, colour): (usize, &&str)| format!(".c{i}{{--c:{colour}}}");
    let all: String = COLOURS.iter().enumerate().map(class).collect();
    format!(
        "{all}\n@media screen and (prefers-color-scheme:dark){{.c0{{--c:#2f95d8}}.c6{{--c:#c4c4c4}}.c8{{--c:#a277e0}}}}\n"
    )
}
