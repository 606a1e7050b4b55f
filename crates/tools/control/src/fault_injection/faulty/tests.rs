use std::collections::VecDeque;

use windfall_base::Duration;
use windfall_base::seq::Seq32;
use windfall_wire_net::ipv4::Ipv4Repr;
use windfall_wire_net::tcp::TcpRepr;
use windfall_wire_net::{Addresses, Protocol, UdpRepr};

use super::*;
use crate::fault_injection::segment::bare;

const CLIENT: ([u8; 4], u16) = ([10, 0, 0, 1], 4000);
const SERVER: ([u8; 4], u16) = ([10, 0, 0, 2], 80);

/// A wire from each of two ports to the other, which takes no time.
#[derive(Debug, Default)]
struct Wire(VecDeque<(Port, Outgoing)>);

impl Node for Wire {
    fn handle_input(&mut self, _: Instant, port: Port, input: Input) {
        if let Input::Frame(frame, _) = input {
            self.0.push_back((Port(1 - port.0), frame.into()));
        }
    }

    fn handle_timeout(&mut self, _: Instant) {}

    fn poll_transmit(&mut self, _: Instant) -> Option<(Port, Outgoing)> {
        self.0.pop_front()
    }

    fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        None
    }
}

fn at(ms: u64) -> Instant {
    Instant::START + Duration::from_millis(ms)
}

/// A segment of the client (port 0) or of the server.
fn segment(from_client: bool, seq: u32, ack: u32, flags: TcpFlags, len: usize) -> Frame {
    let (from, to) = if from_client { (CLIENT, SERVER) } else { (SERVER, CLIENT) };
    let addresses = Addresses::new(from.0.into(), to.0.into()).expect("one family");
    let seq = Seq32(seq);
    let ack = Seq32(ack);
    let header =
        TcpRepr { src_port: from.1, dst_port: to.1, seq, ack, flags, ..TcpRepr::default() };
    let mut bytes = bare(addresses, header).expect("a segment").payload.to_bytes();
    if len > 0 {
        let mut longer = bytes.to_vec();
        longer.extend((0..len).map(|it| it as u8));
        let total = (longer.len() as u16).to_be_bytes();
        longer[2..4].copy_from_slice(&total);
        bytes = longer.into();
    }
    Frame::packet(bytes)
}

struct Bench {
    node: Faulty<Wire>,
    /// The segments that came out, with time and port.
    seen: Vec<(u64, Port, Segment)>,
    now: u64,
}

impl Bench {
    fn new(faults: &str) -> Self {
        let mut node = Faulty::new(Wire::default(), Seed(1));
        let faults: PortFaults = faults.parse().expect("faults");
        node.set(faults, vec![SERVER.0.into()], vec![Port(1)]);
        Self { node, seen: Vec::new(), now: 0 }
    }

    fn drain(&mut self) {
        while let Some((port, outgoing)) = self.node.poll_transmit(at(self.now)) {
            let read = Segment::read(&outgoing.frame.payload).expect("a whole segment");
            self.seen.push((self.now, port, read));
        }
    }

    /// Lets time pass, and everything that is due happen.
    fn until(&mut self, ms: u64) {
        while let Some((due, _)) = self.node.poll_timeout().filter(|(due, _)| *due <= at(ms)) {
            self.now = self.now.max((due - Instant::START).as_nanos() / 1_000_000);
            self.node.handle_timeout(due.max(at(self.now)));
            self.drain();
        }
        self.now = ms;
    }

    fn put(&mut self, from_client: bool, seq: u32, ack: u32, flags: TcpFlags, len: usize) {
        let frame = segment(from_client, seq, ack, flags, len);
        let port = Port(u16::from(!from_client));
        let input = Input::Frame(frame, RxVector::wired(at(self.now)));
        self.node.handle_input(at(self.now), port, input);
        self.drain();
        self.until(self.now);
    }

    /// Opens a connection: the client's data begins at 101, the server's at 501.
    fn open(&mut self) {
        self.put(true, 100, 0, TcpFlags::SYN, 0);
        self.put(false, 500, 101, TcpFlags(TcpFlags::SYN.0 | TcpFlags::ACK.0), 0);
        self.put(true, 101, 501, TcpFlags::ACK, 0);
    }

    /// Takes the segments that came out at a port, as time, number, flags and length.
    fn taken(&mut self, port: u16) -> Vec<(u64, u32, u16, usize)> {
        let (here, rest) = self.seen.drain(..).partition(|it| it.1 == Port(port));
        self.seen = rest;
        let here: Vec<(u64, Port, Segment)> = here;
        here.into_iter().map(|(ms, _, it)| (ms, it.seq, it.flags.0, it.data.len())).collect()
    }
}

const ACK: TcpFlags = TcpFlags::ACK;
const FIN: u16 = TcpFlags::FIN.0 | TcpFlags::ACK.0;
const RST: u16 = TcpFlags::RST.0;

#[test]
fn a_port_that_is_down_refuses_and_resets() {
    let mut bench = Bench::new("far:80 down");
    bench.put(true, 100, 0, TcpFlags::SYN, 0);
    assert_eq!(bench.taken(0), [(0, 0, RST | ACK.0, 0)]);
    assert!(bench.taken(1).iter().all(|it| it.2 & RST != 0));
    // Another port of the station is not concerned.
    let mut bench = Bench::new("far:81 down");
    bench.open();
    assert_eq!((bench.taken(0).len(), bench.taken(1).len()), (1, 2));
}

#[test]
fn a_reset_reaches_both_ends_at_its_time() {
    let mut bench = Bench::new("far:80 reset 1s");
    bench.open();
    bench.put(false, 501, 101, ACK, 10);
    bench.put(true, 101, 511, ACK, 0);
    bench.until(999);
    let before = (bench.taken(0).len(), bench.taken(1).len());
    assert_eq!(before, (2, 3));
    bench.until(1_000);
    assert_eq!(bench.taken(0), [(1_000, 511, RST, 0)]);
    assert_eq!(bench.taken(1), [(1_000, 101, RST, 0)]);
    // A later packet is answered as by a host that knows of nothing.
    bench.put(true, 101, 521, ACK, 5);
    assert_eq!((bench.taken(0), bench.taken(1)), (vec![(1_000, 521, RST, 0)], vec![]));
    // A new connection from the same port is a new one.
    bench.put(true, 900, 0, TcpFlags::SYN, 0);
    assert_eq!(bench.taken(1).len(), 1);
}

#[test]
fn data_stops_and_the_client_sees_the_end_after_the_timeout() {
    let mut bench = Bench::new("far:80 timeout 2s");
    bench.open();
    bench.taken(0);
    bench.taken(1);
    bench.put(false, 501, 101, ACK, 100);
    bench.put(true, 101, 501, ACK, 7);
    assert_eq!((bench.taken(0), bench.taken(1).len()), (vec![], 1), "data of the server stops");
    bench.until(2_000);
    assert_eq!(bench.taken(0), [(2_000, 501, FIN, 0)]);
    assert_eq!(bench.taken(1), [(2_000, 108, RST, 0)]);
    // It is told again until the client has it.
    bench.until(2_300);
    assert_eq!(bench.taken(0), [(2_300, 501, FIN, 0)]);
    bench.put(true, 108, 502, ACK, 0);
    bench.until(20_000);
    assert_eq!(bench.taken(0), []);
    bench.put(true, 108, 502, TcpFlags(FIN), 0);
    assert_eq!(bench.taken(0), [(20_000, 502, ACK.0, 0)]);
    // Without a time it stays as it is.
    let mut bench = Bench::new("far:80 timeout 0s");
    bench.open();
    bench.taken(0);
    bench.put(false, 501, 101, ACK, 100);
    bench.until(1_000_000);
    assert_eq!(bench.taken(0), []);
}

#[test]
fn a_limit_passes_so_many_bytes_and_no_more() {
    let mut bench = Bench::new("far:80 limit 150B");
    bench.open();
    bench.taken(0);
    bench.put(false, 501, 101, ACK, 100);
    bench.put(false, 601, 101, ACK, 100);
    assert_eq!(bench.taken(0), [(0, 501, ACK.0, 100), (0, 601, ACK.0, 50), (0, 651, FIN, 0)]);
    // A lost part comes again, and nothing beyond it.
    bench.put(false, 501, 101, ACK, 100);
    bench.put(false, 601, 101, ACK, 100);
    assert_eq!(bench.taken(0), [(0, 501, ACK.0, 100)]);
}

#[test]
fn slices_have_their_size_and_keep_every_byte() {
    let mut bench = Bench::new("far:80 slice 40B 10ms");
    bench.open();
    bench.taken(0);
    bench.put(false, 501, 101, TcpFlags(FIN), 100);
    bench.until(100);
    let parts: Vec<Segment> =
        bench.seen.iter().filter(|it| it.1 == Port(0)).map(|it| it.2.clone()).collect();
    let bytes: Vec<u8> = parts.iter().flat_map(|it| it.data.clone()).collect();
    assert_eq!(bytes, (0..100).collect::<Vec<u8>>());
    let expected = [(0, 501, ACK.0, 40), (10, 541, ACK.0, 40), (20, 581, FIN, 20)];
    assert_eq!(bench.taken(0), expected);
}

#[test]
fn the_end_comes_later_and_once() {
    let mut bench = Bench::new("far:80 slow-close 3s");
    bench.open();
    bench.put(false, 501, 101, ACK, 10);
    bench.taken(0);
    bench.put(false, 511, 101, TcpFlags(FIN), 0);
    bench.until(1_000);
    bench.put(false, 511, 101, TcpFlags(FIN), 0);
    assert_eq!(bench.taken(0), []);
    bench.until(5_000);
    assert_eq!(bench.taken(0), [(3_000, 511, FIN, 0)]);
}

#[test]
fn delay_and_rate_are_of_one_direction_of_one_port() {
    let mut bench = Bench::new("far:80 upstream delay 50ms, rate 80kbps");
    bench.open();
    bench.until(200);
    bench.taken(0);
    bench.taken(1);
    // 960 + 40 bytes at 10 kB/s take 100 ms.
    bench.put(true, 101, 501, ACK, 960);
    bench.put(false, 501, 101, ACK, 10);
    bench.until(1_000);
    assert_eq!(bench.taken(1), [(350, 101, ACK.0, 960)]);
    assert_eq!(bench.taken(0), [(200, 501, ACK.0, 10)]);
}

#[test]
fn the_directions_of_one_port_have_faults_of_their_own() {
    let mut bench = Bench::new("far:80 delay 30ms, rate 80kbps, upstream delay 50ms, rate 40kbps");
    bench.open();
    bench.until(500);
    bench.taken(0);
    bench.taken(1);
    // 960 + 40 bytes at 5 kB/s take 200 ms, at 10 kB/s 100 ms; neither waits for the other.
    bench.put(true, 101, 501, ACK, 960);
    bench.put(false, 501, 101, ACK, 960);
    bench.until(2_000);
    assert_eq!(bench.taken(1), [(750, 101, ACK.0, 960)]);
    assert_eq!(bench.taken(0), [(630, 501, ACK.0, 960)]);
}

#[test]
fn what_is_cleared_is_gone_and_a_share_is_a_share() {
    let mut bench = Bench::new("far:80 down");
    bench.node.set("far:80 none".parse().expect("none"), vec![SERVER.0.into()], vec![Port(1)]);
    bench.open();
    assert_eq!((bench.taken(0).len(), bench.taken(1).len()), (1, 2));
    assert_eq!(bench.node.faults().count(), 0);
    let mut node = Faulty::new(Wire::default(), Seed(7));
    node.set("far:80 25% down".parse().expect("faults"), vec![SERVER.0.into()], vec![Port(1)]);
    for client in 0..4_000_u32 {
        let [_, _, high, low] = client.to_be_bytes();
        let addresses = Addresses::new([10, 9, high, low].into(), SERVER.0.into()).expect("v4");
        let flags = TcpFlags::SYN;
        let header =
            TcpRepr { src_port: 1, dst_port: 80, seq: Seq32(1), flags, ..TcpRepr::default() };
        let syn = bare(addresses, header).expect("a segment");
        node.handle_input(at(0), Port(0), Input::Frame(syn, RxVector::wired(at(0))));
        while node.poll_transmit(at(0)).is_some() {}
    }
    let had = node.faults().next().expect("a port").1.connections;
    // Four standard deviations of a binomial distribution.
    assert!(had.abs_diff(1_000) < 110, "{had}");
}

#[test]
fn a_fault_that_never_acted_is_named_with_its_share() {
    for text in ["far:80 0% down", "far:80 0% upstream delay 1s", "far:80 down"] {
        let bench = Bench::new(text);
        assert_eq!(bench.node.idle_faults().collect::<Vec<_>>(), [text]);
    }
}

#[test]
fn a_limit_upstream_lets_the_station_have_so_much_and_resets_both() {
    let mut bench = Bench::new("far:80 upstream limit 250B");
    bench.open();
    bench.taken(0);
    bench.taken(1);
    bench.put(true, 101, 501, ACK, 200);
    assert_eq!(bench.taken(1), [(0, 101, ACK.0, 200)]);
    // What the server sends is not limited.
    bench.put(false, 501, 301, ACK, 1000);
    assert_eq!(bench.taken(0), [(0, 501, ACK.0, 1000)]);
    bench.put(true, 301, 1501, ACK, 200);
    assert_eq!(bench.taken(1), [(0, 301, ACK.0, 50), (0, 351, RST, 0)]);
    assert_eq!(bench.taken(0), [(0, 1501, RST, 0)]);
    bench.put(true, 301, 1501, ACK, 200);
    assert!(bench.taken(1).is_empty());
}

#[test]
fn a_limit_upstream_waits_for_what_is_missing_before_it() {
    let mut bench = Bench::new("far:80 upstream limit 250B");
    bench.open();
    bench.taken(1);
    // The first 100 bytes are lost on their way: the station must not be reset without them.
    bench.put(true, 201, 501, ACK, 200);
    assert_eq!(bench.taken(1), [(0, 201, ACK.0, 150)]);
    bench.put(true, 101, 501, ACK, 100);
    assert_eq!(bench.taken(1), [(0, 101, ACK.0, 100)]);
    bench.put(false, 501, 351, ACK, 0);
    bench.put(true, 351, 501, ACK, 50);
    assert_eq!(bench.taken(1), [(0, 351, RST, 0)]);
}

/// Faults that are set while a server sends: the client has its data up to 5000, and waits.
#[test]
fn faults_of_a_connection_that_is_older_than_they_tell_the_client_with_its_own_number() {
    let mut bench = Bench::new("far:80 reset");
    bench.put(false, 5000, 101, ACK, 1000);
    assert_eq!(bench.taken(0), [(0, 5000, RST, 0)]);
    assert_eq!(bench.taken(1), [(0, 101, RST, 0)]);

    let mut bench = Bench::new("far:80 timeout 300ms");
    bench.put(false, 5000, 101, ACK, 1000);
    bench.until(300);
    assert_eq!(bench.taken(0), [(300, 5000, FIN, 0)]);

    // A client's packet shows less than what is on its way: the end moves behind that.
    let mut bench = Bench::new("far:80 timeout 300ms");
    bench.put(true, 101, 5000, ACK, 0);
    bench.until(300);
    assert_eq!(bench.taken(0), [(300, 5000, FIN, 0)]);
    bench.put(true, 101, 6000, ACK, 0);
    assert_eq!(bench.taken(0), [(300, 6000, FIN, 0)]);
    bench.put(true, 101, 6001, ACK, 0);
    bench.until(100_000);
    assert!(bench.taken(0).is_empty());
}

#[test]
fn a_fault_that_holds_nothing_up_never_acts() {
    for (faults, idle) in [
        ("far:80 delay 0s", 1),
        ("far:80 slow-close 0s", 1),
        ("far:80 delay 1ms", 0),
        ("far:80 slow-close 1ms", 0),
    ] {
        let mut bench = Bench::new(faults);
        bench.open();
        bench.put(false, 501, 101, TcpFlags(ACK.0 | TcpFlags::FIN.0), 0);
        assert_eq!(bench.node.idle_faults().count(), idle, "{faults}");
    }
}

#[test]
fn a_reset_without_a_time_comes_at_the_first_data() {
    let mut bench = Bench::new("far:80 reset");
    bench.open();
    assert_eq!((bench.taken(0).len(), bench.taken(1).len()), (1, 2), "the handshake passes");
    assert_eq!(bench.node.idle_faults().collect::<Vec<_>>(), ["far:80 reset"]);
    bench.put(true, 101, 501, ACK, 10);
    assert_eq!(bench.taken(0), [(0, 501, RST, 0)]);
    assert_eq!(bench.taken(1), [(0, 101, RST, 0)]);
    assert_eq!(bench.node.idle_faults().count(), 0);
    // A server that speaks first is reset as well.
    let mut bench = Bench::new("far:80 upstream reset");
    bench.open();
    bench.taken(0);
    bench.taken(1);
    bench.put(false, 501, 101, ACK, 10);
    assert_eq!(bench.taken(0), [(0, 501, RST, 0)]);
    assert_eq!(bench.taken(1), [(0, 101, RST, 0)]);
    assert_eq!(bench.node.idle_faults().count(), 0);
}

#[test]
fn a_syn_that_comes_again_is_the_same_connection() {
    let mut bench = Bench::new("far:80 down");
    for _ in 0..3 {
        bench.put(true, 100, 0, TcpFlags::SYN, 0);
    }
    let connections = |bench: &Bench| bench.node.faults().next().expect("a port").1.connections;
    assert_eq!(connections(&bench), 1);
    assert_eq!(bench.taken(0).len(), 3);
    bench.put(true, 900, 0, TcpFlags::SYN, 0);
    assert_eq!(connections(&bench), 2);
}

#[test]
fn counts_begin_anew_with_other_faults() {
    let mut bench = Bench::new("far:80 down");
    bench.put(true, 100, 0, TcpFlags::SYN, 0);
    let other = "far:80 delay 1s".parse().expect("faults");
    bench.node.set(other, vec![SERVER.0.into()], vec![Port(1)]);
    let counters = bench.node.faults().next().expect("a port").1;
    assert_eq!(counters, FaultCounters::default());
}

/// Sends a datagram of the client to a port of the station.
fn put_datagram(bench: &mut Bench, port: u16) {
    let addresses = Addresses::new(CLIENT.0.into(), SERVER.0.into()).expect("one family");
    let mut bytes = vec![0; 28];
    Ipv4Repr::new(CLIENT.0.into(), SERVER.0.into(), Protocol::UDP, 8).expect("v4").emit(&mut bytes);
    let header = UdpRepr { src_port: CLIENT.1, dst_port: port };
    header.emit(&mut bytes[20..], &addresses, &[]).expect("a datagram");
    let input = Input::Frame(Frame::packet(bytes), RxVector::wired(at(0)));
    bench.node.handle_input(at(0), Port(0), input);
    while bench.node.poll_transmit(at(0)).is_some() {}
}

#[test]
fn a_fault_of_a_port_that_only_udp_used_says_so() {
    let mut bench = Bench::new("far:80 delay 1s");
    put_datagram(&mut bench, 81);
    assert_eq!(bench.node.faults_of_udp().count(), 0);
    put_datagram(&mut bench, 80);
    let said = "far:80 delay 1s (only UDP was seen at this port)";
    assert_eq!(bench.node.faults_of_udp().collect::<Vec<_>>(), [said]);
    assert_eq!(bench.node.idle_faults().collect::<Vec<_>>(), [said]);
    // TCP at the same port is what the fault waits for.
    bench.open();
    assert_eq!(bench.node.faults_of_udp().count(), 0);
}
