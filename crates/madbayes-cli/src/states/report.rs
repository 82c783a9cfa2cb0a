//! The states as text, JSON, CSV and pictures.

use super::Cut;
use super::arguments::name_of_start;
use crate::agreement::Agreement;
use crate::convergence::{LARGEST_R_HAT, stopped_after, verdict};
use crate::number::{count, number, plural, table};
use crate::output::make_folder;
use crate::read::Table;
use crate::separation;
use anyhow::{Context, Result};
use madbayes::gibbs::HmmChain;
use madbayes::model::{HmmFit, InfiniteHmm, MixtureStart};
use madbayes_draw::{Lines, Segments};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// States shown in the tables.
const MOST_STATES: usize = 12;
const TITLE: &str = "States";

/// A fit with all that is said about it.
pub struct Answer<'a> {
    pub hmm: &'a InfiniteHmm,
    pub table: &'a Table,
    pub cut: &'a Cut,
    pub fit: &'a HmmFit,
    pub agreement: Option<Agreement>,
    pub seconds: f64,
}

impl Answer<'_> {
    /// The share of sweeps after the burn-in with each number of states.
    fn distribution(&self) -> BTreeMap<usize, f64> {
        let burn_in = self.hmm.schedule.burn_in;
        let kept = || self.fit.chains.iter().flat_map(|chain| chain.n_states.iter().skip(burn_in));
        let total = kept().count();
        let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
        kept().for_each(|k| *counts.entry(*k).or_default() += 1);
        counts.into_iter().map(|(k, count)| (k, count as f64 / total as f64)).collect()
    }

    pub fn segments<R>(&self, draw: impl Fn(&Segments) -> R) -> R {
        let states = self.fit.estimate.labels();
        let sequences: Vec<&[u32]> = self.cut.sequences.ranges().map(|rows| &states[rows]).collect();
        draw(&Segments { title: TITLE, names: &self.cut.names, sequences: &sequences })
    }

    /// The number of a row in the file, from 1.
    fn row_number(&self, row: usize) -> usize {
        self.table.row_numbers.as_ref().map_or(row, |numbers| numbers[row]) + 1
    }

    pub fn csv(&self) -> String {
        let mut out = String::from("row,state,certainty\n");
        for (row, (state, certainty)) in self.fit.estimate.labels().iter().zip(&self.fit.certainty).enumerate() {
            out += &format!("{},{state},{certainty}\n", self.row_number(row));
        }
        out
    }

    pub fn json(&self) -> String {
        let (fit, k) = (self.fit, self.fit.estimate.n_groups());
        let traces = |of: &dyn Fn(&HmmChain) -> Value| fit.chains.iter().map(of).collect::<Vec<Value>>();
        let best =
            fit.chains.iter().filter_map(|chain| chain.best.as_ref()).map(|(_, ln)| *ln).fold(f64::NAN, f64::max);
        let next: Vec<Vec<f64>> = (0..self.cut.sequences.len()).map(|i| fit.model.next_states(i)).collect();
        let mut value = json!({
            "n_rows": self.table.n_rows,
            "n_columns": self.table.names.len(),
            "columns": self.table.names,
            "n_sequences": self.cut.sequences.len(),
            "lengths": self.cut.sequences.lengths(),
            "sequences": self.cut.names,
            "penalty": null,
            "objective": -best,
            "n_groups": k,
            "sizes": fit.estimate.sizes(),
            "labels": fit.estimate.labels(),
            "certainty": fit.certainty,
            "transitions": fit.model.transitions.chunks_exact(k).collect::<Vec<_>>(),
            "new_state": fit.model.new_state,
            "next_states": next,
            "distribution": self.distribution().into_iter().collect::<Vec<_>>(),
            "agreement": self.agreement,
            "r_hat": {
                "n_states": fit.r_hat[0], "log_joint": fit.r_hat[1], "concentration": fit.r_hat[2], "gamma": fit.r_hat[3],
            },
            "effective_size": {
                "n_states": fit.effective_size[0], "log_joint": fit.effective_size[1],
                "concentration": fit.effective_size[2], "gamma": fit.effective_size[3],
            },
            "n_states_trace": traces(&|chain| json!(chain.n_states)),
            "log_joint_trace": traces(&|chain| json!(chain.ln_joint)),
            "concentration_trace":
                traces(&|chain| chain.values.iter().map(|values| values.concentration).collect::<Vec<_>>().into()),
            "stickiness_trace": traces(&|chain| chain.values.iter().map(|values| values.share).collect::<Vec<_>>().into()),
            "converged": !fit.stopped && self.agree(),
            "stopped": fit.stopped,
            "start": fit.start.map(name_of_start),
            "standardized": fit.model.standardise.is_some(),
            "sweeps": self.hmm.schedule.sweeps,
            "burn_in": self.hmm.schedule.burn_in,
            "seed": self.hmm.seed,
            "seconds": self.seconds,
            "version": env!("CARGO_PKG_VERSION"),
        });
        let (hyperplanes, standardise) = (fit.model.hyperplanes.as_ref(), fit.model.standardise.as_ref());
        separation::add_to(&mut value, self.hmm.discriminative, hyperplanes, standardise, k);
        format!("{value:#}\n")
    }

    /// Whether chains agree, as far as that is known.
    pub fn agree(&self) -> bool {
        self.fit.r_hat.iter().all(|r| r.is_nan() || *r <= LARGEST_R_HAT)
    }

    /// The largest R-hat of those that are known; NaN where that of the log joint is not.
    fn largest_r_hat(&self) -> f64 {
        let known = self.fit.r_hat.iter().copied().filter(|r| !r.is_nan());
        if self.fit.r_hat[1].is_nan() { f64::NAN } else { known.fold(1.0, f64::max) }
    }

    /// What to do where chains do not agree.
    pub fn disagreement(&self) -> Option<String> {
        (!self.fit.stopped && self.largest_r_hat() > LARGEST_R_HAT).then(|| {
            format!(
                "chains disagree or still move (an R-hat is above {LARGEST_R_HAT}): another run may answer otherwise; raise --sweeps, and \
                 compare --start random and --sampler direct by their log joint"
            )
        })
    }

    pub fn text(&self) -> String {
        let (fit, k) = (self.fit, self.fit.estimate.n_groups());
        let mut out = format!(
            "{} x {} in {}: {}\n\n",
            plural(self.table.n_rows, "row"),
            plural(self.table.names.len(), "column"),
            plural(self.cut.sequences.len(), "sequence"),
            plural(k, "state"),
        );
        out += &self.segments(|picture| picture.text(78));
        out += "\n";
        out += &self.state_table();
        let shares = self.distribution();
        if !shares.is_empty() {
            out += "\nshare of sweeps by number of states, after the burn-in:\n";
            let rows: Vec<Vec<String>> =
                shares.iter().map(|(k, share)| vec![k.to_string(), format!("{:.1}%", 100.0 * share)]).collect();
            out += &table(&["states".into(), "share".into()], &rows);
        }
        out += "\n";
        if let Some(agreement) = &self.agreement {
            out += &agreement.line();
        }
        out += &separation::line(self.hmm.discriminative, "state");
        out += &self.start_line();
        let told = |r: f64| if r.is_nan() { "unknown".to_string() } else { format!("{r:.2}") };
        out += &format!(
            "R-hat {} (states), {} (log joint), {} (concentration), {} (gamma): {}\n{}{} of {} sweeps in {} s, seed {}\n",
            told(fit.r_hat[0]),
            told(fit.r_hat[1]),
            told(fit.r_hat[2]),
            told(fit.r_hat[3]),
            verdict(self.largest_r_hat(), fit.chains.len()),
            stopped_after(fit.stopped, fit.chains.iter().map(|chain| chain.n_states.len())),
            plural(fit.chains.len(), "chain"),
            self.hmm.schedule.sweeps,
            number(self.seconds),
            self.hmm.seed
        );
        out
    }

    /// Where the chains began, as far as that is known.
    fn start_line(&self) -> String {
        let began = match self.fit.start {
            Some(MixtureStart::DpMeans) => "at the clusters of DP-means",
            Some(MixtureStart::One) => "with all rows in one state",
            Some(MixtureStart::Random) if self.hmm.start == MixtureStart::DpMeans => {
                "at random, which led higher in 20 sweeps than the clusters of DP-means"
            }
            Some(MixtureStart::Random) => "at random",
            None => return String::new(),
        };
        format!("chains began {began}\n")
    }

    /// Rows, certainty and transitions of every state.
    fn state_table(&self) -> String {
        let (fit, k) = (self.fit, self.fit.estimate.n_groups());
        let shown = k.min(MOST_STATES);
        let mut sums = vec![0.0; k];
        let rows = fit.estimate.labels().iter().zip(&fit.certainty);
        rows.for_each(|(&state, certainty)| sums[state as usize] += certainty);
        let mut head: Vec<String> = ["state", "rows", "share", "certainty"].map(String::from).to_vec();
        head.extend((0..shown).map(|to| format!("to {to}")));
        head.push("new".into());
        let percent = |p: f64| format!("{:.1}%", 100.0 * p);
        let rows: Vec<Vec<String>> = (0..shown)
            .map(|state| {
                let size = fit.estimate.sizes()[state];
                let mut cells = vec![
                    state.to_string(),
                    count(size),
                    percent(size as f64 / self.table.n_rows as f64),
                    format!("{:.2}", sums[state] / size as f64),
                ];
                cells.extend((0..shown).map(|to| percent(fit.model.transitions[state * k + to])));
                cells.push(percent(fit.model.new_state[state]));
                cells
            })
            .collect();
        let mut out = table(&head, &rows);
        if k > shown {
            out += &format!("  and {} more states\n", k - shown);
        }
        out
    }

    /// Writes states.svg, number-of-states.svg and log-joint.svg.
    pub fn write_plots(&self, folder: &Path) -> Result<()> {
        make_folder(folder)?;
        let series = |of: &dyn Fn(&HmmChain) -> Vec<f64>| -> Vec<(String, Vec<f64>)> {
            let chains = self.fit.chains.iter().enumerate();
            chains.map(|(i, chain)| (format!("chain {}", i + 1), of(chain))).collect()
        };
        let numbers = series(&|chain| chain.n_states.iter().map(|&k| k as f64).collect());
        let joints = series(&|chain| chain.ln_joint.clone());
        let lines =
            |title, y_name, series: &[(String, Vec<f64>)]| Lines { title, x_name: "sweep", y_name, series }.svg();
        let pictures = [
            ("states.svg", self.segments(|picture| picture.svg())),
            ("number-of-states.svg", lines("States after each sweep", "states", &numbers)),
            ("log-joint.svg", lines("Log joint probability after each sweep", "log joint", &joints)),
        ];
        for (name, picture) in pictures {
            let path = folder.join(name);
            std::fs::write(&path, picture).with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok(())
    }
}
