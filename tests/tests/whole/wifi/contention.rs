//! Stations that contend and hear only others are told of frames all at once: nothing changes.

use windfall_base::{Seed, Stream};
use windfall_tests::run::run;

/// Stations at random places, most of which send to others; `observe` has them told everything.
fn scenario(seed: u64, observe: bool) -> String {
    let stream = &mut Stream::new(Seed(seed), "crowd");
    let count = 3 + stream.below(10);
    // From a room, where signals arrive at one instant, to a field with hidden stations.
    let metres = [6, 60, 200][seed as usize % 3];
    let mut text = "format = 1\nduration = \"1s\"\n".to_owned();
    let mut apps = String::new();
    let mut names = Vec::new();
    for station in 0..count {
        let x = stream.below(metres * 10) as f64 / 10.0;
        let y = stream.below(metres) as f64;
        text += &format!("[[station]]\nname = \"s{station}\"\nradio.position = [{x:.1}, {y:.1}]\n");
        names.push(format!("\"s{station}\""));
        let to = (station + 1 + stream.below(count - 1)) % count;
        let app = match stream.below(4) {
            0 => "kind = \"cbr\"\nsize = 300\ninterval = \"7ms\"",
            1 => "kind = \"spray\"\nsize = 700",
            _ => "kind = \"bulk\"",
        };
        let port = 6000 + station;
        apps +=
            &format!("[[app]]\n{app}\nstation = \"s{station}\"\nto = \"s{to}\"\nport = {port}\n");
    }
    let kind = ["wifi-g", "wifi-b"][stream.below(2) as usize];
    let rts = ["", "rts-threshold = 500\n"][stream.below(2) as usize];
    let names = names.join(", ");
    text + &format!(
        "[[link]]\nname = \"air\"\nkind = \"{kind}\"\nstations = [{names}]\n\
         [link.radio]\nobserve = {observe}\n{rts}{apps}"
    )
}

/// The accounts and the air time of every station, and the measures of its applications.
fn outcome(seed: u64, observe: bool) -> Vec<String> {
    let simulation = run(&scenario(seed, observe), seed).simulation;
    let network = simulation.network();
    let interfaces = network.interfaces().enumerate().map(|(index, interface)| {
        let station = network.station(index);
        let now = simulation.now();
        let reports: Vec<_> = station.into_iter().flat_map(|it| it.reports(now)).collect();
        let airtime = network.airtime(interface, simulation.now());
        format!("{:?} {airtime:?} {reports:?}", network.ledger(interface))
    });
    interfaces.collect()
}

#[test]
fn a_station_that_lends_its_contention_does_what_it_does_when_it_is_told_everything() {
    for seed in 0..12 {
        let told = outcome(seed, true);
        let lent = outcome(seed, false);
        for (told, lent) in told.iter().zip(&lent) {
            assert_eq!(told, lent, "seed {seed}");
        }
    }
}

/// Megabits a second that five saturated senders of 1024-byte datagrams deliver to one station at
/// 6 Mb/s, 9 dB above the noise of OFDM.
fn five_senders(radio: &str) -> f64 {
    let names = ["n1", "n2", "n3", "n4", "n5"];
    let listed = names.map(|name| format!(", \"{name}\"")).concat();
    let mut text = format!(
        "format = 1\nduration = \"4s\"\n[[station]]\nname = \"far\"\n\
         [[link]]\nname = \"air\"\nstations = [\"far\"{listed}]\nkind = \"wifi-g\"\n\
         rate = \"6Mbps\"\n[link.radio]\npath-loss = \"103dB\"\n{radio}\n"
    );
    for name in names {
        text += &format!(
            "[[station]]\nname = \"{name}\"\n[[app]]\nkind = \"spray\"\nstation = \"{name}\"\n\
             to = \"far\"\nsize = 1024\nrate = \"8Mbps\"\n"
        );
    }
    let outcome = run(&text, 1);
    let interfaces = outcome.simulation.network().interfaces();
    interfaces.map(|it| outcome.ledger(it).delivered_bytes).sum::<u64>() as f64 * 8e-6 / 4.0
}

/// Stations that sense only energy below -62 dBm begin in the middle of frames that collided.
#[test]
fn stations_that_follow_frames_they_cannot_read_carry_more_than_those_that_sense_energy() {
    let [follow, energy] = ["", "carrier-sense = \"energy\""].map(five_senders);
    println!("five senders at 6 Mb/s and 103 dB: {follow:.2} Mb/s, by energy {energy:.2} Mb/s");
    assert!(follow > 1.05 * energy && energy > 0.5 * follow, "{follow} {energy}");
}

#[test]
fn a_station_has_a_rate_of_its_own() {
    let carried = |own: &str| {
        let text = format!(
            "format = 1\nduration = \"2s\"\n[[station]]\nname = \"near\"\n{own}\n\
             [[station]]\nname = \"far\"\n\
             [[link]]\nname = \"air\"\nstations = [\"near\", \"far\"]\nkind = \"wifi-g\"\n\
             rate = \"54Mbps\"\n[[app]]\nkind = \"spray\"\nstation = \"near\"\nto = \"far\"\n\
             rate = \"60Mbps\"\n"
        );
        run(&text, 1).ledger(windfall_tests::run::UPLINK).delivered_bytes as f64 * 4e-6
    };
    let [slow, fast] = ["radio.rate = \"6Mbps\"", ""].map(carried);
    println!("6 Mb/s {slow:.2}, 54 Mb/s {fast:.2} Mb/s");
    assert!((4.5..6.0).contains(&slow) && fast > 25.0, "{slow} {fast}");
}
