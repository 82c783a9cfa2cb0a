//! Sizes as horizontal bars.

use crate::canvas;
use crate::palette::COLOURS;
use crate::svg::{Anchor, Document, FAINT_INK, INK, MARGIN, TEXT, WIDTH, text_width};
use crate::ticks::{count, drawable, number};
use std::fmt::Write;

/// More bars than this are counted, not drawn.
const MOST_BARS: usize = 40;
/// The widest column of names in an SVG picture.
const WIDEST_NAME: f64 = 200.0;
const ROW: f64 = 22.0;

/// Horizontal bars, from zero, in the order given.
#[derive(Debug, Clone, Copy, Default)]
pub struct Bars<'a> {
    /// What the picture shows.
    pub title: &'a str,
    /// What the values count, such as `rows`.
    pub value_name: &'a str,
    /// The name of each bar.
    pub names: &'a [String],
    /// The length of each bar; a value below zero, not finite or beyond 1e300 is written but has no bar.
    pub values: &'a [f64],
}

impl Bars<'_> {
    /// The picture as an SVG document 720 wide and as high as its bars need.
    ///
    /// Of more than 40 bars the rest are counted in a last line.
    pub fn svg(&self) -> String {
        let shown = self.values.len().min(MOST_BARS);
        let rows = shown + usize::from(self.values.len() > shown);
        let top = if self.value_name.is_empty() { 46.0 } else { 60.0 };
        let height = top + ROW * rows as f64 + MARGIN;
        let description = format!("Bar chart of {} values.", count(self.values.len()));
        let mut document = Document::new(height, self.title, &description, self.value_name);

        let widest = |texts: &mut dyn Iterator<Item = String>| {
            texts.map(|text| text_width(&text, TEXT)).fold(0.0, f64::max).min(WIDEST_NAME)
        };
        let name_room = widest(&mut (0..shown).map(|index| self.name(index).to_string()));
        let value_room = widest(&mut self.values.iter().take(shown).map(|&value| number(value)));
        let left = MARGIN + name_room + 10.0;
        let room = WIDTH - MARGIN - value_room - 8.0 - left;
        let longest = self.longest();
        for (index, &value) in self.values.iter().take(shown).enumerate() {
            let upper = top + ROW * index as f64;
            let length = share(value, longest) * room;
            let baseline = upper + ROW / 2.0 + 4.0;
            document.text(left - 10.0, baseline, Anchor::End, INK, self.name(index), name_room);
            document.bar(left, upper + 3.0, length, ROW - 6.0, COLOURS[0]);
            document.text(left + length + 6.0, baseline, Anchor::Start, FAINT_INK, &number(value), WIDEST_NAME);
        }
        if shown > 0 {
            document.line((left, top), (left, top + ROW * shown as f64), "#888888", 1.0);
        }
        if self.values.len() > shown {
            let more = format!("and {} more", count(self.values.len() - shown));
            document.text(left, top + ROW * shown as f64 + 15.0, Anchor::Start, FAINT_INK, &more, room);
        }
        document.finish()
    }

    /// The picture as lines of ASCII of at most `width` columns: the title, then a line for each bar.
    ///
    /// Of more than 40 bars the rest are counted in a last line. A value above zero has at least one `#`.
    pub fn text(&self, width: usize) -> String {
        let width = width.min(1000);
        let shown = self.values.len().min(MOST_BARS);
        let numbers: Vec<String> = self.values.iter().take(shown).map(|&value| number(value)).collect();
        let names: Vec<String> = (0..shown).map(|index| canvas::shortened(self.name(index), width / 3)).collect();
        let name_width = names.iter().map(String::len).max().unwrap_or(0);
        let number_width = numbers.iter().map(String::len).max().unwrap_or(0);
        let room = width.saturating_sub(name_width + number_width + 3);
        let longest = self.longest();

        let mut lines = Vec::new();
        let heading = match (self.title.is_empty(), self.value_name.is_empty()) {
            (false, false) => format!("{} ({})", self.title, self.value_name),
            _ => format!("{}{}", self.title, self.value_name),
        };
        if !heading.is_empty() {
            lines.push(heading);
        }
        for ((name, number), &value) in names.iter().zip(&numbers).zip(self.values) {
            let length = share(value, longest);
            let cells = ((length * room as f64).round() as usize).max(usize::from(length > 0.0)).min(room);
            lines.push(format!("{name:<name_width$} |{} {number}", "#".repeat(cells)));
        }
        if self.values.len() > shown {
            lines.push(format!("and {} more", count(self.values.len() - shown)));
        }
        let mut text = String::new();
        for line in lines {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{}", canvas::shortened(&line, width).trim_end());
        }
        text
    }

    fn name(&self, index: usize) -> &str {
        self.names.get(index).map_or("", String::as_str)
    }

    /// The largest drawable value, against which all bars are measured, those not shown included.
    fn longest(&self) -> f64 {
        self.values.iter().copied().filter(|&value| drawable(value)).fold(0.0, f64::max)
    }
}

/// A value's share of the longest bar, from 0 to 1.
fn share(value: f64, longest: f64) -> f64 {
    if drawable(value) && value > 0.0 && longest > 0.0 { value / longest } else { 0.0 }
}
