use proptest::prelude::*;

use super::*;

fn through(
    line: &mut TransparentLine,
    blocks: usize,
    damage: impl Fn(usize, &mut [u8]),
) -> Vec<u8> {
    let mut peer = TransparentLine::new(line.mode, line.fill);
    let mut characters = Vec::new();
    for number in 0..blocks {
        let mut block = line.next_block();
        damage(number, &mut block);
        peer.handle_block(&block, &mut characters);
    }
    characters
}

//= S1.21
//= S1.66
#[test]
fn an_asynchronous_second_carries_960_characters_and_a_synchronous_one_1200() {
    let text: Vec<u8> = (0..3_000).map(|i| (i * 7) as u8).collect();
    for (mode, rate) in
        [(TransparentMode::Asynchronous, 960), (TransparentMode::Synchronous, 1_200)]
    {
        let mut line = TransparentLine::new(mode, 0x7e);
        line.write(&text);
        let characters = through(&mut line, 50, |_, _| {});
        assert_eq!(characters, text[..rate]);
    }
}

#[test]
fn an_idle_line_has_no_characters_and_a_synchronous_one_its_fill() {
    let mut line = TransparentLine::new(TransparentMode::Asynchronous, 0x7e);
    assert_eq!(through(&mut line, 4, |_, _| {}), []);
    let mut line = TransparentLine::new(TransparentMode::Synchronous, 0x7e);
    assert_eq!(through(&mut line, 1, |_, _| {}), [0x7e; 24]);
}

#[test]
fn a_lost_stop_bit_costs_characters_and_then_the_line_recovers() {
    let mut line = TransparentLine::new(TransparentMode::Asynchronous, 0);
    // The line is idle for most of a character of ones, so the start bits are found again.
    line.write(&[[0x55; 70], [0xff; 70]].concat());
    let characters = through(&mut line, 8, |number, block| {
        if number == 2 {
            block.fill(0);
        }
    });
    assert_eq!(characters[..38], [0x55; 38]);
    assert_eq!(characters[characters.len() - 50..], [0xff; 50]);
}

proptest! {
    #[test]
    fn any_characters_survive(
        text in prop::collection::vec(any::<u8>(), 0..200),
        synchronous: bool,
    ) {
        let mode =
            if synchronous { TransparentMode::Synchronous } else { TransparentMode::Asynchronous };
        let mut line = TransparentLine::new(mode, 0x7e);
        line.write(&text);
        let characters = through(&mut line, 12, |_, _| {});
        prop_assert_eq!(&characters[..text.len()], text);
    }

    #[test]
    fn any_blocks_are_taken_without_panic(
        blocks in prop::collection::vec(any::<[u8; 30]>(), 0..9),
    ) {
        let mut line = TransparentLine::new(TransparentMode::Asynchronous, 0x7e);
        let mut characters = Vec::new();
        blocks.iter().for_each(|block| line.handle_block(block, &mut characters));
        prop_assert!(characters.len() <= 20 * blocks.len());
    }
}
