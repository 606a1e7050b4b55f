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
        let again = false;
        let requested = false;
        let retransmissions = 0;
        self.frames.push_back(Unacknowledged { info, again, requested, retransmissions });
        Some((number, info))
    }

    //= S1.16
    /// Returns `true` if a frame that has to be retransmitted was so `n2` times.
    pub(crate) fn is_exhausted(&self, n2: u8) -> bool {
        self.frames.iter().any(|frame| frame.again && frame.retransmissions >= n2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(number: u8) -> RlpInfo {
        [number; 25]
    }

    /// A window of this size whose first `count` frames are under way.
    fn sent(size: u8, count: u8) -> TransmitWindow {
        let mut window = TransmitWindow::new(size);
        for number in 0..count {
            assert_eq!(window.next(|| Some(info(number))), Some((number % 62, info(number))));
        }
        window
    }

    #[test]
    fn numbers_count_modulo_62() {
        // GSM 04.22, section 5.2.1.
        for (from, to, count) in [(0, 0, 0), (0, 61, 61), (61, 0, 1), (60, 2, 4), (5, 4, 61)] {
            assert_eq!(distance(from, to), count);
            assert_eq!(behind(from, count), to);
        }
    }

    #[test]
    fn only_what_is_under_way_can_be_acknowledged() {
        let mut window = sent(10, 4);
        assert!(window.is_fresh());
        assert_eq!(window.acknowledge(5), None);
        assert_eq!(window.acknowledge(61), None);
        assert_eq!((window.acknowledge(0), window.len()), (Some(false), 4));
        assert_eq!((window.acknowledge(3), window.len()), (Some(true), 1));
        assert!(!window.is_fresh());
        assert_eq!(window.infos().collect::<Vec<_>>(), [&info(3)]);
        assert_eq!((window.acknowledge(4), window.len()), (Some(true), 0));
        assert_eq!(window.acknowledge(3), None);
    }

    #[test]
    fn a_full_window_takes_nothing_and_numbers_go_on_behind_61() {
        let mut window = sent(61, 61);
        assert_eq!(window.next(|| panic!("there is no room")), None);
        assert_eq!(window.acknowledge(60), Some(true));
        assert_eq!(window.next(|| Some(info(7))), Some((61, info(7))));
        assert_eq!(window.next(|| Some(info(8))), Some((0, info(8))));
        assert_eq!((window.next(|| None), window.len()), (None, 3));
        // At most 61 of 62 numbers are under way, and at least one.
        assert_eq!((TransmitWindow::new(200).size, TransmitWindow::new(0).size), (61, 1));
    }

    #[test]
    fn what_is_rejected_leaves_again_before_anything_new() {
        let mut window = sent(10, 5);
        assert_eq!(window.acknowledge(1), Some(true));
        window.reject_one(3);
        window.reject_one(9);
        assert_eq!(window.next(|| panic!("not yet")), Some((3, info(3))));
        window.reject_all();
        let again = [1, 2, 3, 4].map(|_| window.next(|| panic!("not yet")).map(|it| it.0));
        assert_eq!(again, [1, 2, 3, 4].map(Some));
        assert_eq!(window.next(|| Some(info(5))), Some((5, info(5))));
    }

    #[test]
    fn a_frame_is_exhausted_by_retransmissions_for_its_own_sake() {
        let mut window = sent(10, 3);
        for round in 0..6 {
            window.reject_all();
            assert!(!window.is_exhausted(6), "{round}");
            (0..3).for_each(|_| _ = window.next(|| panic!("not yet")));
            assert!(!window.is_exhausted(6), "nothing is to be sent again");
        }
        window.reject_all();
        assert!(window.is_exhausted(6) && !window.is_exhausted(7));
        // Those behind the first had to leave again for its sake alone.
        assert_eq!(window.acknowledge(1), Some(true));
        assert!(!window.is_exhausted(1));
        let mut window = sent(10, 3);
        for _ in 0..2 {
            window.reject_one(2);
            window.next(|| panic!("not yet"));
        }
        window.reject_one(2);
        assert!(window.is_exhausted(2) && !window.is_exhausted(3));
    }
}
