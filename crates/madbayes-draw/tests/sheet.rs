//! What the pixels of a picture show, and that no input breaks it.

use madbayes_draw::FeatureImages;
use proptest::prelude::*;

/// Width, height and channels of a PNG, and its pixels.
fn decode(file: &[u8]) -> (usize, usize, usize, Vec<u8>) {
    let mut reader = png::Decoder::new(std::io::Cursor::new(file)).read_info().expect("a PNG file");
    let mut pixels = vec![0; reader.output_buffer_size().expect("of a size that fits")];
    let info = reader.next_frame(&mut pixels).expect("a whole PNG file");
    (info.width as usize, info.height as usize, info.color_type.samples(), pixels)
}

/// Large enough not to be enlarged.
const WIDTH: usize = 120;
const COLOUR: FeatureImages = FeatureImages { height: 2, width: WIDTH, channels: 3 };
const GREY: FeatureImages = FeatureImages { height: 2, width: WIDTH, channels: 1 };

#[test]
fn a_picture_has_its_own_pixels_and_is_cut_at_black_and_white() {
    let values: Vec<f64> = (0..2 * WIDTH * 3).map(|i| i as f64 / 255.0 - 0.2).collect();
    let (width, height, channels, pixels) = decode(&COLOUR.picture(&values));
    assert_eq!((width, height, channels), (WIDTH, 2, 3));
    let expected: Vec<u8> = (0..2 * WIDTH as i64 * 3).map(|i| (i - 51).clamp(0, 255) as u8).collect();
    assert_eq!(pixels, expected);
}

#[test]
fn a_feature_shows_what_it_adds_beside_what_it_takes_away() {
    let mut values = vec![0.0; 2 * WIDTH];
    (values[0], values[1], values[WIDTH]) = (0.1, -0.2, 0.2);
    let (width, height, channels, pixels) = decode(&GREY.feature(&values));
    assert_eq!((width, height, channels), (2 * WIDTH + 4, 2, 1));
    let at = |y: usize, x: usize| pixels[y * width + x];
    assert_eq!([at(0, 0), at(0, 1), at(1, 0)], [128, 0, 255], "adds, brightest at the largest entry");
    let right = WIDTH + 4;
    assert_eq!([at(0, right), at(0, right + 1), at(1, right)], [0, 255, 0], "takes away, in the same units");
    assert!((WIDTH..right).all(|x| at(0, x) == 255 && at(1, x) == 255), "the gap is white");
}

#[test]
fn features_are_in_lines_of_eight_with_the_parts_below_each_other() {
    let features: Vec<Vec<f64>> = (0..10).map(|i| vec![if i % 2 == 0 { 1.0 } else { -1.0 }; 2 * WIDTH]).collect();
    let (width, height, _, pixels) = decode(&GREY.features(&features));
    assert_eq!((width, height), (8 * WIDTH + 7 * 4, 4 * 2 + 3 * 4 + 12));
    let tile = |down: usize, right: usize| pixels[(down * 6 + down / 2 * 12) * width + right * (WIDTH + 4)];
    for i in 0..10 {
        let (adds, takes) = (tile(i / 8 * 2, i % 8), tile(i / 8 * 2 + 1, i % 8));
        assert_eq!((adds, takes), if i % 2 == 0 { (255, 0) } else { (0, 255) });
    }
    let many = vec![vec![1.0; 2 * WIDTH]; 100];
    assert_eq!(decode(&GREY.features(&many)).1, 10 * 2 + 9 * 4 + 4 * 12, "the first forty are shown");
}

#[test]
fn a_sheet_has_each_reconstruction_below_its_original() {
    let originals = [vec![0.2f32; 2 * WIDTH], vec![0.4; 2 * WIDTH]];
    let originals: Vec<&[f32]> = originals.iter().map(Vec::as_slice).collect();
    let (width, height, _, pixels) = decode(&GREY.sheet(&originals, &[vec![0.6; 2 * WIDTH], vec![0.8; 2 * WIDTH]]));
    assert_eq!((width, height), (2 * WIDTH + 4, 2 * 2 + 4));
    let corners = [(0, 0), (0, WIDTH + 4), (6, 0), (6, WIDTH + 4)].map(|(y, x)| pixels[y * width + x]);
    assert_eq!(corners, [51, 102, 153, 204]);
}

#[test]
fn small_pictures_are_enlarged_and_large_ones_averaged() {
    let small = FeatureImages { height: 1, width: 2, channels: 1 };
    let (width, height, _, pixels) = decode(&small.picture(&[0.0, 1.0]));
    assert_eq!((width, height), (200, 100));
    assert!(pixels.chunks(200).all(|row| row[..100].iter().all(|p| *p == 0) && row[100..].iter().all(|p| *p == 255)));
    let large = FeatureImages { height: 1, width: 801, channels: 1 };
    let values: Vec<f32> = (0..801).map(|x| (x % 3) as f32 / 2.0).collect();
    let (width, height, _, pixels) = decode(&large.sheet(&[&values], &[vec![0.0; 801]]));
    assert_eq!((width, height), (267, 1 + 4 + 1));
    assert!(pixels[..267].iter().all(|p| *p == 128), "0, 1/2 and 1 average to 1/2");
}

#[test]
fn what_is_missing_is_grey() {
    let mut values = vec![1.0; 2 * WIDTH];
    (values[0], values[1]) = (f64::NAN, f64::INFINITY);
    assert_eq!(decode(&GREY.picture(&values)).3[..3], [128, 128, 255]);
    assert_eq!(decode(&GREY.feature(&values)).3[..3], [128, 128, 255], "infinity is no unit");
    let (width, _, _, pixels) = decode(&GREY.sheet(&[&vec![1.0; 2 * WIDTH]], &[] as &[Vec<f64>]));
    assert_eq!((pixels[0], pixels[6 * width]), (255, 128), "no reconstruction");
}

proptest! {
    #[test]
    fn any_input_makes_a_readable_picture(
        height in prop_oneof![0..9_usize, Just(usize::MAX)],
        width in prop_oneof![0..9_usize, Just(usize::MAX)],
        channels in prop_oneof![0..5_usize, Just(usize::MAX)],
        values in prop::collection::vec(any::<f64>(), 0..300),
        count in 0..12_usize,
    ) {
        let images = FeatureImages { height, width, channels };
        let narrow: Vec<f32> = values.iter().map(|x| *x as f32).collect();
        let many = vec![values.clone(); count];
        for file in [
            images.picture(&values),
            images.feature(&values),
            images.features(&many),
            images.sheet(&vec![&narrow[..]; count], &many),
        ] {
            let (width, height, channels, pixels) = decode(&file);
            prop_assert_eq!(pixels.len(), width * height * channels);
        }
    }
}
