//! Ordinary users, with either kind of device, and users behind sudo.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use crate::live::worlds::{World, require_worlds};
use crate::live::{Folder, pair, pings, require};

/// A user without an account.
pub(crate) const STRANGER: u32 = 54_321;

/// A copy of the program that everybody may run.
pub(crate) fn open_copy(folder: &Folder) -> PathBuf {
    let program = folder.path().join("windfall");
    if !program.exists() {
        // By a process of its own: a program that any process has open for writing does not run,
        // and those that other tests start now would inherit that of this one.
        let copied = Command::new("cp").arg(crate::live::WINDFALL).arg(&program).status();
        assert!(copied.expect("cp runs").success(), "a copy of the program");
        let open = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&program, open.clone()).expect("permissions");
        std::fs::set_permissions(folder.path(), open).expect("permissions");
    }
    program
}

/// Runs the program as a stranger who owns nothing.
pub(crate) fn as_stranger(folder: &Folder, arguments: &[&str]) -> Output {
    as_user(folder, STRANGER, arguments)
}

/// Runs the program as the user of this number.
pub(crate) fn as_user(folder: &Folder, user: u32, arguments: &[&str]) -> Output {
    program_of(folder, user).args(arguments).output().expect("it runs")
}

/// The program, to be run as the user of this number.
pub(crate) fn program_of(folder: &Folder, user: u32) -> Command {
    let mut command = Command::new(open_copy(folder));
    command.uid(user).gid(user).current_dir("/").stdin(Stdio::null());
    command
}

/// Returns the reason why this process cannot become another user who makes namespaces, if so.
pub(crate) fn stranger_obstacle(folder: &Folder) -> Option<String> {
    if !rustix::process::geteuid().is_root() {
        return Some("only root can become another user".to_owned());
    }
    let output = as_stranger(folder, &["run", "-q", "--", "true"]);
    let why = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    (!output.status.success() && why.contains("namespaces")).then_some(why)
}

/// The worlds in which an ordinary user has the one and the other kind of device.
const WORLDS: [World; 2] = [World::OpenTun, World::ClosedTun];

#[test]
fn an_ordinary_user_gets_the_same_stations() {
    require!("ping", "ip");
    require_worlds!();
    let folder = Folder::new("stranger");
    let v4 = pings(3, "-q $WINDFALL_BASE");
    let v6 = pings(3, "-q -6 fd77:696e:6400::2");
    let line = format!("id -u; id -g; ip -o link show wf0; {v4}; {v6}; exit 9");
    for world in WORLDS {
        let mut run = world.program(&folder, STRANGER);
        run.args(["run", "--json", "--delay", "2ms", "--ber", "1e-6", "--", "sh", "-c", &line]);
        let output = run.output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(9), "{world:?}: {said}");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(text.starts_with(&format!("{STRANGER}\n{STRANGER}\n")), "{world:?}: {text}");
        assert!(text.contains("NOARP"), "{world:?}: {text}");
        assert_eq!(text.contains("POINTOPOINT"), world == World::OpenTun, "{world:?}: {text}");
        assert_eq!(text.matches(" 1 received").count(), 6, "{world:?}: {text}");
        let summary: serde_json::Value = serde_json::from_slice(&output.stderr).expect("a summary");
        for link in summary["links"].as_array().expect("a list") {
            assert_eq!(link["entered"], 6, "{world:?}: {summary}");
            assert_eq!(link["balances"], true, "{world:?}: {summary}");
        }
    }
}

#[test]
fn an_ordinary_user_moves_data() {
    require!("iperf3");
    require_worlds!();
    let folder = Folder::new("mover");
    let far = "exec iperf3 -s >/dev/null 2>&1";
    let line = "iperf3 -n 20M -c $WINDFALL_BASE >/dev/null";
    for world in WORLDS {
        let mut run = world.program(&folder, STRANGER);
        run.args(["run", "--json", "--wait-port", "5201", "--far", far, "--", "sh", "-c", line]);
        let output = run.output().expect("it runs");
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{world:?}: {error}");
        let summary = error.lines().last().unwrap_or_default();
        let summary: serde_json::Value = serde_json::from_str(summary).expect("a summary");
        assert!(summary["links"][0]["delivered"].as_u64() > Some(20 << 20 >> 11), "{summary}");
        let wrong = &summary["stations"][1]["dropped_after"]["tcp-checksum"];
        assert_eq!(*wrong, serde_json::Value::Null, "{world:?}");
    }
}

#[test]
fn under_sudo_programs_run_as_the_user_who_called_it() {
    require!("ping", "id");
    if !rustix::process::geteuid().is_root() {
        windfall_testkit::skip!("only root is behind sudo");
    }
    let as_sudo = |options: &str, line: &str| {
        let mut command = crate::live::windfall(&format!("run -q {options} --"));
        let user = STRANGER.to_string();
        let group = (STRANGER + 1).to_string();
        command.env("SUDO_UID", user).env("SUDO_GID", group);
        let output = command.args(["sh", "-c", line]).output().expect("it runs");
        crate::live::text(&output)
    };
    let line = "id -u; id -g; id -G; ping -q -c 1 -W 30 $WINDFALL_BASE | grep -c ' 1 received'; \
                grep -E '^Cap(Eff|Bnd)' /proc/self/status | head -1; echo $HOME; \
                readlink /proc/self/ns/user";
    let user = STRANGER;
    let group = STRANGER + 1;
    let output = as_sudo("", line);
    assert!(output.starts_with(&format!("{user}\n{group}\n{group}\n1\n")), "{output}");
    // What an ordinary user has in stations, and nothing else: 10, 12 and 13.
    assert!(output.contains("CapEff:\t0000000000003400\n/\n"), "{output}");
    // And it has that only for what is in there: of the host's network it may change nothing.
    assert!(!output.contains(&own_user_namespace()), "{output}");
    assert!(as_sudo("--as-root", "id -u").starts_with("0\n"));
    let folder = Folder::new("sudo");
    let path = |name: &str| folder.path().join(name);
    let [log, pcap, said, summary] = ["log", "pcap", "said", "summary"].map(path);
    std::os::unix::fs::chown(folder.path(), Some(user), Some(group)).expect("root may");
    let options = format!(
        "--log {} --pcap {} --far true --far-output {} --summary {}",
        log.display(),
        pcap.display(),
        said.display(),
        summary.display()
    );
    assert_eq!(as_sudo(&options, "true"), "");
    for path in [&log, &pcap, &pcap.join("near.pcapng"), &said, &summary] {
        let found = path.metadata().expect("it is there");
        assert_eq!((found.uid(), found.gid()), (user, group), "{}", path.display());
    }
    // A program beside an engine runs as its user too.
    let forward = format!("exec {} tcp forward -q", crate::live::WINDFALL);
    let beside = |option: &str| {
        as_sudo("--as-root", &format!("{forward} {option} 8080 $WINDFALL_BASE:80 -- id -u"))
    };
    assert_eq!(beside(""), format!("{STRANGER}\n"));
    assert_eq!(beside("--as-root"), "0\n");
}

#[test]
fn what_reproduce_writes_belongs_to_the_caller() {
    if !rustix::process::geteuid().is_root() {
        windfall_testkit::skip!("only root is behind sudo");
    }
    let folder = Folder::new("figures");
    std::os::unix::fs::chown(folder.path(), Some(STRANGER), Some(STRANGER)).expect("root may");
    let out = folder.path().join("out/figures");
    let mut command = crate::live::windfall("reproduce S3.table1 --quick --out");
    command.env("SUDO_UID", STRANGER.to_string()).env("SUDO_GID", STRANGER.to_string());
    let output = command.arg(&out).output().expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for path in [&folder.path().join("out"), &out, &out.join("index.html")] {
        let owner = std::fs::metadata(path).expect("it is there").uid();
        assert_eq!(owner, STRANGER, "{}", path.display());
    }
}

#[test]
fn under_sudo_files_are_written_as_the_user_who_called() {
    if !rustix::process::geteuid().is_root() {
        windfall_testkit::skip!("only root is behind sudo");
    }
    let folder = Folder::new("sudo-replace");
    let new = folder.file("new");
    let old = folder.write("old", "before");
    let synth = |file: &str| {
        let mut command = crate::live::windfall("trace synth --frames 5 -o");
        command.arg(file).env("SUDO_UID", STRANGER.to_string());
        command.env("SUDO_GID", (STRANGER + 1).to_string()).output().expect("it runs")
    };
    // What the user may not write, sudo is no way to.
    for file in [&new, &old] {
        let output = synth(file);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains("Permission denied"), "{said}");
    }
    assert_eq!(std::fs::read_to_string(&old).expect("it is there"), "before");
    assert!(std::fs::metadata(&new).is_err());
    std::os::unix::fs::chown(folder.path(), Some(STRANGER), None).expect("root may");
    for file in [&new, &old] {
        let output = synth(file);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let found = std::fs::metadata(file).expect("it is there");
        let owner = (found.uid(), found.gid());
        assert!(found.len() > 6 && owner == (STRANGER, STRANGER + 1), "{file}: {owner:?}");
    }
}

/// A run under sudo does not reveal files that only root may read.
#[test]
fn under_sudo_files_are_read_as_the_user_who_called() {
    if !rustix::process::geteuid().is_root() {
        windfall_testkit::skip!("only root is behind sudo");
    }
    let folder = Folder::new("sudo-read");
    let secret = folder.write("secret", "5a".repeat(32));
    let closed = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(&secret, closed).expect("its owner");
    std::fs::create_dir(folder.path().join("closed")).expect("a folder");
    let closed = std::fs::Permissions::from_mode(0o700);
    std::fs::set_permissions(folder.path().join("closed"), closed).expect("its owner");
    let closed = folder.file("closed");
    for line in [
        format!("sim {secret}"),
        format!("sweep {secret} --vary delay=1ms,2ms"),
        format!("run -q --scenario {secret} -- true"),
        format!("run -q --changes {secret} -- true"),
        format!("run -q --error-trace {secret} -- true"),
        format!("trace show {secret}"),
        format!("dump {secret}"),
        format!("tcp script {secret}"),
        format!("tcp script {closed}"),
        format!("get -i {secret} http://127.0.0.1:1/"),
        format!("get --approx image/jpeg --key {secret} http://127.0.0.1:1/"),
        format!("proxy --port 0 --rules {secret}"),
        format!("serve --port 0 {closed}"),
        format!("serve --port 0 --log {closed}/log {closed}"),
        format!("video send {secret} 127.0.0.1"),
    ] {
        let mut command = crate::live::windfall(&line);
        command.env("SUDO_UID", STRANGER.to_string()).env("SUDO_GID", STRANGER.to_string());
        command.env("HOME", folder.path()).current_dir(folder.path());
        let output = command.output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr);
        if said.contains("unexpected argument") || said.contains("Usage") {
            panic!("{line}: {said}");
        }
        assert!(!output.status.success() && said.contains("Permission denied"), "{line}: {said}");
    }
    // And a site shows what the user may read.
    let site = folder.path().join("site");
    std::fs::create_dir(&site).expect("a folder");
    std::fs::write(site.join("open"), "open").expect("a file");
    std::fs::copy(&secret, site.join("closed")).expect("a file");
    let mut serve = crate::live::windfall("serve -q --on 127.0.0.1 --port 0");
    serve.arg(&site).env("SUDO_UID", STRANGER.to_string()).env("SUDO_GID", STRANGER.to_string());
    let mut serve = serve.stderr(Stdio::piped()).spawn().expect("it runs");
    let mut said = String::new();
    let mut lines = std::io::BufReader::new(serve.stderr.take().expect("piped"));
    std::io::BufRead::read_line(&mut lines, &mut said).expect("a line");
    let at = said.trim_end().rsplit("http://").next().expect("an address").to_owned();
    for (path, status) in [("open", 0), ("closed", 1)] {
        let mut get = crate::live::windfall(&format!("get -o - http://{at}{path}"));
        let output = get.output().expect("it runs");
        assert_eq!(output.status.code(), Some(status), "{path}: {output:?}");
    }
    serve.kill().expect("it is there");
    serve.wait().expect("it ends");
}

/// The user namespace of this test.
fn own_user_namespace() -> String {
    let name = std::fs::read_link("/proc/self/ns/user").expect("a namespace");
    name.display().to_string()
}

/// The program as behind sudo, called by a stranger, in a run that is up.
fn exec_as_sudo(up: &crate::live::several::Up, line: &str) -> String {
    let mut command = crate::live::windfall(&format!("exec --run {} a --", up.name));
    command.env("SUDO_UID", STRANGER.to_string()).env("SUDO_GID", STRANGER.to_string());
    crate::live::text(&command.args(["sh", "-c", line]).output().expect("it runs"))
}

#[test]
fn under_sudo_users_have_no_rights_in_a_run_of_root() {
    require!("ping", "id", "iperf3");
    if !rustix::process::geteuid().is_root() {
        windfall_testkit::skip!("only root is behind sudo");
    }
    let folder = Folder::new("rootrun");
    let up = crate::live::several::Up::of(&folder, "rootrun", None, &pair(""));
    let listens = "\"$(grep -E ':0050 0+:0000 0A' /proc/net/tcp /proc/net/tcp6)\"";
    let line = format!(
        "id -u; grep ^CapEff /proc/self/status; readlink /proc/self/ns/user; \
         {} | grep -c ' 1 received'; \
         iperf3 -s -p 80 >/dev/null 2>&1 & {}; test -n {listens} && echo listens; kill $!",
        pings(1, "-q 10.77.0.2"),
        crate::live::until(&format!("-n {listens}")),
    );
    let namespace = own_user_namespace();
    let expected = format!("{STRANGER}\nCapEff:\t0000000000000000\n{namespace}\n1\nlistens\n");
    assert_eq!(exec_as_sudo(&up, &line), expected);
    up.end();
}

#[test]
fn whoever_sudo_does_not_name_is_not_taken_for_root() {
    require!("id");
    if !rustix::process::geteuid().is_root() {
        windfall_testkit::skip!("only root is behind sudo");
    }
    let run = |options: &str, user: &str, group: Option<&str>| {
        let mut command = crate::live::windfall(&format!("run -q {options} -- id -u"));
        command.env("SUDO_UID", user).env_remove("SUDO_GID");
        command.envs(group.map(|group| ("SUDO_GID", group))).output().expect("it runs")
    };
    let faulty = [("abc", Some("7")), ("-1", Some("7")), ("4294967295", Some("7")), ("7", None)];
    for (user, group) in faulty {
        let output = run("", user, group);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), &output.stdout[..]), (Some(125), &[][..]), "{error}");
        let variable = if user == "7" { "SUDO_GID" } else { "SUDO_UID" };
        assert!(error.starts_with(&format!("windfall: {variable} is ")), "{error}");
        assert!(error.contains("--as-root"), "{error}");
        assert_eq!(crate::live::text(&run("--as-root", user, group)), "0\n");
    }
}
