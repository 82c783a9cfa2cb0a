//! How sure a result is, in sentences at the head of a report.

use crate::ticks::{count, number};
use madbayes::overview::ChainOverview;
use madbayes::select::Choice;

/// Runners-up that are named.
const NAMED: usize = 3;
/// Chains whose R-hat is above this disagree.
const LARGEST_R_HAT: f64 = 1.1;

/// "1 cluster" or "4 clusters".
fn plural(k: usize, group: &str) -> String {
    format!("{} {group}{}", count(k), if k == 1 { "" } else { "s" })
}

/// What the data chose, how sure that is, and what else could be; `k` is how many groups the page shows.
pub(super) fn of_choice(choice: &Choice, k: usize, group: &str) -> Vec<String> {
    let range = |low: f64, high: f64| match high.is_finite() {
        true => format!("penalties from {} to {}", number(low), number(high)),
        false => format!("penalties above {}", number(low)),
    };
    let mut first = format!("The data chose {} with confidence {:.2} of 1", plural(choice.k, group), choice.confidence);
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
    if choice.k != k {
        all.push(format!(
            "At the penalty of that choice, {}, this run has {}.",
            number(choice.penalty),
            plural(k, group)
        ));
    }
    all.extend(choice.evidence.map(|found| {
        format!(
            "The loss that {} explain{} is {} standard deviations {} that of rows without {group}s but of the same spread.",
            plural(choice.k, group),
            if choice.k == 1 { "s" } else { "" },
            number(found.loss.abs()),
            if found.loss < 0.0 { "below" } else { "above" }
        )
    }));
    all
}

/// What the chains of a sampler say of the number of groups, and whether they agree; `k` groups are shown, taken from the draws as
/// `estimate` says.
pub(super) fn of_chains(chains: &ChainOverview, k: usize, estimate: &str, group: &str) -> Vec<String> {
    let mut shares = chains.distribution.clone();
    shares.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let share = |&(k, share): &(usize, f64)| format!("{} in {:.0}%", plural(k, group), 100.0 * share);
    let said: Vec<String> = shares.iter().take(NAMED).filter(|(_, share)| *share >= 0.005).map(share).collect();
    let mut all = Vec::new();
    if !said.is_empty() {
        let own = shares.iter().find(|(other, _)| *other == k).map_or(0.0, |(_, share)| *share);
        if !estimate.is_empty() {
            let rare = if own > 0.0 && own < 0.005 { "under 1".to_string() } else { format!("{:.0}", 100.0 * own) };
            all.push(format!(
                "The {} shown are those of {estimate}; {rare}% of the sweeps after the burn-in have that number.",
                plural(k, group)
            ));
        }
        all.push(format!("The most frequent numbers are {}.", said.join(", ")));
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

#[cfg(test)]
mod tests {
    use super::*;
    use madbayes::select::{Candidate, PenaltyInterval};

    #[test]
    fn a_run_with_another_number_than_the_data_chose_says_both() {
        let penalties = PenaltyInterval { low: 2.0, high: 8.0 };
        let next = Candidate { k: 3, persistence: 1.0, score: 1.0, penalties };
        let choice = Choice { k: 5, penalty: 4.0, penalties, confidence: 0.75, runners_up: vec![next], evidence: None };
        let same = of_choice(&choice, 5, "cluster");
        assert_eq!(
            same,
            ["The data chose 5 clusters with confidence 0.75 of 1; next would be 3 (penalties from 2 to 8)."]
        );
        let other = of_choice(&choice, 4, "cluster");
        assert_eq!(other[1], "At the penalty of that choice, 4, this run has 4 clusters.");
    }

    #[test]
    fn a_sampler_says_where_its_answer_comes_from_and_how_many_draws_have_its_number() {
        let numbers: Vec<f64> = [[6.0; 10], [8.0; 10], [8.0; 10], [7.0; 10]].concat();
        let chains = ChainOverview::new(&[(numbers, vec![-1.0; 40])], 0, vec![]);
        assert_eq!(
            of_chains(&chains, 6, "the labels of least expected loss", "cluster"),
            [
                "The 6 clusters shown are those of the labels of least expected loss; 25% of the sweeps after the burn-in have \
                 that number.",
                "The most frequent numbers are 8 clusters in 50%, 6 clusters in 25%, 7 clusters in 25%."
            ]
        );
    }
}
