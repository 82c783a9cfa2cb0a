//! The options of `madbayes buffet`.

use super::{InputArguments, OutputArguments, PreparationArguments, WorkArguments, whole_number};
use crate::read::scale::Scale;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum BuffetStartName {
    /// At the features of BP-means
    BpMeans,
    /// With one feature that all rows share
    One,
    /// At random
    Random,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  madbayes buffet table.csv
  madbayes buffet table.csv --sweeps 5000 --chains 4 --format json
  madbayes buffet pictures/ --scale 40 --center --pca 50 --start one

Rows are sums of features and noise; the features of a row follow an Indian buffet process. What is not given is drawn anew in
every sweep. The result is the state of highest probability, with traces that show how far to trust it.")]
pub struct BuffetArguments {
    /// Mass: the expected number of features of a row [default: drawn]
    #[arg(long, value_name = "G", allow_negative_numbers = true)]
    pub mass: Option<f64>,
    /// Variance of a row about the sum of its features [default: drawn]
    #[arg(long, value_name = "S2", allow_negative_numbers = true)]
    pub noise: Option<f64>,
    /// Variance of the features about 0 [default: drawn]
    #[arg(long, value_name = "R2", allow_negative_numbers = true)]
    pub feature_scale: Option<f64>,
    /// Keep the features' values in the state instead of integrating them out
    #[arg(long)]
    pub uncollapsed: bool,
    /// Sweeps of each chain, burn-in included
    #[arg(long, value_name = "N", default_value_t = 1000, allow_negative_numbers = true, value_parser = whole_number)]
    pub sweeps: usize,
    /// First sweeps that are not kept [default: half of them]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub burn_in: Option<usize>,
    /// Number of chains
    #[arg(long, value_name = "N", default_value_t = 2, allow_negative_numbers = true, value_parser = whole_number)]
    pub chains: usize,
    /// Where chains begin
    #[arg(long, value_enum, default_value = "bp-means")]
    pub start: BuffetStartName,

    #[command(flatten)]
    pub input: InputArguments,
    /// Make pictures smaller: a width in pixels, or a share of the width
    #[arg(long, value_name = "WIDTH|SHARE", help_heading = "Input", allow_negative_numbers = true)]
    pub scale: Option<Scale>,
    #[command(flatten)]
    pub preparation: PreparationArguments,
    #[command(flatten)]
    pub work: WorkArguments,
    #[command(flatten)]
    pub output: OutputArguments,

    /// Write the model of the best state, for `madbayes assign`
    #[arg(long, value_name = "M.json", help_heading = "Output")]
    pub model: Option<PathBuf>,
    /// Write a page to look at in any browser; it needs no network
    #[arg(long, value_name = "R.html", help_heading = "Output")]
    pub report: Option<PathBuf>,
    /// Write pictures (SVG) of the traces into this folder
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub plots: Option<PathBuf>,
}
