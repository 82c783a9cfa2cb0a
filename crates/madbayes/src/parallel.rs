//! Work shared between threads, with results in the order of the tasks: the same bits for any number of threads.

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Pools by process id and number of threads.
type Pools = HashMap<(u32, usize), Arc<ThreadPool>>;

/// Items for each thread by which one may be ahead of what is merged.
const LEAD: usize = 8;

/// Tells the other threads when this one panics.
struct StopOnPanic<'a>(&'a AtomicBool);

impl Drop for StopOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

/// The threads a computation may use.
#[derive(Debug, Clone, Default)]
pub struct Workers {
    pool: Option<Arc<ThreadPool>>,
}

impl Workers {
    /// No threads but the caller's.
    pub const fn serial() -> Self {
        Workers { pool: None }
    }

    /// `threads` threads (0: one per processor). Pools are made once and kept, one set per process id,
    /// so that a forked child never waits for threads it does not have.
    pub fn new(threads: usize) -> Self {
        static POOLS: OnceLock<Mutex<Pools>> = OnceLock::new();
        let threads = match threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            n => n,
        };
        if threads == 1 {
            return Workers::serial();
        }
        let mut pools = POOLS.get_or_init(Default::default).lock().unwrap_or_else(PoisonError::into_inner);
        let key = (std::process::id(), threads);
        let pool = match pools.get(&key) {
            Some(pool) => Some(pool.clone()),
            // Where the system refuses more threads, the work is done by the caller alone: the same bits, later.
            None => ThreadPoolBuilder::new().num_threads(threads).build().ok().map(Arc::new),
        };
        if let Some(pool) = &pool {
            pools.insert(key, pool.clone());
        }
        Workers { pool }
    }

    /// How many threads there are.
    pub fn count(&self) -> usize {
        self.pool.as_ref().map_or(1, |pool| pool.current_num_threads())
    }

    /// `task(0), .., task(n - 1)`, in this order.
    pub fn map<R: Send>(&self, n: usize, task: impl Fn(usize) -> R + Sync + Send) -> Vec<R> {
        match &self.pool {
            Some(pool) if n > 1 => pool.install(|| (0..n).into_par_iter().map(task).collect()),
            _ => (0..n).map(task).collect(),
        }
    }

    /// The same, where each thread keeps something from task to task that their results do not depend on.
    pub fn map_with<S, R: Send>(
        &self,
        n: usize,
        kept: impl Fn() -> S + Sync + Send,
        task: impl Fn(&mut S, usize) -> R + Sync + Send,
    ) -> Vec<R> {
        match &self.pool {
            Some(pool) if n > 1 => pool.install(|| (0..n).into_par_iter().map_init(kept, task).collect()),
            _ => {
                let mut kept = kept();
                (0..n).map(|i| task(&mut kept, i)).collect()
            }
        }
    }

    /// `task(i, &mut items[i])` for every item, and `merge` of each result in the order of the items as soon as those before it are merged.
    /// No thread gets farther ahead of the others than a few items, so that few results are held at once. Ends early, with false, once
    /// a task returns none.
    pub fn merge_in_order<S: Send, R: Send>(
        &self,
        items: &mut [S],
        task: impl Fn(usize, &mut S) -> Option<R> + Sync,
        mut merge: impl FnMut(R) + Send,
    ) -> bool {
        let pool = match &self.pool {
            Some(pool) if items.len() > 1 => pool,
            _ => return items.iter_mut().enumerate().all(|(i, item)| task(i, item).map(&mut merge).is_some()),
        };
        let n_items = items.len();
        let left = Mutex::new(items.iter_mut().enumerate());
        // Results that wait for one before them, by their number; the next to be merged.
        let done = Mutex::new((BTreeMap::new(), 0, merge));
        let (n_merged, lead) = (AtomicUsize::new(0), LEAD * self.count());
        let stopped = AtomicBool::new(false);
        let work = |_: &rayon::Scope| {
            let _guard = StopOnPanic(&stopped);
            while !stopped.load(Ordering::Relaxed) {
                let Some((i, item)) = left.lock().unwrap_or_else(PoisonError::into_inner).next() else { return };
                while i >= n_merged.load(Ordering::Relaxed) + lead && !stopped.load(Ordering::Relaxed) {
                    std::thread::yield_now();
                }
                let Some(result) = task(i, item) else {
                    stopped.store(true, Ordering::Relaxed);
                    return;
                };
                let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
                let (waiting, next, merge) = &mut *done;
                waiting.insert(i, result);
                while let Some(result) = waiting.remove(next) {
                    merge(result);
                    *next += 1;
                    n_merged.store(*next, Ordering::Relaxed);
                }
            }
        };
        pool.scope(|scope| (0..self.count().min(n_items)).for_each(|_| scope.spawn(work)));
        !stopped.into_inner()
    }

    /// Both, at the same time where there are threads.
    pub fn both<A: Send, B: Send>(&self, a: impl FnOnce() -> A + Send, b: impl FnOnce() -> B + Send) -> (A, B) {
        match &self.pool {
            Some(pool) => pool.join(a, b),
            None => (a(), b()),
        }
    }

    /// `task(i, &mut items[i])` for every item, results in the order of the items.
    pub fn map_mut<S: Send, R: Send>(
        &self,
        items: &mut [S],
        task: impl Fn(usize, &mut S) -> R + Sync + Send,
    ) -> Vec<R> {
        match &self.pool {
            Some(pool) if items.len() > 1 => {
                pool.install(|| items.par_iter_mut().enumerate().map(|(i, item)| task(i, item)).collect())
            }
            _ => items.iter_mut().enumerate().map(|(i, item)| task(i, item)).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_tasks() {
        for threads in [1, 2, 8] {
            let workers = Workers::new(threads);
            assert_eq!(workers.count(), threads);
            let squares: Vec<usize> = (0..1000).map(|i| i * i).collect();
            assert_eq!(workers.map(1000, |i| i * i), squares);
            assert_eq!(workers.map_with(1000, Vec::new, |seen, i| (seen.push(i), i * i).1), squares);
            let mut items = vec![1; 100];
            let seen = workers.map_mut(&mut items, |i, item| {
                *item += i;
                i
            });
            assert_eq!(seen, (0..100).collect::<Vec<_>>());
            assert_eq!(items[99], 100);
            assert_eq!(workers.both(|| 1, || workers.map(3, |i| i)), (1, vec![0, 1, 2]));
            let mut merged = Vec::new();
            assert!(workers.merge_in_order(&mut items, |i, item| Some((i, *item)), |result| merged.push(result)));
            assert_eq!(merged, (0..100).map(|i| (i, i + 1)).collect::<Vec<_>>());
            // What was merged before a stop are the first results, in order.
            merged.clear();
            assert!(!workers.merge_in_order(
                &mut items,
                |i, _| (i < 40).then_some((i, 0)),
                |result| merged.push(result)
            ));
            assert_eq!(merged, (0..merged.len()).map(|i| (i, 0)).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_panic_in_a_task_reaches_the_caller() {
        let mut items = vec![0; 1000];
        let task = |i: usize, _: &mut i32| if i == 3 { panic!("this one") } else { Some(i) };
        let run = || Workers::new(2).merge_in_order(&mut items, task, |_| ());
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).is_err());
    }
}
