//! D^2 seeding (Arthur & Vassilvitskii 2007, greedy) that goes on while a new centre pays for its penalty.

use super::super::Goal;
use crate::data::{Data, Real};
use crate::linalg::{Kernel, Lanes, Vector, add_offset_row, offset_squared_distance, on_this_processor, sum_lanes};
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
    let mut sample = Sample::new(data, &rows, step as f64);
    let weight = Shares::new(sample.weights.clone());
    if weight.total <= 0.0 {
        return super::mean_offset(data);
    }
    let mut seeds = vec![weight.draw(rng)];
    let mut pays = sample.beside_all(&seeds);
    // What rows would pay beside the best candidate so far, and beside another.
    let (mut best, mut lower) = (pays.clone(), pays.clone());
    while seeds.len() < goal.cap().min(rows.len()) {
        let loss = pays.total;
        if loss <= 0.0 && !sample.turned.is_empty() {
            // Offsets that are rounded to the numbers of the data can be equal where rows are not.
            sample.turned = Vec::new();
            pays = sample.beside_all(&seeds);
            continue;
        }
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
            if lower.total < least {
                (seed, least) = (candidate, lower.total);
                std::mem::swap(&mut best, &mut lower);
            }
        }
        // Not where sums are beyond the largest number either.
        if least.is_infinite() || loss - least <= goal.penalty() {
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
    total: f64,
}

impl Shares {
    fn new(rows: Vec<f64>) -> Self {
        let blocks: Vec<f64> = rows.chunks(BLOCK).map(|block| block.iter().sum()).collect();
        let total = blocks.iter().sum();
        Shares { rows, blocks, total }
    }

    /// A row drawn in proportion to its share.
    fn draw(&self, rng: &mut Rng) -> usize {
        let mut left = rng.random::<f64>() * self.total;
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
    /// Relative to the reference point and rounded, block by block and there column by column, where the numbers are few.
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

    /// What every row pays to the nearest of these seeds.
    fn beside_all(&self, seeds: &[usize]) -> Shares {
        let mut pays = Shares::new(vec![f64::INFINITY; self.weights.len()]);
        for &seed in seeds {
            let before = pays.clone();
            self.beside(seed, &before, &mut pays);
        }
        pays
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
                // What was just written in halves is slow to read as a whole.
                (true, true) => self.lower::<T::Wide, <f64 as Lanes>::Narrow, FUSED>(),
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
        const { assert!(BLOCK.is_multiple_of(V::LANES) && HALF.is_multiple_of(W::LANES), "whole vectors fill a block") };
        let Sample { data, rows, weights, turned } = self.sample;
        let d = data.n_columns();
        let mut centre = vec![0.0; d];
        add_offset_row(&mut centre, data.rows().row(rows[self.seed]), data.reference(), 1.0);
        let narrow: Vec<T> = centre.iter().map(|c| T::from_f64(-*c)).collect();
        let known = self.pays.rows.as_chunks::<BLOCK>().0.iter().zip(weights.as_chunks::<BLOCK>().0);
        let lowered = self.lower.rows.as_chunks_mut::<BLOCK>().0.iter_mut().zip(&mut self.lower.blocks);
        let mut all = 0.0;
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
                *sum = sum_lanes(parts);
                all += *sum;
            }
        }
        self.lower.total = all;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Rows;
    use crate::random::{Stream, stream};
    use crate::watch::Unwatched;
    use approx::assert_relative_eq;

    #[test]
    fn rows_are_drawn_in_proportion_to_their_shares_and_never_without_one() {
        let mut rng = stream(5, Stream::Simulation);
        for n in [1, 15, 16, 17, 40] {
            let mut shares: Vec<f64> = (0..n).map(|i| f64::from(i % 3)).collect();
            shares[n as usize - 1] = 2.0;
            shares.resize((n as usize).next_multiple_of(BLOCK), 0.0);
            let total: f64 = shares.iter().sum();
            let drawn = Shares::new(shares.clone());
            let mut counts = vec![0.0; shares.len()];
            for _ in 0..20_000 {
                counts[drawn.draw(&mut rng)] += 1.0;
            }
            for (share, count) in shares.iter().zip(counts) {
                let expected = 20_000.0 * share / total;
                assert!(
                    (count - expected).abs() <= 6.0 * expected.sqrt(),
                    "{n} rows: {count} draws, {expected} expected"
                );
            }
        }
        // Where rounding leaves something the last row with a share is taken.
        assert_eq!(first_beyond(&[0.0, 1.0, 0.0], &mut 1.5), 1);
    }

    fn pays_as_plain_sums<T: Real>(values: &[T], d: usize) {
        let n = values.len() / d;
        let weights: Vec<f64> = (0..n).map(|i| [1.0, 0.0, 2.5][i % 3]).collect();
        let data = Data::weighted(Rows::new(values, d).unwrap(), Some(&weights)).unwrap();
        let rows: Vec<usize> = (0..n).collect();
        let mut sample = Sample::new(&data, &rows, 3.0);
        let seeds = [0, n / 2, n - 1];
        for turned in [true, false] {
            if !turned {
                sample.turned = Vec::new();
            }
            let pays = sample.beside_all(&seeds);
            let mut plain = sample.beside_all(&[]);
            for &seed in &seeds {
                let before = plain.clone();
                let beside = Beside { sample: &sample, seed, pays: &before, lower: &mut plain };
                // SAFETY: plain vectors need no instructions of their own.
                unsafe { beside.lower::<T::Plain, <f64 as Lanes>::Plain, false>() };
            }
            for i in 0..n {
                let to = |seed: usize| -> f64 {
                    let gap = |j: usize| values[i * d + j].into() - values[seed * d + j].into();
                    3.0 * weights[i] * (0..d).map(|j| gap(j) * gap(j)).sum::<f64>()
                };
                let expected = seeds.iter().map(|&seed| to(seed)).fold(f64::INFINITY, f64::min);
                assert_relative_eq!(pays.rows[i], expected, max_relative = 1e-4, epsilon = 1e-4);
                assert_relative_eq!(plain.rows[i], expected, max_relative = 1e-4, epsilon = 1e-4);
            }
            assert!(seeds.iter().all(|&seed| pays.rows[seed] == 0.0), "a seed pays nothing");
            assert_relative_eq!(pays.total, pays.rows[..n].iter().sum::<f64>(), max_relative = 1e-12);
        }
    }

    #[test]
    fn rows_pay_the_nearest_seed_whatever_the_vectors() {
        let number = |i: usize| ((i * 7919) % 101) as f64 * 0.3 + 40.0;
        for (n, d) in [(3, 1), (15, 2), (33, 10), (70, 17)] {
            pays_as_plain_sums::<f64>(&(0..n * d).map(number).collect::<Vec<_>>(), d);
            pays_as_plain_sums::<f32>(&(0..n * d).map(|i| number(i) as f32).collect::<Vec<_>>(), d);
        }
    }

    #[test]
    fn distinct_rows_are_seeds_even_where_their_rounded_offsets_are_equal() {
        let values = [0.0f32, 0.5, 1e8];
        let data = Data::new(Rows::new(&values, 1).unwrap()).unwrap();
        let seeds = plus_plus(&data, &Goal::Exactly(3), &mut stream(0, Stream::Simulation), &Unwatched);
        assert_eq!(seeds.len(), 3);
    }
}
