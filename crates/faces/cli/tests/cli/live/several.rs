//! Several stations that stay up, and programs that enter them.

use std::io::{BufReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Output, Stdio};

use crate::live::users::{STRANGER, open_copy, stranger_obstacle};
use crate::live::{Folder, pair, pings, require, skip_to};
use crate::support::scenario;

/// A router between two stations.
const ROUTED: &str = r#"
[[link]]
stations = ["left", "router"]
delay = "1ms"
[[link]]
stations = ["router", "right"]
delay = "1ms"
mtu = 1300
"#;

/// Sends what the router or the right station must drop: over each family five datagrams too big
/// for the second link and ten whose hop limit runs out, and two of each wrong length.
const UNWANTED: &str = "
from socket import *
import struct
plain, wide = ('10.77.0.6', 9), ('fd77:696e:6400:1::2', 9)
kinds = ((AF_INET, plain, 0, 10, 2), (AF_INET6, wide, 41, 23, 16))
for family, to, level, discovery, hops in kinds:
    big, short_lived = (socket(family, SOCK_DGRAM) for _ in range(2))
    big.setsockopt(level, discovery, 3)
    short_lived.setsockopt(level, hops, 1)
    for _ in range(5):
        big.sendto(bytes(1400), to)
    for _ in range(10):
        short_lived.sendto(bytes(10), to)
raw = socket(AF_INET, SOCK_RAW, IPPROTO_UDP)
for length in (4, 4, 100, 100):
    raw.sendto(struct.pack('!HHHH', 1000, 9, length, 0) + bytes(4), plain)
";

/// A radio whose base station cannot reach `b`.
const CELL: &str = r#"
[[link]]
kind = "wavelan"
stations = ["base", "a", "b", "c"]
arq = 0
[[link.path]]
from = "base"
to = "b"
loss = "100%"
"#;

/// A scenario that is up, as seen by one user.
pub(crate) struct Up {
    run: Child,
    errors: BufReader<std::process::ChildStderr>,
    program: std::path::PathBuf,
    user: Option<u32>,
    /// Of this test run alone.
    pub(crate) name: String,
}

impl Up {
    fn new(folder: &Folder, name: &str, user: Option<u32>) -> Self {
        let stations = [("left", ""), ("router", "forward = true"), ("right", "")];
        Self::of(folder, name, user, &scenario("", &stations, ROUTED))
    }

    pub(crate) fn of(folder: &Folder, name: &str, user: Option<u32>, scenario: &str) -> Self {
        let program = open_copy(folder);
        let name = format!("{name}-{}", std::process::id());
        let file = folder.path().join("scenario.toml");
        std::fs::write(&file, scenario).expect("a file");
        let mut command = Self::command(&program, user);
        command.args(["up", "--json", "--name", &name]).arg(&file);
        let mut run =
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs");
        let errors = skip_to(run.stderr.take(), " is up");
        Self { run, errors, program, user, name }
    }

    fn command(program: &std::path::Path, user: Option<u32>) -> Command {
        let mut command = Command::new(program);
        command.stdin(Stdio::null()).current_dir("/").env_remove("SUDO_UID");
        if let Some(user) = user {
            command.uid(user).gid(user);
        }
        command
    }

    pub(crate) fn exec(&self, station: &str, line: &str) -> Output {
        let mut command = Self::command(&self.program, self.user);
        command.args(["exec", "--run", &self.name, station, "--", "sh", "-c", line]);
        command.output().expect("it runs")
    }

    /// Interrupts the run, and returns its summary.
    pub(crate) fn end(mut self) -> serde_json::Value {
        let pid = rustix::process::Pid::from_child(&self.run);
        rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("it lives");
        let mut text = String::new();
        let mut errors = String::new();
        let out = self.run.stdout.as_mut().expect("a pipe");
        out.read_to_string(&mut text).expect("text");
        self.errors.read_to_string(&mut errors).expect("text");
        assert!(self.run.wait().expect("it ends").success(), "{errors}");
        assert_eq!(errors, "");
        let summary = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{text}"));
        crate::json::Page::read().check(&summary);
        summary
    }
}

#[test]
fn a_run_inside_a_station_takes_other_addresses_than_those_around_it() {
    require!("ping");
    let folder = Folder::new("up-inside");
    let up = Up::new(&folder, "inside", None);
    let said = |station: &str, line: &str| {
        let output = up.exec(station, line);
        assert!(output.status.success(), "{output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let variables = "echo $WINDFALL_BASE $WINDFALL_ENGINE";
    let stations = ["left", "router", "right"].map(|station| said(station, variables));
    let expected = ["10.77.0.2 10.177.0.2\n", "10.77.0.1 10.177.0.1\n", "10.77.0.5 10.177.0.5\n"];
    assert_eq!(stations, expected);
    let inner = "echo $WINDFALL_BASE; ping -q -c 1 -W 30 $WINDFALL_BASE";
    let text = said("left", &format!("{} run -q -- sh -c '{inner}'", up.program.display()));
    assert!(text.starts_with("10.78.0.2\n") && text.contains(" 1 received"), "{text}");
    up.end();
}

/// Enters the stations: packets are forwarded, and routers say what does not fit.
fn visit(up: &Up) {
    let output = up.exec("left", &format!("{}; exit 4", pings(2, "-q 10.77.0.6")));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(4), "{output:?}");
    assert_eq!(text.matches(" 1 received").count(), 2, "{text}");
    let output = up.exec("left", "ping -c 1 -W 30 -M do -s 1400 10.77.0.6");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("mtu = 1300") || text.contains("mtu=1300"), "{text}");
    let output = up.exec("left", "ping -6 -c 1 -W 30 -q fd77:696e:6400:1::2");
    assert!(output.status.success(), "{output:?}");
    assert_eq!(up.exec("nowhere", "true").status.code(), Some(2));
    assert_eq!(up.exec("right", "exec /no/such/program").status.code(), Some(127));
}

//= S0.30
#[test]
fn programs_enter_stations_that_are_up() {
    require!("ping");
    let folder = Folder::new("up");
    let up = Up::new(&folder, "tests", None);
    visit(&up);
    let summary = up.end();
    let links = summary["links"].as_array().expect("a list");
    assert_eq!(links.len(), 4);
    for link in links {
        assert_eq!(link["balances"], true, "{summary}");
        assert_eq!(link["entered"], link["delivered"], "{summary}");
    }
}

//= S0.71
#[test]
fn what_a_router_and_a_host_drop_is_named() {
    require!("python3", "ping");
    let folder = Folder::new("up-drops");
    let up = Up::new(&folder, "drops", None);
    let script = folder.path().join("unwanted.py");
    std::fs::write(&script, UNWANTED).expect("a file");
    // Packets keep their order: when the ping is answered, all before it have arrived.
    let line = format!("python3 {} && ping -q -c 1 -W 30 10.77.0.6", script.display());
    let output = up.exec("left", &line);
    assert!(output.status.success(), "{output:?}");
    let summary = up.end();
    let dropped = |station: usize| summary["stations"][station]["dropped_after"].clone();
    assert_eq!(dropped(1), serde_json::json!({ "too-big": 10, "hop-limit": 20 }), "{summary}");
    assert_eq!(dropped(2), serde_json::json!({ "malformed": 4 }), "{summary}");
}

//= S3.2
#[test]
fn several_stations_share_one_radio() {
    require!("ping");
    let folder = Folder::new("up-cell");
    let stations = [("base", "forward = true"), ("a", ""), ("b", ""), ("c", "")];
    let up = Up::of(&folder, "cell", None, &scenario("", &stations, CELL));
    let received = |from: &str, line: &str| {
        let output = up.exec(from, line);
        String::from_utf8_lossy(&output.stdout).matches(" 1 received").count() == 2
    };
    assert!(received("base", &pings(2, "10.77.0.2")) && received("a", &pings(2, "10.77.0.4")));
    assert!(!received("base", "ping -c 2 -W 1 10.77.0.3"), "all that b should hear is lost");
    let links = up.end();
    let drops = &links["links"][0]["dropped"];
    assert!(drops["lost"].as_u64() >= Some(2), "{links}");
}

#[test]
fn strangers_have_stations_of_their_own() {
    require!("ping");
    let folder = Folder::new("up-stranger");
    if let Some(obstacle) = stranger_obstacle(&folder) {
        windfall_testkit::skip!("{obstacle}");
    }
    let up = Up::new(&folder, "theirs", Some(STRANGER));
    visit(&up);
    // To everybody else the run does not exist.
    let mut other = Up::command(&up.program, Some(STRANGER + 1));
    let refused = other.args(["exec", "--run", &up.name, "left", "--", "true"]).output();
    assert_eq!(refused.expect("it runs").status.code(), Some(2));
    up.end();
}

#[test]
fn a_killed_run_leaves_no_door() {
    require!();
    let folder = Folder::new("up-killed");
    let mut up = Up::new(&folder, "killed", None);
    up.run.kill().expect("it lives");
    up.run.wait().expect("it ends");
    let output = up.exec("left", "true");
    assert_eq!(output.status.code(), Some(2));
    let line = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(line.lines().count(), 1, "{line}");
}

#[test]
fn a_name_that_no_run_can_have_is_wrong_usage() {
    require!();
    let folder = Folder::new("up-name");
    let scenario = folder.write(".toml", pair(""));
    let output = crate::live::windfall("up").arg(&scenario).output().expect("it runs");
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert_eq!(error.lines().count(), 1, "{error}");
    assert!(error.contains("\".toml\" cannot name a run"), "{error}");
}

#[test]
fn the_doctor_finds_what_runs_need() {
    require!();
    let output = crate::live::windfall("doctor --json").output().expect("it runs");
    assert_eq!(output.status.code(), Some(0));
    let findings: serde_json::Value = serde_json::from_slice(&output.stdout).expect("findings");
    let findings = findings["findings"].as_array().expect("a list");
    let names =
        ["namespaces", "devices", "parameters", "outside", "tun", "udp-lite", "tcp-congestion"];
    for name in names {
        let finding = findings.iter().find(|finding| finding["name"] == name);
        let finding = finding.unwrap_or_else(|| panic!("no finding of {name}"));
        let is_good = finding["health"] == "good";
        assert_eq!(is_good, finding["fix"] == "", "{finding}");
    }
}
