//! Commands of a user who may have few processes: one line and an exit status, or the work is done.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::live::users::open_copy;
use crate::support::Folder;

/// A user without an account, whose processes are those of these tests alone.
const USER: u32 = 54_377;

/// Tells why this test cannot run here, if so.
fn obstacle() -> Option<&'static str> {
    let has = |program: &str| {
        Command::new(program).arg("--version").stdout(Stdio::null()).status().is_ok()
    };
    if !rustix::process::geteuid().is_root() {
        return Some("only root can become a user with few processes");
    }
    (!has("prlimit") || !has("setpriv")).then_some("prlimit or setpriv is missing")
}

/// The program as a user who may have this number of processes, threads included.
fn limited(folder: &Folder, user: u32, processes: u32, arguments: &[&str]) -> Child {
    let mut command = Command::new("prlimit");
    command.arg(format!("--nproc={processes}:{processes}"));
    command.arg("setpriv").args([format!("--reuid={user}"), format!("--regid={user}")]);
    command.args(["--clear-groups", "--"]).arg(open_copy(folder)).args(arguments);
    command.current_dir("/").env_remove("HOME").stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs")
}

/// Asks for a path, and returns the first line of the reply.
fn ask(at: &str, target: &str) -> String {
    let mut stream = TcpStream::connect(at).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a time");
    let request = format!("GET {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("room");
    let mut reply = String::new();
    BufReader::new(stream).read_line(&mut reply).expect("a reply");
    reply
}

/// A server that has begun, or what it said in place of that and its exit status.
fn begun(
    mut server: Child,
) -> Result<(Child, BufReader<std::process::ChildStderr>, String), String> {
    let mut lines = BufReader::new(server.stderr.take().expect("piped"));
    let mut said = String::new();
    lines.read_line(&mut said).expect("text");
    match said.trim_end().strip_suffix('/').and_then(|it| it.rsplit_once("http://")) {
        Some((_, at)) => {
            let at = at.to_owned();
            Ok((server, lines, at))
        }
        None => {
            lines.read_to_string(&mut said).expect("text");
            let status = server.wait().expect("it ends").code();
            assert_eq!(status, Some(2), "{said}");
            Err(said)
        }
    }
}

#[test]
fn servers_serve_with_few_processes_or_say_why_they_cannot() {
    if let Some(why) = obstacle() {
        windfall_testkit::skip!("{why}");
    }
    let folder = Folder::new("few-processes");
    open_copy(&folder);
    let site = folder.path().join("site");
    std::fs::create_dir(&site).expect("a folder");
    std::fs::write(site.join("a.txt"), "hello").expect("a file");
    std::fs::write(site.join("b.txt"), vec![7; 2_000_000]).expect("a file");
    let site = site.display().to_string();
    let mut served = 0;
    for processes in 1..=6 {
        let own = ["--on", "127.0.0.1", "--port", "0", "-q"];
        let serve = [&["serve"], &own[..], &[&site]].concat();
        match begun(limited(&folder, USER, processes, &serve)) {
            Err(said) => {
                assert_eq!(said.lines().count(), 1, "{said}");
                assert!(said.starts_with("windfall: ") && said.contains("thread"), "{said}");
            }
            Ok((mut server, mut lines, at)) => {
                served += 1;
                for path in ["/a.txt", "/b.txt", "/"] {
                    assert!(ask(&at, path).starts_with("HTTP/1.1 200 "), "{processes}: {path}");
                }
                let proxy = [&["proxy"], &own[..]].concat();
                let through = begun(limited(&folder, USER + 1, processes, &proxy));
                let (mut proxy, mut of_proxy, through) = through.expect("it needs no thread");
                for _ in 0..3 {
                    let reply = ask(&through, &format!("http://{at}/a.txt"));
                    assert!(reply.starts_with("HTTP/1.1 200 "), "{processes}: {reply}");
                }
                // A name needs a resolver, which needs a thread.
                let reply = ask(&through, "http://no-such-host.invalid/");
                assert!(reply.starts_with("HTTP/1.1 502 "), "{processes}: {reply}");
                for (child, lines) in [(&mut server, &mut lines), (&mut proxy, &mut of_proxy)] {
                    child.kill().expect("it is there");
                    child.wait().expect("it ends");
                    let mut said = String::new();
                    lines.read_to_string(&mut said).expect("text");
                    assert_eq!(said, "", "{processes}");
                }
            }
        }
    }
    assert!(served >= 3, "{served}");
}

#[test]
fn a_sweep_runs_with_few_processes_or_says_why_it_cannot() {
    if let Some(why) = obstacle() {
        windfall_testkit::skip!("{why}");
    }
    let folder = Folder::new("few-sweeps");
    open_copy(&folder);
    let scenario = folder.path().join("a.toml");
    let link = crate::support::pair("rate = \"1Mbps\"");
    std::fs::write(&scenario, link).expect("a file");
    let scenario = scenario.display().to_string();
    for processes in 1..=3 {
        let out = folder.path().join(format!("out-{processes}"));
        std::fs::create_dir(&out).expect("a folder");
        std::os::unix::fs::chown(&out, Some(USER + 2), None).expect("root may");
        let out = out.display().to_string();
        let sweep = ["sweep", &scenario, "--vary", "delay=1ms,2ms", "--seeds", "1", "--out", &out];
        let sweep = [&sweep[..], &["--duration", "1s", "--jobs", "4"]].concat();
        let output = limited(&folder, USER + 2, processes, &sweep).wait_with_output();
        let output = output.expect("it ends");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!said.contains("panicked"), "{processes}: {said}");
        match output.status.code() {
            Some(0) => assert!(processes > 1),
            Some(2) => {
                assert!(processes == 1 && said.lines().count() == 1, "{processes}: {said}");
                assert!(said.contains("cannot start a thread"), "{said}");
            }
            other => panic!("{processes}: {other:?} {said}"),
        }
    }
}

#[test]
fn the_demo_and_a_figure_end_in_order_with_few_processes() {
    if let Some(why) = obstacle() {
        windfall_testkit::skip!("{why}");
    }
    let folder = Folder::new("few-demos");
    open_copy(&folder);
    let out = folder.path().join("out");
    std::fs::create_dir(&out).expect("a folder");
    std::os::unix::fs::chown(&out, Some(USER + 3), None).expect("root may");
    let out = out.display().to_string();
    for processes in 1..=4 {
        let demo = ["demo", "--out", &out];
        let output = limited(&folder, USER + 3, processes, &demo).wait_with_output();
        let output = output.expect("it ends");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{processes}: {said}");
        let is_one = said.lines().count() == 1 && said.starts_with("windfall: ");
        assert!(is_one && said.contains("Resource temporarily"), "{processes}: {said}");
    }
    // A figure in simulated time needs no thread beside the first.
    let figure = ["reproduce", "S3.fig5", "--quick", "--jobs", "4", "--out", &out];
    let output = limited(&folder, USER + 3, 1, &figure).wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
}
