//! Ports of the host that lead into a run, and ports of its stations that lead out.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::process::{Child, Stdio};

use crate::live::{Folder, pair, require, skip_to, windfall};

/// A server that answers each connection with what it got, in reverse.
const SERVER: &str = "import socket, sys\n\
    server = socket.create_server((sys.argv[1], int(sys.argv[2])))\n\
    while True:\n\
    \x20   client, _ = server.accept()\n\
    \x20   got = b''.join(iter(lambda: client.recv(65536), b''))\n\
    \x20   client.sendall(got[::-1]); client.close()\n";

/// A port of this machine that is free now.
fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port()
}

/// A port of UDP of this machine that is free now.
fn free_udp_port() -> u16 {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    socket.local_addr().expect("an address").port()
}

/// Sends a text to a port of this machine, and returns the answer; empty if there is none.
fn ask(port: u16, text: &[u8]) -> Vec<u8> {
    let mut socket = TcpStream::connect(("127.0.0.1", port)).expect("it is published");
    let _ = socket.write_all(text);
    let _ = socket.shutdown(std::net::Shutdown::Write);
    let mut answer = Vec::new();
    let _ = socket.read_to_end(&mut answer);
    answer
}

/// Asks until a server is there.
fn answer(port: u16, text: &[u8]) -> Vec<u8> {
    loop {
        let answer = ask(port, text);
        if !answer.is_empty() {
            return answer;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

fn up(folder: &Folder, options: &[String]) -> Child {
    use std::os::unix::fs::DirBuilderExt;
    let session = folder.path().join("run");
    std::fs::DirBuilder::new().mode(0o700).create(&session).expect("a folder");
    std::fs::write(folder.path().join("link.toml"), pair("delay = \"20ms\"")).expect("a file");
    let mut command = windfall("up --name ports");
    command.arg(folder.path().join("link.toml")).args(options).env("XDG_RUNTIME_DIR", session);
    let mut run = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().expect("it runs");
    let _ = skip_to(run.stderr.take(), " is up");
    run
}

#[test]
fn ports_lead_into_a_run_across_its_link_and_out_of_it() {
    require!("python3");
    let folder = Folder::new("ports");
    let host = TcpListener::bind("127.0.0.1:0").expect("a port");
    let outside = host.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for mut client in host.incoming().flatten() {
            let mut got = Vec::new();
            let _ = client.read_to_end(&mut got);
            let _ = client.write_all(&got.to_ascii_uppercase());
        }
    });
    let [direct, own, across, through] = std::array::from_fn(|_| free_port());
    let options = [
        ["--publish".to_owned(), format!("{direct}:b:8000")],
        ["--publish".to_owned(), format!("{own}:b:8001")],
        ["--publish".to_owned(), format!("{across}:a:b:8000")],
        ["--publish".to_owned(), format!("{through}:a:b:80")],
        ["--reach".to_owned(), format!("b:80:{outside}")],
    ];
    let mut run = up(&folder, &options.concat());
    let session = folder.path().join("run");
    let ask_run = |line: &str| {
        let mut command = windfall(line);
        command.env("XDG_RUNTIME_DIR", &session);
        command
    };
    let server = |address: &str, port: &str| {
        let mut command = ask_run("exec b --run ports -- python3 -c");
        command.args([SERVER, address, port]).stdin(Stdio::null()).spawn().expect("it runs")
    };
    let mut servers = [server("0.0.0.0", "8000"), server("127.0.0.1", "8001")];
    assert_eq!(answer(direct, b"abc"), b"cba");
    assert_eq!(answer(own, b"abc"), b"cba");
    let long: Vec<u8> = (0..1_000_000_u32).map(|it| it as u8).collect();
    let reversed: Vec<u8> = long.iter().rev().copied().collect();
    let crossed = || {
        let output = ask_run("status ports --json").output().expect("it runs");
        let status: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        status["links"][0]["delivered_bytes"].as_u64().expect("a number")
    };
    // What enters at its target crosses no link; what enters before it does.
    assert_eq!(answer(direct, &long), reversed);
    let before = crossed();
    assert!(before < 100_000, "{before}");
    assert_eq!(answer(across, &long), reversed);
    assert!(crossed() >= 1_000_000, "{}", crossed());
    // A program of this machine asks another one of it, across the link.
    assert_eq!(answer(through, b"there and back"), b"THERE AND BACK");
    assert!(ask_run("down ports").status().expect("it runs").success());
    assert_eq!(run.wait().expect("it ends").code(), Some(0));
    servers.iter_mut().for_each(|it| _ = it.wait());
    TcpStream::connect(("127.0.0.1", direct)).expect_err("the port is free again");
}

#[test]
fn ports_are_there_before_the_command_and_end_with_it_in_silence() {
    require!("python3");
    let host = TcpListener::bind("127.0.0.1:0").expect("a port");
    let outside = host.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for mut client in host.incoming().flatten() {
            let _ = client.write_all(b"hello from outside");
        }
    });
    let fetch = "import socket, sys\n\
        got = socket.create_connection(('10.77.0.2', 80), 30).recv(99)\n\
        sys.stdout.write(got.decode())";
    let reach = format!("far:80:{outside}");
    let publish = format!("{}:far:81", free_port());
    let run = |options: &[&str], command: &[&str]| {
        let mut line = windfall("run -q --reach");
        line.arg(&reach).args(options).arg("--").args(command);
        let output = line.output().expect("it runs");
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        crate::live::text(&output)
    };
    for _ in 0..8 {
        assert_eq!(run(&[], &["python3", "-c", fetch]), "hello from outside");
        assert_eq!(run(&["--publish", &publish], &["true"]), "");
    }
    // What the run itself listens at is not taken for a program's.
    let far = "sleep 0.3; exec python3 -c 'import socket, time\n\
        s = socket.create_server((\"\", 82)); time.sleep(60)'";
    let there = "import socket; socket.create_connection(('10.77.0.2', 82), 30)";
    assert_eq!(run(&["--far", far], &["python3", "-c", there]), "");
}

#[test]
fn datagrams_cross_the_link_into_a_run_and_out_of_it() {
    require!();
    let limit = Some(std::time::Duration::from_secs(20));
    let socket = || {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
        socket.set_read_timeout(limit).expect("a time");
        socket
    };
    let server = socket();
    let outside = server.local_addr().expect("an address").port();
    let port = socket().local_addr().expect("an address").port();
    let folder = Folder::new("datagrams");
    let options = [
        ["--publish".to_owned(), format!("{port}:a:b:53/udp")],
        ["--reach".to_owned(), format!("b:53:{outside}/udp")],
        // The number is one of each protocol.
        ["--publish".to_owned(), format!("{port}:a:b:53")],
    ];
    let mut run = up(&folder, &options.concat());
    let client = socket();
    let mut buffer = [0; 2_000];
    client.connect(("127.0.0.1", port)).expect("an address");
    let began = std::time::Instant::now();
    for length in [1_200, 1, 0] {
        client.send(&vec![7; length]).expect("it is sent");
        let (got, from) = server.recv_from(&mut buffer).expect("a datagram");
        assert_eq!(&buffer[..got], &vec![7; length]);
        server.send_to(b"answer", from).expect("it is sent");
        let got = client.recv(&mut buffer).expect("an answer");
        assert_eq!(&buffer[..got], b"answer");
    }
    // Three times there and back over 20 ms.
    assert!(began.elapsed().as_millis() >= 120, "{:?}", began.elapsed());
    let mut down = windfall("down ports");
    down.env("XDG_RUNTIME_DIR", folder.path().join("run"));
    assert!(down.status().expect("it runs").success());
    assert_eq!(run.wait().expect("it ends").code(), Some(0));
}

#[test]
fn a_port_whose_server_is_killed_refuses_and_the_run_says_so_and_fails() {
    require!("pkill");
    let port = free_port().to_string();
    let mut line = windfall("run -q --publish");
    line.arg(format!("{port}:far:81")).args(["--", "sh", "-c", "sleep 60 & read line; kill $!"]);
    let mut run = line.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs");
    let ended = |command: &str| {
        let output = std::process::Command::new("sh").args(["-c", command]).output();
        output.expect("a shell").status.success()
    };
    let parent = run.id();
    let kill = format!("pkill -9 -P {parent} -f 'relay serve'");
    for _ in 0..1_000 {
        if ended(&kill) {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let said = format!("which serves port 127.0.0.1:{port}, has ended: no data passes");
    let mut rest = skip_to(run.stderr.take(), &said);
    let number = port.parse::<u16>().expect("a number");
    TcpStream::connect(("127.0.0.1", number)).expect_err("it is closed");
    run.stdin.take().expect("a pipe").write_all(b"end\n").expect("it reads");
    assert_eq!(run.wait().expect("it ends").code(), Some(125));
    let mut errors = String::new();
    rest.read_to_string(&mut errors).expect("text");
    assert!(errors.contains("ended before the run"), "{errors}");
}

#[test]
fn ports_that_cannot_be_served_are_refused_before_anything_runs() {
    require!();
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("an address").port();
    let nowhere = format!("{}:nowhere:80", free_port());
    let unknown = format!("{}:near:no-such-host.invalid:80", free_port());
    for (option, value, code, said) in [
        ("--publish", nowhere.as_str(), 2, "use one of near, far"),
        ("--publish", &unknown, 2, "no host is called \"no-such-host.invalid\": use near, far"),
        ("--publish", &format!("{port}:near:80"), 125, "Address already in use"),
        ("--publish", "80", 2, "write PORT:STATION:PORT"),
        ("--reach", "nowhere:80:80", 2, "use one of near, far"),
        ("--reach", "far:80:no-such-host.invalid:80", 2, "no host is called"),
        ("--reach", "far:80", 2, "write STATION:PORT:PORT"),
    ] {
        let output = windfall("run -q").args([option, value, "--", "true"]).output();
        let output = output.expect("it runs");
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{option} {value}: {errors}");
        assert!(errors.contains(said), "{option} {value}: {errors}");
    }
}

/// A server of UDP at the IPv4 address of its station alone, which is a name in the run.
#[test]
fn datagrams_reach_a_station_by_its_name_that_listens_on_ipv4_only() {
    require!("python3");
    let port = free_udp_port();
    let folder = Folder::new("datagrams-v4");
    let mut run = up(&folder, &["--publish".to_owned(), format!("{port}:a:b:53/udp")]);
    let session = folder.path().join("run");
    let server = "import socket\n\
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(('0.0.0.0', 53))\n\
        while True:\n    data, client = s.recvfrom(2000); s.sendto(data[::-1], client)";
    let mut server = windfall("exec b --run ports -- python3 -c")
        .arg(server)
        .env("XDG_RUNTIME_DIR", &session)
        .spawn()
        .expect("it runs");
    let ask = || {
        let client = UdpSocket::bind("127.0.0.1:0").expect("a port");
        client.set_read_timeout(Some(std::time::Duration::from_millis(500))).expect("a time");
        client.send_to(b"abc", ("127.0.0.1", port)).expect("it is sent");
        let mut answer = [0; 10];
        client.recv(&mut answer).ok().map(|length| answer[..length].to_vec())
    };
    // The server takes a moment to begin.
    let first = (0..60).find_map(|_| ask());
    assert_eq!(first.as_deref(), Some(&b"cba"[..]));
    for _ in 0..60 {
        assert_eq!(ask().as_deref(), Some(&b"cba"[..]), "by its first datagram");
    }
    let mut down = windfall("down ports");
    down.env("XDG_RUNTIME_DIR", session);
    assert!(down.status().expect("it runs").success());
    assert_eq!(run.wait().expect("it ends").code(), Some(0));
    server.wait().expect("it ends");
}

/// A published port of UDP where nothing listens, which five clients ask once each, and the summary
/// of its run.
pub(crate) fn summary_of_a_closed_port() -> (u16, serde_json::Value) {
    let port = free_udp_port();
    let folder = Folder::new("port-drops");
    let summary = folder.path().join("summary.json");
    let ask = format!(
        "import socket, time\n\
         for n in range(5):\n\
         \x20   s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n\
         \x20   s.sendto(b'x', ('127.0.0.1', {port})); time.sleep(0.2)"
    );
    let mut line = windfall("run --json -q --publish");
    line.arg(format!("{port}:far:81/udp")).arg("--summary").arg(&summary);
    line.args(["--", "sh", "-c", "echo ready; read line"]);
    line.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut run = line.spawn().expect("it runs");
    // The port is there before the command.
    let _rest = skip_to(run.stdout.take(), "ready");
    let asked = std::process::Command::new("python3").args(["-c", &ask]).status();
    assert!(asked.expect("it runs").success());
    run.stdin.take().expect("a pipe").write_all(b"end\n").expect("it reads");
    assert_eq!(run.wait().expect("it ends").code(), Some(0));
    let text = std::fs::read_to_string(&summary).expect("a summary");
    (port, serde_json::from_str(&text).expect("JSON"))
}

#[test]
fn what_a_port_drops_is_named_in_the_summary() {
    require!("python3");
    let (port, summary) = summary_of_a_closed_port();
    let found = &summary["ports"][0];
    assert_eq!(found["port"], format!("127.0.0.1:{port}"), "{summary}");
    assert_eq!((&found["clients"], &found["dropped"]["refused"]), (&5.into(), &5.into()));
}
