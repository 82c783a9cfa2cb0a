//! What feature learning gives back, and what its components say of any rows.

use crate::structure::Allocation;

/// The result.
#[derive(Debug, Clone, PartialEq)]
pub struct Features {
    /// Which rows have which features.
    pub allocation: Allocation,
    /// |X - Z A|_F^2.
    pub loss: f64,
}
