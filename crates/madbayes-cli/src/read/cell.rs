//! What one cell of a text file says: a number, nothing, or text.

/// The meaning of a cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Cell {
    /// A number; infinite when it was written so or does not fit.
    Number(f64),
    /// Empty, or one of the usual words for a missing value.
    Missing,
    /// Anything else.
    Text,
}

const MISSING: [&str; 7] = ["NA", "N/A", "#N/A", "null", "None", "?", "-"];

/// Numbers with a decimal comma are rewritten without taking memory up to this length.
const USUAL_LENGTH: usize = 64;

/// Reads a cell; with `decimal_comma`, `1,5` is a number too.
pub(super) fn read_cell(raw: &[u8], decimal_comma: bool) -> Cell {
    let trimmed = raw.trim_ascii();
    if trimmed.is_empty() {
        return Cell::Missing;
    }
    let Ok(text) = str::from_utf8(trimmed) else { return Cell::Text };
    if let Ok(number) = text.parse::<f64>() {
        return if number.is_nan() { Cell::Missing } else { Cell::Number(number) };
    }
    if MISSING.iter().any(|word| word.eq_ignore_ascii_case(text)) {
        return Cell::Missing;
    }
    if decimal_comma && let Some(number) = with_decimal_comma(text) {
        return Cell::Number(number);
    }
    Cell::Text
}

fn with_decimal_comma(text: &str) -> Option<f64> {
    let comma = text.find(',')?;
    if text.contains('.') {
        return None;
    }
    let mut buffer = [0; USUAL_LENGTH];
    let Some(target) = buffer.get_mut(..text.len()) else { return text.replacen(',', ".", 1).parse().ok() };
    target.copy_from_slice(text.as_bytes());
    target[comma] = b'.';
    str::from_utf8(target).ok()?.parse().ok()
}

/// The text of a label: trimmed, and empty when the cell says that it is missing.
///
/// A bare `-`, `?` or `None` is kept, for it may well be the name of a class.
pub(super) fn label_text(raw: &[u8]) -> String {
    let text = text_of(raw);
    let missing = ["NA", "N/A", "#N/A", "NaN", "null"].iter().any(|word| word.eq_ignore_ascii_case(&text));
    if missing { String::new() } else { text }
}

/// The trimmed bytes as text: UTF-8, else each byte as its Latin-1 character so that nothing is lost.
pub(super) fn text_of(raw: &[u8]) -> String {
    let trimmed = raw.trim_ascii();
    match str::from_utf8(trimmed) {
        Ok(text) => text.to_owned(),
        Err(_) => trimmed.iter().map(|&byte| char::from(byte)).collect(),
    }
}

/// Text for a message: on one line and not too long.
pub(super) fn shorten(text: &str) -> String {
    const LONGEST: usize = 32;
    let mut line: String = text.chars().take(LONGEST + 1).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if line.chars().count() > LONGEST {
        line = line.chars().take(LONGEST - 3).collect();
        line.push_str("...");
    }
    line
}

/// A remark on text that is a number once its decoration is taken away.
pub(super) fn decoration_remark(text: &str) -> Option<String> {
    let bare: String = text.chars().filter(|c| !matches!(c, ',' | '%' | '$' | '€' | '£' | ' ' | '\'' | '_')).collect();
    let is_number = bare != text && bare.parse::<f64>().is_ok_and(f64::is_finite);
    is_number.then(|| format!("write it as a plain number such as {}", shorten(&bare)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_may_have_spaces_signs_and_exponents() {
        for (text, number) in [(" 1.5 ", 1.5), ("+2", 2.0), ("-.5", -0.5), ("1e-3", 1e-3), ("7.", 7.0), ("\t4", 4.0)] {
            assert_eq!(read_cell(text.as_bytes(), false), Cell::Number(number), "{text}");
        }
    }

    #[test]
    fn words_for_missing_are_missing_in_any_case() {
        for text in ["", "  ", "NA", "n/a", "NaN", "nan", "-nan", "NULL", "none", "?", "-", "#N/A"] {
            assert_eq!(read_cell(text.as_bytes(), false), Cell::Missing, "{text}");
        }
    }

    #[test]
    fn infinite_words_and_overflow_are_infinite() {
        for text in ["inf", "-inf", "Infinity", "1e999"] {
            assert!(matches!(read_cell(text.as_bytes(), false), Cell::Number(x) if x.is_infinite()), "{text}");
        }
    }

    #[test]
    fn decimal_comma_is_read_only_when_allowed() {
        assert_eq!(read_cell(b"1,5", true), Cell::Number(1.5));
        assert_eq!(read_cell(b"-1,5e3", true), Cell::Number(-1500.0));
        assert_eq!(read_cell(b"1,5", false), Cell::Text);
        assert_eq!(read_cell(b"1,2,3", true), Cell::Text);
        assert_eq!(read_cell(b"1.234,5", true), Cell::Text);
    }

    #[test]
    fn integers_beyond_two_to_the_53_are_read() {
        assert_eq!(read_cell(b"9223372036854775807", false), Cell::Number(9223372036854775807.0));
    }

    #[test]
    fn latin_1_text_is_kept_readable() {
        assert_eq!(text_of(b"\xe9t\xe9"), "été");
    }

    #[test]
    fn long_text_is_shortened_for_messages() {
        assert_eq!(shorten("a\nb"), "a b");
        assert_eq!(shorten(&"x".repeat(100)).len(), 32);
    }

    #[test]
    fn decorated_numbers_get_a_remark() {
        assert!(decoration_remark("1,234").unwrap().contains("1234"));
        assert!(decoration_remark("12%").unwrap().contains("12"));
        assert_eq!(decoration_remark("abc"), None);
    }
}
