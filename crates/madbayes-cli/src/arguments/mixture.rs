//! The options of `madbayes mixture`.

use super::{InputArguments, OutputArguments, WorkArguments, whole_number};
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use std::str::FromStr;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LikelihoodName {
    /// Clusters are ellipses, each its own
    Gaussian,
    /// The same along the columns: each column has a variance in each cluster
    Diagonal,
    /// Clusters are round, of one known variance
    Spherical,
    /// Rows are counts, clusters differ in their shares
    Multinomial,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum MixturePriorName {
    /// Any number of clusters, or at most --max-clusters
    DirichletProcess,
    /// --max-clusters components, some of which may stay empty
    Finite,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FactorName {
    /// exp(-2 max(1 - y f, 0)), f the value at a row and y = 1 inside the cluster, -1 outside
    Svm,
    /// 1 / (1 + exp(-y f))
    Logistic,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum NewClusterName {
    /// The law of an empty cluster's hyperplane: a joint distribution is left invariant
    Exact,
    /// The prior, as published: none is left invariant
    Paper,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum MixtureStartName {
    /// At the clusters of DP-means
    DpMeans,
    /// With all rows in one cluster
    One,
    /// At random
    Random,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LossName {
    /// What two partitions do not tell of each other
    VariationOfInformation,
    /// Pairs of rows that are together in one and apart in the other
    Binder,
}

/// What `--prior-scale` takes.
#[derive(Debug, Clone, PartialEq)]
pub enum ScaleArgument {
    /// One number for all columns, or one for each.
    Numbers(Vec<f64>),
    /// A file with a D x D matrix.
    File(PathBuf),
}

impl FromStr for ScaleArgument {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split(',').map(|part| part.trim().parse()).collect::<Result<Vec<f64>, _>>() {
            Ok(numbers) if numbers.iter().all(|x| x.is_finite() && *x > 0.0) => Ok(ScaleArgument::Numbers(numbers)),
            Ok(_) => Err("it must be a positive number, one for each column (1,0.5), or a file with a matrix".into()),
            Err(_) => Ok(ScaleArgument::File(text.into())),
        }
    }
}

/// Several numbers as the user writes them.
#[derive(Debug, Clone, PartialEq)]
pub struct Numbers(pub Vec<f64>);

impl FromStr for Numbers {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers: Result<Vec<f64>, _> = text.split(',').map(|part| part.trim().parse()).collect();
        numbers.map(Numbers).map_err(|_| "it must be one number for each column, such as 0,1.5,-2".into())
    }
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  madbayes mixture flowers.csv --exclude species
  madbayes mixture flowers.csv --label-column species --standardize --chains 4 --out labels.csv
  madbayes mixture galaxies.csv --prior-scale 1 --plots pictures --draws draws.csv
  madbayes mixture points.csv --likelihood spherical --variance 0.25 --concentration 1
  madbayes mixture texts.npz --likelihood multinomial --pseudocount 0.1
  madbayes mixture flowers.csv --exclude species --discriminative logistic
  madbayes mixture flowers.csv --exclude species --sweeps 500 --save-state run.json
  madbayes mixture flowers.csv --resume run.json --sweeps 1000 --save-state run.json

A Dirichlet process mixture: the number of clusters is not given, and the answer says how sure it is. Chains draw partitions of the
rows from their posterior; the result is the partition of least expected loss, with the share of sweeps for each number of clusters.
Chains that agree have an R-hat near 1; above 1.1 run longer.

What the prior expects within a cluster decides how fine clusters are. Without --prior-scale or --variance it is guessed from DP-means:
say it where you know it (in the units after --standardize). With the default --prior-dof, --prior-scale is the covariance expected
within a cluster: a variance (0.25: a standard deviation of 0.5), one for each column, or for gaussian a file with a line for each column.

--sweeps counts from the beginning: a run of 500 taken up with --resume and --sweeps 1000 does 500 more, and is the run of 1000, bit
for bit. Data and columns must be the same; what the run was begun with need not be said again.

--draws writes a line for each draw kept: chain, sweep, n_clusters, log_joint, concentration, and row_1, row_2, ... with the cluster
of each row. Numbers of clusters mean nothing across draws.")]
pub struct MixtureArguments {
    /// The rows of a cluster [default: gaussian]
    #[arg(long, value_enum)]
    pub likelihood: Option<LikelihoodName>,
    /// How rows fall into clusters before they are seen [default: dirichlet-process]
    #[arg(long = "prior", value_enum)]
    pub partitions: Option<MixturePriorName>,
    /// alpha of the Chinese restaurant process: the higher, the more clusters [default: drawn, with a Gamma(1, 1) prior]
    #[arg(long, value_name = "A", allow_negative_numbers = true)]
    pub concentration: Option<f64>,
    /// Never more clusters than this
    #[arg(long, value_name = "K", allow_negative_numbers = true, value_parser = whole_number)]
    pub max_clusters: Option<usize>,
    /// What the answer has least of, over the draws [default: variation-of-information]
    #[arg(long, value_enum)]
    pub loss: Option<LossName>,
    /// Take the mean away and divide every column by its standard deviation first
    #[arg(long, alias = "standardise")]
    pub standardize: bool,

    #[command(flatten)]
    pub prior: PriorArguments,
    #[command(flatten)]
    pub separation: SeparationArguments,
    #[command(flatten)]
    pub chains: ChainArguments,
    #[command(flatten)]
    pub input: InputArguments,
    #[command(flatten)]
    pub work: WorkArguments,
    #[command(flatten)]
    pub output: OutputArguments,

    /// Write every draw as CSV
    #[arg(long, value_name = "DRAWS.csv", help_heading = "Output")]
    pub draws: Option<PathBuf>,
    /// Write the model, for `madbayes assign`
    #[arg(long, value_name = "M.json", help_heading = "Output")]
    pub model: Option<PathBuf>,
    /// Write a page to look at in any browser; it needs no network
    #[arg(long, value_name = "R.html", help_heading = "Output")]
    pub report: Option<PathBuf>,
    /// Write pictures (SVG) of clusters, traces and the number of clusters into this folder
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub plots: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Prior")]
pub struct PriorArguments {
    /// Mean of the clusters' means, one number for each column [default: the mean of the rows]
    #[arg(long, value_name = "X,Y", allow_hyphen_values = true)]
    pub prior_mean: Option<Numbers>,
    /// gaussian, diagonal: how many rows the prior mean is worth [default: 0.01]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub prior_strength: Option<f64>,
    /// gaussian, diagonal: how many rows the prior scale is worth; more keep small clusters from breaking away [default: columns + 2
    /// for a given scale, 3 x columns + 2 for a guessed one; for diagonal 3 and 5]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub prior_dof: Option<f64>,
    /// gaussian, diagonal: covariance expected within a cluster, times (dof - columns - 1), for diagonal (dof - 2) [default: that
    /// within the clusters of DP-means]
    #[arg(long, value_name = "V|V,W|FILE", allow_hyphen_values = true)]
    pub prior_scale: Option<ScaleArgument>,
    /// spherical: variance within a cluster, in every column [default: that within the clusters of DP-means]
    #[arg(long, value_name = "V", allow_negative_numbers = true)]
    pub variance: Option<f64>,
    /// spherical: variance of the clusters' means [default: the mean variance of the columns]
    #[arg(long, value_name = "V", allow_negative_numbers = true)]
    pub prior_variance: Option<f64>,
    /// multinomial: added to every count of a cluster [default: 0.01]
    #[arg(long, value_name = "A", allow_negative_numbers = true)]
    pub pseudocount: Option<f64>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Separation")]
pub struct SeparationArguments {
    /// Draw a hyperplane with every cluster or state that keeps all other rows on its far side
    #[arg(long, value_enum)]
    pub discriminative: Option<FactorName>,
    /// Prior variance of a hyperplane's coefficients: the higher, the stronger the separation [default: 1]
    #[arg(long, value_name = "W", allow_negative_numbers = true, requires = "discriminative")]
    pub discriminative_scale: Option<f64>,
    /// Where the hyperplane of a new cluster or state comes from [default: exact]
    #[arg(long, value_enum, requires = "discriminative")]
    pub new_cluster: Option<NewClusterName>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Chains")]
pub struct ChainArguments {
    /// Sweeps of each chain, burn-in and those before --resume included [default: 1000]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = at_least_one)]
    pub sweeps: Option<usize>,
    /// First sweeps that are not kept [default: half of them]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = some_number)]
    pub burn_in: Option<usize>,
    /// Every how many sweeps after that a draw is kept [default: 5]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole_number)]
    pub thin: Option<usize>,
    /// Number of chains [default: 2]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole_number)]
    pub chains: Option<usize>,
    /// Where chains begin [default: dp-means]
    #[arg(long, value_enum)]
    pub start: Option<MixtureStartName>,
    /// Proposals after each sweep to split or merge clusters; 0: rows only move one by one [default: 3]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = some_number)]
    pub split_merge: Option<usize>,
    /// Write where the chains stand, to go on with --resume; also when interrupted
    #[arg(long, value_name = "S.json")]
    pub save_state: Option<PathBuf>,
    /// Go on with the chains that --save-state wrote
    #[arg(long, value_name = "S.json")]
    pub resume: Option<PathBuf>,
}

/// A count of at least 1, as the user writes it.
pub fn at_least_one(text: &str) -> Result<usize, String> {
    whole_number(text).ok().filter(|&n| n > 0).ok_or("it must be a whole number of at least 1, such as 1000".into())
}

/// A count that may be 0, as the user writes it.
pub fn some_number(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| "it must be a whole number of at least 0, such as 100".to_string())
}
