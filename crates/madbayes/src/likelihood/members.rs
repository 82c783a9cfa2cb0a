//! Which rows each group has, so that a group can be formed anew before rounding matters.

/// A group is formed anew after so many roundings (or as many as it has rows). A row that was nearly all there was in some
/// direction leaves many roundings behind: their number is the share it took away, 1 / (1 - share), and 1 otherwise.
pub(super) const LOSS_LIMIT: f64 = 1e5;

/// The rows of K groups, numbered as in [`Groups`](super::Groups).
#[derive(Debug, Clone)]
pub(super) struct Members {
    rows: Vec<Vec<u32>>,
    /// Where a row stands in the list of its group.
    places: Vec<u32>,
}

impl Members {
    /// No groups yet.
    pub fn new(n_rows: usize) -> Self {
        Members { rows: Vec::new(), places: vec![0; n_rows] }
    }

    pub fn open(&mut self) {
        self.rows.push(Vec::new());
    }

    /// Rows still inside are in no group any more; their places are written anew when they come in again.
    pub fn close(&mut self, group: usize) {
        self.rows.swap_remove(group);
    }

    pub fn add(&mut self, group: usize, row: usize) {
        self.places[row] = self.rows[group].len() as u32;
        self.rows[group].push(row as u32);
    }

    pub fn sub(&mut self, group: usize, row: usize) {
        let place = self.places[row] as usize;
        debug_assert_eq!(self.rows[group][place] as usize, row, "the row must be in the group");
        self.rows[group].swap_remove(place);
        if let Some(&moved) = self.rows[group].get(place) {
            self.places[moved as usize] = place as u32;
        }
    }

    /// Number of rows in a group.
    pub fn size(&self, group: usize) -> usize {
        self.rows[group].len()
    }

    /// The i-th row of a group.
    pub fn row(&self, group: usize, i: usize) -> usize {
        self.rows[group][i] as usize
    }

    /// Empties all groups.
    pub fn clear(&mut self) {
        self.rows.iter_mut().for_each(Vec::clear);
    }
}
