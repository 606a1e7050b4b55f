//! MAC headers: frame control, duration, addresses, sequence control.
//!
//! | bytes | field |
//! |---|---|
//! | 0, 1 | frame control: version, type and subtype, flags |
//! | 2, 3 | duration in microseconds, or the association identifier of a PS-Poll |
//! | 4–9 | address 1: the receiver |
//! | 10–15 | address 2: the transmitter; absent in ACK and CTS |
//! | 16–21 | address 3; absent in all control frames |
//! | 22, 23 | sequence control: fragment number in the low four bits; absent in control frames |
//!
//! Behind it stand the body and the frame check sequence of [`FCS_LEN`] bytes. Fields
//! are sent least significant byte first.

use arrayvec::ArrayVec;
use windfall_base::frame::MAX_HEADER;

use super::address::MacAddress;
use crate::HeaderError;

pub use crate::check::FCS_LEN;

/// Bytes of the header of data and management frames.
pub const DATA_HEADER: usize = 24;
/// The longest body of a data frame, LLC/SNAP header included.
pub const MAX_BODY: usize = 2304;
/// Sequence numbers run from 0 to this, and begin again.
pub const MAX_SEQUENCE: u16 = 0xfff;
/// Fragment numbers run from 0 to this.
pub const MAX_FRAGMENT: u8 = 0xf;

/// The type and the subtype of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Asks an access point for membership.
    AssociationRequest,
    /// Grants it or not.
    AssociationResponse,
    /// Asks another access point of the same network for membership.
    ReassociationRequest,
    /// Grants it or not.
    ReassociationResponse,
    /// Says that a network is here, and its parameters.
    Beacon,
    /// Ends a membership.
    Disassociation,
    /// Proves the identity of a station.
    Authentication,
    /// Ends what the authentication began.
    Deauthentication,
    /// A dozing station asks for one frame that waits for it.
    PsPoll,
    /// Asks for the medium.
    Rts,
    /// Grants the medium to the sender of an RTS.
    Cts,
    /// Acknowledges a frame.
    Ack,
    /// Carries a packet or a part of one.
    Data,
    /// Carries nothing but its flags.
    Null,
}

impl Kind {
    /// Every kind that is spoken here.
    pub const ALL: [Self; 14] = [
        Self::AssociationRequest,
        Self::AssociationResponse,
        Self::ReassociationRequest,
        Self::ReassociationResponse,
        Self::Beacon,
        Self::Disassociation,
        Self::Authentication,
        Self::Deauthentication,
        Self::PsPoll,
        Self::Rts,
        Self::Cts,
        Self::Ack,
        Self::Data,
        Self::Null,
    ];

    /// The first byte of frame control: subtype, type, version 0.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::AssociationRequest => 0x00,
            Self::AssociationResponse => 0x10,
            Self::ReassociationRequest => 0x20,
            Self::ReassociationResponse => 0x30,
            Self::Beacon => 0x80,
            Self::Disassociation => 0xa0,
            Self::Authentication => 0xb0,
            Self::Deauthentication => 0xc0,
            Self::PsPoll => 0xa4,
            Self::Rts => 0xb4,
            Self::Cts => 0xc4,
            Self::Ack => 0xd4,
            Self::Data => 0x08,
            Self::Null => 0x48,
        }
    }

    /// The kind with this first byte of frame control.
    #[must_use]
    pub const fn from_code(code: u8) -> Option<Self> {
        BY_CODE[code as usize]
    }

    /// Returns `true` if it manages a network.
    #[must_use]
    pub const fn is_management(self) -> bool {
        self.code() & 0x0c == 0
    }

    /// Returns `true` if it governs the access to the medium.
    #[must_use]
    pub const fn is_control(self) -> bool {
        self.code() & 0x0c == 0x04
    }

    /// Bytes of its header.
    #[must_use]
    pub const fn header_len(self) -> usize {
        match self {
            Self::Ack | Self::Cts => 10,
            Self::Rts | Self::PsPoll => 16,
            _ => DATA_HEADER,
        }
    }
}

/// The kind of each first byte of frame control.
const BY_CODE: [Option<Kind>; 256] = {
    let mut kinds = [None; 256];
    let mut i = 0;
    while i < Kind::ALL.len() {
        kinds[Kind::ALL[i].code() as usize] = Some(Kind::ALL[i]);
        i += 1;
    }
    kinds
};

/// The flags of frame control, as its second byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Flags(pub u8);

impl Flags {
    /// On its way to an access point.
    pub const TO_DS: Self = Self(0x01);
    /// On its way from an access point.
    pub const FROM_DS: Self = Self(0x02);
    /// Another fragment of the same packet follows.
    pub const MORE_FRAGMENTS: Self = Self(0x04);
    /// It has been sent before.
    pub const RETRY: Self = Self(0x08);
    /// Its sender is about to doze.
    pub const POWER_MANAGEMENT: Self = Self(0x10);
    /// More waits for its receiver.
    pub const MORE_DATA: Self = Self(0x20);
    /// Its body is encrypted.
    pub const PROTECTED: Self = Self(0x40);
    /// It may not overtake others.
    pub const ORDER: Self = Self(0x80);

    /// Returns `true` if all of `flags` are set.
    #[must_use]
    pub const fn has(self, flags: Self) -> bool {
        self.0 & flags.0 == flags.0
    }

    /// These flags and `flags`, if `when`.
    #[must_use]
    pub const fn with(self, flags: Self, when: bool) -> Self {
        if when { Self(self.0 | flags.0) } else { self }
    }
}

/// A MAC header. Fields that its kind does not have are zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The type and the subtype.
    pub kind: Kind,
    /// The flags of the frame.
    pub flags: Flags,
    /// The time for which the medium stays reserved after it, in microseconds; of a PS-Poll, the
    /// association identifier.
    pub duration: u16,
    /// Address 1: whom it is for on the air.
    pub receiver: MacAddress,
    /// Address 2: who sends it.
    pub transmitter: MacAddress,
    /// Address 3: without an access point the network, else the final receiver or first sender.
    pub third: MacAddress,
    /// The number of the packet, up to [`MAX_SEQUENCE`].
    pub sequence: u16,
    /// The number of the fragment, up to [`MAX_FRAGMENT`].
    pub fragment: u8,
}

/// The longest reservation that a duration field can make, in microseconds.
pub const MAX_DURATION: u16 = 0x7fff;

impl Header {
    /// A header of this kind to `receiver` with every other field zero.
    #[must_use]
    pub const fn new(kind: Kind, receiver: MacAddress) -> Self {
        let none = MacAddress([0; 6]);
        Self {
            kind,
            flags: Flags(0),
            duration: 0,
            receiver,
            transmitter: none,
            third: none,
            sequence: 0,
            fragment: 0,
        }
    }

    /// Whom a data frame is for in the end.
    #[must_use]
    pub const fn destination(&self) -> MacAddress {
        if self.flags.has(Flags::TO_DS) { self.third } else { self.receiver }
    }

    /// The network of a data frame: the address of the access point, where there is one.
    #[must_use]
    pub const fn network(&self) -> MacAddress {
        if self.flags.has(Flags::TO_DS) {
            self.receiver
        } else if self.flags.has(Flags::FROM_DS) {
            self.transmitter
        } else {
            self.third
        }
    }

    /// Returns the station that sent a data frame first.
    #[must_use]
    pub const fn source(&self) -> MacAddress {
        if self.flags.has(Flags::FROM_DS) { self.third } else { self.transmitter }
    }

    /// Appends the header to `bytes`, which must have room for [`DATA_HEADER`] bytes.
    pub fn encode(&self, bytes: &mut ArrayVec<u8, MAX_HEADER>) {
        bytes.extend([self.kind.code(), self.flags.0]);
        bytes.extend(self.duration.to_le_bytes());
        bytes.extend(self.receiver.0);
        if self.kind.header_len() > 10 {
            bytes.extend(self.transmitter.0);
        }
        if self.kind.header_len() > 16 {
            bytes.extend(self.third.0);
            let fragment = u16::from(self.fragment & MAX_FRAGMENT);
            bytes.extend((self.sequence << 4 | fragment).to_le_bytes());
        }
    }

    /// Reads the header at the beginning of `bytes`; [`Kind::header_len`] tells how long it is.
    ///
    /// # Errors
    /// If the bytes are too few, or the frame is of a kind or form that is not spoken here.
    pub fn parse(bytes: &[u8]) -> Result<Self, HeaderError> {
        let have = bytes.len();
        let &[code, flags, d0, d1, ..] = bytes else {
            return Err(HeaderError::Short { have, need: 10 });
        };
        let kind = Kind::from_code(code).ok_or(HeaderError::Kind(code))?;
        let need = kind.header_len();
        let short = HeaderError::Short { have, need };
        if have < need {
            return Err(short);
        }
        let flags = Flags(flags);
        if flags.has(Flags::TO_DS) && flags.has(Flags::FROM_DS) {
            return Err(HeaderError::Field("addresses of a wireless bridge"));
        }
        let mut header = Self {
            flags,
            duration: u16::from_le_bytes([d0, d1]),
            ..Self::new(kind, MacAddress::at(bytes, 4).ok_or(short)?)
        };
        if need > 10 {
            header.transmitter = MacAddress::at(bytes, 10).ok_or(short)?;
        }
        if need > 16 {
            header.third = MacAddress::at(bytes, 16).ok_or(short)?;
            let control = u16::from_le_bytes([bytes[22], bytes[23]]);
            header.sequence = control >> 4;
            header.fragment = control as u8 & MAX_FRAGMENT;
        }
        Ok(header)
    }
}

#[cfg(test)]
mod tests;
