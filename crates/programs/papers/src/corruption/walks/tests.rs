use super::*;

fn walked(rates: &[f64]) -> Walked {
    let second = |(at, rate): (usize, &f64)| Second { rate: *rate, strength: Some(at as f64) };
    let seconds = rates.iter().enumerate().map(second).collect();
    Walked { counts: Counts::default(), usable: 0, seconds }
}

//= S4.23
#[test]
fn stability_is_the_swing_of_the_rate_and_how_often_it_turns() {
    let steady = walked(&[2.0; 60]);
    assert_eq!((steady.oscillation(), steady.changes()), (0.0, 0.0));
    // Up and down between 1 and 3 every second: a swing is the mean itself.
    let rates: Vec<f64> = (0..60).map(|it| if it % 2 == 0 { 1.0 } else { 3.0 }).collect();
    let wild = walked(&rates);
    assert_eq!((wild.oscillation(), wild.changes()), (1.0, 58.0));
    let slow: Vec<f64> = (0..60).map(|it| f64::from((it % 20_i32 - 10).abs())).collect();
    let slow = walked(&slow);
    assert_eq!(slow.changes(), 5.0);
    assert!(slow.oscillation() > 1.5, "{}", slow.oscillation());
    assert_eq!(walked(&[0.0, 1.0, 0.0]).silent(), 2.0);
}

//= S4.27
#[test]
fn the_link_s_own_count_of_losses_keeps_the_rate_where_damage_alone_does_not() {
    const SETTINGS: [&str; 3] = [
        "new-reno",
        "new-reno, corruption=extended, reaction=ignore",
        "new-reno, corruption=extended, reaction=ignore, link-losses=on",
    ];
    let mean = |tcp: &'static str, scenario: &str| {
        let rate = |seed: u64| {
            let figure = "S4.tables";
            let duration = Some(Duration::from_secs(60));
            let accepts_damaged = true;
            let seed = Seed(seed);
            Walk { figure, scenario, tcp, accepts_damaged, seed, duration }.run().unwrap().rate()
        };
        (1..=5).map(rate).sum::<f64>() / 5.0
    };
    // From one packet in thirty lost to one in ten; beyond, retransmissions are lost, too, and all
    // three wait for the timer.
    for (metres, gain) in [(14, 1.1), (20, 1.5)] {
        let scenario = crate::corruption::tables::frontier::scenario(metres, "rician 3 100");
        let rates = SETTINGS.map(|tcp| mean(tcp, &scenario));
        let [none, damage, losses] = rates;
        assert!(losses > gain * damage, "{metres} m: {rates:?}");
        assert!(damage < 1.25 * none, "{metres} m: {rates:?}");
    }
}

#[test]
fn ranks_agree_or_not() {
    assert_eq!(rank_correlation(&[(1.0, 2.0), (2.0, 5.0), (9.0, 7.0)]), 1.0);
    assert_eq!(rank_correlation(&[(1.0, 9.0), (2.0, 5.0), (9.0, 1.0)]), -1.0);
    assert!(rank_correlation(&[(1.0, 2.0), (1.0, 5.0), (9.0, 3.0), (9.0, 4.0)]).abs() < 1e-9);
}

//= S4.25
#[test]
fn a_frame_counts_by_what_came_of_it() {
    let mut counts = Counts::default();
    let facts = windfall_channel::FrameFacts {
        tag: None,
        kept: false,
        names_only: false,
        is_repair: false,
        length: 1536,
        header: 24,
        trailer: 4,
    };
    let times = (Instant::START, Instant::START);
    let damaged = |bit| FrameFate::Damaged { truncated: None, inverted: vec![bit] };
    let first_of_payload = 8 * (24 + HEADERS);
    for fate in [
        FrameFate::Intact,
        damaged(first_of_payload - 1),
        damaged(first_of_payload),
        FrameFate::Damaged { truncated: Some(900), inverted: Vec::new() },
        FrameFate::Missed(Missed::Preamble),
        FrameFate::Missed(Missed::Busy),
    ] {
        counts.count(&MediumEvent::new(facts, (Port(0), Port(1)), times, (Some(0), fate)), true);
    }
    let due = Counts { sent: 6, received: 4, corrupt: 3, header_whole: 2, unnoticed: 1 };
    assert_eq!(counts, due);
    assert_eq!(counts.lost(), 2);
}
