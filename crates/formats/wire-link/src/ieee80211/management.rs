//! The bodies of management frames: beacons, authentication, association.
//!
//! A body is a few fields of fixed length and then elements, each an identifier, a length and that
//! many bytes. Elements that are unknown are skipped.

use arrayvec::ArrayVec;

use super::address::MacAddress;
use super::rate::PhyRate;
use crate::HeaderError;

/// The longest name of a network, in bytes.
pub const MAX_SSID: usize = 32;
/// Association identifiers run from 1 to this.
pub const MAX_AID: u16 = 2007;

const SSID: u8 = 0;
const RATES: u8 = 1;
const DS_PARAMETERS: u8 = 3;
const TIM: u8 = 5;
const ERP: u8 = 42;
const EXTENDED_RATES: u8 = 50;
/// The mark of a basic rate in a list of rates.
const BASIC: u8 = 0x80;
/// Bytes of the fields before the partial bitmap of a traffic indication map.
const TIM_FIELDS: usize = 3;

/// The name of a network; of length zero if it is hidden.
pub type Ssid = ArrayVec<u8, MAX_SSID>;

/// Bits of the capability field.
pub mod capability {
    /// An access point.
    pub const ESS: u16 = 0x0001;
    /// A station of an ad hoc network.
    pub const IBSS: u16 = 0x0002;
    /// Frames are encrypted.
    pub const PRIVACY: u16 = 0x0010;
    /// Short preambles are understood.
    pub const SHORT_PREAMBLE: u16 = 0x0020;
    /// Slots are short.
    pub const SHORT_SLOT: u16 = 0x0400;
}

/// Bits of what a beacon of 802.11g says of the stations around.
pub mod erp {
    /// Some of them know 802.11b alone.
    pub const NON_ERP_PRESENT: u8 = 0x01;
    /// OFDM is announced by frames that they understand.
    pub const USE_PROTECTION: u8 = 0x02;
    /// Some of them do not understand short preambles.
    pub const BARKER_PREAMBLE: u8 = 0x04;
}

/// The description of a network: the elements that beacons and requests share.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NetworkDescription {
    /// The name of the network.
    pub ssid: Ssid,
    /// Its rates, and whether each is basic, in the order of the frame.
    pub rates: ArrayVec<(PhyRate, bool), 12>,
}

/// The body of a beacon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beacon {
    /// The clock of the network, in microseconds.
    pub timestamp: u64,
    /// The time between beacons, in units of 1024 µs.
    pub interval: u16,
    /// Bits of [`capability`].
    pub capability: u16,
    /// The description of the network.
    pub network: NetworkDescription,
    /// The channel of the network.
    pub channel: u8,
    /// The association identifiers of dozing stations for which something waits, ascending, and 0
    /// before them if something waits for all; absent in beacons of ad hoc networks.
    pub waiting: Option<Vec<u16>>,
    /// Bits of [`erp`]; absent in beacons of 802.11b.
    pub erp: Option<u8>,
}

/// The body of an authentication frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Authentication {
    /// 0 for the open system, which is the only one here.
    pub algorithm: u16,
    /// The step of the exchange, from 1.
    pub step: u16,
    /// 0 for success.
    pub status: u16,
}

/// The body of a request for association or re-association.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssociationRequest {
    /// Bits of [`capability`].
    pub capability: u16,
    /// The number of beacons that the station may sleep through.
    pub listen_interval: u16,
    /// The access point that it leaves, in a request for re-association.
    pub leaves: Option<MacAddress>,
    /// The network that it wants.
    pub network: NetworkDescription,
}

/// The body of the answer to such a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssociationResponse {
    /// Bits of [`capability`].
    pub capability: u16,
    /// 0 for success.
    pub status: u16,
    /// The association identifier, from 1 to [`MAX_AID`].
    pub aid: u16,
    /// The description of the network; its name is not sent.
    pub network: NetworkDescription,
}

impl Beacon {
    /// The bytes of the body.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = self.timestamp.to_le_bytes().to_vec();
        bytes.extend(self.interval.to_le_bytes());
        bytes.extend(self.capability.to_le_bytes());
        self.network.encode(&mut bytes, true, |bytes| {
            element(bytes, DS_PARAMETERS, &[self.channel]);
            if let Some(waiting) = &self.waiting {
                element(bytes, TIM, &traffic_map(waiting));
            }
            if let Some(erp) = self.erp {
                element(bytes, ERP, &[erp]);
            }
        });
        bytes
    }

    /// Reads a body.
    ///
    /// # Errors
    /// If fields are missing or elements do not fit.
    pub fn parse(bytes: &[u8]) -> Result<Self, HeaderError> {
        let (fields, elements) = split::<12>(bytes)?;
        let [t0, t1, t2, t3, t4, t5, t6, t7, i0, i1, c0, c1] = *fields;
        let mut channel = 0;
        let mut waiting = None;
        let mut erp = None;
        let network = NetworkDescription::parse(elements, |id, body| match id {
            DS_PARAMETERS => channel = body.first().copied().unwrap_or(0),
            TIM => waiting = Some(stations_in(body)),
            ERP => erp = body.first().copied(),
            _ => {}
        })?;
        Ok(Self {
            timestamp: u64::from_le_bytes([t0, t1, t2, t3, t4, t5, t6, t7]),
            interval: u16::from_le_bytes([i0, i1]),
            capability: u16::from_le_bytes([c0, c1]),
            network,
            channel,
            waiting,
            erp,
        })
    }
}

impl Authentication {
    /// The bytes of the body.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        [self.algorithm, self.step, self.status].map(u16::to_le_bytes).concat()
    }

    /// Reads a body.
    ///
    /// # Errors
    /// If fields are missing.
    pub fn parse(bytes: &[u8]) -> Result<Self, HeaderError> {
        let ([a0, a1, s0, s1, t0, t1], _) = split::<6>(bytes)?;
        let [algorithm, step, status] =
            [[*a0, *a1], [*s0, *s1], [*t0, *t1]].map(u16::from_le_bytes);
        Ok(Self { algorithm, step, status })
    }
}

impl AssociationRequest {
    /// The bytes of the body.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = [self.capability, self.listen_interval].map(u16::to_le_bytes).concat();
        bytes.extend(self.leaves.iter().flat_map(|address| address.0));
        self.network.encode(&mut bytes, true, |_| {});
        bytes
    }

    /// Reads the body of a request for association, or for re-association if `again`.
    ///
    /// # Errors
    /// If fields are missing or elements do not fit.
    pub fn parse(bytes: &[u8], again: bool) -> Result<Self, HeaderError> {
        let ([c0, c1, l0, l1], mut rest) = split::<4>(bytes)?;
        let mut leaves = None;
        if again {
            let (address, elements) = split::<6>(rest)?;
            leaves = Some(MacAddress(*address));
            rest = elements;
        }
        Ok(Self {
            capability: u16::from_le_bytes([*c0, *c1]),
            listen_interval: u16::from_le_bytes([*l0, *l1]),
            leaves,
            network: NetworkDescription::parse(rest, |_, _| {})?,
        })
    }
}

/// The two high bits of an association identifier in frames.
const AID_MARK: u16 = 0xc000;

impl AssociationResponse {
    /// The bytes of the body.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let fields = [self.capability, self.status, self.aid | AID_MARK];
        let mut bytes = fields.map(u16::to_le_bytes).concat();
        self.network.encode(&mut bytes, false, |_| {});
        bytes
    }

    /// Reads a body.
    ///
    /// # Errors
    /// If fields are missing or elements do not fit.
    pub fn parse(bytes: &[u8]) -> Result<Self, HeaderError> {
        let ([c0, c1, s0, s1, a0, a1], rest) = split::<6>(bytes)?;
        Ok(Self {
            capability: u16::from_le_bytes([*c0, *c1]),
            status: u16::from_le_bytes([*s0, *s1]),
            aid: u16::from_le_bytes([*a0, *a1]) & !AID_MARK,
            network: NetworkDescription::parse(rest, |_, _| {})?,
        })
    }
}

impl NetworkDescription {
    /// A network of this name with these rates.
    #[must_use]
    pub fn new(ssid: &[u8], rates: &[PhyRate], basic: &[PhyRate]) -> Self {
        let is_basic = |rate: &PhyRate| (*rate, basic.contains(rate));
        Self {
            ssid: ssid.iter().take(MAX_SSID).copied().collect(),
            rates: rates.iter().take(PhyRate::ALL.len()).map(is_basic).collect(),
        }
    }

    /// Writes name and rates, and `between` the first eight rates and the others what else there
    /// is, since elements stand in the order of their identifiers.
    fn encode(&self, bytes: &mut Vec<u8>, named: bool, between: impl FnOnce(&mut Vec<u8>)) {
        if named {
            element(bytes, SSID, &self.ssid);
        }
        let codes: ArrayVec<u8, 12> = self
            .rates
            .iter()
            .map(|(rate, basic)| rate.half_megabits() | if *basic { BASIC } else { 0 })
            .collect();
        let (first, others) = codes.split_at(codes.len().min(8));
        element(bytes, RATES, first);
        between(bytes);
        if !others.is_empty() {
            element(bytes, EXTENDED_RATES, others);
        }
    }

    fn parse(mut bytes: &[u8], mut other: impl FnMut(u8, &[u8])) -> Result<Self, HeaderError> {
        let mut network = Self::default();
        while let [id, len, rest @ ..] = bytes {
            let len = usize::from(*len);
            let short = HeaderError::Short { have: rest.len(), need: len };
            let (body, rest) = rest.split_at_checked(len).ok_or(short)?;
            match *id {
                SSID => {
                    network.ssid =
                        body.try_into().map_err(|_| HeaderError::Field("name of the network"))?;
                }
                RATES | EXTENDED_RATES => network.add_rates(body),
                id => other(id, body),
            }
            bytes = rest;
        }
        Ok(network)
    }

    fn add_rates(&mut self, codes: &[u8]) {
        for code in codes {
            if let Some(rate) = PhyRate::from_half_megabits(code & !BASIC)
                && self.rates.iter().all(|(known, _)| *known != rate)
            {
                self.rates.push((rate, code & BASIC != 0));
            }
        }
    }
}

/// The fields of fixed length at the beginning of a body, and the rest.
fn split<const N: usize>(bytes: &[u8]) -> Result<(&[u8; N], &[u8]), HeaderError> {
    bytes.split_first_chunk().ok_or(HeaderError::Short { have: bytes.len(), need: N })
}

fn element(bytes: &mut Vec<u8>, id: u8, body: &[u8]) {
    bytes.extend([id, body.len() as u8]);
    bytes.extend_from_slice(body);
}

/// The element with a bit for each dozing station for which something waits.
fn traffic_map(waiting: &[u16]) -> Vec<u8> {
    let (for_all, waiting) = match waiting {
        [0, rest @ ..] => (1, rest),
        rest => (0, rest),
    };
    let bytes_of = |aid: &u16| usize::from(aid / 8);
    // The bitmap begins at an even byte, and has one byte at least.
    let first = waiting.first().map_or(0, bytes_of) & !1;
    let last = waiting.last().map_or(0, bytes_of).max(first);
    // The only count is that of the beacon itself: every beacon may be followed by group frames.
    let mut body = vec![0, 1, first as u8 | for_all];
    body.resize(TIM_FIELDS + last - first + 1, 0);
    for aid in waiting {
        body[TIM_FIELDS + usize::from(aid / 8) - first] |= 1 << (aid % 8);
    }
    body
}

fn stations_in(body: &[u8]) -> Vec<u16> {
    let Some((&[_, _, control], bitmap)) = body.split_first_chunk::<TIM_FIELDS>() else {
        return Vec::new();
    };
    let first = u16::from(control & !1) * 8;
    let bits = (0..8 * bitmap.len() as u16)
        .filter(|bit| bitmap[usize::from(bit / 8)] & (1 << (bit % 8)) != 0);
    let one_by_one = bits.map(|bit| first + bit).filter(|aid| (1..=MAX_AID).contains(aid));
    let for_all = (control & 1 == 1).then_some(0);
    for_all.into_iter().chain(one_by_one).collect()
}

#[cfg(test)]
mod tests;
