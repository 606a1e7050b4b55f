//! Servers, clients and proxies on loopback: `cargo test -p windfall-web --test web`.

mod passing;
mod support;
mod transfers;
mod visitors;
