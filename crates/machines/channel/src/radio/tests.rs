use core::net::Ipv4Addr;
use core::ops::Range;

use bytes::Bytes;
use windfall_base::{Dbm, Duration, Preamble, Tag};
use windfall_wire_net::{Addresses, Ipv4Repr, Protocol, UdpRepr};

use super::*;
use crate::medium::{Medium, MediumConfig};
use crate::radio::receiver::Reception;

/// Stations that hear each other with a fixed loss.
fn stations(count: u16) -> RadioConfig {
    let station = |port| RadioStation {
        address: Some(MacAddress::of_station(port)),
        ..RadioStation::at(Position::new(f64::from(port), 0.0))
    };
    let config = RadioConfig::new((0..count).map(station).collect());
    RadioConfig { path_loss: PathLoss::Fixed(60.0), errors: Errors::Formula, ..config }
}

fn medium(config: RadioConfig) -> Medium {
    Medium::new(MediumConfig::Wifi(Box::new(config)), Seed(1), "air")
}

/// A data frame of `bytes` bytes in all from one station to the address of another.
fn data(to: MacAddress, bytes: usize) -> Outgoing {
    let mut frame = Frame::packet(vec![0; bytes - 28]);
    frame.header.try_extend_from_slice(&[8, 0, 44, 0]).expect("room");
    frame.header.try_extend_from_slice(&to.0).expect("room");
    frame.header.try_extend_from_slice(&[0; 14]).expect("room");
    frame.trailer.try_extend_from_slice(&[0; 4]).expect("room");
    frame.tag = Some(Tag(7));
    Outgoing::from(frame)
}

fn at(rate: PhyRate, outgoing: Outgoing) -> Outgoing {
    let vector = TxVector { rate: Some(rate.rate()), ..outgoing.vector };
    Outgoing { vector, ..outgoing }
}

fn micros(n: u64) -> Instant {
    Instant::from_nanos(n * 1_000)
}

/// Runs until nothing is left to happen: what reached whom when, in one line each.
fn run(medium: &mut Medium) -> Vec<String> {
    let mut lines = Vec::new();
    while let Some((now, _)) = medium.poll_timeout() {
        while let Some((port, input)) = medium.poll_reception(now) {
            let what = match input {
                Input::Frame(frame, vector) => {
                    let dbm = vector.strength.expect("a radio knows it").0.round();
                    format!("frame {} at {dbm}", frame.len())
                }
                Input::CarrierBusy => "busy".to_owned(),
                Input::CarrierIdle => "idle".to_owned(),
                Input::ReceptionFailed(_) => "failed".to_owned(),
                Input::Overheard(it) => format!("overheard {:?} {}", it.head, it.good),
                Input::TransmissionDone => "done".to_owned(),
                Input::CarrierPassed(time) => format!("passed {time}"),
            };
            lines.push(format!("{} {} {what}", now.as_nanos(), port.0));
        }
    }
    lines
}

fn fates(medium: &mut Medium) -> Vec<(u16, FrameFate)> {
    core::iter::from_fn(|| medium.poll_event()).map(|(_, event)| (event.to.0, event.fate)).collect()
}

#[test]
fn a_frame_reaches_its_station_and_is_overheard_by_the_other() {
    let mut medium = medium(stations(3));
    medium.handle_transmit(micros(0), Port(0), data(MacAddress::of_station(1), 1_088));
    assert_eq!(medium.held(), 1);
    let expected = [
        "100 1 busy",
        "100 2 busy",
        "190000 0 done",
        "190100 1 frame 1088 at -45",
        "190100 1 idle",
        "190100 2 overheard [8, 0, 44, 0] true",
        "190100 2 idle",
    ];
    assert_eq!(run(&mut medium), expected);
    assert_eq!(fates(&mut medium), [(1, FrameFate::Intact)]);
    assert_eq!(medium.held(), 0);
}

#[test]
fn two_that_begin_together_meet_at_every_receiver() {
    let mut medium = medium(stations(4));
    medium.handle_transmit(micros(0), Port(0), data(MacAddress::of_station(2), 500));
    medium.handle_transmit(micros(0), Port(1), data(MacAddress::of_station(3), 500));
    let lines = run(&mut medium);
    assert!(!lines.iter().any(|line| line.contains("frame") || line.contains("true")), "{lines:?}");
    let mut told = fates(&mut medium);
    told.sort_by_key(|(port, _)| *port);
    // Neither preamble stands above the other, at any receiver.
    let missed = FrameFate::Missed(Missed::Preamble);
    assert_eq!(told, [(2, missed.clone()), (3, missed)]);
    // The medium is busy to the end, and what ends there had no readable header.
    let of = |port: u16| lines.iter().filter(move |line| line.contains(&format!(" {port} ")));
    for port in [2, 3] {
        let own: Vec<&String> = of(port).collect();
        assert!(own[0].ends_with("busy") && own[1].ends_with("failed"), "{own:?}");
        assert!(own[2].ends_with("idle") && own.len() == 3, "{own:?}");
    }
}

/// The frames that station 3 reads when `senders` begin together at 1 Mb/s, each as many
/// microseconds late and with as many decibels more as they say: how many frames of each of them.
fn read_of(senders: &[(u16, u64, f64)], rate: PhyRate) -> Vec<usize> {
    let mut config = stations(4);
    for &(port, _, decibels) in senders {
        config.stations[usize::from(port)].power = Dbm(decibels);
    }
    let mut medium = medium(config);
    let mut read = vec![0; senders.len()];
    for round in 0..300 {
        for &(port, late, _) in senders {
            let now = micros(round * 20_000 + late);
            while medium.poll_reception(now).is_some() {}
            let frame = data(MacAddress::of_station(3), 100 + usize::from(port));
            medium.handle_transmit(now, Port(port), at(rate, frame));
        }
        for line in run(&mut medium) {
            for (count, (port, ..)) in read.iter_mut().zip(senders) {
                *count += usize::from(line.contains(&format!(" 3 frame {}", 100 + port)));
            }
        }
    }
    read
}

#[test]
fn chance_decides_between_equal_preambles_and_not_the_order_of_the_stations() {
    // At 1 Mb/s a frame can be read that is as strong as the noise.
    for order in [[0, 1], [1, 0]] {
        let read = read_of(&order.map(|port| (port, 0, 0.0)), PhyRate::Dsss1);
        assert_eq!(read[0] + read[1], 300, "{read:?}");
        // Half of 300, give or take four standard deviations.
        assert!((115..=185).contains(&read[0]), "{read:?}");
    }
    let three = read_of(&[(0, 0, 0.0), (1, 0, 0.0), (2, 0, 0.0)], PhyRate::Dsss1);
    assert!(three.iter().all(|&count| (65..=135).contains(&count)), "{three:?}");
    assert_eq!(read_of(&[(0, 0, 0.0), (1, 0, 0.0)], PhyRate::Ofdm6), [0, 0]);
}

#[test]
fn the_strongest_preamble_wins_whichever_begins_first_within_the_time_of_detection() {
    for rate in [PhyRate::Dsss1, PhyRate::Ofdm6] {
        for (late, expected) in [(0, [0, 300]), (3, [0, 300]), (5, [0, 0])] {
            let read = read_of(&[(0, 0, 0.0), (1, late, 15.0)], rate);
            assert_eq!(read, expected, "{late} µs late at {rate}");
            let read = read_of(&[(1, 0, 15.0), (0, late, 0.0)], rate);
            assert_eq!(read, [300, 0], "{late} µs late at {rate}");
        }
    }
}

#[test]
fn the_stronger_of_two_captures_the_receiver_only_where_that_is_asked_for() {
    for (capture, expected) in [(None, 0), (Some(10.0), 1)] {
        let mut config = stations(4);
        config.thresholds.capture = capture;
        config.stations[0].power = Dbm(-15.0);
        let mut medium = medium(config);
        medium.handle_transmit(micros(0), Port(0), data(MacAddress::of_station(3), 500));
        medium.handle_transmit(micros(5), Port(1), data(MacAddress::of_station(2), 500));
        let lines = run(&mut medium);
        let got = lines.iter().filter(|line| line.contains("frame 500")).count();
        assert_eq!(got, expected, "{lines:?}");
        let told = fates(&mut medium);
        let why = if expected == 0 { Missed::Busy } else { Missed::Captured };
        assert!(told.iter().any(|(_, fate)| *fate == FrameFate::Missed(why)), "{told:?}");
    }
}

#[test]
fn who_transmits_hears_nothing() {
    let mut medium = medium(stations(2));
    medium.handle_transmit(micros(0), Port(0), data(MacAddress::of_station(1), 1_000));
    medium.handle_transmit(micros(50), Port(1), data(MacAddress::of_station(0), 100));
    medium.handle_transmit(micros(51), Port(1), data(MacAddress::of_station(0), 100));
    let lines = run(&mut medium);
    assert!(!lines.iter().any(|line| line.contains("frame")), "{lines:?}");
    let expected = FrameFate::Missed(Missed::Transmitting);
    // Both frames of station 1 find station 0 transmitting, the second behind the first.
    assert_eq!(fates(&mut medium), [(0, expected.clone()), (0, expected.clone()), (1, expected)]);
    assert_eq!(medium.held(), 0);
}

#[test]
fn stations_behind_walls_and_on_other_channels_are_not_heard() {
    let mut config = stations(3);
    let from = Position::new(1.5, -9.0);
    let to = Position::new(1.5, 9.0);
    config.walls.push(Wall { from, to, loss: 60.0 });
    config.stations[1].channel = 11;
    let mut medium = medium(config);
    medium.handle_transmit(micros(0), Port(0), data(MacAddress::of_station(1), 100));
    medium.handle_transmit(micros(200), Port(0), data(MacAddress::of_station(2), 100));
    assert_eq!(run(&mut medium), ["42000 0 done", "242000 0 done"]);
    let missed = FrameFate::Missed(Missed::Preamble);
    assert_eq!(fates(&mut medium), [(1, missed.clone()), (2, missed)]);
}

/// Sends a frame to station 1, which is of 802.11b, and then one to station 2; returns what they
/// hear of the second one, and the fates of both.
fn heard_without_ofdm(rate: PhyRate, loss: f64) -> (Vec<String>, Vec<(u16, FrameFate)>) {
    let mut config = RadioConfig { path_loss: PathLoss::Fixed(loss), ..stations(3) };
    config.stations[1].reads_ofdm = false;
    let mut medium = medium(config);
    for (begin, to) in [(0, 1), (20_000, 2)] {
        let frame = at(rate, data(MacAddress::of_station(to), 100));
        medium.handle_transmit(micros(begin), Port(0), frame);
        while medium.poll_timeout().is_some_and(|(due, _)| due < micros(20_000)) {
            let (now, _) = medium.poll_timeout().expect("it was there");
            while medium.poll_reception(now).is_some() {}
        }
    }
    (run(&mut medium), fates(&mut medium))
}

#[test]
fn a_station_of_802_11b_hears_frames_of_ofdm_as_energy_alone() {
    // -45 dBm, above the threshold of energy, and -70 dBm.
    for (rate, loss, hears) in [
        (PhyRate::Ofdm6, 60.0, vec!["busy", "idle"]),
        (PhyRate::Ofdm6, 85.0, vec![]),
        (PhyRate::Dsss1, 85.0, vec!["busy", "overheard [8, 0, 44, 0] true", "idle"]),
    ] {
        let (lines, fates) = heard_without_ofdm(rate, loss);
        let own = lines.iter().filter_map(|line| line.split_once(" 1 ")).map(|(_, what)| what);
        assert_eq!(own.collect::<Vec<_>>(), hears, "{rate} at {loss} dB: {lines:?}");
        let is_read = !rate.is_ofdm();
        let to_it = if is_read { FrameFate::Intact } else { FrameFate::Missed(Missed::Preamble) };
        assert_eq!(fates, [(1, to_it), (2, FrameFate::Intact)], "{rate} at {loss} dB");
    }
}

/// The share of frames of 1088 bytes that arrive at a signal-to-noise ratio in 20 MHz.
fn share(rate: PhyRate, decibels: f64) -> f64 {
    let mut config = stations(2);
    // 15 dBm - loss = noise + ratio; the noise is -93.96 dBm.
    config.path_loss = PathLoss::Fixed(15.0 + 93.96 - decibels);
    config.thresholds = Thresholds::none();
    let mut medium = medium(config);
    let frames: u16 = 400;
    for i in 0..frames {
        let now = micros(u64::from(i) * 12_000);
        while medium.poll_reception(now).is_some() {}
        medium.handle_transmit(now, Port(0), at(rate, data(MacAddress::of_station(1), 1_088)));
    }
    run(&mut medium);
    let told = fates(&mut medium);
    assert_eq!(told.len(), usize::from(frames));
    let intact = told.iter().filter(|(_, fate)| *fate == FrameFate::Intact).count();
    intact as f64 / f64::from(frames)
}

#[test]
fn frames_arrive_at_the_ratios_that_the_formulas_name() {
    // Half of the frames of 1088 bytes, computed from ns-3's formulas by another program.
    let table = [
        (PhyRate::Ofdm54, 21.88),
        (PhyRate::Ofdm24, 12.81),
        (PhyRate::Ofdm6, 3.33),
        // In 22 MHz there is 0.41 dB more noise.
        (PhyRate::Dsss2, 0.53 + 0.41),
    ];
    for (rate, half) in table {
        let got = share(rate, half);
        // 400 frames: a standard error of 2.5 %, and SERVICE, tail and padding.
        assert!((got - 0.5).abs() < 0.1, "{rate}: {got}");
        assert!(share(rate, half + 2.5) > 0.97 && share(rate, half - 2.5) < 0.03, "{rate}");
    }
}

#[test]
fn interference_counts_for_as_long_as_it_lasts() {
    // 54 Mb/s at 25 dB is clean; interference as strong as the noise takes 3 dB, and half of the
    // payload then fails as it does alone: p½ = √p.
    let noise = Noise { floor: 1.0, distortion: 0.0, carriers: None, cck_interference: 1.0 };
    let survive = |from: u64, frame: u64| {
        let reception = Reception {
            power: ratio(25.0),
            interference: vec![(micros(0), 0.0), (micros(from), 1.0)],
            ..Reception::default()
        };
        let rate = PhyRate::Ofdm54;
        let bytes = 1_347;
        let sent = Sent::new(rate, Preamble::Long, bytes);
        assert_eq!(rate.signal_duration(Preamble::Long, bytes).as_micros(), frame);
        let hits = (0..4_000_u64).filter(|i| {
            let mut stream = Stream::new(Seed(*i), "judge");
            judge::by_formula(sent, &reception, noise, &mut stream) == FrameFate::Intact
        });
        hits.count() as f64 / 4_000.0
    };
    let whole = survive(0, 220);
    let half = survive(120, 220);
    assert!((half - whole.sqrt()).abs() < 0.03, "{whole} {half}");
    assert!(whole > 0.1 && whole < 0.9);
}

#[test]
fn frames_without_a_header_without_a_descrambler_and_with_wrong_bits_are_told_apart() {
    let noise = Noise { floor: 1.0, distortion: 0.0, carriers: None, cck_interference: 1.0 };
    // Of 2000 frames of 500 bytes: those that miss SIGNAL, PLCP, SERVICE, and the damaged ones.
    let fates = |rate: PhyRate, decibels: f64| {
        let mut samplers = judge::samplers();
        let interference = vec![(micros(0), 0.0)];
        let power = ratio(decibels);
        let reception = Reception { power, interference, ..Reception::default() };
        let sent = Sent::new(rate, Preamble::Long, 500);
        let mut count = [0; 4];
        for i in 0..2_000 {
            let mut stream = Stream::new(Seed(i), "judge");
            let fate = judge::by_pattern(&mut samplers, sent, &reception, noise, true, &mut stream);
            match fate {
                FrameFate::Missed(Missed::Signal) => count[0] += 1,
                FrameFate::Missed(Missed::Plcp) => count[1] += 1,
                FrameFate::Missed(Missed::Service) => count[2] += 1,
                FrameFate::Damaged { .. } => count[3] += 1,
                _ => {}
            }
        }
        count
    };
    // SIGNAL goes at 6 Mb/s, which is clean where 54 Mb/s are full of errors.
    let [signal, plcp, service, damaged] = fates(PhyRate::Ofdm54, 14.0);
    assert_eq!((signal, plcp), (0, 0));
    assert!(service > 20 && damaged > 1_500, "{service} {damaged}");
    let [signal, plcp, ..] = fates(PhyRate::Ofdm6, -2.0);
    assert!(signal > 100 && plcp == 0, "{signal} {plcp}");
    // The PLCP header goes at 1 Mb/s; the descrambler of 802.11b sets itself.
    let [signal, plcp, service, damaged] = fates(PhyRate::Cck11, -6.0);
    assert!(plcp > 100 && signal + service == 0, "{plcp} {signal} {service}");
    assert!(damaged > 500, "{damaged}");
}

#[test]
fn late_echoes_make_deep_fades_of_the_whole_band_rare() {
    let lost = |delay_spread: Option<Duration>| {
        let mut config = stations(2);
        config.errors = Errors::Pattern;
        // 10 dB on average: a flat path is 10 dB weaker for 9.5 % of the time.
        config.path_loss = PathLoss::Fixed(15.0 + 93.96 - 10.0);
        config.thresholds = Thresholds::none();
        config.fading = Fading::Rayleigh { doppler: 11.0 };
        config.delay_spread = delay_spread;
        let mut medium = medium(config);
        for second in 0..1_000 {
            let now = micros(second * 1_000_000);
            while medium.poll_reception(now).is_some() {}
            let frame = at(PhyRate::Ofdm6, data(MacAddress::of_station(1), 200));
            medium.handle_transmit(now, Port(0), frame);
        }
        run(&mut medium);
        fates(&mut medium).iter().filter(|(_, fate)| *fate != FrameFate::Intact).count()
    };
    let [flat, selective] = [None, Some(Duration::from_nanos(100))].map(lost);
    assert!(flat > 40 && selective * 3 < flat, "{flat} lost, {selective} with late echoes");
}

#[test]
fn a_thousand_stations_cost_what_the_few_in_reach_cost() {
    let station = |port: u16| RadioStation {
        address: Some(MacAddress::of_station(port)),
        ..RadioStation::at(Position::new(f64::from(port) * 100.0, 0.0))
    };
    let mut medium = medium(RadioConfig::new((0..1_000).map(station).collect()));
    for port in 0..999 {
        medium.handle_transmit(micros(0), Port(port), data(MacAddress::of_station(port + 1), 100));
    }
    let lines = run(&mut medium);
    // A carrier goes on and off at a handful of neighbours.
    assert!(lines.len() < 20_000, "{}", lines.len());
    assert_eq!(fates(&mut medium).len(), 999);
    assert_eq!(medium.held(), 0);
}

#[test]
fn a_walker_is_lost_on_the_way_out() {
    let mut config = stations(2);
    config.path_loss = PathLoss::LogDistance { exponent: 4.0 };
    let far = Instant::START + Duration::from_secs(60);
    let points = vec![(Instant::START, Position::new(1.0, 0.0)), (far, Position::new(80.0, 0.0))];
    config.stations[1].track = Track::walk(points).expect("it is in order");
    let mut medium = medium(config);
    for second in 0..60 {
        let now = micros(second * 1_000_000);
        while medium.poll_reception(now).is_some() {}
        medium.handle_transmit(now, Port(0), data(MacAddress::of_station(1), 1_000));
    }
    run(&mut medium);
    let told: Vec<bool> = fates(&mut medium).iter().map(|(_, v)| v.arrives()).collect();
    assert!(told[..5].iter().all(|it| *it) && told[50..].iter().all(|it| !it), "{told:?}");
}

#[test]
fn damage_falls_in_bursts_and_its_bits_are_named() {
    let mut config = stations(3);
    config.errors = Errors::Pattern;
    config.thresholds = Thresholds::none();
    // 17.5 dB at 54 Mb/s.
    config.path_loss = PathLoss::Fixed(15.0 + 93.96 - 17.5);
    let mut medium = medium(config);
    let mut frames = Vec::new();
    for i in 0..300 {
        let now = micros(i * 1_000);
        while let Some((_, input)) = medium.poll_reception(now) {
            frames.extend(match input {
                Input::Frame(frame, _) => Some(frame),
                _ => None,
            });
        }
        medium.handle_transmit(now, Port(0), data(MacAddress::of_station(1), 1_088));
    }
    run(&mut medium);
    let told = fates(&mut medium);
    let damaged = told.iter().filter(|(_, fate)| !fate.inverted().is_empty());
    let mut count = 0;
    let mut bits = 0;
    let mut near = 0;
    for (port, fate) in damaged {
        assert_eq!(*port, 1);
        let inverted = fate.inverted();
        assert!(inverted.is_sorted_by(|a, b| a < b) && inverted[inverted.len() - 1] < 1_088 * 8);
        count += 1;
        bits += inverted.len();
        near += inverted.windows(2).filter(|pair| pair[1] - pair[0] < 24).count();
    }
    assert!((30..290).contains(&count), "{count} damaged frames");
    // Most bit errors have another one within three bytes.
    assert!(near * 10 > bits * 6, "{near} of {bits}");
    // Bytes are what the fates say: data frames are zeros behind the header.
    let ones = |frame: &Frame| -> u32 {
        frame.payload.slices().into_iter().flatten().map(|byte| byte.count_ones()).sum()
    };
    assert!(frames.iter().any(|frame| ones(frame) > 0));
}

#[test]
fn a_damaged_frame_tells_how_sure_each_of_its_bytes_is_where_that_is_asked_for() {
    const BYTES: usize = 1_088;
    for reliability in [false, true] {
        let mut config = RadioConfig { errors: Errors::Pattern, reliability, ..stations(2) };
        config.thresholds = Thresholds::none();
        config.path_loss = PathLoss::Fixed(15.0 + 93.96 - 17.5);
        let mut medium = medium(config);
        let mut frames = Vec::new();
        for round in 0..100 {
            let now = micros(round * 1_000);
            while let Some((_, input)) = medium.poll_reception(now) {
                frames.extend(match input {
                    Input::Frame(frame, _) => Some(frame),
                    _ => None,
                });
            }
            medium.handle_transmit(now, Port(0), data(MacAddress::of_station(1), BYTES));
        }
        // The payload is zeros, so that whatever is set in it is wrong. Its place in the frame is
        // after the header of 24 bytes.
        let mut right = Vec::new();
        let mut wrong = Vec::new();
        for frame in frames {
            let payload = frame.payload.slices().concat();
            let Some(sure) = &frame.damage.reliability else { continue };
            assert_eq!(sure.len(), BYTES);
            for (byte, sure) in payload.iter().zip(&sure[24..]) {
                let of = if *byte == 0 { &mut right } else { &mut wrong };
                of.push(f64::from(*sure));
            }
        }
        assert_eq!(wrong.is_empty(), !reliability);
        if reliability {
            let mean = |of: &[f64]| of.iter().sum::<f64>() / of.len() as f64;
            let right = mean(&right);
            let wrong = mean(&wrong);
            assert!(right > 2.0 * wrong, "right ones are surer: {right}, wrong ones {wrong}");
        }
    }
}

/// A datagram of UDP over IPv4 with zeros as its data.
fn datagram(data: usize) -> Vec<u8> {
    let addresses = Addresses::V4 { src: Ipv4Addr::LOCALHOST, dst: Ipv4Addr::LOCALHOST };
    let mut bytes = vec![0; 28 + data];
    let ip = Ipv4Repr::new(Ipv4Addr::LOCALHOST, Ipv4Addr::LOCALHOST, Protocol::UDP, 8 + data);
    ip.expect("it fits").emit(&mut bytes);
    let udp = UdpRepr { src_port: 1, dst_port: 2 };
    udp.emit(&mut bytes[20..], &addresses, &vec![0; data]).expect("it fits");
    bytes
}

#[test]
fn the_headers_of_packets_arrive_as_they_were_where_they_are_spared() {
    for spares_headers in [false, true] {
        let mut config = RadioConfig { errors: Errors::Pattern, spares_headers, ..stations(2) };
        config.thresholds = Thresholds::none();
        config.path_loss = PathLoss::Fixed(15.0 + 93.96 - 17.5);
        let mut medium = medium(config);
        let sent = datagram(1_000);
        let mut arrived = Vec::new();
        for round in 0..300 {
            let now = micros(round * 1_000);
            while let Some((_, input)) = medium.poll_reception(now) {
                if let Input::Frame(frame, _) = input {
                    arrived.push(frame.payload.to_bytes());
                }
            }
            let mut outgoing = data(MacAddress::of_station(1), 28);
            outgoing.frame.tag = Some(Tag(round));
            outgoing.frame.payload = sent.clone().into();
            medium.handle_transmit(now, Port(0), outgoing);
        }
        let wrong = |range: Range<usize>| {
            let is_wrong = |packet: &&Bytes| packet[range.clone()] != sent[range.clone()];
            arrived.iter().filter(is_wrong).count()
        };
        assert!(wrong(28..1_028) > 20, "{} of {}", wrong(28..1_028), arrived.len());
        assert_eq!(wrong(0..28) == 0, spares_headers, "{} of {}", wrong(0..28), arrived.len());
    }
}

#[test]
fn each_station_without_an_address_gets_the_whole_frame() {
    let mut config = stations(4);
    config.stations[2].address = None;
    config.stations[3].address = None;
    let mut medium = medium(config);
    medium.handle_transmit(micros(0), Port(0), data(MacAddress::of_station(1), 1_088));
    let lines = run(&mut medium);
    for port in 1..4 {
        let frame = format!("190100 {port} frame 1088 at -45");
        assert!(lines.contains(&frame), "{lines:?}");
    }
}

/// The fates of one frame to an address, sent by one of these stations, which do not reach others.
fn out_of_reach(count: u16, from: u16, to: MacAddress) -> Vec<(u16, FrameFate)> {
    let config = RadioConfig { path_loss: PathLoss::Fixed(200.0), ..stations(count) };
    let mut medium = medium(config);
    medium.handle_transmit(micros(0), Port(from), data(to, 100));
    run(&mut medium);
    fates(&mut medium)
}

#[test]
fn a_frame_that_reaches_no_station_is_told_of_its_receiver() {
    let missed = FrameFate::Missed(Missed::Preamble);
    assert_eq!(out_of_reach(3, 0, MacAddress::of_station(2)), [(2, missed.clone())]);
    // Of those whom a frame for all did not reach, one.
    assert_eq!(out_of_reach(3, 0, MacAddress::BROADCAST), [(1, missed.clone())]);
    assert_eq!(out_of_reach(3, 2, MacAddress::BROADCAST), [(0, missed)]);
    // None is there: no other station, no station of this address, and the sender itself.
    assert_eq!(out_of_reach(1, 0, MacAddress::BROADCAST), []);
    assert_eq!(out_of_reach(3, 0, MacAddress::of_station(9)), []);
    assert_eq!(out_of_reach(3, 0, MacAddress::of_station(0)), []);
    // Where it is heard, its receivers speak for themselves.
    let mut near = medium(stations(2));
    near.handle_transmit(micros(0), Port(0), data(MacAddress::BROADCAST, 100));
    run(&mut near);
    assert_eq!(fates(&mut near), [(1, FrameFate::Intact)]);
}

#[test]
fn every_fate_tells_how_strongly_the_signal_arrived_and_which_frame_it_was() {
    let mut medium = medium(stations(3));
    let mut events = Vec::new();
    for round in 0..2 {
        let now = micros(round * 1_000);
        while medium.poll_reception(now).is_some() {}
        medium.handle_transmit(now, Port(0), data(MacAddress::of_station(1), 100));
    }
    run(&mut medium);
    events.extend(core::iter::from_fn(|| medium.poll_event()));
    // 15 dBm and 60 dB of loss.
    let told: Vec<_> = events.iter().map(|(_, event)| (event.number, event.strength)).collect();
    assert_eq!(told, [(Some(0), Some(-45)), (Some(1), Some(-45))]);
    // Two that drown each other, and one that finds its receiver busy with another.
    medium.handle_transmit(micros(9_000), Port(0), data(MacAddress::of_station(2), 100));
    medium.handle_transmit(micros(9_000), Port(1), data(MacAddress::of_station(2), 100));
    run(&mut medium);
    let drowned: Vec<_> = core::iter::from_fn(|| medium.poll_event()).collect();
    assert!(drowned.iter().all(|(_, event)| event.strength == Some(-45)), "{drowned:?}");
    assert_eq!(drowned.len(), 2);
    let mut config = stations(4);
    config.stations[1].power = Dbm(30.0);
    let mut medium = self::medium(config);
    medium.handle_transmit(micros(0), Port(0), data(MacAddress::of_station(3), 500));
    medium.handle_transmit(micros(30), Port(1), data(MacAddress::of_station(2), 500));
    run(&mut medium);
    let busy = core::iter::from_fn(|| medium.poll_event())
        .find(|(_, event)| event.fate == FrameFate::Missed(Missed::Busy));
    assert_eq!(busy.and_then(|(_, event)| event.strength), Some(-30));
}

#[test]
fn a_station_overhears_damaged_frames_of_others_as_bad() {
    for errors in [Errors::Formula, Errors::Pattern] {
        // 54 Mb/s at 12 dB: hardly any frame is whole, and SIGNAL at 6 Mb/s always is.
        let mut config = RadioConfig { errors, ..stations(3) };
        config.path_loss = PathLoss::Fixed(15.0 + 93.96 - 12.0);
        config.thresholds = Thresholds::none();
        let mut medium = medium(config);
        medium.handle_transmit(micros(0), Port(0), data(MacAddress::of_station(1), 1_088));
        let lines = run(&mut medium);
        let overheard = "190100 2 overheard [8, 0, 44, 0] false".to_owned();
        let failed = "190100 2 failed".to_owned();
        assert!(lines.contains(&overheard) || lines.contains(&failed), "{lines:?}");
        assert!(lines.contains(&overheard), "{errors:?}: {lines:?}");
    }
}

#[test]
fn the_memory_of_transmissions_that_are_over_is_used_again() {
    let mut radio = Radio::new(stations(3), Seed(1), "air");
    let mut events = VecDeque::new();
    for round in 0..50 {
        let now = micros(round * 1_000);
        while radio.poll_reception(now, &mut events).is_some() {}
        let frame = data(MacAddress::of_station(1), 100);
        radio.handle_transmit(now, Port(0), frame, &mut events);
    }
    assert_eq!(radio.transmissions.len(), 1);
}
