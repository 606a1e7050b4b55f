//! Sockets of UDP-Lite of programs that exist, across a link that damages.

use crate::live::{Folder, WINDFALL, require, text, windfall};

/// Sends numbered datagrams of 1000 bytes, the first four covered, to whoever asks.
const SENDER: &str = "\
import socket, struct
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_UDPLITE)
sock.bind(('0.0.0.0', 4000))
sock.setsockopt(socket.IPPROTO_UDPLITE, 10, 12)
_, peer = sock.recvfrom(100)
for number in range(500):
    sock.sendto(struct.pack('!I', number) + bytes(996), peer)
while True:
    sock.recvfrom(100)
    sock.sendto(struct.pack('!I', 500), peer)
";

/// Asks, and counts what arrives, and what of it is damaged.
const RECEIVER: &str = "\
import socket, struct
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_UDPLITE)
sock.settimeout(0.5)
there = ('10.77.0.2', 4000)
seen, damaged = set(), 0
for attempt in range(60):
    sock.sendto(b'more', there)
    try:
        while 500 not in seen:
            data = sock.recv(2000)
            seen.add(struct.unpack('!I', data[:4])[0])
            damaged += any(data[4:])
        break
    except socket.timeout:
        pass
print(len(seen), damaged, max(seen))
";

#[test]
fn sockets_of_udp_lite_get_damaged_data_across_a_link() {
    require!("python3");
    let folder = Folder::new("udplite");
    let [sender, receiver] =
        [("sender.py", SENDER), ("receiver.py", RECEIVER)].map(|(name, code)| {
            let path = folder.path().join(name);
            std::fs::write(&path, code).expect("a file");
            path.display().to_string()
        });
    let lite = format!("exec {WINDFALL} udplite --carrier udp -- python3");
    let probe = windfall("udplite -- true").output().expect("it runs");
    if !probe.status.success() {
        windfall_testkit::skip!("this build made no library to preload");
    }
    let far = format!("{lite} {sender}");
    let near = format!("sleep 1; {lite} {receiver}");
    let output = windfall("run -q --rate 10Mbps --ber 1e-5 --accept-damaged --queue 1000 --far")
        .args([&far, "--", "sh", "-c", &near])
        .output()
        .expect("it runs");
    let said = text(&output);
    let counts: Vec<u32> = said.split_whitespace().filter_map(|it| it.parse().ok()).collect();
    let [arrived, damaged, most] = counts[..] else { panic!("{said:?} {output:?}") };
    // Of 8000 bits at 1e-5, 8 % of the datagrams are damaged: 38 of 500 with a deviation of 6; a
    // header is hit in 0.3 %.
    assert!(arrived >= 480 && (10..=80).contains(&damaged) && most <= 500, "{said}");
}

/// Receives until 200 datagrams or two seconds of silence.
const COUNTER: &str = "\
import socket
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_UDPLITE)
sock.setsockopt(socket.IPPROTO_UDPLITE, 11, 12)
sock.bind(('0.0.0.0', 5000))
sock.settimeout(2)
print('ready', flush=True)
for number in range(200):
    sock.recv(2000)
";

/// Sends 200 datagrams of 1000 bytes.
const STREAM: &str = "\
import socket, time
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_UDPLITE)
sock.setsockopt(socket.IPPROTO_UDPLITE, 10, 12)
for number in range(200):
    sock.sendto(bytes(1000), ('10.77.0.2', 5000))
    time.sleep(0.002)
";

#[test]
fn what_a_raw_socket_received_is_not_counted_as_dropped() {
    require!("python3");
    let folder = Folder::new("udplite-raw");
    folder.write("counter.py", COUNTER);
    folder.write("stream.py", STREAM);
    let raw = |file: &str| format!("{WINDFALL} udplite --carrier raw -- python3 {file}");
    let probe = windfall("run -q -- ").arg("sh").arg("-c").arg(raw("-V")).output();
    if !probe.expect("it runs").status.success() {
        windfall_testkit::skip!(
            "this build made no library to preload, or raw sockets need rights"
        );
    }
    let far = format!("{} >ready", raw("counter.py"));
    let near = format!("until test -s ready; do sleep 0.1; done; {}", raw("stream.py"));
    let mut command = windfall("run -q --rate 10Mbps --summary summary.json --far");
    command.args([&far, "--", "sh", "-c", &near]).current_dir(folder.path());
    let output = command.output().expect("it runs");
    assert!(output.status.success(), "{output:?}");
    let text = std::fs::read_to_string(folder.path().join("summary.json")).expect("a summary");
    let summary: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(summary["links"][0]["delivered"], 200);
    for station in summary["stations"].as_array().expect("stations") {
        let dropped = station["dropped_after"].as_object();
        assert!(dropped.is_none_or(serde_json::Map::is_empty), "{station}");
    }
}
