//! A glance at rows in float32: c = A x with rows side by side, and by how much the features of each are surely the best.
//!
//! With A frozen the flips S add 2 sum_S d_k g_k + |sum_S d_k A_k|^2 >= sum_S w_k to the cost of a row, as in [`super::screen`].
//! In float32 each 2 g_k is off by no more than e_k = 2 eps ((D + 2K + 16) |A_k| |x| + (2K + 16) sum_j |G_kj|): a sum of n products
//! is off by n eps times the sum of their sizes. Every flip and every w is taken less its e_k.
//! A row has the margin m when every flip then adds at least m, and either any two w have a sum of at least 2 m, or any pair
//! of flips adds at least 2 m and any three w have a sum of at least 3 m. With m > 0 no other row costs less.

mod sums;
#[cfg(test)]
pub(super) mod tests;

use self::sums::{SIDE, Turned, sums_with, turn};
use super::row_problem::{EXACT, RowProblem};
use crate::data::{Real, Rows};
use crate::linalg::{Kernel, Lanes, Vector, on_this_processor};

/// The most numbers of a vector.
const LANES: usize = 16;
/// Room for features in whole panels.
const MOST: usize = EXACT + 12;

/// Rounding in float32.
const EPSILON: f64 = f32::EPSILON as f64 / 2.0;
/// What is left out above: n eps / (1 - n eps) instead of n eps, and the rounding of |x|.
const ROUND: f64 = 1.01;
/// Squared lengths of components, and of rows, between which nothing overflows or vanishes.
const LARGEST: f64 = 1e20;
const SMALLEST: f64 = 1e-20;
const LONGEST: f32 = 1e30;
/// Components and rows count as no shorter than this share of the longest, and than this: then what vanishes is within the bound.
const SHORTEST: f64 = 1e-6;
const NOTHING: f32 = 1e-20;

/// Components as a glance sees them.
#[derive(Debug, Clone)]
pub(super) struct Glance {
    k: usize,
    d: usize,
    /// Features of a panel.
    width: usize,
    /// Panel after panel, column after column.
    panels: Vec<f32>,
    /// G, K x K, and G^-1.
    gram: Vec<f32>,
    inverse: Vec<f32>,
    floor: Vec<f32>,
    /// -e_k = fixed_k + share_k |x|.
    fixed: Vec<f32>,
    share: Vec<f32>,
    /// |x|^2 is at most so many times what it seems.
    square: f32,
}

/// What a glance shows of rows, and may change.
pub(super) struct Glanced<'a> {
    /// One word of bits per row. Where others are surely the best they take their place.
    pub words: &'a mut [u64],
    /// By how much the features are the best; not above 0 where that is in doubt.
    pub margins: &'a mut [f32],
    /// Squared residuals are at most this.
    pub residuals: &'a mut [f32],
    /// Whether some row has features: else they are taken for what no one has looked at yet.
    pub seen: bool,
}

impl Glance {
    /// K x D components with their row problem; none where float32 cannot tell.
    pub fn new(components: &[f64], d: usize, problem: &RowProblem) -> Option<Glance> {
        let (k, bounds) = (components.len() / d, problem.bounds()?);
        let length = |i: usize| bounds.gram[i * k + i];
        let largest = (0..k).map(length).fold(0.0, f64::max);
        if !(SMALLEST..LARGEST).contains(&largest) || d > 1 << 16 {
            return None;
        }
        let widest = on_this_processor(WidestPanel);
        let width = k.div_ceil(k.div_ceil(widest)).next_multiple_of(2);
        let mut panels = vec![0.0; k.div_ceil(width) * width * d];
        for feature in 0..k {
            let (panel, within) = (feature / width, feature % width);
            for j in 0..d {
                panels[(panel * d + j) * width + within] = components[feature * d + j] as f32;
            }
        }
        let narrow = |values: &[f64]| values.iter().map(|v| *v as f32).collect::<Vec<f32>>();
        let own = (2 * k + 16) as f64;
        let fixed = |i: usize| {
            let around: f64 = bounds.gram[i * k..(i + 1) * k].iter().map(|g| g.abs()).sum();
            -(2.0 * ROUND * EPSILON * own * around + bounds.need) as f32
        };
        let share = |i: usize| {
            let length = length(i).max(SHORTEST * SHORTEST * largest).sqrt();
            -(2.0 * ROUND * EPSILON * (d as f64 + own) * length) as f32
        };
        Some(Glance {
            k,
            d,
            width,
            panels,
            gram: narrow(bounds.gram),
            inverse: narrow(bounds.inverse),
            floor: narrow(bounds.floor),
            fixed: (0..k).map(fixed).collect(),
            share: (0..k).map(share).collect(),
            square: (1.0 + 2.0 * ROUND * EPSILON * (d as f64 + own)) as f32,
        })
    }

    /// Looks at some of the rows, by their numbers.
    pub fn at<T: Real>(&self, rows: Rows<T>, places: &[u32], glanced: Glanced) {
        on_this_processor(Look { glance: self, rows, places, glanced });
    }
}

/// The most features whose sums with two vectors of rows stay in registers.
struct WidestPanel;

impl Kernel for WidestPanel {
    type Output = usize;

    #[inline(always)]
    unsafe fn run<const FUSED: bool, const WIDE: bool>(self) -> usize {
        if WIDE { 12 } else { 6 }
    }
}

struct Look<'a, T> {
    glance: &'a Glance,
    rows: Rows<'a, T>,
    places: &'a [u32],
    glanced: Glanced<'a>,
}

impl<T: Real> Kernel for Look<'_, T> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<const FUSED: bool, const WIDE: bool>(self) {
        // SAFETY: this kernel runs with WIDE and FUSED, which is all that their vectors need.
        unsafe {
            if WIDE {
                self.panels::<<f32 as Lanes>::Wide>();
            } else if FUSED {
                self.panels::<<f32 as Lanes>::Narrow>();
            } else {
                self.panels::<<f32 as Lanes>::Plain>();
            }
        }
    }
}

impl<T: Real> Look<'_, T> {
    /// # Safety
    /// Only in a kernel that runs with the instructions of V.
    #[inline(always)]
    unsafe fn panels<V: Vector<Number = f32>>(self) {
        // SAFETY: the caller vouches for the instructions.
        unsafe {
            match self.glance.width {
                2 => self.groups::<V, 2>(),
                4 => self.groups::<V, 4>(),
                6 => self.groups::<V, 6>(),
                8 => self.groups::<V, 8>(),
                10 => self.groups::<V, 10>(),
                _ => self.groups::<V, 12>(),
            }
        }
    }

    /// Two vectors of rows after the other.
    ///
    /// # Safety
    /// As above.
    #[inline(always)]
    unsafe fn groups<V: Vector<Number = f32>, const P: usize>(self) {
        let (k, d, side) = (self.glance.k, self.glance.d, 2 * V::LANES);
        assert!(self.glance.width == P && self.rows.n_columns() == d && k <= EXACT);
        let Glanced { words, margins, residuals, seen } = self.glanced;
        let mut turned = Turned::new(d * side);
        let mut c = [[0.0; SIDE]; MOST];
        let number = |i: usize| self.places[i.min(self.places.len() - 1)] as usize;
        for start in (0..self.places.len()).step_by(side) {
            let end = (start + side).min(self.places.len());
            let x = turned.values();
            // SAFETY: the caller vouches for the instructions; there is room for `side` rows, and for the features of all panels.
            unsafe {
                let squares = turn::<T, V>(|i| self.rows.row(number(start + i)), d, x);
                for (panel, values) in self.glance.panels.chunks_exact(d * P).enumerate() {
                    let ahead = |i: usize| (panel == 0).then(|| self.rows.row(number(start + side + i)));
                    sums_with::<T, V, P>(x, values, &mut c[panel * P..(panel + 1) * P], ahead);
                }
                for half in 0..2 {
                    let (first, last) = ((start + half * V::LANES).min(end), (start + (half + 1) * V::LANES).min(end));
                    if first < last {
                        let group = Group { glance: self.glance, c: &c, at: half * V::LANES, square: squares[half] };
                        let (margins, residuals) = (&mut margins[first..last], &mut residuals[first..last]);
                        group.settle(&mut words[first..last], margins, residuals, seen);
                    }
                }
            }
        }
    }
}

/// A vector of rows.
struct Group<'a, V> {
    glance: &'a Glance,
    /// c by features, from the lane `at` on.
    c: &'a [[f32; SIDE]; MOST],
    at: usize,
    /// |x|^2.
    square: V,
}

/// 0 or 1 by features and rows.
type Bits = [[f32; LANES]; EXACT];

impl<V: Vector<Number = f32>> Group<'_, V> {
    /// Margins of the rows as they are and, where these are in doubt, of least squares rounded.
    ///
    /// # Safety
    /// Only in a kernel that runs with the instructions of V.
    #[inline(always)]
    unsafe fn settle(&self, words: &mut [u64], margins: &mut [f32], residuals: &mut [f32], seen: bool) {
        let k = self.glance.k;
        let mut bits: Bits = [[0.0; LANES]; EXACT];
        margins.fill(0.0);
        residuals.fill(f32::INFINITY);
        if seen {
            let mut own = [0u32; LANES];
            own.iter_mut().zip(&*words).for_each(|(own, word)| *own = *word as u32);
            for (i, bits) in bits[..k].iter_mut().enumerate() {
                for l in 0..LANES {
                    bits[l] = (own[l] >> i & 1) as f32;
                }
            }
            // SAFETY: the caller vouches for the instructions.
            let (margin, residual) = unsafe { self.judge(&bits) };
            margins.copy_from_slice(&margin[..words.len()]);
            residuals.copy_from_slice(&residual[..words.len()]);
            let sure = margins.iter().filter(|margin| **margin > 0.0).count();
            if (words.len() - sure) * 8 <= words.len() {
                return;
            }
        }
        // Many in doubt: as in a first pass. Rounded least squares are often the best at once.
        // SAFETY: as above.
        let (own, (margin, residual)) = unsafe { (self.round(&mut bits), self.judge(&bits)) };
        for l in 0..words.len() {
            if margin[l] > 0.0 {
                (words[l], margins[l], residuals[l]) = (u64::from(own[l]), margin[l], residual[l]);
            }
        }
    }

    /// G^-1 c, rounded to 0 or 1; the same as words of bits.
    ///
    /// # Safety
    /// As above.
    #[inline(always)]
    unsafe fn round(&self, bits: &mut Bits) -> [u32; LANES] {
        let (k, inverse) = (self.glance.k, &self.glance.inverse);
        assert!(k <= EXACT && inverse.len() == k * k);
        let mut words = [0; LANES];
        // SAFETY: the caller vouches for the instructions; lanes are no fewer than a vector has, and K x K numbers are there.
        unsafe {
            let mut word = V::splat(0.0);
            for i in 0..k {
                let mut solved = V::splat(0.0);
                for j in 0..k {
                    let c = V::load(self.c[j].as_ptr().add(self.at));
                    solved = c.multiply_add(V::splat(*inverse.get_unchecked(i * k + j)), solved);
                }
                let rounded = solved.where_greater(V::splat(0.5), V::splat(1.0), V::splat(0.0));
                rounded.store(bits[i].as_mut_ptr());
                // Up to 24 bits are a whole number in float32.
                word = rounded.multiply_add(V::splat((1u32 << i) as f32), word);
            }
            word.store_whole(words.as_mut_ptr());
        }
        words
    }

    /// The margin of every row with these bits, and at most how large its squared residual is.
    ///
    /// # Safety
    /// As above.
    #[inline(always)]
    unsafe fn judge(&self, bits: &Bits) -> ([f32; LANES], [f32; LANES]) {
        let Glance { k, gram, floor, fixed, share, .. } = self.glance;
        let k = *k;
        assert!(k <= EXACT && gram.len() == k * k && floor.len() == k && fixed.len() == k && share.len() == k);
        let (mut margins, mut residuals) = ([0.0; LANES], [0.0; LANES]);
        // SAFETY: the caller vouches for the instructions; lanes are no fewer than a vector has, and K x K numbers are there.
        unsafe {
            let (zero, one, minus) = (V::splat(0.0), V::splat(1.0), V::splat(-1.0));
            let most = V::splat(f32::INFINITY);
            let square = self.square.multiply_add(one, V::splat(NOTHING));
            let norm = square.square_root();
            let mut residual = square.multiply_add(V::splat(self.glance.square), zero);
            let (mut flip, mut first, mut second, mut third) = (most, most, most, most);
            // What flipping each bit alone adds at least, and 2 - 4 z.
            let (mut flips, mut steps) = ([zero; EXACT], [zero; EXACT]);
            for i in 0..k {
                let c = V::load(self.c[i].as_ptr().add(self.at));
                // g_i = (G z)_i - c_i.
                let mut slope = c.multiply_add(minus, zero);
                for j in 0..k {
                    let bits = V::load(bits[j].as_ptr());
                    slope = bits.multiply_add(V::splat(*gram.get_unchecked(i * k + j)), slope);
                }
                let bits = V::load(bits[i].as_ptr());
                let less = norm.multiply_add(V::splat(share[i]), V::splat(fixed[i]));
                // z (g - c), and no less than it is off by.
                let cost = less.multiply_add(minus, c.multiply_add(minus, slope));
                residual = bits.multiply_add(cost, residual);
                let step = bits.multiply_add(V::splat(-4.0), V::splat(2.0));
                let along = step.multiply_add(slope, less);
                let alone = along.multiply_add(one, V::splat(gram[i * k + i]));
                (flips[i], steps[i]) = (alone, step);
                flip = flip.smaller(alone);
                let w = along.multiply_add(one, V::splat(floor[i]));
                let more = w.larger(first);
                first = w.smaller(first);
                let most = more.larger(second);
                second = more.smaller(second);
                third = most.smaller(third);
            }
            let two = first.multiply_add(one, second);
            let mut rest = two.multiply_add(V::splat(0.5), zero);
            if !two.all_greater(zero) {
                let mut pair = most;
                for i in 0..k {
                    for j in i + 1..k {
                        let between = V::splat(0.5 * gram[i * k + j]).multiply_add(steps[i], zero);
                        let both = steps[j].multiply_add(between, flips[i].multiply_add(one, flips[j]));
                        pair = pair.smaller(both);
                    }
                }
                let three = two.multiply_add(one, third).multiply_add(V::splat(1.0 / 3.0), zero);
                rest = rest.larger(three.smaller(pair.multiply_add(V::splat(0.5), zero)));
            }
            // Of rows too long for float32 nothing is sure.
            let longest = V::splat(LONGEST);
            let margin = longest.where_greater(self.square, flip.smaller(rest), minus);
            margin.store(margins.as_mut_ptr());
            longest.where_greater(self.square, residual.larger(zero), most).store(residuals.as_mut_ptr());
        }
        (margins, residuals)
    }
}
