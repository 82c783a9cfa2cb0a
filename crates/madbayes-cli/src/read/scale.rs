//! Pictures made smaller: each new pixel is the mean of the area it covers.

use anyhow::{Result, bail};
use std::str::FromStr;

/// How much smaller: `--scale 80` is a width in pixels, `--scale 0.25` (or `1/4`) a share of the width.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scale {
    /// This many pixels wide, the height in proportion.
    Width(usize),
    /// This share of the width and of the height, above 0 and at most 1.
    Factor(f64),
}

impl FromStr for Scale {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| text.trim().parse::<f64>().ok();
        let factor = match text.split_once('/') {
            Some((over, under)) => number(over).zip(number(under)).map(|(over, under)| over / under),
            None => number(text),
        };
        match (text.parse::<usize>(), factor) {
            (Ok(width), _) if width > 1 => Ok(Scale::Width(width)),
            (_, Some(factor)) if factor > 0.0 && factor <= 1.0 => Ok(Scale::Factor(factor)),
            _ => Err("it must be a width in pixels of at least 2, such as 80, or a share of the width above 0 and at \
                      most 1, such as 0.25 or 1/4"
                .into()),
        }
    }
}

impl Scale {
    /// The height and width that pictures of this size get; they are never enlarged.
    pub fn size(self, height: usize, width: usize) -> Result<(usize, usize)> {
        let factor = match self {
            Scale::Width(wanted) if wanted > width => bail!(
                "--scale {wanted} is wider than the pictures, {width} pixels: give a width of at most {width}, or leave it out"
            ),
            Scale::Width(wanted) => wanted as f64 / width as f64,
            Scale::Factor(factor) => factor,
        };
        let scaled = |side: usize| ((side as f64 * factor).round() as usize).clamp(1, side);
        Ok((scaled(height), scaled(width)))
    }
}

/// The pixels of `from` (height, width) with the channels of a pixel together, as pixels of `to`.
pub fn reduce(pixels: &[f32], from: (usize, usize), to: (usize, usize), channels: usize) -> Vec<f32> {
    let (down, across) = (covered(from.0, to.0), covered(from.1, to.1));
    let mut reduced = Vec::with_capacity(to.0 * to.1 * channels);
    let mut line = vec![0.0; from.1 * channels];
    for (top, heights) in &down {
        line.fill(0.0);
        for (row, share) in pixels.chunks_exact(from.1 * channels).skip(*top).zip(heights) {
            line.iter_mut().zip(row).for_each(|(sum, pixel)| *sum += share * f64::from(*pixel));
        }
        for (left, widths) in &across {
            for channel in 0..channels {
                let covered = line[left * channels..].iter().skip(channel).step_by(channels);
                let mean: f64 = covered.zip(widths).map(|(pixel, share)| share * pixel).sum();
                reduced.push(mean as f32);
            }
        }
    }
    reduced
}

/// For each of `to` pixels along a side of `from`: the first pixel it covers, and the share each covered one has in it.
fn covered(from: usize, to: usize) -> Vec<(usize, Vec<f64>)> {
    let length = from as f64 / to as f64;
    let one = |i: usize| {
        // Bounds in whole numbers, so that pixels that divide evenly cover no sliver of the next.
        let (first, end) = (i * from / to, ((i + 1) * from).div_ceil(to));
        let (low, high) = (i as f64 * length, (i + 1) as f64 * length);
        let overlap = |pixel: usize| high.min((pixel + 1) as f64) - low.max(pixel as f64);
        (first, (first..end).map(|pixel| overlap(pixel) / length).collect())
    };
    (0..to).map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_number_is_a_width_and_a_share_a_factor() {
        assert_eq!("80".parse(), Ok(Scale::Width(80)));
        assert_eq!("0.25".parse(), Ok(Scale::Factor(0.25)));
        assert_eq!("1/4".parse(), Ok(Scale::Factor(0.25)));
        assert_eq!("1".parse(), Ok(Scale::Factor(1.0)));
        for wrong in ["0", "-3", "2.5", "1/0", "3/2", "NaN", "wide", "", "1e400"] {
            let message = wrong.parse::<Scale>().unwrap_err();
            assert!(message.contains("80") && message.contains("1/4"), "{wrong}: {message}");
        }
    }

    #[test]
    fn sizes_keep_their_proportions_and_never_grow() {
        assert_eq!(Scale::Width(80).size(240, 320).unwrap(), (60, 80));
        assert_eq!(Scale::Factor(1.0 / 3.0).size(240, 320).unwrap(), (80, 107));
        assert_eq!(Scale::Factor(0.001).size(240, 320).unwrap(), (1, 1));
        assert_eq!(Scale::Width(320).size(240, 320).unwrap(), (240, 320));
        let message = Scale::Width(321).size(240, 320).unwrap_err().to_string();
        assert!(message.contains("--scale 321") && message.contains("at most 320"), "{message}");
    }

    #[test]
    fn a_whole_factor_averages_blocks() {
        let pixels: Vec<f32> = (0..4 * 6 * 2).map(|i| i as f32).collect();
        let reduced = reduce(&pixels, (4, 6), (2, 3), 2);
        for (i, found) in reduced.iter().enumerate() {
            let (y, x, c) = (i / 6, i / 2 % 3, i % 2);
            let at = |dy: usize, dx: usize| pixels[((2 * y + dy) * 6 + 2 * x + dx) * 2 + c];
            assert_eq!(*found, (at(0, 0) + at(0, 1) + at(1, 0) + at(1, 1)) / 4.0);
        }
        assert_eq!(reduce(&pixels, (4, 6), (4, 6), 2), pixels);
    }

    #[test]
    fn areas_are_shared_and_the_mean_is_kept_whatever_the_sizes() {
        assert_eq!(reduce(&[0.0, 3.0, 6.0], (1, 3), (1, 2), 1), [1.0, 5.0]);
        for (from, to) in [((7, 5), (3, 4)), ((11, 13), (10, 1)), ((3, 100), (2, 99)), ((240, 320), (77, 107))] {
            let pixels: Vec<f32> = (0..from.0 * from.1).map(|i| (i * 7919 % 256) as f32 / 255.0).collect();
            let mean = |pixels: &[f32]| pixels.iter().map(|p| f64::from(*p)).sum::<f64>() / pixels.len() as f64;
            let reduced = reduce(&pixels, from, to, 1);
            assert_eq!(reduced.len(), to.0 * to.1);
            assert!((mean(&reduced) - mean(&pixels)).abs() < 1e-6);
            for (count, of) in [from.0, from.1].into_iter().zip([to.0, to.1]) {
                for (first, shares) in covered(count, of) {
                    assert!(first + shares.len() <= count);
                    assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-9);
                    assert!(shares.iter().all(|share| *share > 1e-9), "{count} to {of}: {shares:?}");
                }
            }
        }
    }
}
