//! The experiments of paper 003: Eckhardt and Steenkiste, *An Internet-style Approach to Wireless
//! Link Errors*, sections 3 to 8.
//!
//! A figure has a file of its own, below the subject that it is about; [`FIGURES`] lists them.
//! What needs no kernel runs in simulated time.

mod coding;
pub mod demo;
mod figures;
mod losses;
mod retransmission;
mod scheduling;
#[cfg(test)]
mod tests;

pub use figures::FIGURES;
