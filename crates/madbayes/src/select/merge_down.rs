//! From many clusters to few: the cheapest pair is merged again and again, at n_i n_j/(n_i + n_j) |m_i - m_j|^2 (Ward).

use crate::hard::Clustering;
use crate::linalg::squared_distance;

/// Centres of a clustering with its cheapest pairs merged until at most `k` are left, K x D. Every cluster remembers its
/// cheapest partner, so that a merge costs about as much as one look at all clusters.
pub(super) fn merge_down(from: &Clustering, k: usize) -> Vec<f64> {
    let d = from.n_columns;
    let mut clusters: Vec<Option<(f64, Vec<f64>)>> =
        from.weights.iter().zip(from.centres.chunks_exact(d)).map(|(w, centre)| Some((*w, centre.to_vec()))).collect();
    let mut partners: Vec<(f64, usize)> = (0..clusters.len()).map(|i| cheapest(&clusters, i)).collect();
    for _ in k.max(1)..clusters.len() {
        let live = (0..clusters.len()).filter(|i| clusters[*i].is_some());
        let Some(i) = live.min_by(|&a, &b| partners[a].0.total_cmp(&partners[b].0)) else { break };
        let j = partners[i].1;
        let (Some((b, y)), Some((a, x))) = (clusters[i].take(), clusters[j].as_mut()) else { break };
        let share = if *a + b > 0.0 { b / (*a + b) } else { 0.5 };
        x.iter_mut().zip(&y).for_each(|(x, y)| *x += share * (y - *x));
        *a += b;
        partners[j] = cheapest(&clusters, j);
        for other in (0..clusters.len()).filter(|other| *other != j) {
            if clusters[other].is_none() {
                continue;
            }
            if partners[other].1 == i || partners[other].1 == j {
                partners[other] = cheapest(&clusters, other);
            } else {
                let cost = cost(&clusters, other, j);
                if cost < partners[other].0 {
                    partners[other] = (cost, j);
                }
            }
        }
    }
    clusters.into_iter().flatten().flat_map(|(_, centre)| centre).collect()
}

/// What merging two live clusters costs; infinite if one is gone.
fn cost(clusters: &[Option<(f64, Vec<f64>)>], i: usize, j: usize) -> f64 {
    match (&clusters[i], &clusters[j]) {
        (Some((a, x)), Some((b, y))) if a + b > 0.0 => a * b / (a + b) * squared_distance(x, y),
        (Some(_), Some(_)) => 0.0,
        _ => f64::INFINITY,
    }
}

/// The cheapest partner of a cluster.
fn cheapest(clusters: &[Option<(f64, Vec<f64>)>], i: usize) -> (f64, usize) {
    let mut best = (f64::INFINITY, i);
    for j in (0..clusters.len()).filter(|j| *j != i) {
        let cost = cost(clusters, i, j);
        if cost < best.0 {
            best = (cost, j);
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Data, Rows};
    use crate::hard::DpMeans;
    use crate::random::{Stream, stream};
    use crate::watch::Unwatched;
    use rand::RngExt;

    /// The plain way: look at all pairs before every merge.
    fn plain(from: &Clustering, k: usize) -> Vec<Vec<f64>> {
        let mut clusters: Vec<(f64, Vec<f64>)> =
            from.weights.iter().copied().zip(from.centres.chunks(from.n_columns).map(<[f64]>::to_vec)).collect();
        while clusters.len() > k {
            let mut best = (f64::INFINITY, 0, 0);
            for i in 0..clusters.len() {
                for j in 0..i {
                    let ((a, x), (b, y)) = (&clusters[i], &clusters[j]);
                    let cost = a * b / (a + b) * x.iter().zip(y).map(|(x, y)| (x - y).powi(2)).sum::<f64>();
                    if cost < best.0 {
                        best = (cost, j, i);
                    }
                }
            }
            let (b, y) = clusters.remove(best.2);
            let (a, x) = &mut clusters[best.1];
            x.iter_mut().zip(&y).for_each(|(x, y)| *x = (*a * *x + b * y) / (*a + b));
            *a += b;
        }
        let mut centres: Vec<Vec<f64>> = clusters.into_iter().map(|(_, centre)| centre).collect();
        centres.sort_by(|a, b| a[0].total_cmp(&b[0]));
        centres
    }

    #[test]
    fn remembered_partners_lead_to_the_same_merges_as_looking_at_all_pairs() {
        let mut rng = stream(9, Stream::Simulation);
        let values: Vec<f64> = (0..400).map(|_| rng.random::<f64>() * 10.0).collect();
        let data = Data::new(Rows::new(&values, 2).unwrap()).unwrap();
        let from = DpMeans::k_means(60).fit(&data, &Unwatched).unwrap();
        for k in [1, 2, 7, 30, 59, 60, 100] {
            let mut found: Vec<Vec<f64>> = merge_down(&from, k).chunks(2).map(<[f64]>::to_vec).collect();
            found.sort_by(|a, b| a[0].total_cmp(&b[0]));
            let expected = plain(&from, k);
            assert_eq!(found.len(), expected.len());
            for (x, y) in found.iter().flatten().zip(expected.iter().flatten()) {
                assert!((x - y).abs() < 1e-9, "K {k}");
            }
        }
    }
}
