//! Best splits that are remembered as long as a cluster keeps its rows: few clusters change between two looks.

use super::bisect::{Bisection, Room, bisect};
use super::passes::{Run, State};
use crate::data::Real;
use crate::scan::Members;
use crate::watch::Step;
use std::collections::HashMap;
use std::sync::Arc;

/// The best split of a cluster; none if all its rows are equal.
pub(super) type Split = Option<Arc<Bisection>>;

/// Best splits by the rows they are of.
#[derive(Debug, Default)]
pub(super) struct KnownSplits {
    splits: HashMap<(u64, usize), Split>,
}

/// Splits that are kept before those of clusters that are gone are forgotten.
const KEPT: usize = 4;

impl KnownSplits {
    /// The best split of every cluster; none once the watch has said stop.
    pub fn of<T: Real>(&mut self, run: &Run<T>, state: &State) -> Option<Vec<Split>> {
        let members = Members::new(&state.labels, state.k());
        let keys: Vec<(u64, usize)> = (0..members.k()).map(|k| key(members.of(k))).collect();
        let unknown: Vec<usize> = (0..keys.len()).filter(|&k| !self.splits.contains_key(&keys[k])).collect();
        let found = run.workers.map_with(unknown.len(), Room::default, |room, i| {
            // Polled for every cluster, so that stopping does not wait for all of them.
            let k = unknown[i];
            let stopped = run.watch.step(&Step::Chunk).is_break();
            (!stopped).then(|| bisect(run.data, members.of(k), state.offset(k), room).map(Arc::new))
        });
        for (&k, split) in unknown.iter().zip(found) {
            self.splits.insert(keys[k], split?);
        }
        let splits = keys.iter().map(|key| self.splits.get(key).cloned().flatten()).collect();
        if self.splits.len() > KEPT * keys.len().max(16) {
            let live: std::collections::HashSet<_> = keys.into_iter().collect();
            self.splits.retain(|key, _| live.contains(key));
        }
        Some(splits)
    }
}

/// A fingerprint of a set of rows: the sum of their numbers, each well mixed (SplitMix64), and how many there are.
fn key(rows: &[u32]) -> (u64, usize) {
    let mix = |row: u32| {
        let mut z = (u64::from(row) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    };
    (rows.iter().fold(0u64, |sum, &row| sum.wrapping_add(mix(row))), rows.len())
}
