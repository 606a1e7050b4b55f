//! The options of IPV6CP (RFC 5072): interface identifiers.

use windfall_base::Stream;
use windfall_wire_link::ppp::PppOption;

use crate::ppp::negotiation::{Negotiation, Verdict};

const IDENTIFIER: u8 = 1;
/// The bit of an identifier that says that it is unique in the world.
const UNIVERSAL: u64 = 0x0200_0000_0000_0000;

/// The options of IPV6CP at one end.
#[derive(Clone, Debug)]
pub(crate) struct Ipv6cp {
    pub(crate) local: u64,
    pub(crate) peer: u64,
    is_refused: bool,
    random: Stream,
}

impl Ipv6cp {
    pub(crate) fn new(mut random: Stream) -> Self {
        let local = identifier(&mut random);
        Self { local, peer: 0, is_refused: false, random }
    }
}

/// A random identifier that is not zero.
fn identifier(random: &mut Stream) -> u64 {
    (random.bits() & !UNIVERSAL) | 1
}

impl Negotiation for Ipv6cp {
    fn request(&self, data: &mut Vec<u8>) {
        if !self.is_refused {
            PppOption { kind: IDENTIFIER, value: &self.local.to_be_bytes() }.encode(data);
        }
    }

    fn judge(&mut self, option: PppOption<'_>) -> Verdict {
        let value = <[u8; 8]>::try_from(option.value);
        let (IDENTIFIER, Ok(value)) = (option.kind, value) else { return Verdict::Refuse };
        let told = u64::from_be_bytes(value);
        if told == 0 || told == self.local {
            return Verdict::Correct(identifier(&mut self.random).to_be_bytes().to_vec());
        }
        self.peer = told;
        Verdict::Grant
    }

    fn correct(&mut self, option: PppOption<'_>) {
        if let (IDENTIFIER, Ok(value)) = (option.kind, <[u8; 8]>::try_from(option.value)) {
            self.local = u64::from_be_bytes(value);
        }
    }

    fn refuse(&mut self, kind: u8) {
        self.is_refused |= kind == IDENTIFIER;
    }

    fn forget_peer(&mut self) {
        self.peer = 0;
    }
}
