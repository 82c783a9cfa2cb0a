//! The members of every group: how many, their mean, their spread about it, sqrt(sum |x - mean|^2 / n), and the rows that fit
//! worst: those farthest from the mean, or of the largest loss that the model itself has for them.

use super::axes::in_units;
use crate::data::{Data, Real};
use crate::parallel::Workers;
use crate::prepare::Standardise;

/// Rows that fit worst.
const MOST_MISFITS: usize = 10;
/// Numbers that all sums that are formed at once have together.
const MOST_SUMS: usize = 1 << 24;

/// How badly each row fits, as the model measures it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RowLosses<'a> {
    /// What the numbers are, such as `squared Mahalanobis distance`.
    pub name: &'a str,
    /// One for each row: the larger, the worse.
    pub values: &'a [f64],
}

/// A row that fits its group badly.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Misfit {
    /// The row.
    pub row: usize,
    /// Its group.
    pub group: u32,
    /// How badly: its distance from the mean in the units of the fit, or the model's own loss.
    pub measure: f64,
    /// Its distance from the mean by the spread of the group.
    pub spreads: f64,
    /// The column in which it is farthest from the mean of its group: in the units of the fit where distances are measured, else
    /// in standard deviations of the column.
    pub column: usize,
    /// The row's value there, in the user's units.
    pub value: f64,
    /// The mean of its group there.
    pub mean: f64,
}

/// What all groups look like; means in the units of the data, not a number for a group without rows.
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
        let mut sums = vec![0.0; k * d];
        let summed = |index: usize| {
            let (start, end) = data.chunk(index);
            let mut sums = vec![0.0; k * d];
            for n in start..end {
                let sum = &mut sums[labels[n] as usize * d..][..d];
                let (weight, row) = (data.weight(n), data.rows().row(n));
                sum.iter_mut().zip(row).zip(&reference).for_each(|((sum, &x), r)| *sum += weight * (x.into() - r));
            }
            sums
        };
        in_batches(data.n_chunks(), k * d, workers, summed, |part| {
            sums.iter_mut().zip(part).for_each(|(sum, x)| *sum += x);
        });
        let mean = |((sum, weight), size): ((&[f64], &f64), &usize)| -> Vec<f64> {
            let weight = match size {
                0 => f64::NAN,
                _ if *weight > 0.0 => *weight,
                _ => 1.0,
            };
            sum.iter().zip(&reference).map(|(sum, r)| sum / weight + r).collect()
        };
        let means: Vec<Vec<f64>> = sums.chunks_exact(d.max(1)).zip(&weights).zip(&sizes).map(mean).collect();
        let measured = |index: usize| {
            let (start, end) = data.chunk(index);
            let (mut losses, mut farthest) = (vec![0.0; k], Vec::new());
            for n in start..end {
                let label = labels[n] as usize;
                let square = squared_distance(data.rows().row(n), &means[label]);
                losses[label] += data.weight(n) * square;
                farthest.push((square, n));
            }
            keep_farthest(&mut farthest);
            (losses, farthest)
        };
        let (mut losses, mut farthest) = (vec![0.0; k], Vec::new());
        in_batches(data.n_chunks(), k, workers, measured, |(part, far)| {
            losses.iter_mut().zip(part).for_each(|(loss, x)| *loss += x);
            farthest.extend(far);
        });
        keep_farthest(&mut farthest);
        Members { sizes, weights, means, losses, farthest }
    }

    /// The root mean square distance of the rows of a group to its mean.
    pub fn spread(&self, group: usize) -> f64 {
        if self.weights[group] > 0.0 { (self.losses[group] / self.weights[group]).sqrt() } else { 0.0 }
    }

    /// The rows that fit worst, the worst first: by their distances, or by the model's own losses; `deviations` are those of the
    /// columns.
    pub fn misfits<T: Real>(
        &self,
        data: &Data<T>,
        labels: &[u32],
        own: Option<RowLosses>,
        deviations: &[f64],
        units: Option<&Standardise>,
    ) -> Vec<Misfit> {
        let mut worst: Vec<(f64, usize)> = match own {
            Some(own) => own.values.iter().copied().zip(0..labels.len()).collect(),
            None => self.farthest.clone(),
        };
        keep_farthest(&mut worst);
        let misfit = |&(measure, row): &(f64, usize)| {
            let (group, values) = (labels[row], data.rows().row(row));
            let mean = &self.means[group as usize];
            let unit = |column: usize| if own.is_some() && deviations[column] > 0.0 { deviations[column] } else { 1.0 };
            let gap = |column: usize| (values[column].into() - mean[column]).abs() / unit(column);
            let column = (0..mean.len()).max_by(|&a, &b| gap(a).total_cmp(&gap(b)).then(b.cmp(&a))).unwrap_or(0);
            let (distance, spread) = (squared_distance(values, mean).sqrt(), self.spread(group as usize));
            Misfit {
                row,
                group,
                measure: if own.is_some() { measure } else { distance },
                spreads: if spread > 0.0 { distance / spread } else { 0.0 },
                column,
                value: in_units(values[column].into(), column, units),
                mean: in_units(mean[column], column, units),
            }
        };
        worst.iter().filter(|(measure, _)| *measure > 0.0).map(misfit).collect()
    }
}

fn squared_distance<T: Real>(row: &[T], mean: &[f64]) -> f64 {
    row.iter().zip(mean).map(|(&x, mean)| (x.into() - mean).powi(2)).sum()
}

/// What `part` makes of the numbers below `n`, given to `take` in order; no more at once than memory has room for, where each
/// has `size` numbers.
fn in_batches<R: Send>(
    n: usize,
    size: usize,
    workers: &Workers,
    part: impl Fn(usize) -> R + Sync + Send,
    mut take: impl FnMut(R),
) {
    let most = (MOST_SUMS / size.max(1)).max(1);
    for start in (0..n).step_by(most) {
        workers.map(most.min(n - start), |index| part(start + index)).into_iter().for_each(&mut take);
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
        let worst = members.misfits(&data, &labels, None, &[1.0, 1.0], None)[0];
        assert_eq!((worst.row, worst.group, worst.measure, worst.column), (4, 1, 18.0, 1));
        assert_eq!((worst.value, worst.mean), (28.0, 10.0));
        assert!((worst.spreads - 18.0 / (486.0f64 / 3.0).sqrt()).abs() < 1e-12);
    }

    #[test]
    fn the_losses_of_a_model_decide_which_rows_fit_worst_where_there_are_some() {
        // Row 1 is 3 from its mean in a column of deviation 1, and 4 in one of deviation 10.
        let data = Data::new(Rows::new(&[0.0, 0.0, 6.0, 8.0, 3.0, 4.0], 2).unwrap()).unwrap();
        let members = Members::new(&data, &[0, 0, 0], 1, &Workers::serial());
        let own = RowLosses { name: "loss", values: &[0.5, 7.0, 0.0] };
        let worst = members.misfits(&data, &[0, 0, 0], Some(own), &[1.0, 10.0], None);
        assert_eq!(worst.iter().map(|m| (m.row, m.measure, m.column)).collect::<Vec<_>>(), [(1, 7.0, 0), (0, 0.5, 0)]);
    }

    #[test]
    fn a_group_without_rows_has_no_mean() {
        let data = Data::new(Rows::new(&[1.0, 2.0, 5.0], 1).unwrap()).unwrap();
        let members = Members::new(&data, &[0, 0, 2], 3, &Workers::serial());
        assert!(members.means[1][0].is_nan());
        assert_eq!((members.means[0][0], members.means[2][0], members.spread(1)), (1.5, 5.0, 0.0));
    }

    #[test]
    fn parts_come_in_order_however_many_fit_into_memory() {
        for size in [1, MOST_SUMS / 3, MOST_SUMS * 2] {
            let mut seen = Vec::new();
            in_batches(10, size, &Workers::new(2), |index| index, |index| seen.push(index));
            assert_eq!(seen, (0..10).collect::<Vec<_>>(), "{size}");
        }
    }
}
