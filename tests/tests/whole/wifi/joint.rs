//! Rate, code and fragments chosen together: against Minstrel, for several stations, within a
//! lifetime, and for owners who take damage. `windfall reproduce ours.joint` has the measurements.

use std::thread;

use windfall_base::{Seed, Stream};
use windfall_network::ElementId;
use windfall_report::Estimate;
use windfall_tests::run::{Outcome, UPLINK, pair, run};

use super::examples::{read, reported};
use crate::coding::document::{FULL, hold_table};

const JOINT: &str = "policy = \"joint\"";
const MINSTREL: &str = "radio.rate-control = \"minstrel\"";

/// Megabits a second that a saturated sender delivers in two seconds.
fn carried(air: &str, control: &str, seed: u64) -> f64 {
    let spray = "[[app]]\nkind = \"spray\"\nstation = \"near\"\nto = \"far\"\nrate = \"60Mbps\"\n";
    let text = pair(2, &format!("kind = \"wifi-g\"\n{control}\n{air}"), spray);
    run(&text, seed).ledger(UPLINK).delivered_bytes as f64 * 4e-6
}

fn seed(path: &str, n: u64) -> u64 {
    Stream::new(Seed(n), path).bits()
}

#[test]
fn joint_carries_more_than_minstrel_near_the_edge_and_where_the_signal_fades() {
    for air in [
        "radio.path-loss = \"93dB\"",
        "radio.path-loss = \"107dB\"",
        "radio.path-loss = \"90dB\"\nradio.fading = \"rayleigh 2\"",
    ] {
        let seed = seed(air, 0);
        let [joint, minstrel] = [JOINT, MINSTREL].map(|control| carried(air, control, seed));
        println!("{air}: joint {joint:.2}, Minstrel {minstrel:.2} Mb/s");
        assert!(joint > minstrel, "{air}: {joint} of {minstrel}");
    }
}

/// Megabits a second that saturated senders deliver to one station in three seconds, together.
fn crowd(senders: u32, link: &str, control: &str) -> f64 {
    let names: Vec<String> = (1..=senders).map(|number| format!("n{number}")).collect();
    let listed: String = names.iter().map(|name| format!(", \"{name}\"")).collect();
    let mut text = format!(
        "format = 1\nduration = \"3s\"\n[[link]]\nstations = [\"far\"{listed}]\n\
         kind = \"wifi-g\"\nradio.path-loss = \"70dB\"\n{link}\n{control}\n\
         [[station]]\nname = \"far\"\n"
    );
    for name in &names {
        text += &format!(
            "[[station]]\nname = \"{name}\"\n[[app]]\nkind = \"spray\"\nstation = \"{name}\"\n\
             to = \"far\"\nrate = \"60Mbps\"\n"
        );
    }
    let outcome = run(&text, 1);
    let interfaces = (0..=senders).map(ElementId);
    interfaces.map(|it| outcome.ledger(it).delivered_bytes).sum::<u64>() as f64 * 8e-6 / 3.0
}

/// Collisions are no reason for a slower rate: at this signal 54 Mb/s is the best for all.
#[test]
fn joint_takes_collisions_for_no_damage() {
    for (senders, link) in [(2, "arq = \"none\""), (5, ""), (10, "")] {
        let [joint, fixed] = [JOINT, "rate = \"54Mbps\"\npolicy = \"parity-0\""]
            .map(|control| crowd(senders, link, control));
        println!("{senders} senders, {link}: joint {joint:.2}, 54 Mb/s {fixed:.2} Mb/s");
        assert!(joint > 0.95 * fixed, "{senders} senders: {joint} of {fixed}");
    }
}

/// Of more packets than the link carries, each with a lifetime, those are sent that can arrive in
/// it: nearly as many as of packets without one.
#[test]
fn joint_fills_the_link_with_packets_that_are_in_time() {
    let app = "[[app]]\nkind = \"cbr\"\nstation = \"near\"\nto = \"far\"\nsize = 1472\n\
               rate = \"30Mbps\"\n";
    let flow = "[[flow]]\nname = \"fresh\"\nprotocol = \"udp\"\nlifetime = \"20ms\"\n";
    let link = format!("kind = \"wifi-g\"\n{JOINT}\nradio.path-loss = \"105dB\"");
    let delivered = |flow: &str| {
        let outcome = run(&pair(2, &link, &format!("{app}{flow}")), 1);
        outcome.ledger(UPLINK).delivered
    };
    let [all, fresh] = ["", flow].map(delivered);
    println!("105 dB: {all} packets, {fresh} with a lifetime of 20 ms");
    assert!(fresh > all * 9 / 10, "{fresh} of {all}");
}

/// Packets before the first report are not lost if they have two attempts: the path is taken
/// for a long one until then. Of the first twenty packets one may be lost in all runs.
#[test]
fn joint_loses_no_first_packets_near_the_edge() {
    let apps = "[[app]]\nkind = \"cbr\"\nstation = \"near\"\nto = \"far\"\nsize = 1400\n\
                rate = \"224kbps\"\n[[flow]]\nname = \"few\"\nprotocol = \"udp\"\nattempts = 2\n";
    for air in ["radio.path-loss = \"105dB\"", "radio.path-loss = \"107dB\""] {
        let text = pair(1, &format!("kind = \"wifi-g\"\n{JOINT}\n{air}"), apps);
        let lost = (0..8).map(|n| run(&text, seed(air, n)).ledger(UPLINK).drops.total());
        let lost: Vec<u64> = lost.collect();
        println!("{air}: {lost:?}");
        assert!(lost.iter().sum::<u64>() <= 1, "{air}: {lost:?}");
    }
}

#[test]
fn the_examples_carry_what_their_comments_say() {
    let carried = |name: &str, seconds: u64| {
        reported(&read(name), seconds, 1, "received_bytes") * 8e-6 / seconds as f64
    };
    let edge = carried("joint-edge.toml", 3);
    assert!((6.5..8.5).contains(&edge), "{edge} Mb/s");
    let walk = carried("joint-walk.toml", 20);
    assert!((20.0..27.0).contains(&walk), "{walk} Mb/s");
}

/// The marks around the table of `--combine` in the document.
const BEGIN: &str = "<!-- joint-combining -->\n";
const END: &str = "<!-- end of joint-combining -->\n";

/// Their scenarios, at one distance and on the walk.
const EDGE: &str = include_str!("../../../../scenarios/examples/joint-edge.toml");
const WALK: &str = include_str!("../../../../scenarios/examples/joint-walk.toml");

/// The paths of `windfall reproduce ours.joint` with one sender of long packets, and whether every
/// run tries them.
const PATHS: [(&str, &str, bool); 12] = [
    ("80 dB", "80dB", false),
    ("91 dB", "91dB", false),
    ("93 dB", "93dB", true),
    ("96 dB", "96dB", false),
    ("100 dB", "100dB", false),
    ("103 dB", "103dB", false),
    ("105 dB", "105dB", false),
    ("107 dB, near the edge", "107dB", true),
    ("108.5 dB, at the edge", "108.5dB", false),
    ("90 dB, Rayleigh, 2 Hz", "90dB\"\nfading = \"rayleigh 2", false),
    ("95 dB, Rayleigh, 10 Hz", "95dB\"\nfading = \"rayleigh 10", true),
    ("walk from 5 to 120 m and back", "", false),
];

/// Megabits a second that `joint` carries over a path alone, and with copies combined.
fn with_and_without_copies(path: &str, seconds: u64, seeds: u64) -> Vec<[f64; 2]> {
    let (text, seconds) = match path {
        "" => (WALK.to_owned(), 20),
        path => (EDGE.replace("107dB", path), seconds),
    };
    let text = text.replace("duration = \"10s\"", &format!("duration = \"{seconds}s\""));
    let one = |n| {
        [JOINT.to_owned(), format!("{JOINT}\ncombine = true")].map(|control| {
            let outcome = run(&text.replace(JOINT, &control), seed(path, n));
            outcome.ledger(UPLINK).delivered_bytes as f64 * 8e-6 / seconds as f64
        })
    };
    (0..seeds).map(one).collect()
}

/// Copies that are combined save some where frames fail now and then, and cost nothing elsewhere.
#[test]
fn joint_loses_nothing_by_combining_copies() {
    if std::env::var_os(FULL).is_some() {
        return whole();
    }
    for (name, path, _) in PATHS.into_iter().filter(|(_, _, always)| *always) {
        let [alone, combined] = with_and_without_copies(path, 2, 1)[0];
        println!("{name}: {alone:.2}, combined {combined:.2} Mb/s");
        assert!(combined > 0.98 * alone, "{name}: {combined} of {alone}");
    }
}

/// Runs all paths with ten seeds and compares the document with them.
fn whole() {
    let mut table =
        String::from("| path | joint | with `--combine` | of joint |\n|---|---|---|---|\n");
    let (left, right) = PATHS.split_at(PATHS.len() / 2);
    let all = |paths: &[(&str, &str, bool)]| -> Vec<Vec<[f64; 2]>> {
        paths.iter().map(|(_, path, _)| with_and_without_copies(path, 5, 10)).collect()
    };
    let cells = thread::scope(|scope| {
        let other = scope.spawn(move || all(right));
        let mut cells = all(left);
        cells.extend(other.join().expect("runs that end"));
        cells
    });
    for ((name, _, _), cell) in PATHS.iter().zip(&cells) {
        let mean = |of: usize| cell.iter().map(|it| it[of]).sum::<f64>() / cell.len() as f64;
        let ratios: Vec<f64> = cell.iter().map(|[alone, combined]| combined / alone).collect();
        let Estimate { value, low, high, .. } = Estimate::mean(&ratios);
        table += &format!(
            "| {name} | {:.2} | {:.2} | {value:.3} ({low:.3} to {high:.3}) |\n",
            mean(0),
            mean(1)
        );
    }
    println!("{table}");
    hold_table(BEGIN, END, &table);
}

/// An access point that sprays stations at these distances, and the share of the air that it is
/// asked for.
fn cell(distances: &[u32], queue: &str) -> Outcome {
    let names: Vec<String> = distances.iter().map(|metres| format!("at{metres}")).collect();
    let quoted: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
    let mut text = format!(
        "format = 1\nduration = \"6s\"\n[[station]]\nname = \"ap\"\nradio.position = [0, 0]\n\
         [[link]]\nkind = \"wifi-g\"\nstations = [\"ap\", {}]\nbase = \"ap\"\n{JOINT}\n\
         queue = \"{queue}\"\n",
        quoted.join(", ")
    );
    for (name, metres) in names.iter().zip(distances) {
        text += &format!(
            "[[station]]\nname = \"{name}\"\nradio.position = [{metres}, 0]\n\
             [[app]]\nkind = \"spray\"\nstation = \"ap\"\nto = \"{name}\"\nrate = \"40Mbps\"\n"
        );
    }
    run(&text, 1)
}

/// Megabits a second that each station of a cell receives.
fn received(distances: &[u32], queue: &str) -> Vec<f64> {
    let outcome = cell(distances, queue);
    let one = |at: usize| outcome.report_at("sink", at + 1)["received_bytes"] * 8e-6 / 6.0;
    (0..distances.len()).map(one).collect()
}

#[test]
fn each_station_has_the_rate_and_code_of_its_own_path() {
    let alone = [5, 60, 95].map(|metres| received(&[metres], "airtime,100")[0]);
    assert!(alone[2] < 0.65 * alone[0] && alone[2] > 1.0, "{alone:?}");
    // With a third of the air time each has a third of what it has alone: what is known of one
    // path misleads on no other.
    let all = received(&[5, 60, 95], "airtime,100");
    println!("alone {alone:.2?}, together {all:.2?} Mb/s");
    for (alone, share) in alone.iter().zip(&all) {
        let third = share / alone;
        assert!((0.27..0.40).contains(&third), "{all:.2?} of {alone:.2?}");
    }
}

/// Fifty datagrams of 1200 bytes a second over a path, with the keys of their flow and transport.
fn slow(air: &str, flow: &str, transport: &str, seed: u64) -> Outcome {
    let cbr = format!(
        "[[flow]]\nname = \"own\"\ndst-port = 5000\n{flow}\n\
         [[app]]\nkind = \"cbr\"\nstation = \"near\"\nto = \"far\"\nport = 5000\n\
         {transport}\nsize = 1200\nrate = \"480kbps\"\n"
    );
    run(&pair(8, &format!("kind = \"wifi-g\"\n{JOINT}\n{air}"), &cbr), seed)
}

/// Frames that the sender needed for each datagram.
fn frames(outcome: &Outcome) -> f64 {
    outcome.ledger(UPLINK).packets.frames as f64 / outcome.report("cbr")["sent"]
}

#[test]
fn a_packet_with_a_short_lifetime_has_fewer_attempts() {
    // In the troughs of the fading nothing is heard.
    let air = "radio.path-loss = \"108dB\"\nradio.fading = \"rayleigh 1\"";
    let [without, long, short] = ["", "lifetime = \"50ms\"", "lifetime = \"8ms\""]
        .map(|flow| frames(&slow(air, flow, "", 3)));
    println!("frames of a datagram: {without:.2}, in 50 ms {long:.2}, in 8 ms {short:.2}");
    assert!(short < 0.9 * without && short < 0.8 * long, "{short} and {long} of {without}");
}

#[test]
fn an_owner_who_takes_damage_gets_it_in_place_of_repeats() {
    let air = "radio.path-loss = \"106dB\"\nradio.fading = \"rayleigh 10\"";
    let flow = |accepts| format!("attempts = 7\naccept-damaged = {accepts}");
    let transport = "transport = \"udplite\"\ncoverage = 8";
    // Frames for each datagram, and datagrams received, marked as damaged, and doubled.
    let sums = [false, true].map(|accepts| {
        let outcomes = (1..=8).map(|seed| slow(air, &flow(accepts), transport, seed));
        outcomes.fold([0.0; 4], |sum, outcome| {
            let sink = ["received", "marked_damaged", "duplicates"];
            let [received, damaged, doubled] = sink.map(|what| outcome.report("sink")[what]);
            let one = [frames(&outcome) / 8.0, received, damaged, doubled];
            core::array::from_fn(|place| sum[place] + one[place])
        })
    });
    println!("exact {:?}, tolerant {:?}", sums[0], sums[1]);
    let [[repeated, all, none, _], [once, received, damaged, doubled]] = sums;
    assert_eq!(none, 0.0);
    assert!(damaged > 80.0 && once < repeated, "{damaged} {once} of {repeated}");
    // Those whose headers are damaged too are lost to it.
    assert!(received > 0.85 * all, "{received} of {all}");
    // A damaged copy is the only one.
    assert!(doubled < 0.02 * received, "{doubled}");
}
