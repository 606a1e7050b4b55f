//! The real clock, and one place to wait for everything.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt as _;

use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags};
use nix::time::ClockId;
use windfall_base::{Duration, Instant, Port};

use crate::driver::Clock;
use crate::system;

/// The least and the greatest delay that the system's timers are taken to have: an idle machine
/// sleeps deeply and wakes up late.
const LATE: (Duration, Duration) = (Duration::from_micros(30), Duration::from_micros(200));
/// Waits that are longer than this end with a moment of wakefulness, so that they end in time;
/// there can be no more than a thousand of them in a second.
const LONG: Duration = Duration::from_millis(1);

/// No wait is longer: how long the process was stopped in a wait is known to within this span.
const HEARTBEAT: Duration = Duration::from_millis(100);

/// Marks what is no device among the things that are waited for.
const OTHER: u64 = 1 << 32;

/// The system's monotonic clock, which waits for devices and for other descriptors.
pub struct SystemClock {
    epoll: Epoll,
    /// The time of the system's clock at the beginning, in nanoseconds.
    began: i64,
    /// Room for events, of which the first `found` are those of the last look.
    events: Vec<EpollEvent>,
    found: usize,
    others: Vec<u32>,
    /// The deadline of a long wait, for whose last moments there is no sleep.
    awaited: Option<Instant>,
    /// The recent delay of timers: the worst of some, slowly forgotten.
    late: Duration,
    /// The scheduler's counters of this thread; `None` where the kernel has none.
    scheduled: Option<File>,
    /// The latest time at which nothing that the last wait reported had happened.
    quiet: Option<Instant>,
}

impl SystemClock {
    /// A clock that starts now.
    ///
    /// # Errors
    /// If the system has no descriptors left.
    pub fn new() -> io::Result<Self> {
        // A timer may otherwise come 50 µs late on purpose, to come together with others.
        let _ = nix::sys::prctl::set_timerslack(1);
        Ok(Self {
            epoll: Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?,
            began: system::nanos(ClockId::CLOCK_MONOTONIC),
            events: vec![EpollEvent::empty(); 64],
            found: 0,
            others: Vec::new(),
            awaited: None,
            late: LATE.1,
            scheduled: scheduler_statistics(),
            quiet: None,
        })
    }

    /// Another clock that shows the same time, and waits for nothing yet.
    ///
    /// # Errors
    /// If the system has no descriptors left.
    pub fn another(&self) -> io::Result<Self> {
        Ok(Self { began: self.began, ..Self::new()? })
    }

    /// Waits for the device of this port from now on.
    ///
    /// # Errors
    /// If the descriptor cannot be waited for.
    pub fn watch_device(&self, port: Port, device: impl AsFd) -> io::Result<()> {
        self.watch(device, port.0.into(), EpollFlags::EPOLLIN)
    }

    /// Waits for another descriptor from now on; `name` is what [`take_others`](Self::take_others)
    /// says when it can be read.
    ///
    /// # Errors
    /// If the descriptor cannot be waited for.
    pub fn watch_other(&self, name: u32, descriptor: impl AsFd) -> io::Result<()> {
        self.watch(descriptor, OTHER | u64::from(name), EpollFlags::EPOLLIN)
    }

    /// As [`watch_other`](Self::watch_other), for a descriptor that can be written again.
    ///
    /// # Errors
    /// If the descriptor cannot be waited for.
    pub fn watch_writable(&self, name: u32, descriptor: impl AsFd) -> io::Result<()> {
        self.watch(descriptor, OTHER | u64::from(name), EpollFlags::EPOLLOUT)
    }

    /// As [`watch_other`](Self::watch_other), but only for changes: when there is more to read,
    /// when there is room again to write, when it is over.
    ///
    /// # Errors
    /// If the descriptor cannot be waited for.
    pub fn watch_edges(&self, name: u32, descriptor: impl AsFd) -> io::Result<()> {
        let both = EpollFlags::EPOLLIN | EpollFlags::EPOLLOUT | EpollFlags::EPOLLRDHUP;
        self.watch(descriptor, OTHER | u64::from(name), both | EpollFlags::EPOLLET)
    }

    /// Waits for a descriptor no more.
    ///
    /// # Errors
    /// If it was not waited for.
    pub fn unwatch(&self, descriptor: impl AsFd) -> io::Result<()> {
        Ok(self.epoll.delete(descriptor)?)
    }

    /// The names of the other descriptors that can be read, since the last call.
    pub fn take_others(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.others)
    }

    /// Returns the time to sleep for a deadline.
    fn sleep_until(&mut self, deadline: Instant) -> Duration {
        let span = deadline.saturating_since(self.now());
        if span > LONG {
            self.awaited = Some(deadline);
            span.saturating_sub(self.late)
        } else if self.awaited == Some(deadline) && span <= LATE.1 {
            Duration::ZERO
        } else {
            span
        }
    }

    /// Learns from a sleep that should have ended at `end` how late timers come.
    fn learn(&mut self, end: Instant) {
        let late = self.now().saturating_since(end);
        let faded = self.late.saturating_sub(self.late / 16);
        self.late = late.max(faded).clamp(LATE.0, LATE.1);
    }

    /// Time that this thread has spent ready to run and not running, in its whole life.
    fn queued(&self) -> Option<Duration> {
        let mut text = [0; 64];
        let length = self.scheduled.as_ref()?.read_at(&mut text, 0).ok()?;
        let text = std::str::from_utf8(&text[..length]).ok()?;
        text.split_whitespace().nth(1)?.parse().ok().map(Duration::from_nanos)
    }

    /// Collects what has happened, after at most `timeout`; `false` if a stop of the process, or
    /// another signal, ended the wait.
    fn collect(&mut self, timeout: Duration) -> io::Result<bool> {
        if self.found == self.events.len() {
            // There may have been more; this look has room for them.
            self.events.resize(2 * self.found, EpollEvent::empty());
        }
        self.found = 0;
        match system::epoll_wait(&self.epoll, &mut self.events, timeout) {
            Ok(found) => self.found = found,
            Err(Errno::EINTR) => return Ok(false),
            Err(error) => return Err(error.into()),
        }
        Ok(true)
    }

    /// Sleeps until something happens or `span` is over, and finds out how much of that time the
    /// process could not run.
    fn sleep(&mut self, span: Duration) -> io::Result<()> {
        let queued = if span > LONG { self.queued() } else { None };
        let began = self.now();
        let undisturbed = self.collect(span)?;
        if !undisturbed {
            self.collect(Duration::ZERO)?;
        }
        let woke = self.now();
        let slept = woke.saturating_since(began);
        let overslept = if slept <= LONG {
            // Too short to matter, and to be worth a look.
            Duration::ZERO
        } else if !undisturbed {
            slept
        } else {
            let beyond = slept.saturating_sub(span);
            let waited = queued.zip(self.queued()).map(|(then, now)| now.saturating_sub(then));
            beyond.max(waited.unwrap_or_default()).min(slept)
        };
        self.quiet = Some(Instant::from_nanos(woke.as_nanos() - overslept.as_nanos()));
        if span > LONG && self.found == 0 && undisturbed {
            self.learn(began.saturating_add(span));
        }
        Ok(())
    }

    fn watch(&self, descriptor: impl AsFd, key: u64, events: EpollFlags) -> io::Result<()> {
        Ok(self.epoll.add(descriptor, EpollEvent::new(events, key))?)
    }
}

impl Clock for SystemClock {
    fn now(&mut self) -> Instant {
        Instant::from_nanos((system::nanos(ClockId::CLOCK_MONOTONIC) - self.began) as u64)
    }

    fn wait(&mut self, deadline: Option<Instant>, ready: &mut Vec<Port>) -> io::Result<()> {
        self.quiet = None;
        // What is there already has waited for an unknown time; what ends a sleep has not.
        self.collect(Duration::ZERO)?;
        if self.found == 0 {
            let span = deadline.map_or(HEARTBEAT, |deadline| self.sleep_until(deadline));
            if span.is_zero() {
                self.quiet = Some(self.now());
            } else {
                self.sleep(span.min(HEARTBEAT))?;
            }
        }
        for event in &self.events[..self.found] {
            let key = event.data();
            if key & OTHER == 0 {
                ready.push(Port(key as u16));
            } else {
                self.others.push(key as u32);
            }
        }
        Ok(())
    }

    fn quiet_until(&mut self) -> Option<Instant> {
        self.quiet
    }
}

/// The file in which the scheduler counts for the calling thread.
fn scheduler_statistics() -> Option<File> {
    let thread = nix::unistd::gettid();
    File::open(format!("/proc/self/task/{thread}/schedstat")).ok()
}

#[cfg(test)]
mod tests;
