//! The few kernels that everything else stands on: nearest centre, squared distance, Cholesky factors,
//! eigenvectors, and the processor they run on.

mod distance;
mod eigen;
mod inverse_factor;
mod nearest;
mod processor;
mod products;
mod vector;

pub(crate) use distance::{add_and_square, sum_lanes};
pub use distance::{add_offset_row, dot, offset_squared_distance, squared_distance};
pub(crate) use eigen::symmetric_eigen;
pub(crate) use inverse_factor::{Quadratics, RankOne, Room, inverse_factor, matrix_of, padded};
pub use nearest::{FrozenCentres, NO_LABEL, SomeCentres};
pub(crate) use nearest::{Reach, Search};
pub(crate) use processor::{Kernel, multiply_add, on_this_processor};
pub(crate) use products::{Gaps, of_gaps};

pub(crate) use vector::{LINE, Lanes, Vector, fetch};
