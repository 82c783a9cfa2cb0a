//! The part of an SVG chart where data is drawn: axes, grid and legend.

use crate::svg::{Anchor, Document, FAINT_INK, INK, MARGIN, TEXT, WIDTH, text_width};
use crate::ticks::Axis;

/// About how many steps an axis has.
pub(crate) const INTERVALS: usize = 10;
/// The height of a chart.
pub(crate) const HEIGHT: f64 = 540.0;
const TOP: f64 = 62.0;
const LEGEND_WIDTH: f64 = 150.0;
const LEGEND_ROW: f64 = 18.0;
/// More names than this are not read, and do not fit beside the chart.
pub(crate) const MOST_NAMES: usize = 20;

/// The rectangle between two axes.
#[derive(Debug)]
pub(crate) struct Panel {
    left: f64,
    right: f64,
    bottom: f64,
    x: Axis,
    y: Axis,
}

impl Panel {
    /// A panel that leaves room for the tick labels, the axis names and, if asked, a legend.
    pub(crate) fn new(x: Axis, y: Axis, legend: bool) -> Panel {
        // Half of the last label stands out to the right of the panel.
        let beside = if legend { LEGEND_WIDTH + 16.0 } else { (widest(&x.labels()) / 2.0 - MARGIN + 4.0).max(0.0) };
        let left = MARGIN + TEXT + 14.0 + widest(&y.labels());
        Panel { left, right: WIDTH - MARGIN - beside, bottom: HEIGHT - 58.0, x, y }
    }

    /// Where a data point lies on the page.
    pub(crate) fn place(&self, (x, y): (f64, f64)) -> (f64, f64) {
        let across = self.left + self.x.position(x) * (self.right - self.left);
        let down = self.bottom - self.y.position(y) * (self.bottom - TOP);
        (across, down)
    }

    /// Draws the grid, the tick labels and the names of the axes.
    pub(crate) fn draw(&self, document: &mut Document, x_name: &str, y_name: &str) {
        let (grid, edge) = ("#e8e8e8", "#888888");
        let every = self.labelled_ticks();
        for (index, (tick, label)) in self.x.ticks().into_iter().zip(self.x.labels()).enumerate() {
            let (across, _) = self.place((tick, 0.0));
            document.line((across, TOP), (across, self.bottom + 5.0), grid, 1.0);
            if index.is_multiple_of(every) {
                document.text(across, self.bottom + 19.0, Anchor::Middle, FAINT_INK, &label, f64::MAX);
            }
        }
        for (tick, label) in self.y.ticks().into_iter().zip(self.y.labels()) {
            let (_, down) = self.place((0.0, tick));
            document.line((self.left - 5.0, down), (self.right, down), grid, 1.0);
            document.text(self.left - 9.0, down + 4.0, Anchor::End, FAINT_INK, &label, f64::MAX);
        }
        document.line((self.left, TOP), (self.left, self.bottom), edge, 1.0);
        document.line((self.left, self.bottom), (self.right, self.bottom), edge, 1.0);
        let (across, down) = ((self.left + self.right) / 2.0, (TOP + self.bottom) / 2.0);
        document.text(across, self.bottom + 42.0, Anchor::Middle, INK, x_name, self.right - self.left);
        document.upward_text(MARGIN + 8.0, down, y_name, self.bottom - TOP);
    }

    /// Every how many ticks of the horizontal axis one is labelled, so that long labels do not touch.
    fn labelled_ticks(&self) -> usize {
        let labels = self.x.labels();
        let spacing = (self.right - self.left) / labels.len().saturating_sub(1).max(1) as f64;
        ((widest(&labels) + 10.0) / spacing).ceil().max(1.0) as usize
    }

    /// Draws the legend right of the panel: `key` draws the sign of the entry with this index at a place.
    ///
    /// Of the `total` entries those without a name here are only counted.
    pub(crate) fn legend(
        &self,
        document: &mut Document,
        names: &[String],
        total: usize,
        key: impl Fn(&mut Document, usize, (f64, f64)),
    ) {
        let left = self.right + 16.0;
        let mut middle = TOP + 8.0;
        for (index, name) in names.iter().enumerate() {
            key(document, index, (left + 8.0, middle));
            document.text(left + 22.0, middle + 4.0, Anchor::Start, INK, name, LEGEND_WIDTH - 22.0);
            middle += LEGEND_ROW;
        }
        if total > names.len() {
            let more = format!("and {} more", crate::ticks::count(total - names.len()));
            document.text(left + 22.0, middle + 4.0, Anchor::Start, FAINT_INK, &more, LEGEND_WIDTH - 22.0);
        }
    }
}

fn widest(labels: &[String]) -> f64 {
    labels.iter().map(|label| text_width(label, TEXT)).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit_panel(legend: bool) -> Panel {
        let axis = || Axis::covering([0.0, 10.0].into_iter(), 5);
        Panel::new(axis(), axis(), legend)
    }

    #[test]
    fn the_corners_of_the_data_are_the_corners_of_the_panel() {
        let panel = unit_panel(true);
        assert_eq!(panel.place((0.0, 0.0)), (panel.left, panel.bottom));
        assert_eq!(panel.place((10.0, 10.0)), (panel.right, TOP));
    }

    #[test]
    fn a_legend_takes_its_room_from_the_panel() {
        assert_eq!(unit_panel(false).right - unit_panel(true).right, LEGEND_WIDTH + 16.0);
    }

    #[test]
    fn long_labels_are_thinned_and_short_ones_are_not() {
        assert_eq!(unit_panel(true).labelled_ticks(), 1);
        let long = || Axis::covering([1e6, 1e6 + 9.5e-3].into_iter(), 10);
        let panel = Panel::new(long(), long(), true);
        let spacing = (panel.right - panel.left) / (panel.x.ticks().len() - 1) as f64;
        let shown = spacing * panel.labelled_ticks() as f64;
        assert!(widest(&panel.x.labels()) > spacing, "the case is one of long labels");
        assert!(widest(&panel.x.labels()) < shown && shown < 3.0 * widest(&panel.x.labels()));
    }

    #[test]
    fn the_longest_legend_fits_beside_the_panel() {
        // All names, the count of the others and the centre.
        let rows = MOST_NAMES as f64 + 2.0;
        assert!(TOP + rows * LEGEND_ROW < unit_panel(true).bottom);
    }
}
