//! From draws to an answer: the partition of least expected variation of information (Wade & Ghahramani 2018; greedy
//! search over rows as in Dahl, Johnson & Mueller 2022), how sure each row is, and which rows go together.

use crate::metrics::Contingency;
use crate::structure::Partition;
use crate::watch::{Step, Watch};

/// Cell updates that the search for a start and one pass over the rows may take: draws are thinned evenly beyond it.
const WORK: usize = 200_000_000;
/// Draws that are tried as a start.
const MOST_STARTS: usize = 50;
/// Passes over the rows, if they go on helping that long.
const MOST_PASSES: usize = 30;
/// Rows between two looks at the watch.
const ROWS_PER_POLL: usize = 64;

/// The partition c that minimises the mean over draws d of VI(c, d), as far as a greedy search finds it: from the best of
/// the draws, single rows move to other groups or to one of their own as long as that helps.
///
/// With h(n) = n log n and N rows, N VI(c, d) = sum h(c's sizes) + sum h(d's sizes) - 2 sum h(sizes of their cells).
///
/// # Panics
/// When there are no draws, or they are of different numbers of rows.
pub fn point_estimate(draws: &[&Partition], watch: &dyn Watch) -> Partition {
    assert!(!draws.is_empty(), "no draws to choose from");
    let n = draws[0].n_rows();
    assert!(draws.iter().all(|draw| draw.n_rows() == n), "draws of different numbers of rows");
    let groups = draws.iter().map(|draw| draw.n_groups()).max().unwrap_or(1);
    let draws = thinned(draws, (WORK / (n * groups).max(1)).max(20));
    let starts = thinned(&draws, (WORK / (n * draws.len()).max(1)).clamp(1, MOST_STARTS));
    let mut best = (f64::INFINITY, starts[0]);
    for start in starts {
        let cost = expected_information(start, &draws);
        if cost < best.0 {
            best = (cost, start);
        }
        if watch.step(&Step::Chunk).is_break() {
            return best.1.clone();
        }
    }
    let mut search = Search::new(best.1, &draws);
    for _ in 0..MOST_PASSES {
        if !search.pass(watch) {
            break;
        }
    }
    Partition::from_labels(search.labels)
}

/// At most `most` of them, evenly spaced.
fn thinned<'a>(draws: &[&'a Partition], most: usize) -> Vec<&'a Partition> {
    let kept = draws.len().min(most);
    (0..kept).map(|i| draws[i * draws.len() / kept]).collect()
}

/// h(n) = n log n.
fn h(n: usize) -> f64 {
    if n == 0 { 0.0 } else { n as f64 * (n as f64).ln() }
}

/// N times the mean of VI(candidate, draw), without the part that is the same for every candidate.
fn expected_information(candidate: &Partition, draws: &[&Partition]) -> f64 {
    let own: f64 = candidate.sizes().iter().map(|&n| h(n)).sum();
    let shared = |draw: &&Partition| -> f64 {
        // Partitions of the same rows, at least one: checked by the caller.
        Contingency::new(candidate, draw).map_or(0.0, |table| table.cells().iter().map(|cell| h(cell.count)).sum())
    };
    own - 2.0 * draws.iter().map(shared).sum::<f64>() / draws.len() as f64
}

/// The state of the search: labels, and how many rows of each group are in each group of each draw.
struct Search<'a> {
    draws: &'a [&'a Partition],
    labels: Vec<u32>,
    sizes: Vec<usize>,
    /// For each group, the rows it shares with every group of every draw, draws one after another.
    shared: Vec<Vec<u32>>,
    /// Where each draw's groups begin in such a list.
    offsets: Vec<usize>,
    /// h(n + 1) - h(n).
    growth: Vec<f64>,
}

impl<'a> Search<'a> {
    fn new(start: &Partition, draws: &'a [&'a Partition]) -> Self {
        let mut total = 0;
        let offsets = draws
            .iter()
            .map(|draw| {
                total += draw.n_groups();
                total - draw.n_groups()
            })
            .collect();
        let mut search = Search {
            draws,
            labels: start.labels().to_vec(),
            sizes: start.sizes().to_vec(),
            shared: vec![vec![0; total]; start.n_groups()],
            offsets,
            growth: (0..=start.n_rows()).map(|n| h(n + 1) - h(n)).collect(),
        };
        for row in 0..start.n_rows() {
            for cell in search.cells(row) {
                search.shared[start.labels()[row] as usize][cell] += 1;
            }
        }
        search
    }

    /// The group of a row in every draw, as positions in `shared`.
    fn cells(&self, row: usize) -> Vec<usize> {
        self.draws.iter().zip(&self.offsets).map(|(draw, offset)| offset + draw.labels()[row] as usize).collect()
    }

    /// Moves each row to where the expectation is least; whether any moved.
    fn pass(&mut self, watch: &dyn Watch) -> bool {
        let mut moved = false;
        for row in 0..self.labels.len() {
            if row % ROWS_PER_POLL == 0 && watch.step(&Step::Chunk).is_break() {
                return false;
            }
            let cells = self.cells(row);
            let old = self.labels[row] as usize;
            self.change(old, &cells, -1);
            let mut best = (self.cost(old, &cells), old);
            // A group of its own costs 0; an empty one is free to be that.
            for group in 0..self.sizes.len() {
                if group != old {
                    let cost = self.cost(group, &cells);
                    if cost < best.0 - 1e-9 {
                        best = (cost, group);
                    }
                }
            }
            if best.0 > 1e-9 {
                best = (0.0, self.empty_group());
            }
            self.change(best.1, &cells, 1);
            self.labels[row] = best.1 as u32;
            moved |= best.1 != old;
        }
        moved
    }

    /// What joining a group adds to N times the expectation.
    fn cost(&self, group: usize, cells: &[usize]) -> f64 {
        let shared = &self.shared[group];
        let gain: f64 = cells.iter().map(|&cell| self.growth[shared[cell] as usize]).sum();
        self.growth[self.sizes[group]] - 2.0 * gain / self.draws.len() as f64
    }

    fn change(&mut self, group: usize, cells: &[usize], by: i32) {
        self.sizes[group] = self.sizes[group].wrapping_add_signed(by as isize);
        for &cell in cells {
            self.shared[group][cell] = self.shared[group][cell].wrapping_add_signed(by);
            debug_assert!(self.shared[group][cell] as usize <= self.sizes[group], "more rows shared than there are");
        }
    }

    fn empty_group(&mut self) -> usize {
        self.sizes.iter().position(|size| *size == 0).unwrap_or_else(|| {
            self.sizes.push(0);
            self.shared.push(vec![0; self.shared[0].len()]);
            self.sizes.len() - 1
        })
    }
}

/// How sure each row's cluster is: the mean over draws of |C and G| / |C or G|, C its cluster in `estimate` and G its group
/// in the draw. 1 when every draw has exactly that cluster.
pub fn certainty(estimate: &Partition, draws: &[&Partition]) -> Vec<f64> {
    let mut sums = vec![0.0; estimate.n_rows()];
    let members = estimate.members();
    for draw in draws {
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
pub fn coclustering(draws: &[&Partition], pairs: &[(usize, usize)]) -> Vec<f64> {
    let together = |&(a, b): &(usize, usize)| {
        let count = draws.iter().filter(|draw| draw.labels()[a] == draw.labels()[b]).count();
        count as f64 / draws.len() as f64
    };
    pairs.iter().map(together).collect()
}

/// The share of draws in which rows are in one group, for all N x N pairs: only for small N.
pub fn coclustering_matrix(draws: &[&Partition]) -> Vec<f64> {
    let n = draws.first().map_or(0, |draw| draw.n_rows());
    let mut counts = vec![0.0; n * n];
    for draw in draws {
        for rows in draw.members() {
            for &a in &rows {
                let line = &mut counts[a * n..(a + 1) * n];
                rows.iter().for_each(|&b| line[b] += 1.0);
            }
        }
    }
    counts.iter_mut().for_each(|count| *count /= draws.len() as f64);
    counts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::variation_of_information;
    use crate::random::{Stream, stream};
    use crate::watch::Unwatched;
    use rand::RngExt;

    fn random_draws(n: usize, groups: u32, count: usize, seed: u64) -> Vec<Partition> {
        let mut rng = stream(seed, Stream::Simulation);
        let truth: Vec<u32> = (0..n).map(|_| rng.random_range(0..groups)).collect();
        let blur = |label: &u32, rng: &mut crate::random::Rng| {
            if rng.random::<f64>() < 0.3 { rng.random_range(0..groups) } else { *label }
        };
        (0..count)
            .map(|_| Partition::from_labels(truth.iter().map(|l| blur(l, &mut rng)).collect::<Vec<_>>()))
            .collect()
    }

    fn expected(candidate: &Partition, draws: &[Partition]) -> f64 {
        draws.iter().map(|draw| variation_of_information(candidate, draw).unwrap()).sum::<f64>() / draws.len() as f64
    }

    #[test]
    fn the_estimate_is_the_best_of_all_partitions_or_close_to_it() {
        let mut exact = 0;
        for seed in 0..40 {
            let draws = random_draws(7, 3, 30, seed);
            let found = point_estimate(&draws.iter().collect::<Vec<_>>(), &Unwatched);
            let best = Partition::all(7).map(|p| expected(&p, &draws)).fold(f64::INFINITY, f64::min);
            let cost = expected(&found, &draws);
            assert!(cost >= best - 1e-9);
            assert!(cost < best + 0.05, "seed {seed}: {cost} against {best}");
            exact += usize::from(cost < best + 1e-9);
        }
        assert!(exact >= 36, "{exact} of 40 exact");
    }

    #[test]
    fn no_draw_beats_the_estimate() {
        for seed in 0..5 {
            let draws = random_draws(60, 4, 40, seed);
            let found = point_estimate(&draws.iter().collect::<Vec<_>>(), &Unwatched);
            let cost = expected(&found, &draws);
            assert!(draws.iter().all(|draw| expected(draw, &draws) >= cost - 1e-9));
            assert_eq!(found.n_groups(), 4);
        }
    }

    #[test]
    fn certainty_and_coclustering_by_hand() {
        let draws = [[0, 0, 1, 1], [0, 0, 0, 1]].map(Partition::from_labels);
        let draws: Vec<&Partition> = draws.iter().collect();
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
}
