//! Why bytes are not the packet they should be, or a packet cannot be written.

/// A fault of a header: names the place and the value found there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WireError {
    /// The bytes end before the header does.
    #[error("{header}: {have} bytes are too few, {need} are needed")]
    Short {
        /// The name of the header.
        header: &'static str,
        /// The number of bytes needed.
        need: usize,
        /// The number of bytes present.
        have: usize,
    },
    /// The version field is not the one of this header.
    #[error("{header}: version {found} stands where {expected} belongs")]
    Version {
        /// The name of the header.
        header: &'static str,
        /// The version that belongs there.
        expected: u8,
        /// The version found.
        found: u8,
    },
    /// A length field contradicts the header that it stands in.
    #[error("{header}: length field {found} must lie in {least}..={most}")]
    Length {
        /// The name of the header.
        header: &'static str,
        /// The value of the field, in bytes.
        found: usize,
        /// The least legal value.
        least: usize,
        /// The greatest legal value.
        most: usize,
    },
    /// A field holds a value that the protocol forbids.
    #[error("{header}: {field} may not be {found}")]
    Illegal {
        /// The name of the header.
        header: &'static str,
        /// The name of the field.
        field: &'static str,
        /// The value found.
        found: u32,
    },
    /// The data to send do not fit into one packet.
    #[error("{header}: {len} bytes do not fit, {most} at most")]
    TooLong {
        /// The name of the header.
        header: &'static str,
        /// The length asked for, in bytes.
        len: usize,
        /// The greatest length, in bytes.
        most: usize,
    },
}

impl WireError {
    /// Fails if `bytes` holds fewer than `need` bytes.
    pub(crate) fn check_len(
        header: &'static str,
        bytes: &[u8],
        need: usize,
    ) -> Result<(), WireError> {
        let have = bytes.len();
        if have < need { Err(Self::Short { header, need, have }) } else { Ok(()) }
    }
}
