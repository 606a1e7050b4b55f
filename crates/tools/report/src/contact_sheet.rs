//! Contact sheets: pictures of several clips side by side, as SVG.

use crate::svg::{Anchor, Svg};

/// Pixels around each picture.
const GAP: f64 = 8.0;
/// Pixels for the titles of rows, and for those of columns.
const LABELS: (f64, f64) = (150.0, 26.0);
const STYLE: &str = r##"font-size="12" fill="#222222""##;

//= S1.35
/// Rows of pictures of one size: a row for each clip, a column for each instant.
#[derive(Clone, Debug)]
pub struct ContactSheet<'a> {
    /// The title of the drawing.
    pub title: &'a str,
    /// The width and height of each picture in pixels.
    pub size: (f64, f64),
    /// The title of each column.
    pub columns: &'a [String],
    /// The title of each row, and its pictures as JPEGs.
    pub rows: &'a [(String, Vec<Vec<u8>>)],
}

impl ContactSheet<'_> {
    /// Draws the sheet.
    #[must_use]
    pub fn to_svg(&self) -> String {
        let width = self.size.0 + GAP;
        let height = self.size.1 + GAP;
        let left = LABELS.0;
        let top = 2.0 * LABELS.1;
        let across = left + width * self.columns.len() as f64;
        let mut svg = Svg::new(across, top + height * self.rows.len() as f64, self.title);
        svg.text((GAP, LABELS.1 - GAP), Anchor::Start, STYLE, self.title);
        for (x, column) in self.columns.iter().enumerate() {
            let middle = left + width * x as f64 + self.size.0 / 2.0;
            svg.text((middle, top - GAP), Anchor::Middle, STYLE, column);
        }
        for (y, (row, pictures)) in self.rows.iter().enumerate() {
            let down = top + height * y as f64;
            svg.text((GAP, down + self.size.1 / 2.0), Anchor::Start, STYLE, row);
            for (x, picture) in pictures.iter().take(self.columns.len()).enumerate() {
                svg.jpeg((left + width * x as f64, down), self.size, picture);
            }
        }
        svg.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    //= S1.35
    #[test]
    fn a_sheet_has_its_titles_and_a_place_for_each_picture() {
        let sheet = ContactSheet {
            title: "a & b",
            size: (176.0, 144.0),
            columns: &["0 s".to_owned(), "1 s".to_owned()],
            rows: &[("sent".to_owned(), vec![b"Man".to_vec(); 2]), ("UDP".to_owned(), Vec::new())],
        };
        let svg = sheet.to_svg();
        assert_eq!(svg.matches("data:image/jpeg;base64,TWFu").count(), 2);
        assert!(svg.contains("a &amp; b") && svg.contains(">UDP<"), "{svg}");
        let second = format!(r#"<image x="{:.2}" y="52.00""#, 150.0 + 184.0);
        assert!(svg.contains(&second), "{svg}");
    }
}
