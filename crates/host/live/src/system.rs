//! System calls that `nix` does not have, or not with the precision needed here.

use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

use bytes::BufMut;
use nix::errno::Errno;
use nix::libc;
use nix::sys::epoll::{Epoll, EpollEvent};
use nix::sys::time::{TimeSpec, TimeValLike as _};
use nix::time::{ClockId, ClockNanosleepFlags, clock_gettime, clock_nanosleep};
use nix::unistd::Pid;
use windfall_base::Duration;

/// The version of the capability sets that are two words of 32 bits each.
const CAPABILITY_VERSION: u32 = 0x2008_0522;

/// Returns the time of a clock that every kernel has, in nanoseconds.
pub(crate) fn nanos(clock: ClockId) -> i64 {
    clock_gettime(clock).expect("the kernel has this clock").num_nanoseconds()
}

/// Sleeps for a millisecond, or until a signal comes.
pub(crate) fn pause() {
    let moment = TimeSpec::new(0, 1_000_000);
    let _ = clock_nanosleep(ClockId::CLOCK_MONOTONIC, ClockNanosleepFlags::empty(), &moment);
}

/// Makes a call again as often as a signal interrupts it.
pub(crate) fn retry<T>(mut call: impl FnMut() -> nix::Result<T>) -> nix::Result<T> {
    loop {
        match call() {
            Err(Errno::EINTR) => {}
            result => return result,
        }
    }
}

/// Reads once into the spare room of a buffer, whose bytes need no value beforehand.
pub(crate) fn read(descriptor: impl AsFd, buffer: &mut impl BufMut) -> nix::Result<usize> {
    let descriptor = descriptor.as_fd().as_raw_fd();
    let room = buffer.chunk_mut();
    // SAFETY: the kernel writes at most `len` bytes to the room, which outlives the call.
    let read = unsafe { libc::read(descriptor, room.as_mut_ptr().cast(), room.len()) };
    let read = Errno::result(read)? as usize;
    // SAFETY: the kernel has initialised that many bytes of the room.
    unsafe { buffer.advance_mut(read) };
    Ok(read)
}

/// Returns the bytes of a TCP socket that its peer has not acknowledged; a FIN counts as one. A
/// socket that was reset keeps its number.
pub(crate) fn unacknowledged(socket: impl AsFd) -> nix::Result<u64> {
    let mut bytes: libc::c_int = 0;
    // SAFETY: the kernel writes one number, which outlives the call.
    let result = unsafe { libc::ioctl(socket.as_fd().as_raw_fd(), libc::TIOCOUTQ, &raw mut bytes) };
    Errno::result(result)?;
    Ok(u64::try_from(bytes).unwrap_or(0))
}

/// Waits for events for at most `timeout`, to the nanosecond; returns the number of events.
pub(crate) fn epoll_wait(
    epoll: &Epoll,
    events: &mut [EpollEvent],
    timeout: Duration,
) -> nix::Result<usize> {
    let span = TimeSpec::from(std::time::Duration::from(timeout));
    // SAFETY: the kernel writes at most as many events as there are, each of which has the layout
    // of its own, and reads one time; both outlive the call.
    let found = unsafe {
        libc::syscall(
            libc::SYS_epoll_pwait2,
            epoll.0.as_raw_fd(),
            events.as_mut_ptr(),
            events.len(),
            &raw const span,
            std::ptr::null::<libc::sigset_t>(),
            0_usize,
        )
    };
    match Errno::result(found) {
        Ok(found) => Ok(found as usize),
        // Before Linux 5.11.
        Err(Errno::ENOSYS) => {
            let millis = timeout.as_nanos().div_ceil(1_000_000);
            epoll.wait(events, u16::try_from(millis).unwrap_or(u16::MAX))
        }
        Err(error) => Err(error),
    }
}

/// Returns the priority of this process, as `nice` counts it.
pub(crate) fn priority() -> nix::Result<i32> {
    Errno::clear();
    // SAFETY: the call takes plain numbers.
    let priority = unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) };
    // -1 is a priority too.
    if priority == -1 && Errno::last_raw() != 0 { Err(Errno::last()) } else { Ok(priority) }
}

/// Sets the priority of this process, as `nice` counts it.
pub(crate) fn set_priority(priority: i32) -> nix::Result<()> {
    // SAFETY: the call takes plain numbers.
    let result = unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, priority) };
    Errno::result(result).map(drop)
}

/// Opens a descriptor that can be read when the process has ended.
pub(crate) fn pidfd_open(process: Pid) -> nix::Result<OwnedFd> {
    // SAFETY: the call takes plain numbers.
    let descriptor = unsafe { libc::syscall(libc::SYS_pidfd_open, process.as_raw(), 0) };
    let descriptor = Errno::result(descriptor)? as i32;
    // SAFETY: the descriptor was just opened, and nothing else holds it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// Reaps one child that has ended, if there is one; returns it with its exit status, as a shell
/// gives it.
///
/// `nix` fails for a child that was ended by a real-time signal.
pub(crate) fn reap() -> nix::Result<Option<(Pid, u8)>> {
    let mut status = 0;
    // SAFETY: the kernel writes one integer through the pointer, which outlives the call.
    let child = unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG) };
    let child = Errno::result(child)?;
    let code = if libc::WIFEXITED(status) {
        libc::WEXITSTATUS(status)
    } else if libc::WIFSIGNALED(status) {
        128 + libc::WTERMSIG(status)
    } else {
        0
    };
    Ok((child != 0).then_some((Pid::from_raw(child), code as u8)))
}

/// A set of capabilities, one bit each.
pub(crate) type CapabilitySet = u64;

/// Gives a process's own network any shape.
pub(crate) const NET_ADMIN: CapabilitySet = 1 << 12;
/// Opens raw and packet sockets.
pub(crate) const NET_RAW: CapabilitySet = 1 << 13;
/// Serves on the ports below 1024.
pub(crate) const NET_BIND_SERVICE: CapabilitySet = 1 << 10;
/// Makes namespaces and mounts.
pub(crate) const SYS_ADMIN: CapabilitySet = 1 << 21;

/// The capabilities of a thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Capabilities {
    pub(crate) effective: CapabilitySet,
    pub(crate) permitted: CapabilitySet,
    pub(crate) inheritable: CapabilitySet,
}

/// Tells whether this process may make namespaces without a new user namespace.
pub(crate) fn privileged() -> bool {
    let needed = SYS_ADMIN | NET_ADMIN;
    Capabilities::of_this_thread().is_ok_and(|sets| sets.effective & needed == needed)
}

/// The head of the kernel's questions about capabilities.
#[repr(C)]
struct CapabilityHeader {
    version: u32,
    pid: i32,
}

/// One word of each set, as the kernel lays them out.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct CapabilityWords {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

const OWN_THREAD: CapabilityHeader = CapabilityHeader { version: CAPABILITY_VERSION, pid: 0 };

impl Capabilities {
    /// Returns those of the calling thread.
    pub(crate) fn of_this_thread() -> nix::Result<Self> {
        let mut header = OWN_THREAD;
        let mut words = [CapabilityWords::default(); 2];
        // SAFETY: the kernel reads and writes the header, and writes two triples of words; both
        // outlive the call.
        let result =
            unsafe { libc::syscall(libc::SYS_capget, &raw mut header, words.as_mut_ptr()) };
        Errno::result(result)?;
        let [low, high] = words;
        Ok(Self {
            effective: join_words(low.effective, high.effective),
            permitted: join_words(low.permitted, high.permitted),
            inheritable: join_words(low.inheritable, high.inheritable),
        })
    }

    /// Makes them those of the calling thread.
    pub(crate) fn assume(self) -> nix::Result<()> {
        let mut header = OWN_THREAD;
        let words = [0, 32].map(|shift| CapabilityWords {
            effective: (self.effective >> shift) as u32,
            permitted: (self.permitted >> shift) as u32,
            inheritable: (self.inheritable >> shift) as u32,
        });
        // SAFETY: the kernel reads the header and two triples of words, which outlive the call.
        let result = unsafe { libc::syscall(libc::SYS_capset, &raw mut header, words.as_ptr()) };
        Errno::result(result).map(drop)
    }
}

/// Joins the two words of a set of capabilities.
fn join_words(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

/// Lets the programs that this thread executes keep capabilities that are inheritable.
pub(crate) fn keep_ambient(capabilities: CapabilitySet) {
    for number in (0..u64::BITS).filter(|number| capabilities >> number & 1 == 1) {
        let raise = libc::PR_CAP_AMBIENT_RAISE as libc::c_ulong;
        let number = libc::c_ulong::from(number);
        // SAFETY: the call takes plain numbers. What is refused is not kept, and not missed.
        unsafe { libc::prctl(libc::PR_CAP_AMBIENT, raise, number, 0, 0) };
    }
}
