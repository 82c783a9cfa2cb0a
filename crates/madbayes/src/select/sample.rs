//! Some rows instead of all: a reproducible random choice that keeps the order and the weights.

use crate::data::{Data, Real, Rows};
use crate::random::{Stream, choose_some, stream};

/// Rows of their own, with their weights.
#[derive(Debug, Clone)]
pub(super) struct SampledRows<T> {
    values: Vec<T>,
    weights: Option<Vec<f64>>,
    n_columns: usize,
}

/// `n` of the rows that have weight, every choice of them equally likely; none if there are no more than that.
pub(super) fn sampled<T: Real>(data: &Data<T>, n: usize, seed: u64) -> Option<SampledRows<T>> {
    let candidates: Vec<usize> = (0..data.n_rows()).filter(|&row| data.weight(row) > 0.0).collect();
    if data.n_rows() <= n || candidates.len() <= n {
        return None;
    }
    let chosen = choose_some(candidates.len(), n, &mut stream(seed, Stream::Sample));
    let rows: Vec<usize> = chosen.into_iter().map(|i| candidates[i]).collect();
    let values = rows.iter().flat_map(|&row| data.rows().row(row)).copied().collect();
    let weights = data.weights().map(|_| rows.iter().map(|&row| data.weight(row)).collect());
    Some(SampledRows { values, weights, n_columns: data.n_columns() })
}

impl<T: Real> SampledRows<T> {
    /// The rows as data.
    pub fn data(&self) -> crate::Result<Data<'_, T>> {
        Data::weighted(Rows::new(&self.values, self.n_columns)?, self.weights.as_deref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_as_likely_as_any_other_and_rows_without_weight_never_come() {
        let values: Vec<f64> = (0..20).map(f64::from).collect();
        let weights: Vec<f64> = (0..20).map(|i| if i < 4 { 0.0 } else { f64::from(i) }).collect();
        let data = Data::weighted(Rows::new(&values, 1).unwrap(), Some(&weights)).unwrap();
        let mut counts = [0.0f64; 20];
        for seed in 0..4000 {
            let rows = sampled(&data, 4, seed).unwrap();
            let sample = rows.data().unwrap();
            assert_eq!(sample.n_rows(), 4);
            assert!(rows.values.is_sorted());
            for n in 0..4 {
                assert_eq!(sample.weight(n), sample.rows().row(n)[0]);
                counts[sample.rows().row(n)[0] as usize] += 1.0;
            }
        }
        assert!(counts[..4].iter().all(|c| *c == 0.0));
        // 4 of 16, 4000 times: 1000 with a standard deviation of sqrt(750).
        assert!(counts[4..].iter().all(|c| (c - 1000.0).abs() < 4.0 * 750f64.sqrt()), "{counts:?}");
    }

    #[test]
    fn small_data_are_not_sampled() {
        let data = Data::new(Rows::new(&[1.0, 2.0, 3.0], 1).unwrap()).unwrap();
        assert!(sampled(&data, 3, 0).is_none());
        assert!(sampled(&data, 2, 0).is_some());
    }
}
