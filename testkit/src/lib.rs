//! Laws, pairs and goldens: what only tests use.
//!
//! - [`laws::check`] holds every [`Node`](windfall_base::Node) to the contract.
//! - [`laws::memory::Memory`] holds what keeps messages to what has arrived of them.
//! - [`pair::Pair`] joins two nodes by a wire, perfect or lossy.
//! - [`timeline`] compares what happened with a text file that a person has read.
//! - [`script`] plays packets against a transport and compares what leaves with a file.
//! - [`seed::each`] repeats a test for many seeds and names the one that failed.
//! - [`skip!`] says that a test cannot run here, and is counted.
//! - [`covering::pairwise`] chooses few combinations of options in which every pair occurs.
//! - [`folder::Folder`] holds the files of one test, [`built`] finds the programs of the build.
//! - [`wifi`] is a miniature 802.11 station, proof that the contract carries a radio.

pub mod arbitrary;
pub mod built;
pub mod covering;
pub mod folder;
pub mod laws;
pub mod pair;
pub mod script;
pub mod seed;
pub mod skip;
pub mod timeline;
pub mod wifi;
