//! From losses to penalties: K is optimal for those between the slopes of the lower convex hull of K -> loss(K) beside it.
//!
//! min_K loss(K) + K penalty is the lower envelope of lines in the penalty, so with K- and K+ the neighbours of K on the hull
//! it is optimal from (loss(K) - loss(K+))/(K+ - K) to (loss(K-) - loss(K))/(K - K-), and a K off the hull never is.

use super::PenaltyInterval;

/// A number of groups that is optimal for some penalty.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HullPoint {
    /// Number of groups.
    pub k: usize,
    /// The least loss found with that many.
    pub loss: f64,
    /// Below this penalty more groups pay. For the last K of a path that does not end in a loss of 0 nothing is known below
    /// `high`, and `low` is equal to it.
    pub low: f64,
    /// Above this penalty fewer groups pay; infinite for the first K.
    pub high: f64,
}

impl HullPoint {
    /// log(high/low): by how much the penalty can change without changing K. Infinite for the first K, and where the loss
    /// is 0; 0 for the last K of a path that goes on.
    pub fn persistence(&self) -> f64 {
        (self.high / self.low).ln()
    }

    /// The penalties for which it is optimal.
    pub fn interval(&self) -> PenaltyInterval {
        PenaltyInterval { low: self.low, high: self.high }
    }
}

/// The lower convex hull of (K, loss), as long as the losses fall; Ks may come in any order, the first has no upper end.
/// `negligible`: losses up to it count as 0, and falls up to it as none.
pub fn lower_hull(losses: &[(usize, f64)], negligible: f64) -> Vec<HullPoint> {
    let mut sorted: Vec<(usize, f64)> = losses.to_vec();
    sorted.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let slope = |a: (usize, f64), b: (usize, f64)| (a.1 - b.1) / (b.0 - a.0) as f64;
    let mut hull: Vec<(usize, f64)> = Vec::new();
    for (k, loss) in sorted {
        let point = (k, if loss <= negligible { 0.0 } else { loss });
        if hull.last().is_some_and(|last| last.0 == k || point.1 >= last.1 || last.1 - point.1 <= negligible) {
            continue;
        }
        while let [.., a, b] = hull[..] {
            if slope(b, point) < slope(a, b) {
                break;
            }
            hull.pop();
        }
        hull.push(point);
    }
    let high = |i: usize| if i == 0 { f64::INFINITY } else { slope(hull[i - 1], hull[i]) };
    let low = |i: usize| match hull.get(i + 1) {
        Some(&next) => slope(hull[i], next),
        None if hull[i].1 == 0.0 => 0.0,
        None => high(i),
    };
    (0..hull.len()).map(|i| HullPoint { k: hull[i].0, loss: hull[i].1, low: low(i), high: high(i) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Stream, stream};
    use rand::RngExt;

    #[test]
    fn a_hull_worked_by_hand() {
        // Falls of 60, 30, 2, 4 (not convex: 4 after 2), 1: K = 4 is off the hull.
        let losses = [(1, 100.0), (2, 40.0), (3, 10.0), (4, 8.0), (5, 4.0), (6, 3.0)];
        let hull = lower_hull(&losses, 0.0);
        let found: Vec<(usize, f64, f64)> = hull.iter().map(|p| (p.k, p.low, p.high)).collect();
        let expected = [(1, 60.0, f64::INFINITY), (2, 30.0, 60.0), (3, 3.0, 30.0), (5, 1.0, 3.0), (6, 1.0, 1.0)];
        assert_eq!(found, expected);
        assert!((hull[2].persistence() - 10f64.ln()).abs() < 1e-12);
        assert_eq!(hull[4].persistence(), 0.0, "how far down the last K reaches is not known");
    }

    #[test]
    fn the_end_at_a_loss_of_zero_reaches_down_to_zero_and_rounding_counts_as_zero() {
        let losses = [(1, 5.0), (2, 1e-15), (3, 0.0)];
        assert_eq!(lower_hull(&losses, 1e-14).last(), Some(&HullPoint { k: 2, loss: 0.0, low: 0.0, high: 5.0 }));
        assert_eq!(
            lower_hull(&[(0, 3.0)], 0.0)[0].interval(),
            PenaltyInterval { low: f64::INFINITY, high: f64::INFINITY }
        );
        assert_eq!(lower_hull(&[(1, 0.0)], 0.0)[0].interval(), PenaltyInterval { low: 0.0, high: f64::INFINITY });
    }

    #[test]
    fn the_hull_is_the_lower_envelope_of_the_lines_whatever_the_order_of_the_losses() {
        let mut rng = stream(5, Stream::Simulation);
        for _ in 0..200 {
            let mut losses: Vec<(usize, f64)> =
                (0..12).map(|k| (k, rng.random::<f64>() * 10.0 / (k + 1) as f64)).collect();
            losses.push((12, 0.0));
            losses.reverse();
            let hull = lower_hull(&losses, 0.0);
            for _ in 0..50 {
                let penalty = rng.random::<f64>().powi(4) * 12.0;
                let cost = |loss: f64, k: usize| loss + k as f64 * penalty;
                let least = losses.iter().map(|&(k, loss)| cost(loss, k)).fold(f64::INFINITY, f64::min);
                let inside: Vec<&HullPoint> = hull.iter().filter(|p| p.low <= penalty && penalty <= p.high).collect();
                assert!(!inside.is_empty());
                assert!(inside.iter().all(|p| (cost(p.loss, p.k) - least).abs() < 1e-12));
            }
        }
    }
}
