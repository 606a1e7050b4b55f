//! The sending half of an exchange: RTS, data, the wait for the answer, and retries.

use core::ops::Add;

use windfall_base::{
    DropReason, Duration, Frame, Instant, Outgoing, PacketEventKind, Preamble, TxVector,
};
use windfall_wire_link::check::frame_check;
use windfall_wire_link::ieee80211::coding::REPORT_LEN;
use windfall_wire_link::ieee80211::header::{DATA_HEADER, MAX_DURATION};
use windfall_wire_link::ieee80211::timing::{ACK_LEN, RTS_LEN};
use windfall_wire_link::ieee80211::{Header, Kind, MacAddress, PhyRate, Report};

use super::config::Opening;
use super::event::DcfEvent;
use super::pending_packet::PendingPacket;
use super::rate_control::{AttemptOutcome, RateChoice};
use super::{Dcf, PacketOutcome, answer_time};

/// The progress of the packet in hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// No packet is pending.
    Idle,
    /// The packet contends for the medium.
    Contending,
    /// A frame of the packet, or its RTS, is on the air.
    Sending,
    /// The exchange continues at `until`, a SIFS after the last frame.
    Pausing { until: Instant },
    /// The station awaits an ACK or CTS. `until` is the timeout; after it, `None` means that a
    /// reception in progress may still be the answer.
    Awaiting { until: Option<Instant>, answer: Kind },
}

/// The frame that a station has on the air.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OnAir {
    /// A request to send.
    Request,
    /// A CTS-to-self, followed by the data frame.
    Clearance,
    /// A data frame, which is acknowledged unless it is for a group or known to be damaged.
    Data { unanswered: bool },
    /// An ACK or a CTS.
    Response,
}

/// A response (ACK or CTS) that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Response {
    pub(super) kind: Kind,
    pub(super) to: MacAddress,
    /// The value of its Duration field.
    pub(super) reserves: Duration,
    pub(super) rate: PhyRate,
    /// The report on the frame that it acknowledges.
    pub(super) report: Option<Report>,
}

/// Returns the time from the beginning of a data or management frame to the first bit of its body.
pub(super) fn to_body(rate: PhyRate, preamble: Preamble) -> Duration {
    rate.preamble_duration(preamble) + rate.rate().time_of(DATA_HEADER)
}

/// Encodes a duration as a Duration field: whole microseconds, rounded up.
fn field(duration: Duration) -> u16 {
    u16::try_from(duration.as_nanos().div_ceil(1_000)).unwrap_or(MAX_DURATION).min(MAX_DURATION)
}

impl Dcf {
    /// Begins an exchange for the pending packet: the backoff has ended.
    pub(super) fn begin_exchange(&mut self, now: Instant) {
        if self.job.as_ref().is_some_and(|job| job.is_expired(now)) {
            return self.abandon();
        }
        let Some(job) = &mut self.job else { return };
        let wish = job.packet().class.rate.and_then(|rate| self.config.phy_rate(rate));
        match wish {
            Some(rate) => job.rate = self.config.rate_to(job.to(), rate),
            None if job.is_group() || !job.is_packet() => {
                job.rate = self.config.lowest_basic_rate();
            }
            None => {
                let attempt = job.attempt(now, &self.config);
                let Some(choice) = self.rates.choose(now, job.to(), &attempt, &mut self.draw)
                else {
                    return self.abandon();
                };
                job.rate = choice.rate;
                // An increment is parity for the copies that the receiver holds, so it keeps their
                // code.
                if !job.is_unanswered() && job.increment().is_none() {
                    job.coding.code = choice.code;
                }
            }
        }
        let Some(job) = &self.job else { return };
        let opening = self.config.opening(job.rate, job.len(), job.is_unanswered());
        let before = self.config.opening_time(opening, job.rate);
        if job.is_expired(now + before + self.time_to_end(job)) {
            return self.abandon();
        }
        let Some(job) = &mut self.job else { return };
        job.air += self.config.contention_time_of(self.window.largest_draw()) + before;
        self.access.spend();
        match opening {
            Opening::Data => self.send_data(now),
            Opening::Clearance => self.send_clearance(now),
            Opening::Request => self.send_request(now),
        }
    }

    /// Returns the time from the beginning of the next frame of a packet to the end of its last
    /// frame, if none fails.
    fn time_to_end(&self, job: &PendingPacket) -> Duration {
        let rate = job.rate;
        let between = self.config.timing.sifs + self.answer_air(job, rate);
        let later = job.later_lens().map(|len| between + self.duration_of(rate, len));
        later.fold(self.duration_of(rate, job.len()), Add::add)
    }

    /// Returns the time for which the preceding RTS or CTS-to-self sets the NAV, from the beginning
    /// of the data frame. The NAV covers the frame and its ACK. With protection it covers all
    /// fragments, because 802.11b stations cannot read the Duration of OFDM frames.
    fn time_to_reserve(&self, job: &PendingPacket) -> Duration {
        let rate = job.rate;
        let is_protected = self.config.protection.is_some() && rate.is_ofdm();
        let data = self.duration_of(rate, job.len());
        let data = if is_protected { self.time_to_end(job) } else { data };
        data + self.answer_air(job, rate)
    }

    /// Continues the exchange after the SIFS.
    pub(super) fn continue_exchange(&mut self, now: Instant) {
        if self.on_air.is_some() {
            self.attempt_failed(now);
        } else {
            self.send_data(now);
        }
    }

    fn send_request(&mut self, now: Instant) {
        let Some(job) = &self.job else { return };
        let rate = self.config.request_rate(job.rate);
        let clear = self.duration_of(self.config.clear_rate(rate), ACK_LEN);
        let reserves = self.config.timing.sifs * 2 + clear + self.time_to_reserve(job);
        let header = Header {
            duration: field(reserves),
            transmitter: self.config.address,
            ..Header::new(Kind::Rts, job.to())
        };
        self.send_control(now, (&header, None), rate, OnAir::Request);
        self.phase = Phase::Sending;
    }

    /// Sends a CTS-to-self.
    fn send_clearance(&mut self, now: Instant) {
        let Some(job) = &self.job else { return };
        let rate = self.config.request_rate(job.rate);
        let reserves = self.config.timing.sifs + self.time_to_reserve(job);
        let header =
            Header { duration: field(reserves), ..Header::new(Kind::Cts, self.config.address) };
        self.send_control(now, (&header, None), rate, OnAir::Clearance);
        self.phase = Phase::Sending;
    }

    fn send_data(&mut self, now: Instant) {
        let Some(job) = &self.job else { return };
        let rate = job.rate;
        let unanswered = job.is_unanswered();
        let sifs = self.config.timing.sifs;
        let answer = self.duration_of(self.config.response_rate(rate), self.config.ack_len());
        let mut reserves = if unanswered { Duration::ZERO } else { sifs + answer };
        if let Some(next) = job.next_len() {
            reserves += sifs * 2 + self.duration_of(rate, next) + answer;
        }
        let air = self.air_of(job, rate);
        let Some(job) = &mut self.job else { return };
        job.air += air;
        if let Some(bss) = &self.bss
            && job.kind() == Kind::Beacon
        {
            job.stamp(bss.clock(now + to_body(rate, self.config.preamble)));
        }
        let frame = job.build(field(reserves));
        let tag = frame.tag;
        let attempt = job.sent();
        let len = frame.len();
        let kept = !job.given_away;
        let is_packet = job.is_packet();
        self.events.push_back(if is_packet {
            DcfEvent::packet(tag, PacketEventKind::Sent { attempt, len, kept })
        } else {
            DcfEvent::Control { sent: true, len }
        });
        self.transmit(now, frame, rate, OnAir::Data { unanswered });
        self.phase = Phase::Sending;
    }

    /// Sends the response that is due, unless the station is already transmitting.
    pub(super) fn respond(&mut self, now: Instant) {
        let Some((_, response)) = self.owed.take() else { return };
        if self.on_air.is_some() {
            return;
        }
        let header = Header {
            duration: field(response.reserves),
            ..Header::new(response.kind, response.to)
        };
        let report = response.report.map(Report::encode);
        self.send_control(now, (&header, report), response.rate, OnAir::Response);
    }

    fn send_control(
        &mut self,
        now: Instant,
        (header, report): (&Header, Option<[u8; REPORT_LEN]>),
        rate: PhyRate,
        on_air: OnAir,
    ) {
        let mut frame = Frame::default();
        header.encode(&mut frame.header);
        frame.header.extend(report.into_iter().flatten());
        let check = frame_check(&[&frame.header]);
        frame.trailer.extend(check);
        self.events.push_back(DcfEvent::Control { sent: true, len: frame.len() });
        self.transmit(now, frame, rate, on_air);
    }

    fn transmit(&mut self, now: Instant, frame: Frame, rate: PhyRate, on_air: OnAir) {
        let bits = rate.rate().time_of(frame.len());
        let overhead = self.duration_of(rate, frame.len()).saturating_sub(bits);
        let vector = TxVector {
            rate: Some(rate.rate()),
            preamble: self.config.preamble,
            overhead,
            ..TxVector::default()
        };
        self.access.begin(now);
        self.radio.transmit(now, true);
        self.on_air = Some(on_air);
        self.out = Some(Outgoing { frame, vector });
    }

    /// Ends the station's own transmission, and starts the timeout of the answer.
    pub(super) fn transmission_done(&mut self, now: Instant) {
        let Some(on_air) = self.on_air.take() else { return };
        self.access.end(now);
        self.radio.transmit(now, false);
        let Some(rate) = self.job.as_ref().map(|job| job.rate) else { return };
        let (answer, rate) = match on_air {
            OnAir::Response => return,
            OnAir::Clearance => {
                self.phase = Phase::Pausing { until: now + self.config.timing.sifs };
                return;
            }
            OnAir::Data { unanswered: true } => return self.packet_done(now),
            OnAir::Data { unanswered: false } => (Kind::Ack, self.config.response_rate(rate)),
            OnAir::Request => (Kind::Cts, self.config.clear_rate(self.config.request_rate(rate))),
        };
        let preamble = rate.preamble_duration(self.config.preamble);
        let until = Some(now + answer_time(&self.config, preamble));
        self.phase = Phase::Awaiting { until, answer };
    }

    /// Ends the wait for an answer, unless a reception in progress may be that answer.
    pub(super) fn no_answer(&mut self, now: Instant) {
        match &mut self.phase {
            Phase::Awaiting { until, .. } if self.access.is_busy() => *until = None,
            _ => self.attempt_failed(now),
        }
    }

    /// Fragments a packet as the rate control of its receiver decides.
    pub(super) fn cut(&mut self, now: Instant, mut job: PendingPacket) -> PendingPacket {
        job.note_wait(now);
        if job.is_packet() && !job.is_unanswered() {
            let attempt = job.attempt(now, &self.config);
            let count = self.rates.fragments(now, job.to(), &attempt);
            job.cut(count);
        }
        job
    }

    /// Reports the outcome of an attempt to the rate control.
    fn report_attempt(&mut self, arrived: bool, report: Option<Report>) {
        let Some(job) = self.job.as_ref().filter(|job| job.is_packet()) else { return };
        // The arrival of parity shows nothing about the delivery probability of a frame.
        if job.increment().is_some() && (arrived || report.is_some()) {
            return;
        }
        let choice = RateChoice { rate: job.rate, code: job.coding.code };
        // A frame that was combined with earlier copies did not arrive intact by itself.
        let arrived = arrived && !report.is_some_and(|report| report.combined);
        let collides = self.access.collides();
        let outcome = AttemptOutcome { choice, len: job.attempted(), arrived, report, collides };
        self.rates.on_outcome(job.to(), &outcome);
    }

    /// Continues after an ACK or CTS; an ACK may carry a report.
    pub(super) fn answered(&mut self, now: Instant, report: Option<Report>) {
        let Some(job) = &mut self.job else { return };
        match self.phase {
            Phase::Awaiting { answer: Kind::Cts, .. } => {
                job.granted();
                self.window.granted();
                self.phase = Phase::Pausing { until: now + self.config.timing.sifs };
            }
            _ => {
                self.report_attempt(true, report);
                let Some(job) = &mut self.job else { return };
                if job.advance() {
                    let until = now + self.config.timing.sifs;
                    let Some(job) = &self.job else { return };
                    if job.is_expired(until + self.time_to_end(job)) {
                        return self.expire(now);
                    }
                    self.phase = Phase::Pausing { until };
                    return;
                }
                if job.is_packet() && !job.given_away {
                    self.events.push_back(DcfEvent::packet(
                        job.packet().tag,
                        PacketEventKind::Acknowledged,
                    ));
                }
                self.packet_done(now);
            }
        }
    }

    /// Ends a failed attempt without a report.
    pub(super) fn attempt_failed(&mut self, now: Instant) {
        self.attempt_failed_with(now, None);
    }

    /// Ends a failed attempt, with the receiver's report of what arrived damaged if there is one.
    pub(super) fn attempt_failed_with(&mut self, now: Instant, report: Option<Report>) {
        let request = matches!(self.phase, Phase::Awaiting { answer: Kind::Cts, .. });
        if !request {
            self.report_attempt(false, report);
        }
        let Some(job) = &mut self.job else { return };
        if request {
            self.events.push_back(DcfEvent::RtsFailed);
        }
        // The receiver holds a damaged packet that its owner accepts: the air time is better spent
        // on the next packet.
        if report.is_some()
            && job.accepts_damaged()
            && self.rates.accepts_damaged_delivery(job.to())
        {
            self.report_drop(DropReason::RetryLimit);
            return self.packet_done(now);
        }
        let len = if request { RTS_LEN.min(self.config.rts_threshold) } else { job.len() };
        let until_expiry = job.has_lifetime() && self.rates.tries_until_expiry(job.to());
        let last = job.fail(len, &self.config) && !until_expiry;
        if let Some(report) = report {
            job.on_report(report);
        }
        self.window.grow(len > self.config.rts_threshold);
        let expired = job.is_expired(now);
        if !last && !expired {
            self.phase = Phase::Contending;
            // The backoff begins a DIFS after the timeout of the answer. This is about when
            // stations begin theirs that wait EIFS.
            let from = now + self.config.timing.difs();
            return self.access.back_off(from, self.window.draw(&mut self.draw));
        }
        if !last {
            self.report_drop(DropReason::Expired);
            return self.forget_failed(now);
        }
        self.report_drop(DropReason::RetryLimit);
        self.forget_failed(now);
    }

    /// Drops the pending packet: its lifetime ended between two of its frames.
    fn expire(&mut self, now: Instant) {
        self.report_drop(DropReason::Expired);
        self.forget_packet(now, false);
    }

    /// Releases the pending packet after its last attempt failed, and draws a backoff as after any
    /// failed attempt.
    fn forget_failed(&mut self, now: Instant) {
        self.release_packet(false);
        let from = now + self.config.timing.difs();
        self.access.back_off(from, self.window.draw(&mut self.draw));
    }

    /// Drops the pending packet: its lifetime ended while it contended. The next packet may be
    /// transmitted at once in its place.
    fn abandon(&mut self) {
        self.access.spend();
        self.report_drop(DropReason::Expired);
        self.release_packet(false);
    }

    fn report_drop(&mut self, reason: DropReason) {
        if let Some(job) = self.job.as_ref().filter(|job| job.is_packet() && !job.given_away) {
            let packet = job.packet();
            let tag = packet.tag;
            let len = packet.payload.len();
            self.events.push_back(DcfEvent::given_up(tag, reason, len));
        }
    }

    /// Completes the pending packet: it was acknowledged, or sent without acknowledgement.
    fn packet_done(&mut self, now: Instant) {
        self.window.shrink();
        self.forget_packet(now, true);
    }

    /// Releases the pending packet and draws the backoff that follows every packet, even if no
    /// other is queued.
    fn forget_packet(&mut self, now: Instant, arrived: bool) {
        self.release_packet(arrived);
        self.access.back_off(now, self.window.draw(&mut self.draw));
    }

    /// Releases the pending packet, and records its outcome.
    fn release_packet(&mut self, arrived: bool) {
        if let Some(job) = self.job.take().filter(PendingPacket::is_packet) {
            let tag = job.packet().tag;
            let spent = job.air;
            let ideal = self.ideal_air_of(&job);
            let attempts = job.attempts(arrived);
            let outcome_unknown = arrived && job.is_unanswered();
            self.outcome =
                Some(PacketOutcome { tag, attempts, spent, ideal, arrived, outcome_unknown });
        }
        self.phase = Phase::Idle;
    }

    /// Returns the air time of the current frame at `rate`, with its SIFS and ACK.
    fn air_of(&self, job: &PendingPacket, rate: PhyRate) -> Duration {
        self.duration_of(rate, job.len()) + self.answer_air(job, rate)
    }

    /// Returns the air time of one attempt at the whole packet at the highest rate that the
    /// station may choose.
    fn ideal_air_of(&self, job: &PendingPacket) -> Duration {
        let wish = job.packet().class.rate.and_then(|rate| self.config.phy_rate(rate));
        if job.is_group() {
            let rate = wish.map(|rate| self.config.rate_to(job.to(), rate));
            let rate = rate.unwrap_or_else(|| self.config.lowest_basic_rate());
            let opening = self.config.opening(rate, job.len(), true);
            let before = self.config.contention_time() + self.config.opening_time(opening, rate);
            return before + self.duration_of(rate, job.len());
        }
        let rate = wish.unwrap_or_else(|| self.config.highest_rate());
        let rate = self.config.rate_to(job.to(), rate);
        let mut lens = job.frame_lens();
        let first = self.config.attempt_time(rate, lens.next().unwrap_or_default());
        lens.map(|len| self.duration_of(rate, len) + self.answer_air(job, rate))
            .fold(first, Add::add)
    }

    /// Returns the time of the SIFS and the ACK after a frame at `rate`.
    fn answer_air(&self, job: &PendingPacket, rate: PhyRate) -> Duration {
        if job.is_unanswered() {
            return Duration::ZERO;
        }
        let answer = self.config.response_rate(rate);
        self.config.timing.sifs + self.duration_of(answer, self.config.ack_len())
    }

    pub(super) fn duration_of(&self, rate: PhyRate, len: usize) -> Duration {
        rate.frame_duration(self.config.preamble, len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_body_of_a_frame_begins_behind_the_preamble_and_24_bytes() {
        let micros = |rate, preamble| to_body(rate, preamble).as_micros();
        assert_eq!(micros(PhyRate::Ofdm6, Preamble::Long), 20 + 32);
        assert_eq!(micros(PhyRate::Dsss1, Preamble::Long), 192 + 192);
        assert_eq!(micros(PhyRate::Dsss2, Preamble::Short), 96 + 96);
    }
}
