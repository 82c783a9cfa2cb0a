//! `madbayes draw`: random partitions and feature allocations from a prior.

use crate::arguments::{BaseName, CrpArguments, DrawArguments, Format, IbpArguments, PolyaUrnArguments, Prior};
use crate::number::{count, number, plural};
use crate::output::{check_targets, make_folder, to_file, to_stdout};
use anyhow::{Result, bail};
use madbayes::prior::{Base, Crp, Ibp, PolyaUrn};
use madbayes::random::{Stream, stream};
use madbayes::structure::{Allocation, Partition};
use madbayes_draw::{Bars, Grid};
use serde_json::json;

/// More rows than this are no use on a terminal and a burden in memory.
const MOST_ROWS: usize = 100_000_000;
const WIDTH: usize = 80;

pub fn run(arguments: &DrawArguments) -> Result<()> {
    match &arguments.prior {
        Prior::Crp(crp) => draw_crp(crp),
        Prior::PolyaUrn(urn) => draw_urn(urn),
        Prior::Ibp(ibp) => draw_ibp(ibp),
    }
}

fn check_rows(rows: usize) -> Result<()> {
    if rows == 0 || rows > MOST_ROWS {
        bail!("N must be between 1 and {}, got {rows}: it is the number of rows to draw", count(MOST_ROWS));
    }
    Ok(())
}

fn draw_crp(arguments: &CrpArguments) -> Result<()> {
    check_rows(arguments.rows)?;
    let crp = Crp::new(arguments.concentration)?;
    let partition = crp.sample(arguments.rows, &mut stream(arguments.seed, Stream::Prior));
    let ln_prob = crp.ln_prob(&partition);
    match arguments.format {
        Format::Json => {
            let value = json!({
                "n_rows": arguments.rows,
                "concentration": arguments.concentration,
                "seed": arguments.seed,
                "n_groups": partition.n_groups(),
                "expected_groups": crp.expected_groups(arguments.rows),
                "log_probability": ln_prob,
                "sizes": partition.sizes(),
                "labels": partition.labels(),
            });
            to_stdout(format!("{value:#}\n").as_bytes())
        }
        Format::Text => {
            let names: Vec<String> = (0..partition.n_groups()).map(|k| format!("table {k}")).collect();
            to_stdout(
                (heading(arguments, &partition, crp.expected_groups(arguments.rows)) + &bars(&partition, &names))
                    .as_bytes(),
            )
        }
    }
}

fn draw_urn(arguments: &PolyaUrnArguments) -> Result<()> {
    let crp = &arguments.crp;
    check_rows(crp.rows)?;
    let base = match arguments.base {
        BaseName::Normal => Base::Normal { mean: 0.0, standard_deviation: 1.0 },
        BaseName::Uniform => Base::Uniform { low: 0.0, high: 1.0 },
    };
    let urn = PolyaUrn::new(crp.concentration, base)?;
    let draw = urn.sample(crp.rows, &mut stream(crp.seed, Stream::Prior));
    let colours = draw.colours();
    match crp.format {
        Format::Json => {
            let value = json!({
                "n_rows": crp.rows,
                "concentration": crp.concentration,
                "seed": crp.seed,
                "n_groups": draw.partition.n_groups(),
                "log_density": urn.ln_prob(&colours)?,
                "sizes": draw.partition.sizes(),
                "labels": draw.partition.labels(),
                "atoms": draw.atoms,
            });
            to_stdout(format!("{value:#}\n").as_bytes())
        }
        Format::Text => {
            let names: Vec<String> = draw.atoms.iter().map(|atom| format!("colour {}", number(*atom))).collect();
            let expected = Crp::new(crp.concentration)?.expected_groups(crp.rows);
            to_stdout((heading(crp, &draw.partition, expected) + &bars(&draw.partition, &names)).as_bytes())
        }
    }
}

fn draw_ibp(arguments: &IbpArguments) -> Result<()> {
    // One of the two is there: the command line was refused otherwise.
    let rows = arguments.rows.or(arguments.rows_option).unwrap_or_default();
    check_rows(rows)?;
    check_targets(&[], arguments.out.as_deref())?;
    let ibp = Ibp::new(arguments.mass)?;
    let allocation = ibp.sample(rows, &mut stream(arguments.seed, Stream::Prior))?.left_ordered();
    if let Some(folder) = &arguments.plots {
        make_folder(folder)?;
        to_file(
            &folder.join("features.svg"),
            grid(&allocation, &ibp_heading(arguments, &ibp, &allocation), |g| g.svg()).as_bytes(),
        )?;
    }
    if let Some(path) = &arguments.out {
        to_file(path, features_csv(&allocation).as_bytes())?;
        if path.as_os_str() == "-" {
            return Ok(());
        }
    }
    match arguments.format {
        Format::Json => {
            let rows_of_bits: Vec<Vec<u8>> = (0..rows)
                .map(|row| (0..allocation.n_features()).map(|k| allocation.get(row, k).into()).collect())
                .collect();
            let value = json!({
                "n_rows": rows,
                "mass": arguments.mass,
                "seed": arguments.seed,
                "n_groups": allocation.n_features(),
                "expected_features": ibp.expected_features(rows),
                "log_probability": ibp.ln_prob(&allocation),
                "sizes": allocation.counts(),
                "allocation": rows_of_bits,
            });
            to_stdout(format!("{value:#}\n").as_bytes())
        }
        Format::Text => {
            let heading = ibp_heading(arguments, &ibp, &allocation);
            to_stdout(format!("{heading}\n\n{}", grid(&allocation, "", |g| g.text(WIDTH))).as_bytes())
        }
    }
}

fn ibp_heading(arguments: &IbpArguments, ibp: &Ibp, allocation: &Allocation) -> String {
    let (rows, features) = (allocation.n_rows(), allocation.n_features());
    let ones: usize = allocation.counts().iter().sum();
    format!(
        "{} with {} at mass {} ({} expected), {} in a row on average",
        plural(rows, "row"),
        plural(features, "feature"),
        number(arguments.mass),
        number(ibp.expected_features(rows)),
        number(ones as f64 / rows as f64),
    )
}

/// A picture of the matrix.
fn grid(allocation: &Allocation, title: &str, draw: impl Fn(Grid) -> String) -> String {
    let cells = allocation.to_bools();
    draw(Grid { title, row_name: "row", column_name: "feature", n_columns: allocation.n_features(), cells: &cells })
}

/// A line for each row: its number, then 1 or 0 for each feature.
fn features_csv(allocation: &Allocation) -> String {
    let names: String = (0..allocation.n_features()).map(|k| format!(",feature_{k}")).collect();
    let mut out = format!("row{names}\n");
    for row in 0..allocation.n_rows() {
        out += &(row + 1).to_string();
        (0..allocation.n_features()).for_each(|k| out += if allocation.get(row, k) { ",1" } else { ",0" });
        out.push('\n');
    }
    out
}

fn heading(arguments: &CrpArguments, partition: &Partition, expected: f64) -> String {
    format!(
        "{} in {} at concentration {} ({} expected)\n\n",
        plural(arguments.rows, "row"),
        plural(partition.n_groups(), "group"),
        number(arguments.concentration),
        number(expected)
    )
}

/// Sizes of the groups, largest first.
fn bars(partition: &Partition, names: &[String]) -> String {
    let mut order: Vec<usize> = (0..partition.n_groups()).collect();
    order.sort_by_key(|&k| std::cmp::Reverse(partition.sizes()[k]));
    let names: Vec<String> = order.iter().map(|&k| names[k].clone()).collect();
    let values: Vec<f64> = order.iter().map(|&k| partition.sizes()[k] as f64).collect();
    Bars { title: "", value_name: "rows", names: &names, values: &values }.text(WIDTH)
}
