//! What is looked for: partitions of the rows.

mod partition;

pub use partition::{AllPartitions, Partition};
