//! Eigenvalues and eigenvectors of a symmetric matrix, A = V diag(values) V'.

use faer::diag::Diag;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::evd::{ComputeEigenvectors, self_adjoint_evd, self_adjoint_evd_scratch};
use faer::{Mat, MatRef, Par};

/// Eigenvalues, smallest first, and eigenvectors as columns, of a symmetric matrix given by its lower triangle.
pub(crate) fn symmetric_eigen(lower: &[f64], order: usize) -> (Vec<f64>, Mat<f64>) {
    let mut values = Diag::zeros(order);
    let mut vectors = Mat::zeros(order, order);
    let scratch = self_adjoint_evd_scratch::<f64>(order, ComputeEigenvectors::Yes, Par::Seq, Default::default());
    self_adjoint_evd(
        MatRef::from_row_major_slice(lower, order, order),
        values.as_mut(),
        Some(vectors.as_mut()),
        Par::Seq,
        MemStack::new(&mut MemBuffer::new(scratch)),
        Default::default(),
    )
    .expect("a finite symmetric matrix has eigenvectors");
    (values.column_vector().iter().copied().collect(), vectors)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_times_values_times_vectors_is_the_matrix_of_the_lower_triangle() {
        let lower = [4.0, f64::NAN, f64::NAN, 1.0, 3.0, f64::NAN, -2.0, 0.5, 5.0];
        let (values, vectors) = symmetric_eigen(&lower, 3);
        assert!(values.is_sorted());
        for (i, j) in [(0, 0), (1, 0), (1, 1), (2, 0), (2, 1), (2, 2)] {
            let entry: f64 = (0..3).map(|k| vectors[(i, k)] * values[k] * vectors[(j, k)]).sum();
            assert!((entry - lower[i * 3 + j]).abs() < 1e-12);
        }
    }
}
