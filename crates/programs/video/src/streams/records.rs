//! A plan, and records of one length at their times.
#![expect(
    clippy::disallowed_methods,
    reason = "records go out at their times, and their arrivals are timed"
)]

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Instant;

use windfall_base::Duration;
use windfall_socket::{
    CloseReason, Integrity, MessageKind, Mode, Reason, SapError, SapOptions, SapSocket,
};
use windfall_system::interrupt;

use crate::streams::TransferError;

type Result<T = ()> = std::result::Result<T, TransferError>;

/// Bytes of a plan that every path carries in one message.
const PLAN_PART: usize = 1_000;

/// Time after which a receiver gives up waiting for the next record.
const PATIENCE: Duration = Duration::from_secs(60);
/// The time between two checks for a signal while a receiver waits.
const POLL: Duration = Duration::from_millis(50);
/// The time for which a receiver repeats its end until the sender acknowledges it.
const CLOSING: Duration = Duration::from_secs(2);

/// The sender of a plan and its records.
pub enum RecordSender {
    /// Over SAP, precisely if `true`.
    Sap(SapSocket, bool),
    /// The bytes go over the kernel's TCP.
    Tcp(TcpStream),
}

impl RecordSender {
    /// Connects to a receiver over the kernel's TCP.
    ///
    /// # Errors
    /// If no program listens there.
    pub fn over_tcp(to: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(to).map_err(|error| cannot_connect(to, &error))?;
        stream.set_nodelay(true)?;
        Ok(Self::Tcp(stream))
    }

    /// Connects to a receiver over SAP, which may open its port a little later; records travel as
    /// precise messages if `precise`.
    ///
    /// # Errors
    /// If no receiver answers, or the keys differ.
    pub fn over_sap(options: &SapOptions, to: SocketAddr, precise: bool) -> Result<Self> {
        match options.connect_to_starting(to) {
            Ok(socket) => Ok(Self::Sap(socket, precise)),
            Err(error @ SapError::Closed(CloseReason::Refused(Reason::Key))) => {
                Err(TransferError::Keys { to, source: error })
            }
            Err(error) => Err(cannot_connect(to, &error)),
        }
    }

    /// Sends a plan precisely, and waits until it has arrived where records could overtake it.
    ///
    /// # Errors
    /// If the connection fails.
    pub fn plan(&mut self, plan: &[u8]) -> Result {
        match self {
            Self::Tcp(stream) => stream.write_all(plan)?,
            Self::Sap(socket, _) => {
                for part in plan.chunks(PLAN_PART) {
                    socket.send(part)?;
                }
                socket.flush()?;
            }
        }
        Ok(())
    }

    /// Sends the records that `record` gives, one in each `interval`, the first `protected` bytes
    /// of each exact.
    ///
    /// # Errors
    /// If the connection fails.
    pub fn records(
        &mut self,
        count: u32,
        interval: Duration,
        protected: usize,
        mut record: impl FnMut(u32) -> Vec<u8>,
    ) -> Result {
        if let Self::Sap(socket, false) = self {
            socket.set_mode(Mode::Approximate { protected });
        }
        let began = Instant::now();
        let interval = std::time::Duration::from(interval);
        for number in 0..count {
            let due = interval * number;
            std::thread::sleep(due.saturating_sub(began.elapsed()));
            let record = record(number);
            match self {
                Self::Tcp(stream) => stream.write_all(&record)?,
                Self::Sap(socket, _) => socket.send(&record)?,
            }
        }
        Ok(())
    }

    /// Ends in order, and waits until the receiver has done its work, as it says by its own end.
    ///
    /// # Errors
    /// If the receiver went away before.
    pub fn close(self) -> Result {
        match self {
            Self::Tcp(mut stream) => {
                stream.shutdown(std::net::Shutdown::Write)?;
                stream.read_to_end(&mut Vec::new()).map_err(|error| unfinished(&error))?;
            }
            Self::Sap(socket, _) => {
                socket.finish_or_abort()?;
                while socket.recv().map_err(|error| unfinished(&error))?.is_some() {}
            }
        }
        Ok(())
    }
}

/// Returns the error of a record that could not be finished.
fn unfinished(error: &dyn std::fmt::Display) -> TransferError {
    TransferError::Unfinished(error.to_string())
}

/// Refuses to protect more bytes than a record has.
///
/// # Errors
/// Says how many there are.
pub fn check_protected(protected: Option<usize>, size: usize) -> std::result::Result<(), String> {
    match protected.filter(|it| *it > size) {
        None => Ok(()),
        Some(more) => Err(format!(
            "--protected {more} is more than the {size} bytes of each: protect {size} at most"
        )),
    }
}

/// The receiver of a plan and its records.
pub enum RecordReceiver {
    /// The messages go over SAP.
    Sap {
        /// The connection to the sender.
        socket: SapSocket,
        /// Records are precise messages.
        precise: bool,
        /// The messages of the plan, which were numbered as well.
        plans: u32,
        /// The records that came marked as suspect.
        suspect: u64,
    },
    /// The bytes go over the kernel's TCP.
    Tcp {
        /// The connection to the sender.
        stream: TcpStream,
        /// The number of the next record.
        next: u32,
        /// The part of it that has come.
        record: Vec<u8>,
    },
}

impl RecordReceiver {
    /// Accepts a sender over the kernel's TCP.
    ///
    /// `announce` is called with the address when it waits there.
    ///
    /// # Errors
    /// If the address cannot be listened on.
    pub fn over_tcp(on: SocketAddr, announce: impl FnOnce(SocketAddr)) -> Result<Self> {
        let listener =
            TcpListener::bind(on).map_err(|source| TransferError::Listen { on, source })?;
        announce(listener.local_addr()?);
        let stream = listener.accept()?.0;
        stream.set_read_timeout(Some(PATIENCE.into()))?;
        Ok(Self::Tcp { stream, next: 0, record: Vec::new() })
    }

    /// Accepts a sender over SAP whose records are precise messages if `precise`.
    ///
    /// `announce` is called with the address when it waits there.
    ///
    /// # Errors
    /// If the address cannot be listened on, or the sender is refused.
    pub fn over_sap(
        options: &SapOptions,
        on: SocketAddr,
        precise: bool,
        announce: impl FnOnce(SocketAddr),
    ) -> Result<Self> {
        let listener = options.listen(on)?;
        announce(listener.local_addr()?);
        let socket = listener.accept()?.0;
        socket.set_timeout(Some(PATIENCE));
        Ok(Self::Sap { socket, precise, plans: 0, suspect: 0 })
    }

    /// Expects records from now on, until the end or until a signal tells the process to end.
    ///
    /// # Errors
    /// If the system refuses to note signals.
    pub fn expect_records(&self) -> Result {
        match self {
            Self::Sap { socket, .. } => socket.set_timeout(Some(POLL)),
            Self::Tcp { stream, .. } => stream.set_read_timeout(Some(POLL.into()))?,
        }
        Ok(interrupt::note_requests()?)
    }

    /// Waits for a plan of `len` bytes.
    ///
    /// # Errors
    /// If something else comes, or nothing.
    pub fn plan(&mut self, len: usize) -> Result<Vec<u8>> {
        let mut plan = Vec::new();
        match self {
            Self::Tcp { stream, .. } => {
                plan.resize(len, 0);
                stream.read_exact(&mut plan)?;
            }
            // The sender waits until a plan is acknowledged, so it comes before all records.
            Self::Sap { socket, plans, .. } => {
                while plan.len() < len {
                    match socket.recv()? {
                        Some(message) if message.kind == MessageKind::Precise => {
                            plan.extend(&message.data);
                        }
                        _ => return Err(TransferError::NoPlan),
                    }
                    *plans += 1;
                }
            }
        }
        Ok(plan)
    }

    /// Tells the sender that everything is done; it may be gone already.
    pub fn close(self) {
        // A receiver that was told to end does not wait for its sender.
        if let Self::Sap { socket, .. } = self
            && interrupt::noted().is_none()
        {
            // The sender fails if the end is lost, and nothing repeats it.
            socket.set_timeout(Some(CLOSING));
            let _ = socket.close();
        }
    }

    /// Returns the number of records that arrived marked as suspect.
    pub fn suspect(&self) -> u64 {
        match self {
            Self::Sap { suspect, .. } => *suspect,
            Self::Tcp { .. } => 0,
        }
    }

    /// Returns the next record of `size` bytes and its number; `None` at the end, and once a signal
    /// told the process to end.
    ///
    /// # Errors
    /// If the connection fails, or nothing comes for a minute.
    pub fn next(&mut self, size: usize) -> Result<Option<(u32, Vec<u8>)>> {
        let began = Instant::now();
        while interrupt::noted().is_none() {
            match self.poll(size)? {
                Reception::Record(number, record) => return Ok(Some((number, record))),
                Reception::End => return Ok(None),
                Reception::Nothing => {}
            }
            if Duration::from(began.elapsed()) >= PATIENCE {
                return Err(TransferError::Silent);
            }
        }
        Ok(None)
    }

    /// Waits a moment for the next record.
    fn poll(&mut self, size: usize) -> Result<Reception> {
        match self {
            Self::Sap { socket, precise, plans, suspect } => {
                let message = match socket.recv() {
                    Ok(Some(message)) => message,
                    Ok(None) => return Ok(Reception::End),
                    Err(SapError::TimedOut) => return Ok(Reception::Nothing),
                    Err(error) => return Err(error.into()),
                };
                *suspect += u64::from(matches!(message.integrity, Integrity::Suspect(_)));
                // The first ones of the precise messages were plans.
                let number = message.number.wrapping_sub(if *precise { *plans } else { 0 });
                Ok(Reception::Record(number, message.data.to_vec()))
            }
            Self::Tcp { stream, next, record } => {
                let missing = (size - record.len()) as u64;
                match stream.take(missing).read_to_end(record) {
                    Ok(_) if record.len() < size => return Ok(Reception::End),
                    Ok(_) => {}
                    Err(error) if is_timeout(&error) => return Ok(Reception::Nothing),
                    Err(error) => return Err(error.into()),
                }
                *next += 1;
                Ok(Reception::Record(*next - 1, core::mem::take(record)))
            }
        }
    }
}

/// The result of a short wait for a record.
enum Reception {
    /// A record with its number.
    Record(u32, Vec<u8>),
    /// The sender has ended.
    End,
    /// No record came in time.
    Nothing,
}

/// Tells whether a read ended because nothing came in time.
fn is_timeout(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

fn cannot_connect(to: SocketAddr, error: &dyn std::fmt::Display) -> TransferError {
    TransferError::Unconnected { to, why: error.to_string() }
}

//= S0.58
/// The arrival times of records.
#[derive(Debug, Default)]
pub struct ArrivalTimes {
    first: Option<Instant>,
    last: Option<Instant>,
    gaps: u32,
    /// The mean of the gaps in seconds, and the sum of the squares of their distances to it.
    mean: f64,
    squares: f64,
}

impl ArrivalTimes {
    /// Notes that a record arrives now.
    pub fn record(&mut self) {
        let now = Instant::now();
        if let Some(last) = self.last {
            self.note(now.duration_since(last).as_secs_f64());
        }
        self.first.get_or_insert(now);
        self.last = Some(now);
    }

    /// Takes the gap into the mean and the squares, which need no memory of the others (Welford).
    fn note(&mut self, gap: f64) {
        self.gaps = self.gaps.saturating_add(1);
        let distance = gap - self.mean;
        self.mean += distance / f64::from(self.gaps);
        self.squares += distance * (gap - self.mean);
    }

    /// Seconds from the first record to the last.
    pub fn seconds(&self) -> f64 {
        let span = self.first.zip(self.last).map(|(first, last)| last.duration_since(first));
        span.unwrap_or_default().as_secs_f64()
    }

    /// Mean and variance of the time between records, in seconds and seconds squared; `None` of
    /// fewer than two records.
    pub fn interarrival(&self) -> Option<(f64, f64)> {
        (self.gaps > 0).then(|| (self.mean, self.squares / f64::from(self.gaps)))
    }
}
