//! The experiments of paper 000: Ransford and Ceze, *SAP: an Architecture for Selectively
//! Approximate Wireless Communication*.
//!
//! All but `S0.sockets` and those with a web server run in simulated time. [`FIGURES`] lists them.

mod bound;
mod bulk;
mod cells;
mod encrypted;
mod ends;
mod fig1;
mod fig2;
mod fig3;
mod fig4;
mod fig7;
mod fig8;
mod frames;
mod interference;
mod map;
mod office;
mod parameters;
mod rates;
mod sealed;
mod sockets;
mod streamer;
mod tracker;
mod upstream;
mod web;

use crate::experiment::Figure;

/// The figures of paper 000 in order.
pub const FIGURES: &[Figure] = &[
    fig1::FIGURE,
    fig2::FIGURE,
    fig3::FIGURE,
    fig4::FIGURE,
    sockets::FIGURE,
    bulk::FIGURE,
    web::table1::FIGURE,
    web::fig5::FIGURE,
    web::fig6::FIGURE,
    web::lower_rate::FIGURE,
    rates::FIGURE,
    map::FIGURE,
    bound::FIGURE,
    fig7::FIGURE,
    fig8::FIGURE,
    upstream::FIGURE,
    parameters::FIGURE,
    interference::FIGURE,
    encrypted::FIGURE,
];

#[cfg(test)]
mod tests;
