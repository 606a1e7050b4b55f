//! The negotiation of parameters by XID.

use windfall_base::Duration;
use windfall_wire_link::rlp::{RLP_MODULUS, XidParameters};

use crate::rlp::config::RlpConfig;

/// The version that this entity speaks.
const VERSION: u8 = 0;
/// The unit of times in XID.
const UNIT: Duration = Duration::from_millis(10);

/// The parameters of `config` as XID tells them.
pub(crate) fn parameters(config: &RlpConfig) -> XidParameters {
    let units = |time: Duration| (time.as_nanos() / UNIT.as_nanos()).min(255) as u8;
    XidParameters {
        version: Some(VERSION),
        window_down: Some(config.window_down),
        window_up: Some(config.window_up),
        t1: Some(units(config.t1)),
        n2: Some(config.n2),
        t2: Some(units(config.t2)),
    }
}

//= S1.19
/// Meets the peer: windows only shrink, times and attempts only grow. A value of 0 that would stop
/// the link is ignored.
pub(crate) fn agree(config: &mut RlpConfig, peer: &XidParameters) {
    let shrink = |own: &mut u8, peer: Option<u8>| {
        if let Some(peer) = peer.filter(|window| (1..RLP_MODULUS).contains(window)) {
            *own = peer.min(*own);
        }
    };
    shrink(&mut config.window_down, peer.window_down);
    shrink(&mut config.window_up, peer.window_up);
    let grow = |own: &mut Duration, peer: Option<u8>| {
        *own = UNIT.saturating_mul(u64::from(peer.unwrap_or(0))).max(*own);
    };
    grow(&mut config.t1, peer.t1);
    grow(&mut config.t2, peer.t2);
    config.n2 = config.n2.max(peer.n2.unwrap_or(0));
}
