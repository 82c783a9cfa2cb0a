//! A table of numbers as shades: above 0 in one colour, below in another.

use crate::palette::COLOURS;
use crate::svg::{Anchor, Document, FAINT_INK, INK, MARGIN, TEXT, WIDTH, text_width};
use crate::ticks::{count, number};

/// Lines and columns that are drawn at most.
const MOST: usize = 120;
/// Beyond so many, cells have neither names nor numbers.
const FEW: usize = 30;
const WIDEST_NAME: f64 = 160.0;

/// A table of numbers, each a shaded cell; small tables have the numbers in the cells too.
#[derive(Debug, Clone, Copy, Default)]
pub struct Heat<'a> {
    /// What the picture shows.
    pub title: &'a str,
    /// What the numbers are.
    pub value_name: &'a str,
    /// The name of each line; may be empty.
    pub row_names: &'a [String],
    /// The name of each column; may be empty.
    pub column_names: &'a [String],
    /// Number of columns.
    pub n_columns: usize,
    /// The numbers, line after line; the largest magnitude has the full colour, what is not finite none.
    pub values: &'a [f64],
}

impl Heat<'_> {
    /// The picture as an SVG document 720 wide.
    ///
    /// Of more than 120 lines or columns every second (third, ...) is drawn, and the picture says so.
    pub fn svg(&self) -> String {
        let n_rows = self.values.len().checked_div(self.n_columns).unwrap_or(0);
        let every = |n: usize| n.div_ceil(MOST).max(1);
        let rows: Vec<usize> = (0..n_rows).step_by(every(n_rows)).collect();
        let columns: Vec<usize> = (0..self.n_columns).step_by(every(self.n_columns)).collect();
        let named = rows.len() <= FEW && columns.len() <= FEW;
        let widest = |names: &[String]| names.iter().map(|name| text_width(name, TEXT)).fold(0.0, f64::max);
        let left = MARGIN + if named { widest(self.row_names).min(WIDEST_NAME) + 10.0 } else { 0.0 };
        let top = 64.0 + if named && !self.column_names.is_empty() { 18.0 } else { 0.0 };
        let width = (WIDTH - MARGIN - left) / columns.len().max(1) as f64;
        let height = if named { 26.0 } else { width };
        let note = match every(n_rows).max(every(self.n_columns)) {
            1 => self.value_name.to_string(),
            _ => format!("{}; showing {} of {} lines", self.value_name, count(rows.len()), count(n_rows)),
        };
        let described = format!("{}: {} lines and {} columns.", self.value_name, count(n_rows), count(self.n_columns));
        let bottom = top + height * rows.len() as f64;
        let mut document = Document::new(bottom + MARGIN, self.title, &described, &note);
        let finite = self.values.iter().map(|x| x.abs()).filter(|x| x.is_finite());
        let largest = finite.fold(f64::MIN_POSITIVE, f64::max);
        for (j, &column) in columns.iter().enumerate().filter(|_| named) {
            let x = left + width * (j as f64 + 0.5);
            let name = self.column_names.get(column).map_or("", String::as_str);
            document.text(x, top - 8.0, Anchor::Middle, FAINT_INK, name, width - 4.0);
        }
        for (i, &row) in rows.iter().enumerate() {
            let y = top + height * i as f64;
            if named {
                let name = self.row_names.get(row).map_or("", String::as_str);
                document.text(left - 10.0, y + height / 2.0 + 4.0, Anchor::End, INK, name, WIDEST_NAME);
            }
            for (j, &column) in columns.iter().enumerate() {
                let (x, value) = (left + width * j as f64, self.values[row * self.n_columns + column]);
                if value.is_finite() && value != 0.0 {
                    document.bar(x, y, width, height, &shade(value / largest));
                }
                if named && value.is_finite() {
                    document.text(x + width / 2.0, y + height / 2.0 + 4.0, Anchor::Middle, INK, &number(value), width);
                }
            }
        }
        document.finish()
    }
}

/// From white to a light orange above 0, to a light blue below: text stays readable on both.
fn shade(share: f64) -> String {
    let full = u32::from_str_radix(&COLOURS[if share < 0.0 { 0 } else { 1 }][1..], 16).unwrap_or(0);
    let channel = |shift: u32| {
        let full = f64::from((full >> shift) & 0xff);
        (255.0 + 0.7 * share.abs().min(1.0) * (full - 255.0)).round() as u8
    };
    format!("#{:02x}{:02x}{:02x}", channel(16), channel(8), channel(0))
}
