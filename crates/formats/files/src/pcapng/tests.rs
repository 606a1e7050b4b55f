use std::process::Command;

use proptest::prelude::*;
use windfall_base::Payload;

use super::*;

/// Kind and content of each block; fails where the lengths at both ends differ.
fn blocks(mut file: &[u8]) -> Vec<(u32, Vec<u8>)> {
    let word = |bytes: &[u8]| u32::from_le_bytes(bytes[..4].try_into().unwrap());
    let mut blocks = Vec::new();
    while !file.is_empty() {
        let length = word(&file[4..]) as usize;
        assert!(length.is_multiple_of(4));
        assert_eq!(word(&file[length - 4..]) as usize, length);
        blocks.push((word(file), file[8..length - 4].to_vec()));
        file = &file[length..];
    }
    blocks
}

const EPOCH: u64 = 1_700_000_000_000_000_000;

fn capture() -> Capture<Vec<u8>> {
    Capture::new(Vec::new(), "near", EPOCH, "seed 7").unwrap()
}

/// An IPv4 packet of protocol UDP from 10.0.0.1 to 10.0.0.2 with four bytes of data.
fn packet() -> Payload {
    let head = [
        0x45, 0, 0, 32, 0, 1, 0, 0, 64, 17, 0x66, 0xca, 10, 0, 0, 1, 10, 0, 0, 2, 0x30, 0x39, 0x30,
        0x3a, 0, 12, 0, 0,
    ];
    Payload::new(head.to_vec().into(), vec![1, 2, 3, 4].into())
}

/// A capture as they were before, with the dropped packets at an interface of their own.
fn written() -> Vec<u8> {
    let mut capture = capture();
    capture.dropped_interface("near").unwrap();
    let at = Instant::from_nanos(1_234_567_891);
    capture.packet(at, Seen::Sent, Some(Tag(3)), &packet(), "").unwrap();
    let note = damage_note(&[224, 231], 0);
    capture.packet(at, Seen::Arrived, Some(Tag(3)), &packet(), &note).unwrap();
    capture.packet(at, Seen::Dropped, Some(Tag(4)), &packet(), "dropped: lost").unwrap();
    capture.into_inner()
}

#[test]
fn a_file_is_a_section_two_interfaces_and_packets() {
    let kinds: Vec<_> = blocks(&written()).into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(kinds, [SECTION_HEADER, 1, 1, 6, 6, 6]);
}

#[test]
fn no_packet_is_twice_in_a_file_of_which_a_tool_forgets_the_interfaces() {
    if Command::new("editcap").arg("--version").output().is_err() {
        windfall_testkit::skip!("editcap is not installed");
    }
    let at = |nanos: u64| Instant::from_nanos(nanos);
    let mut device = capture();
    let mut dropped = Capture::dropped(Vec::new(), "near", EPOCH, "seed 7").unwrap();
    device.packet(at(1), Seen::Sent, Some(Tag(3)), &packet(), "").unwrap();
    device.packet(at(2), Seen::Sent, Some(Tag(4)), &packet(), "").unwrap();
    dropped.packet(at(3), Seen::Dropped, Some(Tag(4)), &packet(), "dropped: lost").unwrap();
    let [device, dropped] = [device, dropped].map(Capture::into_inner);
    for (name, file, seen) in
        [("device", device, &[Seen::Sent; 2][..]), ("dropped", dropped, &[Seen::Dropped])]
    {
        let found = read::read(&file.clone().into()).unwrap();
        let found: Vec<_> = found.iter().map(|it| it.seen).collect();
        assert_eq!(found, seen, "{name}");
        let path = |ending: &str| {
            let name = format!("windfall-pcapng-{name}-{}.{ending}", std::process::id());
            std::env::temp_dir().join(name)
        };
        let [ours, converted] = ["pcapng", "pcap"].map(path);
        std::fs::write(&ours, file).unwrap();
        let mut editcap = Command::new("editcap");
        let status = editcap.args(["-F", "nsecpcap"]).arg(&ours).arg(&converted).status();
        assert!(status.unwrap().success());
        let packets = read::read(&std::fs::read(&converted).unwrap().into()).unwrap();
        assert_eq!(packets.len(), seen.len(), "{name}");
        for path in [ours, converted] {
            std::fs::remove_file(path).unwrap();
        }
    }
}

#[test]
fn notes_list_the_inverted_bits_and_what_is_missing() {
    assert_eq!(damage_note(&[], 0), "");
    assert_eq!(damage_note(&[5, 17], 0), "damaged: 2 inverted bits: 5 17");
    assert_eq!(damage_note(&[], 1), "damaged: 1 byte cut off the end");
    assert_eq!(damage_note(&[], 40), "damaged: 40 bytes cut off the end");
    assert_eq!(damage_note(&[5], 4), "damaged: 1 inverted bit: 5; 4 bytes cut off the end");
    assert!(damage_note(&(0..100_000).collect::<Vec<_>>(), 0).ends_with('…'));
}

#[test]
fn tshark_reads_times_interfaces_and_comments() {
    if Command::new("tshark").arg("--version").output().is_err() {
        windfall_testkit::skip!("tshark is not installed");
    }
    let path = std::env::temp_dir().join(format!("windfall-pcapng-{}.pcapng", std::process::id()));
    std::fs::write(&path, written()).unwrap();
    let fields =
        ["frame.time_epoch", "frame.interface_name", "ip.src", "udp.dstport", "frame.comment"];
    let output = Command::new("tshark")
        .args(["-r", path.to_str().unwrap(), "-T", "fields", "-E", "separator=|"])
        .args(fields.iter().flat_map(|field| ["-e", field]))
        .output()
        .unwrap();
    std::fs::remove_file(&path).unwrap();
    assert!(output.status.success());
    let complaints = String::from_utf8_lossy(&output.stderr);
    // tshark always says so when it runs as root.
    let complaints: Vec<_> = complaints.lines().filter(|line| !line.contains("as user")).collect();
    assert!(complaints.is_empty(), "tshark complains: {complaints:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines.len(), 3, "{text}");
    for (line, (interface, comment)) in lines.iter().zip([
        ("near", ""),
        ("near", "damaged: 2 inverted bits: 224 231"),
        ("near:dropped", "dropped: lost"),
    ]) {
        let columns: Vec<_> = line.split('|').collect();
        assert!(columns[0].contains("1700000001.234567891") || columns[0].contains(".234567891"));
        assert_eq!(columns[1..], [interface, "10.0.0.1", "12346", comment]);
    }
}

proptest! {
    #[test]
    fn any_packet_and_comment_give_whole_blocks(
        head in prop::collection::vec(any::<u8>(), 0..70),
        body in prop::collection::vec(any::<u8>(), 0..70),
        comment in ".{0,200}",
        nanos in any::<u64>(),
    ) {
        let mut capture = capture();
        let payload = Payload::new(head.clone().into(), body.clone().into());
        capture.packet(Instant::from_nanos(nanos), Seen::Sent, None, &payload, &comment).unwrap();
        let blocks = blocks(&capture.into_inner());
        let (_, packet) = blocks.last().unwrap();
        prop_assert_eq!(&packet[20..20 + head.len()], &head[..]);
        prop_assert_eq!(&packet[20 + head.len()..][..body.len()], &body[..]);
    }

    #[test]
    fn a_comment_beyond_the_format_is_cut(length in 0_usize..100_000) {
        let mut capture = capture();
        let comment = "x".repeat(length);
        capture.packet(Instant::START, Seen::Sent, None, &packet(), &comment).unwrap();
        // The section, the device and the packet.
        prop_assert_eq!(blocks(&capture.into_inner()).len(), 3);
    }
}
