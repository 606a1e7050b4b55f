//! The user behind sudo.

use std::ffi::CString;
use std::io;
use std::process::Command;

use nix::unistd::{Gid, Uid, User, getgrouplist, setgid, setgroups, setuid};

/// Who called the program through sudo, and whose the programs in the stations are.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    user: Uid,
    group: Gid,
    groups: Vec<Gid>,
    account: Option<User>,
}

/// The numbers of the user who called this process through sudo, and of the user's group.
#[must_use]
pub fn caller() -> Option<(u32, u32)> {
    Identity::of_caller().map(|caller| (caller.user.as_raw(), caller.group.as_raw()))
}

impl Identity {
    /// The user whom sudo names, if this process is root by it.
    pub(crate) fn of_caller() -> Option<Self> {
        let number = |name: &str| std::env::var(name).ok()?.parse::<u32>().ok();
        let (user, group) = (number("SUDO_UID")?, number("SUDO_GID")?);
        if !nix::unistd::geteuid().is_root() || user == 0 {
            return None;
        }
        let (user, group) = (Uid::from_raw(user), Gid::from_raw(group));
        let account = User::from_uid(user).ok().flatten();
        let name = account.as_ref().and_then(|it| CString::new(it.name.as_bytes()).ok());
        let groups = name.and_then(|name| getgrouplist(&name, group).ok());
        Some(Self { user, group, groups: groups.unwrap_or_else(|| vec![group]), account })
    }

    /// Gives a program the variables that sudo took away.
    pub(crate) fn describe(&self, command: &mut Command) {
        if let Some(User { name, dir, shell, .. }) = &self.account {
            command.env("USER", name).env("LOGNAME", name).env("HOME", dir).env("SHELL", shell);
        }
    }

    /// Makes this process the user's, and keeps what it is permitted for a moment longer.
    pub(crate) fn assume(&self) -> io::Result<()> {
        rustix::thread::set_keep_capabilities(true)?;
        setgroups(&self.groups)?;
        setgid(self.group)?;
        setuid(self.user)?;
        Ok(())
    }
}
