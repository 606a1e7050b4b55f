//! Unpredictable connection ids and address tokens, derived from one secret.

use core::hash::Hasher;
use core::net::SocketAddr;

use bytes::Bytes;
use chacha20::ChaCha20;
use chacha20::cipher::{KeyIvInit as _, StreamCipher as _};
use siphasher::sip128::{Hasher128, SipHasher24};
use windfall_base::{Duration, Instant};

/// The minimum lifetime of a token; the maximum is twice as long.
const TOKEN_LIFE: Duration = Duration::from_secs(10);

/// The secret of an endpoint, from which all its randomness is derived.
pub struct Secret {
    /// The source of everything that is drawn.
    stream: ChaCha20,
    token_key: [u8; 16],
}

impl core::fmt::Debug for Secret {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Secret")
    }
}

impl Secret {
    /// Creates a secret from bytes that come from a cryptographic random generator and are used for
    /// nothing else.
    #[must_use]
    pub fn new(key: [u8; 32]) -> Self {
        let mut secret =
            Self { stream: ChaCha20::new(&key.into(), &[0; 12].into()), token_key: [0; 16] };
        secret.token_key = secret.draw();
        secret
    }

    /// Returns the next unpredictable bytes.
    pub(crate) fn draw<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        self.stream.apply_keystream(&mut bytes);
        bytes
    }

    /// Returns the token for pings from `from`.
    pub(crate) fn token(&self, now: Instant, from: SocketAddr) -> Bytes {
        self.token_of(period(now), from)
    }

    /// Returns whether `token` was issued for `from` within its lifetime.
    pub(crate) fn accepts(&self, now: Instant, from: SocketAddr, token: &[u8]) -> bool {
        let now = period(now);
        [now, now.wrapping_sub(1)].iter().any(|period| self.token_of(*period, from) == token)
    }

    fn token_of(&self, period: u64, from: SocketAddr) -> Bytes {
        let mut hasher = SipHasher24::new_with_key(&self.token_key);
        hasher.write(b"token");
        hasher.write_u64(period);
        match from.ip() {
            core::net::IpAddr::V4(ip) => hasher.write(&ip.octets()),
            core::net::IpAddr::V6(ip) => hasher.write(&ip.octets()),
        }
        hasher.write_u16(from.port());
        Bytes::copy_from_slice(&hasher.finish128().as_bytes())
    }
}

fn period(now: Instant) -> u64 {
    now.as_nanos() / TOKEN_LIFE.as_nanos()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_valid_for_its_address_and_its_lifetime() {
        let secret = Secret::new([7; 32]);
        let here = "10.0.0.1:9";
        let there = "10.0.0.2:9";
        let here = here.parse().expect("legal");
        let there = there.parse().expect("legal");
        let start = Instant::START + Duration::from_secs(100);
        let token = secret.token(start, here);
        assert!(secret.accepts(start + TOKEN_LIFE, here, &token));
        assert!(!secret.accepts(start, there, &token));
        assert!(!secret.accepts(start + TOKEN_LIFE * 2, here, &token));
        assert!(!Secret::new([8; 32]).accepts(start, here, &token));
        assert!(!secret.accepts(start, here, &[]));
    }

    #[test]
    fn a_secret_is_printed_as_its_name_alone() {
        assert_eq!(format!("{:?}", Secret::new([7; 32])), "Secret");
    }
}
