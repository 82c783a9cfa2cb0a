//! What a pass keeps of a chunk of rows: how Z'Z and Z'X change, |X|^2, and the row of largest residual.

#[cfg(test)]
mod tests;

use super::along::{Turned, sum_of_squares};
use super::drift::{Drift, Margin};
use super::glance::{Glance, Glanced};
use super::moved::{Moved, count_overlaps};
use super::row_problem::{Rest, RowProblem, RowSolver, Scratch};
use crate::data::{Real, Rows};
use crate::structure::Allocation;
use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};

/// Rows worked on at once: few enough to stay in the cache.
pub(super) const BLOCK: usize = 256;

/// Numbers of the rows that are added to sums at once: few enough for the second cache.
const SPAN: usize = 1 << 16;

/// What float32 may lose of a margin from pass to pass, and what is added to lengths.
const SHRUNK: f32 = 1.0 - 1e-6;
const ROUND: f32 = 1.0 + 1e-6;

/// Sums over rows.
#[derive(Debug, Clone)]
pub(super) struct Summary {
    k: usize,
    d: usize,
    /// Z'Z, K x K.
    pub products: Vec<f64>,
    /// Z'X, K x D.
    pub sums: Vec<f64>,
    /// |X|_F^2.
    pub square: f64,
    /// Rows whose features changed.
    pub changed: usize,
    /// The largest squared residual from the frozen components above the price of a feature, and its row; the first of equals.
    pub far: Option<(f64, usize)>,
}

/// What is kept of the rows of a chunk from pass to pass.
pub(super) struct Kept<'a> {
    /// Their features.
    pub words: &'a mut [u64],
    /// By how much these are the best, as [`super::glance`] has it; empty where nothing tells.
    pub margins: &'a mut [Margin],
    /// How long the longest residual of rows with a margin may be.
    pub residual: &'a mut f32,
}

/// What a pass asks of all rows.
pub(super) struct Asked<'a> {
    pub frozen: &'a FrozenComponents,
    /// How far components have moved since margins were found; none where there are no margins.
    pub drift: Option<&'a Drift>,
    /// Rows of larger squared residual count as far.
    pub price: f64,
    /// Whether |X|^2 is to be found.
    pub squares: bool,
}

/// Room for a block of rows.
#[derive(Default)]
struct Room<T> {
    /// Rows to look at, and those of them that are left to float64.
    places: Vec<u32>,
    doubtful: Vec<u32>,
    /// The features of a span of rows before any changed; empty while none is looked at.
    before: Vec<u64>,
    words: Vec<u64>,
    margins: Vec<f32>,
    residuals: Vec<f32>,
    rows: Vec<T>,
    c: Vec<f64>,
    costs: Vec<f64>,
    squares: Vec<f64>,
    scratch: Scratch,
    /// The largest squared residual of rows with a margin so far, at most.
    residual: f32,
    /// Whether float32 has left few enough rows in doubt.
    worthwhile: bool,
}

impl<T: Real> Room<T> {
    fn new() -> Self {
        Room { worthwhile: true, ..Room::default() }
    }
}

impl Summary {
    /// Of no rows.
    pub fn new(k: usize, d: usize) -> Self {
        Summary { k, d, products: vec![0.0; k * k], sums: vec![0.0; k * d], square: 0.0, changed: 0, far: None }
    }

    /// Adds the sums of later rows.
    pub fn merge(&mut self, later: &Summary) {
        self.products.iter_mut().zip(&later.products).for_each(|(t, p)| *t += p);
        self.sums.iter_mut().zip(&later.sums).for_each(|(t, p)| *t += p);
        self.square += later.square;
        self.changed += later.changed;
        if later.far.is_some_and(|far| self.far.is_none_or(|known| far.0 > known.0)) {
            self.far = later.far;
        }
    }

    /// What a scan of all rows found: sums change by what it changed.
    pub fn follow(&mut self, scanned: Summary) {
        self.products.iter_mut().zip(&scanned.products).for_each(|(t, p)| *t += p);
        self.sums.iter_mut().zip(&scanned.sums).for_each(|(t, p)| *t += p);
        self.square += scanned.square;
        (self.changed, self.far) = (scanned.changed, scanned.far);
    }

    /// Of these features only, in this order.
    pub fn select(&self, features: &[usize]) -> Summary {
        let (k, d) = (self.k, self.d);
        let pairs = features.iter().flat_map(|i| features.iter().map(move |j| i * k + j));
        Summary {
            k: features.len(),
            d,
            products: pairs.map(|e| self.products[e]).collect(),
            sums: features.iter().flat_map(|i| &self.sums[i * d..(i + 1) * d]).copied().collect(),
            ..*self
        }
    }

    /// As if a further feature were on for this row alone.
    pub fn open<T: Real>(&mut self, allocation: &Allocation, row: usize, values: &[T]) {
        let k = self.k;
        let mut products = vec![0.0; (k + 1) * (k + 1)];
        for i in 0..k {
            products[i * (k + 1)..][..k].copy_from_slice(&self.products[i * k..(i + 1) * k]);
        }
        for i in allocation.features_of(row).chain([k]) {
            products[i * (k + 1) + k] = 1.0;
            products[k * (k + 1) + i] = 1.0;
        }
        self.sums.extend(values.iter().map(|&x| Into::<f64>::into(x)));
        self.products = products;
        self.k += 1;
    }

    /// Solves the problem of every row of a chunk whose features are not surely the best still, and adds what that changes.
    pub fn solve<T: Real>(&mut self, rows: Rows<T>, first_row: usize, kept: Kept, asked: &Asked) {
        let Kept { words, margins, residual } = kept;
        let stride = self.k.div_ceil(64);
        // What margins have lost, and how long residuals may be of rows that nobody looks at.
        let (mut used, mut longest) = (f32::INFINITY, 0.0f32);
        if let Some(drift) = asked.drift {
            longest = drift.lengthened(*residual);
            used = if f64::from(longest).powi(2) > asked.price { f32::INFINITY } else { drift.of(*residual) };
        }
        let (mut room, mut read) = (Room::new(), 0);
        let span = (SPAN / self.d).next_multiple_of(BLOCK).max(BLOCK);
        for first in (0..rows.n_rows()).step_by(span) {
            let last = (first + span).min(rows.n_rows());
            let mut changed = 0;
            room.before.clear();
            for start in (first..last).step_by(BLOCK) {
                let end = (start + BLOCK).min(last);
                let block = rows.slice(start, end);
                if asked.squares {
                    self.square += sum_of_squares(block);
                }
                let margins = if margins.is_empty() { &mut [] } else { &mut margins[start..end] };
                room.places.clear();
                if used.is_infinite() || margins.is_empty() {
                    room.places.extend(0..(end - start) as u32);
                } else {
                    for (place, margin) in margins.iter_mut().enumerate() {
                        *margin = Margin::at_most(SHRUNK * (margin.get() - used));
                        let lasts = margin.get() > 0.0;
                        if !lasts {
                            room.places.push(place as u32);
                        }
                    }
                }
                if !room.places.is_empty() {
                    if room.before.is_empty() {
                        room.before.extend_from_slice(&words[first * stride..last * stride]);
                    }
                    read += room.places.len();
                    let words = &mut words[start * stride..end * stride];
                    changed += self.solve_some(block, first_row + start, words, margins, asked, &mut room);
                }
            }
            if changed > 0 {
                self.changed += changed;
                self.replace(rows.slice(first, last), &room.before, &words[first * stride..last * stride]);
            }
        }
        let seen = ROUND * room.residual.sqrt();
        *residual = if read == rows.n_rows() { seen } else { longest.max(seen) };
    }

    /// The rows of a block that are to be looked at: in float32 and, where that leaves doubt, in float64. How many changed.
    fn solve_some<T: Real>(
        &mut self,
        rows: Rows<T>,
        first_row: usize,
        words: &mut [u64],
        margins: &mut [Margin],
        asked: &Asked,
        room: &mut Room<T>,
    ) -> usize {
        let mut rest = Rest { others: rows.n_rows(), changed: 0, seen: words.iter().any(|z| *z != 0) };
        room.doubtful.clear();
        match asked.frozen.glance.as_ref().filter(|_| room.worthwhile) {
            None => room.doubtful.extend_from_slice(&room.places),
            Some(glance) => {
                let n = room.places.len();
                room.words.clear();
                room.words.extend(room.places.iter().map(|place| words[*place as usize]));
                room.margins.resize(n, 0.0);
                room.residuals.resize(n, 0.0);
                let glanced = Glanced {
                    words: &mut room.words,
                    margins: &mut room.margins,
                    residuals: &mut room.residuals,
                    seen: rest.seen,
                };
                glance.at(rows, &room.places, glanced);
                let price = self.far.map_or(asked.price, |far| far.0.max(asked.price));
                let Room { places, words: new, margins: new_margins, residuals, doubtful, residual, .. } = room;
                let seen = new.iter().zip(&*new_margins).zip(&*residuals).zip(&*places);
                for (((new, margin), square), &place) in seen {
                    if *margin > 0.0 && f64::from(*square) <= price {
                        let word = &mut words[place as usize];
                        rest.changed += usize::from(*word != *new);
                        *word = *new;
                        margins[place as usize] = Margin::at_most(*margin);
                        *residual = if *square > *residual { *square } else { *residual };
                    } else {
                        doubtful.push(place);
                    }
                }
                // The few rows that are left in later passes say nothing of the others.
                if n >= BLOCK / 4 {
                    room.worthwhile = room.doubtful.len() * 4 <= n * 3;
                }
            }
        }
        rest.others -= room.doubtful.len();
        let mut changed = rest.changed;
        if !room.doubtful.is_empty() {
            for &place in &room.doubtful {
                margins.get_mut(place as usize).into_iter().for_each(|margin| *margin = Margin::default());
            }
            changed += self.decide(rows, first_row, words, asked, rest, room);
        }
        changed
    }

    /// The doubtful rows of a block in float64; how many changed.
    fn decide<T: Real>(
        &mut self,
        rows: Rows<T>,
        first_row: usize,
        words: &mut [u64],
        asked: &Asked,
        rest: Rest,
        room: &mut Room<T>,
    ) -> usize {
        let (n, k, stride) = (room.doubtful.len(), self.k, self.k.div_ceil(64));
        room.c.resize(n * k, 0.0);
        room.costs.clear();
        room.costs.resize(n, 0.0);
        room.squares.resize(n, 0.0);
        let some = if n == rows.n_rows() { rows } else { rows.gathered(&room.doubtful, &mut room.rows) };
        asked.frozen.components.along(some, &mut room.c, &mut room.squares);
        let mut changed = 0;
        if k > 0 {
            room.words.clear();
            for &place in &room.doubtful {
                room.words.extend_from_slice(&words[place as usize * stride..(place as usize + 1) * stride]);
            }
            let problem = &asked.frozen.problem;
            changed = problem.solve_rest(&room.c, &mut room.words, &mut room.costs, rest, &mut room.scratch);
            for (&place, word) in room.doubtful.iter().zip(room.words.chunks_exact(stride)) {
                words[place as usize * stride..(place as usize + 1) * stride].copy_from_slice(word);
            }
        }
        for (i, &place) in room.doubtful.iter().enumerate() {
            let residual = room.squares[i] + room.costs[i];
            if residual > self.far.map_or(asked.price, |far| far.0) {
                self.far = Some((residual, first_row + place as usize));
            }
        }
        changed
    }

    /// Adds rows that had no features.
    pub fn add<T: Real>(&mut self, rows: Rows<T>, words: &[u64]) {
        self.square += sum_of_squares(rows);
        if self.k > 0 {
            self.replace(rows, &vec![0; words.len()], words);
        }
    }

    /// Rows get other features.
    fn replace<T: Real>(&mut self, rows: Rows<T>, before: &[u64], after: &[u64]) {
        count_overlaps(before, after, self.k, &mut self.products);
        Moved { rows, before, after, sums: &mut self.sums }.add();
    }
}

/// Components as a pass sees them.
#[derive(Debug, Clone)]
pub(super) struct FrozenComponents {
    /// K x D.
    values: Vec<f64>,
    d: usize,
    components: Turned,
    problem: RowProblem,
    /// None where float32 tells nothing.
    glance: Option<Glance>,
}

impl FrozenComponents {
    /// K x D components.
    pub fn new(components: &[f64], k: usize, d: usize, solver: RowSolver) -> Self {
        let mut gram = vec![0.0; k * k];
        multiply(&mut gram, k, k, components, components, d);
        let mut problem = RowProblem::new(gram, k, solver);
        problem.find_bounds();
        let glance = Glance::new(components, d, &problem);
        FrozenComponents { values: components.to_vec(), d, components: Turned::new(components, k, d), problem, glance }
    }

    /// Whether a pass tells by how much features are the best.
    pub fn tells_margins(&self) -> bool {
        self.glance.is_some()
    }

    /// How far these have moved from others; none where margins say nothing.
    pub fn drift_from(&self, before: &FrozenComponents) -> Option<Drift> {
        let comparable = self.tells_margins() && before.tells_margins() && self.values.len() == before.values.len();
        let (bounds, known) = (self.problem.bounds()?, before.problem.bounds()?);
        comparable.then(|| Drift::between((&before.values, known), (&self.values, bounds), self.d))
    }
}

/// to += left' right.
pub(super) fn add_product(to: &mut [f64], left: MatRef<f64>, right: MatRef<f64>) {
    let to = MatMut::from_row_major_slice_mut(to, left.ncols(), right.ncols());
    matmul(to, Accum::Add, left.transpose(), right, 1.0, Par::Seq);
}

/// to = left right', both with rows of `inner` numbers.
pub(super) fn multiply(to: &mut [f64], n: usize, k: usize, left: &[f64], right: &[f64], inner: usize) {
    let to = MatMut::from_row_major_slice_mut(to, n, k);
    let left = MatRef::from_row_major_slice(left, n, inner);
    let right = MatRef::from_row_major_slice(right, k, inner);
    matmul(to, Accum::Replace, left, right.transpose(), 1.0, Par::Seq);
}
