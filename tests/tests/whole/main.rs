//! Whole simulations, in one test binary: `cargo test -p windfall-tests --test whole`.

mod assist;
mod asynchronous;
mod cell;
mod coding;
mod corpus;
mod documents;
mod gsm;
mod layers;
mod lifetime;
mod managed_queue;
mod marking;
mod outside;
mod path_mtu;
mod paths;
mod pictures;
mod sap;
mod shares;
mod simulated;
mod simulation;
mod twin;
mod vectors;
mod wifi;
mod window;
