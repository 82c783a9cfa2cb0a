//! Tables of numbers as shades.

use madbayes_draw::Heat;

#[test]
fn small_tables_show_names_and_numbers_and_escape_them() {
    let (rows, columns) = (["<b>".to_string(), "two".to_string()], ["a".to_string(), "&".to_string()]);
    let values = [1.0, -2.0, f64::NAN, 0.0];
    let svg =
        Heat { title: "t", value_name: "v", row_names: &rows, column_names: &columns, n_columns: 2, values: &values }
            .svg();
    let document = roxmltree::Document::parse(&svg).unwrap();
    let texts: Vec<&str> = document.descendants().filter(|n| n.has_tag_name("text")).filter_map(|n| n.text()).collect();
    for text in ["<b>", "two", "a", "&", "1", "-2"] {
        assert!(texts.contains(&text), "{text} in {texts:?}");
    }
    let cells = document.descendants().filter(|n| n.has_tag_name("rect")).count();
    assert_eq!(cells, 3, "the page, and the two numbers that are neither 0 nor missing");
}

#[test]
fn large_tables_are_thinned_and_say_so() {
    let values = vec![0.5; 500 * 500];
    let svg = Heat { n_columns: 500, values: &values, ..Heat::default() }.svg();
    assert!(svg.contains("showing 100 of 500 lines"));
    assert_eq!(svg.matches("<rect").count(), 100 * 100 + 1);
    roxmltree::Document::parse(&Heat::default().svg()).unwrap();
}
