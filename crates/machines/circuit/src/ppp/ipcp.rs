//! The options of IPCP (RFC 1332): addresses, and no header compression.

use core::net::Ipv4Addr;

use windfall_wire_link::ppp::PppOption;

use crate::ppp::negotiation::{Negotiation, Verdict};

const ADDRESS: u8 = 3;

/// The options of IPCP at one end.
#[derive(Clone, Debug)]
pub(crate) struct Ipcp {
    /// The address to ask for; unspecified: the peer's choice.
    pub(crate) local: Ipv4Addr,
    /// The address of the peer, once it has told one.
    pub(crate) peer: Option<Ipv4Addr>,
    /// The address that the peer has to have.
    assigned: Option<Ipv4Addr>,
    is_fixed: bool,
    is_refused: bool,
}

impl Ipcp {
    pub(crate) fn new(local: Option<Ipv4Addr>, assigned: Option<Ipv4Addr>) -> Self {
        Self {
            local: local.unwrap_or(Ipv4Addr::UNSPECIFIED),
            peer: None,
            assigned,
            is_fixed: local.is_some(),
            is_refused: false,
        }
    }
}

impl Negotiation for Ipcp {
    fn request(&self, data: &mut Vec<u8>) {
        if !self.is_refused {
            PppOption { kind: ADDRESS, value: &self.local.octets() }.encode(data);
        }
    }

    fn judge(&mut self, option: PppOption<'_>) -> Verdict {
        let (ADDRESS, &[a, b, c, d]) = (option.kind, option.value) else { return Verdict::Refuse };
        let told = Ipv4Addr::new(a, b, c, d);
        match self.assigned {
            Some(assigned) if assigned != told => Verdict::Correct(assigned.octets().to_vec()),
            None if told.is_unspecified() => Verdict::Refuse,
            _ => {
                self.peer = Some(told);
                Verdict::Grant
            }
        }
    }

    fn correct(&mut self, option: PppOption<'_>) {
        if let (ADDRESS, &[a, b, c, d], false) = (option.kind, option.value, self.is_fixed) {
            self.local = Ipv4Addr::new(a, b, c, d);
        }
    }

    fn refuse(&mut self, kind: u8) {
        self.is_refused |= kind == ADDRESS;
    }

    fn forget_peer(&mut self) {
        self.peer = None;
    }
}
