//! What a picture of states shows, and that no input breaks it.

use madbayes_draw::Segments;
use proptest::prelude::*;
use roxmltree::Document;

/// Left edge, width and colour of the bands; the first rectangle is the page, the last are the legend.
fn bands(svg: &str, n_states: usize) -> Vec<(f64, f64, String)> {
    let document = Document::parse(svg).expect("well-formed XML");
    let all: Vec<(f64, f64, String)> = document
        .descendants()
        .filter(|node| node.has_tag_name("rect"))
        .skip(1)
        .map(|node| {
            let number = |name: &str| node.attribute(name).and_then(|text| text.parse().ok()).expect("a number");
            (number("x"), number("width"), node.attribute("fill").expect("a colour").to_string())
        })
        .collect();
    all[..all.len() - n_states].to_vec()
}

#[test]
fn letters_follow_the_states() {
    let states = [0, 0, 0, 1, 1, 2, 2, 2, 2, 0];
    let picture = Segments { title: "States", names: &[], sequences: &[&states] };
    assert_eq!(picture.text(40), "States\n 1 aaabbcccca\n");
    let names = ["one".to_string(), "b".to_string()];
    let picture = Segments { title: "", names: &names, sequences: &[&states, &states[3..8]] };
    assert_eq!(picture.text(14), "one aaabbcccca\n  b bbccc\n");
}

#[test]
fn a_long_sequence_alone_takes_several_lines_and_shows_the_most_frequent_state() {
    let states: Vec<u32> = (0..8000).map(|t| if t % 10 == 9 { 1 } else { t / 4000 * 2 }).collect();
    let text = Segments { title: "", names: &[], sequences: &[&states] }.text(45);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 8);
    assert_eq!(lines[0], format!("{:>4} {}", 1, "a".repeat(40)));
    assert_eq!(lines[4], format!("{:>4} {}", 4001, "c".repeat(40)));
}

#[test]
fn bands_are_as_long_as_the_runs() {
    let states = [0, 0, 0, 0, 1, 1, 2, 2];
    let svg = Segments { title: "States", names: &[], sequences: &[&states, &states[..4]] }.svg();
    let bands = bands(&svg, 3);
    assert_eq!(bands.len(), 4);
    assert!((bands[0].1 - 2.0 * bands[1].1).abs() < 0.2 && (bands[3].1 - bands[0].1).abs() < 0.2);
    assert!((bands[1].0 - bands[0].0 - bands[0].1).abs() < 0.2);
    assert_eq!(bands[0].2, bands[3].2);
    assert_ne!(bands[0].2, bands[1].2);
    assert!(svg.contains(">b (1)</text>"));
}

#[test]
fn states_beyond_the_tenth_colour_have_lines_along_their_bands() {
    let lines =
        |states: &[u32]| Segments { title: "", names: &[], sequences: &[states] }.svg().matches("<path").count();
    assert_eq!(lines(&[0, 9]), 0);
    // One in the band and one in the legend of each of 10 to 12.
    assert_eq!(lines(&[10, 11, 12]), 6);
    // Two in the band of 20, which the legend has no room for.
    assert_eq!(lines(&[20]) - lines(&[19]), 2 - 1);
}

#[test]
fn sequences_beyond_the_fortieth_are_counted() {
    let states = [0, 1];
    let sequences = vec![&states[..]; 45];
    let picture = Segments { title: "", names: &[], sequences: &sequences };
    assert!(picture.svg().contains(">and 5 more sequences</text>"));
    assert_eq!(picture.text(30).lines().last(), Some("and 5 more sequences"));
}

proptest! {
    #[test]
    fn no_input_breaks_it(
        sequences in proptest::collection::vec(proptest::collection::vec(0u32..80, 0..60), 0..5),
        title in ".{0,20}",
        width in 0usize..120,
    ) {
        let views: Vec<&[u32]> = sequences.iter().map(Vec::as_slice).collect();
        let picture = Segments { title: &title, names: std::slice::from_ref(&title), sequences: &views };
        let svg = picture.svg();
        prop_assert!(Document::parse(&svg).is_ok());
        let text = picture.text(width);
        prop_assert!(text.is_ascii() && text.lines().all(|line| line.len() <= width.max(1)));
    }
}
