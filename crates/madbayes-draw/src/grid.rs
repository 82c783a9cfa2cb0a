//! A binary matrix as a grid of filled and empty cells.

use crate::canvas;
use crate::palette::COLOURS;
use crate::svg::{Anchor, Document, FAINT_INK, INK, MARGIN, WIDTH};
use crate::ticks::count;
use std::fmt::Write;

/// More lines than this are counted, not drawn.
const MOST_TEXT_ROWS: usize = 40;
/// More rows and columns than this make cells too small to see.
const MOST_ROWS: usize = 400;
const MOST_COLUMNS: usize = 300;
const LARGEST_CELL: f64 = 16.0;

/// A matrix of bits, row by row: which row has which feature.
#[derive(Debug, Clone, Copy, Default)]
pub struct Grid<'a> {
    /// What the picture shows.
    pub title: &'a str,
    /// What a row is, such as `row`.
    pub row_name: &'a str,
    /// What a column is, such as `feature`.
    pub column_name: &'a str,
    /// Number of columns.
    pub n_columns: usize,
    /// The cells, one row after the other; an incomplete last row is left out.
    pub cells: &'a [bool],
}

impl Grid<'_> {
    fn n_rows(&self) -> usize {
        self.cells.len().checked_div(self.n_columns).unwrap_or(0)
    }

    /// The picture as an SVG document 720 wide and as high as its rows need.
    ///
    /// Of more than 400 rows or 300 columns the rest are counted in a last line.
    pub fn svg(&self) -> String {
        let (rows, columns) = (self.n_rows().min(MOST_ROWS), self.n_columns.min(MOST_COLUMNS));
        let side = ((WIDTH - 2.0 * MARGIN - 20.0) / columns.max(1) as f64).min(LARGEST_CELL);
        let (left, top) = (MARGIN + 20.0, 84.0);
        let (width, height) = (side * columns as f64, side * rows as f64);
        let more = self.more(rows, columns);
        let total = top + height + MARGIN + if more.is_empty() { 0.0 } else { 18.0 };
        let description = format!("Binary matrix of {} by {} cells.", count(self.n_rows()), count(self.n_columns));
        let mut document = Document::new(total, self.title, &description, &self.size());
        document.text(left, top - 8.0, Anchor::Start, INK, self.column_name, WIDTH - MARGIN - left);
        document.upward_text(left - 8.0, top + height / 2.0, self.row_name, height);
        // Neighbours in a row are one bar: fewer elements, and no hairlines between them.
        for row in 0..rows {
            let cells = &self.cells[row * self.n_columns..][..columns];
            let mut from = 0;
            while from < columns {
                let run = cells[from..].iter().take_while(|&&on| on == cells[from]).count();
                if cells[from] {
                    let x = left + side * from as f64;
                    document.bar(x, top + side * row as f64, side * run as f64, side, COLOURS[0]);
                }
                from += run;
            }
        }
        let (right, bottom) = (left + width, top + height);
        for (from, to) in [
            ((left, top), (right, top)),
            ((left, bottom), (right, bottom)),
            ((left, top), (left, bottom)),
            ((right, top), (right, bottom)),
        ] {
            document.line(from, to, "#888888", 1.0);
        }
        document.text(left, bottom + 18.0, Anchor::Start, FAINT_INK, &more, WIDTH - MARGIN - left);
        document.finish()
    }

    /// The picture as lines of ASCII of at most `width` columns: the title, then a line for each row, `#` where a cell is
    /// filled and `.` where it is not.
    ///
    /// Of more than 40 rows, and of more columns than fit, the rest are counted in a last line.
    pub fn text(&self, width: usize) -> String {
        let width = width.min(1000);
        let (rows, columns) = (self.n_rows().min(MOST_TEXT_ROWS), self.n_columns.min(width));
        let mut text = String::new();
        let mut line = |line: &str| {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{}", canvas::shortened(line, width).trim_end());
        };
        if !self.title.is_empty() {
            line(self.title);
        }
        for row in 0..rows {
            let cells = &self.cells[row * self.n_columns..][..columns];
            line(&cells.iter().map(|&on| if on { '#' } else { '.' }).collect::<String>());
        }
        let more = self.more(rows, columns);
        if !more.is_empty() {
            line(&more);
        }
        text
    }

    fn size(&self) -> String {
        format!("{} x {}", count(self.n_rows()), count(self.n_columns))
    }

    /// What is not shown.
    fn more(&self, rows: usize, columns: usize) -> String {
        let rest = [(self.n_rows() - rows, self.row_name), (self.n_columns - columns, self.column_name)];
        let parts: Vec<String> = rest
            .iter()
            .filter(|(left, _)| *left > 0)
            .map(|(left, name)| format!("{} more {name}{}", count(*left), if *left == 1 { "" } else { "s" }))
            .collect();
        if parts.is_empty() { String::new() } else { format!("and {}", parts.join(" and ")) }
    }
}
