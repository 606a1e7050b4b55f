//! Goodput of saturated senders, as ns-3.37 simulated it.

use windfall_base::{Duration, Rate};
use windfall_mac::dcf::{Config, ExtendedGap, RatePolicy};
use windfall_tests::saturation::{Cell, Goodput};
use windfall_wire_link::ieee80211::{Phy, PhyRate, Timing};

const ROWS: &str = include_str!("../../data/ns3/wifi-goodput.csv");

/// A row of the reference: UDP without noise.
struct Row {
    rate: PhyRate,
    senders: u16,
    payload: usize,
    short_slot: bool,
    mbps: f64,
}

fn rows() -> Vec<Row> {
    let row = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        let clean = fields[0] == "udp" && fields[9] == "60.0";
        clean.then(|| Row {
            rate: rate(fields[1]),
            senders: fields[4].parse().unwrap(),
            payload: fields[5].parse().unwrap(),
            short_slot: fields[7] == "1",
            mbps: fields[10].parse().unwrap(),
        })
    };
    ROWS.lines().skip(1).filter_map(row).collect()
}

/// `ErpOfdmRate54Mbps`, `DsssRate5_5Mbps`.
fn rate(name: &str) -> PhyRate {
    let digits = name.split("Rate").nth(1).unwrap().trim_end_matches("Mbps").replace('_', ".");
    let bps = digits.parse::<f64>().unwrap() * 1e6;
    PhyRate::from_rate(Rate::from_bps(bps as u64).unwrap()).unwrap()
}

fn measure(row: &Row) -> Goodput {
    let phy = if row.rate.is_ofdm() { Phy::G } else { Phy::B };
    let change = |config: &mut Config| {
        config.rate = RatePolicy::Fixed(row.rate);
        config.timing = Timing::of(phy, row.short_slot);
        match phy {
            // In ns-3's ad hoc network every rate of 802.11b answers for itself.
            Phy::B => config.basic_rates = PhyRate::ALL[..4].to_vec(),
            // Of two OFDM frames that collide with equal strength it cannot read the header, and
            // keeps no extended gap after such energy. At 1 Mb/s it can.
            Phy::G => config.extended_gap = ExtendedGap::ReadableHeader,
        }
    };
    let mut cell = Cell::new(phy, row.senders, row.payload, 1, change);
    cell.run(Duration::from_secs(if row.senders > 1 { 20 } else { 10 }))
}

#[test]
fn goodput_is_that_of_ns3() {
    let rows = rows();
    assert_eq!(rows.len(), 26);
    for row in rows {
        let goodput = measure(&row);
        let difference = goodput.total_mbps() / row.mbps - 1.0;
        let tolerance = if row.senders == 1 { 0.01 } else { 0.03 };
        let name =
            format!("{} from {} senders, short slot {}", row.rate, row.senders, row.short_slot);
        println!(
            "{name}: {:.4} Mb/s, ns-3 {:.4}: {:+.2} %, fairness {:.4}, {} of {} repeated",
            goodput.total_mbps(),
            row.mbps,
            difference * 100.0,
            goodput.fairness(),
            goodput.repeated,
            goodput.frames
        );
        assert!(difference.abs() <= tolerance, "{name}: {:+.2} %", difference * 100.0);
        assert!(goodput.fairness() > 0.99, "{name}: {:?}", goodput.senders);
    }
}
