//! Tests of sockets that need a process or a network of their own.

mod memory;
mod namespace;
mod path;
mod scope;
mod translator;
