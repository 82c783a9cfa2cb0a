//! `madbayes mixture`: clusterings sampled from their posterior, the answer they give, and how far to trust it.

mod files;
mod json;
mod page;
mod parameters;
mod pictures;
mod report;

use crate::agreement::Agreement;
use crate::arguments::{LikelihoodName, MixtureArguments};
use crate::cluster::{selection, write};
use crate::convergence::LARGEST_R_HAT;
use crate::output::{check_targets, hint, make_folder, to_file, to_whole_file};
use crate::read::{Input, Labels, Selection, Values, read, read_counts};
use crate::redundancy;
use crate::resumed::check_columns;
use crate::watching::Watching;
use anyhow::{Context, Result};
use madbayes::data::{Data, Real, Rows};
use madbayes::gibbs::Chain;
use madbayes::model::{DpMixture, MixtureFit, MixtureRows, MixtureRun};
use madbayes::prepare::Standardise;
use madbayes::structure::CompactPartition;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

pub fn run(arguments: &MixtureArguments) -> Result<()> {
    let (file, resume) = (Path::new(&arguments.input.file), arguments.chains.resume.as_deref());
    let results = [&arguments.model, &arguments.output.out, &arguments.draws, &arguments.report];
    let results: Vec<&Path> = results.into_iter().flatten().map(|path| path.as_path()).collect();
    check_targets(&[file], results.iter().copied().chain(arguments.chains.save_state.as_deref()))?;
    // A state may replace the one it went on from, other results may not.
    check_targets(resume.as_slice(), results)?;
    let earlier = resume.map(read_run).transpose()?;
    let saved = earlier.as_ref().map(|run| parameters::name_of(&run.mixture.likelihood));
    let likelihood = saved.or(arguments.likelihood).unwrap_or(LikelihoodName::Gaussian);
    parameters::check_options(arguments, likelihood)?;
    let selection = selection_of(arguments, earlier.as_ref());
    let input = Input::from_argument(&arguments.input.file);
    if likelihood == LikelihoodName::Multinomial {
        let table = read_counts(&input, &selection)?;
        give_hints(arguments, &table.hints);
        let job = Job {
            arguments,
            names: &table.names,
            labels: table.labels.as_ref(),
            row_numbers: table.row_numbers.as_deref(),
            dropped: table.dropped,
        };
        return job.sample::<f64>(likelihood, MixtureRows::Counts(&table.counts), None, earlier);
    }
    let table = read(&input, &selection)?;
    give_hints(arguments, &table.hints);
    let job = Job {
        arguments,
        names: &table.names,
        labels: table.labels.as_ref(),
        row_numbers: table.row_numbers.as_deref(),
        dropped: table.dropped,
    };
    match &table.values {
        Values::F32(values) => job.prepare(likelihood, values, earlier),
        Values::F64(values) => job.prepare(likelihood, values, earlier),
    }
}

fn read_run(path: &Path) -> Result<MixtureRun> {
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    MixtureRun::from_bytes(&bytes).with_context(|| format!("{}", path.display()))
}

/// The columns and rows that the arguments name; the columns of an earlier run where they name none.
fn selection_of(arguments: &MixtureArguments, earlier: Option<&MixtureRun>) -> Selection {
    let input = &arguments.input;
    let known = earlier.filter(|_| input.exclude.is_empty()).map(|run| run.columns.clone());
    selection(input, input.columns.clone().or(known))
}

/// Whether the spread of every cluster is its own, and so depends on columns without any.
fn learns_spread(likelihood: LikelihoodName) -> bool {
    matches!(likelihood, LikelihoodName::Gaussian | LikelihoodName::Diagonal)
}

fn give_hints(arguments: &MixtureArguments, hints: &[String]) {
    // A gaussian is as good in any units but for its start and its guesses; counts have one unit.
    let settled = arguments.standardize
        || arguments.chains.resume.is_some()
        || arguments.likelihood == Some(LikelihoodName::Multinomial);
    if !arguments.output.quiet {
        hints.iter().filter(|h| !(settled && h.contains("--standardize"))).for_each(|h| hint(h));
    }
}

/// What is asked for, and what is known of the rows beside their numbers.
struct Job<'a> {
    arguments: &'a MixtureArguments,
    names: &'a [String],
    labels: Option<&'a Labels>,
    row_numbers: Option<&'a [usize]>,
    dropped: usize,
}

impl Job<'_> {
    fn prepare<T: Real>(&self, likelihood: LikelihoodName, values: &[T], earlier: Option<MixtureRun>) -> Result<()> {
        let n_columns = self.names.len();
        let rows = Rows::new(values, n_columns)?;
        let standardise = match &earlier {
            // Other columns are refused later, with better words.
            Some(run) => run.standardise.clone().filter(|s| s.means.len() == n_columns),
            None if self.arguments.standardize => Some(Standardise::fit(&Data::new(rows)?)),
            None => None,
        };
        let prepared = standardise.as_ref().map(|s| s.apply(rows)).transpose()?;
        let data = Data::new(Rows::new(prepared.as_deref().unwrap_or(values), n_columns)?)?;
        if learns_spread(likelihood) && earlier.is_none() && !self.arguments.output.quiet {
            redundancy::hints(&data, self.names).iter().for_each(|text| hint(text));
        }
        self.sample(likelihood, MixtureRows::Dense(&data), standardise, earlier)
    }

    fn sample<T: Real>(
        &self,
        likelihood: LikelihoodName,
        rows: MixtureRows<T>,
        standardise: Option<Standardise>,
        earlier: Option<MixtureRun>,
    ) -> Result<()> {
        let (arguments, quiet) = (self.arguments, self.arguments.output.quiet);
        let mixture = match &earlier {
            Some(run) => {
                check_columns(&run.columns, self.names)?;
                parameters::continued(arguments, run)?
            }
            None => parameters::new_run(arguments, likelihood, self.names.len())?,
        };
        arguments.plots.as_deref().map(make_folder).transpose()?;
        let watching = Watching::sampling(mixture.schedule.sweeps, quiet, arguments.work.time_limit)?;
        let begin = Instant::now();
        let columns = self.names.to_vec();
        let mut fit = match (earlier, rows) {
            (Some(run), _) => run.resume(&mixture, rows, &watching)?,
            (None, MixtureRows::Dense(data)) => mixture.fit(data, columns, &watching)?,
            (None, MixtureRows::Counts(counts)) => mixture.fit_counts(counts, columns, &watching)?,
        };
        let seconds = begin.elapsed().as_secs_f64();
        watching.finish();
        fit.model.standardise = standardise;
        if fit.stopped && !quiet {
            hint(&format!("{}: this is the best result so far", watching.reason()));
        }
        self.save_state(&mixture, rows, &fit)?;
        let agreement = self.labels.map(|truth| Agreement::new(truth, fit.estimate.labels())).transpose()?;
        let answer = Answer::new(self, &mixture, rows, &fit, agreement, seconds);
        if !quiet {
            answer.disagreement().iter().for_each(|text| hint(text));
        }
        if let Some(path) = &arguments.model {
            to_file(path, &fit.model.to_bytes())?;
        }
        if let Some(path) = &arguments.draws {
            to_file(path, files::draws_csv(&answer).as_bytes())?;
        }
        page::write(&answer, rows)?;
        if let Some(folder) = &arguments.plots {
            pictures::write(folder, &answer, rows)?;
        }
        write(&arguments.output, &files::labels_csv(&answer), || report::text(&answer), || json::json(&answer))
    }

    fn save_state<T: Real>(&self, mixture: &DpMixture, rows: MixtureRows<T>, fit: &MixtureFit) -> Result<()> {
        let Some(path) = &self.arguments.chains.save_state else { return Ok(()) };
        if fit.chains.is_empty() {
            if !self.arguments.output.quiet {
                hint(&format!("stopped before the first sweep: {} was not written", path.display()));
            }
            return Ok(());
        }
        to_whole_file(path, &MixtureRun::new(mixture, rows, fit).to_bytes())
    }
}

/// A fit with all that is said about it.
struct Answer<'a> {
    job: &'a Job<'a>,
    mixture: &'a DpMixture,
    fit: &'a MixtureFit,
    clusters: Clusters,
    /// The share of sweeps after the burn-in with each number of clusters.
    distribution: BTreeMap<usize, f64>,
    /// The mean loss of the labels over the draws: what they were chosen by. None where no draw was kept.
    objective: Option<f64>,
    agreement: Option<Agreement>,
    seconds: f64,
}

/// What the clusters of the estimate look like.
enum Clusters {
    /// Their means, in the user's units.
    Means(Vec<Vec<f64>>),
    /// The share of each column in their counts.
    Shares(Vec<Vec<f64>>),
}

impl<'a> Answer<'a> {
    fn new<T: Real>(
        job: &'a Job<'a>,
        mixture: &'a DpMixture,
        rows: MixtureRows<T>,
        fit: &'a MixtureFit,
        agreement: Option<Agreement>,
        seconds: f64,
    ) -> Self {
        let draws: Vec<&CompactPartition> = fit.chains.iter().flat_map(|chain| &chain.draws).collect();
        let expected = mixture.loss.expected(&fit.estimate, &draws);
        Answer {
            job,
            mixture,
            fit,
            clusters: Clusters::new(rows, fit),
            distribution: distribution(&fit.chains, mixture.schedule.burn_in),
            objective: expected.is_finite().then_some(expected),
            agreement,
            seconds,
        }
    }

    fn draws(&self) -> Vec<&CompactPartition> {
        self.fit.chains.iter().flat_map(|chain| &chain.draws).collect()
    }

    /// What R-hat is of: the concentration only where it is drawn.
    fn diagnosed(&self) -> &'static [(&'static str, &'static str)] {
        let all = &[("clusters", "n_clusters"), ("log joint", "log_joint"), ("concentration", "concentration")];
        if self.mixture.concentration.is_some() { &all[..2] } else { all }
    }

    fn largest_r_hat(&self) -> f64 {
        // NaN where one is: too few sweeps to tell.
        self.fit.r_hat[..self.diagnosed().len()]
            .iter()
            .fold(1.0, |a, &b| if a.is_nan() || b.is_nan() { f64::NAN } else { f64::max(a, b) })
    }

    fn converged(&self) -> bool {
        !self.fit.stopped && self.largest_r_hat() <= LARGEST_R_HAT
    }

    /// What to do where chains do not agree.
    fn disagreement(&self) -> Option<String> {
        let more = match (&self.job.arguments.chains.save_state, self.fit.stopped) {
            (Some(state), true) => return Some(format!("go on with --resume {}", state.display())),
            (None, true) => return None,
            (Some(state), false) => {
                format!("go on with --resume {} and --sweeps {}", state.display(), 2 * self.mixture.schedule.sweeps)
            }
            (None, false) => "raise --sweeps".to_string(),
        };
        match self.largest_r_hat() {
            agree if agree <= LARGEST_R_HAT => None,
            apart if apart > LARGEST_R_HAT => Some(format!(
                "chains disagree or still move (an R-hat is above {LARGEST_R_HAT}): another run may answer otherwise; {more}, and try \
                 --start random"
            )),
            _ => Some(format!("there are too few sweeps to tell whether chains agree: {more}")),
        }
    }
}

impl Clusters {
    fn new<T: Real>(rows: MixtureRows<T>, fit: &MixtureFit) -> Self {
        let estimate = &fit.estimate;
        let mut sums = vec![vec![0.0; fit.model.n_columns()]; estimate.n_groups()];
        match rows {
            MixtureRows::Dense(data) => {
                // About a point among the rows, so that data far from 0 lose nothing.
                let reference: Vec<f64> = data.reference().iter().map(|&r| r.into()).collect();
                for (row, &label) in data.rows().iter().zip(estimate.labels()) {
                    let sum = sums[label as usize].iter_mut();
                    sum.zip(row).zip(&reference).for_each(|((sum, &x), r)| *sum += x.into() - r);
                }
                let mean = |(sum, &size): (&Vec<f64>, &usize)| -> Vec<f64> {
                    sum.iter().zip(&reference).map(|(sum, r)| sum / size as f64 + r).collect()
                };
                let means = sums.iter().zip(estimate.sizes()).map(mean);
                let undo = |mean: Vec<f64>| fit.model.standardise.as_ref().map_or(mean.clone(), |s| s.undo(&mean));
                Clusters::Means(means.map(undo).collect())
            }
            MixtureRows::Counts(counts) => {
                for (row, &label) in estimate.labels().iter().enumerate() {
                    let (columns, values) = counts.row(row);
                    columns.iter().zip(values).for_each(|(&c, x)| sums[label as usize][c as usize] += x);
                }
                for sum in &mut sums {
                    let total: f64 = sum.iter().sum();
                    sum.iter_mut().for_each(|x| *x /= if total > 0.0 { total } else { 1.0 });
                }
                Clusters::Shares(sums)
            }
        }
    }
}

/// The share of sweeps after the burn-in with each number of clusters.
fn distribution(chains: &[Chain], burn_in: usize) -> BTreeMap<usize, f64> {
    let kept = || chains.iter().flat_map(|chain| chain.n_groups.iter().skip(burn_in));
    let total = kept().count();
    let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
    kept().for_each(|k| *counts.entry(*k).or_default() += 1);
    counts.into_iter().map(|(k, count)| (k, count as f64 / total as f64)).collect()
}
