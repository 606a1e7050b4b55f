//! Adaptive coding of frames: section 5 of the paper, Table 1, Figures 8 and 9.

mod arrangements;
mod baseline;
mod budget;
pub(crate) mod coded;
pub(crate) mod fig8;
pub(crate) mod fig9;
mod paired;
pub(crate) mod table1;
