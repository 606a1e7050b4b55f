//! `windfall top --web`: the live view as a page, asked over plain HTTP and used in a browser.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::live::{Folder, WINDFALL, pair, require, skip_to, windfall};

/// The scenario of the picture: a link with a queue that fills.
const LINK: &str = "rate = \"8Mbps\"\ndelay = \"15ms\"\nqueue = \"60\"";

/// A run with a page.
struct Watched {
    folder: Folder,
    run: Child,
    top: Child,
    /// The host and the port.
    at: String,
    /// The path of the page, with its token.
    path: String,
}

impl Watched {
    fn begin(name: &str, keys: &str) -> Self {
        use std::os::unix::fs::DirBuilderExt;
        let folder = Folder::new(name);
        let session = folder.path().join("run");
        std::fs::DirBuilder::new().mode(0o700).create(&session).expect("a folder");
        std::fs::write(folder.path().join("link.toml"), pair(keys)).expect("a file");
        let mut command = windfall("up --name office");
        command.arg(folder.path().join("link.toml")).env("XDG_RUNTIME_DIR", &session);
        command.stderr(Stdio::piped()).stdout(Stdio::null());
        let mut run = command.spawn().expect("it runs");
        let _ = skip_to(run.stderr.take(), " is up");
        let mut command = windfall("top office --web");
        command.env("XDG_RUNTIME_DIR", &session).stdout(Stdio::piped());
        let mut top = command.spawn().expect("it runs");
        let mut url = String::new();
        let mut lines = BufReader::new(top.stdout.take().expect("a pipe"));
        lines.read_line(&mut url).expect("an address");
        let url = url.trim().strip_prefix("http://").expect("an address of HTTP");
        let (at, path) = url.split_once('/').expect("a path");
        let at = at.to_owned();
        let path = format!("/{path}");
        Self { folder, run, top, at, path }
    }

    fn command(&self, line: &str) -> Command {
        let mut command = windfall(line);
        command.env("XDG_RUNTIME_DIR", self.folder.path().join("run"));
        command
    }

    /// Sends a request with these lines, and returns the status and the body of the reply.
    fn ask(&self, method: &str, path: &str, lines: &[&str], body: &str) -> (u16, String) {
        let mut socket = TcpStream::connect(&self.at).expect("it listens");
        let head = lines.join("\r\n");
        let length = body.len();
        let request = format!(
            "{method} {path} HTTP/1.1\r\n{head}\r\nContent-Length: {length}\r\nConnection: \
             close\r\n\r\n{body}"
        );
        socket.write_all(request.as_bytes()).expect("it takes it");
        let mut reply = String::new();
        socket.read_to_string(&mut reply).expect("a reply");
        let status = reply.split(' ').nth(1).and_then(|it| it.parse().ok()).expect("a status");
        let (_, body) = reply.split_once("\r\n\r\n").expect("a head");
        (status, body.to_owned())
    }

    fn get(&self, path: &str) -> String {
        let host = format!("Host: {}", self.at);
        let (status, body) = self.ask("GET", &format!("{}{path}", self.path), &[&host], "");
        assert_eq!(status, 200, "{path}: {body}");
        body
    }

    fn set(&self, body: &str) -> (u16, String) {
        let host = format!("Host: {}", self.at);
        let lines = [host.as_str(), "Content-Type: application/json"];
        self.ask("POST", &format!("{}set", self.path), &lines, body)
    }

    /// Waits until the page knows something of the run.
    fn view_with(&self, is_there: impl Fn(&Value) -> bool) -> Value {
        loop {
            let view: Value = serde_json::from_str(&self.get("view?since=0")).expect("JSON");
            if is_there(&view) {
                return view;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }

    fn end(&mut self) {
        let group = rustix::process::Pid::from_child(&self.top);
        rustix::process::kill_process(group, rustix::process::Signal::TERM).expect("it is there");
        assert_eq!(self.top.wait().expect("it ends").code(), Some(0));
        let _ = self.command("down --all").status();
        assert_eq!(self.run.wait().expect("it ends").code(), Some(0));
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        // After a failure they are still there.
        let _ = (self.top.kill(), self.top.wait(), self.run.kill(), self.run.wait());
    }
}

#[test]
fn a_page_shows_a_run_changes_it_and_exports_what_was_seen() {
    require!("ping");
    let mut watched = Watched::begin("page", "delay = \"1ms\"");
    let page = watched.get("");
    assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"), "{page}");
    let ping = watched.command("exec a -- ping -n -c 3 -i 0.1 -W 30 -q 10.77.0.2").status();
    assert!(ping.expect("it runs").success());
    let view = watched.view_with(|view| view["status"]["links"][0]["delivered"] == 3);
    assert_eq!(view["name"], "office");
    let (status, said) = watched.set(r#"{"change": {"uplink": {"loss": "5%"}}}"#);
    assert_eq!(status, 200, "{said}");
    let view = watched.view_with(|view| view["status"]["changes"] == 1);
    assert_eq!(view["status"]["links"][0]["settings"]["loss"], "0.05");
    assert_eq!(view["status"]["links"][1]["settings"].get("loss"), None);
    let (status, said) = watched.set(r#"{"change": {"rate": "fast"}}"#);
    assert!(status == 422 && said.contains("rate=fast"), "{status} {said}");
    assert_eq!(watched.set(r#"{"fault": "b:80 reset"}"#).0, 200);
    watched.view_with(|view| view["status"]["faults"][0]["fault"] == "b:80 reset");
    assert!(watched.get("scenario.toml").contains("[[change]]"));
    // The windows with the packets have come by now, and each of them once.
    let entered = |row: &str| row.split(',').nth(11).and_then(|it| it.parse::<u64>().ok());
    let csv = loop {
        let csv = watched.get("seen.csv");
        let rows = csv.lines().filter(|row| row.contains(",a-b/a,"));
        if rows.filter_map(entered).sum::<u64>() >= 3 {
            break csv;
        }
    };
    let rows = csv.lines().filter(|row| row.contains(",a-b/a,"));
    assert_eq!(rows.filter_map(entered).sum::<u64>(), 3, "{csv}");
    let seen: Value = serde_json::from_str(&watched.get("seen.json")).expect("JSON");
    assert_eq!(seen["status"]["changes"], 1);
    watched.end();
}

#[test]
fn other_pages_and_other_users_do_not_get_in() {
    require!();
    let mut watched = Watched::begin("page-guarded", "delay = \"1ms\"");
    assert!(watched.at.starts_with("127.0.0.1:"), "{}", watched.at);
    let host = format!("Host: {}", watched.at);
    let json = "Content-Type: application/json";
    let set = format!("{}set", watched.path);
    let guess = format!("/{}/set", "0".repeat(32));
    let change = r#"{"change": {"loss": "100%"}}"#;
    let rebound = format!("Host: evil.example:{}", watched.at.rsplit(':').next().expect("a port"));
    let foreign = [host.as_str(), json, "Origin: http://evil.example"];
    let form = [host.as_str(), "Content-Type: text/plain", "Sec-Fetch-Site: cross-site"];
    for (path, lines, expected) in [
        (&guess, &[host.as_str(), json][..], 403),
        (&set, &[rebound.as_str(), json], 403),
        (&set, &foreign, 403),
        (&set, &form, 403),
        (&set, &[host.as_str(), "Content-Type: text/plain"], 415),
        (&set, &[host.as_str(), host.as_str(), json], 400),
    ] {
        let (status, said) = watched.ask("POST", path, lines, change);
        assert_eq!(status, expected, "{lines:?}: {said}");
    }
    let long = format!("{{\"fault\": \"{}\"}}", "x".repeat(70_000));
    assert_eq!(watched.set(&long).0, 413);
    assert_eq!(watched.set(r#"{"do": "end"}"#).0, 400);
    let view = watched.view_with(|view| !view["status"].is_null());
    assert_eq!(view["status"]["changes"], 0);
    watched.end();
}

#[test]
fn connections_that_say_nothing_do_not_keep_a_browser_out() {
    require!();
    let mut watched = Watched::begin("page-idle", "delay = \"1ms\"");
    let connect = |_| TcpStream::connect(&watched.at).expect("it listens");
    let mut idle: Vec<TcpStream> = (0..100).map(connect).collect();
    watched.view_with(|view| !view["status"].is_null());
    // The first have given way to the last.
    assert_eq!(idle[0].read(&mut [0]).expect("an end"), 0);
    watched.end();
}

#[test]
fn a_run_that_ends_is_said_to_have_ended() {
    require!();
    let mut watched = Watched::begin("page-of-the-past", "delay = \"1ms\"");
    watched.view_with(|view| view["samples"].as_array().is_some_and(|it| !it.is_empty()));
    assert!(watched.command("down office").status().expect("it runs").success());
    let view = watched.view_with(|view| view["ended"] == true);
    assert_eq!(view["trouble"], "the run has ended");
    assert_eq!(watched.set(r#"{"change": {"loss": "5%"}}"#).0, 410);
    assert!(watched.get("seen.csv").lines().count() > 2);
    watched.end();
}

/// The browser sees charts that move, sets by the controls, and is refused as another page.
/// `WINDFALL_TEST_PICTURES=FOLDER` watches for longer, and leaves the pictures in the folder.
#[test]
fn a_browser_shows_the_page_at_the_width_of_a_phone_and_in_the_dark() {
    require!("chromium", "python3");
    let mut watched = Watched::begin("page-in-a-browser", LINK);
    let kept = std::env::var_os("WINDFALL_TEST_PICTURES").map(PathBuf::from);
    let (time, seconds) = if kept.is_some() { ("120s", "20") } else { ("20s", "0") };
    let mut far = watched.command(&format!("exec b -- {WINDFALL} tcp receive --kernel"));
    let mut far = far.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it runs");
    let send = format!("exec a -- {WINDFALL} tcp send --kernel --time {time} 10.77.0.2:5001");
    let mut near = watched.command(&send);
    let mut near = near.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it runs");
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/live");
    let out = kept.unwrap_or_else(|| watched.folder.path().to_owned());
    std::fs::create_dir_all(&out).expect("a folder");
    let output = Command::new("python3")
        .arg(tests.join("dashboard.py"))
        .arg(format!("http://{}{}", watched.at, watched.path))
        .arg(&out)
        .arg(seconds)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    for name in ["phone-dark.png", "live-view-light.png", "live-view-dark.png"] {
        let picture = std::fs::read(out.join(name)).expect("a picture");
        assert!(picture.starts_with(b"\x89PNG") && picture.len() > 20_000, "{name}");
    }
    // Two changes came from the controls, and none from the other page.
    assert_eq!(watched.view_with(|view| !view["status"].is_null())["status"]["changes"], 2);
    watched.end();
    let _ = (near.wait(), far.wait());
}
