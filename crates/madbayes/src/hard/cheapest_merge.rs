//! What a merge costs, a b/(a + b) |m_a - m_b|^2 for clusters of weights a and b, and with whom it costs least.

use crate::linalg::{Gaps, Kernel};

/// What the loss rises by where clusters of these weights become one: a b/(a + b) |m_a - m_b|^2.
#[inline(always)]
pub(super) fn cost_of_merge(a: f64, b: f64, gap: f64) -> f64 {
    a * b / (a + b) * gap
}

/// The cheapest partner of one cluster, the first of equals.
pub(super) struct Cheapest<'a> {
    pub gaps: Gaps<'a>,
    pub weights: &'a [f64],
}

impl Kernel for Cheapest<'_> {
    type Output = Option<usize>;

    #[inline(always)]
    unsafe fn run<const FUSED: bool, const WIDE: bool>(self) -> Option<usize> {
        let own = self.gaps.own;
        let costs = self.gaps.iter().zip(self.weights).map(|(gap, &w)| cost_of_merge(self.weights[own], w, gap));
        let mut costs: Vec<f64> = costs.collect();
        costs[own] = f64::INFINITY;
        // Costs, then their least, then its place: loops for vectors.
        let (heads, tail) = costs.as_chunks::<8>();
        let mut lanes = [f64::INFINITY; 8];
        for head in heads {
            (0..8).for_each(|l| lanes[l] = if head[l] < lanes[l] { head[l] } else { lanes[l] });
        }
        let least = lanes.iter().chain(tail).fold(f64::INFINITY, |least, &cost| least.min(cost));
        costs.iter().position(|&cost| cost == least).filter(|&j| j != own)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::{of_gaps, on_this_processor, squared_distance};
    use crate::parallel::Workers;
    use crate::random::{Stream, stream};
    use crate::watch::Unwatched;
    use rand::RngExt;

    #[test]
    fn no_other_partner_is_cheaper() {
        let mut rng = stream(2, Stream::Simulation);
        for (k, d) in [(2, 1), (8, 3), (17, 5), (101, 4)] {
            let means: Vec<f64> = (0..k * d).map(|_| rng.random::<f64>()).collect();
            let weights: Vec<f64> = (0..k).map(|_| 1.0 + 9.0 * rng.random::<f64>()).collect();
            let mean = |i: usize| &means[i * d..(i + 1) * d];
            let partners = of_gaps(&means, d, &Workers::serial(), &Unwatched, |gaps| {
                on_this_processor(Cheapest { gaps, weights: &weights })
            });
            for (i, partner) in partners.unwrap().into_iter().enumerate() {
                let cost = |j: usize| squared_distance(mean(i), mean(j)) / (1.0 / weights[i] + 1.0 / weights[j]);
                let partner = partner.unwrap();
                assert!(partner != i);
                assert!((0..k).filter(|j| *j != i).all(|j| cost(partner) <= cost(j) + 1e-12), "{i} of {k}");
            }
        }
    }
}
