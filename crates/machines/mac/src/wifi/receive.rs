//! The receiving half of an exchange: addressee, integrity and the response.

use windfall_base::{
    Check, DropReason, Duration, Failure, Frame, Instant, Overheard, PacketEventKind, RxVector, Tag,
};
use windfall_wire_link::check::frame_check;
use windfall_wire_link::ieee80211::header::FCS_LEN;
use windfall_wire_link::ieee80211::timing::ACK_LEN;
use windfall_wire_link::ieee80211::{Flags, Header, Kind, PhyRate, snap};

use super::bss::Use;
use super::config::{EifsPolicy, WEP};
use super::event::DcfEvent;
use super::extension::Reception;
use super::radio::State;
use super::send::{Phase, Response, to_body};
use super::{Dcf, Packet};

impl Dcf {
    /// Handles a received frame, whole or damaged, for this station or another.
    pub(super) fn handle_frame(&mut self, now: Instant, frame: &mut Frame, vector: &RxVector) {
        let found = self.receiver_code.receive(frame, has_good_check(frame), &self.assembly);
        let good = found.is_whole;
        if let Some(copies) = found.combined {
            let combined = PacketEventKind::Combined { copies };
            self.events.push_back(DcfEvent::packet(frame.tag, combined));
        }
        self.access.reception(self.keeps_usual_gap(good));
        let header = match Header::parse(&frame.header) {
            Ok(header) if frame.trailer.len() >= FCS_LEN => header,
            _ => return self.refuse(now, frame, DropReason::Truncated),
        };
        let ours = header.receiver == self.config.address;
        if good && self.is_answer(&header) {
            self.radio.reception(now, State::Receive);
            self.events.push_back(DcfEvent::Control { sent: false, len: frame.len() });
            return match self.receiver_code.report_in(&header, frame) {
                Some(report) if !report.is_acknowledgement() => {
                    self.attempt_failed_with(now, Some(report));
                }
                report => self.answered(now, report),
            };
        }
        if !ours && !header.receiver.is_group() {
            if good {
                self.access.reserve(now, header.kind, header.duration);
                self.receiver_code.overhear(header.receiver);
            }
            // The address of a damaged frame may be wrong, so its addressee is unknown.
            let reason = if good { DropReason::NotForUs } else { DropReason::FrameCheck };
            return self.refuse(now, frame, reason);
        }
        self.radio.reception(now, State::Receive);
        self.end_of_reception(now);
        if !good {
            return self.take_damaged(now, frame, &header, vector, found);
        }
        match header.kind {
            Kind::Data => {
                if ours {
                    self.owe(now, Kind::Ack, &header, vector, found);
                    self.receiver_code.forget(header.transmitter);
                }
                frame.damage.frame = Check::Good;
                // A sender numbers its frames for all stations by one counter.
                if self.config.only_peer == Some(header.transmitter) {
                    frame.damage.lost_before = self.assembly.lost_before(&header);
                }
                self.take_data(now, frame, &header, found.has_come());
            }
            Kind::Rts if ours && !self.access.is_reserved(now) => {
                self.events.push_back(DcfEvent::Control { sent: false, len: frame.len() });
                self.owe(now, Kind::Cts, &header, vector, found);
            }
            kind => {
                let own = kind.is_management() || matches!(kind, Kind::Null | Kind::PsPoll);
                if ours && own {
                    self.owe(now, Kind::Ack, &header, vector, found);
                }
                self.events.push_back(DcfEvent::Control { sent: false, len: frame.len() });
                // A PS-Poll has no Sequence Control field by which to detect a duplicate.
                let again = kind != Kind::PsPoll && own && self.assembly.has_come_before(&header);
                if own && !again {
                    self.handle_own(now, &header, frame, vector);
                }
            }
        }
    }

    /// Handles a management frame, Null or PS-Poll for this station.
    fn handle_own(&mut self, now: Instant, header: &Header, frame: &Frame, vector: &RxVector) {
        let rate = self.rate_of(vector);
        let Some(bss) = &mut self.bss else { return };
        // The timestamp of a beacon refers to the first bit of its body.
        let at = match header.kind {
            Kind::Beacon => vector.began + to_body(rate, self.config.preamble),
            _ => now,
        };
        bss.handle_own(at, header, frame, vector.strength.map(|strength| strength.0));
    }

    fn rate_of(&self, vector: &RxVector) -> PhyRate {
        let lowest = || self.config.lowest_basic_rate();
        vector.rate.and_then(PhyRate::from_rate).unwrap_or_else(lowest)
    }

    /// Handles a frame for another station, of which the radio passes up only the first bytes.
    pub(super) fn handle_overheard(&mut self, now: Instant, frame: Overheard) {
        self.radio.reception(now, State::Overhear);
        self.access.reception(self.keeps_usual_gap(frame.good));
        if frame.good {
            self.access.reserve_by_head(now, frame.head);
        }
        self.end_of_reception(now);
    }

    /// Handles a reception that ended without a frame.
    pub(super) fn handle_failed_reception(&mut self, now: Instant, failure: Failure) {
        self.radio.reception(now, State::Overhear);
        if failure == Failure::Header && self.config.eifs == EifsPolicy::Always {
            self.access.reception(false);
        }
        self.end_of_reception(now);
    }

    /// Ends the wait for an answer: the reception was another frame.
    pub(super) fn end_of_reception(&mut self, now: Instant) {
        if matches!(self.phase, Phase::Awaiting { .. }) {
            self.attempt_failed(now);
        }
    }

    /// Ends the wait for an answer: the carrier that was sensed at the timeout brought no frame.
    pub(super) fn end_of_carrier(&mut self, now: Instant) {
        if matches!(self.phase, Phase::Awaiting { until: None, .. }) {
            self.attempt_failed(now);
        }
    }

    /// Returns `true` if DIFS instead of EIFS follows a frame with a readable PHY header and FCS
    /// `good`.
    fn keeps_usual_gap(&self, good: bool) -> bool {
        good || self.config.eifs == EifsPolicy::Never
    }

    fn is_answer(&self, header: &Header) -> bool {
        let awaited = match self.phase {
            Phase::Awaiting { answer, .. } => answer == header.kind,
            _ => false,
        };
        awaited && header.receiver == self.config.address
    }

    /// Schedules a response to `header` after a SIFS; `found` is the result of its reception.
    fn owe(
        &mut self,
        now: Instant,
        kind: Kind,
        header: &Header,
        vector: &RxVector,
        found: Reception,
    ) {
        let asked = self.rate_of(vector);
        let rate = match kind {
            Kind::Cts => self.config.clear_rate(asked),
            _ => self.config.response_rate(asked),
        };
        let sifs = self.config.timing.sifs;
        let signal = vector.strength.map(|strength| strength.0 as i8);
        let report = self.receiver_code.report(kind, found, signal);
        let len = if report.is_some() { self.config.ack_len() } else { ACK_LEN };
        let spent = sifs + self.duration_of(rate, len);
        let reserves = Duration::from_micros(u64::from(header.duration)).saturating_sub(spent);
        let response = Response { kind, to: header.transmitter, reserves, rate, report };
        self.owed = Some((now + sifs, response));
    }

    /// Takes an intact data frame. If `has_come` is set, the frame is further parity of a packet
    /// that is already complete, so it counts as a duplicate.
    fn take_data(&mut self, now: Instant, frame: &mut Frame, header: &Header, has_come: bool) {
        let tag = frame.tag;
        let kept = frame.kept;
        let len = frame.payload.len();
        if has_come {
            return self.discard(tag, kept, DropReason::Duplicate, len);
        }
        if !(strip(frame, header) && self.receiver_code.take_off(frame, header)) {
            return self.discard(tag, kept, DropReason::Malformed, len);
        }
        match self.assembly.take(now, header, frame) {
            Ok(true) => match take_snap(frame) {
                Some(ether_type) => self.use_packet(frame, header, ether_type),
                None => self.discard(tag, kept, DropReason::Malformed, len),
            },
            Ok(false) => {}
            Err(reason) => self.discard(tag, kept, reason, len),
        }
    }

    /// Passes a packet up, or returns it to be relayed to its destination.
    fn use_packet(&mut self, frame: &mut Frame, header: &Header, ether_type: u16) {
        let fate = self.bss.as_mut().map_or(Use::Up, |bss| bss.handle_data(header));
        self.put_to(fate, frame, header, ether_type);
    }

    fn put_to(&mut self, fate: Use, frame: &mut Frame, header: &Header, ether_type: u16) {
        let tag = frame.tag;
        let kept = frame.kept;
        let len = frame.payload.len();
        if matches!(fate, Use::Relay | Use::Both) {
            let mut relayed = Frame { tag, kept, ..Frame::packet(frame.payload.clone()) };
            relayed.set_expiry(frame.expires);
            if frame.damage.frame == Check::Bad {
                relayed.damage.frame = Check::Bad;
            }
            let to = header.destination();
            let source = Some(header.source());
            let packet = Packet { frame: relayed, to, ether_type, expires: None, source };
            self.relayed.push_back(packet);
        }
        match fate {
            Use::Up | Use::Both => self.up.push_back(core::mem::take(frame)),
            Use::Relay => {}
            Use::Refuse(reason) => self.discard(tag, kept, reason, len),
        }
    }

    //= S0.6
    //= S0.11
    //= S0.12
    /// Takes a frame to this station whose FCS failed. It is never acknowledged. It is passed up or
    /// relayed only if the receive switch says so, its header is still readable, and no other copy
    /// of the packet has arrived.
    fn take_damaged(
        &mut self,
        now: Instant,
        frame: &mut Frame,
        header: &Header,
        vector: &RxVector,
        found: Reception,
    ) {
        let tag = frame.tag;
        let kept = frame.kept;
        let len = frame.payload.len();
        let ours = header.receiver == self.config.address;
        let whole = header.kind == Kind::Data
            && header.fragment == 0
            && !header.flags.has(Flags::MORE_FRAGMENTS);
        if ours && header.kind == Kind::Data && self.config.coding.is_some() {
            // The report tells the sender that the frame arrived. The Duration field may be
            // damaged, so the response sets no NAV.
            let header = Header { duration: 0, ..*header };
            self.owe(now, Kind::Ack, &header, vector, found);
        }
        if !(self.config.accept_damaged && ours && whole && !found.is_parity) {
            return self.refuse(now, frame, DropReason::FrameCheck);
        }
        if self.assembly.has_damage_before(header) {
            return self.discard(tag, kept, DropReason::Duplicate, len);
        }
        let fate = self.bss.as_ref().map_or(Use::Up, |bss| bss.use_of_damaged(header));
        if !matches!(fate, Use::Refuse(_))
            && strip(frame, header)
            && self.receiver_code.take_off(frame, header)
            && let Some(ether_type) = take_snap(frame)
        {
            frame.damage.frame = Check::Bad;
            // The layer above may still discard the packet while the sender keeps a copy.
            frame.kept = kept;
            self.put_to(fate, frame, header, ether_type);
        } else {
            self.discard(tag, kept, DropReason::LinkHeader, len);
        }
    }

    /// Discards a frame that this station cannot use.
    fn refuse(&mut self, now: Instant, frame: &Frame, reason: DropReason) {
        self.radio.reception(now, State::Overhear);
        self.end_of_reception(now);
        if frame.payload.is_empty() && frame.tag.is_none() {
            self.events.push_back(DcfEvent::Control { sent: false, len: frame.len() });
        } else {
            self.discard(frame.tag, frame.kept, reason, frame.payload.len());
        }
    }

    pub(super) fn discard(&mut self, tag: Option<Tag>, kept: bool, reason: DropReason, len: usize) {
        self.events.push_back(DcfEvent::discarded(tag, kept, reason, len));
    }
}

/// Returns `true` if the FCS is right.
fn has_good_check(frame: &Frame) -> bool {
    let Some(at) = frame.trailer.len().checked_sub(FCS_LEN) else { return false };
    let (before, check) = frame.trailer.split_at(at);
    let [header, head, body, _] = frame.slices();
    check == frame_check(&[header, head, body, before])
}

/// Removes MAC header, FCS and WEP fields from a frame; returns `false` if one of them is missing.
fn strip(frame: &mut Frame, header: &Header) -> bool {
    let wep = if header.flags.has(Flags::PROTECTED) { WEP } else { 0 };
    let before = header.kind.header_len() + wep;
    let behind = FCS_LEN + wep;
    if frame.header.len() < before || frame.trailer.len() < behind {
        return false;
    }
    frame.header.drain(..before);
    frame.trailer.clear();
    frame.kept = false;
    true
}

/// Removes LLC/SNAP from a packet, and returns its EtherType; `None` if there is none.
fn take_snap(packet: &mut Frame) -> Option<u16> {
    let ether_type = snap::parse(&packet.header).filter(|_| packet.header.len() == snap::LEN);
    packet.header.clear();
    ether_type
}
