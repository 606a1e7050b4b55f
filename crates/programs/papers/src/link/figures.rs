//! The list of figures.

use crate::experiment::Figure;

use crate::link::coding::{fig8, fig9, table1};
use crate::link::retransmission::{
    fig1, fig2, fig3, fig4, fig5, fig6, fig7, hops, residual, steps,
};
use crate::link::scheduling::{cell, cell_live, fig11, fig12, formulas, shares};

/// The figures of paper 003, in its order.
pub const FIGURES: &[Figure] = &[
    fig1::FIGURE,
    fig2::FIGURE,
    fig3::FIGURE,
    fig4::FIGURE,
    fig5::FIGURE,
    fig6::FIGURE,
    fig7::FIGURE,
    steps::FIGURE,
    table1::FIGURE,
    fig8::FIGURE,
    fig9::FIGURE,
    shares::TABLE2,
    shares::TABLE3,
    shares::READINGS,
    formulas::CROSSOVERS,
    formulas::FORMULAS,
    fig11::FIGURE,
    fig12::FIGURE,
    cell_live::FIGURE,
    cell::SIMULATED,
    residual::FIGURE,
    hops::FIGURE,
    shares::UTILITY,
];
