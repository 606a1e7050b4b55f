//! The layers of a run by its log, against what the run itself knows.

use std::collections::BTreeMap;

use windfall_base::{Instant, MemoryBudget, PacketEventKind, Seed};
use windfall_network::Recording;
use windfall_output::log::EventLog;
use windfall_scenario::sim::Simulation;
use windfall_tests::run::{pair, topology};
use windfall_view::layers::{Act, LayerLog, LogLayer, LogWindow};

const APPS: &str = "[[app]]\nkind = \"cbr\"\nstation = \"near\"\nto = \"far\"\nsize = 100\n\
                    interval = \"250ms\"\ncount = 200\n";

/// Bytes of headers of a datagram of UDP over IPv4.
const HEADERS: f64 = 28.0;

/// The log of a run, what its sink reports, and the delays of its packets.
fn logged(link: &str) -> (LayerLog, BTreeMap<&'static str, f64>, Vec<f64>) {
    let topology = topology(&pair(60, link, APPS));
    let mut simulation = Simulation::new(&topology, Seed(5)).expect("it can be built");
    simulation.network_mut().record(Recording { events: true, packets: false });
    let network = simulation.network();
    let names = network.elements().map(|it| network.name(it).to_owned()).collect();
    let mut log = EventLog::new(Vec::new(), Seed(5), "test", names).expect("memory");
    let mut entered: BTreeMap<u64, Instant> = BTreeMap::new();
    let mut delays = Vec::new();
    let end = simulation.end();
    let observe = &mut |event: &windfall_network::NetworkEvent| {
        match event.what.named_packet() {
            Some((tag, PacketEventKind::Queued { .. })) => {
                entered.insert(tag.0, event.at);
            }
            Some((tag, PacketEventKind::Delivered { .. })) => {
                delays.push((event.at - entered[&tag.0]).as_secs_f64());
            }
            _ => {}
        }
        log.record(event)
    };
    simulation.run(end, observe).expect("it runs");
    let text = String::from_utf8(log.into_inner()).expect("it is text");
    let read = LayerLog::read(&text, &mut MemoryBudget::default()).expect("it is a log");
    let station = simulation.network().station(1).expect("the far one");
    let report =
        station.reports(simulation.now()).flatten().map(|(name, it)| (name, it.number())).collect();
    (read, report, delays)
}

//= S1.30
//= S1.34
#[test]
fn the_measures_of_a_log_are_those_of_the_run() {
    for link in [
        "kind = \"gsm\"\nenvironment = \"gsm-bad\"\narq = 6",
        "kind = \"gsm\"\nenvironment = \"gsm-bad\"",
        "rate = \"64kbps\"\ndelay = \"30ms\"\nloss = 0.1",
    ] {
        let (log, sink, delays) = logged(link);
        let [measures] = &log.measures(LogWindow::ALL)[..] else { panic!("one direction: {link}") };
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-6 * b.abs(), "{link}: {a} {b}");
        assert_eq!((measures.entered, measures.arrived as f64), (200, sink["received"]));
        assert_eq!(measures.lost, 200 - measures.arrived, "{link}");
        assert_eq!(measures.delays.len(), delays.len());
        near(mean(&measures.delays), mean(&delays));
        near(mean(&measures.gaps), sink["gap_mean_seconds"]);
        let payload = 100.0 / (100.0 + HEADERS);
        near(1e3 * payload * measures.throughput().unwrap_or(0.0), sink["goodput_bps"]);
    }
}

//= S1.31
//= S1.32
#[test]
fn the_frames_of_rlp_are_in_the_log_with_their_copies() {
    let (log, _, _) = logged("kind = \"gsm\"\nenvironment = \"gsm-bad\"\narq = 6");
    let count = |act: Act, sender: usize| {
        let of = log.rows.iter().filter(|row| row.layer == LogLayer::Rlp && row.act == act);
        of.filter(|row| row.sender == Some(sender) && row.number.is_some()).count()
    };
    let new = count(Act::Sent, 0);
    let again = count(Act::Again, 0);
    let arrived = count(Act::Arrived, 0);
    // 200 packets of 136 bytes on the line, 24 characters in each frame, some escapes.
    assert!((200 * 136 / 24..200 * 8).contains(&new), "{new}");
    let hit = |row: &&windfall_view::layers::LayerRow| {
        row.layer == LogLayer::Block && row.act == Act::Damaged && row.sender == Some(0)
    };
    let damaged = log.rows.iter().filter(hit).count();
    assert!(again > 0 && damaged > 0, "{again} {damaged}");
    // What was not damaged arrived, but for what was under way at the end.
    assert!(arrived <= new + again && arrived + damaged + 8 >= new + again, "{new} {arrived}");
    let kinds: Vec<&str> = log.rows.iter().map(|row| row.note.as_str()).collect();
    for kind in ["xid P", "xid F", "sabm P", "ua F"] {
        assert!(kinds.contains(&kind), "{kind}");
    }
    assert!(kinds.iter().any(|kind| kind.contains("srej")));
    // All that was sent once is in order.
    let new = log.rows.iter().filter(|row| row.layer == LogLayer::Rlp && row.act == Act::Sent);
    let positions: Vec<u64> =
        new.filter(|row| row.sender == Some(0)).filter_map(|row| row.position).collect();
    assert!(positions.windows(2).all(|pair| pair[1] == pair[0] + 24));
}
