//! Progress on standard error, Ctrl-C, and the time limit.

use crate::number::number;
use anyhow::{Result, bail};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use madbayes::watch::{Step, Watch};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Ctrl-C pressed so far.
static INTERRUPTS: AtomicUsize = AtomicUsize::new(0);

/// The watch of the terminal.
pub struct Watching {
    bar: ProgressBar,
    deadline: Option<Instant>,
    runs: AtomicUsize,
    /// What is counted: clusters or features.
    groups: &'static str,
    /// The sweeps of a chain, where it is a sampler that is watched.
    sweeps: Option<usize>,
}

impl Watching {
    /// Begins to watch clusters.
    pub fn new(quiet: bool, time_limit: Option<f64>) -> Result<Self> {
        Watching::counting("clusters", quiet, time_limit)
    }

    /// Begins to watch. The first Ctrl-C stops the work and keeps the best so far, the second ends the program.
    pub fn counting(groups: &'static str, quiet: bool, time_limit: Option<f64>) -> Result<Self> {
        let deadline = match time_limit {
            Some(seconds) if !(seconds.is_finite() && seconds > 0.0) => {
                bail!("--time-limit must be a positive number of seconds, got {seconds}: leave it out for no limit")
            }
            // A limit beyond what the clock can count is no limit.
            Some(seconds) => {
                Duration::try_from_secs_f64(seconds).ok().and_then(|limit| Instant::now().checked_add(limit))
            }
            None => None,
        };
        let bar = ProgressBar::new_spinner();
        // Drawn only where standard error is a terminal.
        bar.set_draw_target(if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() });
        if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed} {msg}") {
            bar.set_style(style);
        }
        // Without a handler Ctrl-C ends the program at once, which is no worse than failing here.
        let _ = ctrlc::set_handler(|| {
            if INTERRUPTS.fetch_add(1, Ordering::Relaxed) > 0 {
                std::process::exit(130);
            }
        });
        Ok(Watching { bar, deadline, runs: AtomicUsize::new(0), groups, sweeps: None })
    }

    /// The same for a sampler of clusters.
    pub fn sampling(sweeps: usize, quiet: bool, time_limit: Option<f64>) -> Result<Self> {
        Ok(Watching { sweeps: Some(sweeps), ..Watching::new(quiet, time_limit)? })
    }

    /// Takes the progress line away.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }

    /// Why the work was stopped, for people.
    pub fn reason(&self) -> &'static str {
        if INTERRUPTS.load(Ordering::Relaxed) > 0 { "interrupted" } else { "time limit reached" }
    }
}

impl Watch for Watching {
    fn step(&self, step: &Step) -> ControlFlow<()> {
        match *step {
            Step::Chunk => {}
            Step::Pass { run, pass, groups, objective } => {
                let message = match self.sweeps {
                    Some(sweeps) => format!(
                        "chain {}, sweep {pass} of {sweeps}: {groups} {}, log joint {}",
                        run + 1,
                        self.groups,
                        number(-objective)
                    ),
                    None => format!(
                        "run {}, pass {pass}: {groups} {}, objective {}",
                        self.runs.load(Ordering::Relaxed) + 1,
                        self.groups,
                        number(objective)
                    ),
                };
                self.bar.set_message(message);
                self.bar.tick();
            }
            Step::Run { .. } => {
                self.runs.fetch_add(1, Ordering::Relaxed);
            }
        }
        let late = self.deadline.is_some_and(|deadline| Instant::now() >= deadline);
        if late || INTERRUPTS.load(Ordering::Relaxed) > 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}
