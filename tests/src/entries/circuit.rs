//! Circuits: frames of RLP and whole links, lines of TRAU and V.110 frames.

use windfall_base::Instant;
use windfall_circuit::rlp::{
    MnpLink, RlpConfig, RlpLink, RlpRole, SLOT, TransparentLine, TransparentMode, TrauReceiver,
};
use windfall_wire_link::l2r::{encode_characters, parse_characters};
use windfall_wire_link::rlp::{RLP_FRAME_LEN, RlpFrame, XidParameters, fcs24};
use windfall_wire_link::trau::{TRAU_BITS, TrauFrame, find_trau};
use windfall_wire_link::v110::{V110Frame, find_v110};

/// Blocks for an entity of RLP, of which each has its check put right; the first byte says whether
/// it connects. A frame that can be read is written so that it reads the same.
pub fn rlp(bytes: &[u8]) {
    let Some((choice, rest)) = bytes.split_first() else { return };
    let _ = (RlpFrame::parse(rest), XidParameters::parse(rest));
    let mut link = RlpLink::new(RlpConfig::standard(RlpRole::Network));
    if choice & 1 != 0 {
        link.connect();
    }
    link.write(rest);
    let mut arrived = 0;
    for (slot, block) in rest.chunks(RLP_FRAME_LEN - 3).enumerate() {
        let now = Instant::START + SLOT * (slot as u64 * u64::from(choice >> 1));
        let mut whole = [0; RLP_FRAME_LEN];
        whole[..block.len()].copy_from_slice(block);
        let check = fcs24(&whole[..RLP_FRAME_LEN - 3]).to_le_bytes();
        whole[RLP_FRAME_LEN - 3..].copy_from_slice(&check[..3]);
        if let Ok(frame) = RlpFrame::parse(&whole) {
            assert_eq!(RlpFrame::parse(&frame.encode()).as_ref(), Ok(&frame));
            if let Some(content) = parse_characters(&frame.info) {
                let again =
                    parse_characters(&encode_characters(content.status, &content.characters));
                assert_eq!(again.map(|it| it.characters), Some(content.characters));
            }
        }
        let _ = link.handle_frame(now, &whole);
        let sent = link.next_frame(now);
        assert!(RlpFrame::parse(&sent).is_ok());
        arrived += link.read().len();
        while link.poll_event().is_some() {}
    }
    // The last block is filled up.
    assert!(arrived <= rest.len() + RLP_FRAME_LEN);
}

/// A line of TRAU frames that comes in pieces, and the same bits as V.110 frames and characters.
pub fn trau(bytes: &[u8]) {
    if let Some(at) = find_trau(bytes, 0) {
        assert!(at + TRAU_BITS <= 8 * bytes.len());
    }
    let mut receiver = TrauReceiver::new();
    let mut line = TransparentLine::new(TransparentMode::Asynchronous, 0x7e);
    let mut characters = Vec::new();
    for piece in bytes.chunks(61) {
        receiver.take(piece);
        while let Some(frame) = receiver.poll_frame() {
            let Some(frame) = frame else { continue };
            assert_eq!(TrauFrame::parse(&frame.encode()).as_ref(), Ok(&frame));
            line.handle_block(&frame.block(), &mut characters);
        }
    }
    let bits: Vec<u8> =
        bytes.iter().flat_map(|byte| (0..8).map(move |bit| byte >> bit & 1)).collect();
    if let Some(at) = find_v110(&bits, 1) {
        let bits = bits[at..].first_chunk().expect("a whole frame");
        let frame = V110Frame::parse(bits).expect("it was found");
        assert_eq!(frame.encode(), *bits);
    }
}

/// Frames of MNP for a modem, each a byte of its length and its content, of which each gets marks
/// and a check; the first byte chooses the class, and whether the rest is a line as it stands.
pub fn mnp(bytes: &[u8]) {
    let Some((choice, rest)) = bytes.split_first() else { return };
    let mut modem = MnpLink::new(choice & 1 != 0);
    modem.write(rest);
    let characters = if choice & 2 == 0 { mnp_frames(rest) } else { rest.to_vec() };
    let mut line = TransparentLine::new(TransparentMode::Asynchronous, 0);
    line.write(&characters);
    let mut arrived = 0;
    for slot in 0..characters.len() / 19 + 10 {
        let block = match rest.get(30 * slot..30 * (slot + 1)) {
            // As blocks of the air, where start and stop bits may be missing.
            Some(block) if choice & 4 != 0 => block.try_into().expect("a whole block"),
            _ => line.next_block(),
        };
        modem.handle_block(&block);
        let _ = modem.next_block();
        arrived += modem.read().len();
        assert!(modem.acknowledged() <= modem.taken());
        assert!(modem.waiting() as u64 <= modem.taken());
    }
    // A code of a run has ten bits, and stands for at most 255 characters.
    assert!(arrived <= 255 * (characters.len() + rest.len()));
}

/// Frames with their marks: content with the byte 10 doubled, and a CRC-16.
fn mnp_frames(records: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = records;
    while let Some((&len, after)) = rest.split_first() {
        let (content, next) = after.split_at(after.len().min(len.into()));
        rest = next;
        out.extend([0x16, 0x10, 0x02]);
        for &octet in content {
            out.extend(core::iter::repeat_n(octet, if octet == 0x10 { 2 } else { 1 }));
        }
        out.extend([0x10, 0x03]);
        let crc = content.iter().chain(&[0x03]).fold(0_u16, |crc, &octet| {
            (0..8).fold(crc ^ u16::from(octet), |crc, _| (crc >> 1) ^ (0xa001 * (crc & 1)))
        });
        out.extend(crc.to_le_bytes());
    }
    out
}
