//! Runs that end with whoever has started them, and runs that go on by themselves.

use std::io::{PipeReader, PipeWriter, Read as _};
use std::os::fd::AsRawFd as _;
use std::process::{Output, Stdio};

use crate::live::{Folder, pair, require, skip_to, windfall};

/// A folder with a scenario, and a folder for sockets.
fn folder(name: &str) -> Folder {
    use std::os::unix::fs::DirBuilderExt as _;
    let folder = Folder::new(name);
    std::fs::DirBuilder::new().mode(0o700).create(folder.path().join("run")).expect("a folder");
    folder.write("link.toml", pair("delay = \"1ms\""));
    folder
}

/// Runs `windfall up` of the scenario with these words behind it.
fn up(folder: &Folder, words: &str) -> Output {
    let mut command = windfall("up link.toml");
    command.args(words.split_whitespace()).current_dir(folder.path());
    command.env("XDG_RUNTIME_DIR", folder.path().join("run")).output().expect("it runs")
}

/// Lets the programs that are started have a descriptor.
fn inherit(descriptor: &impl std::os::fd::AsFd) {
    rustix::io::fcntl_setfd(descriptor, rustix::io::FdFlags::empty()).expect("it is open");
}

#[test]
fn a_run_ends_with_its_lifeline_and_takes_nothing_else_for_one() {
    require!();
    let folder = folder("lifeline");
    let pipe = || -> (PipeReader, PipeWriter) { std::io::pipe().expect("a pipe") };
    let refused = |descriptor: i32, said: &str| {
        let output = up(&folder, &format!("--lifeline {descriptor}"));
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{errors}");
        let expected = format!("windfall: --lifeline {descriptor}: {said}");
        assert!(errors.starts_with(&expected), "{errors}");
    };
    let (reader, writer) = pipe();
    inherit(&writer);
    refused(writer.as_raw_fd(), "it is open for writing, and a run ends when no process can write");
    inherit(&reader);
    refused(reader.as_raw_fd(), "the run has the writing end too, as descriptor ");
    drop((reader, writer));
    refused(0, "it is no pipe: give the reading end of one");
    // A number that the run itself would give to something later.
    refused(9, "no such descriptor is open: give the reading end of a pipe");
    let (reader, writer) = pipe();
    inherit(&reader);
    let mut command = windfall("up link.toml --lifeline");
    command.arg(reader.as_raw_fd().to_string()).current_dir(folder.path());
    command.env("XDG_RUNTIME_DIR", folder.path().join("run"));
    let mut run = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().expect("it runs");
    let mut errors = skip_to(run.stderr.take(), " is up");
    assert!(run.try_wait().expect("a child").is_none(), "it goes on");
    drop(writer);
    assert_eq!(run.wait().expect("it ends").code(), Some(0));
    errors.read_to_string(&mut String::new()).expect("text");
}

#[test]
fn why_a_detached_run_does_not_come_up_is_said_wherever_it_prints() {
    require!();
    let folder = folder("detached-why");
    for output in ["/dev/full", "/dev/null", "log"] {
        let said = |words: &str, code: i32, expected: &str| {
            let told = up(&folder, &format!("-d --output {output} {words}"));
            let errors = String::from_utf8_lossy(&told.stderr).into_owned();
            assert_eq!(told.status.code(), Some(code), "{output} {words}: {errors}");
            assert!(errors.starts_with("windfall: ") && errors.contains(expected), "{errors}");
            assert_eq!(errors.lines().count(), 1, "{errors}");
        };
        said("--sysctl net.ipv4.no_such=1", 125, "cannot set net.ipv4.no_such");
        said("--fault a:80 --fault x", 2, "fault");
    }
    // A disk that is full at the start: what the run prints would be lost.
    let full = up(&folder, "-d --output /dev/full");
    let errors = String::from_utf8_lossy(&full.stderr).into_owned();
    assert_eq!(full.status.code(), Some(2), "{errors}");
    let expected = "cannot write what the run prints to /dev/full: No space left on device";
    assert!(errors.contains(expected), "{errors}");
    let mut list = windfall("ls");
    let list = list.env("XDG_RUNTIME_DIR", folder.path().join("run")).output().expect("it runs");
    assert!(!String::from_utf8_lossy(&list.stdout).contains("link.toml"), "{list:?}");
}

#[test]
fn a_run_in_which_windfall_fails_ends_with_125_by_up_as_by_run() {
    require!();
    let folder = folder("up-failed");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("an address").port();
    let output = up(&folder, &format!("--publish {port}:a:80"));
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(125), "{errors}");
    assert!(errors.contains("Address already in use"), "{errors}");
}

#[test]
fn a_run_that_does_not_answer_keeps_no_other_from_its_end() {
    require!();
    let folder = folder("down-several");
    let sockets = folder.path().join("run");
    let start = |name: &str| {
        let mut command = windfall(&format!("up link.toml --name {name}"));
        command.current_dir(folder.path()).env("XDG_RUNTIME_DIR", &sockets);
        let mut run =
            command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().expect("it runs");
        let errors = skip_to(run.stderr.take(), " is up");
        (run, errors)
    };
    let ((mut stuck, _first), (mut other, _second)) = (start("stuck"), start("other"));
    let stop = |signal: rustix::process::Signal| {
        let process = rustix::process::Pid::from_child(&stuck);
        rustix::process::kill_process(process, signal).expect("a signal");
    };
    stop(rustix::process::Signal::STOP);
    let down = |names: &str| {
        let mut down = windfall(&format!("down {names}"));
        let output = down.env("XDG_RUNTIME_DIR", &sockets).output().expect("it runs");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, errors) = down("stuck other");
    stop(rustix::process::Signal::CONT);
    // Ended before anything is claimed, so that no failure leaves a run.
    let ends = [down("stuck"), down("other")];
    let codes = [&mut stuck, &mut other].map(|run| run.wait().map(|status| status.code()).ok());
    assert!(code == Some(2) && errors.contains("\"stuck\" does not answer"), "{code:?}: {errors}");
    assert_eq!(errors.lines().count(), 1, "{errors}");
    assert_eq!(ends[0], (Some(0), String::new()));
    assert_eq!(ends[1].0, Some(2), "it has ended before: {ends:?}");
    assert_eq!(codes, [Some(Some(0)), Some(Some(0))]);
}

#[test]
fn one_link_needs_no_file_and_exec_takes_its_name_first() {
    require!();
    let folder = folder("no-file");
    let run = |line: &str| {
        let mut command = windfall(line);
        command.current_dir(folder.path()).env("XDG_RUNTIME_DIR", folder.path().join("run"));
        let output = command.output().expect("it runs");
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    assert_eq!(run("up -q -d --rate 2Mbps --output log").0, Some(0));
    let (code, settings) = run("status link");
    assert!(settings.contains("near-far/near (uplink): arq=none rate=2Mbps"), "{settings}");
    let station = run("exec link far -- printenv WINDFALL_STATION");
    let of_other = run("exec other far -- true").0;
    assert_eq!(run("down link").0, Some(0));
    assert_eq!((code, station, of_other), (Some(0), (Some(0), "far\n".to_owned()), Some(2)));
}
