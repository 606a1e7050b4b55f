use super::*;

fn products<L: Lanes>(field: &Field, factor: u8, elements: &[u8], onto: u8) -> Vec<u8> {
    let mut sums = vec![onto; elements.len()];
    add_product::<L>(field, &mut sums, factor, elements);
    sums
}

#[test]
fn all_lanes_agree_with_the_field() {
    let field = Field::new(0x11d).unwrap();
    let elements: Vec<u8> = (0..=255).collect();
    for instructions in Instructions::available() {
        for factor in 0..=255 {
            let (field, elements, onto) = (&field, &elements[..], 0x5a);
            let sums = dispatch!(
                instructions,
                products(field: &Field, factor: u8, elements: &[u8], onto: u8) -> Vec<u8>
            );
            let expected: Vec<u8> = elements.iter().map(|&e| field.mul(factor, e) ^ 0x5a).collect();
            assert_eq!(sums, expected, "{instructions:?} times {factor}");
        }
    }
}

/// Lanes after each move, and what is seen of them before.
#[derive(Debug, PartialEq)]
struct Moved {
    shifted: [u8; LANES],
    advanced: [u8; LANES],
    first: u8,
    lead: [u8; 8],
    zeros: u32,
}

fn moved<L: Lanes>(lanes: &[u8; LANES], next: &[u8; LANES]) -> Moved {
    let (before, next) = (L::load(lanes), L::load(next));
    let (mut shifted, mut advanced) = ([0; LANES], [0; LANES]);
    before.shift(next).store(&mut shifted);
    before.advance(next).store(&mut advanced);
    Moved { shifted, advanced, first: before.first(), lead: before.lead(), zeros: before.zeros() }
}

#[test]
fn lanes_move_and_are_looked_at_alike() {
    let lanes: [u8; LANES] = core::array::from_fn(|i| (i * 37 % 5) as u8);
    let next: [u8; LANES] = core::array::from_fn(|i| 99 + i as u8);
    let both: Vec<u8> = lanes.into_iter().chain(next).collect();
    let from = |at: usize| *both[at..].first_chunk().expect("as many lanes again");
    let expected = Moved {
        shifted: from(1),
        advanced: from(8),
        first: lanes[0],
        lead: *lanes.first_chunk().expect("more than eight lanes"),
        zeros: (0..LANES).filter(|&i| lanes[i] == 0).fold(0, |bits, i| bits | 1_u32 << i),
    };
    for instructions in Instructions::available() {
        let (lanes, next) = (&lanes, &next);
        let found =
            dispatch!(instructions, moved(lanes: &[u8; LANES], next: &[u8; LANES]) -> Moved);
        assert_eq!(found, expected, "{instructions:?}");
    }
}

#[test]
fn every_processor_has_the_plain_instructions_and_the_best_come_last() {
    let all = Instructions::available();
    assert_eq!(
        (all.first(), all.last()),
        (Some(&Instructions::Plain), Some(&Instructions::detect()))
    );
}
