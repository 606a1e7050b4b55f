//! The key agreement of two ends that share a key: Noise, pattern `NNpsk0`, by the crate `snow`.
//!
//! The ephemeral keys give forward secrecy: an attacker who learns the shared key later cannot
//! decrypt earlier traffic.

use core::fmt;

use bytes::Bytes;
use snow::params::{CipherChoice, DHChoice, HashChoice};
use snow::resolvers::{CryptoResolver, DefaultResolver};
use snow::types::{Cipher, Dh, Hash, Random};
use snow::{Builder, Error, HandshakeState};
use windfall_wire_net::sap::MAX_HANDSHAKE;
use windfall_wire_net::sap::VERSION;

use crate::seal::{Seal, SharedKey};

const PATTERN: &str = "Noise_NNpsk0_25519_ChaChaPoly_BLAKE2s";

/// The connection id and the largest datagram of one end, as its ping or accept states them.
pub(crate) type Offer = (u32, u16);

fn payload((id, max_datagram): Offer) -> [u8; 6] {
    let [a, b, c, d] = id.to_be_bytes();
    let [e, f] = max_datagram.to_be_bytes();
    [a, b, c, d, e, f]
}

/// The initiator's state until the accept arrives.
pub(crate) struct Initiator(Box<HandshakeState>);

impl fmt::Debug for Initiator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Initiator")
    }
}

impl Initiator {
    /// Starts a handshake; returns the state to keep and the message for the ping.
    pub(crate) fn begin(
        key: &SharedKey,
        ephemeral: [u8; 32],
        offer: Offer,
    ) -> Option<(Self, Bytes)> {
        let mut state = builder(key, ephemeral)?.build_initiator().ok()?;
        let message = write(&mut state, offer)?;
        Some((Self(Box::new(state)), message))
    }

    /// Returns the session keys if the answer proves the shared key and matches this accept.
    pub(crate) fn finish(&mut self, answer: &[u8], offer: Offer) -> Option<Seal> {
        read(&mut self.0, answer, offer)?;
        let (sending, receiving) = self.0.dangerously_get_raw_split();
        Some(Seal::new(sending, receiving))
    }
}

/// Answers the handshake of a ping: session keys and the message for the accept; `None` if the
/// initiator does not have the shared key.
pub(crate) fn answer(
    key: &SharedKey,
    ephemeral: [u8; 32],
    ping: (&[u8], Offer),
    offer: Offer,
) -> Option<(Seal, Bytes)> {
    let mut state = builder(key, ephemeral)?.build_responder().ok()?;
    read(&mut state, ping.0, ping.1)?;
    let message = write(&mut state, offer)?;
    let (receiving, sending) = state.dangerously_get_raw_split();
    Some((Seal::new(sending, receiving), message))
}

fn builder(key: &SharedKey, ephemeral: [u8; 32]) -> Option<Builder<'_>> {
    let builder = Builder::with_resolver(PATTERN.parse().ok()?, Box::new(FixedRandom(ephemeral)));
    builder.prologue(&[VERSION]).ok()?.psk(0, key.bytes()).ok()
}

fn write(state: &mut HandshakeState, offer: Offer) -> Option<Bytes> {
    let mut message = [0; MAX_HANDSHAKE];
    let len = state.write_message(&payload(offer), &mut message).ok()?;
    Some(Bytes::copy_from_slice(&message[..len]))
}

fn read(state: &mut HandshakeState, message: &[u8], offer: Offer) -> Option<()> {
    let mut found = [0; MAX_HANDSHAKE];
    let len = state.read_message(message, &mut found).ok()?;
    (found[..len] == payload(offer)).then_some(())
}

/// The default algorithms of `snow`, with randomness from outside.
struct FixedRandom([u8; 32]);

impl CryptoResolver for FixedRandom {
    fn resolve_rng(&self) -> Option<Box<dyn Random>> {
        Some(Box::new(Once(Some(self.0))))
    }

    fn resolve_dh(&self, choice: &DHChoice) -> Option<Box<dyn Dh>> {
        DefaultResolver.resolve_dh(choice)
    }

    fn resolve_hash(&self, choice: &HashChoice) -> Option<Box<dyn Hash>> {
        DefaultResolver.resolve_hash(choice)
    }

    fn resolve_cipher(&self, choice: &CipherChoice) -> Option<Box<dyn Cipher>> {
        DefaultResolver.resolve_cipher(choice)
    }
}

/// Random bytes for the one key that a handshake generates.
struct Once(Option<[u8; 32]>);

impl Random for Once {
    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Error> {
        let drawn = self.0.take().filter(|drawn| drawn.len() == bytes.len()).ok_or(Error::Rng)?;
        bytes.copy_from_slice(&drawn);
        Ok(())
    }
}
