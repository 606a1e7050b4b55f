//! Work that blocks, on threads of its own.
//!
//! The threads are started as they are needed, and end when nothing more comes. Where the system
//! has none left, that is an error of the one who asks, and ends nothing else.

use std::collections::VecDeque;
use std::io;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use tokio::sync::oneshot;

/// The most threads at the same time; further work waits for one of them.
const MOST: usize = 512;
/// The stack of a thread: address space may be limited (`ulimit -v`).
pub(crate) const STACK: usize = 512 << 10;
/// The time for which a thread waits for more work.
const IDLE: Duration = Duration::from_secs(10);

type Work = Box<dyn FnOnce() + Send>;

#[derive(Default)]
struct State {
    waiting: VecDeque<Work>,
    threads: usize,
    /// The threads that wait for work.
    idle: usize,
}

struct Pool {
    /// The most threads at the same time.
    most: usize,
    state: Mutex<State>,
    more: Condvar,
}

static POOL: Pool = Pool::new(MOST);

/// Does some work on another thread, and waits for its outcome.
///
/// # Errors
/// If the system has no thread for it, or the work panics.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<T> {
    blocking_or(work, || false).await
}

/// Does some work as [`blocking`] does; if no thread is free, `make_room` ends other work, whose
/// thread does this one then, or tells that there is none to end.
///
/// # Errors
/// As [`blocking`].
pub(crate) async fn blocking_or<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
    make_room: impl FnOnce() -> bool,
) -> io::Result<T> {
    let (done, outcome) = oneshot::channel();
    begin_or(move || drop(done.send(work())), make_room)?;
    outcome.await.map_err(|_| io::Error::other("the work has panicked"))
}

/// Does some work on another thread as [`blocking_or`] does, without waiting for its outcome.
///
/// # Errors
/// If the system has no thread for it.
pub(crate) fn begin_or(
    work: impl FnOnce() + Send + 'static,
    make_room: impl FnOnce() -> bool,
) -> io::Result<()> {
    POOL.begin(Box::new(work), make_room)
}

impl Pool {
    const fn new(most: usize) -> Self {
        let state = State { waiting: VecDeque::new(), threads: 0, idle: 0 };
        Self { most, state: Mutex::new(state), more: Condvar::new() }
    }

    fn begin(&'static self, work: Work, make_room: impl FnOnce() -> bool) -> io::Result<()> {
        let mut state = self.state();
        if state.idle <= state.waiting.len() {
            let is_full = state.threads >= self.most;
            let started = if is_full { Ok(()) } else { self.start(&mut state) };
            if is_full || started.is_err() {
                drop(state);
                // Work that only waits for a thread needs no room made for it.
                if !make_room() {
                    started?;
                }
                state = self.state();
            }
        }
        state.waiting.push_back(work);
        drop(state);
        self.more.notify_one();
        Ok(())
    }

    fn start(&'static self, state: &mut State) -> io::Result<()> {
        let thread = thread::Builder::new().name("blocking".to_owned()).stack_size(STACK);
        thread.spawn(|| self.run())?;
        state.threads += 1;
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self) {
        let mut state = self.state();
        loop {
            if let Some(work) = state.waiting.pop_front() {
                drop(state);
                let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
                state = self.state();
                continue;
            }
            state.idle += 1;
            let waited = self.more.wait_timeout(state, IDLE);
            let (next, time) = waited.unwrap_or_else(PoisonError::into_inner);
            state = next;
            state.idle -= 1;
            if time.timed_out() && state.waiting.is_empty() {
                state.threads -= 1;
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn work_that_finds_no_thread_is_done_by_that_of_other_work_which_gives_way() {
        static SMALL: Pool = Pool::new(1);
        let (go, may_go) = mpsc::channel::<()>();
        let (done, outcome) = mpsc::channel();
        let waits = Box::new(move || _ = may_go.recv());
        SMALL.begin(waits, || panic!("there is room")).expect("a thread");
        let make_room = move || go.send(()).is_ok();
        SMALL.begin(Box::new(move || _ = done.send(7)), make_room).expect("its turn");
        assert_eq!(outcome.recv(), Ok(7));
        assert_eq!(SMALL.state().threads, 1);
    }

    #[tokio::test]
    async fn work_of_any_number_comes_to_its_end_and_a_panic_ends_no_other() {
        let mut all = Vec::new();
        for number in 0..100 {
            all.push(tokio::spawn(blocking(move || {
                assert_ne!(number, 50, "this one panics");
                number
            })));
        }
        for (number, work) in all.into_iter().enumerate() {
            let outcome = work.await.expect("no panic here");
            assert_eq!(outcome.ok(), (number != 50).then_some(number));
        }
    }
}
