//! New namespaces: who may make them, how their supervisor starts and ends.

use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use nix::fcntl::OFlag;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, setns};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use nix::sys::stat::{FileStat, Mode, fstat, stat};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, chdir, fchdir, fork, pivot_root};

use crate::control::Control;
use crate::error::{ErrorContext, LiveError, Result};
use crate::plan::LiveStationPlan;
use crate::system;

/// The size of the supervisor's stack, in bytes.
const STACK: usize = 1 << 20;
/// The signal by which a parent learns that a child has changed.
const SIGCHLD: i32 = Signal::SIGCHLD as i32;

/// The resolver behind the NAT gateway, as the stations see it.
const RESOLVER: &str = "10.0.2.3";
/// A folder that every system has, to put a file system on for a moment.
const STAGING: &str = "/tmp";
/// The file of names and their addresses.
const HOSTS: &str = "/etc/hosts";
/// The configuration of the resolver.
const RESOLV_CONF: &str = "/etc/resolv.conf";

/// Makes sure that this process has a single thread, as whoever copies it must.
///
/// # Errors
/// If it has more, or their number is unknown.
pub(crate) fn require_one_thread() -> Result<()> {
    let mut threads = 0;
    // A thread that has just been joined may be listed for another moment.
    for _ in 0..100 {
        threads = fs::read_dir("/proc/self/task").context(|| "count the threads".into())?.count();
        if threads == 1 {
            return Ok(());
        }
        system::pause();
    }
    Err(LiveError::Threads(threads))
}

/// Starts `body` as process 1 of new process, mount and network namespaces.
///
/// Returns its number and our end of the connection to it. With `user` there is a user namespace
/// around the others, in which users keep their numbers and the process has every capability over
/// what is in there, and none outside. When the calling process ends, however it ends, the kernel
/// kills the new one and with it everything in its namespaces. `body` must wait for a message on
/// its connection before it does anything, since its identity is set up from outside.
///
/// # Errors
/// If the system allows no namespaces.
pub(crate) fn spawn_supervisor(
    user: bool,
    body: impl Fn(&Control) -> u8,
) -> Result<(Pid, Control)> {
    let mut flags = CloneFlags::CLONE_NEWPID | CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWNET;
    if user {
        flags |= CloneFlags::CLONE_NEWUSER;
    }
    let body = |control: &Control| {
        // Set before the parent's message is awaited: if the parent ended earlier, that message
        // never comes, and the wait ends the process.
        if set_pdeathsig(Signal::SIGKILL).is_err() { 125 } else { body(control) }
    };
    let (pid, ours) = spawn(flags, body).map_err(LiveError::NamespacesClosed)?;
    if user {
        map_identity(pid).map_err(|error| {
            let _ = nix::sys::signal::kill(pid, Signal::SIGKILL);
            let _ = nix::sys::wait::waitpid(pid, None);
            LiveError::NamespacesClosed(error)
        })?;
    }
    Ok((pid, ours))
}

/// Starts `body` as a copy of this process in new namespaces of these kinds; returns its number and
/// our end of the connection to it. The caller must have a single thread.
pub(crate) fn spawn(
    flags: CloneFlags,
    body: impl Fn(&Control) -> u8,
) -> io::Result<(Pid, Control)> {
    let mut stack = vec![0; STACK];
    let mut ends = Some(Control::pair()?);
    let entry = Box::new(|| {
        // This is a copy of the memory: each process closes the end that belongs to the other.
        let Some((ours, theirs)) = ends.take() else { return 125 };
        drop(ours);
        isize::from(body(&theirs))
    });
    // SAFETY: without CLONE_VM the child has its own copy of the memory, the stack included, as
    // after fork; the caller has made sure that there is one thread, so that no lock is left held
    // in the copy.
    let pid = unsafe { nix::sched::clone(entry, &mut stack, flags, Some(SIGCHLD)) }?;
    let (ours, _) = ends.expect("the other process took its own copy");
    Ok((pid, ours))
}

/// Gives the process in its new user namespace the numbers that this one has: of its own user, or
/// of all where this process may say so.
fn map_identity(pid: Pid) -> io::Result<()> {
    if system::privileged() {
        for map in ["uid_map", "gid_map"] {
            let all = as_it_is(&fs::read_to_string(format!("/proc/self/{map}"))?);
            fs::write(format!("/proc/{pid}/{map}"), all)?;
        }
        return Ok(());
    }
    let user = nix::unistd::geteuid();
    let group = nix::unistd::getegid();
    fs::write(format!("/proc/{pid}/setgroups"), "deny")?;
    fs::write(format!("/proc/{pid}/uid_map"), format!("{user} {user} 1\n"))?;
    fs::write(format!("/proc/{pid}/gid_map"), format!("{group} {group} 1\n"))
}

/// A map under which a child namespace has the numbers of this one, whose own map this is: lines of
/// a number here, the number outside, and how many follow.
fn as_it_is(map: &str) -> String {
    let columns = map.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let line = |columns: Vec<&str>| match columns[..] {
        [first, _, count] => format!("{first} {first} {count}\n"),
        _ => String::new(),
    };
    columns.map(line).collect()
}

/// Opens the namespace of this process of the kind `user`, `mnt`, `pid_for_children` or `net`.
pub(crate) fn own(kind: &str) -> Result<OwnedFd> {
    let path = format!("/proc/self/ns/{kind}");
    let file = fs::File::open(&path).context(|| format!("open {path}"))?;
    Ok(file.into())
}

/// Makes the mounts of this process private, and shows it the processes of its own namespace.
///
/// Where the system forbids a new /proc, the old one stays: programs then see the numbers of the
/// processes outside, which is harmless.
pub(crate) fn own_mounts() -> Result<()> {
    make_private().map_err(|error| LiveError::MountsClosed(error.into()))?;
    let none = None::<&str>;
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    let _ = mount(Some("proc"), "/proc", Some("proc"), flags, none);
    Ok(())
}

/// Makes every mount of this process's mount namespace private. In a chroot, the root of the chroot
/// becomes the root of the namespace.
///
/// The root of a chroot is often no mount point, and only mount points can be made private. Whoever
/// enters the namespace later arrives at its root. A working directory that the process may not
/// enter stays the working directory, but in a chroot, where the process goes on in the root.
pub(crate) fn make_private() -> nix::Result<()> {
    let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
    let [root, place] = ["/", "."].map(|path| nix::fcntl::open(path, flags, Mode::empty()));
    let root = root?;
    let directory = nix::unistd::getcwd();
    // Only a process that stays in such a directory has it afterwards.
    let may_leave = place.is_ok() || !is_of_namespace(&root);
    let moved = may_leave && arrive_at_root();
    let none = None::<&str>;
    mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none)?;
    if !moved {
        return Ok(());
    }
    if is_root(&root)? {
        return place.map_or(Ok(()), fchdir);
    }
    let folder = nix::fcntl::readlink(&*format!("/proc/self/fd/{}", root.as_raw_fd()))?;
    mount(Some(&*folder), &*folder, none, MsFlags::MS_BIND | MsFlags::MS_REC, none)?;
    chdir(&*folder)?;
    // The old root lies on the new one for a moment.
    pivot_root(".", ".")?;
    umount2(".", MntFlags::MNT_DETACH)?;
    chdir("/")?;
    // A working directory outside the chroot is not found again.
    let _ = directory.and_then(|directory| chdir(&directory));
    Ok(())
}

/// Moves this process to the root of its mount namespace; tells whether it could.
fn arrive_at_root() -> bool {
    own("mnt").is_ok_and(|it| setns(it, CloneFlags::CLONE_NEWNS).is_ok())
}

/// Tells whether this directory is the one that this process has as its root.
fn is_root(directory: &OwnedFd) -> nix::Result<bool> {
    Ok(file_id(stat("/")?) == file_id(fstat(directory)?))
}

/// Returns what identifies a file: its device and inode.
fn file_id(stat: FileStat) -> (u64, u64) {
    (stat.st_dev, stat.st_ino)
}

/// Tells whether this directory, the root of this process, is that of its mount namespace.
///
/// A copy of the process moves there and looks, since whoever moves loses the working directory.
fn is_of_namespace(directory: &OwnedFd) -> bool {
    // SAFETY: the process has a single thread, so that no lock is left held in the copy.
    match unsafe { fork() } {
        Ok(ForkResult::Child) => {
            let is_there = arrive_at_root() && is_root(directory) == Ok(true);
            // SAFETY: the call ends the copy and runs no code of ours.
            unsafe { nix::libc::_exit(i32::from(!is_there)) }
        }
        Ok(ForkResult::Parent { child }) => {
            system::retry(|| waitpid(child, None)) == Ok(WaitStatus::Exited(child, 0))
        }
        Err(_) => false,
    }
}

/// Puts the resolver behind the NAT gateway in the place of the system's, for this mount namespace
/// alone.
pub(crate) fn use_resolver() -> Result<()> {
    let text = format!("nameserver {RESOLVER}\n");
    replace(RESOLV_CONF, &text).context(|| format!("replace {RESOLV_CONF} inside the stations"))
}

/// Puts a file with this text over another one, for this mount namespace alone.
fn replace(path: &str, text: &str) -> io::Result<()> {
    let none = None::<&str>;
    mount(Some("tmpfs"), STAGING, Some("tmpfs"), MsFlags::empty(), Some("size=1m,mode=755"))?;
    let file = format!("{STAGING}/file");
    let written = fs::write(&file, text)
        .and_then(|()| Ok(mount(Some(&*file), path, none, MsFlags::MS_BIND, none)?));
    // The file stays where it was bound; the folder becomes what it was.
    let gone = umount2(STAGING, MntFlags::MNT_DETACH).map_err(io::Error::from);
    written.and(gone)
}

/// Lets the names of stations resolve inside: before those that the host knows.
///
/// Where the system allows no such file, names do not resolve, and the run goes on.
pub(crate) fn use_names(stations: &[LiveStationPlan]) {
    let Ok(known) = fs::read_to_string(HOSTS) else { return };
    let mut text = String::new();
    for station in stations.iter().filter(|station| can_resolve(&station.name)) {
        for (address, _) in station.devices.iter().flat_map(|device| &device.addresses) {
            text.push_str(&format!("{address} {}\n", station.name));
        }
    }
    let _ = replace(HOSTS, &(text + &known));
}

/// Tells whether a name is one of a host, and none that every host has.
fn can_resolve(name: &str) -> bool {
    !name.is_empty()
        && name != "localhost"
        && name.chars().all(|it| it.is_ascii_alphanumeric() || "-_.".contains(it))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_hosts_resolve_and_no_others() {
        assert!(["near", "bob-2", "a.b_c"].into_iter().all(can_resolve));
        assert!(!["", "localhost", "a b", "a\n1.2.3.4 b", "ä"].into_iter().any(can_resolve));
    }

    #[test]
    fn a_child_has_the_numbers_of_its_parent() {
        assert_eq!(as_it_is("         0          0 4294967295\n"), "0 0 4294967295\n");
        let inner = "0 100000 1000\n2000 200000 5\n";
        assert_eq!(as_it_is(inner), "0 0 1000\n2000 2000 5\n");
    }
}
