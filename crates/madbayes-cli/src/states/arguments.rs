//! The arguments of `madbayes states`, and the sampler they ask for.

use crate::arguments::{
    InputArguments, OutputArguments, SeparationArguments, WorkArguments, at_least_one, some_number, whole_number,
};
use crate::resumed::{Said, agree, named};
use anyhow::Result;
use clap::{Args, ValueEnum};
use madbayes::gibbs::{HmmMethod, Schedule};
use madbayes::model::{HmmRun, InfiniteHmm, MixtureLikelihood, MixtureStart, NormalPrior};
use std::path::PathBuf;

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
    /// At the clusters of DP-means, or at random where that leads higher in 20 sweeps
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
  madbayes states walk.csv --discriminative logistic --discriminative-scale 0.5
  madbayes states walk.csv --sweeps 500 --save-state run.json
  madbayes states walk.csv --resume run.json --sweeps 1000 --save-state run.json

Rows are steps in time, one sequence or, with --sequence-column, several: rows of one sequence stand together. --sticky is for states
that last long: the extra share of staying is drawn, or fixed with --sticky=0.8. Letters in the picture are states, in order of first appearance.

--sweeps counts from the beginning: a run of 500 taken up with --resume and --sweeps 1000 does 500 more, and is the run of 1000, bit
for bit. Data, columns and sequences must be the same; what else the run was begun with need not be said again.")]
pub struct StatesArguments {
    /// The column that says which sequence a row belongs to
    #[arg(long, value_name = "NAME")]
    pub sequence_column: Option<String>,
    /// Give staying in a state an extra share: drawn too, or this number above 0 and below 1
    #[arg(long, value_name = "SHARE", num_args = 0..=1, require_equals = true)]
    pub sticky: Option<Option<f64>>,
    /// How the states are redrawn [default: beam]
    #[arg(long, value_enum)]
    pub sampler: Option<SamplerName>,
    /// The rows of a state [default: gaussian]
    #[arg(long, value_enum)]
    pub likelihood: Option<LikelihoodName>,
    /// How alike the rows of the transition matrix are [default: drawn]
    #[arg(long, value_name = "A", allow_negative_numbers = true)]
    pub concentration: Option<f64>,
    /// How evenly states are used [default: drawn]
    #[arg(long, value_name = "G", allow_negative_numbers = true)]
    pub gamma: Option<f64>,
    /// Never more states than this
    #[arg(long, value_name = "K", allow_negative_numbers = true, value_parser = whole_number)]
    pub max_states: Option<usize>,
    /// Sweeps of each chain, burn-in and those before --resume included [default: 1000]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = at_least_one)]
    pub sweeps: Option<usize>,
    /// First sweeps that are not kept [default: half of them]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = some_number)]
    pub burn_in: Option<usize>,
    /// Number of chains [default: 2]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole_number)]
    pub chains: Option<usize>,
    /// Where chains begin [default: dp-means]
    #[arg(long, value_enum)]
    pub start: Option<StatesStartName>,
    /// Proposals after each sweep to split or merge states; 0: states only change by their rows [default: 8]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = some_number)]
    pub split_merge: Option<usize>,
    /// Write where the chains stand, to go on with --resume; also when interrupted
    #[arg(long, value_name = "S.json")]
    pub save_state: Option<PathBuf>,
    /// Go on with the chains that --save-state wrote
    #[arg(long, value_name = "S.json")]
    pub resume: Option<PathBuf>,
    /// Divide every column by its standard deviation first
    #[arg(long, alias = "standardise")]
    pub standardize: bool,

    #[command(flatten)]
    pub separation: SeparationArguments,
    #[command(flatten)]
    pub input: InputArguments,
    #[command(flatten)]
    pub work: WorkArguments,
    #[command(flatten)]
    pub output: OutputArguments,

    /// Write the model, for `madbayes assign`
    #[arg(long, value_name = "M.json", help_heading = "Output")]
    pub model: Option<PathBuf>,
    /// Write a page to look at in any browser; it needs no network
    #[arg(long, value_name = "R.html", help_heading = "Output")]
    pub report: Option<PathBuf>,
    /// Write pictures (SVG) of the states and the traces into this folder
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub plots: Option<PathBuf>,
}

impl StatesArguments {
    /// The parameters of a new run.
    pub fn new_run(&self) -> InfiniteHmm {
        let default = InfiniteHmm::default();
        let sweeps = self.sweeps.unwrap_or(default.schedule.sweeps);
        InfiniteHmm {
            likelihood: match self.likelihood.unwrap_or(LikelihoodName::Gaussian) {
                LikelihoodName::Gaussian => MixtureLikelihood::Full(NormalPrior::default()),
                LikelihoodName::Diagonal => MixtureLikelihood::Diagonal(NormalPrior::default()),
                LikelihoodName::Spherical => MixtureLikelihood::SPHERICAL,
                LikelihoodName::Multinomial => MixtureLikelihood::Multinomial { pseudocount: None },
            },
            concentration: self.concentration,
            gamma: self.gamma,
            sticky: self.sticky.is_some(),
            stickiness: self.sticky.flatten(),
            discriminative: self.separation.term(),
            max_states: self.max_states,
            method: match self.sampler.unwrap_or(SamplerName::Beam) {
                SamplerName::Beam => HmmMethod::Beam,
                SamplerName::Direct => HmmMethod::Direct,
            },
            schedule: Schedule { sweeps, burn_in: self.burn_in.unwrap_or(sweeps / 2), ..default.schedule },
            split_merge: self.split_merge.unwrap_or(default.split_merge),
            chains: self.chains.unwrap_or(default.chains),
            start: match self.start.unwrap_or(StatesStartName::DpMeans) {
                StatesStartName::DpMeans => MixtureStart::DpMeans,
                StatesStartName::One => MixtureStart::One,
                StatesStartName::Random => MixtureStart::Random,
            },
            seed: self.work.seed,
            threads: self.work.threads,
            ..default
        }
    }

    /// The parameters of a run that is gone on with: its own, but for how long, and threads. Refuses options that contradict it.
    pub fn continued(&self, run: &HmmRun) -> Result<InfiniteHmm> {
        let saved = &run.hmm;
        let likelihood = match saved.likelihood {
            MixtureLikelihood::Full(_) => LikelihoodName::Gaussian,
            MixtureLikelihood::Diagonal(_) => LikelihoodName::Diagonal,
            MixtureLikelihood::Spherical { .. } => LikelihoodName::Spherical,
            MixtureLikelihood::Multinomial { .. } => LikelihoodName::Multinomial,
        };
        let sampler = match saved.method {
            HmmMethod::Beam => SamplerName::Beam,
            HmmMethod::Direct => SamplerName::Direct,
        };
        let on = |is: bool| is.then_some("on");
        let said = [
            Said::new("--likelihood", self.likelihood.as_ref().map(named), Some(named(&likelihood))),
            Said::new("--sampler", self.sampler.as_ref().map(named), Some(named(&sampler))),
            Said("--sticky", self.sticky.map(stickiness), saved.sticky.then(|| stickiness(saved.stickiness))),
            Said::new("--concentration", self.concentration, saved.concentration),
            Said::new("--gamma", self.gamma, saved.gamma),
            Said::new("--max-states", self.max_states, saved.max_states),
            Said::new("--chains", self.chains, Some(saved.chains)),
            Said::new("--start", self.start.as_ref().map(named), Some(name_of_start(saved.start))),
            Said::new("--split-merge", self.split_merge, Some(saved.split_merge)),
            // 0 may be the default.
            Said::new("--seed", Some(self.work.seed).filter(|seed| *seed != 0), Some(saved.seed)),
            Said::new("--standardize", on(self.standardize), on(run.standardise.is_some())),
        ];
        agree(said.into_iter().chain(self.separation.said(saved.discriminative)))?;
        let mut schedule = run.schedule_to(self.sweeps.unwrap_or(saved.schedule.sweeps));
        schedule.burn_in = self.burn_in.unwrap_or(schedule.burn_in);
        Ok(InfiniteHmm { schedule, threads: self.work.threads, ..saved.clone() })
    }
}

/// The option's name of a start.
pub fn name_of_start(start: MixtureStart) -> String {
    named(&match start {
        MixtureStart::DpMeans => StatesStartName::DpMeans,
        MixtureStart::One => StatesStartName::One,
        MixtureStart::Random => StatesStartName::Random,
    })
}

/// What --sticky says.
fn stickiness(share: Option<f64>) -> String {
    share.map_or("on".into(), |share| share.to_string())
}
