//! The papers' figures by subject, run with the tools that users have.
//!
//! - [`experiment`]: what an experiment is made of: figure, claim, verdict, page.
//! - [`sap`], [`video`], [`energy`], [`link`], [`corruption`]: the figures of papers 000 to 004.

pub mod corruption;
pub mod energy;
pub mod experiment;
pub mod link;
pub mod sap;
pub mod video;
