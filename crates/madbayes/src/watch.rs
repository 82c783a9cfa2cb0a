//! One door for progress, Ctrl-C and time limits: every long loop polls a `Watch`.

use std::ops::ControlFlow;

/// Where a computation stands.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Step {
    /// A chunk of rows is done; polled often, so that stopping takes no longer than a chunk.
    Chunk,
    /// One pass or sweep over all rows is done.
    Pass {
        /// The restart or chain it belongs to.
        run: usize,
        /// Passes of this run so far.
        pass: usize,
        /// Groups at the moment.
        groups: usize,
        /// The objective (hard) or minus the log joint (sampler).
        objective: f64,
    },
    /// One restart or chain is finished.
    Run {
        /// Which one.
        run: usize,
        /// Of how many.
        of: usize,
    },
}

/// Told of every step; answers whether to go on. Called from several threads at once.
pub trait Watch: Sync {
    /// `Break` stops the computation: the best result so far is returned, marked as stopped.
    fn step(&self, step: &Step) -> ControlFlow<()>;
}

/// Watches nothing and never stops.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unwatched;

impl Watch for Unwatched {
    fn step(&self, _: &Step) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// Passes on only the question whether to stop: for preparations whose steps are not those of the work itself.
pub struct Silently<'a>(pub &'a dyn Watch);

impl Watch for Silently<'_> {
    fn step(&self, _: &Step) -> ControlFlow<()> {
        self.0.step(&Step::Chunk)
    }
}
