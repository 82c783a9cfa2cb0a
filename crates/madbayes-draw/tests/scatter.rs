//! What a scatter plot shows, and that no input breaks it.

use madbayes_draw::Scatter;
use proptest::prelude::*;
use roxmltree::Document;

const HOSTILE: &str = "</script><script>alert('1')</script> & \"quoted\" \u{0}\u{1b}[31m\u{ffff}";

fn texts(svg: &str) -> Vec<String> {
    let document = Document::parse(svg).expect("well-formed XML");
    let shown = document.descendants().filter(|node| node.has_tag_name("text"));
    shown.filter_map(|node| node.text().map(str::to_string)).collect()
}

/// How many markers are drawn, those of the legend included.
fn markers(svg: &str) -> usize {
    let document = Document::parse(svg).expect("well-formed XML");
    let groups = document.descendants().filter(|node| node.has_tag_name("g"));
    groups.map(|group| group.children().filter(roxmltree::Node::is_element).count()).sum()
}

fn size(text: &str) -> (usize, usize) {
    (text.lines().map(str::len).max().unwrap_or(0), text.lines().count())
}

#[test]
fn hostile_names_are_shown_as_text() {
    let names = [HOSTILE.to_string(), "b".to_string()];
    let picture = Scatter {
        title: HOSTILE,
        x_name: HOSTILE,
        y_name: HOSTILE,
        points: &[(0.0, 0.0), (1.0, 1.0)],
        groups: &[0, 1],
        centres: &[],
        names: &names,
        ..Scatter::default()
    };
    let svg = picture.svg();
    let document = Document::parse(&svg).expect("well-formed XML");
    assert!(!svg.contains("<script"));
    assert!(document.descendants().all(|node| !node.has_tag_name("script")));
    let said = "</script><script>alert('1')</script> & \"quoted\" [31m";
    assert_eq!(texts(&svg).iter().filter(|text| *text == said).count(), 3, "title and axis names");
    assert!(texts(&svg).iter().any(|text| text.starts_with("</script>") && text.ends_with('…')), "the legend");
    let text = picture.text(100, 30);
    assert!(text.contains(said) && !text.contains('\u{1b}') && !text.contains('\0'));
}

#[test]
fn known_points_fall_into_the_right_cells() {
    let picture = Scatter {
        title: "Corners",
        x_name: "east",
        y_name: "north",
        points: &[(0.0, 0.0), (10.0, 0.0), (0.0, 10.0), (10.0, 10.0), (5.0, 5.0), (5.0, 5.0), (5.0, 5.0)],
        groups: &[0, 1, 2, 3, 4, 5, 5],
        centres: &[(5.0, 0.0)],
        names: &[],
        ..Scatter::default()
    };
    // Eleven columns and eleven rows between the borders, so that every whole number has a cell.
    let expected = "\
Corners
north
   .-----------.
10 |c         d|
   |           |
   |           |
   |           |
   |           |
   |     f     |
   |           |
   |           |
   |           |
   |           |
 0 |a    +    b|
   '-----------'
    0  east  10
+ centre
a cluster 0
b cluster 1
c cluster 2
and 3 more
";
    let text = picture.text(16, 21);
    assert_eq!(text, expected, "\n{text}");
}

#[test]
fn a_tie_in_a_cell_goes_to_the_lower_cluster_in_any_row_order() {
    for groups in [[7, 3], [3, 7]] {
        let picture = Scatter { points: &[(1.0, 1.0), (1.0, 1.0)], groups: &groups, ..Scatter::default() };
        assert!(picture.text(9, 5).contains('d'), "{groups:?}");
        assert!(!picture.text(9, 5).contains('h'), "{groups:?}");
    }
}

#[test]
fn text_has_exactly_the_size_asked_for() {
    let names = ["a rather long name of a cluster".to_string(), "b".to_string()];
    let picture = Scatter {
        title: "Title",
        x_name: "x",
        y_name: "y",
        points: &[(0.0, 0.0), (1.0, 1.0)],
        groups: &[0, 1],
        centres: &[(0.5, 0.5)],
        names: &names,
        ..Scatter::default()
    };
    for width in 12..90 {
        for height in 6..40 {
            assert_eq!(size(&picture.text(width, height)), (width, height));
        }
    }
}

#[test]
fn text_is_plain_ascii() {
    let names = ["größe".to_string(), "大".to_string()];
    let picture = Scatter {
        title: "τίτλος",
        points: &[(0.0, 0.0), (1.0, 1.0)],
        groups: &[0, 1],
        names: &names,
        ..Scatter::default()
    };
    let text = picture.text(60, 20);
    assert!(text.chars().all(|c| c == '\n' || (' '..='~').contains(&c)), "{text}");
    assert!(text.contains("a gr??e"));
}

#[test]
fn points_that_are_not_finite_are_left_out_and_counted() {
    let picture = Scatter {
        points: &[(f64::NAN, 0.0), (0.0, f64::INFINITY), (1.0, 2.0), (3.0, 4.0), (-f64::MAX, 0.0)],
        centres: &[(f64::NAN, 1.0)],
        ..Scatter::default()
    };
    let svg = picture.svg();
    assert_eq!(markers(&svg), 2);
    assert!(texts(&svg).contains(&"3 rows left out: not finite or beyond 1e300".to_string()));
    assert!(!svg.contains("NaN") && !svg.contains("inf\""));
    assert!(picture.text(60, 20).starts_with("3 rows left out: not finite or beyond 1e300"));
}

#[test]
fn many_points_are_thinned_and_the_picture_says_so() {
    let points: Vec<(f64, f64)> = (0..100_000).map(|index| (f64::from(index), f64::from(index % 7))).collect();
    let picture = Scatter { points: &points, ..Scatter::default() };
    let svg = picture.svg();
    assert_eq!(markers(&svg), 20_000);
    assert!(texts(&svg).contains(&"showing 20,000 of 100,000 rows".to_string()));
    assert_eq!(svg, picture.svg());
    let all = Scatter { points: &points[..20_000], ..Scatter::default() };
    assert_eq!(markers(&all.svg()), 20_000);
    assert!(!all.svg().contains("showing"));
}

#[test]
fn the_legend_names_twenty_clusters_and_counts_the_others() {
    let points: Vec<(f64, f64)> = (0..25).map(|index| (f64::from(index), 0.0)).collect();
    let groups: Vec<u32> = (0..25).collect();
    let names: Vec<String> = (0..25).map(|index| format!("town {index} (1)")).collect();
    let picture = Scatter { points: &points, groups: &groups, centres: &points, names: &names, ..Scatter::default() };
    let texts = texts(&picture.svg());
    assert_eq!(texts.iter().filter(|text| text.starts_with("town")).count(), 20);
    assert!(texts.contains(&"town 19 (1)".to_string()) && texts.contains(&"and 5 more".to_string()));
    let text = picture.text(120, 40);
    assert!(text.contains("t town 19 (1)") && text.contains("and 5 more"), "{text}");
}

#[test]
fn centres_outside_the_points_are_inside_the_picture() {
    let picture = Scatter { points: &[(0.0, 0.0), (1.0, 1.0)], centres: &[(100.0, -50.0)], ..Scatter::default() };
    assert!(texts(&picture.svg()).contains(&"100".to_string()));
    let text = picture.text(40, 12);
    assert_eq!(text.matches('+').count(), 2, "the centre and its legend entry:\n{text}");
}

#[test]
fn clusters_with_the_same_colour_have_different_markers() {
    let picture = Scatter { points: &[(0.0, 0.0), (1.0, 1.0)], groups: &[0, 10], ..Scatter::default() };
    let svg = picture.svg();
    let document = Document::parse(&svg).expect("well-formed XML");
    let groups: Vec<_> = document.descendants().filter(|node| node.has_tag_name("g")).collect();
    assert_eq!(groups[0].attribute("fill"), groups[1].attribute("fill"));
    let tag = |index: usize| groups[index].first_element_child().expect("a marker").tag_name().name().to_string();
    assert_eq!((tag(0), tag(1)), ("circle".to_string(), "path".to_string()));
}

#[test]
fn small_clusters_are_drawn_over_large_ones() {
    let picture = Scatter { points: &[(0.0, 0.0); 5], groups: &[1, 0, 0, 1, 1], ..Scatter::default() };
    let svg = picture.svg();
    let document = Document::parse(&svg).expect("well-formed XML");
    let groups = document.descendants().filter(|node| node.has_tag_name("g"));
    let sizes: Vec<usize> = groups.map(|group| group.children().filter(roxmltree::Node::is_element).count()).collect();
    assert_eq!(sizes, [3, 2, 1, 1], "two clusters, then their signs in the legend");
}

#[test]
fn degenerate_points_make_well_formed_pictures() {
    let many = vec![(2.5, 2.5); 100];
    let cases: [&[(f64, f64)]; 8] = [
        &[],
        &[(3.0, 4.0)],
        &many,
        &[(1.0, 0.0), (1.0, 5.0), (1.0, 9.0)],
        &[(f64::NAN, f64::NAN)],
        &[(-1e300, 1e300), (1e300, -1e300)],
        &[(f64::MAX, f64::MIN), (f64::MIN_POSITIVE, 5e-324)],
        &[(1e16, 0.0), (1e16 + 2.0, 1e-320)],
    ];
    for points in cases {
        let picture = Scatter { points, centres: points, ..Scatter::default() };
        let svg = picture.svg();
        Document::parse(&svg).unwrap_or_else(|error| panic!("{points:?}: {error}"));
        assert!(!svg.contains("NaN") && !svg.contains("inf\""), "{points:?}");
        for (width, height) in [(0, 0), (0, 5), (5, 0), (1, 1), (3, 2), (12, 6), (40, 7), (13, 40), (80, 24)] {
            assert_eq!(picture.text(width, height).lines().count(), height, "{points:?} at {width} by {height}");
        }
    }
    let huge = Scatter { points: &[(0.0, 0.0)], ..Scatter::default() }.text(usize::MAX, usize::MAX);
    assert_eq!(size(&huge), (1000, 1000));
}

proptest! {
    #[test]
    fn any_input_makes_a_well_formed_picture_of_the_size_asked_for(
        points in prop::collection::vec((any::<f64>(), any::<f64>()), 0..30),
        groups in prop::collection::vec(any::<u32>(), 0..30),
        centres in prop::collection::vec((any::<f64>(), -10.0..10.0_f64), 0..4),
        names in prop::collection::vec(any::<String>(), 0..4),
        title in any::<String>(),
        width in 0..70_usize,
        height in 0..40_usize,
    ) {
        let picture = Scatter {
            title: &title, x_name: &title, y_name: &title, points: &points, groups: &groups, centres: &centres, names: &names, ..Scatter::default()
        };
        let svg = picture.svg();
        prop_assert!(Document::parse(&svg).is_ok(), "{}", svg);
        let text = picture.text(width, height);
        prop_assert!(text.is_ascii());
        prop_assert_eq!(text.lines().count(), height);
        prop_assert!(text.lines().all(|line| line.len() <= width));
    }

    #[test]
    fn every_point_is_drawn_inside_the_picture(
        points in prop::collection::vec((-1e6..1e6_f64, -1e-6..1e-6_f64), 1..30),
    ) {
        let svg = Scatter { points: &points, ..Scatter::default() }.svg();
        let document = Document::parse(&svg).expect("well-formed XML");
        let circles: Vec<_> = document.descendants().filter(|node| node.has_tag_name("circle")).collect();
        prop_assert_eq!(circles.len(), points.len());
        for circle in circles {
            let place = |name| circle.attribute(name).and_then(|value| value.parse::<f64>().ok()).expect("a number");
            prop_assert!((20.0..=700.0).contains(&place("cx")) && (50.0..=500.0).contains(&place("cy")));
        }
    }
}
