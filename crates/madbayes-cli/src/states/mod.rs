//! `madbayes states`: the hidden states of sequences, how many there are, and how sure that is.

mod arguments;
mod report;
mod sequences;

pub use arguments::StatesArguments;
pub use sequences::{Cut, read_with_sequences};

use crate::arguments::Format;
use crate::output::{check_targets, hint, make_folder, to_file, to_stdout};
use crate::read::{Table, Values};
use crate::redundancy;
use crate::watching::Watching;
use anyhow::{Result, bail};
use arguments::LikelihoodName;
use madbayes::data::{Data, Real, Rows};
use madbayes::model::{HmmFit, HmmModel};
use madbayes::prepare::Standardise;
use report::Answer;
use std::path::Path;
use std::time::Instant;

pub fn run(arguments: &StatesArguments) -> Result<()> {
    let targets = [&arguments.model, &arguments.output.out].into_iter().flatten();
    check_targets(&[Path::new(&arguments.input.file)], targets.map(|path| path.as_path()))?;
    let columns = arguments.input.columns.clone();
    let (table, cut) = read_with_sequences(&arguments.input, columns, arguments.sequence_column.as_deref())?;
    if !arguments.output.quiet {
        let useful = |h: &&String| !(arguments.standardize && h.contains("--standardize"));
        table.hints.iter().filter(useful).for_each(|h| hint(h));
    }
    arguments.plots.as_deref().map(make_folder).transpose()?;
    match &table.values {
        Values::F32(values) => sample(arguments, &table, &cut, values),
        Values::F64(values) => sample(arguments, &table, &cut, values),
    }
}

fn sample<T: Real>(arguments: &StatesArguments, table: &Table, cut: &Cut, values: &[T]) -> Result<()> {
    let rows = Rows::new(values, table.names.len())?;
    let standardise = arguments.standardize.then(|| Data::new(rows).map(|data| Standardise::fit(&data))).transpose()?;
    let prepared = standardise.as_ref().map(|s| s.apply(rows)).transpose()?;
    let data = Data::new(Rows::new(prepared.as_deref().unwrap_or(values), table.names.len())?)?;
    let learns_spread = matches!(arguments.likelihood, LikelihoodName::Gaussian | LikelihoodName::Diagonal);
    if learns_spread && !arguments.output.quiet {
        redundancy::hints(&data, &table.names).iter().for_each(|text| hint(text));
    }
    let watching = Watching::counting("states", arguments.output.quiet, arguments.work.time_limit)?;
    let begin = Instant::now();
    let fit = arguments.parameters().fit(&data, &cut.sequences, table.names.clone(), &watching)?;
    let fit = HmmFit { model: HmmModel { standardise, ..fit.model }, ..fit };
    let seconds = begin.elapsed().as_secs_f64();
    watching.finish();
    if fit.chains.is_empty() {
        bail!(
            "{} before the first sweep: there are no states to show; allow more time, or give fewer rows",
            watching.reason()
        );
    }
    if fit.stopped && !arguments.output.quiet {
        hint(&format!("{}: this is the best result so far", watching.reason()));
    }
    if let Some(path) = &arguments.model {
        to_file(path, &fit.model.to_bytes())?;
    }
    let answer = Answer { arguments, table, cut, fit: &fit, seconds };
    if let Some(folder) = &arguments.plots {
        answer.write_plots(folder)?;
    }
    let to_standard_output = arguments.output.out.as_ref().is_some_and(|path| path.as_os_str() == "-");
    if let Some(path) = &arguments.output.out {
        to_file(path, answer.csv().as_bytes())?;
    }
    match arguments.output.format {
        _ if to_standard_output => Ok(()),
        Format::Json => to_stdout(format!("{:#}\n", answer.json()?).as_bytes()),
        Format::Text => to_stdout(answer.text()?.as_bytes()),
    }
}
