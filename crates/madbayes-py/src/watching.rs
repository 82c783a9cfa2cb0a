//! Long work from Python: the GIL released, Ctrl-C heard, progress told.

use madbayes::watch::{Step, Watch};
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How often Python is asked for signals.
const PAUSE: Duration = Duration::from_millis(50);

/// What the working threads tell the waiting one, and the other way round.
#[derive(Default)]
pub struct Messages {
    stop: AtomicBool,
    /// The last pass of each run that was not told yet: pass, groups, objective.
    latest: Mutex<BTreeMap<usize, (usize, usize, f64)>>,
}

impl Watch for Messages {
    fn step(&self, step: &Step) -> ControlFlow<()> {
        if let Step::Pass { run, pass, groups, objective } = *step {
            self.latest.lock().unwrap_or_else(PoisonError::into_inner).insert(run, (pass, groups, objective));
        }
        if self.stop.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// Runs `work` without the GIL on a thread of its own, while the calling thread listens for Ctrl-C (only the main thread
/// of Python hears it) and calls `progress(run, pass, groups, objective)`. Returns the result and whether it was
/// interrupted: the work then ends with the best it has.
pub fn listen<R: Send>(
    py: Python<'_>,
    progress: Option<Py<PyAny>>,
    work: impl FnOnce(&Messages) -> R + Send,
) -> PyResult<(R, bool)> {
    let messages = Messages::default();
    let mut failure = None;
    let result = py.detach(|| {
        std::thread::scope(|scope| {
            let messages = &messages;
            // The end of the work, or its panic, lets go of one end of the channel, which ends the wait at once.
            let (working, ended) = channel::<()>();
            let worker = scope.spawn(move || {
                let _working = working;
                work(messages)
            });
            while ended.recv_timeout(PAUSE) == Err(RecvTimeoutError::Timeout) {
                if failure.is_some() {
                    continue;
                }
                failure = Python::attach(|py| tell(py, progress.as_ref(), messages)).err();
                if failure.is_some() {
                    messages.stop.store(true, Ordering::Relaxed);
                }
            }
            worker.join()
        })
    });
    if failure.is_none() {
        // The last steps, which no pause was left to tell.
        failure = tell(py, progress.as_ref(), &messages).err();
    }
    let result = result.map_err(|_| pyo3::panic::PanicException::new_err("madbayes failed: please report this"))?;
    interrupted(py, failure).map(|interrupted| (result, interrupted))
}

/// The same on the calling thread, for work that uses no other and is short as a rule: to start a thread and to wait for it takes as
/// long as to cluster a few hundred rows.
pub fn listen_here<R: Send>(
    py: Python<'_>,
    progress: Option<Py<PyAny>>,
    work: impl FnOnce(&dyn Watch) -> R + Send,
) -> PyResult<(R, bool)> {
    let here =
        Here { messages: Messages::default(), progress, told: Mutex::new(Told { at: Instant::now(), failure: None }) };
    let result = py.detach(|| work(&here));
    let Told { mut failure, .. } = here.told.into_inner().unwrap_or_else(PoisonError::into_inner);
    if failure.is_none() {
        failure = tell(py, here.progress.as_ref(), &here.messages).err();
    }
    interrupted(py, failure).map(|interrupted| (result, interrupted))
}

/// Messages to a thread that is at work itself.
struct Here {
    messages: Messages,
    progress: Option<Py<PyAny>>,
    told: Mutex<Told>,
}

/// When Python was asked last, and what it raised then.
struct Told {
    at: Instant,
    failure: Option<PyErr>,
}

impl Watch for Here {
    fn step(&self, step: &Step) -> ControlFlow<()> {
        self.messages.step(step)?;
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.at.elapsed() >= PAUSE {
            told.failure = Python::attach(|py| tell(py, self.progress.as_ref(), &self.messages)).err();
            told.at = Instant::now();
        }
        if told.failure.is_some() {
            self.messages.stop.store(true, Ordering::Relaxed);
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }
}

/// Whether it was Ctrl-C: what there is so far is kept, and the caller raises it again. Any other failure is raised now.
fn interrupted(py: Python<'_>, failure: Option<PyErr>) -> PyResult<bool> {
    match failure {
        Some(error) if error.is_instance_of::<pyo3::exceptions::PyKeyboardInterrupt>(py) => Ok(true),
        Some(error) => Err(error),
        None => Ok(false),
    }
}

fn tell(py: Python<'_>, progress: Option<&Py<PyAny>>, messages: &Messages) -> PyResult<()> {
    py.check_signals()?;
    let latest = std::mem::take(&mut *messages.latest.lock().unwrap_or_else(PoisonError::into_inner));
    if let Some(progress) = progress {
        for (run, (pass, groups, objective)) in latest {
            progress.call1(py, (run, pass, groups, objective))?;
        }
    }
    Ok(())
}
