mod words;

use super::*;
use proptest::prelude::*;
use windfall_base::{Seed, Stream};

/// The statistics of frames that a chain or a table has made.
#[derive(Debug, Default)]
struct Looks {
    frames: f64,
    bad: f64,
    bits: f64,
    wrong: f64,
    lengths: Vec<u64>,
    gaps: Vec<u64>,
}

impl Looks {
    /// Takes a frame of `bits` bits with wrong ones at `places`.
    fn take(&mut self, bits: u64, places: &[u64], rate: PhyRate) {
        self.frames += 1.0;
        self.bits += bits as f64;
        self.bad += f64::from(u8::from(!places.is_empty()));
        self.wrong += places.len() as f64;
        let all: Vec<&[u64]> = events(places, word(rate), guard(rate)).collect();
        self.lengths.extend(all.iter().map(|event| event[event.len() - 1] - event[0] + 1));
        self.gaps.extend(all.windows(2).map(|pair| pair[1][0] - pair[0][pair[0].len() - 1] - 1));
        self.lengths.sort_unstable();
        self.gaps.sort_unstable();
    }

    fn of_chain(rate: PhyRate, snr: f64, frames: usize) -> Self {
        let mut source = Source::new(rate);
        let mut random = Stream::new(Seed(77), "chain");
        let mut looks = Self::default();
        for _ in 0..frames {
            let mut places = Vec::new();
            let bits = source.pass(snr, &mut random, 0, &mut places);
            looks.take(bits, &places, rate);
        }
        looks
    }

    fn of_table(rate: PhyRate, snr: f64, frames: u64, bits: u64) -> Self {
        let mut sampler = Sampler::new(Tables::shipped(), rate);
        let random = Stream::new(Seed(78), "table");
        let mut looks = Self::default();
        for frame in 0..frames {
            let mut places = Vec::new();
            sampler.sample_hits([(bits as u32, snr)], &mut random.at(frame), |bit| {
                places.push(u64::from(bit));
                true
            });
            places.retain(|&bit| bit < bits);
            looks.take(bits, &places, rate);
        }
        looks
    }
}

impl Looks {
    /// The share of bit errors inside bursts.
    fn density(&self) -> f64 {
        self.wrong / self.lengths.iter().sum::<u64>() as f64
    }
}

fn mean(values: &[u64]) -> f64 {
    values.iter().sum::<u64>() as f64 / values.len().max(1) as f64
}

/// The largest distance of two distribution functions; both ascending.
fn apart(a: &[u64], b: &[u64]) -> f64 {
    let share = |values: &[u64], x: u64| {
        values.partition_point(|&value| value <= x) as f64 / values.len() as f64
    };
    a.iter().chain(b).map(|&x| (share(a, x) - share(b, x)).abs()).fold(0.0, f64::max)
}

#[test]
fn tables_agree_with_the_chains_they_were_measured_on() {
    // Ratios between those of the tables, at which some or nearly all frames are bad.
    for (rate, decibels) in [
        (PhyRate::Ofdm6, -0.2),
        (PhyRate::Ofdm24, 8.3),
        (PhyRate::Ofdm48, 15.8),
        (PhyRate::Ofdm54, 17.3),
        (PhyRate::Ofdm54, 16.3),
        (PhyRate::Dsss1, -5.2),
        (PhyRate::Cck5_5, -0.2),
        (PhyRate::Cck11, 1.7),
    ] {
        let snr = crate::decibel::ratio(decibels);
        let chain = Looks::of_chain(rate, snr, 160);
        let bits = (chain.bits / chain.frames) as u64;
        let table = Looks::of_table(rate, snr, 2_000, bits);
        compare(&format!("{rate} at {decibels} dB"), &chain, &table);
    }
}

/// Holds a table against its chain; tolerances follow from how many events there are to compare.
fn compare(what: &str, chain: &Looks, table: &Looks) {
    let frame_error_rates = [chain, table].map(|looks| looks.bad / looks.frames);
    let [a, b] = frame_error_rates;
    // Four standard errors of a share of 160 frames, and 1 %.
    let error = 4.0 * (b * (1.0 - b) / chain.frames).sqrt() + 0.01;
    assert!((a - b).abs() < error, "{what}: frame error rates {a} {b}");
    // The deviation of an event's bits, and of its length, is about their mean; four of those, and
    // 8 % for what lies between the points of the table and for 256 events standing for all.
    let spread = 4.0 / (chain.lengths.len() as f64).sqrt() + 0.08;
    let ratios = [
        ("bit error rates", chain.wrong / chain.bits / (table.wrong / table.bits)),
        ("lengths of bursts", mean(&chain.lengths) / mean(&table.lengths)),
        ("bits in a burst", chain.density() / table.density()),
    ];
    for (of, ratio) in ratios {
        assert!((ratio - 1.0).abs() < spread, "{what}: {of}, chain over table {ratio}");
    }
    // Kolmogorov and Smirnov at a level of 0.1 %, and 5 % for the same reasons.
    let furthest = |count: usize| 1.95 / (count as f64).sqrt() + 0.05;
    for (of, a, b) in
        [("lengths", &chain.lengths, &table.lengths), ("gaps", &chain.gaps, &table.gaps)]
    {
        let found = apart(a, b);
        assert!(found < furthest(a.len()), "{what}: {of} are {found} apart, {} seen", a.len());
    }
}

proptest! {
    #[test]
    fn events_are_the_places_in_order(steps in proptest::collection::vec(1_u64..40, 0..200)) {
        let running = |at: &mut u64, step: &u64| {
            *at += step;
            Some(*at)
        };
        let places: Vec<u64> = steps.iter().scan(0, running).collect();
        let all: Vec<&[u64]> = events(&places, 1, 6).collect();
        prop_assert_eq!(all.concat(), places.clone());
        for pair in all.windows(2) {
            let end = pair[0][pair[0].len() - 1];
            let start = pair[1][0];
            prop_assert!(start - end > 6 || start - pair[0][0] >= u64::from(LONGEST));
        }
        for event in all {
            prop_assert!(event.windows(2).all(|pair| pair[1] - pair[0] <= 6));
        }
        for pair in events(&places, 8, 2).collect::<Vec<_>>().windows(2) {
            let end = pair[0][pair[0].len() - 1];
            let start = pair[1][0];
            prop_assert!(start / 8 - end / 8 > 2 || start - pair[0][0] >= u64::from(LONGEST));
        }
    }

    #[test]
    fn arbitrary_bytes_are_no_tables_and_never_panic(
        bytes in proptest::collection::vec(any::<u8>(), 0..300),
    ) {
        prop_assert!(Tables::from_bytes(&bytes).is_err());
        let mut file = b"WFEV\x02".to_vec();
        file.extend(bytes);
        prop_assert!(Tables::from_bytes(&file).is_err());
    }

    #[test]
    fn hits_ascend_and_stop_when_told(seed: u64, decibels in 0.0..20.0_f64, bits in 0_u32..20_000) {
        let mut sampler = Sampler::new(Tables::shipped(), PhyRate::Ofdm54);
        let mut hits = Vec::new();
        let stretches = [(bits, crate::decibel::ratio(decibels)), (100, 0.0), (0, 1.0), (50, 1e9)];
        sampler.sample_hits(stretches, &mut Stream::new(Seed(seed), "s"), |bit| {
            hits.push(bit);
            hits.len() < 50
        });
        prop_assert!(hits.len() <= 50 && hits.is_sorted_by(|a, b| a < b));
        prop_assert!(hits.last().is_none_or(|last| *last < bits + 150 + LONGEST));
    }
}

#[test]
fn files_of_tables_are_read_as_they_were_written() {
    let shipped = Tables::shipped();
    assert_eq!(Tables::from_bytes(&shipped.to_bytes()).as_ref(), Ok(shipped));
    let error = Tables::from_bytes(b"WFEV\x09").expect_err("no such version");
    assert_eq!(error.to_string(), "tables of version 9, known is 2: make them with `make tables`");
    let file = shipped.to_bytes();
    assert!(Tables::from_bytes(&file[..file.len() / 2]).is_err());
}

#[test]
fn the_same_seed_measures_the_same() {
    let effort = Effort { events: 300, bits: 300_000, patterns: 32 };
    let point = |seed| measure(PhyRate::Ofdm24, 8.0, Seed(seed), effort);
    assert_eq!(point(1), point(1));
    assert_ne!(point(1), point(2));
    // Two measurements agree within the spread of 300 events.
    let ratio = point(1).law().mean / point(2).law().mean;
    assert!((ratio - 1.0).abs() < 0.25, "{ratio}");
}

/// The ratio in decibels at which a tenth of the frames of 1000 bytes has a bit error.
fn tenth(rate: PhyRate) -> f64 {
    let mut sampler = Sampler::new(Tables::shipped(), rate);
    let random = Stream::new(Seed(3), "sensitivity");
    let mut low = -12.0;
    let mut high = 40.0;
    for _ in 0..14 {
        let middle = f64::midpoint(low, high);
        let bad = (0..1_000).filter(|&frame| {
            let mut clean = true;
            let stretch = (8_000 + 22, crate::decibel::ratio(middle));
            sampler.sample_hits([stretch], &mut random.at(frame), |_| {
                clean = false;
                false
            });
            !clean
        });
        if bad.count() > 100 { low = middle } else { high = middle }
    }
    high
}

#[test]
fn receivers_of_the_standards_losses_meet_its_sensitivities() {
    // 802.11-2007, 17.3.10.1 and 18.4.8.1; it reckons with 10 dB of noise figure and 5 dB of
    // implementation.
    let least = [
        (PhyRate::Cck11, -76.0),
        (PhyRate::Ofdm6, -82.0),
        (PhyRate::Ofdm9, -81.0),
        (PhyRate::Ofdm12, -79.0),
        (PhyRate::Ofdm18, -77.0),
        (PhyRate::Ofdm24, -74.0),
        (PhyRate::Ofdm36, -70.0),
        (PhyRate::Ofdm48, -66.0),
        (PhyRate::Ofdm54, -65.0),
    ];
    for (rate, needed) in least {
        let band = crate::formula::bandwidth(rate);
        let at = |figure| crate::decibel::noise_milliwatts(band, figure);
        let sensitivity = |figure| crate::decibel::decibels(at(figure)) + tenth(rate);
        let ours = sensitivity(7.0);
        let standard = sensitivity(15.0);
        println!("{rate}: {ours:.1} dBm at 7 dB, {standard:.1} at 15 dB, needed {needed}");
        assert!(standard <= needed && standard > needed - 6.0, "{rate}: {standard:.1}");
    }
}
