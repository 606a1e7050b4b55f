//! Addresses of 802.11 stations, as in all of IEEE 802.

use core::fmt;

/// The address of an interface, or of a group of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MacAddress(pub [u8; 6]);

impl MacAddress {
    /// The address of all stations.
    pub const BROADCAST: Self = Self([0xff; 6]);

    /// The locally administered address of station `number` in a run: `02:77:69:6e:…`.
    #[must_use]
    pub const fn of_station(number: u16) -> Self {
        let [high, low] = number.to_be_bytes();
        Self([0x02, b'w', b'i', b'n', high, low])
    }

    /// Returns `true` if it names a group: its frames are not acknowledged.
    #[must_use]
    pub const fn is_group(self) -> bool {
        self.0[0] & 1 != 0
    }

    /// The address at `offset` of `bytes`.
    pub(super) fn at(bytes: &[u8], offset: usize) -> Option<Self> {
        Some(Self(*bytes.get(offset..)?.first_chunk()?))
    }
}

impl fmt::Display for MacAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}
