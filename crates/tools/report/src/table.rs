//! Tables: aligned text for people, CSV for machines, HTML for the page.

use crate::svg::escape;

/// A table with a name for each column.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// An empty table with these columns.
    pub fn new<S: Into<String>>(columns: impl IntoIterator<Item = S>) -> Self {
        Self { columns: columns.into_iter().map(Into::into).collect(), rows: Vec::new() }
    }

    /// Adds a row; missing cells stay empty, surplus ones are left out.
    pub fn push<S: Into<String>>(&mut self, cells: impl IntoIterator<Item = S>) {
        let mut row: Vec<String> =
            cells.into_iter().map(Into::into).take(self.columns.len()).collect();
        row.resize(self.columns.len(), String::new());
        self.rows.push(row);
    }

    /// The names of the columns.
    #[must_use]
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// The rows, each with one cell per column.
    #[must_use]
    pub fn rows(&self) -> &[Vec<String>] {
        &self.rows
    }

    /// The table as text: columns aligned, numbers to the right, a line below the names.
    #[must_use]
    pub fn to_text(&self) -> String {
        let width = |i: usize| {
            let cells = self.rows.iter().map(|row| &row[i]).chain([&self.columns[i]]);
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let layout: Vec<_> =
            (0..self.columns.len()).map(|i| (width(i), self.is_number(i))).collect();
        let rule: Vec<String> = layout.iter().map(|(width, _)| "─".repeat(*width)).collect();
        let mut out = String::new();
        for row in [&self.columns, &rule].into_iter().chain(&self.rows) {
            let cells = row.iter().zip(&layout).map(|(cell, (width, number))| {
                if *number { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
            });
            let line = cells.collect::<Vec<_>>().join("  ");
            out.push_str(line.trim_end());
            out.push('\n');
        }
        out
    }

    /// The table as CSV (RFC 4180, but with line feeds): the names of its columns, and its rows.
    #[must_use]
    pub fn to_csv(&self) -> String {
        // A cell that begins with `#` would read as a comment where it stands first.
        let mut writer = csv::WriterBuilder::new().comment(Some(b'#')).from_writer(Vec::new());
        for row in core::iter::once(&self.columns).chain(&self.rows) {
            writer.write_record(row).expect("rows have a cell for each column");
        }
        let written = writer.into_inner().expect("memory takes it");
        String::from_utf8(written).expect("cells are text")
    }

    /// The table as HTML.
    #[must_use]
    pub fn to_html(&self) -> String {
        let mut out = String::from("<table>\n<thead><tr>");
        let class = |i: usize| if self.is_number(i) { " class=\"number\"" } else { "" };
        for (i, name) in self.columns.iter().enumerate() {
            out.push_str(&format!("<th{}>{}</th>", class(i), escape(name)));
        }
        out.push_str("</tr></thead>\n<tbody>\n");
        for row in &self.rows {
            out.push_str("<tr>");
            for (i, cell) in row.iter().enumerate() {
                // People read a dash where programs read that there is no number.
                let cell = if cell == "NaN" { "–" } else { cell };
                out.push_str(&format!("<td{}>{}</td>", class(i), escape(cell)));
            }
            out.push_str("</tr>\n");
        }
        out.push_str("</tbody>\n</table>\n");
        out
    }

    /// Tells whether a column holds numbers, with or without a unit, and at least one.
    fn is_number(&self, column: usize) -> bool {
        let mut cells = self.rows.iter().map(|row| row[column].trim()).filter(|c| !c.is_empty());
        let number = |cell: &str| {
            let unsigned = cell.trim_start_matches(['-', '+', '\u{2212}', '<', '>', '≥', '≤', ' ']);
            unsigned.starts_with(|c: char| c.is_ascii_digit()) || ["–", "NaN"].contains(&cell)
        };
        cells.next().is_some_and(number) && cells.all(number)
    }
}

#[cfg(test)]
mod tests;
