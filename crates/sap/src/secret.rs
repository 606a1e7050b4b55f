//! Connection ids that nobody can guess, and tokens that prove an address, from one secret.

use core::hash::Hasher;
use core::net::SocketAddr;

use bytes::Bytes;
use siphasher::sip128::{Hasher128, SipHasher24};
use windfall_base::{Duration, Instant};

/// How long a token is good, at least; twice as long at most.
const TOKEN_LIFE: Duration = Duration::from_secs(10);

/// Sixteen random bytes that an endpoint keeps to itself; all its randomness comes from them.
#[derive(Clone)]
pub struct Secret {
    key: [u8; 16],
    drawn: u64,
}

impl core::fmt::Debug for Secret {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Secret")
    }
}

impl Secret {
    /// The secret of these bytes, which must come from a source of good randomness.
    #[must_use]
    pub const fn new(key: [u8; 16]) -> Self {
        Self { key, drawn: 0 }
    }

    /// A number that was not drawn before and that nobody else can foretell.
    pub(crate) fn draw(&mut self) -> u128 {
        self.drawn += 1;
        let mut hasher = SipHasher24::new_with_key(&self.key);
        hasher.write(b"draw");
        hasher.write_u64(self.drawn);
        hasher.finish128().as_u128()
    }

    /// The token for pings from `from`.
    pub(crate) fn token(&self, now: Instant, from: SocketAddr) -> Bytes {
        self.token_of(period(now), from)
    }

    /// Whether `token` was made for `from` a short time ago.
    pub(crate) fn accepts(&self, now: Instant, from: SocketAddr, token: &[u8]) -> bool {
        let now = period(now);
        [now, now.wrapping_sub(1)].iter().any(|period| self.token_of(*period, from) == token)
    }

    fn token_of(&self, period: u64, from: SocketAddr) -> Bytes {
        let mut hasher = SipHasher24::new_with_key(&self.key);
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
    fn a_token_is_good_for_its_address_and_for_a_while() {
        let secret = Secret::new([7; 16]);
        let (here, there) = ("10.0.0.1:9", "10.0.0.2:9");
        let (here, there) = (here.parse().expect("legal"), there.parse().expect("legal"));
        let start = Instant::START + Duration::from_secs(100);
        let token = secret.token(start, here);
        assert!(secret.accepts(start + TOKEN_LIFE, here, &token));
        assert!(!secret.accepts(start, there, &token));
        assert!(!secret.accepts(start + TOKEN_LIFE * 2, here, &token));
        assert!(!Secret::new([8; 16]).accepts(start, here, &token));
        assert!(!secret.accepts(start, here, &[]));
    }
}
