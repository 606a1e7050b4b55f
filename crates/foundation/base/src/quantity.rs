//! Numbers with units as text: parsing, the error that names the fix, and serde by way of the text.

use crate::text::with_article;

/// A text that is not the quantity it should be: names what was expected, the text and the fix.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{text}\" is not {}: {fix}", with_article(kind))]
pub struct ParseUnitError {
    kind: &'static str,
    text: String,
    fix: String,
}

impl ParseUnitError {
    /// An error about `text`, which should have been a `kind`; `fix` says what to write.
    pub fn new(kind: &'static str, text: &str, fix: impl Into<String>) -> Self {
        Self { kind, text: text.to_owned(), fix: fix.into() }
    }
}

/// Parses `number [unit]`, finite, into the base unit; `bare` is the factor without a unit.
pub(crate) fn parse_quantity(
    text: &str,
    kind: &'static str,
    units: &[(&str, f64)],
    bare: f64,
    example: &str,
) -> Result<f64, ParseUnitError> {
    let trimmed = text.trim();
    let is_number = |c: char| c.is_ascii_digit() || matches!(c, '.' | '+' | '-' | '_');
    let mut split = trimmed.find(|c| !is_number(c)).unwrap_or(trimmed.len());
    // An exponent belongs to the number: 1e-5, but not the unit of 1ext.
    if let Some(rest) = trimmed[split..].strip_prefix(['e', 'E']) {
        let digits = rest.strip_prefix(['+', '-']).unwrap_or(rest);
        let count = digits.bytes().take_while(u8::is_ascii_digit).count();
        if count > 0 {
            split += 1 + (rest.len() - digits.len()) + count;
        }
    }
    let (number, unit) = trimmed.split_at(split);
    let unit = unit.trim();
    let value: f64 = number.replace('_', "").parse().map_err(|_| {
        ParseUnitError::new(kind, text, format!("write a number such as {example}"))
    })?;
    let factor = if unit.is_empty() {
        bare
    } else {
        let own = own_spelling(unit);
        let known = units.iter().find(|(name, _)| name.eq_ignore_ascii_case(own));
        let Some((_, factor)) = known else {
            let names: Vec<_> = units.iter().map(|(name, _)| *name).collect();
            let fix = format!("use one of the units {}, such as {example}", names.join(", "));
            return Err(ParseUnitError::new(kind, text, fix));
        };
        *factor
    };
    let result = value * factor;
    if !result.is_finite() {
        return Err(ParseUnitError::new(
            kind,
            text,
            format!("write a finite number such as {example}"),
        ));
    }
    Ok(result)
}

/// The spelling here of a unit as tc writes it, or with the Greek letter, which looks as the sign
/// for micro does.
fn own_spelling(unit: &str) -> &str {
    match unit {
        "nsec" | "nsecs" => "ns",
        "usec" | "usecs" | "\u{3bc}s" => "us",
        "msec" | "msecs" => "ms",
        "sec" | "secs" => "s",
        other => other,
    }
}

/// Implements serde by way of the textual form; numbers are accepted in the bare unit.
macro_rules! serde_by_text {
    ($type:ty, $expecting:literal) => {
        #[cfg(feature = "serde")]
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        #[cfg(feature = "serde")]
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Visitor;
                impl serde::de::Visitor<'_> for Visitor {
                    type Value = $type;
                    fn expecting(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                        f.write_str($expecting)
                    }
                    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<$type, E> {
                        text.parse().map_err(E::custom)
                    }
                    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<$type, E> {
                        $crate::text::number_text(value).parse().map_err(E::custom)
                    }
                    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<$type, E> {
                        value.to_string().parse().map_err(E::custom)
                    }
                    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<$type, E> {
                        value.to_string().parse().map_err(E::custom)
                    }
                }
                deserializer.deserialize_any(Visitor)
            }
        }
    };
}
pub(crate) use serde_by_text;
