//! The sockets of the program that the script plays.

use std::collections::{BTreeMap, VecDeque};

use windfall_tcp::{ConnectionHandle, TcpConfig, TcpError};

/// The role of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Neither listening nor connected.
    Fresh,
    Listening,
    Stream(ConnectionHandle),
}

/// The sends of a socket without copying, of which the program is told by their numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Uncopied {
    /// The program has asked for them.
    pub(crate) is_on: bool,
    next: u32,
    /// The position behind the data of each, and its number.
    pending: VecDeque<(u64, u32)>,
}

impl Uncopied {
    /// Notes a send whose data end here.
    pub(crate) fn note(&mut self, end: u64) {
        if self.is_on {
            self.pending.push_back((end, self.next));
            self.next += 1;
        }
    }

    /// Tells whether there is one whose data are acknowledged.
    pub(crate) fn is_done(&self, acknowledged: u64) -> bool {
        self.pending.front().is_some_and(|(end, _)| *end <= acknowledged)
    }

    /// Takes those whose data are acknowledged: the first number and the last.
    pub(crate) fn take(&mut self, acknowledged: u64) -> Option<(u32, u32)> {
        let mut range = None;
        while let Some((_, number)) = self.pending.front().filter(|it| it.0 <= acknowledged) {
            let number = *number;
            self.pending.pop_front();
            range = Some((range.map_or(number, |(first, _)| first), number));
        }
        range
    }
}

/// Words among the events of `epoll` that say how they are told.
pub(crate) const EDGE: &str = "EPOLLET";
pub(crate) const ONCE: &str = "EPOLLONESHOT";

/// The events of one descriptor that a program waits for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interest {
    pub(crate) events: Vec<String>,
    /// It is told once, and then no more.
    pub(crate) spent: bool,
    /// The events until it was told last: data that came, sends that were done, and whether
    /// there was room.
    pub(crate) seen: Option<(u64, u64, bool)>,
}

impl Interest {
    pub(crate) fn has(&self, word: &str) -> bool {
        self.events.iter().any(|it| it == word)
    }
}

/// The descriptors of one `epoll`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Epoll {
    pub(crate) interests: BTreeMap<i64, Interest>,
}

impl Epoll {
    /// Forgets a descriptor that is closed.
    pub(crate) fn forget(&mut self, fd: i64) {
        self.interests.remove(&fd);
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Socket {
    pub(crate) config: TcpConfig,
    pub(crate) role: Role,
    pub(crate) nonblocking: bool,
    /// Bytes written and read so far.
    pub(crate) written: u32,
    pub(crate) read: u32,
    /// The error of the connection was told once, as systems do.
    pub(crate) told: bool,
    /// Closing resets the connection.
    pub(crate) resets: bool,
    /// No more is read, or written.
    pub(crate) shut: [bool; 2],
    /// Sends without copying.
    pub(crate) uncopied: Uncopied,
    /// `connect` leaves the SYN to the first write, where a cookie is known.
    pub(crate) may_defer: bool,
    /// The SYN waits for the first write.
    pub(crate) deferred: bool,
    /// The key of its cookies, where it has its own.
    pub(crate) cookie_key: Option<[u8; 16]>,
    /// Bytes that need not be sent before the socket takes more; a number that programs set.
    pub(crate) unsent_mark: i64,
}

impl Socket {
    pub(crate) fn new(config: TcpConfig, role: Role) -> Self {
        Self {
            config,
            role,
            nonblocking: false,
            written: 0,
            read: 0,
            told: false,
            resets: false,
            shut: [false; 2],
            uncopied: Uncopied::default(),
            may_defer: false,
            deferred: false,
            cookie_key: None,
            unsent_mark: 0,
        }
    }

    pub(crate) fn stream(&self) -> Option<ConnectionHandle> {
        match self.role {
            Role::Stream(id) => Some(id),
            _ => None,
        }
    }
}

/// Returns the name of the system's error for the end of a connection.
pub(crate) fn errno(error: TcpError) -> &'static str {
    match error {
        TcpError::Refused => "ECONNREFUSED",
        TcpError::Reset => "ECONNRESET",
        TcpError::TimedOut => "ETIMEDOUT",
        TcpError::Aborted => "ECONNABORTED",
    }
}

/// Returns the number of an error of Linux.
pub(crate) fn errno_number(name: &str) -> i64 {
    match name {
        "ECONNABORTED" => 103,
        "ECONNRESET" => 104,
        "ETIMEDOUT" => 110,
        "ECONNREFUSED" => 111,
        _ => -1,
    }
}
