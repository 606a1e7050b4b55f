use windfall_base::{Frame, Input, Node as _, Payload, Port, RxVector};
use windfall_scenario::{Settings as _, Side};

use super::*;

const TEXT: &str = "format = 1\n[[station]]\nname = \"a\"\n[[station]]\nname = \"b\"\n\
                    [[link]]\nstations = [\"a\", \"b\"]\nrate = \"1Mbps\"\nber = 1e-4\n";

fn built(text: &str) -> (RunControl, Network, Scenario) {
    let scenario = Scenario::parse("test.toml", text).expect("a scenario");
    let mut none = |_: &str| Err(io::ErrorKind::NotFound.into());
    let topology = scenario.topology(0, ("", ""), &mut none).expect("a topology");
    let network = Network::build(&topology.network, scenario.seed()).expect("a network");
    let about = RunDescription {
        name: "test".to_owned(),
        command: "windfall up".to_owned(),
        kind: "up",
        directory: PathBuf::new(),
        seed: scenario.seed(),
    };
    (RunControl::new(about, scenario.clone(), topology), network, scenario)
}

fn ask(control: &mut RunControl, network: &mut Network, at: u64, line: &str) -> Value {
    let now = Instant::from_nanos(at);
    let lateness = Lateness::default();
    match control
        .serve(now, network, &lateness, Vec::new(), ControlRequest::parse(line.as_bytes()))
        .reply
    {
        Reply::Line(line) => serde_json::from_str(&line).expect("JSON"),
        other => panic!("{other:?}"),
    }
}

/// Sends a packet each millisecond, and returns the times and bytes of what arrives.
fn traffic(
    network: &mut Network,
    mut before: impl FnMut(u64, &mut Network),
) -> Vec<(Instant, Payload)> {
    let mut arrived = Vec::new();
    for step in 0..400_u64 {
        let at = Instant::from_nanos(step * 1_000_000);
        while let Some(due) = network.next_event().filter(|due| *due < at) {
            network.handle_timeout(due);
            while let Some((_, outgoing)) = network.poll_transmit(due) {
                arrived.push((due, outgoing.frame.payload));
            }
        }
        before(step, network);
        let packet = Frame::packet(Payload::from(vec![0x45; 100]));
        network.handle_input(at, Port(0), Input::Frame(packet, RxVector::wired(at)));
        while let Some((_, outgoing)) = network.poll_transmit(at) {
            arrived.push((at, outgoing.frame.payload));
        }
    }
    arrived
}

#[test]
fn a_run_that_was_changed_repeats_from_the_scenario_that_it_gives() {
    let (mut control, mut network, _) = built(TEXT);
    let arrived = traffic(&mut network, |step, network| {
        let line = match step {
            50 => r#"{"do":"set","change":{"rate":"400kbps","over":"150ms"}}"#,
            100 => r#"{"do":"set","change":{"uplink":{"loss":"20%"},"delay":"3ms"}}"#,
            // It changes nothing, and must not disturb what is drawn.
            170 => r#"{"do":"set","change":{"loss":"20%"}}"#,
            250 => r#"{"do":"set","change":{"rate":"2Mbps","ber":0}}"#,
            _ => return,
        };
        let reply = ask(&mut control, network, step * 1_000_000, line);
        assert_eq!(reply["ok"], true, "{reply}");
    });
    let reply = ask(&mut control, &mut network, 400_000_000, r#"{"do":"scenario"}"#);
    let text = reply["scenario"].as_str().expect("a scenario");
    assert_eq!(text.matches("[[change]]").count(), 4, "{text}");
    let (_, mut again, _) = built(text);
    let replayed = traffic(&mut again, |_, _| {});
    assert!(arrived.len() > 100 && arrived.len() < 400, "{}", arrived.len());
    assert_eq!(arrived, replayed);
    let (_, mut unchanged, _) = built(TEXT);
    assert_ne!(arrived, traffic(&mut unchanged, |_, _| {}));
}

#[test]
fn a_repeated_run_is_as_long_as_it_was_even_behind_the_length_of_its_file() {
    for (own, at, said) in [
        ("", 400, "duration = \"400ms\""),
        ("duration = \"100ms\"\n", 400, "duration = \"400ms\""),
        ("duration = \"2s\"\n", 400, "duration = \"2s\""),
    ] {
        let text = TEXT.replacen("format = 1\n", &format!("format = 1\n{own}"), 1);
        let (mut control, mut network, _) = built(&text);
        let at = at * 1_000_000;
        let reply = ask(&mut control, &mut network, at, r#"{"do":"scenario"}"#);
        let text = reply["scenario"].as_str().expect("a scenario");
        assert!(text.contains(said), "{text}");
    }
}

#[test]
fn a_change_is_made_whole_or_not_at_all() {
    let (mut control, mut network, scenario) = built(TEXT);
    for line in [
        r#"{"do":"set","change":{"loss":"5%","rate":"fast"}}"#,
        r#"{"do":"set","change":{"loss":"5%","link":"x"}}"#,
        r#"{"do":"set","change":{"loss":"5%","reorder":"25%"}}"#,
        r#"{"do":"set","change":{"loss":"5%","error-trace":"no.trace"}}"#,
        r#"{"do":"set","change":{"loss":"5%","over":"2s"}}"#,
    ] {
        let reply = ask(&mut control, &mut network, 1, line);
        assert!(reply["error"].is_string(), "{line}: {reply}");
        assert_eq!(control.present, scenario, "{line}");
        assert!(control.changes.is_empty(), "{line}");
    }
    let status = ask(&mut control, &mut network, 2, r#"{"do":"status"}"#);
    assert_eq!(status["links"][0]["settings"], serde_json::json!({"rate": "1Mbps", "ber": "1e-4"}));
    let set = r#"{"do":"set","change":{"uplink":{"loss":"5%"}}}"#;
    assert_eq!(ask(&mut control, &mut network, 3, set)["ok"], true);
    let status = ask(&mut control, &mut network, 4, r#"{"do":"status"}"#);
    assert_eq!(status["links"][0]["settings"]["loss"], "0.05");
    assert_eq!(status["links"][1]["settings"].get("loss"), None);
    assert_eq!(status["changes"], 1);
}

#[test]
fn many_changes_leave_few_to_work_out() {
    let (mut control, mut network, _) = built(TEXT);
    for step in 1..=1000_u64 {
        let rate = 1 + step % 7;
        // What a setting needs may go when the setting itself stays.
        let delay = if step % 2 == 0 { r#""delay":0"# } else { r#""delay":"5ms","reorder":"10%""# };
        let line = format!(r#"{{"do":"set","change":{{"rate":"{rate}Mbps",{delay}}}}}"#);
        let reply = ask(&mut control, &mut network, step * 1_000_000, &line);
        assert_eq!(reply["ok"], true, "{reply}");
        assert!(control.present.changes.len() <= 2);
    }
    let reply = ask(&mut control, &mut network, 2_000_000_000, r#"{"do":"scenario"}"#);
    let text = reply["scenario"].as_str().expect("a scenario");
    assert_eq!(text.matches("[[change]]").count(), 1000);
    let (_, _, again) = built(text);
    let at = Duration::from_secs(2);
    for side in Side::BOTH {
        let now = control.present.direction_at(0, side, at);
        assert_eq!(now, again.direction_at(0, side, at));
    }
}

#[test]
fn changes_at_one_instant_are_told_apart() {
    let (mut control, mut network, _) = built(TEXT);
    let mut times = Vec::new();
    for loss in ["1%", "2%", "3%"] {
        let line = format!(r#"{{"do":"set","change":{{"loss":"{loss}"}}}}"#);
        times.push(ask(&mut control, &mut network, 7, &line)["at"].as_f64().expect("a time"));
    }
    assert!(times.is_sorted() && times[0] < times[1] && times[1] < times[2], "{times:?}");
    let status = ask(&mut control, &mut network, 10, r#"{"do":"status"}"#);
    assert_eq!(status["links"][0]["settings"]["loss"], "0.03");
}

#[test]
fn windows_are_there_for_clients_that_ask_and_cost_nothing_otherwise() {
    let (mut control, mut network, _) = built(TEXT);
    assert!(!control.wants_events() && control.wakeup().is_none());
    let first = ask(&mut control, &mut network, 0, r#"{"do":"status"}"#);
    assert!(first["links"][0]["recent"].is_null());
    assert!(control.wants_events());
    network.record(windfall_network::Recording { events: true, packets: false });
    traffic(&mut network, |step, network| {
        while let Some(event) = network.poll_event() {
            control.record(&event);
        }
        control.advance(Instant::from_nanos(step * 1_000_000), network);
    });
    let status = ask(&mut control, &mut network, 400_000_000, r#"{"do":"status"}"#);
    let recent = &status["links"][0]["recent"];
    let entered = recent["entered"].as_u64();
    let rate = recent["rate_bps"].as_f64();
    assert!(entered.is_some_and(|it| (248..=252).contains(&it)), "{recent}");
    // 100 bytes each millisecond, of which the bit errors damage a few.
    assert!(rate.is_some_and(|it| it > 600e3 && it < 800e3), "{recent}");
    assert!(recent["delay"]["p50"].as_f64().is_some_and(|it| it > 0.0008), "{recent}");
    let later = Instant::from_nanos(60_000_000_000);
    control.advance(later, &network);
    assert!(!control.wants_events(), "no client has asked for a long time");
}

#[test]
fn what_a_change_says_reads_back_from_the_log() {
    let (mut control, network, _) = built(TEXT);
    let mut run = Faulty::new(network, Seed(1));
    let line = br#"{"do":"set","change":{"rate":"2Mbps","uplink":{"loss":"5%"}}}"#;
    let now = Instant::from_nanos(1_234_567_891);
    let asked = control.handle(now, &mut run, &Lateness::default(), line);
    let (link, table) = asked.change.expect("a change");
    assert_eq!((link.as_str(), &table["at"]), ("a-b", &"1234567891ns".into()));
    assert!(Change::begun_at(Duration::ZERO).is_unset() || table["rate"] == "2Mbps");
    assert_eq!(table["uplink"]["loss"], "0.05");
}

/// The names in the first column of a table of `docs/reference/control.md`, by the title of that
/// column.
fn listed(title: &str) -> Vec<String> {
    let page = include_str!("../../../../../docs/reference/control.md");
    let rows = page.split(&format!("| {title} |")).nth(1).expect("the table is there");
    let rows = rows.lines().skip(2).take_while(|line| line.starts_with('|'));
    let names = rows.filter_map(|row| row.split('|').nth(1));
    let names = names.flat_map(|cell| cell.split('`').skip(1).step_by(2).map(str::to_owned));
    names.collect()
}

#[test]
fn the_page_of_the_protocol_lists_the_members_of_a_status() {
    let (mut control, mut network, _) = built(TEXT);
    let status = ask(&mut control, &mut network, 1_000_000, r#"{"do": "status"}"#);
    let mut members = listed("member");
    // A reply says that it is none of an error, and its faults come from outside the network.
    members.push("ok".to_owned());
    members.sort_unstable();
    let mut given: Vec<_> = status.as_object().expect("an object").keys().cloned().collect();
    given.sort_unstable();
    assert_eq!(given, members);
    let direction = status["links"][0].as_object().expect("an object");
    let members = listed("member of a direction");
    assert_eq!(members.len(), 7, "{members:?}");
    for member in members {
        assert!(direction.contains_key(&member), "a direction has no {member}");
    }
}

#[test]
fn the_example_of_the_page_of_the_protocol_is_what_a_run_replies() {
    let page = include_str!("../../../../../docs/reference/control.md");
    let example = page.split("```json\n").nth(1).expect("an example");
    let (request, rest) = example.split_once('\n').expect("a request");
    let reply: Value = serde_json::from_str(rest.lines().next().expect("a reply")).expect("JSON");
    let (mut control, mut network, _) = built(TEXT);
    assert_eq!(ask(&mut control, &mut network, 12_345_678_901, request), reply);
}

#[test]
fn a_direction_has_the_members_of_the_summary_beside_its_own() {
    let (mut control, mut network, scenario) = built(TEXT);
    traffic(&mut network, |_, _| {});
    let at = Instant::from_nanos(400_000_000);
    let span = at - Instant::START;
    let seed = scenario.seed();
    let summary = windfall_output::totals::of_network(&network, &control.topology, seed, "", span);
    let expected = serde_json::to_value(&summary.links).expect("JSON");
    let status = ask(&mut control, &mut network, 400_000_000, r#"{"do":"status"}"#);
    let own = listed("member of a direction");
    for (link, expected) in [0, 1].map(|at| (&status["links"][at], &expected[at])) {
        let mut link = link.as_object().expect("an object").clone();
        link.retain(|name, _| !own.contains(name));
        assert_eq!(&Value::from(link), expected);
    }
}
