//! Circuits: frames of RLP and whole links, lines of TRAU and V.110 frames.

use windfall_base::Instant;
use windfall_rlp::{
    RlpConfig, RlpLink, RlpRole, SLOT, TransparentLine, TransparentMode, TrauReceiver,
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
