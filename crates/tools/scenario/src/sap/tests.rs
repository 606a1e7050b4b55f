use std::io;

use windfall_apps::{SapPace, SapSenderConfig, SapSinkConfig};
use windfall_base::{Duration, Instant};
use windfall_network::AppConfig;
use windfall_sap::{Mode, Profile};

use crate::plan::AppPlan;
use crate::{Scenario, Topology};

/// Works out three stations in a row, of which the second link carries packets of 1000 bytes.
fn topology(apps: &str) -> Result<Topology, String> {
    let text = format!(
        "format = 1\n[[station]]\nname = \"a\"\n[[station]]\nname = \"b\"\nforward = true\n\
         [[station]]\nname = \"c\"\n[[link]]\nstations = [\"a\", \"b\"]\nrate = \"1Mbps\"\n\
         [[link]]\nstations = [\"b\", \"c\"]\nrate = \"1Mbps\"\nmtu = 1000\n{apps}"
    );
    let scenario = Scenario::parse("t.toml", &text).map_err(|error| error.to_string())?;
    let read = &mut |_: &str| Err(io::Error::from(io::ErrorKind::NotFound));
    scenario.topology(0, ("t.toml", &text), read).map_err(|error| error.to_string())
}

fn app(kind: &str, keys: &str) -> String {
    format!("[[app]]\nkind = \"{kind}\"\nstation = \"a\"\nto = \"c\"\n{keys}\n")
}

fn planned(apps: &str) -> Vec<AppPlan> {
    topology(apps).unwrap_or_else(|error| panic!("{error}")).apps
}

fn sender(kind: &str, keys: &str) -> SapSenderConfig {
    match &planned(&app(kind, keys))[0].config {
        AppConfig::SapBulk(config) | AppConfig::SapStream(config) => config.clone(),
        other => panic!("{other:?}"),
    }
}

fn sinks(apps: &str) -> Vec<(usize, SapSinkConfig)> {
    let sink = |plan: AppPlan| match plan.config {
        AppConfig::SapSink(config) => Some((plan.station, config)),
        _ => None,
    };
    planned(apps).into_iter().filter_map(sink).collect()
}

fn refusal(kind: &str, keys: &str) -> String {
    topology(&app(kind, keys)).expect_err(keys)
}

#[test]
fn what_is_unset_is_as_the_reference_says() {
    let bulk = sender("sap-bulk", "");
    assert_eq!((bulk.mode, bulk.size, bulk.bytes), (Mode::Precise, 1024, None));
    assert_eq!((bulk.pace, bulk.transfers), (SapPace::Greedy, 1));
    let stream = sender("sap-stream", "interval = \"20ms\"\ncount = 5");
    assert_eq!((stream.size, stream.bytes), (1024, Some(5 * 1024)));
    assert_eq!(stream.mode, Mode::Approximate { protected: 0 });
    assert!(!stream.newest_first && matches!(stream.pace, SapPace::Timed(_)));
}

#[test]
fn datagrams_are_no_longer_than_the_narrowest_link_carries() {
    assert_eq!(sender("sap-bulk", "").sap.max_datagram, 1000 - 28);
    assert_eq!(sender("sap-bulk", "").sap.base_datagram, 1000 - 28);
    let near = "[[app]]\nkind = \"sap-bulk\"\nstation = \"a\"\nto = \"fd77:696e:6400::2\"\n";
    let AppConfig::SapBulk(config) = &planned(near)[0].config else { panic!("a bulk") };
    assert_eq!((config.sap.base_datagram, config.sap.max_datagram), (1232, 1500 - 48));
    let paper = sender("sap-bulk", "profile = \"paper\"\nsize = 1100");
    assert_eq!(paper.sap.profile, Profile::Paper);
    assert_eq!(
        paper.sap.base_datagram,
        sender("sap-bulk", "profile = \"paper\"").sap.base_datagram + 76
    );
}

#[test]
fn every_address_and_port_has_one_receiver() {
    let stream = |keys: &str| app("sap-stream", &format!("interval = \"20ms\"\n{keys}"));
    let all = [
        stream("tolerance = 1e-3"),
        stream("tolerance = 1e-3"),
        stream("port = 7\nlifetime = \"1s\""),
        app("sap-bulk", "port = 8").replace("to = \"c\"", "to = \"192.0.2.1\""),
    ];
    let found = sinks(&all.concat());
    let ports: Vec<_> = found.iter().map(|(at, sink)| (*at, sink.local.port())).collect();
    assert_eq!(ports, [(2, 9000), (2, 7)]);
    assert_eq!(found[0].1.tolerance, Some(1e-3));
    assert_eq!(found[1].1.lifetime, Some(Duration::from_secs(1)));
    assert_ne!(found[0].1.number, found[1].1.number);
}

#[test]
fn a_receiver_takes_the_longest_datagrams_of_its_senders() {
    let paper = |size| app("sap-bulk", &format!("profile = \"paper\"\nsize = {size}"));
    let found = sinks(&(paper(500) + &paper(3000) + &paper(1024)));
    assert_eq!(found.len(), 1);
    let longest = sender("sap-bulk", "profile = \"paper\"\nsize = 3000").sap.max_datagram;
    assert_eq!(found[0].1.sap.max_datagram, longest);
}

#[test]
fn senders_that_ask_different_things_of_one_receiver_are_refused() {
    let stream = |keys: &str| app("sap-stream", &format!("interval = \"20ms\"\n{keys}"));
    for (key, value) in [("profile", "\"paper\""), ("tolerance", "1e-3"), ("lifetime", "\"1s\"")] {
        let error = topology(&(stream("") + &stream(&format!("{key} = {value}")))).unwrap_err();
        let said = format!("another application with another {key} sends to 10.77.0.6:9000");
        assert!(error.contains(&said) && error.contains("a port of its own"), "{error}");
    }
}

#[test]
fn messages_that_cannot_be_sent_are_refused_with_the_fix() {
    for (kind, keys, said) in [
        ("sap-bulk", "size = 0", "use a size of 1 and more"),
        ("sap-bulk", "size = 65001\nprofile = \"paper\"", "use at most 65000"),
        ("sap-stream", "rate = \"1Mbps\"\nprotected = 1025", "more than the 1024 of a message"),
        ("sap-stream", "", "sap-stream takes either a rate or an interval"),
        ("sap-bulk", "profile = \"paper\"\nmode = \"approximate\"", "add rate = \"1Mbps\""),
        ("sap-bulk", "interval = \"1ms\"", "sap-bulk has no key \"interval\""),
        ("sap-bulk", "newest-first = true", "sap-bulk has no key \"newest-first\""),
        ("sap-stream", "interval = \"1ms\"\nbytes = 5", "sap-stream has no key \"bytes\""),
        ("cbr", "interval = \"1ms\"\nmode = \"precise\"", "cbr has no key \"mode\""),
        ("sap-stream", "interval = \"1ns\"", "too short"),
    ] {
        let error = refusal(kind, keys);
        assert!(error.contains(said) && error.starts_with("t.toml:"), "{keys}: {error}");
    }
    assert!(topology(&app("sap-bulk", "size = 65507")).is_ok());
}

#[test]
fn settings_that_change_nothing_are_refused_by_name() {
    for (kind, keys, said) in [
        ("sap-bulk", "repeat = 2", "repeat changes nothing without bytes"),
        ("sap-bulk", "protected = 9", "protected changes nothing here, since precise messages"),
        ("sap-bulk", "tolerance = 0.1", "choose mode = \"approximate\""),
        (
            "sap-stream",
            "interval = \"1ms\"\nmode = \"precise\"\nnewest-first = true",
            "newest-first changes nothing here",
        ),
        (
            "sap-stream",
            "interval = \"1ms\"\nprofile = \"paper\"\ntolerance = 0.1",
            "choose profile = \"standard\"",
        ),
    ] {
        let error = refusal(kind, keys);
        assert!(error.contains(said), "{keys}: {error}");
    }
}

#[test]
fn a_bulk_without_an_end_over_links_that_take_no_time_is_refused() {
    let text = |keys: &str| {
        format!(
            "format = 1\n[[station]]\nname = \"a\"\n[[station]]\nname = \"b\"\n[[link]]\n\
             stations = [\"a\", \"b\"]\n[[app]]\nkind = \"sap-bulk\"\nstation = \"a\"\n\
             to = \"b\"\n{keys}\n"
        )
    };
    let build = |keys: &str| {
        let text = text(keys);
        let scenario = Scenario::parse("t.toml", &text).expect("it can be read");
        let read = &mut |_: &str| Err(io::Error::from(io::ErrorKind::NotFound));
        scenario.topology(0, ("t.toml", &text), read).map(|_| ())
    };
    let error = build("").expect_err("time would never advance").to_string();
    assert!(error.contains("a sap-bulk without an end goes over link \"a-b\""), "{error}");
    assert_eq!((build("bytes = \"1MB\""), build("rate = \"1Mbps\"")), (Ok(()), Ok(())));
}

#[test]
fn a_start_and_an_end_are_those_of_the_scenario() {
    let stream = sender("sap-stream", "interval = \"20ms\"\nstart = \"1s\"\nstop = \"3s\"");
    let at = |seconds| Instant::START + Duration::from_secs(seconds);
    assert_eq!((stream.start, stream.stop), (at(1), Some(at(3))));
}
