//! The form of a table: what stands between its cells, and where its columns are.

use std::borrow::Cow;

use super::{MeasurementError, is_nothing};

/// The most columns of a table that are named in an error.
const NAMED: usize = 40;

/// The form of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    separator: Separator,
    /// The number of the line of names, if there is one, from 0.
    head: Option<usize>,
    /// The number of cells in the first line.
    width: usize,
    /// The places of the columns that were asked for.
    pub(crate) places: Vec<usize>,
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

    /// The separator of most cells of a line; blanks where there is no other.
    fn among(line: &str) -> Self {
        let others = Self::ALL.into_iter().filter(|it| *it != Self::Blanks).rev();
        let most = others.map(|it| (it.cells(line).len(), it)).max_by_key(|(count, _)| *count);
        most.filter(|(count, _)| *count > 1).map_or(Self::Blanks, |(_, separator)| separator)
    }

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

fn is_comment(line: &str) -> bool {
    line.starts_with(['#', '%']) || said(line).is_some()
}

/// The separator that a spreadsheet names in a line before the names: `sep=;`.
fn said(line: &str) -> Option<Separator> {
    let line = line.trim_matches([' ', '"']);
    let (key, value) = line.split_at_checked(4)?;
    match value.as_bytes() {
        [separator] if key.eq_ignore_ascii_case("sep=") && separator.is_ascii_punctuation() => {
            Some(Separator::Byte(*separator))
        }
        [b'\t'] if key.eq_ignore_ascii_case("sep=") => Some(Separator::Byte(b'\t')),
        _ => None,
    }
}

/// Tells whether a line is a comment or empty.
fn is_blank(line: &str) -> bool {
    line.trim().is_empty() || is_comment(line)
}

/// The place of a column among names; capitals count only if there are two that differ by them.
fn place(names: &[String], column: &str) -> Option<usize> {
    let same = names.iter().position(|name| name == column);
    same.or_else(|| names.iter().position(|name| name.eq_ignore_ascii_case(column)))
}

/// The place of a column that is asked for by its number.
fn number(cells: &[String], column: &str) -> Option<usize> {
    let number = column.parse::<usize>().ok().filter(|it| (1..=cells.len()).contains(it));
    number.map(|it| it - 1)
}

/// Refuses columns whose name another one has too.
fn unambiguous(names: &[String], places: &[usize]) -> Result<(), MeasurementError> {
    for name in places.iter().map(|place| &names[*place]) {
        let same = names.iter().enumerate().filter(|(_, it)| *it == name);
        let numbers: Vec<_> = same.map(|(at, _)| (at + 1).to_string()).collect();
        if numbers.len() > 1 {
            return Err(MeasurementError::SameName(name.clone(), numbers.join(", ")));
        }
    }
    Ok(())
}

impl Layout {
    /// Finds the form in which the table has all of these columns, the first of which is that of
    /// the times, or of the only values.
    pub(crate) fn of(text: &str, columns: &[&str]) -> Result<Self, MeasurementError> {
        let first = text.lines().enumerate().find(|(_, line)| !is_blank(line));
        let (at, line) = first.unwrap_or((0, ""));
        // gnuplot and others write the names as a comment.
        let comments = text.lines().take(at).enumerate().filter(|(_, line)| is_comment(line));
        let comments: Vec<_> =
            comments.map(|(at, line)| (at, line.trim_start_matches(['#', '%']).trim())).collect();
        let said = text.lines().take(at).find_map(said);
        let separators = said.map_or(Separator::ALL.to_vec(), |it| vec![it]);
        for separator in separators.iter().copied() {
            let heads = [(at, line)].into_iter().chain(comments.iter().rev().copied());
            for (head, names) in heads {
                let names = separator.cells(names);
                let places = columns.iter().map(|column| place(&names, column));
                let Some(places) = places.collect::<Option<Vec<_>>>() else { continue };
                unambiguous(&names, &places)?;
                let width = names.len();
                return Ok(Self { separator, head: Some(head), width, places });
            }
        }
        if first.is_none() {
            return Err(MeasurementError::Empty);
        }
        let numbered = separators.into_iter().filter_map(|it| Self::numbered(it, line, columns));
        let mut numbered = numbered.collect::<Vec<_>>().into_iter();
        // Blanks may stand in a time, so that another separator comes first.
        let in_data = numbered.clone().find(|(_, is_data)| *is_data);
        let best = said.unwrap_or_else(|| Separator::among(line));
        let in_names = || numbered.find(|(layout, _)| layout.separator == best);
        if let Some((layout, is_data)) = in_data.or_else(in_names) {
            // Names over columns that are asked for by numbers.
            return Ok(Self { head: (!is_data).then_some(at), ..layout });
        }
        let cells = best.cells(line);
        let is_there =
            |column: &&&str| place(&cells, column).is_some() || number(&cells, column).is_some();
        let missing = columns.iter().find(|it| !is_there(it)).copied().unwrap_or_default();
        let more = if cells.len() > NAMED { ", ..." } else { "" };
        let there = cells.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ") + more;
        Err(MeasurementError::NoColumn(missing.to_owned(), there))
    }

    /// The form in which columns are asked for by their numbers, if there are as many, and whether
    /// the first line has a value in the first of them.
    fn numbered(separator: Separator, line: &str, columns: &[&str]) -> Option<(Self, bool)> {
        let cells = separator.cells(line);
        let places = columns.iter().map(|column| number(&cells, column));
        let places = places.collect::<Option<Vec<_>>>()?;
        let layout = Self { separator, head: None, width: cells.len(), places };
        let value = &cells[*layout.places.first()?];
        let is_data = layout.number(value).is_some()
            || is_nothing(value)
            || super::calendar::moment(value).is_some();
        Some((layout, is_data))
    }

    /// Returns the number of each line of values, from 1, and its cells.
    pub(crate) fn rows<'a>(
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

    /// Tells whether a comma in a number is its decimal point.
    pub(crate) fn has_decimal_commas(&self) -> bool {
        self.separator != Separator::Byte(b',')
    }

    /// Reads a number, with a comma for the point where commas do not separate cells.
    pub(crate) fn number(&self, cell: &str) -> Option<f64> {
        let number = self.with_point(cell).parse::<f64>();
        number.ok().filter(|number| number.is_finite())
    }

    /// Returns a cell with a point for the comma of its number.
    pub(crate) fn with_point<'a>(&self, cell: &'a str) -> Cow<'a, str> {
        let has_comma = cell.matches(',').count() == 1 && !cell.contains('.');
        if has_comma && self.has_decimal_commas() {
            cell.replace(',', ".").into()
        } else {
            cell.into()
        }
    }
}
