//! What a report shows of a result, computed once and bounded whatever the size of the data: rows for a picture, the groups at
//! every point of a path, features, chains.

mod axes;
mod chains;
mod clusters;
mod colours;
mod features;
mod members;
mod pictures;
mod points;
mod shares;
mod thinned;

pub use axes::{Axes, Axis};
pub use chains::{ChainOverview, Together};
pub use clusters::{ClusterOverview, ClusterView, GroupedRows, LabelTable, Profile};
pub use features::{FeatureOverview, FeatureView, FeaturedRows};
pub use members::{Misfit, RowLosses};
pub use points::{QUICK_PATH, Standing};
pub use shares::Shares;
pub use thinned::{MOST_SHOWN, thinned};
