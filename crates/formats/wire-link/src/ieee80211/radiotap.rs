//! Radiotap: what a capture says of a frame beside its bytes (radiotap.org).
//!
//! Version 0, length, a word that says which fields are present, and the fields in the order of
//! their bits, each aligned to its size, least significant byte first.

use windfall_base::Dbm;

use super::rate::PhyRate;
use crate::{HeaderError, flag};

const TSFT: u32 = 0;
const FLAGS: u32 = 1;
const RATE: u32 = 2;
const CHANNEL: u32 = 3;
const SIGNAL: u32 = 5;
const NOISE: u32 = 6;
const TX_FLAGS: u32 = 15;
const DATA_RETRIES: u32 = 17;
const EXTENDED: u32 = 31;

/// Size and alignment of the fields up to the last that is known here.
const LAYOUT: [(usize, usize); 18] = [
    (8, 8),
    (1, 1),
    (1, 1),
    (4, 2),
    (2, 1),
    (1, 1),
    (1, 1),
    (2, 2),
    (2, 2),
    (2, 2),
    (1, 1),
    (1, 1),
    (1, 1),
    (1, 1),
    (2, 2),
    (2, 2),
    (1, 1),
    (1, 1),
];

const SHORT_PREAMBLE: u8 = 0x02;
const FCS_AT_END: u8 = 0x10;
const BAD_FCS: u8 = 0x40;
const NO_ACK: u16 = 0x0008;
const CHANNEL_CCK: u16 = 0x0020;
const CHANNEL_OFDM: u16 = 0x0040;
const CHANNEL_2GHZ: u16 = 0x0080;

/// The contents of a header; a field is absent if `None` or `false`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Radiotap {
    /// When the first bit arrived, in microseconds of the receiver's clock.
    pub time: Option<u64>,
    /// The preamble was short.
    pub short_preamble: bool,
    /// The frame ends with its frame check sequence.
    pub fcs: bool,
    /// That check failed.
    pub bad_fcs: bool,
    /// The rate of the frame.
    pub rate: Option<PhyRate>,
    /// The channel's centre in megahertz.
    pub frequency: Option<u16>,
    /// Strength at the antenna, in whole dBm.
    pub signal: Option<Dbm>,
    /// Noise at the antenna, in whole dBm.
    pub noise: Option<Dbm>,
    /// The sender asks for no acknowledgement; present in frames to be sent.
    pub no_ack: Option<bool>,
    /// Repetitions after the first attempt that a sender may make or made.
    pub retries: Option<u8>,
}

impl Radiotap {
    /// The bytes of the header.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut writer = Writer { bytes: vec![0; 8], present: 0 };
        if let Some(time) = self.time {
            writer.field(TSFT, &time.to_le_bytes());
        }
        let flags = flag(self.short_preamble, SHORT_PREAMBLE)
            | flag(self.fcs, FCS_AT_END)
            | flag(self.bad_fcs, BAD_FCS);
        writer.field(FLAGS, &[flags]);
        if let Some(rate) = self.rate {
            writer.field(RATE, &[rate.half_megabits()]);
        }
        if let Some(frequency) = self.frequency {
            let [low, high] = frequency.to_le_bytes();
            let ofdm = self.rate.is_some_and(PhyRate::is_ofdm);
            let kind = CHANNEL_2GHZ | if ofdm { CHANNEL_OFDM } else { CHANNEL_CCK };
            let [kind_low, kind_high] = kind.to_le_bytes();
            writer.field(CHANNEL, &[low, high, kind_low, kind_high]);
        }
        for (bit, power) in [(SIGNAL, self.signal), (NOISE, self.noise)] {
            if let Some(Dbm(power)) = power {
                writer.field(bit, &(power.round() as i8).to_le_bytes());
            }
        }
        if let Some(no_ack) = self.no_ack {
            writer.field(TX_FLAGS, &(if no_ack { NO_ACK } else { 0 }).to_le_bytes());
        }
        if let Some(retries) = self.retries {
            writer.field(DATA_RETRIES, &[retries]);
        }
        writer.finish()
    }

    /// Reads the header at the beginning of `bytes`, and tells its length.
    ///
    /// Fields beyond those known here are skipped; the channel's kind is not kept.
    ///
    /// # Errors
    /// If the header is of another version, or ends before its last field.
    pub fn parse(bytes: &[u8]) -> Result<(Self, usize), HeaderError> {
        let short = |need| HeaderError::Short { have: bytes.len(), need };
        let &[version, _, l0, l1, p0, p1, p2, p3, ..] = bytes else { return Err(short(8)) };
        if version != 0 {
            return Err(HeaderError::Kind(version));
        }
        let len = usize::from(u16::from_le_bytes([l0, l1]));
        let header = bytes.get(..len).ok_or(short(len))?;
        let present = u32::from_le_bytes([p0, p1, p2, p3]);
        let mut at = fields_begin(header, present)?;
        let mut found = Self::default();
        for (bit, (size, align)) in (0..).zip(LAYOUT) {
            if present & (1 << bit) != 0 {
                at = at.next_multiple_of(align);
                found.read(bit, header.get(at..at + size).ok_or(short(at + size))?);
                at += size;
            }
        }
        Ok((found, len))
    }

    fn read(&mut self, bit: u32, field: &[u8]) {
        match (bit, field) {
            (TSFT, field) => self.time = field.first_chunk().map(|time| u64::from_le_bytes(*time)),
            (FLAGS, [flags]) => {
                self.short_preamble = flags & SHORT_PREAMBLE != 0;
                self.fcs = flags & FCS_AT_END != 0;
                self.bad_fcs = flags & BAD_FCS != 0;
            }
            (RATE, [rate]) => self.rate = PhyRate::from_half_megabits(*rate),
            (CHANNEL, [low, high, ..]) => self.frequency = Some(u16::from_le_bytes([*low, *high])),
            (SIGNAL, [power]) => self.signal = Some(Dbm(f64::from(*power as i8))),
            (NOISE, [power]) => self.noise = Some(Dbm(f64::from(*power as i8))),
            (TX_FLAGS, [low, high]) => {
                self.no_ack = Some(u16::from_le_bytes([*low, *high]) & NO_ACK != 0);
            }
            (DATA_RETRIES, [retries]) => self.retries = Some(*retries),
            _ => {}
        }
    }
}

/// Returns the offset of the fields: behind all words of presence.
fn fields_begin(header: &[u8], first: u32) -> Result<usize, HeaderError> {
    let mut at = 8;
    let mut word = first;
    while word & (1 << EXTENDED) != 0 {
        let short = HeaderError::Short { have: header.len(), need: at + 4 };
        let next = header.get(at..).and_then(<[u8]>::first_chunk).ok_or(short)?;
        word = u32::from_le_bytes(*next);
        at += 4;
    }
    Ok(at)
}

struct Writer {
    bytes: Vec<u8>,
    present: u32,
}

impl Writer {
    fn field(&mut self, bit: u32, value: &[u8]) {
        let (_, align) = LAYOUT[bit as usize];
        self.bytes.resize(self.bytes.len().next_multiple_of(align), 0);
        self.bytes.extend_from_slice(value);
        self.present |= 1 << bit;
    }

    fn finish(mut self) -> Vec<u8> {
        let len = self.bytes.len() as u16;
        self.bytes[2..4].copy_from_slice(&len.to_le_bytes());
        self.bytes[4..8].copy_from_slice(&self.present.to_le_bytes());
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn any_header() -> impl Strategy<Value = Radiotap> {
        let rate = prop::option::of(prop::sample::select(&PhyRate::ALL[..]));
        let power = || prop::option::of(any::<i8>().prop_map(|power| Dbm(f64::from(power))));
        let numbers = any::<(Option<u64>, Option<u16>, Option<bool>, Option<u8>)>();
        (numbers, any::<[bool; 3]>(), rate, power(), power()).prop_map(
            |((time, frequency, no_ack, retries), flags, rate, signal, noise)| {
                let [short_preamble, fcs, bad_fcs] = flags;
                Radiotap {
                    time,
                    short_preamble,
                    fcs,
                    bad_fcs,
                    rate,
                    frequency,
                    signal,
                    noise,
                    no_ack,
                    retries,
                }
            },
        )
    }

    proptest! {
        #[test]
        fn headers_survive(
            header in any_header(),
            behind in prop::collection::vec(any::<u8>(), 0..9),
        ) {
            let mut bytes = header.encode();
            let len = bytes.len();
            bytes.extend(behind);
            prop_assert_eq!(Radiotap::parse(&bytes), Ok((header, len)));
        }

        #[test]
        fn any_bytes_parse_without_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let _ = Radiotap::parse(&bytes);
            if bytes.len() >= 8 {
                let len = bytes.len() as u16;
                bytes[0] = 0;
                bytes[2..4].copy_from_slice(&len.to_le_bytes());
                let _ = Radiotap::parse(&bytes);
            }
        }
    }

    #[test]
    fn fields_behind_a_second_word_of_presence_are_found() {
        let header = Radiotap { rate: Some(PhyRate::Ofdm54), fcs: true, ..Radiotap::default() };
        let mut bytes = header.encode();
        bytes[7] |= 0x80;
        bytes.splice(8..8, [0; 4]);
        bytes[2] += 4;
        assert_eq!(Radiotap::parse(&bytes), Ok((header, bytes.len())));
    }

    #[test]
    fn a_header_that_ends_within_its_words_of_presence_says_how_much_it_needs() {
        for len in 8..12 {
            let mut bytes = vec![0; len];
            (bytes[2], bytes[7]) = (len as u8, 0x80);
            assert_eq!(Radiotap::parse(&bytes), Err(HeaderError::Short { have: len, need: 12 }));
        }
    }
}
