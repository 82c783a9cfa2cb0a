//! The best split of one cluster in two that a few steps of 2-means along its widest direction can find.

use crate::data::{Data, Real};
use crate::linalg::{Kernel, dot, on_this_processor, squared_distance};

/// Rows on which the direction is found; the split itself is of all rows.
const SAMPLE: usize = 1024;
const POWER_STEPS: usize = 6;
const TWO_MEANS_STEPS: usize = 12;

/// A cluster cut in two.
#[derive(Debug, Clone)]
pub(super) struct Bisection {
    /// By how much the loss falls: w_a w_b / (w_a + w_b) |m_a - m_b|^2.
    pub gain: f64,
    /// The rows that leave.
    pub leaving: Vec<u32>,
    /// Means relative to the reference point, of the rows that stay and of those that leave.
    pub offsets: [Vec<f64>; 2],
    /// Their weights.
    pub weights: [f64; 2],
}

/// Splits the cluster of these rows with this mean; `None` if all its rows are equal.
pub(super) fn bisect<T: Real>(data: &Data<T>, rows: &[u32], mean: &[f64]) -> Option<Bisection> {
    on_this_processor(Bisect { data, rows, mean })
}

struct Bisect<'a, T> {
    data: &'a Data<'a, T>,
    rows: &'a [u32],
    mean: &'a [f64],
}

impl<T: Real> Kernel for Bisect<'_, T> {
    type Output = Option<Bisection>;

    #[inline(always)]
    unsafe fn run<const FUSED: bool, const WIDE: bool>(self) -> Option<Bisection> {
        let d = self.data.n_columns();
        let step = self.rows.len().div_ceil(SAMPLE);
        let mut sample = Sample::new(&self, step);
        // A sample of equal rows says nothing about the others.
        if step > 1 && sample.farthest().1 == 0.0 {
            sample = Sample::new(&self, 1);
        }
        let (farthest, norm) = sample.farthest();
        if norm == 0.0 {
            return None;
        }
        let mut direction = sample.row(farthest).to_vec();
        for _ in 0..POWER_STEPS {
            let mut next = vec![0.0; d];
            for i in 0..sample.weights.len() {
                let along = sample.weights[i] * dot(sample.row(i), &direction);
                next.iter_mut().zip(sample.row(i)).for_each(|(n, x)| *n += along * x);
            }
            let length = dot(&next, &next).sqrt();
            if length == 0.0 {
                break;
            }
            direction = next.into_iter().map(|n| n / length).collect();
        }
        // Two means: cut by a hyperplane, first through the mean, then halfway between the two means.
        let mut cut = 0.0;
        let mut halves = Halves::new(d);
        let mut sides = vec![None; sample.weights.len()];
        for _ in 0..TWO_MEANS_STEPS {
            let mut changed = false;
            for ((row, weight), side) in sample.iter().zip(&mut sides) {
                let second = dot(row, &direction) > cut;
                if *side != Some(second) {
                    changed = true;
                    halves.add(row, weight, second);
                    if side.replace(second).is_some() {
                        halves.add(row, -weight, !second);
                    }
                }
            }
            if !changed || halves.is_one_sided() {
                break;
            }
            (direction, cut) = halves.hyperplane();
        }
        let mut buffer = vec![0.0; d];
        let mut leaving = Vec::new();
        let mut halves = Halves::new(d);
        for &row in self.rows {
            self.deviation(row, &mut buffer);
            let leaves = dot(&buffer, &direction) > cut;
            halves.add(&buffer, self.data.weight(row as usize), leaves);
            if leaves {
                leaving.push(row);
            }
        }
        if halves.is_one_sided() {
            // The farthest row against the rest: a split wherever there are two different rows.
            halves = Halves::new(d);
            leaving = vec![sample.numbers[farthest]];
            for &row in self.rows {
                self.deviation(row, &mut buffer);
                halves.add(&buffer, self.data.weight(row as usize), row == leaving[0]);
            }
            if halves.is_one_sided() {
                return None;
            }
        }
        let gain = halves.gain();
        let offsets = halves.means().map(|m| m.iter().zip(self.mean).map(|(x, c)| x + c).collect());
        (gain > 0.0).then_some(Bisection { gain, leaving, offsets, weights: halves.weights })
    }
}

impl<T: Real> Bisect<'_, T> {
    /// x - reference - mean.
    #[inline(always)]
    fn deviation(&self, row: u32, out: &mut [f64]) {
        let row = self.data.rows().row(row as usize);
        for (((o, x), r), m) in out.iter_mut().zip(row).zip(self.data.reference()).zip(self.mean) {
            *o = (*x).into() - (*r).into() - m;
        }
    }
}

/// Deviations of some rows from the cluster's mean.
struct Sample {
    d: usize,
    numbers: Vec<u32>,
    values: Vec<f64>,
    weights: Vec<f64>,
}

impl Sample {
    #[inline(always)]
    fn new<T: Real>(of: &Bisect<T>, step: usize) -> Self {
        let d = of.data.n_columns();
        let numbers: Vec<u32> = of.rows.iter().step_by(step.max(1)).copied().collect();
        let mut values = vec![0.0; numbers.len() * d];
        for (&row, out) in numbers.iter().zip(values.chunks_exact_mut(d)) {
            of.deviation(row, out);
        }
        let weights = numbers.iter().map(|&row| of.data.weight(row as usize)).collect();
        Sample { d, numbers, values, weights }
    }

    #[inline(always)]
    fn row(&self, i: usize) -> &[f64] {
        &self.values[i * self.d..(i + 1) * self.d]
    }

    #[inline(always)]
    fn iter(&self) -> impl Iterator<Item = (&[f64], f64)> {
        self.values.chunks_exact(self.d).zip(self.weights.iter().copied())
    }

    /// The row with weight that is farthest from the mean, and its squared distance.
    #[inline(always)]
    fn farthest(&self) -> (usize, f64) {
        let mut best = (0, 0.0);
        for (i, (row, weight)) in self.iter().enumerate() {
            let norm = dot(row, row);
            if weight > 0.0 && norm > best.1 {
                best = (i, norm);
            }
        }
        best
    }
}

/// Sums and weights on the two sides of a hyperplane.
struct Halves {
    sums: [Vec<f64>; 2],
    weights: [f64; 2],
}

impl Halves {
    fn new(d: usize) -> Self {
        Halves { sums: [vec![0.0; d], vec![0.0; d]], weights: [0.0; 2] }
    }

    /// Whether one of the sides has no weight.
    #[inline(always)]
    fn is_one_sided(&self) -> bool {
        self.weights[0] <= 0.0 || self.weights[1] <= 0.0
    }

    #[inline(always)]
    fn add(&mut self, row: &[f64], weight: f64, second: bool) {
        let side = usize::from(second);
        self.weights[side] += weight;
        self.sums[side].iter_mut().zip(row).for_each(|(s, x)| *s += weight * x);
    }

    #[inline(always)]
    fn means(&self) -> [Vec<f64>; 2] {
        [0, 1].map(|side| self.sums[side].iter().map(|s| s / self.weights[side]).collect())
    }

    /// Normal and offset of the hyperplane halfway between the means.
    #[inline(always)]
    fn hyperplane(&self) -> (Vec<f64>, f64) {
        let [a, b] = self.means();
        let cut = 0.5 * (dot(&b, &b) - dot(&a, &a));
        (b.iter().zip(&a).map(|(b, a)| b - a).collect(), cut)
    }

    #[inline(always)]
    fn gain(&self) -> f64 {
        let [a, b] = self.means();
        let [wa, wb] = self.weights;
        wa * wb / (wa + wb) * squared_distance(&a, &b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Rows;

    fn loss(values: &[f64], rows: &[u32], d: usize) -> f64 {
        let mean: Vec<f64> =
            (0..d).map(|j| rows.iter().map(|&r| values[r as usize * d + j]).sum::<f64>() / rows.len() as f64).collect();
        rows.iter().map(|&r| (0..d).map(|j| (values[r as usize * d + j] - mean[j]).powi(2)).sum::<f64>()).sum()
    }

    #[test]
    fn the_gain_is_the_fall_of_the_loss() {
        let values: Vec<f64> = (0..60).map(|i| ((i * 7919) % 101) as f64 * 0.3 + f64::from(i > 30) * 50.0).collect();
        let data = Data::new(Rows::new(&values, 2).unwrap()).unwrap();
        let rows: Vec<u32> = (0..30).collect();
        let split = bisect(&data, &rows, &[0.0, 0.0]).unwrap();
        let staying: Vec<u32> = rows.iter().copied().filter(|r| !split.leaving.contains(r)).collect();
        let fall = loss(&values, &rows, 2) - loss(&values, &staying, 2) - loss(&values, &split.leaving, 2);
        assert!((split.gain - fall).abs() < 1e-9 * fall, "{} {fall}", split.gain);
        assert_eq!(split.weights, [staying.len() as f64, split.leaving.len() as f64]);
    }

    #[test]
    fn equal_rows_cannot_be_split_and_one_other_row_can_be_found() {
        let mut values = vec![3.0; 5000];
        let data = Data::new(Rows::new(&values, 1).unwrap()).unwrap();
        let rows: Vec<u32> = (0..5000).collect();
        assert!(bisect(&data, &rows, &[0.0]).is_none());
        values[4321] = 4.0;
        let data = Data::new(Rows::new(&values, 1).unwrap()).unwrap();
        let mean = 3.0 + 1.0 / 5000.0 - data.reference()[0];
        let split = bisect(&data, &rows, &[mean]).unwrap();
        assert!(split.weights == [1.0, 4999.0] || split.weights == [4999.0, 1.0], "{:?}", split.weights);
        assert!((split.gain - 4999.0 / 5000.0).abs() < 1e-9);
    }
}
