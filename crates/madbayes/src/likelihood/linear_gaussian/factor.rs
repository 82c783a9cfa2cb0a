//! The Cholesky factor of the K x K matrix Z'Z + ridge I of the normal equations.

/// A column whose squared distance from the span of those before it is below this share of its square is in that span.
const DEPENDENT: f64 = 1e-9;

/// L with L L' = B, row by row; K is small.
#[derive(Debug, Clone)]
pub(crate) struct Factor {
    size: usize,
    lower: Vec<f64>,
}

impl Factor {
    /// Of the K x K matrix Z'Z + ridge I. Without a ridge, the error is the first column that depends on those before it.
    pub(crate) fn new(matrix: &[f64], size: usize, ridge: f64) -> Result<Factor, usize> {
        let mut lower = vec![0.0; size * size];
        for i in 0..size {
            for j in 0..=i {
                let done: f64 = (0..j).map(|l| lower[i * size + l] * lower[j * size + l]).sum();
                let left = matrix[i * size + j] - done;
                if i == j {
                    if ridge == 0.0 && left <= DEPENDENT * matrix[i * size + i] {
                        return Err(i);
                    }
                    // What is left of Z'Z is never below 0: less is rounding.
                    lower[i * size + i] = (left.max(0.0) + ridge).sqrt();
                } else {
                    lower[i * size + j] = left / lower[j * size + j];
                }
            }
        }
        Ok(Factor { size, lower })
    }

    /// log |B|.
    pub(crate) fn ln_det(&self) -> f64 {
        2.0 * (0..self.size).map(|i| self.lower[i * self.size + i].ln()).sum::<f64>()
    }

    /// Solves B Y = R in place; R has K rows of `columns` numbers.
    pub(crate) fn solve(&self, right: &mut [f64], columns: usize) {
        self.forward(right, columns);
        self.backward(right, columns);
    }

    /// Solves L Y = R in place.
    fn forward(&self, right: &mut [f64], columns: usize) {
        for i in 0..self.size {
            let (above, here) = right.split_at_mut(i * columns);
            let here = &mut here[..columns];
            for j in 0..i {
                let factor = self.lower[i * self.size + j];
                here.iter_mut().zip(&above[j * columns..]).for_each(|(y, a)| *y -= factor * a);
            }
            let diagonal = self.lower[i * self.size + i];
            here.iter_mut().for_each(|y| *y /= diagonal);
        }
    }

    /// Solves L' Y = R in place: R of independent standard normals gives columns of covariance B^-1.
    pub(crate) fn backward(&self, right: &mut [f64], columns: usize) {
        for i in (0..self.size).rev() {
            let (above, below) = right.split_at_mut((i + 1) * columns);
            let here = &mut above[i * columns..];
            for j in i + 1..self.size {
                let factor = self.lower[j * self.size + i];
                here.iter_mut().zip(&below[(j - i - 1) * columns..]).for_each(|(y, b)| *y -= factor * b);
            }
            let diagonal = self.lower[i * self.size + i];
            here.iter_mut().for_each(|y| *y /= diagonal);
        }
    }

    /// B^-1.
    pub(crate) fn inverse(&self) -> Vec<f64> {
        let size = self.size;
        let mut inverse = vec![0.0; size * size];
        (0..size).for_each(|i| inverse[i * size + i] = 1.0);
        self.solve(&mut inverse, size);
        inverse
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_solves_and_inverts_and_names_the_dependent_column() {
        // B = R'R with R = [[2, 1, 0], [0, 1, 3], [0, 0, 1]]: determinant 4.
        let matrix = [4.0, 2.0, 0.0, 2.0, 2.0, 3.0, 0.0, 3.0, 10.0];
        let factor = Factor::new(&matrix, 3, 0.0).unwrap();
        assert!((factor.ln_det() - 4f64.ln()).abs() < 1e-12);
        let inverse = factor.inverse();
        for i in 0..3 {
            for j in 0..3 {
                let product: f64 = (0..3).map(|l| matrix[i * 3 + l] * inverse[l * 3 + j]).sum();
                assert!((product - f64::from(u8::from(i == j))).abs() < 1e-12);
            }
        }
        // L'^-1 L^-1 = B^-1.
        let mut root = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];
        factor.backward(&mut root, 3);
        for i in 0..3 {
            for j in 0..3 {
                let product: f64 = (0..3).map(|l| root[i * 3 + l] * root[j * 3 + l]).sum();
                assert!((product - inverse[i * 3 + j]).abs() < 1e-12);
            }
        }
        // The third column is the sum of the first two.
        assert_eq!(Factor::new(&[2.0, 0.0, 2.0, 0.0, 2.0, 2.0, 2.0, 2.0, 4.0], 3, 0.0).unwrap_err(), 2);
        // With a ridge, two equal columns: |[[2.25, 2], [2, 2.25]]|.
        let ridged = Factor::new(&[2.0, 2.0, 2.0, 2.0], 2, 0.25).unwrap();
        assert!((ridged.ln_det() - 1.0625f64.ln()).abs() < 1e-12);
        assert_eq!(Factor::new(&[], 0, 0.0).unwrap().ln_det(), 0.0);
    }
}
