//! Extensions beyond IEEE 802.11: coded data frames, reports in acknowledgements, and hybrid ARQ,
//! which combines damaged copies or sends further parity in place of a copy.
//!
//! The DCF calls this layer and is complete without it. If the configuration has no code, every
//! call leaves its frame unchanged, and the station follows the standard.
//!
//! - [`ReceiverCode`]: corrects each received frame before the DCF reads it, and writes the
//!   reports.
//! - [`SenderCode`]: the code of the pending packet, and the parity that its receiver requested.
//! - `coding`: the code of one frame. `combine`: damaged copies and increments of parity.

mod coding;
mod combine;

use std::collections::VecDeque;

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

/// The number of other stations that are known as receivers.
const OTHERS: usize = 16;

/// The receiver's half of the extension.
#[derive(Debug)]
pub(super) struct ReceiverCode {
    address: MacAddress,
    /// The code that is assumed for a frame with damaged marks; `None` if frames are not coded.
    usual: Option<Code>,
    /// Set if damaged frames are kept and combined.
    combines: bool,
    copies: CopyStore,
    /// The other stations for which intact frames were heard last.
    others: VecDeque<MacAddress>,
}

/// The result of the extension for a received frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reception {
    /// The frame is intact, as received or after correction.
    pub(super) is_whole: bool,
    /// The frame carried an increment of parity instead of a copy.
    pub(super) is_parity: bool,
    /// The number of copies and increments that were combined into this frame.
    pub(super) combined: Option<u32>,
    finding: Finding,
}

/// The contents of a report without the signal strength. The default reports an uncorrectable
/// frame.
#[derive(Clone, Copy, Debug, Default)]
struct Finding {
    /// The number of symbols corrected in the worst block.
    corrected: Option<u8>,
    /// The frame was restored from several copies, or with an increment of parity.
    combined: bool,
    /// The frame is stored, and parity up to this level should restore it.
    wanted: Option<u8>,
}

impl ReceiverCode {
    pub(super) fn new(config: &Config) -> Self {
        let Config { address, coding, combine, .. } = *config;
        Self {
            address,
            usual: coding,
            combines: combine,
            copies: CopyStore::default(),
            others: VecDeque::new(),
        }
    }

    /// Records that an intact frame for another station was heard.
    pub(super) fn overhear(&mut self, receiver: MacAddress) {
        if self.usual.is_none() || self.others.contains(&receiver) {
            return;
        }
        if self.others.len() == OTHERS {
            self.others.pop_front();
        }
        self.others.push_back(receiver);
    }

    /// Returns `true` if a damaged frame is for another station. An address that no intact frame
    /// had may be that of this station, damaged.
    fn is_for_other(&self, frame: &Frame) -> bool {
        Header::parse(&frame.header).is_ok_and(|header| self.others.contains(&header.receiver))
    }

    /// Corrects a frame by its code, by earlier copies, or by the increment of parity that it
    /// carries. `is_good` tells whether its FCS is right.
    pub(super) fn receive(
        &mut self,
        frame: &mut Frame,
        is_good: bool,
        assembly: &Assembly,
    ) -> Reception {
        // The layers above do not read the reliability of the bytes, so it is removed here.
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
        if !is_good && self.is_for_other(frame) {
            return as_it_came;
        }
        // Damage may turn the marks of a frame into those of an increment, so its code is tried
        // first.
        if !is_good && let Some(worst) = coding::repair(frame) {
            return Reception::with_finding(Finding {
                corrected: Some(worst),
                ..Finding::default()
            });
        }
        let Ok(header) = Header::parse(&frame.header) else {
            return Reception::with_finding(Finding::default());
        };
        let is_ours = header.receiver == self.address && header.kind == Kind::Data;
        if !(self.combines && is_ours) {
            return Reception::with_finding(Finding::default());
        }
        self.combine((frame, sure.as_deref()), &header, (increment, is_good), assembly)
    }

    /// Combines a data frame for this station with the stored copies and parity of the same frame.
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
            // The packet was received before, and its ACK was lost.
            None if is_good && assembly.has_come(header) => {
                (Finding { corrected: Some(0), ..Finding::default() }, None)
            }
            None => (Finding::default(), None),
        };
        Reception { is_parity, combined, ..Reception::with_finding(finding) }
    }

    /// Returns the increment that a frame for this station carries, if it carries one.
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

    /// Drops the stored copies from a sender: an intact frame of that sender has arrived.
    pub(super) fn forget(&mut self, sender: MacAddress) {
        self.copies.forget(sender);
    }

    /// Removes the code from the body of a frame, if such frames are coded. Returns `false` if the
    /// code cannot be read.
    pub(super) fn take_off(&self, frame: &mut Frame, header: &Header) -> bool {
        let is_coded = self.usual.is_some() && !header.receiver.is_group();
        !is_coded || coding::take_off(frame, header.kind.header_len())
    }

    /// Returns the report in a response of `kind` to a frame received at `signal` dBm, `None` if
    /// unknown; only an ACK has one.
    pub(super) fn report(
        &self,
        kind: Kind,
        found: Reception,
        signal: Option<i8>,
    ) -> Option<Report> {
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
    /// Returns the reception of a frame that is neither combined nor parity.
    const fn with_finding(finding: Finding) -> Self {
        let is_whole = finding.corrected.is_some() || finding.combined;
        Self { is_whole, is_parity: false, combined: None, finding }
    }

    /// Returns `true` if the frame is an increment of a packet that was already complete.
    pub(super) const fn has_come(&self) -> bool {
        self.is_parity && !self.finding.combined
    }
}

/// The sender's half of the extension, for the pending packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct SenderCode {
    /// The code of the current exchange; `None` if frames are not coded.
    pub(super) code: Option<Code>,
    /// The increment that the receiver requested in place of another copy.
    increment: Option<Increment>,
    /// The level up to which the receiver is known to have parity.
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
    /// Creates the state of a packet with this code; `None` if it is not coded.
    pub(super) const fn new(code: Option<Code>) -> Self {
        Self { code, increment: None, given: 0 }
    }

    /// Returns the bytes that the code adds to a frame of `len` bytes, FCS excluded.
    pub(super) fn overhead(&self, len: usize) -> usize {
        self.code.map_or(0, |code| code.overhead(len))
    }

    /// Returns the increment of parity that the next attempt carries; `None` if it carries a copy.
    pub(super) fn increment(&self, copy: CopyLength) -> Option<Increment> {
        // The limit is half of a copy. A longer increment saves little air time, and it corrects
        // less than a copy if the receiver's request was too low.
        self.increment.filter(|it| 2 * increment_len(*it, copy) <= copy.frame)
    }

    /// Returns the length of the frame of the next increment; `None` if the next attempt carries a
    /// copy.
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

    /// Appends the code to the body of a frame that has no FCS yet.
    pub(super) fn append(&self, frame: &mut Frame) {
        if let Some(code) = self.code {
            coding::append(frame, code);
        }
    }

    /// Resets the parity state: the receiver has nothing of the next fragment.
    pub(super) const fn begin_fragment(&mut self) {
        (self.increment, self.given) = (None, 0);
    }
}

/// Returns the length of the frame of an increment.
fn increment_len(increment: Increment, copy: CopyLength) -> usize {
    let behind = if increment.code == Code::NONE { FCS_LEN } else { 0 };
    let shared = copy.frame - FCS_LEN - MARK_LEN + behind;
    copy.header + combine::len_of(increment, shared) + MARK_LEN + FCS_LEN
}

/// Replaces the body of a copy, after its MAC header of `header` bytes, by an increment of parity.
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
