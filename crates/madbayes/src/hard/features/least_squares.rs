//! Least squares in K dimensions: which columns of Z are independent, and A = (Z'Z)^-1 Z'X (Broderick 2013, Alg. 1).

/// A column of Z whose squared distance from the span of the others is below this share of its own square lies in it.
const DEPENDENT: f64 = 1e-10;

/// The columns that no combination of earlier kept ones gives, with the Cholesky factor of their K x K products.
pub(super) fn independent(products: &[f64], k: usize) -> (Vec<usize>, Factor) {
    let mut kept: Vec<usize> = Vec::with_capacity(k);
    let mut rows: Vec<Vec<f64>> = Vec::with_capacity(k);
    for j in 0..k {
        let square = products[j * k + j];
        let mut row = Vec::with_capacity(kept.len() + 1);
        for (i, &column) in kept.iter().enumerate() {
            let known: f64 = (0..i).map(|l| rows[i][l] * row[l]).sum();
            row.push((products[j * k + column] - known) / rows[i][i]);
        }
        let left = square - row.iter().map(|v| v * v).sum::<f64>();
        if left > DEPENDENT * square && square > 0.0 {
            row.push(left.sqrt());
            rows.push(row);
            kept.push(j);
        }
    }
    (kept, Factor { rows })
}

/// A lower Cholesky factor, row after row.
#[derive(Debug, Clone)]
pub(super) struct Factor {
    rows: Vec<Vec<f64>>,
}

impl Factor {
    /// Of a positive definite K x K matrix with `jitter` added to its diagonal.
    pub fn of(matrix: &[f64], k: usize, jitter: f64) -> Factor {
        let mut rows: Vec<Vec<f64>> = Vec::with_capacity(k);
        for j in 0..k {
            let mut row = Vec::with_capacity(j + 1);
            for i in 0..j {
                let known: f64 = (0..i).map(|l| rows[i][l] * row[l]).sum();
                row.push((matrix[j * k + i] - known) / rows[i][i]);
            }
            let left = matrix[j * k + j] + jitter - row.iter().map(|v: &f64| v * v).sum::<f64>();
            row.push(left.max(jitter.max(f64::MIN_POSITIVE)).sqrt());
            rows.push(row);
        }
        Factor { rows }
    }

    /// Entry (i, j), j <= i.
    pub fn at(&self, i: usize, j: usize) -> f64 {
        self.rows[i][j]
    }

    /// The solution of (L L') A = B for K rows of `n_columns` numbers, in place.
    pub fn solve(&self, values: &mut [f64], n_columns: usize) {
        let k = self.rows.len();
        let mut eliminate = |target: usize, source: usize, by: f64| {
            let (low, high) = (target.min(source), target.max(source));
            let (head, tail) = values.split_at_mut(high * n_columns);
            let (low, high) = (&mut head[low * n_columns..][..n_columns], &mut tail[..n_columns]);
            let (to, from) = if target < source { (low, &*high) } else { (high, &*low) };
            to.iter_mut().zip(from).for_each(|(t, f)| *t -= by * f);
        };
        for i in 0..k {
            (0..i).for_each(|j| eliminate(i, j, self.rows[i][j] / self.rows[j][j]));
        }
        // The rows so far are L_jj times those of L^-1 B.
        for i in 0..k {
            let square = self.rows[i][i] * self.rows[i][i];
            values[i * n_columns..(i + 1) * n_columns].iter_mut().for_each(|v| *v /= square);
        }
        let mut eliminate = |target: usize, source: usize, by: f64| {
            let (head, tail) = values.split_at_mut(source * n_columns);
            let to = &mut head[target * n_columns..][..n_columns];
            to.iter_mut().zip(&tail[..n_columns]).for_each(|(t, f)| *t -= by * f);
        };
        for i in (0..k).rev() {
            (0..i).for_each(|j| eliminate(j, i, self.rows[i][j] / self.rows[j][j]));
        }
    }

    /// (L L')^-1, K x K.
    pub fn inverse(&self) -> Vec<f64> {
        let k = self.rows.len();
        let mut inverse = vec![0.0; k * k];
        (0..k).for_each(|i| inverse[i * k + i] = 1.0);
        self.solve(&mut inverse, k);
        inverse
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::structure::Allocation;

    fn products(z: &Allocation) -> Vec<f64> {
        let k = z.n_features();
        let mut all = vec![0.0; k * k];
        for row in 0..z.n_rows() {
            for i in z.features_of(row) {
                z.features_of(row).for_each(|j| all[i * k + j] += 1.0);
            }
        }
        all
    }

    #[test]
    fn distinct_columns_that_are_dependent_are_found() {
        let columns = ["1100", "0011", "1010", "0101", "0000", "1100", "1000"];
        let columns: Vec<Vec<bool>> = columns.iter().map(|c| c.chars().map(|b| b == '1').collect()).collect();
        let z = Allocation::from_columns(4, &columns);
        assert_eq!(independent(&products(&z), 7).0, [0, 1, 2, 6]);
    }

    #[test]
    fn solutions_satisfy_their_equations() {
        let matrix = [4.0, 2.0, 0.6, 2.0, 5.0, 1.0, 0.6, 1.0, 3.0];
        let right = [1.0, 2.0, -3.0, 0.5, 7.0, 1.5];
        for factor in [independent(&matrix, 3).1, Factor::of(&matrix, 3, 0.0)] {
            let mut solved = right;
            factor.solve(&mut solved, 2);
            for i in 0..3 {
                for j in 0..2 {
                    let product: f64 = (0..3).map(|l| matrix[i * 3 + l] * solved[l * 2 + j]).sum();
                    assert!((product - right[i * 2 + j]).abs() < 1e-12);
                }
            }
            let inverse = factor.inverse();
            let trace: f64 = (0..3).map(|i| (0..3).map(|l| matrix[i * 3 + l] * inverse[l * 3 + i]).sum::<f64>()).sum();
            assert!((trace - 3.0).abs() < 1e-12);
        }
    }
}
