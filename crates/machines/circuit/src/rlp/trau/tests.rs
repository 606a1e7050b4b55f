use windfall_wire_link::trau::{DATA_UP, TRAU_LEN};

use super::*;

fn frames(count: u8) -> Vec<u8> {
    let block = |i| core::array::from_fn(|at| (at as u8).wrapping_mul(31).wrapping_add(i));
    (0..count).flat_map(|i| TrauFrame::of_block(DATA_UP, &block(i)).encode()).collect()
}

/// The bits of `bytes` behind the first `cut`, filled up with ones.
fn cut(bytes: &[u8], cut: usize) -> Vec<u8> {
    let bits = (cut..8 * bytes.len()).map(|i| bytes[i / 8] >> (7 - i % 8) & 1);
    let bits: Vec<u8> = bits.collect();
    bits.chunks(8)
        .map(|octet| (0..8).fold(0, |sum, i| sum << 1 | octet.get(i).unwrap_or(&1)))
        .collect()
}

fn receive(receiver: &mut TrauReceiver, line: &[u8], piece: usize) -> Vec<Option<u8>> {
    let mut firsts = Vec::new();
    for bytes in line.chunks(piece) {
        receiver.take(bytes);
        while let Some(frame) = receiver.poll_frame() {
            firsts.push(frame.map(|frame| frame.block()[0]));
        }
    }
    firsts
}

//= S1.23
#[test]
fn a_line_that_begins_anywhere_and_comes_in_pieces_is_synchronised() {
    let line = frames(6);
    for (start, piece) in [(0, 7), (1, 40), (13, 1), (160, 33), (319, 500)] {
        let mut receiver = TrauReceiver::new();
        let firsts = receive(&mut receiver, &cut(&line, start), piece);
        let skipped = u8::from(start > 0);
        assert_eq!(firsts, (skipped..6).map(Some).collect::<Vec<_>>(), "{start}");
        assert_eq!(receiver.lost(), 0);
    }
}

//= S1.23
#[test]
fn damage_to_the_pattern_costs_one_frame_and_a_slip_of_bits_a_new_search() {
    let mut line = frames(5);
    line[2 * TRAU_LEN] ^= 1;
    let mut receiver = TrauReceiver::new();
    assert_eq!(receive(&mut receiver, &line, 40), [Some(0), Some(1), None, Some(3), Some(4)]);
    // Three bits vanish: three frames are taken for damaged, and then the beginning is found.
    let slipped = [frames(1), cut(&frames(8), 3)].concat();
    let mut receiver = TrauReceiver::new();
    let firsts = receive(&mut receiver, &slipped, 40);
    assert_eq!(firsts, [Some(0), None, None, None, Some(4), Some(5), Some(6), Some(7)]);
    assert!(receiver.is_synchronised());
}

#[test]
fn a_line_without_frames_is_forgotten() {
    let mut receiver = TrauReceiver::new();
    assert_eq!(receive(&mut receiver, &vec![0x55; 100_000], 1_000), []);
    assert!(receiver.line.len() < 100);
}
