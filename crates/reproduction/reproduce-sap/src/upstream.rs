//! The cost of a lossy last hop for the links before it.

use std::collections::BTreeSet;

use windfall_base::{Duration, Payload, Port, Rate};
use windfall_channel::{Line, MediumConfig, PathConfig, PipeMediumConfig};
use windfall_experiment::{
    Basis, Claim, Context, ExperimentError, Extent, Figure, Finding, Verdict, VerdictRecord,
};

use windfall_network::{EndConfig, LinkConfig, NetworkConfig, StationConfig};
use windfall_report::{Axis, Chart, Mark, Point, Series, Table, statistics};
use windfall_stack::InterfaceConfig;
use windfall_wire_net::sap::{SapData, SapKind, SapPacket};
use windfall_wire_net::{Ipv4Packet, Protocol, TcpPacket, UdpLitePacket};

use super::ends::{Pair, ProtocolUnderTest};
use super::office::{Office, calm};

pub(crate) const FIGURE: Figure = Figure {
    name: "S0.72",
    title: "a wired link before a lossy last hop: what crosses it, and how long it waits there",
    basis: Basis::Simulated,
    record: VerdictRecord::with_seeds(Verdict::Reproduced, 1),
    mutation: None,
    run,
};

const PROTOCOLS: [(ProtocolUnderTest, &str); 2] =
    [(ProtocolUnderTest::Approximate, "SAP, approximate"), (ProtocolUnderTest::Tcp, "TCP")];
const DISTANCES: [f64; 7] = [2.0, 6.0, 8.0, 10.0, 11.0, 11.6, 12.2];
/// The distance from which the last hop counts as lossy.
const POOR: f64 = 10.0;
/// The length of a record in bytes, and the interval between two: 3.3 Mb/s.
const RECORD: usize = 1_024;
const INTERVAL: Duration = Duration::from_micros(2_500);
/// The wired link before the office.
const WIRE_MBPS: u64 = 5;
const WIRE_DELAY: Duration = Duration::from_millis(10);
/// The time for which the receiver waits for late records.
const PATIENCE: Duration = Duration::from_secs(60);

/// The load of the wired link by one stream.
#[derive(Clone, Copy, Debug)]
struct Upstream {
    /// VerdictRecord bytes that crossed it again, per byte that crossed it first.
    retransmitted: f64,
    /// The mean delay of a packet in its queue, in seconds.
    waiting: f64,
    /// The fraction of the records that arrived.
    arrived: f64,
    /// The mean age of records at their arrival, in seconds.
    age: f64,
}

/// Distinguishes first transmissions over the wire from retransmissions.
#[derive(Debug, Default)]
struct Crossings {
    /// Numbers of SAP messages that have crossed.
    messages: BTreeSet<u32>,
    /// The end of TCP's stream that has crossed.
    end: Option<u32>,
    /// Bytes that crossed first, and again.
    bytes: [usize; 2],
}

impl Crossings {
    fn take(&mut self, packet: &Payload) {
        let bytes = packet.to_bytes();
        let Ok(packet) = Ipv4Packet::new(&bytes) else { return };
        if packet.protocol() == Protocol::TCP {
            let Ok(segment) = TcpPacket::new(packet.payload()) else { return };
            let start = segment.seq().0;
            let len = segment.payload().len();
            let end = *self.end.get_or_insert(start);
            let again = (end.wrapping_sub(start) as i32).clamp(0, len as i32) as usize;
            if again < len {
                self.end = Some(start.wrapping_add(len as u32));
            }
            self.count(again, len);
        } else if let Ok(datagram) = UdpLitePacket::new(packet.payload())
            && let Ok(packet) = SapPacket::parse(&datagram.payload().to_vec().into())
            && packet.header.kind == SapKind::Data
            && let Ok(head) = SapData::parse(&packet.exact())
        {
            let again = !self.messages.insert(head.number);
            self.count(if again { RECORD } else { 0 }, RECORD);
        }
    }

    fn count(&mut self, again: usize, len: usize) {
        self.bytes[0] += len - again;
        self.bytes[1] += again;
    }
}

/// Builds the office behind a wire: a server at its far end, and the sending station as a relay.
fn behind_a_wire(office: Office) -> (NetworkConfig, [Port; 2], Vec<(Port, Port)>) {
    let mut network = calm::network(office);
    let stations = network.stations.len();
    let path = PathConfig {
        line: Rate::from_mbps(WIRE_MBPS).map_or(Line::Instant, Line::Rate),
        delay: WIRE_DELAY,
        ..PathConfig::default()
    };
    let end = |station| EndConfig { station, interface: InterfaceConfig::default() };
    network.stations.push(StationConfig { name: "server".to_owned(), host: None });
    network.links.push(LinkConfig {
        name: "wire".to_owned(),
        medium: MediumConfig::Pipe(PipeMediumConfig { forward: path.clone(), backward: path }),
        ends: vec![end(0), end(stations)],
    });
    // The ports of the air come first.
    let [relay, server] = [0, 1].map(|end| Port((stations + end) as u16));
    (network, [server, Port(1)], vec![(relay, Port(0)), (Port(0), relay)])
}

fn stream(metres: f64, protocol: ProtocolUnderTest, records: u32, seed: u64) -> Option<Upstream> {
    let damaged = protocol == ProtocolUnderTest::Approximate;
    let office = Office { accept_damaged: damaged, ..Office::calm(metres, 54) };
    let (network, ports, relays) = behind_a_wire(office);
    let mut pair = Pair::between(ports, relays, &network, protocol, RECORD, seed)?;
    let began = pair.now;
    let mut crossings = Crossings::default();
    let mut waiting = 0;
    let mut samples = 0.0;
    let due = |number: u32| began + INTERVAL * u64::from(number);
    for number in 0..records {
        pair.run(due(number));
        pair.send(&vec![number as u8; RECORD]);
        waiting += pair.waiting(0);
        samples += 1.0;
        pair.passed.drain(..).for_each(|packet| crossings.take(&packet));
    }
    pair.finish();
    let patience = pair.now + PATIENCE;
    while !pair.is_over() && pair.now < patience {
        pair.run(pair.now + INTERVAL);
        pair.passed.drain(..).for_each(|packet| crossings.take(&packet));
    }
    let ages =
        pair.received.iter().map(|(at, number, _)| at.saturating_since(due(*number)).as_secs_f64());
    let each = 8.0 * (RECORD + 40) as f64 / (1e6 * WIRE_MBPS as f64);
    Some(Upstream {
        retransmitted: crossings.bytes[1] as f64 / crossings.bytes[0] as f64,
        waiting: waiting as f64 / samples * each,
        arrived: pair.received.len() as f64 / f64::from(records),
        age: statistics::mean(&ages.collect::<Vec<_>>()).unwrap_or(f64::INFINITY),
    })
}

/// Returns the records of a stream, and the number of streams.
fn workload(extent: Extent) -> (u32, u64) {
    match extent {
        Extent::Quick => (2_000, 4),
        Extent::Paper => (8_000, 20),
        Extent::Full => (8_000, 50),
    }
}

/// The measurements at each distance, by protocol.
type Streams = Vec<Vec<Vec<Upstream>>>;

//= S0.72
fn run(figure: &Figure, context: &Context<'_>) -> Result<Finding, ExperimentError> {
    let (records, trials) = workload(context.extent);
    let streams: Streams = PROTOCOLS
        .iter()
        .map(|(protocol, name)| {
            (context.progress)(name);
            let one = |metres, i| stream(metres, *protocol, records, context.seed.0 + i);
            let at = |&metres: &f64| (0..trials).filter_map(|i| one(metres, i)).collect();
            DISTANCES.iter().map(at).collect()
        })
        .collect();
    let method = format!(
        "{trials} streams of {records} records of {RECORD} bytes at each distance, one every \
         2.5 ms, from a server over a wire of {WIRE_MBPS} Mb/s and 10 ms to the station that \
         sends them on at 54 Mb/s, in simulated time. What waits before the wire is sampled \
         at each record. What SAP loses is gone, and does not hold up what follows; the table \
         says how much. {}",
        calm::DESCRIPTION
    );
    Ok(Finding {
        claims: claims(&streams),
        charts: vec![
            ("", chart(&streams, "Wait before the wire", "wait (ms)", |it| 1e3 * it.waiting)),
            (
                "retransmitted",
                chart(&streams, "Retransmissions on the wire", "retransmitted bytes (%)", |it| {
                    100.0 * it.retransmitted
                }),
            ),
        ],
        tables: vec![("", table(&streams))],
        ..figure.finding(context, method)
    })
}

fn mean(streams: &[Upstream], of: fn(&Upstream) -> f64) -> f64 {
    statistics::mean(&streams.iter().map(of).collect::<Vec<_>>()).unwrap_or(f64::NAN)
}

fn claims(streams: &Streams) -> Vec<Claim> {
    let poor: Vec<usize> = (0..DISTANCES.len()).filter(|at| DISTANCES[*at] >= POOR).collect();
    let compared = |of: fn(&Upstream) -> f64| -> Vec<(f64, f64)> {
        poor.iter().map(|at| (mean(&streams[0][*at], of), mean(&streams[1][*at], of))).collect()
    };
    let shown = |pairs: &[(f64, f64)], scale: f64| -> String {
        let pair = |(sap, tcp): &(f64, f64)| format!("{:.2} and {:.2}", scale * sap, scale * tcp);
        pairs.iter().map(pair).collect::<Vec<_>>().join(", ")
    };
    let retransmitted = compared(|it| it.retransmitted);
    let waiting = compared(|it| it.waiting);
    let age = compared(|it| it.age);
    let lower = |pairs: &[(f64, f64)]| pairs.iter().all(|(sap, tcp)| sap < tcp);
    vec![
        Claim::once(
            "S0.72",
            "what the last hop loses does not cross the links before it again",
            format!(
                "% that cross again, from 10 m on, SAP and TCP: {}",
                shown(&retransmitted, 100.0)
            ),
            retransmitted.iter().all(|(sap, tcp)| *sap == 0.0 && *tcp > 0.0),
        ),
        Claim::once(
            "S0.72",
            "less delay upstream: queues before the wire are shorter",
            format!("mean wait in ms, SAP and TCP: {}", shown(&waiting, 1e3)),
            lower(&waiting),
        ),
        Claim::once(
            "S0.72",
            "lower latency from end to end",
            format!("mean age in ms, SAP and TCP: {}", shown(&age, 1e3)),
            lower(&age),
        ),
    ]
}

fn chart(streams: &Streams, title: &str, unit: &str, of: fn(&Upstream) -> f64) -> Chart {
    let series = PROTOCOLS.iter().zip(streams).map(|((_, name), places)| {
        let point = |(metres, streams): (&f64, &Vec<Upstream>)| {
            Point::of(*metres, &streams.iter().map(of).collect::<Vec<_>>())
        };
        let points = DISTANCES.iter().zip(places).filter_map(point);
        Series::new(*name, Mark::LinePoints, points.collect())
    });
    Chart {
        title: title.to_owned(),
        subtitle: "3.3 Mb/s over 5 Mb/s, then 54 Mb/s in the office; mean and range".to_owned(),
        x: Axis::linear("distance of the last hop (m)").from_zero(),
        y: Axis::linear(unit).from_zero(),
        series: series.collect(),
        rules: Vec::new(),
    }
}

fn table(streams: &Streams) -> Table {
    let mut table = Table::new([
        "protocol",
        "distance (m)",
        "streams",
        "arrived (%)",
        "retransmitted (%)",
        "wait (ms)",
        "age (ms)",
    ]);
    for ((_, name), places) in PROTOCOLS.iter().zip(streams) {
        for (metres, streams) in DISTANCES.iter().zip(places) {
            table.push([
                (*name).to_owned(),
                metres.to_string(),
                streams.len().to_string(),
                format!("{:.2}", mean(streams, |it| 100.0 * it.arrived)),
                format!("{:.4}", mean(streams, |it| 100.0 * it.retransmitted)),
                format!("{:.4}", 1e3 * mean(streams, |it| it.waiting)),
                format!("{:.4}", 1e3 * mean(streams, |it| it.age)),
            ]);
        }
    }
    table
}
