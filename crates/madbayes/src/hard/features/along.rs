//! Rows against components in float64: c = A x and |x|^2 of a block of rows, which are read as they are.

use crate::data::{Real, Rows};
use crate::linalg::{Kernel, LINE, Lanes, Vector, fetch, multiply_add, on_this_processor, sum_lanes};

/// Numbers of a vector, and the most vectors of a panel. Named instructions: of loops over arrays the compiler joins vectors by shuffles.
const LANES: usize = 4;
const VECTORS: usize = 3;

/// The sum of all |x|^2.
pub(super) fn sum_of_squares<T: Real>(rows: Rows<T>) -> f64 {
    on_this_processor(Squares { values: rows.values() })
}

struct Squares<'a, T> {
    values: &'a [T],
}

impl<T: Real> Kernel for Squares<'_, T> {
    type Output = f64;

    #[inline(always)]
    unsafe fn run<const FUSED: bool, const WIDE: bool>(self) -> f64 {
        let (heads, tail) = self.values.as_chunks::<32>();
        let mut sums = [[0.0; 8]; 4];
        for head in heads {
            for (x, sums) in head.as_chunks::<8>().0.iter().zip(&mut sums) {
                // SAFETY: this kernel runs with FUSED.
                let wide = unsafe { T::widen::<FUSED>(x) };
                for l in 0..8 {
                    sums[l] = multiply_add::<FUSED>(wide[l], wide[l], sums[l]);
                }
            }
        }
        let tail = tail.iter().map(|&x| Into::<f64>::into(x)).map(|x| x * x).sum::<f64>();
        sums.map(sum_lanes).iter().sum::<f64>() + tail
    }
}

/// Components turned on their side: column after column, panels of a few features, zeros where there are no more.
#[derive(Debug, Clone)]
pub(super) struct Turned {
    k: usize,
    d: usize,
    /// Vectors of a panel.
    vectors: usize,
    values: Vec<[f64; LANES]>,
}

impl Turned {
    /// Of K x D components.
    pub fn new(components: &[f64], k: usize, d: usize) -> Self {
        let panels = k.div_ceil(VECTORS * LANES).max(1);
        let vectors = k.div_ceil(panels * LANES);
        let mut values = vec![[0.0; LANES]; panels * d * vectors];
        for feature in 0..k {
            let (panel, within) = (feature / (vectors * LANES), feature % (vectors * LANES));
            for j in 0..d {
                values[(panel * d + j) * vectors + within / LANES][within % LANES] = components[feature * d + j];
            }
        }
        Turned { k, d, vectors, values }
    }

    /// c = A x of every row, column after column: one number per row for each feature; and |x|^2.
    pub fn along<T: Real>(&self, rows: Rows<T>, c: &mut [f64], squares: &mut [f64]) {
        on_this_processor(Along { turned: self, rows, c, squares });
    }
}

struct Along<'a, T> {
    turned: &'a Turned,
    rows: Rows<'a, T>,
    c: &'a mut [f64],
    squares: &'a mut [f64],
}

impl<T: Real> Kernel for Along<'_, T> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<const FUSED: bool, const WIDE: bool>(self) {
        // SAFETY: this kernel runs with FUSED, which is all that vectors of four need.
        unsafe {
            if FUSED {
                self.panels::<<f64 as Lanes>::Narrow>();
            } else {
                self.panels::<<f64 as Lanes>::Plain>();
            }
        }
    }
}

/// Numbers by which rows are asked for before they are looked at.
const AHEAD: usize = 2048;

impl<T: Real> Along<'_, T> {
    /// # Safety
    /// Only in a kernel that runs with the instructions of W.
    #[inline(always)]
    unsafe fn panels<W: Vector<Number = f64>>(mut self) {
        // SAFETY: the caller vouches for the instructions.
        unsafe {
            // So many rows side by side that their sums with a panel just stay in sixteen registers.
            match self.turned.vectors {
                0 => self.blocks::<W, 0, 1>(),
                1 => self.blocks::<W, 1, 8>(),
                2 => self.blocks::<W, 2, 4>(),
                _ => self.blocks::<W, VECTORS, 3>(),
            }
        }
    }

    /// # Safety
    /// As above.
    #[inline(always)]
    unsafe fn blocks<W: Vector<Number = f64>, const V: usize, const ROWS: usize>(&mut self) {
        const { assert!(W::LANES == LANES, "panels are made of vectors") };
        let (n, k, d) = (self.rows.n_rows(), self.turned.k, self.turned.d);
        let mut wide = vec![0.0; ROWS * d];
        for first in (0..n).step_by(ROWS) {
            let rows = ROWS.min(n - first);
            let values = self.rows.slice(first, first + rows).values();
            for line in (0..values.len()).step_by(LINE / size_of::<T>()) {
                fetch(values.as_ptr().wrapping_add(line + AHEAD));
            }
            wide.iter_mut().zip(values).for_each(|(w, &x)| *w = x.into());
            for row in 0..rows {
                // SAFETY: the caller vouches for the instructions.
                self.squares[first + row] = unsafe { square::<W>(&wide[row * d..(row + 1) * d]) };
            }
            if V == 0 {
                continue;
            }
            for (panel, values) in self.turned.values.chunks_exact(d * V).enumerate() {
                // SAFETY: as above; a panel has V vectors for each column, `wide` ROWS rows.
                let sums = unsafe { sums_with::<W, V, ROWS>(&wide, values, d) };
                for feature in panel * V * LANES..k.min((panel + 1) * V * LANES) {
                    let within = feature - panel * V * LANES;
                    for row in 0..rows {
                        self.c[feature * n + first + row] = sums[row][within / LANES][within % LANES];
                    }
                }
            }
        }
    }
}

/// The products of the rows with the features of one panel.
///
/// # Safety
/// Only in a kernel that runs with the instructions of W; the panel has V vectors for each of `d` columns, `wide` ROWS rows of them.
#[inline(always)]
unsafe fn sums_with<W: Vector<Number = f64>, const V: usize, const ROWS: usize>(
    wide: &[f64],
    panel: &[[f64; LANES]],
    d: usize,
) -> [[[f64; LANES]; V]; ROWS] {
    debug_assert!(panel.len() == V * d && wide.len() == ROWS * d);
    let mut numbers = [[[0.0; LANES]; V]; ROWS];
    // SAFETY: the caller vouches for the instructions and for the lengths.
    unsafe {
        let mut sums = [[W::splat(0.0); V]; ROWS];
        let (x, panel) = (wide.as_ptr(), panel.as_ptr());
        for j in 0..d {
            let mut features = [W::splat(0.0); V];
            for v in 0..V {
                features[v] = W::load(panel.add(j * V + v).cast());
            }
            for row in 0..ROWS {
                let x = W::splat(*x.add(row * d + j));
                for v in 0..V {
                    sums[row][v] = features[v].multiply_add(x, sums[row][v]);
                }
            }
        }
        for row in 0..ROWS {
            for v in 0..V {
                sums[row][v].store(numbers[row][v].as_mut_ptr());
            }
        }
    }
    numbers
}

/// x'x.
///
/// # Safety
/// Only in a kernel that runs with the instructions of W.
#[inline(always)]
unsafe fn square<W: Vector<Number = f64>>(x: &[f64]) -> f64 {
    let (heads, tail) = x.as_chunks::<{ 4 * LANES }>();
    let mut parts = [0.0; LANES];
    // SAFETY: the caller vouches for the instructions; heads are four vectors long.
    unsafe {
        let (mut sums, one) = ([W::splat(0.0); 4], W::splat(1.0));
        for x in heads {
            for (v, sum) in sums.iter_mut().enumerate() {
                let x = W::load(x.as_ptr().add(v * LANES));
                *sum = x.multiply_add(x, *sum);
            }
        }
        let halves = [sums[0].multiply_add(one, sums[1]), sums[2].multiply_add(one, sums[3])];
        halves[0].multiply_add(one, halves[1]).store(parts.as_mut_ptr());
    }
    (parts[0] + parts[1]) + (parts[2] + parts[3]) + tail.iter().map(|x| x * x).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::dot;
    use crate::random::{Stream, stream};
    use rand::RngExt;

    #[test]
    fn products_and_squares_are_those_of_plain_loops_for_any_shape() {
        let mut rng = stream(1, Stream::Simulation);
        for (n, d, k) in
            [(1, 1, 1), (7, 5, 3), (9, 64, 10), (4, 17, 12), (11, 3, 4), (6, 3, 13), (5, 20, 30), (3, 4, 0)]
        {
            let x: Vec<f32> = (0..n * d).map(|_| rng.random::<f32>() - 0.5).collect();
            let a: Vec<f64> = (0..k * d).map(|_| rng.random::<f64>() - 0.5).collect();
            let wide: Vec<f64> = x.iter().map(|x| f64::from(*x)).collect();
            let (mut c, mut squares) = (vec![0.0; n * k], vec![0.0; n]);
            for as_they_are in [true, false] {
                let turned = Turned::new(&a, k, d);
                if as_they_are {
                    turned.along(Rows::new(&x, d).unwrap(), &mut c, &mut squares);
                } else {
                    turned.along(Rows::new(&wide, d).unwrap(), &mut c, &mut squares);
                }
                for row in 0..n {
                    let x = &wide[row * d..(row + 1) * d];
                    assert!((squares[row] - dot(x, x)).abs() < 1e-13);
                    for i in 0..k {
                        assert!((c[i * n + row] - dot(x, &a[i * d..(i + 1) * d])).abs() < 1e-13, "{n} {d} {k}");
                    }
                }
            }
        }
    }
}
