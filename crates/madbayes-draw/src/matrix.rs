//! Which rows go together: a square of shades, as a report shows it too.

use crate::base64::base64;
use crate::palette::COLOURS;
use crate::sheet::png;
use crate::svg::{Document, MARGIN, WIDTH};
use crate::ticks::count;

/// The shares of draws in which rows are together, all pairs of them.
#[derive(Debug, Clone, Copy, Default)]
pub struct Matrix<'a> {
    /// What the picture shows.
    pub title: &'a str,
    /// What the shades mean.
    pub value_name: &'a str,
    /// How many rows there are; where the shares are of fewer, the picture says so.
    pub n_rows: usize,
    /// From 0, white, to 1, dark; one line after another of a square.
    pub shares: &'a [f64],
}

impl Matrix<'_> {
    /// The picture as an SVG document 720 wide.
    pub fn svg(&self) -> String {
        let n = self.shares.len().isqrt();
        let note = match n < self.n_rows {
            true => format!("{} of {} rows, chosen at random; {}", count(n), count(self.n_rows), self.value_name),
            false => self.value_name.to_string(),
        };
        let described = format!("{} by {} rows: {}.", count(n), count(n), self.value_name);
        let (top, side) = (64.0, WIDTH - 2.0 * MARGIN);
        let mut document = Document::new(top + side + MARGIN, self.title, &described, &note);
        if n > 0 {
            let pixels: Vec<u8> = self.shares[..n * n].iter().flat_map(|&share| shade(share)).collect();
            document.picture(MARGIN, top, side, &base64(&png(n, n, 3, &pixels)));
        }
        document.finish()
    }
}

/// From white to a dark blue.
fn shade(share: f64) -> [u8; 3] {
    let full = u32::from_str_radix(&COLOURS[0][1..], 16).unwrap_or(0);
    let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
    [16, 8, 0].map(|shift| {
        let full = 0.75 * f64::from((full >> shift) & 0xff);
        (255.0 + share * (full - 255.0)).round() as u8
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shades_go_from_white_to_dark_and_what_is_no_number_is_white() {
        assert_eq!(shade(0.0), [255; 3]);
        assert_eq!(shade(1.0), [0, 86, 134]);
        assert_eq!(shade(f64::NAN), [255; 3]);
    }

    #[test]
    fn the_picture_says_of_how_many_rows_it_is() {
        let shares = [1.0, 0.5, 0.5, 1.0];
        let picture = Matrix { title: "<t>", value_name: "shares", n_rows: 900, shares: &shares };
        let svg = picture.svg();
        assert!(svg.contains("2 of 900 rows, chosen at random; shares") && svg.contains("data:image/png;base64,iVBOR"));
        assert!(svg.contains("&lt;t&gt;") && !Matrix::default().svg().contains("<image"));
    }
}
