//! Runs a network in real time under real programs, in network namespaces.
