//! Draws a chart: frame, grid, legend, then the series from back to front.

use super::scale::Placed;
use super::{Chart, Mark, Point, Scale, Series};
use crate::number::number;
use crate::svg::{Anchor, Stroke, Svg};

const WIDTH: f64 = 760.0;
const PLOT_HEIGHT: f64 = 340.0;
const LEFT: f64 = 78.0;
const RIGHT: f64 = 24.0;
const BOTTOM: f64 = 58.0;
const LEGEND_ROW: f64 = 20.0;

const INK: &str = "#1f2933";
const QUIET: &str = "#5f6c7b";
const GRID: &str = "#e6eaef";
const TITLE: &str = r##"font-size="16" font-weight="600" fill="#1f2933""##;
const SUBTITLE: &str = r##"font-size="12.5" fill="#5f6c7b""##;
const LABEL: &str = r##"font-size="13" fill="#1f2933""##;
const CAPTION: &str = r##"font-size="10.5" fill="#5f6c7b""##;
const TICK: &str = r##"font-size="12" fill="#5f6c7b""##;

/// The colours of Okabe and Ito, which colour-blind people can tell apart, without the yellow,
/// which is too pale for lines.
const COLORS: [&str; 7] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#1f2933"];
/// The number of shapes of markers. It has no factor in common with that of the colours, so that 35
/// series differ.
const SHAPES: usize = 5;
/// The radius of a marker, and that of a dot.
const MARKER: f64 = 4.2;
const DOT: f64 = 1.6;
/// Points closer than this coincide.
const NEAR: f64 = 3.0;
/// The width by which what lies behind others shows on each side of them.
const RIM: f64 = 1.5;
/// The number of series before a line from which it grows no broader: its markers do.
const BROADEST: usize = 4;
/// The number of points from which a series is a picture rather than a list of values.
const MANY: usize = 200;

/// Draws `chart` as an SVG document.
pub(super) fn draw(chart: &Chart) -> String {
    let colored = with_looks(&chart.series);
    let legend = legend_places(&colored);
    let rows = legend.last().map_or(0.0, |entry| entry.row + 1.0);
    let subtitle = if chart.subtitle.is_empty() { 0.0 } else { 20.0 };
    let top = 42.0 + subtitle + rows * LEGEND_ROW + 12.0;
    let mut svg = Svg::new(WIDTH, top + PLOT_HEIGHT + BOTTOM, &chart.title);

    svg.text((LEFT, 28.0), Anchor::Start, TITLE, &chart.title);
    if !chart.subtitle.is_empty() {
        svg.text((LEFT, 48.0), Anchor::Start, SUBTITLE, &chart.subtitle);
    }
    draw_legend(&mut svg, &legend, 46.0 + subtitle);

    let plot = Plot::new(chart, top);
    plot.draw_grid(&mut svg, chart);
    // The name depends on what is drawn, so that charts on one page keep apart.
    let clip = format!("plot-{:08x}", fingerprint(chart));
    let corner = (LEFT - 6.0, top - 6.0);
    svg.clip(&clip, corner, (WIDTH - LEFT - RIGHT + 12.0, PLOT_HEIGHT + 6.0));
    let groups = chart.series.iter().filter(|series| series.mark == Mark::Bars).count();
    let mut group = 0;
    for (place, &(series, look)) in colored.iter().enumerate() {
        match series.mark {
            Mark::Bars => {
                plot.draw_bars(&mut svg, series, look.color, (group, groups));
                group += 1;
            }
            Mark::Picture => plot.draw_picture(&mut svg, series),
            _ => plot.draw_series(&mut svg, series, look, &chart.series[place + 1..]),
        }
    }
    svg.end();
    plot.draw_rules(&mut svg, chart);
    svg.finish()
}

/// The part of the drawing that holds the data.
struct Plot<'a> {
    chart: &'a Chart,
    x: Placed<'a>,
    y: Placed<'a>,
    top: f64,
}

impl<'a> Plot<'a> {
    fn new(chart: &'a Chart, top: f64) -> Self {
        let points = || chart.series.iter().flat_map(|series| &series.points);
        let bars = chart.series.iter().any(|series| series.mark == Mark::Bars);
        let spread = |p: &Point| p.spread.map_or([p.y, p.y], |(low, high)| [low, high]);
        let heights = points()
            .flat_map(move |p| [p.y].into_iter().chain(spread(p)))
            .chain(chart.rules.iter().map(|(value, _)| *value));
        Self {
            chart,
            x: Placed::new(&chart.x, points().map(|p| p.x), (LEFT, WIDTH - RIGHT), chart.x.zero),
            y: Placed::new(&chart.y, heights, (top + PLOT_HEIGHT, top), bars || chart.y.zero),
            top,
        }
    }

    fn place(&self, point: &Point) -> Option<(f64, f64)> {
        Some((self.x.at(point.x)?, self.y.at(point.y)?))
    }

    fn draw_grid(&self, svg: &mut Svg, chart: &Chart) {
        let bottom = self.top + PLOT_HEIGHT;
        let right = WIDTH - RIGHT;
        for (value, text) in self.y.ticks() {
            let Some(y) = self.y.at(value) else { continue };
            svg.line((LEFT, y), (right, y), Stroke::solid(GRID, 1.0));
            svg.text((LEFT - 8.0, y + 4.0), Anchor::End, TICK, &text);
        }
        for (value, text) in self.x.ticks() {
            let Some(x) = self.x.at(value) else { continue };
            if !self.x.is_named() {
                svg.line((x, self.top), (x, bottom), Stroke::solid(GRID, 1.0));
                svg.line((x, bottom), (x, bottom + 4.0), Stroke::solid(QUIET, 1.0));
            }
            svg.text((x, bottom + 19.0), Anchor::Middle, TICK, &text);
        }
        svg.line((LEFT, bottom), (right, bottom), Stroke::solid(QUIET, 1.2));
        let middle = (LEFT + right) / 2.0;
        svg.text((middle, bottom + 44.0), Anchor::Middle, LABEL, &chart.x.label);
        svg.upright((22.0, self.top + PLOT_HEIGHT / 2.0), LABEL, &chart.y.label);
    }

    /// Draws lines and markers. What lies behind `others`, which are drawn later, is broader than
    /// they are, so that it can be seen on both sides of them.
    fn draw_series(&self, svg: &mut Svg, series: &Series, look: Look, others: &[Series]) {
        let behind: Vec<usize> =
            series.points.iter().map(|point| self.series_over(point, others)).collect();
        if matches!(series.mark, Mark::Line | Mark::Dashed | Mark::LinePoints) {
            svg.titled(&series.name);
            self.draw_hidden(svg, series, look.color, &behind);
            self.draw_line(svg, series, look.color);
            svg.end();
        }
        if !matches!(series.mark, Mark::LinePoints | Mark::Points | Mark::Dots) {
            return;
        }
        for (point, behind) in series.points.iter().zip(behind) {
            let Some(at) = self.place(point) else { continue };
            if series.mark == Mark::Dots {
                draw_marker(svg, at.0, at.1, DOT, look);
                continue;
            }
            svg.titled(&self.value(series, point));
            self.draw_spread(svg, point, at.0, look.color);
            draw_marker(svg, at.0, at.1, MARKER + RIM * behind as f64, look);
            svg.end();
        }
    }

    /// Broadens the parts of a line both ends of which are behind others.
    fn draw_hidden(&self, svg: &mut Svg, series: &Series, color: &str, behind: &[usize]) {
        for (ends, behind) in series.points.windows(2).zip(behind.windows(2)) {
            let behind = behind[0].min(behind[1]).min(BROADEST);
            let places = [self.place(&ends[0]), self.place(&ends[1])];
            let ([Some(from), Some(to)], 1..) = (places, behind) else { continue };
            svg.line(from, to, Stroke::solid(color, 2.0 + 2.0 * RIM * behind as f64));
        }
    }

    /// Counts the series among `others` that have a point where this one is.
    fn series_over(&self, point: &Point, others: &[Series]) -> usize {
        let Some((x, y)) = self.place(point) else { return 0 };
        let is_there = |other: &Point| {
            self.place(other).is_some_and(|at| (at.0 - x).abs().max((at.1 - y).abs()) < NEAR)
        };
        let few = others.iter().filter(|other| {
            other.points.len() < MANY && !matches!(other.mark, Mark::Bars | Mark::Picture)
        });
        few.filter(|other| other.points.iter().any(is_there)).count()
    }

    /// Says the value of a point.
    fn value(&self, series: &Series, point: &Point) -> String {
        let x = match &self.chart.x.scale {
            Scale::Names(names) => names.get(point.x as usize).cloned().unwrap_or_default(),
            _ => format!("{} {}", self.chart.x.label, number(point.x)),
        };
        let spread = |(low, high)| format!(" ({} to {})", number(low), number(high));
        let bounded = point.spread.filter(|(low, high)| low.is_finite() && high.is_finite());
        let spread = bounded.map(spread).unwrap_or_default();
        let y = &self.chart.y.label;
        format!("{}: {x}, {y} {}{spread}", series.name, number(point.y))
    }

    /// A picture between the first point and the last, its name below it.
    fn draw_picture(&self, svg: &mut Svg, series: &Series) {
        let corners = [series.points.first(), series.points.last()];
        let [Some((left, bottom)), Some((right, top))] =
            corners.map(|point| point.and_then(|point| self.place(point)))
        else {
            return;
        };
        let size = (right - left, bottom - top);
        match series.picture.as_deref() {
            Some([]) | None => svg.rect((left, top), size, GRID),
            Some(jpeg) => svg.jpeg((left, top), size, jpeg),
        }
        svg.text(((left + right) / 2.0, bottom + 11.0), Anchor::Middle, CAPTION, &series.name);
    }

    fn draw_line(&self, svg: &mut Svg, series: &Series, color: &str) {
        let dash = if series.mark == Mark::Dashed { "6 4" } else { "" };
        let stroke = Stroke { color, width: 2.0, dash };
        // A point that cannot be shown interrupts the line.
        for part in series.points.split(|point| self.place(point).is_none()) {
            let places: Vec<_> = part.iter().filter_map(|point| self.place(point)).collect();
            if places.len() > 1 {
                svg.polyline(&places, stroke);
            }
        }
    }

    fn draw_bars(&self, svg: &mut Svg, series: &Series, color: &str, group: (usize, usize)) {
        let index = group.0 as f64;
        let count = group.1.max(1) as f64;
        let room = if self.x.is_named() { self.x.step() * 0.72 } else { 18.0 * count };
        let width = (room / count).min(64.0);
        for point in &series.points {
            let Some((x, y)) = self.place(point) else { continue };
            let left = x + (index - count / 2.0) * width;
            let foot = self.y.foot();
            svg.titled(&self.value(series, point));
            svg.rect((left + 1.0, y.min(foot)), (width - 2.0, (foot - y).abs()), color);
            self.draw_spread(svg, point, left + width / 2.0, INK);
            svg.end();
        }
    }

    /// The error bar: from the lowest to the highest observation.
    fn draw_spread(&self, svg: &mut Svg, point: &Point, x: f64, color: &str) {
        let Some((low, high)) = point.spread else { return };
        let (Some(low), Some(high)) = (self.y.at(low), self.y.at(high)) else { return };
        let stroke = Stroke::solid(color, 1.4);
        svg.line((x, low), (x, high), stroke);
        for y in [low, high] {
            svg.line((x - 4.5, y), (x + 4.5, y), stroke);
        }
    }

    fn draw_rules(&self, svg: &mut Svg, chart: &Chart) {
        for (value, name) in &chart.rules {
            let Some(y) = self.y.at(*value) else { continue };
            let stroke = Stroke { color: QUIET, width: 1.2, dash: "2 3" };
            svg.line((LEFT, y), (WIDTH - RIGHT, y), stroke);
            svg.text((WIDTH - RIGHT - 4.0, y - 5.0), Anchor::End, TICK, name);
        }
    }
}

/// Draws a marker of this radius; a dot is always round.
fn draw_marker(svg: &mut Svg, x: f64, y: f64, r: f64, look: Look) {
    // Corners are further out than the edge of a circle, so that all shapes look alike in size.
    let s = 0.88 * r;
    let d = 1.25 * r;
    let data = match look.shape {
        _ if r <= DOT => circle(x, y, r),
        1 => format!("M{:.2} {:.2}h{w:.2}v{w:.2}h-{w:.2}z", x - s, y - s, w = 2.0 * s),
        2 => format!("M{x:.2} {:.2}l{d:.2} {d:.2}l-{d:.2} {d:.2}l-{d:.2} -{d:.2}z", y - d),
        3 => format!("M{x:.2} {:.2}l{d:.2} {h:.2}h-{w:.2}z", y - d, h = 1.8 * d, w = 2.0 * d),
        4 => format!("M{x:.2} {:.2}l{d:.2} -{h:.2}h-{w:.2}z", y + d, h = 1.8 * d, w = 2.0 * d),
        _ => circle(x, y, r),
    };
    let halo = if r <= DOT { 0.0 } else { 1.2 };
    svg.path(&data, look.color, Stroke::solid("#ffffff", halo));
}

/// The data of a path around a circle.
fn circle(x: f64, y: f64, r: f64) -> String {
    let left = x - r;
    let d = 2.0 * r;
    format!("M{left:.2} {y:.2}a{r:.2} {r:.2} 0 1 0 {d:.2} 0a{r:.2} {r:.2} 0 1 0 -{d:.2} 0z")
}

/// The look of a series: its colour, and the shape of its markers.
#[derive(Clone, Copy)]
struct Look {
    color: &'static str,
    shape: usize,
}

impl Look {
    const fn at(place: usize) -> Self {
        Self { color: COLORS[place % COLORS.len()], shape: place % SHAPES }
    }
}

/// Each series with its look.
fn with_looks(series: &[Series]) -> Vec<(&Series, Look)> {
    let mut free = 0..;
    let look = |series: &Series| match (series.color, series.mark) {
        (Some(place), _) => Look::at(place),
        (None, Mark::Dashed) => Look { color: QUIET, shape: 0 },
        (None, _) => Look::at(free.next().unwrap_or_default()),
    };
    series.iter().zip(series.iter().map(look)).collect()
}

/// An entry of the legend: its series, its look, its left edge and its row.
struct Entry<'a> {
    series: &'a Series,
    look: Look,
    x: f64,
    row: f64,
}

/// The entries of the legend; a single series needs none, the axis names it.
fn legend_places<'a>(colored: &[(&'a Series, Look)]) -> Vec<Entry<'a>> {
    let named = colored
        .iter()
        .filter(|(series, _)| !series.name.is_empty() && series.mark != Mark::Picture);
    let mut x = LEFT;
    let mut row = 0.0;
    let mut entries = Vec::new();
    for &(series, look) in named {
        let width = 34.0 + text_width(&series.name) + 16.0;
        if x > LEFT && x + width > WIDTH - RIGHT {
            x = LEFT;
            row += 1.0;
        }
        entries.push(Entry { series, look, x, row });
        x += width;
    }
    if entries.len() < 2 { Vec::new() } else { entries }
}

fn draw_legend(svg: &mut Svg, entries: &[Entry<'_>], top: f64) {
    for &Entry { series, look, x, row } in entries {
        let y = top + row * LEGEND_ROW + 8.0;
        match series.mark {
            Mark::Picture => {}
            Mark::Bars => svg.rect((x + 6.0, y - 6.0), (16.0, 12.0), look.color),
            Mark::Points | Mark::Dots => draw_marker(svg, x + 14.0, y, MARKER, look),
            Mark::Line | Mark::Dashed | Mark::LinePoints => {
                let dash = if series.mark == Mark::Dashed { "6 4" } else { "" };
                svg.line((x, y), (x + 26.0, y), Stroke { color: look.color, width: 2.0, dash });
                if series.mark == Mark::LinePoints {
                    draw_marker(svg, x + 13.0, y, MARKER, look);
                }
            }
        }
        svg.text((x + 34.0, y + 4.0), Anchor::Start, TICK, &series.name);
    }
}

/// About how wide a text of the size of a tick is, in pixels.
fn text_width(text: &str) -> f64 {
    text.chars()
        .map(|c| if c.is_ascii_uppercase() || c == 'm' || c == 'w' { 8.6 } else { 6.6 })
        .sum()
}

/// A number that differs between charts that differ (FNV-1a over the title and the names).
fn fingerprint(chart: &Chart) -> u32 {
    let names = chart.series.iter().map(|series| series.name.as_str());
    let scale = if chart.y.scale == Scale::Log { "log" } else { "linear" };
    [chart.title.as_str(), chart.subtitle.as_str(), scale]
        .into_iter()
        .chain(names)
        .flat_map(str::bytes)
        .fold(0x811c_9dc5, |hash: u32, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}
