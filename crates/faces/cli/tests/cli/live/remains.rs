//! Whatever happens to a run, nothing of it is left.

use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::live::{Folder, first_line, require, windfall};

/// A variable by which the processes of one test are known, and their network namespaces.
struct Mark(String);

impl Mark {
    fn new(name: &str) -> Self {
        Self(format!("WINDFALL_TEST={name}-{}", std::process::id()))
    }

    /// A run with a few processes at both ends, which prints a line when all of them are there.
    fn spawn(&self) -> Child {
        let (name, value) = self.0.split_once('=').expect("a variable");
        windfall("run -q --far")
            .args(["sleep 60 & sleep 60", "--", "sh", "-c"])
            .arg("sleep 60 & (setsid sleep 60 &) ; echo ready; sleep 60")
            .env(name, value)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program is there")
    }

    /// The processes of the test that are alive.
    fn processes(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir("/proc").expect("/proc").flatten().map(|entry| entry.path());
        let marked = |path: &PathBuf| {
            let environment = fs::read(path.join("environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|variable| variable == self.0.as_bytes())
        };
        entries.filter(marked).collect()
    }

    /// Waits until no process is left.
    fn assert_gone(&self, when: &str) {
        let began = Instant::now();
        while !self.processes().is_empty() {
            assert!(began.elapsed() < Duration::from_secs(20), "{when}: {:?}", self.processes());
            sleep(Duration::from_millis(5));
        }
    }
}

/// A network namespace, held open so that its number is not given to another one.
struct Namespace {
    name: String,
    _held: File,
}

/// The network namespaces of the processes of a test, without that of the test itself.
fn namespaces_of(mark: &Mark) -> Vec<Namespace> {
    let own = fs::read_link("/proc/self/ns/net").expect("/proc");
    let of = |process: PathBuf| {
        let path = process.join("ns/net");
        // Opened first: the number that is read then stays with this namespace.
        let held = File::open(&path).ok()?;
        let name = fs::read_link(format!("/proc/self/fd/{}", held.as_raw_fd())).ok()?;
        let name = (name != own).then(|| name.to_string_lossy().into_owned())?;
        Some(Namespace { name, _held: held })
    };
    let mut found: Vec<_> = mark.processes().into_iter().filter_map(of).collect();
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found.dedup_by(|a, b| a.name == b.name);
    found
}

/// The network namespaces in which another process is, or that another process holds open.
fn namespaces_of_others() -> Vec<String> {
    // This very process has three names there.
    let own = ["self".to_owned(), "thread-self".to_owned(), std::process::id().to_string()];
    let mut found = Vec::new();
    for process in fs::read_dir("/proc").expect("/proc").flatten() {
        if own.iter().any(|name| process.file_name() == **name) {
            continue;
        }
        let process = process.path();
        let links = fs::read_dir(process.join("fd")).into_iter().flatten().flatten();
        let paths = links.map(|link| link.path()).chain([process.join("ns/net")]);
        let names = paths.filter_map(|path| fs::read_link(path).ok());
        found.extend(names.map(|name| name.to_string_lossy().into_owned()));
    }
    found
}

/// Waits until no other process is in one of these namespaces or holds it.
///
/// A process loses its memory, and so the mark by which it is known, before its namespaces.
fn assert_empty(inside: &[Namespace], when: &str) {
    let began = Instant::now();
    loop {
        let others = namespaces_of_others();
        let left: Vec<_> = inside
            .iter()
            .map(|namespace| &namespace.name)
            .filter(|name| others.contains(name))
            .collect();
        if left.is_empty() {
            return;
        }
        assert!(began.elapsed() < Duration::from_secs(20), "{when}: {left:?}");
        sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_killed_run_leaves_no_process_and_no_namespace() {
    require!();
    let mark = Mark::new("killed");
    let mut run = mark.spawn();
    let _ = first_line(run.stdout.take());
    // The hub, near and far; devices live and die with them.
    let inside = namespaces_of(&mark);
    assert!(inside.len() >= 2, "{} namespaces", inside.len());
    assert!(mark.processes().len() >= 6, "{:?}", mark.processes());
    run.kill().expect("it lives");
    run.wait().expect("it ends");
    mark.assert_gone("after kill -9");
    assert_empty(&inside, "after kill -9");
}

#[test]
fn a_run_may_be_killed_at_any_moment() {
    require!();
    let mark = Mark::new("moments");
    for step in 0..24 {
        let mut run = mark.spawn();
        sleep(Duration::from_micros(step * step * 150));
        run.kill().expect("it lives");
        run.wait().expect("it ends");
        mark.assert_gone(&format!("killed at step {step}"));
    }
}

#[test]
fn a_run_that_ends_takes_everything_with_it() {
    require!();
    let mark = Mark::new("ended");
    let (name, value) = mark.0.split_once('=').expect("a variable");
    let output = windfall("run -q --far")
        .args(["sleep 60", "--", "sh", "-c", "(setsid sleep 60 &); exit 3"])
        .env(name, value)
        .stdout(Stdio::null())
        .output()
        .expect("it runs");
    assert_eq!(output.status.code(), Some(3));
    assert!(mark.processes().is_empty(), "{:?}", mark.processes());
    assert!(!PathBuf::from("/run/netns/near").exists());
}

/// Commands that start runs of their own, and moments at which each is ended, in milliseconds.
const NESTED: [(&str, &[(Signal, u64)]); 2] = [
    ("demo --out", &[(Signal::KILL, 30), (Signal::INT, 450), (Signal::KILL, 800)]),
    ("reproduce S3.43 --quick --out", &[(Signal::TERM, 300), (Signal::KILL, 700)]),
];

#[test]
fn what_starts_runs_of_its_own_leaves_none_of_them() {
    require!("curl", "python3");
    let folder = Folder::new("nested");
    let temporary = folder.path().join("tmp");
    fs::create_dir_all(&temporary).expect("a folder");
    let mark = Mark::new("nested");
    let (name, value) = mark.0.split_once('=').expect("a variable");
    let rounds = match std::env::var_os("WINDFALL_TEST_KILLS") {
        Some(rounds) => rounds.to_string_lossy().parse().expect("a number of rounds"),
        None => 1,
    };
    for round in 0..rounds {
        for (command, moments) in NESTED {
            for (signal, at) in moments {
                let mut child = windfall(command)
                    .arg(folder.path().join("out"))
                    .env(name, value)
                    .env("TMPDIR", &temporary)
                    .stdout(Stdio::null())
                    .stderr(Stdio::null())
                    .spawn()
                    .expect("the program is there");
                sleep(Duration::from_millis(at + 37 * round));
                let inside = namespaces_of(&mark);
                // It may have come to its end before.
                let _ = kill_process(Pid::from_child(&child), *signal);
                child.wait().expect("it ends");
                let when = format!("{command} ended by {signal:?} after {at} ms");
                mark.assert_gone(&when);
                assert_empty(&inside, &when);
                let files: Vec<_> = fs::read_dir(&temporary).expect("it is there").collect();
                assert!(files.is_empty(), "{when}: {files:?}");
            }
        }
    }
}

#[test]
fn a_socket_that_does_not_listen_yet_is_not_taken_for_that_of_a_killed_run() {
    let folder = Folder::new("not-yet");
    let runs = folder.path().join("run/windfall");
    std::fs::create_dir_all(&runs).expect("a folder");
    for made in [runs.parent().expect("a folder"), &runs] {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        std::fs::set_permissions(made, mode).expect("its own");
    }
    let path = runs.join("beginning");
    let family = rustix::net::AddressFamily::UNIX;
    let socket = rustix::net::socket(family, rustix::net::SocketType::STREAM, None);
    let address = rustix::net::SocketAddrUnix::new(&path).expect("a short path");
    rustix::net::bind(socket.expect("a socket"), &address).expect("it is free");
    let list = || {
        let mut command = windfall("ls");
        command.env("XDG_RUNTIME_DIR", runs.parent().expect("a folder"));
        assert!(command.output().expect("it runs").status.success());
        path.exists()
    };
    // A run that begins holds the folder until it listens.
    let held = std::fs::File::open(&runs).expect("it is there");
    rustix::fs::flock(&held, rustix::fs::FlockOperation::LockExclusive).expect("it is free");
    assert!(list());
    drop(held);
    assert!(!list());
}
