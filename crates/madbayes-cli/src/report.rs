//! What every page of --report says of the run: the command, the data, the time, how it ended.

use crate::number::{number, plural};
use crate::read::Labels;
use madbayes_draw::RowNames;

/// Where the groups of all rows are, for pages that have no room for them.
pub const ALL_ROWS: &str = "Option --out writes all of them.";

/// Pairs of a name and a value.
pub type Facts = Vec<(String, String)>;

/// A run as its report tells it.
pub struct Run<'a> {
    pub file: &'a str,
    pub n_rows: usize,
    pub n_columns: usize,
    pub seed: u64,
    pub seconds: f64,
    pub objective: Option<f64>,
    pub converged: bool,
    pub stopped: bool,
}

impl Run<'_> {
    /// The lines of "What was run"; `more` stands after the data.
    pub fn facts(&self, more: Facts) -> Facts {
        let fact = |name: &str, value: String| (name.to_string(), value);
        let ended = match (self.stopped, self.converged) {
            (true, _) => "stopped early: the best result so far",
            (false, true) => "yes",
            (false, false) => "no",
        };
        let mut facts = vec![
            fact("Command", command_line()),
            fact("Version", format!("madbayes {}", env!("CARGO_PKG_VERSION"))),
            fact(
                "Data",
                format!("{}: {} x {}", self.file, plural(self.n_rows, "row"), plural(self.n_columns, "column")),
            ),
        ];
        facts.extend(more);
        facts.extend(self.objective.map(|objective| fact("Objective", number(objective))));
        facts.push(fact("Converged", ended.into()));
        facts.push(fact("Seed", self.seed.to_string()));
        facts.push(fact("Time", format!("{:.3} s", self.seconds)));
        facts
    }

    /// "Clusters of flowers.csv".
    pub fn title(&self, groups: &str) -> String {
        let name = std::path::Path::new(self.file).file_name().map(|name| name.to_string_lossy().into_owned());
        match self.file {
            "-" => format!("{groups} of standard input"),
            file => format!("{groups} of {}", name.unwrap_or_else(|| file.to_string())),
        }
    }
}

/// The command as it was typed, in quotes where a shell would need them.
fn command_line() -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./=,:+%@".contains(c);
    let quoted = |word: String| match word.chars().all(plain) && !word.is_empty() {
        true => word,
        false => format!("'{}'", word.replace('\'', "'\\''")),
    };
    let words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
    let program = std::iter::once("madbayes".to_string());
    program.chain(words.skip(1).map(quoted)).collect::<Vec<_>>().join(" ")
}

/// How rows of a table are called.
pub fn row_names(numbers: Option<&[usize]>) -> RowNames<'_> {
    numbers.map_or(RowNames::Counted, RowNames::Numbers)
}

/// A label column as an overview takes it.
pub fn truth(labels: Option<&Labels>) -> Option<(&str, &[String])> {
    labels.map(|labels| (labels.name.as_str(), labels.values.as_slice()))
}
