//! The account of a station: what its programs sent and received, against what the summary says.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::live::users::STRANGER;
use crate::live::worlds::{World, require_worlds};
use crate::live::{Folder, require, windfall};

/// The far end: a socket that is read at the end only, with hardly any room, and one that answers.
/// Told to end, it writes what it has sent and received.
const FAR: &str = "
import json, signal, socket, sys
sent = received = 0
def end(*_):
    global received
    try:
        while True:
            deaf.recv(2000, socket.MSG_DONTWAIT)
            received += 1
    except BlockingIOError:
        pass
    print(json.dumps({'sent': sent, 'received': received}), file=open(sys.argv[1], 'w'))
    sys.exit()
signal.signal(signal.SIGTERM, end)
deaf, answering = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
deaf.bind(('', 5001))
answering.bind(('', 5002))
while True:
    data, sender = answering.recvfrom(2000)
    received += 1
    sent += 1
    answering.sendto(data, sender)
";

/// The near end: told to, it sends more than any device holds, and waits until all that is going
/// to arrive has arrived.
const NEAR: &str = "
import json, os, socket
far = os.environ['WINDFALL_BASE']
socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
socket.settimeout(1)
print('ready', flush=True)
input()
for _ in range(6000):
    socket.sendto(bytes(1200), (far, 5001))
print('sent', flush=True)
sent, received, answer = 6000, 0, None
while answer != sent:
    sent += 1
    socket.sendto(str(sent).encode(), (far, 5002))
    try:
        while answer != sent:
            answer = int(socket.recv(2000))
            received += 1
    except TimeoutError:
        pass
print(json.dumps({'sent': sent, 'received': received}))
";

/// The counts of the programs at both ends, near first, and the summary of their run.
struct Account {
    ends: [Value; 2],
    summary: Value,
}

/// The program as the test's user, or as an ordinary one in a `world`.
fn program_in(world: Option<World>, folder: &Folder) -> Command {
    world.map_or_else(|| windfall(""), |world| world.program(folder, STRANGER))
}

/// A run that stands still while its near end floods the device; as an ordinary user in a `world`,
/// if there is one.
fn flooded(world: Option<World>) -> Account {
    let folder = Folder::new("flooded");
    let file = folder.path().join("far");
    std::fs::write(folder.path().join("far.py"), FAR).expect("a file");
    std::fs::write(&file, "").expect("a file");
    let far = format!("exec python3 {0}/far.py {0}/far", folder.path().display());
    if world.is_some() {
        std::os::unix::fs::chown(&file, Some(STRANGER), Some(STRANGER)).expect("root may");
    }
    let mut run = program_in(world, &folder)
        .args("run --json --rate 10Mbps --queue 20 --wait-port 5002 --far".split(' '))
        .args([&far, "--", "python3", "-c", NEAR])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program is there");
    let mut lines = BufReader::new(run.stdout.take().expect("a pipe")).lines();
    let mut line = || lines.next().expect("it goes on").expect("text");
    assert_eq!(line(), "ready");
    let process = Pid::from_child(&run);
    kill_process(process, Signal::STOP).expect("it lives");
    run.stdin.take().expect("a pipe").write_all(b"\n").expect("it waits");
    assert_eq!(line(), "sent");
    kill_process(process, Signal::CONT).expect("it lives");
    let near = serde_json::from_str(&line()).expect("JSON");
    let output = run.wait_with_output().expect("it ends");
    let error = String::from_utf8_lossy(&output.stderr);
    let summary = serde_json::from_str(&error).unwrap_or_else(|_| panic!("{error}"));
    let far = std::fs::read_to_string(file).expect("a file");
    Account { ends: [near, serde_json::from_str(&far).expect("JSON")], summary }
}

/// The summary of a run in which packets were dropped on both sides of the link.
pub(crate) fn summary_with_drops() -> Value {
    flooded(None).summary
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no number"))
}

fn total(drops: &Value) -> u64 {
    drops.as_object().expect("an object").values().map(number).sum()
}

impl Account {
    /// Panics unless each packet of each end was delivered, dropped for a named reason or in
    /// flight, once.
    fn check(&self) {
        let Self { ends, summary } = self;
        for (here, there) in [(0, 1), (1, 0)] {
            let out = &summary["links"][here];
            let to_us = &summary["links"][there];
            let station = &summary["stations"][here];
            let entered = number(&out["entered"]);
            let gone = total(&out["dropped"]) + number(&out["in_flight"]);
            assert_eq!(entered, number(&out["delivered"]) + gone, "{out}");
            let before = total(&station["dropped_before"]) + number(&station["waiting"]);
            assert_eq!(number(&ends[here]["sent"]), before + entered, "{station}: {summary}");
            let received = number(&ends[here]["received"]) + total(&station["dropped_after"]);
            assert_eq!(number(&to_us["delivered"]), received, "{station}: {summary}");
        }
    }
}

//= S0.71
#[test]
fn every_packet_of_a_flood_is_accounted_for_once() {
    require!("python3");
    let account = flooded(None);
    account.check();
    let Account { summary, .. } = account;
    let near = &summary["stations"][0];
    let far = &summary["stations"][1];
    assert!(total(&near["dropped_before"]) > 0, "the device was full: {summary}");
    assert!(number(&summary["links"][0]["dropped"]["queue-full"]) > 0, "{summary}");
    assert!(number(&far["dropped_after"]["receive-buffer"]) > 0, "{summary}");
}

#[test]
fn the_account_of_an_ordinary_user_adds_up_with_either_device() {
    require!("python3");
    require_worlds!();
    for (world, reason) in [(World::OpenTun, "device"), (World::ClosedTun, "kernel")] {
        let account = flooded(Some(world));
        account.check();
        let near = &account.summary["stations"][0];
        assert!(near["dropped_before"][reason].as_u64() > Some(0), "{world:?}: {near}");
    }
}

/// The drops after the link of a far end whose device is down, when ten datagrams come.
fn refused(world: Option<World>) -> Value {
    let folder = Folder::new("refused");
    // The run waits until something listens, so that the device is down by then.
    let far = "ip link set wf0 down && exec python3 -c 'import socket, time; \
               s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind((\"\", 5001)); \
               time.sleep(1000)'";
    let near = "import os, socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); \
                [s.sendto(b'x', (os.environ['WINDFALL_BASE'], 5001)) for _ in range(10)]";
    let output = program_in(world, &folder)
        .args(["run", "--json", "--far-may-fail", "--far", far, "--wait-port", "5001"])
        .args(["--", "python3", "-c", near])
        .output()
        .expect("it runs");
    let error = String::from_utf8_lossy(&output.stderr);
    let summary: Value = serde_json::from_str(&error).unwrap_or_else(|_| panic!("{error}"));
    assert_eq!(number(&summary["links"][0]["delivered"]), 10, "{summary}");
    summary["stations"][1]["dropped_after"].clone()
}

#[test]
fn what_a_device_refuses_is_dropped_once() {
    require!("ip", "python3");
    assert_eq!(refused(None), serde_json::json!({ "device": 10 }));
}

#[test]
fn what_the_device_of_an_ordinary_user_refuses_is_dropped_once() {
    require!("ip", "python3");
    require_worlds!();
    assert_eq!(refused(Some(World::OpenTun)), serde_json::json!({ "device": 10 }));
    // What is written to a pair whose other end is down is taken, and vanishes.
    assert_eq!(refused(Some(World::ClosedTun)), serde_json::json!({ "kernel": 10 }));
}
