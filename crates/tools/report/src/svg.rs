//! A small writer of SVG: elements, numbers with two decimals, escaped text.
//!
//! Written here: `plotters` and `charming` bring fonts and layouts of their own, draw markers of
//! one shape for all series, leave out what lies behind other series, and need a script for values
//! on hover; libraries that write SVG would still leave every element to this module.

use core::fmt::Write as _;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

/// The alignment of a text relative to its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// The style of a line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stroke<'a> {
    pub(crate) color: &'a str,
    pub(crate) width: f64,
    pub(crate) dash: &'a str,
}

impl<'a> Stroke<'a> {
    /// An unbroken line.
    pub(crate) const fn solid(color: &'a str, width: f64) -> Self {
        Self { color, width, dash: "" }
    }
}

impl core::fmt::Display for Stroke<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, r#"stroke="{}" stroke-width="{}""#, self.color, self.width)?;
        if !self.dash.is_empty() {
            write!(f, r#" stroke-dasharray="{}""#, self.dash)?;
        }
        Ok(())
    }
}

/// An SVG document in the making.
pub(crate) struct Svg {
    out: String,
}

impl Svg {
    /// An empty drawing of `width` × `height` pixels with the title that screen readers read.
    pub(crate) fn new(width: f64, height: f64, title: &str) -> Self {
        let out = format!(
            concat!(
                r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {w} {h}" "#,
                r#"width="{w}" height="{h}" role="img" "#,
                r#"font-family="system-ui, 'DejaVu Sans', 'Liberation Sans', sans-serif">"#,
                "\n<title>{t}</title>\n",
                r##"<rect width="{w}" height="{h}" fill="#ffffff"/>"##,
                "\n"
            ),
            w = width,
            h = height,
            t = escape(title),
        );
        Self { out }
    }

    /// A straight line.
    pub(crate) fn line(&mut self, from: (f64, f64), to: (f64, f64), stroke: Stroke<'_>) {
        let ((x1, y1), (x2, y2)) = (from, to);
        self.write(format_args!(
            r#"<line x1="{x1:.2}" y1="{y1:.2}" x2="{x2:.2}" y2="{y2:.2}" {stroke}/>"#
        ));
    }

    /// An open line through points.
    pub(crate) fn polyline(&mut self, points: &[(f64, f64)], stroke: Stroke<'_>) {
        let mut list = String::new();
        for (x, y) in points {
            let _ = write!(list, "{x:.2},{y:.2} ");
        }
        let list = list.trim_end();
        self.write(format_args!(
            r#"<polyline points="{list}" fill="none" stroke-linejoin="round" {stroke}/>"#
        ));
    }

    /// A filled shape, given as the data of a path.
    pub(crate) fn path(&mut self, data: &str, fill: &str, stroke: Stroke<'_>) {
        self.write(format_args!(r#"<path d="{data}" fill="{fill}" {stroke}/>"#));
    }

    /// A filled rectangle.
    pub(crate) fn rect(&mut self, corner: (f64, f64), size: (f64, f64), fill: &str) {
        let ((x, y), (w, h)) = (corner, size);
        self.write(format_args!(
            r#"<rect x="{x:.2}" y="{y:.2}" width="{w:.2}" height="{h:.2}" fill="{fill}"/>"#
        ));
    }

    /// A JPEG that keeps its proportions, inside the drawing.
    pub(crate) fn jpeg(&mut self, corner: (f64, f64), size: (f64, f64), jpeg: &[u8]) {
        let ((x, y), (w, h)) = (corner, size);
        let data = BASE64_STANDARD.encode(jpeg);
        self.write(format_args!(
            concat!(
                r#"<image x="{x:.2}" y="{y:.2}" width="{w:.2}" height="{h:.2}" "#,
                r#"href="data:image/jpeg;base64,{data}"/>"#
            ),
            x = x,
            y = y,
            w = w,
            h = h,
            data = data,
        ));
    }

    /// A line of text.
    pub(crate) fn text(&mut self, at: (f64, f64), anchor: Anchor, style: &str, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let (x, y) = at;
        let text = escape(text);
        self.write(format_args!(
            r#"<text x="{x:.2}" y="{y:.2}" text-anchor="{anchor}" {style}>{text}</text>"#
        ));
    }

    /// A line of text that runs upwards, centred on its position.
    pub(crate) fn upright(&mut self, at: (f64, f64), style: &str, text: &str) {
        let (x, y) = at;
        let text = escape(text);
        let turn = format!("translate({x:.2} {y:.2}) rotate(-90)");
        self.write(format_args!(
            r#"<text transform="{turn}" text-anchor="middle" {style}>{text}</text>"#
        ));
    }

    /// Gives what follows a title, which readers see on hover, until [`Svg::end`].
    pub(crate) fn titled(&mut self, title: &str) {
        let title = escape(title);
        self.write(format_args!("<g><title>{title}</title>"));
    }

    /// Draws what follows only inside a rectangle, until [`Svg::end`].
    pub(crate) fn clip(&mut self, name: &str, corner: (f64, f64), size: (f64, f64)) {
        let ((x, y), (w, h)) = (corner, size);
        self.write(format_args!(
            concat!(
                r#"<clipPath id="{n}"><rect x="{x:.2}" y="{y:.2}" width="{w:.2}" "#,
                r#"height="{h:.2}"/></clipPath><g clip-path="url(#{n})">"#
            ),
            n = name,
            x = x,
            y = y,
            w = w,
            h = h,
        ));
    }

    /// Ends the part begun by [`Svg::clip`] or [`Svg::titled`].
    pub(crate) fn end(&mut self) {
        self.write(format_args!("</g>"));
    }

    /// Returns the whole document.
    pub(crate) fn finish(mut self) -> String {
        self.out.push_str("</svg>\n");
        self.out
    }

    fn write(&mut self, element: core::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = self.out.write_fmt(element);
        self.out.push('\n');
    }
}

/// Text as it may stand in XML and HTML, between tags and in quoted attributes.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            // XML knows no other control characters, and not these two.
            c if c.is_control() && !matches!(c, '\n' | '\t') => out.push('\u{fffd}'),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}
