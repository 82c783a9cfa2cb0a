//! The options of `madbayes draw`.

use super::{Format, whole_number};
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct DrawArguments {
    #[command(subcommand)]
    pub prior: Prior,
}

#[derive(Debug, Subcommand)]
pub enum Prior {
    /// Chinese restaurant process: a random partition
    #[command(
        after_help = "Examples:\n  madbayes draw crp 1000 --concentration 5\n  madbayes draw crp 50 --seed 7 --format json"
    )]
    Crp(CrpArguments),
    /// Polya urn: a random partition with a colour for each group
    #[command(
        after_help = "Examples:\n  madbayes draw polya-urn 1000 --concentration 50\n  madbayes draw polya-urn 100 --base uniform --format json"
    )]
    PolyaUrn(PolyaUrnArguments),
    /// Indian buffet process: random features of rows, which may overlap
    #[command(
        after_help = "Examples:\n  madbayes draw ibp 30 --mass 4\n  madbayes draw ibp --rows 100 --mass 2 --seed 7 --out features.csv --plots pictures"
    )]
    Ibp(IbpArguments),
}

#[derive(Debug, Args)]
pub struct CrpArguments {
    /// Number of rows (customers, balls)
    #[arg(value_name = "N", value_parser = whole_number)]
    pub rows: usize,
    /// Concentration: the higher, the more groups
    #[arg(long, value_name = "A", default_value_t = 1.0, allow_negative_numbers = true)]
    pub concentration: f64,
    /// Seed of all random choices
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// Form of the result on standard output
    #[arg(long, value_enum, default_value = "text")]
    pub format: Format,
}

#[derive(Debug, Args)]
pub struct PolyaUrnArguments {
    #[command(flatten)]
    pub crp: CrpArguments,
    /// Where the colours come from: standard normal, or uniform on 0 to 1
    #[arg(long, value_enum, default_value = "normal")]
    pub base: BaseName,
}

#[derive(Debug, Args)]
pub struct IbpArguments {
    /// Number of rows (customers)
    #[arg(value_name = "N", value_parser = whole_number, required_unless_present = "rows_option")]
    pub rows: Option<usize>,
    /// The same as an option
    #[arg(long = "rows", value_name = "N", value_parser = whole_number, conflicts_with = "rows")]
    pub rows_option: Option<usize>,
    /// Mass: the expected number of features of a row
    #[arg(long, value_name = "G", default_value_t = 1.0, allow_negative_numbers = true)]
    pub mass: f64,
    /// Seed of all random choices
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// Write the features of every row as CSV; - is standard output
    #[arg(long, value_name = "FEATURES.csv")]
    pub out: Option<PathBuf>,
    /// Write a picture (SVG) into this folder
    #[arg(long, value_name = "DIR")]
    pub plots: Option<PathBuf>,
    /// Form of the result on standard output
    #[arg(long, value_enum, default_value = "text")]
    pub format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum BaseName {
    Normal,
    Uniform,
}
