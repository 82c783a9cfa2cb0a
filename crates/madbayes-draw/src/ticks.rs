//! Round tick values that cover a range, and how numbers are written.

/// Beyond this the arithmetic of an axis could overflow; such numbers are not drawn.
const LARGEST: f64 = 1e300;
/// Spans below this share of the values are treated as constant: their ticks could not be told apart in print.
const SMALLEST_SHARE: f64 = 1e-10;

/// Whether a number has a place on an axis.
pub(crate) fn drawable(value: f64) -> bool {
    value.abs() <= LARGEST
}

/// An axis from `first * step` to `last * step`, with a tick at every multiple of the step between.
#[derive(Debug, Clone)]
pub(crate) struct Axis {
    first: f64,
    last: f64,
    step: f64,
    /// The power of ten of the step, which decides how many decimals a label needs.
    exponent: i32,
}

impl Axis {
    /// The axis that covers all drawable `values` in about `intervals` round steps.
    pub(crate) fn covering(values: impl Iterator<Item = f64>, intervals: usize) -> Axis {
        let (mut low, mut high, mut whole) = (f64::INFINITY, f64::NEG_INFINITY, true);
        for value in values.filter(|&value| drawable(value)) {
            low = low.min(value);
            high = high.max(value);
            whole &= value.fract() == 0.0;
        }
        if low > high {
            (low, high, whole) = (0.0, 1.0, false);
        }
        let size = low.abs().max(high.abs());
        if high - low < (size * SMALLEST_SHARE).max(1.0 / LARGEST) {
            let margin = if size > 1.0 / LARGEST { size / 2.0 } else { 1.0 };
            (low, high) = (low - margin, high + margin);
        }
        let intervals = intervals.max(1) as f64;
        let (mut step, mut exponent) = round_step(high / intervals - low / intervals);
        // Half a cluster is no tick: whole numbers get whole steps.
        if whole && step < 1.0 {
            (step, exponent) = (1.0, 0);
        }
        let first = snapped(low / step).floor();
        let last = snapped(high / step).ceil().max(first + 1.0);
        Axis { first, last, step, exponent }
    }

    /// Where a value lies between the ends of the axis, from 0 to 1.
    pub(crate) fn position(&self, value: f64) -> f64 {
        ((value / self.step - self.first) / (self.last - self.first)).clamp(0.0, 1.0)
    }

    /// Which of `cells` equal cells a value falls into; the end ticks lie in the first and the last cell.
    pub(crate) fn cell(&self, value: f64, cells: usize) -> usize {
        (self.position(value) * cells.saturating_sub(1) as f64).round() as usize
    }

    /// The tick values in rising order, both ends included.
    pub(crate) fn ticks(&self) -> Vec<f64> {
        let count = (self.last - self.first) as usize;
        (0..=count).map(|index| (self.first + index as f64) * self.step).collect()
    }

    /// The ticks as text, all in the same notation and with as many digits as the step needs.
    pub(crate) fn labels(&self) -> Vec<String> {
        let ticks = self.ticks();
        let largest = ticks.iter().fold(0.0_f64, |largest, tick| largest.max(tick.abs()));
        let decimals = usize::try_from(-self.exponent).unwrap_or(0);
        let digits = usize::try_from(decimal_exponent(largest) - self.exponent).unwrap_or(0);
        let as_fixed = decimal_exponent(largest).unsigned_abs() < 20 && decimals < 20;
        let fixed_length = format!("{largest:.decimals$}").len();
        let powers = !as_fixed || (fixed_length > 7 && fixed_length > format!("{largest:.digits$e}").len());
        let write = |&tick: &f64| {
            if tick == 0.0 {
                "0".to_string()
            } else if powers {
                format!("{tick:.digits$e}")
            } else {
                format!("{tick:.decimals$}")
            }
        };
        ticks.iter().map(write).collect()
    }
}

/// The smallest of 1, 2 and 5 times a power of ten that is at least `rough`, and that power.
fn round_step(rough: f64) -> (f64, i32) {
    let exponent = decimal_exponent(rough);
    let candidates = [(1, exponent), (2, exponent), (5, exponent), (1, exponent + 1)];
    let steps = candidates.map(|(mantissa, power)| (times_power_of_ten(mantissa, power), power));
    // The margin keeps a rounding error in `rough` from doubling the step.
    let fitting = steps.into_iter().find(|&(step, _)| step >= rough * (1.0 - 1e-9));
    fitting.unwrap_or((1.0, 0))
}

/// The power of ten of a number's first digit, read from its exact decimal form: a logarithm can be off by one.
fn decimal_exponent(value: f64) -> i32 {
    format!("{value:e}").split_once('e').and_then(|(_, power)| power.parse().ok()).unwrap_or(0)
}

fn times_power_of_ten(mantissa: u32, power: i32) -> f64 {
    format!("{mantissa}e{power}").parse().unwrap_or(1.0)
}

/// A quotient that is whole but for rounding (0.3 / 0.1) made whole, so that no empty step is added.
fn snapped(quotient: f64) -> f64 {
    if (quotient - quotient.round()).abs() < 1e-9 { quotient.round() } else { quotient }
}

/// A count with commas between the thousands.
pub(crate) fn count(number: usize) -> String {
    with_commas(&number.to_string())
}

/// Says how many rows or values are not drawable.
pub(crate) fn left_out(number: usize, what: &str) -> Option<String> {
    let plural = if number == 1 { "" } else { "s" };
    (number > 0).then(|| format!("{} {what}{plural} left out: not finite or beyond 1e300", count(number)))
}

/// One number by itself: counts with commas, other numbers to four digits.
pub(crate) fn number(value: f64) -> String {
    let sign = if value < 0.0 { "-" } else { "" };
    if !value.is_finite() {
        "not finite".to_string()
    } else if value.fract() == 0.0 && value.abs() < 1e15 {
        format!("{sign}{}", with_commas(&value.abs().to_string()))
    } else if (1e-3..1e6).contains(&value.abs()) {
        let decimals = usize::try_from(3 - decimal_exponent(value)).unwrap_or(0);
        let fixed = format!("{value:.decimals$}");
        if fixed.contains('.') { fixed.trim_end_matches('0').trim_end_matches('.').to_string() } else { fixed }
    } else {
        format!("{value:.3e}")
    }
}

fn with_commas(digits: &str) -> String {
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn axis(values: &[f64], intervals: usize) -> Axis {
        Axis::covering(values.iter().copied(), intervals)
    }

    proptest! {
        #[test]
        fn ticks_are_round_and_cover_the_range(
            middle in -1e3..1e3_f64, span in 1e-3..1e3_f64, power in -290..290_i32, intervals in 1..20_usize,
        ) {
            let scale = times_power_of_ten(1, power);
            let (low, high) = ((middle - span) * scale, (middle + span) * scale);
            let axis = axis(&[high, low], intervals);
            let ticks = axis.ticks();
            let slack = axis.step * 1e-6;
            prop_assert!(ticks[0] <= low + slack && low - slack < ticks[1]);
            prop_assert!(ticks[ticks.len() - 1] >= high - slack && high + slack > ticks[ticks.len() - 2]);
            prop_assert!(ticks.len() <= intervals + 3, "{} ticks for {intervals} intervals", ticks.len());
            let step = format!("{:e}", axis.step);
            prop_assert!(["1e", "2e", "5e"].iter().any(|round| step.starts_with(round)), "the step is {step}");
        }

        #[test]
        fn labels_say_their_ticks(
            middle in -1e4..1e4_f64, span in 1e-3..1e3_f64, power in -290..290_i32, intervals in 1..20_usize,
        ) {
            let scale = times_power_of_ten(1, power);
            let axis = axis(&[(middle - span) * scale, (middle + span) * scale], intervals);
            for (tick, label) in axis.ticks().iter().zip(axis.labels()) {
                let said: f64 = label.parse().unwrap();
                prop_assert!((said - tick).abs() <= axis.step * 1e-3, "{label} for {tick}");
                prop_assert!(label.len() <= 16, "{label} is too long");
            }
        }
    }

    #[test]
    fn a_range_from_zero_to_ten_has_the_expected_ticks() {
        assert_eq!(axis(&[0.3, 9.1], 5).labels(), ["0", "2", "4", "6", "8", "10"]);
        assert_eq!(axis(&[0.3, 0.6], 3).labels(), ["0.3", "0.4", "0.5", "0.6"]);
        assert_eq!(axis(&[-1e300, 1e300], 4).labels(), ["-1.0e300", "-5.0e299", "0", "5.0e299", "1.0e300"]);
    }

    #[test]
    fn whole_numbers_get_whole_steps() {
        assert_eq!(axis(&[3.0, 4.0, 5.0], 10).labels(), ["3", "4", "5"]);
        assert_eq!(axis(&[1.0, 1.0], 10).labels(), ["0", "1", "2"]);
    }

    #[test]
    fn degenerate_ranges_still_have_an_axis_that_holds_their_values() {
        let cases: [&[f64]; 8] = [
            &[],
            &[f64::NAN, f64::INFINITY],
            &[0.0],
            &[-7.25, -7.25],
            &[1e300],
            &[1e16, 1e16 + 2.0],
            &[5e-324, 0.0],
            &[f64::MAX, 1.0],
        ];
        for values in cases {
            let axis = axis(values, 6);
            let ticks = axis.ticks();
            assert!((2..12).contains(&ticks.len()), "{values:?} gives {ticks:?}");
            assert!(ticks.iter().all(|tick| tick.is_finite()), "{values:?} gives {ticks:?}");
            for &value in values.iter().filter(|&&value| drawable(value)) {
                assert!(ticks[0] <= value && value <= ticks[ticks.len() - 1], "{value} is not within {ticks:?}");
            }
        }
    }

    #[test]
    fn the_ends_of_the_axis_fall_into_the_end_cells() {
        let axis = axis(&[0.0, 10.0], 5);
        assert_eq!([0.0, 5.0, 10.0].map(|value| axis.cell(value, 11)), [0, 5, 10]);
        assert_eq!(axis.cell(7.0, 0), 0);
    }

    #[test]
    fn numbers_are_written_for_readers() {
        assert_eq!(count(100_000), "100,000");
        assert_eq!(count(999), "999");
        assert_eq!(left_out(0, "row"), None);
        assert_eq!(left_out(1, "row").as_deref(), Some("1 row left out: not finite or beyond 1e300"));
        assert_eq!(number(-1234567.0), "-1,234,567");
        assert_eq!(number(0.5), "0.5");
        assert_eq!(number(123.456), "123.5");
        assert_eq!(number(2.5e-7), "2.500e-7");
        assert_eq!(number(f64::NAN), "not finite");
    }
}
