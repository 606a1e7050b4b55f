//! What the tests of the whole system share; the tests themselves stand in `tests/`.

pub mod entries;
pub mod run;
pub mod saturation;
