//! PPP inside its frames (RFC 1661): the protocol, control packets and their options.

use arrayvec::ArrayVec;

use crate::HeaderError;

/// Protocol field of IPv4.
pub const IPV4: u16 = 0x0021;
/// Protocol field of IPv6.
pub const IPV6: u16 = 0x0057;
/// Protocol field of the IP Control Protocol (RFC 1332).
pub const IPCP: u16 = 0x8021;
/// Protocol field of the IPv6 Control Protocol (RFC 5072).
pub const IPV6CP: u16 = 0x8057;
/// Protocol field of the Link Control Protocol.
pub const LCP: u16 = 0xc021;

/// Address and control of each frame unless both sides agree to leave them out.
pub const ADDRESS_CONTROL: [u8; 2] = [0xff, 0x03];

/// Bytes of a control packet before its data.
pub const CONTROL_LEN: usize = 4;

/// The fields that a sender leaves out, as negotiated by LCP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compression {
    /// Address and control are left out.
    pub address_control: bool,
    /// A protocol below 0x100 takes one byte.
    pub protocol: bool,
}

/// The bytes before the packet; LCP packets never leave out anything.
#[must_use]
pub fn encode_protocol(protocol: u16, compression: Compression) -> ArrayVec<u8, 4> {
    let compression = if protocol == LCP { Compression::default() } else { compression };
    let mut bytes = ArrayVec::new();
    if !compression.address_control {
        bytes.extend(ADDRESS_CONTROL);
    }
    let [high, low] = protocol.to_be_bytes();
    if !compression.protocol || high != 0 {
        bytes.push(high);
    }
    bytes.push(low);
    bytes
}

/// Reads the protocol at the beginning of a frame's content, and tells where the packet begins.
///
/// Fields that are left out are accepted whatever was negotiated (RFC 1661, 6.5 and 6.6).
///
/// # Errors
/// If the bytes are too few, or the field is even where it should be odd.
pub fn parse_protocol(content: &[u8]) -> Result<(u16, usize), HeaderError> {
    let start = if content.starts_with(&ADDRESS_CONTROL) { 2 } else { 0 };
    match content[start..] {
        [low, ..] if low & 1 == 1 => Ok((u16::from(low), start + 1)),
        [high, low, ..] if low & 1 == 1 => Ok((u16::from_be_bytes([high, low]), start + 2)),
        [_, _, ..] => Err(HeaderError::Field("protocol")),
        _ => Err(HeaderError::Short { have: content.len(), need: start + 2 }),
    }
}

/// The code of a control packet (RFC 1661, section 5); NCPs use the first seven.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ControlCode {
    /// Asks for options.
    ConfigureRequest = 1,
    /// Grants all options of a request.
    ConfigureAck = 2,
    /// Names options with other values that would be granted.
    ConfigureNak = 3,
    /// Names options that are not understood or not negotiable.
    ConfigureReject = 4,
    /// Asks to close.
    TerminateRequest = 5,
    /// Confirms the close.
    TerminateAck = 6,
    /// Returns a packet of unknown code.
    CodeReject = 7,
    /// Returns a packet of unknown protocol.
    ProtocolReject = 8,
    /// Asks for an echo.
    EchoRequest = 9,
    /// Answers an echo.
    EchoReply = 10,
    /// Asks for nothing: the peer discards it.
    DiscardRequest = 11,
}

impl ControlCode {
    /// All codes, ascending from 1.
    const ALL: [Self; 11] = [
        Self::ConfigureRequest,
        Self::ConfigureAck,
        Self::ConfigureNak,
        Self::ConfigureReject,
        Self::TerminateRequest,
        Self::TerminateAck,
        Self::CodeReject,
        Self::ProtocolReject,
        Self::EchoRequest,
        Self::EchoReply,
        Self::DiscardRequest,
    ];

    /// The code of this number; `None` if there is none.
    #[must_use]
    pub fn of(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number).checked_sub(1)?).copied()
    }
}

/// A control packet; its code is a number because unknown ones are answered too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ControlPacket<'a> {
    /// The code, see [`ControlCode`].
    pub code: u8,
    /// The number by which an answer names its request.
    pub identifier: u8,
    /// The data of the code: options, a magic number, a rejected packet.
    pub data: &'a [u8],
}

impl<'a> ControlPacket<'a> {
    /// Reads a control packet; bytes behind its length are padding.
    ///
    /// # Errors
    /// If the bytes are fewer than its length says, or that length is too small.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, HeaderError> {
        let &[code, identifier, high, low, ..] = bytes else {
            return Err(HeaderError::Short { have: bytes.len(), need: CONTROL_LEN });
        };
        let len = usize::from(u16::from_be_bytes([high, low]));
        if len < CONTROL_LEN {
            return Err(HeaderError::Field("length"));
        }
        let short = HeaderError::Short { have: bytes.len(), need: len };
        let data = bytes.get(CONTROL_LEN..len).ok_or(short)?;
        Ok(Self { code, identifier, data })
    }

    /// Appends the packet to `bytes`; data beyond 65 531 bytes are cut.
    pub fn encode(&self, bytes: &mut Vec<u8>) {
        let data = &self.data[..self.data.len().min(usize::from(u16::MAX) - CONTROL_LEN)];
        let [high, low] = ((CONTROL_LEN + data.len()) as u16).to_be_bytes();
        bytes.extend([self.code, self.identifier, high, low]);
        bytes.extend_from_slice(data);
    }
}

/// One option of a configure packet: its type and its value as bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PppOption<'a> {
    /// The type, whose meaning depends on the protocol.
    pub kind: u8,
    /// The bytes behind type and length.
    pub value: &'a [u8],
}

impl PppOption<'_> {
    /// Appends the option to `bytes`; a value beyond 253 bytes is cut.
    pub fn encode(&self, bytes: &mut Vec<u8>) {
        let value = &self.value[..self.value.len().min(253)];
        bytes.extend([self.kind, 2 + value.len() as u8]);
        bytes.extend_from_slice(value);
    }
}

/// Yields the options in the data of a configure packet, and at most one error at the end.
///
/// # Errors
/// The last item, if an option is cut off or its length is invalid.
pub fn options(data: &[u8]) -> impl Iterator<Item = Result<PppOption<'_>, HeaderError>> {
    let mut rest = data;
    core::iter::from_fn(move || {
        let have = rest.len();
        let result = match *rest {
            [] => return None,
            [_] => Err(HeaderError::Short { have, need: 2 }),
            [_, len, ..] if len < 2 => Err(HeaderError::Field("option length")),
            [_, len, ..] if usize::from(len) > have => {
                Err(HeaderError::Short { have, need: usize::from(len) })
            }
            [kind, len, ..] => {
                let (option, behind) = rest.split_at(usize::from(len));
                rest = behind;
                Ok(PppOption { kind, value: &option[2..] })
            }
        };
        if result.is_err() {
            rest = &[];
        }
        Some(result)
    })
}

#[cfg(test)]
mod tests;
