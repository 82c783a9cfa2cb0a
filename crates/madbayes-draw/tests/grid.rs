//! What a grid of bits shows, and that no input breaks it.

use madbayes_draw::Grid;
use proptest::prelude::*;
use roxmltree::Document;

/// Left edge, upper edge, width and height of every bar; the first rectangle is the page.
fn bars(svg: &str) -> Vec<[f64; 4]> {
    let document = Document::parse(svg).expect("well-formed XML");
    let bars = document.descendants().filter(|node| node.has_tag_name("rect")).skip(1);
    bars.map(|bar| ["x", "y", "width", "height"].map(|name| bar.attribute(name).unwrap().parse().unwrap())).collect()
}

fn bits(rows: &[&str]) -> Vec<bool> {
    rows.iter().flat_map(|row| row.chars().map(|c| c == '#')).collect()
}

#[test]
fn text_shows_a_mark_for_every_bit() {
    let cells = bits(&["##..", "#.#.", "...#"]);
    let picture = Grid { title: "Dishes", row_name: "row", column_name: "dish", n_columns: 4, cells: &cells };
    assert_eq!(picture.text(80), "Dishes\n##..\n#.#.\n...#\n");
    assert_eq!(picture.text(3), "Dis\n##.\n#.#\n...\nand\n", "a narrow page is kept");
    let picture = Grid { title: "", ..picture };
    assert_eq!(picture.text(80), "##..\n#.#.\n...#\n");
}

#[test]
fn rows_and_columns_that_do_not_fit_are_counted() {
    let cells = vec![true; 1041 * 81];
    let picture = Grid { row_name: "row", column_name: "feature", n_columns: 81, cells: &cells, ..Grid::default() };
    let text = picture.text(80);
    assert_eq!(text.lines().count(), 41);
    assert!(text.ends_with("#\nand 1,001 more rows and 1 more feature\n"), "{text}");
    assert!(picture.svg().contains(">and 641 more rows</text>"));
}

#[test]
fn drawn_cells_lie_where_their_bits_are() {
    let cells = bits(&["##..", "#.#.", "...#", "...."]);
    let bars = bars(&Grid { n_columns: 4, cells: &cells, ..Grid::default() }.svg());
    let [left, top, _, side] = bars[0];
    let places: Vec<[f64; 3]> =
        bars.iter().map(|bar| [(bar[0] - left) / side, (bar[1] - top) / side, bar[2] / side]).collect();
    // Column, row and number of neighbours.
    assert_eq!(places, [[0.0, 0.0, 2.0], [0.0, 1.0, 1.0], [2.0, 1.0, 1.0], [3.0, 2.0, 1.0]]);
}

#[test]
fn hostile_names_are_shown_as_text() {
    let hostile = "</script><script>\u{0}\u{1b}";
    let cells = [true; 500];
    let picture = Grid { title: hostile, row_name: hostile, column_name: hostile, n_columns: 1, cells: &cells };
    let svg = picture.svg();
    assert!(Document::parse(&svg).is_ok() && !svg.contains("<script"), "{svg}");
    assert!(picture.text(60).chars().all(|c| c == '\n' || (' '..='~').contains(&c)));
}

proptest! {
    #[test]
    fn no_matrix_breaks_a_picture(n_columns in 0usize..400, cells in prop::collection::vec(any::<bool>(), 0..2000), width in 0usize..120) {
        let picture = Grid { title: "t", row_name: "row", column_name: "column", n_columns, cells: &cells };
        prop_assert!(Document::parse(&picture.svg()).is_ok());
        prop_assert!(picture.text(width).lines().all(|line| line.chars().count() <= width));
    }
}
