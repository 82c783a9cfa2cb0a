//! The text page: a grid of ASCII characters with a frame, labels and a legend around the plot.

use crate::ticks::Axis;

/// No terminal is larger, and no input may ask for all memory.
const LARGEST: usize = 1000;

/// About how many steps an axis has; only its ends are written, so that small steps keep it close to the data.
pub(crate) const INTERVALS: usize = 20;

/// A grid of characters, all blank at first; what is put outside is not shown.
#[derive(Debug)]
struct Canvas {
    width: usize,
    height: usize,
    cells: Vec<char>,
}

impl Canvas {
    fn put(&mut self, column: usize, row: usize, mark: char) {
        if column < self.width
            && let Some(cell) = self.cells.get_mut(row * self.width + column)
        {
            *cell = mark;
        }
    }

    fn write(&mut self, column: usize, row: usize, text: &str) {
        for (offset, mark) in text.chars().enumerate() {
            self.put(column + offset, row, mark);
        }
    }
}

/// What stands around a text plot.
#[derive(Debug)]
pub(crate) struct Surround<'a> {
    /// The first line.
    pub(crate) title: &'a str,
    /// The name below the plot.
    pub(crate) x_name: &'a str,
    /// The name above the plot.
    pub(crate) y_name: &'a str,
    /// The entries below the plot, each with its mark.
    pub(crate) legend: &'a [String],
    /// How many entries there are in all.
    pub(crate) legend_total: usize,
}

/// A text plot that is being drawn.
#[derive(Debug)]
pub(crate) struct TextPlot {
    canvas: Canvas,
    left: usize,
    top: usize,
    columns: usize,
    rows: usize,
    x: Axis,
    y: Axis,
}

impl TextPlot {
    /// A plot of exactly this many columns and lines, its surroundings included.
    ///
    /// What a small plot has no room for is left out: the legend and the names first, then the numbers, then the frame.
    pub(crate) fn new(width: usize, height: usize, x: Axis, y: Axis, around: &Surround) -> TextPlot {
        let (width, height) = (width.min(LARGEST), height.min(LARGEST));
        let canvas = Canvas { width, height, cells: vec![' '; width * height] };
        let mut plot = TextPlot { canvas, left: 0, top: 0, columns: width, rows: height, x, y };
        if width >= 12 && height >= 6 {
            plot.surround(width, height, around);
        }
        plot
    }

    fn surround(&mut self, width: usize, height: usize, around: &Surround) {
        let mut next_row = 0;
        if height >= 8 {
            for heading in [around.title, around.y_name] {
                if !heading.is_empty() {
                    self.canvas.write(0, next_row, &shortened(heading, width));
                    next_row += 1;
                }
            }
        }
        let legend = legend_lines(around.legend, around.legend_total, width, height / 4);
        let numbers = self.y.labels();
        let (lowest, highest) = (numbers.first().cloned(), numbers.last().cloned());
        let (lowest, highest) = (lowest.unwrap_or_default(), highest.unwrap_or_default());
        let widest = lowest.len().max(highest.len());
        let gutter = if widest < width / 3 { widest + 1 } else { 0 };

        (self.left, self.top) = (gutter + 1, next_row + 1);
        self.columns = width - gutter - 2;
        // Besides the rows above there are two borders, the numbers of x, and the legend.
        self.rows = height - next_row - legend.len() - 3;
        let (right, bottom) = (self.left + self.columns, self.top + self.rows);
        for column in self.left..right {
            self.canvas.put(column, self.top - 1, '-');
            self.canvas.put(column, bottom, '-');
        }
        for row in self.top..bottom {
            self.canvas.put(gutter, row, '|');
            self.canvas.put(right, row, '|');
        }
        for (column, row, corner) in
            [(gutter, self.top - 1, '.'), (right, self.top - 1, '.'), (gutter, bottom, '\''), (right, bottom, '\'')]
        {
            self.canvas.put(column, row, corner);
        }
        if gutter > 0 {
            self.canvas.write(widest - highest.len(), self.top, &highest);
            self.canvas.write(widest - lowest.len(), bottom - 1, &lowest);
        }
        self.write_below(bottom + 1, around.x_name);
        for (offset, line) in legend.iter().enumerate() {
            self.canvas.write(0, bottom + 2 + offset, line);
        }
    }

    /// The ends of the x axis with its name between them.
    fn write_below(&mut self, row: usize, x_name: &str) {
        let numbers = self.x.labels();
        let (Some(lowest), Some(highest)) = (numbers.first(), numbers.last()) else { return };
        let Some(room) = self.columns.checked_sub(lowest.len() + highest.len() + 2) else { return };
        self.canvas.write(self.left, row, lowest);
        self.canvas.write(self.left + self.columns - highest.len(), row, highest);
        if room >= 4 || x_name.len() <= room {
            let name = shortened(x_name, room);
            self.canvas.write(self.left + lowest.len() + 1 + (room - name.len()) / 2, row, &name);
        }
    }

    /// The cell of a data point, counted from the upper left corner of the plot.
    pub(crate) fn cell(&self, (x, y): (f64, f64)) -> (usize, usize) {
        let up = self.y.cell(y, self.rows);
        (self.x.cell(x, self.columns), self.rows.saturating_sub(1) - up.min(self.rows.saturating_sub(1)))
    }

    /// Marks one cell of the plot.
    pub(crate) fn mark(&mut self, (column, row): (usize, usize), mark: char) {
        if column < self.columns && row < self.rows {
            self.canvas.put(self.left + column, self.top + row, mark);
        }
    }

    /// The page as lines, without blanks at their ends.
    pub(crate) fn finish(self) -> String {
        let mut text = String::with_capacity(self.canvas.cells.len());
        for row in 0..self.canvas.height {
            let cells = &self.canvas.cells[row * self.canvas.width..(row + 1) * self.canvas.width];
            text.push_str(cells.iter().collect::<String>().trim_end());
            text.push('\n');
        }
        text
    }
}

/// The entries wrapped into at most `most_lines`; entries that find no room are counted instead.
fn legend_lines(entries: &[String], total: usize, width: usize, most_lines: usize) -> Vec<String> {
    for shown in (1..=entries.len()).rev() {
        let mut lines = vec![String::new()];
        let more = (total > shown).then(|| format!("and {} more", total - shown));
        for entry in entries[..shown].iter().cloned().chain(more) {
            let entry = shortened(&entry, width);
            match lines.last_mut() {
                Some(line) if line.is_empty() => line.push_str(&entry),
                Some(line) if line.len() + 3 + entry.len() <= width => {
                    line.push_str("   ");
                    line.push_str(&entry);
                }
                _ => lines.push(entry),
            }
        }
        if lines.len() <= most_lines {
            return lines;
        }
    }
    Vec::new()
}

/// The title with a note behind it.
pub(crate) fn titled(title: &str, note: Option<String>) -> String {
    match note {
        Some(note) if title.is_empty() => note,
        Some(note) => format!("{title} ({note})"),
        None => title.to_string(),
    }
}

/// The text in printable ASCII: control characters are dropped, other letters become `?`.
pub(crate) fn ascii(text: &str) -> String {
    let spaced = text.chars().map(|c| if matches!(c, '\t' | '\n' | '\r') { ' ' } else { c });
    spaced.filter(|c| !c.is_control()).map(|c| if c.is_ascii() { c } else { '?' }).collect()
}

/// The text in ASCII, cut with dots to at most `room` characters.
pub(crate) fn shortened(text: &str, room: usize) -> String {
    let mut text = ascii(text);
    if text.len() > room {
        let dots = if room > 4 { ".." } else { "" };
        text.truncate(room - dots.len());
        text.push_str(dots);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_plain_ascii_of_bounded_length() {
        assert_eq!(ascii("a\u{1b}[31mb\tgröße"), "a[31mb gr??e");
        assert_eq!(shortened("sepal length", 8), "sepal ..");
        assert_eq!(shortened("sepal length", 12), "sepal length");
        assert_eq!(shortened("sepal length", 3), "sep");
        assert_eq!(shortened("sepal length", 0), "");
    }

    #[test]
    fn a_legend_counts_the_entries_it_has_no_room_for() {
        let entries: Vec<String> = (0..9).map(|index| format!("{index} name")).collect();
        assert_eq!(legend_lines(&entries[..2], 2, 40, 1), ["0 name   1 name"]);
        assert_eq!(legend_lines(&entries, 9, 40, 1), ["0 name   1 name   2 name   and 6 more"]);
        assert_eq!(legend_lines(&entries, 9, 40, 0), Vec::<String>::new());
        for line in legend_lines(&entries, 100, 30, 3) {
            assert!(line.len() <= 30, "{line}");
        }
    }
}
