//! Proportional rate reduction (RFC 9937): in fast recovery the data sent follow the data
//! delivered, so that the flight shrinks to its target over a round trip instead of pausing for
//! half of one.

/// The state of one recovery; numbers are bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rate {
    /// The target: the slow-start threshold.
    target: u64,
    /// In flight when the loss was noticed.
    before: u64,
    delivered: u64,
    sent: u64,
    /// The window now.
    pub(super) window: u64,
}

impl Rate {
    /// Begins a recovery of `before` bytes in flight down to `target`.
    pub(super) const fn new(target: u64, before: u64) -> Self {
        let before = if before == 0 { 1 } else { before };
        Self { target, before, delivered: 0, sent: 0, window: 0 }
    }

    /// Notes that `bytes` left.
    pub(super) const fn on_sent(&mut self, bytes: u64) {
        self.sent += bytes;
    }

    /// Takes an acknowledgment that delivers `delivered` bytes and leaves `in_flight` in the
    /// network; `is_safe` if it advanced SND.UNA and reported no further loss (section 6).
    pub(super) fn on_delivered(&mut self, delivered: u64, in_flight: u64, is_safe: bool, mss: u64) {
        if delivered == 0 {
            return;
        }
        self.delivered += delivered;
        let allowed = if in_flight > self.target {
            let share = u128::from(self.delivered) * u128::from(self.target);
            (share.div_ceil(u128::from(self.before)) as u64).saturating_sub(self.sent)
        } else {
            let bound = self.delivered.saturating_sub(self.sent).max(delivered);
            let bound = bound + if is_safe { mss } else { 0 };
            bound.min(self.target - in_flight)
        };
        // The first retransmission leaves at once.
        let allowed = if self.sent == 0 { allowed.max(mss) } else { allowed };
        self.window = in_flight + allowed;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Twenty segments in flight, of which the first is lost; returns how many leave, by
    /// acknowledgment.
    fn departures(target: u64, losses: u64) -> Vec<u64> {
        let mut rate = Rate::new(target, 20);
        let mut in_flight = 20 - losses - 2;
        (0..20 - losses - 2)
            .map(|_| {
                in_flight -= 1;
                rate.on_delivered(1, in_flight, false, 1);
                let leave = rate.window - in_flight;
                rate.on_sent(leave);
                in_flight += leave;
                leave
            })
            .collect()
    }

    #[test]
    fn seven_tenths_of_what_arrives_leaves_again() {
        let leave = departures(14, 1);
        assert_eq!(leave.iter().sum::<u64>(), 14, "{leave:?}");
        assert!(leave.windows(3).all(|three| three.iter().sum::<u64>() >= 1), "{leave:?}");
    }

    #[test]
    fn after_heavy_losses_one_leaves_for_each_that_arrives() {
        let leave = departures(14, 12);
        assert_eq!(leave, vec![1; 6]);
    }

    #[test]
    fn an_acknowledgment_that_advances_lets_the_flight_grow_to_the_target() {
        let mut rate = Rate::new(10, 20);
        rate.on_delivered(1, 4, false, 1);
        assert_eq!(rate.window, 5);
        rate.on_sent(1);
        rate.on_delivered(1, 4, true, 1);
        assert_eq!(rate.window, 6);
        rate.on_delivered(100, 4, true, 1);
        assert_eq!(rate.window, 10);
    }
}
