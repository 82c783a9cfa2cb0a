//! The options of `madbayes features`.

use super::{InputArguments, OutputArguments, PreparationArguments, WorkArguments, whole_number};
use crate::read::scale::Scale;
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use std::str::FromStr;

/// A penalty as the user writes it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Penalty {
    Auto,
    Value(f64),
}

impl FromStr for Penalty {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Penalty::Auto),
            _ => match text.parse::<f64>() {
                Ok(value) if value.is_finite() && value > 0.0 => Ok(Penalty::Value(value)),
                _ => Err("it must be a positive finite number, with a decimal point: the price of one more cluster or feature in \
                          squared-distance units; or give the number itself with --clusters K or --components K"
                    .into()),
            },
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FeatureAlgorithmName {
    /// All rows at once, then the features, in turn
    Alternating,
    /// Row after row, the features following every move
    Collapsed,
    /// One feature more at a time, until it does not pay
    Stepwise,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FeatureStartName {
    /// 0/1 columns near the column space of the data
    Spectral,
    /// A base feature, then residuals drawn at random
    #[value(name = "++")]
    PlusPlus,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RowSolverName {
    /// Exact where the number of features allows
    Auto,
    /// The best of all combinations
    Exact,
    /// By flips of one or two features
    Coordinate,
    /// Each feature once, as published
    Paper,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  madbayes features table.csv --out features.csv
  madbayes features table.csv --penalty 50 --format json
  madbayes features pictures/ --components 5 --scale 80 --plots found --model table.json
  madbayes features pictures/ --center --pca 100 --penalty 30

Every row is a sum of some of the features, and each feature costs the penalty. A folder is read as pictures (JPEG, PNG) of one
size; --plots then writes what each feature adds and takes away, and pictures beside their sums of features.")]
pub struct FeatureArguments {
    /// The price of one more feature (lambda squared), in squared-distance units, or auto [default: auto]
    #[arg(long, value_name = "X", conflicts_with = "components", allow_negative_numbers = true)]
    pub penalty: Option<Penalty>,
    /// Exactly this many features
    #[arg(long, value_name = "K", allow_negative_numbers = true, value_parser = whole_number)]
    pub components: Option<usize>,
    /// Never more features than this
    #[arg(long, value_name = "K", conflicts_with = "components", allow_negative_numbers = true, value_parser = whole_number)]
    pub max_components: Option<usize>,
    /// How the objective is lowered
    #[arg(long, value_enum, default_value = "alternating")]
    pub algorithm: FeatureAlgorithmName,
    /// Where a run begins
    #[arg(long, value_enum, default_value = "spectral")]
    pub start: FeatureStartName,
    /// How the features of one row are found
    #[arg(long, value_enum, default_value = "auto")]
    pub row_solver: RowSolverName,
    /// Do not try starts with a feature that every row has
    #[arg(long)]
    pub no_base: bool,
    /// Number of runs, the best is kept [default: by a budget of work]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole_number)]
    pub restarts: Option<usize>,
    /// Most passes over the data of one run
    #[arg(long, value_name = "N", default_value_t = 300, allow_negative_numbers = true, value_parser = whole_number)]
    pub max_passes: usize,

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

    /// Write the model, for `madbayes assign`
    #[arg(long, value_name = "M.json", help_heading = "Output")]
    pub model: Option<PathBuf>,
    /// Write a page to look at in any browser, with a slider over the penalties; it needs no network
    #[arg(long, value_name = "R.html", help_heading = "Output")]
    pub report: Option<PathBuf>,
    /// Write pictures (PNG, SVG) into this folder
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub plots: Option<PathBuf>,
}
