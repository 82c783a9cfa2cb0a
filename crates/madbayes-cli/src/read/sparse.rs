//! Compressed sparse rows in an NPZ file, as `scipy.sparse.save_npz` writes them: data, indices, indptr, shape, format.

use anyhow::{Result, anyhow, bail};
use madbayes::counts::Counts;

use super::npz::{array_name, listing, quoted_array};
use super::numpy::{Array, decode};
use super::select::{numbered, quoted};
use super::zip::{Archive, Entry};
use super::{CountsTable, Labels, Selection};

/// The counts of an NPZ file, where it holds a sparse matrix; `None` where it holds dense arrays.
pub(super) fn read(bytes: &[u8], source: &str, selection: &Selection) -> Result<Option<CountsTable>> {
    let broken = |error: anyhow::Error| anyhow!("{source}: {error:#}");
    let archive = Archive::open(bytes).map_err(broken)?;
    let entries = archive.entries().map_err(broken)?;
    let arrays: Vec<(&str, &Entry<'_>)> = entries.iter().map(|entry| (array_name(&entry.name), entry)).collect();
    let find = |name: &str| arrays.iter().find(|(array, _)| *array == name).map(|(_, entry)| *entry);
    if !is_sparse(&arrays) {
        return Ok(None);
    }
    let array = |name: &str| -> Result<Array> {
        let Some(entry) = find(name) else {
            bail!("{source}: a sparse matrix needs an array {}; there are: {}", quoted(name), listing(&arrays));
        };
        entry.unpack().and_then(|bytes| decode(&bytes)).map_err(|error| quoted_array(source, name, &error))
    };
    let rows_remedy = "save it as rows: scipy.sparse.save_npz(\"counts.npz\", matrix.tocsr())";
    if find("indptr").is_none() {
        bail!("{source} holds a sparse matrix in coordinate form: {rows_remedy}");
    }
    if find("format").is_some() {
        let format = array("format")?.into_text().unwrap_or_default();
        if format != "csr" {
            bail!("{source} holds a sparse matrix of format {}: {rows_remedy}", quoted(&format));
        }
    }
    let numbers = |name: &str| array(name)?.into_numbers().map_err(|error| quoted_array(source, name, &error));
    let whole = |name: &str| -> Result<Vec<usize>> {
        let fits = |x: &f64| (0.0..=9e15).contains(x) && x.fract() == 0.0;
        let values = numbers(name)?;
        match values.iter().find(|x| !fits(x)) {
            Some(wrong) => bail!("{source}, array {}: {wrong} is not a whole number of at least 0", quoted(name)),
            None => Ok(values.into_iter().map(|x| x as usize).collect()),
        }
    };
    let shape = whole("shape")?;
    let [n_rows, n_columns] = shape[..] else {
        bail!("{source}, array \"shape\": a matrix has 2 dimensions, this one {}", shape.len());
    };
    let columns_differ = selection.columns.as_ref().is_some_and(|columns| *columns != numbered(n_columns));
    if columns_differ || !selection.exclude.is_empty() {
        bail!(
            "{source} holds a sparse matrix of {n_columns} columns: --columns and --exclude are for tables; choose its columns \
             before you save it"
        );
    }
    let (starts, indices, values) = (whole("indptr")?, whole("indices")?, numbers("data")?);
    if starts.len() != n_rows + 1 || starts.last() != Some(&indices.len()) || indices.len() != values.len() {
        bail!("{source}: the parts of the sparse matrix do not fit together: the file is damaged");
    }
    if !starts.is_sorted() || indices.iter().any(|&column| column >= n_columns) || n_columns > u32::MAX as usize {
        bail!("{source}: the sparse matrix names rows or columns that it does not have: the file is damaged");
    }
    let counts = sorted(&starts, &indices, &values, n_columns).map_err(|error| anyhow!("{source}: {error}"))?;
    let labels = selection.label_column.as_deref().map(|name| {
        let values = array(name)?.into_labels(n_rows).map_err(|error| quoted_array(source, name, &error))?;
        anyhow::Ok(Labels { name: name.to_owned(), values })
    });
    Ok(Some(CountsTable {
        names: numbered(n_columns),
        counts,
        labels: labels.transpose()?,
        row_numbers: None,
        dropped: 0,
        hints: vec![],
    }))
}

/// Whether these are the parts of a sparse matrix.
pub(super) fn is_sparse(arrays: &[(&str, &Entry<'_>)]) -> bool {
    let has = |name: &str| arrays.iter().any(|(array, _)| *array == name);
    has("indptr") && has("indices") || has("row") && has("col") && has("shape")
}

/// Rows with their columns in order, counts of the same cell added up: SciPy allows them otherwise.
fn sorted(starts: &[usize], indices: &[usize], values: &[f64], n_columns: usize) -> madbayes::Result<Counts> {
    let (mut ends, mut columns, mut sums) =
        (vec![0], Vec::with_capacity(indices.len()), Vec::with_capacity(values.len()));
    for pair in starts.windows(2) {
        let mut cells: Vec<(u32, f64)> = (pair[0]..pair[1]).map(|i| (indices[i] as u32, values[i])).collect();
        cells.sort_by_key(|cell| cell.0);
        for cell in cells.chunk_by(|a, b| a.0 == b.0) {
            columns.push(cell[0].0);
            sums.push(cell.iter().map(|c| c.1).sum());
        }
        ends.push(sums.len());
    }
    Counts::new(&ends, &columns, &sums, n_columns)
}
