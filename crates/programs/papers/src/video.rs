//! The experiments of paper 001: Singh, *Networking Protocols for Wireless Multimedia Streaming*.
//!
//! [`FIGURES`] ends with one beyond the paper, a drone's camera over 802.11.
//!
//! All of them run in simulated time over the layers that users have: RTP, UDP or UDP-Lite, IP,
//! PPP, RLP or the transparent service, and the air of `--environment gsm-*`. [`FIGURES`] lists
//! them. [`comparison`] sends a camera's stream across `windfall run` in real time, by each scheme
//! of error control.

mod buffer;
mod camera;
mod channels;
mod clip;
mod combination;
pub mod comparison;
mod fig13;
mod fig14;
mod fig15;
mod fig16;
mod fig17;
mod modems;
mod modes;
mod runs;
mod simulated;
#[cfg(test)]
mod tests;

use crate::experiment::Figure;

/// The figures of paper 001, in its order.
pub const FIGURES: &[Figure] = &[
    buffer::FIGURE,
    fig13::FIGURE,
    fig14::FIGURE,
    fig15::FIGURE,
    fig16::FIGURE,
    fig17::FIGURE,
    channels::FIGURE,
    modes::FIGURE,
    camera::FIGURE,
];
