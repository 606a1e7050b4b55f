//! `windfall links`, and each link held to the figures of its source.

use serde_json::Value;

use crate::support::Folder;

fn links(folder: &Folder) -> Vec<Value> {
    let output = folder.windfall(&["links", "--json"]).output().expect("the program");
    let list: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    list["links"].as_array().expect("a list").clone()
}

/// Simulates a link with these applications, and returns the summary.
fn simulate(folder: &Folder, link: &Value, apps: &str) -> Value {
    let text = link["scenario"].as_str().expect("a scenario");
    folder.write("link.toml", format!("{text}\n{apps}"));
    let output = folder.windfall(&["sim", "link.toml", "--json", "--duration", "60s"]).output();
    let output = output.expect("the program");
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{}: {error}", link["name"]);
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// Returns a measure of the application whose name begins so.
fn measure(summary: &Value, application: &str, name: &str) -> f64 {
    let all = summary["applications"].as_array().expect("applications").iter();
    let mut named =
        all.filter(|it| it["name"].as_str().is_some_and(|it| it.starts_with(application)));
    let found = named.next().expect("it is there");
    found["measures"][name].as_f64().unwrap_or_else(|| panic!("{name} of {found}"))
}

const PING: &str = r#"
[[app]]
kind = "ping"
station = "near"
to = "far"
size = 16
interval = "3s"
"#;

/// Sends as much as the link takes, from one end to the other.
fn spray(from: &str, to: &str) -> String {
    format!(
        "[[app]]\nkind = \"spray\"\nstation = \"{from}\"\nto = \"{to}\"\nport = 5000\nsize = 1400\n\
         [[app]]\nkind = \"sink\"\nstation = \"{to}\"\nport = 5000\n"
    )
}

#[test]
fn each_named_link_has_the_round_trip_and_the_rates_of_its_source() {
    let folder = Folder::new("named-links");
    let all = links(&folder);
    assert!(all.len() >= 35, "{}", all.len());
    for link in &all {
        let name = link["name"].as_str().expect("a name");
        let is_pipe = !link["scenario"].as_str().expect("a text").contains("kind = ");
        let [down, up] = ["down_bps", "up_bps"].map(|key| link[key].as_f64().expect("a rate"));
        if let Some(rtt) = link["rtt_seconds"].as_f64() {
            let summary = simulate(&folder, link, PING);
            let measured = |name| measure(&summary, "ping", name);
            // A packet of up to 70 bytes takes its time on the line both ways.
            let most = rtt + 70.0 * 8.0 * (1.0 / up + 1.0 / down);
            let spread = link["rtt_max_seconds"].as_f64().map_or(0.0, |most| (most - rtt) / 5.0);
            let mean = measured("rtt_mean_seconds");
            assert!((rtt - spread..=most + spread).contains(&mean), "{name}: {mean}, not {rtt}");
            if let Some(least) = link["rtt_min_seconds"].as_f64() {
                assert!(measured("rtt_min_seconds") >= least, "{name}");
                assert!(measured("rtt_max_seconds") <= 2.0 * rtt - least + most - rtt, "{name}");
            }
        }
        for (from, to, rate) in [("near", "far", up), ("far", "near", down)] {
            let summary = simulate(&folder, link, &spray(from, to));
            let bits = measure(&summary, "sink", "received_bytes") * 8.0 / 60.0;
            // Headers take a few per cent; a radio and a circuit lose and wait as well.
            // Two packets may be on their way at the end.
            let least = if is_pipe { 0.9 * rate - 2.0 * 1400.0 * 8.0 / 60.0 } else { 0.0 };
            assert!((least..=rate).contains(&bits), "{name}, from {from}: {bits} of {rate}");
        }
    }
}

#[test]
fn a_link_is_shown_with_its_source_and_a_misspelt_name_with_the_right_one() {
    let folder = Folder::new("named-links-shown");
    let output = folder.windfall(&["links", "chrome-slow-4g"]).output().expect("the program");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    for part in ["Chrome's developer tools", "562.5 ms", "1.44 Mb/s, 675 kb/s", "stations = "] {
        assert!(text.contains(part), "{text}");
    }
    for words in
        [&["links", "chrome-slow-4gg"][..], &["run", "--like", "chrome-slow-4gg", "--", "true"]]
    {
        let output = folder.windfall(words).output().expect("the program");
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(error.contains("did you mean \"chrome-slow-4g\"?"), "{error}");
        assert!(!output.status.success());
    }
    let options =
        ["run", "--like", "wpt-3g", "--loss", "2%", "--downlink-rate", "2Mbps", "--generate"];
    let output = folder.windfall(&options).output().expect("the program");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    for part in ["delay = \"150ms\"", "loss = \"0.02\"", "rate = \"768kbps\"", "rate = \"2Mbps\""] {
        assert!(text.contains(part), "{text}");
    }
}
