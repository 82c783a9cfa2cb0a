//! Summed counts of clusters, and what they say of rows: x. KL(x/x. || C/C.), what joining costs, what merging costs.

use crate::counts::Counts;
use crate::parallel::Workers;
use crate::special::sum_x_ln_x;

/// sum x_v log(x_v / x.) of a row.
pub fn negentropy(values: &[f64], total: f64) -> f64 {
    sum_x_ln_x(values) - sum_x_ln_x(&[total])
}

/// Summed counts C of clusters.
#[derive(Debug, Clone, PartialEq)]
pub struct Tallies {
    n_columns: usize,
    /// K x V.
    counts: Vec<f64>,
    /// C., one per cluster.
    totals: Vec<f64>,
}

impl Tallies {
    /// The sums of the rows of each label.
    pub fn of(counts: &Counts, labels: &[u32], n_clusters: usize) -> Self {
        let v = counts.n_columns();
        let mut tallies = Tallies { n_columns: v, counts: vec![0.0; n_clusters * v], totals: vec![0.0; n_clusters] };
        for (n, &label) in labels.iter().enumerate() {
            tallies.add(label as usize, counts, n);
        }
        tallies
    }

    /// From summed counts, K x V.
    pub fn new(counts: Vec<f64>, n_columns: usize) -> Self {
        let totals = counts.chunks_exact(n_columns).map(|tally| tally.iter().sum()).collect();
        Tallies { n_columns, counts, totals }
    }

    /// One more row of a cluster.
    pub fn add(&mut self, cluster: usize, counts: &Counts, row: usize) {
        let (columns, values) = counts.row(row);
        let tally = &mut self.counts[cluster * self.n_columns..][..self.n_columns];
        columns.iter().zip(values).for_each(|(&column, x)| tally[column as usize] += x);
        self.totals[cluster] += counts.total(row);
    }

    /// Number of clusters, K.
    #[allow(clippy::len_without_is_empty, reason = "there is always a cluster")]
    pub fn len(&self) -> usize {
        self.totals.len()
    }

    /// The summed counts of a cluster.
    pub fn tally(&self, cluster: usize) -> &[f64] {
        &self.counts[cluster * self.n_columns..][..self.n_columns]
    }

    /// Their sum.
    pub fn total(&self, cluster: usize) -> f64 {
        self.totals[cluster]
    }

    /// All summed counts, K x V.
    pub fn into_counts(self) -> Vec<f64> {
        self.counts
    }

    /// C. log C. - sum C_v log C_v: with the negentropies of its rows the loss of a cluster.
    pub fn entropy(&self, cluster: usize) -> f64 {
        sum_x_ln_x(&[self.totals[cluster]]) - sum_x_ln_x(self.tally(cluster))
    }

    /// By how much the loss rises when two clusters become one.
    fn merge_cost(&self, i: usize, j: usize) -> f64 {
        let both: Vec<f64> = self.tally(i).iter().zip(self.tally(j)).map(|(a, b)| a + b).collect();
        let together = sum_x_ln_x(&[self.totals[i] + self.totals[j]]) - sum_x_ln_x(&both);
        (together - self.entropy(i) - self.entropy(j)).max(0.0)
    }

    /// By how much the loss of a cluster rises when a row joins it; finite whatever columns the row has.
    pub fn joining(&self, cluster: usize, columns: &[u32], values: &[f64], total: f64, negentropy: f64) -> f64 {
        let tally = self.tally(cluster);
        let before: Vec<f64> = columns.iter().map(|&column| tally[column as usize]).collect();
        let after: Vec<f64> = before.iter().zip(values).map(|(count, x)| count + x).collect();
        let all = self.totals[cluster];
        let totals = sum_x_ln_x(&[all + total]) - sum_x_ln_x(&[all]);
        (negentropy + totals - (sum_x_ln_x(&after) - sum_x_ln_x(&before))).max(0.0)
    }
}

/// The distributions C/C. of clusters held still, as logarithms.
pub struct Distributions {
    n_clusters: usize,
    /// log (C_v / C.), V x K; minus infinity where a cluster has nothing in a column.
    logs: Vec<f64>,
}

impl Distributions {
    pub fn of(tallies: &Tallies) -> Self {
        let k = tallies.len();
        let mut logs = vec![0.0; k * tallies.n_columns];
        for cluster in 0..k {
            let ln_total = tallies.total(cluster).ln();
            for (column, count) in tallies.tally(cluster).iter().enumerate() {
                // A cluster of empty rows alone has no distribution.
                logs[column * k + cluster] = if *count > 0.0 { count.ln() - ln_total } else { f64::NEG_INFINITY };
            }
        }
        Distributions { n_clusters: k, logs }
    }

    /// The same with a share of all counts mixed in, so that every divergence is finite.
    pub fn smoothed(tallies: &Tallies, overall: &[f64], share: f64) -> Self {
        let k = tallies.len();
        let mut logs = vec![0.0; k * tallies.n_columns];
        for cluster in 0..k {
            let own = (1.0 - share) / tallies.total(cluster).max(f64::MIN_POSITIVE);
            for (column, (count, p)) in tallies.tally(cluster).iter().zip(overall).enumerate() {
                logs[column * k + cluster] = (own * count + share * p).ln();
            }
        }
        Distributions { n_clusters: k, logs }
    }

    /// x. KL(x/x. || C/C.) for every cluster: infinite where the row has a column that the cluster has not.
    pub fn divergences(&self, columns: &[u32], values: &[f64], negentropy: f64, out: &mut Vec<f64>) {
        out.clear();
        out.resize(self.n_clusters, negentropy);
        for (&column, x) in columns.iter().zip(values) {
            let logs = &self.logs[column as usize * self.n_clusters..][..self.n_clusters];
            out.iter_mut().zip(logs).for_each(|(out, log)| *out -= x * log);
        }
        out.iter_mut().for_each(|d| *d = d.max(0.0));
    }
}

/// Clusters that become fewer: the cheapest pair first.
pub struct Merging {
    tallies: Tallies,
    /// What merging costs, K x K; infinite on the diagonal and where a cluster is gone.
    costs: Vec<f64>,
    /// The cluster that each has become part of.
    into: Vec<u32>,
}

impl Merging {
    pub fn new(tallies: Tallies, workers: &Workers) -> Self {
        let k = tallies.len();
        let rows = workers.map(k, |i| {
            (0..k).map(|j| if j < i { tallies.merge_cost(i, j) } else { f64::INFINITY }).collect::<Vec<f64>>()
        });
        let mut costs = rows.concat();
        for i in 0..k {
            for j in 0..i {
                costs[j * k + i] = costs[i * k + j];
            }
        }
        Merging { tallies, costs, into: (0..k as u32).collect() }
    }

    /// The cheapest pair and its cost, the lower number first; none where one cluster is left.
    pub fn cheapest(&self) -> Option<(usize, usize, f64)> {
        self.cheapest_without(usize::MAX)
    }

    /// The same among all clusters but one.
    pub fn cheapest_without(&self, cluster: usize) -> Option<(usize, usize, f64)> {
        let k = self.into.len();
        let mut best = (0, 0, f64::INFINITY);
        for i in 0..k {
            for j in 0..i {
                if self.costs[i * k + j] < best.2 && i != cluster && j != cluster {
                    best = (j, i, self.costs[i * k + j]);
                }
            }
        }
        best.2.is_finite().then_some(best)
    }

    /// Makes cluster `from` a part of `to`.
    pub fn merge(&mut self, to: usize, from: usize) {
        let (k, v) = (self.into.len(), self.tallies.n_columns);
        for column in 0..v {
            self.tallies.counts[to * v + column] += self.tallies.counts[from * v + column];
        }
        self.tallies.totals[to] += self.tallies.totals[from];
        self.into.iter_mut().filter(|into| **into == from as u32).for_each(|into| *into = to as u32);
        for other in 0..k {
            (self.costs[from * k + other], self.costs[other * k + from]) = (f64::INFINITY, f64::INFINITY);
            if other != to && self.into[other] == other as u32 {
                let cost = self.tallies.merge_cost(to, other);
                (self.costs[to * k + other], self.costs[other * k + to]) = (cost, cost);
            }
        }
    }

    /// Labels after the merges.
    pub fn relabel(&self, labels: &mut [u32]) {
        labels.iter_mut().for_each(|label| *label = self.into[*label as usize]);
    }
}

/// What summed counts say of any rows: the nearest distribution, and x. KL(x/x. || C/C.). A row that has a column which no
/// cluster has is given to the cluster whose loss it raises least, and that rise.
pub fn nearest_distributions(counts: &Counts, tallies: &Tallies, workers: &Workers) -> (Vec<u32>, Vec<f64>) {
    let distributions = Distributions::of(tallies);
    let chunks = counts.n_rows().div_ceil(super::ROWS);
    let parts = workers.map(chunks, |chunk| {
        let mut costs = Vec::new();
        let rows = chunk * super::ROWS..((chunk + 1) * super::ROWS).min(counts.n_rows());
        let nearest = rows.map(|row| {
            let ((columns, values), total) = (counts.row(row), counts.total(row));
            let negentropy = negentropy(values, total);
            distributions.divergences(columns, values, negentropy, &mut costs);
            if costs.iter().all(|d| d.is_infinite()) {
                let joining = |k: usize| tallies.joining(k, columns, values, total, negentropy);
                costs = (0..tallies.len()).map(joining).collect();
            }
            lowest(&costs)
        });
        nearest.collect::<Vec<(u32, f64)>>()
    });
    parts.into_iter().flatten().unzip()
}

/// The first of the lowest.
pub(super) fn lowest(costs: &[f64]) -> (u32, f64) {
    let mut best = (0, costs[0]);
    for (k, &cost) in costs.iter().enumerate() {
        if cost < best.1 {
            best = (k as u32, cost);
        }
    }
    best
}
