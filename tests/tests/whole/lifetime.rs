//! Packets that are worthless after a time: over every link, code and policy none is delivered
//! later, none is sent that could not be in time, and what comes late has its name.

use std::collections::BTreeMap;

use windfall_base::{DropReason, Duration, PacketEvent, PacketEventKind, Seed};
use windfall_network::{EventKind, Recording};
use windfall_scenario::sim::Simulation;
use windfall_tests::run::{UPLINK, pair, run, topology};

use crate::coding::document::{FULL, hold_table};

/// The packets of a run by their age when they were delivered, and those that came late.
#[derive(Clone, Copy, Debug, Default)]
struct Ages {
    in_time: u64,
    late: u64,
    /// Those that their receiver dropped because they were late.
    dropped_late: u64,
    /// Those that their sender dropped because they could not be in time.
    expired: u64,
}

/// Packets of 500 bytes, as many as fill a link of `rate`, each with a lifetime.
fn ages(link: &str, rate: &str, lifetime: &str, more: &str) -> Ages {
    let load = format!("size = 472\nrate = \"{rate}\"\n");
    ages_of((link, 4, 3), &load, lifetime, more)
}

/// Packets of a load on a link, each with a lifetime, in a run of `seconds` seconds.
fn ages_of(
    (link, seconds, seed): (&str, u64, u64),
    load: &str,
    lifetime: &str,
    more: &str,
) -> Ages {
    let app = format!(
        "[[app]]\nkind = \"cbr\"\nstation = \"near\"\nto = \"far\"\nport = 5004\n{load}\
         [[flow]]\nname = \"fresh\"\ndst-port = 5004\nlifetime = \"{lifetime}\"\n{more}"
    );
    let topology = topology(&pair(seconds, link, &app));
    let mut simulation = Simulation::new(&topology, Seed(seed)).expect("a legal scenario");
    simulation.network_mut().record(Recording { events: true, packets: false });
    let lifetime: Duration = lifetime.parse().expect("a time");
    let mut queued = BTreeMap::new();
    let mut ages = Ages::default();
    let observed = simulation.run(simulation.end(), &mut |event| {
        let EventKind::Packet(PacketEvent { tag, kind }) = &event.what else { return Ok(()) };
        match kind {
            PacketEventKind::Queued { .. } => drop(queued.insert(*tag, event.at)),
            PacketEventKind::Delivered { .. } => {
                let due = queued.get(tag).map(|at| *at + lifetime);
                let is_in_time = due.is_none_or(|due| event.at <= due);
                ages.in_time += u64::from(is_in_time);
                ages.late += u64::from(!is_in_time);
            }
            _ => {}
        }
        Ok(())
    });
    observed.expect("it runs");
    let drops = &simulation.network().ledger(UPLINK).drops;
    ages.dropped_late = drops.of(DropReason::Late);
    ages.expired = drops.of(DropReason::Expired);
    ages
}

/// The error controls of a pipe.
const PIPES: [&str; 14] = [
    "",
    "arq = \"persistent\"",
    "arq = 2",
    "arq = \"persistent\"\nincrements = true",
    "arq = \"persistent\"\ncombine = true",
    "arq = \"persistent\"\nincrements = true\ncombine = true",
    "fec = \"8/12:12ms\"",
    "fec = \"window:16:25%:12ms\"",
    "policy = \"bold\"",
    "policy = \"light\"",
    "policy = \"robust\"",
    "policy = \"flex\"",
    "policy = \"flex-whole\"",
    "policy = \"best\"",
];

/// On a line of a known rate and delay nothing is sent for nothing: without losses nothing comes
/// late, and the line is as full as without a lifetime.
#[test]
fn a_full_pipe_carries_only_what_arrives_in_time() {
    for control in PIPES {
        let link = format!("rate = \"5Mbps\"\ndelay = \"6ms\"\n{control}");
        let found = ages(&link, "6Mbps", "23ms", "");
        println!("{control:?}: {found:?}");
        assert_eq!((found.late, found.dropped_late), (0, 0), "{control}: {found:?}");
        // Of 5 Mb/s ROBUST takes the most: two of five.
        assert!(found.in_time > 2_800 && found.expired > 100, "{control}: {found:?}");
    }
}

/// The rate of such lines is learned from the frames before.
#[test]
fn lines_of_other_kinds_deliver_nothing_late_either() {
    for line in [
        "rate = \"5Mbps\"\nbucket = \"20kB\"\ndelay = \"6ms\"",
        "rate = \"5Mbps\"\noverhead = 60\ndelay = \"6ms\"",
        "rate = \"5Mbps\"\ncell = \"48+5\"\ndelay = \"6ms\"",
        "rate = \"5Mbps\"\njitter = \"2ms\"\ndelay = \"6ms\"",
        "rate = \"5Mbps\"\ndelay = \"6ms\"\n[[change]]\nat = \"1s\"\nlink = \"air\"\n\
         rate = \"3Mbps\"\ndelay = \"9ms\"",
    ] {
        let found = ages(line, "6Mbps", "23ms", "");
        println!("{line:?}: {found:?}");
        assert_eq!(found.late, 0, "{line}: {found:?}");
        let late = found.dropped_late as f64 / found.in_time as f64;
        assert!(late < 0.01 && found.in_time > 2_500, "{line}: {found:?}");
    }
}

/// Lost and damaged frames make some packets late, which wait for others. All of these are counted
/// under their name.
#[test]
fn losses_make_nothing_late_that_is_delivered() {
    for control in PIPES {
        let link = format!(
            "rate = \"5Mbps\"\ndelay = \"3ms\"\n{control}\n\
             [link.uplink]\nloss = \"5%\"\nber = 2e-5"
        );
        for rate in ["3Mbps", "6Mbps"] {
            let found = ages(&link, rate, "23ms", "");
            println!("{control:?}, {rate}: {found:?}");
            assert_eq!(found.late, 0, "{control}, {rate}: {found:?}");
            assert!(found.in_time > 1_500, "{control}, {rate}: {found:?}");
        }
    }
}

/// A flow that has its packets in any order loses none to the repetitions of others.
#[test]
fn packets_in_any_order_wait_for_none() {
    for control in ["arq = \"persistent\"", "policy = \"flex\"", "fec = \"8/12:12ms\""] {
        let link =
            format!("rate = \"5Mbps\"\ndelay = \"6ms\"\n{control}\n[link.uplink]\nloss = \"10%\"");
        let [ordered, unordered] =
            ["", "unordered = true\n"].map(|more| ages(&link, "3Mbps", "15ms", more));
        println!("{control:?}: {ordered:?}, in any order {unordered:?}");
        assert_eq!(unordered.late, 0, "{control}: {unordered:?}");
        assert!(unordered.dropped_late <= ordered.dropped_late, "{control}: {unordered:?}");
        assert!(unordered.in_time >= ordered.in_time, "{control}: {unordered:?} {ordered:?}");
    }
    let order = |more: &str| {
        let link = "rate = \"5Mbps\"\ndelay = \"6ms\"\narq = \"persistent\"\n\
                    [link.uplink]\nloss = \"10%\"";
        let apps = format!(
            "[[app]]\nkind = \"cbr\"\nstation = \"near\"\nto = \"far\"\nport = 5004\n\
             size = 472\nrate = \"2Mbps\"\n\
             [[flow]]\nname = \"any\"\ndst-port = 5004\n{more}"
        );
        run(&pair(3, link, &apps), 3).report("sink")["reordered"]
    };
    assert_eq!(order("lifetime = \"500ms\"\n"), 0.0);
    // Without a lifetime too.
    assert!(order("unordered = true\n") > 50.0);
}

#[test]
fn radios_and_circuits_deliver_nothing_late() {
    let wavelan = |more: &str| format!("kind = \"wavelan\"\n{more}");
    let wifi = |more: &str| format!("kind = \"wifi-g\"\nradio.path-loss = \"100dB\"\n{more}");
    let gsm = |more: &str| format!("kind = \"gsm\"\n{more}");
    for (link, rate, lifetime) in [
        (wavelan("arq = \"none\""), "1Mbps", "30ms"),
        (wavelan("arq = \"persistent\"\n[link.uplink]\nloss = \"10%\""), "1Mbps", "30ms"),
        (wavelan("policy = \"flex\"\nenvironment = \"walls\""), "1Mbps", "30ms"),
        (wavelan("policy = \"best\"\nenvironment = \"walls\""), "1Mbps", "30ms"),
        (wavelan("policy = \"bold\""), "1Mbps", "30ms"),
        (wifi("rate = \"24Mbps\""), "30Mbps", "20ms"),
        (wifi("rate = \"24Mbps\"\narq = \"none\""), "30Mbps", "20ms"),
        (wifi("rate = \"24Mbps\"\nradio.rts-threshold = 200"), "30Mbps", "20ms"),
        (wifi("rate = \"24Mbps\"\nradio.fragment-threshold = 256"), "30Mbps", "20ms"),
        (wifi("radio.rate-control = \"minstrel\""), "30Mbps", "20ms"),
        (wifi("radio.rate-control = \"arf\""), "30Mbps", "20ms"),
        (wifi("rate = \"24Mbps\"\npolicy = \"parity-16\"\ncombine = true"), "30Mbps", "20ms"),
        (wifi("policy = \"joint\""), "30Mbps", "20ms"),
        (wifi("policy = \"joint\"\ncombine = true"), "30Mbps", "20ms"),
        (gsm("arq = \"none\""), "9kbps", "3s"),
        (gsm("arq = \"persistent\""), "9kbps", "3s"),
        (gsm("modem = \"mnp4\""), "9kbps", "3s"),
    ] {
        let found = ages(&link, rate, lifetime, "");
        println!("{link:?}: {found:?}");
        assert_eq!(found.late, 0, "{link}: {found:?}");
        // Retransmissions of a circuit take time that is not known, and what its modems buffer.
        let most = if link.contains("gsm") { 3 } else { found.in_time / 50 };
        assert!(found.dropped_late <= most && found.in_time > 0, "{link}: {found:?}");
    }
}

/// The marks around the tables of lifetimes in the document.
const POLICIES: [&str; 2] = ["<!-- lifetimes -->\n", "<!-- end of lifetimes -->\n"];
const RADIOS: [&str; 2] = ["<!-- joint-lifetimes -->\n", "<!-- end of joint-lifetimes -->\n"];

#[test]
fn the_tables_of_lifetimes() {
    if std::env::var_os(FULL).is_none() {
        return;
    }
    let mut table = String::from(
        "| place | 472 bytes: flex | best | 1168 bytes: flex | best |\n|---|---|---|---|---|\n",
    );
    for place in ["adjacent", "table", "walls"] {
        table += &format!("| {place} |");
        for (size, interval, lifetime) in [(472, 8, "20ms"), (1168, 16, "40ms")] {
            for policy in ["flex", "best"] {
                let link =
                    format!("kind = \"wavelan\"\nenvironment = \"{place}\"\npolicy = \"{policy}\"");
                let load = format!("size = {size}\ninterval = \"{interval}ms\"\n");
                let found = ages_of((&link, 30, 1), &load, lifetime, "");
                println!("{place}, {size} bytes, {policy}: {found:?}");
                table += &format!(" {} |", found.in_time);
            }
        }
        table.push('\n');
    }
    hold_table(POLICIES[0], POLICIES[1], &table);
    let mut table = String::from(
        "| path, rate, lifetime | joint | best fixed pair | Minstrel |\n|---|---|---|---|\n",
    );
    for (path, rate, lifetime, pair) in [
        ("93dB", "40Mbps", "20ms", "rate = \"54Mbps\"\npolicy = \"parity-32\""),
        ("100dB", "30Mbps", "20ms", "rate = \"24Mbps\"\npolicy = \"parity-8\""),
        ("105dB", "20Mbps", "20ms", "rate = \"18Mbps\"\npolicy = \"parity-64\""),
        ("107dB", "20Mbps", "100ms", "rate = \"12Mbps\"\npolicy = \"parity-16\""),
    ] {
        table += &format!("| {path}, {rate}, {lifetime} |");
        for control in ["policy = \"joint\"", pair, "radio.rate-control = \"minstrel\""] {
            let link = format!("kind = \"wifi-g\"\nradio.path-loss = \"{path}\"\n{control}");
            let load = format!("size = 1472\nrate = \"{rate}\"\n");
            let runs = (1..=3).map(|seed| ages_of((&link, 3, seed), &load, lifetime, ""));
            let runs: Vec<Ages> = runs.collect();
            println!("{path}, {control}: {runs:?}");
            table += &format!(" {} |", runs.iter().map(|it| it.in_time).sum::<u64>() / 3);
        }
        table.push('\n');
    }
    hold_table(RADIOS[0], RADIOS[1], &table);
}
