//! Damaged datagrams in real programs.

use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::net::{AddressFamily, Protocol, RecvFlags, SendFlags, SocketAddrV4, SocketType};
use windfall_wire_net::udplite::{Coverage, CoveredBytes};
use windfall_wire_net::{Ipv4Packet, UdpLitePacket, UdpLiteRepr};

use crate::live::{Folder, LONG, require, windfall};

/// Tells this test program to be one of the two programs of the test.
const ROLE: &str = "WINDFALL_TEST_ROLE";
/// Datagrams that are sent.
const COUNT: usize = 30;
/// Bytes of payload in each, of which the first four are covered.
const SIZE: usize = 1000;

fn payload(number: usize) -> Vec<u8> {
    (0..SIZE).map(|i| (i * 7 + number * 13) as u8).collect()
}

fn raw_socket() -> rustix::fd::OwnedFd {
    let protocol = Protocol::from_raw(136.try_into().expect("not zero"));
    rustix::net::socket(AddressFamily::INET, SocketType::RAW, Some(protocol)).expect("a raw socket")
}

/// The data of the last datagram, so short that it is damaged on no link of these tests.
const END: &[u8] = b"end.";

/// Sends datagrams to the far end when it listens, until it has the last.
fn send(received: &Path) {
    let began = Instant::now();
    let wait = |what: &str| {
        assert!(began.elapsed() < LONG, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    };
    while !received.exists() {
        wait("no receiver");
    }
    let socket = raw_socket();
    let base: std::net::Ipv4Addr =
        std::env::var("WINDFALL_BASE").expect("set").parse().expect("an address");
    let near = std::net::Ipv4Addr::new(10, 77, 0, 1);
    let addresses = windfall_wire_net::Addresses::V4 { src: near, dst: base };
    let send = |payload: &[u8]| {
        let covered = CoveredBytes::new(12).expect("a legal coverage");
        let header =
            UdpLiteRepr { src_port: 4000, dst_port: 5000, coverage: Coverage::First(covered) };
        let mut datagram = vec![0; 8 + payload.len()];
        header.emit(&mut datagram, &addresses, payload);
        datagram[8..].copy_from_slice(payload);
        let to = SocketAddrV4::new(base, 0);
        rustix::net::sendto(&socket, &datagram, SendFlags::empty(), &to).expect("it is sent");
    };
    for number in 0..COUNT {
        send(&payload(number));
        std::thread::sleep(Duration::from_millis(2));
    }
    // The link keeps the order: behind this one nothing is on its way any more.
    let end = format!("{}\n", hexadecimal(END));
    while !std::fs::read_to_string(received).is_ok_and(|text| text.contains(&end)) {
        send(END);
        wait("the end does not arrive");
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Writes every datagram that arrives to a file, as one line of hexadecimal digits.
fn receive(file: &Path) {
    let socket = raw_socket();
    let mut file = std::fs::File::create(file).expect("a file");
    let mut buffer = vec![0; 4096];
    loop {
        let (len, _) =
            rustix::net::recv(&socket, &mut buffer, RecvFlags::empty()).expect("a datagram");
        let line = hexadecimal(&buffer[..len]) + "\n";
        file.write_all(line.as_bytes()).expect("room for a line");
    }
}

/// Not a test: the two programs of the test below, which starts this program twice.
#[test]
fn program_of_another_test() {
    let role = std::env::var(ROLE).unwrap_or_default();
    match role.split_once(' ') {
        Some(("send", file)) => send(Path::new(file)),
        Some((_, file)) => receive(Path::new(file)),
        None => {}
    }
}

/// Returns the IP packets that arrive in a raw socket at the far end. `name` is that of the test.
fn arrivals(name: &str, link: &str, options: &str) -> Vec<Vec<u8>> {
    let folder = Folder::new(name);
    let file = folder.path().join("received");
    let own = std::env::current_exe().expect("this program");
    let own = own.display();
    let program = "--exact live::damage::program_of_another_test";
    let output = windfall("run -q")
        .args(link.split_whitespace())
        .args(options.split_whitespace())
        .arg("--far")
        .arg(format!("{ROLE}='receive {}' exec {own} {program}", file.display()))
        .args(["--", "sh", "-c"])
        .arg(format!("{ROLE}='send {}' exec {own} {program}", file.display()))
        .output()
        .expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = std::fs::read_to_string(&file).expect("the receiver made a file");
    let byte = |line: &str, i: usize| u8::from_str_radix(&line[i..i + 2], 16).expect("digits");
    let packets = lines.lines().filter(|line| !line.ends_with(&hexadecimal(END)));
    packets.map(|line| (0..line.len()).step_by(2).map(|i| byte(line, i)).collect()).collect()
}

/// Counts the datagrams that differ from those sent; none may differ where the checksum covers.
fn damaged(packets: &[Vec<u8>]) -> usize {
    let is_damaged = |packet: &Vec<u8>| {
        let ip = Ipv4Packet::new(packet).expect("an IP packet");
        let datagram = UdpLitePacket::new(ip.payload()).expect("a datagram");
        assert!(datagram.checksum_holds(&ip.addresses()));
        (0..COUNT).all(|number| payload(number) != datagram.payload())
    };
    packets.iter().filter(|packet| is_damaged(packet)).count()
}

//= S0.6
#[test]
fn damaged_datagrams_arrive_if_the_link_hands_damage_up_and_not_otherwise() {
    require!();
    if raw_sockets_are_closed() {
        windfall_testkit::skip!("this user may not open raw sockets");
    }
    let link = "--uplink-ber 1e-4 --range 40..1028";
    let refused = arrivals("udplite", link, "");
    // Of 988 bytes in reach, 7904 bits: a datagram stays whole with probability 0.454, so of 30
    // between 3 and 25, by four standard deviations.
    assert!((3..=25).contains(&refused.len()), "{}", refused.len());
    assert_eq!(damaged(&refused), 0);
    let accepted = arrivals("udplite", link, "--accept-damaged");
    assert_eq!(accepted.len(), COUNT);
    assert_eq!(COUNT - damaged(&accepted), refused.len(), "the same seed, the same damage");
}

//= S0.11
//= S0.14
#[test]
fn a_damaged_datagram_crosses_the_radio_of_802_11_if_its_switch_is_on() {
    require!();
    if raw_sockets_are_closed() {
        windfall_testkit::skip!("this user may not open raw sockets");
    }
    // 12 m in an office take 72 dB: the frames stand about 17 dB above the noise, where most are
    // damaged at 54 Mb/s and hardly a preamble is missed.
    let link = "--link wifi-g --distance 12 --rate 54 --power -5";
    let refused = arrivals("wifi", link, "");
    assert!(refused.len() < COUNT, "nothing was damaged");
    assert_eq!(damaged(&refused), 0);
    let accepted = arrivals("wifi", link, "--accept-damaged");
    let covered_is_whole = |packet: &Vec<u8>| {
        let ip = Ipv4Packet::new(packet).ok()?;
        let datagram = UdpLitePacket::new(ip.payload()).ok()?;
        datagram.checksum_holds(&ip.addresses()).then(|| packet.clone())
    };
    let useful: Vec<_> = accepted.iter().filter_map(covered_is_whole).collect();
    assert!(damaged(&useful) > 0, "{} whole, {} with the switch on", refused.len(), accepted.len());
    assert!(useful.len() > refused.len());
}

/// A server that sends back what it gets, and a client that counts bit errors, in Python.
const ECHO: &str = r#"
import socket, sys
if sys.argv[1] == "udp":
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind(("", 5000))
    while True:
        data, peer = server.recvfrom(4096)
        server.sendto(data, peer)
server = socket.create_server(("", 5000))
connection, _ = server.accept()
connection.sendall(bytes(400_000))
connection.shutdown(socket.SHUT_WR)
connection.recv(1)
"#;
const CLIENT: &str = r#"
import socket, sys
bits = arrived = damaged = 0
if sys.argv[1] == "udp":
    client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    client.settimeout(0.2)
    for number in range(100):
        sent = number.to_bytes(4, "big") * 250
        client.sendto(sent, ("10.77.0.2", 5000))
        try:
            data = client.recv(4096)
        except TimeoutError:
            continue
        wrong = sum((a ^ b).bit_count() for a, b in zip(sent, data))
        arrived += len(data)
        damaged += wrong > 0
        bits += wrong
else:
    client = socket.create_connection(("10.77.0.2", 5000))
    while data := client.recv(65536):
        arrived += len(data)
        bits += sum(byte.bit_count() for byte in data)
print(arrived, damaged, bits)
"#;

/// Runs the two unmodified programs over a link; returns the bytes that arrived at the client, the
/// damaged datagrams and the bit errors among them.
fn echo(protocol: &str, options: &str) -> [u64; 3] {
    let folder = Folder::new(&format!("echo-{protocol}-{}", options.replace(' ', "")));
    let [server, client] = [("server.py", ECHO), ("client.py", CLIENT)].map(|(name, code)| {
        let path = folder.path().join(name);
        std::fs::write(&path, code).expect("a file");
        path
    });
    let output = windfall("run -q --rate 20Mbps --accept-damaged --far-may-fail")
        .args(options.split_whitespace())
        .args(["--wait-port", "5000", "--far"])
        .arg(format!("python3 {} {protocol}", server.display()))
        .args(["--", "python3"])
        .arg(client)
        .arg(protocol)
        .output()
        .expect("it runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{options}: {error}");
    let numbers: Vec<u64> =
        text.split_whitespace().map(|word| word.parse().expect("a number")).collect();
    numbers.try_into().expect("three numbers")
}

#[test]
fn unmodified_udp_programs_see_damage_where_checksums_are_cleared_or_mended() {
    require!();
    let damage = "--ber 3e-5";
    let [kept, damaged, bits] = echo("udp", damage);
    assert!(kept < 100_000 && (damaged, bits) == (0, 0), "{kept} {damaged} {bits}");
    for checksums in ["clear", "mend"] {
        let [arrived, damaged, bits] = echo("udp", &format!("{damage} --checksums {checksums}"));
        assert_eq!(arrived, 100_000, "the headers are spared");
        // 1000 bytes there and back take 0.48 bit errors on average: 38 of 100 are damaged, give
        // or take 5.
        assert!((15..=60).contains(&damaged) && bits >= damaged, "{damaged} {bits}");
    }
}

#[test]
fn an_unmodified_tcp_program_reads_wrong_bytes_where_checksums_are_mended() {
    require!();
    let [arrived, _, bits] = echo("tcp", "--ber 1e-5 --checksums mend");
    // 32 on average of 3.2 million bits.
    assert_eq!(arrived, 400_000);
    assert!((8..=60).contains(&bits), "{bits}");
}

fn raw_sockets_are_closed() -> bool {
    let output = windfall("run -q -- sh -c").arg("grep CapEff /proc/self/status").output();
    let text = String::from_utf8_lossy(&output.expect("it runs").stdout).into_owned();
    let digits = text.trim().rsplit('\t').next().unwrap_or_default().to_owned();
    u64::from_str_radix(&digits, 16).unwrap_or(0) & (1 << 13) == 0
}
