//! Rows of names and cells as aligned text.

use core::fmt::Write as _;

/// The widths of the names to the left and of each column of cells to the right.
fn widths(rows: &[(String, Vec<String>)]) -> (usize, usize) {
    let names = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let cells = rows.iter().flat_map(|(_, cells)| cells).map(|cell| cell.chars().count());
    (names, cells.max().unwrap_or(0).max(10))
}

/// Returns the characters of a line.
pub(super) fn width_of(rows: &[(String, Vec<String>)]) -> usize {
    let (names, width) = widths(rows);
    names + rows.first().map_or(0, |(_, cells)| cells.len()) * (width + 2)
}

/// Writes names to the left and cells to the right, columns aligned.
pub(super) fn write_rows(out: &mut String, rows: &[(String, Vec<String>)]) {
    let (names, width) = widths(rows);
    for (name, cells) in rows {
        let _ = write!(out, "{name:<names$}");
        for cell in cells {
            let _ = write!(out, "  {cell:>width$}");
        }
        out.push('\n');
    }
}
