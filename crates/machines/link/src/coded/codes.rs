//! The codes of blocks and headers, which are built at first use.

use std::sync::OnceLock;

use windfall_base::DropReason;
use windfall_fec::ReedSolomon;
use windfall_wire_link::HeaderError;
use windfall_wire_link::coded::{HEADER_PARITY, Head, Level};
use windfall_wire_link::pipe::HeaderBytes;

/// Returns the code of blocks at `level`; `None` for a level without parity.
pub(super) fn code(level: Level) -> Option<&'static ReedSolomon> {
    // The tables of a code are pure functions of its parity, so every exchange can share them.
    static CODES: [OnceLock<Option<ReedSolomon>>; 8] = [const { OnceLock::new() }; 8];
    CODES[level.index()].get_or_init(|| ReedSolomon::new(level.parity()).ok()).as_ref()
}

fn header_code() -> Option<&'static ReedSolomon> {
    static CODE: OnceLock<Option<ReedSolomon>> = OnceLock::new();
    CODE.get_or_init(|| ReedSolomon::new(HEADER_PARITY).ok()).as_ref()
}

/// Returns the encoded header with its parity.
pub(super) fn seal_header(head: &Head) -> HeaderBytes {
    let mut bytes = head.encode();
    bytes.extend([0; HEADER_PARITY]);
    if let Some(code) = header_code() {
        // The length is legal: at least ten bytes before the parity, and never more than 51.
        let _ = code.encode(&mut bytes);
    }
    bytes
}

/// Corrects and parses a header.
pub(super) fn open_header(bytes: &[u8]) -> Result<Head, DropReason> {
    let mut bytes: HeaderBytes = bytes[..bytes.len().min(60)].try_into().unwrap_or_default();
    let Some(code) = header_code() else { return Err(DropReason::LinkHeader) };
    if bytes.len() <= HEADER_PARITY {
        return Err(DropReason::Truncated);
    }
    code.decode(&mut bytes, &[]).map_err(|_| DropReason::LinkHeader)?;
    match Head::parse(&bytes[..bytes.len() - HEADER_PARITY]) {
        Ok(head) => Ok(head),
        Err(HeaderError::Short { .. }) => Err(DropReason::Truncated),
        Err(HeaderError::Check | HeaderError::Kind(_)) => Err(DropReason::LinkHeader),
        Err(HeaderError::Field(_)) => Err(DropReason::Malformed),
    }
}
