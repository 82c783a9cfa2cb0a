//! The few kernels that everything else stands on: nearest centre, squared distance, and the processor they run on.

mod distance;
mod nearest;
mod processor;

pub use distance::{add_offset_row, offset_squared_distance, squared_distance};
pub use nearest::{FrozenCentres, NO_LABEL};
pub use processor::{Kernel, on_this_processor};
