//! Ports of the host that lead into a run, and ports of its stations that lead out of it.
//!
//! A socket belongs to the namespace in which it was made, whoever holds it. So a helper in a
//! station accepts connections from a socket that was made on the host ([`Published`]), and one on
//! the host those from a socket that was made in a station ([`Reached`]). Each helper is a program
//! whose standard input is the socket, by [`serve`]; [`hand_socket`] makes a single socket in a
//! station for a program outside.

mod copy;
mod datagrams;
mod handover;
mod ports;
mod rule;

use std::io;
use std::net::{TcpListener, TcpStream, ToSocketAddrs, UdpSocket};
use std::os::fd::{AsFd as _, OwnedFd};

use copy::Connections;
use rustix::net::SocketType;
use rustix::net::sockopt::socket_type;

pub use ports::{OpenPorts, PortError, RelayHelpers};
pub use rule::{PortProtocol, Published, Reached};

/// Carries the connections that wait at the standard input, a socket that listens, to the first of
/// `targets` that takes them, or the datagrams that come there, if it is a socket of UDP; it only
/// returns if that fails.
///
/// # Errors
/// If the standard input is no such socket.
pub fn serve(targets: &[String]) -> io::Result<()> {
    let socket = standard_input()?;
    if socket_type(&socket)? == SocketType::DGRAM {
        return datagrams::serve(UdpSocket::from(socket), targets);
    }
    let listener = TcpListener::from(socket);
    let connections = Connections::default();
    loop {
        let (client, _) = accept(&listener)?;
        let targets = targets.to_vec();
        connections.carry(client, move || connect(&targets));
    }
}

/// The kind of a socket that a process in a station makes for one outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SocketKind {
    /// A socket of TCP that waits for connections.
    Listen,
    /// A socket of TCP that is connected.
    Connect,
    /// A socket of UDP.
    Udp,
}

impl std::str::FromStr for SocketKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "listen" => Ok(Self::Listen),
            "connect" => Ok(Self::Connect),
            "udp" => Ok(Self::Udp),
            _ => Err("use listen, connect or udp".to_owned()),
        }
    }
}

/// Makes a socket at `address`, or connected to it, in the station in which this runs, and hands it
/// over the socket at the standard input.
///
/// # Errors
/// If the socket cannot be made, or the other process is gone.
pub fn hand_socket(kind: SocketKind, address: &str) -> io::Result<()> {
    let to = standard_input()?;
    match kind {
        SocketKind::Listen => handover::send(&to, &TcpListener::bind(address)?),
        SocketKind::Connect => handover::send(&to, &TcpStream::connect(address)?),
        SocketKind::Udp => handover::send(&to, &UdpSocket::bind(address)?),
    }
}

fn standard_input() -> io::Result<OwnedFd> {
    io::stdin().as_fd().try_clone_to_owned()
}

/// Accepts a connection; one that is gone before is skipped.
fn accept(listener: &TcpListener) -> io::Result<(TcpStream, std::net::SocketAddr)> {
    loop {
        match listener.accept() {
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
            outcome => return outcome,
        }
    }
}

fn connect(targets: &[String]) -> io::Result<TcpStream> {
    let mut error = io::Error::from(io::ErrorKind::NotFound);
    for target in targets {
        for address in target.to_socket_addrs().into_iter().flatten() {
            match TcpStream::connect(address) {
                Ok(stream) => return Ok(stream),
                Err(refused) => error = refused,
            }
        }
    }
    Err(error)
}
