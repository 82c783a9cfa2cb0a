//! Pictures of results: plain slices in, a self-contained SVG, a text plot or a PNG out.
//!
//! The crate draws and computes nothing else. Every picture is a plain struct whose fields are what is shown:
//! [`Scatter`] for points in clusters, [`Lines`] and [`Sparks`] for traces, [`Bars`] for sizes, [`Intervals`] for
//! ranges of penalties, [`Grid`] for features of rows, [`Heat`] for tables of numbers, [`Matrix`] for rows that go together, [`FeatureImages`] for features of pictures, [`Report`] for a page with all of it.
//!
//! ```
//! use madbayes_draw::Scatter;
//!
//! let picture = Scatter {
//!     title: "Two towns",
//!     x_name: "east",
//!     y_name: "north",
//!     points: &[(0.0, 0.0), (1.0, 0.0), (9.0, 10.0), (10.0, 10.0)],
//!     groups: &[0, 0, 1, 1],
//!     centres: &[(0.5, 0.0), (9.5, 10.0)],
//!     colours: &[],
//!     names: &[],
//! };
//! assert!(picture.svg().starts_with("<svg"));
//! assert_eq!(picture.text(60, 20).lines().count(), 20);
//! ```
//!
//! No input makes a picture panic. Numbers that are not finite, or lie beyond 1e300, are left out, and the picture
//! says so. Names are always shown as text: markup in them is escaped and control characters are removed. Text plots
//! are ASCII (but for [`Letters::Blocks`]), at most 1000 columns by 1000 lines; other letters in names appear there as `?`.

mod bars;
mod base64;
mod canvas;
mod grid;
mod heat;
mod intervals;
mod lines;
mod matrix;
mod palette;
mod panel;
mod report;
mod scatter;
mod segments;
mod sheet;
mod sparks;
mod svg;
mod ticks;

pub use bars::Bars;
pub use grid::Grid;
pub use heat::Heat;
pub use intervals::Intervals;
pub use lines::Lines;
pub use matrix::Matrix;
pub use report::{Report, RowNames};
pub use scatter::Scatter;
pub use segments::Segments;
pub use sheet::FeatureImages;
pub use sparks::{Letters, Sparks};
