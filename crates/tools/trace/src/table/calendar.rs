//! Times of the calendar: ISO 8601, and what loggers write in its place.

/// The nanoseconds of a second, and of a day.
pub(super) const SECOND: i128 = 1_000_000_000;
pub(super) const DAY: i128 = 86_400 * SECOND;

/// A time of the calendar.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Moment {
    /// The nanoseconds since 1970; without a date those since midnight.
    pub(super) nanoseconds: i128,
    /// The parts of it that the text has.
    pub(super) kind: Kind,
    /// The order of its date; `None` without one.
    pub(super) order: Option<DateOrder>,
}

/// The order in which a date names day, month and year.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DateOrder {
    /// The year comes first, as in 2020-02-27.
    Year,
    /// The day comes first, as in 27.02.2020.
    Day,
    /// The month comes first, as in 02/27/2020.
    Month,
}

impl DateOrder {
    /// The name for messages.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Year => "year, month, day",
            Self::Day => "day, month, year",
            Self::Month => "month, day, year",
        }
    }
}

/// The parts of a time that a text has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A number of seconds.
    Number,
    /// A day alone.
    Day,
    /// A day and a time of day.
    Date,
    /// A time of day alone.
    Clock,
}

impl Kind {
    /// The name for messages; times of different names have no common origin.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Number => "a number",
            Self::Day | Self::Date => "a date",
            Self::Clock => "a time of day",
        }
    }
}

impl Moment {
    /// Says in what a time differs from the `first` one of its column, if the two have no common
    /// origin or write their dates in different orders.
    pub(super) fn form_unlike(&self, first: &Self) -> Option<String> {
        let this = self.kind.name();
        let those = first.kind.name();
        if this != those {
            return Some(format!("is {this}, where the first one is {those}"));
        }
        match (self.order, first.order) {
            (Some(this), Some(those)) if this != those => {
                let this = this.name();
                let those = those.name();
                Some(format!("has its date as {this}, the first one as {those}"))
            }
            _ => None,
        }
    }
}

/// Why a text that looks like a time is none.
type Read<T> = Result<T, &'static str>;

/// Digits of a day and a time of day without anything between them, and of the parts of a second
/// that may follow: milliseconds, microseconds, nanoseconds.
const COMPACT: [usize; 4] = [14, 17, 20, 23];
/// Digits of a day, and of a time of day.
const DAY_DIGITS: usize = 8;
const TIME_DIGITS: usize = 6;
/// The years of compact times: what has others is a number.
const YEARS: core::ops::RangeInclusive<i64> = 1900..=2199;

/// Reads a day and a time of day without anything between them, as 20200227173015 with milliseconds
/// or other parts of a second, a zone, or neither; `None` of what is a number.
pub(super) fn compact(text: &str) -> Option<Moment> {
    let text = text.trim();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    if !COMPACT.contains(&digits) {
        return None;
    }
    let (day, time) = text.split_at(DAY_DIGITS);
    let day = date(day)?.ok().filter(|it| YEARS.contains(&it.numbers[0]))?;
    let time = seconds_of_time(time)?;
    together(Some(Ok(day)), time, Kind::Date).ok()
}

/// Tells whether a number is the digits of a day, as 20200227 is.
pub(super) fn is_compact_day(text: &str) -> bool {
    let text = text.trim();
    let are_digits = text.len() == DAY_DIGITS && text.bytes().all(|byte| byte.is_ascii_digit());
    let day = if are_digits { date(text) } else { None };
    day.and_then(Result::ok).is_some_and(|day| YEARS.contains(&day.numbers[0]))
}

/// Reads a time of the calendar; `None` if the text is of another form.
pub(super) fn moment(text: &str) -> Option<Read<Moment>> {
    if let Some(moment) = compact(text) {
        return Some(Ok(moment));
    }
    let text = text.trim();
    if !text.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let (day, time) = match text.find(['T', 't', '_', ' ']) {
        Some(at) => (Some(&text[..at]), text[at + 1..].trim_start()),
        None if text.contains(':') => (None, text),
        None => (Some(text), ""),
    };
    let day = match day {
        Some(day) => Some(date(day)?),
        None => None,
    };
    let kind = match (&day, time.is_empty()) {
        (None, _) => Kind::Clock,
        (Some(_), true) => Kind::Day,
        (Some(_), false) => Kind::Date,
    };
    let time = if time.is_empty() { Some(Ok(0.0)) } else { seconds_of_time(time) }?;
    Some(together(day, time, kind))
}

fn together(date: Option<Read<Date>>, time: Read<f64>, kind: Kind) -> Read<Moment> {
    let date = date.transpose()?;
    let days = date.map_or(Ok(0), |date| {
        let [year, month, day] = date.numbers;
        days_since_1970(year, month, day)
    })?;
    let order = date.map(|date| date.order);
    // The seconds of a day are exact to a nanosecond, those since 1970 would not be.
    let time = (time? * SECOND as f64).round() as i128;
    Ok(Moment { nanoseconds: i128::from(days) * DAY + time, kind, order })
}

/// A date as a text has it.
#[derive(Clone, Copy)]
struct Date {
    /// Year, month and day.
    numbers: [i64; 3],
    order: DateOrder,
}

fn date(text: &str) -> Option<Read<Date>> {
    let parts: Vec<&str> = text.split(['-', '.', '/']).collect();
    let [first, second, third] = match parts[..] {
        [compact] if compact.len() == 8 && compact.is_ascii() => {
            [&compact[..4], &compact[4..6], &compact[6..]]
        }
        [first, second, third] => [first, second, third],
        _ => return None,
    };
    let [a, b, c] = [natural_number(first)?, natural_number(second)?, natural_number(third)?];
    Some(match (first.len(), third.len()) {
        (4, _) => Ok(Date { numbers: [a, b, c], order: DateOrder::Year }),
        (_, 4) if text.contains('.') || a > 12 => {
            Ok(Date { numbers: [c, b, a], order: DateOrder::Day })
        }
        (_, 4) if b > 12 => Ok(Date { numbers: [c, a, b], order: DateOrder::Month }),
        (_, 4) => Err("it may be of two days: write the date as 2020-02-27"),
        _ => return None,
    })
}

/// Reads a number that is not negative.
fn natural_number(text: &str) -> Option<i64> {
    text.parse::<i64>().ok().filter(|it| *it >= 0)
}

/// Returns the seconds since midnight in UTC, if the text names a zone.
fn seconds_of_time(text: &str) -> Option<Read<f64>> {
    let text = ["Z", "z", "UTC", "GMT"].iter().find_map(|it| text.strip_suffix(it)).unwrap_or(text);
    let text = text.trim_end();
    let (time, zone) = text.find(['+', '-']).map_or((text, ""), |at| text.split_at(at));
    let shift = if zone.is_empty() { Some(0.0) } else { shift_of_zone(zone) }?;
    let time = time.trim_end();
    let fraction;
    let parts: Vec<&str> = if time.contains(':') {
        time.split(':').collect()
    } else if time.matches('.').count() == 2 {
        time.split('.').collect()
    } else if time.len() >= 4 && time.is_ascii() {
        let digits = time.bytes().take_while(u8::is_ascii_digit).count();
        if digits > TIME_DIGITS {
            // Parts of a second without a point before them.
            fraction = format!("{}.{}", &time[4..TIME_DIGITS], &time[TIME_DIGITS..]);
            vec![&time[..2], &time[2..4], &fraction]
        } else {
            [&time[..2], &time[2..4], &time[4..]].into_iter().filter(|it| !it.is_empty()).collect()
        }
    } else {
        return None;
    };
    let number = |text: &str| text.replace(',', ".").parse::<f64>().ok();
    // Spreadsheets write minutes and seconds like hours and minutes, and leave out the hours.
    let is_ambiguous = parts.len() == 2 && parts.iter().any(|it| it.contains(['.', ',']));
    let numbers: Vec<f64> = parts.into_iter().map(number).collect::<Option<_>>()?;
    if is_ambiguous {
        return Some(Err("it may be minutes and seconds: write hours, minutes and seconds"));
    }
    let (hour, minute, second) = match numbers[..] {
        [hour, minute] => (hour, minute, 0.0),
        [hour, minute, second] => (hour, minute, second),
        _ => return None,
    };
    let is_time = (0.0..24.0).contains(&hour)
        && (0.0..60.0).contains(&minute)
        && (0.0..61.0).contains(&second);
    Some(if is_time {
        Ok(hour * 3600.0 + minute * 60.0 + second - shift)
    } else {
        Err("there is no such time of day")
    })
}

/// Returns the seconds of `+01:00`, `-0530` or `+2`.
fn shift_of_zone(zone: &str) -> Option<f64> {
    let sign = if zone.starts_with('-') { -1.0 } else { 1.0 };
    let digits: String = zone[1..].chars().filter(|c| *c != ':').collect();
    let number = digits.parse::<u32>().ok()?;
    let (hours, minutes) =
        if digits.len() > 2 { (number / 100, number % 100) } else { (number, 0) };
    Some(sign * f64::from(hours * 3600 + minutes * 60))
}

fn days_since_1970(year: i64, month: i64, day: i64) -> Read<i64> {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let february = if is_leap { 29 } else { 28 };
    let lengths = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let month = usize::try_from(month - 1).ok().filter(|it| *it < 12);
    let month = month.ok_or("there is no such month")?;
    if !(1..=lengths[month]).contains(&day) || !(1..=9999).contains(&year) {
        return Err("there is no such day");
    }
    let before = 365 * (year - 1970) + leap_days(year - 1) - leap_days(1969);
    Ok(before + lengths[..month].iter().sum::<i64>() + day - 1)
}

/// Returns the number of leap days before the end of a year.
fn leap_days(year: i64) -> i64 {
    year / 4 - year / 100 + year / 400
}
