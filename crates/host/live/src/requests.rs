//! The clients of a control socket: lines of requests in, lines of replies out.
//!
//! A run never waits for a client, keeps a bounded amount for each, and serves one request between
//! two turns of its loop, so that packets are carried whatever clients send.

use std::collections::BTreeMap;
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{ControlMessage, MsgFlags, recv, send, sendmsg};

use crate::clock::SystemClock;
use crate::system;

/// The longest request, in bytes, its end of line included.
pub const LONGEST_REQUEST: usize = 64 * 1024;
/// The most clients at a time.
const MOST_CLIENTS: usize = 64;
/// Bytes that one look takes from a client.
const READ: usize = 4096;

/// The answer to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// This line, without its end.
    Line(String),
    /// This line, after which the run ends as if a signal asked for it.
    End(String),
    /// This line, with a descriptor at which the client gets the namespaces of the stations.
    Enter(String),
}

#[derive(Debug)]
struct Client {
    socket: OwnedFd,
    /// Bytes that have come and are not served yet.
    input: Vec<u8>,
    /// A whole request is among it.
    has_line: bool,
    /// Bytes that the client has not taken yet; meanwhile nothing is read.
    output: Vec<u8>,
    /// It gets what waits for it, and is gone.
    is_leaving: bool,
}

impl Client {
    fn has_request(&self) -> bool {
        self.output.is_empty() && !self.is_leaving && self.has_line
    }

    /// Tells whether the other side is closed for both directions; one that only says no more, and
    /// still reads, is not.
    fn has_gone(&self) -> bool {
        let mut ready = [PollFd::new(self.socket.as_fd(), PollFlags::empty())];
        let found = poll(&mut ready, PollTimeout::ZERO);
        let events = ready[0].revents().unwrap_or(PollFlags::empty());
        found.is_ok() && events.intersects(PollFlags::POLLHUP | PollFlags::POLLERR)
    }

    /// Reads once; `false` if the client is gone.
    fn read(&mut self) -> bool {
        let mut bytes = [0; READ];
        match recv(self.socket.as_raw_fd(), &mut bytes, MsgFlags::MSG_DONTWAIT) {
            Ok(0) => return false,
            Ok(length) => {
                self.has_line |= bytes[..length].contains(&b'\n');
                self.input.extend_from_slice(&bytes[..length]);
            }
            Err(Errno::EAGAIN | Errno::EINTR) => {}
            Err(_) => return false,
        }
        true
    }

    /// Writes as much as the client takes; `false` if it is gone.
    fn write(&mut self) -> bool {
        while !self.output.is_empty() {
            let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL;
            match send(self.socket.as_raw_fd(), &self.output, flags) {
                Ok(length) => drop(self.output.drain(..length)),
                Err(Errno::EINTR) => {}
                Err(Errno::EAGAIN) => return true,
                Err(_) => return false,
            }
        }
        !self.is_leaving
    }
}

/// The clients of a run, by the names that the clock has for them.
#[derive(Debug)]
pub(crate) struct Clients {
    clients: BTreeMap<u32, Client>,
    first: u32,
    next: u32,
    /// The client that was served last: the others come first.
    served: u32,
}

impl Clients {
    /// No clients yet; the clock is to call them `first` and the numbers after it.
    pub(crate) fn new(first: u32) -> Self {
        Self { clients: BTreeMap::new(), first, next: first, served: first }
    }

    /// Takes a client that has connected; one too many is sent away.
    pub(crate) fn add(&mut self, socket: OwnedFd, clock: &SystemClock) {
        let mut client = Client {
            socket,
            input: Vec::new(),
            has_line: false,
            output: Vec::new(),
            is_leaving: false,
        };
        if self.clients.len() >= MOST_CLIENTS {
            let refusal =
                r#"{"error":"the run has as many clients as it serves: try again later"}"#;
            client.output = [refusal.as_bytes(), b"\n"].concat();
            client.write();
            return;
        }
        let name = self.next;
        self.next = self.next.checked_add(1).unwrap_or(self.first);
        if self.clients.contains_key(&name) || clock.watch_other(name, &client.socket).is_err() {
            return;
        }
        self.clients.insert(name, client);
    }

    /// Takes what a client has to say, or gives it what waits for it.
    pub(crate) fn attend(&mut self, name: u32, clock: &SystemClock) {
        let Some(client) = self.clients.get_mut(&name) else { return };
        let stays = if !client.output.is_empty() {
            let stays = client.write();
            if stays && client.output.is_empty() {
                let _ = clock.unwatch(&client.socket);
                let _ = clock.watch_other(name, &client.socket);
            }
            stays
        } else if client.has_request() {
            true
        } else {
            client.read()
        };
        let is_too_long = client.input.len() > LONGEST_REQUEST && !client.has_request();
        if !stays {
            self.remove(name, clock);
        } else if is_too_long {
            client.input.clear();
            client.is_leaving = true;
            let why = format!("a request has {LONGEST_REQUEST} bytes at most");
            self.answer(name, &format!(r#"{{"error":"{why}"}}"#), clock);
        }
    }

    /// Tells whether a request waits to be served.
    pub(crate) fn has_request(&self) -> bool {
        self.clients.values().any(Client::has_request)
    }

    /// Takes the next request, and the name of the client that waits for its answer.
    pub(crate) fn next_request(&mut self, clock: &SystemClock) -> Option<(u32, Vec<u8>)> {
        let waits = |(name, client): (&u32, &Client)| client.has_request().then_some(*name);
        let behind = self.clients.range(self.served.saturating_add(1)..).find_map(waits);
        let name = behind.or_else(|| self.clients.iter().find_map(waits))?;
        self.served = name;
        let client = self.clients.get_mut(&name)?;
        if client.has_gone() {
            // Whoever waits no more has withdrawn what was asked for.
            self.remove(name, clock);
            return None;
        }
        let end = client.input.iter().position(|byte| *byte == b'\n')?;
        let mut line: Vec<u8> = client.input.drain(..=end).collect();
        line.pop();
        client.has_line = client.input.contains(&b'\n');
        Some((name, line))
    }

    /// Answers a request.
    pub(crate) fn answer(&mut self, name: u32, line: &str, clock: &SystemClock) {
        let Some(client) = self.clients.get_mut(&name) else { return };
        client.output.extend_from_slice(line.as_bytes());
        client.output.push(b'\n');
        if !client.write() {
            return self.remove(name, clock);
        }
        if !client.output.is_empty() {
            let _ = clock.unwatch(&client.socket);
            if clock.watch_writable(name, &client.socket).is_err() {
                self.clients.remove(&name);
            }
        }
    }

    /// Answers a request with a line and a descriptor.
    pub(crate) fn answer_with(&mut self, name: u32, line: &str, descriptor: &OwnedFd) {
        let Some(client) = self.clients.get(&name) else { return };
        let line = format!("{line}\n");
        let descriptors: [RawFd; 1] = [descriptor.as_raw_fd()];
        let rights = [ControlMessage::ScmRights(&descriptors)];
        let parts = [IoSlice::new(line.as_bytes())];
        let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL;
        let socket = client.socket.as_raw_fd();
        // A client that takes nothing has not waited for its answer.
        let _ = system::retry(|| sendmsg::<()>(socket, &parts, &rights, flags, None));
    }

    fn remove(&mut self, name: u32, clock: &SystemClock) {
        if let Some(client) = self.clients.remove(&name) {
            let _ = clock.unwatch(client.socket.as_fd());
        }
    }
}

/// Returns an error that a client understands.
pub(crate) fn refused(error: &io::Error) -> String {
    // The text of a system's error has nothing in it that JSON would escape.
    format!(r#"{{"error":"{}"}}"#, error.to_string().replace(['"', '\\'], "'"))
}
