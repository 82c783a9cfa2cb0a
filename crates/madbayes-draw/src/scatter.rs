//! Points coloured by cluster, with the centres on top.

use crate::canvas::{INTERVALS as TEXT_INTERVALS, Surround, TextPlot, titled};
use crate::palette::{Style, letter, style};
use crate::panel::{HEIGHT, INTERVALS, MOST_NAMES, Panel};
use crate::svg::{Document, thinning};
use crate::ticks::{Axis, count, drawable, left_out};
use std::collections::BTreeMap;

/// A scatter plot of clustered points.
#[derive(Debug, Clone, Copy, Default)]
pub struct Scatter<'a> {
    /// What the picture shows.
    pub title: &'a str,
    /// The name of the horizontal axis.
    pub x_name: &'a str,
    /// The name of the vertical axis.
    pub y_name: &'a str,
    /// The points, one per row.
    pub points: &'a [(f64, f64)],
    /// The cluster of each point; a point beyond the end of the slice is in cluster 0.
    pub groups: &'a [u32],
    /// The centre of each cluster; may be empty.
    pub centres: &'a [(f64, f64)],
    /// The number whose colour and shape each cluster has; its own where missing.
    pub colours: &'a [u32],
    /// The legend entry of each cluster, shown as it is, so a size may be part of it; `cluster 7` where missing.
    pub names: &'a [String],
}

impl Scatter<'_> {
    /// The picture as an SVG document of 720 by 540.
    ///
    /// Of more than 20,000 points every second (third, ...) is drawn, and the picture says so.
    pub fn svg(&self) -> String {
        let rows: Vec<(u32, (f64, f64))> = self.drawable_rows().collect();
        let centres: Vec<(f64, f64)> = self.drawable_centres().collect();
        let mut groups: BTreeMap<u32, Vec<(f64, f64)>> = rows.iter().map(|&(group, _)| (group, Vec::new())).collect();
        let legend = groups.len() > 1 || !self.names.is_empty();
        let panel = Panel::new(self.x_axis(INTERVALS), self.y_axis(INTERVALS), legend);

        let every = thinning(rows.len());
        for &(group, point) in rows.iter().step_by(every) {
            groups.entry(group).or_default().push(panel.place(point));
        }
        let shown = rows.len().div_ceil(every);
        let centres_every = thinning(centres.len());
        let centres_shown = centres.len().div_ceil(centres_every);
        let note = [
            (shown < rows.len()).then(|| format!("showing {} of {} rows", count(shown), count(self.points.len()))),
            (centres_shown < centres.len())
                .then(|| format!("showing {} of {} centres", count(centres_shown), count(centres.len()))),
            left_out(self.points.len() - rows.len(), "row"),
        ];
        let note = note.into_iter().flatten().collect::<Vec<String>>().join("; ");

        let description = format!(
            "Scatter plot of {} against {}: {} points in {} clusters.",
            self.y_name,
            self.x_name,
            count(rows.len()),
            count(groups.len())
        );
        let mut document = Document::new(HEIGHT, self.title, &description, &note);
        panel.draw(&mut document, self.x_name, self.y_name);
        let radius = match shown {
            0..=1_000 => 3.4,
            1_001..=5_000 => 2.6,
            _ => 1.8,
        };
        // Small clusters are drawn last: a large one would bury them.
        let mut by_size: Vec<(&u32, &Vec<(f64, f64)>)> = groups.iter().collect();
        by_size.sort_by_key(|(_, places)| std::cmp::Reverse(places.len()));
        for (&group, places) in by_size {
            document.markers(places, radius, self.style(group));
        }
        let crosses: Vec<(f64, f64)> = centres.iter().step_by(centres_every).map(|&place| panel.place(place)).collect();
        document.crosses(&crosses);
        if legend {
            let shown: Vec<u32> = groups.keys().copied().take(MOST_NAMES).collect();
            let mut names: Vec<String> = shown.iter().map(|&group| self.name(group)).collect();
            let mut total = groups.len();
            if !centres.is_empty() {
                names.insert(0, "centre".to_string());
                total += 1;
            }
            let centre_rows = usize::from(!centres.is_empty());
            panel.legend(&mut document, &names, total, |document, index, place| {
                match index.checked_sub(centre_rows).and_then(|index| shown.get(index)) {
                    Some(&group) => document.markers(&[place], 4.2, self.style(group)),
                    None => document.crosses(&[place]),
                }
            });
        }
        document.finish()
    }

    /// The picture as `height` lines of ASCII, `width` columns wide, each line ended by a line break.
    ///
    /// A letter shows the cluster that has most points in its cell (the lower number on a tie), `*` any cluster beyond
    /// the letters, `+` a centre. All points count, however many.
    pub fn text(&self, width: usize, height: usize) -> String {
        let mut names: BTreeMap<u32, ()> = BTreeMap::new();
        let mut drawn = 0;
        for (group, _) in self.drawable_rows() {
            names.insert(group, ());
            drawn += 1;
        }
        let mut legend: Vec<String> = Vec::new();
        if self.drawable_centres().next().is_some() {
            legend.push("+ centre".to_string());
        }
        if names.len() > 1 || !self.names.is_empty() {
            let entries = names.keys().take(MOST_NAMES).map(|&group| format!("{} {}", letter(group), self.name(group)));
            legend.extend(entries);
        }
        let title = titled(self.title, left_out(self.points.len() - drawn, "row"));
        let around = Surround {
            title: &title,
            x_name: self.x_name,
            y_name: self.y_name,
            legend: &legend,
            legend_total: legend.len() + names.len().saturating_sub(MOST_NAMES),
        };
        let mut plot = TextPlot::new(width, height, self.x_axis(TEXT_INTERVALS), self.y_axis(TEXT_INTERVALS), &around);

        let mut members: BTreeMap<(usize, usize), BTreeMap<u32, usize>> = BTreeMap::new();
        for (group, point) in self.drawable_rows() {
            *members.entry(plot.cell(point)).or_default().entry(group).or_default() += 1;
        }
        for (cell, sizes) in members {
            let majority = sizes.iter().max_by_key(|&(&group, &size)| (size, std::cmp::Reverse(group)));
            if let Some((&group, _)) = majority {
                plot.mark(cell, letter(group));
            }
        }
        for centre in self.drawable_centres() {
            plot.mark(plot.cell(centre), '+');
        }
        plot.finish()
    }

    fn drawable_rows(&self) -> impl Iterator<Item = (u32, (f64, f64))> {
        let groups = self.groups.iter().copied().chain(std::iter::repeat(0));
        groups.zip(self.points.iter().copied()).filter(|&(_, (x, y))| drawable(x) && drawable(y))
    }

    fn drawable_centres(&self) -> impl Iterator<Item = (f64, f64)> {
        self.centres.iter().copied().filter(|&(x, y)| drawable(x) && drawable(y))
    }

    fn x_axis(&self, intervals: usize) -> Axis {
        let points = self.drawable_rows().map(|(_, (x, _))| x);
        Axis::covering(points.chain(self.drawable_centres().map(|(x, _)| x)), intervals)
    }

    fn y_axis(&self, intervals: usize) -> Axis {
        let points = self.drawable_rows().map(|(_, (_, y))| y);
        Axis::covering(points.chain(self.drawable_centres().map(|(_, y)| y)), intervals)
    }

    fn style(&self, group: u32) -> Style {
        let given = usize::try_from(group).ok().and_then(|group| self.colours.get(group));
        style(given.copied().unwrap_or(group))
    }

    fn name(&self, group: u32) -> String {
        let given = usize::try_from(group).ok().and_then(|group| self.names.get(group));
        given.cloned().unwrap_or_else(|| format!("cluster {group}"))
    }
}
