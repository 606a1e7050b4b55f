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

#[test]
fn attempts_send_every_coded_bit_once_and_begin_anew() {
    let coded: Vec<u8> = (0..=239).collect();
    for (first, rate) in
        [(Puncturing::HALF, 240), (Puncturing::TWO_THIRDS, 180), (Puncturing::THREE_QUARTERS, 160)]
    {
        for steps in [1, 4] {
            let redundancy = Redundancy::new(first, steps);
            let attempts = if rate == 240 { 1 } else { steps + 1 };
            let mut all = Vec::new();
            for attempt in 0..attempts {
                let mut sent = Vec::new();
                redundancy.send(attempt, &coded, &mut sent);
                let expected = if attempt == 0 { rate } else { (240 - rate) / steps };
                assert_eq!(sent.len(), expected, "attempt {attempt} of {steps}");
                all.extend(sent);
            }
            let mut punctured = coded.clone();
            first.puncture(&mut punctured);
            assert_eq!(all[..rate], punctured, "the first attempt is that of 802.11");
            all.sort_unstable();
            assert_eq!(all, coded);
            let mut again = Vec::new();
            redundancy.send(attempts, &coded, &mut again);
            assert_eq!(again, punctured);
        }
    }
}

#[test]
fn soft_values_of_all_attempts_are_added_in_their_places() {
    let redundancy = Redundancy::new(Puncturing::TWO_THIRDS, 1);
    let mut soft = [0; 8];
    redundancy.receive(0, &[10, -20, 30, 100, -100, 50], &mut soft);
    assert_eq!(soft, [10, -20, 30, 0, 100, -100, 50, 0]);
    redundancy.receive(1, &[7], &mut soft);
    redundancy.receive(2, &[1, 2, 3, 100, -100], &mut soft);
    assert_eq!(soft, [11, -18, 33, 7, 127, -127, 50, 0]);
}
