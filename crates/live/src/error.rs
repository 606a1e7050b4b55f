//! What can keep a run from starting or from going on.

use std::io;

/// A failure of the machinery around a run, never of the programs in it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Neither root nor allowed to become so in a namespace.
    #[error(
        "this user may not make namespaces ({0}): run as root, or allow user namespaces \
         (sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone or \
         kernel.apparmor_restrict_unprivileged_userns; `windfall doctor` says which)"
    )]
    NamespacesClosed(#[source] io::Error),
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
    /// There is no such run to enter.
    #[error("{0}")]
    NoSuchRun(String),
    /// A kernel parameter does not exist or does not take the value.
    #[error(
        "cannot set {key} to \"{value}\" in station {station}: {source}; see /proc/sys for the keys"
    )]
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
    /// that may not run, 125 for every failure of ours.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Spawn { source, .. } if source.kind() == io::ErrorKind::NotFound => 127,
            Self::Spawn { .. } => 126,
            Self::Shell { status, .. } | Self::Stations { status, .. } => *status,
            _ => 125,
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
