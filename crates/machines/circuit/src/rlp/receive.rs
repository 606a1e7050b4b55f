//! The frames from the peer, in order and out of it.

use windfall_base::{Duration, Instant};
use windfall_wire_link::rlp::{RLP_MODULUS, RlpInfo, Supervisory};

use crate::rlp::config::{RejectMode, SELECTIVE_WINDOW};
use crate::rlp::transmit::{behind, distance};

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

#[cfg(test)]
mod tests {
    use super::*;

    const T1: Duration = Duration::from_millis(480);

    fn at(millis: u64) -> Instant {
        Instant::START + Duration::from_millis(millis)
    }

    /// Takes these frames; returns the numbers that are delivered.
    fn take(window: &mut ReceiveWindow, numbers: &[u8]) -> Vec<u8> {
        let mut delivered = Vec::new();
        for number in numbers {
            window.take(*number, [*number; 25], |info| delivered.push(info[0]));
        }
        delivered
    }

    #[test]
    fn frames_are_delivered_in_order_and_once() {
        let mut window = ReceiveWindow::new(RejectMode::Selective, 31);
        assert_eq!(take(&mut window, &[0, 1]), [0, 1]);
        assert_eq!((take(&mut window, &[3, 5, 4]), window.next()), (vec![], 2));
        assert_eq!((take(&mut window, &[2]), window.next()), (vec![2, 3, 4, 5], 6));
        assert_eq!(take(&mut window, &[5, 2]), [0; 0], "late copies");
        // Up to 30 behind the next one belong to the window.
        assert_eq!(take(&mut window, &[37]), [0; 0]);
        assert_eq!(window.request(at(0), T1), None, "beyond the window");
        assert_eq!(take(&mut window, &[36]), [0; 0]);
        assert_eq!(window.request(at(0), T1), Some((Supervisory::Srej, 6)));
    }

    #[test]
    fn single_frames_are_asked_for_each_with_a_timer_of_its_own() {
        // GSM 04.22, section 5.2.2.4.
        let mut window = ReceiveWindow::new(RejectMode::Selective, 31);
        take(&mut window, &[2]);
        let ask = |window: &mut ReceiveWindow, millis| {
            std::iter::from_fn(|| window.request(at(millis), T1)).map(|it| it.1).collect::<Vec<_>>()
        };
        assert_eq!(ask(&mut window, 100), [0, 1]);
        take(&mut window, &[4]);
        assert_eq!(ask(&mut window, 200), [3]);
        assert_eq!(ask(&mut window, 579), [0; 0]);
        assert_eq!(ask(&mut window, 580), [0, 1]);
        assert_eq!(take(&mut window, &[0]), [0]);
        assert_eq!(ask(&mut window, 680), [3]);
        assert_eq!(take(&mut window, &[1, 3]), [1, 2, 3, 4]);
        assert_eq!(ask(&mut window, 9_000), [0; 0]);
    }

    #[test]
    fn a_receiver_that_goes_back_asks_for_everything_from_the_first_missing_on() {
        let mut window = ReceiveWindow::new(RejectMode::GoBack, 61);
        assert_eq!(take(&mut window, &[0, 2, 3]), [0]);
        assert_eq!(window.request(at(100), T1), Some((Supervisory::Rej, 1)));
        assert_eq!(window.request(at(579), T1), None);
        assert_eq!(window.request(at(580), T1), Some((Supervisory::Rej, 1)));
        // What came out of order was discarded.
        assert_eq!(take(&mut window, &[1]), [1]);
        assert_eq!(window.request(at(9_000), T1), None);
        assert_eq!(take(&mut window, &[2, 3]), [2, 3]);
    }

    #[test]
    fn a_request_is_exhausted_when_it_is_due_after_n2_repetitions() {
        for mode in [RejectMode::Selective, RejectMode::GoBack] {
            let mut window = ReceiveWindow::new(mode, 31);
            take(&mut window, &[1]);
            for attempt in 0..3 {
                assert!(!window.is_exhausted(at(attempt * 480), T1, 2), "{mode:?} {attempt}");
                window.request(at(attempt * 480), T1).expect("a request");
            }
            assert!(!window.is_exhausted(at(3 * 480 - 1), T1, 2));
            assert!(window.is_exhausted(at(3 * 480), T1, 2));
            assert!(!window.is_exhausted(at(3 * 480), T1, 3));
        }
    }

    #[test]
    fn single_frames_can_be_asked_for_in_half_of_the_numbers() {
        let size = |mode, size| ReceiveWindow::new(mode, size).size;
        assert_eq!([1, 31, 61].map(|it| size(RejectMode::Selective, it)), [1, 31, 31]);
        assert_eq!([0, 31, 200].map(|it| size(RejectMode::GoBack, it)), [1, 31, 61]);
    }
}
