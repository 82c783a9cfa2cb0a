//! Counts without clusters: rows of one Dirichlet-multinomial distribution, x_n ~ DirMult(x_n., s p), whose shares p are those of
//! all counts and whose spread 1/s is the most probable one, so that rows differ as much as those of the data do.

use crate::counts::Counts;
use crate::error::Result;
use crate::random::Rng;
use crate::special::ln_gamma_ratio;
use rand::RngExt;

/// Steps of golden section: enough for three digits of log s.
const STEPS: usize = 30;
/// log s from rows of one column each to rows that differ by chance alone.
const RANGE: (f64, f64) = (-7.0, 16.0);

/// One distribution for all rows.
pub(super) struct Urn<'a> {
    counts: &'a Counts,
    /// p_1, p_1 + p_2, ...
    cumulative: Vec<f64>,
    /// s.
    concentration: f64,
}

impl<'a> Urn<'a> {
    /// The most probable urn of these counts, which must have one above 0.
    pub fn of(counts: &'a Counts) -> Self {
        let mut shares = vec![0.0; counts.n_columns()];
        for n in 0..counts.n_rows() {
            let (columns, values) = counts.row(n);
            columns.iter().zip(values).for_each(|(&column, x)| shares[column as usize] += x);
        }
        let total = counts.grand_total();
        shares.iter_mut().for_each(|p| *p /= total);
        let concentration = most_probable(|ln_s| ln_likelihood(counts, &shares, ln_s.exp())).exp();
        let mut sum = 0.0;
        let cumulative = shares.iter().map(|p| {
            sum += p;
            sum
        });
        Urn { counts, cumulative: cumulative.collect(), concentration }
    }

    /// The same with another s.
    #[cfg(test)]
    pub fn with_concentration(self, concentration: f64) -> Self {
        Urn { concentration, ..self }
    }

    /// Rows of the same totals: every draw is one from p, or, the more the smaller s is, the same as an earlier one of its row.
    pub fn draw(&self, rng: &mut Rng) -> Result<Counts> {
        let (mut starts, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
        for n in 0..self.counts.n_rows() {
            let unit = unit(self.counts, n);
            let draws = (self.counts.total(n) / unit).round() as usize;
            let mut drawn: Vec<u32> = Vec::with_capacity(draws);
            for i in 0..draws {
                let new = rng.random::<f64>() * (self.concentration + i as f64) < self.concentration;
                let column = if new { self.fresh(rng) } else { drawn[rng.random_range(0..i)] };
                drawn.push(column);
            }
            drawn.sort_unstable();
            for same in drawn.chunk_by(|a, b| a == b) {
                columns.push(same[0]);
                values.push(same.len() as f64 * unit);
            }
            starts.push(values.len());
        }
        Counts::new(&starts, &columns, &values, self.counts.n_columns())
    }

    fn fresh(&self, rng: &mut Rng) -> u32 {
        let at = rng.random::<f64>() * self.cumulative.last().copied().unwrap_or(1.0);
        let column = self.cumulative.partition_point(|sum| *sum <= at);
        column.min(self.cumulative.len() - 1) as u32
    }
}

/// What counts as one in a row: 1 where its counts are whole, else the least of them.
pub(super) fn unit(counts: &Counts, row: usize) -> f64 {
    let values = counts.row(row).1;
    let whole = values.iter().all(|x| x.fract() == 0.0);
    if whole { 1.0 } else { values.iter().copied().fold(f64::INFINITY, f64::min) }
}

/// log of the Dirichlet-multinomial probability of all rows, without the terms that s does not change.
fn ln_likelihood(counts: &Counts, shares: &[f64], s: f64) -> f64 {
    let row = |n: usize| {
        let ((columns, values), unit) = (counts.row(n), unit(counts, n));
        let each = columns.iter().zip(values).map(|(&column, x)| ln_gamma_ratio(s * shares[column as usize], x / unit));
        each.sum::<f64>() - ln_gamma_ratio(s, counts.total(n) / unit)
    };
    (0..counts.n_rows()).filter(|&n| counts.total(n) > 0.0).map(row).sum()
}

/// The highest point of a function with one peak, by golden section.
fn most_probable(f: impl Fn(f64) -> f64) -> f64 {
    let golden = (5f64.sqrt() - 1.0) / 2.0;
    let (mut low, mut high) = RANGE;
    let (mut a, mut b) = (high - golden * (high - low), low + golden * (high - low));
    let (mut at_a, mut at_b) = (f(a), f(b));
    for _ in 0..STEPS {
        if at_a > at_b {
            (high, b, at_b) = (b, a, at_a);
            a = high - golden * (high - low);
            at_a = f(a);
        } else {
            (low, a, at_a) = (a, b, at_b);
            b = low + golden * (high - low);
            at_b = f(b);
        }
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Stream, stream};

    #[test]
    fn an_urn_is_known_again_by_its_draws() {
        let starts: Vec<usize> = (0..=400).map(|n| 4 * n).collect();
        let (columns, values) = ([0u32, 1, 2, 3].repeat(400), [40.0, 30.0, 20.0, 10.0].repeat(400));
        let even = Counts::new(&starts, &columns, &values, 4).unwrap();
        assert!(Urn::of(&even).concentration > 1e5, "rows that are all alike have no spread");
        for s in [0.5, 5.0, 50.0] {
            let urn = Urn::of(&even).with_concentration(s);
            let drawn = urn.draw(&mut stream(1, Stream::Simulation)).unwrap();
            assert!((0..400).all(|n| drawn.total(n) == 100.0));
            let again = Urn::of(&drawn);
            assert!((again.concentration / s).ln().abs() < 0.2, "{s}: {}", again.concentration);
            assert!((again.cumulative[0] - 0.4).abs() < 0.07);
        }
    }

    #[test]
    fn shares_that_are_not_whole_are_drawn_in_units_of_the_least() {
        let counts = Counts::new(&[0, 2, 2], &[0, 2], &[0.75, 0.25], 3).unwrap();
        let drawn = Urn::of(&counts).draw(&mut stream(2, Stream::Simulation)).unwrap();
        assert!((drawn.total(0) - 1.0).abs() < 1e-12 && drawn.total(1) == 0.0);
        assert!(drawn.row(0).1.iter().all(|x| (x * 4.0).fract() == 0.0));
    }
}
