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
