//! Cookies of Fast Open as Linux makes them, by which scripts prove the address of their client.

use core::hash::Hasher;
use core::net::IpAddr;

use siphasher::sip::SipHasher24;

/// The name by which packetdrill's suites call the cookie that is good for their client.
pub(crate) const NAMED: &[u8] = b"TFO_COOKIE";

/// A key of Linux, as `net.ipv4.tcp_fastopen_key` has it.
pub(crate) type CookieKey = [u8; 16];

/// Reads a key of four words with dashes between them.
pub(crate) fn key(text: &str) -> Option<CookieKey> {
    let words: Option<Vec<[u8; 4]>> = text
        .split('-')
        .map(|word| u32::from_str_radix(word, 16).ok().map(u32::to_le_bytes))
        .collect();
    words?.concat().try_into().ok()
}

/// Reads a key of sixteen bytes, written as in C.
pub(crate) fn bytes(text: &str) -> Option<CookieKey> {
    let mut bytes = text.split("\\x").skip(1).map(|digits| u8::from_str_radix(digits, 16).ok());
    let key: Option<Vec<u8>> = bytes.by_ref().collect();
    key?.try_into().ok()
}

/// Returns the cookie of a client: SipHash-2-4 of both addresses.
pub(crate) fn of(key: &CookieKey, client: IpAddr, server: IpAddr) -> Vec<u8> {
    let mut hasher = SipHasher24::new_with_key(key);
    for address in [client, server] {
        match address {
            IpAddr::V4(address) => hasher.write(&address.octets()),
            IpAddr::V6(address) => hasher.write(&address.octets()),
        }
    }
    hasher.finish().to_le_bytes().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cookie_is_that_of_linux() {
        let key = key("a1a1a1a1-b2b2b2b2-c3c3c3c3-d4d4d4d4").expect("a key");
        let [client, server] = ["192.0.2.1", "192.168.0.1"].map(|it| it.parse().expect("one"));
        assert_eq!(of(&key, client, server), [0x30, 0x21, 0xb9, 0xd8, 0x89, 0x01, 0x7e, 0xeb]);
        assert_eq!(super::key("a1-b2"), None);
    }
}
