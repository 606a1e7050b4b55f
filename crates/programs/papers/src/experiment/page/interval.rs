//! A small drawing of each estimate: its interval, and the band in which it should lie.

use core::fmt::Write as _;

use windfall_report::{Estimate, escape, number};

use crate::experiment::comparison::{ClaimComparison, Placement};

/// Size of a drawing, and the distance of what is drawn from its sides.
const WIDTH: f64 = 220.0;
const HEIGHT: f64 = 18.0;
const MARGIN: f64 = 8.0;

/// The values at the left and the right end of the drawings of one claim.
#[derive(Clone, Copy)]
pub(super) struct Span(f64, f64);

impl Span {
    /// The span of all estimates and of the ends of their bands, as far as they are bounded.
    pub(super) fn of(comparisons: &[ClaimComparison]) -> Self {
        let values = comparisons.iter().flat_map(|it| {
            [it.estimate.value, it.estimate.low, it.estimate.high, it.band.low, it.band.high]
        });
        let values = values.filter(|value| value.is_finite());
        let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(value), high.max(value))
        });
        let room = (0.15 * (high - low)).max(1e-12);
        Self(low - room, high + room)
    }

    /// The position of a value; one that is not bounded stands at the side.
    fn x(self, value: f64) -> f64 {
        let share = ((value - self.0) / (self.1 - self.0)).clamp(0.0, 1.0);
        MARGIN + share * (WIDTH - 2.0 * MARGIN)
    }
}

/// Draws one comparison as SVG, with what it says as text for readers that do not see it.
pub(super) fn draw(span: Span, comparison: &ClaimComparison) -> String {
    let estimate = comparison.estimate;
    // An end that is no number is as open as one without a bound.
    let [low, high] = [(estimate.low, f64::NEG_INFINITY), (estimate.high, f64::INFINITY)]
        .map(|(end, open)| span.x(if end.is_nan() { open } else { end }));
    let [from, to] = [comparison.band.low, comparison.band.high].map(|value| span.x(value));
    let class = match comparison.placement() {
        Placement::Inside => "inside",
        Placement::Outside => "outside",
        Placement::Across => "across",
    };
    let middle = HEIGHT / 2.0;
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write!(
        out,
        "<svg class=\"interval {class}\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\">\
         <title>{}</title><rect class=\"band\" x=\"{from:.1}\" y=\"1\" width=\"{:.1}\" \
         height=\"{:.1}\"/><line x1=\"{low:.1}\" x2=\"{high:.1}\" y1=\"{middle}\" \
         y2=\"{middle}\"/>",
        escape(&comparison.to_string()),
        to - from,
        HEIGHT - 2.0,
    );
    if estimate.value.is_finite() {
        let x = span.x(estimate.value);
        let _ = write!(out, "<circle cx=\"{x:.1}\" cy=\"{middle}\" r=\"4\"/>");
    }
    out.push_str("</svg>");
    out
}

/// The ends of an interval, if it has any.
fn ends(comparison: &ClaimComparison) -> String {
    let Estimate { low, high, .. } = comparison.estimate;
    let is_open = low == f64::NEG_INFINITY && high == f64::INFINITY;
    if is_open || low.is_nan() || high.is_nan() {
        return "none".to_owned();
    }
    format!("{} to {}", number(low), number(high))
}

/// A table of a claim's comparisons: what, estimate, interval, band, drawing.
pub(super) fn table(comparisons: &[ClaimComparison]) -> String {
    let span = Span::of(comparisons);
    let mut out = String::from(
        "<table class=\"comparisons\"><thead><tr><th></th><th>Estimate</th>\
         <th>95 % interval</th><th>Runs</th><th>Due</th><th></th></tr></thead>\n<tbody>\n",
    );
    for comparison in comparisons {
        let estimate = comparison.estimate;
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td title=\"{}\">{}</td>\
             <td>{}</td></tr>",
            escape(&comparison.of),
            comparison.value_in_words(),
            ends(comparison),
            estimate.runs,
            escape(&comparison.band.reason),
            escape(&comparison.band.to_string()),
            draw(span, comparison),
        );
    }
    out.push_str("</tbody></table>\n");
    out
}
