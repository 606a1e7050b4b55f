//! Frames as tshark reads them.

use std::process::Command;

use bytes::Bytes;
use windfall_base::{Dbm, Frame, Input, Instant, Outgoing, RxVector, Seed};
use windfall_files::pcapng::{Capture, Seen};
use windfall_mac::wifi::{Config, Dcf, Packet};
use windfall_wire_link::check::frame_check;
use windfall_wire_link::ieee80211::management::{
    AssociationRequest, AssociationResponse, Authentication, Beacon, NetworkDescription,
    capability, erp,
};
use windfall_wire_link::ieee80211::{
    Flags, Header, Kind, MacAddress, Phy, PhyRate, Radiotap, snap,
};

fn address(number: u16) -> MacAddress {
    MacAddress::of_station(number)
}

/// A frame with this header and body, and its check.
fn frame(header: &Header, body: &[u8]) -> Frame {
    let mut frame = Frame::packet(body.to_vec());
    header.encode(&mut frame.header);
    let [a, b, c, _] = frame.slices();
    let check = frame_check(&[a, b, c]);
    frame.trailer.extend(check);
    frame
}

/// One frame of each kind that is spoken here.
fn one_of_each() -> Vec<Frame> {
    let basic = &PhyRate::ALL[..2];
    let network = NetworkDescription::new(b"windfall", &PhyRate::ALL, basic);
    let beacon = Beacon {
        timestamp: 1_024_000,
        interval: 100,
        capability: capability::ESS | capability::SHORT_SLOT,
        network: network.clone(),
        channel: 6,
        waiting: Some(vec![1, 9]),
        erp: Some(erp::BARKER_PREAMBLE),
    };
    let request = |leaves| AssociationRequest {
        capability: capability::ESS,
        listen_interval: 10,
        leaves,
        network: network.clone(),
    };
    let answer = AssociationResponse {
        capability: capability::ESS,
        status: 0,
        aid: 1,
        network: network.clone(),
    };
    let open = Authentication { algorithm: 0, step: 1, status: 0 };
    let body = |kind| match kind {
        Kind::Beacon => beacon.encode(),
        Kind::AssociationRequest => request(None).encode(),
        Kind::ReassociationRequest => request(Some(address(3))).encode(),
        Kind::AssociationResponse | Kind::ReassociationResponse => answer.encode(),
        Kind::Authentication => open.encode(),
        Kind::Disassociation | Kind::Deauthentication => vec![3, 0],
        _ => Vec::new(),
    };
    let kinds = Kind::ALL.into_iter().filter(|kind| *kind != Kind::Data);
    kinds
        .map(|kind| {
            let mut header = Header { transmitter: address(1), ..Header::new(kind, address(2)) };
            match kind {
                Kind::Ack | Kind::Cts => header.transmitter = MacAddress([0; 6]),
                Kind::PsPoll => header.duration = 0xc001,
                _ => {}
            }
            if kind.header_len() > 16 {
                header.third = address(9);
                header.sequence = 77;
            }
            if kind == Kind::Null {
                header.flags = Flags::TO_DS.with(Flags::POWER_MANAGEMENT, true);
            }
            frame(&header, &body(kind))
        })
        .collect()
}

/// The frames of a UDP packet, whole and in fragments, and the acknowledgement.
fn exchange(fragment_threshold: usize) -> Vec<Frame> {
    let mut payload = vec![
        0x45, 0, 1, 0x90, 0, 1, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0x13, 0x88, 0x13,
        0x89, 1, 0x7c, 0, 0,
    ];
    payload.resize(400, 0x55);
    let at = |micros: u64| Instant::from_nanos(micros * 1_000);
    let config = Config { fragment_threshold, ..Config::new(address(1), Phy::G) };
    let mut sender = Dcf::new(config, Seed(1), "1");
    let mut receiver = Dcf::new(Config::new(address(2), Phy::G), Seed(1), "2");
    let mut waiting = Some(Frame::packet(payload));
    let mut frames = Vec::new();
    let mut now = 1_000;
    sender.handle_queued(at(now), &mut || {
        let frame = waiting.take()?;
        Some(Packet { frame, to: address(2), ether_type: snap::IPV4, expires: None, source: None })
    });
    // Each turn: a frame of the sender, and after a SIFS its acknowledgement.
    while let Some(Outgoing { frame, .. }) = sender.poll_transmit() {
        frames.push(frame.clone());
        sender.handle_input(at(now + 100), Input::TransmissionDone, &mut || None);
        let input = Input::Frame(frame, RxVector::wired(at(now)));
        receiver.handle_input(at(now + 100), input, &mut || None);
        receiver.handle_timeout(at(now + 110), &mut || None);
        let answer = receiver.poll_transmit().expect("every frame is answered");
        receiver.handle_input(at(now + 140), Input::TransmissionDone, &mut || None);
        frames.push(answer.frame.clone());
        let input = Input::Frame(answer.frame, RxVector::wired(at(now + 110)));
        sender.handle_input(at(now + 119), input, &mut || None);
        now += 129;
        sender.handle_timeout(at(now), &mut || None);
    }
    frames
}

#[test]
fn tshark_finds_nothing_malformed_and_agrees_on_every_frame_check() {
    if Command::new("tshark").arg("-v").output().is_err() {
        windfall_testkit::skip!("tshark is not installed");
    }
    let mut frames = one_of_each();
    frames.extend(exchange(2_347));
    frames.extend(exchange(256));
    let good = frames.len();
    for index in 0..good {
        let mut damaged = frames[index].clone();
        // The last bit before the check: it changes no header field that would change the meaning.
        let bit = damaged.len() as u32 * 8 - 33;
        damaged.invert(&[bit]);
        frames.push(damaged);
    }
    let path = std::env::temp_dir().join(format!("windfall-wifi-{}.pcapng", std::process::id()));
    let file = std::fs::File::create(&path).expect("the file can be made");
    let mut capture = Capture::radio(file, "radio", 0, "test").expect("it can be written");
    for (number, frame) in frames.iter().enumerate() {
        let radiotap = Radiotap {
            fcs: true,
            bad_fcs: number >= good,
            rate: Some(PhyRate::Ofdm54),
            frequency: Some(2_437),
            signal: Some(Dbm(-57.0)),
            retries: Some(number as u8),
            no_ack: Some(number == 3),
            ..Radiotap::default()
        };
        let at = Instant::from_nanos(number as u64 * 1_000_000);
        capture
            .frame(at, Seen::Arrived, Bytes::from(radiotap.encode()), frame)
            .expect("it can be written");
    }
    capture.flush().expect("it can be written");
    let mut tshark = Command::new("tshark");
    tshark.args(["-o", "wlan.check_checksum:TRUE", "-T", "fields"]);
    for field in
        ["wlan.fcs.status", "_ws.malformed", "radiotap.dbm_antsignal", "wlan.fc.type_subtype"]
    {
        tshark.args(["-e", field]);
    }
    let output = tshark.arg("-r").arg(&path).output().expect("tshark runs");
    let _ = std::fs::remove_file(&path);
    let text = String::from_utf8_lossy(&output.stdout);
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split('\t').collect()).collect();
    assert_eq!(lines.len(), frames.len(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    for (number, line) in lines.iter().enumerate() {
        let is_good = number < good;
        assert_eq!(line[0], if is_good { "1" } else { "0" }, "check of frame {number}: {line:?}");
        if is_good {
            assert_eq!(line[1], "", "frame {number} is malformed: {line:?}");
        }
        assert_eq!(line[2], "-57", "{line:?}");
        let code = frames[number].header[0];
        let expected = format!("0x{:04x}", u16::from(code & 0x0c) << 2 | u16::from(code >> 4));
        assert_eq!(line[3], expected, "{line:?}");
    }
}
