//! The options of `madbayes assign`.

use super::{InputArguments, OutputArguments};
use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  madbayes assign --model flowers.json new.csv
  madbayes assign --model flowers.json new.csv --out labels.csv
  madbayes assign --model flowers.json - --format json < new.csv
  madbayes assign --model table.json new-pictures/
  madbayes assign --model walk.json new.csv --sequence-column person

Rows that fit nowhere are those for which a cluster of their own would cost less than joining the nearest. With a mixture, every row
has the log of its density instead.")]
pub struct AssignArguments {
    /// The model that `madbayes cluster`, `mixture`, `features` or `states` wrote with --model
    #[arg(long, value_name = "M.json")]
    pub model: PathBuf,
    /// For a model of states: the column that says which sequence a row belongs to
    #[arg(long, value_name = "NAME")]
    pub sequence_column: Option<String>,
    #[command(flatten)]
    pub input: InputArguments,
    /// Threads [default: one per processor]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true, help_heading = "Work")]
    pub threads: usize,
    #[command(flatten)]
    pub output: OutputArguments,
}
