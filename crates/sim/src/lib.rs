//! Runs a network in simulated time.
