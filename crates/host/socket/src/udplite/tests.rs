use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use windfall_base::DropReason;
use windfall_wire_net::carrier::{self, Ports};
use windfall_wire_net::udplite::{self, Coverage};
use windfall_wire_net::{Addresses, Ipv4Repr, UdpLiteRepr};

use super::*;

/// Binds a socket over `carrier` to a loopback address, if this host permits it.
fn open(carrier: Carrier, ip: IpAddr) -> Option<UdpLiteSocket> {
    match UdpLiteSocket::bind(SocketAddr::new(ip, 0), Some(carrier)) {
        Ok(socket) => Some(socket),
        Err(error) => {
            windfall_testkit::skip::announce(&format!("carrier {carrier} on {ip}: {error}"));
            None
        }
    }
}

/// Returns whether `socket` becomes readable within the given milliseconds.
fn is_ready(socket: &UdpLiteSocket, milliseconds: i64) -> bool {
    let mut fds = [PollFd::new(socket, PollFlags::IN)];
    let seconds = milliseconds / 1000;
    let rest = milliseconds % 1000;
    let timeout = Timespec { tv_sec: seconds, tv_nsec: rest * 1_000_000 };
    poll(&mut fds, Some(&timeout)).expect("poll works") > 0
}

/// Receives `expected` datagrams from `socket`, and those that arrive a moment later.
fn arrivals(socket: &UdpLiteSocket, expected: usize) -> Vec<ReceivedDatagram> {
    let mut arrivals = Vec::new();
    while is_ready(socket, if arrivals.len() < expected { 20_000 } else { 50 }) {
        let _ = socket.receive(&mut arrivals);
    }
    arrivals
}

fn exchange(from: &UdpLiteSocket, to: &UdpLiteSocket) {
    let whole: Vec<u8> = (0..=255).collect();
    let datagrams = [0, 8, 20, 1000].map(|coverage| UdpLiteDatagram {
        to: to.local_addr(),
        coverage,
        whole: false,
        unbound: false,
        parts: [&whole[..10], &whole[10..11], &whole[11..]],
    });
    let mut sent = 0;
    while sent < datagrams.len() {
        sent += from.send(&datagrams[sent..]).expect("it can be sent");
    }
    let got = arrivals(to, datagrams.len());
    assert_eq!(got.len(), datagrams.len(), "{:?} to {:?}", from.carrier(), to.carrier());
    for arrival in got {
        assert_eq!((arrival.from, &arrival.data[..]), (from.local_addr(), &whole[..]));
    }
}

//= S0.3
#[test]
fn carriers_of_one_wire_format_interoperate() {
    for ip in [IpAddr::from(Ipv4Addr::LOCALHOST), Ipv6Addr::LOCALHOST.into()] {
        let [kernel, raw, udp] = Carrier::ALL.map(|carrier| open(carrier, ip));
        if let Some(udp) = &udp {
            exchange(udp, &open(Carrier::Udp, ip).expect("as before"));
        }
        if let (Some(kernel), Some(raw)) = (&kernel, &raw) {
            exchange(kernel, raw);
            exchange(raw, kernel);
        }
        if let Some(raw) = &raw {
            exchange(raw, &open(Carrier::Raw, ip).expect("as before"));
        }
    }
}

#[test]
fn a_socket_on_all_addresses_knows_the_destination_of_a_datagram() {
    for (ip, loopback) in [
        (IpAddr::from(Ipv4Addr::UNSPECIFIED), IpAddr::from(Ipv4Addr::LOCALHOST)),
        (Ipv6Addr::UNSPECIFIED.into(), Ipv6Addr::LOCALHOST.into()),
    ] {
        for carrier in [Carrier::Raw, Carrier::Udp] {
            let (Some(here), Some(there)) = (open(carrier, ip), open(carrier, ip)) else {
                continue;
            };
            let to = SocketAddr::new(loopback, there.local_addr().port());
            let datagram = UdpLiteDatagram {
                to,
                coverage: 8,
                whole: false,
                unbound: false,
                parts: [b"hello", b"", b""],
            };
            assert_eq!(here.send(&[datagram]).expect("it can be sent"), 1);
            let got = arrivals(&there, 1);
            assert_eq!(got.len(), 1, "{carrier} {ip}");
            assert_eq!(got[0].from, SocketAddr::new(loopback, here.local_addr().port()));
        }
    }
}

/// Sends a datagram of each coverage.
fn send_covered(from: &UdpLiteSocket, to: &UdpLiteSocket, coverages: &[u16]) {
    for &coverage in coverages {
        let parts = [&[7; 50][..], b"", b""];
        let to = to.local_addr();
        let datagram = UdpLiteDatagram { to, coverage, whole: false, unbound: false, parts };
        from.send(&[datagram]).expect("sent");
    }
}

//= S0.4
#[test]
fn the_least_coverage_is_enforced() {
    let ip = Ipv4Addr::LOCALHOST.into();
    for carrier in Carrier::ALL {
        let (Some(here), Some(there)) = (open(carrier, ip), open(carrier, ip)) else { continue };
        there.set_receive_coverage(Some(20)).expect("it can be set");
        send_covered(&here, &there, &[8, 19, 20, 0]);
        assert_eq!(arrivals(&there, 2).len(), 2, "{carrier}");
        there.set_receive_coverage(Some(0)).expect("it can be set");
        send_covered(&here, &there, &[20, 58, 0]);
        assert_eq!(arrivals(&there, 2).len(), 2, "{carrier}");
        let refused = there.drops().of(DropReason::UdpLiteCoverage);
        // The kernel drops them before this end sees them.
        assert_eq!(refused, if carrier == Carrier::Kernel { 0 } else { 3 }, "{carrier}");
    }
}

#[test]
fn damage_is_reported() {
    let ip = Ipv4Addr::LOCALHOST.into();
    let there = open(Carrier::Udp, ip).expect("every machine has UDP");
    let plain = std::net::UdpSocket::bind((ip, 0)).expect("a free port");
    let mut bytes = [0; 28];
    let addresses = Addresses::new(ip, ip).expect("of one family");
    let ports =
        Ports { src: plain.local_addr().expect("bound").port(), dst: there.local_addr().port() };
    carrier::emit(&mut bytes, &addresses, ports, Coverage::requested(12), [&[0; 20], &[]]);
    for at in [27, 9] {
        let mut damaged = bytes;
        damaged[at] ^= 1;
        plain.send_to(&damaged, there.local_addr()).expect("sent");
    }
    let mut got = Vec::new();
    while got.len() < 2 {
        let mut fds = [PollFd::new(&there, PollFlags::IN)];
        poll(&mut fds, Some(&Timespec { tv_sec: 20, tv_nsec: 0 })).expect("poll works");
        there.receive_any(&mut got).expect("something arrived");
    }
    assert_eq!(got.iter().map(|it| it.intact).collect::<Vec<_>>(), [true, false]);
    assert_eq!(there.drops().total(), 0, "both were handed out");
    bytes[9] ^= 1;
    for refused in [&bytes[..], &bytes[..5], b"not a datagram of this carrier"] {
        plain.send_to(refused, there.local_addr()).expect("sent");
    }
    while there.drops().total() < 3 {
        assert!(is_ready(&there, 20_000), "{:?}", there.drops());
        assert_eq!(there.receive(&mut got).expect("something arrived"), 0);
    }
    let counted: Vec<_> = there.drops().iter().collect();
    assert_eq!(counted, [(DropReason::Malformed, 2), (DropReason::UdpLiteChecksum, 1)]);
}

#[test]
fn a_port_in_use_is_refused() {
    let ip = Ipv4Addr::LOCALHOST.into();
    for carrier in Carrier::ALL {
        let Some(first) = open(carrier, ip) else { continue };
        let second = UdpLiteSocket::bind(first.local_addr(), Some(carrier));
        let error = second.expect_err("the port is in use");
        assert_eq!(error.kind(), io::ErrorKind::AddrInUse, "{carrier}");
    }
}

//= S0.3
#[test]
fn options_have_the_numbers_and_values_of_linux() {
    let ip = Ipv4Addr::LOCALHOST.into();
    for carrier in Carrier::ALL {
        let (Some(here), Some(there)) = (open(carrier, ip), open(carrier, ip)) else { continue };
        there.set_option(11, 20).expect("it is an option");
        for coverage in [1, 8, 19, 20, 0, 1 << 20] {
            here.set_option(10, coverage).expect("it is an option");
            here.send_to(&[7; 50], there.local_addr()).expect("sent");
        }
        assert_eq!(arrivals(&there, 3).len(), 3, "{carrier}");
        let error = here.set_option(12, 8).expect_err("it is none");
        assert_eq!(error.to_string(), "UDP-Lite has no option 12, only 10 and 11");
    }
}

#[test]
fn whole_partial_and_long_datagrams_arrive() {
    let long: Vec<u8> = (0..60_000).map(|at| (at % 251) as u8).collect();
    for ip in [IpAddr::from(Ipv4Addr::LOCALHOST), Ipv6Addr::LOCALHOST.into()] {
        for carrier in Carrier::ALL {
            let (Some(here), Some(there)) = (open(carrier, ip), open(carrier, ip)) else {
                continue;
            };
            let to = there.local_addr();
            let sent = [(60_000, true), (100, false), (40_000, false), (30_000, true), (7, true)];
            let datagrams = sent.map(|(len, whole)| UdpLiteDatagram {
                to,
                coverage: 0,
                whole,
                unbound: false,
                parts: [&long[..5], b"", &long[5..len]],
            });
            let mut count = 0;
            while count < datagrams.len() {
                count += here.send(&datagrams[count..]).expect("sent");
            }
            let got = arrivals(&there, datagrams.len());
            assert_eq!(got.len(), sent.len(), "{carrier} {ip}");
            for (arrival, (len, _)) in got.iter().zip(sent) {
                assert!(arrival.data[..] == long[..len], "{carrier} {ip}: {len} bytes");
            }
            assert_eq!(there.drops().of(DropReason::Truncated), 0, "{carrier} {ip}");
        }
    }
}

#[test]
fn the_first_datagrams_longer_than_usual_arrive_whole_in_one_batch() {
    let long: Vec<u8> = (0..40_000).map(|at| (at % 251) as u8).collect();
    let ip = IpAddr::from(Ipv4Addr::LOCALHOST);
    for carrier in Carrier::ALL {
        let (Some(here), Some(there)) = (open(carrier, ip), open(carrier, ip)) else { continue };
        let lengths = [40_000, 100, 2_296, 2_304, 2_305, 20_000];
        for len in lengths {
            here.send_to(&long[..len], there.local_addr()).expect("sent");
        }
        let got = arrivals(&there, lengths.len());
        let found: Vec<usize> = got.iter().map(|it| it.data.len()).collect();
        assert_eq!(found, lengths, "{carrier}");
        assert!(got.iter().all(|it| long.starts_with(&it.data)), "{carrier}");
    }
}

#[test]
fn a_whole_datagram_inside_udp_has_its_mark() {
    let ip = Ipv4Addr::LOCALHOST.into();
    let here = open(Carrier::Udp, ip).expect("every machine has UDP");
    let plain = std::net::UdpSocket::bind((ip, 0)).expect("a free port");
    let to = plain.local_addr().expect("bound");
    let mut buffer = [0; 50];
    for (whole, unbound, mark) in [
        (true, false, carrier::WHOLE),
        (false, false, carrier::PARTIAL),
        (false, true, carrier::UNBOUND),
    ] {
        let parts = [&b"exact"[..], b"", b""];
        let datagram = UdpLiteDatagram { to, coverage: 0, whole, unbound, parts };
        assert_eq!(here.send(&[datagram]).expect("sent"), 1);
        assert_eq!(plain.recv(&mut buffer).expect("it arrives"), 13);
        assert_eq!(buffer[..4], mark);
    }
}

#[test]
fn a_connected_socket_knows_its_address_and_receives_from_its_peer_only() {
    for (ip, any) in [
        (IpAddr::from(Ipv4Addr::LOCALHOST), IpAddr::from(Ipv4Addr::UNSPECIFIED)),
        (Ipv6Addr::LOCALHOST.into(), Ipv6Addr::UNSPECIFIED.into()),
    ] {
        let carrier = Carrier::Udp;
        let (Some(here), Some(there)) = (open(carrier, any), open(carrier, ip)) else {
            continue;
        };
        here.connect(there.local_addr()).expect("there is a route");
        assert_eq!(here.local_addr().ip(), ip);
        exchange(&here, &there);
        exchange(&there, &here);
        let other = open(carrier, ip).expect("as before");
        let datagram = UdpLiteDatagram {
            to: here.local_addr(),
            coverage: 8,
            whole: false,
            unbound: false,
            parts: [b"no", b"", b""],
        };
        other.send(&[datagram]).expect("sent");
        assert_eq!(arrivals(&here, 0), []);
        let again = here.connect(there.local_addr()).expect_err("it is connected");
        assert_eq!(again.raw_os_error(), Some(rustix::io::Errno::ISCONN.raw_os_error()));
    }
}

#[test]
fn a_raw_socket_receives_from_its_peer_only() {
    let ip = IpAddr::from(Ipv4Addr::LOCALHOST);
    let sockets = [(); 3].map(|()| open(Carrier::Raw, ip));
    let [Some(here), Some(there), Some(other)] = sockets else { return };
    here.connect(there.local_addr()).expect("it has no peer yet");
    other.send_to(b"no", here.local_addr()).expect("sent");
    there.send_to(b"yes", here.local_addr()).expect("sent");
    let got = arrivals(&here, 1);
    assert_eq!(got.iter().map(|it| &it.data[..]).collect::<Vec<_>>(), [b"yes"]);
    // Other raw sockets of this host have its copies too.
    assert!(here.drops().of(DropReason::NotForUs) > 0);
}

#[test]
fn what_is_not_taken_at_once_stays_readable() {
    let ip = IpAddr::from(Ipv4Addr::LOCALHOST);
    let [Some(here), Some(there)] = [(); 2].map(|()| open(Carrier::Udp, ip)) else { return };
    let brief = Some(Duration::from_millis(1));
    assert!(!here.wait_readable(brief).expect("it can be polled"), "nothing was sent");
    for byte in 0..3 {
        assert!(there.wait_writable(None).expect("it can be polled"));
        there.send_to(&[byte], here.local_addr()).expect("sent");
    }
    let mut got = Vec::new();
    for count in 1..=3 {
        let span = Some(Duration::from_secs(20));
        assert!(here.wait_readable(span).expect("it can be polled"));
        assert_eq!(here.receive_up_to(1, &mut got).expect("one waits"), 1);
        assert_eq!(got.len(), count);
    }
    let bytes: Vec<u8> = got.iter().map(|it| it.data[0]).collect();
    assert_eq!(bytes, [0, 1, 2]);
}

/// Builds UDP-Lite in IPv4, as a raw socket sends it.
fn packet(coverage: u16, data: &[u8]) -> Vec<u8> {
    let src = [192, 0, 2, 1].into();
    let dst = [192, 0, 2, 2].into();
    let len = udplite::HEADER_LEN + data.len();
    let protocol = windfall_wire_net::Protocol::UDP_LITE;
    let header = Ipv4Repr::new(src, dst, protocol, len).expect("it is short");
    let mut bytes = vec![0; header.header_len() + udplite::HEADER_LEN];
    header.emit(&mut bytes);
    let coverage = Coverage::requested(coverage);
    let repr = UdpLiteRepr { src_port: 4000, dst_port: 4001, coverage };
    repr.emit(&mut bytes[header.header_len()..], &Addresses::V4 { src, dst }, data);
    bytes.extend_from_slice(data);
    bytes
}

//= S0.3
#[test]
fn tshark_agrees_on_coverage_and_checksum() {
    let coverages = [0, 8, 12, 200];
    let mut packets: Vec<_> = coverages.iter().map(|it| packet(*it, &[0x5a; 300])).collect();
    // The checksum ignores a bit error after the coverage and detects one before its end.
    for (coverage, at) in [(12, 40), (12, 30)] {
        let mut damaged = packet(coverage, &[0x5a; 300]);
        damaged[at] ^= 1;
        packets.push(damaged);
    }
    // A capture of raw IP: its header, and one before each packet.
    let mut file: Vec<u8> = [0xa1b2_c3d4_u32, 0x0002_0004, 0, 0, 65_535, 101]
        .iter()
        .flat_map(|word| word.to_be_bytes())
        .collect();
    for packet in &packets {
        let len = (packet.len() as u32).to_be_bytes();
        file.extend([[0; 4], [0; 4], len, len].as_flattened());
        file.extend_from_slice(packet);
    }
    let path = std::env::temp_dir().join(format!("windfall-udplite-{}.pcap", std::process::id()));
    std::fs::write(&path, file).expect("the folder can be written to");
    let output = std::process::Command::new("tshark")
        .args(["-o", "udplite.check_checksum:TRUE", "-T", "fields", "-e", "udp.checksum.status"])
        .args(["-e", "udp.checksum_coverage", "-r"])
        .arg(&path)
        .output();
    std::fs::remove_file(&path).expect("it is there");
    let Ok(output) = output else { windfall_testkit::skip!("tshark is not installed") };
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    // 1 is good, 0 is bad.
    assert_eq!(said, "1\t0\n1\t8\n1\t12\n1\t200\n1\t12\n0\t12\n", "{output:?}");
}

#[test]
fn whole_datagrams_of_one_length_arrive_one_by_one() {
    let ip = IpAddr::from(Ipv4Addr::LOCALHOST);
    let [here, there] = [0, 1].map(|_| open(Carrier::Udp, ip).expect("it needs no privilege"));
    let to = there.local_addr();
    let bodies: Vec<Vec<u8>> =
        (0..30_u8).map(|number| vec![number; if number % 10 == 9 { 77 } else { 1_000 }]).collect();
    let datagrams: Vec<_> = bodies
        .iter()
        .map(|body| {
            let parts = [&body[..20], &[], &body[20..]];
            UdpLiteDatagram { to, coverage: 0, whole: true, unbound: true, parts }
        })
        .collect();
    let mut sent = 0;
    let mut calls = 0;
    while sent < datagrams.len() {
        sent += here.send(&datagrams[sent..]).expect("it can be sent");
        calls += 1;
    }
    assert!((1..=6).contains(&calls), "{calls} calls");
    let found: Vec<_> = arrivals(&there, 30).into_iter().map(|it| it.data.to_vec()).collect();
    assert_eq!(found, bodies);
}
