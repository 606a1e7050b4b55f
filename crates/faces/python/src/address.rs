//! Addresses as Python's tuples: (host, port), over IPv6 with flow label and scope.

use std::net::{Ipv6Addr, SocketAddr, SocketAddrV6, ToSocketAddrs};

use pyo3::exceptions::{PyOSError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};

/// An address that is not resolved yet.
pub(crate) struct Address {
    host: String,
    port: u16,
    /// The flow label and the scope of an IPv6 address.
    flow_and_scope: Option<(u32, u32)>,
}

impl FromPyObject<'_, '_> for Address {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        let tuple = given.cast::<PyTuple>().map_err(|_| wrong_address())?;
        if !matches!(tuple.len(), 2 | 4) || !tuple.get_item(0)?.is_instance_of::<PyString>() {
            return Err(wrong_address());
        }
        let flow_and_scope = match tuple.len() {
            2 => None,
            _ => Some((tuple.get_item(2)?.extract()?, tuple.get_item(3)?.extract()?)),
        };
        let host = tuple.get_item(0)?.extract()?;
        let port = tuple.get_item(1)?.extract()?;
        Ok(Self { host, port, flow_and_scope })
    }
}

/// Returns the error of a value that is no address.
fn wrong_address() -> PyErr {
    PyTypeError::new_err("an address is a tuple (host, port)")
}

impl Address {
    pub(crate) fn loopback() -> Self {
        Self { host: "127.0.0.1".to_owned(), port: 0, flow_and_scope: None }
    }

    pub(crate) fn any() -> Self {
        Self { host: "0.0.0.0".to_owned(), ..Self::loopback() }
    }

    /// Returns all addresses that it stands for, which may take a while.
    pub(crate) fn resolve(&self) -> PyResult<Vec<SocketAddr>> {
        if let Some((flow, scope)) = self.flow_and_scope
            && let Ok(ip) = self.host.parse::<Ipv6Addr>()
        {
            return Ok(vec![SocketAddrV6::new(ip, self.port, flow, scope).into()]);
        }
        // An empty host is every address, as for Python's sockets.
        let host = if self.host.is_empty() { "0.0.0.0" } else { &self.host };
        let found = (host, self.port).to_socket_addrs();
        found.map(Iterator::collect).map_err(|error| {
            PyOSError::new_err(format!("cannot find the address {}: {error}", self.host))
        })
    }

    /// Returns the first address that it stands for.
    pub(crate) fn first(&self) -> PyResult<SocketAddr> {
        self.resolve()?
            .into_iter()
            .next()
            .ok_or_else(|| PyOSError::new_err(format!("{} has no address", self.host)))
    }
}

/// Returns the tuple of an address.
pub(crate) fn tuple(py: Python<'_>, address: SocketAddr) -> PyResult<Bound<'_, PyTuple>> {
    let host = address.ip().to_string();
    match address {
        SocketAddr::V4(v4) => (host, v4.port()).into_pyobject(py),
        SocketAddr::V6(v6) => (host, v6.port(), v6.flowinfo(), v6.scope_id()).into_pyobject(py),
    }
}
