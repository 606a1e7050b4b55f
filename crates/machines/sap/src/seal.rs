//! Session keys: authenticated encryption of exact bytes, and a keystream for the others, under
//! which a bit error stays a single bit error.

use core::fmt;

use bytes::{Bytes, BytesMut};
use chacha20::ChaCha20;
use chacha20::cipher::{KeyIvInit as _, StreamCipher as _};
use chacha20poly1305::aead::AeadInPlace as _;
use chacha20poly1305::{ChaCha20Poly1305, KeyInit as _, Nonce};
use windfall_wire_net::sap::{SapHeader, SapPacket, flags};

/// Bytes that the authentication tag adds to the exact part of a body.
pub(crate) const TAG_LEN: usize = 16;

/// A pre-shared key of both ends.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SharedKey([u8; 32]);

impl SharedKey {
    /// Creates a key from 32 random bytes; a password is not one.
    #[must_use]
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Parses a key of 64 hexadecimal digits; `None` if they are anything else.
    #[must_use]
    pub fn from_hex(digits: &str) -> Option<Self> {
        let digits = digits.as_bytes();
        let value = |digit: u8| char::from(digit).to_digit(16);
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks(2)) {
            let [high, low] = pair else { return None };
            *byte = (value(*high)? << 4 | value(*low)?) as u8;
        }
        (digits.len() == 64).then_some(Self(bytes))
    }

    pub(crate) fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Debug for SharedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key")
    }
}

/// The part of a packet that a nonce is for. The nonce also holds the packet number, which is
/// unique within a direction, and each connection has its own keys, so no keystream is used twice.
#[derive(Clone, Copy)]
enum Use {
    Exact = 0,
    Rest = 1,
}

fn nonce(purpose: Use, number: u64) -> Nonce {
    let mut nonce = [0; 12];
    nonce[0] = purpose as u8;
    nonce[4..].copy_from_slice(&number.to_be_bytes());
    nonce.into()
}

/// The two session keys of a connection.
pub(crate) struct Seal {
    sending: [u8; 32],
    receiving: [u8; 32],
}

impl fmt::Debug for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Seal")
    }
}

impl Seal {
    pub(crate) const fn new(sending: [u8; 32], receiving: [u8; 32]) -> Self {
        Self { sending, receiving }
    }

    /// Encrypts the body of packet `number`: its exact bytes in two slices, and the others.
    pub(crate) fn seal(
        &self,
        number: u64,
        header: &SapHeader,
        exact: [&[u8]; 2],
        rest: &[u8],
    ) -> (Bytes, Bytes) {
        let len = exact[0].len() + exact[1].len() + TAG_LEN;
        let mut sealed = BytesMut::with_capacity(len);
        exact.iter().for_each(|part| sealed.extend_from_slice(part));
        let bound = bound(header, len, rest.len());
        let cipher = ChaCha20Poly1305::new(&self.sending.into());
        let tag = cipher.encrypt_in_place_detached(&nonce(Use::Exact, number), &bound, &mut sealed);
        // It fails only beyond 256 GB; the peer rejects a tag of zeros.
        sealed.extend_from_slice(&tag.unwrap_or_default());
        (sealed.freeze(), with_keystream(&self.sending, number, rest))
    }

    /// Decrypts packet `number`; `None` if the peer did not send it with this number, header,
    /// length and exact bytes.
    pub(crate) fn open(&self, number: u64, packet: &SapPacket) -> Option<SapPacket> {
        let mut header = packet.header;
        let len = usize::from(header.exact);
        let (exact, rest) = packet.body.split_at_checked(len)?;
        let (text, tag) = exact.split_at_checked(len.checked_sub(TAG_LEN)?)?;
        if header.flags & flags::SEALED == 0 {
            return None;
        }
        let mut body = BytesMut::with_capacity(packet.body.len());
        body.extend_from_slice(text);
        let bound = bound(&header, len, rest.len());
        let cipher = ChaCha20Poly1305::new(&self.receiving.into());
        let nonce = nonce(Use::Exact, number);
        cipher.decrypt_in_place_detached(&nonce, &bound, &mut body, tag.into()).ok()?;
        body.extend_from_slice(&with_keystream(&self.receiving, number, rest));
        header.flags &= !flags::SEALED;
        header.exact = text.len() as u16;
        Some(SapPacket { header, intact: true, body: body.freeze() })
    }
}

/// Returns the associated data: the header and the length of the unprotected bytes.
fn bound(header: &SapHeader, exact: usize, rest: usize) -> [u8; 14] {
    let mut bound = [0; 14];
    bound[0] = header.kind as u8;
    bound[1] = header.flags | flags::SEALED;
    bound[2..4].copy_from_slice(&(exact as u16).to_be_bytes());
    bound[4..8].copy_from_slice(&header.connection.to_be_bytes());
    bound[8..12].copy_from_slice(&header.number.to_be_bytes());
    bound[12..].copy_from_slice(&(rest as u16).to_be_bytes());
    bound
}

fn with_keystream(key: &[u8; 32], number: u64, bytes: &[u8]) -> Bytes {
    if bytes.is_empty() {
        return Bytes::new();
    }
    let mut bytes = BytesMut::from(bytes);
    ChaCha20::new(key.into(), &nonce(Use::Rest, number)).apply_keystream(&mut bytes);
    bytes.freeze()
}

#[cfg(test)]
mod tests;
