//! Servers, clients and proxies on loopback: `cargo test -p windfall-web --test web`.

mod hostile;
mod http;
mod media;
mod passing;
mod support;
mod transfers;
mod visitors;
