//! What this project adds to IEEE 802.11: coded data frames, reports in acknowledgements, frames
//! made of several copies, further parity in place of a copy.
//!
//! The DCF calls this layer and is complete without it. In a station without a code in its
//! configuration each call leaves frames as they are, and what remains is the standard.
//!
//! - [`ReceiverCode`]: sees each frame before the DCF reads it, and writes the reports.
//! - [`SenderCode`]: the code of the packet in hand, and the parity that its receiver asked for.
//! - `coding`: the parity of a frame. `combine`: damaged copies and further parity.

mod coding;
mod combine;

use bytes::Bytes;
use windfall_base::Frame;
use windfall_wire_link::check::frame_check;
use windfall_wire_link::ieee80211::coding::MARK_LEN;
use windfall_wire_link::ieee80211::header::FCS_LEN;
use windfall_wire_link::ieee80211::{Code, Header, Increment, Kind, MacAddress, Report};

pub use coding::{RadioPolicy, UnknownRadioPolicy};

use super::assembly::Assembly;
use super::config::Config;
use combine::{CopyStore, Taken};

/// The receiver's half of the extension.
#[derive(Debug)]
pub(super) struct ReceiverCode {
    address: MacAddress,
    /// The code of a frame whose marks are lost; `None` if frames are not coded.
    usual: Option<Code>,
    /// Set if damaged frames are kept and combined.
    combines: bool,
    copies: CopyStore,
}

/// The outcome of the extension for a frame that has arrived.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reception {
    /// The frame is whole, now or from the beginning.
    pub(super) is_whole: bool,
    /// The frame carried further parity instead of a copy.
    pub(super) is_parity: bool,
    /// The number of copies and increments of which it was made.
    pub(super) combined: Option<u32>,
    finding: Finding,
}

/// The content of a report on a frame beside its strength; by default that it stayed damaged.
#[derive(Clone, Copy, Debug, Default)]
struct Finding {
    /// The symbols corrected in its worst block.
    corrected: Option<u8>,
    /// It was made of several copies, or with further parity.
    combined: bool,
    /// It is kept, and further parity up to this place should make it whole.
    wanted: Option<u8>,
}

impl ReceiverCode {
    pub(super) fn new(config: &Config) -> Self {
        let Config { address, coding, combine, .. } = *config;
        Self { address, usual: coding, combines: combine, copies: CopyStore::default() }
    }

    /// Corrects a frame by its code, with earlier copies of it, or with the further parity that it
    /// carries. `is_good` says whether its check holds.
    pub(super) fn receive(
        &mut self,
        frame: &mut Frame,
        is_good: bool,
        assembly: &Assembly,
    ) -> Reception {
        // No layer above reads how sure the radio is.
        let sure = if frame.parts.is_some() { frame.damage.reliability.take() } else { None };
        let finding = Finding { corrected: Some(0), ..Finding::default() };
        let as_it_came = Reception { is_whole: is_good, is_parity: false, combined: None, finding };
        if self.usual.is_none() {
            return as_it_came;
        }
        let increment = self.increment_in(frame);
        if is_good && increment.is_none() {
            return as_it_came;
        }
        // Damage may make the marks of a frame those of an increment.
        if !is_good && let Some(worst) = coding::repair(frame) {
            return Reception::of(Finding { corrected: Some(worst), ..Finding::default() });
        }
        let Ok(header) = Header::parse(&frame.header) else {
            return Reception::of(Finding::default());
        };
        let is_ours = header.receiver == self.address && header.kind == Kind::Data;
        if !(self.combines && is_ours) {
            return Reception::of(Finding::default());
        }
        self.combine((frame, sure.as_deref()), &header, (increment, is_good), assembly)
    }

    /// Puts a data frame for this station together with what is held of it.
    fn combine(
        &mut self,
        (frame, sure): (&mut Frame, Option<&Bytes>),
        header: &Header,
        (increment, is_good): (Option<Increment>, bool),
        assembly: &Assembly,
    ) -> Reception {
        let by_parity = increment.and_then(|increment| {
            self.copies.take_increment((frame, sure), header, increment, is_good)
        });
        let is_parity = increment.is_some() && (by_parity.is_some() || is_good);
        let taken = match by_parity {
            None if increment.is_none() => self.copies.take((frame, sure), header, self.usual),
            taken => taken,
        };
        let (finding, combined) = match taken {
            Some(Taken::Made(copies)) => {
                (Finding { combined: true, ..Finding::default() }, Some(copies))
            }
            Some(Taken::Kept(wanted)) => (Finding { wanted, ..Finding::default() }, None),
            // Its packet has come, and the answer was lost.
            None if is_good && assembly.has_come(header) => {
                (Finding { corrected: Some(0), ..Finding::default() }, None)
            }
            None => (Finding::default(), None),
        };
        Reception { is_parity, combined, ..Reception::of(finding) }
    }

    /// Returns the increment that a frame for this station carries, if it is one.
    fn increment_in(&self, frame: &Frame) -> Option<Increment> {
        if !self.combines {
            return None;
        }
        let [_, first, second, _] = frame.slices();
        let end = if second.len() < MARK_LEN { first } else { second };
        let increment = Increment::marked(end)?;
        let header = Header::parse(&frame.header).ok()?;
        (header.receiver == self.address && header.kind == Kind::Data).then_some(increment)
    }

    /// Forgets the copies of a sender, of which a whole frame has come.
    pub(super) fn forget(&mut self, sender: MacAddress) {
        self.copies.forget(sender);
    }

    /// Removes the code from the body of a frame, if frames like it are coded; `false` if it has
    /// none that can be read.
    pub(super) fn take_off(&self, frame: &mut Frame, header: &Header) -> bool {
        let is_coded = self.usual.is_some() && !header.receiver.is_group();
        !is_coded || coding::take_off(frame, header.kind.header_len())
    }

    /// Returns the report that an answer of this kind carries about a frame that was received with
    /// `signal` dBm.
    pub(super) fn report(&self, kind: Kind, found: Reception, signal: i8) -> Option<Report> {
        let has_report = self.usual.is_some() && kind == Kind::Ack;
        let Finding { corrected, combined, wanted } = found.finding;
        has_report.then_some(Report { corrected, combined, wanted, signal })
    }

    /// Reads the report in an acknowledgement.
    pub(super) fn report_in(&self, header: &Header, frame: &Frame) -> Option<Report> {
        let has_report = self.usual.is_some() && header.kind == Kind::Ack;
        let bytes = frame.header.get(header.kind.header_len()..).filter(|_| has_report)?;
        bytes.try_into().ok().map(Report::parse)
    }
}

impl Reception {
    const fn of(finding: Finding) -> Self {
        let is_whole = finding.corrected.is_some() || finding.combined;
        Self { is_whole, is_parity: false, combined: None, finding }
    }

    /// Returns `true` if the frame is only further parity of a packet that has come.
    pub(super) const fn has_come(&self) -> bool {
        self.is_parity && !self.finding.combined
    }
}

/// The sender's half of the extension, for the packet in hand.
#[derive(Clone, Copy, Debug)]
pub(super) struct SenderCode {
    /// The code of the exchange under way; `None` where frames are not coded.
    pub(super) code: Option<Code>,
    /// Further parity that the receiver wants in place of another copy.
    increment: Option<Increment>,
    /// The place up to which the receiver has further parity, as far as it said.
    given: u8,
}

/// The lengths of a frame that is a copy, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct CopyLength {
    /// The MAC header.
    pub(super) header: usize,
    /// The whole frame, with code and frame check.
    pub(super) frame: usize,
}

impl SenderCode {
    /// The code of a packet; `None` if it is not coded.
    pub(super) const fn new(code: Option<Code>) -> Self {
        Self { code, increment: None, given: 0 }
    }

    /// Returns the bytes that the code adds to a frame of `len` bytes without a frame check.
    pub(super) fn overhead(&self, len: usize) -> usize {
        self.code.map_or(0, |code| code.overhead(len))
    }

    /// Returns the further parity that the next attempt carries; `None` if it carries a copy.
    pub(super) fn increment(&self, copy: CopyLength) -> Option<Increment> {
        // Less than half of a copy: a longer increment hardly costs less than a copy, and repairs
        // less if the receiver was too optimistic.
        self.increment.filter(|it| 2 * increment_len(*it, copy) <= copy.frame)
    }

    /// Returns the bytes of the frame of the further parity that the next attempt carries; `None`
    /// if it carries a copy.
    pub(super) fn increment_len(&self, copy: CopyLength) -> Option<usize> {
        self.increment(copy).map(|increment| increment_len(increment, copy))
    }

    /// Records the receiver's report of an attempt that did not complete the packet.
    pub(super) fn on_report(&mut self, report: Report, copy: CopyLength) {
        match self.increment(copy) {
            Some(sent) => self.given = sent.last,
            None if self.increment.is_some_and(|it| Some(it.code) != self.code) => self.given = 0,
            None => {}
        }
        let first = |wanted: u8| if wanted > self.given { self.given } else { 0 };
        self.increment = report.wanted.zip(self.code).map(|(wanted, code)| Increment {
            code,
            first: first(wanted),
            last: wanted,
        });
        if self.increment.is_none() {
            self.given = 0;
        }
    }

    /// Appends the code to the body of a frame that has no frame check yet.
    pub(super) fn append(&self, frame: &mut Frame) {
        if let Some(code) = self.code {
            coding::append(frame, code);
        }
    }

    /// Nothing is known of the next fragment.
    pub(super) const fn begin_fragment(&mut self) {
        (self.increment, self.given) = (None, 0);
    }
}

/// Returns the bytes of the frame of an increment.
fn increment_len(increment: Increment, copy: CopyLength) -> usize {
    let behind = if increment.code == Code::NONE { FCS_LEN } else { 0 };
    let shared = copy.frame - FCS_LEN - MARK_LEN + behind;
    copy.header + combine::len_of(increment, shared) + MARK_LEN + FCS_LEN
}

/// Replaces the body of a copy, after its MAC header of `header` bytes, by further parity.
pub(super) fn put_parity(copy: &mut Frame, header: usize, increment: Increment) {
    let mut body = combine::symbols_of(increment, copy);
    body.extend(increment.marks());
    copy.header.truncate(header);
    copy.payload = body.into();
    copy.trailer.clear();
    let [a, b, c, _] = copy.slices();
    let check = frame_check(&[a, b, c]);
    copy.trailer.extend(check);
}
