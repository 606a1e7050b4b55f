use super::*;

fn finding(is_mutated: bool) -> Finding {
    let context = Context { is_mutated, ..Context::simulated(Extent::Quick, Seed(1)) };
    FIGURE.run(&context).unwrap()
}

//= S4.22
//= S4.24
//= S4.26
//= S4.28
//= S4.32
#[test]
fn the_map_has_the_verdicts_on_record_and_others_without_damaged_frames() {
    let measured = finding(false);
    assert!(measured.is_as_recorded(), "{}", measured.claims_table().to_text());
    let places = &measured.tables[0].1;
    assert_eq!(places.rows().len(), places::all(false).len());
    let mutated = finding(true);
    assert!(!mutated.is_as_recorded(), "{}", mutated.claims_table().to_text());
}

#[test]
fn every_place_and_way_is_a_scenario_of_its_own() {
    let mut seen = std::collections::BTreeSet::new();
    for place in places::all(false) {
        for way in 0..WAYS.len() {
            assert!(seen.insert(place.with_tcp(way)), "{place:?}, {way}");
        }
        assert!(seen.insert(place.with_datagrams()), "{place:?}");
    }
    let damaged_up = |is_mutated: bool| {
        let all = places::all(is_mutated);
        all.iter().filter(|it| it.with_tcp(0).contains("accept-damaged = true")).count()
    };
    assert_eq!((damaged_up(false), damaged_up(true)), (places::all(false).len(), 0));
}

//= S4.27
#[test]
fn a_host_that_is_not_told_of_losses_reports_none() {
    const LOSSY: &str = include_str!("../../../../../../scenarios/paper-004/map-wifi.toml");
    let reports = |text: &str| {
        let simulation = simulate("ours.cno", text, Seed(3), Duration::from_secs(5)).unwrap();
        operations(&simulation, 1).notifications_sent
    };
    let told = LOSSY.replace(places::TCP, "tcp = \"sack, corruption=extended, link-losses=on\"");
    let end = "radio.position = [30.0, 0.0]\n";
    let interface = "[[station.interface]]\nlink = \"near-far\"\nlink-losses = false\n";
    let hidden = told.replace(end, &format!("{end}\n{interface}"));
    assert_ne!(hidden, told);
    let told = reports(&told);
    let hidden = reports(&hidden);
    assert!(told > 20 && hidden < told / 4, "{told} and {hidden}");
}

//= S4.27
#[test]
fn a_router_does_not_carry_the_link_s_count_of_losses_any_further() {
    const LOSSY: &str = include_str!("../../../../../../scenarios/paper-004/map-wifi.toml");
    let tcp = "tcp = \"sack, corruption=extended, link-losses=on\"";
    let told = LOSSY.replace(places::TCP, tcp);
    let end = "radio.position = [30.0, 0.0]\n";
    let beyond = format!(
        "\n[[station]]\nname = \"host\"\n{tcp}\n\n[[link]]\nname = \"wire\"\n\
         stations = [\"far\", \"host\"]\nrate = \"100Mbps\"\n"
    );
    let router = format!("forward = true\n{end}");
    let routed = told.replace(end, &router).replace("to = \"far\"", "to = \"host\"") + &beyond;
    let interface = "[[station.interface]]\nlink = \"near-far\"\nlink-losses = false\n";
    let hidden = routed.replace(&router, &format!("{router}\n{interface}"));
    assert_ne!(hidden, routed);
    // The segments that the receiver names, and the bytes that it gets.
    let received = |text: &str, station: usize| {
        let simulation = simulate("ours.cno", text, Seed(3), Duration::from_secs(5)).unwrap();
        let named = operations(&simulation, station).notifications_sent;
        (named, report(&simulation, station, "received_bytes"))
    };
    let beside = received(&told, 1);
    let beyond = received(&routed, 2);
    assert!(beyond.1 > 100_000.0 && beside.1 > 100_000.0, "{beside:?} and {beyond:?}");
    // What is left are the damaged segments that crossed the router.
    assert!(beside.0 > 20 && beyond.0 < beside.0 / 4, "{beside:?} and {beyond:?}");
    assert_eq!(received(&hidden, 2), beyond, "to hide what no router carries changes nothing");
}

#[test]
fn a_ratio_without_a_rate_is_none() {
    let mut cell = Cell::default();
    assert_eq!(cell.gain(1, 0), None);
    (cell.rates[0], cell.rates[1]) = (2.0, 3.0);
    assert_eq!((cell.gain(1, 0), cell.gain(0, 2)), (Some(1.5), None));
}
