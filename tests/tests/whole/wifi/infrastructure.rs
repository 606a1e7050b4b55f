//! Access points, their members, and what dozing saves, over a radio with distance.

use windfall_base::{Duration, Instant, Seed};
use windfall_mac::wifi::radio::State;
use windfall_queue::Service;
use windfall_queue::share::Demand;
use windfall_scenario::Scenario;
use windfall_scenario::sim::Simulation;
use windfall_stack::FlowAccount;

/// A simulation of stations on one link; `keys` are those of its radio, `rest` whatever follows.
fn simulation(stations: &[(&str, &str)], keys: &str, rest: &str) -> Simulation {
    let station = |(name, says): &(&str, &str)| format!("[[station]]\nname = \"{name}\"\n{says}\n");
    let names: Vec<String> = stations.iter().map(|(name, _)| format!("\"{name}\"")).collect();
    let text = format!(
        "format = 1\nduration = \"20s\"\n{}[[link]]\nname = \"air\"\nkind = \"wifi-g\"\n\
         stations = [{}]\n[link.radio]\n{keys}\n{rest}",
        stations.iter().map(station).collect::<String>(),
        names.join(", ")
    );
    let scenario = Scenario::parse("infrastructure.toml", &text).expect("a legal scenario");
    let mut read = |_: &str| Err(std::io::Error::from(std::io::ErrorKind::NotFound));
    let topology = scenario.topology(0, ("", ""), &mut read).expect("nothing to read");
    Simulation::new(&topology, Seed(1)).expect("a legal topology")
}

/// Packets of the interface in this place that have arrived.
fn delivered(simulation: &Simulation, place: usize) -> u64 {
    let network = simulation.network();
    let interface = network.interfaces().nth(place).expect("there is one");
    network.ledger(interface).delivered
}

fn at(seconds: u64) -> Instant {
    Instant::START + Duration::from_secs(seconds)
}

//= S2.19
#[test]
fn dozing_saves_most_of_the_time_and_loses_no_packet() {
    let stations = [("ap", ""), ("phone", ""), ("laptop", "")];
    let ping = "[[app]]\nkind = \"ping\"\nstation = \"ap\"\nto = \"phone\"\ncount = 30\n\
                interval = \"500ms\"\nstart = \"1s\"\n";
    let doze = |power_save: bool| {
        let keys = format!("infrastructure = true\npower-save = {power_save}");
        let mut simulation = simulation(&stations, &keys, ping);
        simulation.finish();
        let network = simulation.network();
        let phone = network.interfaces().nth(1).expect("the phone");
        let airtime = network.airtime(phone, simulation.now()).expect("it has a radio");
        let packets = [0, 1].map(|place| delivered(&simulation, place));
        (airtime.of(State::Doze).as_secs_f64() / airtime.total().as_secs_f64(), packets)
    };
    assert_eq!(doze(false), (0.0, [30, 30]));
    let (share, packets) = doze(true);
    assert_eq!(packets, [30, 30]);
    println!("the phone dozes {:.1} % of the time", share * 100.0);
    // Three hundred milliseconds to join, and about two of each beacon interval of 102.4.
    assert!(share > 0.95, "{share}");
}

//= S2.19
#[test]
fn a_walker_changes_to_the_access_point_that_it_comes_nearer_to() {
    let stations = [
        ("west", "radio.access-point = true\nradio.position = [0.0, 0.0]"),
        ("east", "radio.access-point = true\nradio.position = [30.0, 0.0]"),
        ("walker", "radio.walk = [[0, 1, 0], [4, 1, 0], [14, 29, 0]]"),
    ];
    let spray = "[[app]]\nkind = \"spray\"\nstation = \"walker\"\nto = \"east\"\n\
                 interval = \"10ms\"\nsize = 100\nstart = \"1s\"\n";
    let mut simulation = simulation(&stations, "infrastructure = true", spray);
    let mut seen = |seconds| {
        simulation.run(at(seconds), &mut |_| Ok(())).expect("nothing is written");
        delivered(&simulation, 2)
    };
    // The west sends nothing on to the east, which is no member of its own.
    assert_eq!(seen(5), 0);
    let before = seen(14);
    let after = seen(20);
    assert!(before > 0, "it never came to the east");
    let of_last_six_seconds = after - before;
    assert!((590..=600).contains(&of_last_six_seconds), "{of_last_six_seconds} of 600");
}

/// A station sends to one near the access point and to one that hears it badly; what the access
/// point passes on belongs to the same flows as its own packets.
//= S3.38
#[test]
fn what_an_access_point_relays_waits_in_the_queues_of_its_flows() {
    let stations = [
        ("ap", "radio.position = [0.0, 0.0]"),
        ("talker", "radio.position = [0.0, 4.0]"),
        ("near", "radio.position = [4.0, 0.0]"),
        ("far", "radio.position = [60.0, 0.0]"),
    ];
    let flow = |to: &str, port: u16| {
        format!(
            "[[flow]]\nname = \"{to}\"\ndst-port = {port}\npower-factor = 1.2\n\
             [[app]]\nkind = \"cbr\"\nstation = \"talker\"\nto = \"{to}\"\nport = {port}\n\
             size = 1000\nrate = \"8Mbps\"\nstart = \"1s\"\n"
        )
    };
    let rest = flow("near", 9001) + &flow("far", 9002);
    let keys = "infrastructure = true\nfading = \"rayleigh 5\"";
    let mut simulation = simulation(&stations, keys, &rest);
    simulation.finish();
    let network = simulation.network();
    let access_point = network.interfaces().next().expect("the first");
    let [_, near, far] = network.flows(access_point).try_into().expect("best effort and two flows");
    let demand = |flow: &FlowAccount| {
        let Service { effort, outcome } = flow.account.total;
        Demand { weight: 1.0, power_factor: 1.2, error_rate: 1.0 - outcome / effort }
    };
    let [near_demand, far_demand] = [&near, &far].map(demand);
    assert!(far_demand.error_rate > 0.25, "{far_demand:?}");
    // Collisions with the talker cost the near station something too, which its power factor makes
    // up for.
    let due = far_demand.adjusted_weight() / near_demand.adjusted_weight();
    let effort = far.account.total.effort / near.account.total.effort;
    assert!((effort / due - 1.0).abs() < 0.02, "effort {effort}, not {due}: {near:?}, {far:?}");
}
