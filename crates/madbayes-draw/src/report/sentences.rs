//! How sure a result is, in sentences at the head of a report.

use crate::ticks::{count, number};
use madbayes::overview::ChainOverview;
use madbayes::select::Choice;

/// Runners-up that are named.
const NAMED: usize = 3;
/// Chains whose R-hat is above this disagree.
const LARGEST_R_HAT: f64 = 1.1;

/// How sure the automatic choice is, and what else could be.
pub(super) fn of_choice(choice: &Choice, group: &str) -> Vec<String> {
    let range = |low: f64, high: f64| match high.is_finite() {
        true => format!("penalties from {} to {}", number(low), number(high)),
        false => format!("penalties above {}", number(low)),
    };
    let mut first = format!("The data chose this number with confidence {:.2} of 1", choice.confidence);
    let next: Vec<String> = choice
        .runners_up
        .iter()
        .take(NAMED)
        .map(|c| format!("{} ({})", count(c.k), range(c.penalties.low, c.penalties.high)))
        .collect();
    if !next.is_empty() {
        first += &format!("; next would be {}", next.join(", "));
    }
    let mut all = vec![first + "."];
    all.extend(choice.evidence.map(|found| {
        format!(
            "The loss it explains is {} standard deviations {} that of rows without {group}s but of the same spread.",
            number(found.loss.abs()),
            if found.loss < 0.0 { "below" } else { "above" }
        )
    }));
    all
}

/// What the chains of a sampler say of the number of groups, and whether they agree.
pub(super) fn of_chains(chains: &ChainOverview, group: &str) -> Vec<String> {
    let mut shares = chains.distribution.clone();
    shares.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let share = |&(k, share): &(usize, f64)| {
        format!("{:.0}% have {} {group}{}", 100.0 * share, count(k), if k == 1 { "" } else { "s" })
    };
    let said: Vec<String> = shares.iter().take(NAMED).filter(|(_, share)| *share >= 0.005).map(share).collect();
    let mut all = Vec::new();
    if !said.is_empty() {
        all.push(format!("Of the sweeps after the burn-in, {}.", said.join(", ")));
    }
    let worst = chains.r_hat.iter().map(|(_, r)| *r).filter(|r| !r.is_nan()).fold(f64::NAN, f64::max);
    let verdict = match worst {
        good if good <= LARGEST_R_HAT => "The chains agree",
        apart if apart > LARGEST_R_HAT => "The chains disagree or still move: more sweeps are needed",
        _ => return all,
    };
    all.push(format!("{verdict} (largest R-hat {worst:.2})."));
    all
}
