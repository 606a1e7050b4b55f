//! The list of figures.

use crate::figure::Figure;
use crate::{paper_002, paper_003, paper_004};

/// The figures of papers 002 to 004, in their order.
pub const FIGURES: &[Figure] = &[
    paper_002::stretch::FIGURE,
    paper_002::lookup::FIGURE,
    paper_002::trailer::FIGURE,
    paper_003::fig1::FIGURE,
    paper_003::fig2::FIGURE,
    paper_003::fig3::FIGURE,
    paper_003::fig4::FIGURE,
    paper_003::fig5::FIGURE,
    paper_003::fig6::FIGURE,
    paper_003::fig7::FIGURE,
    paper_003::steps::FIGURE,
    paper_003::table1::FIGURE,
    paper_003::fig8::FIGURE,
    paper_003::fig9::FIGURE,
    paper_003::shares::TABLE2,
    paper_003::shares::TABLE3,
    paper_003::shares::READINGS,
    paper_003::formulas::CROSSOVERS,
    paper_003::formulas::FORMULAS,
    paper_003::fig11::FIGURE,
    paper_003::fig12::FIGURE,
    paper_003::cell_live::FIGURE,
    paper_003::cell::SIMULATED,
    paper_003::residual::FIGURE,
    paper_003::hops::FIGURE,
    paper_003::shares::UTILITY,
    paper_004::benefits::FIGURE,
];
