//! The members of every group: how many, their mean, their spread about it, sqrt(sum |x - mean|^2 / n), and the rows that fit
//! worst.

use super::axes::in_units;
use crate::data::{Data, Real};
use crate::parallel::Workers;
use crate::prepare::Standardise;

/// Rows that fit worst.
const MOST_MISFITS: usize = 10;

/// A row far from the mean of its group.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Misfit {
    /// The row.
    pub row: usize,
    /// Its group.
    pub group: u32,
    /// Its distance from the mean, in the units of the fit.
    pub distance: f64,
    /// That distance by the spread of the group.
    pub spreads: f64,
    /// The column that tells most of the distance, the row's value there and the mean of its group, in the user's units.
    pub column: usize,
    /// The row's value there.
    pub value: f64,
    /// The mean of its group there.
    pub mean: f64,
}

/// What all groups look like; means in the units of the data.
pub(super) struct Members {
    pub sizes: Vec<usize>,
    pub weights: Vec<f64>,
    pub means: Vec<Vec<f64>>,
    pub losses: Vec<f64>,
    /// (squared distance, row), the farthest first.
    farthest: Vec<(f64, usize)>,
}

impl Members {
    /// The groups 0 to k - 1 of these labels.
    pub fn new<T: Real>(data: &Data<T>, labels: &[u32], k: usize, workers: &Workers) -> Self {
        let d = data.n_columns();
        let reference: Vec<f64> = data.reference().iter().map(|&r| r.into()).collect();
        let mut sizes = vec![0; k];
        let mut weights = vec![0.0; k];
        for (n, &label) in labels.iter().enumerate() {
            sizes[label as usize] += 1;
            weights[label as usize] += data.weight(n);
        }
        // About a point among the rows, so that data far from 0 lose nothing.
        let parts = workers.map(data.n_chunks(), |index| {
            let (start, end) = data.chunk(index);
            let mut sums = vec![0.0; k * d];
            for n in start..end {
                let sum = &mut sums[labels[n] as usize * d..][..d];
                let (weight, row) = (data.weight(n), data.rows().row(n));
                sum.iter_mut().zip(row).zip(&reference).for_each(|((sum, &x), r)| *sum += weight * (x.into() - r));
            }
            sums
        });
        let mut sums = vec![0.0; k * d];
        parts.iter().for_each(|part| sums.iter_mut().zip(part).for_each(|(sum, x)| *sum += x));
        let mean = |(sum, weight): (&[f64], &f64)| -> Vec<f64> {
            let weight = if *weight > 0.0 { *weight } else { 1.0 };
            sum.iter().zip(&reference).map(|(sum, r)| sum / weight + r).collect()
        };
        let means: Vec<Vec<f64>> = sums.chunks_exact(d.max(1)).zip(&weights).map(mean).collect();
        let parts = workers.map(data.n_chunks(), |index| {
            let (start, end) = data.chunk(index);
            let (mut losses, mut farthest) = (vec![0.0; k], Vec::new());
            for n in start..end {
                let label = labels[n] as usize;
                let gaps = data.rows().row(n).iter().zip(&means[label]).map(|(&x, mean)| x.into() - mean);
                let square: f64 = gaps.map(|gap| gap * gap).sum();
                losses[label] += data.weight(n) * square;
                farthest.push((square, n));
            }
            keep_farthest(&mut farthest);
            (losses, farthest)
        });
        let (mut losses, mut farthest) = (vec![0.0; k], Vec::new());
        for (part, far) in parts {
            losses.iter_mut().zip(part).for_each(|(loss, x)| *loss += x);
            farthest.extend(far);
        }
        keep_farthest(&mut farthest);
        Members { sizes, weights, means, losses, farthest }
    }

    /// The root mean square distance of the rows of a group to its mean.
    pub fn spread(&self, group: usize) -> f64 {
        if self.weights[group] > 0.0 { (self.losses[group] / self.weights[group]).sqrt() } else { 0.0 }
    }

    /// The rows that fit worst, the worst first.
    pub fn misfits<T: Real>(&self, data: &Data<T>, labels: &[u32], units: Option<&Standardise>) -> Vec<Misfit> {
        let misfit = |&(square, row): &(f64, usize)| {
            let (group, values) = (labels[row], data.rows().row(row));
            let mean = &self.means[group as usize];
            let gap = |column: usize| (values[column].into() - mean[column]).abs();
            let column = (0..mean.len()).max_by(|&a, &b| gap(a).total_cmp(&gap(b)).then(b.cmp(&a))).unwrap_or(0);
            let (distance, spread) = (square.sqrt(), self.spread(group as usize));
            Misfit {
                row,
                group,
                distance,
                spreads: if spread > 0.0 { distance / spread } else { 0.0 },
                column,
                value: in_units(values[column].into(), column, units),
                mean: in_units(mean[column], column, units),
            }
        };
        self.farthest.iter().filter(|(square, _)| *square > 0.0).map(misfit).collect()
    }
}

fn keep_farthest(rows: &mut Vec<(f64, usize)>) {
    rows.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    rows.truncate(MOST_MISFITS);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Rows;
    use crate::hard::losses;

    #[test]
    fn means_losses_and_the_worst_rows_are_those_of_the_labels() {
        // Two groups about (1, 0) and (100, 10); the last row is far from its own in the second column.
        let values = [0.0, 0.0, 2.0, 0.0, 100.0, 1.0, 100.0, 1.0, 100.0, 28.0];
        let data = Data::new(Rows::new(&values, 2).unwrap()).unwrap();
        let labels = [0, 0, 1, 1, 1];
        let members = Members::new(&data, &labels, 2, &Workers::serial());
        assert_eq!((&members.sizes[..], &members.means[..]), (&[2, 3][..], &[vec![1.0, 0.0], vec![100.0, 10.0]][..]));
        assert_eq!(members.losses, losses(&data, &members.means.concat(), &labels, &Workers::serial()));
        let worst = members.misfits(&data, &labels, None)[0];
        assert_eq!((worst.row, worst.group, worst.distance, worst.column), (4, 1, 18.0, 1));
        assert_eq!((worst.value, worst.mean), (28.0, 10.0));
        assert!((worst.spreads - 18.0 / (486.0f64 / 3.0).sqrt()).abs() < 1e-12);
    }
}
