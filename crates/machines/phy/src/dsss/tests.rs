use super::*;
use crate::decibel::ratio;
use proptest::prelude::*;
use windfall_base::Seed;

fn random(count: usize) -> Vec<u8> {
    let mut stream = Stream::new(Seed(9), "bits");
    (0..count).map(|_| (stream.bits() & 1) as u8).collect()
}

/// The places of bit errors among `count`.
fn errors(rate: PhyRate, snr: f64, count: usize) -> Vec<usize> {
    let mut chain = Chain::new(rate).expect("a rate of 802.11b");
    let bits = random(count);
    let mut received = Vec::new();
    chain.transmit(&bits, |_| snr, &mut Stream::new(Seed(2), "noise"), &mut received);
    assert_eq!(received.len(), count);
    (0..count).filter(|&i| received[i] != bits[i]).collect()
}

#[test]
fn without_noise_everything_arrives() {
    for rate in PhyRate::ALL.into_iter().filter(|rate| !rate.is_ofdm()) {
        assert_eq!(errors(rate, 1e9, 8_000), Vec::<usize>::new(), "{rate}");
    }
}

#[test]
fn a_wrong_bit_damages_three() {
    let bits = random(100);
    let mut sent = Vec::new();
    let mut plain = Vec::new();
    scramble(&bits, &mut sent);
    sent[50] ^= 1;
    descramble(&sent, &mut plain);
    let wrong: Vec<usize> = (0..100).filter(|&i| plain[i] != bits[i]).collect();
    assert_eq!(wrong, [50, 54, 57]);
}

/// The bit error rate before the descrambler, which triples sparse errors.
fn rate_before(rate: PhyRate, snr: f64, count: usize) -> f64 {
    errors(rate, snr, count).len() as f64 / count as f64 / 3.0
}

#[test]
fn one_mbps_fails_as_the_closed_form_says() {
    // ½ exp(-Eb/N0); two errors in a row share a symbol, and errors four or seven apart cancel.
    let snr = 5.0 / 22.0;
    let found = rate_before(PhyRate::Dsss1, snr, 600_000);
    let expected = crate::formula::dbpsk(5.0);
    assert!((found / expected - 1.0).abs() < 0.06, "{found:e} {expected:e}");
}

#[test]
fn two_mbps_fail_as_the_closed_form_says() {
    // DQPSK in Gray's order, differential detection (Simon and Alouini, 8.2): the integral form,
    // with a/b = tan(π/8) and b²/2 = γ (1 + 1/√2).
    let gamma = 6.0;
    let zeta = (core::f64::consts::PI / 8.0).tan();
    let half = gamma * (1.0 + 0.5_f64.sqrt());
    let steps = 4_000;
    let expected: f64 = (0..steps)
        .map(|i| {
            let theta = core::f64::consts::TAU * (f64::from(i) + 0.5) / f64::from(steps);
            let shape = 1.0 + 2.0 * zeta * theta.sin() + zeta * zeta;
            (1.0 - zeta * zeta) / shape * (-half * shape).exp()
        })
        .sum::<f64>()
        / (2.0 * f64::from(steps));
    let found = rate_before(PhyRate::Dsss2, gamma / 11.0, 600_000);
    assert!((found / expected - 1.0).abs() < 0.06, "{found:e} {expected:e}");
}

#[test]
fn cck_words_fail_as_their_union_bound_says() {
    for (rate, bits, decibels) in [(PhyRate::Cck5_5, 4, -0.5), (PhyRate::Cck11, 8, 2.8)] {
        let snr = ratio(decibels);
        let bound = Words::new(bits).expect("a rate of CCK").union_bound(snr);
        let count = 400_000;
        let mut chain = Chain::new(rate).expect("CCK");
        let data = random(count);
        chain.transmit(&data, |_| snr, &mut Stream::new(Seed(2), "n"), &mut Vec::new());
        let word = |(a, b): (&[u8], &[u8])| a[2..] != b[2..];
        let pairs = chain.scrambled.chunks(bits).zip(chain.received.chunks(bits));
        let words = pairs.filter(|pair| word(*pair)).count();
        // A word can also be taken for itself turned: not counted here, and rare.
        let found = words as f64 / (count / bits) as f64;
        assert!(found < 1.1 * bound && found > 0.7 * bound, "{rate}: {found:e} {bound:e}");
    }
}

proptest! {
    #[test]
    fn plcp_headers_tell_rate_and_length(
        bytes in 1_usize..2_400,
        which in 0..4_usize,
        flip in 0..48_usize,
    ) {
        let rate = PhyRate::ALL[which];
        let mut header = plcp_header(rate, bytes).expect("a rate of 802.11b");
        prop_assert_eq!(plcp_length(&header), Some((rate, bytes)));
        header[flip] ^= 1;
        prop_assert_eq!(plcp_length(&header), None);
    }
}

#[test]
fn the_plcp_check_is_that_of_the_standard() {
    // 802.11-2020, 15.2.3.6: 1 Mb/s, SERVICE 0, LENGTH 192 µs gives 0101 1011 0101 0111.
    let header = plcp_header(PhyRate::Dsss1, 24).expect("a rate of 802.11b");
    let check: Vec<u8> = header[32..].to_vec();
    assert_eq!(check, [0, 1, 0, 1, 1, 0, 1, 1, 0, 1, 0, 1, 0, 1, 1, 1]);
}
