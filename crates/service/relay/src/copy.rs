//! Bytes of one connection carried to another, both ways.

use std::io;
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rustix::net::sockopt::set_socket_linger;

/// The most connections at the same time; further ones are closed at once.
const CONNECTIONS: usize = 512;

/// The connections that a helper carries.
#[derive(Debug, Default)]
pub(crate) struct Connections(Arc<AtomicUsize>);

impl Connections {
    /// Carries a connection to the one that `connect` makes, by threads of its own. Where that
    /// cannot be made the first is reset.
    pub(crate) fn carry(
        &self,
        client: TcpStream,
        connect: impl FnOnce() -> io::Result<TcpStream> + Send + 'static,
    ) {
        let count = Arc::clone(&self.0);
        if count.fetch_add(1, Ordering::AcqRel) >= CONNECTIONS {
            count.fetch_sub(1, Ordering::AcqRel);
            return;
        }
        let ends = Arc::clone(&count);
        let work = move || {
            match connect() {
                Ok(server) => _ = both_ways(&client, &server),
                Err(_) => break_off(&client),
            }
            ends.fetch_sub(1, Ordering::AcqRel);
        };
        if std::thread::Builder::new().spawn(work).is_err() {
            count.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

/// Carries bytes until both directions have ended; the end of one is passed on by itself.
fn both_ways(client: &TcpStream, server: &TcpStream) -> io::Result<()> {
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let (from_client, to_server) = (client.try_clone()?, server.try_clone()?);
    std::thread::scope(|scope| {
        scope.spawn(move || one_way(from_client, to_server));
        one_way(server.try_clone()?, client.try_clone()?);
        Ok(())
    })
}

fn one_way(mut from: TcpStream, mut to: TcpStream) {
    match io::copy(&mut from, &mut to) {
        Ok(_) => _ = to.shutdown(Shutdown::Write),
        // What broke at one side is to be seen at the other.
        Err(_) => [from, to].iter().for_each(break_off),
    }
}

/// Lets a connection end by a reset, when its last descriptor closes; whoever reads it stops now.
fn break_off(stream: &TcpStream) {
    let _ = set_socket_linger(stream, Some(Duration::ZERO));
    let _ = stream.shutdown(Shutdown::Read);
}

#[cfg(test)]
mod tests {
    use std::io::{ErrorKind, Read as _, Write as _};
    use std::net::TcpListener;

    use super::*;

    /// The two ends of a connection.
    fn connection() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let client = TcpStream::connect(listener.local_addr().expect("an address")).expect("one");
        (client, listener.accept().expect("a client").0)
    }

    /// A client and a server with a helper between, after a byte has gone each way.
    fn carried() -> (TcpStream, TcpStream) {
        let ((mut client, near), (far, mut server)) = (connection(), connection());
        Connections::default().carry(near, || Ok(far));
        client.write_all(b"a").expect("room");
        server.read_exact(&mut [0]).expect("a byte");
        server.write_all(b"b").expect("room");
        client.read_exact(&mut [0]).expect("a byte");
        (client, server)
    }

    #[test]
    fn a_reset_is_passed_on_both_ways() {
        let (client, mut server) = carried();
        break_off(&client);
        drop(client);
        let error = server.read(&mut [0]).expect_err("no orderly end");
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
        let (mut client, server) = carried();
        break_off(&server);
        drop(server);
        let error = client.read(&mut [0]).expect_err("no orderly end");
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    }

    #[test]
    fn an_end_of_one_direction_leaves_the_other_open() {
        let (mut client, mut server) = carried();
        client.shutdown(Shutdown::Write).expect("an end");
        assert_eq!(server.read(&mut [0]).expect("an end"), 0);
        server.write_all(b"after").expect("room");
        drop(server);
        let mut text = String::new();
        client.read_to_string(&mut text).expect("text");
        assert_eq!(text, "after");
    }

    #[test]
    fn a_client_whose_target_refuses_is_reset() {
        let (mut client, near) = connection();
        Connections::default().carry(near, || Err(ErrorKind::ConnectionRefused.into()));
        let error = client.read(&mut [0]).expect_err("no orderly end");
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    }
}
