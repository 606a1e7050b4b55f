//! Sockets of RTP, of either protocol.

use std::io;
use std::net::{SocketAddr, UdpSocket};

use windfall_base::Duration;
use windfall_socket::{
    Carrier, UdpLiteDatagram, UdpLiteSocket, dropped_datagrams, enlarge_buffers,
};

use crate::error::VideoError;

/// Bytes of the header of UDP-Lite.
const UDPLITE_LEN: usize = 8;
/// Datagrams that are taken at once at most.
const BATCH: usize = 64;

/// The address that a datagram came from, and its payload.
pub(crate) type Arrival = (SocketAddr, Vec<u8>);

/// The transport protocol of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VideoProtocol {
    /// UDP: a datagram with any damage is dropped.
    Udp,
    /// UDP-Lite over its carrier: one with damage behind the headers is passed on.
    UdpLite(Carrier),
}

/// A socket of either protocol.
#[derive(Debug)]
pub(crate) enum VideoSocket {
    Udp(UdpSocket),
    Lite(Box<UdpLiteSocket>),
}

impl VideoSocket {
    pub(crate) fn bind(protocol: VideoProtocol, at: SocketAddr) -> Result<Self, VideoError> {
        let socket = match protocol {
            VideoProtocol::Udp => UdpSocket::bind(at).map(|socket| {
                enlarge_buffers(&socket);
                Self::Udp(socket)
            }),
            VideoProtocol::UdpLite(carrier) => {
                UdpLiteSocket::bind(at, Some(carrier)).map(|it| Self::Lite(Box::new(it)))
            }
        };
        socket.map_err(|error| VideoError::Bind(at, error))
    }

    /// Returns the datagrams that found the socket's buffer full, as far as the system tells.
    pub(crate) fn dropped(&self) -> u64 {
        match self {
            Self::Udp(socket) => dropped_datagrams(socket),
            Self::Lite(socket) => socket.dropped_by_system(),
        }
    }

    /// Sends a datagram, of which UDP-Lite covers its own header and the first `exact` bytes.
    pub(crate) fn send(&self, data: &[u8], exact: usize, to: SocketAddr) -> io::Result<()> {
        let sent = match self {
            Self::Udp(socket) => socket.send_to(data, to).map(drop),
            Self::Lite(socket) => {
                // What does not fit the field covers everything, which 0 stands for.
                let coverage = u16::try_from(UDPLITE_LEN + exact).unwrap_or(0);
                let parts = [data, &[], &[]];
                let whole = exact >= data.len();
                let unbound = false;
                let datagram = UdpLiteDatagram { to, coverage, whole, unbound, parts };
                socket.wait_writable(None)?;
                socket.send(&[datagram]).map(drop)
            }
        };
        sent.or_else(|error| if is_quiet(&error) { Ok(()) } else { Err(error) })
    }

    /// Waits for datagrams, at most for `span`, and appends them to `arrivals`, each behind the
    /// address that it came from.
    pub(crate) fn receive(&self, span: Duration, arrivals: &mut Vec<Arrival>) -> io::Result<()> {
        let received = match self {
            Self::Udp(socket) => {
                let span = std::time::Duration::from_nanos(span.as_nanos().max(1_000));
                socket.set_read_timeout(Some(span))?;
                receive_batch(socket, arrivals)
            }
            Self::Lite(socket) => {
                let mut batch = Vec::new();
                let received = socket.wait_readable(Some(span)).and_then(|is_there| {
                    if is_there { socket.receive(&mut batch).map(drop) } else { Ok(()) }
                });
                arrivals.extend(batch.into_iter().map(|it| (it.from, it.data.to_vec())));
                received
            }
        };
        received.or_else(|error| if is_quiet(&error) { Ok(()) } else { Err(error) })
    }
}

/// Waits for a datagram, and takes those that have come with it.
fn receive_batch(socket: &UdpSocket, arrivals: &mut Vec<Arrival>) -> io::Result<()> {
    let mut buffer = [0; 65_536];
    let (length, from) = socket.recv_from(&mut buffer)?;
    arrivals.push((from, buffer[..length].to_vec()));
    socket.set_nonblocking(true)?;
    for _ in 1..BATCH {
        let Ok((length, from)) = socket.recv_from(&mut buffer) else { break };
        arrivals.push((from, buffer[..length].to_vec()));
    }
    socket.set_nonblocking(false)
}

/// Tells whether an error means that nothing has come, or that a peer is not there yet.
pub(crate) fn is_quiet(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionRefused, Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), WouldBlock | TimedOut | Interrupted | ConnectionRefused)
}
