//! Servers, clients and proxies on loopback: `cargo test -p windfall-web --test web`.

mod http;
mod passing;
mod support;
mod transfers;
mod visitors;
