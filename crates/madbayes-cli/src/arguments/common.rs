//! Options that several commands take.

use clap::{Args, ValueEnum};
use std::path::PathBuf;
use std::str::FromStr;

/// A count as the user writes it.
pub fn whole_number(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| "it must be a whole number of at least 1, such as 3".to_string())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people
    Text,
    /// For programs
    Json,
}

/// Principal components as the user writes them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Pca {
    Number(usize),
    Share(f64),
}

impl FromStr for Pca {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let share = match text.strip_suffix('%') {
            Some(percent) => percent.trim().parse::<f64>().ok().map(|percent| percent / 100.0),
            None => text.parse::<f64>().ok(),
        };
        match (text.parse::<usize>(), share) {
            (Ok(number), _) if number > 0 => Ok(Pca::Number(number)),
            (Err(_), Some(share)) if share > 0.0 && share <= 1.0 => Ok(Pca::Share(share)),
            _ => {
                Err("it must be a number of components of at least 1, such as 100, or a share of the variance above 0 \
                      and at most 1, such as 0.95 or 95%"
                    .into())
            }
        }
    }
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Preparation")]
pub struct PreparationArguments {
    /// Take the mean of all rows away first
    #[arg(long, alias = "centre")]
    pub center: bool,
    /// Take the mean away and divide every column by its standard deviation first
    #[arg(long, alias = "standardise")]
    pub standardize: bool,
    /// Keep this many principal components, or this share of the variance; features are given in the original columns
    #[arg(long, value_name = "N|SHARE", allow_negative_numbers = true)]
    pub pca: Option<Pca>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Input")]
pub struct InputArguments {
    /// CSV, NPY, NPZ or Parquet file; - is standard input. `madbayes features` also takes a folder of pictures
    #[arg(value_name = "FILE", help_heading = None)]
    pub file: String,
    /// Use only these columns
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub columns: Option<Vec<String>>,
    /// Leave these columns out
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub exclude: Vec<String>,
    /// Compare the result with this column, and leave it out of the data
    #[arg(long, value_name = "NAME")]
    pub label_column: Option<String>,
    /// Leave out rows with missing cells
    #[arg(long)]
    pub drop_missing: bool,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Work")]
pub struct WorkArguments {
    /// Seed of all random choices: the same seed gives the same bits
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// Threads; the result does not depend on it [default: one per processor]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub threads: usize,
    /// Stop after this many seconds with the best result so far
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true)]
    pub time_limit: Option<f64>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub struct OutputArguments {
    /// Write the cluster, the features or the state of every row as CSV; - is standard output
    #[arg(long, value_name = "LABELS.csv")]
    pub out: Option<PathBuf>,
    /// Form of the result on standard output
    #[arg(long, value_enum, default_value = "text")]
    pub format: Format,
    /// No progress, no hints
    #[arg(long, short)]
    pub quiet: bool,
}
