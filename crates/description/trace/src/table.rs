//! Measured tables (CSV with a line of names first) as changes of a link, one for each row in which
//! something changes.

use core::str::FromStr;
use std::fmt::Write as _;

/// A column of a table: `NAME`, `NAME:UNIT` or `NAME*FACTOR:UNIT`.
///
/// The values of `rtt*0.5:ms` are half of what stands in the column `rtt`, in milliseconds. A name
/// that holds `*` or `:` cannot be said.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    name: String,
    factor: f64,
    unit: String,
}

impl FromStr for Column {
    type Err = MeasurementError;

    fn from_str(text: &str) -> Result<Self, MeasurementError> {
        let bad = |why: &'static str| MeasurementError::Column(text.to_owned(), why);
        let (rest, unit) = text.rsplit_once(':').unwrap_or((text, ""));
        let (name, factor) = match rest.rsplit_once('*') {
            None => (rest, 1.0),
            Some((name, factor)) => {
                let factor = factor.trim().parse::<f64>().ok().filter(|it| *it > 0.0);
                let factor = factor.filter(|it| it.is_finite());
                (name, factor.ok_or_else(|| bad("the factor is a number above 0, as in rtt*0.5"))?)
            }
        };
        let (name, unit) = (name.trim().to_owned(), unit.trim().to_owned());
        if name.is_empty() {
            return Err(bad("it names no column"));
        }
        Ok(Self { name, factor, unit })
    }
}

/// A setting of a link, and the column that holds it: `downlink rate=dl_rate:kbps`.
#[derive(Clone, Debug, PartialEq)]
pub struct Assignment {
    setting: String,
    column: Column,
}

impl FromStr for Assignment {
    type Err = MeasurementError;

    fn from_str(text: &str) -> Result<Self, MeasurementError> {
        let (setting, column) = text.split_once('=').ok_or_else(|| {
            let why = "write SETTING=COLUMN:UNIT, such as 'downlink rate=dl_rate:kbps'";
            MeasurementError::Column(text.to_owned(), why)
        })?;
        Ok(Self { setting: setting.trim().to_owned(), column: column.parse()? })
    }
}

/// Rows that count: those with this text in this column, `operator=a`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter {
    column: String,
    text: String,
}

impl FromStr for Filter {
    type Err = MeasurementError;

    fn from_str(text: &str) -> Result<Self, MeasurementError> {
        let why = "write COLUMN=TEXT, such as operator=a";
        let parts = text.split_once('=');
        let (column, wanted) =
            parts.ok_or_else(|| MeasurementError::Column(text.to_owned(), why))?;
        Ok(Self { column: column.trim().to_owned(), text: wanted.trim().to_owned() })
    }
}

/// The columns of a table that become changes.
#[derive(Clone, Debug)]
pub struct TableChanges {
    /// The time of each row; the first counts as the start.
    pub time: Column,
    /// The settings that change, with their columns.
    pub assignments: Vec<Assignment>,
    /// The rows that count are those that pass all of these.
    pub filters: Vec<Filter>,
}

/// Why a table gives no changes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MeasurementError {
    /// A text that should name a column makes no sense.
    #[error("{0:?}: {1}")]
    Column(String, &'static str),
    /// The table has no such column.
    #[error("the table has no column {0:?}; there are: {1}")]
    NoColumn(String, String),
    /// A row cannot be read.
    #[error("line {0}: {1}")]
    Line(u64, String),
    /// No row passes the filters and holds a value.
    #[error("no row of the table gives a value{0}")]
    NoRow(&'static str),
}

/// The texts of a cell where nothing was measured.
const NOTHING: [&str; 6] = ["", "-", "na", "nan", "null", "none"];

impl TableChanges {
    /// Reads a table; returns the changes as lines of the form `10s: rate 1Mbps, loss 5%`.
    ///
    /// A cell without a value leaves the setting as it is; so does the value that it has already.
    ///
    /// # Errors
    /// If a column is missing, a cell holds no number, a time lies before the one above, or nothing
    /// is left.
    pub fn read(&self, table: &[u8]) -> Result<String, MeasurementError> {
        let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(table);
        let names = reader.headers().map_err(|error| broken(&error))?.clone();
        let place = |name: &str| {
            names.iter().position(|it| it == name).ok_or_else(|| {
                let there = names.iter().collect::<Vec<_>>().join(", ");
                MeasurementError::NoColumn(name.to_owned(), there)
            })
        };
        let time = place(&self.time.name)?;
        let settings = self.assignments.iter().map(|it| Ok((it, place(&it.column.name)?)));
        let settings = settings.collect::<Result<Vec<_>, MeasurementError>>()?;
        let filters = self.filters.iter().map(|it| Ok((it, place(&it.column)?)));
        let filters = filters.collect::<Result<Vec<_>, MeasurementError>>()?;
        let mut rows = Rows::default();
        let mut last = vec![String::new(); settings.len()];
        let mut changes = String::new();
        for record in reader.records() {
            let record = record.map_err(|error| broken(&error))?;
            let line = record.position().map_or(0, csv::Position::line);
            let cell = |at: usize| record.get(at).unwrap_or_default();
            if filters.iter().any(|(filter, at)| cell(*at) != filter.text) {
                continue;
            }
            let at = rows.time(line, &self.time, cell(time))?;
            let mut clauses = Vec::new();
            for ((assignment, at), last) in settings.iter().zip(&mut last) {
                let Some(value) = assignment.column.value(line, cell(*at))? else { continue };
                if *last != value {
                    clauses.push(format!("{} {value}", assignment.setting));
                    *last = value;
                }
            }
            if !clauses.is_empty() {
                let _ = writeln!(changes, "{at}: {}", clauses.join(", "));
            }
        }
        let filtered = if filters.is_empty() { "" } else { " and passes the filters" };
        if changes.is_empty() { Err(MeasurementError::NoRow(filtered)) } else { Ok(changes) }
    }
}

impl Column {
    /// Returns the number of a cell times the factor, if there is one.
    fn number(&self, line: u64, cell: &str) -> Result<Option<f64>, MeasurementError> {
        if NOTHING.contains(&cell.to_ascii_lowercase().as_str()) {
            return Ok(None);
        }
        let number = cell.parse::<f64>().ok().filter(|it| it.is_finite());
        let number = number.ok_or_else(|| {
            let text = format!("{cell:?} in the column {:?} is no number", self.name);
            MeasurementError::Line(line, text)
        })?;
        // Twelve digits are more than any measurement has, and leave out what binary makes of 0.1.
        let scaled = format!("{:.11e}", number * self.factor);
        Ok(scaled.parse().ok())
    }

    fn value(&self, line: u64, cell: &str) -> Result<Option<String>, MeasurementError> {
        Ok(self.number(line, cell)?.map(|number| format!("{number}{}", self.unit)))
    }
}

/// The times of the rows so far.
#[derive(Debug, Default)]
struct Rows {
    /// The time of the first row and that of the last.
    span: Option<(f64, f64)>,
}

impl Rows {
    /// Returns the time of a row since the first one, as text.
    fn time(&mut self, line: u64, column: &Column, cell: &str) -> Result<String, MeasurementError> {
        let wrong = |text: &str| MeasurementError::Line(line, format!("the time {cell:?} {text}"));
        let number = column.number(line, cell)?.ok_or_else(|| wrong("is none"))?;
        let (first, last) = self.span.unwrap_or((number, number));
        if number < last {
            return Err(wrong("lies before the one above it"));
        }
        self.span = Some((first, number));
        let since = format!("{:.9}", number - first);
        let since = since.trim_end_matches('0').trim_end_matches('.');
        let unit = if column.unit.is_empty() { "s" } else { column.unit.as_str() };
        Ok(format!("{since}{unit}"))
    }
}

fn broken(error: &csv::Error) -> MeasurementError {
    let line = error.position().map_or(1, csv::Position::line);
    MeasurementError::Line(line, "the row is broken: ".to_owned() + &error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TABLE: &str = "\
Timestamp,Operator,DL bitrate,RTT
1600000000.5,a,1200,40
1600000001.5,b,9,9
1600000002.5,a,1200,-
1600000003.25,a,800.5,60
1600000004.5,a,800.5,60
";

    fn changes(filters: &[&str]) -> TableChanges {
        TableChanges {
            time: "Timestamp".parse().expect("a column"),
            assignments: ["downlink rate=DL bitrate:kbps", "delay=RTT*0.5:ms"]
                .iter()
                .map(|it| it.parse().expect("an assignment"))
                .collect(),
            filters: filters.iter().map(|it| it.parse().expect("a filter")).collect(),
        }
    }

    #[test]
    fn a_change_stands_for_each_row_in_which_something_changes() {
        let lines = changes(&["Operator=a"]).read(TABLE.as_bytes()).expect("changes");
        let expected = "\
0s: downlink rate 1200kbps, delay 20ms
2.75s: downlink rate 800.5kbps, delay 30ms
";
        assert_eq!(lines, expected);
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        let read = |table: &str| changes(&[]).read(table.as_bytes()).expect_err(table).to_string();
        let names = "Timestamp,Operator,DL bitrate,RTT\n";
        for (table, part) in [
            ("Time,RTT\n1,2\n", "no column \"Timestamp\"; there are: Time, RTT"),
            (&format!("{names}1,a,fast,4\n"), "line 2: \"fast\" in the column \"DL bitrate\""),
            (&format!("{names}2,a,1,4\n1,a,1,4\n"), "line 3: the time \"1\" lies before"),
            (&format!("{names}2,a,1\n"), "line 2: the row is broken"),
            (names, "no row of the table gives a value"),
            ("", "no column"),
        ] {
            let said = read(table);
            assert!(said.contains(part), "{table}: {said}");
        }
        let none = changes(&["Operator=c"]).read(TABLE.as_bytes()).expect_err("no such row");
        assert!(none.to_string().contains("passes the filters"), "{none}");
        for text in ["a*0:ms", "a*x:ms", ":ms", ""] {
            assert!(text.parse::<Column>().is_err(), "{text}");
        }
        assert!("rate".parse::<Assignment>().is_err() && "a".parse::<Filter>().is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_table_or_an_error(bytes: Vec<u8>) {
            let table = [b"Timestamp,Operator,DL bitrate,RTT\n", &bytes[..]].concat();
            let _ = changes(&[]).read(&table);
        }
    }
}
