//! The machines that users have, made here: whatever they allow, runs work or say what keeps them.
//!
//! Each world is a chain of programs that ends as the program itself, in namespaces of its own or
//! behind a filter of system calls; nothing of the machine changes. Only root can make them.

mod filter;

use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::live::users::{STRANGER, open_copy};
use crate::live::{Folder, is_installed, outside, require};

/// The programs by which worlds are made.
const TOOLS: [&str; 4] = ["unshare", "setpriv", "chroot", "mknod"];

/// A machine as users may have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum World {
    /// Everybody may open the TUN device, as udev has it.
    OpenTun,
    /// Only root may open it.
    ClosedTun,
    /// There is none, as in most containers.
    NoTun,
    /// No namespaces of users can be made.
    NoUserNamespaces,
    /// The kernel's parameters cannot be changed, as in containers.
    FixedParameters,
    /// The root directory is no mount point.
    Chroot,
    /// Processes are not shown.
    NoProc,
    /// Only root may enter the working directory.
    ClosedDirectory,
    /// There are no device files.
    NoDevices,
    /// The system calls are those that Docker allows by default.
    Filtered,
}

use World::{
    Chroot, ClosedDirectory, ClosedTun, Filtered, FixedParameters, NoDevices, NoProc, NoTun,
    NoUserNamespaces, OpenTun,
};

impl World {
    /// The line of the shell that makes the world and goes on with what follows; `$0` is its
    /// folder.
    fn line(self) -> &'static str {
        match self {
            OpenTun => {
                "mount -t tmpfs none /dev/net && mknod -m 666 /dev/net/tun c 10 200 && exec \"$@\""
            }
            ClosedTun => {
                "mount -t tmpfs none /dev/net && mknod -m 600 /dev/net/tun c 10 200 && exec \"$@\""
            }
            NoTun => "mount -t tmpfs none /dev/net && exec \"$@\"",
            NoUserNamespaces => "echo 0 >/proc/sys/user/max_user_namespaces && exec \"$@\"",
            FixedParameters => {
                "mount --bind /proc/sys /proc/sys && mount -o remount,bind,ro /proc/sys && \
                 exec \"$@\""
            }
            Chroot => {
                "for it in bin sbin lib lib64 usr etc dev proc run tmp; do \
                 test -e /$it && mkdir -p $0/$it && mount --rbind /$it $0/$it; done; \
                 exec chroot $0 \"$@\""
            }
            NoProc => "mount -t tmpfs none /proc && exec \"$@\"",
            ClosedDirectory => "chmod 700 $0 && cd $0 && exec \"$@\"",
            NoDevices => "mount -t tmpfs none /dev && exec \"$@\"",
            Filtered => "exec \"$@\"",
        }
    }

    /// The namespaces that the world has of its own.
    fn namespaces(self) -> &'static [&'static str] {
        match self {
            NoUserNamespaces => &["--user", "--keep-caps"],
            Filtered => &[],
            _ => &["--mount", "--propagation", "private"],
        }
    }

    /// Returns the program in this world, to be run as the user of this number.
    pub(crate) fn program(self, folder: &Folder, user: u32) -> Command {
        let program = open_copy(folder);
        let place = folder.path().join("world");
        std::fs::create_dir_all(&place).expect("a folder");
        // Behind the filter `unshare` may not do anything, not even nothing.
        let mut command = Command::new(if self == Filtered { "env" } else { "unshare" });
        command.args(self.namespaces());
        if self == NoUserNamespaces {
            command.args([&format!("--map-user={user}"), &format!("--map-group={user}")]);
        }
        command.args(["sh", "-c", self.line()]).arg(&place).arg("setpriv");
        let rights = ["--ambient-caps=-all", "--inh-caps=-all"];
        if user != 0 && self != NoUserNamespaces {
            command.args([&format!("--reuid={user}"), &format!("--regid={user}")]);
            command.arg("--clear-groups").args(rights);
        } else if self == NoUserNamespaces {
            command.args(rights).arg("--bounding-set=-all");
        } else if self == Filtered {
            // As root of a container has them.
            command.arg("--bounding-set=-sys_admin,-net_admin");
        } else {
            command.arg("--nnp");
        }
        command.arg(program).current_dir("/").stdin(Stdio::null());
        command
    }

    /// Runs the program in this world, as the user of this number.
    fn run(self, folder: &Folder, user: u32, arguments: &[&str]) -> Output {
        let mut command = self.program(folder, user);
        command.args(arguments);
        if self == Filtered { filter::output(command) } else { command.output() }.expect("it runs")
    }
}

/// Why worlds cannot be made here, if so.
pub(crate) fn obstacle() -> Option<String> {
    if !rustix::process::geteuid().is_root() {
        return Some("only root can make worlds".to_owned());
    }
    let missing = TOOLS.into_iter().find(|tool| !is_installed(tool));
    if let Some(tool) = missing {
        return Some(format!("{tool} is not installed"));
    }
    let folder = Folder::new("worlds");
    let output = OpenTun.run(&folder, 0, &["--version"]);
    let why = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    (!output.status.success()).then(|| format!("worlds cannot be made: {why}"))
}

/// Skips the test where worlds cannot be made.
macro_rules! require_worlds {
    () => {
        if let Some(obstacle) = crate::live::worlds::obstacle() {
            windfall_testkit::skip!("{obstacle}");
        }
    };
}
pub(crate) use require_worlds;

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The findings of `windfall doctor`, by name, and its exit status.
fn findings(output: &Output) -> (Option<i32>, Vec<Value>) {
    let report: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", errors(output)));
    (output.status.code(), report["findings"].as_array().expect("a list").clone())
}

/// Panics unless the doctor has a finding of this name that contains these words.
fn expect_finding(findings: &[Value], name: &str, health: &str, parts: &[&str]) {
    let found = findings.iter().find(|it| it["name"] == name);
    let found = found.unwrap_or_else(|| panic!("no {name}: {findings:?}"));
    assert_eq!(found["health"], health, "{found}");
    let text = found.to_string();
    assert!(parts.iter().all(|part| text.contains(part)), "{parts:?}: {text}");
}

#[test]
fn wherever_stations_can_be_built_programs_reach_the_host_and_the_doctor_knows() {
    require!("slirp4netns", "curl");
    require_worlds!();
    let folder = Folder::new("world-outside");
    let url = format!("http://10.0.2.2:{}/", outside::server());
    let line = format!("exec curl -s -m 60 {url}");
    let line = ["run", "-q", "--net", "--net-host-loopback", "--", "sh", "-c", &line];
    for world in [OpenTun, ClosedTun, NoTun] {
        for user in [0, STRANGER] {
            let output = world.run(&folder, user, &line);
            assert!(output.status.success(), "{world:?} {user}: {}", errors(&output));
            assert_eq!(output.stdout, b"hello from the host\n", "{world:?} {user}");
            let (code, findings) = findings(&world.run(&folder, user, &["doctor", "--json"]));
            assert_eq!(code, Some(0), "{world:?} {user}: {findings:?}");
            expect_finding(&findings, "namespaces", "good", &[]);
            expect_finding(&findings, "outside", "good", &["--net"]);
        }
    }
}

#[test]
fn a_filter_of_system_calls_is_named_with_the_flags_of_containers() {
    require!();
    require_worlds!();
    let folder = Folder::new("world-filter");
    for user in [0, STRANGER] {
        // Root of a container has a filter, and not the right to make namespaces without one.
        let (code, findings) = findings(&Filtered.run(&folder, user, &["doctor", "--json"]));
        assert_eq!(code, Some(1), "{user}: {findings:?}");
        // Which of them depends on whose container this is.
        let flags = ["(seccomp)", " run --security-opt seccomp=unconfined"];
        expect_finding(&findings, "namespaces", "missing", &flags);
        let output = Filtered.run(&folder, user, &["run", "-q", "--", "true"]);
        let said = errors(&output);
        assert_eq!(output.status.code(), Some(125), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
        assert!(said.contains("seccomp=unconfined") && !said.contains("run as root"), "{said}");
    }
}

#[test]
fn a_machine_without_user_namespaces_is_told_from_one_that_has_too_many() {
    require!();
    require_worlds!();
    let folder = Folder::new("world-namespaces");
    for user in [0, STRANGER] {
        let output = NoUserNamespaces.run(&folder, user, &["doctor", "--json"]);
        let (code, findings) = findings(&output);
        assert_eq!(code, Some(1), "{user}: {findings:?}");
        let parts = ["user.max_user_namespaces is 0", "sysctl user.max_user_namespaces=10000"];
        expect_finding(&findings, "namespaces", "missing", &parts);
    }
}

#[test]
fn a_working_directory_that_the_user_may_not_enter_stays_the_working_directory() {
    require!();
    require_worlds!();
    let folder = Folder::new("world-directory");
    for user in [0, STRANGER] {
        let line = ["run", "-q", "--", "sh", "-c", "readlink /proc/self/cwd"];
        let output = ClosedDirectory.run(&folder, user, &line);
        assert!(output.status.success(), "{user}: {}", errors(&output));
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(said.trim().ends_with("/world"), "{user}: {said}");
        let (code, found) = findings(&ClosedDirectory.run(&folder, user, &["doctor", "--json"]));
        assert_eq!(code, Some(0), "{user}: {found:?}");
        expect_finding(&found, "namespaces", "good", &[]);
    }
}

#[test]
fn without_device_files_the_run_and_the_doctor_name_the_one_that_is_missing() {
    require!();
    require_worlds!();
    let folder = Folder::new("world-null");
    let parts = ["/dev/null", "mknod -m 666 /dev/null c 1 3"];
    for user in [0, STRANGER] {
        let (code, found) = findings(&NoDevices.run(&folder, user, &["doctor", "--json"]));
        assert_eq!(code, Some(1), "{user}: {found:?}");
        expect_finding(&found, "null", "missing", &parts);
        let line = ["run", "-q", "--far", "true", "--", "true"];
        let output = NoDevices.run(&folder, user, &line);
        let said = errors(&output);
        assert_eq!(output.status.code(), Some(125), "{said}");
        assert!(parts.iter().all(|part| said.contains(part)), "{said}");
    }
}

#[test]
fn too_few_open_files_are_named_and_ignored_children_do_not_matter() {
    require!("slirp4netns");
    let windfall = crate::live::WINDFALL;
    let run = |line: &str| {
        Command::new("sh").args(["-c", line, windfall]).stdin(Stdio::null()).output().expect("sh")
    };
    let (_, found) = findings(&run("ulimit -n 12; exec $0 doctor --json"));
    expect_finding(&found, "open-files", "degraded", &["12 may be open", "ulimit -n 1024"]);
    let output = run("ulimit -n 12; exec $0 run -q --far true -- true");
    let said = errors(&output);
    assert_eq!(output.status.code(), Some(125), "{said}");
    assert!(said.contains("ulimit -n 1024"), "{said}");
    let output = run("ulimit -n 6; exec $0 run -q --far true -- true");
    let said = errors(&output);
    assert_eq!(
        (output.status.code(), said.contains("ulimit -n 1024")),
        (Some(125), true),
        "{said}"
    );
    let output = run("trap '' CHLD; exec $0 run -q --net -- true");
    assert!(output.status.success(), "{}", errors(&output));
}

#[test]
fn without_proc_the_run_and_the_doctor_name_the_same_remedy() {
    require!();
    require_worlds!();
    let folder = Folder::new("world-proc");
    let parts = ["/proc is not mounted", "mount -t proc proc /proc"];
    for user in [0, STRANGER] {
        let (code, findings) = findings(&NoProc.run(&folder, user, &["doctor", "--json"]));
        assert_eq!(code, Some(1), "{user}: {findings:?}");
        expect_finding(&findings, "proc", "missing", &parts);
        let output = NoProc.run(&folder, user, &["run", "-q", "--", "true"]);
        let said = errors(&output);
        assert_eq!((output.status.code(), said.lines().count()), (Some(125), 1), "{said}");
        assert!(parts.iter().all(|part| said.contains(part)), "{said}");
    }
}

#[test]
fn parameters_that_cannot_be_set_are_found_and_stations_are_built_without() {
    require!();
    require_worlds!();
    let folder = Folder::new("world-parameters");
    for user in [0, STRANGER] {
        let (code, findings) = findings(&FixedParameters.run(&folder, user, &["doctor", "--json"]));
        assert_eq!(code, Some(0), "{user}: {findings:?}");
        // What is mounted over the parameters is gone in the mounts of a run, where it may be.
        let parameters = findings.iter().find(|it| it["name"] == "parameters").expect("tried");
        if parameters["health"] != "good" {
            expect_finding(&findings, "parameters", "degraded", &["ip_forward", "fix"]);
            let fix = &findings.iter().find(|it| it["name"] == "parameters").expect("it")["fix"];
            assert_ne!(*fix, "", "{user}");
        }
    }
}

#[test]
fn a_chroot_whose_root_is_no_mount_point_has_stations_like_any_system() {
    require!("ping");
    require_worlds!();
    let folder = Folder::new("world-chroot");
    let far = "mkdir -p /tmp/windfall-chroot; exec sleep 60";
    let line = "ping -q -c 1 -W 30 far | grep -c ' 1 received'; pwd; ls / | tr '\\n' ' '";
    let output =
        Chroot.run(&folder, 0, &["run", "-q", "--far", far, "--net", "--", "sh", "-c", line]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{}", errors(&output));
    assert!(text.starts_with("1\n/\n"), "{text}");
    assert!(!text.contains("home"), "programs stay in the chroot: {text}");
    let (code, found) = findings(&Chroot.run(&folder, 0, &["doctor", "--json"]));
    assert_eq!(code, Some(0), "{found:?}");
    let (code, found) = findings(&Chroot.run(&folder, STRANGER, &["doctor", "--json"]));
    assert_eq!(code, Some(1), "{found:?}");
    expect_finding(&found, "namespaces", "missing", &["chroot", "run as root"]);
}

#[test]
fn what_was_mounted_for_a_run_in_a_chroot_is_gone_with_it() {
    require!();
    require_worlds!();
    let folder = Folder::new("world-mounts");
    let count = || {
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").expect("it is there");
        mounts.lines().filter(|line| line.contains("windfall-world-mounts")).count()
    };
    let output = Chroot.run(&folder, 0, &["run", "-q", "--", "true"]);
    assert!(output.status.success(), "{}", errors(&output));
    assert_eq!(count(), 0);
    assert!(Path::new("/dev/null").exists());
}

/// Asks for all live tests as an ordinary user in each world that has stations.
const ALL: &str = "WINDFALL_TEST_WORLDS";

#[test]
fn the_live_tests_pass_for_ordinary_users_in_each_world() {
    require!();
    require_worlds!();
    if std::env::var_os(ALL).is_none() {
        return;
    }
    let folder = Folder::new("world-all");
    let tests = std::env::current_exe().expect("it is there");
    for world in [OpenTun, ClosedTun] {
        let place = Folder::new("world-all-files");
        std::os::unix::fs::chown(place.path(), Some(STRANGER), Some(STRANGER)).expect("root may");
        let mut command = world.program(&folder, STRANGER);
        let mut chain: Vec<_> = command.get_args().map(ToOwned::to_owned).collect();
        chain.pop();
        command = Command::new("unshare");
        command.args(chain).arg(&tests).args(["live::", "--test-threads=4"]);
        command.env("TMPDIR", place.path()).env("HOME", place.path());
        let status = command.env_remove(ALL).status().expect("it runs");
        assert!(status.success(), "{world:?}");
    }
}
