//! The limit of retransmissions of a link.

use core::fmt;
use core::num::NonZeroU8;
use core::str::FromStr;

use windfall_base::{Class, ParseUnitError};

/// The maximum number of attempts of a link at each packet (S3.10, S3.12). The owner of a packet
/// may override it by [`Class::attempts`].
///
/// The text form is `none`, `persistent`, or the number of retransmissions after the first attempt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Arq {
    /// One attempt: each packet is sent once and then discarded.
    #[default]
    None,
    /// No limit: a packet is retransmitted until the receiver acknowledges it.
    Persistent,
    /// This number of attempts in all; then the packet is dropped.
    Attempts(NonZeroU8),
}

impl Arq {
    /// Gives up after this number of retransmissions, at most 254.
    #[must_use]
    pub const fn after(retransmissions: u8) -> Self {
        Self::Attempts(NonZeroU8::MIN.saturating_add(retransmissions))
    }

    /// Returns the number of attempts for a packet of `class`; `None` for no limit.
    #[must_use]
    pub fn limit(self, class: &Class) -> Option<u32> {
        if let Some(attempts) = class.attempts {
            return Some(u32::from(attempts.get()));
        }
        match self {
            Self::None => Some(1),
            Self::Persistent => None,
            Self::Attempts(attempts) => Some(u32::from(attempts.get())),
        }
    }
}

impl fmt::Display for Arq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Persistent => f.write_str("persistent"),
            Self::Attempts(attempts) => (attempts.get() - 1).fmt(f),
        }
    }
}

impl FromStr for Arq {
    type Err = ParseUnitError;

    fn from_str(text: &str) -> Result<Self, ParseUnitError> {
        match text.trim() {
            "none" => Ok(Self::None),
            "persistent" => Ok(Self::Persistent),
            number => match number.parse() {
                Ok(retransmissions) if retransmissions < u8::MAX => {
                    Ok(Self::after(retransmissions))
                }
                _ => Err(ParseUnitError::new(
                    "retransmission policy",
                    text,
                    "use none, persistent, or how often to retransmit a frame, 0 to 254",
                )),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_read_and_written_as_retransmissions() {
        for text in ["none", "persistent", "0", "3", "254"] {
            let limit: Arq = text.parse().expect("a limit");
            assert_eq!(limit.to_string(), text);
        }
        assert_eq!(" 3 ".parse(), Ok(Arq::after(3)));
        for text in ["255", "256", "-1", "often", ""] {
            assert!(text.parse::<Arq>().is_err(), "{text}");
        }
    }

    #[test]
    fn the_owner_of_a_packet_overrides_the_limit_of_its_link() {
        let own = Class { attempts: NonZeroU8::new(9), ..Class::default() };
        for (arq, attempts) in
            [(Arq::None, Some(1)), (Arq::after(3), Some(4)), (Arq::Persistent, None)]
        {
            assert_eq!(arq.limit(&Class::default()), attempts);
            assert_eq!(arq.limit(&own), Some(9));
        }
    }
}
