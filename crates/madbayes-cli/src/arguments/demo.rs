//! The options of `madbayes demo`.

use clap::{Args, ValueEnum};
use std::path::PathBuf;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DemoName {
    /// Points in six clusters
    Clusters,
    /// Pictures of a table: the experiment of the MAD-Bayes paper
    Features,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  madbayes demo\n  madbayes demo --only features --dir /tmp/demo")]
pub struct DemoArguments {
    /// Only this half
    #[arg(long, value_enum)]
    pub only: Option<DemoName>,
    /// Folder for the files madbayes-demo*
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub dir: PathBuf,
    /// Seed of the data
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
}
