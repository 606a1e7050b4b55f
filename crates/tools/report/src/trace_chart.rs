//! The chart of an error trace: its course, or, where only bits are known, their gaps.

use windfall_files::traces::ErrorTrace;
use windfall_trace::Statistics;
use windfall_trace::statistics::Histogram;

use crate::{Axis, Chart, Mark, Point, Series};

/// Returns the chart of a trace with these statistics.
#[must_use]
pub fn trace_chart(trace: &ErrorTrace, statistics: &Statistics) -> Chart {
    let subtitle = trace.header().workload.clone();
    match &statistics.frames {
        Some(frames) => {
            let course = |name: &str, shares: &[f64]| {
                // Each share stands in the middle of its part of the trace.
                let width = frames.count as f64 / shares.len() as f64;
                let place = |(i, &share): (usize, &f64)| {
                    Point::new((i as f64 + 0.5) * width, share * 100.0)
                };
                Series::new(name, Mark::Line, shares.iter().enumerate().map(place).collect())
            };
            Chart {
                title: format!("{} frames", frames.count),
                subtitle,
                x: Axis::linear("frame"),
                y: Axis::linear("share of frames (%)").with_range(0.0, 100.0),
                series: vec![
                    course("lost", &frames.loss_course),
                    course("damaged", &frames.damage_course),
                ],
                rules: Vec::new(),
            }
        }
        None => Chart {
            title: format!("{} bits", trace.len()),
            subtitle,
            x: Axis::log("length (bits)"),
            y: Axis::log("how often"),
            series: vec![
                series("right bits between inverted ones", &statistics.bits.gaps),
                series("inverted bits in a row", &statistics.bits.bursts),
            ],
            rules: Vec::new(),
        },
    }
}

fn series(name: &str, histogram: &Histogram) -> Series {
    let classes = histogram.classes.iter().filter(|class| class.from > 0);
    let points = classes.map(|class| Point::new(class.from as f64, class.count as f64)).collect();
    Series::new(name, Mark::LinePoints, points)
}
