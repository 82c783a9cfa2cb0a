//! The SVG document: escaped text, lines and markers, nothing that runs or loads.

use crate::palette::{Shape, Style};
use std::fmt::Write;

/// The width of every picture.
pub(crate) const WIDTH: f64 = 720.0;
/// The space between the picture's edge and what is drawn.
pub(crate) const MARGIN: f64 = 20.0;
/// The colour of text.
pub(crate) const INK: &str = "#222222";
/// The colour of text that matters less.
pub(crate) const FAINT_INK: &str = "#666666";
/// The size of ordinary text.
pub(crate) const TEXT: f64 = 12.0;
const TITLE_TEXT: f64 = 16.0;
/// More marks than this make a file that no viewer opens quickly.
const MOST_MARKS: usize = 20_000;

/// Every how many of `total` marks one is drawn.
pub(crate) fn thinning(total: usize) -> usize {
    total.div_ceil(MOST_MARKS).max(1)
}

/// Where a text is anchored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Anchor {
    /// At its start.
    Start,
    /// At its middle.
    Middle,
    /// At its end.
    End,
}

/// An SVG document that is being written.
#[derive(Debug)]
pub(crate) struct Document {
    body: String,
}

impl Document {
    /// A white page with the title in its upper left corner and a fainter note below it.
    pub(crate) fn new(height: f64, title: &str, description: &str, note: &str) -> Document {
        let mut document = Document { body: String::new() };
        // Of the writes in this file none can fail: they go to a string.
        let _ = write!(
            document.body,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" \
             height=\"{height}\" role=\"img\" font-family=\"Helvetica, Arial, sans-serif\" font-size=\"{TEXT}\">\n\
             <title>{}</title>\n<desc>{}</desc>\n<rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#ffffff\"/>\n",
            escaped(title),
            escaped(description),
        );
        let shown = shortened(title, TITLE_TEXT, WIDTH - 2.0 * MARGIN);
        let _ = writeln!(
            document.body,
            "<text x=\"{MARGIN}\" y=\"30\" font-size=\"{TITLE_TEXT}\" font-weight=\"bold\" fill=\"{INK}\">{}</text>",
            escaped(&shown)
        );
        document.text(MARGIN, 47.0, Anchor::Start, FAINT_INK, note, WIDTH - 2.0 * MARGIN);
        document
    }

    /// Text on the baseline `y`, shortened to `room`; the whole of it then remains as a tooltip.
    pub(crate) fn text(&mut self, x: f64, y: f64, anchor: Anchor, ink: &str, text: &str, room: f64) {
        self.text_element(&format!("x=\"{x:.1}\" y=\"{y:.1}\""), anchor, ink, text, room);
    }

    /// Text that reads upwards, centred at the place given.
    pub(crate) fn upward_text(&mut self, x: f64, y: f64, text: &str, room: f64) {
        self.text_element(
            &format!("transform=\"translate({x:.1} {y:.1}) rotate(-90)\""),
            Anchor::Middle,
            INK,
            text,
            room,
        );
    }

    fn text_element(&mut self, place: &str, anchor: Anchor, ink: &str, text: &str, room: f64) {
        let shown = shortened(text, TEXT, room);
        if shown.is_empty() {
            return;
        }
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let _ = write!(self.body, "<text {place}{anchor} fill=\"{ink}\">{}", escaped(&shown));
        if shown != printable(text) {
            let _ = write!(self.body, "<title>{}</title>", escaped(text));
        }
        self.body.push_str("</text>\n");
    }

    /// A straight line.
    pub(crate) fn line(&mut self, from: (f64, f64), to: (f64, f64), colour: &str, width: f64) {
        let _ = writeln!(
            self.body,
            "<path d=\"M{:.1} {:.1}L{:.1} {:.1}\" stroke=\"{colour}\" stroke-width=\"{width}\"/>",
            from.0, from.1, to.0, to.1
        );
    }

    /// A filled rectangle.
    pub(crate) fn bar(&mut self, left: f64, top: f64, width: f64, height: f64, colour: &str) {
        let _ = writeln!(
            self.body,
            "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"{colour}\"/>"
        );
    }

    /// A picture of `side` by `side`, its pixels as squares; `png` is the file in base64.
    pub(crate) fn picture(&mut self, left: f64, top: f64, side: f64, png: &str) {
        let _ = writeln!(
            self.body,
            "<image x=\"{left:.1}\" y=\"{top:.1}\" width=\"{side:.1}\" height=\"{side:.1}\" \
             style=\"image-rendering:pixelated\" href=\"data:image/png;base64,{png}\"/>"
        );
    }

    /// An open path in the colour and dashes of `style`; `path` is path data, made from numbers alone.
    pub(crate) fn stroke(&mut self, path: &str, style: Style) {
        let _ = writeln!(
            self.body,
            "<path d=\"{path}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.8\" stroke-dasharray=\"{}\" \
             stroke-linejoin=\"round\" stroke-linecap=\"round\"/>",
            style.colour, style.dash
        );
    }

    /// Markers of one style. The darker rim keeps pale colours visible on white, and neighbours apart.
    pub(crate) fn markers(&mut self, places: &[(f64, f64)], radius: f64, style: Style) {
        let rim = darker(style.colour);
        let _ = writeln!(
            self.body,
            "<g fill=\"{}\" stroke=\"{rim}\" stroke-width=\"0.6\" fill-opacity=\"0.8\">",
            style.colour
        );
        let outline = outline(style.shape, radius);
        for (x, y) in places {
            let _ = match &outline {
                None => writeln!(self.body, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\"/>"),
                Some(outline) => writeln!(self.body, "<path d=\"M{x:.1} {y:.1}{outline}\"/>"),
            };
        }
        self.body.push_str("</g>\n");
    }

    /// Upright crosses with a white halo, which stand out from the markers below them.
    pub(crate) fn crosses(&mut self, places: &[(f64, f64)]) {
        if places.is_empty() {
            return;
        }
        let mut path = String::new();
        for (x, y) in places {
            let _ = write!(path, "M{x:.1} {y:.1}m-6 0h12m-6-6v12");
        }
        for (colour, width) in [("#ffffff", 5.0), ("#000000", 2.0)] {
            let _ = writeln!(
                self.body,
                "<path d=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\" \
                 stroke-linecap=\"round\"/>"
            );
        }
    }

    /// The finished document.
    pub(crate) fn finish(mut self) -> String {
        self.body.push_str("</svg>\n");
        self.body
    }
}

/// Path data, relative to the centre, of a marker about as large as a disc of this radius; none for the disc.
fn outline(shape: Shape, radius: f64) -> Option<String> {
    let corners: &[(f64, f64)] = match shape {
        Shape::Circle => return None,
        Shape::Square => &[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)],
        Shape::Triangle => &[(0.0, -1.3), (1.2, 0.8), (-1.2, 0.8)],
        Shape::Diamond => &[(0.0, -1.35), (1.35, 0.0), (0.0, 1.35), (-1.35, 0.0)],
        Shape::Wedge => &[(0.0, 1.3), (1.2, -0.8), (-1.2, -0.8)],
    };
    let mut path = String::new();
    let mut before = (0.0, 0.0);
    for (index, &(x, y)) in corners.iter().enumerate() {
        let command = if index == 0 { 'm' } else { 'l' };
        let _ = write!(path, "{command}{:.1} {:.1}", (x - before.0) * radius, (y - before.1) * radius);
        before = (x, y);
    }
    path.push('z');
    Some(path)
}

/// A `#rrggbb` colour at two thirds of its brightness.
fn darker(colour: &str) -> String {
    let number = u32::from_str_radix(colour.trim_start_matches('#'), 16).unwrap_or(0);
    let channels = [16, 8, 0].map(|shift| ((number >> shift) & 0xff) * 2 / 3);
    format!("#{:02x}{:02x}{:02x}", channels[0], channels[1], channels[2])
}

/// The text without control characters, of which XML forbids most; line breaks and tabs become spaces.
fn printable(text: &str) -> String {
    let spaced = text.chars().map(|c| if matches!(c, '\t' | '\n' | '\r') { ' ' } else { c });
    spaced.filter(|c| !c.is_control() && !matches!(c, '\u{fffe}' | '\u{ffff}')).collect()
}

/// The printable text as XML character data that stays text wherever it is put.
pub(crate) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in printable(text).chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            _ => safe.push(c),
        }
    }
    safe
}

/// The printable text, cut with an ellipsis if it needs more than `room` at this font size.
pub(crate) fn shortened(text: &str, size: f64, room: f64) -> String {
    let text = printable(text);
    if text_width(&text, size) <= room {
        return text;
    }
    let mut short = String::new();
    let mut left = room - letter_width('…') * size;
    for c in text.chars() {
        left -= letter_width(c) * size;
        if left < 0.0 {
            break;
        }
        short.push(c);
    }
    short.push('…');
    short
}

/// About how wide a text is in the wider of the common sans-serif fonts.
pub(crate) fn text_width(text: &str, size: f64) -> f64 {
    text.chars().map(letter_width).sum::<f64>() * size
}

fn letter_width(c: char) -> f64 {
    match c {
        'i' | 'j' | 'l' | 'I' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' | ' ' | 'f' | 't' | 'r' | '(' | ')' => 0.38,
        'm' | 'w' | 'M' | 'W' | '@' | '%' | '…' => 0.95,
        'A'..='Z' => 0.74,
        '\0'..='\u{10ff}' => 0.64,
        // Mostly ideographs, which fill a square.
        _ => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::palette;

    #[test]
    fn markup_is_escaped_and_control_characters_are_removed() {
        assert_eq!(escaped("</script><script>"), "&lt;/script&gt;&lt;script&gt;");
        assert_eq!(escaped("a&b \"c\" 'd'"), "a&amp;b &quot;c&quot; &#39;d&#39;");
        assert_eq!(escaped("\0a\u{1b}[31m\u{7f}\u{85}\u{ffff}b\nc"), "a[31mb c");
        assert_eq!(escaped("größe 大きさ"), "größe 大きさ");
    }

    #[test]
    fn long_text_is_cut_to_its_room_and_short_text_is_kept() {
        assert_eq!(shortened("width", TEXT, 100.0), "width");
        let cut = shortened(&"width ".repeat(50), TEXT, 100.0);
        assert!(cut.starts_with("width") && cut.ends_with('…'), "{cut}");
        let width = text_width(&cut, TEXT);
        assert!(width <= 100.0 && width > 85.0, "{width}");
        assert_eq!(shortened("width", TEXT, 0.0), "…");
    }

    #[test]
    fn text_that_was_cut_remains_whole_as_a_tooltip() {
        let mut document = Document::new(100.0, "", "", "");
        document.text(0.0, 0.0, Anchor::Start, INK, "a <very> long name", 40.0);
        assert!(document.finish().contains("<title>a &lt;very&gt; long name</title></text>"));
    }

    #[test]
    fn thinning_keeps_at_most_twenty_thousand_marks() {
        for (total, every) in [(0, 1), (20_000, 1), (20_001, 2), (100_000, 5)] {
            assert_eq!(thinning(total), every, "for {total} marks");
        }
    }

    #[test]
    fn every_shape_has_its_own_outline() {
        let outlines: std::collections::HashSet<_> =
            (0..5).map(|round| outline(palette::style(round * 10).shape, 3.0)).collect();
        assert_eq!(outlines.len(), 5);
    }

    #[test]
    fn a_rim_is_darker_than_its_fill() {
        assert_eq!(darker("#f0e442"), "#a0982c");
    }
}
