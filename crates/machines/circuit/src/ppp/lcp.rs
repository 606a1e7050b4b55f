//! The options of LCP (RFC 1661, section 6; RFC 1662, section 7).

use windfall_base::Stream;
use windfall_wire_link::hdlc::Accm;
use windfall_wire_link::ppp::{Compression, PppOption};

use crate::ppp::negotiation::{Negotiation, Verdict};

const MRU: u8 = 1;
const ACCM: u8 = 2;
const MAGIC: u8 = 5;
const PROTOCOL_COMPRESSION: u8 = 7;
const ADDRESS_CONTROL_COMPRESSION: u8 = 8;

/// The receive unit that every end takes, whatever was negotiated.
const DEFAULT_MRU: u16 = 1_500;
/// The least receive unit that is granted: anything less is a mistake.
const LEAST_MRU: u16 = 64;

/// The options of LCP at one end.
#[derive(Clone, Debug)]
pub(crate) struct Lcp {
    mru: u16,
    accm: Accm,
    magic: u32,
    /// Options that the peer has refused, as bits.
    refused: u16,
    random: Stream,
    /// The longest packet that the peer takes.
    pub(crate) peer_mru: u16,
    /// The bytes to escape for the peer.
    pub(crate) peer_accm: Accm,
    /// The fields that may be left out for the peer.
    pub(crate) compression: Compression,
    /// The peer has the magic number of this end.
    pub(crate) looped: bool,
}

impl Lcp {
    pub(crate) fn new(mru: u16, accm: Accm, mut random: Stream) -> Self {
        Self {
            mru,
            accm,
            magic: random.bits() as u32 | 1,
            refused: 0,
            random,
            peer_mru: DEFAULT_MRU,
            peer_accm: Accm::ALL,
            compression: Compression::default(),
            looped: false,
        }
    }

    /// The magic number, or zeros if the peer does not have such.
    pub(crate) fn magic(&self) -> [u8; 4] {
        if self.has_refused(MAGIC) { [0; 4] } else { self.magic.to_be_bytes() }
    }

    /// The bytes that the peer escapes once it has granted them.
    pub(crate) fn accm(&self) -> Accm {
        if self.has_refused(ACCM) { Accm::ALL } else { self.accm }
    }

    fn has_refused(&self, kind: u8) -> bool {
        self.refused & 1 << kind != 0
    }
}

impl Negotiation for Lcp {
    fn request(&self, data: &mut Vec<u8>) {
        let mut ask = |kind, value: &[u8]| {
            if !self.has_refused(kind) {
                PppOption { kind, value }.encode(data);
            }
        };
        if self.mru != DEFAULT_MRU {
            ask(MRU, &self.mru.to_be_bytes());
        }
        ask(ACCM, &self.accm.0.to_be_bytes());
        ask(MAGIC, &self.magic.to_be_bytes());
        ask(PROTOCOL_COMPRESSION, &[]);
        ask(ADDRESS_CONTROL_COMPRESSION, &[]);
    }

    fn judge(&mut self, option: PppOption<'_>) -> Verdict {
        match (option.kind, option.value) {
            (MRU, &[high, low]) => {
                let mru = u16::from_be_bytes([high, low]);
                if mru < LEAST_MRU {
                    return Verdict::Correct(LEAST_MRU.to_be_bytes().to_vec());
                }
                self.peer_mru = mru;
            }
            (ACCM, &[a, b, c, d]) => self.peer_accm = Accm(u32::from_be_bytes([a, b, c, d])),
            (MAGIC, &[a, b, c, d]) => {
                let magic = u32::from_be_bytes([a, b, c, d]);
                if magic == self.magic || magic == 0 {
                    self.looped = magic != 0;
                    return Verdict::Correct((self.random.bits() as u32).to_be_bytes().to_vec());
                }
            }
            (PROTOCOL_COMPRESSION, []) => self.compression.protocol = true,
            (ADDRESS_CONTROL_COMPRESSION, []) => self.compression.address_control = true,
            // A known option of a wrong length: the peer learns the form and the default (RFC 1661,
            // section 6).
            (MRU, _) => return Verdict::Correct(DEFAULT_MRU.to_be_bytes().to_vec()),
            (ACCM, _) => return Verdict::Correct(Accm::ALL.0.to_be_bytes().to_vec()),
            (MAGIC, _) => {
                return Verdict::Correct((self.random.bits() as u32).to_be_bytes().to_vec());
            }
            (PROTOCOL_COMPRESSION | ADDRESS_CONTROL_COMPRESSION, _) => {
                return Verdict::Correct(Vec::new());
            }
            _ => return Verdict::Refuse,
        }
        Verdict::Grant
    }

    fn correct(&mut self, option: PppOption<'_>) {
        match (option.kind, option.value) {
            (MRU, &[high, low]) => {
                let wish = u16::from_be_bytes([high, low]).max(LEAST_MRU);
                self.mru = self.mru.min(wish);
            }
            // The peer may have bytes escaped that this end would not ask for.
            (ACCM, &[a, b, c, d]) => self.accm.0 |= u32::from_be_bytes([a, b, c, d]),
            (MAGIC, _) => self.magic = self.random.bits() as u32 | 1,
            _ => {}
        }
    }

    fn refuse(&mut self, kind: u8) {
        self.refused |= 1_u16.checked_shl(u32::from(kind)).unwrap_or(0);
    }

    fn is_looped(&self) -> bool {
        self.looped
    }

    fn forget_peer(&mut self) {
        self.peer_mru = DEFAULT_MRU;
        self.peer_accm = Accm::ALL;
        self.compression = Compression::default();
        self.looped = false;
    }
}
