//! The handshake: the bodies of [`SapKind::Ping`](super::SapKind::Ping) and
//! [`SapKind::Accept`](super::SapKind::Accept).

use bytes::{BufMut, Bytes, BytesMut};

use super::NAME;
use crate::error::WireError;
use crate::field::{u16_at, u32_at};

/// The least length of a ping's body: no answer to a ping is longer than it.
const PING_LEN: usize = 160;
/// The longest token, in bytes.
pub const MAX_TOKEN: usize = 32;
/// The longest handshake message inside, in bytes.
pub const MAX_HANDSHAKE: usize = 96;

const PING_FIXED: usize = 8;
const ACCEPT_FIXED: usize = 8;

/// A request for a connection.
///
/// | bytes | field |
/// |---|---|
/// | 0..4 | connection id that the sender wants to receive with |
/// | 4..6 | greatest datagram that the sender takes, SAP header included |
/// | 6, 7 | length of the token, length of the handshake message |
/// | then | token, handshake message, zeros up to 159 bytes in all |
/// | 159 | [`features`](super::features) |
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SapPing {
    /// The connection id that the sender wants to receive with.
    pub connection: u32,
    /// The greatest datagram that the sender takes, in bytes, SAP header included.
    pub max_datagram: u16,
    /// The token of a [`Kind::Retry`](super::SapKind::Retry); empty at first.
    pub token: Bytes,
    /// The first message of the key exchange; empty if there is none.
    pub handshake: Bytes,
    /// Abilities of the sender.
    pub features: u8,
}

impl SapPing {
    /// Reads the body.
    ///
    /// # Errors
    /// If it is shorter than 160 bytes, or a part is longer than it may be.
    pub fn parse(body: &Bytes) -> Result<Self, WireError> {
        WireError::check_len(NAME, body, PING_LEN)?;
        let token = usize::from(body[6]);
        let handshake = usize::from(body[7]);
        if token > MAX_TOKEN || handshake > MAX_HANDSHAKE {
            let found = token.max(handshake) as u32;
            return Err(WireError::Illegal { header: NAME, field: "length of a part", found });
        }
        let end = PING_FIXED + token;
        Ok(Self {
            connection: u32_at(body, 0),
            max_datagram: u16_at(body, 4),
            token: body.slice(PING_FIXED..end),
            handshake: body.slice(end..end + handshake),
            features: body[PING_LEN - 1],
        })
    }

    /// Writes the body; parts beyond their greatest lengths are cut.
    #[must_use]
    pub fn emit(&self) -> Bytes {
        let token = &self.token[..self.token.len().min(MAX_TOKEN)];
        let handshake = &self.handshake[..self.handshake.len().min(MAX_HANDSHAKE)];
        let mut body = BytesMut::with_capacity(PING_LEN);
        body.put_u32(self.connection);
        body.put_u16(self.max_datagram);
        body.put_u8(token.len() as u8);
        body.put_u8(handshake.len() as u8);
        body.put_slice(token);
        body.put_slice(handshake);
        body.resize(PING_LEN - 1, 0);
        body.put_u8(self.features);
        body.freeze()
    }
}

/// The answer that establishes the connection.
///
/// | bytes | field |
/// |---|---|
/// | 0..4 | connection id that the sender wants to receive with |
/// | 4..6 | greatest datagram that the sender takes, SAP header included |
/// | 6, 7 | length of the handshake message, [`features`](super::features) |
/// | then | handshake message |
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SapAccept {
    /// The connection id that the sender wants to receive with.
    pub connection: u32,
    /// The greatest datagram that the sender takes, in bytes, SAP header included.
    pub max_datagram: u16,
    /// The second message of the key exchange; empty if there is none.
    pub handshake: Bytes,
    /// Abilities of the sender.
    pub features: u8,
}

impl SapAccept {
    /// Reads the body.
    ///
    /// # Errors
    /// If it is shorter than it says.
    pub fn parse(body: &Bytes) -> Result<Self, WireError> {
        WireError::check_len(NAME, body, ACCEPT_FIXED)?;
        let end = ACCEPT_FIXED + usize::from(body[6]);
        WireError::check_len(NAME, body, end)?;
        let handshake = body.slice(ACCEPT_FIXED..end);
        Ok(Self {
            connection: u32_at(body, 0),
            max_datagram: u16_at(body, 4),
            handshake,
            features: body[7],
        })
    }

    /// Writes the body; a longer handshake message is cut.
    #[must_use]
    pub fn emit(&self) -> Bytes {
        let handshake = &self.handshake[..self.handshake.len().min(MAX_HANDSHAKE)];
        let mut body = BytesMut::with_capacity(ACCEPT_FIXED + handshake.len());
        body.put_u32(self.connection);
        body.put_u16(self.max_datagram);
        body.put_u8(handshake.len() as u8);
        body.put_u8(self.features);
        body.put_slice(handshake);
        body.freeze()
    }
}
