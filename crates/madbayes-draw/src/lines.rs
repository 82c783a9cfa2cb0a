//! Traces: one value per pass or sweep, as lines.

use crate::canvas::{INTERVALS as TEXT_INTERVALS, Surround, TextPlot, titled};
use crate::palette::{letter, style};
use crate::panel::{HEIGHT, INTERVALS, MOST_NAMES, Panel};
use crate::svg::{Document, thinning};
use crate::ticks::{Axis, count, drawable, left_out};
use std::fmt::Write;

/// Up to this many values each gets a marker of its own.
const FEW_VALUES: usize = 40;

/// A line chart of one or more traces; the first value of each stands at 1.
#[derive(Debug, Clone, Copy, Default)]
pub struct Lines<'a> {
    /// What the picture shows.
    pub title: &'a str,
    /// The name of the horizontal axis, along which values are counted.
    pub x_name: &'a str,
    /// The name of the vertical axis.
    pub y_name: &'a str,
    /// The traces: a name for the legend, and the values in order. A value that is not finite leaves a gap.
    pub series: &'a [(String, Vec<f64>)],
}

impl Lines<'_> {
    /// The picture as an SVG document of 720 by 540.
    ///
    /// Of a trace of more than 20,000 values every second (third, ...) is drawn, and the picture says so.
    pub fn svg(&self) -> String {
        let legend = self.series.len() > 1;
        let panel = Panel::new(self.x_axis(INTERVALS), self.y_axis(INTERVALS), legend);
        let longest = self.longest();
        let every = thinning(longest);
        let note = [
            (every > 1).then(|| format!("showing {} of {} values", count(longest.div_ceil(every)), count(longest))),
            self.left_out(),
        ];
        let note = note.into_iter().flatten().collect::<Vec<String>>().join("; ");
        let description = format!(
            "Line chart of {} by {}: {} lines of up to {} values.",
            self.y_name,
            self.x_name,
            count(self.series.len()),
            count(longest)
        );
        let mut document = Document::new(HEIGHT, self.title, &description, &note);
        panel.draw(&mut document, self.x_name, self.y_name);
        for (style, (_, values)) in (0..).map(style).zip(self.series) {
            let mut path = String::new();
            let mut places = Vec::new();
            let mut pen_down = false;
            for (index, &value) in values.iter().enumerate().step_by(every) {
                if drawable(value) {
                    let (x, y) = panel.place((index as f64 + 1.0, value));
                    // The empty stroke makes a value between two gaps a dot.
                    let _ = if pen_down { write!(path, "L{x:.1} {y:.1}") } else { write!(path, "M{x:.1} {y:.1}h0") };
                    places.push((x, y));
                }
                pen_down = drawable(value);
            }
            if !path.is_empty() {
                document.stroke(&path, style);
            }
            if longest <= FEW_VALUES && !places.is_empty() {
                document.markers(&places, 3.0, style);
            }
        }
        if legend {
            let names: Vec<String> = self.series.iter().take(MOST_NAMES).map(|(name, _)| name.clone()).collect();
            panel.legend(&mut document, &names, self.series.len(), |document, index, (x, y)| {
                let style = style(u32::try_from(index).unwrap_or(0));
                document.stroke(&format!("M{:.1} {y:.1}h16", x - 8.0), style);
            });
        }
        document.finish()
    }

    /// The picture as `height` lines of ASCII, `width` columns wide, each line ended by a line break.
    ///
    /// A single trace is drawn with `*`, several with a letter each, the later over the earlier.
    pub fn text(&self, width: usize, height: usize) -> String {
        let single = self.series.len() == 1;
        let mark = |index: u32| if single { '*' } else { letter(index) };
        let entries = (0..).zip(self.series).take(if single { 0 } else { MOST_NAMES });
        let legend: Vec<String> = entries.map(|(index, (name, _))| format!("{} {name}", mark(index))).collect();
        let title = titled(self.title, self.left_out());
        let around = Surround {
            title: &title,
            x_name: self.x_name,
            y_name: self.y_name,
            legend: &legend,
            legend_total: self.series.len(),
        };
        let mut plot = TextPlot::new(width, height, self.x_axis(TEXT_INTERVALS), self.y_axis(TEXT_INTERVALS), &around);
        for (index, (_, values)) in (0..).zip(self.series) {
            let mut before: Option<(usize, usize)> = None;
            for (position, &value) in values.iter().enumerate() {
                let cell = drawable(value).then(|| plot.cell((position as f64 + 1.0, value)));
                if let Some(cell) = cell {
                    for between in cells_between(before.unwrap_or(cell), cell) {
                        plot.mark(between, mark(index));
                    }
                }
                before = cell;
            }
        }
        plot.finish()
    }

    fn left_out(&self) -> Option<String> {
        let values = self.series.iter().flat_map(|(_, values)| values);
        left_out(values.filter(|&&value| !drawable(value)).count(), "value")
    }

    fn longest(&self) -> usize {
        self.series.iter().map(|(_, values)| values.len()).max().unwrap_or(0)
    }

    fn x_axis(&self, intervals: usize) -> Axis {
        let ends = if self.longest() == 0 { None } else { Some([1.0, self.longest() as f64]) };
        Axis::covering(ends.into_iter().flatten(), intervals)
    }

    fn y_axis(&self, intervals: usize) -> Axis {
        Axis::covering(self.series.iter().flat_map(|(_, values)| values.iter().copied()), intervals)
    }
}

/// The cells of a straight line from one cell to another, both included.
fn cells_between(from: (usize, usize), to: (usize, usize)) -> impl Iterator<Item = (usize, usize)> {
    let steps = from.0.abs_diff(to.0).max(from.1.abs_diff(to.1));
    let along = move |from: usize, to: usize, step: usize| {
        let share = step as f64 / steps.max(1) as f64;
        (from as f64 + (to as f64 - from as f64) * share).round() as usize
    };
    (0..=steps).map(move |step| (along(from.0, to.0, step), along(from.1, to.1, step)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_cells_has_no_gaps_and_reaches_both_ends() {
        assert_eq!(cells_between((2, 3), (2, 3)).collect::<Vec<_>>(), [(2, 3)]);
        assert_eq!(cells_between((0, 2), (2, 0)).collect::<Vec<_>>(), [(0, 2), (1, 1), (2, 0)]);
        let line: Vec<(usize, usize)> = cells_between((9, 1), (0, 5)).collect();
        assert_eq!((line[0], line[line.len() - 1]), ((9, 1), (0, 5)));
        for pair in line.windows(2) {
            assert!(pair[0].0.abs_diff(pair[1].0) <= 1 && pair[0].1.abs_diff(pair[1].1) <= 1, "{pair:?}");
        }
    }
}
