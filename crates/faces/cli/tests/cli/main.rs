//! The program as a user calls it, in one test binary: `cargo test -p windfall-cli --test cli`.

mod documents;
mod exchange;
mod flows;
mod input;
mod json;
mod links;
mod live;
mod memory;
mod outputs;
mod reproduce;
mod settings;
mod sim;
mod support;
mod sweep;
mod trace;
mod usage;
mod web;
