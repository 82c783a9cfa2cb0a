//! `madbayes states`: the hidden states of sequences, how many there are, and how sure that is.

mod arguments;
mod page;
mod report;
mod sequences;

pub use arguments::StatesArguments;
pub use sequences::{Cut, read_with_sequences};

use crate::agreement::Agreement;
use crate::cluster::write;
use crate::output::{check_targets, hint, make_folder, to_file, to_whole_file};
use crate::read::{Table, Values};
use crate::redundancy;
use crate::resumed::check_columns;
use crate::watching::Watching;
use anyhow::{Context, Result, bail};
use madbayes::counts::Counts;
use madbayes::data::{Data, Real, Rows};
use madbayes::model::{HmmRun, InfiniteHmm, MixtureLikelihood, MixtureRows};
use madbayes::prepare::Standardise;
use report::Answer;
use std::path::Path;
use std::time::Instant;

pub fn run(arguments: &StatesArguments) -> Result<()> {
    let (file, resume) = (Path::new(&arguments.input.file), arguments.resume.as_deref());
    let results: Vec<&Path> = [&arguments.model, &arguments.output.out, &arguments.report]
        .into_iter()
        .flatten()
        .map(|p| p.as_path())
        .collect();
    check_targets(&[file], results.iter().copied().chain(arguments.save_state.as_deref()))?;
    // A state may replace the one it went on from, other results may not.
    check_targets(resume.as_slice(), results)?;
    let earlier = resume.map(read_run).transpose()?;
    let known = earlier.as_ref().filter(|_| arguments.input.exclude.is_empty()).map(|run| run.columns.clone());
    let columns = arguments.input.columns.clone().or(known);
    let (table, cut) = read_with_sequences(&arguments.input, columns, arguments.sequence_column.as_deref())?;
    if !arguments.output.quiet {
        let settled = arguments.standardize || earlier.is_some();
        table.hints.iter().filter(|h| !(settled && h.contains("--standardize"))).for_each(|h| hint(h));
    }
    arguments.plots.as_deref().map(make_folder).transpose()?;
    match &table.values {
        Values::F32(values) => prepare(arguments, &table, &cut, values, earlier),
        Values::F64(values) => prepare(arguments, &table, &cut, values, earlier),
    }
}

fn read_run(path: &Path) -> Result<HmmRun> {
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    HmmRun::from_bytes(&bytes).with_context(|| format!("{}", path.display()))
}

fn prepare<T: Real>(
    arguments: &StatesArguments,
    table: &Table,
    cut: &Cut,
    values: &[T],
    earlier: Option<HmmRun>,
) -> Result<()> {
    let hmm = match &earlier {
        Some(run) => {
            check_columns(&run.columns, &table.names)?;
            arguments.continued(run)?
        }
        None => arguments.new_run(),
    };
    let rows = Rows::new(values, table.names.len())?;
    let standardise = match &earlier {
        Some(run) => run.standardise.clone(),
        None if arguments.standardize => Some(Standardise::fit(&Data::new(rows)?)),
        None => None,
    };
    let prepared = standardise.as_ref().map(|s| s.apply(rows)).transpose()?;
    let data = Data::new(Rows::new(prepared.as_deref().unwrap_or(values), table.names.len())?)?;
    let learns_spread = matches!(hmm.likelihood, MixtureLikelihood::Full(_) | MixtureLikelihood::Diagonal(_));
    if learns_spread && earlier.is_none() && !arguments.output.quiet {
        redundancy::hints(&data, &table.names).iter().for_each(|text| hint(text));
    }
    let job = Job { arguments, table, cut, hmm, standardise };
    if let MixtureLikelihood::Multinomial { .. } = job.hmm.likelihood {
        return job.sample::<f64>(MixtureRows::Counts(&Counts::from_rows(data.rows())?), earlier);
    }
    job.sample(MixtureRows::Dense(&data), earlier)
}

/// What is asked for, and what is known of the rows beside their numbers.
struct Job<'a> {
    arguments: &'a StatesArguments,
    table: &'a Table,
    cut: &'a Cut,
    hmm: InfiniteHmm,
    standardise: Option<Standardise>,
}

impl Job<'_> {
    fn sample<T: Real>(self, rows: MixtureRows<T>, earlier: Option<HmmRun>) -> Result<()> {
        let Job { arguments, table, cut, hmm, standardise } = self;
        let (quiet, sequences, columns) = (arguments.output.quiet, &cut.sequences, table.names.clone());
        let watching = Watching::counting("states", quiet, arguments.work.time_limit)?;
        let begin = Instant::now();
        let mut fit = match (earlier, rows) {
            (Some(run), _) => run.resume(&hmm, rows, sequences, &watching)?,
            (None, MixtureRows::Dense(data)) => hmm.fit(data, sequences, columns, &watching)?,
            (None, MixtureRows::Counts(counts)) => hmm.fit_counts(counts, sequences, columns, &watching)?,
        };
        fit.model.standardise = standardise;
        let seconds = begin.elapsed().as_secs_f64();
        watching.finish();
        if fit.chains.is_empty() {
            bail!(
                "{} before the first sweep: there are no states to show; allow more time, or give fewer rows",
                watching.reason()
            );
        }
        if fit.stopped && !quiet {
            hint(&format!("{}: this is the best result so far", watching.reason()));
        }
        if let Some(path) = &arguments.save_state {
            to_whole_file(path, &HmmRun::new(&hmm, rows, sequences, &fit).to_bytes())?;
        }
        if let Some(path) = &arguments.model {
            to_file(path, &fit.model.to_bytes())?;
        }
        let truth = table.labels.as_ref();
        let agreement = truth.map(|truth| Agreement::new(truth, fit.estimate.labels())).transpose()?;
        let answer = Answer { hmm: &hmm, table, cut, fit: &fit, agreement, seconds };
        if !quiet {
            answer.disagreement().iter().for_each(|text| hint(text));
        }
        page::write(&answer, arguments, rows)?;
        if let Some(folder) = &arguments.plots {
            answer.write_plots(folder)?;
        }
        write(&arguments.output, &answer.csv(), || answer.text(), || answer.json())
    }
}
