//! Traces as one line of text each, all on one scale.

use crate::canvas::shortened;
use crate::ticks::{drawable, number};

/// The letters of a trace, from low to high.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Letters {
    /// Any terminal and any file has these.
    #[default]
    Ascii,
    /// Blocks of eight heights, for terminals with Unicode.
    Blocks,
}

impl Letters {
    fn levels(self) -> [char; 8] {
        match self {
            Letters::Ascii => ['_', '.', '-', ':', '=', '+', '*', '#'],
            Letters::Blocks => ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'],
        }
    }
}

/// Traces one below the other, each as a line of letters that rise and fall with its values.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sparks<'a> {
    /// What the picture shows.
    pub title: &'a str,
    /// The traces: a name, and the values in order. A value that is not finite is left out.
    pub series: &'a [(String, Vec<f64>)],
    /// How many first values are set apart by `|`. The scale is that of the later ones, or of all where there are none:
    /// what lies beyond it stands at its ends.
    pub apart: usize,
}

impl Sparks<'_> {
    /// The title with the ends of the scale, and a line for each trace, of at most `width` columns.
    ///
    /// Of more values than columns the mean of neighbours is shown.
    pub fn text(&self, width: usize, letters: Letters) -> String {
        let width = width.clamp(20, 1000);
        let names: Vec<String> = self.series.iter().map(|(name, _)| shortened(name, width / 3)).collect();
        let name_width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
        let longest = self.series.iter().map(|(_, values)| values.len()).max().unwrap_or(0);
        let room = (width - name_width - 4).min(longest).max(1);
        let (low, high) = self.scale();
        let mut text = match low <= high {
            true => format!("{}, from {} to {}\n", self.title, number(low), number(high)),
            false => format!("{}: no values\n", self.title),
        };
        // Cell i stands for the values from i longest / room on.
        let start = |cell: usize| cell * longest / room;
        let bar = (0..room).find(|&cell| start(cell) >= self.apart).filter(|&cell| cell > 0);
        for (name, (_, values)) in names.iter().zip(self.series) {
            let mut line = format!("  {name:<name_width$} ");
            for cell in 0..room {
                if bar == Some(cell) {
                    line.push('|');
                }
                let end = start(cell + 1).min(values.len());
                line.push(letter(&values[start(cell).min(end)..end], (low, high), letters));
            }
            text += line.trim_end();
            text.push('\n');
        }
        text
    }

    /// The lowest and the highest value after those that are set apart.
    fn scale(&self) -> (f64, f64) {
        let ends = |from: usize| {
            let later = self.series.iter().flat_map(|(_, values)| values.iter().skip(from));
            let seen = later.filter(|&&value| drawable(value));
            seen.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &v| (low.min(v), high.max(v)))
        };
        let later = ends(self.apart);
        if later.0 <= later.1 { later } else { ends(0) }
    }
}

/// The letter of the mean of some values; a blank where there are none.
fn letter(values: &[f64], (low, high): (f64, f64), letters: Letters) -> char {
    let seen: Vec<f64> = values.iter().copied().filter(|&value| drawable(value)).collect();
    if seen.is_empty() {
        return ' ';
    }
    let levels = letters.levels();
    // Divided first: the sum of numbers near 1e300 is beyond what a float holds.
    let mean: f64 = seen.iter().map(|value| value / seen.len() as f64).sum();
    let share = if high > low { ((mean - low) / (high - low)).clamp(0.0, 1.0) } else { 0.5 };
    levels[((share * levels.len() as f64) as usize).min(levels.len() - 1)]
}
