//! Headers: written in full, or from a template with the changing fields filled in (S2.7).

use core::ops::Range;

use bytes::Bytes;
use windfall_base::Instant;
use windfall_base::seq::Seq32;
use windfall_wire_net::tcp::{
    ACK_AT, CorruptionKinds, DataCheck, SEQ_AT, Timestamps, WINDOW_AT, corruption, data_check,
    fill_checksum, put_flags,
};
use windfall_wire_net::{Addresses, Ecn, TcpFlags, TcpHeaderBytes, TcpOptions, TcpRepr};

use super::{Connection, Due, Reset, SocketPair};
use crate::segment::TcpTransmit;
use crate::sequence::number;
use crate::timers::Timer;

/// A header with everything that stays the same from one data segment to the next.
#[derive(Clone, Debug)]
pub(super) struct Template {
    header: TcpHeaderBytes,
    /// The offset of the two timestamps.
    timestamps_at: Option<usize>,
}

impl Connection {
    /// Writes a segment in full; `options` are those beyond the usual ones.
    pub(super) fn write_segment(
        &mut self,
        start: u64,
        flags: TcpFlags,
        options: &TcpOptions,
        data: Bytes,
    ) -> TcpTransmit {
        let repr = self.header(start, flags, options.clone());
        if flags.has(TcpFlags::ACK) {
            self.note_acknowledged(self.expected());
        }
        self.seal(&repr, Ecn::NotCapable, data)
    }

    /// Writes a segment outside of the sequence of a connection: a reset, with the negotiated
    /// timestamp option (RFC 7323, section 3.2).
    pub(super) fn write_reset(&mut self, now: Instant, reset: Reset) -> TcpTransmit {
        let Reset { seq, ends } = reset;
        let flags = if ends { TcpFlags::RST | TcpFlags::ACK } else { TcpFlags::RST };
        let options = self.common_options(now);
        let repr = TcpRepr { seq, ack: self.ack_field(flags), options, ..self.bare_header(flags) };
        self.seal(&repr, Ecn::NotCapable, Bytes::new())
    }

    /// Writes a bare acknowledgment, with SACK blocks and notifications where there are any.
    pub(super) fn write_ack(&mut self, now: Instant) -> TcpTransmit {
        let notice = self.take_notice();
        let mut options = self.common_options(now);
        options.notification = notice.as_ref().map(|(notification, _)| *notification);
        self.add_sack(&mut options);
        let mut flags = TcpFlags::ACK | self.marks_in_ack(!options.sack.is_empty());
        let mut position = self.ack_position();
        let is_challenge = core::mem::take(&mut self.receiver.is_challenge);
        if self.config.manner.repeats_fin && self.sender.awaits_end() && !is_challenge {
            flags |= TcpFlags::FIN;
            position = self.sender.data_end();
        }
        let mut repr = self.header(position, flags, options);
        if let Some((_, position)) = notice {
            repr.ack = number(self.receiver.origin, position);
        }
        self.operations.acks_sent += 1;
        self.note_acknowledged(self.expected());
        if !self.receiver.notices.is_empty() {
            self.receiver.due = Due::Now;
        }
        self.seal(&repr, Ecn::NotCapable, Bytes::new())
    }

    /// Writes a data segment; `fresh` unless it was sent before.
    pub(super) fn write_data(
        &mut self,
        now: Instant,
        range: &Range<u64>,
        flags: TcpFlags,
        data: Bytes,
        fresh: bool,
    ) -> TcpTransmit {
        let predictable = flags - TcpFlags::PSH == TcpFlags::NONE;
        let mut flags = flags | TcpFlags::ACK | self.marks_to_tell();
        // RFC 3168, section 6.1.2 and 6.1.5: retransmitted data are neither marked nor announce.
        if fresh && core::mem::take(&mut self.sender.announce_reduction) {
            flags |= TcpFlags::CWR;
        }
        let ecn = if fresh { self.capability() } else { Ecn::NotCapable };
        self.operations.data_sent += u64::from(!data.is_empty());
        if self.config.template && predictable && !data.is_empty() {
            return self.fill_template(now, range.start, flags, data, ecn);
        }
        let mut options = self.common_options(now);
        //= S4.7
        if self.config.corruption.detect && !flags.has(TcpFlags::FIN) && !data.is_empty() {
            options.detection = Some(0);
        }
        if !data.is_empty() {
            options.data_check = self.data_check();
        }
        let repr = self.header(range.start, flags, options);
        self.note_acknowledged(self.expected());
        self.seal(&repr, ecn, data)
    }

    /// Returns a header at `start` with the window, and with the acknowledgment number if `flags`
    /// has ACK.
    fn header(&mut self, start: u64, flags: TcpFlags, options: TcpOptions) -> TcpRepr {
        let syn = flags.has(TcpFlags::SYN);
        TcpRepr {
            seq: number(self.sender.origin, start),
            ack: self.ack_field(flags),
            window: if syn { self.syn_window() } else { self.window_field() },
            options,
            ..self.bare_header(flags)
        }
    }

    /// Returns a header with the ports and `flags` alone.
    fn bare_header(&self, flags: TcpFlags) -> TcpRepr {
        let SocketPair { local, remote, .. } = self.path;
        TcpRepr { src_port: local.port(), dst_port: remote.port(), flags, ..TcpRepr::default() }
    }

    /// Returns the next sequence number expected, or 0 if `flags` acknowledge nothing.
    fn ack_field(&self, flags: TcpFlags) -> Seq32 {
        if flags.has(TcpFlags::ACK) {
            number(self.receiver.origin, self.expected())
        } else {
            Seq32(0)
        }
    }

    //= S2.7
    /// Writes a data segment from the template.
    fn fill_template(
        &mut self,
        now: Instant,
        start: u64,
        flags: TcpFlags,
        data: Bytes,
        ecn: Ecn,
    ) -> TcpTransmit {
        let ack = self.expected();
        let window = self.window_field();
        let clock = self.clock(now);
        if self.template.is_none() {
            self.template = Some(Box::new(self.make_template()));
        }
        let template = self.template.as_deref().cloned();
        let Template { mut header, timestamps_at } =
            template.unwrap_or_else(|| self.make_template());
        put(&mut header, SEQ_AT, number(self.sender.origin, start).0);
        put(&mut header, ACK_AT, number(self.receiver.origin, ack).0);
        put_flags(&mut header, flags);
        header[WINDOW_AT..WINDOW_AT + 2].copy_from_slice(&window.to_be_bytes());
        if let Some(at) = timestamps_at {
            put(&mut header, at, clock);
            put(&mut header, at + 4, self.receiver.recent);
            self.operations.timestamps += 1;
        }
        self.operations.templates += 1;
        self.note_acknowledged(ack);
        self.finish(header, ecn, data)
    }

    /// Returns the data check that each segment with data carries, if negotiated, still empty.
    fn data_check(&self) -> Option<DataCheck> {
        self.negotiated.data_check.then_some(DataCheck::Crc(0))
    }

    fn make_template(&self) -> Template {
        let options = TcpOptions {
            timestamps: self.negotiated.timestamps.then_some(Timestamps::default()),
            detection: self.config.corruption.detect.then_some(0),
            data_check: self.data_check(),
            ..TcpOptions::default()
        };
        let repr = TcpRepr { options, ..self.bare_header(TcpFlags::ACK) };
        let header = emit(&repr, &self.config.corruption.kinds);
        // Two NOPs, kind and length come first (RFC 7323, appendix A).
        Template { header, timestamps_at: self.negotiated.timestamps.then_some(24) }
    }

    /// Returns the options that every segment after the SYNs carries.
    fn common_options(&mut self, now: Instant) -> TcpOptions {
        let timestamps = self.negotiated.timestamps.then(|| {
            self.operations.timestamps += 1;
            Timestamps { value: self.clock(now), echo: self.receiver.recent }
        });
        TcpOptions { timestamps, ..TcpOptions::default() }
    }

    //= S2.5
    /// Adds SACK blocks for duplicate data and for data beyond holes (RFC 2018, 2883).
    fn add_sack(&mut self, options: &mut TcpOptions) {
        if !self.negotiated.sack {
            return;
        }
        let notification = options.notification.map_or(0, |_| 8);
        let taken = notification + if self.negotiated.timestamps { 12 } else { 0 };
        let room = (40 - taken - 4) / 8;
        let origin = self.receiver.origin;
        let to_block = |range: Range<u64>| windfall_wire_net::tcp::SackBlock {
            left: number(origin, range.start),
            right: number(origin, range.end),
        };
        let duplicate = core::mem::take(&mut self.receiver.duplicate);
        if !duplicate.is_empty() {
            options.sack.push(to_block(duplicate));
        }
        let most = room.min(4) - options.sack.len();
        for range in self.receiver.buffer.sack_ranges(most) {
            options.sack.push(to_block(range.start + 1..range.end + 1));
        }
        self.operations.sack_blocks += options.sack.len() as u64;
    }

    /// Writes and finishes a header.
    fn seal(&mut self, repr: &TcpRepr, ecn: Ecn, data: Bytes) -> TcpTransmit {
        self.operations.headers += 1;
        let header = emit(repr, &self.config.corruption.kinds);
        self.finish(header, ecn, data)
    }

    /// Adds the fields that depend on all the others: the data check, the detection option, which
    /// covers it, and the checksum.
    fn finish(&mut self, mut header: TcpHeaderBytes, ecn: Ecn, data: Bytes) -> TcpTransmit {
        let addresses: Addresses = self.path.addresses;
        let config = &self.config.corruption;
        if self.negotiated.data_check && !data.is_empty() {
            data_check::seal(&mut header, &data);
            self.operations.checksum_bytes += data.len() as u64;
        }
        if config.detect && !data.is_empty() {
            let sealed =
                corruption::seal(&config.kinds, config.packing, ecn, &addresses, &mut header);
            self.operations.detections += u64::from(sealed);
        }
        fill_checksum(&addresses, &mut header, &data);
        self.operations.checksum_bytes += (header.len() + data.len()) as u64;
        self.operations.segments_sent += 1;
        TcpTransmit { addresses, ecn, header, data }
    }

    /// Notes that an acknowledgment up to `ack` is on its way.
    fn note_acknowledged(&mut self, ack: u64) {
        self.receiver.acked = ack;
        self.receiver.unacked = 0;
        self.receiver.waiting = 0;
        self.receiver.due = Due::Nothing;
        self.timers.stop(Timer::DelayedAck);
    }

    /// Returns the position of an acknowledgment without data: after everything sent, yet inside
    /// the window, or the peer would not look at it.
    fn ack_position(&self) -> u64 {
        let sender = &self.sender;
        sender.max.min(sender.snd_wnd_right.max(sender.una)).max(1)
    }

    fn syn_window(&self) -> u16 {
        self.receiver.buffer.capacity().min(65_535) as u16
    }

    /// Returns the window to advertise: it never shrinks, and opens in worthwhile steps (RFC 9293,
    /// 3.8.6.2.2).
    fn window_field(&mut self) -> u16 {
        let shift = self.negotiated.receive_shift;
        let next = self.expected();
        let open = next + self.open_window();
        let kept = self.receiver.rcv_wnd_right.max(next) - next;
        let all = self.config.manner.offers_all_room;
        let raw = ((open - next) >> shift).min(65_535);
        let step = if all { 1 } else { self.window_step() };
        if open >= self.receiver.rcv_wnd_right + step
            && !(all && next + (raw << shift) < self.receiver.rcv_wnd_right)
        {
            self.receiver.rcv_wnd_right = next + (raw << shift);
            raw as u16
        } else {
            kept.div_ceil(1 << shift).min(65_535) as u16
        }
    }

    /// Returns the growth of the window from which on it is announced.
    fn window_step(&self) -> u64 {
        (self.greatest_window() / 2).min(self.receiver.full.max(1))
    }

    /// Decides, after reading, whether the peer must learn of the room.
    pub(super) fn offer_window(&mut self) {
        if self.receiver.due == Due::Now || !self.is_synchronised() || self.receiver.finished {
            return;
        }
        let next = self.expected();
        let open = next + self.open_window();
        let gain = open.saturating_sub(self.receiver.rcv_wnd_right);
        let left = self.receiver.rcv_wnd_right.saturating_sub(next);
        // Time-driven acknowledgments bring the window along when theirs comes.
        if self.timers.runs(Timer::DelayedAck) && left > 0 && self.acks_by_time() {
            return;
        }
        let starving = left < self.receiver.full.max(1);
        if gain >= self.greatest_window() / 2 || (starving && gain >= self.window_step()) {
            self.owe_ack();
        }
    }

    fn acks_by_time(&self) -> bool {
        matches!(self.config.acks, crate::config::AckPolicy::TimeOnly { .. })
    }
}

fn put(header: &mut [u8], at: usize, value: u32) {
    header[at..at + 4].copy_from_slice(&value.to_be_bytes());
}

/// Writes a header whose options are known to fit.
fn emit(repr: &TcpRepr, kinds: &CorruptionKinds) -> TcpHeaderBytes {
    repr.emit(kinds).unwrap_or_else(|_| {
        debug_assert!(false, "options are counted before they are added");
        TcpHeaderBytes::new()
    })
}
