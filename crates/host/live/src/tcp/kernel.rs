//! A bulk source and sink on the kernel's TCP, to compare the engine with.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::os::fd::{AsRawFd, BorrowedFd};

use nix::libc;
use windfall_base::{Duration, Instant};

use super::bulk::{Job, Worker};
use super::record::ConnectionRecord;
use crate::clock::SystemClock;
use crate::driver::Clock;
use crate::error::{ErrorContext, Result};

/// Bytes that are read or written at once.
const CHUNK: usize = 64 << 10;

/// Connects to `to` and does the job.
///
/// # Errors
/// If the system has no clock or no threads; what happens to the connection is in the record.
pub fn connect(to: SocketAddr, job: Job) -> Result<ConnectionRecord> {
    match TcpStream::connect(to) {
        Ok(stream) => work(&stream, job),
        Err(error) => {
            Ok(ConnectionRecord { error: Some(error.to_string()), ..ConnectionRecord::default() })
        }
    }
}

/// Takes the next connection and does the job on it.
///
/// # Errors
/// If the listener is gone, or the system has no clock.
pub fn accept(listener: &TcpListener, job: Job) -> Result<ConnectionRecord> {
    let (stream, _) = listener.accept().context(|| "take a connection".into())?;
    work(&stream, job)
}

fn work(stream: &TcpStream, job: Job) -> Result<ConnectionRecord> {
    let mut clock = SystemClock::new().context(|| "make a clock".into())?;
    let began = clock.now();
    let mut record = ConnectionRecord {
        local: stream.local_addr().ok(),
        remote: stream.peer_addr().ok(),
        ..ConnectionRecord::default()
    };
    let mut sink = Worker::new(Job { send: None, ..job });
    let mut received = 0;
    let mut last = began;
    let (sent, drained) = std::thread::scope(|scope| {
        // Who only receives finishes last, as programs do.
        let sending = || std::thread::Builder::new().spawn_scoped(scope, || send(stream, job));
        let sending = job.send.map(|_| sending());
        let drained = drain(stream, |bytes| {
            sink.take(bytes);
            received += bytes.len() as u64;
            last = clock.now();
        });
        let sent = match sending {
            Some(sending) => sending.and_then(|it| {
                it.join().unwrap_or_else(|_| Err(io::Error::other("the sender broke")))
            }),
            None => stream.shutdown(Shutdown::Write).map(|()| 0),
        };
        (sent, drained)
    });
    let info = info(stream.as_fd());
    let (sent, error) = match (sent, drained) {
        (Ok(sent), Ok(())) => (sent, None),
        (Ok(sent), Err(error)) => (sent, Some(error)),
        (Err(error), _) => (0, Some(error)),
    };
    if sent >= received {
        last = clock.now();
    }
    record.measure(sent, received, last.saturating_since(began));
    record.error = error.map(|error| error.to_string());
    record.first_wrong_byte = sink.wrong();
    if let Some(info) = info {
        record.retransmissions = info.tcpi_total_retrans.into();
        record.rtt_seconds = Some(f64::from(info.tcpi_rtt) / 1e6);
    }
    Ok(record)
}

/// Sends what the job says, then finishes and waits until all is acknowledged.
fn send(mut stream: &TcpStream, job: Job) -> io::Result<u64> {
    let mut clock = SystemClock::new()?;
    let mut source = Worker::new(job);
    let mut sent = 0;
    while let Some(bytes) = source.next(clock.now(), CHUNK) {
        stream.write_all(&bytes)?;
        sent += bytes.len() as u64;
    }
    stream.shutdown(Shutdown::Write)?;
    while unacknowledged(stream.as_fd()) && stream.take_error()?.is_none() {
        wait(&mut clock, Duration::from_millis(1))?;
    }
    Ok(sent)
}

/// Reads to the end.
fn drain(mut stream: &TcpStream, mut take: impl FnMut(&[u8])) -> io::Result<()> {
    let mut buffer = vec![0; CHUNK];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(len) => take(&buffer[..len]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn wait(clock: &mut SystemClock, span: Duration) -> io::Result<()> {
    let until: Instant = clock.now().saturating_add(span);
    clock.wait(Some(until), &mut Vec::new())
}

/// Tells whether the peer has not acknowledged everything yet.
fn unacknowledged(socket: BorrowedFd<'_>) -> bool {
    info(socket).is_some_and(|info| {
        let closing = matches!(u32::from(info.tcpi_state), FIN_WAIT1 | LAST_ACK | CLOSING);
        info.tcpi_unacked > 0 || closing
    })
}

/// States of the kernel in which its FIN is not acknowledged.
const FIN_WAIT1: u32 = 4;
const LAST_ACK: u32 = 9;
const CLOSING: u32 = 11;

/// Returns the kernel's information on the connection.
fn info(socket: BorrowedFd<'_>) -> Option<libc::tcp_info> {
    // SAFETY: an all-zero `tcp_info` is a valid value of that plain C structure.
    let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
    let mut len = std::mem::size_of_val(&info) as libc::socklen_t;
    // SAFETY: the kernel writes at most `len` bytes to the structure, which outlives the call.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            (&raw mut info).cast(),
            &raw mut len,
        )
    };
    (result == 0).then_some(info)
}
