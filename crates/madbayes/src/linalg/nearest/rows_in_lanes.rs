//! Scores of rows of few columns: a block is turned on its side, one row per lane, and meets panels of centres in registers.

use super::Panels;
use super::blocks::{Ahead, Block, LARGEST_BLOCK, Places, Scored, Scores};
use crate::data::Real;
use crate::linalg::vector::{LINE, Vector};

/// A block of rows and the panels of `PANEL` centres it is multiplied with.
pub(super) struct RowsInLanes<'a, T, const PANEL: usize> {
    panels: &'a Panels<T>,
    minus_reference: &'a [T],
    /// The block column by column, from `aligned` on.
    turned: Vec<T>,
    aligned: usize,
}

impl<'a, V: Vector, const PANEL: usize> Scores<'a, V> for RowsInLanes<'a, V::Number, PANEL> {
    #[inline(always)]
    fn new(panels: &'a Panels<V::Number>, minus_reference: &'a [V::Number]) -> Self {
        assert_eq!(panels.width, PANEL, "centres are packed for this processor");
        // Vectors of a block begin where lines begin: then none of them is read from two.
        let turned = vec![V::Number::default(); 2 * V::LANES * minus_reference.len() + LINE];
        let aligned = turned.as_ptr().align_offset(LINE).min(LINE);
        RowsInLanes { panels, minus_reference, turned, aligned }
    }

    #[inline(always)]
    unsafe fn of(&mut self, block: Block<V::Number>) -> Scored<V> {
        let RowsInLanes { panels, minus_reference, turned, aligned } = self;
        let (d, lanes, turned) = (minus_reference.len(), 2 * V::LANES, &mut turned[*aligned..]);
        // SAFETY: the caller vouches for the instructions and for whole vectors at every place; `turned` has `lanes` numbers for each
        // column, a panel PANEL.
        unsafe {
            let zero = V::splat(V::Number::default());
            let mut scored = Scored::<V>::nothing();
            turn::<V>(block.values, block.places, minus_reference, turned, &mut scored.norms);
            // What is looked at next is fetched meanwhile, a share with each panel.
            let mut ahead = Ahead::new(&block, lanes, 0..d, true);
            let share = ahead.lines().div_ceil(panels.values.len() / (d * PANEL));
            for (p, panel) in panels.values.chunks_exact(d * PANEL).enumerate() {
                ahead.fetch(share);
                let first = p * PANEL;
                let mut scores = [[zero; 2]; PANEL];
                for p in 0..PANEL {
                    scores[p] = [V::splat(*panels.minus_half_norms.get_unchecked(first + p)); 2];
                }
                let (mut x, mut c) = (turned.as_ptr(), panel.as_ptr());
                for _ in 0..d {
                    let rows = [V::load(x), V::load(x.add(V::LANES))];
                    for p in 0..PANEL {
                        let centre = V::splat(*c.add(p));
                        scores[p][0] = rows[0].multiply_add(centre, scores[p][0]);
                        scores[p][1] = rows[1].multiply_add(centre, scores[p][1]);
                    }
                    (x, c) = (x.add(lanes), c.add(PANEL));
                }
                for p in 0..PANEL {
                    let name = V::splat(*panels.indices.get_unchecked(first + p));
                    for half in 0..2 {
                        scored.note(half, scores[p][half], name);
                    }
                }
            }
            scored
        }
    }
}

/// Writes the differences of two vectors' worth of rows from the reference point column by column, one row per lane, and adds their
/// squares to the norms.
///
/// # Safety
/// Only on a processor with the instructions of `V`; from every place whole vectors of D columns can be read, `turned` has room for
/// the columns.
#[inline(always)]
unsafe fn turn<V: Vector>(
    values: &[V::Number],
    places: &Places,
    minus_reference: &[V::Number],
    turned: &mut [V::Number],
    norms: &mut [V; 2],
) {
    let d = minus_reference.len();
    debug_assert!(2 * V::LANES <= LARGEST_BLOCK && turned.len() >= 2 * V::LANES * d);
    debug_assert!(places[..2 * V::LANES].iter().all(|place| place + d.next_multiple_of(V::LANES) <= values.len()));
    // SAFETY: the caller vouches for the instructions; columns beyond D are read from what follows the row, and not written.
    unsafe {
        let one = V::splat(V::Number::from_f64(1.0));
        for first in (0..d).step_by(V::LANES) {
            for half in 0..2 {
                let to = turned.as_mut_ptr().add(first * 2 * V::LANES + half * V::LANES);
                let mut put = |j: usize, column: V| {
                    let column = column.multiply_add(one, V::splat(*minus_reference.get_unchecked(first + j)));
                    norms[half] = column.multiply_add(column, norms[half]);
                    column.store(to.add(j * 2 * V::LANES));
                };
                let square = V::turned(|i| values.as_ptr().add(places[half * V::LANES + i] + first));
                // Two loops, so that whole squares stay in registers.
                if first + V::LANES <= d {
                    for j in 0..V::LANES {
                        put(j, square[j]);
                    }
                } else {
                    let some = square;
                    for j in 0..d - first {
                        put(j, some[j]);
                    }
                }
            }
        }
    }
}
