//! SAP and UDP-Lite sockets for Python, a thin layer over `windfall_socket`; and scenarios in
//! simulated time, one by one and in sweeps, for the package `windfall`.
//!
//! Calls that may wait release the interpreter's lock. Bytes are not copied: `send` keeps the
//! `bytes` object, and `memoryview(message)` shows the received data. The module `windfall_sap.aio`
//! is for asyncio; it uses `fileno`, `room` and the calls that do not wait.

#![expect(clippy::needless_pass_by_value, reason = "Python hands over values")]
#![expect(unsafe_code, reason = "Python's protocol of buffers hands over pointers")]

mod address;
mod check;
mod connection;
mod failure;
mod listener;
mod message;
mod protected;
mod simulation;
mod sweep;
mod udplite;

use pyo3::prelude::*;
use windfall_socket::{UDPLITE_RECV_CSCOV, UDPLITE_SEND_CSCOV};

/// The part of the package `windfall_sap` that is written in Rust.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<message::PyMessage>()?;
    module.add_class::<connection::PySocket>()?;
    module.add_class::<listener::PyListener>()?;
    module.add_class::<udplite::PyUdpLiteSocket>()?;
    module.add_class::<protected::PyRestorer>()?;
    module.add_function(wrap_pyfunction!(protected::protect, module)?)?;
    module.add_function(wrap_pyfunction!(listener::connect, module)?)?;
    module.add_function(wrap_pyfunction!(listener::listen, module)?)?;
    module.add_function(wrap_pyfunction!(listener::limit_memory, module)?)?;
    module.add_function(wrap_pyfunction!(simulation::scenario_of_json, module)?)?;
    module.add_function(wrap_pyfunction!(simulation::simulate, module)?)?;
    module.add_function(wrap_pyfunction!(sweep::measures, module)?)?;
    module.add_class::<sweep::PySweep>()?;
    module.add("IPPROTO_UDPLITE", udplite::PROTOCOL)?;
    module.add("UDPLITE_SEND_CSCOV", UDPLITE_SEND_CSCOV)?;
    module.add("UDPLITE_RECV_CSCOV", UDPLITE_RECV_CSCOV)
}
