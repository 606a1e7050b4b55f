//! The frames from the peer, in order and out of it.

use windfall_base::{Duration, Instant};
use windfall_wire_link::rlp::{RLP_MODULUS, RlpInfo, Supervisory};

use crate::config::{RejectMode, SELECTIVE_WINDOW};
use crate::transmit::{behind, distance};

/// A request for a missing frame.
#[derive(Clone, Copy, Debug, Default)]
struct Request {
    /// When it was sent last; `None` if it has to be sent.
    sent: Option<Instant>,
    /// Times that it was sent.
    attempts: u8,
}

impl Request {
    fn is_due(&self, now: Instant, t1: Duration) -> bool {
        self.sent.is_none_or(|sent| now.saturating_since(sent) >= t1)
    }
}

/// The knowledge about a frame that may arrive.
#[derive(Clone, Copy, Debug, Default)]
enum Slot {
    /// Nothing is known of it.
    #[default]
    Idle,
    /// One behind it has arrived.
    Missing(Request),
    /// It waits for one before it.
    Arrived(RlpInfo),
}

/// The window of the receiver: V(R) and what arrived behind it.
#[derive(Clone, Debug)]
pub(crate) struct ReceiveWindow {
    mode: RejectMode,
    size: u8,
    /// V(R): the next frame in order.
    next: u8,
    slots: [Slot; RLP_MODULUS as usize],
    /// The request by REJ.
    go_back: Option<Request>,
}

impl ReceiveWindow {
    pub(crate) fn new(mode: RejectMode, size: u8) -> Self {
        let slots = [Slot::Idle; RLP_MODULUS as usize];
        let most = match mode {
            RejectMode::Selective => SELECTIVE_WINDOW,
            RejectMode::GoBack => RLP_MODULUS - 1,
        };
        Self { mode, size: size.clamp(1, most), next: 0, slots, go_back: None }
    }

    /// V(R), the next frame in order.
    pub(crate) fn next(&self) -> u8 {
        self.next
    }

    fn slot(&mut self, number: u8) -> &mut Slot {
        &mut self.slots[usize::from(number)]
    }

    /// Takes frame `ns`, and gives `deliver` all that is in order now.
    pub(crate) fn take(&mut self, ns: u8, info: RlpInfo, mut deliver: impl FnMut(&RlpInfo)) {
        let ahead = distance(self.next, ns);
        if ahead >= self.size {
            return;
        }
        if ahead > 0 {
            return self.take_early(ns, info, ahead);
        }
        self.go_back = None;
        *self.slot(ns) = Slot::Arrived(info);
        while let Slot::Arrived(info) = *self.slot(self.next) {
            *self.slot(self.next) = Slot::Idle;
            deliver(&info);
            self.next = behind(self.next, 1);
        }
    }

    //= S1.15
    fn take_early(&mut self, ns: u8, info: RlpInfo, ahead: u8) {
        if self.mode == RejectMode::GoBack {
            self.go_back.get_or_insert_default();
            return;
        }
        for count in 0..ahead {
            let slot = self.slot(behind(self.next, count));
            if matches!(slot, Slot::Idle) {
                *slot = Slot::Missing(Request::default());
            }
        }
        *self.slot(ns) = Slot::Arrived(info);
    }

    /// The function and N(R) of the request that is due; marks it as sent.
    pub(crate) fn request(&mut self, now: Instant, t1: Duration) -> Option<(Supervisory, u8)> {
        let next = self.next;
        let sent = |request: &mut Request| {
            request.sent = Some(now);
            request.attempts = request.attempts.saturating_add(1);
        };
        if let Some(request) = self.go_back.as_mut().filter(|request| request.is_due(now, t1)) {
            sent(request);
            return Some((Supervisory::Rej, next));
        }
        for count in 0..self.size {
            let number = behind(next, count);
            if let Slot::Missing(request) = self.slot(number)
                && request.is_due(now, t1)
            {
                sent(request);
                return Some((Supervisory::Srej, number));
            }
        }
        None
    }

    /// Returns `true` if a request was sent `n2` times after the first, and is due again.
    pub(crate) fn is_exhausted(&self, now: Instant, t1: Duration, n2: u8) -> bool {
        let spent = |request: &Request| request.attempts > n2 && request.is_due(now, t1);
        self.go_back.as_ref().is_some_and(spent)
            || self.slots.iter().any(|slot| matches!(slot, Slot::Missing(it) if spent(it)))
    }
}
