//! What a report shows of a result, computed once and bounded whatever the size of the data: rows for a picture, the groups at
//! every point of a path, features, chains.

mod axes;
mod clusters;
mod colours;
mod members;
mod points;
mod thinned;

pub use axes::{Axes, Axis};
pub use clusters::{ClusterOverview, ClusterView, GroupedRows, LabelTable, Profile};
pub use members::Misfit;
pub use points::Standing;
pub use thinned::{MOST_SHOWN, thinned};
