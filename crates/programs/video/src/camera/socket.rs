//! The sockets of the stream, of each protocol.

use core::str::FromStr;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use windfall_base::Duration;
use windfall_socket::{
    Carrier, Mode, SapError, SapListener, SapOptions, SapSocket, UdpLiteDatagram, UdpLiteSocket,
};

use crate::camera::error::CameraError;
use crate::camera::plan::CameraHeader;

/// Bytes of the header of UDP-Lite.
const UDPLITE_LEN: usize = 8;

/// The protocol that carries the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CameraProtocol {
    /// UDP: a datagram with any damage is dropped.
    Udp,
    /// UDP-Lite in UDP: damage behind the header of the stream is passed up.
    UdpLite,
    /// Approximate messages of SAP, whose first bytes, the header of the stream, are exact.
    Sap,
}

impl FromStr for CameraProtocol {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "udp" => Ok(Self::Udp),
            "udplite" => Ok(Self::UdpLite),
            "sap" => Ok(Self::Sap),
            _ => Err("use udp, udplite or sap".to_owned()),
        }
    }
}

/// The sending end.
pub(crate) enum CameraSender {
    Udp(UdpSocket),
    Lite(Box<UdpLiteSocket>, SocketAddr),
    Sap(SapSocket),
}

impl CameraSender {
    pub(crate) fn connect(protocol: CameraProtocol, to: SocketAddr) -> Result<Self, CameraError> {
        let any = match to {
            SocketAddr::V4(_) => SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), 0),
            SocketAddr::V6(_) => SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), 0),
        };
        let cannot = |error| CameraError::Bind(to, error);
        Ok(match protocol {
            CameraProtocol::Udp => {
                let socket = UdpSocket::bind(any).map_err(cannot)?;
                socket.connect(to).map_err(cannot)?;
                Self::Udp(socket)
            }
            CameraProtocol::UdpLite => {
                let socket = UdpLiteSocket::bind(any, Some(Carrier::Udp)).map_err(cannot)?;
                Self::Lite(Box::new(socket), to)
            }
            CameraProtocol::Sap => Self::Sap(connect(to)?),
        })
    }

    /// Sends a datagram; that no receiver listens yet, or any more, is no error.
    pub(crate) fn send(&mut self, datagram: &[u8]) -> Result<(), CameraError> {
        let sent = match self {
            Self::Udp(socket) => socket.send(datagram).map(drop),
            Self::Lite(socket, to) => {
                let coverage = (UDPLITE_LEN + CameraHeader::LEN) as u16;
                let parts = [datagram, &[], &[]];
                let to = *to;
                let whole = false;
                let unbound = false;
                let datagram = UdpLiteDatagram { to, coverage, whole, unbound, parts };
                socket.wait_writable(None).and_then(|_| socket.send(&[datagram]).map(drop))
            }
            Self::Sap(socket) => return Ok(socket.send(datagram)?),
        };
        match sent {
            Err(error) if !is_quiet(&error) => Err(CameraError::Socket(error)),
            _ => Ok(()),
        }
    }

    /// Ends in order where the protocol has an end; the stream is over, whatever the peer does.
    pub(crate) fn close(self) {
        if let Self::Sap(socket) = self {
            let _ = socket.finish_or_abort();
        }
    }
}

/// Connects over SAP to a receiver which may open its port a little later.
fn connect(to: SocketAddr) -> Result<SapSocket, CameraError> {
    let options = SapOptions::default().with(|it| it.carrier = Some(Carrier::Udp));
    let socket = options
        .connect_to_starting(to)
        .map_err(|source| CameraError::Unconnected { to, source })?;
    socket.set_mode(Mode::Approximate { protected: CameraHeader::LEN });
    Ok(socket)
}

/// The receiving end.
pub(crate) enum CameraReceiver {
    Udp(UdpSocket),
    Lite(Box<UdpLiteSocket>),
    /// The listener, and the connection once there is one.
    Sap(SapListener, Option<SapSocket>),
}

impl CameraReceiver {
    pub(crate) fn listen(protocol: CameraProtocol, on: SocketAddr) -> Result<Self, CameraError> {
        let cannot = |error| CameraError::Bind(on, error);
        Ok(match protocol {
            CameraProtocol::Udp => Self::Udp(UdpSocket::bind(on).map_err(cannot)?),
            CameraProtocol::UdpLite => {
                let socket = UdpLiteSocket::bind(on, Some(Carrier::Udp)).map_err(cannot)?;
                Self::Lite(Box::new(socket))
            }
            CameraProtocol::Sap => {
                let options = SapOptions::default().with(|it| it.carrier = Some(Carrier::Udp));
                Self::Sap(options.listen(on)?, None)
            }
        })
    }

    pub(crate) fn local_addr(&self) -> Result<SocketAddr, CameraError> {
        match self {
            Self::Udp(socket) => socket.local_addr().map_err(CameraError::Socket),
            Self::Lite(socket) => Ok(socket.local_addr()),
            Self::Sap(listener, _) => Ok(listener.local_addr()?),
        }
    }

    /// Waits for datagrams, at most for `span`, and appends them; `false` once the sender ended.
    pub(crate) fn receive(
        &mut self,
        span: Duration,
        arrivals: &mut Vec<Vec<u8>>,
    ) -> Result<bool, CameraError> {
        let received = match self {
            Self::Udp(socket) => socket.set_read_timeout(Some(span.into())).and_then(|()| {
                let mut buffer = [0; 65_536];
                socket.recv(&mut buffer).map(|length| arrivals.push(buffer[..length].to_vec()))
            }),
            Self::Lite(socket) => {
                let mut batch = Vec::new();
                let received = socket.wait_readable(Some(span)).and_then(|is_there| {
                    if is_there { socket.receive(&mut batch).map(drop) } else { Ok(()) }
                });
                arrivals.extend(batch.into_iter().map(|it| it.data.to_vec()));
                received
            }
            Self::Sap(listener, connection) => {
                return receive_message(listener, connection, span, arrivals);
            }
        };
        match received {
            Err(error) if !is_quiet(&error) => Err(CameraError::Socket(error)),
            _ => Ok(true),
        }
    }
}

/// Waits for a connection, or for a message of it; `false` once the sender ended.
fn receive_message(
    listener: &SapListener,
    connection: &mut Option<SapSocket>,
    span: Duration,
    arrivals: &mut Vec<Vec<u8>>,
) -> Result<bool, CameraError> {
    let Some(socket) = connection else {
        match listener.accept_timeout(span) {
            Ok((socket, _)) => {
                socket.set_timeout(Some(span));
                *connection = Some(socket);
            }
            Err(SapError::TimedOut) => {}
            Err(error) => return Err(error.into()),
        }
        return Ok(true);
    };
    match socket.recv() {
        Ok(Some(message)) => arrivals.push(message.data.to_vec()),
        Ok(None) | Err(SapError::Closed(_)) => return Ok(false),
        Err(SapError::TimedOut) => {}
        Err(error) => return Err(error.into()),
    }
    Ok(true)
}

/// Tells whether an error means that nothing has come, or that a peer is not there.
fn is_quiet(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionRefused, Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), WouldBlock | TimedOut | Interrupted | ConnectionRefused)
}
