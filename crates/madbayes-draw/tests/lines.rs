//! What a line chart shows, and that no input breaks it.

use madbayes_draw::Lines;
use proptest::prelude::*;
use roxmltree::Document;

fn series(name: &str, values: &[f64]) -> (String, Vec<f64>) {
    (name.to_string(), values.to_vec())
}

/// The path data of the lines, those of the legend included.
fn paths(svg: &str) -> Vec<String> {
    let document = Document::parse(svg).expect("well-formed XML");
    let lines = document.descendants().filter(|node| node.attribute("stroke-dasharray").is_some());
    lines.filter_map(|node| node.attribute("d").map(str::to_string)).collect()
}

#[test]
fn a_falling_trace_runs_from_the_upper_left_to_the_lower_right() {
    let traces = [series("objective", &[3.0, 2.0, 1.0])];
    let picture = Lines { title: "Objective", x_name: "pass", y_name: "cost", series: &traces };
    let expected = "\
Objective
cost
  .---------------.
3 |**             |
  |  **           |
  |    **         |
  |      ***      |
  |         **    |
  |           **  |
1 |             **|
  '---------------'
   1    pass     3
";
    let text = picture.text(19, 12);
    assert_eq!(text, expected, "\n{text}");
}

#[test]
fn a_gap_in_the_values_is_a_gap_in_the_line() {
    let traces = [series("a", &[1.0, 2.0, f64::NAN, 4.0, f64::INFINITY, 2.0])];
    let picture = Lines { series: &traces, ..Lines::default() };
    let paths = paths(&picture.svg());
    assert_eq!(paths.len(), 1);
    assert_eq!(paths[0].matches('M').count(), 3, "{}", paths[0]);
    assert_eq!(paths[0].matches('L').count(), 1, "{}", paths[0]);
    assert!(!paths[0].contains("NaN") && !paths[0].contains("inf"));
    let note = "2 values left out: not finite or beyond 1e300";
    assert!(picture.svg().contains(note) && picture.text(60, 20).starts_with(note));
}

#[test]
fn several_traces_have_their_own_letters_and_a_legend() {
    let traces = [series("first chain", &[1.0, 1.0]), series("second chain", &[2.0, 2.0])];
    let picture = Lines { series: &traces, ..Lines::default() };
    let text = picture.text(50, 20);
    assert!(text.contains("a first chain   b second chain"), "{text}");
    assert!(text.contains("aaaaa") && text.contains("bbbbb"), "{text}");
    let svg = picture.svg();
    assert!(svg.contains(">first chain</text>") && svg.contains(">second chain</text>"));
    assert_eq!(paths(&svg).len(), 4, "two lines and two samples in the legend");
}

#[test]
fn counts_of_clusters_have_whole_ticks() {
    let traces = [series("clusters", &[3.0, 4.0, 4.0])];
    let svg = Lines { series: &traces, ..Lines::default() }.svg();
    assert!(svg.contains(">3</text>") && svg.contains(">4</text>") && !svg.contains(">3.5</text>"));
}

#[test]
fn hostile_names_are_shown_as_text() {
    let hostile = "</script><script>\u{0}\u{1b}";
    let traces = [series(hostile, &[1.0]), series("b", &[2.0])];
    let picture = Lines { title: hostile, x_name: hostile, y_name: hostile, series: &traces };
    let svg = picture.svg();
    let document = Document::parse(&svg).expect("well-formed XML");
    let shown = document.descendants().filter(|node| node.has_tag_name("text"));
    assert_eq!(shown.filter(|node| node.text() == Some("</script><script>")).count(), 4);
}

#[test]
fn long_traces_are_thinned_and_the_picture_says_so() {
    let traces = [series("a", &vec![1.5; 50_000])];
    let svg = Lines { series: &traces, ..Lines::default() }.svg();
    assert!(svg.contains("showing 16,667 of 50,000 values"));
    assert_eq!(paths(&svg)[0].matches('L').count(), 16_666);
}

#[test]
fn degenerate_traces_make_well_formed_pictures() {
    let cases: [Vec<(String, Vec<f64>)>; 6] = [
        vec![],
        vec![series("", &[])],
        vec![series("", &[f64::NAN]), series("", &[])],
        vec![series("", &[7.0])],
        vec![series("", &[-1e300, 1e300])],
        (0..70).map(|index| series("name", &[f64::from(index)])).collect(),
    ];
    for traces in &cases {
        let picture = Lines { title: "t", x_name: "x", y_name: "y", series: traces };
        Document::parse(&picture.svg()).unwrap_or_else(|error| panic!("{traces:?}: {error}"));
        for (width, height) in [(0, 0), (0, 5), (5, 0), (1, 1), (12, 6), (13, 40), (80, 24)] {
            assert_eq!(picture.text(width, height).lines().count(), height, "{traces:?} at {width} by {height}");
        }
    }
}

proptest! {
    #[test]
    fn any_input_makes_a_well_formed_picture_of_the_size_asked_for(
        traces in prop::collection::vec((any::<String>(), prop::collection::vec(any::<f64>(), 0..20)), 0..5),
        title in any::<String>(),
        width in 12..70_usize,
        height in 6..40_usize,
    ) {
        let picture = Lines { title: &title, x_name: &title, y_name: &title, series: &traces };
        let svg = picture.svg();
        prop_assert!(Document::parse(&svg).is_ok(), "{}", svg);
        let text = picture.text(width, height);
        prop_assert!(text.is_ascii());
        prop_assert_eq!(text.lines().count(), height);
        prop_assert_eq!(text.lines().map(str::len).max(), Some(width));
    }
}
