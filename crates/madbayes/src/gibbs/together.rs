//! Which rows go together: the share of draws in which two rows are in one group, by pairs of rows or of clusters, and how
//! sure each row's cluster is.

use crate::structure::{CompactPartition, Partition};

/// How sure each row's cluster is: the mean over draws of |C and G| / |C or G|, C its cluster in `estimate` and G its group
/// in the draw. 1 when every draw has exactly that cluster.
pub fn certainty(estimate: &Partition, draws: &[&CompactPartition]) -> Vec<f64> {
    let mut sums = vec![0.0; estimate.n_rows()];
    let members = estimate.members();
    for draw in draws {
        let draw = draw.to_partition();
        let mut shared = vec![0usize; draw.n_groups()];
        for rows in &members {
            rows.iter().for_each(|&row| shared[draw.labels()[row] as usize] += 1);
            for &row in rows {
                let group = draw.labels()[row] as usize;
                let either = rows.len() + draw.sizes()[group] - shared[group];
                sums[row] += shared[group] as f64 / either as f64;
            }
            rows.iter().for_each(|&row| shared[draw.labels()[row] as usize] = 0);
        }
    }
    sums.iter().map(|sum| sum / draws.len() as f64).collect()
}

/// The share of draws in which each pair of rows is in one group.
///
/// # Panics
/// When a row does not exist.
pub fn coclustering(draws: &[&CompactPartition], pairs: &[(usize, usize)]) -> Vec<f64> {
    let together = |&(a, b): &(usize, usize)| {
        let count = draws.iter().filter(|draw| draw.label(a) == draw.label(b)).count();
        count as f64 / draws.len() as f64
    };
    pairs.iter().map(together).collect()
}

/// The share of draws in which rows are in one group, for all N x N pairs: only for small N.
pub fn coclustering_matrix(draws: &[&CompactPartition]) -> Vec<f64> {
    let n = draws.first().map_or(0, |draw| draw.n_rows());
    let mut counts = vec![0.0; n * n];
    for draw in draws {
        for rows in draw.to_partition().members() {
            for &a in &rows {
                let line = &mut counts[a * n..(a + 1) * n];
                rows.iter().for_each(|&b| line[b] += 1.0);
            }
        }
    }
    counts.iter_mut().for_each(|count| *count /= draws.len() as f64);
    counts
}

/// The mean co-clustering of the clusters of `estimate`, K x K: over all pairs of different rows, one of either cluster, the
/// share of draws in which they are in one group. A cluster of one row has 1 with itself. In O(N) per draw, never N x N.
///
/// Near 1 on the diagonal a cluster holds together; off the diagonal above 0, two clusters are one in some draws.
pub fn cluster_coclustering(estimate: &Partition, draws: &[&CompactPartition]) -> Vec<f64> {
    let k = estimate.n_groups();
    let mut sums = vec![0.0; k * k];
    for draw in draws {
        // Rows of each cluster in each group of the draw; then the pairs, group by group.
        let mut shared = vec![0.0; draw.n_groups() * k];
        for (row, &cluster) in estimate.labels().iter().enumerate() {
            shared[draw.label(row) as usize * k + cluster as usize] += 1.0;
        }
        for counts in shared.chunks_exact(k) {
            let present: Vec<usize> = (0..k).filter(|&cluster| counts[cluster] > 0.0).collect();
            for &a in &present {
                for &b in &present {
                    sums[a * k + b] += counts[a] * if a == b { counts[a] - 1.0 } else { counts[b] };
                }
            }
        }
    }
    for a in 0..k {
        for b in 0..k {
            let (n_a, n_b) = (estimate.sizes()[a] as f64, estimate.sizes()[b] as f64);
            let pairs = if a == b { n_a * (n_a - 1.0) } else { n_a * n_b };
            let mean = &mut sums[a * k + b];
            *mean = if pairs > 0.0 { *mean / (pairs * draws.len() as f64) } else { 1.0 };
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Stream, stream};
    use rand::RngExt;

    #[test]
    fn certainty_and_coclustering_by_hand() {
        let draws = [[0, 0, 1, 1], [0, 0, 0, 1]].map(|labels| CompactPartition::from(&Partition::from_labels(labels)));
        let draws: Vec<&CompactPartition> = draws.iter().collect();
        let estimate = Partition::from_labels([0, 0, 1, 1]);
        // Row 2 in the second draw: cluster {2, 3}, group {0, 1, 2}: one row in common of four.
        let second = [2.0 / 3.0, 2.0 / 3.0, 1.0 / 4.0, 1.0 / 2.0];
        for (found, other) in certainty(&estimate, &draws).iter().zip(second) {
            assert!((found - (1.0 + other) / 2.0).abs() < 1e-15);
        }
        assert_eq!(coclustering(&draws, &[(0, 1), (0, 2), (2, 3), (0, 3)]), [1.0, 0.5, 0.5, 0.0]);
        let matrix = coclustering_matrix(&draws);
        for a in 0..4 {
            for b in 0..4 {
                assert_eq!(matrix[a * 4 + b], coclustering(&draws, &[(a, b)])[0]);
            }
        }
    }

    #[test]
    fn clusters_go_together_as_their_pairs_of_rows_do() {
        let mut rng = stream(2, Stream::Simulation);
        let mut random =
            |n: usize, k: u32| Partition::from_labels((0..n).map(|_| rng.random_range(0..k)).collect::<Vec<_>>());
        // Row 25 is a cluster of its own.
        let estimate = Partition::from_labels(random(25, 3).labels().iter().copied().chain([3]));
        let draws: Vec<CompactPartition> = (0..20).map(|_| CompactPartition::from(&random(26, 4))).collect();
        let draws: Vec<&CompactPartition> = draws.iter().collect();
        let (pairs, clusters) = (coclustering_matrix(&draws), estimate.members());
        let found = cluster_coclustering(&estimate, &draws);
        for (a, first) in clusters.iter().enumerate() {
            for (b, second) in clusters.iter().enumerate() {
                let (mut sum, mut count) = (0.0, 0.0);
                for &i in first {
                    for &j in second.iter().filter(|&&j| j != i) {
                        sum += pairs[i * 26 + j];
                        count += 1.0;
                    }
                }
                let expected = if count > 0.0 { sum / count } else { 1.0 };
                assert!((found[a * 4 + b] - expected).abs() < 1e-12, "{a} {b}");
            }
        }
    }
}
