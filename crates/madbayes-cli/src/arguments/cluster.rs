//! The options of `madbayes cluster`.

use super::{InputArguments, OutputArguments, WorkArguments, whole_number};
use crate::cluster_covariance::PriorArgument;
use crate::penalty::ClusterPenalty;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum AlgorithmName {
    /// All rows at once; opens, deletes, merges, splits and swaps clusters
    Parallel,
    /// Row after row, as Kulis & Jordan have it
    Serial,
    /// Row after row, the means following every move
    Collapsed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CovarianceName {
    /// Round, and of equal spread
    Spherical,
    /// Any ellipse, each its own
    Full,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DivergenceName {
    /// By squared distance
    Euclidean,
    /// By the divergence of their shares, for counts
    KullbackLeibler,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum StartName {
    /// Seeds drawn far from each other, as long as they pay for their penalty
    #[value(name = "++")]
    PlusPlus,
    /// One cluster at the mean of all rows
    Mean,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  madbayes cluster flowers.csv --exclude species
  madbayes cluster flowers.csv --penalty 20
  madbayes cluster flowers.csv --penalty validation
  madbayes cluster flowers.csv --clusters 3 --label-column species --standardize
  madbayes cluster menu.csv --exclude category,item --standardize --clusters 9 --out labels.csv
  madbayes cluster points.npy --penalty 300 --format json > clusters.json
  cat flowers.csv | madbayes cluster - --penalty 20 --model flowers.json --plots pictures
  madbayes cluster strips.csv --covariance full --covariance-prior strip.csv
  madbayes cluster strips.csv --covariance full --covariance-prior 0.25 --covariance-penalty 50 --penalty 50
  madbayes cluster texts.npz --divergence kullback-leibler

Without --penalty and --clusters the data choose: the number of clusters that stays optimal over the widest range of penalties for
its size, or one cluster where data without structure would show the like. `madbayes path` shows what else they could have chosen.
--penalty validation takes the largest number of clusters that one half of the rows predicts in the other half;
--penalty farthest-first:8 a penalty for about 8 clusters (Kulis & Jordan 2012).

--covariance full is for clusters that are not round. Say what one looks like: --covariance-prior takes the covariance you expect
within a cluster, as a variance (0.25: a standard deviation of 0.5 in every column, after --standardize if that is given) or as a file
with a line for each column. For strips of standard deviation 4 along x and 0.2 along y, strip.csv is
  16,0
  0,0.04
Without it the covariance is guessed from round clusters, and long ones are usually not found. --covariance-prior 0 learns the
covariances from the rows alone; it needs --clusters, and every cluster must have spread in every direction. --covariances holds them
fixed: one for all clusters, whose number is then free, or one for each.

--divergence kullback-leibler is for counts, such as words in texts: rows are compared by their shares. NPZ files of scipy.sparse (CSR)
are read without filling up their zeros.")]
pub struct ClusterArguments {
    /// The price of one more cluster (lambda squared), in squared-distance units, or how to choose it: auto, validation or
    /// farthest-first:K [default: auto]
    #[arg(long, value_name = "X", conflicts_with = "clusters", allow_negative_numbers = true)]
    pub penalty: Option<ClusterPenalty>,
    /// Exactly this many clusters; reports the penalties for which that is optimal
    #[arg(long, value_name = "K", allow_negative_numbers = true, value_parser = whole_number)]
    pub clusters: Option<usize>,
    /// Never more clusters than this
    #[arg(long, value_name = "K", conflicts_with = "clusters", allow_negative_numbers = true, value_parser = whole_number)]
    pub max_clusters: Option<usize>,
    /// The shape of clusters
    #[arg(long, value_enum, default_value = "spherical")]
    pub covariance: CovarianceName,
    /// How firmly covariances keep to what is expected, in rows: about the size of a cluster [default: a guess]
    #[arg(long, value_name = "C", allow_negative_numbers = true)]
    pub covariance_penalty: Option<f64>,
    /// The covariance expected within a cluster: a variance, or a file with a D x D matrix; 0: none [default: a guess]
    #[arg(long, value_name = "V|FILE", allow_negative_numbers = true)]
    pub covariance_prior: Option<PriorArgument>,
    /// Known covariances, held fixed: a file with a D x D matrix for all clusters, or with one below the other for each
    #[arg(long, value_name = "FILE", conflicts_with_all = ["covariance_prior", "covariance_penalty"])]
    pub covariances: Option<PathBuf>,
    /// How rows are compared with the centre of their cluster
    #[arg(long, value_enum, default_value = "euclidean")]
    pub divergence: DivergenceName,
    /// How the objective is lowered [default: parallel; with --covariance full: collapsed]
    #[arg(long, value_enum)]
    pub algorithm: Option<AlgorithmName>,
    /// Where a run begins
    #[arg(long, value_enum, default_value = "++")]
    pub start: StartName,
    /// Number of runs, the best is kept [default: many for tiny data, one for large]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole_number)]
    pub restarts: Option<usize>,
    /// Most passes over the data of one run
    #[arg(long, value_name = "N", default_value_t = 300, allow_negative_numbers = true, value_parser = whole_number)]
    pub max_passes: usize,
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
    /// Write a page to look at in any browser, with a slider over the penalties; it needs no network
    #[arg(long, value_name = "R.html", help_heading = "Output")]
    pub report: Option<PathBuf>,
    /// Write pictures (SVG) into this folder
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub plots: Option<PathBuf>,
}
