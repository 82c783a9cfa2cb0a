//! Pictures made smaller for a page: every pixel the mean of a square of pixels.

/// Numbers that all pictures of a page have together, about.
const MOST_NUMBERS: usize = 700_000;
/// The longest side of a picture.
const LONGEST: usize = 120;

/// How pictures are made smaller.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Shrunk {
    from: [usize; 3],
    /// Pixels of one side of a square.
    factor: usize,
    /// Height, width and channels afterwards.
    pub shape: [usize; 3],
}

impl Shrunk {
    /// For a page with so many pictures of this height, width and number of channels.
    pub fn new(from: [usize; 3], n_pictures: usize) -> Self {
        let [height, width, channels] = from;
        let shape = |factor: usize| [height.div_ceil(factor), width.div_ceil(factor), channels];
        let fits = |factor: &usize| {
            let [height, width, _] = shape(*factor);
            let numbers = height * width * channels * n_pictures;
            height.max(width) <= LONGEST && (numbers <= MOST_NUMBERS || height.max(width) <= 24)
        };
        let factor = (1..=height.max(width).max(1)).find(fits).unwrap_or(height.max(width).max(1));
        Shrunk { from, factor, shape: shape(factor) }
    }

    /// A picture made smaller.
    pub fn of(&self, values: &[f64]) -> Vec<f64> {
        let ([height, width, channels], [rows, columns, _]) = (self.from, self.shape);
        let (mut sums, mut counts) = (vec![0.0; rows * columns * channels], vec![0.0; rows * columns]);
        for y in 0..height {
            for x in 0..width {
                let place = y / self.factor * columns + x / self.factor;
                counts[place] += 1.0;
                (0..channels).for_each(|c| sums[place * channels + c] += values[(y * width + x) * channels + c]);
            }
        }
        sums.iter().enumerate().map(|(i, sum)| sum / counts[i / channels]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_smaller_picture_has_the_means_of_squares() {
        let shrunk = Shrunk { from: [2, 3, 1], factor: 2, shape: [1, 2, 1] };
        assert_eq!(shrunk.of(&[1.0, 2.0, 3.0, 5.0, 8.0, 7.0]), [4.0, 5.0]);
    }

    #[test]
    fn small_pictures_stay_as_they_are_and_large_ones_are_bounded() {
        assert_eq!(Shrunk::new([60, 80, 3], 40).shape, [60, 80, 3]);
        for n in [1, 50, 500] {
            let [height, width, channels] = Shrunk::new([3000, 4000, 3], n).shape;
            assert!(
                height.max(width) <= LONGEST && height * width * channels * n <= MOST_NUMBERS + n * 24 * 24 * 3,
                "{n}"
            );
        }
    }
}
