//! The row problem: with A frozen, the 0/1 row z of least |x - z A|^2 = z'Gz - 2c'z + |x|^2, G = A A', c = A x
//! (Broderick 2013, Alg. 1 and 4).

#[cfg(test)]
mod tests;

use super::gray::GrayCode;
use super::least_squares::Factor;
use super::screen::{Rounding, Screen};
use crate::structure::ones;

/// The most features for which all 2^K rows are searched.
pub(super) const EXACT: usize = 24;
/// The most features for which the default searches them.
const EXACT_BY_DEFAULT: usize = 16;

/// The most features for which they are gone through one by one.
const ENUMERATED: usize = 8;

/// How the row problem is solved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RowSolver {
    /// Exactly to K = 16, by coordinate flips above.
    #[default]
    Auto,
    /// The best of all 2^K rows, by branch and bound, to K = 24; by coordinate flips above.
    Exact,
    /// Flips of one bit and of two bits at once, the best first, until none helps.
    Coordinate,
    /// Every bit once in order, as in the paper.
    Paper,
}

impl RowSolver {
    fn for_features(self, k: usize) -> RowSolver {
        match self {
            RowSolver::Auto if k <= EXACT_BY_DEFAULT => RowSolver::Exact,
            RowSolver::Exact if k <= EXACT => RowSolver::Exact,
            RowSolver::Paper => RowSolver::Paper,
            _ => RowSolver::Coordinate,
        }
    }
}

/// All that depends on A alone.
#[derive(Debug, Clone)]
pub(super) struct RowProblem {
    k: usize,
    solver: RowSolver,
    /// G, K x K.
    gram: Vec<f64>,
    /// G - diag(floor) is positive semidefinite.
    floor: Vec<f64>,
    /// Features in the order of the search: the longest are decided first.
    order: Vec<usize>,
    /// Upper factor R of G in that order, G = R'R but for the jitter, K x K.
    upper: Vec<f64>,
    /// G^-1 but for the jitter, K x K.
    inverse: Vec<f64>,
    /// What the jitter may add to the cost of a row.
    slack: f64,
    /// A change must lower the cost by this much to be one.
    least: f64,
    /// All rows one by one, where they are few.
    code: Option<GrayCode>,
}

/// What bounds the gain of flips.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds<'a> {
    /// G, K x K.
    pub gram: &'a [f64],
    /// G^-1 but for the jitter, K x K.
    pub inverse: &'a [f64],
    /// G - diag(floor) is positive semidefinite.
    pub floor: &'a [f64],
    /// Rows that are the best by more than this are found whatever they are looked for by.
    pub need: f64,
}

/// What of a block of rows is solved by itself.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Rest {
    /// Rows of the block that are not among these, and those of them that change.
    pub others: usize,
    pub changed: usize,
    /// Whether some row of the block has features.
    pub seen: bool,
}

/// Numbers of one row, kept from row to row.
#[derive(Debug, Clone, Default)]
pub(super) struct Scratch {
    before: Vec<u64>,
    /// G z - c.
    slope: Vec<f64>,
    target: Vec<f64>,
    best: Vec<(u64, f64)>,
    sure: Vec<bool>,
    rounded: Vec<u64>,
    rounded_costs: Vec<f64>,
    rounded_sure: Vec<bool>,
    /// Partial sums of the search, K x (K + 1).
    partial: Vec<f64>,
    /// Decisions that searches have taken since this was last set to 0.
    pub decisions: u64,
}

impl RowProblem {
    /// For the K x K products G = A A'.
    pub fn new(mut gram: Vec<f64>, k: usize, solver: RowSolver) -> Self {
        let solver = solver.for_features(k);
        // Where rounding leaves G unsymmetric, flips there and back would both seem to help.
        for i in 0..k {
            for j in 0..i {
                let mean = 0.5 * (gram[i * k + j] + gram[j * k + i]);
                (gram[i * k + j], gram[j * k + i]) = (mean, mean);
            }
        }
        let largest = (0..k).map(|i| gram[i * k + i]).fold(0.0, f64::max);
        // Well above the rounding of G, which is singular where features outnumber columns.
        let jitter = 1e-11 * largest.max(f64::MIN_POSITIVE);
        let mut problem = RowProblem {
            k,
            solver,
            floor: vec![0.0; k],
            order: (0..k).collect(),
            upper: Vec::new(),
            inverse: Vec::new(),
            slack: jitter * k as f64,
            least: 1e-12 * largest,
            gram,
            code: None,
        };
        if solver == RowSolver::Exact && k > 0 && k <= ENUMERATED {
            problem.code = Some(GrayCode::new(&problem.gram, k));
        } else if solver == RowSolver::Exact && k > 0 {
            problem.prepare_search(jitter);
        }
        problem
    }

    fn prepare_search(&mut self, jitter: f64) {
        let k = self.k;
        let length = |i: usize| self.gram[i * k + i];
        self.order.sort_by(|&a, &b| length(a).total_cmp(&length(b)).then(a.cmp(&b)));
        let permuted: Vec<f64> = (0..k * k).map(|e| self.gram[self.order[e / k] * k + self.order[e % k]]).collect();
        let factor = Factor::of(&permuted, k, jitter);
        self.upper = (0..k * k).map(|e| if e % k >= e / k { factor.at(e % k, e / k) } else { 0.0 }).collect();
        let floor = diagonal_floor(&permuted, &factor, k);
        let inverse = factor.inverse();
        self.inverse = vec![0.0; k * k];
        for (i, &feature) in self.order.iter().enumerate() {
            self.floor[feature] = floor[i];
            for (j, &other) in self.order.iter().enumerate() {
                self.inverse[feature * k + other] = inverse[i * k + j];
            }
        }
    }

    /// Bounds on what flips gain, where rows are solved exactly and these are known.
    pub fn bounds(&self) -> Option<Bounds<'_>> {
        let Self { gram, inverse, floor, .. } = self;
        (self.solver == RowSolver::Exact && !inverse.is_empty()).then_some(Bounds {
            gram,
            inverse,
            floor,
            need: 4.0 * (self.slack + self.least),
        })
    }

    /// Finds the bounds where they were not needed so far.
    pub fn find_bounds(&mut self) {
        if self.code.is_some() && self.inverse.is_empty() {
            self.prepare_search(self.slack / self.k as f64);
        }
    }

    /// Lowers z'Gz - 2c'z for every row of a block from what it is. `c` is column after column: one number
    /// per row for each feature. How many rows changed.
    pub fn solve_block(&self, c: &[f64], words: &mut [u64], costs: &mut [f64], scratch: &mut Scratch) -> usize {
        let seen = words.iter().any(|z| *z != 0);
        self.solve_rest(c, words, costs, Rest { seen, ..Rest::default() }, scratch)
    }

    /// The same for some rows of a block: what becomes of each does not depend on which the others are.
    pub fn solve_rest(
        &self,
        c: &[f64],
        words: &mut [u64],
        costs: &mut [f64],
        rest: Rest,
        scratch: &mut Scratch,
    ) -> usize {
        let (k, n, stride) = (self.k, costs.len(), self.k.div_ceil(64));
        let mut changed = 0;
        if let Some(code) = &self.code {
            let mut best = std::mem::take(&mut scratch.best);
            best.resize(n, (0, 0.0));
            code.solve(c, &mut best);
            for (row, (z, best)) in words.iter_mut().zip(&best).enumerate() {
                costs[row] = best.1;
                if best.0 != *z {
                    // Of rows that cost the same the present one stays.
                    let (before, after) = (self.cost_of(*z, c, row, n), self.cost_of(best.0, c, row, n));
                    if after < before - self.least {
                        *z = best.0;
                        changed += 1;
                    }
                }
            }
            scratch.best = best;
        } else {
            let mut sure = std::mem::take(&mut scratch.sure);
            sure.clear();
            sure.resize(n, false);
            if self.solver == RowSolver::Exact {
                // Rows without features cost nothing, and are taken for what no one has looked at yet.
                if rest.seen {
                    self.screen(c, words, costs, &mut sure);
                } else {
                    costs.fill(0.0);
                }
                // Many rows to solve, as in a first pass, or none with features. Rounded least squares are often the best at once.
                if !rest.seen || sure.iter().filter(|s| !**s).count() + rest.changed > (n + rest.others) / 8 {
                    changed += self.try_rounded(c, words, costs, &mut sure, scratch);
                }
            }
            let mut own = vec![0.0; k];
            for (row, z) in words.chunks_exact_mut(stride).enumerate().filter(|(row, _)| !sure[*row]) {
                (0..k).for_each(|i| own[i] = c[i * n + row]);
                let (solved, moved) = self.solve(&own, z, scratch);
                costs[row] = solved;
                changed += usize::from(moved);
            }
            // Rows that were rounded and then flipped count twice: any number but 0 says that something changed.
            scratch.sure = sure;
        }
        changed
    }

    fn screen(&self, c: &[f64], words: &[u64], costs: &mut [f64], sure: &mut [bool]) {
        Screen { gram: &self.gram, floor: &self.floor, least: self.least, c, words, costs, sure }.run();
    }

    /// For rows that are not surely the best, the least-squares row G^-1 c rounded, where it costs less; how many changed.
    fn try_rounded(
        &self,
        c: &[f64],
        words: &mut [u64],
        costs: &mut [f64],
        sure: &mut [bool],
        scratch: &mut Scratch,
    ) -> usize {
        let n = words.len();
        let Scratch { rounded, rounded_costs, rounded_sure, .. } = scratch;
        rounded.resize(n, 0);
        rounded_costs.resize(n, 0.0);
        rounded_sure.resize(n, false);
        Rounding { inverse: &self.inverse, c, words: rounded }.run();
        self.screen(c, rounded, rounded_costs, rounded_sure);
        let mut changed = 0;
        for row in 0..n {
            if sure[row] {
                continue;
            }
            if rounded_costs[row] < costs[row] - self.least {
                (words[row], costs[row]) = (rounded[row], rounded_costs[row]);
                changed += 1;
            }
            // Surely the best, and the row as it was costs no more.
            sure[row] = rounded_sure[row];
        }
        changed
    }

    /// z'Gz - 2c'z from scratch.
    fn cost_of(&self, z: u64, c: &[f64], row: usize, n: usize) -> f64 {
        let words = [z];
        let mut cost = 0.0;
        for i in ones(&words) {
            cost += ones(&words).map(|j| self.gram[i * self.k + j]).sum::<f64>() - 2.0 * c[i * n + row];
        }
        cost
    }

    /// Lowers z'Gz - 2c'z from the row as it is; its value at the end, and whether the row changed. Never raises it.
    fn solve(&self, c: &[f64], z: &mut [u64], scratch: &mut Scratch) -> (f64, bool) {
        let k = self.k;
        scratch.before.clear();
        scratch.before.extend_from_slice(z);
        scratch.slope.clear();
        scratch.slope.extend(c.iter().map(|c| -c));
        for on in ones(z) {
            let row = &self.gram[on * k..(on + 1) * k];
            scratch.slope.iter_mut().zip(row).for_each(|(s, g)| *s += g);
        }
        match self.solver {
            RowSolver::Paper => {
                for bit in 0..k {
                    if self.flip_cost(bit, z, &scratch.slope) < -self.least {
                        self.flip(bit, z, &mut scratch.slope);
                    }
                }
            }
            RowSolver::Coordinate => {
                for _ in 0..most_flips(k) {
                    if !self.flip_best(z, scratch) && !self.flip_best_pair(z, scratch) {
                        break;
                    }
                }
            }
            RowSolver::Exact | RowSolver::Auto => {
                // Where flips, or pairs of flips, end at a row that is surely the best, nothing is left to search.
                let mut known = false;
                for _ in 0..most_flips(k) {
                    if self.flip_best(z, scratch) {
                        continue;
                    }
                    let least = self.smallest(z, &scratch.slope);
                    known = least[0] + least[1] >= 0.0;
                    if known {
                        break;
                    }
                    if !self.flip_best_pair(z, scratch) {
                        known = least[0] + least[1] + least[2] >= 0.0;
                        break;
                    }
                }
                let cost = cost(c, z, &scratch.slope);
                // The search knows costs up to the jitter only.
                if !known
                    && let Some(better) = self.search(c, cost, scratch)
                    && self.cost_of(better, c, 0, 1) < cost - self.least
                {
                    let changed = z[0] ^ better;
                    ones(&[changed]).for_each(|bit| self.flip(bit, z, &mut scratch.slope));
                }
            }
        }
        (cost(c, z, &scratch.slope), scratch.before != z)
    }

    /// What flipping bit k adds: 2 d g_k + G_kk, d = 1 - 2 z_k.
    fn flip_cost(&self, bit: usize, z: &[u64], slope: &[f64]) -> f64 {
        2.0 * step(z, bit) * slope[bit] + self.gram[bit * self.k + bit]
    }

    fn flip(&self, bit: usize, z: &mut [u64], slope: &mut [f64]) {
        let step = step(z, bit);
        z[bit / 64] ^= 1 << (bit % 64);
        let row = &self.gram[bit * self.k..(bit + 1) * self.k];
        slope.iter_mut().zip(row).for_each(|(s, g)| *s += step * g);
    }

    fn flip_best(&self, z: &mut [u64], scratch: &mut Scratch) -> bool {
        let mut best = (-self.least, usize::MAX);
        for bit in 0..self.k {
            let cost = self.flip_cost(bit, z, &scratch.slope);
            if cost < best.0 {
                best = (cost, bit);
            }
        }
        if best.1 < self.k {
            self.flip(best.1, z, &mut scratch.slope);
        }
        best.1 < self.k
    }

    fn flip_best_pair(&self, z: &mut [u64], scratch: &mut Scratch) -> bool {
        let k = self.k;
        let mut best = (-self.least, usize::MAX, usize::MAX);
        for i in 0..k {
            let (alone, sign) = (self.flip_cost(i, z, &scratch.slope), 2.0 * step(z, i));
            for j in i + 1..k {
                let together = sign * step(z, j) * self.gram[i * k + j];
                let cost = alone + self.flip_cost(j, z, &scratch.slope) + together;
                if cost < best.0 {
                    best = (cost, i, j);
                }
            }
        }
        if best.1 < k {
            self.flip(best.1, z, &mut scratch.slope);
            self.flip(best.2, z, &mut scratch.slope);
        }
        best.1 < k
    }

    /// The three smallest w_k = 2 d_k g_k + floor_k: a set S of flips adds at least the sum of its w_k. So none of two or
    /// more helps where the two smallest have a sum of at least 0, none of three or more where the three smallest do.
    fn smallest(&self, z: &[u64], slope: &[f64]) -> [f64; 3] {
        let mut least = [f64::INFINITY; 3];
        for bit in 0..self.k {
            let mut w = 2.0 * step(z, bit) * slope[bit] + self.floor[bit];
            for known in &mut least {
                (*known, w) = (known.min(w), known.max(w));
            }
        }
        least
    }

    /// The best row if it costs less than `known`: branch and bound on |R z - y|^2 - |y|^2, R'y = c.
    fn search(&self, c: &[f64], known: f64, scratch: &mut Scratch) -> Option<u64> {
        let k = self.k;
        let Scratch { target, partial, decisions, .. } = scratch;
        target.clear();
        for i in 0..k {
            let solved: f64 = (0..i).map(|j| self.upper[j * k + i] * target[j]).sum();
            target.push((c[self.order[i]] - solved) / self.upper[i * k + i]);
        }
        let constant: f64 = target.iter().map(|y| y * y).sum();
        // Costs are compared with |y|^2 added; the jitter raises those of the search by at most the slack.
        let mut limit = known + constant + self.slack - self.least;
        let mut found: Option<u64> = None;
        // Level i decides bit order[i], from the last to the first. partial[i] holds y less the columns decided on.
        partial.clear();
        partial.resize(k * (k + 1), 0.0);
        partial[k * k..].copy_from_slice(target);
        let mut chosen = 0u64;
        let mut sums = [0.0; EXACT + 1];
        let mut tried = [0u8; EXACT];
        let mut level = k - 1;
        loop {
            if tried[level] == 2 {
                tried[level] = 0;
                level += 1;
                if level == k {
                    return found.map(|chosen| ones(&[chosen]).fold(0, |row, i| row | 1 << self.order[i]));
                }
                continue;
            }
            let (diagonal, left) = (self.upper[level * k + level], partial[(level + 1) * k + level]);
            let nearest = left > 0.5 * diagonal;
            *decisions += 1;
            let on = nearest == (tried[level] == 0);
            tried[level] += 1;
            let rest = if on { left - diagonal } else { left };
            let sum = sums[level + 1] + rest * rest;
            if sum >= limit {
                // The nearer value came first: the other costs more.
                tried[level] = 2;
                continue;
            }
            chosen = chosen & !(1 << level) | u64::from(on) << level;
            if level == 0 {
                limit = sum;
                found = Some(chosen);
                continue;
            }
            sums[level] = sum;
            let (below, above) = partial.split_at_mut((level + 1) * k);
            let (next, now) = (&mut below[level * k..], &above[..k]);
            for i in 0..level {
                next[i] = if on { now[i] - self.upper[i * k + level] } else { now[i] };
            }
            level -= 1;
        }
    }
}

/// Flips of a row beyond which it is rounding that seems to help.
fn most_flips(k: usize) -> usize {
    64 + 8 * k
}

/// 1 - 2 z_k.
fn step(z: &[u64], bit: usize) -> f64 {
    1.0 - 2.0 * ((z[bit / 64] >> (bit % 64)) & 1) as f64
}

/// z'Gz - 2c'z = z'(g - c), g = G z - c.
fn cost(c: &[f64], z: &[u64], slope: &[f64]) -> f64 {
    ones(z).map(|k| slope[k] - c[k]).sum()
}

/// Numbers f_k with G - diag(f) positive semidefinite: f_k = G_kk / |B|, B = D^1/2 G^-1 D^1/2, D the diagonal of G,
/// where the norm is bounded by |B| <= |B^8|_F^(1/8).
fn diagonal_floor(gram: &[f64], factor: &Factor, k: usize) -> Vec<f64> {
    let scale: Vec<f64> = (0..k).map(|i| gram[i * k + i].sqrt()).collect();
    let mut power = factor.inverse();
    for i in 0..k {
        (0..k).for_each(|j| power[i * k + j] *= scale[i] * scale[j]);
    }
    let mut ln_norm = 0.0;
    for square in 0..4 {
        let size = power.iter().map(|v| v * v).sum::<f64>().sqrt();
        if !(size.is_finite() && size > 0.0) {
            return vec![0.0; k];
        }
        ln_norm += size.ln() / f64::from(1 << square);
        power.iter_mut().for_each(|v| *v /= size);
        if square < 3 {
            power = (0..k * k).map(|e| (0..k).map(|l| power[e / k * k + l] * power[l * k + e % k]).sum()).collect();
        }
    }
    let share = (1.0 - 1e-9) * (-ln_norm).exp();
    (0..k).map(|i| share * gram[i * k + i]).collect()
}
