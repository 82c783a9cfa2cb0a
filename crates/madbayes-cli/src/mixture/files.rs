//! The labels and the draws of a mixture as CSV.

use super::Answer;
use std::fmt::Write;

/// row,cluster,certainty with rows counted from 1 as they stand in the file. No certainty where no draw was kept.
pub fn labels_csv(answer: &Answer) -> String {
    let mut out = String::from("row,cluster,certainty\n");
    for (n, (label, certainty)) in answer.fit.estimate.labels().iter().zip(&answer.fit.certainty).enumerate() {
        let certainty = if certainty.is_nan() { String::new() } else { certainty.to_string() };
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{},{label},{certainty}", row_number(answer, n));
    }
    out
}

/// A line for each draw kept: chain, sweep, n_clusters, log_joint, concentration, and the cluster of each row.
pub fn draws_csv(answer: &Answer) -> String {
    let mut out = String::from("chain,sweep,n_clusters,log_joint,concentration");
    for n in 0..answer.fit.estimate.n_rows() {
        let _ = write!(out, ",row_{}", row_number(answer, n));
    }
    out.push('\n');
    let schedule = answer.mixture.schedule;
    for (number, chain) in answer.fit.chains.iter().enumerate() {
        for (i, draw) in chain.draws.iter().enumerate() {
            let sweep = schedule.burn_in + i * schedule.thin;
            let (joint, concentration) = (chain.ln_joint[sweep], chain.concentration[sweep]);
            let _ = write!(out, "{},{},{},{joint},{concentration}", number + 1, sweep + 1, draw.n_groups());
            draw.labels().iter().for_each(|label| {
                let _ = write!(out, ",{label}");
            });
            out.push('\n');
        }
    }
    out
}

/// The row of the file, counted from 1.
pub fn row_number(answer: &Answer, n: usize) -> usize {
    answer.job.row_numbers.map_or(n, |numbers| numbers[n]) + 1
}
