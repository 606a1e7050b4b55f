//! One flow of real programs is impaired, and others are left alone.

use serde_json::Value;

use crate::live::{Folder, require};

/// The far end notes what arrives at two ports, and tells it who asks at a third one.
const FAR: &str = "
import json, select, socket
def bound(port):
    one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    one.bind(('', port))
    return one
both = [bound(port) for port in (5000, 5001)]
asked = bound(5002)
seen = [[], []]
def take():
    for one, datagrams in zip(both, seen):
        while select.select([one], [], [], 0)[0]:
            datagrams.append(one.recv(2000).hex())
while True:
    select.select([asked, *both], [], [])
    take()
    if select.select([asked], [], [], 0)[0]:
        _, sender = asked.recvfrom(2000)
        take()
        asked.sendto(json.dumps(seen).encode(), sender)
";

/// The near end sends 20 datagrams to each port by turns, of their number and zeros, and prints
/// what has arrived. The link keeps their order, so the question comes after all of them.
const NEAR: &str = "
import os, socket
far = os.environ['WINDFALL_BASE']
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
    one.settimeout(1)
    def ask():
        while True:
            one.sendto(b'?', (far, 5002))
            try:
                return one.recv(60000).decode()
            except TimeoutError:
                pass
    ask()
    for number in range(1, 21):
        for port in (5000, 5001):
            one.sendto(bytes([number] + 39 * [0]), (far, port))
    print(ask())
";

/// Runs programs over a link, and returns what the one at the near end prints, and the summary.
fn run(name: &str, options: &[&str], far: &str, near: &str) -> (String, Value) {
    let folder = Folder::new(name);
    folder.write("far.py", far);
    folder.write("near.py", near);
    let rest = ["--far", "exec python3 far.py", "--", "python3", "near.py"];
    let words = [&["run", "--json", "--summary", "summary.json"], options, &rest].concat();
    let output = folder.windfall(&words).output().expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let summary = serde_json::from_slice(&folder.read("summary.json")).expect("JSON");
    (String::from_utf8(output.stdout).expect("text"), summary)
}

#[test]
fn datagrams_to_one_port_are_lost_damaged_and_copied_by_their_numbers() {
    require!("python3");
    let flow = "voice: protocol udp, dst port 5000, accept-damaged, lose \"3, 7..9\", damage 15, \
                copy 12";
    let options = ["--rate=10Mbps", "--checksums=mend", "--flow", flow];
    let (told, summary) = run("live-flow-udp", &options, FAR, NEAR);
    let [voice, others]: [Vec<String>; 2] = serde_json::from_str(&told).expect("two lists");
    let byte = |text: &str, at: usize| u8::from_str_radix(&text[at..at + 2], 16).expect("a byte");
    let numbers = |all: &[String]| all.iter().map(|it| byte(it, 0)).collect::<Vec<_>>();
    assert_eq!(numbers(&others), (1..21).collect::<Vec<_>>());
    assert!(others.iter().all(|it| it[2..].chars().all(|digit| digit == '0')), "{others:?}");
    let expected: Vec<usize> =
        [1, 2, 4, 5, 6, 10, 11, 12, 12, 13, 14, 15, 16, 17, 18, 19, 20].into();
    assert_eq!(voice.len(), expected.len(), "{voice:?}");
    for (datagram, number) in voice.iter().zip(expected) {
        let bits = (0..datagram.len()).step_by(2).map(|at| (at, byte(datagram, at)));
        let own = |at: usize| if at == 0 { number as u8 } else { 0 };
        let wrong: u32 = bits.map(|(at, byte)| (byte ^ own(at)).count_ones()).sum();
        assert_eq!(wrong, u32::from(number == 15), "{number}: {datagram}");
    }
    let flow = &summary["flows"][0];
    assert_eq!(flow["dropped"], serde_json::json!({ "lost": 4 }), "{flow}");
    let counts = ["offered", "delivered", "damaged"].map(|name| flow[name].as_u64());
    assert_eq!(counts, [Some(20), Some(16), Some(1)], "{flow}");
}

/// Each connection to the far end is answered by the port that it came to.
const SERVER: &str = "
import socket, threading
def serve(listener, port):
    while True:
        one, _ = listener.accept()
        one.sendall(str(port).encode())
        one.close()
listeners = [(socket.create_server(('', port)), port) for port in (8000, 8001, 8002)]
for listener, port in listeners:
    threading.Thread(target=serve, args=(listener, port)).start()
";

/// Waits for the server, and asks at both ports.
const CLIENT: &str = "
import os, socket, time
far = os.environ['WINDFALL_BASE']
def ask(port):
    with socket.create_connection((far, port)) as one:
        return one.recv(100).decode()
while True:
    try:
        ask(8002)
        break
    except ConnectionRefusedError:
        time.sleep(0.05)
print(ask(8000), ask(8001))
";

#[test]
fn the_first_syn_to_one_port_is_lost_and_the_connection_comes_up_by_the_second() {
    require!("python3");
    let flow = "web: tcp, dst port 8000, lose syn 1";
    let (told, summary) = run("live-flow-tcp", &["--rate=10Mbps", "--flow", flow], SERVER, CLIENT);
    assert_eq!(told.trim(), "8000 8001");
    let flow = &summary["flows"][0];
    assert_eq!(flow["name"], "web");
    assert_eq!(flow["link"], "near-far/near");
    assert_eq!(flow["dropped"], serde_json::json!({ "lost": 1 }), "{flow}");
    assert_eq!(summary["links"][0]["dropped"], flow["dropped"], "no other packet is lost");
}
