//! The command line of `madbayes path`.

use crate::arguments::{Format, InputArguments, WorkArguments, whole_number};
use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  madbayes path flowers.csv --exclude species
  madbayes path flowers.csv --label-column species --standardize --plots pictures
  madbayes path points.npy --max-groups 30 --out path.csv
  madbayes path points.npy --least-penalty 50 --format json
  madbayes path traits.csv --features

Each number of clusters is optimal for the penalties of one interval, or for none. Its persistence is log(high/low): by how much
the penalty can change without changing the number. The number with the highest sqrt(K) x persistence is chosen, if data without
structure would not show the like; else one cluster. Without --max-groups and --least-penalty it is the choice that
`madbayes cluster` makes, or `madbayes features` with --features: there the path begins with no feature at all.")]
pub struct PathArguments {
    /// Numbers of overlapping features instead of clusters
    #[arg(long)]
    pub features: bool,
    /// Numbers of groups up to this one [default: as many as the choice needs, of clusters at most 120 unless there clearly are
    /// more, of features at most 12]
    #[arg(long, value_name = "K", allow_negative_numbers = true, value_parser = whole_number)]
    pub max_groups: Option<usize>,
    /// Only numbers of groups that are optimal for some penalty above this one
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    pub least_penalty: Option<f64>,
    /// Divide every column by its standard deviation first
    #[arg(long, alias = "standardise")]
    pub standardize: bool,

    #[command(flatten)]
    pub input: InputArguments,
    #[command(flatten)]
    pub work: WorkArguments,

    /// Write the whole path as CSV; - is standard output
    #[arg(long, value_name = "PATH.csv", help_heading = "Output")]
    pub out: Option<PathBuf>,
    /// Form of the result on standard output
    #[arg(long, value_enum, default_value = "text", help_heading = "Output")]
    pub format: Format,
    /// No progress, no hints
    #[arg(long, short, help_heading = "Output")]
    pub quiet: bool,
    /// Write a page to look at in any browser, with a slider over the penalties; it needs no network
    #[arg(long, value_name = "R.html", help_heading = "Output")]
    pub report: Option<PathBuf>,
    /// Write pictures (SVG) into this folder
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub plots: Option<PathBuf>,
}
