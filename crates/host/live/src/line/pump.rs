//! A thread between a line and the event loop: it waits for lines that are gone.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::sync::Arc;
use std::thread::JoinHandle;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockType, send, socketpair};

use super::{LineAddress, LineDevice, OpenLine, READ};

/// The time between two attempts to open a line, in milliseconds.
const RETRY: u16 = 1_000;

/// The state of a line, for the user.
#[derive(Debug)]
pub enum LineNotice {
    /// It is gone; it is tried again every second.
    Gone(io::Error),
    /// It is there again.
    Back,
    /// Its bytes cannot be recorded any more.
    Unrecorded(io::Error),
}

/// The files that get every byte of a line as it is read and written.
#[derive(Clone, Debug)]
pub struct LineRecord {
    /// The bytes that were written to the line.
    pub sent: Arc<File>,
    /// The bytes that were read from it.
    pub received: Arc<File>,
}

/// Carries the bytes of a line until it is dropped.
#[derive(Debug)]
pub struct LinePump {
    stop: Arc<EventFd>,
    thread: Option<JoinHandle<Option<OpenLine>>>,
}

impl LinePump {
    /// Starts to carry, and returns the device of the event loop. `record` gets what is carried;
    /// `tell` learns when the line goes and comes.
    ///
    /// # Errors
    /// If the system has no descriptors or no threads left.
    pub fn start(
        line: OpenLine,
        address: LineAddress,
        record: Option<LineRecord>,
        tell: impl Fn(LineNotice) + Send + 'static,
    ) -> io::Result<(Self, LineDevice)> {
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        let (ours, theirs) = socketpair(AddressFamily::Unix, SockType::SeqPacket, None, flags)?;
        let stop = Arc::new(EventFd::from_flags(EfdFlags::EFD_CLOEXEC)?);
        let mut carrier = Carrier {
            line: Some(line),
            address,
            socket: theirs,
            stop: Arc::clone(&stop),
            unwritten: Vec::new(),
            record,
            tell: Box::new(tell),
        };
        let thread = std::thread::Builder::new().name("line".into()).spawn(move || {
            while carrier.turn() {}
            carrier.line
        })?;
        Ok((Self { stop, thread: Some(thread) }, LineDevice::new(ours)))
    }
}

impl LinePump {
    /// Ends, and gives the line back if it is there.
    #[must_use]
    pub fn stop(mut self) -> Option<OpenLine> {
        self.end()
    }

    fn end(&mut self) -> Option<OpenLine> {
        let _ = self.stop.write(1);
        self.thread.take().and_then(|thread| thread.join().ok().flatten())
    }
}

impl Drop for LinePump {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

struct Carrier {
    line: Option<OpenLine>,
    address: LineAddress,
    socket: OwnedFd,
    stop: Arc<EventFd>,
    /// Bytes for which the line had no room.
    unwritten: Vec<u8>,
    record: Option<LineRecord>,
    tell: Box<dyn Fn(LineNotice) + Send>,
}

impl Carrier {
    /// Waits, and carries what there is; `false` at the end.
    fn turn(&mut self) -> bool {
        let Ok([is_over, to_line, from_line]) = self.wait() else { return false };
        if is_over {
            return false;
        }
        let carried = match self.line.take() {
            Some(mut line) => self.carry(&mut line, to_line, from_line).map(|()| line),
            None => return self.reopen(),
        };
        match carried {
            Ok(line) => self.line = Some(line),
            Err(error) => (self.tell)(LineNotice::Gone(error)),
        }
        true
    }

    fn wait(&self) -> nix::Result<[bool; 3]> {
        let is_full = !self.unwritten.is_empty();
        let wanted = if is_full { PollFlags::POLLOUT } else { PollFlags::empty() };
        // While the line is gone its bytes wait, to be dropped before the next attempt.
        let is_ready = !is_full && self.line.is_some();
        let packets = if is_ready { PollFlags::POLLIN } else { PollFlags::empty() };
        let mut fds = vec![
            PollFd::new(self.stop.as_fd(), PollFlags::POLLIN),
            PollFd::new(self.socket.as_fd(), packets),
        ];
        fds.extend(
            self.line.as_ref().map(|it| PollFd::new(it.as_fd(), PollFlags::POLLIN | wanted)),
        );
        let timeout = if self.line.is_some() { PollTimeout::NONE } else { RETRY.into() };
        match poll(&mut fds, timeout) {
            Ok(_) | Err(nix::errno::Errno::EINTR) => {}
            Err(error) => return Err(error),
        }
        let any = |place: usize| fds.get(place).is_some_and(|fd| fd.any().unwrap_or(true));
        Ok([any(0), any(1), any(2)])
    }

    fn carry(&mut self, line: &mut OpenLine, to_line: bool, from_line: bool) -> io::Result<()> {
        let mut buffer = [0; READ];
        if from_line && let Some(count) = line.read(&mut buffer)?.filter(|count| *count > 0) {
            self.hand_up(&buffer[..count]);
            self.note(|it| &it.received, &buffer[..count]);
        }
        if to_line && self.unwritten.is_empty() {
            let count = nix::unistd::read(&self.socket, &mut buffer).unwrap_or(0);
            self.unwritten.extend(&buffer[..count]);
        }
        let is_noted = self.record.is_some();
        let waiting = if is_noted { self.unwritten.clone() } else { Vec::new() };
        let written = line.write_waiting(&mut self.unwritten);
        let count = waiting.len().saturating_sub(self.unwritten.len());
        self.note(|it| &it.sent, &waiting[..count]);
        written
    }

    /// Records bytes of the line; a file that cannot be written ends the record.
    fn note(&mut self, file: impl Fn(&LineRecord) -> &Arc<File>, bytes: &[u8]) {
        let Some(record) = &self.record else { return };
        if let Err(error) = (&**file(record)).write_all(bytes) {
            self.record = None;
            (self.tell)(LineNotice::Unrecorded(error));
        }
    }

    /// Opens the line again, and drops what waits for it.
    fn reopen(&mut self) -> bool {
        let mut buffer = [0; READ];
        while nix::unistd::read(&self.socket, &mut buffer).is_ok_and(|count| count > 0) {}
        self.unwritten.clear();
        if let Ok(line) = OpenLine::open(&self.address) {
            self.line = Some(line);
            (self.tell)(LineNotice::Back);
            self.hand_up(&[]);
        }
        true
    }

    /// Gives bytes to the event loop; what it has no room for is lost as on the line.
    fn hand_up(&self, bytes: &[u8]) {
        let _ = send(self.socket.as_raw_fd(), bytes, MsgFlags::MSG_NOSIGNAL);
    }
}
