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
    state: Mutex<State>,
    more: Condvar,
}

static POOL: Pool = Pool {
    state: Mutex::new(State { waiting: VecDeque::new(), threads: 0, idle: 0 }),
    more: Condvar::new(),
};

/// Does some work on another thread, and waits for its outcome.
///
/// # Errors
/// If the system has no thread for it, or the work panics.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<T> {
    let (done, outcome) = oneshot::channel();
    begin(move || drop(done.send(work())))?;
    outcome.await.map_err(|_| io::Error::other("the work has panicked"))
}

/// Does some work on another thread, without waiting for its outcome.
///
/// # Errors
/// If the system has no thread for it.
pub(crate) fn begin(work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let mut state = POOL.state();
    if state.idle <= state.waiting.len() && state.threads < MOST {
        let thread = thread::Builder::new().name("blocking".to_owned()).stack_size(STACK);
        thread.spawn(|| POOL.run())?;
        state.threads += 1;
    }
    state.waiting.push_back(Box::new(work));
    drop(state);
    POOL.more.notify_one();
    Ok(())
}

impl Pool {
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
    use super::*;

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
