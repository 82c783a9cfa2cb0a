//! Work shared between threads, with results in the order of the tasks: the same bits for any number of threads.
//!
//! The calling thread works itself, and calls none that is busy elsewhere: a second thread helps where one is idle.

use rayon::{ThreadPool, ThreadPoolBuilder};
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// Helpers by process id and number of threads.
type Known = HashMap<(u32, usize), Arc<Helpers>>;

/// Results for each thread that may wait for one before them, where they are small.
pub(crate) const MOST_WAITING: usize = 8;

/// Fewer tasks may be long: other threads are called at once.
const MANY: usize = 16;

/// Tasks that take no longer than this are done before another thread would have begun.
const SHORT: Duration = Duration::from_micros(40);

/// Blocks of tasks for each thread, which it takes one after the other.
const BLOCKS: usize = 16;

/// Threads beside the calling ones.
#[derive(Debug)]
struct Helpers {
    pool: ThreadPool,
    /// How many of them have nothing to do.
    idle: AtomicUsize,
}

impl Helpers {
    /// So many; none where the system refuses more threads: the work is done by the caller alone then, the same bits, later.
    fn start(number: usize) -> Option<Arc<Helpers>> {
        let pool = ThreadPoolBuilder::new().num_threads(number).build().ok()?;
        Some(Arc::new(Helpers { pool, idle: AtomicUsize::new(number) }))
    }

    /// As many as are idle, and no more than wanted: from now on they are not.
    fn hire(&self, wanted: usize) -> usize {
        let hired = |idle: usize| idle.min(wanted);
        let before = self.idle.fetch_update(Ordering::AcqRel, Ordering::Acquire, |idle| Some(idle - hired(idle)));
        before.map_or(0, hired)
    }
}

/// Lets a helper go at the end of its work, be it a panic.
struct Hired<'a>(&'a AtomicUsize);

impl Drop for Hired<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::AcqRel);
    }
}

/// Tells the other threads when this one panics.
struct StopOnPanic<'a>(&'a AtomicBool);

impl Drop for StopOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

/// What a lock holds, also where another thread panicked with it: that panic is on its way to the caller.
fn locked<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The threads a computation may use.
#[derive(Debug, Clone, Default)]
pub struct Workers {
    helpers: Option<Arc<Helpers>>,
}

impl Workers {
    /// No threads but the caller's.
    pub const fn serial() -> Self {
        Workers { helpers: None }
    }

    /// `threads` threads (0: one per processor), the caller's among them. Helpers are made once and kept, one set per process id,
    /// so that a forked child never waits for threads it does not have.
    pub fn new(threads: usize) -> Self {
        static KNOWN: OnceLock<Mutex<Known>> = OnceLock::new();
        let threads = match threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            n => n,
        };
        if threads == 1 {
            return Workers::serial();
        }
        let mut known = locked(KNOWN.get_or_init(Default::default));
        let key = (std::process::id(), threads);
        let helpers = match known.get(&key) {
            Some(helpers) => Some(helpers.clone()),
            None => Helpers::start(threads - 1),
        };
        if let Some(helpers) = &helpers {
            known.insert(key, helpers.clone());
        }
        Workers { helpers }
    }

    /// How many threads there are.
    pub fn count(&self) -> usize {
        self.helpers.as_ref().map_or(1, |helpers| helpers.pool.current_num_threads() + 1)
    }

    /// `work` on this thread and, at the same time, on those that are idle: `most` of them in all.
    fn together(&self, most: usize, work: impl Fn() + Sync) {
        let hired = self.helpers.as_ref().map(|helpers| (helpers, helpers.hire(most.saturating_sub(1))));
        let Some((helpers, hired @ 1..)) = hired else { return work() };
        let busy = AtomicUsize::new(hired);
        helpers.pool.in_place_scope(|scope| {
            for _ in 0..hired {
                scope.spawn(|_| {
                    let _hired = Hired(&helpers.idle);
                    work();
                    busy.fetch_sub(1, Ordering::AcqRel);
                });
            }
            work();
            // Those at work end soon as a rule, sooner than this thread would fall asleep and wake.
            let end = Instant::now() + SHORT;
            while busy.load(Ordering::Acquire) > 0 && Instant::now() < end {
                std::hint::spin_loop();
            }
        });
    }

    /// `task(kept, i, item)` for every item, in this order; each thread keeps something from task to task.
    fn all<S: Send, K, R: Send>(
        &self,
        items: impl ExactSizeIterator<Item = S> + Send,
        kept: impl Fn() -> K + Sync,
        task: impl Fn(&mut K, usize, S) -> R + Sync,
    ) -> Vec<R> {
        let n = items.len();
        let mut items = items.enumerate();
        let mut done = Vec::with_capacity(n);
        if self.helpers.is_none() || n >= MANY {
            let (begin, mut own) = (Instant::now(), kept());
            for (i, item) in items.by_ref() {
                done.push(task(&mut own, i, item));
                if self.helpers.is_some() && begin.elapsed() > SHORT {
                    break;
                }
            }
        }
        if items.len() == 0 {
            return done;
        }
        let several = items.len().div_ceil(BLOCKS * self.count());
        let blocks = items.len().div_ceil(several);
        let (left, parts) = (Mutex::new(items), Mutex::new(Vec::new()));
        self.together(blocks, || {
            let mut own = kept();
            loop {
                let block: Vec<(usize, S)> = locked(&left).by_ref().take(several).collect();
                let Some(&(first, _)) = block.first() else { return };
                let results: Vec<R> = block.into_iter().map(|(i, item)| task(&mut own, i, item)).collect();
                locked(&parts).push((first, results));
            }
        });
        let mut parts = parts.into_inner().unwrap_or_else(PoisonError::into_inner);
        parts.sort_by_key(|(first, _)| *first);
        done.extend(parts.into_iter().flat_map(|(_, results)| results));
        done
    }

    /// `task(0), .., task(n - 1)`, in this order.
    pub fn map<R: Send>(&self, n: usize, task: impl Fn(usize) -> R + Sync + Send) -> Vec<R> {
        self.all(0..n, || (), |_, _, i| task(i))
    }

    /// The same, where each thread keeps something from task to task that their results do not depend on.
    pub fn map_with<S, R: Send>(
        &self,
        n: usize,
        kept: impl Fn() -> S + Sync + Send,
        task: impl Fn(&mut S, usize) -> R + Sync + Send,
    ) -> Vec<R> {
        self.all(0..n, kept, |own, _, i| task(own, i))
    }

    /// `task(i, &mut items[i])` for every item, and `merge` of each result in the order of the items as soon as those before it are merged.
    /// No thread gets farther ahead of the others than `most_waiting` items for each thread, so that few results are held at once. Ends
    /// early, with false, once a task returns none. Tasks use no threads of their own: one that waits for another could be given
    /// the next of these, and hold up the first.
    pub fn merge_in_order<S: Send, R: Send>(
        &self,
        items: &mut [S],
        most_waiting: usize,
        task: impl Fn(usize, &mut S) -> Option<R> + Sync,
        mut merge: impl FnMut(R) + Send,
    ) -> bool {
        if items.len() < 2 || self.helpers.is_none() {
            return items.iter_mut().enumerate().all(|(i, item)| task(i, item).map(&mut merge).is_some());
        }
        let n_items = items.len();
        let left = Mutex::new(items.iter_mut().enumerate());
        // Results that wait for one before them, by their number; the next to be merged.
        let done = Mutex::new((BTreeMap::new(), 0, merge));
        let (n_merged, lead) = (AtomicUsize::new(0), most_waiting * self.count());
        let stopped = AtomicBool::new(false);
        self.together(n_items, || {
            let _guard = StopOnPanic(&stopped);
            while !stopped.load(Ordering::Relaxed) {
                let Some((i, item)) = locked(&left).next() else { return };
                while i >= n_merged.load(Ordering::Relaxed) + lead && !stopped.load(Ordering::Relaxed) {
                    std::thread::yield_now();
                }
                let Some(result) = task(i, item) else {
                    stopped.store(true, Ordering::Relaxed);
                    return;
                };
                let mut done = locked(&done);
                let (waiting, next, merge) = &mut *done;
                waiting.insert(i, result);
                while let Some(result) = waiting.remove(next) {
                    merge(result);
                    *next += 1;
                    n_merged.store(*next, Ordering::Relaxed);
                }
            }
        });
        !stopped.into_inner()
    }

    /// Both, at the same time where another thread is idle.
    pub fn both<A: Send, B: Send>(&self, a: impl FnOnce() -> A + Send, b: impl FnOnce() -> B + Send) -> (A, B) {
        match self.helpers.as_ref().filter(|helpers| helpers.hire(1) == 1) {
            Some(helpers) => {
                let mut second = None;
                let first = helpers.pool.in_place_scope(|scope| {
                    scope.spawn(|_| {
                        let _hired = Hired(&helpers.idle);
                        second = Some(b());
                    });
                    a()
                });
                // The scope has ended, so that this one has too.
                (first, second.expect("work that was waited for"))
            }
            None => (a(), b()),
        }
    }

    /// `task(i, &mut items[i])` for every item, results in the order of the items.
    pub fn map_mut<S: Send, R: Send>(
        &self,
        items: &mut [S],
        task: impl Fn(usize, &mut S) -> R + Sync + Send,
    ) -> Vec<R> {
        self.all(items.iter_mut(), || (), |_, i, item| task(i, item))
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
            // Short tasks, which one thread does, and longer ones.
            for wait in [Duration::ZERO, SHORT / 40] {
                let square = |i: usize| {
                    std::thread::sleep(wait);
                    i * i
                };
                assert_eq!(workers.map(1000, square), squares);
                assert_eq!(workers.map_with(1000, Vec::new, |seen, i| (seen.push(i), square(i)).1), squares);
            }
            let mut items = vec![1; 100];
            let seen = workers.map_mut(&mut items, |i, item| {
                std::thread::sleep(SHORT / 10);
                *item += i;
                i
            });
            assert_eq!(seen, (0..100).collect::<Vec<_>>());
            assert_eq!(items[99], 100);
            assert_eq!(workers.both(|| 1, || workers.map(3, |i| i)), (1, vec![0, 1, 2]));
            let mut merged = Vec::new();
            assert!(workers.merge_in_order(&mut items, 2, |i, item| Some((i, *item)), |result| merged.push(result)));
            assert_eq!(merged, (0..100).map(|i| (i, i + 1)).collect::<Vec<_>>());
            // What was merged before a stop are the first results, in order.
            merged.clear();
            assert!(!workers.merge_in_order(
                &mut items,
                2,
                |i, _| (i < 40).then_some((i, 0)),
                |result| merged.push(result)
            ));
            assert_eq!(merged, (0..merged.len()).map(|i| (i, 0)).collect::<Vec<_>>());
        }
    }

    #[test]
    fn work_goes_on_while_all_other_threads_are_busy() {
        let workers = Workers { helpers: Some(Helpers::start(1).expect("another thread")) };
        let done = AtomicBool::new(false);
        let inner = || {
            let squares = workers.map(100, |i| {
                std::thread::sleep(SHORT / 10);
                i * i
            });
            done.store(true, Ordering::Relaxed);
            squares
        };
        let until_done = || {
            let begin = Instant::now();
            while !done.load(Ordering::Relaxed) && begin.elapsed() < Duration::from_secs(20) {
                std::thread::yield_now();
            }
            done.load(Ordering::Relaxed)
        };
        let (squares, in_time) = workers.both(inner, until_done);
        assert!(in_time, "the tasks waited for the thread that waited for them");
        assert_eq!(squares, (0..100).map(|i| i * i).collect::<Vec<_>>());
        // Whoever was called is idle again, after a panic too: both threads have a task, and both panic.
        let both_are_here = std::sync::Barrier::new(2);
        let panics = || {
            workers.map(2, |i| {
                both_are_here.wait();
                assert!(i > 2, "this one");
            })
        };
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(panics)).is_err());
        assert!(workers.helpers.is_some_and(|helpers| helpers.hire(1) == 1));
    }

    #[test]
    fn a_panic_in_a_task_reaches_the_caller() {
        let mut items = vec![0; 1000];
        let task = |i: usize, _: &mut i32| if i == 3 { panic!("this one") } else { Some(i) };
        let run = || Workers::new(2).merge_in_order(&mut items, MOST_WAITING, task, |_| ());
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).is_err());
    }
}
