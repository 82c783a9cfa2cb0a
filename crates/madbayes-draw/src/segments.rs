//! Which state a sequence is in from step to step: bands of colour, or letters.

use crate::canvas;
use crate::palette::{COLOURS, letter, style};
use crate::svg::{Anchor, Document, FAINT_INK, INK, MARGIN, TEXT, WIDTH, text_width};
use crate::ticks::count;
use std::fmt::Write;

/// More sequences than this are counted, not drawn.
const MOST_SEQUENCES: usize = 40;
/// More states than this have no place in the legend.
const MOST_STATES: usize = 20;
/// Lines of letters that a single sequence may take.
const MOST_LINES: usize = 8;
/// Cells of a band in an SVG picture: two for every unit of its width.
const MOST_CELLS: usize = 1400;
const WIDEST_NAME: f64 = 140.0;
const ROW: f64 = 30.0;

/// The states of sequences, one band each. Where there are more steps than room, a cell shows its most frequent state.
#[derive(Debug, Clone, Copy, Default)]
pub struct Segments<'a> {
    /// What the picture shows.
    pub title: &'a str,
    /// The name of each sequence.
    pub names: &'a [String],
    /// The state of every step of each sequence.
    pub sequences: &'a [&'a [u32]],
}

impl Segments<'_> {
    /// The picture as an SVG document 720 wide: a band for each sequence, as long as it is, and which colour is which state.
    ///
    /// Of more than 40 sequences the rest are counted in a last line.
    pub fn svg(&self) -> String {
        let shown = self.sequences.len().min(MOST_SEQUENCES);
        let rows = shown + usize::from(self.sequences.len() > shown);
        let states = self.states();
        let top = 60.0;
        let height = top + ROW * (rows + 2) as f64 + MARGIN;
        let steps: usize = self.sequences.iter().map(|sequence| sequence.len()).sum();
        let description = format!("States of {} steps in {} sequences.", count(steps), count(self.sequences.len()));
        let mut document = Document::new(height, self.title, &description, "step by step, from left to right");
        let widest = (0..shown).map(|index| text_width(self.name(index), TEXT)).fold(0.0, f64::max).min(WIDEST_NAME);
        let left = MARGIN + widest + if widest > 0.0 { 10.0 } else { 0.0 };
        let room = WIDTH - MARGIN - left;
        for (index, sequence) in self.sequences.iter().take(shown).enumerate() {
            let upper = top + ROW * index as f64;
            document.text(left - 10.0, upper + 17.0, Anchor::End, INK, self.name(index), WIDEST_NAME);
            let cells = cells(sequence, MOST_CELLS);
            let width = room * sequence.len() as f64 / self.longest().max(1) as f64 / cells.len().max(1) as f64;
            let mut start = 0;
            for run in cells.chunk_by(|a, b| a == b) {
                let place = left + width * start as f64;
                band(&mut document, (place, upper), width * run.len() as f64, ROW - 8.0, run[0]);
                start += run.len();
            }
        }
        let below = top + ROW * rows as f64;
        if self.sequences.len() > shown {
            let more = format!("and {} more sequences", count(self.sequences.len() - shown));
            document.text(left, below - ROW + 17.0, Anchor::Start, FAINT_INK, &more, room);
        }
        let end = format!("{} steps", count(self.longest()));
        document.text(left + room, below + 6.0, Anchor::End, FAINT_INK, &end, room);
        let step = (WIDTH - 2.0 * MARGIN) / states.clamp(1, MOST_STATES) as f64;
        for state in 0..states.min(MOST_STATES) {
            let place = MARGIN + step.min(90.0) * state as f64;
            band(&mut document, (place, below + 18.0), 12.0, 12.0, state as u32);
            let name = format!("{} ({state})", letter(state as u32));
            document.text(place + 16.0, below + 28.0, Anchor::Start, INK, &name, step.min(90.0) - 18.0);
        }
        document.finish()
    }

    /// The picture as lines of ASCII of at most `width` columns: the title, then the letters of each sequence. A sequence alone
    /// takes up to 8 lines, each beginning with the number of its first step.
    pub fn text(&self, width: usize) -> String {
        let width = width.min(1000);
        let shown = self.sequences.len().min(MOST_SEQUENCES);
        let mut lines = vec![];
        if !self.title.is_empty() {
            lines.push(self.title.to_string());
        }
        let alone = self.sequences.len() == 1;
        let names: Vec<String> = (0..shown).map(|index| canvas::shortened(self.name(index), width / 4)).collect();
        let margin = match alone {
            true => self.longest().to_string().len(),
            false => names.iter().map(String::len).max().unwrap_or(0),
        };
        let room = width.saturating_sub(margin + 1).max(1);
        for (sequence, name) in self.sequences.iter().zip(&names) {
            // Together as long as they are to each other.
            let most = match alone {
                true => room * MOST_LINES,
                false => (room * sequence.len()).div_ceil(self.longest().max(1)).max(1),
            };
            let cells = cells(sequence, most);
            for (line, chunk) in cells.chunks(room).enumerate() {
                let letters: String = chunk.iter().map(|&state| letter(state)).collect();
                let head = match alone {
                    true => (line * room * sequence.len() / cells.len().max(1) + 1).to_string(),
                    false => name.clone(),
                };
                lines.push(format!("{head:>margin$} {letters}"));
            }
        }
        if self.sequences.len() > shown {
            lines.push(format!("and {} more sequences", count(self.sequences.len() - shown)));
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

    /// Steps of the longest sequence.
    fn longest(&self) -> usize {
        self.sequences.iter().map(|sequence| sequence.len()).max().unwrap_or(0)
    }

    /// Number of states, one more than the largest.
    fn states(&self) -> usize {
        self.sequences.iter().flat_map(|sequence| sequence.iter()).max().map_or(0, |&state| state as usize + 1)
    }
}

/// A band in the colour of a state; where colours repeat, white lines along it tell states apart.
fn band(document: &mut Document, (left, upper): (f64, f64), width: f64, height: f64, state: u32) {
    document.bar(left, upper, width, height, style(state).colour);
    let lines = state as usize / COLOURS.len() % 5;
    for line in 1..=lines {
        let y = upper + height * line as f64 / (lines + 1) as f64;
        document.line((left, y), (left + width, y), "#ffffff", 1.5);
    }
}

/// The most frequent state of each of at most `most` equal parts, the first of equals.
fn cells(sequence: &[u32], most: usize) -> Vec<u32> {
    let parts = sequence.len().min(most);
    let part = |i: usize| &sequence[i * sequence.len() / parts..(i + 1) * sequence.len() / parts];
    (0..parts)
        .map(|i| {
            let mut counts: Vec<(u32, usize)> = vec![];
            for &state in part(i) {
                match counts.iter_mut().find(|(known, _)| *known == state) {
                    Some((_, count)) => *count += 1,
                    None => counts.push((state, 1)),
                }
            }
            counts.iter().rev().max_by_key(|(_, count)| *count).map_or(0, |(state, _)| *state)
        })
        .collect()
}
