//! Where one sequence ends and the next begins: rows that stand together and have the same name in a column.

use crate::arguments::InputArguments;
use crate::cluster::selection;
use crate::read::{Input, Labels, Table, read};
use anyhow::{Result, anyhow, bail};
use madbayes::structure::Sequences;
use std::collections::HashSet;

/// Rows cut into sequences.
pub struct Cut {
    pub sequences: Sequences,
    /// What each is called; empty where there is one without a name.
    pub names: Vec<String>,
}

/// Reads a table and its sequences. The column of the sequences is no data, and neither is the label column.
pub fn read_with_sequences(
    input: &InputArguments,
    columns: Option<Vec<String>>,
    sequence_column: Option<&str>,
) -> Result<(Table, Cut)> {
    let source = Input::from_argument(&input.file);
    let mut chosen = selection(input, columns);
    let Some(name) = sequence_column else {
        let table = read(&source, &chosen)?;
        let sequences = Sequences::one(table.n_rows);
        return Ok((table, Cut { sequences, names: vec![] }));
    };
    let label_column = chosen.label_column.replace(name.to_string());
    if label_column.as_deref() == Some(name) {
        bail!("--sequence-column and --label-column both name {name}: they must be different columns");
    }
    chosen.exclude.extend(label_column.clone());
    // The reader takes one column beside the data: it reads the names of the sequences first, then the labels.
    let as_it_was_named = |error: anyhow::Error| match format!("{error:#}") {
        text if text.contains("--label-column") => anyhow!(text.replace("--label-column", "--sequence-column")),
        _ => error,
    };
    let named = read(&source, &chosen).map_err(as_it_was_named)?;
    let names = named.labels.clone().map_or(vec![], |labels| labels.values);
    let cut = cut(name, &names)?;
    if label_column.is_none() {
        return Ok((Table { labels: None, ..named }, cut));
    }
    if source == Input::Stdin {
        bail!(
            "standard input is read only once: save it to a file to use --sequence-column and --label-column together"
        );
    }
    let labels: Option<Labels> = {
        chosen.exclude.pop();
        chosen.exclude.push(name.to_string());
        chosen.label_column = label_column;
        read(&source, &chosen)?.labels
    };
    Ok((Table { labels, ..named }, cut))
}

fn cut(column: &str, names: &[String]) -> Result<Cut> {
    let mut seen = HashSet::new();
    let (mut lengths, mut kept) = (vec![], vec![]);
    let mut row = 0;
    for run in names.chunk_by(|a, b| a == b) {
        if !seen.insert(&run[0]) {
            bail!(
                "row {} goes on with sequence {:?} of column {column}, which ended before: rows of one sequence must stand \
                 together, so sort the file by it",
                row + 1,
                run[0]
            );
        }
        row += run.len();
        lengths.push(run.len());
        kept.push(run[0].clone());
    }
    Ok(Cut { sequences: Sequences::new(&lengths, names.len())?, names: kept })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut_of(names: &[&str]) -> Result<Cut> {
        cut("walk", &names.iter().map(|name| name.to_string()).collect::<Vec<_>>())
    }

    #[test]
    fn rows_with_one_name_are_one_sequence() {
        let cut = cut_of(&["a", "a", "b", "c", "c", "c"]).unwrap();
        assert_eq!(cut.sequences.lengths(), [2, 1, 3]);
        assert_eq!(cut.names, ["a", "b", "c"]);
    }

    #[test]
    fn a_sequence_that_comes_back_is_refused() {
        let error = cut_of(&["a", "b", "a"]).err().unwrap().to_string();
        assert!(error.contains("row 3 goes on with sequence \"a\" of column walk"), "{error}");
    }
}
