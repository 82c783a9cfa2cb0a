//! Colours that stay with the rows as the number of groups changes: a group takes the colour of the group before it that it
//! shares most rows with.

use std::collections::{BTreeMap, BTreeSet};

/// The colour of each of `k` groups, given the labels and colours at the number before.
pub(super) fn kept_colours(before: Option<(&[u32], &[u32])>, labels: &[u32], k: usize) -> Vec<u32> {
    let mut shared: BTreeMap<(u32, u32), usize> = BTreeMap::new();
    let (mut colours, mut taken) = (vec![None; k], BTreeSet::new());
    if let Some((old_labels, old_colours)) = before {
        old_labels.iter().zip(labels).for_each(|(&old, &new)| *shared.entry((old, new)).or_default() += 1);
        let mut pairs: Vec<((u32, u32), usize)> = shared.into_iter().collect();
        pairs.sort_by_key(|&(pair, rows)| (std::cmp::Reverse(rows), pair));
        for ((old, new), _) in pairs {
            let colour = old_colours[old as usize];
            if colours[new as usize].is_none() && taken.insert(colour) {
                colours[new as usize] = Some(colour);
            }
        }
    }
    let mut free = (0..).filter(|colour| !taken.contains(colour));
    // There are always more colours: the numbers do not end.
    colours.into_iter().map(|colour| colour.or_else(|| free.next()).unwrap_or_default()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_larger_part_of_a_split_group_keeps_its_colour_and_the_other_takes_a_new_one() {
        let one = [0, 0, 0, 0, 1, 1];
        assert_eq!(kept_colours(None, &one, 2), [0, 1]);
        // Group 0 splits into 0 (one row) and 1 (three rows); what was 1 is now 2.
        let two = [0, 1, 1, 1, 2, 2];
        assert_eq!(kept_colours(Some((&one, &[5, 7])), &two, 3), [0, 5, 7]);
    }
}
