//! Which points of a path a report shows: the first ones, the choice and its runners-up, and some of the rest.

use crate::select::{Choice, PenaltyPath};

/// Values, rows times columns, up to which a path is sought for a report alone.
pub const QUICK_PATH: usize = 1 << 22;
/// Points of a path that are shown at most.
const MOST_POINTS: usize = 40;
/// Of these the first ones without a gap.
const FIRST: usize = 24;

/// What the automatic choice thought of a number of groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It was chosen.
    Chosen,
    /// It was next, or second next, ...: counted from 1.
    RunnerUp(usize),
    /// Neither.
    Other,
}

impl Standing {
    /// Of `k` groups.
    pub fn of(k: usize, choice: Option<&Choice>) -> Self {
        match choice {
            Some(choice) if choice.k == k => Standing::Chosen,
            Some(choice) => match choice.runners_up.iter().position(|other| other.k == k) {
                Some(place) => Standing::RunnerUp(place + 1),
                None => Standing::Other,
            },
            None => Standing::Other,
        }
    }
}

/// The numbers of groups on the path that are shown, and `fitted`, in order.
pub(super) fn numbers_shown(path: Option<&PenaltyPath>, choice: Option<&Choice>, fitted: usize) -> Vec<usize> {
    let all: Vec<usize> = path.map_or_else(Vec::new, |path| path.points.iter().map(|point| point.k).collect());
    let every = all.len().saturating_sub(FIRST).div_ceil(MOST_POINTS - FIRST).max(1);
    let kept = |(i, k): &(usize, usize)| {
        *i < FIRST || (i - FIRST).is_multiple_of(every) || Standing::of(*k, choice) != Standing::Other
    };
    let mut shown: Vec<usize> = all.into_iter().enumerate().filter(kept).map(|(_, k)| k).collect();
    shown.push(fitted);
    shown.sort_unstable();
    shown.dedup();
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_path_is_shown_by_some_of_its_points_with_the_fit_among_them() {
        let losses = (1..=120).map(|k| (k, 1e6 / (k * k) as f64)).collect();
        let path = PenaltyPath::new(losses, 119, 0.0);
        let shown = numbers_shown(Some(&path), None, 77);
        assert!(shown.len() <= MOST_POINTS + 1 && shown.contains(&77) && shown.is_sorted());
        assert_eq!(shown[..FIRST], (1..=FIRST).collect::<Vec<_>>());
        assert_eq!(numbers_shown(None, None, 3), [3]);
    }
}
