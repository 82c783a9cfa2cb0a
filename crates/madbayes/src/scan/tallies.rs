//! Sums over the rows of each cluster that follow the rows which change: means, and losses as sum w |x|^2 - |sum w x|^2 / W, without
//! another look at the rows that stay.

use crate::data::{Data, Real};
use crate::linalg::{Kernel, NO_LABEL, add_and_square, dot, on_this_processor};

/// What each cluster has, rows relative to the reference point.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tallies {
    n_columns: usize,
    /// Rows in each cluster.
    pub counts: Vec<usize>,
    /// Sum of their weights.
    pub weights: Vec<f64>,
    /// sum of w x, K x D.
    pub sums: Vec<f64>,
    /// sum of w |x|^2.
    pub squares: Vec<f64>,
}

impl Tallies {
    /// Of `k` clusters without rows.
    pub fn empty(k: usize, n_columns: usize) -> Self {
        let mut tallies = Tallies { n_columns, ..Tallies::default() };
        tallies.grow(k);
        tallies
    }

    /// Of the rows with these labels; those without a label are in no cluster.
    pub fn of<T: Real>(data: &Data<T>, labels: &[u32], k: usize) -> Self {
        let mut tallies = Tallies::empty(k, data.n_columns());
        tallies.follow(&on_this_processor(All { data, labels, k }));
        tallies
    }

    /// Up to `k` clusters, the new ones without rows.
    pub fn grow(&mut self, k: usize) {
        self.counts.resize(k, 0);
        self.weights.resize(k, 0.0);
        self.sums.resize(k * self.n_columns, 0.0);
        self.squares.resize(k, 0.0);
    }

    /// sum of w x of one cluster.
    pub fn sum(&self, k: usize) -> &[f64] {
        &self.sums[k * self.n_columns..(k + 1) * self.n_columns]
    }

    /// Loss of one cluster about its mean; 0 without weight.
    pub fn loss(&self, k: usize) -> f64 {
        let sum = self.sum(k);
        if self.weights[k] > 0.0 { (self.squares[k] - dot(sum, sum) / self.weights[k]).max(0.0) } else { 0.0 }
    }

    /// Loss of one cluster about any centre: sum w |x|^2 - 2 c'(sum w x) + W |c|^2.
    pub(crate) fn loss_about(&self, k: usize, centre: &[f64]) -> f64 {
        (self.squares[k] - 2.0 * dot(centre, self.sum(k)) + self.weights[k] * dot(centre, centre)).max(0.0)
    }

    /// Takes a row from one cluster to another, which may be the next new one.
    pub(crate) fn carry<T: Real>(&mut self, data: &Data<T>, row: usize, from: usize, to: usize) {
        self.grow(self.counts.len().max(to + 1));
        let mut carried = Carried::new(self.counts.len(), data.reference());
        // SAFETY: nothing is claimed of the processor.
        unsafe { carried.carry::<T, false>(data.rows().row(row), data.weight(row), from as u32, to as u32) };
        self.follow(&carried);
    }

    /// Adds what rows have carried.
    pub(crate) fn follow(&mut self, carried: &Carried) {
        let d = self.n_columns;
        for (i, (&k, &count)) in carried.clusters.iter().zip(&carried.counts).enumerate() {
            let (k, values) = (k as usize, &carried.values[i * (d + EXTRA)..(i + 1) * (d + EXTRA)]);
            self.counts[k] = self.counts[k].wrapping_add_signed(count);
            self.sums[k * d..(k + 1) * d].iter_mut().zip(values).for_each(|(s, v)| *s += v);
            self.weights[k] += values[d];
            self.squares[k] += values[d + 1];
        }
    }

    /// Keeps the clusters for which `keep` is true, in order.
    pub(crate) fn retain(&mut self, keep: &[bool]) {
        fn kept<N: Copy>(values: &mut Vec<N>, keep: &[bool], width: usize) {
            let mut keeps = keep.iter().flat_map(|k| std::iter::repeat_n(*k, width));
            values.retain(|_| keeps.next().unwrap_or(true));
        }
        kept(&mut self.counts, keep, 1);
        kept(&mut self.weights, keep, 1);
        kept(&mut self.sums, keep, self.n_columns);
        kept(&mut self.squares, keep, 1);
    }

    /// The same clusters in another order.
    pub(crate) fn in_order(&self, order: &[usize]) -> Tallies {
        Tallies {
            n_columns: self.n_columns,
            counts: order.iter().map(|&k| self.counts[k]).collect(),
            weights: order.iter().map(|&k| self.weights[k]).collect(),
            sums: order.iter().flat_map(|&k| self.sum(k)).copied().collect(),
            squares: order.iter().map(|&k| self.squares[k]).collect(),
        }
    }

    /// Gives all rows of one cluster to another.
    pub(crate) fn merge(&mut self, from: usize, to: usize) {
        let d = self.n_columns;
        self.counts[to] += std::mem::take(&mut self.counts[from]);
        self.weights[to] += std::mem::take(&mut self.weights[from]);
        self.squares[to] += std::mem::take(&mut self.squares[from]);
        for j in 0..d {
            self.sums[to * d + j] += std::mem::take(&mut self.sums[from * d + j]);
        }
    }

    /// Makes a new cluster of rows of one that have these tallies.
    pub(crate) fn split(&mut self, k: usize, count: usize, weight: f64, sum: &[f64], square: f64) {
        let d = self.n_columns;
        self.counts[k] -= count;
        self.counts.push(count);
        self.weights[k] -= weight;
        self.weights.push(weight);
        self.sums[k * d..(k + 1) * d].iter_mut().zip(sum).for_each(|(s, x)| *s -= x);
        self.sums.extend_from_slice(sum);
        self.squares[k] -= square;
        self.squares.push(square);
    }
}

/// Behind the sum of a cluster: weight and square.
const EXTRA: usize = 2;

/// What rows have taken from clusters and brought to others, for the clusters that were touched alone.
#[derive(Debug)]
pub(crate) struct Carried {
    reference: Vec<f64>,
    /// Where a cluster stands among those touched.
    places: Vec<u32>,
    clusters: Vec<u32>,
    counts: Vec<isize>,
    /// Sum, weight and square of each cluster that was touched.
    values: Vec<f64>,
}

impl Carried {
    pub fn new<T: Real>(k: usize, reference: &[T]) -> Self {
        Carried {
            reference: reference.iter().map(|&r| r.into()).collect(),
            places: vec![u32::MAX; k],
            clusters: Vec::new(),
            counts: Vec::new(),
            values: Vec::new(),
        }
    }

    /// Takes a row from one cluster, or none, to another.
    ///
    /// # Safety
    /// `FUSED` only inside a kernel that runs with it.
    #[inline(always)]
    pub unsafe fn carry<T: Real, const FUSED: bool>(&mut self, row: &[T], weight: f64, from: u32, to: u32) {
        // SAFETY: the caller vouches for FUSED.
        unsafe {
            if from != NO_LABEL {
                self.add::<T, FUSED>(row, -weight, from, -1);
            }
            self.add::<T, FUSED>(row, weight, to, 1);
        }
    }

    /// # Safety
    /// `FUSED` only inside a kernel that runs with it.
    #[inline(always)]
    unsafe fn add<T: Real, const FUSED: bool>(&mut self, row: &[T], weight: f64, k: u32, count: isize) {
        let d = self.reference.len();
        let place = &mut self.places[k as usize];
        if *place == u32::MAX {
            *place = self.clusters.len() as u32;
            self.clusters.push(k);
            self.counts.push(0);
            self.values.resize(self.values.len() + d + EXTRA, 0.0);
        }
        let place = *place as usize;
        self.counts[place] += count;
        let (sum, extra) = self.values[place * (d + EXTRA)..(place + 1) * (d + EXTRA)].split_at_mut(d);
        // SAFETY: the caller vouches for FUSED.
        let square = unsafe { add_and_square::<T, FUSED>(sum, row, &self.reference, weight) };
        extra[0] += weight;
        extra[1] += weight * square;
    }
}

struct All<'a, T> {
    data: &'a Data<'a, T>,
    labels: &'a [u32],
    k: usize,
}

impl<T: Real> Kernel for All<'_, T> {
    type Output = Carried;

    #[inline(always)]
    unsafe fn run<const FUSED: bool, const WIDE: bool>(self) -> Carried {
        let mut carried = Carried::new(self.k, self.data.reference());
        for (n, &label) in self.labels.iter().enumerate().filter(|(_, l)| **l != NO_LABEL) {
            // SAFETY: this kernel runs with FUSED.
            unsafe { carried.carry::<T, FUSED>(self.data.rows().row(n), self.data.weight(n), NO_LABEL, label) };
        }
        carried
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Rows;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn tallies_that_follow_rows_are_those_of_the_labels(
            d in 1usize..12,
            steps in proptest::collection::vec((0usize..30, 0u32..6), 1..60),
            shift in -50.0f64..50.0,
        ) {
            let values: Vec<f64> = (0..30 * d).map(|i| shift + ((i * 7919) % 101) as f64 * 0.3).collect();
            let weights: Vec<f64> = (0..30).map(|n| f64::from(n % 4) + 0.5).collect();
            let data = Data::weighted(Rows::new(&values, d).unwrap(), Some(&weights)).unwrap();
            let mut labels: Vec<u32> = (0..30).map(|n| n % 4).collect();
            let mut tallies = Tallies::of(&data, &labels, 4);
            for (row, to) in steps {
                let to = to.min(tallies.counts.len() as u32);
                let from = std::mem::replace(&mut labels[row], to);
                tallies.carry(&data, row, from as usize, to as usize);
            }
            for k in 0..tallies.counts.len() {
                let members: Vec<usize> = (0..30).filter(|&n| labels[n] == k as u32).collect();
                prop_assert_eq!(tallies.counts[k], members.len());
                let weight: f64 = members.iter().map(|&n| weights[n]).sum();
                prop_assert!((tallies.weights[k] - weight).abs() < 1e-9);
                let mut loss = 0.0;
                for j in 0..d {
                    let column = |n: usize| values[n * d + j] - data.reference()[j];
                    let sum: f64 = members.iter().map(|&n| weights[n] * column(n)).sum();
                    prop_assert!((tallies.sum(k)[j] - sum).abs() < 1e-9);
                    loss += members.iter().map(|&n| weights[n] * (column(n) - sum / weight).powi(2)).sum::<f64>();
                }
                if !members.is_empty() {
                    prop_assert!((tallies.loss(k) - loss).abs() < 1e-8, "{} {loss}", tallies.loss(k));
                    let centre: Vec<f64> = tallies.sum(k).iter().map(|sum| sum / weight + 0.5).collect();
                    let about = loss + weight * 0.25 * d as f64;
                    prop_assert!((tallies.loss_about(k, &centre) - about).abs() < 1e-8);
                }
            }
        }
    }
}
