//! Header prediction: the segment that is next, and nothing else about it (S2.6; RFC 7323, 4.2).

use windfall_base::{DropReason, Instant};
use windfall_wire_net::{Ecn, TcpFlags};

use super::{Connection, TcpState};
use crate::config::Paws;
use crate::event::Signals;
use crate::segment::Segment;

impl Connection {
    /// Returns whether header prediction is on and the connection is established.
    pub(super) fn prediction_applies(&self) -> bool {
        self.config.prediction && self.state == TcpState::Established
    }

    //= S2.6
    //= S2.8
    /// Takes the segment if it is the predicted one; `false` passes it on to full processing.
    ///
    /// The six conditions of S2.6: (a) established, (b) ACK and at most PSH, (c) next in sequence,
    /// (d) the same window, (e) no retransmission going on, (f) data or acknowledgment, not both.
    ///
    /// # Errors
    /// With H1 first: the segment's timestamp is old.
    pub(super) fn predict(&mut self, now: Instant, seg: &mut Segment) -> Result<bool, DropReason> {
        if !self.prediction_applies() {
            return Ok(false);
        }
        if self.config.paws == Paws::BeforePrediction {
            let start = self.locate(seg.header.seq).ok_or(DropReason::TcpSequence)?;
            self.check_timestamp(now, seg, start)?;
        }
        let header = &seg.header;
        let next = self.expected();
        let predicted = header.flags - TcpFlags::PSH == self.predicted_flags()
            && header.seq == crate::sequence::number(self.receiver.origin, next)
            && header.window == self.sender.raw_window
            && self.sender.nxt == self.sender.max
            && self.recovery.is_quiet()
            && self.is_plain(seg);
        let taken = predicted && self.take_predicted(now, seg, next);
        if !taken {
            self.operations.mispredicted += 1;
        }
        Ok(taken)
    }

    /// Returns whether the options hold nothing but a timestamp, as negotiated, and no mark came
    /// with it.
    fn is_plain(&self, seg: &Segment) -> bool {
        let options = &seg.header.options;
        options.timestamps.is_some() == self.negotiated.timestamps
            && options.sack.is_empty()
            && options.notification.is_none()
            && !(self.negotiated.ecn && seg.ecn == Ecn::Congested)
            && seg.missing == 0
    }

    fn take_predicted(&mut self, now: Instant, seg: &mut Segment, next: u64) -> bool {
        let Some(ack) = self.locate_ack(seg.header.ack) else {
            return false;
        };
        if !self.note_unmarked(ack.saturating_sub(self.sender.una)) {
            return false;
        }
        if seg.data.is_empty() {
            if ack <= self.sender.una || ack > self.sender.max {
                return false;
            }
            self.operations.predicted_acks += 1;
            self.operations.acks_received += 1;
            self.note_timestamp(now, seg, next);
            let limited = self.is_limited();
            self.advance(now, ack, seg, limited);
            self.report_delivery_rate(now, limited);
            self.slide_window(next, ack);
            return true;
        }
        let len = seg.data.len() as u64;
        let buffer = &self.receiver.buffer;
        if ack != self.sender.una
            || buffer.has_holes()
            || len > buffer.window() as u64
            || self.receiver.fin.is_some()
            || self.receiver.abandoned
        {
            return false;
        }
        self.operations.predicted_data += 1;
        self.operations.data_received += 1;
        self.note_timestamp(now, seg, next);
        self.note_size(len);
        let data = core::mem::take(&mut seg.data);
        self.operations.copied_bytes += self.receiver.buffer.append(data);
        self.signals.raise(Signals::READABLE);
        if !self.receiver.damaged.is_empty() {
            self.notice_reached();
        }
        self.schedule_ack(now, len);
        self.answer_push(seg);
        true
    }
}
