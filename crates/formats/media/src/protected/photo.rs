//! JPEGs: the layout is exact, the entropy-coded data are not, as `windfall image` sends them.

use windfall_base::MemoryBudget;

use super::part::{
    ArrivedPart, PROTECTED_HEADER_LEN, PartHeader, ProtectedPart, Section, head_parts,
};
use super::room::Room;
use super::{ProtectError, ProtectedKind};
use crate::{Arrived, Jpeg, Layout, Picture};

/// The quality with which a picture is encoded anew: higher than that of most pictures, so that
/// little is lost twice.
const QUALITY: u8 = 90;

pub(super) fn protect(data: &[u8], longest: usize) -> Result<Vec<ProtectedPart>, ProtectError> {
    let picture = Picture::read_whole_within(data, &mut MemoryBudget::default())?;
    let jpeg = Jpeg::encode(&picture, QUALITY)?;
    let mut parts = head_parts(ProtectedKind::Jpeg, &jpeg.layout().to_bytes(), longest);
    let room = longest - PROTECTED_HEADER_LEN;
    for (at, piece) in jpeg.scan().chunks(room).enumerate() {
        let number = parts.len() as u32;
        let new = PartHeader::new(ProtectedKind::Jpeg, Section::Body, number);
        let header =
            PartHeader { place: (at * room) as u64, length: jpeg.scan().len() as u32, ..new };
        parts.push(header.part(&[], piece));
    }
    Ok(parts)
}

pub(super) fn restore<'a>(
    head: &[u8],
    body: impl Iterator<Item = &'a ArrivedPart>,
    room: Room,
) -> Result<Vec<u8>, ProtectError> {
    let layout = Layout::from_bytes(head)?;
    room.check(layout.scan_len())?;
    room.check_memory(layout.memory())?;
    let mut arrived = Arrived::new(layout.scan_len());
    for part in body {
        arrived.put(usize::try_from(part.header.place).unwrap_or(usize::MAX), part.content());
    }
    Ok(layout.to_file(&arrived))
}
