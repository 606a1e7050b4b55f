//! The user behind sudo.

use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use nix::unistd::{Gid, Uid, User, getgrouplist, setfsgid, setfsuid, setgid, setgroups, setuid};

/// The variables of sudo name no user.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{variable} is \"{value}\", which names no user: programs run as the caller whom sudo names by \
     SUDO_UID and SUDO_GID; to run them as root, give --as-root, or unset SUDO_UID"
)]
pub struct CallerError {
    /// The environment variable.
    pub variable: &'static str,
    /// The value of the variable, empty if it is unset.
    pub value: String,
}

/// The user who called the program through sudo, and as whom programs in the stations run.
#[derive(Clone, Debug)]
pub struct Identity {
    user: Uid,
    group: Gid,
    groups: Vec<Gid>,
    account: Option<User>,
}

/// Returns the numbers of the user who called this process through sudo, and of the user's group.
#[must_use]
pub fn caller() -> Option<(u32, u32)> {
    let caller = calling()?;
    Some((caller.user.as_raw(), caller.group.as_raw()))
}

/// Returns the home of the user who called this process through sudo.
#[must_use]
pub fn caller_home() -> Option<PathBuf> {
    Some(calling()?.account.as_ref()?.dir.clone())
}

/// Does some work with the file that `path` names, with the rights of the user who called this
/// process through sudo: what that user may not read or write, sudo is no way to. What is made
/// belongs to that user. Without sudo, and for descriptors that this process has open already, the
/// work is done as it is.
pub fn as_caller<T>(path: &Path, work: impl FnOnce() -> T) -> T {
    let is_open = ["/dev/std", "/dev/fd/", "/proc/self/fd/"];
    let is_open = is_open.iter().any(|it| path.as_os_str().as_bytes().starts_with(it.as_bytes()));
    let rights = calling().filter(|_| !is_open).map(FileRights::of);
    let outcome = work();
    drop(rights);
    outcome
}

/// The user who called this process through sudo, looked up once.
fn calling() -> Option<&'static Identity> {
    static CALLING: OnceLock<Option<Identity>> = OnceLock::new();
    CALLING.get_or_init(|| Identity::of_caller(false).ok().flatten()).as_ref()
}

/// The rights of another user to files, which this thread has while the value lives.
struct FileRights {
    groups: Vec<Gid>,
    user: Uid,
    group: Gid,
}

impl FileRights {
    fn of(other: &Identity) -> Self {
        let groups = nix::unistd::getgroups().unwrap_or_default();
        set_thread_groups(&other.groups);
        let group = setfsgid(other.group);
        // The kernel also removes the capabilities by which root ignores the rights of files.
        let user = setfsuid(other.user);
        Self { groups, user, group }
    }
}

impl Drop for FileRights {
    fn drop(&mut self) {
        setfsuid(self.user);
        setfsgid(self.group);
        set_thread_groups(&self.groups);
    }
}

/// Sets the further groups of this thread alone; the C library would set those of all threads.
fn set_thread_groups(groups: &[Gid]) {
    let numbers: Vec<nix::libc::gid_t> = groups.iter().map(|group| group.as_raw()).collect();
    // SAFETY: the kernel reads as many numbers as the list has, and keeps none of them.
    unsafe {
        nix::libc::syscall(nix::libc::SYS_setgroups, numbers.len(), numbers.as_ptr());
    }
}

/// The user and the group of these numbers, unless they are root's.
fn named(
    user: Option<OsString>,
    group: Option<OsString>,
) -> Result<Option<(u32, u32)>, CallerError> {
    let Some(user) = user else { return Ok(None) };
    let user = number("SUDO_UID", &user)?;
    if user == 0 {
        return Ok(None);
    }
    Ok(Some((user, number("SUDO_GID", &group.unwrap_or_default())?)))
}

/// The number of a user or a group; the last of all means none.
fn number(variable: &'static str, value: &OsStr) -> Result<u32, CallerError> {
    let number = value.to_str().and_then(|value| value.parse().ok());
    number.filter(|number| *number != u32::MAX).ok_or_else(|| {
        let value = value.to_string_lossy().into_owned();
        CallerError { variable, value }
    })
}

impl Identity {
    /// The user whom sudo names, if this process is root by it and programs are not to run
    /// `as_root`.
    ///
    /// # Errors
    /// If sudo, or whoever set its variables, names no user.
    pub fn of_caller(as_root: bool) -> Result<Option<Self>, CallerError> {
        if as_root || !nix::unistd::geteuid().is_root() {
            return Ok(None);
        }
        let variable = |name| std::env::var_os(name);
        let Some((user, group)) = named(variable("SUDO_UID"), variable("SUDO_GID"))? else {
            return Ok(None);
        };
        let user = Uid::from_raw(user);
        let group = Gid::from_raw(group);
        let account = User::from_uid(user).ok().flatten();
        let name = account.as_ref().and_then(|it| CString::new(it.name.as_bytes()).ok());
        let groups = name.and_then(|name| getgrouplist(&name, group).ok());
        Ok(Some(Self { user, group, groups: groups.unwrap_or_else(|| vec![group]), account }))
    }

    /// Gives a program the variables that sudo took away; unknown ones are unset rather than
    /// root's.
    pub fn describe(&self, command: &mut Command) {
        if let Some(User { name, dir, shell, .. }) = &self.account {
            command.env("USER", name).env("LOGNAME", name).env("HOME", dir).env("SHELL", shell);
        } else {
            let name = self.user.to_string();
            command.env("USER", &name).env("LOGNAME", &name).env("HOME", "/");
            command.env("SHELL", "/bin/sh");
        }
    }

    /// Makes this process the user's, and keeps what it is permitted for a moment longer.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn assume(&self) -> io::Result<()> {
        nix::sys::prctl::set_keepcaps(true)?;
        setgroups(&self.groups)?;
        setgid(self.group)?;
        setuid(self.user)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_named_whole_or_not_at_all() {
        let named = |user: Option<&str>, group: Option<&str>| {
            named(user.map(OsString::from), group.map(OsString::from))
        };
        assert_eq!(named(Some("7"), Some("0")).expect("a user"), Some((7, 0)));
        assert_eq!(named(Some("0"), None).expect("root"), None);
        assert_eq!(named(None, Some("7")).expect("no sudo"), None);
        for user in ["abc", "-1", "4294967295", "4294967296", ""] {
            let error = named(Some(user), Some("7")).expect_err(user).to_string();
            assert!(error.contains("SUDO_UID") && error.contains("--as-root"), "{error}");
        }
        for group in [None, Some("x"), Some("4294967295")] {
            let error = named(Some("7"), group).expect_err("no group").to_string();
            assert!(error.contains("SUDO_GID"), "{error}");
        }
    }
}
