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

Rows that fit nowhere are those for which a cluster of their own would cost less than joining the nearest.")]
pub struct AssignArguments {
    /// The model that `madbayes cluster --model` or `madbayes features --model` wrote
    #[arg(long, value_name = "M.json")]
    pub model: PathBuf,
    #[command(flatten)]
    pub input: InputArguments,
    /// Threads [default: one per processor]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true, help_heading = "Work")]
    pub threads: usize,
    #[command(flatten)]
    pub output: OutputArguments,
}
