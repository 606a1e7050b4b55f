//! Charts: what to draw, as data; [`Chart::to_svg`] draws it.

mod draw;
mod scale;

/// The mapping of the values of an axis to positions.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Scale {
    /// In proportion to the value.
    #[default]
    Linear,
    /// In proportion to the logarithm; values of zero and below are left out.
    Log,
    /// Named places: value *i* stands at the *i*-th name.
    Names(Vec<String>),
}

/// One axis of a chart.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Axis {
    /// The measured quantity with its unit: `"throughput (KB/s)"`.
    pub label: String,
    /// The mapping of values to positions.
    pub scale: Scale,
    /// First and last value; chosen from the data if `None`.
    pub range: Option<(f64, f64)>,
    /// A linear axis begins at zero, however far from it the data are.
    pub zero: bool,
}

impl Axis {
    /// A linear axis whose range follows from the data.
    pub fn linear(label: impl Into<String>) -> Self {
        Self { label: label.into(), ..Self::default() }
    }

    /// A logarithmic axis whose range follows from the data.
    pub fn log(label: impl Into<String>) -> Self {
        Self { label: label.into(), scale: Scale::Log, ..Self::default() }
    }

    /// An axis of names.
    pub fn names(label: impl Into<String>, names: Vec<String>) -> Self {
        Self { label: label.into(), scale: Scale::Names(names), ..Self::default() }
    }

    /// The axis beginning at zero.
    #[must_use]
    pub fn from_zero(mut self) -> Self {
        self.zero = true;
        self
    }

    /// The axis with a fixed range.
    #[must_use]
    pub fn with_range(mut self, first: f64, last: f64) -> Self {
        self.range = Some((first, last));
        self
    }
}

/// One measured value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Position along the first axis.
    pub x: f64,
    /// The value; of several observations their mean.
    pub y: f64,
    /// Lowest and highest observation, drawn as an error bar.
    pub spread: Option<(f64, f64)>,
}

impl Point {
    /// A single value.
    #[must_use]
    pub const fn new(x: f64, y: f64) -> Self {
        Self { x, y, spread: None }
    }

    //= S3.5
    /// The mean of several observations with their range (S3.5); `None` if there are none.
    #[must_use]
    pub fn of(x: f64, observations: &[f64]) -> Option<Self> {
        let y = crate::statistics::mean(observations)?;
        let spread = crate::statistics::range(observations);
        Some(Self { x, y, spread })
    }
}

/// The style in which the points of a series are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// A line from point to point.
    Line,
    /// A broken line: theory, bounds, what others say.
    Dashed,
    /// A marker at each point, joined by a line.
    LinePoints,
    /// A marker at each point.
    Points,
    /// A small dot at each point, for thousands of points.
    Dots,
    /// A bar from the foot of the chart.
    Bars,
    /// A picture between the first point and the last.
    Picture,
}

/// Values that belong together, with one entry in the legend.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Its name in the legend; without one it is not listed there.
    pub name: String,
    /// The style in which it is drawn.
    pub mark: Mark,
    /// Its place in the palette; the next free one if `None`, grey for broken lines.
    pub color: Option<usize>,
    /// Its values, in the order of the line.
    pub points: Vec<Point>,
    /// The JPEG that is drawn, of pictures.
    pub picture: Option<Vec<u8>>,
}

impl Series {
    /// A series of points.
    pub fn new(name: impl Into<String>, mark: Mark, points: Vec<Point>) -> Self {
        Self { name: name.into(), mark, color: None, points, picture: None }
    }

    /// A JPEG around `centre`, so far to each side, with a caption below; an empty one is grey.
    pub fn picture(
        caption: impl Into<String>,
        centre: (f64, f64),
        sides: (f64, f64),
        jpeg: Vec<u8>,
    ) -> Self {
        let ((x, y), (w, h)) = (centre, sides);
        let corners = vec![Point::new(x - w, y - h), Point::new(x + w, y + h)];
        Self { picture: Some(jpeg), ..Self::new(caption, Mark::Picture, corners) }
    }

    /// The series in the colour at this place of the palette, to match another.
    #[must_use]
    pub fn with_color(mut self, place: usize) -> Self {
        self.color = Some(place);
        self
    }

    /// A curve `y = f(x)` through `steps` + 1 places between `first` and `last`.
    pub fn curve(
        name: impl Into<String>,
        mark: Mark,
        (first, last): (f64, f64),
        steps: u32,
        f: impl Fn(f64) -> f64,
    ) -> Self {
        let steps = steps.max(1);
        let place = |i: u32| first + (last - first) * f64::from(i) / f64::from(steps);
        let points = (0..=steps).map(place).map(|x| Point::new(x, f(x))).collect();
        Self::new(name, mark, points)
    }
}

/// A chart of one or more series over two axes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chart {
    /// The title of the chart.
    pub title: String,
    /// Under which conditions; may be empty.
    pub subtitle: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The series, the first below the others.
    pub series: Vec<Series>,
    /// Horizontal lines with a name, such as a threshold.
    pub rules: Vec<(f64, String)>,
}

impl Chart {
    /// Draws the chart.
    ///
    /// The bytes depend on the chart alone. Values that are not finite are left out.
    #[must_use]
    pub fn to_svg(&self) -> String {
        draw::draw(self)
    }
}

#[cfg(test)]
mod tests;
