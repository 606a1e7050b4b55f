//! The form of a table: what stands between its cells, and where its columns are.

use super::MeasurementError;

/// The most columns of a table that are named in an error.
const NAMED: usize = 40;

/// The form of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    separator: Separator,
    /// The number of the line of names, if there is one, from 0.
    head: Option<usize>,
    /// The number of cells in the first line.
    width: usize,
    /// The places of the columns that were asked for.
    pub(super) places: Vec<usize>,
}

/// The separator between two cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Separator {
    Byte(u8),
    Blanks,
}

impl Separator {
    /// In the order in which they are tried: one that cells rarely hold comes first.
    const ALL: [Self; 4] = [Self::Byte(b'\t'), Self::Byte(b';'), Self::Byte(b','), Self::Blanks];

    /// Cuts a line into its cells.
    fn cells(self, line: &str) -> Vec<String> {
        match self {
            Self::Blanks => line.split_whitespace().map(str::to_owned).collect(),
            Self::Byte(separator) => {
                let mut reader = csv::ReaderBuilder::new();
                reader.has_headers(false).delimiter(separator).trim(csv::Trim::All);
                let mut records = reader.from_reader(line.as_bytes()).into_records();
                let record = records.next().and_then(Result::ok).unwrap_or_default();
                record.iter().map(str::to_owned).collect()
            }
        }
    }
}

/// Tells whether a line is a comment or empty.
fn is_blank(line: &str) -> bool {
    line.trim().is_empty() || line.starts_with('#')
}

impl Layout {
    /// Finds the form in which the table has all of these columns, the first of which is the time.
    pub(super) fn of(text: &str, columns: &[&str]) -> Result<Self, MeasurementError> {
        let first = text.lines().enumerate().find(|(_, line)| !is_blank(line));
        let (at, line) = first.unwrap_or((0, ""));
        // gnuplot and others write the names as a comment.
        let comment = text.lines().take(at).enumerate().filter(|(_, line)| line.starts_with('#'));
        let comment = comment.last().map(|(at, line)| (at, line.trim_start_matches('#').trim()));
        for separator in Separator::ALL {
            for (head, names) in [(at, line)].into_iter().chain(comment) {
                let names = separator.cells(names);
                let place = |column: &&str| names.iter().position(|name| name == column);
                let places = columns.iter().map(place).collect::<Option<Vec<_>>>();
                let Some(places) = places else { continue };
                let width = names.len();
                return Ok(Self { separator, head: Some(head), width, places });
            }
        }
        let best = Separator::ALL.into_iter().max_by_key(|it| it.cells(line).len());
        let separator = best.unwrap_or(Separator::Byte(b','));
        let cells = separator.cells(line);
        let number = |column: &&str| {
            let number = column.parse::<usize>().ok().filter(|it| (1..=cells.len()).contains(it));
            number.map(|it| it - 1)
        };
        if let Some(places) = columns.iter().map(number).collect::<Option<Vec<_>>>() {
            let layout = Self { separator, head: None, width: cells.len(), places };
            let time = &cells[layout.places[0]];
            // Names over columns that are asked for by numbers.
            let is_data = layout.number(time).is_some() || super::calendar::moment(time).is_some();
            let head = (!is_data).then_some(at);
            return Ok(Self { head, ..layout });
        }
        let is_there =
            |column: &&&str| cells.iter().any(|name| name == *column) || number(column).is_some();
        let missing = columns.iter().find(|it| !is_there(it)).copied().unwrap_or_default();
        let more = if cells.len() > NAMED { ", ..." } else { "" };
        let there = cells.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ") + more;
        Err(MeasurementError::NoColumn(missing.to_owned(), there))
    }

    /// Returns the number of each line of values, from 1, and its cells.
    pub(super) fn rows<'a>(
        &'a self,
        text: &'a str,
    ) -> impl Iterator<Item = (u64, Result<Vec<String>, MeasurementError>)> + 'a {
        let lines = text.lines().enumerate();
        let lines = lines.filter(|(at, line)| Some(*at) != self.head && !is_blank(line));
        lines.map(|(at, line)| {
            let number = at as u64 + 1;
            let cells = self.separator.cells(line);
            let extra = cells.iter().skip(self.width).any(|cell| !cell.is_empty());
            let count = cells.len();
            let width = self.width;
            let refused = || {
                let text = format!("there are {count} cells, and the first line has {width}");
                MeasurementError::Line(number, text)
            };
            (number, if extra { Err(refused()) } else { Ok(cells) })
        })
    }

    /// Reads a number, with a comma for the point where commas do not separate cells.
    pub(super) fn number(&self, cell: &str) -> Option<f64> {
        let has_comma = cell.matches(',').count() == 1 && !cell.contains('.');
        let text = if has_comma && self.separator != Separator::Byte(b',') {
            cell.replace(',', ".")
        } else {
            cell.to_owned()
        };
        text.parse::<f64>().ok().filter(|number| number.is_finite())
    }
}
