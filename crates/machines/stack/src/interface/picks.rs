//! Packets that are picked from a flow by their numbers, so that something happens to them alone.

use core::fmt;
use core::ops::RangeInclusive;
use core::str::FromStr;

use windfall_base::{ParseUnitError, Picked};

/// Packets of a flow by their numbers, from 1 on.
///
/// The text form has commas between its parts: `3` or `packet 3`, `7..9` for packets 7, 8 and 9,
/// `syn` for every TCP segment with SYN, and `syn 1` or `syn 1..2` for some of these.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PacketList(Vec<Pick>);

/// Packets of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Pick {
    of_syn: bool,
    numbers: RangeInclusive<u64>,
}

impl PacketList {
    /// Tells whether it has the packet of this number in the flow; `syn` is its number among the
    /// segments with SYN, if it is one.
    fn has(&self, number: u64, syn: Option<u64>) -> bool {
        self.0.iter().any(|pick| {
            let number = if pick.of_syn { syn } else { Some(number) };
            number.is_some_and(|number| pick.numbers.contains(&number))
        })
    }
}

impl fmt::Display for PacketList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, Pick { of_syn, numbers }) in self.0.iter().enumerate() {
            let comma = if place > 0 { ", " } else { "" };
            f.write_str(comma)?;
            let word = if *of_syn { "syn " } else { "" };
            match (numbers.start(), numbers.end()) {
                (1, &u64::MAX) if *of_syn => f.write_str("syn")?,
                (first, last) if first == last => write!(f, "{word}{first}")?,
                (first, &u64::MAX) => write!(f, "{word}{first}..")?,
                (first, last) => write!(f, "{word}{first}..{last}")?,
            }
        }
        Ok(())
    }
}

impl FromStr for PacketList {
    type Err = ParseUnitError;

    fn from_str(text: &str) -> Result<Self, ParseUnitError> {
        let picks: Option<Vec<Pick>> = text.split(',').map(pick).collect();
        picks.map(Self).ok_or_else(|| {
            let fix = "write numbers of packets from 1 on with commas between, such as 3 or \
                       7..9, and syn or syn 1 for segments that open a TCP connection";
            ParseUnitError::new("list of packets", text, fix)
        })
    }
}

fn pick(text: &str) -> Option<Pick> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let (of_syn, numbers) = match words[..] {
        ["syn"] => return Some(Pick { of_syn: true, numbers: 1..=u64::MAX }),
        ["syn", numbers] => (true, numbers),
        ["packet" | "packets", numbers] | [numbers] => (false, numbers),
        _ => return None,
    };
    let number = |text: &str| text.parse::<u64>().ok().filter(|number| *number > 0);
    let numbers = match numbers.split_once("..") {
        None => number(numbers)?..=number(numbers)?,
        Some((first, "")) => number(first)?..=u64::MAX,
        Some((first, last)) => number(first)?..=number(last)?,
    };
    (!numbers.is_empty()).then_some(Pick { of_syn, numbers })
}

/// The packets of a flow to which something happens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Picks {
    /// Packets that the medium loses.
    pub lose: Option<PacketList>,
    /// Packets of which it inverts a bit.
    pub damage: Option<PacketList>,
    /// Packets that arrive twice.
    pub copy: Option<PacketList>,
}

/// The packets of a flow so far, and what happens to the next ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Picker {
    picks: Picks,
    packets: u64,
    syns: u64,
}

impl Picker {
    /// Picks by `picks`; `None` if nothing is to be picked.
    pub(super) fn new(picks: &Picks) -> Option<Self> {
        let picks = picks.clone();
        (picks != Picks::default()).then(|| Self { picks, ..Self::default() })
    }

    /// Counts the next packet of the flow, a TCP segment with SYN or not, and returns what is to
    /// happen to it.
    pub(super) fn next(&mut self, is_syn: bool) -> Picked {
        self.packets += 1;
        self.syns += u64::from(is_syn);
        let syn = is_syn.then_some(self.syns);
        let number = self.packets;
        let has = |list: &Option<PacketList>| list.as_ref().is_some_and(|it| it.has(number, syn));
        let Picks { lose, damage, copy } = &self.picks;
        Picked { lose: has(lose), damage: has(damage), copy: has(copy) }
    }
}

#[cfg(test)]
mod tests;
