//! Structures that models are about: which rows belong together, and which rows have which features.

mod allocation;
mod compact;
mod partition;
mod sequences;

pub use allocation::{Allocation, ones};
pub use compact::CompactPartition;
pub use partition::{AllPartitions, Partition};
pub use sequences::Sequences;
