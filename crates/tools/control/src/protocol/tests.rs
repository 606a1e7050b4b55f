use serde::de::DeserializeOwned;
use serde_json::json;

use super::*;

fn reads_back<T: Serialize + DeserializeOwned>(said: &T, expected: &str) {
    assert_eq!(line(said), expected);
    let again: T = serde_json::from_str(expected).expect(expected);
    assert_eq!(line(&again), expected);
}

#[test]
fn requests_are_the_lines_that_runs_have_always_read() {
    let change = Map::from_iter([
        ("rate".to_owned(), json!("1Mbps")),
        ("over".to_owned(), json!("2s")),
        ("uplink".to_owned(), json!({"loss": "5%"})),
    ]);
    let set = r#"{"change":{"over":"2s","rate":"1Mbps","uplink":{"loss":"5%"}},"do":"set"}"#;
    for (request, expected) in [
        (RunRequest::Status, r#"{"do":"status"}"#),
        (RunRequest::Samples { since: 2.5 }, r#"{"do":"samples","since":2.5}"#),
        (RunRequest::Scenario, r#"{"do":"scenario"}"#),
        (RunRequest::Set { change }, set),
        (
            RunRequest::Fault { fault: "far:80 reset 1s".to_owned() },
            r#"{"do":"fault","fault":"far:80 reset 1s"}"#,
        ),
        (RunRequest::Enter, r#"{"do":"enter"}"#),
        (RunRequest::End, r#"{"do":"end"}"#),
    ] {
        reads_back(&request, expected);
    }
}

#[test]
fn replies_are_the_lines_that_clients_have_always_read() {
    reads_back(&Done { ok: true }, r#"{"ok":true}"#);
    reads_back(&RunRefusal { error: "say \"x\"".to_owned() }, r#"{"error":"say \"x\""}"#);
    let scenario = ScenarioText { ok: true, scenario: "format = 1\n".to_owned() };
    reads_back(&scenario, r#"{"ok":true,"scenario":"format = 1\n"}"#);
    let change = Map::from_iter([("fault".to_owned(), json!("far:80 reset 1s"))]);
    let changed = Changed { ok: true, at: 3.0, change };
    reads_back(&changed, r#"{"at":3.0,"change":{"fault":"far:80 reset 1s"},"ok":true}"#);
    let window = Sample { t: 0.25, link: "a-b/a".to_owned(), busy: Some(0.5), ..Sample::default() };
    let samples = Samples { ok: true, t: 0.5, samples: vec![window] };
    let expected = [
        r#"{"ok":true,"samples":[{"bits_inverted":0,"busy":0.5,"delivered":0,"dropped":{},"#,
        r#""entered":0,"frames":0,"link":"a-b/a","queue_packets":0,"rate_bps":0.0,"#,
        r#""retransmitted":0,"seconds":0.0,"t":0.25}],"t":0.5}"#,
    ];
    reads_back(&samples, &expected.concat());
}

/// A status in which nothing is left out.
fn status() -> RunStatus {
    let recent = Sample { t: 0.25, link: "a-b/a".to_owned(), ..Sample::default() };
    let summary = LinkSummary {
        name: "a-b/a".to_owned(),
        entered: 3,
        dropped: BTreeMap::from([("lost".into(), 1)]),
        ..LinkSummary::default()
    };
    let link = LinkStatus {
        summary,
        link: "a-b".to_owned(),
        direction: "uplink".to_owned(),
        can_change: true,
        settings: BTreeMap::from([("rate".to_owned(), "1Mbps".to_owned())]),
        queue: QueueStatus { packets: 1, bytes: 90 },
        delivered_bytes: 180,
        recent: Some(recent),
    };
    let web =
        FlowSummary { name: "web".to_owned(), effort_seconds: Some(0.0), ..FlowSummary::default() };
    RunStatus {
        ok: true,
        format: FORMAT.to_owned(),
        name: "office".to_owned(),
        kind: "up".to_owned(),
        command: "windfall up office.toml".to_owned(),
        pid: 7,
        seed: u64::MAX,
        t: 1.5,
        changes: 2,
        stations: vec![StationStatus {
            name: "a".to_owned(),
            addresses: vec!["10.0.0.1".to_owned()],
        }],
        links: vec![link],
        flows: vec![FlowStatus { summary: web, recent: None }],
        faults: vec![FaultStatus { fault: "b:80 down".to_owned(), ..FaultStatus::default() }],
        lateness: LatenessSummary::default(),
    }
}

#[test]
fn a_status_is_the_line_that_clients_have_always_read() {
    let expected = include_str!("tests/status.json");
    let expected: String = expected.lines().map(str::trim_start).collect();
    reads_back(&status(), &expected);
    let again: RunStatus = serde_json::from_str(&expected).expect("a status");
    assert_eq!(again, status());
}

#[test]
fn versions_of_one_format_understand_each_other() {
    let newer = r#"{"ok":true,"t":2.0,"mood":"fine","links":[{"name":"a/b","colour":1}]}"#;
    let status: RunStatus = serde_json::from_str(newer).expect("a status");
    assert!((status.t - 2.0).abs() < 1e-9);
    assert_eq!(status.links[0].summary.name, "a/b");
    assert_eq!(status.links[0].recent, None);
}

/// The examples of `docs/reference/control.md`, a request and its reply.
fn examples() -> (&'static str, &'static str) {
    let page = include_str!("../../../../../docs/reference/control.md");
    let example = page.split("```json\n").nth(1).expect("an example");
    let (request, rest) = example.split_once('\n').expect("a request");
    (request, rest.lines().next().expect("a reply"))
}

#[test]
fn the_examples_of_the_page_are_said_by_these_types() {
    let (request, reply) = examples();
    // The page sets its examples with spaces, and in an order for readers.
    let plain = |text: &str| serde_json::from_str::<Value>(text).expect(text).to_string();
    let typed: RunRequest = serde_json::from_str(request).expect(request);
    assert_eq!(line(&typed), plain(request));
    let typed: Changed = serde_json::from_str(reply).expect(reply);
    assert_eq!(line(&typed), plain(reply));
}
