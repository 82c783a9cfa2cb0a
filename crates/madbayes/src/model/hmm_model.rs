//! Fitted hidden states as a model: transitions matched to the estimate, the next step, and the states of new sequences by
//! forward-backward, f_t(k) = p(x_t | k) sum_j f_t-1(j) pi_jk and b_t(j) = sum_k pi_jk p(x_t+1 | k) b_t+1(k), averaged over draws.

#[cfg(test)]
mod tests;

use super::mixture::{LnSum, check_standardisation};
use super::mixture_law::{MixtureLaw, MixtureRows, Predictives};
use super::new_rows::NewRows;
use super::saved;
use crate::counts::Counts;
use crate::data::{EitherRows, Real, Rows, check_about};
use crate::error::{Error, Result};
use crate::gibbs::HmmDraw;
use crate::parallel::Workers;
use crate::prepare::Standardise;
use crate::separator::FittedHyperplanes;
use crate::special::ln_sum_exp;
use crate::structure::{Partition, Sequences};
use serde::{Deserialize, Serialize};

const KIND: &str = "states";
/// Draws that are averaged over: more are thinned evenly.
const MOST_DRAWS: usize = 100;

/// What the draws of a sampler say of transitions and of sequences it has not seen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HmmModel {
    /// Names of the columns, in order.
    pub columns: Vec<String>,
    /// What is done to rows first, where they were standardised for the fit.
    #[serde(default)]
    pub standardise: Option<Standardise>,
    /// The rows of a state.
    pub likelihood: MixtureLaw,
    /// The point that sums are taken about.
    pub reference: Vec<f64>,
    /// Rows in each state of the point estimate.
    pub sizes: Vec<usize>,
    /// K x K, row by row: the posterior mean of the transitions between the states of the point estimate, each row divided by
    /// its sum.
    pub transitions: Vec<f64>,
    /// The probability of going on to a state not seen so far, from each state.
    pub new_state: Vec<f64>,
    /// The states of each draw.
    pub draws: Vec<DrawnStates>,
    /// The hyperplanes of the states of the point estimate, of a discriminative model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hyperplanes: Option<FittedHyperplanes>,
    /// The seed of the fit.
    pub seed: u64,
}

/// The states of one draw, without their rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DrawnStates {
    /// Rows in each state.
    pub sizes: Vec<f64>,
    /// What the likelihood keeps of each state.
    pub statistics: Vec<f64>,
    /// The share of each state's rows that are in each state of the point estimate, K x states of the estimate.
    pub shares: Vec<f64>,
    /// Mean probability of beginning in each state, and in a new one.
    pub start: Vec<f64>,
    /// Mean transitions between the states and a new one, (K + 1) x (K + 1).
    pub transitions: Vec<f64>,
    /// The state at the end of each sequence.
    pub last: Vec<u32>,
}

/// The states of new sequences.
#[derive(Debug, Clone, PartialEq)]
pub struct AssignedStates {
    /// The most probable state of each row.
    pub states: Vec<u32>,
    /// The probability of each state of the estimate, rows x K; what is missing to 1 is that of a new state.
    pub probabilities: Vec<f64>,
    /// The log predictive density of each sequence.
    pub ln_density: Vec<f64>,
}

impl HmmModel {
    /// From draws and the point estimate.
    pub fn new<T: Real>(
        rows: MixtureRows<T>,
        sequences: &Sequences,
        likelihood: MixtureLaw,
        draws: &[&HmmDraw],
        estimate: &Partition,
        columns: Vec<String>,
        seed: u64,
    ) -> Result<Self> {
        let kept = draws.len().min(MOST_DRAWS);
        let draws = (0..kept)
            .map(|i| drawn_states(draws[i * draws.len() / kept], rows, sequences, &likelihood, estimate))
            .collect::<Result<Vec<_>>>()?;
        let (transitions, new_state) = matched_transitions(&draws, estimate.sizes());
        let reference = rows.reference();
        let sizes = estimate.sizes().to_vec();
        Ok(HmmModel {
            columns,
            standardise: None,
            likelihood,
            reference,
            sizes,
            transitions,
            new_state,
            draws,
            hyperplanes: None,
            seed,
        })
    }

    /// Number of states of the estimate.
    pub fn n_states(&self) -> usize {
        self.sizes.len()
    }

    /// Number of columns, D.
    pub fn n_columns(&self) -> usize {
        self.reference.len()
    }

    /// Number of sequences it was fitted on.
    pub fn n_sequences(&self) -> usize {
        self.draws[0].last.len()
    }

    /// The probability of each state of the estimate, and of a new one, for the row after the end of a sequence of the fit.
    ///
    /// # Panics
    /// When there is no such sequence.
    pub fn next_states(&self, sequence: usize) -> Vec<f64> {
        let k = self.n_states();
        let mut next = vec![0.0; k + 1];
        for draw in &self.draws {
            let chances = draw.leaving(draw.last[sequence] as usize);
            for (chance, shares) in chances.iter().zip(draw.shares.chunks_exact(k)) {
                next.iter_mut().zip(shares).for_each(|(next, share)| *next += chance * share);
            }
            next[k] += chances[draw.sizes.len()];
        }
        next.iter_mut().for_each(|p| *p /= self.draws.len() as f64);
        next
    }

    /// The log predictive density of rows, each as the one after the end of a sequence of the fit.
    ///
    /// # Panics
    /// When there is no such sequence.
    pub fn ln_next<T: Real>(&self, sequence: usize, rows: Rows<T>) -> Result<Vec<f64>> {
        fn either(this: &HmmModel, sequence: usize, rows: EitherRows) -> Result<Vec<f64>> {
            either!(rows, rows => this.ln_next_on(sequence, rows))
        }
        either(self, sequence, T::either_rows(rows))
    }

    fn ln_next_on<T: Real>(&self, sequence: usize, rows: Rows<T>) -> Result<Vec<f64>> {
        self.check_columns(rows.n_columns())?;
        let standardised = self.standardise.as_ref().map(|s| s.apply(rows)).transpose()?;
        let rows = standardised.as_deref().map_or(Ok(rows), |values| Rows::new(values, self.n_columns()))?;
        let counts = match self.likelihood {
            MixtureLaw::Multinomial(_) => Some(Counts::from_rows(rows)?),
            _ => None,
        };
        let new_rows = counts.as_ref().map_or(NewRows::Dense(rows), NewRows::Counts);
        let mut densities = vec![LnSum::default(); rows.n_rows()];
        for draw in &self.draws {
            let ln_chances: Vec<f64> = draw.leaving(draw.last[sequence] as usize).iter().map(|p| p.ln()).collect();
            let predictives = self.predictives(draw)?;
            new_rows.weigh(&predictives, 0..rows.n_rows(), |row, ln| {
                let terms: Vec<f64> = ln_chances.iter().zip(ln).map(|(a, b)| a + b).collect();
                densities[row].add(ln_sum_exp(&terms));
            })?;
        }
        let ln_draws = (self.draws.len() as f64).ln();
        Ok(densities.iter().map(|density| density.value() - ln_draws).collect())
    }

    /// The states of new sequences. Where the model has hyperplanes, the probability of each state is multiplied by
    /// p(y = 1)/p(y = -1) under its own and their sum kept; densities are without them.
    pub fn assign<T: Real>(&self, rows: Rows<T>, sequences: &Sequences, workers: &Workers) -> Result<AssignedStates> {
        fn either(
            this: &HmmModel,
            rows: EitherRows,
            sequences: &Sequences,
            workers: &Workers,
        ) -> Result<AssignedStates> {
            either!(rows, rows => this.assign_on(rows, sequences, workers))
        }
        either(self, T::either_rows(rows), sequences, workers)
    }

    fn assign_on<T: Real>(&self, rows: Rows<T>, sequences: &Sequences, workers: &Workers) -> Result<AssignedStates> {
        self.check_columns(rows.n_columns())?;
        if let MixtureLaw::Multinomial(_) = self.likelihood {
            return self.assign_counts(&Counts::from_rows(rows)?, sequences, workers);
        }
        let standardised = self.standardise.as_ref().map(|s| s.apply(rows)).transpose()?;
        let rows = standardised.as_deref().map_or(Ok(rows), |values| Rows::new(values, self.n_columns()))?;
        let reference: Vec<T> = self.reference.iter().map(|&r| T::from_f64(r)).collect();
        check_about(rows, &reference)?;
        self.assign_all(NewRows::Dense(rows), sequences, workers)
    }

    /// The same for rows of counts.
    pub fn assign_counts(&self, counts: &Counts, sequences: &Sequences, workers: &Workers) -> Result<AssignedStates> {
        self.check_columns(counts.n_columns())?;
        self.assign_all::<f64>(NewRows::Counts(counts), sequences, workers)
    }

    fn check_columns(&self, n_columns: usize) -> Result<()> {
        if n_columns == self.n_columns() {
            return Ok(());
        }
        Err(Error::data(
            format!("the data has {n_columns} columns, the model {}", self.n_columns()),
            "give the columns it was fitted on",
        ))
    }

    fn predictives(&self, draw: &DrawnStates) -> Result<Predictives> {
        self.likelihood.predictives(&self.reference, &draw.sizes, &draw.statistics)
    }

    fn assign_all<T: Real>(
        &self,
        rows: NewRows<T>,
        sequences: &Sequences,
        workers: &Workers,
    ) -> Result<AssignedStates> {
        let (n, k) = (sequences.n_rows(), self.n_states());
        // Logarithms: far from all rows a new state has nearly all the weight, and some state is still the likeliest.
        let mut together = vec![LnSum::default(); n * k];
        let mut densities = vec![LnSum::default(); sequences.len()];
        // As many draws at a time as there are threads, added up in order.
        for batch in self.draws.chunks(workers.count()) {
            for assigned in workers.map(batch.len(), |i| self.assign_by(&batch[i], &rows, sequences)) {
                let (ln_states, ln_density) = assigned?;
                together.iter_mut().zip(ln_states).for_each(|(sum, ln)| sum.add(ln));
                densities.iter_mut().zip(ln_density).for_each(|(sum, ln)| sum.add(ln));
            }
        }
        let ln_draws = (self.draws.len() as f64).ln();
        let mut ln_states: Vec<f64> = together.iter().map(|sum| sum.value() - ln_draws).collect();
        if let Some(hyperplanes) = &self.hyperplanes {
            for (row, ln) in ln_states.chunks_exact_mut(k).enumerate() {
                let before = ln_sum_exp(ln);
                ln.iter_mut().enumerate().for_each(|(state, ln)| *ln += rows.ln_ratio(hyperplanes, state, row));
                let change = before - ln_sum_exp(ln);
                ln.iter_mut().for_each(|ln| *ln += change);
            }
        }
        // The first of equals.
        let likeliest = |ln: &[f64]| (0..k).fold(0, |best, state| if ln[state] > ln[best] { state } else { best });
        Ok(AssignedStates {
            states: ln_states.chunks_exact(k).map(|ln| likeliest(ln) as u32).collect(),
            probabilities: ln_states.iter().map(|ln| ln.exp()).collect(),
            ln_density: densities.iter().map(|sum| sum.value() - ln_draws).collect(),
        })
    }

    /// By one draw: the log probability of each state of the estimate for every row, and the log density of each sequence.
    fn assign_by<T: Real>(
        &self,
        draw: &DrawnStates,
        rows: &NewRows<T>,
        sequences: &Sequences,
    ) -> Result<(Vec<f64>, Vec<f64>)> {
        let (n, k, states) = (sequences.n_rows(), draw.sizes.len() + 1, self.n_states());
        let mut ln_emissions = vec![0.0; n * k];
        rows.weigh(&self.predictives(draw)?, 0..n, |row, ln| {
            ln_emissions[row * k..(row + 1) * k].copy_from_slice(ln);
        })?;
        let ln_start: Vec<f64> = draw.start.iter().map(|p| p.ln()).collect();
        let ln_shares: Vec<f64> = draw.shares.iter().map(|share| share.ln()).collect();
        let mut ln_states = Vec::with_capacity(n * states);
        let mut ln_density = vec![];
        for range in sequences.ranges() {
            let emissions = &ln_emissions[range.start * k..range.end * k];
            let (posterior, density) = forward_backward(&ln_start, &draw.transitions, emissions);
            ln_density.push(density);
            for row in posterior.chunks_exact(k) {
                ln_states.extend((0..states).map(|state| {
                    let terms = row.iter().zip(ln_shares.chunks_exact(states)).map(|(ln, shares)| ln + shares[state]);
                    ln_sum_exp(&terms.collect::<Vec<_>>())
                }));
            }
        }
        Ok((ln_states, ln_density))
    }

    /// The model as JSON.
    pub fn to_bytes(&self) -> Vec<u8> {
        saved::to_bytes(KIND, self)
    }

    /// Reads what `to_bytes` of this or an older version wrote.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        saved::from_bytes(KIND, bytes, HmmModel::check)
    }

    fn check(&self) -> std::result::Result<(), String> {
        let (d, states) = (self.n_columns(), self.n_states());
        if d == 0 || states == 0 || self.draws.is_empty() {
            return Err("it has no columns, states or draws".into());
        }
        if self.columns.len() != d || self.transitions.len() != states * states || self.new_state.len() != states {
            return Err("its columns, states and transitions do not fit together".into());
        }
        if let Some(standardise) = &self.standardise {
            check_standardisation(standardise, d)?;
        }
        self.hyperplanes.as_ref().map_or(Ok(()), |hyperplanes| hyperplanes.check(states, d))?;
        self.likelihood.check(d).map_err(|error| error.to_string())?;
        for draw in &self.draws {
            let k = draw.sizes.len();
            let fits = draw.statistics.len() == k * self.likelihood.width(d)
                && draw.shares.len() == k * states
                && draw.start.len() == k + 1
                && draw.transitions.len() == (k + 1) * (k + 1)
                && draw.last.len() == self.n_sequences()
                && draw.last.iter().all(|&state| (state as usize) < k);
            if !fits {
                return Err("the states of a draw do not fit together".into());
            }
            if draw.sizes.iter().any(|n| !(n.is_finite() && *n > 0.0)) {
                return Err("a draw has a size that is not positive".into());
            }
            let chances = draw.shares.iter().chain(&draw.start).chain(&draw.transitions);
            if chances.chain(&self.transitions).chain(&self.new_state).any(|p| !(0.0..=1.000_001).contains(p)) {
                return Err("it holds a probability that is none".into());
            }
            if draw.statistics.iter().any(|x| !x.is_finite()) {
                return Err("it holds numbers that are not finite".into());
            }
            self.predictives(draw).map_err(|error| error.to_string())?;
        }
        Ok(())
    }
}

impl DrawnStates {
    /// The probabilities of the next state after this one.
    fn leaving(&self, state: usize) -> &[f64] {
        let k = self.start.len();
        &self.transitions[state * k..(state + 1) * k]
    }
}

/// What is kept of a draw: (n_jk + c_jk) / (n_j. + c_j), the mean of its transitions given its states, and its states' rows.
fn drawn_states<T: Real>(
    draw: &HmmDraw,
    rows: MixtureRows<T>,
    sequences: &Sequences,
    likelihood: &MixtureLaw,
    estimate: &Partition,
) -> Result<DrawnStates> {
    let states = draw.states.to_partition();
    let (k, labels) = (states.n_groups(), states.labels());
    // From the start, from each state and from a new one; to each state and to a new one.
    let mut counts = vec![vec![0.0; k + 1]; k + 2];
    for range in sequences.ranges() {
        let mut from = 0;
        for row in range {
            counts[from][labels[row] as usize] += 1.0;
            from = labels[row] as usize + 1;
        }
    }
    let weights: Vec<f64> = draw.weights.states.iter().chain([&draw.weights.new]).copied().collect();
    let means = counts.iter().enumerate().map(|(row, counts)| {
        let from = row.checked_sub(1);
        let total = counts.iter().sum::<f64>() + draw.values.added_in_all(from);
        let cells = counts.iter().zip(&weights).enumerate();
        cells.map(|(to, (n, &beta))| (n + draw.values.added(from, to, beta)) / total).collect::<Vec<f64>>()
    });
    let mut means: Vec<Vec<f64>> = means.collect();
    let start = means.remove(0);
    let clusters = estimate.n_groups();
    let mut shares = vec![0.0; k * clusters];
    for (&state, &cluster) in labels.iter().zip(estimate.labels()) {
        shares[state as usize * clusters + cluster as usize] += 1.0 / states.sizes()[state as usize] as f64;
    }
    Ok(DrawnStates {
        sizes: states.sizes().iter().map(|&size| size as f64).collect(),
        statistics: likelihood.statistics(rows, &states)?,
        shares,
        start,
        transitions: means.concat(),
        last: sequences.ranges().map(|range| labels[range.end - 1]).collect(),
    })
}

/// From a state of the estimate to each, and to a new one: mean over its rows' states in a draw, over draws.
fn matched_transitions(draws: &[DrawnStates], sizes: &[usize]) -> (Vec<f64>, Vec<f64>) {
    let k = sizes.len();
    let (mut transitions, mut new_state) = (vec![0.0; k * k], vec![0.0; k]);
    for draw in draws {
        for from in 0..k {
            for (state, size) in draw.sizes.iter().enumerate() {
                // The share of the estimate's state that is in this one of the draw.
                let share = draw.shares[state * k + from] * size / sizes[from] as f64;
                let chances = draw.leaving(state);
                for (chance, shares) in chances.iter().zip(draw.shares.chunks_exact(k)) {
                    (0..k).for_each(|to| transitions[from * k + to] += share * chance * shares[to]);
                }
                new_state[from] += share * chances[draw.sizes.len()] / draws.len() as f64;
            }
        }
    }
    for row in transitions.chunks_exact_mut(k) {
        let total: f64 = row.iter().sum();
        row.iter_mut().for_each(|p| *p /= total);
    }
    (transitions, new_state)
}

/// log p(z_t = k | all rows) for every row of a sequence, and the log density of the sequence.
fn forward_backward(ln_start: &[f64], transitions: &[f64], ln_emissions: &[f64]) -> (Vec<f64>, f64) {
    let k = ln_start.len();
    let n = ln_emissions.len() / k;
    let ln_transitions: Vec<f64> = transitions.iter().map(|p| p.ln()).collect();
    let mut forward = ln_emissions.to_vec();
    forward.iter_mut().zip(ln_start).for_each(|(f, start)| *f += start);
    for t in 1..n {
        let (done, rest) = forward.split_at_mut(t * k);
        let before = &done[(t - 1) * k..];
        for (to, f) in rest[..k].iter_mut().enumerate() {
            let terms: Vec<f64> = (0..k).map(|from| before[from] + ln_transitions[from * k + to]).collect();
            *f += ln_sum_exp(&terms);
        }
    }
    let ln_density = ln_sum_exp(&forward[(n - 1) * k..]);
    let mut backward = vec![0.0; k];
    for t in (0..n).rev() {
        if t + 1 < n {
            let after: Vec<f64> = ln_emissions[(t + 1) * k..].iter().zip(&backward).map(|(e, b)| e + b).collect();
            for (from, b) in backward.iter_mut().enumerate() {
                let terms: Vec<f64> = (0..k).map(|to| ln_transitions[from * k + to] + after[to]).collect();
                *b = ln_sum_exp(&terms);
            }
        }
        forward[t * k..].iter_mut().zip(&backward).for_each(|(f, b)| *f += b - ln_density);
    }
    (forward, ln_density)
}
