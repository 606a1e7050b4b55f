//! The test program of the TCP experiments: one connection that carries a number of bytes, timed
//! by the receiver.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use rustix::net::sockopt;
use serde::{Deserialize, Serialize};

use crate::experiment::counters::TcpCounters;
use crate::experiment::error::ExperimentError;

/// The time without progress after which both ends give up.
const PATIENCE: Duration = Duration::from_secs(120);
/// The number of attempts to reach a receiver that does not listen yet.
const TRIES: u32 = 100;

/// The result of one transfer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct BulkTransfer {
    /// The number of bytes transferred.
    pub bytes: u64,
    /// From the acceptance of the connection to the last byte, as the receiver saw it.
    pub seconds: f64,
    /// The counters of the sender's TCP.
    pub counters: TcpCounters,
}

/// The options of the sockets of a transfer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sockets {
    /// The size of the socket buffers in bytes, which bounds the window; the kernel's if `None`.
    pub buffer: Option<usize>,
}

impl Sockets {
    fn apply(self, socket: impl std::os::fd::AsFd) -> io::Result<()> {
        if let Some(buffer) = self.buffer {
            sockopt::set_socket_recv_buffer_size(&socket, buffer)?;
            sockopt::set_socket_send_buffer_size(&socket, buffer)?;
        }
        Ok(())
    }
}

/// Takes one connection on `listener`, reads it to its end, and tells the sender how long it took.
///
/// # Errors
/// If the connection fails or falls silent.
pub fn receive(listener: &TcpListener, sockets: Sockets) -> Result<(), ExperimentError> {
    let failed =
        |source| ExperimentError::Connection { what: "receiving failed".to_owned(), source };
    receive_all(listener, sockets).map_err(failed)
}

#[expect(clippy::disallowed_methods, reason = "the receiver times a transfer in real time")]
fn receive_all(listener: &TcpListener, sockets: Sockets) -> io::Result<()> {
    // The window is agreed on when the connection is opened.
    sockets.apply(listener)?;
    let (mut stream, _) = listener.accept()?;
    let start = std::time::Instant::now();
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut buffer = [0; 16 * 1024];
    let mut last = start;
    while stream.read(&mut buffer)? > 0 {
        last = std::time::Instant::now();
    }
    let nanos = u64::try_from((last - start).as_nanos()).unwrap_or(u64::MAX);
    stream.write_all(&nanos.to_be_bytes())
}

/// Sends `bytes` bytes to a receiver at `to`, by Reno.
///
/// # Errors
/// If the receiver cannot be reached or the connection fails.
pub fn send(to: SocketAddr, bytes: u64, sockets: Sockets) -> Result<BulkTransfer, ExperimentError> {
    let failed =
        |source| ExperimentError::Connection { what: format!("sending to {to} failed"), source };
    let mut stream = connect(to).map_err(failed)?;
    let nanos = send_all(&mut stream, bytes, sockets).map_err(failed)?;
    Ok(BulkTransfer { bytes, seconds: nanos as f64 / 1e9, counters: TcpCounters::read()? })
}

#[expect(clippy::disallowed_methods, reason = "the receiver starts in its own time")]
fn connect(to: SocketAddr) -> io::Result<TcpStream> {
    let mut tries = 1;
    loop {
        match TcpStream::connect_timeout(&to, PATIENCE) {
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused && tries < TRIES => {
                tries += 1;
                std::thread::sleep(Duration::from_millis(50));
            }
            result => return result,
        }
    }
}

fn send_all(stream: &mut TcpStream, bytes: u64, sockets: Sockets) -> io::Result<u64> {
    sockopt::set_tcp_congestion(&*stream, "reno")?;
    sockets.apply(&*stream)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let chunk = [0x5a; 16 * 1024];
    let mut left = bytes;
    while left > 0 {
        let part = chunk.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        stream.write_all(&chunk[..part])?;
        left -= part as u64;
    }
    stream.shutdown(Shutdown::Write)?;
    let mut nanos = [0; 8];
    stream.read_exact(&mut nanos)?;
    Ok(u64::from_be_bytes(nanos))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transfer_over_loopback_is_timed_by_its_receiver() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let to = listener.local_addr().unwrap();
        let sockets = Sockets { buffer: Some(32 * 1024) };
        let outcome = std::thread::scope(|scope| {
            let receiver = scope.spawn(|| receive(&listener, sockets));
            let outcome = send(to, 100_000, sockets).unwrap();
            receiver.join().unwrap().unwrap();
            outcome
        });
        assert_eq!(outcome.bytes, 100_000);
        assert!(outcome.seconds > 0.0);
    }
}
