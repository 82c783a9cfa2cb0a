//! The arguments of `madbayes states`, and the sampler they ask for.

use crate::arguments::{InputArguments, OutputArguments, WorkArguments, whole_number};
use clap::{Args, ValueEnum};
use madbayes::gibbs::{HmmMethod, Schedule};
use madbayes::model::{InfiniteHmm, MixtureLikelihood, MixtureStart, NormalPrior};
use std::path::PathBuf;

/// Every how many sweeps after the burn-in a draw is kept.
const THIN: usize = 5;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SamplerName {
    /// All rows of a sequence at once
    Beam,
    /// Row by row, everything else integrated out
    Direct,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LikelihoodName {
    /// Gaussian, each state with a covariance of its own
    Gaussian,
    /// Gaussian, columns independent
    Diagonal,
    /// Gaussian, one variance for all states and columns
    Spherical,
    /// Counts
    Multinomial,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum StatesStartName {
    /// At the clusters of DP-means
    DpMeans,
    /// With all rows in one state
    One,
    /// At random
    Random,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  madbayes states walk.csv
  madbayes states walk.csv --sequence-column person --sticky --plots pictures
  madbayes states walk.csv --label-column activity --exclude time --sweeps 2000 --format json
  madbayes states words.csv --likelihood multinomial --sampler direct

Rows are steps in time, one sequence or, with --sequence-column, several: rows of one sequence stand together. --sticky is for states
that last long. Letters in the picture are states, in order of first appearance.")]
pub struct StatesArguments {
    /// The column that says which sequence a row belongs to
    #[arg(long, value_name = "NAME")]
    pub sequence_column: Option<String>,
    /// Give staying in a state an extra share, which is drawn too
    #[arg(long)]
    pub sticky: bool,
    /// How the states are redrawn
    #[arg(long, value_enum, default_value = "beam")]
    pub sampler: SamplerName,
    /// The rows of a state
    #[arg(long, value_enum, default_value = "gaussian")]
    pub likelihood: LikelihoodName,
    /// How alike the rows of the transition matrix are [default: drawn]
    #[arg(long, value_name = "A", allow_negative_numbers = true)]
    pub concentration: Option<f64>,
    /// How evenly states are used [default: drawn]
    #[arg(long, value_name = "G", allow_negative_numbers = true)]
    pub gamma: Option<f64>,
    /// Never more states than this
    #[arg(long, value_name = "K", allow_negative_numbers = true, value_parser = whole_number)]
    pub max_states: Option<usize>,
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
    #[arg(long, value_enum, default_value = "dp-means")]
    pub start: StatesStartName,
    /// Divide every column by its standard deviation first
    #[arg(long, alias = "standardise")]
    pub standardize: bool,

    #[command(flatten)]
    pub input: InputArguments,
    #[command(flatten)]
    pub work: WorkArguments,
    #[command(flatten)]
    pub output: OutputArguments,

    /// Write the model, for `madbayes assign`
    #[arg(long, value_name = "M.json", help_heading = "Output")]
    pub model: Option<PathBuf>,
    /// Write pictures (SVG) of the states and the traces into this folder
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub plots: Option<PathBuf>,
}

impl StatesArguments {
    pub fn schedule(&self) -> Schedule {
        Schedule { sweeps: self.sweeps, burn_in: self.burn_in.unwrap_or(self.sweeps / 2), thin: THIN }
    }

    pub fn parameters(&self) -> InfiniteHmm {
        InfiniteHmm {
            likelihood: match self.likelihood {
                LikelihoodName::Gaussian => MixtureLikelihood::Full(NormalPrior::default()),
                LikelihoodName::Diagonal => MixtureLikelihood::Diagonal(NormalPrior::default()),
                LikelihoodName::Spherical => MixtureLikelihood::SPHERICAL,
                LikelihoodName::Multinomial => MixtureLikelihood::Multinomial { pseudocount: None },
            },
            concentration: self.concentration,
            gamma: self.gamma,
            sticky: self.sticky,
            max_states: self.max_states,
            method: match self.sampler {
                SamplerName::Beam => HmmMethod::Beam,
                SamplerName::Direct => HmmMethod::Direct,
            },
            schedule: self.schedule(),
            chains: self.chains,
            start: match self.start {
                StatesStartName::DpMeans => MixtureStart::DpMeans,
                StatesStartName::One => MixtureStart::One,
                StatesStartName::Random => MixtureStart::Random,
            },
            seed: self.work.seed,
            threads: self.work.threads,
            ..InfiniteHmm::default()
        }
    }
}
