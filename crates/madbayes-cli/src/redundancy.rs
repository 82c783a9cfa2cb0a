//! Advice on columns that make the groups of a sampler fewer though they say nothing: constant ones and sums of others.

use crate::read::{option_value, quoted};
use madbayes::data::{Data, Real};
use madbayes::prepare::Redundant;

/// Columns that are named one by one.
const MOST_NAMED: usize = 5;

/// A line for each kind of redundant column, where the spread of every group is to be learned.
pub fn hints<T: Real>(data: &Data<T>, names: &[String]) -> Vec<String> {
    let Redundant { constant, combined } = Redundant::of(data);
    // Where nothing varies there is nothing to be said.
    if constant.len() == names.len() {
        return vec![];
    }
    let about = |columns: &[usize], fault: &str| {
        let listed: Vec<&str> = columns.iter().map(|&column| names[column].as_str()).collect();
        let shown: Vec<String> = listed.iter().take(MOST_NAMED).map(|name| quoted(name)).collect();
        let more = listed.len().saturating_sub(MOST_NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let (noun, verb, they, them) = match listed.len() {
            1 => ("column", "is", "it says", "it"),
            _ => ("columns", "are", "they say", "them"),
        };
        let option = if more.is_empty() { option_value(&listed) } else { "NAMES".to_string() };
        format!(
            "{noun} {}{more} {verb} {fault}: {they} nothing, but groups become fewer; leave {them} out with --exclude {option}",
            shown.join(", ")
        )
    };
    let kinds = [(constant, "the same in every row"), (combined, "a linear combination of other columns")];
    kinds.iter().filter(|(columns, _)| !columns.is_empty()).map(|(columns, fault)| about(columns, fault)).collect()
}
