//! Bytes of one connection carried to another, both ways.

use std::io::{self, ErrorKind};
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::sockopt::set_socket_linger;
use rustix::net::{Shutdown, shutdown};
use tokio::io::AsyncWriteExt as _;
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::spawn_local;

use crate::relay::counts::{Counts, PortCount};
use crate::relay::table::{ClientPlace, Clients};
use crate::relay::targets::Targets;

/// The most connections at the same time: the one that is idle for longest gives way to another.
pub(crate) const CONNECTIONS: usize = 1_024;
/// The bytes that are read at once.
const CHUNK: usize = 64 << 10;
/// The time after which a connection is accepted once more that the system had no memory for.
const AGAIN: Duration = Duration::from_millis(20);

/// Carries each connection that waits at a socket to the first of `targets` that takes it, at most
/// `most` at the same time; it only returns if the socket is of no use any more.
pub(crate) async fn carry(
    listener: TcpListener,
    targets: Targets,
    most: usize,
    counts: Counts,
) -> io::Error {
    let clients = Clients::new(most);
    loop {
        let client = match listener.accept().await {
            Ok((client, _)) => client,
            Err(error) if is_scarce(&error) => {
                let evicted = clients.evict();
                counts.add(if evicted { PortCount::EvictedIdle } else { PortCount::NoSocket });
                tokio::time::sleep(AGAIN).await;
                continue;
            }
            Err(error) if is_closed(&error) => return error,
            // It is gone before it was accepted.
            Err(_) => continue,
        };
        counts.add(PortCount::Clients);
        let (place, has_evicted) = clients.enter();
        if has_evicted {
            counts.add(PortCount::EvictedIdle);
        }
        let targets = targets.clone();
        let counts = counts.clone();
        let clients = clients.clone();
        spawn_local(async move {
            let mut client = client;
            let connecting = connect(&targets, &clients, &counts);
            let server = tokio::select! {
                () = place.sent_away() => return break_off(&client),
                server = connecting => server,
            };
            let Ok(mut server) = server else {
                counts.add(PortCount::Refused);
                return break_off(&client);
            };
            let ended = tokio::select! {
                () = place.sent_away() => Err(ErrorKind::ConnectionAborted.into()),
                ended = both_ways(&mut client, &mut server, &place) => ended,
            };
            if ended.is_err() {
                // What broke at one side is to be seen at the other.
                [&client, &server].iter().for_each(|it| break_off(it));
            }
        });
    }
}

/// Tells whether the system lacks a descriptor or memory for a socket.
pub(crate) fn is_scarce(error: &io::Error) -> bool {
    let number = error.raw_os_error().map(Errno::from_raw_os_error);
    matches!(number, Some(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM))
}

/// Tells whether a socket is of no use any more.
pub(crate) fn is_closed(error: &io::Error) -> bool {
    let number = error.raw_os_error().map(Errno::from_raw_os_error);
    matches!(number, Some(Errno::BADF | Errno::NOTSOCK | Errno::INVAL | Errno::OPNOTSUPP))
}

/// Connects to the first of the targets that takes a connection.
async fn connect(targets: &Targets, clients: &Clients, counts: &Counts) -> io::Result<TcpStream> {
    let mut error = io::Error::from(ErrorKind::NotFound);
    for address in targets.addresses().await {
        let connected = match TcpStream::connect(address).await {
            Err(error) if is_scarce(&error) && clients.evict() => {
                counts.add(PortCount::EvictedIdle);
                // The one that was sent away closes its sockets first.
                tokio::time::sleep(AGAIN).await;
                TcpStream::connect(address).await
            }
            connected => connected,
        };
        match connected {
            Ok(stream) => return Ok(stream),
            Err(refused) => error = refused,
        }
    }
    Err(error)
}

/// Carries bytes until both directions have ended; the end of one is passed on by itself.
async fn both_ways(
    client: &mut TcpStream,
    server: &mut TcpStream,
    place: &ClientPlace,
) -> io::Result<()> {
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let (from_client, to_client) = client.split();
    let (from_server, to_server) = server.split();
    tokio::try_join!(
        one_way(from_client, to_server, place),
        one_way(from_server, to_client, place)
    )?;
    Ok(())
}

async fn one_way(from: ReadHalf<'_>, mut to: WriteHalf<'_>, place: &ClientPlace) -> io::Result<()> {
    loop {
        from.readable().await?;
        // An idle connection has no buffer.
        let mut chunk = Vec::with_capacity(CHUNK);
        match from.try_read_buf(&mut chunk) {
            Ok(0) => return to.shutdown().await,
            Ok(_) => {
                place.touch();
                to.write_all(&chunk).await?;
                place.touch();
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
}

/// Lets a connection end by a reset, when its descriptor closes; whoever reads it stops now.
fn break_off(stream: &TcpStream) {
    let _ = set_socket_linger(stream, Some(Duration::ZERO));
    let _ = shutdown(stream, Shutdown::Read);
}

#[cfg(test)]
mod tests;
