//! Connections to the control socket of a run.

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;

use crate::error::LinkError;

/// The time after which a request that is not answered is withdrawn.
const PATIENCE: Duration = Duration::from_secs(30);

/// A connection, made when the first request is sent.
#[derive(Debug)]
pub(crate) struct Control {
    address: String,
    socket: Mutex<Option<BufReader<UnixStream>>>,
}

impl Control {
    /// A connection to the socket at `address`, of which `@` is the zero byte of an abstract name.
    pub(crate) fn new(address: String) -> Self {
        Self { address, socket: Mutex::new(None) }
    }

    /// Sends a request, and returns the reply; threads take turns.
    pub(crate) fn ask(&self, request: &Value) -> Result<Value, LinkError> {
        let mut socket = self.socket.lock().unwrap_or_else(PoisonError::into_inner);
        let line = self.exchange(&mut socket, &format!("{request}\n")).map_err(|error| {
            // A request whose client is gone is not served.
            *socket = None;
            LinkError::of_system("the run has ended or does not answer", error)
        })?;
        let reply: Value = serde_json::from_str(&line)
            .map_err(|error| LinkError::new(format!("the reply is no JSON: {error}")))?;
        match reply.get("error").and_then(Value::as_str) {
            Some(error) => Err(LinkError::new(error)),
            None => Ok(reply),
        }
    }

    fn exchange(
        &self,
        socket: &mut Option<BufReader<UnixStream>>,
        request: &str,
    ) -> io::Result<String> {
        let socket = match socket {
            Some(socket) => socket,
            empty => empty.insert(BufReader::new(connect(&self.address)?)),
        };
        socket.get_mut().write_all(request.as_bytes())?;
        let mut line = String::new();
        if socket.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(line)
    }
}

fn connect(address: &str) -> io::Result<UnixStream> {
    let socket = match address.strip_prefix('@') {
        Some(name) => UnixStream::connect_addr(&SocketAddr::from_abstract_name(name)?)?,
        None => UnixStream::connect(address)?,
    };
    // An abstract name belongs to whoever takes it.
    let peer = rustix::net::sockopt::socket_peercred(&socket)?.uid;
    if peer != rustix::process::geteuid() && !peer.is_root() {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    socket.set_read_timeout(Some(PATIENCE))?;
    socket.set_write_timeout(Some(PATIENCE))?;
    Ok(socket)
}
