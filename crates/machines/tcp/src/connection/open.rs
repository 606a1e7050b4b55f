//! Opening: SYNs and option negotiation (RFC 9293, section 3.5; RFC 7323, 2018, 3168).

use std::sync::Arc;

use windfall_base::seq::Seq32;
use windfall_base::{DropReason, Instant};
use windfall_wire_net::tcp::{DataCheck, Notification, Timestamps};
use windfall_wire_net::{TcpFlags, TcpOptions};

use super::fast_open::FastOpen;
use super::{Connection, NegotiatedOptions, Reset, SocketPair, TcpState};
use crate::config::{NotificationMode, TcpConfig};
use crate::event::{Signals, TcpError};
use crate::segment::{Segment, TcpTransmit};

/// The largest shift (RFC 7323, section 2.3).
const MAX_SHIFT: u8 = 14;

impl Connection {
    /// Opens a connection actively; `origin` is its initial sequence number.
    #[must_use]
    pub fn connect(config: Arc<TcpConfig>, path: SocketPair, origin: Seq32, now: Instant) -> Self {
        Self::new(config, path, origin, TcpState::SynSent, now)
    }

    /// Opens a connection passively, from the SYN that asked for it.
    #[must_use]
    pub fn accept(
        config: Arc<TcpConfig>,
        path: SocketPair,
        origin: Seq32,
        now: Instant,
        syn: &Segment,
    ) -> Self {
        let mut connection = Self::new(config, path, origin, TcpState::SynReceived, now);
        connection.take_syn(now, syn);
        connection
    }

    /// Opens a connection from the acknowledgment of a SYN cookie: `syn` is the SYN as the cookie
    /// remembers it.
    pub(crate) fn resume(
        config: Arc<TcpConfig>,
        path: SocketPair,
        origin: Seq32,
        now: Instant,
        syn: &Segment,
    ) -> Self {
        let mut connection = Self::accept(config, path, origin, now, syn);
        (connection.sender.nxt, connection.sender.max) = (1, 1);
        connection
    }

    /// Takes the options of the peer's SYN.
    fn take_syn(&mut self, now: Instant, syn: &Segment) {
        let header = &syn.header;
        let config = &self.config;
        let options = &header.options;
        self.receiver.origin = header.seq;
        let scaled = config.window_scale && options.window_scale.is_some();
        let (ecn, accurate_ecn) = self.agrees_on_ecn(syn);
        let corruption = &config.corruption;
        self.negotiated = NegotiatedOptions {
            timestamps: config.timestamps && options.timestamps.is_some(),
            scaling: scaled,
            sack: config.sack && options.sack_permitted,
            ecn,
            accurate_ecn,
            send_shift: if scaled { options.window_scale.unwrap_or(0).min(MAX_SHIFT) } else { 0 },
            receive_shift: if scaled { config.window_shift() } else { 0 },
            extended_notification: corruption.notify
                && corruption.mode == NotificationMode::Extended
                && options.notification == Some(Notification::Plain),
            data_check: config.data_check && options.data_check == Some(DataCheck::Wanted),
        };
        self.note_opening(syn.ecn);
        if let Some(timestamps) = options.timestamps.filter(|_| self.negotiated.timestamps) {
            self.receiver.recent = timestamps.value;
            self.receiver.recent_at = now;
        }
        // RFC 9293, section 3.7.1: the default if the option is missing.
        let fallback = if self.path.local.is_ipv4() { 536 } else { 1220 };
        self.sender.peer_mss = options.mss.unwrap_or(fallback).max(64);
        if self.negotiated.sack {
            self.recovery.use_sack();
        }
        self.size_segments();
        self.round_receive_buffer();
        let initial = u64::from(self.config.initial_window);
        self.congestion = self.config.congestion_control.start(
            self.sender.mss,
            initial,
            self.config.byte_counting,
        );
        self.prepare_recovery();
        // The window of a SYN is never scaled.
        let window = u64::from(header.window);
        self.sender.raw_window = header.window;
        self.sender.window = window;
        self.sender.max_snd_wnd = window;
        self.sender.snd_wnd_right = 1 + window;
        self.sender.window_from = (0, 0);
    }

    //= S4.6
    /// Computes how many bytes of data a full segment carries: options count (RFC 6691; S4.6).
    pub(super) fn size_segments(&mut self) {
        let most = self.sender.peer_mss.min(self.config.mss).min(self.sender.path_mss);
        let timestamps = if self.negotiated.timestamps { 12 } else { 0 };
        let corruption = &self.config.corruption;
        let detection = if corruption.detect { corruption.kinds.detection_room() } else { 0 };
        let check = if self.negotiated.data_check { DataCheck::ROOM } else { 0 };
        let options = timestamps + (detection + check) as u64;
        self.sender.mss = u64::from(most).saturating_sub(options).max(16);
        self.template = None;
    }

    /// Returns whether a segment that begins with `seq` is in flight.
    pub(crate) fn has_in_flight(&self, seq: Seq32) -> bool {
        let in_flight = self.sender.una..self.sender.max.max(1);
        self.locate_ack(seq).is_some_and(|position| in_flight.contains(&position))
    }

    /// Ends an attempt to connect that the network refuses.
    pub(crate) fn take_refusal(&mut self, seq: Seq32) {
        if self.state == TcpState::SynSent && self.has_in_flight(seq) {
            self.end(Some(TcpError::Refused));
        }
    }

    /// Makes the segment that opens: SYN, or SYN and ACK.
    pub(super) fn send_syn(&mut self, now: Instant) -> TcpTransmit {
        let passive = self.state == TcpState::SynReceived;
        let mut flags = TcpFlags::SYN | self.opening_flags();
        let config = &self.config;
        let offers = |negotiated: bool, wanted: bool| if passive { negotiated } else { wanted };
        let corruption = &config.corruption;
        let extended = corruption.notify && corruption.mode == NotificationMode::Extended;
        let shift = config.window_shift();
        let mut options = TcpOptions {
            mss: Some(config.mss),
            window_scale: offers(self.negotiated.scaling, config.window_scale).then_some(shift),
            sack_permitted: offers(self.negotiated.sack, config.sack),
            timestamps: offers(self.negotiated.timestamps, config.timestamps).then(|| Timestamps {
                value: self.clock(now),
                echo: if passive { self.receiver.recent } else { 0 },
            }),
            notification: offers(self.negotiated.extended_notification, extended)
                .then_some(Notification::Plain),
            data_check: offers(self.negotiated.data_check, config.data_check)
                .then_some(DataCheck::Wanted),
            fast_open: self.fast_open_option(),
            ..TcpOptions::default()
        };
        if passive {
            flags |= TcpFlags::ACK;
        }
        if self.sender.max == 0 {
            self.sender.timed = Some((0, now));
        } else {
            self.sender.timed = None;
            self.operations.retransmissions += 1;
        }
        self.sender.last_sent = now;
        let kinds = corruption.kinds;
        if options.emit(&kinds).is_err() {
            // A cookie of sixteen bytes and everything else that a SYN may ask for are too much.
            options.fast_open = None;
        }
        let room = options.emit(&kinds).map_or(0, |area| area.len());
        let (data, fin) = match self.fast_open {
            FastOpen::Ready(ref cookie, _) if options.fast_open.is_none() && !cookie.is_empty() => {
                (bytes::Bytes::new(), false)
            }
            _ => self.early_data(room),
        };
        if fin {
            flags |= TcpFlags::FIN;
        }
        let end = 1 + data.len() as u64 + u64::from(fin);
        (self.sender.nxt, self.sender.max) = (end, self.sender.max.max(end));
        self.restart_timeout(now);
        self.write_segment(0, flags, &options, data)
    }

    /// Handles a segment while only this end's SYN is out (RFC 9293, section 3.10.7.3).
    pub(super) fn receive_answer(
        &mut self,
        now: Instant,
        seg: &mut Segment,
    ) -> Result<(), DropReason> {
        let flags = seg.header.flags;
        let acknowledged = flags.has(TcpFlags::ACK);
        if acknowledged && !self.is_ack_of_syn(seg) {
            if !flags.has(TcpFlags::RST) {
                self.sender.reset = Some(Reset { seq: seg.header.ack, ends: false });
            }
            return Err(DropReason::TcpAcknowledgment);
        }
        if flags.has(TcpFlags::RST) {
            if !acknowledged {
                return Err(DropReason::TcpBlind);
            }
            self.end(Some(TcpError::Refused));
            return Ok(());
        }
        if !flags.has(TcpFlags::SYN) {
            return Err(DropReason::TcpSequence);
        }
        self.take_syn(now, seg);
        if acknowledged {
            let acked = self.locate_ack(seg.header.ack).unwrap_or(1);
            self.acknowledge_syn(now, seg, acked);
            self.take_answer_marks(now, seg);
            self.owe_ack();
            return self.take_answer_data(now, seg);
        } else {
            // Both ends open at once: answer the SYN, which also retransmits this end's. Its data
            // wait for the handshake (RFC 9293, section 3.10.7.3).
            self.state = TcpState::SynReceived;
            self.sender.nxt = 0;
            seg.header.flags = seg.header.flags - TcpFlags::SYN;
            self.receiver.syn = (seg.span() > 0).then(|| Box::new(core::mem::take(seg)));
        }
        Ok(())
    }

    /// Returns whether a segment acknowledges this end's SYN, and perhaps data that left with or
    /// after it.
    pub(super) fn is_ack_of_syn(&self, seg: &Segment) -> bool {
        let acked = self.locate_ack(seg.header.ack);
        acked.is_some_and(|ack| (1..=self.sender.max.max(1)).contains(&ack))
    }

    /// This end's SYN is acknowledged: data may flow.
    ///
    /// Everything below `acked` has arrived.
    pub(super) fn acknowledge_syn(&mut self, now: Instant, seg: &Segment, acked: u64) {
        if !self.sends_early() {
            self.signals.raise(Signals::CONNECTED);
        }
        if self.state == TcpState::SynSent {
            self.note_opened();
        }
        self.state = TcpState::Established;
        // A timeout of a SYN leaves less trust in the initial window (RFC 6298, 5.7; RFC 5681).
        if self.sender.attempts > 0 {
            self.congestion.limit(self.sender.mss);
            self.rtt.distrust_initial();
        }
        self.advance(now, acked, seg, self.is_limited());
        self.receiver.acked = self.receiver.acked.max(1);
        if self.sender.finished {
            self.finish_sending();
        }
    }
}
