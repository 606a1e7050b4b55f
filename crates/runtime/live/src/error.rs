//! What can keep a run from starting or from going on.

use std::io;

/// A failure of the machinery around a run, never of the programs in it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Neither root nor allowed to become so in a namespace, or a limit is reached.
    #[error("namespaces cannot be made ({}): {}", .0, advice(.0))]
    NamespacesClosed(#[source] io::Error),
    /// More than one thread where a process must be copied.
    #[error("stations can be built only by a process with one thread; this one has {0}")]
    Threads(usize),
    /// What sudo says of its caller names nobody.
    #[error(
        "{variable} is \"{value}\", which names nobody: programs run as the caller whom sudo names \
         by SUDO_UID and SUDO_GID; to run them as root, give --as-root, or unset SUDO_UID"
    )]
    Caller {
        /// The environment variable.
        variable: &'static str,
        /// What it says, nothing if it is not set.
        value: String,
    },
    /// The system refused something that a run needs.
    #[error("cannot {doing}: {source}")]
    System {
        /// What was tried, with the name of the thing.
        doing: String,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The stations' first process could not build them.
    #[error("{why}")]
    Stations {
        /// The exit status that this failure has.
        status: u8,
        /// What failed, and why.
        why: String,
    },
    /// The stations' first process vanished.
    #[error("the stations were killed from outside")]
    Killed,
    /// A program could not be started.
    #[error("cannot run \"{program}\": {source}")]
    Spawn {
        /// The program, as it was given.
        program: String,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// A shell could not run a program beside the command.
    #[error(
        "cannot run \"{line}\": its shell ended with {status}, {}",
        if *status == 127 { "no such program" } else { "it may not be executed" }
    )]
    Shell {
        /// The line of the shell, as it was given.
        line: String,
        /// The shell's exit status, 126 or 127.
        status: u8,
    },
    /// Nothing listens where something should before the command starts.
    #[error("nothing listens on port {port} of station {station}: {why}")]
    NotListening {
        /// The port.
        port: u16,
        /// The station.
        station: String,
        /// For how long it was awaited, or what has become of the programs.
        why: String,
    },
    /// TCP in stations cannot use a congestion control.
    #[error("TCP in stations cannot use the congestion control \"{name}\": {why}")]
    Congestion {
        /// Its name.
        name: String,
        /// Which there are, and how to get more.
        why: String,
    },
    /// There is no such run to enter.
    #[error("{0}")]
    NoSuchRun(String),
    /// A kernel parameter does not exist or does not take the value.
    #[error("cannot set {key} to \"{value}\" in station {station}: {source}")]
    Sysctl {
        /// The station.
        station: String,
        /// The key, with dots.
        key: String,
        /// The value.
        value: String,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The way out to the host's network is missing.
    #[error("--net needs slirp4netns, which is not installed: apt-get install slirp4netns")]
    NoWayOut,
    /// There is no station around this process whose addresses leave room for an engine.
    #[error(
        "this is no station with addresses of windfall's choice: run it under `windfall run`, or \
         say where the engine stands by --address ADDRESS"
    )]
    NoPlace,
    /// Another engine has the address.
    #[error(
        "another engine stands at {0}: let one `windfall tcp forward` carry all, or give this one \
         another --address"
    )]
    PlaceTaken(std::net::IpAddr),
    /// The helper for the way out cannot make its device.
    #[error(
        "--net needs /dev/net/tun, which this user may not open: run as root, or let root \
         chmod 666 /dev/net/tun"
    )]
    WayOutClosed,
    /// The helper for the way out failed.
    #[error("{program} gave the far end no way out: {reason}")]
    WayOut {
        /// The helper.
        program: &'static str,
        /// What it said.
        reason: String,
    },
}

impl Error {
    /// The exit status that a shell would give: 127 for a program that does not exist, 126 for one
    /// that may not run, 2 for a name that means no run or station, 125 for every failure of ours.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Spawn { source, .. } if source.kind() == io::ErrorKind::NotFound => 127,
            Self::Spawn { .. } => 126,
            Self::NoSuchRun(_) => 2,
            Self::Shell { status, .. } | Self::Stations { status, .. } => *status,
            _ => 125,
        }
    }
}

/// What to do when the system makes no namespace or process, by what it says.
pub(crate) fn advice(error: &io::Error) -> &'static str {
    use rustix::io::Errno;
    match Errno::from_io_error(error) {
        Some(Errno::NOSPC | Errno::USERS) => {
            "a limit on their number or depth is reached: end other runs, nest fewer, or let root \
             raise user.max_user_namespaces, user.max_pid_namespaces, user.max_mnt_namespaces and \
             user.max_net_namespaces"
        }
        Some(Errno::AGAIN) => {
            "no more processes are allowed: end some, or raise the limit (`ulimit -u`, pids.max of \
             the control group)"
        }
        Some(Errno::NOMEM) => "there is too little memory: end something, or allow more",
        Some(Errno::INVAL | Errno::NOSYS) => "this kernel has none of that kind",
        _ => {
            "run as root, or allow user namespaces (sysctl user.max_user_namespaces, \
             kernel.unprivileged_userns_clone or kernel.apparmor_restrict_unprivileged_userns; \
             `windfall doctor` says which)"
        }
    }
}

/// A result with an [`Error`] of a run.
pub type Result<T> = std::result::Result<T, Error>;

/// Says what was being done when the system refused.
pub(crate) trait Doing<T> {
    /// The error as "cannot `doing`: …".
    fn doing(self, doing: impl FnOnce() -> String) -> Result<T>;
}

impl<T, E: Into<io::Error>> Doing<T> for std::result::Result<T, E> {
    fn doing(self, doing: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|source| Error::System { doing: doing(), source: source.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_fits_what_the_system_said() {
        let advice = |errno: rustix::io::Errno| Error::NamespacesClosed(errno.into()).to_string();
        let full = advice(rustix::io::Errno::NOSPC);
        assert!(full.contains("user.max_net_namespaces") && !full.contains("as root,"), "{full}");
        let processes = advice(rustix::io::Errno::AGAIN);
        assert!(processes.contains("pids.max") && !processes.contains("root"), "{processes}");
        assert!(advice(rustix::io::Errno::PERM).contains("run as root"));
    }
}
