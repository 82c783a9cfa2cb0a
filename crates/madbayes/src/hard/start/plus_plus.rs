//! D^2 seeding (Arthur & Vassilvitskii 2007, greedy) that goes on while a new centre pays for its penalty.

use super::super::Goal;
use crate::data::{Data, Real};
use crate::linalg::{Kernel, offset_squared_distance, on_this_processor};
use crate::random::Rng;
use crate::watch::{Step, Watch};
use rand::RngExt;

/// Rows on which the seeds are sought; more are thinned evenly. Smaller clusters are found later, by far rows and splits.
const SAMPLE: usize = 16_384;
/// The same for the first seeds of a penalty, and the numbers that may be read for them.
const FIRST_SAMPLE: usize = 2_048;
const FIRST_WORK: usize = 400_000;

/// Centres relative to the reference point, K x D: rows drawn with probability proportional to what they pay, the best
/// of several draws each time. With a penalty: as long as the best one lowers the loss by more than the penalty.
/// Stopped by the watch, the seeds so far are the start.
pub(in crate::hard) fn plus_plus<T: Real>(data: &Data<T>, goal: &Goal, rng: &mut Rng, watch: &dyn Watch) -> Vec<f64> {
    seek(data, goal, SAMPLE, usize::MAX, rng, watch)
}

/// The first few of them: as many as a small part of a run's work allows, and one at least. The rest is left to splits, which
/// find clusters at a cost that does not grow with their number.
pub(in crate::hard) fn first_seeds<T: Real>(data: &Data<T>, goal: &Goal, rng: &mut Rng, watch: &dyn Watch) -> Vec<f64> {
    let looks = FIRST_WORK / (data.n_rows().min(FIRST_SAMPLE) * data.n_columns());
    seek(data, goal, FIRST_SAMPLE, looks, rng, watch)
}

/// Seeds among about `sample` rows, while fewer than `looks` candidates have been looked at.
fn seek<T: Real>(
    data: &Data<T>,
    goal: &Goal,
    sample: usize,
    mut looks: usize,
    rng: &mut Rng,
    watch: &dyn Watch,
) -> Vec<f64> {
    let step = data.n_rows().div_ceil(sample);
    let rows: Vec<usize> = (rng.random_range(0..step)..data.n_rows()).step_by(step).collect();
    let weights: Vec<f64> = rows.iter().map(|&n| data.weight(n) * step as f64).collect();
    if weights.iter().sum::<f64>() <= 0.0 {
        return super::mean_offset(data);
    }
    let sample = Sample::new(data, &rows, &weights);
    let mut seeds = vec![draw(&weights, rng)];
    let mut pays = sample.charges(seeds[0]);
    while seeds.len() < goal.cap().min(rows.len()) {
        let loss: f64 = pays.iter().sum();
        if loss <= 0.0 || watch.step(&Step::Chunk).is_break() {
            break;
        }
        let draws = 2 + seeds.len().ilog2() as usize;
        if looks < draws {
            break;
        }
        looks -= draws;
        let best = (0..draws)
            .map(|_| {
                let seed = draw(&pays, rng);
                let mut with_seed = sample.charges(seed);
                with_seed.iter_mut().zip(&pays).for_each(|(new, old)| *new = new.min(*old));
                (with_seed.iter().sum::<f64>(), seed, with_seed)
            })
            .min_by(|a, b| a.0.total_cmp(&b.0));
        let Some((lower, seed, with_seed)) = best else { break };
        if loss - lower <= goal.penalty() {
            break;
        }
        seeds.push(seed);
        pays = with_seed;
    }
    let mut offsets = vec![0.0; seeds.len() * data.n_columns()];
    for (&seed, out) in seeds.iter().zip(offsets.chunks_exact_mut(data.n_columns())) {
        crate::linalg::add_offset_row(out, data.rows().row(rows[seed]), data.reference(), 1.0);
    }
    offsets
}

/// An index drawn in proportion to its weight.
fn draw(weights: &[f64], rng: &mut Rng) -> usize {
    let mut left = rng.random::<f64>() * weights.iter().sum::<f64>();
    for (i, w) in weights.iter().enumerate() {
        if left < *w {
            return i;
        }
        left -= w;
    }
    weights.iter().rposition(|w| *w > 0.0).unwrap_or(0)
}

/// Numbers that are turned on their side before they are looked at: few enough to stay in the cache from look to look.
const TURNED: usize = 1 << 16;

/// The rows among which seeds are sought.
struct Sample<'a, T> {
    data: &'a Data<'a, T>,
    rows: &'a [usize],
    weights: &'a [f64],
    /// Relative to the reference point, column by column, where the numbers are few.
    columns: Vec<f64>,
}

impl<'a, T: Real> Sample<'a, T> {
    fn new(data: &'a Data<'a, T>, rows: &'a [usize], weights: &'a [f64]) -> Self {
        let (n, d) = (rows.len(), data.n_columns());
        let mut columns = vec![0.0; if n * d <= TURNED { n * d } else { 0 }];
        for (j, column) in columns.chunks_exact_mut(n).enumerate() {
            let reference: f64 = data.reference()[j].into();
            for (x, &row) in column.iter_mut().zip(rows) {
                *x = data.rows().row(row)[j].into() - reference;
            }
        }
        Sample { data, rows, weights, columns }
    }

    /// What every row would pay to a centre at one of them: weight times squared distance.
    fn charges(&self, seed: usize) -> Vec<f64> {
        on_this_processor(Charges { sample: self, seed })
    }
}

struct Charges<'a, T> {
    sample: &'a Sample<'a, T>,
    seed: usize,
}

impl<T: Real> Kernel for Charges<'_, T> {
    type Output = Vec<f64>;
    #[inline(always)]
    unsafe fn run<const FUSED: bool, const WIDE: bool>(self) -> Vec<f64> {
        let Sample { data, rows, weights, columns } = self.sample;
        let mut charges = vec![0.0; rows.len()];
        // Loops stay in the kernel, where iterators with closures may not.
        if columns.is_empty() {
            let mut centre = vec![0.0; data.n_columns()];
            crate::linalg::add_offset_row(&mut centre, data.rows().row(rows[self.seed]), data.reference(), 1.0);
            for (charge, &n) in charges.iter_mut().zip(*rows) {
                *charge = offset_squared_distance(data.rows().row(n), data.reference(), &centre);
            }
        }
        for column in columns.chunks_exact(rows.len()) {
            let centre = column[self.seed];
            for (charge, x) in charges.iter_mut().zip(column) {
                *charge += (x - centre) * (x - centre);
            }
        }
        for (charge, weight) in charges.iter_mut().zip(*weights) {
            *charge *= weight;
        }
        charges
    }
}
