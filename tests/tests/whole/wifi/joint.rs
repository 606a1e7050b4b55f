//! Rate, code and fragments chosen together: against Minstrel, for several stations, within a
//! lifetime, and for owners who take damage. `windfall reproduce ours.joint` has the measurements.

use windfall_base::{Seed, Stream};
use windfall_tests::run::{Outcome, UPLINK, pair, run};

use super::examples::{read, reported};

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
fn slow(air: &str, flow: &str, transport: &str) -> Outcome {
    let cbr = format!(
        "[[flow]]\nname = \"own\"\ndst-port = 5000\n{flow}\n\
         [[app]]\nkind = \"cbr\"\nstation = \"near\"\nto = \"far\"\nport = 5000\n\
         {transport}\nsize = 1200\nrate = \"480kbps\"\n"
    );
    run(&pair(8, &format!("kind = \"wifi-g\"\n{JOINT}\n{air}"), &cbr), 3)
}

/// Frames that the sender needed for each datagram.
fn frames(outcome: &Outcome) -> f64 {
    outcome.ledger(UPLINK).frames as f64 / outcome.report("cbr")["sent"]
}

#[test]
fn a_packet_with_a_short_lifetime_has_fewer_attempts() {
    // In the troughs of the fading nothing is heard.
    let air = "radio.path-loss = \"108dB\"\nradio.fading = \"rayleigh 1\"";
    let [without, long, short] =
        ["", "lifetime = \"50ms\"", "lifetime = \"8ms\""].map(|flow| frames(&slow(air, flow, "")));
    println!("frames of a datagram: {without:.2}, in 50 ms {long:.2}, in 8 ms {short:.2}");
    assert!(short < 0.9 * without && short < 0.8 * long, "{short} and {long} of {without}");
}

#[test]
fn an_owner_who_takes_damage_gets_it_in_place_of_repeats() {
    let air = "radio.path-loss = \"106dB\"\nradio.fading = \"rayleigh 10\"";
    let [exact, tolerant] = ["false", "true"].map(|accepts| {
        let flow = format!("attempts = 7\naccept-damaged = {accepts}");
        slow(air, &flow, "transport = \"udplite\"\ncoverage = 8")
    });
    let received = |outcome: &Outcome, what| outcome.report("sink")[what];
    let [repeated, once] = [&exact, &tolerant].map(frames);
    let damaged = received(&tolerant, "marked_damaged");
    println!(
        "exact {repeated:.2} frames, {}; tolerant {once:.2} frames, {} of them {damaged} damaged",
        received(&exact, "received"),
        received(&tolerant, "received"),
    );
    assert_eq!(received(&exact, "marked_damaged"), 0.0);
    assert!(damaged > 10.0 && once < 0.9 * repeated, "{damaged} {once} of {repeated}");
    // Those whose headers are damaged too are lost to it.
    assert!(received(&tolerant, "received") > 0.9 * received(&exact, "received"));
    // A damaged copy is the only one.
    assert!(received(&tolerant, "duplicates") < 0.02 * received(&tolerant, "received"));
}
