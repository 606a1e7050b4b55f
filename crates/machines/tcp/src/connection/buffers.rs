//! Automatic tuning of the buffers to the bandwidth-delay product.

use windfall_base::{Duration, Instant};

use super::Connection;
use crate::config::SHARE;

/// The memory that a piece of a buffer takes beside its bytes: its allocation, and its entries in
/// the lists and trees that find it.
const PIECE: usize = 128;

impl Connection {
    /// Doubles the receive buffer if half of it was read within a round trip: the window may soon
    /// limit the sender, which doubles in a round trip too (dynamic right-sizing).
    pub(super) fn grow_receive_buffer(&mut self) {
        let Some(round_trip) = self.round_trip_of_peer() else { return };
        let buffer = &mut self.receiver.buffer;
        let position = buffer.next() - buffer.readable() as u64;
        let (began, from) = self.receiver.round;
        if self.heard.saturating_since(began) < round_trip {
            return;
        }
        self.receiver.round = (self.heard, position);
        let capacity = buffer.capacity();
        let is_busy = 2 * (position - from) >= capacity as u64;
        if is_busy && began > Instant::START && !self.receiver.is_pressed {
            buffer.set_capacity((2 * capacity).min(self.config.receive_buffer.most));
        }
    }

    /// Rounds the receive buffer up to whole segments, and to a value of the scaled window field,
    /// if the system does so; the right edge stays where the SYN has put it.
    pub(super) fn round_receive_buffer(&mut self) {
        if self.config.manner.whole_segments {
            let segment = usize::from(self.sender.peer_mss.min(self.config.mss)).max(1);
            let buffer = &mut self.receiver.buffer;
            let unit = 1 << self.negotiated.receive_shift;
            let size = buffer.capacity().max(segment).next_multiple_of(segment);
            buffer.set_capacity(size.next_multiple_of(unit));
        }
    }

    /// Returns the round trip of the data that arrive, queues on their way included.
    fn round_trip_of_peer(&self) -> Option<Duration> {
        let age = self.clock(self.heard).wrapping_sub(self.receiver.echo);
        let is_known = self.negotiated.timestamps && self.receiver.echo != 0 && age < 1 << 20;
        if is_known { Some(Duration::from_millis(u64::from(age))) } else { self.rtt.smoothed() }
    }

    /// Lets the send buffer hold twice the congestion window: the data in flight and the next
    /// window.
    pub(super) fn grow_send_buffer(&mut self) {
        if self.receiver.is_pressed {
            return;
        }
        let wanted = usize::try_from(2 * self.congestion.window()).unwrap_or(usize::MAX);
        let wanted = wanted.min(self.config.send_buffer.most);
        self.sender.capacity = self.sender.capacity.max(wanted);
    }

    /// Returns the memory that both buffers take: each piece costs more than its bytes.
    pub(crate) fn held_memory(&self) -> usize {
        let [pieces, _] = self.receiver.buffer.pieces();
        self.held_bytes() + PIECE * (pieces + self.sender.buffer.pieces())
    }

    /// Returns the part of it that waits for the peer: until it acknowledges, or fills a hole.
    pub(crate) fn memory_waiting(&self) -> usize {
        let [_, islands] = self.receiver.buffer.pieces();
        let bytes = self.sender.buffer.len() + self.receiver.buffer.beyond_holes();
        bytes + PIECE * (islands + self.sender.buffer.pieces())
    }

    /// Discards the data beyond holes; `false` if they are only a little.
    pub(crate) fn forget_islands(&mut self) -> bool {
        let [_, islands] = self.receiver.buffer.pieces();
        let is_much = self.receiver.buffer.beyond_holes() + PIECE * islands > SHARE;
        if is_much {
            self.receiver.buffer.forget_islands();
        }
        is_much
    }

    /// Notes whether the endpoint is short of memory.
    pub(crate) const fn note_pressure(&mut self, is_pressed: bool) {
        self.receiver.is_pressed = is_pressed;
    }

    /// Returns the greatest window that can be advertised, in bytes: the receive buffer, or the
    /// limit of the window field, 65 535 without scaling, whichever is less (RFC 7323, section
    /// 2.3).
    pub(super) fn greatest_window(&self) -> u64 {
        let expressed = 65_535 << self.negotiated.receive_shift;
        expressed.min(self.receiver.buffer.capacity() as u64)
    }

    /// Returns the bytes that may arrive beyond the next expected one.
    pub(super) fn open_window(&self) -> u64 {
        let buffer = &self.receiver.buffer;
        let window = buffer.window();
        let window = if self.receiver.is_pressed {
            window.min(SHARE.saturating_sub(buffer.held()))
        } else {
            window
        };
        self.greatest_window().min(window as u64)
    }
}
