//! Pictures of a dark table on which each of four objects lies or does not: pixels = table + sum of objects + noise.

use super::check_shape;
use super::linear_gaussian::{check_not_negative, check_probability, used_column};
use crate::error::{Error, Result};
use crate::random::{Rng, Stream, stream};
use crate::structure::Allocation;
use rand::RngExt;
use rand_distr::StandardNormal;

/// What a picture of the table shows: the table itself, of which every picture has all, and some of four objects.
///
/// Objects have fixed places and never overlap, so that without jitter, light and noise the pixels are exactly
/// Z A, A's rows being the table and the difference each object makes.
///
/// ```
/// use madbayes::simulate::Tabletop;
///
/// let pictures = Tabletop::default().sample(0)?;
/// assert_eq!(pictures.pixels.len(), 100 * 30 * 40);
/// assert_eq!(pictures.names, ["ball", "ring", "book", "pen"]);
/// assert_eq!(pictures.allocation.n_features(), 4);
/// # Ok::<(), madbayes::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tabletop {
    /// Number of pictures, N.
    pub n_pictures: usize,
    /// Height of a picture in pixels, at least 15.
    pub height: usize,
    /// Width of a picture in pixels, at least 20.
    pub width: usize,
    /// Whether pixels are red, green and blue, or one grey.
    pub colour: bool,
    /// Chance that an object lies on the table, above 0 and at most 1.
    pub probability: f64,
    /// Standard deviation of an object's place in x and y, in pixels; never more than 1.
    pub jitter: f64,
    /// Standard deviation of the brightness of a picture as a whole.
    pub lighting: f64,
    /// Standard deviation of the noise of each pixel.
    pub noise: f64,
}

impl Default for Tabletop {
    /// 100 grey pictures of 30 x 40 pixels, each object on half of them; jitter 0.2 pixels, lighting 0.03, noise 0.03.
    fn default() -> Self {
        Tabletop {
            n_pictures: 100,
            height: 30,
            width: 40,
            colour: false,
            probability: 0.5,
            jitter: 0.2,
            lighting: 0.03,
            noise: 0.03,
        }
    }
}

/// Simulated pictures and what lies on them.
#[derive(Debug, Clone, PartialEq)]
pub struct Pictures {
    /// Pictures one after the other, each line by line, a pixel's colours side by side; from 0, black, to 1.
    pub pixels: Vec<f64>,
    /// Height of a picture in pixels.
    pub height: usize,
    /// Width of a picture in pixels.
    pub width: usize,
    /// Numbers of a pixel: 1 for grey, 3 for red, green and blue.
    pub channels: usize,
    /// Which object lies on which picture; the table, which is on all, has no column here.
    pub allocation: Allocation,
    /// The names of the objects.
    pub names: [&'static str; 4],
}

/// An outline, in pixels of a picture 30 high and 40 wide.
#[derive(Debug, Clone, Copy)]
enum Shape {
    Disc {
        radius: f64,
    },
    Ring {
        radius: f64,
        thickness: f64,
    },
    /// With corners rounded by `round`.
    Slab {
        half_width: f64,
        half_height: f64,
        round: f64,
        angle: f64,
    },
}

/// A thing on the table: its place as a share of width and height.
#[derive(Debug, Clone, Copy)]
struct Object {
    name: &'static str,
    place: (f64, f64),
    shape: Shape,
    colour: [f64; 3],
}

const OBJECTS: [Object; 4] = [
    Object { name: "ball", place: (0.22, 0.27), shape: Shape::Disc { radius: 4.5 }, colour: [0.85, 0.30, 0.25] },
    Object {
        name: "ring",
        place: (0.75, 0.27),
        shape: Shape::Ring { radius: 5.0, thickness: 2.0 },
        colour: [0.90, 0.80, 0.35],
    },
    Object {
        name: "book",
        place: (0.28, 0.72),
        shape: Shape::Slab { half_width: 5.5, half_height: 3.5, round: 0.0, angle: 0.3 },
        colour: [0.30, 0.50, 0.85],
    },
    Object {
        name: "pen",
        place: (0.74, 0.73),
        shape: Shape::Slab { half_width: 7.5, half_height: 1.4, round: 1.4, angle: -0.6 },
        colour: [0.85, 0.90, 0.88],
    },
];

const TABLE: [f64; 3] = [0.16, 0.12, 0.10];
/// How much each colour adds to grey (ITU-R BT.601).
const GREY: [f64; 3] = [0.299, 0.587, 0.114];

impl Shape {
    /// Distance of a point to the edge, negative inside; from the centre, in pixels of a picture 30 high and 40 wide.
    fn distance(self, x: f64, y: f64) -> f64 {
        match self {
            Shape::Disc { radius } => x.hypot(y) - radius,
            Shape::Ring { radius, thickness } => (x.hypot(y) - radius).abs() - thickness / 2.0,
            Shape::Slab { half_width, half_height, round, angle } => {
                let (sine, cosine) = angle.sin_cos();
                let beyond_x = (x * cosine + y * sine).abs() - (half_width - round);
                let beyond_y = (y * cosine - x * sine).abs() - (half_height - round);
                beyond_x.max(0.0).hypot(beyond_y.max(0.0)) + beyond_x.max(beyond_y).min(0.0) - round
            }
        }
    }
}

impl Tabletop {
    /// Errors when something cannot be simulated.
    pub fn check(&self) -> Result<()> {
        check_side("height", self.height, 15)?;
        check_side("width", self.width, 20)?;
        check_shape(self.n_pictures, self.height * self.width * self.channels()).map_err(|_| {
            Error::argument("n_pictures", "at least 1 and few enough for memory", self.n_pictures, "100 are usual")
        })?;
        check_probability(self.probability)?;
        check_not_negative("jitter", self.jitter, "it is how far an object is shifted, in pixels")?;
        check_not_negative("lighting", self.lighting, "it is how much the brightness of pictures differs")?;
        check_not_negative("noise", self.noise, "it is the standard deviation of the noise of each pixel")
    }

    fn channels(&self) -> usize {
        if self.colour { 3 } else { 1 }
    }

    /// Draws what lies where, then the pictures. The same seed gives the same bits. Every object is on some picture.
    pub fn sample(&self, seed: u64) -> Result<Pictures> {
        self.check()?;
        let mut rng = stream(seed, Stream::Simulation);
        let columns = OBJECTS.map(|_| used_column(self.n_pictures, self.probability, &mut rng));
        let allocation = Allocation::from_columns(self.n_pictures, &columns);
        let size = self.height * self.width * self.channels();
        let mut pixels = vec![0.0; self.n_pictures * size];
        for (n, picture) in pixels.chunks_exact_mut(size).enumerate() {
            self.draw(picture, allocation.features_of(n).map(|k| OBJECTS[k]), &mut rng);
        }
        let (height, width, channels) = (self.height, self.width, self.channels());
        Ok(Pictures { pixels, height, width, channels, allocation, names: OBJECTS.map(|object| object.name) })
    }

    fn draw(&self, picture: &mut [f64], objects: impl Iterator<Item = Object>, rng: &mut Rng) {
        self.lay(picture, TABLE, |_, _| 1.0);
        // One length for both directions: a ball is round in a picture of any shape.
        let pixel = (30.0 / self.height as f64).max(40.0 / self.width as f64);
        for object in objects {
            let mut shift = || (self.jitter * rng.sample::<f64, _>(StandardNormal)).clamp(-1.0, 1.0);
            let centre_x = object.place.0 * self.width as f64 + shift();
            let centre_y = object.place.1 * self.height as f64 + shift();
            self.lay(picture, object.colour, |x, y| {
                // A pixel that the edge crosses is covered in part.
                0.5 - object.shape.distance((x - centre_x) * pixel, (y - centre_y) * pixel) / pixel
            });
        }
        let light = 1.0 + self.lighting * rng.sample::<f64, _>(StandardNormal);
        for value in picture {
            let noise = self.noise * rng.sample::<f64, _>(StandardNormal);
            *value = (light * *value + noise).clamp(0.0, 1.0);
        }
    }

    /// Covers each pixel with a colour by the share that `cover` says of its middle, cut to 0 and 1.
    fn lay(&self, picture: &mut [f64], colour: [f64; 3], cover: impl Fn(f64, f64) -> f64) {
        let grey = [colour.iter().zip(GREY).map(|(c, weight)| c * weight).sum()];
        let colour: &[f64] = if self.colour { &colour } else { &grey };
        for (i, values) in picture.chunks_exact_mut(self.channels()).enumerate() {
            let share = cover((i % self.width) as f64 + 0.5, (i / self.width) as f64 + 0.5).clamp(0.0, 1.0);
            values.iter_mut().zip(colour).for_each(|(value, c)| *value += share * (c - *value));
        }
    }
}

fn check_side(argument: &'static str, pixels: usize, least: usize) -> Result<()> {
    if (least..=10_000).contains(&pixels) {
        return Ok(());
    }
    let help = "a smaller picture has no room for the objects";
    Err(Error::argument(argument, format!("between {least} and 10000 pixels"), pixels, help))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    const STILL: Tabletop = Tabletop {
        n_pictures: 100,
        height: 30,
        width: 40,
        colour: false,
        probability: 0.5,
        jitter: 0.0,
        lighting: 0.0,
        noise: 0.0,
    };

    /// The mean picture of those with exactly these objects.
    fn mean_with(pictures: &Pictures, objects: &[usize]) -> Option<Vec<f64>> {
        let size = pictures.height * pictures.width * pictures.channels;
        let mut sum = vec![0.0; size];
        let mut n = 0.0;
        for (row, picture) in pictures.pixels.chunks_exact(size).enumerate() {
            if pictures.allocation.features_of(row).eq(objects.iter().copied()) {
                sum.iter_mut().zip(picture).for_each(|(s, x)| *s += x);
                n += 1.0;
            }
        }
        (n > 0.0).then(|| sum.iter().map(|s| s / n).collect())
    }

    #[rstest]
    #[case(30, 40, false)]
    #[case(30, 40, true)]
    #[case(15, 20, false)]
    #[case(60, 50, true)]
    fn still_pictures_are_the_table_and_what_each_object_adds(
        #[case] height: usize,
        #[case] width: usize,
        #[case] colour: bool,
    ) {
        let pictures = Tabletop { height, width, colour, ..STILL }.sample(0).unwrap();
        let table = mean_with(&pictures, &[]).unwrap();
        let alone = [0, 1, 2, 3].map(|k| mean_with(&pictures, &[k]).unwrap());
        for (row, picture) in pictures.pixels.chunks_exact(table.len()).enumerate() {
            for (i, x) in picture.iter().enumerate() {
                let sum: f64 =
                    table[i] + pictures.allocation.features_of(row).map(|k| alone[k][i] - table[i]).sum::<f64>();
                assert!((x - sum).abs() < 1e-12, "picture {row}, value {i}");
            }
        }
        for object in &alone {
            let changed = object.iter().zip(&table).filter(|(a, b)| (*a - *b).abs() > 0.1).count();
            let pixels = changed / pictures.channels;
            assert!(pixels > height * width / 60 && pixels < height * width / 8, "{pixels} pixels");
            // Nothing is cut off at the edge of the picture.
            let stride = width * pictures.channels;
            for line in [0, height - 1] {
                let edge = line * stride..(line + 1) * stride;
                assert!(object[edge.clone()].iter().zip(&table[edge]).all(|(a, b)| (a - b).abs() < 1e-12));
            }
        }
    }

    #[test]
    fn edges_are_smooth_and_areas_are_those_of_the_shapes() {
        let pictures = STILL.sample(0).unwrap();
        let table = mean_with(&pictures, &[]).unwrap();
        let areas = [
            std::f64::consts::PI * 4.5 * 4.5,
            std::f64::consts::PI * (6.0 * 6.0 - 4.0 * 4.0),
            4.0 * 5.5 * 3.5,
            4.0 * 6.1 * 1.4 + std::f64::consts::PI * 1.4 * 1.4,
        ];
        for (k, area) in areas.into_iter().enumerate() {
            let object = mean_with(&pictures, &[k]).unwrap();
            let full = object.iter().zip(&table).map(|(a, b)| a - b).fold(0.0, f64::max);
            let shares: Vec<f64> = object.iter().zip(&table).map(|(a, b)| (a - b) / full).collect();
            let covered: f64 = shares.iter().sum();
            assert!((covered / area - 1.0).abs() < 0.03, "{}: {covered} for {area}", OBJECTS[k].name);
            assert!(shares.iter().filter(|s| (0.05..0.95).contains(*s)).count() > 10, "{}", OBJECTS[k].name);
        }
    }

    #[test]
    fn jitter_moves_an_object_by_its_standard_deviation() {
        let full = Tabletop { probability: 1.0, jitter: 0.2, n_pictures: 3000, ..STILL };
        let pictures = full.sample(1).unwrap();
        // The middle of the ball by its weight; it is alone in the upper left quarter.
        let grey: f64 = TABLE.iter().zip(GREY).map(|(c, weight)| c * weight).sum();
        let middles = pictures.pixels.chunks_exact(1200).map(|picture| {
            let (mut weight, mut x) = (0.0, 0.0);
            for (i, value) in picture.iter().enumerate().filter(|(i, _)| i % 40 < 17 && i / 40 < 15) {
                weight += value - grey;
                x += (value - grey) * ((i % 40) as f64 + 0.5);
            }
            x / weight
        });
        let middles: Vec<f64> = middles.collect();
        let mean = middles.iter().sum::<f64>() / 3000.0;
        let variance = middles.iter().map(|m| (m - mean).powi(2)).sum::<f64>() / 2999.0;
        assert!((mean - 8.8).abs() < 0.02, "{mean}");
        assert!((variance.sqrt() / 0.2 - 1.0).abs() < 0.07, "{variance}");
    }

    #[test]
    fn light_scales_whole_pictures_and_noise_is_in_every_pixel() {
        let still = STILL.sample(2).unwrap();
        let lit = Tabletop { lighting: 0.1, ..STILL }.sample(2).unwrap();
        let mut factors = Vec::new();
        for (a, b) in still.pixels.chunks_exact(1200).zip(lit.pixels.chunks_exact(1200)) {
            let factor = b[0] / a[0];
            assert!(a.iter().zip(b).all(|(x, y)| (factor * x - y).abs() < 1e-12 || *y == 1.0));
            factors.push(factor - 1.0);
        }
        let spread = (factors.iter().map(|f| f * f).sum::<f64>() / 100.0).sqrt();
        assert!((spread / 0.1 - 1.0).abs() < 0.3, "{spread}");

        // So little noise that no pixel is cut at 0 or 1.
        let noisy = Tabletop { noise: 0.01, ..STILL }.sample(2).unwrap();
        let differences: Vec<f64> = still.pixels.iter().zip(&noisy.pixels).map(|(a, b)| (a - b) / 0.01).collect();
        let n = differences.len() as f64;
        let squares: f64 = differences.iter().map(|d| d * d).sum();
        assert!(((squares - n) / (2.0 * n).sqrt()).abs() < 4.0, "{squares} of {n}");
    }

    #[test]
    fn pixels_are_between_black_and_white_and_repeat_with_the_seed() {
        let loud = Tabletop { noise: 1.0, lighting: 1.0, jitter: 100.0, colour: true, ..STILL };
        let pictures = loud.sample(3).unwrap();
        assert!(pictures.pixels.iter().all(|x| (0.0..=1.0).contains(x)));
        assert_eq!(pictures, loud.sample(3).unwrap());
        assert_ne!(pictures.pixels, loud.sample(4).unwrap().pixels);
        let rare = Tabletop { probability: 1e-9, ..STILL }.sample(0).unwrap();
        assert_eq!(rare.allocation.counts(), [1; 4]);
    }

    #[test]
    fn what_cannot_be_simulated_is_refused() {
        for (table, message) in [
            (Tabletop { n_pictures: 0, ..STILL }, "n_pictures must be at least 1"),
            (Tabletop { height: 14, ..STILL }, "height must be between 15 and 10000 pixels, got 14"),
            (Tabletop { width: 0, ..STILL }, "width must be between 20 and 10000 pixels, got 0"),
            (Tabletop { probability: 1.5, ..STILL }, "probability must be above 0 and at most 1, got 1.5"),
            (Tabletop { jitter: -1.0, ..STILL }, "jitter must be a finite number of at least 0, got -1"),
            (Tabletop { lighting: f64::NAN, ..STILL }, "lighting must be a finite number of at least 0"),
            (Tabletop { noise: -1.0, ..STILL }, "noise must be a finite number of at least 0, got -1"),
        ] {
            let error = table.sample(0).unwrap_err().to_string();
            assert!(error.starts_with(message), "{error}");
        }
    }
}
