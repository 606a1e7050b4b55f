//! Data on the SYN: a transaction in one round trip, as T/TCP meant it (S2.17), by the means of TCP
//! Fast Open (RFC 7413).
//!
//! T/TCP (RFC 1644) took data on a SYN because a counter of connections said that it was new;
//! any host could guess the counter, and RFC 6247 retired it. A cookie that only the owner of an
//! address can have received proves the address first, which is all that the handshake would have
//! proved.

use arrayvec::ArrayVec;
use windfall_base::Instant;
use windfall_wire_net::TcpFlags;
use windfall_wire_net::tcp::FastOpenCookie;

use super::{Connection, Due, TcpState};
use crate::event::Signals;
use crate::segment::Segment;

/// The state of a connection with data on its SYN.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum FastOpen {
    /// It does without.
    #[default]
    Off,
    /// The client asks for a cookie; the server that was asked gives this one.
    Ask(FastOpenCookie),
    /// The client has this cookie, and the segment size that the server named with it.
    Ready(FastOpenCookie, u16),
    /// The server has taken data from the SYN: the application may answer at once.
    Early,
}

impl Connection {
    /// Opens actively with the cached Fast Open state of the server.
    pub(crate) fn with_fast_open(mut self, fast_open: FastOpen) -> Self {
        self.fast_open = fast_open;
        self
    }

    /// Returns whether the SYN waits for data that it could carry: the client's SYN for the
    /// request, the server's for the answer, as long as an acknowledgment may be delayed.
    pub(super) fn awaits_data(&self) -> bool {
        let waits = match self.fast_open {
            FastOpen::Ready(..) => true,
            FastOpen::Early => self.receiver.due != Due::Now,
            _ => false,
        };
        waits && self.sender.max == 0 && self.sender.buffer.is_empty() && !self.sender.finished
    }

    /// Opens without waiting for data that the SYN could carry.
    pub(crate) fn open_without_data(&mut self) {
        if let FastOpen::Ready(cookie, _) = &self.fast_open
            && self.sender.max == 0
        {
            self.fast_open = FastOpen::Ask(cookie.clone());
        }
    }

    /// Returns the option on this end's SYN; a retransmitted SYN goes without, in case it is in the
    /// way.
    pub(super) fn fast_open_option(&self) -> Option<FastOpenCookie> {
        match &self.fast_open {
            // Data without a cookie leave without the option.
            FastOpen::Ready(cookie, _) if cookie.is_empty() => None,
            FastOpen::Ask(cookie) | FastOpen::Ready(cookie, _) if self.sender.attempts == 0 => {
                Some(cookie.clone())
            }
            _ => None,
        }
    }

    /// Returns the data for this end's SYN, beside `options` bytes of options, and whether FIN
    /// follows.
    pub(super) fn early_data(&mut self, options: usize) -> (bytes::Bytes, bool) {
        let size = match self.fast_open {
            FastOpen::Ready(_, size) => usize::from(size.min(self.config.mss)),
            FastOpen::Early => usize::from(self.sender.peer_mss.min(self.config.mss)),
            _ => 0,
        };
        // Nothing is agreed on yet when a SYN leaves, so its data would go unchecked.
        if size == 0 || self.sender.attempts > 0 || self.config.data_check {
            return (bytes::Bytes::new(), false);
        }
        let window = if self.sends_early() { self.sender.window as usize } else { usize::MAX };
        let options = if self.config.manner.spares_options { options.max(40) } else { options };
        let len = size.saturating_sub(options).min(self.sender.buffer.len()).min(window);
        let all = len == self.sender.buffer.len();
        let fin = self.sends_early() && self.sender.finished && all;
        (self.sender.buffer.slice(0..len as u64).0, fin)
    }

    //= S2.17
    /// Takes the data of a SYN whose cookie is good (RFC 7413, section 4.2).
    pub(crate) fn take_early(&mut self, now: Instant, syn: &Segment) {
        let placed = self.receiver.buffer.insert(0, &syn.data);
        self.operations.copied_bytes += placed.copied;
        self.operations.data_received += 1;
        self.receiver.full = placed.advanced;
        self.fast_open = FastOpen::Early;
        self.schedule_ack(now, placed.advanced);
        self.signals.raise(Signals::CONNECTED | Signals::READABLE);
    }

    /// Returns the bytes that a SYN carries beside all options, where it may carry data.
    #[must_use]
    pub fn room_on_syn(&self) -> Option<u16> {
        match self.fast_open {
            FastOpen::Ready(_, size) if self.state == TcpState::SynSent => {
                Some(size.min(self.config.mss).saturating_sub(40))
            }
            _ => None,
        }
    }

    /// Returns whether data may leave although the handshake has not ended.
    pub(super) fn sends_early(&self) -> bool {
        self.state == TcpState::SynReceived && self.fast_open == FastOpen::Early
    }

    /// Takes the data in the SYN-ACK: the server's first data.
    pub(super) fn take_answer_data(
        &mut self,
        now: Instant,
        seg: &mut Segment,
    ) -> Result<(), windfall_base::DropReason> {
        seg.header.flags = seg.header.flags - TcpFlags::SYN;
        // Data in the SYN that the server did not acknowledge are retransmitted at once (RFC 7413).
        self.sender.nxt = self.sender.una;
        if seg.span() == 0 {
            return Ok(());
        }
        self.place(now, seg, 1)
    }

    /// Returns whether this end waits for the answer to a SYN for fast open.
    pub(crate) fn opens_fast(&self) -> bool {
        let fast = matches!(self.fast_open, FastOpen::Ask(_) | FastOpen::Ready(..));
        fast && self.state == TcpState::SynSent
    }

    /// Returns whether the answer to the SYN just taken is a refusal (RFC 7413, section 4.1.3.1):
    /// it came only to a SYN without the option, or it leaves the data aside and grants no other
    /// cookie for next time.
    pub(crate) fn refused_fast_open(&self, seg: &Segment) -> bool {
        if self.config.manner.keeps_fast_open {
            return false;
        }
        let aside = self.sender.max > 1 && self.sender.una == 1;
        let forgets = self.config.manner.needs_cookie && matches!(self.fast_open, FastOpen::Ask(_));
        self.operations.retransmissions > 0
            || ((aside || forgets) && self.granted_cookie(seg).is_none())
    }

    /// Returns the segment size that the server has named.
    pub(crate) const fn peer_size(&self) -> u16 {
        self.sender.peer_mss
    }

    /// Returns the cookie that the server's SYN granted, to be used next time, with its segment
    /// size.
    pub(crate) fn granted_cookie(&self, seg: &Segment) -> Option<(FastOpenCookie, u16)> {
        let cookie = seg.header.options.fast_open.clone().filter(is_valid)?;
        Some((cookie, self.sender.peer_mss))
    }
}

/// Returns whether a cookie has a length that it may have (RFC 7413, section 4.1.1).
fn is_valid(cookie: &FastOpenCookie) -> bool {
    (4..=16).contains(&cookie.len()) && cookie.len().is_multiple_of(2)
}

/// Returns a cookie of eight bytes.
pub(crate) fn cookie_of(hash: u64) -> FastOpenCookie {
    hash.to_be_bytes().into_iter().collect::<ArrayVec<u8, 16>>()
}
