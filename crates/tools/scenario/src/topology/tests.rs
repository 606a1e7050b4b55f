use std::io;

use windfall_apps::Pace;
use windfall_base::{Duration, Rate, Seed};
use windfall_network::{AppConfig, Network};

use crate::Topology;
use crate::tests::topology_with;

const CHAIN: &str = r#"
format = 1

[[station]]
name = "a"

[[station]]
name = "b"
forward = true

[[station]]
name = "c"
forward = true

[[station]]
name = "d"

[[link]]
stations = ["a", "b"]

[[link]]
stations = ["b", "c"]
mtu = 576

[[link]]
stations = ["c", "d"]
rate = "1Mbps"
uplink.loss = "50%"
downlink.queue = "5,mark:3"
"#;

fn topology(text: &str) -> Result<Topology, String> {
    let mut read = |name: &str| match name {
        "good.trace" => Ok(b"0\n1\n2\n".to_vec()),
        "bad.trace" => Ok(b"0\nx\n".to_vec()),
        _ => Err(io::Error::from(io::ErrorKind::NotFound)),
    };
    topology_with(text, &mut read)
}

#[test]
fn stations_that_say_nothing_of_routes_find_the_shortest_ways() {
    let topology = topology(CHAIN).expect("good");
    let routes = |station: usize| {
        let routes = topology.routes(station);
        routes
            .iter()
            .map(|r| format!("{} via {} on {}", r.to, r.via, r.interface))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        routes(0),
        [
            "10.77.0.4/30 via 10.77.0.2 on 0",
            "10.77.0.8/30 via 10.77.0.2 on 0",
            "fd77:696e:6400:2::/64 via fd77:696e:6400::2 on 0"
        ]
    );
    assert_eq!(
        routes(2),
        ["10.77.0.0/30 via 10.77.0.5 on 0"],
        "the link with the short MTU has no IPv6, so none leads across it"
    );
}

#[test]
fn a_topology_builds_a_network() {
    let topology = topology(CHAIN).expect("good");
    let network = Network::build(&topology.network, Seed(1)).expect("consistent");
    let names: Vec<&str> = network.interfaces().map(|id| network.name(id)).collect();
    assert_eq!(names, ["a-b/a", "a-b/b", "b-c/b", "b-c/c", "c-d/c", "c-d/d"]);
    let queue = |end: usize| topology.network.links[2].ends[end].interface.queue;
    assert_eq!((queue(1).packets, queue(1).mark), (5, 3));
    assert_eq!(queue(0).mark, usize::MAX);
}

#[test]
fn own_addresses_and_routes_win() {
    let text = CHAIN.replacen(
        "name = \"a\"",
        "name = \"a\"\n[[station.interface]]\nlink = \"a-b\"\naddresses = [\"192.0.2.1/24\"]\n\
         [[station.route]]\nto = \"0.0.0.0/0\"\nvia = \"192.0.2.7\"",
        1,
    );
    let topology = topology(&text).expect("good");
    let station = &topology.stations[0];
    assert_eq!(station.interfaces[0].addresses[0].to_string(), "192.0.2.1/24");
    assert_eq!(station.routes.len(), 1);
    assert_eq!(station.routes[0].to.to_string(), "0.0.0.0/0");
}

#[test]
fn what_cannot_be_built_names_its_line() {
    let cases = [
        ("mtu = 576", "rate-trace = \"no.trace\"", "a.toml:23: cannot read no.trace:"),
        ("mtu = 576", "rate-trace = \"bad.trace\"", "a.toml:23: bad.trace: line 2: \"x\""),
        (
            "name = \"a\"",
            "name = \"a\"\nroute = [{ to = \"0.0.0.0/0\", via = \"192.0.2.1\" }]",
            "a.toml:6: 192.0.2.1 is on no link of station \"a\": use an address in 10.77.0.1/30",
        ),
    ];
    for (old, new, expected) in cases {
        let message = topology(&CHAIN.replacen(old, new, 1)).expect_err(expected);
        assert!(message.contains(expected), "{message}");
    }
    assert!(topology(&CHAIN.replacen("mtu = 576", "rate-trace = \"good.trace\"", 1)).is_ok());
}

#[test]
fn two_stations_with_the_same_address_are_refused() {
    let with = |a: &str, b: &str| {
        let interface = |station: &str, address: &str| match address {
            "" => format!("[[station]]\nname = \"{station}\"\n"),
            address => format!(
                "[[station]]\nname = \"{station}\"\n[[station.interface]]\nlink = \"air\"\n\
                 addresses = [\"{address}\"]\n"
            ),
        };
        let link = "[[link]]\nname = \"air\"\nstations = [\"a\", \"b\"]\n";
        topology(&format!("format = 1\n{}{}{link}", interface("a", a), interface("b", b)))
    };
    assert_eq!(
        with("10.0.0.1/24", "10.0.0.1/24").unwrap_err(),
        "a.toml:11: b has the address 10.0.0.1, which is a's: choose another"
    );
    let automatic = with("10.77.0.2/30", "").unwrap_err();
    assert_eq!(automatic, "a.toml:6: b has the address 10.77.0.2, which is a's: choose another");
    assert!(with("10.0.0.1/24", "10.0.0.2/24").is_ok());
}

/// The headers of an empty datagram take time as well.
#[test]
fn a_spray_offers_no_more_empty_datagrams_than_headers_fit_on_its_link() {
    let pace = |size: usize| {
        let spray =
            format!("[[app]]\nkind = \"spray\"\nstation = \"c\"\nto = \"d\"\nsize = {size}\n");
        match &topology(&format!("{CHAIN}{spray}")).expect("good").apps[0].config {
            AppConfig::Spray(sender) => sender.timing.pace,
            other => panic!("{other:?}"),
        }
    };
    let rate = Rate::from_mbps(1).expect("a rate");
    for size in [0, 1, 27] {
        assert_eq!(pace(size), Pace::Every(Duration::from_micros(28 * 8)), "{size}");
    }
    assert_eq!(pace(28), Pace::Rate(rate));
}

//= S0.22
#[test]
fn a_spray_under_rate_control_offers_what_the_highest_rate_carries() {
    let pace = |keys: &str| {
        let text = format!(
            "format = 1\n[[station]]\nname = \"a\"\n[[station]]\nname = \"b\"\n\
             [[link]]\nkind = \"wifi-g\"\nstations = [\"a\", \"b\"]\nrate = \"11Mbps\"\n{keys}\n\
             [[app]]\nkind = \"spray\"\nstation = \"a\"\nto = \"b\"\n"
        );
        match &topology(&text).expect("good").apps[0].config {
            AppConfig::Spray(sender) => sender.timing.pace,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(pace(""), Pace::Rate(Rate::from_mbps(11).expect("a rate")));
    let adaptive = pace("radio.rate-control = \"arf\"");
    assert_eq!(adaptive, Pace::Rate(Rate::from_mbps(54).expect("a rate")));
}

#[test]
fn a_station_that_a_flow_goes_to_by_address_has_a_sink_too() {
    let plan = |kind: &str, to: &str| {
        let text = format!(
            "format = 1\n[[station]]\nname = \"a\"\n[[station]]\nname = \"b\"\n\
             [[link]]\nstations = [\"a\", \"b\"]\nrate = \"1Mbps\"\n\
             [[app]]\nkind = \"{kind}\"\nstation = \"a\"\nto = \"{to}\"\n"
        );
        let apps = topology(&text).expect("good").apps;
        apps.iter().map(|app| (app.station, app.config.name())).collect::<Vec<_>>()
    };
    for to in ["b", "10.77.0.2"] {
        let spray = plan("spray", to);
        assert_eq!(spray.last(), Some(&(1, "sink")), "{to}");
    }
    assert_eq!(plan("bulk", "10.77.0.2").last(), Some(&(1, "bulk-sink")));
    assert_eq!(plan("spray", "192.0.2.1").len(), 1);
}

#[test]
fn a_group_has_a_sink_at_each_station_that_hears_it() {
    let text = |kind: &str, to: &str| {
        let stations = ["a", "b", "c", "d"].map(|name| format!("[[station]]\nname = \"{name}\"\n"));
        format!(
            "format = 1\n{}[[link]]\nstations = [\"a\", \"b\", \"c\"]\nkind = \"wifi-g\"\n\
             [[link]]\nstations = [\"a\", \"d\"]\nrate = \"1Mbps\"\n\
             [[app]]\nkind = \"{kind}\"\nstation = \"a\"\nto = \"{to}\"\n",
            stations.concat()
        )
    };
    for to in ["224.0.0.5", "255.255.255.255", "ff02::1"] {
        let apps = topology(&text("spray", to)).expect("good").apps;
        let apps: Vec<_> = apps.iter().map(|app| (app.station, app.config.name())).collect();
        assert_eq!(apps, [(0, "spray"), (1, "sink"), (2, "sink")], "{to}");
        for kind in ["ping", "bulk", "sap-bulk"] {
            let refused = topology(&text(kind, to)).expect_err("one station answers");
            let words = format!("{to} is a group, and {kind} speaks to one station: name it");
            assert!(refused.contains(&words), "{refused}");
        }
        let polled = text("cbr\"\ninterval = \"20ms", to).replace("wifi-g", "wavelan");
        let refused = topology(&polled).expect_err("it is carried to one");
        assert!(refused.contains("a polled radio, which carries"), "{refused}");
        let of_two = polled.replace("\"b\", \"c\"", "\"b\"");
        assert_eq!(topology(&of_two).expect("good").apps.len(), 2);
    }
}

//= S3.33
#[test]
fn reservations_are_refused_where_the_queue_keeps_none() {
    let flow = |share: &str| format!("[[flow]]\nname = \"v\"\ndst-port = 5000\n{share}\n");
    let link = |queue: &str| {
        format!(
            "format = 1\n[[station]]\nname = \"a\"\n[[station]]\nname = \"b\"\n\
             [[link]]\nstations = [\"a\", \"b\"]\nrate = \"1Mbps\"\n{queue}\n"
        )
    };
    let with = |queue: &str, share: &str| topology(&format!("{}{}", link(queue), flow(share)));
    let reserve = "reserve = \"100kbps\"";
    for queue in ["", "queue = \"wrr\"", "queue = \"airtime\"", "queue = \"20\""] {
        assert!(with(queue, reserve).is_ok(), "{queue}");
    }
    assert!(with("queue = \"fifo\"", "weight = 2.0").is_ok());
    assert_eq!(
        with("uplink.queue = \"fifo,20\"", reserve).unwrap_err(),
        "a.toml:9: fifo keeps no reservations, and flow \"v\" reserves 100kbps: use elf, airtime, \
         wfq or wrr, or give the flow a weight"
    );
    assert!(with("queue = \"priority\"", reserve).is_err());
}

#[test]
fn a_mark_that_no_packet_can_find_is_refused() {
    let with = |queue: &str| {
        topology(&format!(
            "format = 1\n[[station]]\nname = \"a\"\n[[station]]\nname = \"b\"\n\
             [[link]]\nstations = [\"a\", \"b\"]\nrate = \"1Mbps\"\n{queue}\n"
        ))
    };
    let useful = [
        "20,mark:19",
        "mark:999",
        "infinite,mark:5000",
        "64kB,mark:3199",
        "2,mark:1",
        "40B,mark:1",
    ];
    for queue in useful {
        assert!(with(&format!("queue = \"{queue}\"")).is_ok(), "{queue}");
    }
    assert_eq!(
        with("downlink.queue = \"20,mark:20\"").unwrap_err(),
        "a.toml:9: mark:20 never marks in a queue of 20 packets, which drops a packet that finds \
         20 waiting: mark from 1 to 19 packets on, or make the queue longer"
    );
    let message = with("queue = \"mark:1000\"").unwrap_err();
    assert!(message.contains("mark:1000 never marks in a queue of 1000 packets, its default"));
    let message = with("queue = \"1,mark:3\"").unwrap_err();
    assert!(message.contains("3 never marks in a queue of 1 packets"), "{message}");
    // A packet has at least the 20 bytes of its header.
    for (queue, fault) in [
        (
            "20B,mark:1",
            "of 20B, which holds at most 1 of the shortest packets, 20 bytes each: make",
        ),
        ("64kB,mark:3200", "of 64000B, which holds at most 3200 of the shortest packets"),
        ("900,200B,mark:10", "of 900 packets and 200B, which holds at most 10 of"),
        ("5,64kB,mark:5", "of 5 packets and 64000B, which drops a packet that finds 5 waiting"),
    ] {
        let message = with(&format!("queue = \"{queue}\"")).unwrap_err();
        assert!(message.contains(fault), "{message}");
    }
}

#[test]
fn absurd_values_are_refused_in_short() {
    let refused = |line: &str, app: &str| {
        let text = format!(
            "format = 1\n[[station]]\nname = \"a\"\n{}[[station]]\nname = \"b\"\n\
             [[link]]\nstations = [\"a\", \"b\"]\n{}\n[[app]]\nkind = \"cbr\"\n\
             station = \"a\"\nto = \"b\"\ninterval = \"1s\"\n{app}\n",
            if line.starts_with("[[") { line } else { "" },
            if line.starts_with("[[") { "" } else { line },
        );
        topology(&text).unwrap_err()
    };
    let lite = "transport = \"udplite\"\nsize = 160\ncoverage = 65535";
    let message = refused("", lite);
    assert!(message.ends_with("more than the 168 bytes of a datagram: use 0 for all"), "{message}");
    let route = "[[station.route]]\nto = \"10.9.0.0/16\"\nvia = \"10.77.0.1\"\n";
    let message = refused(route, "");
    assert!(message.contains("10.77.0.1 is station \"a\" itself"), "{message}");
    let message = refused("", "[[flow]]\nname = \"v\"\nweight = 1e308");
    assert!(message.contains("weight of 1e308 is out of range"), "{message}");
}

/// A circuit between two stations, with these settings.
fn circuit(settings: &str) -> Result<Topology, String> {
    let station = |name: &str| format!("[[station]]\nname = \"{name}\"\n");
    topology(&format!(
        "format = 1\n{}{}[[link]]\nstations = [\"a\", \"b\"]\nkind = \"gsm\"\n{settings}",
        station("a"),
        station("b")
    ))
}

//= S1.13
#[test]
fn a_circuit_has_the_service_that_arq_names() {
    use windfall_stack::{GsmService, LinkLayerConfig};
    for (settings, expected) in [
        ("", GsmService::Transparent),
        ("arq = \"none\"", GsmService::Transparent),
        ("arq = \"6\"", GsmService::NonTransparent { n2: 6 }),
        ("modem = \"mnp4\"", GsmService::Modems { compresses: false }),
        ("modem = \"mnp5\"", GsmService::Modems { compresses: true }),
    ] {
        let topology = circuit(settings).expect(settings);
        let link = &topology.network.links[0];
        for end in &link.ends {
            let LinkLayerConfig::Gsm(config) = &end.interface.link else { panic!("{settings}") };
            assert_eq!(config.service, expected);
            assert!(!config.accept_damaged);
        }
        assert_eq!(link.medium.rate(windfall_base::Port(0)), Rate::from_bps(12_000));
    }
}

//= S1.27
#[test]
fn the_network_end_of_a_circuit_may_stand_behind_a_tunnel() {
    use windfall_stack::{GsmTunnel, LinkLayerConfig};
    let topology = circuit("arq = \"6\"\ntunnel = 4\nclock-skew = 50").expect("a circuit");
    let tunnels = topology.network.links[0].ends.iter().map(|end| match &end.interface.link {
        LinkLayerConfig::Gsm(config) => config.tunnel,
        other => panic!("{other:?}"),
    });
    assert_eq!(tunnels.collect::<Vec<_>>(), [None, Some(GsmTunnel { depth: 4, skew: 50 })]);
}

#[test]
fn what_a_circuit_cannot_do_is_refused() {
    for (settings, expected) in [
        ("rate = \"1Mbps\"", "a gsm circuit has 9.6 kb/s"),
        ("downlink.rate-trace = \"good.trace\"", "a gsm circuit has 9.6 kb/s"),
        ("policy = \"flex\"", "a gsm circuit has a code of its own"),
        ("expose = [\"header\"]", "every bit of a gsm block"),
        ("uplink.arq = \"3\"", "both directions of a gsm circuit have one service"),
        ("modem = \"mnp4\"\narq = \"6\"", "remove arq, or modem"),
        ("modem = \"mnp4\"\ntunnel = 4", "a tunnel carries frames of RLP: add arq"),
        ("tunnel = 4", "a tunnel carries frames of RLP: add arq"),
        ("arq = \"6\"\nincrements = true", "only a pipe sends increments"),
        ("modem = \"mnp4\"\naccept-damaged = true", "remove accept-damaged, or modem"),
        ("arq = \"6\"\nuplink.accept-damaged = true", "remove accept-damaged, or arq"),
        ("arq = \"none\"\ntunnel = 4", "a tunnel carries frames of RLP: add arq"),
    ] {
        let message = circuit(settings).expect_err(settings);
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn a_chain_of_more_links_than_64_needs_a_hop_limit() {
    let stations: String =
        (0..72).map(|n| format!("[[station]]\nname = \"s{n}\"\nforward = true\n")).collect();
    let links: String = (0..71)
        .map(|n| format!("[[link]]\nstations = [\"s{n}\", \"s{}\"]\ndelay = \"1ms\"\n", n + 1))
        .collect();
    let text = |limit: &str| format!("format = 1\n{limit}{stations}{links}");
    let limit = |text: &str| topology(text).unwrap().with_hosts().stations[0].host.clone();
    let hops = |text: &str| limit(text).expect("it has a host").host.internet.hop_limit;
    assert_eq!(hops(&text("")), 64);
    assert_eq!(hops(&text("hop-limit = 100\n")), 100);
    let parameters = topology(&text("hop-limit = 100\n")).unwrap().parameters;
    assert!(parameters.contains(&("net.ipv4.ip_default_ttl".to_owned(), "100".to_owned())));
}
