//! The command line, from which help, completions and the man page are made.

mod assign;
mod buffet;
mod cluster;
mod common;
mod demo;
mod draw;
mod features;
mod mixture;

pub use assign::AssignArguments;
pub use buffet::{BuffetArguments, BuffetStartName};
pub use cluster::{AlgorithmName, ClusterArguments, CovarianceName, DivergenceName, StartName};
pub use common::{Format, InputArguments, OutputArguments, Pca, PreparationArguments, WorkArguments, whole_number};
pub use demo::{DemoArguments, DemoName};
pub use draw::{BaseName, CrpArguments, DrawArguments, IbpArguments, PolyaUrnArguments, Prior};
pub use features::{FeatureAlgorithmName, FeatureArguments, FeatureStartName, Penalty, RowSolverName};
pub use mixture::{
    FactorName, LikelihoodName, LossName, MixtureArguments, MixturePriorName, MixtureStartName, NewClusterName,
    Numbers, PriorArguments, ScaleArgument, SeparationArguments, at_least_one, some_number,
};

use crate::path::PathArguments;
use crate::states::StatesArguments;
use clap::{Parser, Subcommand};
use std::path::PathBuf;

/// How many clusters or overlapping features there are, and which rows have which.
#[derive(Debug, Parser)]
#[command(name = "madbayes", version, max_term_width = 100, arg_required_else_help = true)]
#[command(after_help = "Examples:
  madbayes demo
  madbayes cluster flowers.csv --label-column species
  madbayes path flowers.csv --exclude species
  madbayes cluster data.npy --clusters 8 --out labels.csv --model model.json
  madbayes mixture flowers.csv --exclude species
  madbayes features pictures/ --plots found
  madbayes assign --model model.json new.csv --out labels.csv")]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Cluster the rows of a table
    Cluster(ClusterArguments),
    /// Show which numbers of clusters are optimal for which penalties, and which number stands out
    Path(PathArguments),
    /// Find overlapping features: each row is a sum of some of them
    Features(FeatureArguments),
    /// Sample clusterings from their posterior, and say how sure they are (Dirichlet process mixture)
    Mixture(Box<MixtureArguments>),
    /// Sample overlapping features from their posterior (Indian buffet process)
    Buffet(BuffetArguments),
    /// Find the hidden states of sequences, and how many there are (infinite hidden Markov model)
    States(StatesArguments),
    /// Assign new rows to the clusters of a saved model, or find their features or states
    Assign(AssignArguments),
    /// Draw from a prior
    Draw(DrawArguments),
    /// Make small data sets, find what is in them, and show what comes out
    Demo(DemoArguments),
    /// Print a completion script for a shell
    #[command(
        after_help = "Example:\n  madbayes completions bash > ~/.local/share/bash-completion/completions/madbayes"
    )]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page, or write one page per command
    #[command(after_help = "Examples:\n  madbayes man | man -l -\n  madbayes man --dir ~/.local/share/man/man1")]
    Man {
        /// Write the pages of all commands into this folder
        #[arg(long, value_name = "DIR")]
        dir: Option<PathBuf>,
    },
}
