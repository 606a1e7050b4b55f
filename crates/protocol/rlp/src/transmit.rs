//! The frames under way to the peer.

use windfall_wire_link::rlp::{RLP_MODULUS, RlpInfo};

/// The distance from frame `from` to frame `to`, modulo 62.
pub(crate) const fn distance(from: u8, to: u8) -> u8 {
    (to + RLP_MODULUS - from) % RLP_MODULUS
}

/// The frame `count` behind frame `number`.
pub(crate) const fn behind(number: u8, count: u8) -> u8 {
    (number + count) % RLP_MODULUS
}

/// A frame that is not acknowledged.
#[derive(Clone, Copy, Debug)]
struct Unacknowledged {
    info: RlpInfo,
    /// It has to be retransmitted.
    again: bool,
    /// The peer asked for it alone.
    requested: bool,
    /// Retransmissions so far that were for its own sake, not for that of one before it.
    retransmissions: u8,
}

/// The window of the sender: V(A), V(S) and the frames between.
#[derive(Clone, Debug)]
pub(crate) struct TransmitWindow {
    size: u8,
    /// V(A): the oldest frame that is not acknowledged.
    first: u8,
    frames: std::collections::VecDeque<Unacknowledged>,
}

impl TransmitWindow {
    pub(crate) fn new(size: u8) -> Self {
        Self { size: size.clamp(1, RLP_MODULUS - 1), first: 0, frames: Default::default() }
    }

    /// Frames that are not acknowledged.
    pub(crate) fn len(&self) -> u8 {
        self.frames.len() as u8
    }

    /// The information fields of the frames that are not acknowledged.
    pub(crate) fn infos(&self) -> impl Iterator<Item = &RlpInfo> {
        self.frames.iter().map(|frame| &frame.info)
    }

    /// Returns `true` if no frame was ever acknowledged.
    pub(crate) fn is_fresh(&self) -> bool {
        self.first == 0
    }

    /// Acknowledges all before `nr`; `None` if that is none of those under way, else whether
    /// something new was acknowledged.
    pub(crate) fn acknowledge(&mut self, nr: u8) -> Option<bool> {
        let count = distance(self.first, nr);
        if count > self.len() {
            return None;
        }
        self.frames.drain(..usize::from(count));
        self.first = nr;
        Some(count > 0)
    }

    /// Marks one frame to be retransmitted (SREJ).
    pub(crate) fn reject_one(&mut self, nr: u8) {
        let place = usize::from(distance(self.first, nr));
        if let Some(frame) = self.frames.get_mut(place) {
            (frame.again, frame.requested) = (true, true);
        }
    }

    /// Marks all frames to be retransmitted (REJ, checkpoint).
    pub(crate) fn reject_all(&mut self) {
        self.frames.iter_mut().for_each(|frame| frame.again = true);
    }

    /// The next frame to send: one that the peer asked for, else a new one from `pull`.
    pub(crate) fn next(&mut self, pull: impl FnOnce() -> Option<RlpInfo>) -> Option<(u8, RlpInfo)> {
        if let Some(place) = self.frames.iter().position(|frame| frame.again) {
            let frame = &mut self.frames[place];
            let own = frame.requested || place == 0;
            frame.retransmissions = frame.retransmissions.saturating_add(u8::from(own));
            (frame.again, frame.requested) = (false, false);
            return Some((behind(self.first, place as u8), frame.info));
        }
        if self.len() >= self.size {
            return None;
        }
        let info = pull()?;
        let number = behind(self.first, self.len());
        let (again, requested, retransmissions) = (false, false, 0);
        self.frames.push_back(Unacknowledged { info, again, requested, retransmissions });
        Some((number, info))
    }

    /// Returns `true` if a frame that has to be retransmitted was so `n2` times.
    //= S1.16
    pub(crate) fn is_exhausted(&self, n2: u8) -> bool {
        self.frames.iter().any(|frame| frame.again && frame.retransmissions >= n2)
    }
}
