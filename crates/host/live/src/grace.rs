//! How long a run waits for programs to listen: time in which they could not run does not count.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

/// More of the time between two looks does not count: whoever looks was kept waiting as well.
const MOST: Duration = Duration::from_millis(20);

/// The state of programs, by the numbers of their threads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Programs {
    threads: BTreeMap<u32, Thread>,
}

/// The state of a thread, as the kernel gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Thread {
    /// `R` if it runs or waits for a processor, `D` if it waits for a disk, others otherwise.
    state: char,
    /// Nanoseconds that it has run; `None` if the kernel does not count them.
    ran: Option<u64>,
}

impl Programs {
    /// Reads what everything but process 1 is doing, in the process namespace whose process 1 this
    /// is; nothing if /proc shows another namespace.
    pub(crate) fn read() -> Self {
        let own = fs::read_link("/proc/self").is_ok_and(|name| name.as_os_str() == "1");
        let processes = if own { numbers("/proc") } else { Vec::new() };
        let others = processes.into_iter().filter(|process| *process != 1);
        Self { threads: others.flat_map(threads_of).collect() }
    }

    /// Tells whether a program could not go on since `before`: it waits for a disk, or is ready
    /// to run and has had no processor.
    fn were_held_up(&self, before: &Self) -> bool {
        self.threads.iter().any(|(number, thread)| match thread.state {
            'D' => true,
            'R' => {
                let earlier = before.threads.get(number).and_then(|thread| thread.ran);
                thread.ran.unwrap_or(0) <= earlier.unwrap_or(0)
            }
            _ => false,
        })
    }
}

/// The entries of a folder of /proc that are numbers.
fn numbers(folder: &str) -> Vec<u32> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// The threads of a process; those that end meanwhile are left out.
fn threads_of(process: u32) -> Vec<(u32, Thread)> {
    let folder = format!("/proc/{process}/task");
    let thread = |number: u32| {
        let text = |file: &str| fs::read_to_string(format!("{folder}/{number}/{file}")).ok();
        let ran = text("schedstat").and_then(|text| text.split_whitespace().next()?.parse().ok());
        Some((number, Thread { state: state(&text("stat")?)?, ran }))
    };
    numbers(&folder).into_iter().filter_map(thread).collect()
}

/// The state in `/proc/PID/stat`: the letter behind the name, which stands in parentheses and may
/// hold any character.
fn state(stat: &str) -> Option<char> {
    stat.rsplit_once(')')?.1.trim_start().chars().next()
}

/// Time for programs to do something, of which that counts in which they were free to run.
#[derive(Clone, Debug)]
pub(crate) struct GracePeriod {
    /// The rest of the time that counts.
    left: Duration,
    /// When it ends in any case.
    limit: Duration,
    /// When the programs were last looked at.
    at: Duration,
    before: Programs,
}

impl GracePeriod {
    /// Begins at `now` on the system's clock; ends after `span` that counts, or `bound` that does
    /// or does not.
    pub(crate) fn new(now: Duration, span: Duration, bound: Duration) -> Self {
        Self { left: span, limit: now + bound, at: now, before: Programs::default() }
    }

    /// Tells whether the time is over at `now`, when the programs are in this state.
    pub(crate) fn is_over(&mut self, now: Duration, programs: Programs) -> bool {
        if !programs.were_held_up(&self.before) {
            self.left = self.left.saturating_sub(now.saturating_sub(self.at).min(MOST));
        }
        self.at = now;
        self.before = programs;
        self.left.is_zero() || now >= self.limit
    }
}

#[cfg(test)]
mod tests;
