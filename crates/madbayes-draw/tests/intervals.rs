//! What a picture of ranges shows, and that no input breaks it.

use madbayes_draw::Intervals;
use proptest::prelude::*;
use roxmltree::Document;

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| name.to_string()).collect()
}

/// Left end and length of each bar; the first rectangle is the page.
fn bars(svg: &str) -> Vec<(f64, f64)> {
    let document = Document::parse(svg).expect("well-formed XML");
    let bars = document.descendants().filter(|node| node.has_tag_name("rect")).skip(1);
    bars.filter_map(|bar| Some((bar.attribute("x")?.parse().ok()?, bar.attribute("width")?.parse().ok()?))).collect()
}

#[test]
fn text_ranges_stand_where_their_ends_are_and_equal_ratios_are_equally_long() {
    let picture = Intervals {
        title: "Penalties",
        axis_name: "penalty",
        names: &names(&["1", "2", "3 *", "5"]),
        ranges: &[(1e4, f64::INFINITY), (1e2, 1e4), (1.0, 1e2), (1.0, 1.0)],
        marked: Some(2),
    };
    let text = picture.text(45);
    let expected = "\
Penalties
  1 |                                      ==
  2 |                    ==================
3 * |  ##################
  5 |
    '----------------------------------------
       1       10       100     1,000
                     penalty
";
    assert_eq!(text, expected, "\n{text}");
}

#[test]
fn drawn_ranges_meet_where_their_ends_are_equal() {
    let ranges = [(50.0, f64::INFINITY), (10.0, 50.0), (2.0, 10.0), (0.0, 2.0)];
    let bars = bars(&Intervals { ranges: &ranges, marked: Some(1), ..Intervals::default() }.svg());
    assert_eq!(bars.len(), 4);
    for pair in bars.windows(2) {
        assert!((pair[1].0 + pair[1].1 - pair[0].0).abs() <= 0.2, "{bars:?}");
    }
    assert!((bars[1].1 - bars[2].1).abs() <= 0.2, "both have a ratio of 5: {bars:?}");
}

#[test]
fn ranges_beyond_the_fortieth_are_counted() {
    let ranges = vec![(1.0, 2.0); 100];
    let picture = Intervals { ranges: &ranges, ..Intervals::default() };
    assert_eq!(bars(&picture.svg()).len(), 40);
    assert!(picture.svg().contains(">and 60 more</text>"));
    assert!(picture.text(60).contains("and 60 more\n"));
}

proptest! {
    #[test]
    fn no_input_breaks_it(
        ranges in prop::collection::vec((any::<f64>(), any::<f64>()), 0..50), width in 0..200_usize, marked in 0..60_usize,
    ) {
        let hostile = ["<b>\u{0}\u{1b}".to_string()];
        let picture = Intervals {
            title: "</svg>", axis_name: &hostile[0], names: &hostile, ranges: &ranges, marked: Some(marked),
        };
        prop_assert!(Document::parse(&picture.svg()).is_ok());
        prop_assert!(picture.text(width).lines().all(|line| line.len() <= width && line.is_ascii()));
    }
}
