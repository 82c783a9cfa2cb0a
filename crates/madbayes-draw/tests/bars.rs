//! What a bar chart shows, and that no input breaks it.

use madbayes_draw::Bars;
use proptest::prelude::*;
use roxmltree::Document;

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| name.to_string()).collect()
}

/// The lengths of the bars; the first rectangle is the page.
fn lengths(svg: &str) -> Vec<f64> {
    let document = Document::parse(svg).expect("well-formed XML");
    let bars = document.descendants().filter(|node| node.has_tag_name("rect")).skip(1);
    bars.filter_map(|bar| bar.attribute("width")?.parse().ok()).collect()
}

#[test]
fn text_bars_are_as_long_as_their_values() {
    let names = names(&["north", "south", "sea", "none"]);
    let picture = Bars { title: "Sizes", value_name: "rows", names: &names, values: &[1000.0, 500.0, 1.0, 0.0] };
    let expected = "\
Sizes (rows)
north |#################### 1,000
south |########## 500
sea   |# 1
none  | 0
";
    let text = picture.text(33);
    assert_eq!(text, expected, "\n{text}");
}

#[test]
fn drawn_bars_are_in_proportion() {
    let svg = Bars { values: &[200.0, 100.0, -5.0, f64::NAN], ..Bars::default() }.svg();
    let lengths = lengths(&svg);
    assert_eq!(lengths.len(), 4);
    assert!(lengths[0] > 400.0);
    assert!((lengths[0] / 2.0 - lengths[1]).abs() <= 0.1);
    assert_eq!(lengths[2..], [0.0, 0.0]);
    assert!(svg.contains(">-5</text>") && svg.contains(">not finite</text>"));
}

#[test]
fn bars_beyond_the_fortieth_are_counted() {
    let values = vec![3.0; 1_300];
    let picture = Bars { values: &values, ..Bars::default() };
    assert_eq!(lengths(&picture.svg()).len(), 40);
    assert!(picture.svg().contains(">and 1,260 more</text>"));
    let text = picture.text(40);
    assert_eq!(text.lines().count(), 41);
    assert!(text.ends_with("and 1,260 more\n"));
}

#[test]
fn hostile_names_are_shown_as_text() {
    let hostile = "</script><script>\u{0}\u{1b}";
    let names = names(&[hostile]);
    let picture = Bars { title: hostile, value_name: hostile, names: &names, values: &[1.0] };
    let svg = picture.svg();
    let document = Document::parse(&svg).expect("well-formed XML");
    let shown = document.descendants().filter(|node| node.has_tag_name("text"));
    assert_eq!(shown.filter(|node| node.text() == Some("</script><script>")).count(), 3);
    assert!(!picture.text(80).contains('\u{1b}'));
}

#[test]
fn empty_bars_make_a_well_formed_picture() {
    let picture = Bars::default();
    assert!(Document::parse(&picture.svg()).is_ok());
    assert_eq!(picture.text(80), "");
}

proptest! {
    #[test]
    fn any_input_makes_a_well_formed_picture_no_wider_than_asked(
        names in prop::collection::vec(any::<String>(), 0..5),
        values in prop::collection::vec(any::<f64>(), 0..50),
        width in 0..100_usize,
    ) {
        let picture = Bars { title: "t", value_name: "", names: &names, values: &values };
        let svg = picture.svg();
        prop_assert!(Document::parse(&svg).is_ok(), "{}", svg);
        prop_assert!(lengths(&svg).iter().all(|length| (0.0..=700.0).contains(length)));
        let text = picture.text(width);
        prop_assert!(text.is_ascii());
        prop_assert!(text.lines().all(|line| line.len() <= width));
    }
}
