//! Traces as lines of letters.

use madbayes_draw::{Letters, Sparks};

fn series(traces: &[&[f64]]) -> Vec<(String, Vec<f64>)> {
    traces.iter().enumerate().map(|(i, values)| (format!("chain {}", i + 1), values.to_vec())).collect()
}

#[test]
fn letters_rise_with_the_values_on_one_scale_for_all() {
    let series = series(&[&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], &[7.0, 0.0, 3.5]]);
    let picture = Sparks { title: "Height", series: &series, apart: 0 };
    assert_eq!(picture.text(78, Letters::Ascii), "Height, from 0 to 7\n  chain 1 _.-:=+*#\n  chain 2 #_=\n");
    assert_eq!(picture.text(78, Letters::Blocks), "Height, from 0 to 7\n  chain 1 ▁▂▃▄▅▆▇█\n  chain 2 █▁▅\n");
}

#[test]
fn first_values_are_set_apart_and_do_not_set_the_scale() {
    let series = series(&[&[-900.0, -500.0, 1.0, 2.0, 3.0], &[900.0, 2.0, 2.0, 2.0, 2.0]]);
    let text = Sparks { title: "Fit", series: &series, apart: 2 }.text(78, Letters::Ascii);
    assert_eq!(text, "Fit, from 1 to 3\n  chain 1 __|_=#\n  chain 2 #=|===\n");
    // Where nothing comes after them, they do.
    let text = Sparks { title: "Fit", series: &series, apart: 9 }.text(78, Letters::Ascii);
    assert!(text.starts_with("Fit, from -900 to 900\n  chain 1 _"), "{text}");
}

#[test]
fn long_traces_are_averaged_into_the_width() {
    let rising: Vec<f64> = (0..10_000).map(f64::from).collect();
    let series = series(&[&rising]);
    let text = Sparks { title: "Rise", series: &series, apart: 5000 }.text(40, Letters::Ascii);
    let line = text.lines().nth(1).unwrap();
    assert!(line.len() <= 40, "{line}");
    let letters: String = line.chars().skip(10).collect();
    assert_eq!(letters.matches('|').count(), 1);
    let (before, after) = letters.split_once('|').unwrap();
    assert!(before.chars().all(|c| c == '_') && before.len().abs_diff(after.len()) <= 1, "{letters}");
    assert!(after.starts_with('_') && after.ends_with('#'), "{letters}");
}

#[test]
fn nothing_makes_it_panic() {
    for values in [vec![], vec![f64::NAN; 3], vec![f64::INFINITY, 1.0], vec![1e300, -1e300], vec![5.0; 4]] {
        for apart in [0, 1, 100] {
            for width in [0, 1, 30, 5000] {
                let series = [("a name".repeat(9), values.clone()), ("b".into(), vec![1.0])];
                let text = Sparks { title: "Any", series: &series, apart }.text(width, Letters::Ascii);
                assert_eq!(text.lines().count(), 3);
            }
        }
    }
    assert_eq!(Sparks::default().text(78, Letters::Ascii), ": no values\n");
    let flat = series(&[&[5.0; 4]]);
    assert_eq!(
        Sparks { title: "Flat", series: &flat, apart: 0 }.text(78, Letters::Ascii),
        "Flat, from 5 to 5\n  chain 1 ====\n"
    );
}
