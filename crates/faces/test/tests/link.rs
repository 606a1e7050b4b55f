//! Links against the program of this build, on this machine's kernel.

use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};
use std::time::Duration;

use windfall_test::{Change, Link, LinkError, RunningLink};
use windfall_testkit::{built, skip};

/// Returns a link of this build's program, or announces why there can be none here.
fn link() -> Option<Link> {
    let program = built::workspace().join("windfall");
    let probe = Command::new(&program).args(["run", "-q", "--", "true"]).output();
    if probe.is_ok_and(|it| it.status.success()) {
        return Some(Link::new().program(program));
    }
    skip::announce("this machine lets no link be made (windfall doctor says why)");
    None
}

fn text(error: Result<impl Sized, LinkError>) -> String {
    error.err().map(|error| error.to_string()).unwrap_or_default()
}

#[test]
fn programs_at_both_ends_meet_and_a_running_link_changes() {
    let Some(link) = link() else { return };
    let link = link.rate("20Mbps").delay("1ms").uplink("queue", 500).start().expect("it is up");
    let page = "import http.server as h; h.test(h.SimpleHTTPRequestHandler, port=8000)";
    let mut server = link.far().command("python3");
    server.args(["-c", page]).stdout(Stdio::null()).stderr(Stdio::null()).current_dir("/");
    let mut server = server.spawn().expect("Python");
    link.wait_port(8000).expect("it listens");
    assert!(!link.near().listens_on(8000).expect("it is up"));
    let fetch = "import urllib.request as r; r.urlopen('http://far:8000/').read(); print('got')";
    let got = link.near().command("python3").args(["-c", fetch]).output().expect("Python");
    assert_eq!(got.stdout, b"got\n", "{}", String::from_utf8_lossy(&got.stderr));
    let status = link.status().expect("it is up");
    assert_eq!(status["links"][0]["name"], "near-far/near");
    assert!(status["links"][0]["delivered"].as_u64() > Some(4), "{status}");
    assert_eq!(status["links"][0]["settings"]["queue"], "500");
    let change = Change::new().loss("100%").uplink("rate", "1Mbps");
    assert!(link.set(&change).expect("it changes") > 0.0);
    let address = link.far().address().expect("it has one");
    let lost = link.near().shell(&format!("ping -c 1 -W 1 {address} >/dev/null")).status();
    assert_eq!(lost.expect("ping").code(), Some(1));
    let status = link.status().expect("it is up");
    assert!(status["links"][0]["dropped"]["lost"].as_u64() >= Some(1), "{status}");
    assert_eq!(status["links"][1]["settings"]["rate"], "20Mbps");
    assert!(link.scenario().expect("it is up").contains("[[change]]"));
    let summary = link.end().expect("it ends");
    assert_eq!(summary["links"][0]["balances"], true);
    // The server has ended with the link.
    server.wait().expect("it is gone");
}

#[test]
fn a_server_that_fails_is_not_awaited() {
    let Some(link) = link() else { return };
    let link = link.delay("1ms").start().expect("it is up");
    let limit = Duration::from_secs(600);
    for (line, said) in [("exit 3", "exit status: 3"), ("no-such-server 2>/dev/null", "127")] {
        let mut server = link.far().shell(line).spawn().expect("a shell");
        let error = text(link.far().wait_server(8000, &mut server, limit));
        assert!(error.contains("port 8000 of far") && error.contains(said), "{error}");
    }
    let serve = "exec python3 -m http.server 8000 --directory /etc >/dev/null 2>&1";
    let mut server = link.far().shell(serve).spawn().expect("a shell");
    link.far().wait_server(8000, &mut server, limit).expect("it listens");
    link.end().expect("it ends");
    server.wait().expect("it is gone");
}

#[test]
fn threads_stand_at_both_ends_by_sockets_of_the_stations() {
    let Some(link) = link() else { return };
    let link = link.delay("5ms").loss("1%").seed(3).start().expect("it is up");
    let listener = link.far().listen(4000).expect("the port is free");
    let server = std::thread::spawn(move || {
        let (mut client, _) = listener.accept().expect("a client");
        let mut text = Vec::new();
        client.read_to_end(&mut text).expect("bytes");
        text
    });
    let mut client = link.near().connect("far:4000").expect("it answers");
    client.write_all(&[7; 100_000]).expect("room");
    drop(client);
    assert_eq!(server.join().expect("it ends"), [7; 100_000]);
    let delivered =
        |link: &RunningLink| link.status().expect("it is up")["links"][0]["delivered"].as_u64();
    assert!(delivered(&link) > Some(60));
    let far = link.far().udp(5000).expect("the port is free");
    far.set_read_timeout(Some(Duration::from_secs(30))).expect("a socket");
    let near = link.near().udp(0).expect("any port");
    let target = (link.far().address().expect("it has one"), 5000);
    let before = delivered(&link);
    for _ in 0..50 {
        near.send_to(b"datagram", target).expect("room");
    }
    let mut buffer = [0; 16];
    assert_eq!(far.recv(&mut buffer).expect("one of fifty comes"), 8);
    assert!(delivered(&link) > before);
    assert!(text(link.far().listen(5000)).is_empty(), "TCP has ports of its own");
    assert!(text(link.far().udp(5000)).contains("5000"), "the port is taken");
    assert!(text(link.near().connect("far:9")).contains("far:9"), "nothing listens");
}

#[test]
fn wrong_settings_are_refused_with_the_words_of_the_program() {
    let Some(link) = link() else { return };
    assert!(text(link.clone().rate("fast").start()).contains("rate"));
    assert!(text(link.clone().setting("wait_port", 80).start()).contains("call wait_port"));
    assert!(text(link.clone().program("/nowhere").start()).contains("WINDFALL"));
    let running = link.clone().delay("1ms").start().expect("it is up");
    let refused = text(running.set(&Change::new().setting("rte", 1)));
    assert!(refused.contains("did you mean rate?"), "{refused}");
    assert!(text(running.fault("far:80 explode")).contains("explode"));
    running.fault("far:80 reset 1s").expect("it is set");
    // A disturbed run fails at its end.
    let disturbed = link.delay("1ms").max_late("0ms:0").start().expect("it is up");
    let ping = "ping -c 1 far >/dev/null";
    assert!(disturbed.near().shell(ping).status().expect("ping").success());
    assert!(text(disturbed.end()).contains("--max-late"));
}

#[test]
fn a_link_ends_when_it_is_dropped() {
    let Some(link) = link() else { return };
    let program = built::folder().join("windfall");
    let running = link.delay("1ms").start().expect("it is up");
    let name = running.name().to_owned();
    let listed = || {
        let output = Command::new(&program).arg("ls").output().expect("it is built");
        String::from_utf8_lossy(&output.stdout).contains(&name)
    };
    assert!(listed());
    let mut sleeper = running.far().command("sleep").arg("1000").spawn().expect("sleep");
    drop(running);
    assert!(!listed());
    sleeper.wait().expect("it has ended with the link");
}
