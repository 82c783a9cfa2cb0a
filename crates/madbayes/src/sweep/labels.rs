//! Which row sits in which group while groups open and close: closing one costs no pass over the rows.

/// Labels of all rows. Rows point to slots, slots to groups; when a group closes, the last takes its number by a change
/// of two slots.
#[derive(Debug, Clone)]
pub struct LiveLabels {
    slot_of_row: Vec<u32>,
    group_of_slot: Vec<u32>,
    slot_of_group: Vec<u32>,
    sizes: Vec<u32>,
    free: Vec<u32>,
}

impl LiveLabels {
    /// Rows in groups 0..K, none of them empty.
    pub fn new(labels: &[u32]) -> Self {
        let k = labels.iter().max().map_or(0, |m| m + 1);
        let mut sizes = vec![0; k as usize];
        labels.iter().for_each(|&l| sizes[l as usize] += 1);
        debug_assert!(sizes.iter().all(|s| *s > 0));
        LiveLabels {
            slot_of_row: labels.to_vec(),
            group_of_slot: (0..k).collect(),
            slot_of_group: (0..k).collect(),
            sizes,
            free: Vec::new(),
        }
    }

    /// Number of groups, K.
    pub fn n_groups(&self) -> usize {
        self.slot_of_group.len()
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.slot_of_row.len()
    }

    /// The group of a row.
    pub fn group(&self, row: usize) -> usize {
        self.group_of_slot[self.slot_of_row[row] as usize] as usize
    }

    /// Rows in a group.
    pub fn size(&self, group: usize) -> usize {
        self.sizes[group] as usize
    }

    /// The group of every row.
    pub fn to_vec(&self) -> Vec<u32> {
        self.slot_of_row.iter().map(|&slot| self.group_of_slot[slot as usize]).collect()
    }

    /// Takes a row out of its group; true if the group is now empty.
    pub(crate) fn leave(&mut self, row: usize) -> bool {
        let group = self.group(row);
        self.sizes[group] -= 1;
        self.sizes[group] == 0
    }

    /// Puts a row that is out into a group.
    pub(crate) fn join(&mut self, row: usize, group: usize) {
        self.slot_of_row[row] = self.slot_of_group[group];
        self.sizes[group] += 1;
    }

    /// An empty group with number K.
    pub(crate) fn open(&mut self) {
        let group = self.slot_of_group.len() as u32;
        let slot = self.free.pop().unwrap_or_else(|| {
            self.group_of_slot.push(0);
            self.group_of_slot.len() as u32 - 1
        });
        self.group_of_slot[slot as usize] = group;
        self.slot_of_group.push(slot);
        self.sizes.push(0);
    }

    /// Removes an empty group; the last takes its number.
    pub(crate) fn close(&mut self, group: usize) {
        self.free.push(self.slot_of_group.swap_remove(group));
        self.sizes.swap_remove(group);
        if let Some(&moved) = self.slot_of_group.get(group) {
            self.group_of_slot[moved as usize] = group as u32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn labels_follow_a_plain_relabelling(
            labels in proptest::collection::vec(0u32..4, 1..20),
            moves in proptest::collection::vec((0usize..20, 0usize..8), 0..60),
        ) {
            let plain = crate::structure::Partition::from_labels(labels);
            let mut plain = plain.labels().to_vec();
            let mut live = LiveLabels::new(&plain);
            for (row, to) in moves {
                let row = row % plain.len();
                let old = plain[row];
                plain[row] = u32::MAX;
                if live.leave(row) {
                    live.close(old as usize);
                    let last = plain.iter().filter(|l| **l != u32::MAX).max().copied();
                    // The plain way: rename the last group.
                    if let Some(last) = last.filter(|last| *last > old) {
                        plain.iter_mut().filter(|l| **l == last).for_each(|l| *l = old);
                    }
                }
                let to = to % (live.n_groups() + 1);
                if to == live.n_groups() {
                    live.open();
                }
                live.join(row, to);
                plain[row] = to as u32;
                prop_assert_eq!(&live.to_vec(), &plain);
            }
        }
    }
}
