//! Bytes of one connection carried to another, both ways.

use std::io;
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The most connections at the same time; further ones are closed at once.
const CONNECTIONS: usize = 512;

/// The connections that a helper carries.
#[derive(Debug, Default)]
pub(crate) struct Connections(Arc<AtomicUsize>);

impl Connections {
    /// Carries a connection to the one that `connect` makes, by threads of its own. One that cannot
    /// be made closes the first.
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
            if let Ok(server) = connect() {
                let _ = both_ways(&client, &server);
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
        Err(_) => _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both)),
    }
}
