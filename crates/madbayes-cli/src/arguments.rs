//! The command line, from which help, completions and the man page are made.

use crate::cluster_covariance::PriorArgument;
use crate::path::PathArguments;
use crate::penalty::ClusterPenalty;
use crate::read::scale::Scale;
use crate::states::StatesArguments;
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;
use std::str::FromStr;

/// How many clusters or overlapping features there are, and which rows have which.
#[derive(Debug, Parser)]
#[command(name = "madbayes", version, max_term_width = 100, arg_required_else_help = true)]
#[command(after_help = "Examples:
  madbayes demo
  madbayes cluster flowers.csv --label-column species
  madbayes path flowers.csv --exclude species
  madbayes cluster data.npy --clusters 8 --out labels.csv --model model.json
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

/// A count as the user writes it.
pub fn whole_number(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| "it must be a whole number of at least 1, such as 3".to_string())
}

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

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people
    Text,
    /// For programs
    Json,
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
Without it the covariance is guessed from round clusters, and long ones are usually not found.

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
    /// The covariance expected within a cluster: a variance, or a file with a D x D matrix [default: a guess]
    #[arg(long, value_name = "V|FILE", allow_negative_numbers = true)]
    pub covariance_prior: Option<PriorArgument>,
    /// How rows are compared with the centre of their cluster
    #[arg(long, value_enum, default_value = "euclidean")]
    pub divergence: DivergenceName,
    /// How the objective is lowered
    #[arg(long, value_enum, default_value = "parallel")]
    pub algorithm: AlgorithmName,
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
    /// Write pictures (SVG) into this folder
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub plots: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  madbayes assign --model flowers.json new.csv
  madbayes assign --model flowers.json new.csv --out labels.csv
  madbayes assign --model flowers.json - --format json < new.csv
  madbayes assign --model table.json new-pictures/
  madbayes assign --model walk.json new.csv --sequence-column person

Rows that fit nowhere are those for which a cluster of their own would cost less than joining the nearest.")]
pub struct AssignArguments {
    /// The model that `madbayes cluster`, `features` or `states` wrote with --model
    #[arg(long, value_name = "M.json")]
    pub model: PathBuf,
    /// For a model of states: the column that says which sequence a row belongs to
    #[arg(long, value_name = "NAME")]
    pub sequence_column: Option<String>,
    #[command(flatten)]
    pub input: InputArguments,
    /// Threads [default: one per processor]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true, help_heading = "Work")]
    pub threads: usize,
    #[command(flatten)]
    pub output: OutputArguments,
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
    /// Write pictures (PNG, SVG) into this folder
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub plots: Option<PathBuf>,
}

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
    /// Write pictures (SVG) of the traces into this folder
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub plots: Option<PathBuf>,
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
