//! Which colour, marker and letter stand for a group.

/// The eight colours of Okabe and Ito, chosen to differ under every common colour blindness, and a violet and a light green that do too.
///
/// Black is softened to a dark grey, since black is for centres and text.
pub(crate) const COLOURS: [&str; 10] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#404040", "#f0e442", "#6622aa", "#88cc66"];

/// The outline of a marker; it tells groups apart once the colours repeat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Shape {
    /// A disc.
    Circle,
    /// A square standing on its side.
    Square,
    /// A triangle pointing up.
    Triangle,
    /// A square standing on its corner.
    Diamond,
    /// A triangle pointing down.
    Wedge,
}

const SHAPES: [Shape; 5] = [Shape::Circle, Shape::Square, Shape::Triangle, Shape::Diamond, Shape::Wedge];

/// Dash patterns for lines, in place of marker shapes.
const DASHES: [&str; 5] = ["none", "6 3", "2 3", "9 3 2 3", "12 4"];

/// How one group is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Style {
    /// The fill of a marker, the stroke of a line.
    pub(crate) colour: &'static str,
    /// The marker.
    pub(crate) shape: Shape,
    /// The value of `stroke-dasharray` for a line.
    pub(crate) dash: &'static str,
}

/// The style of a group: the first ten differ by colour, the first fifty by colour or shape.
pub(crate) fn style(group: u32) -> Style {
    let group = group as usize;
    let round = group / COLOURS.len() % SHAPES.len();
    Style { colour: COLOURS[group % COLOURS.len()], shape: SHAPES[round], dash: DASHES[round] }
}

/// The letter of a group in a text plot: a to z, A to Z, and `*` for all beyond.
pub(crate) fn letter(group: u32) -> char {
    match u8::try_from(group) {
        Ok(index @ 0..26) => char::from(b'a' + index),
        Ok(index @ 26..52) => char::from(b'A' + index - 26),
        _ => '*',
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn channels(colour: &str) -> [f64; 3] {
        [1, 3, 5].map(|start| f64::from(u8::from_str_radix(&colour[start..start + 2], 16).unwrap()) / 255.0)
    }

    /// The colour as seen with full colour blindness of one kind (matrices of Machado, Oliveira and Fernandes 2009).
    fn seen(colour: &str, matrix: [[f64; 3]; 3]) -> [f64; 3] {
        let linear = channels(colour).map(|c| if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) });
        let mixed = matrix.map(|row| row.iter().zip(linear).map(|(weight, c)| weight * c).sum::<f64>().clamp(0.0, 1.0));
        mixed.map(|c| if c <= 0.0031308 { c * 12.92 } else { 1.055 * c.powf(1.0 / 2.4) - 0.055 })
    }

    #[test]
    fn colours_stay_distinct_for_normal_and_colour_blind_eyes() {
        let kinds = [
            ("normal", [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
            (
                "protanopia",
                [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
            ),
            (
                "deuteranopia",
                [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
            ),
            (
                "tritanopia",
                [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
            ),
        ];
        for (kind, matrix) in kinds {
            for (index, first) in COLOURS.iter().enumerate() {
                for second in &COLOURS[index + 1..] {
                    let (a, b) = (seen(first, matrix), seen(second, matrix));
                    let distance = a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
                    // The closest pair is of Okabe and Ito themselves: blue and green without blue cones.
                    assert!(distance > 0.115, "{first} and {second} are {distance:.3} apart for {kind}");
                }
            }
        }
    }

    #[test]
    fn fifty_groups_have_fifty_styles() {
        let styles: HashSet<Style> = (0..50).map(style).collect();
        assert_eq!(styles.len(), 50);
        let markers: HashSet<(&str, Shape)> = styles.iter().map(|style| (style.colour, style.shape)).collect();
        assert_eq!(markers.len(), 50);
        let lines: HashSet<(&str, &str)> = styles.iter().map(|style| (style.colour, style.dash)).collect();
        assert_eq!(lines.len(), 50);
    }

    #[test]
    fn fifty_two_groups_have_letters_and_the_rest_a_star() {
        let letters: HashSet<char> = (0..52).map(letter).collect();
        assert_eq!(letters.len(), 52);
        assert!(letters.iter().all(char::is_ascii_alphabetic));
        assert_eq!((letter(52), letter(300), letter(u32::MAX)), ('*', '*', '*'));
    }
}
