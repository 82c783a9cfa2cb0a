//! Ranges of positive numbers, one below the other on a logarithmic axis: the penalties of a path.

use crate::canvas;
use crate::palette::COLOURS;
use crate::svg::{Anchor, Document, FAINT_INK, INK, MARGIN, TEXT, WIDTH, text_width};
use crate::ticks::{count, number};
use std::fmt::Write;

/// More ranges than this are counted, not drawn.
const MOST_ROWS: usize = 40;
const ROW: f64 = 22.0;
/// The widest column of names in an SVG picture.
const WIDEST_NAME: f64 = 200.0;
/// The share of the axis beyond the outermost ends, where open ranges go on.
const MARGIN_SHARE: f64 = 0.06;
/// About how many ticks an axis has at most.
const MOST_TICKS: f64 = 9.0;
/// Beyond this on either side numbers are drawn as open ends.
const LARGEST: f64 = 1e300;

/// Horizontal bars from a low to a high number, in the order given; equal lengths are equal ratios of the ends.
#[derive(Debug, Clone, Copy, Default)]
pub struct Intervals<'a> {
    /// What the picture shows.
    pub title: &'a str,
    /// What the numbers are, such as `penalty`.
    pub axis_name: &'a str,
    /// The name of each range.
    pub names: &'a [String],
    /// Their ends; a low end of 0 and a high end of infinity are open. One that is empty has no bar.
    pub ranges: &'a [(f64, f64)],
    /// The range that stands out, by its place in the list.
    pub marked: Option<usize>,
}

impl Intervals<'_> {
    /// The picture as an SVG document 720 wide and as high as its ranges need.
    ///
    /// Of more than 40 ranges the rest are counted in a last line.
    pub fn svg(&self) -> String {
        let shown = self.ranges.len().min(MOST_ROWS);
        let more = self.ranges.len() - shown;
        let (top, bottom) = (60.0, 60.0 + ROW * shown as f64);
        let height = bottom + 44.0 + if more > 0 { ROW } else { 0.0 };
        let description =
            format!("{} ranges of the {} on a logarithmic axis.", count(self.ranges.len()), self.axis_name);
        let note = if more > 0 { format!("and {} more", count(more)) } else { String::new() };
        let mut document = Document::new(height, self.title, &description, &note);

        let name_room = (0..shown).map(|i| text_width(self.name(i), TEXT)).fold(0.0, f64::max).min(WIDEST_NAME);
        let left = MARGIN + name_room + 10.0;
        let room = WIDTH - MARGIN - left;
        let axis = self.axis();
        for tick in axis.ticks() {
            let x = left + room * axis.position(tick);
            document.line((x, top), (x, bottom), "#dddddd", 1.0);
            document.text(x, bottom + 16.0, Anchor::Middle, FAINT_INK, &label(tick), WIDEST_NAME);
        }
        for (index, &range) in self.ranges.iter().take(shown).enumerate() {
            let upper = top + ROW * index as f64;
            let marked = self.marked == Some(index);
            let ink = if marked { INK } else { FAINT_INK };
            document.text(left - 10.0, upper + ROW / 2.0 + 4.0, Anchor::End, ink, self.name(index), name_room);
            if let Some((from, to)) = axis.span(range) {
                let colour = if marked { COLOURS[1] } else { COLOURS[0] };
                document.bar(left + room * from, upper + 3.0, (room * (to - from)).max(1.0), ROW - 6.0, colour);
            }
        }
        document.line((left, bottom), (left + room, bottom), "#888888", 1.0);
        document.text(left + room / 2.0, bottom + 34.0, Anchor::Middle, INK, self.axis_name, room);
        document.finish()
    }

    /// The picture as lines of ASCII of at most `width` columns: the title, a line for each range, and the axis.
    ///
    /// Of more than 40 ranges the rest are counted. The marked one is drawn with `#`, the others with `=`.
    pub fn text(&self, width: usize) -> String {
        let width = width.min(1000);
        let shown = self.ranges.len().min(MOST_ROWS);
        let names: Vec<String> = (0..shown).map(|index| canvas::shortened(self.name(index), width / 3)).collect();
        let name_width = names.iter().map(String::len).max().unwrap_or(0);
        let room = width.saturating_sub(name_width + 2);
        let axis = self.axis();
        let cell = |share: f64| (share * room as f64).round() as usize;
        let mut lines = Vec::new();
        if !self.title.is_empty() {
            lines.push(self.title.to_string());
        }
        for (index, name) in names.iter().enumerate() {
            let mark = if self.marked == Some(index) { "#" } else { "=" };
            let bar = axis.span(self.ranges[index]).map_or_else(String::new, |(from, to)| {
                let from = cell(from).min(room.saturating_sub(1));
                " ".repeat(from) + &mark.repeat(cell(to).saturating_sub(from).max(1))
            });
            lines.push(format!("{name:>name_width$} |{bar}"));
        }
        if self.ranges.len() > shown {
            lines.push(format!("and {} more", count(self.ranges.len() - shown)));
        }
        lines.push(format!("{:name_width$} '{}", "", "-".repeat(room)));
        lines.push(format!("{:name_width$}  {}", "", axis.tick_line(room)));
        lines.push(format!("{:name_width$}  {:^room$}", "", canvas::shortened(self.axis_name, room)));
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

    /// An axis that covers all ends, with a little more on both sides.
    fn axis(&self) -> LogAxis {
        let ends = || self.ranges.iter().flat_map(|&(low, high)| [low, high]).filter(|x| is_end(*x)).map(f64::ln);
        let (low, high) = (ends().fold(f64::INFINITY, f64::min), ends().fold(f64::NEG_INFINITY, f64::max));
        match low <= high {
            true => {
                let margin = ((high - low) * MARGIN_SHARE).max(0.5);
                LogAxis { low: low - margin, high: high + margin }
            }
            false => LogAxis { low: 0.0, high: 10f64.ln() },
        }
    }
}

/// Whether a number is an end that has a place on the axis.
fn is_end(x: f64) -> bool {
    (1.0 / LARGEST..=LARGEST).contains(&x)
}

/// A tick as text: beyond a million as a power of ten.
fn label(tick: f64) -> String {
    if tick < 1e6 { number(tick) } else { format!("{tick:e}") }
}

/// From exp(low) to exp(high).
struct LogAxis {
    low: f64,
    high: f64,
}

impl LogAxis {
    /// Where a number lies between the ends of the axis, from 0 to 1.
    fn position(&self, x: f64) -> f64 {
        if x < 1.0 / LARGEST { 0.0 } else { ((x.ln() - self.low) / (self.high - self.low)).clamp(0.0, 1.0) }
    }

    /// The places of both ends; none for a range that is empty or no range.
    fn span(&self, (low, high): (f64, f64)) -> Option<(f64, f64)> {
        (low >= 0.0 && low < high).then(|| (self.position(low), self.position(high)))
    }

    /// Powers of ten, or 1, 2 and 5 times those where there are few.
    fn ticks(&self) -> Vec<f64> {
        let (first, last) = ((self.low / 10f64.ln()).floor() as i32, (self.high / 10f64.ln()).ceil() as i32);
        let decades = f64::from(last - first);
        let every = (decades / MOST_TICKS).ceil().max(1.0) as usize;
        let mantissas: &[u32] = if decades <= 3.0 { &[1, 2, 5] } else { &[1] };
        let inside = |x: &f64| (self.low..=self.high).contains(&x.ln());
        (first..=last)
            .step_by(every)
            .flat_map(|power| mantissas.iter().filter_map(move |m| format!("{m}e{power}").parse().ok()))
            .filter(inside)
            .collect()
    }

    /// The ticks below their places, as many as do not touch.
    fn tick_line(&self, room: usize) -> String {
        let mut line = String::new();
        for tick in self.ticks() {
            let label = label(tick);
            let start = ((self.position(tick) * room as f64).round() as usize).saturating_sub(label.len() / 2);
            if (line.is_empty() || start > line.len() + 1) && start + label.len() <= room {
                line += &" ".repeat(start - line.len());
                line += &label;
            }
        }
        line
    }
}
