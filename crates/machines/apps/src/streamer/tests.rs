use super::*;

const PLAN: StreamPlan = StreamPlan { seed: 0xffff_fff0, count: 1000, size: 1024 };

//= S0.33
#[test]
fn the_bits_are_unbiased_and_differ_from_datagram_to_datagram() {
    // Each of the 32 bits of a word is a fair coin; chi-square with one degree of freedom each.
    let mut ones = [0_u64; 32];
    let mut words = 0_u64;
    for number in 0..PLAN.count {
        for word in PLAN.datagram(number).chunks(4) {
            let word = u32::from_be_bytes(word.try_into().expect("four bytes"));
            ones.iter_mut().enumerate().for_each(|(bit, sum)| *sum += u64::from(word >> bit & 1));
            words += 1;
        }
    }
    let half = words as f64 / 2.0;
    let chi: f64 = ones.iter().map(|sum| (*sum as f64 - half).powi(2) / (half / 2.0)).sum();
    // The 99.9th percentile of chi-square with 32 degrees of freedom.
    assert!(chi < 62.5, "{chi}");
    assert_ne!(PLAN.datagram(1), PLAN.datagram(2));
    assert_eq!(PLAN.datagram(16), StreamPlan { seed: 0, ..PLAN }.datagram(0), "the counter wraps");
}

//= S0.32
//= S0.36
//= S0.58
#[test]
fn every_wrong_bit_is_counted_exactly() {
    let mut comparison = Comparison::new(StreamPlan { count: 10, ..PLAN });
    for number in [0, 1, 3, 2, 3, 99] {
        let mut data = PLAN.datagram(number);
        if number == 1 {
            (data[0], data[1023]) = (data[0] ^ 0x81, data[1023] ^ 1);
        }
        comparison.take(number, &data);
    }
    let figures = comparison.figures();
    assert_eq!(comparison.fates().nth(1), Some(Some(&[0, 7, 8191][..])));
    assert_eq!(comparison.fates().filter(Option::is_none).count(), 6);
    assert_eq!((figures.arrived, figures.lost, figures.damaged), (4, 6, 1));
    assert_eq!((figures.reordered, figures.repeated, figures.foreign), (1, 1, 1));
    assert_eq!(figures.wrong_bits, 3);
    assert_eq!(figures.bit_error_rate, 3.0 / (4.0 * 8192.0));
    assert_eq!(figures.bit_error_rate_damaged, 3.0 / 8192.0);
    assert_eq!((figures.loss, figures.loss_or_damage), (0.6, 0.7));
}

#[test]
fn plans_survive() {
    assert_eq!(StreamPlan::from_bytes(&PLAN.to_bytes()), Some(PLAN));
    assert_eq!(StreamPlan::from_bytes(b"short"), None);
}

#[test]
fn plans_that_no_sender_writes_are_refused() {
    let most = StreamPlan { count: StreamPlan::MAX_COUNT, size: StreamPlan::MAX_SIZE, ..PLAN };
    assert_eq!(StreamPlan::from_bytes(&most.to_bytes()), Some(most));
    for (count, size) in [(0, 1024), (1000, 0), (u32::MAX, 1024), (1000, 65_001), (0, 0)] {
        assert_eq!(StreamPlan::from_bytes(&StreamPlan { count, size, ..PLAN }.to_bytes()), None);
    }
    assert_eq!(StreamPlan::from_bytes(b"GET / HTTP/1"), None);
}

#[test]
fn memory_grows_with_what_arrives_and_not_with_the_plan() {
    let mut comparison =
        Comparison::new(StreamPlan { count: StreamPlan::MAX_COUNT, size: 4, ..PLAN });
    assert_eq!(comparison.memory(), 0);
    comparison.take(StreamPlan::MAX_COUNT - 1, &[0; 4]);
    assert!((32..=32 + 32 * 4).contains(&comparison.memory()), "{}", comparison.memory());
    comparison.take(StreamPlan::MAX_COUNT, &[0; 4]);
    assert_eq!(comparison.figures().foreign, 1);
}
