//! The queue before a link, as users write it.

mod management;

use core::fmt;
use core::num::NonZeroU32;
use core::str::FromStr;

use windfall_base::{ByteCount, Duration, ParseUnitError};
use windfall_queue::{Discipline, Limits, Management};
use windfall_settings::text::ConstText;

/// The names of the disciplines, `last` before the last of them.
const fn disciplines(last: &str) -> ConstText<256> {
    let all = Discipline::BUILT_IN;
    let mut text = ConstText::EMPTY;
    let mut at = 0;
    while at < all.len() {
        text = text.with_item((at, all.len()), all[at].name, last);
        at += 1;
    }
    text
}

/// The names of what keeps a queue short, from number `first` on, `last` before the last of them.
const fn managements(first: usize, last: &str) -> ConstText<256> {
    let all = Management::ALL;
    let mut text = ConstText::EMPTY;
    let mut at = first;
    while at < all.len() {
        text = text.with_item((at - first, all.len() - first), all[at].name(), last);
        at += 1;
    }
    text
}

/// The description of the setting.
pub(crate) const HELP: &str = {
    const LENGTH: &str = ". Its length is a number of packets, bytes with a unit, or infinite. \
                          mark:N marks packets that find N waiting (ECN), as in \
                          \"elf,100,mark:20\". To keep the queue short, replace ";
    const TEXT: ConstText<1024> = ConstText::EMPTY
        .with("Queue before the link: ")
        .with(disciplines(" or ").as_str())
        .with(LENGTH)
        .with(Management::DropTail.name())
        .with(" by ")
        .with(managements(1, " or ").as_str())
        .with(", optionally with target:5ms, interval:100ms or noecn");
    TEXT.as_str()
};

/// The queue before a link: in which order flows are served, how long it may become, and from which
/// length on it marks.
///
/// `elf`, `100` packets, `64kB`, or several as `wfq,100,64kB,mark:20`; `infinite` has no bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Queue {
    /// Whose packet is next.
    pub discipline: Option<Discipline>,
    /// The limit of its length; 1000 packets by default.
    pub length: Option<QueueLength>,
    /// The number of packets from which on those that join are marked (ECN); none by default.
    pub mark: Option<NonZeroU32>,
    /// The way in which it keeps itself short; droptail by default.
    pub management: Option<Management>,
}

/// The limit of the length of a queue; unbounded by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueLength {
    /// The greatest number of packets.
    pub packets: Option<NonZeroU32>,
    /// The greatest number of bytes.
    pub bytes: Option<ByteCount>,
}

impl fmt::Display for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let discipline = self.discipline.map(|discipline| discipline.to_string());
        let length = self.length.map(|length| length.to_string());
        let mark = self.mark.map(|packets| format!("mark:{packets}"));
        let management = self.management.map(management::to_text);
        let parts = [discipline, management, length, mark];
        let parts: Vec<_> = parts.into_iter().flatten().collect();
        f.write_str(&parts.join(","))
    }
}

/// Bytes of the shortest packet that can be marked: a header of IPv4 without options.
const SHORTEST: u64 = 20;

impl QueueLength {
    /// The length of a queue of which only the mark or the discipline is given.
    fn usual() -> Self {
        let packets = u32::try_from(Limits::default().packets).ok().and_then(NonZeroU32::new);
        Self { packets, bytes: None }
    }

    /// Returns the greatest number of packets in it, however short they are, and what happens to
    /// one more; `None` if it has no bound.
    fn most_packets(&self) -> Option<(u64, String)> {
        let by_count = self.packets.map(|packets| u64::from(packets.get()));
        let by_bytes = self.bytes.map(|bytes| bytes.0 / SHORTEST);
        match (by_count, by_bytes) {
            (count, Some(most)) if count.is_none_or(|count| most < count) => {
                let drops =
                    format!("holds at most {most} of the shortest packets, {SHORTEST} bytes each");
                Some((most, drops))
            }
            (Some(most), _) => Some((most, format!("drops a packet that finds {most} waiting"))),
            (None, _) => None,
        }
    }

    /// Names it with its units.
    fn described(&self) -> String {
        match self.packets {
            None => self.to_string(),
            Some(packets) => match self.bytes {
                None => format!("{packets} packets"),
                Some(bytes) => format!("{packets} packets and {bytes}"),
            },
        }
    }
}

impl fmt::Display for QueueLength {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.packets, self.bytes) {
            (None, None) => f.write_str("infinite"),
            (Some(packets), None) => packets.fmt(f),
            (None, Some(bytes)) => bytes.fmt(f),
            (Some(packets), Some(bytes)) => write!(f, "{packets},{bytes}"),
        }
    }
}

impl FromStr for Queue {
    type Err = ParseUnitError;

    fn from_str(text: &str) -> Result<Self, ParseUnitError> {
        let refused = || {
            let fix = format!(
                "write a discipline ({}), what keeps it short ({}), packets from 1 to 4294967295, \
                 bytes with a unit, mark:N, infinite, or several: \"wfq,64kB\"",
                disciplines(", ").as_str(),
                managements(0, ", ").as_str()
            );
            ParseUnitError::new("queue", text, fix)
        };
        let mut queue = Self::default();
        let mut parameters: Vec<&str> = Vec::new();
        for part in text.split(',').map(str::trim) {
            if management::is_parameter(part) {
                let name = |part: &str| part.split(':').next().unwrap_or(part).to_owned();
                if parameters.iter().any(|other| name(other) == name(part)) {
                    return Err(ParseUnitError::new("queue", text, "say each parameter once"));
                }
                parameters.push(part);
            } else {
                queue.read(part).ok_or_else(|| {
                    let has_unit = part.ends_with(|c: char| c.is_ascii_alphabetic());
                    if !has_unit || part.parse::<Duration>().is_err() {
                        return refused();
                    }
                    let fix = format!(
                        "a length is in packets or bytes, such as 100 or 64kB, and \
                         codel,target:{part} limits the time that packets wait"
                    );
                    ParseUnitError::new("queue", text, fix)
                })?;
            }
        }
        for part in parameters {
            let management = queue.management.as_mut();
            let management = management.ok_or_else(|| {
                let fix = "name what it belongs to, such as codel";
                ParseUnitError::new("queue", text, fix)
            })?;
            management::set(management, part)
                .map_err(|fix| ParseUnitError::new("queue", text, fix))?;
        }
        let management = queue.management.as_ref().map_or(Ok(()), management::check);
        management.map_err(|fix| ParseUnitError::new("queue", text, fix))?;
        Ok(queue)
    }
}

impl Queue {
    /// Tells whether it sorts packets by their transport flows.
    pub(crate) fn tells_flows_apart(&self) -> bool {
        matches!(self.management, Some(Management::FqCodel(_)))
    }

    /// Says why its mark has no place beside what keeps it short, if it has none.
    pub(crate) fn mark_beside_control(&self) -> Option<String> {
        let management = self.management.filter(|it| it.target().is_some());
        let mark = self.mark?;
        let name = management?.name();
        Some(format!("{name} marks by itself: remove mark:{mark}, or remove {name}"))
    }

    /// Says why its marks would never be set, if they would not: a packet that joins finds at most
    /// one packet less than the queue holds.
    pub(crate) fn useless_mark(&self) -> Option<String> {
        let mark = u64::from(self.mark?.get());
        let length = self.length.unwrap_or_else(QueueLength::usual);
        let (most, drops) = length.most_packets()?;
        if mark < most {
            return None;
        }
        let default = if self.length.is_none() { ", its default" } else { "" };
        let fix = match most {
            0 | 1 => "make the queue longer".to_owned(),
            _ => format!("mark from 1 to {} packets on, or make the queue longer", most - 1),
        };
        Some(format!(
            "mark:{mark} never marks in a queue of {}{default}, which {drops}: {fix}",
            length.described()
        ))
    }

    /// Takes one part; `None` if it is none, or there was one like it.
    fn read(&mut self, part: &str) -> Option<()> {
        if let Ok(discipline) = part.parse() {
            return self.discipline.replace(discipline).is_none().then_some(());
        }
        if let Some(management) = management::named(part) {
            return self.management.replace(management).is_none().then_some(());
        }
        if let Some(packets) = part.strip_prefix("mark:") {
            return self.mark.replace(packets.parse().ok()?).is_none().then_some(());
        }
        if part == "infinite" {
            return self.length.replace(QueueLength::default()).is_none().then_some(());
        }
        let mut length = self.length.unwrap_or_default();
        // Nothing can be added to what has no bound.
        self.length.is_none_or(|length| length != QueueLength::default()).then_some(())?;
        if let Ok(packets) = part.parse() {
            length.packets.replace(packets).is_none().then_some(())?;
        } else {
            part.ends_with(['B', 'b']).then_some(())?;
            let bytes: ByteCount = part.parse().ok().filter(|bytes: &ByteCount| bytes.0 > 0)?;
            length.bytes.replace(bytes).is_none().then_some(())?;
        }
        self.length = Some(length);
        Some(())
    }
}

#[cfg(test)]
mod tests;
