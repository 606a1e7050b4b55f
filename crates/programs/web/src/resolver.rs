//! Names of hosts, resolved on threads of this crate.

use core::pin::Pin;
use core::task::{Context, Poll};
use std::io;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::vec;

use hyper_util::client::legacy::connect::dns::Name;
use tokio::net::TcpStream;
use tower_service::Service;

use crate::blocking::blocking;

/// Resolves the names of servers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Resolver;

impl Service<Name> for Resolver {
    type Response = vec::IntoIter<SocketAddr>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let name = name.as_str().to_owned();
        Box::pin(async move { Ok(addresses(name, 0).await?.into_iter()) })
    }
}

/// Returns the addresses of a host; none is an error.
pub(crate) async fn addresses(host: String, port: u16) -> io::Result<Vec<SocketAddr>> {
    if let Ok(address) = host.parse() {
        return Ok(vec![SocketAddr::new(address, port)]);
    }
    let look_up = move || -> io::Result<Vec<SocketAddr>> {
        Ok((host.as_str(), port).to_socket_addrs()?.collect())
    };
    let found = blocking(look_up).await??;
    if found.is_empty() { Err(io::ErrorKind::NotFound.into()) } else { Ok(found) }
}

/// Connects to the first address of a host and a port that takes the connection.
pub(crate) async fn connect(host: String) -> io::Result<TcpStream> {
    let found = match host.parse::<SocketAddr>() {
        Ok(address) => vec![address],
        Err(_) => {
            let look_up =
                move || -> io::Result<Vec<SocketAddr>> { Ok(host.to_socket_addrs()?.collect()) };
            blocking(look_up).await??
        }
    };
    let mut error = io::Error::from(io::ErrorKind::NotFound);
    for address in found {
        match TcpStream::connect(address).await {
            Ok(stream) => return Ok(stream),
            Err(refused) => error = refused,
        }
    }
    Err(error)
}
