//! Hard clustering: DP-means, capped DP-means and K-means (Broderick 2013, Eq. 3, 9, 12).

mod bisect;
mod clustering;
mod dp_means;
mod goal;
mod moves;
mod passes;
mod restarts;
mod start;

use crate::{data::Real, random::Rng};
pub use clustering::{Clustering, losses, nearest_centres};
pub use dp_means::{Algorithm, DpMeans};
pub use goal::Goal;
pub use restarts::Restarts;
pub use start::Start;
impl<T: Real> passes::Run<'_, T> {
    fn serial(&self, s: &mut passes::State, _: &mut Rng) {
        self.polish(s)
    }
    fn collapsed(&self, s: &mut passes::State, _: &mut Rng) {
        self.polish(s)
    }
}
