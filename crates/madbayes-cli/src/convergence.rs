//! What R-hat says of chains, in words.

/// Chains whose R-hat is above this disagree, and above the other they agree only roughly.
pub const LARGEST_R_HAT: f64 = 1.1;
pub const GOOD_R_HAT: f64 = 1.01;

/// What the largest R-hat of so many chains means; NaN: too few sweeps to tell.
pub fn verdict(largest_r_hat: f64, chains: usize) -> String {
    let verdict = match largest_r_hat {
        good if good <= GOOD_R_HAT => "the chains agree",
        fair if fair <= LARGEST_R_HAT => "the chains agree roughly; more --sweeps make it sure",
        apart if apart > LARGEST_R_HAT => "THE CHAINS DISAGREE OR STILL MOVE: raise --sweeps",
        _ => "too few sweeps to tell",
    };
    let one = if chains == 1 { " (of one chain its halves were compared; --chains 2 tells more)" } else { "" };
    format!("{verdict}{one}")
}

/// How far chains that were stopped had come: the fewest sweeps of one.
pub fn stopped_after(stopped: bool, sweeps: impl Iterator<Item = usize>) -> String {
    match sweeps.min() {
        Some(done) if stopped => format!("stopped early after {}, ", crate::number::plural(done, "sweep")),
        _ => String::new(),
    }
}
