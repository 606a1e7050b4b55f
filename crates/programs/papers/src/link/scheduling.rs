//! Effort-limited fair scheduling: sections 6 to 8 of the paper, Tables 2 and 3, Figures 11 and 12.

pub(crate) mod cell;
pub(crate) mod cell_live;
pub(crate) mod fig11;
pub(crate) mod fig12;
pub(crate) mod formulas;
mod mix;
pub(crate) mod shares;
mod slots;
