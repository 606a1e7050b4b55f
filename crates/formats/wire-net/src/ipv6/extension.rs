//! Extension headers: the walk to what a packet carries, and the fragment header.

use crate::error::WireError;
use crate::field::{put_u16, put_u32, u16_at, u32_at};
use crate::protocol::Protocol;

/// The length of a fragment header, in bytes.
pub const FRAGMENT_HEADER_LEN: usize = 8;

const NAME: &str = "IPv6 extension header";

/// The end of a chain of extension headers. Offsets count from the end of the fixed header, in
/// bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Upper {
    /// The protocol of the payload: the first header that is no extension, or the content of a
    /// fragment other than the first.
    pub protocol: Protocol,
    /// The offset of the payload.
    pub offset: usize,
    /// The fragment header, if there is one.
    pub fragment: Option<FragmentHeader>,
    /// The end of the headers that each fragment repeats, where a fragment header stands or would
    /// stand.
    pub per_fragment_end: usize,
    /// The offset of the "next header" field that names what follows `per_fragment_end`; `None` if
    /// it is the one of the fixed header.
    pub link: Option<usize>,
    /// The offset of the "next header" field that names `protocol`; `None` as for `link`.
    pub named: Option<usize>,
}

/// The reasons why the walk over extension headers ends early.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WalkError {
    /// A header is cut short or contradicts itself.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// A header stands where it may not: hop-by-hop options anywhere but first.
    #[error("{NAME}: protocol {protocol} at byte {at} may stand only first")]
    Misplaced {
        /// The header's number.
        protocol: u8,
        /// The offset of the field that names it, from the end of the fixed header, in bytes.
        at: usize,
    },
    /// An option demands that hosts that do not know it discard the packet (RFC 8200, section 4.2).
    #[error("{NAME}: option {kind} at byte {at} must be understood")]
    Option {
        /// The option's type.
        kind: u8,
        /// The offset of the option, from the end of the fixed header, in bytes.
        at: usize,
    },
    /// A routing header with segments left: its type is not supported (RFC 8200, section 4.4).
    #[error("{NAME}: routing type {kind} at byte {at} is unknown")]
    Routing {
        /// The routing type.
        kind: u8,
        /// The offset of the header, from the end of the fixed header, in bytes.
        at: usize,
    },
}

/// The fragment header (RFC 8200, section 4.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FragmentHeader {
    /// The protocol that the fragmentable part of the whole packet begins with.
    pub next_header: Protocol,
    /// The name that the fragments of one packet share.
    pub identification: u32,
    units: u16,
    more: bool,
}

impl FragmentHeader {
    /// Creates a header for the fragment that begins `offset` bytes into the fragmentable part;
    /// `None` unless a multiple of 8 below 65536.
    #[must_use]
    pub const fn new(
        next_header: Protocol,
        identification: u32,
        offset: usize,
        more: bool,
    ) -> Option<Self> {
        if !offset.is_multiple_of(8) || offset > 65_528 {
            return None;
        }
        Some(Self { next_header, identification, units: (offset / 8) as u16, more })
    }

    /// Returns the offset of its data in the fragmentable part, in bytes.
    #[must_use]
    pub const fn offset(&self) -> usize {
        self.units as usize * 8
    }

    /// Returns whether more fragments follow.
    #[must_use]
    pub const fn more(&self) -> bool {
        self.more
    }

    /// Returns whether it is the only fragment of its packet (RFC 6946).
    #[must_use]
    pub const fn is_atomic(&self) -> bool {
        self.units == 0 && !self.more
    }

    /// Writes the header to the beginning of `buffer`.
    ///
    /// # Panics
    /// If `buffer` is shorter than [`FRAGMENT_HEADER_LEN`].
    pub fn emit(&self, buffer: &mut [u8]) {
        buffer[0] = self.next_header.0;
        buffer[1] = 0;
        put_u16(buffer, 2, self.units << 3 | u16::from(self.more));
        put_u32(buffer, 4, self.identification);
    }
}

/// Walks over the extension headers in `payload`, the first of which is `first`.
pub(super) fn walk(first: Protocol, payload: &[u8]) -> Result<Upper, WalkError> {
    let mut upper = Upper {
        protocol: first,
        offset: 0,
        fragment: None,
        per_fragment_end: 0,
        link: None,
        named: None,
    };
    loop {
        let at = upper.offset;
        let rest = &payload[at..];
        match upper.protocol {
            Protocol::HOP_BY_HOP if at > 0 => {
                let at = upper.named.unwrap_or(0);
                return Err(WalkError::Misplaced { protocol: 0, at });
            }
            Protocol::HOP_BY_HOP | Protocol::DESTINATION_OPTIONS | Protocol::ROUTING => {
                let len = header_len(rest, 8)?;
                if upper.protocol == Protocol::ROUTING {
                    check_routing(rest, at)?;
                } else {
                    check_options(&rest[..len], at)?;
                }
                upper.offset += len;
                // Destination options before a routing header are repeated with it; those that
                // stand last are not, and the fragment header goes before them.
                if upper.fragment.is_none() && upper.protocol != Protocol::DESTINATION_OPTIONS {
                    (upper.per_fragment_end, upper.link) = (upper.offset, Some(at));
                }
            }
            Protocol::AUTHENTICATION => {
                WireError::check_len(NAME, rest, 8)?;
                let len = (usize::from(rest[1]) + 2) * 4;
                WireError::check_len(NAME, rest, len)?;
                upper.offset += len;
            }
            Protocol::FRAGMENT if upper.fragment.is_none() => {
                let header = fragment_header(rest)?;
                (upper.per_fragment_end, upper.link) = (at, upper.named);
                upper.fragment = Some(header);
                upper.offset += FRAGMENT_HEADER_LEN;
                if header.units > 0 {
                    (upper.protocol, upper.named) = (header.next_header, Some(at));
                    return Ok(upper);
                }
            }
            _ => return Ok(upper),
        }
        upper.named = Some(at);
        upper.protocol = Protocol(rest[0]);
    }
}

/// Returns the length of a header that counts itself in units of 8 bytes beyond the first.
fn header_len(rest: &[u8], least: usize) -> Result<usize, WireError> {
    WireError::check_len(NAME, rest, least)?;
    let len = (usize::from(rest[1]) + 1) * 8;
    WireError::check_len(NAME, rest, len)?;
    Ok(len)
}

fn fragment_header(rest: &[u8]) -> Result<FragmentHeader, WireError> {
    WireError::check_len("IPv6 fragment header", rest, FRAGMENT_HEADER_LEN)?;
    let field = u16_at(rest, 2);
    Ok(FragmentHeader {
        next_header: Protocol(rest[0]),
        identification: u32_at(rest, 4),
        units: field >> 3,
        more: field & 1 != 0,
    })
}

fn check_routing(rest: &[u8], at: usize) -> Result<(), WalkError> {
    let kind = rest[2];
    let segments_left = rest[3];
    if segments_left > 0 { Err(WalkError::Routing { kind, at: at + 2 }) } else { Ok(()) }
}

/// Checks that `header` has no option that demands unsupported processing.
fn check_options(header: &[u8], at: usize) -> Result<(), WalkError> {
    let mut next = 2;
    while next < header.len() {
        let kind = header[next];
        if kind == 0 {
            next += 1;
            continue;
        }
        let have = header.len() - next;
        let Some(&len) = header.get(next + 1) else {
            return Err(WireError::Short { header: NAME, need: 2, have }.into());
        };
        // The upper two bits say what to do with an unknown option: 00 is to skip it.
        if kind != 1 && kind & 0xc0 != 0 {
            return Err(WalkError::Option { kind, at: at + next });
        }
        let need = 2 + usize::from(len);
        if have < need {
            return Err(WireError::Short { header: NAME, need, have }.into());
        }
        next += need;
    }
    Ok(())
}
