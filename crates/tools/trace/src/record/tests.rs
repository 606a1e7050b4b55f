use bytes::Bytes;
use windfall_base::{Frame, Instant, Seed, Stream};
use windfall_channel::{Air, AirConfig, Model, Truncation};

use super::*;
use crate::synthesize_frames;

fn packet(i: u64, seen: Seen, data: Bytes) -> CapturedPacket {
    CapturedPacket {
        at: Instant::from_nanos(i),
        seen,
        interface: 0,
        tag: Some(Tag(i)),
        link_type: windfall_files::pcapng::LINKTYPE_RAW,
        original: data.len() as u32,
        data,
        comment: String::new(),
    }
}

fn record(
    sent: &[CapturedPacket],
    received: &[CapturedPacket],
    header: TraceHeader,
) -> Result<ErrorTrace, RecordError> {
    let of = |packets| Captured { packets, interfaces: 4, interface: None };
    super::record(of(sent), of(received), None, header).map(|recording| recording.trace)
}

fn record_known(
    packets: &[CapturedPacket],
    seed: Seed,
    header: TraceHeader,
) -> Result<ErrorTrace, RecordError> {
    super::record_known(Captured { packets, interfaces: 4, interface: None }, seed, header)
}

/// 400 packets with a seeded payload through an air that does everything.
fn run() -> (Vec<CapturedPacket>, Vec<CapturedPacket>, AirConfig) {
    let models = vec![
        Model::Loss("10%".parse().expect("a probability")),
        Model::BitErrors("0.05%".parse().expect("a probability")),
        Model::Truncation(Truncation {
            probability: "5%".parse().expect("a probability"),
            least: 20,
        }),
    ];
    let config = AirConfig { models, ..AirConfig::default() };
    let mut air = Air::new(&config, Seed(9), "synth");
    let mut payload = Stream::new(Seed(1), "payload");
    let mut sent = Vec::new();
    let mut received = Vec::new();
    for i in 0..400 {
        let data: Vec<u8> = (0..200).map(|_| payload.bits() as u8).collect();
        let mut frame = Frame { tag: Some(Tag(i)), ..Frame::packet(data) };
        sent.push(packet(i, Seen::Sent, frame.payload.to_bytes()));
        let (_, fate) = air.judge(&frame);
        fate.apply(&mut frame);
        if fate.arrives() {
            received.push(packet(i, Seen::Arrived, frame.payload.to_bytes()));
        }
    }
    (sent, received, config)
}

//= S3.3
#[test]
fn captures_give_the_trace_of_the_air() {
    let (mut sent, mut received, config) = run();
    let truth = synthesize_frames(&config, Seed(9), 400, 200, "");
    let by_name = record(&sent, &received, TraceHeader::default()).expect("a trace");
    // A capture has whole bytes, so a cut is known to the byte.
    let known = |trace: &ErrorTrace| -> Vec<_> {
        let round = |entry: &windfall_files::traces::error_trace::Entry| match &entry.fault {
            Fault::Damaged { truncated, inverted } => {
                (entry.at, truncated.map(|bit| bit / 8), inverted.to_vec())
            }
            _ => (entry.at, None, Vec::new()),
        };
        trace.entries().iter().map(round).collect()
    };
    assert_eq!(known(&by_name), known(&truth));
    assert_eq!(by_name.header().frame_length, Some(200));
    for packet in sent.iter_mut().chain(&mut received) {
        packet.tag = None;
    }
    let by_likeness = record(&sent, &received, TraceHeader::default()).expect("a trace");
    assert_eq!(by_likeness, by_name);
}

/// Packets of a ping: a header with a number, and the same payload in each.
fn ping(number: u16) -> Bytes {
    let mut data = vec![0x5a; 200];
    data[..2].copy_from_slice(&number.to_be_bytes());
    data[2..4].copy_from_slice(&(!number).to_be_bytes());
    data.into()
}

#[test]
fn neighbours_that_are_alike_are_told_apart() {
    for seed in 1..=10 {
        let mut stream = Stream::new(Seed(seed), "pings");
        let sent: Vec<_> = (0..300).map(|i| packet(i, Seen::Sent, ping(i as u16))).collect();
        let mut received = Vec::new();
        for packet in &sent {
            let mut data = packet.data.to_vec();
            match stream.below(10) {
                0 => continue,
                1 | 2 => (0..3).for_each(|_| data[stream.below(196) as usize + 4] ^= 1),
                _ => {}
            }
            received.push(CapturedPacket {
                data: data.into(),
                seen: Seen::Arrived,
                ..packet.clone()
            });
        }
        let named = record(&sent, &received, TraceHeader::default()).expect("a trace");
        assert!(named.entries().len() > 50, "seed {seed}");
        let nameless = |packets: &[CapturedPacket]| -> Vec<_> {
            packets.iter().map(|it| CapturedPacket { tag: None, ..it.clone() }).collect()
        };
        let found = record(&nameless(&sent), &nameless(&received), TraceHeader::default());
        assert_eq!(found, Ok(named), "seed {seed}");
    }
}

#[test]
fn packets_that_are_overtaken_or_come_twice_are_found() {
    let numbers = |all: &[u64], seen| -> Vec<_> {
        all.iter()
            .map(|i| CapturedPacket { tag: None, ..packet(0, seen, ping(*i as u16)) })
            .collect()
    };
    let sent = numbers(&[0, 1, 2, 3, 4, 5], Seen::Sent);
    let received = numbers(&[0, 3, 3, 1, 5], Seen::Arrived);
    let trace = record(&sent, &received, TraceHeader::default()).expect("a trace");
    let lost: Vec<_> =
        trace.entries().iter().map(|entry| (entry.at, entry.fault.clone())).collect();
    assert_eq!(lost, [(2, Fault::Lost), (4, Fault::Lost)]);
    // Packets that are all the same say nothing of which were lost: the last ones.
    let sent = numbers(&[7; 6], Seen::Sent);
    let trace = record(&sent, &numbers(&[7; 4], Seen::Arrived), TraceHeader::default());
    let trace = trace.expect("a trace");
    assert_eq!(trace.entries().iter().map(|entry| entry.at).collect::<Vec<_>>(), [4]);
}

#[test]
fn captures_of_different_runs_are_refused() {
    let (sent, mut received, _) = run();
    assert_eq!(record(&[], &received, TraceHeader::default()), Err(RecordError::NothingSent));
    for packet in &mut received {
        packet.tag = None;
        (packet.data, packet.original) = (Bytes::from(vec![0xff; 300]), 300);
    }
    let error = record(&sent, &received, TraceHeader::default());
    assert_eq!(error, Err(RecordError::NothingAlike(received.len())));
    let silence = record(&sent, &[], TraceHeader::default()).expect("a trace");
    assert_eq!(silence.entries().len(), 1, "all are lost");
}

#[test]
fn a_known_payload_needs_no_capture_of_the_sender() {
    let pattern = Pattern::new(Seed(6));
    let header = [0x45; 28];
    let (mut sent, mut received, _) = run();
    for packet in &mut sent {
        let Some(Tag(number)) = packet.tag else { continue };
        packet.data = [&header[..], &pattern.datagram(number, 172)].concat().into();
    }
    // Equal losses, and a few bits of the payload inverted in every seventh packet.
    for packet in &mut received {
        let Some(Tag(number)) = packet.tag else { continue };
        let mut data = sent[number as usize].data.to_vec();
        // A header that looks like one of IPv6 moves nothing.
        data[0] ^= if number == 13 { 0x20 } else { 0 };
        if number % 7 == 0 {
            data[28] ^= 1;
            data[150] ^= 0x81;
        }
        packet.data = data.into();
    }
    received.push(packet(999, Seen::Arrived, Bytes::from(vec![3; 90])));
    let known = record_known(&received, Seed(6), TraceHeader::default()).expect("a trace");
    let both = record(&sent, &received, TraceHeader::default()).expect("a trace");
    let last = known.len();
    let in_payload = |entry: &&windfall_files::traces::error_trace::Entry| {
        entry.at < last && entry.fault != Fault::Damaged { truncated: None, inverted: [2].into() }
    };
    let expected: Vec<_> = both.entries().iter().filter(in_payload).collect();
    assert_eq!(known.entries().iter().collect::<Vec<_>>(), expected);
    assert_eq!(known.header().frame_length, Some(200));
    let wrong = record_known(&received, Seed(7), TraceHeader::default());
    assert_eq!(wrong, Err(RecordError::NothingAlike(received.len())));
}

#[test]
fn what_a_capture_has_cut_is_no_damage() {
    let (mut sent, mut received, _) = run();
    for packet in sent.iter_mut().chain(&mut received) {
        packet.tag = None;
    }
    let whole = record(&sent, &received, TraceHeader::default()).expect("a trace");
    let cut_to = |packets: &[CapturedPacket], kept: usize| -> Vec<_> {
        let cut = |packet: &CapturedPacket| {
            let data = packet.data.slice(..packet.data.len().min(kept));
            CapturedPacket { data, ..packet.clone() }
        };
        packets.iter().map(cut).collect()
    };
    // The ends may have kept different parts; what neither has kept is not judged.
    for (near, far) in [(100, 100), (100, 150), (150, 100), (100, 1_000)] {
        let sent = cut_to(&sent, near);
        let received = cut_to(&received, far);
        let trace = record(&sent, &received, TraceHeader::default()).expect("a trace");
        assert_eq!(trace.header().frame_length, Some(200));
        assert_eq!(trace.header().workload, "the captures keep 100 bytes of a packet");
        let lost = |trace: &ErrorTrace| {
            trace
                .entries()
                .iter()
                .filter(|it| it.fault == Fault::Lost)
                .map(|it| it.count)
                .sum::<u64>()
        };
        assert_eq!((trace.len(), lost(&trace)), (whole.len(), lost(&whole)), "{near} {far}");
        let cuts = |trace: &ErrorTrace| -> Vec<_> {
            let of = |it: &windfall_files::traces::error_trace::Entry| match it.fault {
                Fault::Damaged { truncated: Some(bit), .. } => Some((it.at, bit)),
                _ => None,
            };
            trace.entries().iter().filter_map(of).collect()
        };
        assert_eq!(cuts(&trace), cuts(&whole), "{near} {far}");
    }
}

#[test]
fn packets_of_several_interfaces_are_refused_until_one_is_named() {
    let (sent, mut received, _) = run();
    let seen_elsewhere: Vec<_> =
        received.iter().map(|it| CapturedPacket { interface: 3, ..it.clone() }).collect();
    let alone = record(&sent, &received, TraceHeader::default());
    received.extend(seen_elsewhere);
    let error = record(&sent, &received, TraceHeader::default()).expect_err("which of them?");
    assert_eq!(error, RecordError::SeveralInterfaces("0, 3".to_owned()));
    let of = |packets, interface| Captured { packets, interfaces: 4, interface };
    let named =
        super::record(of(&sent, None), of(&received, Some(3)), None, TraceHeader::default())
            .map(|it| it.trace);
    assert_eq!(named, alone);
}

#[test]
fn packets_of_ip_are_compared_where_the_links_differ() {
    let (sent, mut received, _) = run();
    let alone = record(&sent, &received, TraceHeader::default());
    for packet in &mut received {
        packet.data = [&[7; 12][..], &[0x81, 0, 0, 5, 8, 0], &packet.data].concat().into();
        (packet.link_type, packet.original) = (1, packet.original + 18);
    }
    assert_eq!(record(&sent, &received, TraceHeader::default()), alone);
    received[0].link_type = 999;
    let error = record(&sent, &received, TraceHeader::default());
    assert_eq!(error, Err(RecordError::UnknownLink(999)));
}

/// Packets of UDP, every other one a short one, over IPv4 or IPv6.
fn datagrams(version: u8) -> Vec<CapturedPacket> {
    let of = |number: u64| {
        let payload = vec![number as u8 * 17; if number.is_multiple_of(2) { 200 } else { 4 }];
        let udp = [0x0f, 0xa0, 0x13, 0x88, 0, payload.len() as u8 + 8, 0, 0];
        let mut ip = vec![0; if version == 4 { 20 } else { 40 }];
        ip[0] = if version == 4 { 0x45 } else { 0x60 };
        if version == 4 {
            ip[3] = payload.len() as u8 + 28;
            ip[5] = number as u8;
            ip[8..10].copy_from_slice(&[64, 17]);
            let sum = windfall_wire_net::checksum::checksum(&ip);
            ip[10..12].copy_from_slice(&sum.to_be_bytes());
        } else {
            ip[5] = payload.len() as u8 + 8;
            ip[6..8].copy_from_slice(&[17, 64]);
        }
        let data = [&ip[..], &udp, &payload].concat();
        CapturedPacket { tag: None, ..packet(number, Seen::Sent, data.into()) }
    };
    (0..12).map(of).collect()
}

/// The packets as Ethernet has them, short ones padded, with this behind.
fn over_ethernet(packets: &[CapturedPacket], behind: &[u8]) -> Vec<CapturedPacket> {
    let of = |packet: &CapturedPacket| {
        let mut data = [&[0; 12][..], &[8, 0], &packet.data].concat();
        data.resize(data.len().max(60), 0);
        data.extend(behind);
        CapturedPacket {
            seen: Seen::Arrived,
            link_type: 1,
            original: data.len() as u32,
            data: data.into(),
            ..packet.clone()
        }
    };
    packets.iter().map(of).collect()
}

#[test]
fn what_ethernet_puts_behind_a_packet_is_no_part_of_it() {
    for (version, behind) in [(4, &[][..]), (4, &[1, 2, 3, 4]), (6, &[]), (6, &[1, 2, 3, 4])] {
        let sent = datagrams(version);
        let mut received = over_ethernet(&sent, behind);
        let trace = record(&sent, &received, TraceHeader::default()).expect("a trace");
        assert_eq!((trace.len(), trace.entries()), (12, &[][..]), "{version} {behind:?}");
        // Padded at both ends.
        let padded = over_ethernet(&sent, &[]);
        let trace = record(&padded, &received, TraceHeader::default()).expect("a trace");
        assert_eq!((trace.len(), trace.entries()), (12, &[][..]), "{version} {behind:?}");
        // A damaged length ends no packet.
        let at = if version == 4 { 3 } else { 5 };
        for number in [4, 5] {
            let mut data = received[number].data.to_vec();
            data[14 + at] ^= 1 << 4;
            received[number].data = data.into();
        }
        let trace = record(&sent, &received, TraceHeader::default()).expect("a trace");
        let inverted = vec![at as u32 * 8 + 3];
        let damaged = Fault::Damaged { truncated: None, inverted: inverted.into() };
        let found: Vec<_> = trace.entries().iter().map(|it| (it.at, it.count, &it.fault)).collect();
        let found_apart = [(4, 1, &damaged), (5, 1, &damaged)];
        assert!(found == [(4, 2, &damaged)] || found == found_apart, "{version}: {found:?}");
    }
}

/// A short packet has 24 or 28 bytes more on Ethernet, whatever is damaged of it.
#[test]
fn the_padding_of_a_damaged_packet_is_no_part_of_it() {
    for version in [4, 6] {
        let sent = datagrams(version);
        let number = 5;
        let own = sent[number].data.len();
        // Routers change the class of traffic, the hops and the checksum. Both ends have the same
        // address here, so that a packet of another source goes back.
        let is_changed = |byte: usize| match version {
            4 => [1, 8, 10, 11].contains(&byte) || (12..16).contains(&byte),
            _ => [0, 1, 7].contains(&byte) || (8..24).contains(&byte),
        };
        for behind in [&[][..], &[1, 2, 3, 4]] {
            let whole = over_ethernet(&sent, behind);
            let length = whole[number].data.len() - 14;
            for bit in (0..8 * length).filter(|bit| !is_changed(bit / 8)) {
                let mut received = whole.clone();
                let mut data = received[number].data.to_vec();
                data[14 + bit / 8] ^= 0x80 >> (bit % 8);
                received[number].data = data.into();
                let trace = record(&sent, &received, TraceHeader::default()).expect("a trace");
                let found: Vec<_> = trace.entries().iter().map(|it| (it.at, &it.fault)).collect();
                let inverted = vec![bit as u32].into();
                let damaged = Fault::Damaged { truncated: None, inverted };
                let expected = if bit < 8 * own { vec![(5, &damaged)] } else { Vec::new() };
                assert_eq!(found, expected, "version {version}, bit {bit}, {behind:?}");
            }
        }
    }
}

#[test]
fn what_routers_change_before_a_packet_is_no_damage_of_it() {
    let sent = over_ethernet(&datagrams(4), &[]);
    // Another pair of addresses at the far end, and a tag of a virtual network.
    let routed = |tag: &[u8]| -> Vec<CapturedPacket> {
        let of = |packet: &CapturedPacket| {
            let data = [&[2; 6][..], &[4; 6], tag, &packet.data[12..]].concat();
            let original = data.len() as u32;
            CapturedPacket { original, data: data.into(), ..packet.clone() }
        };
        sent.iter().map(of).collect()
    };
    for tag in [&[][..], &[0x81, 0, 0, 7]] {
        let mut received = routed(tag);
        let trace = record(&sent, &received, TraceHeader::default()).expect("a trace");
        assert_eq!((trace.len(), trace.entries()), (12, &[][..]), "{tag:?}");
        // Damage is counted from the first bit of the packet of IP.
        let mut data = received[3].data.to_vec();
        data[14 + tag.len() + 30] ^= 0x80;
        received[3].data = data.into();
        let trace = record(&sent, &received, TraceHeader::default()).expect("a trace");
        let damaged = Fault::Damaged { truncated: None, inverted: vec![240].into() };
        let found: Vec<_> = trace.entries().iter().map(|it| (it.at, it.count, &it.fault)).collect();
        assert_eq!(found, [(3, 1, &damaged)], "{tag:?}");
    }
}

#[test]
fn a_packet_that_was_captured_in_part_hides_no_damage_of_others() {
    let (sent, _, _) = run();
    let nameless = |it: &CapturedPacket| CapturedPacket { tag: None, ..it.clone() };
    let sent: Vec<_> = sent.iter().take(8).map(nameless).collect();
    let damaged = |packet: &CapturedPacket| {
        let mut data = packet.data.to_vec();
        data[190] ^= 1;
        CapturedPacket { data: data.into(), seen: Seen::Arrived, ..packet.clone() }
    };
    let mut received: Vec<_> = sent.iter().map(damaged).collect();
    received[3].data.truncate(90);
    let trace = record(&sent, &received, TraceHeader::default()).expect("a trace");
    let damaged: Vec<_> =
        trace.entries().iter().flat_map(|entry| entry.at..entry.at + entry.count).collect();
    assert_eq!(damaged, [0, 1, 2, 4, 5, 6, 7]);
    assert!(trace.entries().iter().all(|entry| entry.fault != Fault::Lost));
    assert_eq!(trace.header().workload, "1 packet was captured in part");
}

#[test]
fn an_interface_that_is_not_there_is_named_with_those_that_are() {
    let (sent, received, _) = run();
    let of = |packets, interface| Captured { packets, interfaces: 2, interface };
    let said = |near, far| {
        let error =
            super::record(of(&sent, near), of(&received, far), None, TraceHeader::default())
                .map(|it| it.trace);
        error.expect_err("no such interface").to_string()
    };
    let far = "the capture of the receiver has no interface 4; there are: 0, 1";
    assert_eq!(said(None, Some(4)), far);
    let near = "the capture of the sender has no interface 9; there are: 0, 1";
    assert_eq!(said(Some(9), None), near);
    // At an interface that is there, nothing may have arrived.
    let silence =
        super::record(of(&sent, None), of(&received, Some(1)), None, TraceHeader::default())
            .map(|it| it.trace);
    assert_eq!(silence.expect("a trace").entries().len(), 1, "all are lost");
}

/// A capture of one interface.
fn of_one(packets: &[CapturedPacket]) -> Captured<'_> {
    Captured { packets, interfaces: 1, interface: None }
}

#[test]
fn a_capture_that_tells_no_directions_is_read_by_addresses() {
    for version in [4, 6] {
        let (at, length) = if version == 4 { (12, 4) } else { (8, 16) };
        let with = |packet: &CapturedPacket, ends: [u8; 2]| {
            let mut data = packet.data.to_vec();
            data[at..at + length].fill(ends[0]);
            data[at + length..at + 2 * length].fill(ends[1]);
            if version == 4 {
                data[10..12].fill(0);
                let sum = windfall_wire_net::checksum::checksum(&data[..20]);
                data[10..12].copy_from_slice(&sum.to_be_bytes());
            }
            CapturedPacket { data: data.into(), ..packet.clone() }
        };
        let there: Vec<_> = datagrams(version).iter().map(|it| with(it, [1, 2])).collect();
        let back: Vec<_> = datagrams(version).iter().map(|it| with(it, [2, 1])).collect();
        let seen = |packets: &[CapturedPacket], seen| -> Vec<_> {
            packets.iter().map(|it| CapturedPacket { seen, ..it.clone() }).collect()
        };
        let both = |one: &[CapturedPacket], other: &[CapturedPacket]| -> Vec<_> {
            one.iter().zip(other).flat_map(|(a, b)| [a.clone(), b.clone()]).collect()
        };
        // The third packet does not arrive, one back neither.
        let mut arrived = there.clone();
        let mut heard = back.clone();
        arrived.remove(2);
        heard.remove(7);
        let near = both(&seen(&there, Seen::Sent), &seen(&heard, Seen::Arrived));
        let far = both(&seen(&arrived, Seen::Arrived), &seen(&back, Seen::Sent));
        // As tcpdump and editcap write pcap.
        let [plain_near, plain_far] = [&near, &far].map(|it| seen(it, Seen::Arrived));
        let address = |byte: u8| -> std::net::IpAddr {
            if version == 4 { [byte; 4].into() } else { [byte; 16].into() }
        };
        let run = |near: &[CapturedPacket], far: &[CapturedPacket], sender: Option<u8>| {
            let sender = sender.map(address);
            super::record(of_one(near), of_one(far), sender, TraceHeader::default())
                .map(|it| it.trace)
        };
        for (near, far, sender) in [
            (&near, &far, None),
            (&near, &plain_far, None),
            (&plain_near, &far, None),
            (&plain_near, &plain_far, Some(1)),
            (&near, &far, Some(1)),
        ] {
            let trace = run(near, far, sender).expect("a trace");
            let found: Vec<_> = trace.entries().iter().map(|it| (it.at, it.count)).collect();
            assert_eq!((trace.len(), &found[..]), (11, &[(2, 1)][..]), "{version} {sender:?}");
        }
        let error = run(&plain_near, &plain_far, None).expect_err("which way?");
        assert!(matches!(error, RecordError::BothWays(..)), "{error}");
        assert!(error.to_string().contains("--sender"), "{error}");
        let error = run(&plain_near, &plain_far, Some(9)).expect_err("nothing comes from there");
        assert!(matches!(error, RecordError::NotFromSender { .. }), "{error}");
        // One way needs no direction.
        for kind in [Seen::Arrived, Seen::Sent] {
            let near = seen(&there, Seen::Arrived);
            let far = seen(&arrived, kind);
            let trace = run(&near, &far, None).expect("a trace");
            assert_eq!((trace.len(), trace.entries().len()), (12, 1));
        }
    }
}

/// Passes a packet of IP on as routers do: with fewer hops, and another class of traffic.
fn routed(packet: &CapturedPacket, hops: u8, class: u8) -> CapturedPacket {
    let mut data = packet.data.to_vec();
    if data[0] >> 4 == 4 {
        (data[1], data[8]) = (data[1] ^ class, data[8].wrapping_sub(hops));
        data[10..12].fill(0);
        let sum = windfall_wire_net::checksum::checksum(&data[..20]);
        data[10..12].copy_from_slice(&sum.to_be_bytes());
    } else {
        (data[0], data[1]) = (data[0] ^ class >> 4, data[1] ^ class << 4);
        data[7] = data[7].wrapping_sub(hops);
    }
    CapturedPacket { data: data.into(), ..packet.clone() }
}

fn inverted(packet: &CapturedPacket, bits: &[usize]) -> CapturedPacket {
    let mut data = packet.data.to_vec();
    bits.iter().for_each(|bit| data[bit / 8] ^= 0x80 >> (bit % 8));
    CapturedPacket { data: data.into(), ..packet.clone() }
}

#[test]
fn what_routers_change_is_no_damage() {
    for version in [4, 6] {
        let sent: Vec<_> = datagrams(version).iter().map(|it| routed(it, 192, 0)).collect();
        let place_of_hops = if version == 4 { 8 * 8 } else { 7 * 8 };
        for (hops, class, said) in [
            (0, 0, None),
            (1, 0, Some("1 hop less")),
            (7, 0xb8, Some("7 hops less and another class")),
            (0, 3, Some("another class")),
        ] {
            let mut received: Vec<_> = sent.iter().map(|it| routed(it, hops, class)).collect();
            // A bit of the payload, and bits of the header that routers write.
            received[4] = inverted(&received[4], &[60 * 8 + 3]);
            received[6] = inverted(&received[6], &[place_of_hops + 5]);
            received.remove(2);
            let of = |packets| Captured { packets, interfaces: 4, interface: None };
            let found = super::record(of(&sent), of(&received), None, TraceHeader::default());
            let CaptureComparison { trace, notes } = found.expect("a recording");
            let faults: Vec<_> = trace.entries().iter().map(|it| (it.at, &it.fault)).collect();
            let bit =
                |bit: usize| Fault::Damaged { truncated: None, inverted: vec![bit as u32].into() };
            let expected = [(2, Fault::Lost), (4, bit(60 * 8 + 3)), (6, bit(place_of_hops + 5))];
            let expected: Vec<_> = expected.iter().map(|(at, fault)| (*at, fault)).collect();
            assert_eq!(faults, expected, "{version} {hops} {class}");
            assert_eq!(notes.len(), usize::from(said.is_some()), "{notes:?}");
            assert!(said.is_none_or(|said| notes[0].contains(said)), "{notes:?}");
        }
        if version == 4 {
            // Marks of congestion on some packets, and ways of several lengths.
            let received: Vec<_> = sent
                .iter()
                .enumerate()
                .map(|(at, it)| routed(it, 3 + at as u8 % 2, if at % 5 == 0 { 3 } else { 0 }))
                .collect();
            let trace = record(&sent, &received, TraceHeader::default()).expect("a trace");
            assert_eq!(trace.entries().len(), 0, "{:?}", trace.entries());
        }
    }
}

#[test]
fn each_version_of_ip_has_a_route_of_its_own() {
    let [four, six] = [4, 6].map(datagrams);
    for (hops_4, hops_6, said) in [
        (1, 2, &["IPv4 arrived with 1 hop less", "IPv6 arrived with 2 hops less"][..]),
        (0, 2, &["IPv6 arrived with 2 hops less"]),
        (1, 0, &["IPv4 arrived with 1 hop less"]),
        (3, 3, &["packets arrived with 3 hops less"]),
    ] {
        // Most are of IPv4.
        let sent: Vec<_> = four.iter().chain(&six[..4]).map(|it| routed(it, 192, 0)).collect();
        let hops = |at| if at < four.len() { hops_4 } else { hops_6 };
        let received = sent.iter().enumerate().map(|(at, it)| routed(it, hops(at), 0));
        let mut received: Vec<_> = received.collect();
        let damaged = four.len() + 2;
        received[damaged] = inverted(&received[damaged], &[60 * 8 + 3]);
        let of = |packets| Captured { packets, interfaces: 4, interface: None };
        let found = super::record(of(&sent), of(&received), None, TraceHeader::default());
        let CaptureComparison { trace, notes } = found.expect("a recording");
        let faults: Vec<_> = trace.entries().iter().map(|it| (it.at, &it.fault)).collect();
        let fault = Fault::Damaged { truncated: None, inverted: vec![60 * 8 + 3].into() };
        assert_eq!(faults, [(damaged as u64, &fault)], "{hops_4} {hops_6}");
        assert_eq!(notes.len(), said.len(), "{notes:?}");
        assert!(notes.iter().zip(said).all(|(note, said)| note.contains(said)), "{notes:?}");
    }
}

/// A datagram of UDP in IPv4 with right checksums.
fn datagram(ends: [[u8; 4]; 2], port: u8, payload: &[u8]) -> Bytes {
    let len = payload.len() as u8 + 8;
    let mut udp = [&[0x0f, 0xa0, 0x13, port, 0, len, 0, 0], payload].concat();
    let pseudo = [&ends[0][..], &ends[1], &[0, 17, 0, len]].concat();
    let sum = windfall_wire_net::checksum::checksum(&[&pseudo[..], &udp].concat());
    udp[6..8].copy_from_slice(&sum.to_be_bytes());
    let mut ip =
        [&[0x45, 0, 0, len + 20, 0, 0, 0, 0, 64, 17, 0, 0], &ends[0][..], &ends[1]].concat();
    let sum = windfall_wire_net::checksum::checksum(&ip);
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    [ip, udp].concat().into()
}

#[test]
fn an_undamaged_packet_of_another_flow_is_no_damaged_copy() {
    let ends = [[10, 77, 0, 1], [10, 77, 0, 2]];
    let sent: Vec<_> = (0..20)
        .map(|number| {
            let data = datagram(ends, 0x88, &[number; 100]);
            CapturedPacket { tag: None, ..packet(number.into(), Seen::Sent, data) }
        })
        .collect();
    let arrived =
        |data: &Bytes| CapturedPacket { tag: None, ..packet(99, Seen::Arrived, data.clone()) };
    let of_neighbour = datagram([[10, 77, 0, 9], ends[1]], 0x88, &[3; 5]);
    let of_another_port = datagram(ends, 0x89, &[3; 100]);
    let mut without_checksum = of_neighbour.to_vec();
    without_checksum[26..28].fill(0);
    let mut damaged = sent[3].data.to_vec();
    damaged[15] ^= 8;
    for (bytes, lost) in [
        (of_neighbour.clone(), true),
        (of_another_port, true),
        (without_checksum.into(), true),
        (damaged.into(), false),
    ] {
        // The packet comes in place of one that was lost.
        let mut received: Vec<_> = sent.iter().map(|it| arrived(&it.data)).collect();
        received[3] = arrived(&bytes);
        let trace = record(&sent, &received, TraceHeader::default()).expect("a trace");
        let is_lost = trace.entries()[0].fault == Fault::Lost;
        assert_eq!((trace.entries().len(), is_lost), (1, lost), "{bytes:?}");
    }
    // A router that translates addresses changes those of all packets.
    let translated: Vec<_> = (0..20)
        .map(|number| arrived(&datagram([[10, 77, 0, 9], ends[1]], 0x88, &[number; 100])))
        .collect();
    let error = record(&sent, &translated, TraceHeader::default()).expect_err("no trace");
    let ends = ["10.77.0.9", "10.77.0.2"].map(|it| it.parse().expect("an address"));
    assert_eq!(error, RecordError::OtherAddresses(ends[0], ends[1]));
}

#[test]
fn what_a_router_writes_anew_into_a_header_is_no_damage() {
    let numbered = |number: u8, identification: u8, flags: u8| {
        let mut data = datagram([[10, 77, 0, 1], [10, 77, 0, 2]], 0x88, &[number; 50]).to_vec();
        (data[5], data[6]) = (identification, flags);
        data[10..12].fill(0);
        let sum = windfall_wire_net::checksum::checksum(&data[..20]);
        data[10..12].copy_from_slice(&sum.to_be_bytes());
        Bytes::from(data)
    };
    let captured = |seen, data| CapturedPacket { tag: None, ..packet(9, seen, data) };
    let sent: Vec<_> = (1..20).map(|it| captured(Seen::Sent, numbered(it, it, 0x40))).collect();
    let written: [fn(u8) -> (u8, u8); 3] = [|_| (0, 0x40), |it| (99 - it, 0x40), |it| (it, 0)];
    for anew in written {
        let mut received: Vec<_> = (1..20)
            .map(|it| captured(Seen::Arrived, numbered(it, anew(it).0, anew(it).1)))
            .collect();
        received.remove(9);
        let mut damaged = received[3].data.to_vec();
        damaged[40] ^= 1;
        received[3].data = damaged.into();
        let trace = record(&sent, &received, TraceHeader::default()).expect("a trace");
        assert_eq!(trace.entries().iter().map(|it| it.at).collect::<Vec<u64>>(), [3, 9]);
    }
}

/// The datagram as Linux captures it at the sender, if its card computes the checksum.
fn before_offload(data: &Bytes) -> Bytes {
    let mut data = data.to_vec();
    let len = data[25];
    let pseudo = [&data[12..20], &[0, 17, 0, len]].concat();
    let partial = !windfall_wire_net::checksum::checksum(&pseudo);
    data[26..28].copy_from_slice(&partial.to_be_bytes());
    data.into()
}

#[test]
fn a_checksum_that_the_card_completes_is_no_damage() {
    let ends = [[10, 77, 0, 1], [10, 77, 0, 2]];
    let whole: Vec<_> = (0..20).map(|number| datagram(ends, 0x88, &[number; 100])).collect();
    for kept in [128, 60] {
        let captured = |seen, data: Bytes| CapturedPacket {
            tag: None,
            data: data.slice(..kept),
            ..packet(9, seen, data)
        };
        let sent: Vec<_> =
            whole.iter().map(|it| captured(Seen::Sent, before_offload(it))).collect();
        let mut received: Vec<_> =
            whole.iter().map(|it| captured(Seen::Arrived, it.clone())).collect();
        received.remove(7);
        let mut damaged = received[3].data.to_vec();
        damaged[50] ^= 1;
        received[3].data = damaged.into();
        let trace = record(&sent, &received, TraceHeader::default()).expect("a trace");
        let at: Vec<u64> = trace.entries().iter().map(|it| it.at).collect();
        assert_eq!(at, [3, 7], "{kept} bytes kept");
    }
    // Between two namespaces of a host nothing completes it.
    let sent: Vec<_> = whole
        .iter()
        .map(|it| CapturedPacket { tag: None, ..packet(9, Seen::Sent, before_offload(it)) })
        .collect();
    let mut received = sent.clone();
    received.iter_mut().for_each(|it| it.seen = Seen::Arrived);
    let mut damaged = received[3].data.to_vec();
    damaged[50] ^= 1;
    received[3].data = damaged.into();
    let trace = record(&sent, &received, TraceHeader::default()).expect("a trace");
    assert_eq!(trace.entries().iter().map(|it| it.at).collect::<Vec<u64>>(), [3]);
}

#[test]
fn captures_before_segments_were_cut_or_after_they_were_joined_are_refused() {
    let ends = [[10, 77, 0, 1], [10, 77, 0, 2]];
    let payload: Vec<u8> = (0..200).collect();
    let captured = |seen, data: Bytes| CapturedPacket { tag: None, ..packet(9, seen, data) };
    let one = |seen| vec![captured(seen, datagram(ends, 0x88, &payload))];
    let two = |seen| -> Vec<_> {
        payload.chunks(100).map(|it| captured(seen, datagram(ends, 0x88, it))).collect()
    };
    let end = |sent: Vec<CapturedPacket>, received: Vec<CapturedPacket>| match record(
        &sent,
        &received,
        TraceHeader::default(),
    ) {
        Err(RecordError::Segments { end, .. }) => Some(end),
        _ => None,
    };
    assert_eq!(end(one(Seen::Sent), two(Seen::Arrived)), Some("the sender"));
    assert_eq!(end(two(Seen::Sent), one(Seen::Arrived)), Some("the receiver"));
    // A card joins some packets.
    let short: Vec<u8> = payload[..100].iter().rev().copied().collect();
    let another = |seen| vec![captured(seen, datagram(ends, 0x88, &short))];
    let sent = [another(Seen::Sent), two(Seen::Sent)].concat();
    let received = [another(Seen::Arrived), one(Seen::Arrived)].concat();
    assert_eq!(end(sent, received), Some("the receiver"));
    // A flow with datagrams of several lengths.
    let both = |seen| [one(seen), two(seen)].concat();
    assert_eq!(end(both(Seen::Sent), two(Seen::Arrived)), None);
    assert_eq!(end(two(Seen::Sent), two(Seen::Arrived)), None);
}

#[test]
fn what_arrives_after_a_long_outage_is_found() {
    let ends = [[10, 77, 0, 1], [10, 77, 0, 2]];
    let numbered =
        |number: u16| datagram(ends, 0x88, &[&number.to_be_bytes()[..], &[7; 40]].concat());
    // Twice the same: as numbers that begin again do.
    for (count, numbers) in [(1_000, 1_000), (6_000, 3_000)] {
        let sent: Vec<_> = (0..count)
            .map(|at| CapturedPacket { tag: None, ..packet(9, Seen::Sent, numbered(at % numbers)) })
            .collect();
        let mut received = sent.clone();
        received.iter_mut().for_each(|it| it.seen = Seen::Arrived);
        // The first packet after the outage is damaged.
        let mut damaged = received[700].data.to_vec();
        damaged[50] ^= 1;
        received[700].data = damaged.into();
        received.drain(100..700);
        let trace = record(&sent, &received, TraceHeader::default()).expect("a trace");
        let [lost, damaged] = trace.entries() else { panic!("of {count}: {:?}", trace.entries()) };
        assert_eq!((lost.at, lost.count, &lost.fault), (100, 600, &Fault::Lost), "of {count}");
        assert_eq!(damaged.at, 700);
        // A capture that began late.
        let late = &sent[600..];
        let trace = record(&sent, late, TraceHeader::default()).expect("a trace");
        let lost = &trace.entries()[0];
        assert_eq!((trace.entries().len(), lost.at, lost.count), (1, 0, 600), "of {count}");
    }
}

/// A segment of TCP in IPv4 with right checksums.
fn segment(number: u32, payload: &[u8]) -> Bytes {
    let ends = [[10, 77, 0, 1], [10, 77, 0, 2]];
    let udp = datagram(ends, 0x88, &[&[0; 12][..], payload].concat());
    let mut data = udp.to_vec();
    data[9] = 6;
    data[10..12].fill(0);
    let sum = windfall_wire_net::checksum::checksum(&data[..20]);
    data[10..12].copy_from_slice(&sum.to_be_bytes());
    data[24..28].copy_from_slice(&number.to_be_bytes());
    data[28..40].copy_from_slice(&[0, 0, 0, 0, 0x50, 0x10, 1, 0, 0, 0, 0, 0]);
    let len = data.len() as u8 - 20;
    let pseudo = [&data[12..20], &[0, 6, 0, len], &data[20..]].concat();
    let sum = windfall_wire_net::checksum::checksum(&pseudo);
    data[36..38].copy_from_slice(&sum.to_be_bytes());
    data.into()
}

#[test]
fn a_single_segment_that_was_cut_or_joined_is_noticed() {
    let data: Vec<u8> = (0..200).map(|it: u8| it.wrapping_mul(7)).collect();
    for kept in [300, 60] {
        let captured = |seen, number: u32, range: core::ops::Range<usize>| {
            let data = segment(number, &data[range]);
            let whole = packet(9, seen, data.clone());
            CapturedPacket { tag: None, data: data.slice(..data.len().min(kept)), ..whole }
        };
        // One of full length beside them.
        let of = |seen| {
            let ordinary = captured(seen, 1_000, 0..100);
            let joined = vec![ordinary.clone(), captured(seen, 1_100, 0..200)];
            let parts =
                vec![ordinary, captured(seen, 1_100, 0..100), captured(seen, 1_200, 100..200)];
            (joined, parts)
        };
        let (sent_joined, sent_parts) = of(Seen::Sent);
        let (joined, parts) = of(Seen::Arrived);
        for (sent, received, expected) in [
            (&sent_joined, &parts, Some("the sender")),
            (&sent_parts, &joined, Some("the receiver")),
            (&sent_parts, &parts, None),
            (&sent_joined, &joined, None),
        ] {
            let end = match record(sent, received, TraceHeader::default()) {
                Err(RecordError::Segments { end, .. }) => Some(end),
                _ => None,
            };
            assert_eq!(end, expected, "{kept} bytes kept");
        }
    }
}

#[test]
fn a_packet_that_a_bridge_shows_twice_was_sent_once() {
    let ends = [[10, 77, 0, 1], [10, 77, 0, 2]];
    let at_device = |device: u8, seen, data: &Bytes| {
        let cooked = [&[8, 0, 0, 0, 0, 0, 0, device][..], &[0; 12], data].concat();
        CapturedPacket { tag: None, link_type: 276, ..packet(9, seen, cooked.into()) }
    };
    let whole: Vec<_> = (0..40).map(|number| datagram(ends, 0x88, &[number / 2; 90])).collect();
    let sent: Vec<_> = whole
        .iter()
        .flat_map(|data| [2, 3].map(|device| at_device(device, Seen::Sent, data)))
        .collect();
    let mut received: Vec<_> = whole.iter().map(|data| at_device(2, Seen::Arrived, data)).collect();
    received.remove(5);
    let of = |packets| Captured { packets, interfaces: 4, interface: None };
    let found = super::record(of(&sent), of(&received), None, TraceHeader::default());
    let found = found.expect("a recording");
    assert_eq!((found.trace.len(), found.trace.entries().len()), (40, 1));
    assert!(found.notes[0].starts_with("40 packets of the sender's capture are copies"));
}

#[test]
fn a_frame_of_arp_is_no_damaged_packet_of_ip() {
    let sent = datagrams(4);
    let sent = over_ethernet(&sent, &[]);
    let mut received = sent.clone();
    let mut arp = vec![0; 60];
    arp[12..14].copy_from_slice(&[8, 6]);
    received[3] = CapturedPacket { data: arp.into(), original: 60, ..received[3].clone() };
    let trace = record(&sent, &received, TraceHeader::default()).expect("a trace");
    assert_eq!(trace.entries().len(), 1);
    assert_eq!(trace.entries()[0].fault, Fault::Lost);
}

#[test]
fn received_packets_that_belong_to_none_are_told() {
    let (sent, mut received, _) = run();
    let foreign: Vec<u8> = (0..200).map(|at| (at * at) as u8).collect();
    received.iter_mut().for_each(|it| it.tag = None);
    let sent: Vec<_> = sent.iter().map(|it| CapturedPacket { tag: None, ..it.clone() }).collect();
    let notes = |received: &[CapturedPacket]| {
        let of = |packets| Captured { packets, interfaces: 4, interface: None };
        let found = super::record(of(&sent), of(received), None, TraceHeader::default());
        found.expect("a recording").notes
    };
    assert_eq!(notes(&received), Vec::<String>::new());
    received.push(received[3].clone());
    assert_eq!(notes(&received), Vec::<String>::new(), "copies are known");
    received.insert(5, packet(900, Seen::Arrived, foreign.into()));
    received[5].tag = None;
    let notes = notes(&received);
    assert!(notes.len() == 1 && notes[0].starts_with("1 received packet belongs"), "{notes:?}");
}

/// A frame of 802.11 with a packet, and its check.
fn frame_of_data(flags: u8, packet: &[u8]) -> Vec<u8> {
    let header = [&[0x88, flags, 0, 0][..], &[2; 18], &[0; 4]].concat();
    let mut frame = [&header[..], &[0xaa, 0xaa, 3, 0, 0, 0, 8, 0], packet].concat();
    frame.extend(windfall_wire_link::check::frame_check(&[&frame]));
    frame
}

/// A capture of monitored frames, behind headers of this type.
fn monitored(kind: u16, header: &[u8], frames: &[Vec<u8>]) -> Vec<CapturedPacket> {
    frames
        .iter()
        .map(|frame| CapturedPacket {
            tag: None,
            link_type: kind,
            ..packet(9, Seen::Sent, [header, frame].concat().into())
        })
        .collect()
}

/// Frames with packets that arrived: number 3 damaged, 5 not heard, 7 heard when it was repeated,
/// and beside them beacons and acknowledgements.
fn heard(packets: &[Bytes]) -> Vec<Vec<u8>> {
    let mut heard = Vec::new();
    for (number, packet) in packets.iter().enumerate() {
        let mut frame = frame_of_data(if number == 7 { 0x09 } else { 0x01 }, packet);
        if number == 3 {
            frame[100] ^= 0x11;
        }
        if number != 5 {
            heard.push(frame);
        }
        if number == 3 {
            heard.push(frame_of_data(0x09, packet));
        }
        for control in [0x80, 0xd4] {
            let mut other = vec![control, 0, 0, 0, 2, 2, 2, 2, 2, 2];
            other.extend(windfall_wire_link::check::frame_check(&[&other]));
            heard.push(other);
        }
    }
    heard
}

#[test]
fn first_transmissions_in_captures_of_monitor_interfaces_are_compared() {
    let ends = [[10, 77, 0, 1], [10, 77, 0, 2]];
    let whole: Vec<_> = (0..20).map(|number| datagram(ends, 0x88, &[number; 100])).collect();
    let sent: Vec<_> = whole
        .iter()
        .map(|it| CapturedPacket { tag: None, ..packet(9, Seen::Sent, it.clone()) })
        .collect();
    let frames = heard(&whole);
    let without_check: Vec<_> =
        frames.iter().map(|frame| frame[..frame.len() - 4].to_vec()).collect();
    // The flags, and behind a time; a header of a vendor behind the usual one.
    let radiotap = |flags: u8| [0, 0, 9, 0, 2, 0, 0, 0, flags];
    let timed = [&[0, 0, 25, 0, 3, 0, 0, 0x80, 0, 0, 0, 0][..], &[0; 12], &[0x10]].concat();
    let no_flags = [0, 0, 8, 0, 0, 0, 0, 0];
    let prism = [&[0x44, 0, 0, 0, 16, 0, 0, 0][..], &[0; 8]].concat();
    let avs = [&[0x80, 0x21, 0x10, 1, 0, 0, 0, 16][..], &[0; 8]].concat();
    let ppi = [0, 0, 8, 0, 105, 0, 0, 0];
    let common = [&[0, 0, 32, 0, 105, 0, 0, 0, 2, 0, 20, 0][..], &[0; 8], &[1], &[0; 11]].concat();
    for (kind, header, frames) in [
        (127, &radiotap(0x10)[..], &frames),
        (127, &radiotap(0), &without_check),
        (127, &timed, &frames),
        (127, &no_flags, &frames),
        (105, &[], &frames),
        (105, &[], &without_check),
        (119, &prism, &frames),
        (119, &avs, &frames),
        (163, &avs, &without_check),
        (192, &ppi, &frames),
        (192, &common, &frames),
    ] {
        let received = monitored(kind, header, frames);
        let found = super::record(of_one(&sent), of_one(&received), None, TraceHeader::default());
        let found = found.unwrap_or_else(|error| panic!("{kind} {header:?}: {error}"));
        let [damaged, one, other] = found.trace.entries() else {
            panic!("{kind} {header:?}: {:?}", found.trace.entries())
        };
        // Bits of byte 100 of the frame are those of byte 66 of the packet.
        let inverted = Fault::Damaged { truncated: None, inverted: [531, 535].into() };
        assert_eq!((damaged.at, &damaged.fault), (3, &inverted), "{kind} {header:?}");
        assert_eq!(
            (one.at, &one.fault, other.at, &other.fault),
            (5, &Fault::Lost, 7, &Fault::Lost)
        );
        assert!(found.notes[0].starts_with("2 retransmitted frames"), "{:?}", found.notes);
        // Both ends monitored.
        let both = monitored(kind, header, &whole_frames(&whole, frames == &without_check));
        let again = super::record(of_one(&both), of_one(&received), None, TraceHeader::default());
        assert_eq!(again.expect("a trace").trace, found.trace);
    }
}

/// The first transmissions of packets, as their sender captures them.
fn whole_frames(packets: &[Bytes], is_without_check: bool) -> Vec<Vec<u8>> {
    let frames = packets.iter().map(|packet| frame_of_data(1, packet));
    let check = if is_without_check { 4 } else { 0 };
    frames.map(|frame| frame[..frame.len() - check].to_vec()).collect()
}

/// The damage is in the header of 802.11: at each of its bits.
#[test]
fn a_frame_with_a_damaged_header_of_802_11_is_still_its_packet() {
    let ends = [[10, 77, 0, 1], [10, 77, 0, 2]];
    let whole: Vec<_> = (0..8).map(|number| datagram(ends, 0x88, &[number; 100])).collect();
    let sent = monitored(105, &[], &whole_frames(&whole, false));
    for bit in 0..34 * 8 {
        let mut frames = whole_frames(&whole, false);
        frames[4][bit / 8] ^= 0x80 >> (bit % 8);
        frames[4][80] ^= 1;
        let received = monitored(127, &[0, 0, 9, 0, 2, 0, 0, 0, 0x50], &frames);
        let trace = record(&sent, &received, TraceHeader::default()).expect("a trace");
        // One that seems to be repeated is left out.
        let is_repeated = bit == 12;
        let [entry] = trace.entries() else { panic!("bit {bit}: {:?}", trace.entries()) };
        assert_eq!((entry.at, entry.fault == Fault::Lost), (4, is_repeated), "bit {bit}");
    }
}

#[test]
fn frames_of_802_11_that_are_no_packet_each_are_refused_by_name() {
    let ends = [[10, 77, 0, 1], [10, 77, 0, 2]];
    let whole: Vec<_> = (0..8).map(|number| datagram(ends, 0x88, &[number; 100])).collect();
    let frames = whole_frames(&whole, true);
    let changed = |change: fn(&mut Vec<u8>)| {
        let mut frames = frames.clone();
        frames.iter_mut().for_each(change);
        let received = monitored(105, &[], &frames);
        let sent = monitored(105, &[], &whole_frames(&whole, true));
        record(&sent, &received, TraceHeader::default()).expect_err("no trace")
    };
    let end = "the receiver";
    assert_eq!(changed(|it| it[1] |= 0x40), RecordError::EncryptedFrames(end));
    assert_eq!(changed(|it| it[24] |= 0x80), RecordError::AggregatedFrames(end));
    assert_eq!(changed(|it| it[1] |= 0x04), RecordError::FragmentedFrames(end));
    assert_eq!(changed(|it| it[22] |= 1), RecordError::FragmentedFrames(end));
}

#[test]
fn packets_are_found_behind_the_headers_of_many_links() {
    let sent = datagrams(4);
    let nameless = |packets: &[CapturedPacket], kind, before: &[u8]| -> Vec<_> {
        let of = |it: &CapturedPacket| {
            let data = [before, &it.data].concat();
            let original = data.len() as u32;
            CapturedPacket { tag: None, link_type: kind, data: data.into(), original, ..it.clone() }
        };
        packets.iter().map(of).collect()
    };
    let ethernet = |behind: &[u8]| [&[2; 12][..], behind].concat();
    for (kind, before) in [
        (9, vec![0xff, 3, 0, 0x21]),
        (9, vec![0xff, 3, 0x21]),
        (9, vec![0, 0x21]),
        (9, vec![0x21]),
        (50, vec![0xff, 3, 0, 0x21]),
        (50, vec![0xff, 2, 0, 0x21]),
        (204, vec![1, 0xff, 3, 0, 0x21]),
        (104, vec![0x0f, 0, 8, 0]),
        (108, vec![0, 0, 0, 2]),
        (1, ethernet(&[0x88, 0x64, 0x11, 0, 0, 1, 0, 110, 0, 0x21])),
        (1, ethernet(&[0x88, 0x47, 0, 6, 0x40, 64, 0, 12, 0x81, 64])),
        (1, ethernet(&[0x81, 0, 0, 100, 0x88, 0x47, 0, 12, 0x81, 64])),
        (113, [&[0; 14][..], &[0x81, 0, 0, 100, 8, 0]].concat()),
        (276, [&[0x81, 0][..], &[0; 18], &[0, 100, 8, 0]].concat()),
    ] {
        let mut received = nameless(&sent, kind, &before);
        received.iter_mut().for_each(|it| it.seen = Seen::Arrived);
        received.remove(3);
        let sent = nameless(&sent, 101, &[]);
        let trace = record(&sent, &received, TraceHeader::default());
        let trace = trace.unwrap_or_else(|error| panic!("{kind} {before:x?}: {error}"));
        assert_eq!(trace.entries().len(), 1, "{kind} {before:x?}: {:?}", trace.entries());
        assert_eq!((trace.entries()[0].at, &trace.entries()[0].fault), (3, &Fault::Lost));
    }
}

#[test]
fn a_sender_that_sent_nothing_is_named_with_those_that_did() {
    let ends = [[10, 77, 0, 1], [10, 77, 0, 2]];
    let whole: Vec<_> = (0..8).map(|number| datagram(ends, 0x88, &[number; 100])).collect();
    let captured =
        |data: &Bytes| CapturedPacket { tag: None, ..packet(9, Seen::Arrived, data.clone()) };
    let sent: Vec<_> = whole.iter().map(captured).collect();
    let sender = "10.77.0.7".parse().expect("an address");
    let error = |sent: &[CapturedPacket]| {
        super::record(of_one(sent), of_one(sent), Some(sender), TraceHeader::default())
            .expect_err("no trace")
    };
    let there = "10.77.0.1".to_owned();
    assert_eq!(error(&sent), RecordError::NotFromSender { address: sender, there });
    let other = CapturedPacket { tag: None, ..packet(9, Seen::Arrived, vec![0x11; 60].into()) };
    assert_eq!(error(&[other.clone(), other]), RecordError::NoPacketOfIp(2));
}

/// Other systems than Linux leave zeros in place of a checksum that the card computes, or what was
/// there before.
#[test]
fn checksums_of_zeros_or_of_no_meaning_at_the_sender_are_no_damage() {
    let whole: Vec<_> =
        (0..20).map(|number| segment(1_000 * number, &[number as u8; 90])).collect();
    let zeros: fn(u8) -> [u8; 2] = |_| [0, 0];
    for (sum, kept_of_sent, kept) in [
        (zeros, 300, 300),
        (zeros, 60, 60),
        (zeros, 300, 60),
        (zeros, 60, 300),
        (|number| [number, 77], 300, 300),
        (|number| [number, 77], 300, 60),
    ] {
        let captured = |seen, data: &Bytes, kept: usize| CapturedPacket {
            tag: None,
            data: data.slice(..kept.min(data.len())),
            ..packet(9, seen, data.clone())
        };
        let before: Vec<_> = whole
            .iter()
            .map(|data| {
                let mut data = data.to_vec();
                let sum = sum(data[25]);
                data[36..38].copy_from_slice(&sum);
                captured(Seen::Sent, &data.into(), kept_of_sent)
            })
            .collect();
        let mut received: Vec<_> =
            whole.iter().map(|data| captured(Seen::Arrived, data, kept)).collect();
        received.remove(7);
        let mut damaged = received[3].data.to_vec();
        damaged[50] ^= 1;
        received[3].data = damaged.into();
        let trace = record(&before, &received, TraceHeader::default()).expect("a trace");
        let at: Vec<u64> = trace.entries().iter().map(|it| it.at).collect();
        assert_eq!(at, [3, 7], "{:?} {kept_of_sent} {kept}", sum(3));
    }
}

#[test]
fn packets_that_a_middlebox_writes_anew_are_no_damaged_ones() {
    let of = |seen, shift: u32| -> Vec<_> {
        (0..20_u32)
            .map(|number| {
                let payload: Vec<u8> = (0..90).map(|at| (number * 31 + at * at) as u8).collect();
                let data = segment(1_000 + number * 90 + shift, &payload);
                CapturedPacket { tag: None, ..packet(9, seen, data) }
            })
            .collect()
    };
    let sent = of(Seen::Sent, 0);
    let error = record(&sent, &of(Seen::Arrived, 0x1234_5678), TraceHeader::default());
    let is_refused = matches!(error, Err(RecordError::WrittenAnew { count: 20, .. }));
    assert!(is_refused, "{error:?}");
    // One packet is told.
    let mut received = of(Seen::Arrived, 0);
    received[0] = of(Seen::Arrived, 0x100)[0].clone();
    let found = super::record(of_one(&sent), of_one(&received), None, TraceHeader::default());
    let notes = found.expect("a recording").notes;
    assert!(notes[0].starts_with("1 of the damaged packets have right checksums"), "{notes:?}");
}

/// A link that gives damaged packets right checksums, or clears all, damages the data.
#[test]
fn damaged_packets_with_right_checksums_or_without_are_damaged_ones() {
    let ends = [[10, 77, 0, 1], [10, 77, 0, 2]];
    let of = |payload: &[u8], seen, has_checksum: bool| {
        let mut data = datagram(ends, 0x88, payload).to_vec();
        if !has_checksum {
            data[26..28].fill(0);
        }
        CapturedPacket { tag: None, ..packet(9, seen, data.into()) }
    };
    // Long ones of zeros, which begin like the short ones.
    let payload = |number: u8| vec![0; if number.is_multiple_of(2) { 40 } else { 100 }];
    for has_checksum in [true, false] {
        let sent: Vec<_> = (0..20).map(|it| of(&payload(it), Seen::Sent, true)).collect();
        let received: Vec<_> = (0..20)
            .map(|number| {
                let mut payload = payload(number);
                if number > 7 {
                    payload[35] = 1 << (number % 8);
                }
                of(&payload, Seen::Arrived, has_checksum)
            })
            .collect();
        let found = super::record(of_one(&sent), of_one(&received), None, TraceHeader::default());
        let found = found.expect("a recording");
        let bits: usize = found.trace.entries().iter().map(|it| inverted_bits(&it.fault)).sum();
        // Checksums that were written anew differ too.
        assert_eq!(found.trace.entries().iter().map(|it| it.count).sum::<u64>(), 12);
        assert_eq!(bits == 12, !has_checksum, "{bits}");
    }
}

fn inverted_bits(fault: &Fault) -> usize {
    match fault {
        Fault::Damaged { inverted, .. } => inverted.len(),
        _ => 0,
    }
}

#[test]
fn a_few_datagrams_that_the_card_cuts_are_noticed_beside_ordinary_ones() {
    let ends = [[10, 77, 0, 1], [10, 77, 0, 2]];
    let captured = |seen, data: Bytes| CapturedPacket { tag: None, ..packet(9, seen, data) };
    let payload =
        |number: u8| -> Vec<u8> { (0..100).map(|at: u8| number ^ at.wrapping_mul(7)).collect() };
    let mut sent: Vec<_> =
        (0..20).map(|it| captured(Seen::Sent, datagram(ends, 0x88, &payload(it)))).collect();
    let mut received = sent.clone();
    received.iter_mut().for_each(|it| it.seen = Seen::Arrived);
    let two = [payload(40), payload(41)];
    sent.insert(9, captured(Seen::Sent, datagram(ends, 0x88, &two.concat())));
    for (at, part) in two.iter().enumerate() {
        received.insert(9 + at, captured(Seen::Arrived, datagram(ends, 0x88, part)));
    }
    let error = record(&sent, &received, TraceHeader::default()).expect_err("no trace");
    assert!(matches!(error, RecordError::Segments { end: "the sender", .. }), "{error}");
}

#[test]
fn a_capture_of_all_devices_that_tells_none_shows_copies_too() {
    let ends = [[10, 77, 0, 1], [10, 77, 0, 2]];
    let cooked = |seen, data: &Bytes| {
        let cooked = [&[0, 4, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0, 8, 0][..], data].concat();
        CapturedPacket { tag: None, link_type: 113, ..packet(9, seen, cooked.into()) }
    };
    let whole: Vec<_> = (0..40).map(|number| datagram(ends, 0x88, &[number; 90])).collect();
    let twice = |seen| -> Vec<_> {
        whole
            .iter()
            .flat_map(|it| {
                // A router between the devices.
                let raw = CapturedPacket { tag: None, ..packet(9, seen, it.clone()) };
                [cooked(seen, it), cooked(seen, &routed(&raw, 1, 0).data)]
            })
            .collect()
    };
    let mut received: Vec<_> = whole.iter().map(|it| cooked(Seen::Arrived, it)).collect();
    received.remove(5);
    let found = |received: &[CapturedPacket]| {
        let sent = twice(Seen::Sent);
        let of = |packets| Captured { packets, interfaces: 4, interface: None };
        super::record(of(&sent), of(received), None, TraceHeader::default()).expect("a recording")
    };
    let trace = found(&received).trace;
    assert_eq!((trace.len(), trace.entries().len()), (40, 1));
    // Packets that were sent twice arrive twice.
    let trace = found(&twice(Seen::Arrived)).trace;
    assert_eq!((trace.len(), trace.entries().len()), (80, 0));
}

#[test]
fn a_capture_that_was_shorter_at_the_receiver_is_told() {
    let ends = [[10, 77, 0, 1], [10, 77, 0, 2]];
    let sent: Vec<_> = (0..100)
        .map(|number| {
            let data = datagram(ends, 0x88, &[number; 90]);
            CapturedPacket { tag: None, ..packet(9, Seen::Sent, data) }
        })
        .collect();
    let notes = |range: core::ops::Range<usize>| {
        let received: Vec<_> = sent[range]
            .iter()
            .filter(|it| !(it.data[30] as usize).is_multiple_of(7))
            .map(|it| CapturedPacket { seen: Seen::Arrived, ..it.clone() })
            .collect();
        let found = super::record(of_one(&sent), of_one(&received), None, TraceHeader::default());
        found.expect("a recording").notes
    };
    assert_eq!(notes(0..100), Vec::<String>::new());
    assert!(notes(0..60)[0].starts_with("none of the last 40 packets arrived"));
    assert!(notes(30..100)[0].starts_with("none of the first 30 packets arrived"));
}
