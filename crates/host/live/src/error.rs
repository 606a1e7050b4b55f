//! The failures that keep a run from starting or from going on.

use std::io;

use crate::obstacle::{self, MOUNT_PROC, NO_PROC, REMEDY};

/// A failure of the machinery around a run, never of the programs in it.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// Neither root nor allowed to become so in a namespace, or a limit is reached.
    #[error("namespaces cannot be made ({}): {}", .0, obstacle::explain(.0))]
    NamespacesClosed(#[source] io::Error),
    /// The system refused a mount in namespaces of the run's own.
    #[error("mounts cannot be changed ({}): {}", .0, obstacle::explain(.0))]
    MountsClosed(#[source] io::Error),
    /// There is no `/proc`, of which every part of a run reads.
    #[error("{NO_PROC}{REMEDY}{MOUNT_PROC}")]
    NoProc,
    /// More than one thread where a process must be copied.
    #[error("stations can be built only by a process with one thread; this one has {0}")]
    Threads(usize),
    /// The variables of sudo name no user.
    #[error(transparent)]
    Caller(#[from] windfall_system::CallerError),
    /// A filter may forbid what every system allows that has namespaces.
    #[error("cannot {doing}: {source}{}", obstacle::of_filter(source))]
    Forbidden {
        /// The action that failed, with the name of its object.
        doing: String,
        /// The error of the system.
        #[source]
        source: io::Error,
    },
    /// There is no `/dev/null`, from which programs read that get no input.
    #[error("cannot open /dev/null: {}{REMEDY}mknod -m 666 /dev/null c 1 3", .0)]
    NoNull(#[source] io::Error),
    /// The system refused something that a run needs.
    #[error("cannot {doing}: {source}{}", obstacle::of_limit(source))]
    System {
        /// The action that failed, with the name of its object.
        doing: String,
        /// The error of the system.
        #[source]
        source: io::Error,
    },
    /// The supervisor could not build the stations.
    #[error("{why}")]
    Stations {
        /// The exit status that this failure has.
        status: u8,
        /// The failure and its cause.
        why: String,
    },
    /// The supervisor was killed.
    #[error("the stations were killed from outside")]
    Killed,
    /// A program could not be started.
    #[error("cannot run \"{program}\": {source}{}", obstacle::of_limit(source))]
    Spawn {
        /// The program, as it was given.
        program: String,
        /// The error of the system.
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
        /// The awaited port number.
        port: u16,
        /// The name of the station.
        station: String,
        /// The time for which it was awaited, or the fate of the programs.
        why: String,
    },
    /// TCP in stations cannot use a congestion control.
    #[error("TCP in stations cannot use the congestion control \"{name}\": {why}")]
    Congestion {
        /// The name of the congestion control.
        name: String,
        /// Which there are, and how to get more.
        why: String,
    },
    /// A line brings up no device.
    #[error("{0}")]
    Line(String),
    /// There is no such run to enter.
    #[error("{0}")]
    NoSuchRun(String),
    /// A kernel parameter does not exist or does not take the value.
    #[error("cannot set {key} to \"{value}\" in station {station}: {source}")]
    Sysctl {
        /// The name of the station.
        station: String,
        /// The key, with dots.
        key: String,
        /// The value that was refused.
        value: String,
        /// The error of the system.
        #[source]
        source: io::Error,
    },
    /// Something cannot be an end of a link.
    #[error("--attach: {0}")]
    Attach(String),
    /// This user may give namespaces no names.
    #[error(
        "--netns-dir mounts namespaces, as `ip netns` does, and so needs root: run it under sudo, \
         or enter stations by `windfall exec`"
    )]
    NamesForbidden,
    /// A station has a name that no file can have.
    #[error("--netns-dir: \"{0}\" cannot name a file: give the station a name without /")]
    NoFileName(String),
    /// Something has the name of a station's namespace.
    #[error(
        "--netns-dir: {path} is there already: end the run that has made it, name another folder, \
         or remove it by `umount {path}; rm {path}`"
    )]
    NameTaken {
        /// The path of the name.
        path: String,
    },
    /// The helper of the NAT gateway is not installed.
    #[error("--net needs slirp4netns, which is not installed{}apt-get install slirp4netns", REMEDY)]
    NatMissing,
    /// There is no station around this process whose addresses leave room for an engine.
    #[error(
        "this is no station with addresses of windfall's choice: run it under `windfall run`, or \
         say where the engine stands by --address ADDRESS"
    )]
    NoEngineSite,
    /// Another engine has the address.
    #[error(
        "another engine stands at {0}: let one `windfall tcp forward` carry all, or give this one \
         another --address"
    )]
    EngineSiteTaken(std::net::IpAddr),
    /// The helper of the NAT gateway is too old.
    #[error(
        "--net needs slirp4netns 1.2 or later, and the one installed is older{}install the \
         program of https://github.com/rootless-containers/slirp4netns/releases",
        REMEDY
    )]
    NatOld,
    /// The helper of the NAT gateway failed.
    #[error("{program} could not connect the far end to the host: {reason}")]
    NatFailed {
        /// The name of the helper.
        program: &'static str,
        /// The message of the helper.
        reason: String,
    },
}

impl LiveError {
    /// A failure of an action that a filter may forbid.
    pub(crate) fn forbidden(doing: String, source: impl Into<io::Error>) -> Self {
        Self::Forbidden { doing, source: source.into() }
    }

    /// The exit status that a shell would give: 127 for a program that does not exist, 126 for one
    /// that may not run, 2 for a name that means no run or station, 125 for every failure of ours.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Spawn { source, .. } if source.kind() == io::ErrorKind::NotFound => 127,
            Self::Spawn { source, .. } if obstacle::of_limit(source).is_empty() => 126,
            Self::NoSuchRun(_) | Self::Attach(_) => 2,
            Self::Shell { status, .. } | Self::Stations { status, .. } => *status,
            _ => 125,
        }
    }
}

/// A result with an [`LiveError`] of a run.
pub type Result<T> = std::result::Result<T, LiveError>;

/// Says what was being done when the system refused.
pub trait ErrorContext<T> {
    /// The error as "cannot `doing`: …".
    ///
    /// # Errors
    /// The one that there was.
    fn context(self, doing: impl FnOnce() -> String) -> Result<T>;
}

impl<T, E: Into<io::Error>> ErrorContext<T> for std::result::Result<T, E> {
    fn context(self, doing: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|source| LiveError::System { doing: doing(), source: source.into() })
    }
}
