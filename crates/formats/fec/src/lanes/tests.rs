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
            let field = &field;
            let elements = &elements[..];
            let onto = 0x5a;
            let sums = dispatch!(
                instructions,
                products(field: &Field, factor: u8, elements: &[u8], onto: u8) -> Vec<u8>
            );
            let expected: Vec<u8> = elements.iter().map(|&e| field.mul(factor, e) ^ 0x5a).collect();
            assert_eq!(sums, expected, "{instructions:?} times {factor}");
        }
    }
}

fn moved<L: Lanes>(lanes: &[u8; LANES], next: &[u8; LANES]) -> ([u8; LANES], u8, u32) {
    let mut shifted = [0; LANES];
    L::load(lanes).shift(L::load(next)).store(&mut shifted);
    (shifted, L::load(lanes).first(), L::load(lanes).zeros())
}

#[test]
fn lanes_move_and_are_looked_at_alike() {
    let lanes: [u8; LANES] = core::array::from_fn(|i| (i * 37 % 5) as u8);
    let next: [u8; LANES] = core::array::from_fn(|i| 99 + i as u8);
    let zeros = (0..LANES).filter(|&i| lanes[i] == 0).fold(0, |bits, i| bits | 1_u32 << i);
    for instructions in Instructions::available() {
        let lanes = &lanes;
        let next = &next;
        let (shifted, first, found) = dispatch!(
            instructions,
            moved(lanes: &[u8; LANES], next: &[u8; LANES]) -> ([u8; LANES], u8, u32)
        );
        assert_eq!((&shifted[..31], shifted[31]), (&lanes[1..], 99), "{instructions:?}");
        assert_eq!((first, found), (lanes[0], zeros), "{instructions:?}");
    }
}

fn looked_up<L: Lanes>(tables: &[u8; LANES], nibbles: &[u8; LANES]) -> [u8; LANES] {
    let mut found = [0; LANES];
    L::look_up(tables, nibbles).store(&mut found);
    found
}

#[test]
fn nibbles_are_looked_up_in_the_half_of_their_own() {
    let field = Field::new(0x11d).unwrap();
    let tables = field.nibbles(0x8e);
    let nibbles: [u8; LANES] = core::array::from_fn(|i| (i * 11 % 16) as u8);
    let product = |i: usize| field.mul(0x8e, if i < 16 { nibbles[i] } else { nibbles[i] << 4 });
    for instructions in Instructions::available() {
        let nibbles = &nibbles;
        let found = dispatch!(
            instructions,
            looked_up(tables: &[u8; LANES], nibbles: &[u8; LANES]) -> [u8; LANES]
        );
        assert_eq!(found, core::array::from_fn(product), "{instructions:?}");
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
