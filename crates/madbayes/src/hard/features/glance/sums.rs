//! c = A x in float32: rows turned on their side, one per lane, meet panels of features in registers.

use super::LANES;
use crate::data::Real;
use crate::linalg::{LINE, Vector, fetch};

/// The most rows side by side.
pub(super) const SIDE: usize = 2 * LANES;

/// Room that begins where a line begins: then no vector is read from two.
pub(super) struct Turned {
    values: Vec<f32>,
    aligned: usize,
}

impl Turned {
    #[inline(always)]
    pub fn new(numbers: usize) -> Self {
        let values = vec![0.0; numbers + LINE];
        let aligned = values.as_ptr().align_offset(LINE).min(LINE);
        Turned { values, aligned }
    }

    #[inline(always)]
    pub fn values(&mut self) -> &mut [f32] {
        &mut self.values[self.aligned..]
    }
}

/// Writes two vectors' worth of rows column by column, one row per lane; their |x|^2.
///
/// # Safety
/// Only with the instructions of V; rows have D columns, and `turned` has room for them.
#[inline(always)]
pub(super) unsafe fn turn<'a, T: Real, V: Vector<Number = f32>>(
    row: impl Fn(usize) -> &'a [T],
    d: usize,
    turned: &mut [f32],
) -> [V; 2] {
    let (side, whole) = (2 * V::LANES, d / V::LANES * V::LANES);
    debug_assert!(turned.len() >= d * side);
    // SAFETY: the caller vouches for the instructions; whole vectors are read from columns before `whole`.
    unsafe {
        let mut squares = [V::splat(0.0); 2];
        for half in 0..2 {
            let mut starts = [std::ptr::null(); LANES];
            let mut narrow = [[0.0; LANES]; LANES];
            for i in 0..V::LANES {
                let row = row(half * V::LANES + i);
                debug_assert!(row.len() == d);
                starts[i] = row.as_ptr();
            }
            let to = turned.as_mut_ptr().add(half * V::LANES);
            for first in (0..whole).step_by(V::LANES) {
                let square = if size_of::<T>() == size_of::<f32>() {
                    // These are float32 numbers: no other has this size.
                    V::turned(|i| starts[i].add(first).cast::<f32>())
                } else {
                    for i in 0..V::LANES {
                        for j in 0..V::LANES {
                            narrow[i][j] = (*starts[i].add(first + j)).as_f32();
                        }
                    }
                    V::turned(|i| narrow[i].as_ptr())
                };
                for j in 0..V::LANES {
                    squares[half] = square[j].multiply_add(square[j], squares[half]);
                    square[j].store(to.add((first + j) * side));
                }
            }
            for j in whole..d {
                for i in 0..V::LANES {
                    *to.add(j * side + i) = (*starts[i].add(j)).as_f32();
                }
                let x = V::load(to.add(j * side));
                squares[half] = x.multiply_add(x, squares[half]);
            }
        }
        squares
    }
}

/// c = A x of the features of one panel; asks for the rows that `ahead` gives meanwhile.
///
/// # Safety
/// Only with the instructions of V; the panel has P numbers for each column, `x` two vectors.
#[inline(always)]
pub(super) unsafe fn sums_with<'a, T: Real, V: Vector<Number = f32>, const P: usize>(
    x: &[f32],
    panel: &[f32],
    c: &mut [[f32; SIDE]],
    ahead: impl Fn(usize) -> Option<&'a [T]>,
) {
    let (side, d) = (2 * V::LANES, panel.len() / P);
    assert!(x.len() >= d * side && c.len() == P);
    // SAFETY: the caller vouches for the instructions; lengths were just compared.
    unsafe {
        let mut sums = [[V::splat(0.0); 2]; P];
        let (mut x, mut a) = (x.as_ptr(), panel.as_ptr());
        for i in 0..side {
            if let Some(row) = ahead(i) {
                for line in (0..d * size_of::<T>()).step_by(LINE) {
                    fetch(row.as_ptr().byte_add(line));
                }
            }
            for _ in i * d / side..(i + 1) * d / side {
                let rows = [V::load(x), V::load(x.add(V::LANES))];
                for p in 0..P {
                    let feature = V::splat(*a.add(p));
                    sums[p][0] = rows[0].multiply_add(feature, sums[p][0]);
                    sums[p][1] = rows[1].multiply_add(feature, sums[p][1]);
                }
                (x, a) = (x.add(side), a.add(P));
            }
        }
        for p in 0..P {
            sums[p][0].store(c[p].as_mut_ptr());
            sums[p][1].store(c[p].as_mut_ptr().add(V::LANES));
        }
    }
}
