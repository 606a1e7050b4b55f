//! Runs under control: links changed while they run, read, and ended.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::process::{Child, Output, Stdio};

use serde_json::Value;

use crate::live::{Folder, pair, require, skip_to, windfall};

/// A scenario that is up in a session of its own.
struct Session {
    folder: Folder,
    run: Child,
}

impl Session {
    fn up(name: &str, keys: &str, options: &[&str]) -> Self {
        use std::os::unix::fs::DirBuilderExt;
        let folder = Folder::new(name);
        let session = folder.path().join("run");
        std::fs::DirBuilder::new().mode(0o700).create(&session).expect("a folder");
        std::fs::write(folder.path().join("link.toml"), pair(keys)).expect("a file");
        let mut command = windfall("up --name under-test");
        command.arg(folder.path().join("link.toml")).args(options);
        command.env("XDG_RUNTIME_DIR", session).stderr(Stdio::piped()).stdout(Stdio::null());
        let mut run = command.spawn().expect("it runs");
        let _ = skip_to(run.stderr.take(), " is up");
        Self { folder, run }
    }

    fn ask(&self, line: &str) -> Output {
        let mut command = windfall(line);
        command.env("XDG_RUNTIME_DIR", self.folder.path().join("run"));
        command.output().expect("it runs")
    }

    fn done(&self, line: &str) -> String {
        let output = self.ask(line);
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{line}: {errors}");
        String::from_utf8(output.stdout).expect("text")
    }

    fn refused(&self, line: &str) -> String {
        let output = self.ask(line);
        assert_eq!(output.status.code(), Some(2), "{line}");
        String::from_utf8(output.stderr).expect("text")
    }

    fn socket(&self) -> UnixStream {
        let path = self.folder.path().join("run/windfall/under-test");
        UnixStream::connect(path).expect("it listens")
    }

    /// Waits until the run serves another client.
    fn wait_for_room(&self) {
        loop {
            let mut client = self.socket();
            let mut line = String::new();
            // One that is sent away may find the connection closed.
            let _ = client.write_all(b"{\"do\":\"status\"}\n");
            let _ = BufReader::new(client).read_line(&mut line);
            if line.contains("\"ok\":true") {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }

    fn down(mut self) {
        self.done("down under-test");
        assert_eq!(self.run.wait().expect("it ends").code(), Some(0));
        let door = self.folder.path().join("run/windfall/under-test");
        assert!(!door.exists());
    }
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn a_link_is_changed_while_it_runs_and_its_scenario_repeats_that() {
    require!();
    let session = Session::up("changed", "delay = \"1ms\"", &[]);
    let ping = "exec a -- ping -n -c 3 -i 0.2 -W 30 -q 10.77.0.2";
    let time = |text: &str| -> f64 {
        let (_, times) = text.split_once("mdev = ").expect("all answered");
        times.split('/').next().and_then(|least| least.parse().ok()).expect("a time")
    };
    let before = time(&session.done(ping));
    assert!((2.0..60.0).contains(&before), "{before}");
    session.done("set under-test delay=30ms uplink rate=5Mbps");
    let after = time(&session.done(ping));
    assert!((60.0..200.0).contains(&after), "{after}");
    session.done("set loss=100%");
    assert!(!session.ask(&ping.replace("-W 30", "-W 1")).status.success());
    let status = json(&session.done("status --json"));
    let settings = |link: usize| status["links"][link]["settings"].clone();
    assert_eq!(settings(0)["rate"], "5Mbps");
    assert_eq!(settings(1).get("rate"), None);
    assert_eq!(settings(1)["loss"], "1");
    assert_eq!(status["changes"], 2);
    assert_eq!(status["links"][0]["dropped"]["lost"], 3);
    assert_eq!(status["stations"][1]["name"], "b");
    let scenario = session.done("status --scenario");
    assert_eq!(scenario.matches("[[change]]").count(), 2, "{scenario}");
    let file = session.folder.path().join("again.toml");
    std::fs::write(&file, &scenario).expect("a file");
    let simulated = session.done(&format!("sim {}", file.display()));
    assert!(simulated.contains("seed 1"), "{simulated}");
    session.down();
}

#[test]
fn what_cannot_be_set_is_refused_and_changes_nothing() {
    require!();
    let session = Session::up("refused", "delay = \"1ms\"", &[]);
    for (line, said) in [
        ("set other rate=1Mbps", "no run is called \"other\"; there are under-test"),
        ("set rte=1Mbps", "did you mean rate?"),
        ("set rate=fast", "rate=fast"),
        ("set loss=5% queue=9", "queue cannot change while a link runs"),
        ("set loss=5% error-trace=no.trace", "cannot read"),
        ("set loss=5% loss=6%", "loss is given twice"),
        ("set under-test", "nothing to set"),
        ("status other", "no run is called \"other\"; there are under-test"),
        ("down under-test other", "no run is called \"other\"; there are under-test"),
        ("down other", "no run is called \"other\"; there are under-test"),
    ] {
        let message = session.refused(line);
        assert!(message.contains(said), "{line}: {message}");
    }
    let status = json(&session.done("status --json"));
    assert_eq!(status["links"][0]["settings"].get("loss"), None);
    assert_eq!(status["changes"], 0);
    session.down();
}

#[test]
fn hostile_clients_are_refused_and_do_not_disturb_the_run() {
    require!();
    let session = Session::up("hostile", "delay = \"1ms\"", &[]);
    let mut silent: Vec<UnixStream> = (0..100).map(|_| session.socket()).collect();
    // One too many is sent away.
    let last = silent.pop().expect("there are some");
    let mut refusal = String::new();
    BufReader::new(last).read_line(&mut refusal).expect("an answer");
    assert!(refusal.contains("as many clients as it serves"), "{refusal}");
    drop(silent);
    // The run sees after a while that they are gone.
    session.wait_for_room();
    // A line without an end.
    let mut long = session.socket();
    let _ = long.write_all(&vec![b'x'; 200_000]);
    let mut said = String::new();
    let _ = long.read_to_string(&mut said);
    assert!(said.is_empty() || said.contains("65536 bytes at most"), "{said}");
    // No answers are taken.
    let mut flood = session.socket();
    flood.set_nonblocking(true).expect("it can");
    let requests = "{\"do\":\"status\"}\n".repeat(4000);
    let _ = flood.write(requests.as_bytes());
    for garbage in [&b"\n\n\n"[..], b"\xff\xfe\n", b"{\"do\":\"set\",\"change\":{\"rate\":{}}}\n"] {
        let mut client = session.socket();
        client.write_all(garbage).expect("it takes it");
        let mut line = String::new();
        BufReader::new(client).read_line(&mut line).expect("an answer");
        assert!(json(&line)["error"].is_string(), "{line}");
    }
    // Packets cross the link meanwhile, and others are served.
    session.done("exec a -- ping -n -c 3 -i 0.2 -W 30 -q 10.77.0.2");
    assert_eq!(json(&session.done("status --json"))["ok"], true);
    drop(flood);
    session.down();
}

#[test]
fn changes_stand_in_the_event_log_and_series_are_written() {
    require!();
    let folder = Folder::new("logged");
    let log = folder.path().join("log");
    let series = folder.path().join("series.csv");
    let options = ["--log", &log.display().to_string(), "--series", &series.display().to_string()];
    let session = Session::up("logged-run", "delay = \"1ms\"", &options);
    session.done("set downlink loss=5% over=1s delay=9ms");
    session.done("exec a -- ping -n -c 3 -i 0.2 -W 30 -q 10.77.0.2");
    session.down();
    let log = std::fs::read_to_string(log).expect("a log");
    let changed = log.lines().find(|line| line.contains("link.changed")).expect("a change");
    let change = &json(changed)["change"];
    assert_eq!(change["downlink"], serde_json::json!({"loss": "0.05", "delay": "9ms"}));
    assert_eq!(change["over"], "1s");
    let series = std::fs::read_to_string(series).expect("a series");
    let entered = series.lines().skip(1).filter(|line| line.contains("a-b/a"));
    let entered = entered.map(|line| line.split(',').nth(11)?.parse::<u64>().ok());
    assert_eq!(entered.flatten().sum::<u64>(), 3, "{series}");
}

#[test]
fn the_live_view_shows_the_run_and_gives_the_terminal_back() {
    require!("python3", "ping");
    let session = Session::up("watched", "delay = \"1ms\"", &[]);
    session.done("exec a -- ping -n -c 3 -i 0.1 -W 30 -q 10.77.0.2");
    let once = session.done("top --once");
    assert!(once.contains("under-test ") && once.contains("a-b/a  "), "{once}");
    assert!(once.contains("3 packets, 3 delivered, in flight 0"), "{once}");
    assert!(once.contains(" Mbps  queue 0  loss 0.0 %"), "{once}");
    // In a terminal of a size of its own, until q is pressed or it is told to end.
    let program = "import fcntl, os, pty, signal, struct, sys, termios, time\n\
        pid, fd = pty.fork()\n\
        if pid == 0: time.sleep(0.2); os.execvp(sys.argv[1], sys.argv[1:])\n\
        fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack('HHHH', 30, 100, 0, 0))\n\
        seen = b''\n\
        while b'q quits' not in seen: seen += os.read(fd, 65536)\n\
        if sys.argv[3:]: os.write(fd, b'q')\n\
        else: os.kill(pid, signal.SIGTERM)\n\
        try:\n\
        \x20   while part := os.read(fd, 65536): seen += part\n\
        except OSError: pass\n\
        sys.stdout.buffer.write(seen)\n\
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))\n";
    for words in [&["top", "under-test"][..], &["top"]] {
        let mut command = std::process::Command::new("python3");
        command.args(["-c", program, crate::live::WINDFALL]).args(words);
        command.env("XDG_RUNTIME_DIR", session.folder.path().join("run")).env("TERM", "xterm");
        let output = command.output().expect("it runs");
        let seen = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{seen} {}", String::from_utf8_lossy(&output.stderr));
        assert!(seen.contains("under-test") && seen.contains("a-b/b"), "{seen:?}");
        // The screen before is back.
        assert!(seen.contains("\u{1b}[?1049h") && seen.contains("\u{1b}[?1049l"), "{seen:?}");
    }
    // A run that ends is said to have ended.
    let ends = program.replace("os.write(fd, b'q')", "os.system(sys.argv[1] + ' down under-test')");
    let mut command = std::process::Command::new("python3");
    command.args(["-c", &ends, crate::live::WINDFALL, "top", "under-test"]);
    command.env("XDG_RUNTIME_DIR", session.folder.path().join("run")).env("TERM", "xterm");
    let output = command.output().expect("it runs");
    let seen = String::from_utf8_lossy(&output.stdout).into_owned();
    let (_, after) = seen.split_once("\u{1b}[?1049l").expect("the screen is given back");
    assert!(after.contains("under-test has ended"), "{seen:?}");
    let session = Session::up("watched-again", "delay = \"1ms\"", &[]);
    let message = session.refused("top under-test");
    assert!(message.contains("add --once"), "{message}");
    session.down();
}

#[test]
fn the_live_view_is_drawn_in_tmux_and_fits_its_window() {
    require!("tmux", "ping");
    let session = Session::up("tmux", "rate = \"1Mbps\"\ndelay = \"1ms\"", &[]);
    let folder = session.folder.path();
    let ask = |words: &[&str]| {
        let mut command = std::process::Command::new("tmux");
        command.args(["-u", "-f", "/dev/null", "-L", "top"]).args(words);
        command.env_remove("TMUX").env("TMUX_TMPDIR", folder).stdin(Stdio::null());
        command.env("XDG_RUNTIME_DIR", folder.join("run"));
        let output = command.output().expect("tmux is there");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        said
    };
    let wait = |is_there: &dyn Fn(&str) -> bool| loop {
        let screen = ask(&["capture-pane", "-p"]);
        if is_there(&screen) {
            return screen;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    };
    let top = format!("{} top under-test; echo over; sleep 600", crate::live::WINDFALL);
    ask(&["new-session", "-d", "-x", "150", "-y", "30", &top]);
    // 1042 bytes at 1 Mb/s take more than 8 ms.
    session.done("exec a -- ping -n -c 20 -i 0.1 -s 1000 -W 30 -q 10.77.0.2");
    wait(&|screen| {
        let parts = ["under-test ", " rate=1Mbps", "  air ", "rate  ", "delay ", "q quits"];
        parts.iter().all(|part| screen.contains(part)) && screen.contains("\u{2588}")
    });
    ask(&["resize-window", "-x", "40", "-y", "9"]);
    let small = wait(&|screen| screen.lines().count() <= 9 && screen.contains("q quits"));
    assert!(small.lines().all(|line| line.chars().count() <= 40), "{small}");
    ask(&["send-keys", "q"]);
    wait(&|screen| screen.contains("over") && !screen.contains("q quits"));
    ask(&["kill-server"]);
    session.down();
}

#[test]
fn a_detached_run_is_up_when_the_command_returns_and_its_stations_have_names() {
    require!("ping");
    use std::os::unix::fs::DirBuilderExt;
    let folder = Folder::new("detached");
    let session = folder.path().join("run");
    std::fs::DirBuilder::new().mode(0o700).create(&session).expect("a folder");
    let file = folder.path().join("link.toml");
    std::fs::write(&file, pair("delay = \"1ms\"")).expect("a file");
    let output = folder.path().join("output");
    let ask = |line: &str| {
        let mut command = windfall(line);
        command.env("XDG_RUNTIME_DIR", &session).output().expect("it runs")
    };
    let up = format!("up -d --name detached {} --output {}", file.display(), output.display());
    assert_eq!(ask(&up).status.code(), Some(0));
    let names = ask("exec a -- ping -n -4 -c 1 -W 30 b");
    let text = String::from_utf8_lossy(&names.stdout).into_owned();
    assert!(text.contains("(10.77.0.2)") && text.contains(" 1 received"), "{names:?}");
    let again = ask(&up);
    let message = String::from_utf8_lossy(&again.stderr).into_owned();
    assert!(message.contains("a run of yours is called \"detached\" already"), "{message}");
    assert_eq!(again.status.code(), Some(2), "{message}");
    // The one that goes on keeps what it has printed.
    let kept = std::fs::read_to_string(&output).expect("what it printed");
    assert!(kept.contains("detached is up") && !kept.contains("already"), "{kept}");
    let mut input = windfall("up -d --name other -");
    input.env("XDG_RUNTIME_DIR", &session).stdin(std::fs::File::open(&file).expect("it is there"));
    let refused = input.output().expect("it runs");
    let message = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(message.contains("cannot read its scenario from the standard input"), "{message}");
    let list = ask("ls --json");
    assert!(!String::from_utf8_lossy(&list.stdout).contains("is-detached"), "{list:?}");
    let row = json(String::from_utf8_lossy(&list.stdout).lines().next().expect("a run"));
    assert_eq!((&row["name"], &row["stations"][1]), (&"detached".into(), &"b".into()));
    // A killed one is gone from the list, and so is its socket.
    let pid = row["pid"].as_i64().and_then(|it| i32::try_from(it).ok()).expect("a number");
    let pid = rustix::process::Pid::from_raw(pid).expect("a process");
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).expect("it lives");
    while !ask("ls").stdout.is_empty() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert!(!session.join("windfall/detached").exists());
    assert_eq!(ask(&up).status.code(), Some(0));
    assert_eq!(ask("down --all").status.code(), Some(0));
    assert!(ask("ls").stdout.is_empty());
    let said = std::fs::read_to_string(&output).expect("what it printed");
    assert!(said.contains("\"balances\":true") || said.contains("a-b/a"), "{said}");
}

#[test]
fn a_run_with_packets_that_are_too_late_fails() {
    require!("ping");
    let run = |limit: &str| {
        let words = format!("run -q --max-late {limit} -- ping -n -c 2 -i 0.2 -W 30 10.77.0.2");
        windfall(&words).stdout(Stdio::null()).output().expect("it runs")
    };
    assert_eq!(run("10s:0").status.code(), Some(0));
    // No packet takes no time at all.
    let late = run("0ms:10%");
    let message = String::from_utf8_lossy(&late.stderr).into_owned();
    assert_eq!(late.status.code(), Some(125), "{message}");
    assert!(message.contains("more than --max-late allows"), "{message}");
    assert_eq!(run("1ms").status.code(), Some(2));
}

#[test]
fn a_request_whose_client_is_gone_is_not_served() {
    require!();
    let session = Session::up("withdrawn", "delay = \"1ms\"", &[]);
    let pid = rustix::process::Pid::from_child(&session.run);
    let send = |signal| rustix::process::kill_process(pid, signal).expect("it lives");
    send(rustix::process::Signal::STOP);
    let mut client = session.socket();
    client.write_all(b"{\"do\":\"set\",\"change\":{\"loss\":\"100%\"}}\n").expect("it takes it");
    drop(client);
    // One that says no more, but waits for its answer, is served.
    let mut other = session.socket();
    other.write_all(b"{\"do\":\"set\",\"change\":{\"delay\":\"2ms\"}}\n").expect("it takes it");
    other.shutdown(std::net::Shutdown::Write).expect("it can");
    send(rustix::process::Signal::CONT);
    let mut line = String::new();
    BufReader::new(other).read_line(&mut line).expect("an answer");
    assert_eq!(json(&line)["ok"], true, "{line}");
    let status = json(&session.done("status --json"));
    assert_eq!(status["changes"], 1);
    let settings = &status["links"][0]["settings"];
    assert_eq!((settings.get("loss"), &settings["delay"]), (None, &"2ms".into()));
    session.down();
}

#[test]
fn an_interrupted_start_of_a_detached_run_leaves_no_run() {
    require!();
    use std::os::unix::fs::DirBuilderExt;
    let folder = Folder::new("interrupted");
    let session = folder.path().join("run");
    std::fs::DirBuilder::new().mode(0o700).create(&session).expect("a folder");
    let file = folder.path().join("link.toml");
    std::fs::write(&file, pair("delay = \"1ms\"")).expect("a file");
    let ask = |line: &str| {
        let mut command = windfall(line);
        command.env("XDG_RUNTIME_DIR", &session).env("XDG_STATE_HOME", folder.path());
        command
    };
    // From the first moment to one at which it is up.
    let mut left = 0;
    for ms in [0, 3, 6, 10, 15, 20, 30, 45] {
        let mut starting = ask(&format!("up -q -d --name cut {}", file.display()));
        let mut starting = starting.spawn().expect("it runs");
        std::thread::sleep(std::time::Duration::from_millis(ms));
        let pid = rustix::process::Pid::from_child(&starting);
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        let was_up = starting.wait().expect("it ends").success();
        if was_up {
            ask("down --all").status().expect("it runs");
        }
        let is_gone = || ask("ls").output().expect("it runs").stdout.is_empty();
        let is_gone = (0..100).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(100));
            is_gone()
        });
        if !is_gone {
            left += 1;
            ask("down --all").status().expect("it runs");
        }
    }
    // One may have been killed between its word that lets the run go on and its end.
    assert!(left <= 1, "{left} runs outlived an interrupted start");
    // What it prints stands in one place for each name.
    for _ in 0..2 {
        let up = ask(&format!("up -d --name kept {}", file.display())).output().expect("it runs");
        let said = String::from_utf8_lossy(&up.stderr).into_owned();
        assert!(said.contains("prints to ") && said.contains("windfall/kept.log"), "{said}");
        assert!(ask("down kept").status().expect("it runs").success());
    }
    let logs = std::fs::read_dir(folder.path().join("windfall")).expect("a folder");
    let logs: Vec<_> = logs.map(|it| it.expect("an entry").file_name()).collect();
    assert!(logs.contains(&"kept.log".into()), "{logs:?}");
    // A start of the other name may have come to its end, and unfinished files are removed.
    assert!(logs.iter().all(|it| it == "kept.log" || it == "cut.log"), "{logs:?}");
    // A folder that others may enter is not trusted, and that is said.
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(&session, std::fs::Permissions::from_mode(0o755)).expect("a mode");
    for line in ["ls", "status"] {
        let said = ask(line).output().expect("it runs");
        let said = String::from_utf8_lossy(&said.stderr).into_owned();
        assert!(said.contains("is not looked into") && said.contains("chmod 700"), "{said}");
    }
    for name in ["uplink", "rate=1Mbps", ".x", "a/b"] {
        let refused = ask("up --name").arg(name).arg(&file).output().expect("it runs");
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(refused.status.code() == Some(2) && said.contains("up to 60 letters"), "{said}");
    }
}

/// Sends 200 kB to whoever connects to port 9000 or 9001.
const SERVER: &str = "import socket, threading\n\
        def serve(port):\n\
        \x20   s = socket.create_server(('', port))\n\
        \x20   while True:\n\
        \x20       c, _ = s.accept()\n\
        \x20       send = lambda c=c: (c.sendall(bytes(200000)), c.close())\n\
        \x20       threading.Thread(target=send).start()\n\
        threading.Thread(target=serve, args=(9000,)).start(); serve(9001)\n";

/// Prints how much comes, how it ends, and in which time.
const CLIENT: &str = "import socket, sys, time\n\
        began, got, how = time.time(), 0, 'end'\n\
        while True:\n\
        \x20   try: c = socket.create_connection(('10.77.0.2', int(sys.argv[1])), 5); break\n\
        \x20   except ConnectionRefusedError:\n\
        \x20       if time.time() > began + float(sys.argv[2]): print('refused'); sys.exit()\n\
        \x20       time.sleep(0.02)\n\
        began = time.time()\n\
        try:\n\
        \x20   while part := c.recv(65536): got += len(part)\n\
        except ConnectionResetError: how = 'reset'\n\
        except TimeoutError: how = 'silence'\n\
        print(got, how, round(time.time() - began, 1))\n";

#[test]
fn connections_of_real_programs_have_the_faults_of_their_port() {
    require!("python3");
    let session = Session::up("faulty", "delay = \"1ms\"", &["--fault", "b:9000 down"]);
    let file = session.folder.path().join("server.py");
    std::fs::write(&file, SERVER).expect("a file");
    let mut serving = windfall("exec b -- python3");
    serving.arg(&file).env("XDG_RUNTIME_DIR", session.folder.path().join("run"));
    let mut serving = serving.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it runs");
    let fetch = session.folder.path().join("client.py");
    std::fs::write(&fetch, CLIENT).expect("a file");
    let get = |port: u16, patience: u8| {
        let line = format!("exec a -- python3 {} {port} {patience}", fetch.display());
        session.done(&line).trim().to_owned()
    };
    let set = |fault: &str| {
        let mut command = windfall("set under-test");
        command.arg(format!("fault={fault}"));
        command.env("XDG_RUNTIME_DIR", session.folder.path().join("run"));
        let done = command.output().expect("it runs");
        assert!(done.status.success(), "{fault}: {}", String::from_utf8_lossy(&done.stderr));
    };
    // How much came, how it ended, and a time that the machine may only lengthen.
    let fetched = |port: u16, patience: u8| {
        let line = get(port, patience);
        let (result, seconds) = line.rsplit_once(' ').expect("a result and its time");
        (result.to_owned(), seconds.parse::<f64>().expect("seconds"))
    };
    let check = |fault: &str, expected: &str, least: f64| {
        set(fault);
        let (result, seconds) = fetched(9000, 30);
        assert!(result == expected && seconds >= least, "{fault}: {result} after {seconds} s");
    };
    assert_eq!(fetched(9001, 30).0, "200000 end", "the other port has none");
    assert_eq!(get(9000, 0), "refused");
    check("b:9000 none", "200000 end", 0.0);
    check("b:9000 limit 12345B", "12345 end", 0.0);
    check("b:9000 timeout 1s", "0 end", 0.9);
    check("b:9000 slow-close 2s", "200000 end", 1.9);
    check("b:9000 slice 500B 1ms", "200000 end", 0.3);
    set("b:9000 rate 80kbps, reset 1s");
    let (result, seconds) = fetched(9000, 30);
    assert!(result.ends_with("reset") && seconds >= 0.9, "{result} after {seconds} s");
    check("b:9000 delay 200ms", "200000 end", 0.1);
    let status = session.done("status");
    // A late packet of the connection that was reset counts it once more.
    let counts = [1, 2].map(|count| format!("fault b:9000 delay 200ms: {count} connections"));
    assert!(counts.iter().any(|count| status.contains(count)), "{status}");
    for (fault, said) in [("c:9000 down", "use one of a, b"), ("b:9000", "write STATION:PORT")] {
        let mut command = windfall("set under-test");
        command.arg(format!("fault={fault}"));
        command.env("XDG_RUNTIME_DIR", session.folder.path().join("run"));
        let refused = command.output().expect("it runs");
        let message = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(refused.status.code() == Some(2) && message.contains(said), "{message}");
    }
    session.down();
    let _ = serving.wait();
}
