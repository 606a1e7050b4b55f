//! Radios with more than two stations, in simulated time.

use windfall_network::ElementId;
use windfall_tests::run::run;

/// A base station and three others; what is at the end goes into the link and behind it.
fn cell(link: &str, rest: &str) -> String {
    format!(
        "format = 1\nduration = \"5s\"\n[[station]]\nname = \"base\"\nforward = true\n\
         [[station]]\nname = \"a\"\n[[station]]\nname = \"b\"\n[[station]]\nname = \"c\"\n\
         [[link]]\nkind = \"wavelan\"\nstations = [\"base\", \"a\", \"b\", \"c\"]\n{link}\n{rest}"
    )
}

fn ping(from: &str, to: &str) -> String {
    format!(
        "[[app]]\nkind = \"ping\"\nstation = \"{from}\"\nto = \"{to}\"\ncount = 20\n\
         interval = \"50ms\"\n"
    )
}

//= S3.2
#[test]
fn stations_reach_the_base_and_by_way_of_it_each_other() {
    for (from, to) in [("base", "c"), ("b", "base"), ("a", "c")] {
        let outcome = run(&cell("", &ping(from, to)), 1);
        let report = outcome.report("ping");
        assert_eq!(report["received"], 20.0, "{from} to {to}: {report:?}");
        for interface in outcome.simulation.network().interfaces() {
            let ledger = outcome.ledger(interface);
            assert!(ledger.balances() && ledger.drops.total() == 0, "{from} to {to}: {ledger:?}");
        }
    }
}

#[test]
fn errors_strike_the_station_whose_path_is_bad() {
    let spray = |to: &str| {
        format!("[[app]]\nkind = \"cbr\"\nstation = \"base\"\nto = \"{to}\"\nrate = \"100kbps\"\n")
    };
    let path = "arq = 0\n[[link.path]]\nto = \"b\"\nloss = \"40%\"\n";
    let apps = format!("{}{}", spray("a"), spray("b"));
    let outcome = run(&cell(path, &apps), 1);
    let received = |station: usize| outcome.report_at("sink", station)["received"];
    assert!(outcome.ledger(ElementId(0)).balances());
    // Of 391 packets 40 % are lost, with a standard deviation of 9.7.
    let good = received(1);
    let bad = received(2);
    assert!(good >= 389.0 && (bad / good - 0.6).abs() < 0.13, "{good} {bad}");
}
