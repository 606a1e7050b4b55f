//! Ports of the host that lead into a run, and ports of its stations that lead out of it.
//!
//! A socket belongs to the namespace in which it was made, whoever holds it. So a helper in a
//! station accepts connections from a socket that was made on the host ([`Published`]), and one on
//! the host those from a socket that was made in a station ([`Reached`]). Each helper is a program
//! whose standard input is the socket, by [`serve`]; [`hand_socket`] makes a single socket in a
//! station for a program outside.

mod copy;
mod counts;
mod datagrams;
mod handover;
mod ports;
mod rule;
mod table;
mod targets;

use std::io;
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd as _, OwnedFd};

use counts::Counts;
use rustix::net::SocketType;
use rustix::net::sockopt::socket_type;
use rustix::process::{Resource, getrlimit, setrlimit};
use targets::Targets;
use tokio::runtime::Runtime;
use tokio::task::LocalSet;

pub use counts::PortCount;
pub use ports::{OpenPorts, PortError, PortTotals, RelayHelpers};
pub use rule::{PortProtocol, Published, Reached};

/// Carries the connections that wait at the standard input, a socket that listens, to the first of
/// `targets` that takes them, or the datagrams that come there, if it is a socket of UDP; it only
/// returns if that fails. `make_runtime` is called once more descriptors are permitted.
///
/// # Errors
/// If the standard input is no such socket.
pub fn serve(
    targets: &[String],
    make_runtime: impl FnOnce() -> io::Result<Runtime>,
) -> io::Result<()> {
    let socket = standard_input()?;
    let counts = Counts::telling(io::stdout().as_fd().try_clone_to_owned()?);
    let targets = Targets::new(targets);
    permit_descriptors();
    // One thread, so that a limit of processes cannot stop it.
    let runtime = make_runtime()?;
    LocalSet::new().block_on(&runtime, carry(socket, targets, counts))
}

async fn carry(socket: OwnedFd, targets: Targets, counts: Counts) -> io::Result<()> {
    if socket_type(&socket)? == SocketType::DGRAM {
        let socket = UdpSocket::from(socket);
        socket.set_nonblocking(true)?;
        let here = tokio::net::UdpSocket::from_std(socket)?;
        return Err(
            datagrams::carry(here, targets, datagrams::CLIENTS, datagrams::IDLE, counts).await
        );
    }
    let listener = TcpListener::from(socket);
    listener.set_nonblocking(true)?;
    let listener = tokio::net::TcpListener::from_std(listener)?;
    Err(copy::carry(listener, targets, copy::CONNECTIONS, counts).await)
}

/// Permits this process as many open descriptors as it may have: each client has one or two.
fn permit_descriptors() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // What it has must do otherwise.
    let _ = setrlimit(Resource::Nofile, limit);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_sockets_have_their_names() {
        let kind = |text: &str| text.parse::<SocketKind>();
        assert_eq!(kind("listen"), Ok(SocketKind::Listen));
        assert_eq!(kind("connect"), Ok(SocketKind::Connect));
        assert_eq!(kind("udp"), Ok(SocketKind::Udp));
        assert_eq!(kind("tcp"), Err("use listen, connect or udp".to_owned()));
    }

    #[test]
    fn a_helper_may_open_as_many_descriptors_as_the_system_permits() {
        let maximum = getrlimit(Resource::Nofile).maximum;
        let fewer = maximum.map(|most| most.min(1_024) - 1);
        if fewer.is_some() {
            setrlimit(Resource::Nofile, rustix::process::Rlimit { current: fewer, maximum })
                .expect("fewer are permitted");
        }
        permit_descriptors();
        assert_eq!(getrlimit(Resource::Nofile).current, maximum);
    }
}
