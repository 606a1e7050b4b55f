//! The trailers of packets, with their parity.

use std::sync::OnceLock;

use bytes::Bytes;
use windfall_base::Payload;
use windfall_fec::ReedSolomon;
use windfall_wire_link::repair::{RepairTrailer, TRAILER_LEN, TRAILER_PARITY};

fn code() -> Option<&'static ReedSolomon> {
    static CODE: OnceLock<Option<ReedSolomon>> = OnceLock::new();
    CODE.get_or_init(|| ReedSolomon::new(TRAILER_PARITY).ok()).as_ref()
}

/// Appends a trailer to a payload.
pub(super) fn append(payload: &Payload, trailer: &RepairTrailer) -> Payload {
    let mut bytes = trailer.encode();
    if let Some(code) = code() {
        // The length is legal: fields and parity.
        let _ = code.encode(&mut bytes);
    }
    Payload::new(payload.to_bytes(), Bytes::copy_from_slice(&bytes))
}

/// Removes the trailer from a payload, and corrects up to three wrong bytes in it; returns `None`
/// if the trailer cannot be read.
pub(super) fn take_off(payload: &mut Payload) -> Option<RepairTrailer> {
    let end = payload.len().checked_sub(TRAILER_LEN)?;
    let mut bytes: [u8; TRAILER_LEN] = payload.slice(end..end + TRAILER_LEN)[..].try_into().ok()?;
    code()?.decode(&mut bytes, &[]).ok()?;
    let trailer = RepairTrailer::parse(&bytes).ok()?;
    payload.truncate(end);
    Some(trailer)
}
