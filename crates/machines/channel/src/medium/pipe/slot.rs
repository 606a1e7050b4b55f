//! Slots: frames leave together, at moments with gaps between them.

use core::fmt;
use core::str::FromStr;

use windfall_base::{ByteCount, Duration, Instant, Seed, SlotTiming, Stream};

use super::jitter::{Jitter, Jitters};
use crate::air::ParseModelError;

/// The moments at which frames leave, as those of a medium that is granted by turns.
///
/// The text form is that of netem: `MIN [MAX] [packets N] [bytes B]`, such as `20ms 40ms packets
/// 32`, or `distribution NAME DELAY JITTER` in place of the times, with the names of [`Jitter`].
/// Frames keep their order.
#[derive(Clone, Debug, PartialEq)]
pub struct Slotting {
    gap: Gap,
    /// The most frames that leave in a slot.
    packets: Option<u32>,
    /// The bytes after which no further frame leaves in a slot.
    bytes: Option<ByteCount>,
}

/// The time from one slot to the next.
#[derive(Clone, Debug, PartialEq)]
enum Gap {
    /// Evenly spread from one time to another.
    Even(Duration, Duration),
    /// Around a mean.
    Around(Duration, Jitter),
}

impl Slotting {
    /// Tells whether its gaps have a distribution around a mean.
    #[must_use]
    pub const fn has_distribution(&self) -> bool {
        matches!(self.gap, Gap::Around(..))
    }

    /// Returns the time that such slots may add to that of frames.
    pub(super) fn timing(&self) -> SlotTiming {
        let (mean, wait) = match &self.gap {
            Gap::Even(least, most) => (*least + (*most - *least) / 2, *most),
            Gap::Around(mean, jitter) => (*mean, mean.saturating_add(jitter.allowance())),
        };
        let per_frame = self.packets.map_or(Duration::ZERO, |packets| mean / u64::from(packets));
        let per_byte = self.bytes.map_or(Duration::ZERO, |bytes| mean / bytes.0);
        SlotTiming { wait, per_frame, per_byte }
    }

    /// Takes the distribution of the gaps from a [table](super::Distribution::from_table), unless
    /// they are uniform.
    ///
    /// # Errors
    /// If it is none.
    pub fn with_table(self, text: &str) -> Result<Self, ParseModelError> {
        let gap = match self.gap {
            Gap::Around(mean, jitter) => Gap::Around(mean, jitter.with_table(text)?),
            even @ Gap::Even(..) => even,
        };
        Ok(Self { gap, ..self })
    }
}

impl fmt::Display for Slotting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.gap {
            Gap::Even(least, most) if least == most => write!(f, "{least}")?,
            Gap::Even(least, most) => write!(f, "{least} {most}")?,
            Gap::Around(mean, jitter) => {
                let name = jitter.distribution.name();
                write!(f, "distribution {name} {mean} {}", jitter.spread)?;
            }
        }
        self.packets.map_or(Ok(()), |packets| write!(f, " packets {packets}"))?;
        self.bytes.map_or(Ok(()), |bytes| write!(f, " bytes {bytes}"))
    }
}

impl FromStr for Slotting {
    type Err = ParseModelError;

    fn from_str(text: &str) -> Result<Self, ParseModelError> {
        read(text).ok_or_else(|| {
            let fix = "write the least and perhaps the greatest time from slot to slot, or \
                       `distribution`, its name, a mean and a jitter, and perhaps the packets and \
                       bytes of a slot, such as \"20ms 40ms packets 32 bytes 64kB\"";
            ParseModelError::new("slot", text, fix.to_owned())
        })
    }
}

fn read(text: &str) -> Option<Slotting> {
    let mut words = text.split_whitespace().peekable();
    let gap = if words.next_if_eq(&"distribution").is_some() {
        let name = words.next()?;
        let mean = words.next()?.parse().ok()?;
        let jitter: Jitter = format!("{} {name}", words.next()?).parse().ok()?;
        Gap::Around(mean, jitter)
    } else {
        let least: Duration = words.next()?.parse().ok()?;
        let most = words.next_if(|word| word.parse::<Duration>().is_ok());
        let most = most.map_or(Some(least), |word| word.parse().ok())?;
        (!most.is_zero() && least <= most).then_some(Gap::Even(least, most))?
    };
    let mut slot = Slotting { gap, packets: None, bytes: None };
    while let Some(word) = words.next() {
        let value = words.next()?;
        match word {
            "packets" if slot.packets.is_none() => {
                slot.packets = Some(value.parse().ok().filter(|packets| *packets > 0)?);
            }
            "bytes" if slot.bytes.is_none() => {
                slot.bytes = Some(value.parse().ok().filter(|bytes: &ByteCount| bytes.0 > 0)?);
            }
            _ => return None,
        }
    }
    Some(slot)
}

/// Slots at work.
#[derive(Clone, Debug)]
pub(super) struct Slots {
    slot: Slotting,
    stream: Stream,
    /// The gaps that have a mean.
    around: Option<(Duration, Jitters)>,
    /// The number of the slot.
    number: u64,
    /// When it begins.
    at: Instant,
    /// The frames and the bytes that it has carried.
    carried: (u32, u64),
    /// When the last frame left.
    left: Instant,
}

impl Slots {
    /// Slots of which the first begins at the start.
    pub(super) fn new(slot: Slotting, seed: Seed, name: &str) -> Self {
        let stream = Stream::new(seed, &format!("{name}/slot"));
        let around = match &slot.gap {
            Gap::Even(..) => None,
            Gap::Around(mean, jitter) => {
                Some((*mean, Jitters::new(jitter.clone(), stream.clone())))
            }
        };
        let at = Instant::START;
        let left = Instant::START;
        Self { slot, stream, around, number: 0, at, carried: (0, 0), left }
    }

    /// Returns the time that they may add to that of frames.
    pub(super) fn timing(&self) -> SlotTiming {
        self.slot.timing()
    }

    /// Continues the slots of `before` if they are unchanged. Other slots begin after the frames
    /// that wait for one of the slots before.
    pub(super) fn behind(self, before: Option<&Self>) -> Self {
        match before {
            Some(before) if before.slot == self.slot => before.clone(),
            Some(before) => Self { left: before.left, ..self },
            None => self,
        }
    }

    /// Returns when a frame of `length` bytes leaves that came at `came` and could leave at `due`.
    ///
    /// As in netem, a slot that has begun before a frame is due is over for it: the next one is
    /// drawn from when the frame became the first to leave, and again from when it is due if that
    /// is too early too.
    pub(super) fn leave(&mut self, came: Instant, due: Instant, length: usize) -> Instant {
        for from in [came.max(self.left), due] {
            if self.at < due {
                self.draw(from);
            }
        }
        self.left = self.at;
        self.carried.0 += 1;
        self.carried.1 += length as u64;
        let (packets, bytes) = self.carried;
        let is_full = self.slot.packets.is_some_and(|most| packets >= most)
            || self.slot.bytes.is_some_and(|most| bytes >= most.0);
        if is_full {
            self.draw(self.left);
        }
        self.left
    }

    /// Begins the next slot, a gap after `from`.
    fn draw(&mut self, from: Instant) {
        let gap = match (&self.slot.gap, &mut self.around) {
            (_, Some((mean, jitters))) => jitters.delay(*mean, self.number),
            (Gap::Even(least, most), _) => {
                let spread = (*most - *least).as_nanos() as f64;
                let beyond = self.stream.unit_at(self.number) * spread;
                least.saturating_add(Duration::from_nanos(beyond as u64))
            }
            (Gap::Around(mean, _), None) => *mean,
        };
        self.number += 1;
        self.at = from.saturating_add(gap);
        self.carried = (0, 0);
    }
}

#[cfg(test)]
mod tests;
