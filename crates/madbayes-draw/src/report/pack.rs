//! Numbers as short text: base64 of small integers, and decimals of a few digits.

use crate::base64::base64;
use serde_json::{Value, json};

/// Whole numbers in as few bytes as the largest needs: `{"bytes": 1, 2 or 4, "text": base64}`, the lowest byte first.
pub(super) fn integers(numbers: impl Iterator<Item = u32> + Clone) -> Value {
    let bytes = match numbers.clone().max().unwrap_or(0) {
        0..=0xff => 1,
        0x100..=0xffff => 2,
        _ => 4,
    };
    let all: Vec<u8> = numbers.flat_map(|number| number.to_le_bytes().into_iter().take(bytes)).collect();
    json!({ "bytes": bytes, "text": base64(&all) })
}

/// Numbers as 65,535 steps from the least to the largest: enough for a picture. What is not finite is at the least.
pub(super) fn steps(numbers: &[f64]) -> Value {
    let finite = || numbers.iter().copied().filter(|x| x.is_finite());
    let (low, high) = (finite().fold(f64::INFINITY, f64::min), finite().fold(f64::NEG_INFINITY, f64::max));
    let (low, high) = if low <= high { (low, high) } else { (0.0, 0.0) };
    // Halved, since the difference itself may overflow.
    let share =
        |x: f64| if high > low && x.is_finite() { (x / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0) } else { 0.0 };
    let step = |x: f64| ((share(x) * 65535.0).round() as u16).to_le_bytes();
    let bytes: Vec<u8> = numbers.iter().flat_map(|&x| step(x)).collect();
    json!({ "low": low, "high": high, "text": base64(&bytes) })
}

/// Numbers as levels from -127 to 127 of the largest magnitude, each a byte with 128 added. What is not finite is 0.
pub(super) fn levels(numbers: &[f64]) -> Value {
    let largest = numbers.iter().map(|x| x.abs()).filter(|x| x.is_finite()).fold(f64::MIN_POSITIVE, f64::max);
    let level = |x: &f64| (if x.is_finite() { (127.0 * (x / largest)).round() } else { 0.0 } + 128.0) as u8;
    json!({ "largest": short(largest), "text": base64(&numbers.iter().map(level).collect::<Vec<u8>>()) })
}

/// About five digits; null where it is not finite.
pub(super) fn short(x: f64) -> Value {
    let rounded = format!("{x:.4e}").parse::<f64>().ok().filter(|x| x.is_finite());
    rounded.map_or(Value::Null, Value::from)
}

/// About five digits of each.
pub(super) fn shorts(numbers: &[f64]) -> Value {
    numbers.iter().map(|&x| short(x)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_take_the_bytes_they_need() {
        assert_eq!(integers([1, 2].into_iter()), json!({ "bytes": 1, "text": base64(&[1, 2]) }));
        assert_eq!(integers([256].into_iter()), json!({ "bytes": 2, "text": base64(&[0, 1]) }));
        assert_eq!(integers([65536].into_iter()), json!({ "bytes": 4, "text": base64(&[0, 0, 1, 0]) }));
    }

    #[test]
    fn steps_reach_from_the_least_to_the_largest_at_any_scale() {
        for (low, high) in [(-1.0, 3.0), (-1e308, 1e308), (1e-300, 2e-300)] {
            let packed = steps(&[low, high, f64::NAN]);
            assert_eq!((packed["low"].as_f64(), packed["high"].as_f64()), (Some(low), Some(high)));
            assert_eq!(packed["text"], base64(&[0, 0, 255, 255, 0, 0]));
        }
        assert_eq!(steps(&[f64::NAN])["low"], 0.0);
        assert_eq!(levels(&[2.0, -2.0, 0.0, f64::NAN]), json!({ "largest": 2.0, "text": base64(&[255, 1, 128, 128]) }));
        assert_eq!((short(123456.7), short(f64::INFINITY)), (json!(123460.0), Value::Null));
    }
}
