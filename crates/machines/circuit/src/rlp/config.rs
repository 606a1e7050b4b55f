//! The parameters of a link.

use windfall_base::Duration;
use windfall_wire_link::rlp::RLP_MODULUS;

/// The time from one block of a circuit to the next.
pub const SLOT: Duration = Duration::from_millis(20);

/// The largest window in which single frames can be asked for.
pub(crate) const SELECTIVE_WINDOW: u8 = RLP_MODULUS / 2;

/// The side of the circuit on which an entity stands; it decides who retries first after a
/// collision of XID frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RlpRole {
    /// The mobile station, which calls and negotiates again after T1.
    Mobile,
    /// The interworking function of the network, which negotiates again after twice T1.
    Network,
}

/// A receiver's request for missing frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RejectMode {
    /// SREJ: the missing frames alone, each with a timer of its own.
    #[default]
    Selective,
    /// REJ: everything from the first missing frame on; what arrives out of order is discarded.
    GoBack,
}

/// The parameters of an entity, before it negotiates them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RlpConfig {
    /// The side on which it stands.
    pub role: RlpRole,
    /// Frames that may be under way unacknowledged to the network, 1 to 61.
    pub window_up: u8,
    /// Frames that may be under way unacknowledged to the mobile station, 1 to 61.
    pub window_down: u8,
    /// T1: the time in which an acknowledgement or an answer is due.
    pub t1: Duration,
    /// T2: the time for which an acknowledgement may wait for a frame to travel in.
    pub t2: Duration,
    /// N2: retransmissions of a frame or a command.
    pub n2: u8,
    /// The request for missing frames.
    pub reject: RejectMode,
    /// The entity that connects sends XID before SABM.
    pub negotiate: bool,
    /// Bytes that wait to be sent, and bytes that wait to be read before the peer has to pause.
    pub buffer: usize,
}

impl RlpConfig {
    /// The parameters that GSM 04.22 recommends for 9.6 kb/s on a full-rate channel, with a window
    /// of half the numbers: beyond that a receiver that asks for single frames cannot tell a new
    /// frame from a late copy of an old one.
    #[must_use]
    pub const fn standard(role: RlpRole) -> Self {
        Self {
            role,
            window_up: SELECTIVE_WINDOW,
            window_down: SELECTIVE_WINDOW,
            t1: Duration::from_millis(480),
            t2: Duration::ZERO,
            n2: 6,
            reject: RejectMode::Selective,
            negotiate: true,
            buffer: 8_192,
        }
    }

    //= S1.18
    /// The time after which an XID without a usable answer is sent again.
    pub(crate) fn xid_period(&self) -> Duration {
        match self.role {
            RlpRole::Mobile => self.t1,
            RlpRole::Network => self.t1 * 2,
        }
    }

    /// The window in the direction in which this entity sends, and that of the peer.
    pub(crate) fn windows(&self) -> (u8, u8) {
        match self.role {
            RlpRole::Mobile => (self.window_up, self.window_down),
            RlpRole::Network => (self.window_down, self.window_up),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_standard_parameters_are_those_of_gsm_04_22() {
        for role in [RlpRole::Mobile, RlpRole::Network] {
            let config = RlpConfig::standard(role);
            assert_eq!((config.role, config.n2, config.t1.as_millis()), (role, 6, 480));
            assert_eq!((config.window_up, config.window_down), (31, 31));
            assert_eq!((config.reject, config.negotiate), (RejectMode::Selective, true));
        }
    }

    #[test]
    fn the_side_decides_which_window_is_its_own_and_when_it_tries_again() {
        let of = |role| {
            let config = RlpConfig { window_up: 5, window_down: 9, ..RlpConfig::standard(role) };
            (config.windows(), config.xid_period().as_millis())
        };
        assert_eq!(of(RlpRole::Mobile), ((5, 9), 480));
        assert_eq!(of(RlpRole::Network), ((9, 5), 960));
    }
}
