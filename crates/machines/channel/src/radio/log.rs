//! Stations at rest: a station without traffic gets the signals it has sensed when it needs them.
//!
//! Nearly all that a neighbour hears of a frame follows from the frame alone: it arrives while the
//! air is silent, no bit of it can be damaged, and it leaves before anything else arrives. Such
//! frames are written into one log for all stations. A station reads the log when it stops to rest,
//! or when two signals meet at its receiver; until then a frame costs it next to nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use windfall_base::{Duration, Input, Instant, Overheard, Preamble};
use windfall_wire_link::ieee80211::PhyRate;

/// The largest value of a frame's duration field that is a duration, in microseconds
/// (802.11-2007, 7.1.3.2); other frames reserve the medium for less.
const LONGEST_RESERVATION: u16 = (1 << 15) - 1;
/// Stations between which every frame is for the other one.
const PAIR: usize = 2;
/// Entries of the log at most, before every station has to read it.
const LIMIT: usize = 1 << 15;

/// The effect of a signal that is alone in the air on a receiver that is not sending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The carrier is sensed, and the whole frame comes through without damage.
    Read,
    /// Nothing is noticed.
    Unnoticed,
    /// It depends on the receiver.
    Open,
}

/// The outcomes of the signals of one sender at its hearers.
#[derive(Clone, Debug)]
pub(super) struct Outlook {
    /// In the order of the hearers.
    pub(super) outcomes: Box<[Outcome]>,
    /// The first hearer of each wave, and the ports in it that read the frame.
    pub(super) readers: Box<[(u32, Arc<Ports>)]>,
}

impl Outlook {
    /// The ports that read the frame in the wave which begins with hearer `first`.
    pub(super) fn readers_of(&self, first: u32) -> Option<&Arc<Ports>> {
        let place = self.readers.binary_search_by_key(&first, |(begin, _)| *begin).ok()?;
        Some(&self.readers[place].1)
    }
}

/// The outlooks that have been needed, by sender, rate and preamble.
pub(super) type Outlooks = BTreeMap<(u16, PhyRate, bool), Arc<Outlook>>;

/// The key of an outlook.
pub(super) fn key(from: u16, rate: PhyRate, preamble: Preamble) -> (u16, PhyRate, bool) {
    (from, rate, preamble == Preamble::Short)
}

/// A set of ports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Ports {
    /// The number of the first word.
    first: usize,
    words: Box<[u64]>,
}

impl Ports {
    pub(super) fn new(ports: impl Iterator<Item = u16> + Clone) -> Self {
        let Some(least) = ports.clone().min() else { return Self::default() };
        let most = ports.clone().max().unwrap_or(least);
        let first = usize::from(least) / 64;
        let mut words = vec![0; usize::from(most) / 64 + 1 - first];
        for port in ports {
            words[usize::from(port) / 64 - first] |= 1 << (port % 64);
        }
        Self { first, words: words.into() }
    }

    #[inline]
    pub(super) fn contains(&self, port: u16) -> bool {
        let word = (usize::from(port) / 64).wrapping_sub(self.first);
        self.words.get(word).is_some_and(|word| word & (1 << (port % 64)) != 0)
    }
}

/// A frame that all of some stations have heard, each of them alone and whole.
#[derive(Clone, Debug)]
struct Entry {
    began: Instant,
    ended: Instant,
    head: [u8; 4],
    readers: Arc<Ports>,
}

/// The part that a station takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ear {
    /// The station is told everything as it happens.
    Awake,
    /// It rests, and its receiver takes each signal by itself, until there is none.
    Disturbed,
    /// It rests, and there is no signal at its receiver.
    Quiet,
    /// It rests, and there is one signal at its receiver, that of the transmission.
    Hears(u32),
}

/// The stations at rest, and the signals withheld from them.
#[derive(Debug)]
pub(super) struct Resting {
    ears: Vec<Ear>,
    /// Set for a contending station, which gets only edges of the signals.
    contends: Vec<bool>,
    /// The first entry that a station has not been told of.
    unread: Vec<u32>,
    log: Vec<Entry>,
}

/// The signals that a station that rests has missed.
#[derive(Debug, Default)]
pub(super) struct Missed {
    /// Frames that it has heard to the end.
    pub(super) frames: u64,
    /// The inputs that its station is to be given.
    pub(super) inputs: Vec<(Instant, Input)>,
}

impl Missed {
    /// Counts frames of which only the time matters.
    fn pass<'a>(&mut self, entries: impl Iterator<Item = &'a Entry>) {
        let mut passed = Duration::ZERO;
        let mut until = None;
        for entry in entries {
            self.frames += 1;
            passed += entry.ended.saturating_since(entry.began);
            until = Some(entry.ended);
        }
        self.inputs.extend(until.map(|until| (until, Input::CarrierPassed(passed))));
    }
}

impl Entry {
    /// The end of all time that the frame may reserve: after it the frame no longer matters.
    fn matters_until(&self) -> Instant {
        let [_, _, low, high] = self.head;
        let duration = u16::from_le_bytes([low, high]).min(LONGEST_RESERVATION);
        self.ended + Duration::from_micros(duration.into())
    }
}

impl Resting {
    pub(super) fn new(ports: u16) -> Self {
        let ports = usize::from(ports);
        let contends = vec![false; ports];
        Self { ears: vec![Ear::Awake; ports], contends, unread: vec![0; ports], log: Vec::new() }
    }

    /// Returns `true` if a station that rests is given nothing for now.
    #[inline]
    pub(super) fn is_untold(&self, port: u16) -> bool {
        matches!(self.ears[usize::from(port)], Ear::Quiet | Ear::Hears(_))
    }

    /// The station at `port` rests from now on; `is_quiet` tells of its receiver.
    pub(super) fn rest(&mut self, port: u16, is_quiet: bool) {
        let ear = &mut self.ears[usize::from(port)];
        if *ear == Ear::Awake {
            *ear = Ear::Disturbed;
            if is_quiet {
                self.settle(port);
            }
        }
    }

    /// The station at `port`, around which the air is silent, contends from now on; false if it
    /// rests already.
    pub(super) fn contend(&mut self, port: u16) -> bool {
        let is_awake = self.ears[usize::from(port)] == Ear::Awake;
        if is_awake {
            self.rest(port, true);
            self.contends[usize::from(port)] = true;
        }
        is_awake
    }

    /// Returns `true` if the station at `port` contends and is told by edges.
    #[inline]
    pub(super) fn contends(&self, port: u16) -> bool {
        self.contends[usize::from(port)]
    }

    /// The station at `port` no longer contends at rest; true if it did.
    #[inline]
    pub(super) fn stop_contending(&mut self, port: u16) -> bool {
        core::mem::take(&mut self.contends[usize::from(port)])
    }

    /// Returns `true` if there are more than so few stations that frames hardly have bystanders.
    pub(super) fn is_crowd(&self) -> bool {
        self.ears.len() > PAIR
    }

    /// The last signal at a receiver has gone: from here on, nothing need be told to a station that
    /// rests.
    #[inline]
    pub(super) fn settle(&mut self, port: u16) {
        let ear = &mut self.ears[usize::from(port)];
        if *ear == Ear::Disturbed {
            *ear = Ear::Quiet;
            self.unread[usize::from(port)] = self.log.len() as u32;
        }
    }

    /// A transmission arrives at a station; true if nothing has to be done for it.
    #[inline]
    pub(super) fn hear(&mut self, port: u16, transmission: u32, outcome: Outcome) -> bool {
        let ear = &mut self.ears[usize::from(port)];
        let is_heard = *ear == Ear::Quiet && outcome != Outcome::Open;
        if is_heard {
            *ear = Ear::Hears(transmission);
        }
        is_heard
    }

    /// A transmission ends at a station; true if nothing has to be done for it.
    #[inline]
    pub(super) fn leave(&mut self, port: u16, transmission: u32) -> bool {
        let ear = &mut self.ears[usize::from(port)];
        let was_heard = *ear == Ear::Hears(transmission);
        if was_heard {
            *ear = Ear::Quiet;
        }
        was_heard
    }

    /// Writes down a frame that stations at rest have begun to hear.
    pub(super) fn log(
        &mut self,
        began: Instant,
        ended: Instant,
        head: [u8; 4],
        readers: &Arc<Ports>,
    ) {
        self.log.push(Entry { began, ended, head, readers: Arc::clone(readers) });
    }

    /// Returns `true` if every station should read the log, so that it can be emptied.
    pub(super) fn is_full(&self) -> bool {
        self.log.len() >= LIMIT
    }

    /// Empties the log, which every station has read.
    pub(super) fn clear(&mut self) {
        self.log.clear();
        self.unread.fill(0);
    }

    /// The frames that a station has not been told of, oldest first.
    fn unread(&self, port: u16) -> impl DoubleEndedIterator<Item = &Entry> + Clone {
        let first = self.unread[usize::from(port)] as usize;
        let is_untold = self.is_untold(port);
        let log = if is_untold { &self.log[first..] } else { &[] };
        log.iter().filter(move |entry| entry.readers.contains(port))
    }

    /// Returns the time of others' carrier of which the station at `port` has not been told.
    pub(super) fn untold(&self, port: u16, now: Instant) -> Duration {
        self.unread(port).fold(Duration::ZERO, |sum, entry| {
            sum + entry.ended.min(now).saturating_since(entry.began)
        })
    }

    /// The transmission whose signal is at a station at rest.
    pub(super) fn hears(&self, port: u16) -> Option<u32> {
        match self.ears[usize::from(port)] {
            Ear::Hears(transmission) => Some(transmission),
            _ => None,
        }
    }

    /// Tells a station all it has not been told of; from here on signals are told as they happen,
    /// until there is none at its receiver. The last entry is left out if it `goes_on`.
    pub(super) fn disturb(&mut self, port: u16, goes_on: bool) -> Missed {
        let missed = self.missed(port, goes_on);
        if self.is_untold(port) {
            self.ears[usize::from(port)] = Ear::Disturbed;
        }
        missed
    }

    fn missed(&self, port: u16, goes_on: bool) -> Missed {
        let mut missed = Missed::default();
        let mut entries = self.unread(port);
        if goes_on {
            entries.next_back();
        }
        if self.contends[usize::from(port)] {
            // All but the time was told by edges.
            missed.pass(entries);
            return missed;
        }
        if let Some(last) = entries.clone().next_back() {
            let mut passed = Duration::ZERO;
            let mut until = None;
            for entry in entries {
                missed.frames += 1;
                if entry.ended < last.ended && entry.matters_until() <= last.ended {
                    passed += entry.ended.saturating_since(entry.began);
                    until = Some(entry.ended);
                    continue;
                }
                if let Some(until) = until.take() {
                    missed.inputs.push((until, Input::CarrierPassed(core::mem::take(&mut passed))));
                }
                let heard = Overheard { head: entry.head, good: true };
                missed.inputs.push((entry.began, Input::CarrierBusy));
                missed.inputs.push((entry.ended, Input::Overheard(heard)));
                missed.inputs.push((entry.ended, Input::CarrierIdle));
            }
        }
        missed
    }

    /// The station at `port` rests no longer.
    #[inline]
    pub(super) fn awaken(&mut self, port: u16) {
        self.ears[usize::from(port)] = Ear::Awake;
    }
}
