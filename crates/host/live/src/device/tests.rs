use std::os::unix::net::UnixDatagram;

use proptest::prelude::*;
use windfall_base::Damage;

use super::*;

/// A device whose kernel is a socket in our hands.
fn device(kind: DeviceKind) -> (UnixDatagram, StationDevice) {
    let (kernel, ours) = UnixDatagram::pair().expect("a socket pair");
    ours.set_nonblocking(true).expect("a flag");
    kernel.set_nonblocking(true).expect("a flag");
    (kernel, StationDevice::new(ours.into(), kind))
}

fn received(device: &mut StationDevice) -> Vec<Payload> {
    let mut packets = Vec::new();
    device.receive(&mut packets).expect("the device is there");
    packets
}

const PACKET: [u8; 22] =
    [0x45, 0, 0, 22, 0, 0, 0, 0, 64, 200, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0xab, 0xcd];

#[test]
fn packets_come_in_without_their_headers() {
    for (kind, link) in [(DeviceKind::Tun, 0), (DeviceKind::Packet, 14)] {
        let (kernel, mut device) = device(kind);
        let mut bytes = vec![0; Description::LEN];
        bytes.extend_from_slice(&link_header_of(4)[..link]);
        bytes.extend_from_slice(&PACKET);
        kernel.send(&bytes).expect("room for one");
        let packets = received(&mut device);
        assert_eq!(packets.len(), 1);
        assert_eq!(packets[0].to_bytes()[..], PACKET);
    }
}

#[test]
fn a_checksum_that_was_left_open_is_completed() {
    let (kernel, mut device) = device(DeviceKind::Packet);
    // Start at the IP payload, counted from the link header; the field is all there is.
    let mut bytes = vec![1, 0, 0, 0, 0, 0, 34, 0, 0, 0];
    bytes.extend_from_slice(&link_header_of(4));
    bytes.extend_from_slice(&PACKET);
    kernel.send(&bytes).expect("room for one");
    assert_eq!(received(&mut device)[0].to_bytes()[20..], [!0xab, !0xcd]);
}

#[test]
fn large_segments_are_cut_unless_they_are_wanted_whole() {
    // IPv4 and TCP, 40 bytes of headers, then three pieces of 100 bytes; the checksum is open.
    let mut segment = vec![0x45, 0, 0x01, 0x54, 0, 0, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    segment.extend([0, 80, 0, 81, 0, 0, 0, 1, 0, 0, 0, 1, 0x50, 0x10, 1, 0, 0, 0, 0, 0]);
    segment.resize(340, 7);
    let mut bytes = vec![1, 1, 40, 0, 100, 0, 20, 0, 16, 0];
    bytes.extend_from_slice(&segment);
    let (kernel, mut cutting) = device(DeviceKind::Tun);
    kernel.send(&bytes).expect("room for one");
    let lengths: Vec<_> = received(&mut cutting).iter().map(Payload::len).collect();
    assert_eq!(lengths, [140, 140, 140]);
    let (kernel, whole) = device(DeviceKind::Tun);
    kernel.send(&bytes).expect("room for one");
    let packets = received(&mut whole.with_large_segments());
    assert_eq!(packets.iter().map(Payload::len).collect::<Vec<_>>(), [340]);
    assert_ne!(packets[0].to_bytes()[36..38], [0, 0], "the checksum is complete");
}

#[test]
fn packets_go_out_with_headers_after_the_flush() {
    for (kind, link) in [(DeviceKind::Tun, 0), (DeviceKind::Packet, 14)] {
        let (kernel, mut device) = device(kind);
        let mut frame = Frame::packet(PACKET.to_vec());
        frame.damage = Damage { frame: Check::Bad, ..Damage::default() };
        device.send(frame).expect("the device is there");
        device.flush().expect("the device is there");
        let mut buffer = [0xff; 100];
        let len = kernel.recv(&mut buffer).expect("a packet");
        assert_eq!(buffer[..Description::LEN], [0; Description::LEN]);
        assert_eq!(buffer[Description::LEN..][..link], link_header_of(4)[..link]);
        assert_eq!(buffer[Description::LEN + link..len], PACKET);
    }
}

#[test]
fn what_a_full_device_refuses_is_counted() {
    let (_kernel, mut device) = device(DeviceKind::Tun);
    for _ in 0..5000 {
        device.send(Frame::packet(PACKET.to_vec())).expect("the device is there");
    }
    device.flush().expect("the device is there");
    let drops = device.drops();
    assert!(drops.after.of(DropReason::Device) > 0);
    // A device that has no room now is not one that drops.
    assert_eq!((drops.before.total(), drops.refused), (0, 0));
}

#[test]
fn every_packet_of_a_refused_segment_counts_and_the_write_once() {
    let (_, mut device) = device(DeviceKind::Tun);
    device.refuse(3, Errno::EIO);
    device.refuse(2, Errno::EAGAIN);
    let drops = device.drops();
    assert_eq!((drops.after.of(DropReason::Device), drops.refused), (5, 1));
}

#[test]
fn what_comes_for_a_device_that_is_gone_is_dropped() {
    let device = || {
        // Refuses as a device that is gone.
        let closed = std::fs::File::open("/dev/null").expect("a file");
        StationDevice::new(closed.into(), DeviceKind::Tun)
    };
    let give = |device: &mut StationDevice| {
        device.send(Frame::packet(PACKET.to_vec())).and_then(|()| device.flush())
    };
    let mut fatal = device();
    assert!((0..3).any(|_| give(&mut fatal).is_err()));
    let mut device = device().with_own_end();
    assert!(!device.has_just_gone());
    (0..3).for_each(|_| give(&mut device).expect("it goes on"));
    assert!(device.has_just_gone() && !device.has_just_gone());
    assert_eq!(device.drops().after.of(DropReason::Device), 3);
}

proptest! {
    #[test]
    fn arbitrary_bytes_are_packets_or_counted(
        bytes in proptest::collection::vec(any::<u8>(), 1..200),
        tun: bool,
        plain: bool,
    ) {
        let kind = if tun { DeviceKind::Tun } else { DeviceKind::Packet };
        let (kernel, mut device) = device(kind);
        let mut bytes = bytes;
        if plain {
            let len = bytes.len().min(2);
            bytes[..len].fill(0);
        }
        kernel.send(&bytes).expect("room for one");
        let packets = received(&mut device);
        prop_assert!(!packets.is_empty() || device.drops().before.of(DropReason::Malformed) == 1);
        for packet in packets {
            device.send(Frame::packet(packet)).expect("the device is there");
        }
        device.flush().expect("the device is there");
    }
}
