//! The parameters of one end.

use core::net::Ipv4Addr;

use windfall_base::Duration;
use windfall_wire_link::hdlc::{Accm, HdlcCheck};

/// The fate of a packet whose check fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FrameMode {
    /// It is dropped.
    #[default]
    Strict,
    /// PPP Lite: a packet of the network layer is passed up as damaged. Control packets still need
    /// their check.
    Lite,
}

/// The parameters of one end of a PPP link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PppConfig {
    /// The fate of a packet whose check fails.
    pub mode: FrameMode,
    /// The check of packets of the network layer; both ends must be set alike, it is not
    /// negotiated. LCP and the other control protocols use 16 bits.
    pub check: HdlcCheck,
    /// The longest packet that this end takes, in bytes.
    pub mru: u16,
    /// The bytes that the peer has to escape.
    pub accm: Accm,
    /// The IPv4 address of this end; `None`: the peer's choice.
    pub local: Option<Ipv4Addr>,
    /// The IPv4 address of the peer; `None`: its own choice.
    pub peer: Option<Ipv4Addr>,
    /// IPv6 is negotiated too.
    pub ipv6: bool,
    /// The time after which a request is sent again.
    pub restart: Duration,
    /// Requests to configure before this end gives up.
    pub max_configure: u8,
    /// Requests to terminate before this end gives up.
    pub max_terminate: u8,
    /// Corrections (Nak) in a row before options are rejected instead.
    pub max_failure: u8,
}

impl Default for PppConfig {
    /// The defaults of RFC 1661, and an empty escape map.
    fn default() -> Self {
        Self {
            mode: FrameMode::Strict,
            check: HdlcCheck::Fcs16,
            mru: 1_500,
            accm: Accm::NONE,
            local: None,
            peer: None,
            ipv6: true,
            restart: Duration::from_secs(3),
            max_configure: 10,
            max_terminate: 2,
            max_failure: 5,
        }
    }
}
