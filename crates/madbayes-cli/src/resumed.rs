//! Options that are given again when a saved run is gone on with: they may repeat what it has, not contradict it.

use anyhow::{Result, bail};
use clap::ValueEnum;

/// The option's name of a value.
pub fn named(value: &impl ValueEnum) -> String {
    value.to_possible_value().map_or_else(String::new, |value| value.get_name().to_string())
}

/// An option that is given, what it says, and what the run has.
pub struct Said(pub &'static str, pub Option<String>, pub Option<String>);

impl Said {
    pub fn new<V: ToString>(option: &'static str, given: Option<V>, saved: Option<V>) -> Self {
        Said(option, given.map(|value| value.to_string()), saved.map(|value| value.to_string()))
    }
}

/// Refuses options that contradict the run.
pub fn agree(said: impl IntoIterator<Item = Said>) -> Result<()> {
    for Said(option, given, saved) in said {
        if let Some(given) = given.filter(|given| saved.as_ref() != Some(given)) {
            bail!(
                "{option} {given} contradicts the run in --resume, which has {}: leave it out, or begin anew without --resume",
                saved.as_deref().unwrap_or("none")
            );
        }
    }
    Ok(())
}

/// Refuses a run of other columns than the data's.
pub fn check_columns(of_run: &[String], found: &[String]) -> Result<()> {
    if of_run != found {
        let (columns, found) = (of_run.join(","), found.join(","));
        bail!(
            "the run in --resume is of the columns {columns}, the data has {found}: leave --columns and --exclude out, or \
             name the same columns in the same order"
        );
    }
    Ok(())
}
