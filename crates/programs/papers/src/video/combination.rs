//! The four combinations of transport and radio link, and the channels.

use windfall_scenario::GsmEnvironment;
use windfall_video::wsim::{CircuitService, WsimProtocol};

/// A transport protocol over a service of the circuit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Combination {
    pub(crate) protocol: WsimProtocol,
    pub(crate) service: CircuitService,
}

/// The places of the combinations in the paper's figures, from left to right.
pub(crate) const UDP_RLP: usize = 0;
pub(crate) const LITE_RLP: usize = 1;
pub(crate) const UDP: usize = 2;
pub(crate) const LITE: usize = 3;

//= S1.45
/// The combinations in the order of the paper's figures.
pub(crate) const COMBINATIONS: [Combination; 4] = [
    Combination { protocol: WsimProtocol::Udp, service: CircuitService::Rlp },
    Combination { protocol: WsimProtocol::UdpLite, service: CircuitService::Rlp },
    Combination { protocol: WsimProtocol::Udp, service: CircuitService::Transparent },
    Combination { protocol: WsimProtocol::UdpLite, service: CircuitService::Transparent },
];

/// The names of the combinations, as the paper has them.
pub(crate) const NAMES: [&str; 4] =
    ["UDP / RLP", "UDP Lite / RLP", "UDP / non-RLP", "UDP Lite / non-RLP"];

/// The places of the channels.
pub(crate) const GOOD: usize = 0;
pub(crate) const BAD: usize = 1;

//= S1.45
//= S1.46
/// The channels of section 5.2, and their names.
pub(crate) const CHANNELS: [(GsmEnvironment, &str); 2] = [
    (GsmEnvironment::StationaryGood, "good channel"),
    (GsmEnvironment::StationaryBad, "bad channel"),
];
