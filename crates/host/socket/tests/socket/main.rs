//! Tests of sockets that need a process or a network of their own.

mod adversary;
mod memory;
mod namespace;
mod nat;
mod path;
mod scope;
mod translator;
mod waking;
