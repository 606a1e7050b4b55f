use core::fmt::Write as _;

use windfall_base::{Seed, Stream};
use windfall_ip::RouteSource as _;

use crate::tests::topology;

/// Stations with these links between them; one in four does not forward.
fn text(stations: usize, links: &[(usize, usize)]) -> String {
    let mut text = "format = 1\n".to_owned();
    for station in 0..stations {
        let forward = station % 4 != 3;
        let _ = writeln!(text, "[[station]]\nname = \"s{station}\"\nforward = {forward}");
    }
    for (number, (a, b)) in links.iter().enumerate() {
        let mtu = if number % 5 == 4 { 576 } else { 1500 };
        let _ = writeln!(
            text,
            "[[link]]\nname = \"l{number}\"\nstations = [\"s{a}\", \"s{b}\"]\nmtu = {mtu}"
        );
    }
    text
}

/// The routes computed for one network agree with those computed for one station.
#[test]
fn routes_on_demand_are_those_of_a_table() {
    for seed in 0..20 {
        let mut stream = Stream::new(Seed(seed), "routes");
        let stations = 3 + stream.below(12) as usize;
        let mut links = Vec::new();
        for _ in 0..stations + stream.below(6) as usize {
            let a = stream.below(stations as u64) as usize;
            let b = stream.below(stations as u64) as usize;
            if a != b {
                links.push((a, b));
            }
        }
        let topology = topology(&text(stations, &links)).expect("good");
        let networks: Vec<_> = topology.stations.iter().flat_map(|s| &s.interfaces).collect();
        for station in 0..stations {
            let table = topology.routes(station);
            for prefix in networks.iter().flat_map(|i| &i.addresses) {
                let own = topology.stations[station].interfaces.iter();
                if own.flat_map(|i| &i.addresses).any(|own| own.network() == prefix.network()) {
                    continue;
                }
                let of_table = table.iter().find(|route| route.to.contains(prefix.address));
                let of_table = of_table.map(|route| (route.to.length, route.interface));
                let found = topology.map.lookup(station, prefix.address);
                assert_eq!(found, of_table, "seed {seed}: s{station} to {prefix}");
            }
        }
    }
}

/// A table in each station, or a look at each pair of stations, would take minutes here.
#[test]
fn a_long_chain_is_built_without_a_table_in_each_station() {
    const LENGTH: usize = 4_000;
    let links: Vec<_> = (1..LENGTH).map(|b| (b - 1, b)).collect();
    let text = text(LENGTH, &links).replace("forward = false", "forward = true");
    let topology = topology(&text).expect("good");
    let network = topology.with_hosts();
    let last = &topology.stations[LENGTH - 1].interfaces[0].addresses[0];
    assert_eq!(topology.map.lookup(0, last.address), Some((30, 0)));
    assert_eq!(topology.map.lookup(LENGTH / 2, last.address), Some((30, 1)));
    let routes: usize = network
        .stations
        .iter()
        .filter_map(|s| s.host.as_ref())
        .map(|setup| setup.host.internet.routes.len())
        .sum();
    assert_eq!(routes, 0);
}

#[test]
fn streams_without_an_end_need_a_link_that_takes_time() {
    let refused = "a bulk without an end goes over link \"l0\", which takes no time";
    let of = |links: &str, bytes: &str| {
        let bulk = format!("[[app]]\nkind = \"bulk\"\nstation = \"s0\"\nto = \"s2\"\n{bytes}");
        topology(&format!("{}{links}{bulk}", text(3, &[])))
    };
    let instant = "[[link]]\nname = \"l0\"\nstations = [\"s0\", \"s1\"]\n";
    let second = "[[link]]\nname = \"l1\"\nstations = [\"s1\", \"s2\"]\n";
    let error = of(&format!("{instant}{second}"), "").expect_err("time cannot advance");
    assert!(error.contains(refused) && error.starts_with("a.toml:"), "{error}");
    for slow in ["rate = \"1Gbps\"\n", "delay = \"1us\"\n", "downlink.delay = \"1us\"\n"] {
        assert!(of(&format!("{instant}{second}{slow}"), "").is_ok(), "{slow}");
    }
    assert!(of(&format!("{instant}{second}"), "bytes = \"1MB\"\n").is_ok());
    // To itself, it takes no link at all.
    let text = format!(
        "{}{instant}[[app]]\nkind = \"bulk\"\nstation = \"s0\"\nto = \"s0\"\n",
        text(3, &[])
    );
    let error = topology(&text).expect_err("time cannot advance");
    assert!(error.contains("goes over no link"), "{error}");
}

#[test]
fn rates_that_no_network_has_are_refused() {
    let base = text(2, &[(0, 1)]);
    let of = |link: &str, app: &str| {
        let app = format!("[[app]]\nstation = \"s0\"\nto = \"s1\"\n{app}");
        topology(&format!("{base}{link}{app}"))
    };
    let error = of("rate = \"10001Gbps\"\n", "kind = \"ping\"\n").expect_err("too fast");
    assert!(error.contains("a rate is between 1bps and 10000Gbps"), "{error}");
    let error = of("", "kind = \"ping\"\ninterval = \"9ns\"\n").expect_err("too often");
    assert!(error.contains("use at least 10ns"), "{error}");
    let fast = "kind = \"cbr\"\nrate = \"1000Gbps\"\nsize = 100\n";
    let error = of("", fast).expect_err("too often");
    assert!(error.contains("100 bytes is more than one each 10ns"), "{error}");
    assert!(of("rate = \"10000Gbps\"\n", "kind = \"spray\"\n").is_ok());
}
