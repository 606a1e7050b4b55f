//! Runs to tables, CSV, SVG and one self-contained page.
//!
//! - [`Table`]: aligned text for people, CSV for machines, HTML for the page.
//! - [`Chart`]: lines, points and bars with axes, error bars and a legend, drawn as SVG.
//! - [`statistics`]: the measures of the papers as named functions.
//! - [`figure::Figure`]: an experiment, and what it is given.
//! - [`Finding`]: *paper says / we measured / verdict* of one figure; [`page`] binds them together.
//!
//! Everything is a pure function of its input: the same findings give the same bytes.

pub mod chart;
pub mod error;
pub mod figure;
pub mod finding;
pub mod page;
pub mod provenance;
pub mod statistics;
mod svg;
pub mod table;

pub use chart::{Axis, Chart, Mark, Point, Scale, Series};
pub use finding::{Claim, Finding, Verdict};
pub use provenance::Provenance;
pub use table::Table;
