//! D^2 seeding (Arthur & Vassilvitskii 2007, greedy) that goes on while a new centre pays for its penalty.

use super::super::Goal;
use crate::data::{Data, Real};
use crate::linalg::{Kernel, Lanes, Vector, add_offset_row, offset_squared_distance, on_this_processor};
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
    let sample = Sample::new(data, &rows, step as f64);
    let weight = Shares::new(sample.weights.clone());
    if weight.total() <= 0.0 {
        return super::mean_offset(data);
    }
    let mut seeds = vec![weight.draw(rng)];
    let (mut pays, mut best, mut lower) = (weight.clone(), weight.clone(), weight);
    best.rows.fill(f64::INFINITY);
    sample.beside(seeds[0], &best, &mut pays);
    while seeds.len() < goal.cap().min(rows.len()) {
        let loss = pays.total();
        if loss <= 0.0 || watch.step(&Step::Chunk).is_break() {
            break;
        }
        let draws = 2 + seeds.len().ilog2() as usize;
        if looks < draws {
            break;
        }
        looks -= draws;
        let (mut seed, mut least) = (0, f64::INFINITY);
        for _ in 0..draws {
            let candidate = pays.draw(rng);
            sample.beside(candidate, &pays, &mut lower);
            if lower.total() < least {
                (seed, least) = (candidate, lower.total());
                std::mem::swap(&mut best, &mut lower);
            }
        }
        if loss - least <= goal.penalty() {
            break;
        }
        seeds.push(seed);
        std::mem::swap(&mut pays, &mut best);
    }
    let mut offsets = vec![0.0; seeds.len() * data.n_columns()];
    for (&seed, out) in seeds.iter().zip(offsets.chunks_exact_mut(data.n_columns())) {
        add_offset_row(out, data.rows().row(rows[seed]), data.reference(), 1.0);
    }
    offsets
}

/// Rows that are looked at together: what they pay stays in registers from column to column.
const BLOCK: usize = 16;
const HALF: usize = BLOCK / 2;

/// A number for every row, which it may be drawn in proportion to, and their sums block by block.
#[derive(Clone)]
struct Shares {
    rows: Vec<f64>,
    blocks: Vec<f64>,
}

impl Shares {
    fn new(rows: Vec<f64>) -> Self {
        let blocks = rows.chunks(BLOCK).map(|block| block.iter().sum()).collect();
        Shares { rows, blocks }
    }

    fn total(&self) -> f64 {
        self.blocks.iter().sum()
    }

    /// A row drawn in proportion to its share.
    fn draw(&self, rng: &mut Rng) -> usize {
        let mut left = rng.random::<f64>() * self.total();
        let block = first_beyond(&self.blocks, &mut left);
        let rows = &self.rows[block * BLOCK..(block + 1) * BLOCK];
        block * BLOCK + first_beyond(rows, &mut left)
    }
}

/// The first of these that `left` does not reach beyond when one after the other is taken from it, or the last that is not 0 where
/// rounding leaves something.
fn first_beyond(shares: &[f64], left: &mut f64) -> usize {
    for (i, share) in shares.iter().enumerate() {
        if *left < *share {
            return i;
        }
        *left -= share;
    }
    shares.iter().rposition(|share| *share > 0.0).unwrap_or(0)
}

/// Numbers that are turned on their side before they are looked at: few enough to stay in the cache from look to look.
const TURNED: usize = 1 << 16;

/// The rows among which seeds are sought.
struct Sample<'a, T> {
    data: &'a Data<'a, T>,
    rows: &'a [usize],
    /// Filled up to whole blocks with rows of no weight.
    weights: Vec<f64>,
    /// Relative to the reference point, block by block and there column by column, where the numbers are few.
    turned: Vec<T>,
}

impl<'a, T: Real> Sample<'a, T> {
    /// Every row stands for `step` rows.
    fn new(data: &'a Data<'a, T>, rows: &'a [usize], step: f64) -> Self {
        let d = data.n_columns();
        let mut weights: Vec<f64> = rows.iter().map(|&n| data.weight(n) * step).collect();
        weights.resize(rows.len().next_multiple_of(BLOCK), 0.0);
        let is_small = rows.len() * d <= TURNED;
        let mut turned = vec![T::default(); if is_small { weights.len() * d } else { 0 }];
        for (block, rows) in turned.chunks_exact_mut(d * BLOCK).zip(rows.chunks(BLOCK)) {
            let columns = block.as_chunks_mut::<BLOCK>().0;
            for (l, &row) in rows.iter().enumerate() {
                let numbers = data.rows().row(row).iter().zip(data.reference());
                for (column, (&x, &reference)) in columns.iter_mut().zip(numbers) {
                    column[l] = x - reference;
                }
            }
        }
        Sample { data, rows, weights, turned }
    }

    /// What every row pays to the nearest seed, once this row is one too: weight times squared distance.
    fn beside(&self, seed: usize, pays: &Shares, lower: &mut Shares) {
        on_this_processor(Beside { sample: self, seed, pays, lower });
    }
}

struct Beside<'a, T> {
    sample: &'a Sample<'a, T>,
    seed: usize,
    pays: &'a Shares,
    lower: &'a mut Shares,
}

impl<T: Real> Kernel for Beside<'_, T> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<const FUSED: bool, const WIDE: bool>(self) {
        // SAFETY: this kernel runs with FUSED and WIDE.
        unsafe {
            match (FUSED, WIDE) {
                (true, true) => self.lower::<T::Wide, <f64 as Lanes>::Wide, FUSED>(),
                (true, false) => self.lower::<T::Narrow, <f64 as Lanes>::Narrow, FUSED>(),
                (false, _) => self.lower::<T::Plain, <f64 as Lanes>::Plain, FUSED>(),
            }
        }
    }
}

impl<T: Real> Beside<'_, T> {
    /// # Safety
    /// Only in a kernel that runs with FUSED and has the instructions of both vectors.
    #[inline(always)]
    unsafe fn lower<V: Vector<Number = T>, W: Vector<Number = f64>, const FUSED: bool>(self) {
        let Sample { data, rows, weights, turned } = self.sample;
        let d = data.n_columns();
        let mut centre = vec![0.0; d];
        add_offset_row(&mut centre, data.rows().row(rows[self.seed]), data.reference(), 1.0);
        let narrow: Vec<T> = centre.iter().map(|c| T::from_f64(-*c)).collect();
        let known = self.pays.rows.as_chunks::<BLOCK>().0.iter().zip(weights.as_chunks::<BLOCK>().0);
        let lowered = self.lower.rows.as_chunks_mut::<BLOCK>().0.iter_mut().zip(&mut self.lower.blocks);
        for (b, ((least, sum), (pays, weights))) in lowered.zip(known).enumerate() {
            let mut squares = [0.0; BLOCK];
            if turned.is_empty() {
                for (square, &row) in squares.iter_mut().zip(&rows[b * BLOCK..]) {
                    *square = offset_squared_distance(data.rows().row(row), data.reference(), &centre);
                }
            } else {
                let columns = turned[b * BLOCK * d..(b + 1) * BLOCK * d].as_chunks::<BLOCK>().0;
                // SAFETY: the caller vouches for FUSED and for the instructions of V.
                unsafe {
                    let [first, second] = squares_to::<V>(columns, &narrow);
                    squares[..HALF].copy_from_slice(&T::widen::<FUSED>(&first));
                    squares[HALF..].copy_from_slice(&T::widen::<FUSED>(&second));
                }
            }
            // SAFETY: the caller vouches for the instructions of W; all arrays are a block long.
            unsafe {
                let mut total = W::splat(0.0);
                for l in (0..BLOCK).step_by(W::LANES) {
                    let charge =
                        W::load(squares.as_ptr().add(l)).multiply_add(W::load(weights.as_ptr().add(l)), W::splat(0.0));
                    let charge = charge.smaller(W::load(pays.as_ptr().add(l)));
                    charge.store(least.as_mut_ptr().add(l));
                    total = total.multiply_add(W::splat(1.0), charge);
                }
                let mut parts = [0.0; HALF];
                total.store(parts.as_mut_ptr());
                *sum = parts.iter().sum();
            }
        }
    }
}

/// Squared distances of the rows of a block to the centre opposite to this one.
///
/// # Safety
/// Only on a processor with the instructions of V.
#[inline(always)]
unsafe fn squares_to<V: Vector>(columns: &[[V::Number; BLOCK]], minus_centre: &[V::Number]) -> [[V::Number; HALF]; 2] {
    let mut squares = [V::Number::default(); BLOCK];
    // SAFETY: the caller vouches for the instructions; columns and squares are a block long.
    unsafe {
        let zero = V::splat(V::Number::default());
        let one = V::splat(V::Number::from_f64(1.0));
        let mut sums = [zero; BLOCK / 4];
        for (column, &minus) in columns.iter().zip(minus_centre) {
            let minus = V::splat(minus);
            for (l, sum) in sums[..BLOCK / V::LANES].iter_mut().enumerate() {
                let gap = V::load(column.as_ptr().add(l * V::LANES)).multiply_add(one, minus);
                *sum = gap.multiply_add(gap, *sum);
            }
        }
        for (l, sum) in sums[..BLOCK / V::LANES].iter().enumerate() {
            sum.store(squares.as_mut_ptr().add(l * V::LANES));
        }
    }
    let mut halves = [[V::Number::default(); HALF]; 2];
    halves.as_flattened_mut().copy_from_slice(&squares);
    halves
}
