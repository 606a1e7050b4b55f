//! Our TCP on a device of its own: programs that forward by it, and the bulk source and sink.

use std::io::Read;
use std::process::Stdio;
use std::time::Instant;

use crate::live::{Folder, LONG, WINDFALL, first_line, require, text, until, windfall};
use crate::support::scenario;

/// Bytes that no compression and no shift leaves as they are.
fn noise(len: usize) -> Vec<u8> {
    let mut state = 1_u64;
    let mut next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    (0..len).map(|_| next()).collect()
}

/// A web server of a folder, at port 80.
fn server(folder: &Folder) -> String {
    format!("exec python3 -m http.server -d {} 80 >/dev/null 2>&1", folder.path().display())
}

#[test]
fn curl_crosses_the_link_on_our_tcp() {
    require!("curl", "python3");
    let folder = Folder::new("forward");
    let content = noise(20_000_000);
    std::fs::write(folder.path().join("file"), &content).expect("a file");
    let output = windfall("run -q --delay 2ms --loss 0.1% --wait-port 80 --far")
        .arg(server(&folder))
        .args(["--", WINDFALL, "tcp", "forward", "-q", "127.0.0.1:8080", "10.77.0.2:80", "--"])
        .args(["curl", "-sS", "--retry", "20", "--retry-delay", "0", "--retry-all-errors"])
        .arg("http://127.0.0.1:8080/file")
        .output()
        .expect("it runs");
    assert!(output.status.success() && output.stdout == content, "{} bytes", output.stdout.len());
}

#[test]
fn iperf3_crosses_the_link_on_our_tcp_in_both_directions() {
    require!("iperf3");
    let client = "iperf3 --json -n 60M -c 127.0.0.1";
    for direction in ["", "--reverse", "--bidir"] {
        let output =
            windfall("run -q --rate 200Mbps --delay 2ms --loss 0.1% --wait-port 5201 --far")
                .args(["exec iperf3 -s -1 >/dev/null", "--", WINDFALL, "tcp", "forward", "-q"])
                .args(["5201", "10.77.0.2:5201", "--"])
                .args(client.split(' ').chain(direction.split_whitespace()))
                .output()
                .expect("it runs");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let said: serde_json::Value = serde_json::from_str(&said).expect(&said);
        assert_eq!(said["error"], serde_json::Value::Null, "{direction}");
        // The client ends the test by another connection, which overtakes what waits in all the
        // buffers on the way.
        let sums = ["sum_received", "sum_received_bidir_reverse"];
        let most = sums.map(|sum| said["end"][sum]["bytes"].as_u64()).into_iter().max().flatten();
        assert!(output.status.success() && most > Some(4 << 20), "{direction}: {said}");
    }
}

#[test]
fn two_engines_tell_each_other_of_damage() {
    require!();
    let folder = Folder::new("damage");
    for mode in ["draft-safe", "paper", "extended"] {
        let said = folder.path().join(format!("far-{mode}.json"));
        let end = format!("--json --check --bytes 3MB --tcp corruption={mode},reaction=ignore");
        let far = format!("exec {WINDFALL} tcp receive --both {end} > {}", said.display());
        // What the far end has to say comes after the near end's last acknowledgment.
        let near = format!(
            "{WINDFALL} tcp send {end} $WINDFALL_ENGINE:5001; {}",
            until(&format!("-s {}", said.display()))
        );
        let output = windfall("run -q --rate 50Mbps --delay 5ms --corrupt 2% --accept-damaged")
            .args(["--far", &far, "--", "sh", "-c", &near])
            .output()
            .expect("it runs");
        let far = std::fs::read_to_string(&said).expect("a file");
        for text in [text(&output), far] {
            let end: serde_json::Value = serde_json::from_str(&text).expect(&text);
            assert_eq!((&end["sent"], &end["received"]), (&3_000_000.into(), &3_000_000.into()));
            assert!(end["first_wrong_byte"].is_null() && end["error"].is_null(), "{end}");
            // Of 2072 segments with data about 41 arrive damaged; the standard deviation is 6.
            let operations = &end["operations"];
            for count in ["damaged", "notifications_sent", "notifications_received"] {
                assert!(operations[count].as_u64() > Some(15), "{mode}, {count}: {end}");
            }
        }
    }
}

#[test]
fn the_engine_takes_connections_for_a_program() {
    require!("curl", "python3");
    let folder = Folder::new("reverse");
    let content = noise(5_000_000);
    std::fs::write(folder.path().join("file"), &content).expect("a file");
    let far = format!(
        "python3 -m http.server -d {} 8000 >/dev/null 2>&1 & exec {WINDFALL} tcp forward -q \
         engine:80 127.0.0.1:8000",
        folder.path().display()
    );
    let line = "curl -sS --retry 20 --retry-delay 0 --retry-all-errors 2>/dev/null \
                http://$WINDFALL_ENGINE/file";
    let output =
        windfall("run -q --delay 2ms --far").arg(far).args(["--", "sh", "-c", line]).output();
    let output = output.expect("it runs");
    assert!(output.status.success() && output.stdout == content, "{} bytes", output.stdout.len());
}

/// A sink at port 80 that counts what comes, and writes the count into `said` at the end.
fn counting_sink(said: &std::path::Path) -> String {
    format!(
        "exec python3 -c 'import socket\n\
         with socket.create_server((\"\", 80)) as s:\n  \
           c, _ = s.accept()\n  n = 0\n  \
           while d := c.recv(65536): n += len(d)\n  \
           c.close()\n  open(\"{}\", \"w\").write(str(n))'",
        said.display()
    )
}

#[test]
fn a_forward_delivers_what_a_program_has_left_behind() {
    require!("python3");
    let folder = Folder::new("drain");
    // Half a close and an exit, a close, and more than the buffers of all sockets hold at once.
    for (case, bytes, end) in [
        ("half", 2_000_000, "s.shutdown(socket.SHUT_WR)"),
        ("close", 2_000_000, "s.close()"),
        ("exit", 9_000_000, "pass"),
    ] {
        let said = folder.path().join(case);
        let client = format!(
            "import socket\n\
             s = socket.create_connection((\"127.0.0.1\", 8080))\n\
             s.sendall(bytes({bytes}))\n{end}"
        );
        let output = windfall("run -q --rate 20Mbps --delay 5ms --wait-port 80 --far")
            .arg(counting_sink(&said))
            .args(["--", "sh", "-c"])
            .arg(format!(
                "{WINDFALL} tcp forward -q 8080 10.77.0.2:80 -- python3 -c '{client}' && {}",
                until(&format!("-s {}", said.display()))
            ))
            .output()
            .expect("it runs");
        let arrived = std::fs::read_to_string(&said).unwrap_or_default();
        assert_eq!(arrived, bytes.to_string(), "{case}: {}", text(&output));
        assert!(output.status.success(), "{case}: {}", text(&output));
    }
}

#[test]
fn what_is_lost_behind_a_program_fails_its_forward() {
    require!("python3");
    // The far end reads a little and resets the connection while the rest is on the way.
    let far = "exec python3 -c 'import socket, struct\n\
               s = socket.create_server((\"\", 80))\n\
               c, _ = s.accept()\nc.recv(100000, socket.MSG_WAITALL)\n\
               c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack(\"ii\", 1, 0))\n\
               c.close()'";
    let client = "import socket\n\
                  s = socket.create_connection((\"127.0.0.1\", 8080))\n\
                  s.sendall(bytes(3000000))";
    let output = windfall("run -q --rate 4Mbps --delay 5ms --wait-port 80 --far")
        .args([far, "--", WINDFALL, "tcp", "forward", "8080", "10.77.0.2:80", "--"])
        .args(["python3", "-c", client])
        .output()
        .expect("it runs");
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(125), "{errors}");
    assert!(errors.contains("bytes were lost after their programs had closed"), "{errors}");
}

/// The far end reads a part and closes in order, so that both directions of the local connection
/// are closed while much is still to be read.
#[test]
fn what_a_far_end_that_closed_did_not_take_is_lost_to_the_byte() {
    require!("python3");
    let far = "exec python3 -c 'import socket, time\n\
               s = socket.create_server((\"\", 80))\n\
               c, _ = s.accept()\nt = 0\nwhile t < 500000: t += len(c.recv(65536))\n\
               c.close()\nprint(\"took\", t, flush=True)\ntime.sleep(30)'";
    let client = "import socket\n\
                  s = socket.create_connection((\"127.0.0.1\", 8080))\n\
                  s.sendall(bytes(2000000))";
    let output = windfall("run -q --rate 8Mbps --far-may-fail --wait-port 80 --far")
        .args([far, "--", WINDFALL, "tcp", "forward", "--json", "8080", "10.77.0.2:80", "--"])
        .args(["python3", "-c", client])
        .output()
        .expect("it runs");
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(125), "{errors}");
    let number = |before: &str| -> u64 {
        let rest = errors.split_once(before).unwrap_or_else(|| panic!("{errors}")).1;
        rest.split(|it: char| !it.is_ascii_digit()).next().expect("a word").parse().expect("digits")
    };
    assert_eq!(number("took ") + number("\"lost\":"), 2_000_000, "{errors}");
    assert_eq!(number("\"sent\":") + number("\"lost\":"), 2_000_000, "{errors}");
}

/// A forward of the engine at the far end to a server there, for a client at the near end.
struct EngineForward {
    folder: Folder,
    server: &'static str,
    /// The line of the shell that starts the forward with `$FORWARD`.
    forward: &'static str,
    client: &'static str,
}

impl EngineForward {
    /// The scripts share the working directory: the server makes the file `ready`. Returns what the
    /// forward printed, and the exit status that its line wrote into the file `code`.
    fn run(&self) -> (serde_json::Value, String) {
        let folder = self.folder.path();
        let write = |name: &str, content: String| {
            std::fs::write(folder.join(name), content).expect("a file");
        };
        let python = "import os, socket, time\n\
                      def wait(file):\n  \
                        while not os.path.exists(file): time.sleep(0.02)\n\
                      def tell(file, text=\"\"):\n  \
                        open(file + \"~\", \"w\").write(text)\n  \
                        os.rename(file + \"~\", file)\n";
        let listen = "s = socket.create_server((\"127.0.0.1\", 80))\ntell(\"ready\")\n\
                      c, _ = s.accept()\n";
        let connect = "s = None\nengine = (os.environ[\"WINDFALL_ENGINE\"], 80)\n\
                       while not s:\n  \
                         try: s = socket.create_connection(engine, 1)\n  \
                         except OSError: time.sleep(0.05)\n\
                       s.settimeout(None)\n";
        write("server.py", format!("{python}{listen}{}", self.server));
        write("client.py", format!("{python}{connect}{}\nwait(\"code\")\n", self.client));
        let forward = format!("{WINDFALL} tcp forward --json engine:80 127.0.0.1:80");
        let far = format!(
            "cd {}; python3 server.py & {}; {}",
            folder.display(),
            until("-e ready"),
            self.forward.replace("$FORWARD", &forward)
        );
        let output = windfall("run -q --rate 100Mbps --delay 2ms --far-may-fail --far")
            .args([&far, "--", "sh", "-c"])
            .arg(format!("cd {}; exec python3 client.py", folder.display()))
            .output()
            .expect("it runs");
        assert!(output.status.success(), "{}", text(&output));
        let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap_or_default();
        let said = read("said");
        let record = said.lines().find(|line| line.starts_with('{'));
        let record = serde_json::from_str(record.expect(&said)).expect(&said);
        (record, read("code").trim().to_owned())
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.folder.path().join(name)).unwrap_or_default()
    }
}

/// The server begins to read when the command of the forward has ended.
#[test]
fn a_forward_of_the_engine_delivers_what_it_has_acknowledged() {
    require!("python3");
    let forward = EngineForward {
        folder: Folder::new("acknowledged"),
        server: "wait(\"ended\")\ntime.sleep(0.5)\nn = 0\n\
                 try:\n  \
                   while d := c.recv(65536): n += len(d)\n\
                 except OSError as error: print(error)\n\
                 tell(\"count\", str(n))",
        forward: "$FORWARD 2>said -- sh -c 'until test -e sent; do sleep 0.02; done; : >ended'; \
                  code=$?; until test -e count; do sleep 0.02; done; echo $code >code",
        client: "s.sendall(bytes(2000000))\ntell(\"sent\")\n\
                 s.sendall(bytes(4000000))\ns.close()",
    };
    let (record, code) = forward.run();
    assert_eq!(forward.read("count"), "6000000", "{record}");
    assert_eq!((&record["error"], &record["lost"]), (&serde_json::Value::Null, &0.into()));
    assert_eq!(code, "0", "{record}");
}

#[test]
fn what_a_server_that_closed_first_did_not_take_is_lost_to_the_byte() {
    require!("python3");
    let forward = EngineForward {
        folder: Folder::new("closed-first"),
        server: "c.recv(1000, socket.MSG_WAITALL)\nc.close()",
        forward: "$FORWARD 2>said -- sh -c 'until test -s said; do sleep 0.02; done'; \
                  echo $? >code",
        client: "s.sendall(bytes(1000))\ns.recv(1)\ns.sendall(bytes(520))\ns.close()",
    };
    let (record, code) = forward.run();
    assert_eq!((&record["received"], &record["lost"]), (&1520.into(), &520.into()), "{record}");
    assert!(record["error"].is_string() && code == "125", "{code}: {record}");
}

#[test]
fn what_a_server_never_reads_is_lost_when_a_second_signal_ends_the_forward() {
    require!("python3");
    let forward = EngineForward {
        folder: Folder::new("never-read"),
        server: "wait(\"code\")",
        forward: "$FORWARD >said & F=$!; until test -e sent; do sleep 0.02; done; \
                  kill -TERM $F; kill -INT $F; wait $F; echo $? >code",
        client: "s.sendall(bytes(2000000))\ntell(\"sent\")",
    };
    let (record, code) = forward.run();
    assert_eq!(record["error"], "interrupted", "{record}");
    assert!(record["lost"].as_u64() > Some(500_000) && code == "1", "{code}: {record}");
}

#[test]
fn a_forward_holds_no_small_write_back() {
    require!("python3");
    // A request in two writes and its answer: with Nagle's algorithm the second write waits until
    // the first is acknowledged, which the far end delays by 40 ms.
    let far = "exec python3 -c 'import socket\n\
               c, _ = socket.create_server((\"\", 80)).accept()\n\
               c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)\n\
               while c.recv(8, socket.MSG_WAITALL): c.send(b\"x\")'";
    let client = "import socket, time\n\
                  s = socket.create_connection((\"127.0.0.1\", 8080))\n\
                  s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)\n\
                  spans = []\n\
                  for _ in range(30):\n  \
                    begun = time.monotonic()\n  \
                    s.send(b\"1234\"); time.sleep(0.001); s.send(b\"5678\"); s.recv(1)\n  \
                    spans.append(time.monotonic() - begun)\n\
                  print(sorted(spans)[10])";
    let output = windfall("run -q --delay 5ms --wait-port 80 --far")
        .args([far, "--", WINDFALL, "tcp", "forward", "-q", "8080", "10.77.0.2:80", "--"])
        .args(["python3", "-c", client])
        .output()
        .expect("it runs");
    let span: f64 = text(&output).trim().parse().expect("seconds");
    // A round trip is 10 ms; one that waits takes 50 ms.
    assert!(span < 0.035, "{span} s a request");
}

#[test]
fn engines_draw_ports_and_numbers_at_random_unless_a_seed_is_given() {
    require!();
    let send = |seed: &str| {
        format!("{WINDFALL} tcp send --json --bytes 1kB {seed} 10.77.0.2:5001 || exit 9")
    };
    let sends = ["", "", "", "--seed 7", "--seed 7"].map(send).join("; sleep 0.1; ");
    let output = windfall("run -q --delay 1ms --wait-port 5001 --far")
        .args([&format!("exec {WINDFALL} tcp receive -q --kernel --count 5"), "--", "sh", "-c"])
        .arg(sends)
        .output()
        .expect("it runs");
    let lines: Vec<serde_json::Value> =
        text(&output).lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    let ports: Vec<_> = lines.iter().map(|line| line["local"].as_str().expect("a port")).collect();
    assert!(output.status.success() && ports.len() == 5, "{lines:?}");
    // Two of three random ports of some 28 000 are the same once in 9 000 runs, all three never.
    assert!(ports[0] != ports[1] || ports[1] != ports[2], "{ports:?}");
    assert_eq!(ports[3], ports[4]);
    assert!(lines[0]["seed"].is_null() && lines[3]["seed"] == 7);
}

#[test]
fn forwarding_ends_with_its_command_and_with_its_code() {
    require!();
    let forward = "exec $0 tcp forward -q 8080 10.77.0.2:80 --";
    let code = |rest: &str| {
        let line = format!("{forward} {rest}");
        let output = windfall("run -q -- sh -c").args([&line, WINDFALL]).output();
        output.expect("it runs").status.code()
    };
    assert_eq!(code("sh -c 'exit 9'"), Some(9));
    assert_eq!(code("/no/such/program"), Some(127));
}

#[test]
fn connections_that_fail_are_reset_and_told() {
    require!("python3");
    // Nothing listens at the far end: the program at the near end sees its connection reset.
    let client = "import socket\n\
                  s = socket.create_connection(('127.0.0.1', 8080))\n\
                  try: print(s.recv(10))\n\
                  except ConnectionResetError: print('reset')";
    let output = windfall("run -q --delay 1ms --")
        .args([WINDFALL, "tcp", "forward", "--json", "8080", "10.77.0.2:80", "--", "python3", "-c"])
        .arg(client)
        .output()
        .expect("it runs");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "reset\n");
    let told: serde_json::Value = serde_json::from_slice(&output.stderr).expect("one line of JSON");
    assert_eq!(told["error"], "the port is closed at the peer");
    assert_eq!(told["tcp"], "cubic, nagle=off");
}

#[test]
fn a_peer_that_dies_is_found_out_by_keepalive() {
    require!("python3");
    // The far end falls silent in the middle: its kernel loses its address.
    let folder = Folder::new("keepalive");
    let ready = folder.path().join("ready");
    let far = format!(
        "python3 -c \"import socket, subprocess, time\n\
               l = socket.create_server(('', 80)); open('{ready}', 'w')\n\
               s, _ = l.accept(); s.recv(1)\n\
               subprocess.run(['ip', 'link', 'set', 'wf0', 'down']); time.sleep(100)\"",
        ready = ready.display()
    );
    let client = "import os, socket, sys, time\n\
                  while not os.path.exists(sys.argv[1]): time.sleep(0.02)\n\
                  s = socket.create_connection(('127.0.0.1', 8080)); s.send(b'x')\n\
                  try: print(s.recv(10))\n\
                  except ConnectionResetError: print('reset')";
    let began = Instant::now();
    let output = windfall("run -q --far")
        .args([&far, "--", WINDFALL, "tcp", "forward", "--json", "--tcp"])
        .args(["keepalive=300ms:100ms:3", "8080", "10.77.0.2:80", "--", "python3", "-c", client])
        .arg(&ready)
        .output()
        .expect("it runs");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "reset\n");
    assert!(String::from_utf8_lossy(&output.stderr).contains("timed out"));
    assert!(began.elapsed() < LONG, "{:?}", began.elapsed());
}

#[test]
fn an_interrupt_ends_forwarding_and_leaves_nothing() {
    require!("ip");
    let line = ": >$1; $0 tcp forward 8080 10.77.0.2:80 2>$1 & p=$!; \
                while ! grep -q 8080 $1; do sleep 0.02; done; \
                ip -o link | grep -q engine && echo there; \
                kill -INT $p; wait $p; echo $?; ip -o link | grep -c engine; \
                ip route | grep -c 177";
    let folder = Folder::new("interrupt");
    let output = windfall("run -q -- sh -c")
        .args([line, WINDFALL])
        .arg(folder.path().join("said"))
        .output()
        .expect("it runs");
    // A device meanwhile, none afterwards; the one route is that to the far end's engine.
    assert_eq!(text(&output), "there\n0\n0\n1\n");
}

#[test]
fn without_tun_devices_an_engine_leaves_nothing_either() {
    require!("ip", "unshare");
    let hidden = "mount -t tmpfs none /dev/net || exit 77; exec \"$0\" \"$@\"";
    let far = format!("exec {WINDFALL} tcp receive --kernel -q");
    // One engine is killed, and leaves a pair of devices to the next, which leaves none.
    let near = format!(
        "{WINDFALL} tcp forward -q 8080 10.77.0.2:80 & \
         until ip -o link | grep -q engine; do sleep 0.02; done; kill -9 $!; wait; \
         ip -o link | grep -c engine; {WINDFALL} tcp send -q --bytes 2MB 10.77.0.2:5001 || exit; \
         ip -o link | grep -c engine"
    );
    let output = std::process::Command::new("unshare")
        .args(["--map-root-user", "--mount", "sh", "-c", hidden, WINDFALL, "run", "-q"])
        .args(["--wait-port", "5001", "--far", &far, "--", "sh", "-c", &near])
        .output()
        .expect("it runs");
    if output.status.code() == Some(77) {
        windfall_testkit::skip!("/dev/net cannot be hidden here");
    }
    assert_eq!(String::from_utf8_lossy(&output.stdout), "2\n0\n");
}

#[test]
fn bulk_transfers_say_what_tcp_did() {
    require!();
    let line = format!("{WINDFALL} tcp send --json --bytes 3MB 10.77.0.2:5001");
    let mut child = windfall("run -q --delay 5ms --loss 0.5% --wait-port 5001 --far")
        .arg(format!("exec {WINDFALL} tcp receive --kernel --check --json >&2"))
        .args(["--", "sh", "-c", &line])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it runs");
    let mut sent = String::new();
    let mut out = child.stdout.take().expect("a pipe");
    out.read_to_string(&mut sent).expect("text");
    let (received, _) = first_line(child.stderr.take());
    assert!(child.wait().expect("it ends").success());
    let of = |text: &str| serde_json::from_str::<serde_json::Value>(text).expect(text);
    let received = received.strip_prefix("far: ").expect("from the far end");
    let sent = of(&sent);
    let received = of(received);
    assert_eq!(sent["sent"], 3_000_000);
    assert_eq!(received["received"], 3_000_000);
    assert_eq!(received["first_wrong_byte"], serde_json::Value::Null);
    // 2072 segments and their acknowledgments at 0.5 %: ten are lost, more than none but for
    // e^-10.
    assert!(sent["retransmissions"].as_u64() > Some(0), "{sent}");
    assert!(sent["goodput_bps"].as_f64() > Some(1e6), "{sent}");
    let rtt = sent["rtt_seconds"].as_f64().expect("measured");
    // On a busy machine longer, but never for seconds.
    assert!((0.01..5.0).contains(&rtt), "{rtt}");
}

#[test]
fn wrong_bytes_are_found() {
    require!();
    let far = format!("exec {WINDFALL} tcp receive --kernel --check --seed 2; echo $?");
    let folder = Folder::new("wrong");
    let said = folder.path().join("said");
    let far = format!("({far}) > {}", said.display()).replace("exec ", "");
    let line = format!(
        "{WINDFALL} tcp send -q --bytes 1kB 10.77.0.2:5001; \
         for i in $(seq 600); do grep -qx 1 {} && break; sleep 0.05; done",
        said.display()
    );
    let output =
        windfall("run -q --wait-port 5001 --far").arg(far).args(["--", "sh", "-c", &line]).output();
    assert_eq!(text(&output.expect("it runs")), "");
    let said = std::fs::read_to_string(said).expect("a file");
    assert!(said.contains("byte 0 is wrong") && said.ends_with("\n1\n"), "{said}");
}

#[test]
fn a_failed_check_at_the_far_end_fails_the_run() {
    require!();
    for (far, near, target) in [
        ("", "", "$WINDFALL_ENGINE"),
        ("", "--kernel", "$WINDFALL_ENGINE"),
        ("--kernel", "", "10.77.0.2"),
        ("--kernel", "--kernel", "10.77.0.2"),
    ] {
        let far = format!("exec {WINDFALL} tcp receive -q --check --seed 2 {far}");
        let line = format!("exec {WINDFALL} tcp send -q --bytes 1kB {near} {target}:5001");
        let output = windfall("run -q --delay 5ms --far")
            .args([&far, "--", "sh", "-c", &line])
            .output()
            .expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{far}, {line}: {said}");
        assert!(said.contains("failed at far"), "{said}");
    }
}

#[test]
fn bad_settings_are_refused_in_one_line() {
    for (arguments, fault) in [
        ("tcp send 10.77.0.2:1 --tcp sack=maybe", "write on or off"),
        ("tcp forward 8080", "LISTEN"),
        ("tcp forward engine:0 10.77.0.2:1", "write engine:8080"),
        ("tcp forward 8080 nowhere", "write it as"),
        ("tcp forward 8080 10.77.0.2:0 -- true", "10.77.0.2:0"),
        ("tcp send 10.77.0.2:0", "10.77.0.2:0"),
        ("tcp settings vegas", "cubic, sack, new-reno"),
    ] {
        let output = windfall(arguments).output().expect("it runs");
        let line = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), line.lines().count()), (Some(2), 1), "{line}");
        assert!(line.contains(fault), "{line}");
    }
}

#[test]
fn every_setting_is_listed() {
    let output = windfall("tcp settings energy-saving,nagle=off").output().expect("it runs");
    let listed = text(&output);
    assert!(listed.starts_with("energy-saving, nagle=off\n"), "{listed}");
    assert!(listed.lines().any(|line| line.split_whitespace().take(2).eq(["mss", "2256"])));
    let output = windfall("tcp settings --json").output().expect("it runs");
    let values: serde_json::Value = serde_json::from_str(&text(&output)).expect("JSON");
    assert_eq!(values["settings"]["delayed-ack"], "every:2:40ms:0s");
}

#[test]
fn the_way_to_an_engine_leads_over_several_links() {
    require!();
    let folder = Folder::new("chain");
    let file = folder.path().join("chain.toml");
    let stations = [("near", ""), ("middle", "forward = true"), ("far", "")];
    let links = "[[link]]\nstations = [\"near\", \"middle\"]\n\
                 [[link]]\nstations = [\"middle\", \"far\"]\n";
    std::fs::write(&file, scenario("", &stations, links)).expect("a file");
    let far = format!("exec {WINDFALL} tcp receive --check -q");
    let line = format!(
        "for i in $(seq 300); do {WINDFALL} tcp send -q --bytes 2MB 10.177.0.6:5001 2>/dev/null && \
         echo done && exit; sleep 0.1; done"
    );
    let options = format!("--scenario {}", file.display());
    let output = windfall(&format!("run -q {options} --far"))
        .args([&far, "--", "sh", "-c", &line])
        .output()
        .expect("it runs");
    assert_eq!(text(&output), "done\n");
}

#[test]
fn a_forward_without_descriptors_waits_and_says_so_once() {
    require!("python3");
    let hold = "import socket,time; s=socket.create_server((\"\",9000)); \
                kept=[s.accept() for _ in range(60)]; time.sleep(100)";
    // Nothing happens while it is looked at: all connections wait.
    let open = "import socket,sys,time\n\
                kept=[socket.create_connection((\"127.0.0.1\",8080)) for _ in range(60)]\n\
                for _ in range(600):\n    \
                    if \"descriptor is left\" in open(sys.argv[1]).read(): break\n    \
                    time.sleep(0.05)\n\
                print(\"full\", flush=True); time.sleep(0.7)";
    let folder = Folder::new("descriptors");
    let said = folder.path().join("said");
    let said = said.display();
    let line = format!(
        "(ulimit -n 32; exec {WINDFALL} tcp forward 8080 10.77.0.2:9000 >{said} 2>&1) & F=$!; \
         for i in $(seq 600); do grep -q 8080 {said} && break; sleep 0.05; done; \
         python3 -c '{open}' {said} | (read full; A=$(cut -d' ' -f14,15 /proc/$F/stat); cat; \
         B=$(cut -d' ' -f14,15 /proc/$F/stat); kill -9 $F; cat {said}; echo spent $A $B)"
    );
    let mut command = crate::live::windfall("run -q --wait-port 9000 --far");
    command.arg(format!("python3 -c '{hold}'"));
    let output = command.args(["--", "sh", "-c", &line]).output().expect("it runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(text.matches("no file descriptor is left").count(), 1, "{text}");
    let spent = text.lines().find_map(|line| line.strip_prefix("spent ")).unwrap_or_default();
    let ticks: Vec<u64> = spent.split(' ').filter_map(|tick| tick.parse().ok()).collect();
    let [user, system, then_user, then_system] = ticks[..] else { panic!("{text}") };
    // A second has a hundred; whoever spins uses all of those that it gets.
    assert!(then_user + then_system - user - system <= 20, "{text}");
}
