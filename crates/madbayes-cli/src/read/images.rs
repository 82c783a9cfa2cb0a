//! A directory of pictures of one size: a row per picture, a column per pixel and channel, from 0 (dark) to 1.

use super::scale::{Scale, reduce};
use anyhow::{Context, Result, anyhow, bail};
use image::metadata::Orientation;
use image::{DynamicImage, ImageDecoder, ImageReader};
use madbayes::parallel::Workers;
use std::cmp::Ordering;
use std::path::{Path, PathBuf};

/// Pictures as rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Pictures {
    /// N x (height x width x channels), the channels of a pixel together.
    pub values: Vec<f32>,
    /// The size of all pictures.
    pub shape: Shape,
    /// The name of each file.
    pub names: Vec<String>,
}

/// The size of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Rows of pixels.
    pub height: usize,
    /// Pixels in a row.
    pub width: usize,
    /// 1 (grey) or 3 (red, green, blue).
    pub channels: usize,
}

impl Shape {
    /// Numbers in one picture.
    pub fn n_columns(&self) -> usize {
        self.height * self.width * self.channels
    }
}

/// Reads all JPEG and PNG files of a directory in the natural order of their names; other files are left alone.
///
/// Pictures have one channel if all are grey and three otherwise. They are turned as their camera says; what is
/// transparent is seen before white.
pub fn read(directory: &Path, scale: Option<Scale>, threads: usize) -> Result<Pictures> {
    let files = pictures_in(directory)?;
    let workers = Workers::new(threads);
    let headers = workers.map(files.len(), |i| in_file(&files[i], header(&files[i])));
    let headers = headers.into_iter().collect::<Result<Vec<Header>>>()?;
    let (height, width) = headers[0].size;
    if let Some(other) = headers.iter().position(|header| header.size != headers[0].size) {
        let (other_height, other_width) = headers[other].size;
        bail!(
            "pictures must have one size, but {} is {width} x {height} pixels and {} is {other_width} x {other_height}: \
             make them equal, or put them into folders of their own",
            files[0].display(),
            files[other].display()
        );
    }
    let channels = if headers.iter().any(|header| header.colour) { 3 } else { 1 };
    let (new_height, new_width) = scale.map_or(Ok((height, width)), |scale| scale.size(height, width))?;
    let shape = Shape { height: new_height, width: new_width, channels };
    let mut values = vec![0.0; files.len() * shape.n_columns()];
    let mut rows: Vec<&mut [f32]> = values.chunks_exact_mut(shape.n_columns()).collect();
    let done = workers.map_mut(&mut rows, |i, row| {
        let pixels = in_file(&files[i], pixels(&files[i], channels))?;
        row.copy_from_slice(&match (new_height, new_width) == (height, width) {
            true => pixels,
            false => reduce(&pixels, (height, width), (new_height, new_width), channels),
        });
        Ok(())
    });
    done.into_iter().collect::<Result<()>>()?;
    let names = files.iter().map(|file| file_name(file)).collect();
    Ok(Pictures { values, shape, names })
}

/// The picture files of a directory in natural order.
fn pictures_in(directory: &Path) -> Result<Vec<PathBuf>> {
    let shown = directory.display();
    let entries = std::fs::read_dir(directory).with_context(|| format!("{shown} cannot be read"))?;
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.with_context(|| format!("{shown} cannot be read"))?.path();
        let extension = path.extension().map(|extension| extension.to_string_lossy().to_ascii_lowercase());
        let picture = matches!(extension.as_deref(), Some("jpg" | "jpeg" | "png"));
        // Names with a leading dot are hidden: thumbnails and the like.
        if picture && !file_name(&path).starts_with('.') && path.is_file() {
            files.push(path);
        }
    }
    if files.is_empty() {
        bail!("{shown} holds no pictures: files that end in .jpg, .jpeg or .png are read; convert others first");
    }
    files.sort_by(|a, b| natural_order(&file_name(a), &file_name(b)));
    Ok(files)
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Names compared as people do: runs of digits by their number, so that `Picture_2` comes before `Picture_10`.
fn natural_order(a: &str, b: &str) -> Ordering {
    let (mut left, mut right) = (a, b);
    loop {
        let (x, y) = (run(&mut left), run(&mut right));
        let digits = |run: &str| run.starts_with(|c: char| c.is_ascii_digit());
        let order = match (x, y) {
            // Equal as numbers, such as 7 and 07: the names themselves decide.
            ("", "") => return a.cmp(b),
            (x, y) if digits(x) && digits(y) => {
                let (x, y) = (x.trim_start_matches('0'), y.trim_start_matches('0'));
                x.len().cmp(&y.len()).then(x.cmp(y))
            }
            (x, y) => x.cmp(y),
        };
        if order != Ordering::Equal {
            return order;
        }
    }
}

/// Takes the leading run of digits or of other characters off the text.
fn run<'a>(text: &mut &'a str) -> &'a str {
    let digit = text.starts_with(|c: char| c.is_ascii_digit());
    let end = text.find(|c: char| c.is_ascii_digit() != digit).unwrap_or(text.len());
    let (run, rest) = text.split_at(end);
    *text = rest;
    run
}

/// What a file says of its picture before it is decoded.
struct Header {
    /// Height and width as seen.
    size: (usize, usize),
    colour: bool,
}

fn decoder(path: &Path) -> Result<impl ImageDecoder> {
    // The content decides, whatever the name says.
    Ok(ImageReader::open(path)?.with_guessed_format()?.into_decoder()?)
}

fn header(path: &Path) -> Result<Header> {
    let mut decoder = decoder(path)?;
    let (width, height) = decoder.dimensions();
    let colour = decoder.color_type().has_color();
    let lying = matches!(
        decoder.orientation()?,
        Orientation::Rotate90 | Orientation::Rotate270 | Orientation::Rotate90FlipH | Orientation::Rotate270FlipH
    );
    let size = if lying { (width, height) } else { (height, width) };
    Ok(Header { size: (size.0 as usize, size.1 as usize), colour })
}

/// The pixels from 0 to 1, row after row.
fn pixels(path: &Path, channels: usize) -> Result<Vec<f32>> {
    let mut decoder = decoder(path)?;
    let orientation = decoder.orientation()?;
    let mut picture = DynamicImage::from_decoder(decoder)?;
    picture.apply_orientation(orientation);
    // Divided here: the floats that the decoder offers are not always the nearest.
    let narrow = |values: Vec<u8>| values.into_iter().map(|x| f32::from(x) / 255.0).collect();
    let wide = |values: Vec<u16>| values.into_iter().map(|x| f32::from(x) / 65_535.0).collect();
    let deep = picture.color().bits_per_pixel() / u16::from(picture.color().channel_count()) > 8;
    let transparent: Vec<f32> = match (channels, deep) {
        (1, false) => narrow(picture.into_luma_alpha8().into_raw()),
        (1, true) => wide(picture.into_luma_alpha16().into_raw()),
        (_, false) => narrow(picture.into_rgba8().into_raw()),
        (_, true) => wide(picture.into_rgba16().into_raw()),
    };
    let mut pixels = Vec::with_capacity(transparent.len() / (channels + 1) * channels);
    for pixel in transparent.chunks_exact(channels + 1) {
        let alpha = pixel[channels];
        // An opaque pixel stays as it is, to the bit.
        let before_white = |x: f32| if alpha == 1.0 { x } else { 1.0 - alpha * (1.0 - x) };
        pixels.extend(pixel[..channels].iter().map(|x| before_white(*x)));
    }
    Ok(pixels)
}

fn in_file<R>(path: &Path, result: Result<R>) -> Result<R> {
    result.map_err(|error| anyhow!("{} cannot be read as a picture: {error:#}; repair or remove it", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use image::{GrayImage, ImageFormat, Luma, Rgb, RgbImage, RgbaImage};
    use madbayes::data::Rows;
    use madbayes::prepare::{Keep, Pca};
    use tempfile::TempDir;

    /// A picture whose pixels all differ.
    fn colourful(width: u32, height: u32, shift: u32) -> RgbImage {
        RgbImage::from_fn(width, height, |x, y| Rgb([x as u8 * 20, y as u8 * 30, (x + y + shift) as u8 * 9]))
    }

    fn save(folder: &TempDir, name: &str, picture: impl Into<DynamicImage>) {
        picture.into().save(folder.path().join(name)).unwrap();
    }

    fn read_all(folder: &TempDir) -> Result<Pictures> {
        read(folder.path(), None, 2)
    }

    #[test]
    fn pictures_come_in_natural_order_with_channels_together_and_pixels_from_0_to_1() {
        let folder = tempfile::tempdir().unwrap();
        for (name, shift) in [("Picture_10.png", 10), ("Picture_2.PNG", 2), ("Picture_1.png", 1)] {
            let path = folder.path().join(name);
            colourful(5, 4, shift).save_with_format(path, ImageFormat::Png).unwrap();
        }
        std::fs::write(folder.path().join("labels.csv"), "1,2\n").unwrap();
        std::fs::write(folder.path().join("._Picture_1.png"), "not a picture").unwrap();
        std::fs::create_dir(folder.path().join("more.png")).unwrap();
        let pictures = read_all(&folder).unwrap();
        assert_eq!(pictures.names, ["Picture_1.png", "Picture_2.PNG", "Picture_10.png"]);
        assert_eq!(pictures.shape, Shape { height: 4, width: 5, channels: 3 });
        for (row, shift) in pictures.values.chunks_exact(60).zip([1, 2, 10]) {
            let expected: Vec<f32> = colourful(5, 4, shift).into_raw().iter().map(|p| f32::from(*p) / 255.0).collect();
            assert_eq!(row, expected);
        }
    }

    #[test]
    fn names_are_ordered_by_their_numbers() {
        let sorted = ["a", "a1", "a1b", "a2", "a02", "a10", "a10b1", "a10b9", "a10b10", "a99999999999999999999", "b"];
        let mut names = sorted;
        names.reverse();
        names.sort_by(|a, b| natural_order(a, b));
        // Equal numbers are ordered as texts.
        assert_eq!(names[3..5], ["a02", "a2"]);
        names.swap(3, 4);
        assert_eq!(names, sorted);
    }

    #[test]
    fn grey_pictures_have_one_channel_unless_one_of_them_is_in_colour() {
        let folder = tempfile::tempdir().unwrap();
        save(&folder, "a.png", GrayImage::from_fn(3, 2, |x, y| Luma([(x * 50 + y) as u8])));
        save(&folder, "b.png", image::ImageBuffer::<Luma<u16>, _>::from_pixel(3, 2, Luma([12_345u16])));
        let grey = read_all(&folder).unwrap();
        assert_eq!(grey.shape, Shape { height: 2, width: 3, channels: 1 });
        assert_eq!(grey.values[..3], [0.0, 50.0 / 255.0, 100.0 / 255.0]);
        assert!((grey.values[6] - 12_345.0 / 65_535.0).abs() < 1e-6, "16 bits are not cut to 8");
        save(&folder, "c.png", colourful(3, 2, 0));
        let mixed = read_all(&folder).unwrap();
        assert_eq!(mixed.shape.channels, 3);
        for (pixel, before) in mixed.values.chunks_exact(3).zip(&grey.values) {
            assert_eq!(pixel, [*before; 3]);
        }
    }

    #[test]
    fn jpeg_pictures_are_near_what_was_saved() {
        let folder = tempfile::tempdir().unwrap();
        save(&folder, "a.jpg", RgbImage::from_pixel(32, 16, Rgb([200, 100, 50])));
        let pictures = read_all(&folder).unwrap();
        assert_eq!(pictures.shape, Shape { height: 16, width: 32, channels: 3 });
        for pixel in pictures.values.chunks_exact(3) {
            let errors = pixel.iter().zip([200.0, 100.0, 50.0]).map(|(found, saved)| (255.0 * found - saved).abs());
            assert!(errors.fold(0.0, f32::max) < 4.0, "{pixel:?}");
        }
    }

    #[test]
    fn what_is_transparent_is_seen_before_white() {
        let folder = tempfile::tempdir().unwrap();
        let colours = [[255, 0, 0, 255], [255, 0, 0, 0], [0, 0, 0, 51]];
        save(&folder, "a.png", RgbaImage::from_fn(3, 1, |x, _| image::Rgba(colours[x as usize])));
        let values = read_all(&folder).unwrap().values;
        let expected = [1.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.8, 0.8, 0.8];
        assert!(values.iter().zip(expected).all(|(x, y)| (x - y).abs() < 1e-6), "{values:?}");
    }

    #[test]
    fn a_camera_held_upright_gives_an_upright_picture() {
        let folder = tempfile::tempdir().unwrap();
        let mut bytes = std::io::Cursor::new(Vec::new());
        // Dark on the left, bright on the right.
        let picture = GrayImage::from_fn(32, 16, |x, _| Luma([if x < 16 { 20 } else { 220 }]));
        picture.write_to(&mut bytes, ImageFormat::Jpeg).unwrap();
        // Exif with one entry, orientation (0x0112) = 6: to be turned by a quarter, clockwise.
        let exif = b"\xff\xe1\x00\x22Exif\0\0MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0";
        let saved = bytes.into_inner();
        let turned = [&saved[..2], exif, &saved[2..]].concat();
        std::fs::write(folder.path().join("a.jpg"), turned).unwrap();
        let pictures = read_all(&folder).unwrap();
        assert_eq!(pictures.shape, Shape { height: 32, width: 16, channels: 1 });
        assert!(pictures.values[0] < 0.2 && pictures.values[31 * 16] > 0.8, "the left is at the top");
    }

    #[test]
    fn scaled_pictures_are_averages() {
        let folder = tempfile::tempdir().unwrap();
        save(&folder, "a.png", GrayImage::from_raw(4, 2, vec![0, 20, 100, 200, 40, 60, 150, 50]).unwrap());
        let pictures = read(folder.path(), Some(Scale::Width(2)), 1).unwrap();
        assert_eq!(pictures.shape, Shape { height: 1, width: 2, channels: 1 });
        let expected = [30.0 / 255.0, 125.0 / 255.0];
        assert!(pictures.values.iter().zip(expected).all(|(x, y)| (x - y).abs() < 1e-6), "{:?}", pictures.values);
        assert!(read(folder.path(), Some(Scale::Width(9)), 1).unwrap_err().to_string().contains("--scale 9"));
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let message = |folder: &TempDir| read_all(folder).unwrap_err().to_string();
        std::fs::write(folder.path().join("labels.csv"), "1,2\n").unwrap();
        assert!(message(&folder).contains("holds no pictures"));
        save(&folder, "a.png", colourful(4, 3, 0));
        save(&folder, "b.png", colourful(3, 4, 0));
        let sizes = message(&folder);
        for part in ["a.png is 4 x 3 pixels", "b.png is 3 x 4"] {
            assert!(sizes.contains(part), "{sizes}");
        }
        save(&folder, "b.png", colourful(4, 3, 0));
        assert_eq!(read_all(&folder).unwrap().names.len(), 2);
        // Cut short, and no picture at all.
        let whole = std::fs::read(folder.path().join("b.png")).unwrap();
        for broken in [&whole[..whole.len() - 30], &whole[..10], b"hello", b""] {
            std::fs::write(folder.path().join("b.png"), broken).unwrap();
            let unreadable = message(&folder);
            assert!(unreadable.contains("b.png cannot be read as a picture"), "{unreadable}");
        }
        let missing = read(&folder.path().join("none"), None, 1).unwrap_err();
        assert!(format!("{missing:#}").contains("none cannot be read"), "{missing:#}");
    }

    #[test]
    fn the_tabletop_pictures_are_a_hundred_in_order() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/tabletop");
        if !folder.exists() {
            eprintln!("SKIPPED: ../shared/data/tabletop is not here");
            return;
        }
        let pictures = read(&folder, None, 0).unwrap();
        assert_eq!(pictures.shape, Shape { height: 240, width: 320, channels: 3 });
        let expected: Vec<String> = (1..=100).map(|i| format!("Picture_{i}.jpg")).collect();
        assert_eq!(pictures.names, expected);
        // The sum of squares about the mean, over N - 1, that is published for a base alone.
        let (n, d) = (100, pictures.shape.n_columns());
        let mut means = vec![0.0; d];
        for row in pictures.values.chunks_exact(d) {
            means.iter_mut().zip(row).for_each(|(mean, x)| *mean += f64::from(*x) / n as f64);
        }
        let square = |(x, mean): (&f32, &f64)| (f64::from(*x) - mean).powi(2);
        let total: f64 = pictures.values.chunks_exact(d).flat_map(|row| row.iter().zip(&means).map(square)).sum();
        assert!((total / 99.0 - 808.6).abs() < 0.1, "{}", total / 99.0);
        let rows = Rows::new(&pictures.values, d).unwrap();
        let pca = Pca::fit(rows, Keep::All, &Workers::new(0)).unwrap();
        assert!((pca.total_variance - total / 99.0).abs() < 1e-6, "{}", pca.total_variance);
        assert_eq!(pca.n_components(), 99);
        let small = read(&folder, Some("1/4".parse().unwrap()), 0).unwrap();
        assert_eq!(small.shape, Shape { height: 60, width: 80, channels: 3 });
        let block = (0..16).map(|i| pictures.values[((i / 4) * 320 + i % 4) * 3]).sum::<f32>() / 16.0;
        assert!((small.values[0] - block).abs() < 1e-6);
    }
}
