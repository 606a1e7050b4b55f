//! Measured tables as changes of a link, one for each time at which something changes.

mod calendar;
mod decimal;
pub(crate) mod layout;

use core::str::FromStr;
use std::borrow::Cow;
use std::fmt::Write as _;

use windfall_base::Duration;

use calendar::{DAY, Kind, Moment, SECOND};
use layout::Layout;

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
        let name = name.trim().to_owned();
        let unit = unit.trim().to_owned();
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
    /// Several columns have this name.
    #[error("several columns are called {0:?}, those of the numbers {1}: give each another name")]
    SameName(String, String),
    /// The table holds nothing.
    #[error("the table is empty")]
    Empty,
    /// A row cannot be read.
    #[error("line {0}: {1}")]
    Line(u64, String),
    /// The file is no text.
    #[error("the table is no text in UTF-8: save it as CSV in UTF-8")]
    NotText,
    /// No row passes the filters and holds a value.
    #[error("no row of the table gives a value{0}")]
    NoRow(&'static str),
}

/// The texts of a cell where nothing was measured.
const NOTHING: [&str; 9] = ["", "-", "--", "na", "n/a", "nan", "null", "none", "?"];

/// Tells whether nothing was measured for a cell.
pub(crate) fn is_nothing(cell: &str) -> bool {
    NOTHING.contains(&cell.to_ascii_lowercase().as_str())
}

/// The time by which a row may lie before the one above it, in nanoseconds: clocks that are set,
/// and loggers that write late, come so far. Beyond it, it is another measurement.
const DISORDER: i128 = 60 * SECOND;

/// The greatest number of seconds that counts as a time: beyond it they are parts of seconds, of
/// which no fraction would be left.
const LATEST: f64 = 1e11;
/// The longest time between two rows, in nanoseconds: 500 years, which a change can be away.
const LONGEST: i128 = 500 * 365 * DAY + 125 * DAY;

/// The changes of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MeasuredChanges {
    /// Lines of the form `10s: rate 1Mbps, loss 5%`.
    pub text: String,
    /// The treatment of rows that are not as they should be, a sentence each.
    pub notes: Vec<String>,
}

/// A row that counts: its time in nanoseconds, and its values.
struct Row {
    at: i128,
    values: Vec<Option<Value>>,
}

/// A value with its unit, and the line that it stands in.
struct Value {
    line: u64,
    text: String,
}

impl TableChanges {
    /// Reads a table: commas, semicolons, tabs or blanks between its cells, and a line of names
    /// first, or columns by their numbers from 1.
    ///
    /// A cell without a value leaves the setting as it is; so does the value that it has already.
    /// Times are numbers, or those of a calendar. Rows of the same time are one change.
    ///
    /// # Errors
    /// If a column is missing, a cell holds no number, a time lies far before the one above, or
    /// nothing is left.
    pub fn read(&self, table: &[u8]) -> Result<MeasuredChanges, MeasurementError> {
        self.read_checked(table, &mut |_| Ok(()))
    }

    /// Reads a table as [`read`](Self::read), whose changes `check` may refuse: it gets each
    /// setting with its value, `rate 1Mbps`, and says what is wrong.
    ///
    /// # Errors
    /// As [`read`](Self::read), and if a change is refused.
    pub fn read_checked(
        &self,
        table: &[u8],
        check: &mut dyn FnMut(&str) -> Result<(), String>,
    ) -> Result<MeasuredChanges, MeasurementError> {
        let text = core::str::from_utf8(table).map_err(|_| MeasurementError::NotText)?;
        let text = &unified(text.trim_start_matches('\u{feff}'));
        if text.contains('\0') {
            return Err(MeasurementError::NotText);
        }
        let columns = || {
            let settings = self.assignments.iter().map(|it| it.column.name.as_str());
            let filters = self.filters.iter().map(|it| it.column.as_str());
            core::iter::once(self.time.name.as_str()).chain(settings).chain(filters)
        };
        let layout = Layout::of(text, &columns().collect::<Vec<_>>())?;
        let (rows, notes) = self.rows(text, &layout)?;
        let mut last = vec![String::new(); self.assignments.len()];
        let mut changes = String::new();
        let start = rows.first().map_or(0, |row| row.at);
        for (number, row) in rows.iter().enumerate() {
            // The last row of those of one time says what holds then.
            if rows.get(number + 1).is_some_and(|next| next.at == row.at) {
                continue;
            }
            let mut clauses = Vec::new();
            for ((assignment, value), last) in
                self.assignments.iter().zip(&row.values).zip(&mut last)
            {
                if let Some(value) = value.as_ref().filter(|value| value.text != *last) {
                    let clause = format!("{} {}", assignment.setting, value.text);
                    check(&clause).map_err(|why| MeasurementError::Line(value.line, why))?;
                    clauses.push(clause);
                    last.clone_from(&value.text);
                }
            }
            if !clauses.is_empty() {
                let since = seconds(row.at - start);
                let _ = writeln!(changes, "{since}s: {}", clauses.join(", "));
            }
        }
        let filtered = if self.filters.is_empty() { "" } else { " and passes the filters" };
        if changes.is_empty() {
            return Err(MeasurementError::NoRow(filtered));
        }
        Ok(MeasuredChanges { text: changes, notes })
    }

    /// Reads the rows that pass the filters, in the order of their times.
    fn rows(
        &self,
        text: &str,
        layout: &Layout,
    ) -> Result<(Vec<Row>, Vec<String>), MeasurementError> {
        let mut rows = Vec::<Row>::new();
        let mut timeless = 0_usize;
        let mut displaced = 0_usize;
        // Times without a date begin again at midnight.
        let mut latest = None::<i128>;
        let mut days = 0;
        let mut first = None::<Moment>;
        let mut start = None::<i128>;
        let mut commas = Commas::default();
        for (line, cells) in layout.rows(text) {
            let cells = cells?;
            let cell = |at: usize| cells.get(at).map_or("", String::as_str);
            let [time, settings, filters] = self.places(layout);
            let mut conditions = self.filters.iter().zip(filters);
            if conditions.any(|(filter, at)| cell(at) != filter.text) {
                continue;
            }
            if layout.has_decimal_commas() {
                time.iter().chain(&settings).for_each(|at| commas.note(line, cell(*at)));
            }
            let time = time.into_iter().next().map_or("", cell);
            let Some(moment) = self.time.moment(line, time, layout)? else {
                timeless += 1;
                continue;
            };
            if let Some(how) = moment.form_unlike(first.get_or_insert(moment)) {
                return Err(MeasurementError::Line(line, format!("the time {time:?} {how}")));
            }
            let Moment { nanoseconds, kind, .. } = moment;
            let before = |at: i128, span| latest.is_some_and(|latest| at < latest - span);
            if kind == Kind::Clock && before(nanoseconds + days, DAY / 2) {
                days += DAY;
            }
            let at = nanoseconds + days;
            if before(at, DISORDER) {
                let text = format!("the time {time:?} lies before the one above it");
                return Err(MeasurementError::Line(line, text));
            }
            if at - at.min(*start.get_or_insert(at)) > LONGEST {
                let text = format!("the time {time:?} is more than 500 years after the first one");
                return Err(MeasurementError::Line(line, text));
            }
            displaced += usize::from(before(at, 0));
            latest = latest.max(Some(at));
            let values = self.assignments.iter().zip(settings);
            let values = values.map(|(it, at)| it.column.value(line, cell(at), layout));
            let values = values.collect::<Result<Vec<_>, _>>()?;
            // Rows of one time complete each other; the later value counts.
            match rows.iter_mut().rev().find(|row| row.at <= at).filter(|row| row.at == at) {
                Some(_) if kind == Kind::Day => {
                    let name = &self.time.name;
                    let text = format!(
                        "the column {name:?} has dates alone, and rows of one day have one time: \
                         name the column of the time of day"
                    );
                    return Err(MeasurementError::Line(line, text));
                }
                Some(row) => {
                    let both = row.values.iter_mut().zip(values);
                    both.filter(|(_, new)| new.is_some()).for_each(|(old, new)| *old = new);
                }
                None => rows.push(Row { at, values }),
            }
        }
        commas.check()?;
        rows.sort_by_key(|row| row.at);
        Ok((rows, notes_on_rows(timeless, displaced)))
    }

    /// The places of the time, of the settings and of the filters among the columns.
    fn places(&self, layout: &Layout) -> [Vec<usize>; 3] {
        let settings = self.assignments.len();
        let filters = self.filters.len();
        let of = |range: core::ops::Range<usize>| layout.places[range].to_vec();
        [of(0..1), of(1..1 + settings), of(1 + settings..1 + settings + filters)]
    }
}

/// Says how many rows have no time, and how many are not in order.
fn notes_on_rows(timeless: usize, displaced: usize) -> Vec<String> {
    let mut notes = Vec::new();
    let count = |n: usize| if n == 1 { "1 row has".to_owned() } else { format!("{n} rows have") };
    if timeless > 0 {
        let are = if timeless == 1 { "is" } else { "are" };
        notes.push(format!("{} no time, and {are} left out", count(timeless)));
    }
    if displaced > 0 {
        let how = count(displaced);
        notes.push(format!("{how} a time before the one above: the rows are sorted by time"));
    }
    notes
}

/// The commas in the numbers of a table: `1,000` may be one or a thousand.
#[derive(Debug, Default)]
struct Commas {
    /// A number shows that they are decimal.
    are_decimal: bool,
    /// The first number that can be read in both ways, and its line.
    ambiguous: Option<(u64, String)>,
}

impl Commas {
    fn note(&mut self, line: u64, cell: &str) {
        let number = cell.trim_start_matches(['+', '-']);
        let Some((whole, fraction)) = number.split_once(',') else { return };
        let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if !are_digits(whole) || !are_digits(fraction) {
            return;
        }
        let is_ambiguous =
            (1..=3).contains(&whole.len()) && !whole.starts_with('0') && fraction.len() == 3;
        if !is_ambiguous {
            self.are_decimal = true;
        } else if self.ambiguous.is_none() {
            self.ambiguous = Some((line, cell.to_owned()));
        }
    }

    fn check(self) -> Result<(), MeasurementError> {
        match self.ambiguous {
            Some((line, cell)) if !self.are_decimal => {
                let decimal = cell.replace(',', ".");
                let thousands = cell.replace(',', "");
                Err(MeasurementError::Line(
                    line,
                    format!("{cell:?} may be {decimal} or {thousands}: write one of them"),
                ))
            }
            _ => Ok(()),
        }
    }
}

impl Column {
    /// Returns the number of a cell times the factor, if there is one.
    fn number(
        &self,
        line: u64,
        cell: &str,
        layout: &Layout,
    ) -> Result<Option<f64>, MeasurementError> {
        let Some(number) = self.exact(line, cell, layout)? else { return Ok(None) };
        // Twelve digits are more than any measurement has, and leave out what binary makes of 0.1.
        let scaled = format!("{:.11e}", number * self.factor);
        Ok(scaled.parse().ok())
    }

    /// Returns the number of a cell as it is, if there is one.
    fn exact(
        &self,
        line: u64,
        cell: &str,
        layout: &Layout,
    ) -> Result<Option<f64>, MeasurementError> {
        if is_nothing(cell) {
            return Ok(None);
        }
        let number = layout.number(cell).ok_or_else(|| {
            let text = format!("{cell:?} in the column {:?} is no number", self.name);
            MeasurementError::Line(line, text)
        })?;
        Ok(Some(number))
    }

    fn value(
        &self,
        line: u64,
        cell: &str,
        layout: &Layout,
    ) -> Result<Option<Value>, MeasurementError> {
        let number = self.number(line, cell, layout)?;
        Ok(number.map(|number| Value { line, text: format!("{number}{}", self.unit) }))
    }

    /// Returns the time of a cell, if there is one: a number, or a time of the calendar.
    fn moment(
        &self,
        line: u64,
        cell: &str,
        layout: &Layout,
    ) -> Result<Option<Moment>, MeasurementError> {
        let wrong = |text: String| MeasurementError::Line(line, text);
        if layout.number(cell).is_none()
            && let Some(time) = calendar::moment(cell)
        {
            if !self.unit.is_empty() || self.factor != 1.0 {
                let name = &self.name;
                return Err(wrong(format!(
                    "the time {cell:?} is one of the calendar, and a factor or a unit is for \
                     numbers: name the column {name:?} alone"
                )));
            }
            return time.map(Some).map_err(|why| wrong(format!("the time {cell:?}: {why}")));
        }
        if self.unit.is_empty()
            && self.factor == 1.0
            && let Some(moment) = calendar::compact(cell)
        {
            return Ok(Some(moment));
        }
        if self.unit.is_empty() && self.factor == 1.0 && calendar::is_compact_day(cell) {
            let name = &self.name;
            return Err(wrong(format!(
                "the time {cell:?} may be a date or a number of seconds: write the date as \
                 2020-02-27, or name the unit of the number, as \"{name}:s\""
            )));
        }
        let Some(number) = self.exact(line, cell, layout)? else { return Ok(None) };
        let unit = if self.unit.is_empty() { "s" } else { &self.unit };
        let unit = format!("1{unit}").parse::<Duration>();
        let unit = unit.map_err(|_| wrong(format!("{:?} is no unit of time", self.unit)))?;
        let seconds = number * self.factor * unit.as_secs_f64();
        if seconds.abs() > LATEST {
            let name = &self.name;
            return Err(wrong(format!(
                "the time {cell:?} is too far away in seconds: name its unit, as \"{name}:ms\", or \
                 write it as 2020-02-27T17:30:15"
            )));
        }
        // All its digits count: those of the time since 1970 are more than a binary number has.
        let factor = self.factor.to_string();
        let factors = [&layout.with_point(cell), factor.as_str(), &unit.as_nanos().to_string()];
        let exact = decimal::product(factors.map(str::trim));
        let nanoseconds = exact.unwrap_or_else(|| (seconds * SECOND as f64).round() as i128);
        Ok(Some(Moment { nanoseconds, kind: Kind::Number, order: None }))
    }
}

/// The text with line ends of one kind: old programs end a line by a carriage return alone.
pub(crate) fn unified(text: &str) -> Cow<'_, str> {
    if text.contains('\r') {
        text.replace("\r\n", "\n").replace('\r', "\n").into()
    } else {
        text.into()
    }
}

/// The seconds of a time in nanoseconds, as text.
fn seconds(nanoseconds: i128) -> String {
    let text = format!("{}.{:09}", nanoseconds / SECOND, nanoseconds % SECOND);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests;
