//! A Markov chain of round Gaussian states: z_t = z_t-1 with probability `stay`, else any other; x_t ~ N(mu_{z_t}, I).

use super::{GaussianMixture, Sample, rows_about};
use crate::error::{Error, Result};
use crate::random::{Stream, stream};
use rand::RngExt;

/// Rows in a sequence whose state now and then changes.
///
/// ```
/// use madbayes::simulate::HiddenMarkov;
///
/// let sample = HiddenMarkov { n_rows: 500, ..Default::default() }.sample(0)?;
/// assert_eq!((sample.values.len(), sample.labels.len()), (1000, 500));
/// # Ok::<(), madbayes::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HiddenMarkov {
    /// Number of rows, T.
    pub n_rows: usize,
    /// Number of columns, D.
    pub n_columns: usize,
    /// Number of states, K.
    pub n_states: usize,
    /// The least distance of two states' means, in standard deviations.
    pub separation: f64,
    /// The probability of staying, from 0 to 1.
    pub stay: f64,
}

impl Default for HiddenMarkov {
    /// 1000 rows of 2 columns, 5 states 4 standard deviations apart that stay for 20 rows on average.
    fn default() -> Self {
        HiddenMarkov { n_rows: 1000, n_columns: 2, n_states: 5, separation: 4.0, stay: 0.95 }
    }
}

impl HiddenMarkov {
    /// Errors when something cannot be simulated.
    pub fn check(&self) -> Result<()> {
        if !(0.0..=1.0).contains(&self.stay) {
            let help = "it is the probability that the next row has the same state";
            return Err(Error::argument("stay", "between 0 and 1", self.stay, help));
        }
        self.states().check()
    }

    /// Draws the means, the states, then the rows. The same seed gives the same bits.
    pub fn sample(&self, seed: u64) -> Result<Sample> {
        self.check()?;
        let mut rng = stream(seed, Stream::Simulation);
        let centres = self.states().centres(&mut rng);
        let mut state = rng.random_range(0..self.n_states);
        let states = (0..self.n_rows)
            .map(|row| {
                if row > 0 && self.n_states > 1 && rng.random::<f64>() >= self.stay {
                    state = (state + rng.random_range(1..self.n_states)) % self.n_states;
                }
                state as u32
            })
            .collect();
        Ok(rows_about(centres, self.n_columns, 1.0, states, &mut rng))
    }

    fn states(&self) -> GaussianMixture {
        GaussianMixture {
            n_rows: self.n_rows,
            n_columns: self.n_columns,
            n_clusters: self.n_states,
            separation: self.separation,
            ..GaussianMixture::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_stay_as_often_as_asked_and_change_to_all_others_alike() {
        let parameters = HiddenMarkov { n_rows: 40_000, n_states: 3, stay: 0.8, ..HiddenMarkov::default() };
        let sample = parameters.sample(0).unwrap();
        let mut counts = [[0.0; 3]; 3];
        sample.labels.windows(2).for_each(|pair| counts[pair[0] as usize][pair[1] as usize] += 1.0);
        for (from, row) in counts.iter().enumerate() {
            let total: f64 = row.iter().sum();
            for (to, count) in row.iter().enumerate() {
                let p: f64 = if from == to { 0.8 } else { 0.1 };
                assert!((count / total - p).abs() < 4.0 * (p * (1.0 - p) / total).sqrt(), "{from} {to}");
            }
        }
        assert_eq!(sample, parameters.sample(0).unwrap());
    }

    #[test]
    fn impossible_chains_are_named() {
        for stay in [-0.1, 1.1, f64::NAN] {
            let error = HiddenMarkov { stay, ..HiddenMarkov::default() }.sample(0).unwrap_err().to_string();
            assert!(error.starts_with("stay must be between 0 and 1"), "{error}");
        }
        assert!(HiddenMarkov { n_states: 0, ..HiddenMarkov::default() }.sample(0).is_err());
        assert!(HiddenMarkov { n_states: 1, stay: 0.0, n_rows: 5, ..HiddenMarkov::default() }.sample(0).is_ok());
    }
}
