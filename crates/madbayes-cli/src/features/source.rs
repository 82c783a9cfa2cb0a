//! Rows for feature learning: a table or a folder of pictures, and what is done to them before the fit.

use crate::arguments::{InputArguments, Pca as PcaChoice, PreparationArguments};
use crate::cluster::read_table;
use crate::output::hint;
use crate::read::images::{self, Pictures};
use crate::read::scale::Scale;
use crate::read::{Table, Values};
use crate::report;
use anyhow::{Result, bail};
use madbayes::data::{Data, Real, Rows};
use madbayes::model::FeatureModel;
use madbayes::parallel::Workers;
use madbayes::prepare::{Keep, Pca, Standardise};
use madbayes_draw::RowNames;
use std::path::Path;

/// Where the rows come from.
pub enum Source {
    Table(Table),
    Pictures { values: Values, shape: [usize; 3], names: Vec<String> },
}

impl Source {
    /// A folder is read as pictures, anything else as a table with these columns.
    pub fn read(
        input: &InputArguments,
        columns: Option<Vec<String>>,
        scale: Option<Scale>,
        threads: usize,
    ) -> Result<Source> {
        let folder = Path::new(&input.file);
        if !folder.is_dir() {
            if scale.is_some() {
                bail!("--scale makes pictures smaller, but {} is not a folder of pictures: leave it out", input.file);
            }
            return Ok(Source::Table(read_table(input, columns.or_else(|| input.columns.clone()))?));
        }
        if input.columns.is_some() || !input.exclude.is_empty() || input.label_column.is_some() || input.drop_missing {
            bail!(
                "--columns, --exclude, --label-column and --drop-missing are for tables, but {} is a folder of pictures: \
                 leave them out",
                input.file
            );
        }
        let Pictures { values, shape, names } = images::read(folder, scale, threads)?;
        let shape = [shape.height, shape.width, shape.channels];
        Ok(Source::Pictures { values: Values::F32(values), shape, names })
    }

    pub fn values(&self) -> &Values {
        match self {
            Source::Table(table) => &table.values,
            Source::Pictures { values, .. } => values,
        }
    }

    pub fn n_rows(&self) -> usize {
        match self {
            Source::Table(table) => table.n_rows,
            Source::Pictures { names, .. } => names.len(),
        }
    }

    pub fn n_columns(&self) -> usize {
        match self {
            Source::Table(table) => table.names.len(),
            Source::Pictures { shape, .. } => shape.iter().product(),
        }
    }

    /// Names of the columns; pixels have none.
    pub fn columns(&self) -> Vec<String> {
        match self {
            Source::Table(table) => table.names.clone(),
            Source::Pictures { .. } => vec![],
        }
    }

    pub fn picture(&self) -> Option<[usize; 3]> {
        match self {
            Source::Table(_) => None,
            Source::Pictures { shape, .. } => Some(*shape),
        }
    }

    /// How a row is called: its number in the file from 1, or the name of its picture.
    pub fn row_name(&self, row: usize) -> String {
        match self {
            Source::Table(table) => (table.row_numbers.as_ref().map_or(row, |numbers| numbers[row]) + 1).to_string(),
            Source::Pictures { names, .. } => names[row].clone(),
        }
    }

    /// How all rows are called.
    pub fn row_names(&self) -> RowNames<'_> {
        match self {
            Source::Table(table) => report::row_names(table.row_numbers.as_deref()),
            Source::Pictures { names, .. } => RowNames::Names(names),
        }
    }

    /// "100 rows, 4 columns" or "100 pictures of 320 x 240 pixels in colour".
    pub fn described(&self) -> String {
        use crate::number::{count, plural};
        match self {
            Source::Table(table) => {
                format!("{}, {}", plural(table.n_rows, "row"), plural(table.names.len(), "column"))
            }
            Source::Pictures { shape: [height, width, channels], names, .. } => format!(
                "{} of {} x {} pixels{}",
                plural(names.len(), "picture"),
                count(*width),
                count(*height),
                if *channels == 3 { " in colour" } else { "" }
            ),
        }
    }

    pub fn give_hints(&self, quiet: bool, standardize: bool) {
        if let (Source::Table(table), false) = (self, quiet) {
            let useful = |h: &&String| !(standardize && h.contains("--standardize"));
            table.hints.iter().filter(useful).for_each(|h| hint(h));
        }
    }
}

/// What was done to the rows before the fit, and the rows after it.
pub struct Prepared {
    /// Taken from every row.
    offset: Option<Vec<f64>>,
    scales: Option<Vec<f64>>,
    pub pca: Option<Pca>,
    values: Option<Vec<f64>>,
    n_columns: usize,
}

impl Prepared {
    /// Standardised first, then reduced to principal components, as asked for.
    pub fn new<T: Real>(rows: Rows<T>, wanted: &PreparationArguments, threads: usize) -> Result<Prepared> {
        let d = rows.n_columns();
        let mut prepared = Prepared { offset: None, scales: None, pca: None, values: None, n_columns: d };
        if wanted.standardize {
            let standardise = Standardise::fit(&Data::new(rows)?);
            let values = standardise.apply(rows)?;
            prepared.values = Some(values.iter().map(|&x| x.into()).collect());
            prepared.offset = Some(standardise.means);
            prepared.scales = Some(standardise.scales);
        } else if wanted.center {
            let (values, means) = centred(rows)?;
            prepared.values = Some(values);
            prepared.offset = Some(means);
        }
        if let Some(choice) = wanted.pca {
            let keep = match choice {
                PcaChoice::Number(number) => Keep::Number(number),
                PcaChoice::Share(share) => Keep::Share(share),
            };
            let workers = Workers::new(threads);
            let (pca, scores) = match &prepared.values {
                Some(values) => components(Rows::new(values, d)?, keep, &workers)?,
                None => components(rows, keep, &workers)?,
            };
            // Rows that had their mean taken away already have none left.
            prepared.offset.get_or_insert_with(|| pca.mean.clone());
            prepared.n_columns = pca.n_components();
            prepared.values = Some(scores);
            prepared.pca = Some(pca);
        }
        Ok(prepared)
    }

    /// The rows to fit, unless they are those of the source.
    pub fn values(&self) -> Option<&[f64]> {
        self.values.as_deref()
    }

    pub fn n_columns(&self) -> usize {
        self.n_columns
    }

    /// A direction of the prepared rows as one of the rows of the source.
    pub fn direction(&self, component: &[f64]) -> Vec<f64> {
        let mut direction = self.pca.as_ref().map_or_else(|| component.to_vec(), |pca| pca.undo_direction(component));
        if let Some(scales) = &self.scales {
            direction.iter_mut().zip(scales).for_each(|(x, scale)| *x *= scale);
        }
        direction
    }

    /// A model of the prepared rows as one of the rows of the source.
    pub fn in_original_units(&self, mut model: FeatureModel) -> FeatureModel {
        for component in &mut model.components {
            *component = self.direction(component);
        }
        if let Some(pca) = &self.pca {
            model.offset = vec![0.0; pca.n_columns()];
        }
        if let Some(offset) = &self.offset {
            model.offset.clone_from(offset);
        }
        model.scales.clone_from(&self.scales);
        model
    }
}

fn components<T: Real>(rows: Rows<T>, keep: Keep, workers: &Workers) -> Result<(Pca, Vec<f64>)> {
    let pca = Pca::fit(rows, keep, workers)?;
    let scores = pca.apply(rows, workers)?;
    Ok((pca, scores))
}

/// The rows less their mean, and the mean.
fn centred<T: Real>(rows: Rows<T>) -> Result<(Vec<f64>, Vec<f64>)> {
    let standardise = Standardise::fit(&Data::new(rows)?);
    let less = |row: &[T]| row.iter().zip(&standardise.means).map(|(&x, mean)| x.into() - mean).collect::<Vec<f64>>();
    Ok((rows.iter().flat_map(less).collect(), standardise.means))
}
