//! Values to tables, CSV and SVG.
//!
//! - [`Table`]: aligned text for people, CSV for machines, HTML for a page.
//! - [`Estimate`]: a value of several runs with its confidence interval.
//! - [`Chart`]: lines, points and bars with axes, error bars and a legend, drawn as SVG.
//! - [`ContactSheet`]: pictures of several clips side by side.
//! - [`number()`]: four significant digits.
//! - [`statistics`]: the measures of the papers as named functions.
//!
//! Everything is a pure function of its input: the same values give the same bytes.

pub mod chart;
mod contact_sheet;
mod estimate;
mod number;
pub mod provenance;
pub mod statistics;
mod svg;
pub mod table;
mod trace_chart;

pub use chart::{Axis, Chart, Mark, Point, Scale, Series};
pub use contact_sheet::ContactSheet;
pub use estimate::Estimate;
pub use number::number;
pub use provenance::Provenance;
pub use svg::escape;
pub use table::Table;
pub use trace_chart::trace_chart;
