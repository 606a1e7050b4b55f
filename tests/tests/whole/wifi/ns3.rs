//! Goodput of saturated senders, as ns-3.37 simulated it.

use windfall_base::{Duration, Rate};
use windfall_mac::wifi::{Config, EifsPolicy};
use windfall_tests::run::run;
use windfall_tests::saturation::{Cell, Goodput};
use windfall_wire_link::ieee80211::{Phy, PhyRate, Timing};

const ROWS: &str = include_str!("../../../data/ns3/wifi-goodput.csv");

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

/// Reads a rate as ns-3 names it: `ErpOfdmRate54Mbps`, `DsssRate5_5Mbps`.
fn rate(name: &str) -> PhyRate {
    let digits = name.split("Rate").nth(1).unwrap().trim_end_matches("Mbps").replace('_', ".");
    let bps = digits.parse::<f64>().unwrap() * 1e6;
    PhyRate::from_rate(Rate::from_bps(bps as u64).unwrap()).unwrap()
}

fn measure(row: &Row) -> Goodput {
    let phy = if row.rate.is_ofdm() { Phy::G } else { Phy::B };
    let change = |config: &mut Config| {
        config.rate = row.rate;
        config.timing = Timing::of(phy, row.short_slot);
        if phy == Phy::B {
            // In ns-3's ad hoc network every rate of 802.11b answers for itself.
            config.basic_rates = PhyRate::ALL[..4].to_vec();
            // Of frames that collide the ideal air says that no header could be read. At 1 Mb/s it
            // can, so that EIFS follows.
            config.eifs = EifsPolicy::Always;
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

/// A scenario as a user writes it: saturated senders, everything by default but the rate and what
/// the reference states.
fn scenario(row: &Row, seconds: u64) -> String {
    let kind = if row.rate.is_ofdm() { "wifi-g" } else { "wifi-b" };
    let mut text = format!("format = 1\nduration = \"{seconds}s\"\n[[station]]\nname = \"r\"\n");
    let mut names = "\"r\"".to_owned();
    let mut apps = String::new();
    for sender in 0..row.senders {
        text += &format!("[[station]]\nname = \"s{sender}\"\n");
        names += &format!(", \"s{sender}\"");
        apps += &format!(
            "[[app]]\nkind = \"spray\"\nstation = \"s{sender}\"\nto = \"r\"\nsize = {}\n",
            row.payload
        );
    }
    text += &format!(
        "[[link]]\nname = \"air\"\nkind = \"{kind}\"\nrate = \"{}\"\nstations = [{names}]\n\
         [link.radio]\npath-loss = \"60dB\"\n",
        row.rate.rate()
    );
    if kind == "wifi-b" {
        text += "basic-rates = [\"1Mbps\", \"2Mbps\", \"5.5Mbps\", \"11Mbps\"]\n";
    }
    text + &apps
}

/// The goodput of all senders of a scenario, in Mb/s.
fn goodput_of(text: &str, row: &Row, seconds: u64) -> f64 {
    let simulation = run(text, 1).simulation;
    let network = simulation.network();
    let senders = network.interfaces().skip(1);
    let delivered: u64 = senders.map(|sender| network.ledger(sender).delivered).sum();
    delivered as f64 * row.payload as f64 * 8.0 / seconds as f64 / 1e6
}

#[test]
fn goodput_of_several_senders_is_that_of_ns3_through_a_scenario() {
    const SECONDS: u64 = 10;
    for row in rows().iter().filter(|row| row.senders > 1) {
        let mbps = goodput_of(&scenario(row, SECONDS), row, SECONDS);
        let difference = mbps / row.mbps - 1.0;
        let name = format!("{} from {} senders", row.rate, row.senders);
        println!("{name}: {mbps:.4} Mb/s, ns-3 {:.4}: {:+.2} %", row.mbps, difference * 100.0);
        assert!(difference.abs() <= 0.03, "{name}: {:+.2} %", difference * 100.0);
    }
}

#[test]
fn collisions_at_5_5_mbps_end_as_in_ns3_with_either_error_model() {
    // Three and eight senders; ns-3.37 with CCK collisions between equals, 8 s.
    for (senders, mbps) in [(3, 3.5615), (8, 3.3434)] {
        let row = Row { rate: PhyRate::Cck5_5, senders, payload: 1_024, short_slot: true, mbps };
        for errors in ["formula", "events"] {
            let radio = format!("[link.radio]\nerrors = \"{errors}\"\n");
            let text = scenario(&row, 10).replace("[link.radio]\n", &radio);
            let difference = goodput_of(&text, &row, 10) / row.mbps - 1.0;
            println!("5.5 Mb/s from {senders} senders, {errors}: {:+.2} %", difference * 100.0);
            assert!(difference.abs() <= 0.03, "{senders}, {errors}: {:+.2} %", difference * 100.0);
        }
    }
}

/// Rows of one sender in noise: rate, path loss in decibels, goodput in Mb/s.
fn noisy_rows() -> Vec<(PhyRate, f64, f64)> {
    let row = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        let number = |field: usize| fields[field].parse::<f64>().unwrap();
        let noisy = fields[0] == "udp" && fields[9] != "60.0";
        noisy.then(|| (rate(fields[1]), number(9), number(10)))
    };
    ROWS.lines().skip(1).filter_map(row).collect()
}

#[test]
fn goodput_falls_at_the_strength_at_which_it_does_in_ns3() {
    let rows = noisy_rows();
    assert_eq!(rows.len(), 18);
    for (rate, path_loss, mbps) in rows {
        let at = |shift: f64| {
            let change = |config: &mut Config| config.rate = rate;
            let mut cell = Cell::noisy(path_loss + shift, 1_024, 1, change);
            cell.run(Duration::from_secs(4)).total_mbps()
        };
        // The curves are steep: what ns-3 has lies between a third of a decibel more and less.
        let worse = at(0.3);
        let same = at(0.0);
        let better = at(-0.3);
        println!(
            "{rate} at {path_loss} dB: {same:.3} Mb/s, ns-3 {mbps:.3} ({worse:.3} to {better:.3})"
        );
        let slack = 0.01 * mbps + 0.02;
        assert!(worse - slack <= mbps && mbps <= better + slack, "{rate} at {path_loss} dB");
    }
}
