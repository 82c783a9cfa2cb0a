//! Features of pictures as pictures: what each adds and what it takes away, and pictures beside their reconstructions, as PNG.

/// Pixels between pictures.
const GAP: usize = 4;
/// More pixels between one pair of lines and the next.
const BETWEEN: usize = 12;
/// Small pictures are enlarged, by a whole factor, to at most this side.
const SMALL: usize = 200;
/// Pictures on a sheet are made smaller, by a whole factor, down to at most this side.
const LARGE: usize = 400;
/// More pictures than this are not looked at: the first are shown.
const MOST: usize = 40;
/// Pictures next to each other on a sheet.
const ACROSS: usize = 8;

/// Makes PNG files of rows that are pictures: `height` x `width` x `channels` numbers, the channels of a pixel together.
///
/// A pixel is dark at 0 and bright at 1. Three channels are red, green and blue; of other numbers of channels the first is
/// shown in grey. Numbers that are missing or not finite are middle grey.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FeatureImages {
    /// Rows of pixels.
    pub height: usize,
    /// Pixels in a row.
    pub width: usize,
    /// Numbers of a pixel.
    pub channels: usize,
}

/// Which part of a number is shown, as a brightness.
#[derive(Clone, Copy)]
enum Tone {
    /// The number itself.
    Plain,
    /// What is above 0, in units of the largest magnitude.
    Adds(f64),
    /// What is below 0, in the same units.
    Takes(f64),
}

impl Tone {
    fn of(self, value: f64) -> f64 {
        match self {
            Tone::Plain => value,
            Tone::Adds(largest) => value / largest,
            Tone::Takes(largest) => -value / largest,
        }
    }
}

impl FeatureImages {
    /// One picture as it is.
    pub fn picture(&self, values: &[f64]) -> Vec<u8> {
        self.sheet_of(&[vec![(values, Tone::Plain)]], usize::MAX)
    }

    /// What a feature adds (left) and what it takes away (right), both as light on black, brightest at its largest entry.
    pub fn feature(&self, values: &[f64]) -> Vec<u8> {
        let [adds, takes] = parts(values);
        self.sheet_of(&[vec![adds, takes]], usize::MAX)
    }

    /// All features: what each adds in one line, what it takes away in the line below; at most 40 of them, 8 in a line.
    pub fn features<F: AsRef<[f64]>>(&self, features: &[F]) -> Vec<u8> {
        let shown = features.iter().take(MOST).map(|feature| parts(feature.as_ref())).collect();
        self.sheet_of(&lines(shown), LARGE)
    }

    /// Pictures with their reconstructions below them; at most 40 of them, 8 in a line.
    pub fn sheet<R: AsRef<[f64]>>(&self, originals: &[&[f32]], reconstructions: &[R]) -> Vec<u8> {
        let wide = |picture: &&[f32]| picture.iter().map(|x| f64::from(*x)).collect::<Vec<f64>>();
        let originals: Vec<Vec<f64>> = originals.iter().take(MOST).map(wide).collect();
        let pair = |i: usize| {
            let reconstruction = reconstructions.get(i).map_or(&[][..], AsRef::as_ref);
            [(&originals[i][..], Tone::Plain), (reconstruction, Tone::Plain)]
        };
        self.sheet_of(&lines((0..originals.len()).map(pair).collect()), LARGE)
    }

    /// Lines of pictures on white, each at most about `largest` pixels wide and high.
    fn sheet_of(&self, lines: &[Vec<(&[f64], Tone)>], largest: usize) -> Vec<u8> {
        let longest = lines.iter().flatten().map(|(values, _)| values.len()).max().unwrap_or(0);
        let frame = Frame::new(self, longest, largest);
        let across = lines.iter().map(Vec::len).max().unwrap_or(0).max(1);
        let left = |right: usize| right * (frame.width + GAP);
        let top = |down: usize| down * (frame.height + GAP) + down / 2 * BETWEEN;
        let (width, height) = (left(across - 1) + frame.width, top(lines.len().max(1) - 1) + frame.height);
        let mut pixels = vec![255; width * height * frame.shown];
        for (down, line) in lines.iter().enumerate() {
            for (right, (values, tone)) in line.iter().enumerate() {
                let tile = frame.tile(values, *tone);
                for (y, row) in tile.chunks_exact(frame.width * frame.shown).enumerate() {
                    let at = ((top(down) + y) * width + left(right)) * frame.shown;
                    pixels[at..at + row.len()].copy_from_slice(row);
                }
            }
        }
        png(width, height, frame.shown, &pixels)
    }
}

/// What a feature adds and what it takes away, in one unit.
fn parts(values: &[f64]) -> [(&[f64], Tone); 2] {
    let finite = values.iter().map(|x| x.abs()).filter(|x| x.is_finite());
    let largest = finite.fold(f64::MIN_POSITIVE, f64::max);
    [(values, Tone::Adds(largest)), (values, Tone::Takes(largest))]
}

/// Pairs in lines: the first of each pair above the second.
fn lines<T: Copy>(pairs: Vec<[T; 2]>) -> Vec<Vec<T>> {
    let line = |some: &[[T; 2]]| [0, 1].map(|which| some.iter().map(|pair| pair[which]).collect());
    pairs.chunks(ACROSS).flat_map(line).collect()
}

/// How a row of numbers becomes pixels.
struct Frame {
    /// Of the picture, no more than there are numbers for.
    rows: usize,
    columns: usize,
    channels: usize,
    /// Of the tile.
    width: usize,
    height: usize,
    /// 1 or 3.
    shown: usize,
    /// Pixels of a tile for each of the picture, along a side; or, where `shrink` is above 1, the other way round.
    enlarge: usize,
    shrink: usize,
}

impl Frame {
    fn new(shape: &FeatureImages, numbers: usize, largest: usize) -> Frame {
        let channels = shape.channels.max(1);
        let columns = shape.width.min(numbers / channels);
        let rows = (numbers / channels).checked_div(columns).unwrap_or(0).min(shape.height);
        let side = rows.max(columns).max(1);
        let (enlarge, shrink) = ((SMALL / side).max(1), side.div_ceil(largest));
        let sized = |side: usize| (side * enlarge).div_ceil(shrink).max(1);
        let shown = if channels == 3 { 3 } else { 1 };
        Frame { rows, columns, channels, width: sized(columns), height: sized(rows), shown, enlarge, shrink }
    }

    fn tile(&self, values: &[f64], tone: Tone) -> Vec<u8> {
        let mut tile = Vec::with_capacity(self.width * self.height * self.shown);
        for y in 0..self.height {
            for x in 0..self.width {
                tile.extend((0..self.shown).map(|channel| self.pixel(values, tone, (y, x), channel)));
            }
        }
        tile
    }

    /// The mean of the numbers that a pixel of the tile stands for.
    fn pixel(&self, values: &[f64], tone: Tone, (y, x): (usize, usize), channel: usize) -> u8 {
        let span = |at: usize, end: usize| {
            let first = at * self.shrink / self.enlarge;
            first..(first + self.shrink).min(end)
        };
        let (mut sum, mut count) = (0.0, 0.0);
        for row in span(y, self.rows) {
            for column in span(x, self.columns) {
                let index = (row * self.columns + column) * self.channels + channel;
                if let Some(value) = values.get(index).filter(|value| value.is_finite()) {
                    sum += tone.of(*value).clamp(0.0, 1.0);
                    count += 1.0;
                }
            }
        }
        if count == 0.0 { 128 } else { (255.0 * sum / count).round() as u8 }
    }
}

pub(crate) fn png(width: usize, height: usize, channels: usize, pixels: &[u8]) -> Vec<u8> {
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, width as u32, height as u32);
    encoder.set_color(if channels == 3 { png::ColorType::Rgb } else { png::ColorType::Grayscale });
    encoder.set_depth(png::BitDepth::Eight);
    let written = encoder.write_header().and_then(|mut writer| writer.write_image_data(pixels));
    written.expect("writing to memory cannot fail");
    file
}
