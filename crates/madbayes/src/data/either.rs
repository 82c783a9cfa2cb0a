//! Rows of float32 or of float64, told apart at run time.
//!
//! A generic function is compiled by every crate that calls it. Those that fit are compiled here, once for each kind of numbers: their
//! generic face only tells which kind it was given.

use super::{Data, Rows};

/// The same of float32 or of float64.
#[derive(Debug, Clone, Copy)]
pub enum Either<Single, Double> {
    /// Of float32.
    Single(Single),
    /// Of float64.
    Double(Double),
}

/// Data of either kind.
pub type EitherData<'a> = Either<&'a Data<'a, f32>, &'a Data<'a, f64>>;

/// Rows of either kind.
pub type EitherRows<'a> = Either<Rows<'a, f32>, Rows<'a, f64>>;

/// The same expression for either kind.
macro_rules! either {
    ($either:expr, $name:ident => $expression:expr) => {
        match $either {
            $crate::data::Either::Single($name) => $expression,
            $crate::data::Either::Double($name) => $expression,
        }
    };
}
