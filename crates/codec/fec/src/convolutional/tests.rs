use super::*;

#[test]
fn one_bit_spells_out_the_generators() {
    let mut coded = Vec::new();
    ConvolutionalCode::K7.encode(&[1, 0, 0, 0, 0, 0, 0], &mut coded);
    let first: Vec<u8> = coded.iter().copied().step_by(2).collect();
    let second: Vec<u8> = coded.iter().copied().skip(1).step_by(2).collect();
    assert_eq!(first, [1, 0, 1, 1, 0, 1, 1]);
    assert_eq!(second, [1, 1, 1, 1, 0, 0, 1]);

    coded.clear();
    ConvolutionalCode::GSM.encode(&[1, 0, 0, 0, 0], &mut coded);
    assert_eq!(coded, [1, 1, 0, 1, 0, 0, 1, 1, 1, 1]);
}

#[test]
fn puncturing_keeps_the_stated_share_and_restoring_marks_the_rest() {
    for (puncturing, sent) in
        [(Puncturing::HALF, 24), (Puncturing::TWO_THIRDS, 18), (Puncturing::THREE_QUARTERS, 16)]
    {
        let mut coded = vec![1; 24];
        puncturing.puncture(&mut coded);
        assert_eq!(coded.len(), sent);
        let received: Vec<i8> = coded.iter().map(|_| 7).collect();
        let mut soft = Vec::new();
        puncturing.restore(&received, 24, &mut soft);
        assert_eq!(soft.len(), 24);
        assert_eq!(soft.iter().filter(|&&value| value == 7).count(), sent);
        assert!(soft.iter().all(|&value| value == 7 || value == 0));
    }
    let mut soft = Vec::new();
    Puncturing::HALF.restore(&[5], 3, &mut soft);
    assert_eq!(soft, [5, 0, 0]);
}
