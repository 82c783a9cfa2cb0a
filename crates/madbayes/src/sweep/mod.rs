//! The sweep: one row taken out, scored against everything else, put back. Taking the cheapest charge gives the
//! collapsed hard algorithms (Broderick 2013, Alg. 2); drawing by weight gives Gibbs sampling (Neal 2000, Alg. 3).

mod labels;

pub use labels::LiveLabels;

use crate::likelihood::Groups;
use crate::prior::Seats;
use crate::random::{Rng, draw_ln_weights};
use crate::separator::Separator;
use crate::watch::{Step, Watch};

/// How a row chooses its group.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Regime {
    /// By charge, the limit of small variance. Temperature 0 takes the cheapest and stays on a tie; above 0 a group is
    /// drawn with weight exp(-charge / (2 temperature)), as a posterior of that variance would.
    Limit {
        /// In squared-distance units.
        temperature: f64,
    },
    /// By weight: a draw from the conditional posterior.
    Posterior,
}

/// What a sweep did.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Swept {
    /// Rows that changed their group.
    pub moved: usize,
    /// Sum of the charges of the groups chosen less those of the groups left (limit only).
    pub change: f64,
    /// Whether the watch stopped it on the way. All rows are seated all the same.
    pub stopped: bool,
}

/// Rows between two looks at the watch: rows are slow here when there are many groups and columns.
pub(crate) const ROWS_PER_POLL: usize = 64;

/// A move must be cheaper than staying by this share of the charge: rounding does not move rows.
const MARGIN: f64 = 1e-12;

/// Opens a group for every label and seats every row: prior and likelihood hold what the labels say.
pub fn seat_all(labels: &LiveLabels, seats: &mut dyn Seats, groups: &mut dyn Groups) {
    for _ in 0..labels.n_groups() {
        groups.open();
        seats.open();
    }
    groups.refresh(&|row| labels.group(row));
    (0..labels.n_rows()).for_each(|row| seats.joined(labels.group(row), row));
}

/// Visits the rows in the given order once.
pub fn sweep(
    labels: &mut LiveLabels,
    seats: &mut dyn Seats,
    groups: &mut dyn Groups,
    regime: Regime,
    order: impl IntoIterator<Item = usize>,
    rng: &mut Rng,
    watch: &dyn Watch,
) -> Swept {
    separated_sweep(labels, seats, groups, None, regime, order, rng, watch)
}

/// The same with a discriminative term, which weighs in the posterior only (Nguyen et al. 2017, Eq. 5).
#[expect(clippy::too_many_arguments, reason = "the parts of one model and how they are visited")]
pub fn separated_sweep(
    labels: &mut LiveLabels,
    seats: &mut dyn Seats,
    groups: &mut dyn Groups,
    mut separator: Option<&mut dyn Separator>,
    regime: Regime,
    order: impl IntoIterator<Item = usize>,
    rng: &mut Rng,
    watch: &dyn Watch,
) -> Swept {
    let mut swept = Swept::default();
    let mut scores = Vec::new();
    for (visited, row) in order.into_iter().enumerate() {
        if visited % ROWS_PER_POLL == 0 && watch.step(&Step::Chunk).is_break() {
            swept.stopped = true;
            break;
        }
        let old = labels.group(row);
        groups.sub(old, row);
        seats.left(old, row);
        let alone = labels.leave(row);
        if alone {
            groups.close(old);
            seats.close(old);
            labels.close(old);
            if let Some(separator) = &mut separator {
                separator.close(old);
            }
        }
        let k = labels.n_groups();
        // A row that was alone stays by opening a group again.
        let stay = if alone { k } else { old };
        scores.clear();
        scores.resize(k + 1, 0.0);
        let chosen = match regime {
            Regime::Posterior => {
                seats.weigh(&mut scores);
                groups.weigh(row, &mut scores);
                if let Some(separator) = &mut separator {
                    separator.weigh(row, &mut scores);
                }
                draw_ln_weights(&scores, rng)
            }
            Regime::Limit { temperature } => {
                seats.charge(&mut scores);
                groups.charge(row, &mut scores);
                let chosen = if temperature > 0.0 {
                    let weights: Vec<f64> = scores.iter().map(|charge| -charge / (2.0 * temperature)).collect();
                    draw_ln_weights(&weights, rng)
                } else {
                    cheapest(&scores, stay)
                };
                swept.change += scores[chosen] - scores[stay];
                chosen
            }
        };
        swept.moved += usize::from(chosen != stay);
        if chosen == k {
            groups.open();
            seats.open();
            labels.open();
            if let Some(separator) = &mut separator {
                separator.open();
            }
        }
        groups.add(chosen, row);
        seats.joined(chosen, row);
        labels.join(row, chosen);
    }
    swept
}

/// The lowest score; `stay` unless another is clearly lower, the first of equals.
fn cheapest(scores: &[f64], stay: usize) -> usize {
    let mut best = stay;
    let mut limit = scores[stay] - MARGIN * scores[stay].abs();
    for (k, &score) in scores.iter().enumerate() {
        if score < limit {
            best = k;
            limit = score;
        }
    }
    best
}
