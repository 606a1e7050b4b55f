use proptest::prelude::*;
use windfall_base::{Seed, Stream};

use super::*;

/// Blocks through the interleaver.
const ON_THE_WAY: usize = 6;

/// Carries texts between two modems for some slots; `damage` changes blocks of either.
fn carry(
    compresses: bool,
    texts: [&[u8]; 2],
    slots: u64,
    mut damage: impl FnMut(u64, &mut [u8; 30]),
) -> ([Vec<u8>; 2], [MnpLink; 2]) {
    let mut ends = [MnpLink::new(compresses), MnpLink::new(compresses)];
    let mut flying = [VecDeque::new(), VecDeque::new()];
    let mut read = [Vec::new(), Vec::new()];
    for (end, text) in ends.iter_mut().zip(texts) {
        end.write(text);
    }
    for slot in 0..slots {
        for from in 0..2 {
            let mut block = ends[from].next_block();
            damage(2 * slot + from as u64, &mut block);
            flying[from].push_back(block);
            if flying[from].len() > ON_THE_WAY
                && let Some(block) = flying[from].pop_front()
            {
                ends[1 - from].handle_block(&block);
                read[1 - from].extend(ends[1 - from].read());
            }
        }
    }
    (read, ends)
}

fn text(len: usize) -> Vec<u8> {
    (0..len).map(|it| (it * it / 7) as u8).collect()
}

//= S1.21
#[test]
fn what_is_written_arrives_in_order_at_the_rate_of_the_line() {
    let near = text(6_000);
    let far = text(4_000);
    for compresses in [false, true] {
        let (read, ends) = carry(compresses, [&near, &far], 700, |_, _| {});
        assert_eq!(read, [far.clone(), near.clone()]);
        assert!(ends.iter().all(|it| it.counts().repeated == 0 && it.counts().damaged == 0));
    }
    // 960 characters a second, of which headers take little.
    let (read, _) = carry(false, [&near, &[]], 7 * 50, |_, _| {});
    assert_eq!(read[1].len(), 6_000);
    let (read, _) = carry(false, [&near, &[]], 6 * 50, |_, _| {});
    assert!(read[1].len() < 6_000);
}

//= S1.21
#[test]
fn damaged_blocks_are_repaired_and_frames_grow_shorter() {
    let near = text(20_000);
    let random = Stream::new(Seed(1), "damage");
    let mut hit = 0;
    let (read, ends) = carry(true, [&near, &near], 8_000, |number, block| {
        let mut random = random.at(number);
        if random.below(40) == 0 {
            hit += 1;
            block.iter_mut().for_each(|octet| *octet ^= random.bits() as u8);
        }
    });
    assert_eq!(read, [near.clone(), near.clone()]);
    assert!(hit > 50 && ends.iter().all(|it| it.counts().repeated > 0 && it.counts().damaged > 0));
    assert!(ends.iter().all(|it| !it.is_down()));
}

#[test]
fn a_dead_line_ends_the_connection_after_twelve_attempts() {
    let (read, ends) = carry(false, [b"hello", &[]], 13 * 60, |_, block| *block = [0; 30]);
    assert!(read.iter().all(Vec::is_empty) && ends[0].is_down() && !ends[1].is_down());
    assert_eq!(ends[0].counts().repeated, 11);
}

#[test]
fn a_frame_has_its_marks_and_its_check() {
    let frame = MnpFrame::Data { number: 0x10, data: vec![1, 0x10] };
    let encoded = frame.encode();
    assert_eq!(encoded[..12], [0x16, 0x10, 2, 2, 4, 0x10, 0x10, 1, 0x10, 0x10, 0x10, 3]);
    let mut deframer = Deframer::default();
    // The beginning of a frame that was lost, and noise.
    let line = [&[9, 0x16, 0x10, 2, 7][..], &encoded, &encoded[..6], &encoded].concat();
    let found: Vec<_> = line.iter().filter_map(|octet| deframer.take(*octet)).collect();
    let frame = Some(frame);
    // Of what was begun and not ended, a new beginning takes the place.
    assert_eq!(found.iter().filter(|it| **it == frame).count(), 2);
}

fn through(parts: &[Vec<u8>]) -> (Vec<u8>, usize) {
    let mut compressor = Compressor::default();
    let mut decompressor = Decompressor::default();
    let mut out = Vec::new();
    let mut coded = 0;
    for part in parts {
        let codes = compressor.take(part);
        coded += codes.len();
        decompressor.take(&codes, &mut out);
    }
    (out, coded)
}

//= S1.21
#[test]
fn words_and_runs_get_shorter_and_coded_video_longer() {
    let words = b"the wind brings down what is ripe and it is still good to eat ".repeat(40);
    let (out, coded) = through(std::slice::from_ref(&words));
    assert!(out == words && 4 * coded < 3 * words.len(), "{coded} of {}", words.len());
    let (out, coded) = through(&[vec![0; 10_000]]);
    assert!(out == vec![0; 10_000] && coded < 200, "{coded}");
    let mut random = Stream::new(Seed(2), "video");
    let noise: Vec<u8> = (0..5_000).map(|_| random.bits() as u8).collect();
    let (out, coded) = through(std::slice::from_ref(&noise));
    assert!(out == noise && coded > noise.len(), "{coded}");
}

proptest! {
    #[test]
    fn what_is_compressed_comes_back(
        parts in prop::collection::vec(
            prop::collection::vec(prop_oneof![0..4_u8, any::<u8>()], 0..600),
            0..6,
        ),
    ) {
        prop_assert_eq!(through(&parts).0, parts.concat());
    }

    #[test]
    fn no_input_breaks_the_receiver(blocks in prop::collection::vec(any::<[u8; 30]>(), 0..40)) {
        let mut end = MnpLink::new(true);
        for block in &blocks {
            end.handle_block(block);
            let _ = end.next_block();
        }
        let mut decompressor = Decompressor::default();
        let mut out = Vec::new();
        decompressor.take(&blocks.concat(), &mut out);
        prop_assert!(out.len() <= 255 * 30 * blocks.len());
    }
}
