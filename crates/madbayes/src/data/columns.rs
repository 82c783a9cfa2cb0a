//! One look at all rows: the sum and the range of each column.

use super::{EitherRows, Real, Rows};
use crate::linalg::{Kernel, on_this_processor};
use crate::parallel::Workers;

/// Rows and columns that are looked at together.
pub(super) const BLOCK: usize = 256;
/// Numbers that one thread looks at.
pub(super) const PART: usize = 1 << 20;
const LANES: usize = 8;
/// Numbers that are looked at together: few enough for the nearest cache.
const NUMBERS: usize = 1 << 13;

/// What one look at all rows tells of each column.
pub(super) struct Columns<T> {
    /// Not finite where a value is not, or where finite values add up to more than the largest number.
    pub sums: Vec<f64>,
    pub low: Vec<T>,
    pub high: Vec<T>,
}

impl Columns<f64> {
    /// Looks at rows of either kind.
    pub fn of(rows: EitherRows, workers: &Workers) -> Self {
        either!(rows, rows => Columns::look(rows, workers).wide())
    }
}

impl<T: Real> Columns<T> {
    fn wide(self) -> Columns<f64> {
        let wide = |numbers: Vec<T>| numbers.into_iter().map(Into::into).collect();
        Columns { sums: self.sums, low: wide(self.low), high: wide(self.high) }
    }

    /// Part by part, put together in order.
    fn look(rows: Rows<T>, workers: &Workers) -> Self {
        let size = (PART / rows.n_columns()).max(BLOCK);
        let look = |i: usize| {
            let rows = rows.slice(i * size, ((i + 1) * size).min(rows.n_rows()));
            on_this_processor(Look { rows })
        };
        let mut parts = workers.map(rows.n_rows().div_ceil(size), look).into_iter();
        let first = parts.next().unwrap_or(Columns { sums: Vec::new(), low: Vec::new(), high: Vec::new() });
        parts.fold(first, |mut all, part| {
            all.sums.iter_mut().zip(part.sums).for_each(|(sum, more)| *sum += more);
            all.low.iter_mut().zip(part.low).for_each(|(low, x)| *low = if x < *low { x } else { *low });
            all.high.iter_mut().zip(part.high).for_each(|(high, x)| *high = if x > *high { x } else { *high });
            all
        })
    }
}

struct Look<'a, T> {
    rows: Rows<'a, T>,
}

impl<T: Real> Kernel for Look<'_, T> {
    type Output = Columns<T>;

    #[inline(always)]
    unsafe fn run<const FUSED: bool, const WIDE: bool>(self) -> Columns<T> {
        let d = self.rows.n_columns();
        let mut sums = vec![0.0; d];
        let (mut low, mut high) = (self.rows.row(0).to_vec(), self.rows.row(0).to_vec());
        let rows = (NUMBERS / d).clamp(1, BLOCK);
        for block in self.rows.values().chunks(rows * d) {
            for first in (0..d).step_by(LANES) {
                // What is told of a few columns stays in registers from row to row.
                if let Some(low) = low[first..].first_chunk_mut::<LANES>()
                    && let Some(high) = high[first..].first_chunk_mut::<LANES>()
                    && let Some(sums) = sums[first..].first_chunk_mut::<LANES>()
                {
                    let (mut partial, mut lowest, mut highest) = ([0.0; LANES], *low, *high);
                    for row in block.chunks_exact(d) {
                        let Some(x) = row[first..].first_chunk::<LANES>() else { continue };
                        // SAFETY: this kernel runs with FUSED.
                        let wide = unsafe { T::widen::<FUSED>(x) };
                        for l in 0..LANES {
                            partial[l] += wide[l];
                        }
                        for l in 0..LANES {
                            lowest[l] = if x[l] < lowest[l] { x[l] } else { lowest[l] };
                        }
                        for l in 0..LANES {
                            highest[l] = if x[l] > highest[l] { x[l] } else { highest[l] };
                        }
                    }
                    (*low, *high) = (lowest, highest);
                    for l in 0..LANES {
                        sums[l] += partial[l];
                    }
                    continue;
                }
                for j in first..d {
                    let mut partial = 0.0;
                    for row in block.chunks_exact(d) {
                        let x = row[j];
                        partial += x.into();
                        low[j] = if x < low[j] { x } else { low[j] };
                        high[j] = if x > high[j] { x } else { high[j] };
                    }
                    sums[j] += partial;
                }
            }
        }
        Columns { sums, low, high }
    }
}
