//! The way into a run: its owner's, whatever names other users plant, and clean to look at.

use std::fs;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::live::several::Up;
use crate::live::users::{STRANGER, as_user, open_copy, program_of, stranger_obstacle};
use crate::live::{Folder, WINDFALL, first_line, pair, require, skip_to, text, windfall};

/// Listens under abstract names until it is killed.
fn squat(names: &[String], user: u32) -> Child {
    let program = "import socket, sys, time\n\
                   kept = []\n\
                   for name in sys.argv[1:]:\n    \
                       s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)\n    \
                       s.bind('\\0' + name); s.listen(0); kept.append(s)\n\
                   print('ready', flush=True); time.sleep(60)\n";
    let python = ["/usr/bin/python3", "/usr/local/bin/python3"];
    let python = python.into_iter().find(|path| Path::new(path).exists()).unwrap_or("python3");
    let mut command = Command::new(python);
    command.args(["-c", program]).args(names).uid(user).gid(user).current_dir("/");
    let mut child = command.stdout(Stdio::piped()).spawn().expect("python runs");
    let (line, _) = first_line(child.stdout.take());
    assert_eq!(line, "ready\n");
    child
}

#[test]
fn names_that_others_plant_are_neither_shown_nor_in_the_way() {
    require!("python3");
    let folder = Folder::new("planted");
    if let Some(obstacle) = stranger_obstacle(&folder) {
        windfall_testkit::skip!("{obstacle}");
    }
    // Users without any other run, of another test run of this machine either.
    let user = STRANGER + 2 + 2 * (std::process::id() % 5000);
    let other = user + 1;
    let mine = format!("mine-{}", std::process::id());
    let names = [&mine, &format!("{mine}/1-1"), "\u{1b}]0;planted\u{7}/1-1", "planted/1-1"];
    let names = names.map(|name| format!("windfall/{user}/{name}"));
    let mut squatter = squat(&names, other);
    let output = as_user(&folder, user, &["exec", "a", "--", "true"]);
    let line = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(line.contains("no run of yours is there"), "{line:?}");
    let up = Up::of(&folder, "mine", Some(user), &pair(""));
    assert_eq!(String::from_utf8_lossy(&up.exec("a", "id -u").stdout), format!("{user}\n"));
    let output = as_user(&folder, user, &["exec", "--run", "planted", "a", "--", "true"]);
    let line = String::from_utf8_lossy(&output.stderr).into_owned();
    let expected = format!("no run is called \"planted\"; there are {}\n", up.name);
    assert!(line.contains(&expected), "{line:?}");
    up.end();
    squatter.kill().expect("it lives");
    squatter.wait().expect("it ends");
}

/// Brings a run up whose session has its files in `session`.
fn up_in(session: &Path, scenario: &Path, name: &str) -> Child {
    let mut command = windfall("up --name");
    command.arg(name).arg(scenario).env("XDG_RUNTIME_DIR", session);
    let mut run = command.stderr(Stdio::piped()).spawn().expect("it runs");
    let _ = skip_to(run.stderr.take(), " is up");
    run
}

#[test]
fn a_run_is_entered_by_a_socket_in_the_users_own_directory() {
    require!();
    let folder = Folder::new("session");
    let session = folder.path().join("run");
    let scenario = folder.path().join("scenario.toml");
    fs::DirBuilder::new().mode(0o700).create(&session).expect("a folder");
    fs::write(&scenario, pair("")).expect("a file");
    let code = |arguments: &[&str]| {
        let mut command = windfall("");
        command.args(arguments).env("XDG_RUNTIME_DIR", &session).stderr(Stdio::null());
        command.status().expect("it runs").code()
    };
    // Of this test run alone: abstract names are shared with others of this machine.
    let name = format!("door-{}", std::process::id());
    let name = name.as_str();
    let enter = ["exec", "--run", name, "a", "--", "sh", "-c", "exit 4"];
    let mut run = up_in(&session, &scenario, name);
    let door = session.join("windfall").join(name);
    assert!(door.exists());
    let mode = fs::metadata(session.join("windfall")).expect("it is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    assert_eq!(code(&enter), Some(4));
    let again = ["up", "--name", name, &scenario.display().to_string()];
    assert_ne!(code(&again), Some(0), "the name is taken");
    assert_eq!(code(&enter), Some(4), "by the first");
    run.kill().expect("it lives");
    run.wait().expect("it ends");
    assert_eq!(code(&enter), Some(2));
    assert!(!door.exists(), "what a killed run left is removed by whoever looks next");
    // Neither is there where the path is too long for a socket.
    let long = session.join("x".repeat(90));
    fs::DirBuilder::new().mode(0o700).create(&long).expect("a folder");
    let mut run = up_in(&long, &scenario, name);
    assert!(!long.join("windfall").join(name).exists());
    assert_eq!(code(&enter), Some(4));
    let process = rustix::process::Pid::from_child(&run);
    rustix::process::kill_process(process, rustix::process::Signal::TERM).expect("it lives");
    assert_eq!(run.wait().expect("it ends").code(), Some(0));
    // Where others may write there is no door, and the run can be entered all the same.
    fs::set_permissions(&session, fs::Permissions::from_mode(0o777)).expect("permissions");
    fs::remove_dir(session.join("windfall")).expect("it is empty");
    let mut run = up_in(&session, &scenario, name);
    assert!(!session.join("windfall").exists());
    assert_eq!(code(&enter), Some(4));
    let process = rustix::process::Pid::from_child(&run);
    rustix::process::kill_process(process, rustix::process::Signal::TERM).expect("it lives");
    assert_eq!(run.wait().expect("it ends").code(), Some(0));
}

#[test]
fn a_station_that_cannot_be_entered_from_inside_a_run_is_refused_in_words() {
    require!();
    let [outer, inner] = ["outer", "inner"].map(|it| format!("{it}-{}", std::process::id()));
    let enter = |run: &str| format!("{WINDFALL} exec near --run {run} -- true");
    let inside = format!("{}; echo $?; {} 2>&1; echo $?", enter(&inner), enter(&outer));
    let mut command = windfall("run -q --name");
    command
        .args([&outer, "--", WINDFALL, "run", "-q", "--name", &inner, "--", "sh", "-c", &inside]);
    let output = command.output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.starts_with("0\n") && said.ends_with("2\n"), "{said}");
    assert!(said.contains("from inside a run: Linux lets no process out"), "{said}");
}

#[test]
fn programs_in_an_ordinary_users_run_control_it_and_hear_why_they_cannot_leave_their_station() {
    require!("ip");
    let folder = Folder::new("inside");
    if let Some(obstacle) = stranger_obstacle(&folder) {
        windfall_testkit::skip!("{obstacle}");
    }
    let program = open_copy(&folder).display().to_string();
    let line = "cd /; w() { PROGRAM \"$@\"; }; w set delay=7ms && w status | grep -o delay=7ms\n\
                w exec far -- true 2>&1 || echo \"ended $?\"\n\
                XDG_RUNTIME_DIR=/nowhere w status 2>&1 || echo \"ended $?\"";
    let line = line.replace("PROGRAM", &program);
    let run = |variable: &str| {
        let mut command = program_of(&folder, STRANGER + 1);
        command.args(["run", "-q", "--name", "within", "--", "sh", "-c", &line]);
        command.env_remove("XDG_RUNTIME_DIR");
        // No folder of the user's own: the socket has an abstract name, also in the stations.
        command.envs((!variable.is_empty()).then_some(("XDG_RUNTIME_DIR", variable)));
        text(&command.output().expect("it runs"))
    };
    let refused = "windfall: station far of \"within\" cannot be entered from inside a run: Linux \
                   lets only processes with CAP_SYS_ADMIN change their network namespace, and an \
                   ordinary user's programs in a run have none; do it from a shell outside, or \
                   start the program by --far\nended 2\n";
    // `set` says what it changed and when, which differs from one run to the next.
    let after_set = |printed: String| {
        let (said, rest) = printed.split_once('\n').unwrap_or_else(|| panic!("{printed}"));
        assert!(said.starts_with("within, at "), "{printed}");
        assert!(said.ends_with(" s: delay 7ms"), "{printed}");
        rest.to_owned()
    };
    let expected = format!("delay=7ms\ndelay=7ms\n{refused}");
    let named = after_set(run(""));
    let rest = named.strip_prefix(&expected).unwrap_or_else(|| panic!("{named}"));
    assert!(rest.contains("no run of yours is there: the run around this program is"), "{rest}");
    assert!(rest.ends_with("ended 2\n"), "{rest}");
    let hidden = after_set(run("/nowhere"));
    let rest = hidden.strip_prefix(&expected).unwrap_or_else(|| panic!("{hidden}"));
    assert!(rest.starts_with("within: ") && !rest.contains("ended"), "{rest}");
}

#[test]
fn root_enters_the_stations_of_its_run_from_inside_whatever_the_socket_is() {
    require!("ip");
    if !rustix::process::geteuid().is_root() {
        windfall_testkit::skip!("only root enters a station from another one");
    }
    let name = format!("inner-{}", std::process::id());
    // Abstract names are shared with other tests, which a run without a name does not disturb.
    let named = (vec!["--name", &name], vec!["--run", &name]);
    for (session, (own, chosen)) in [("", named), ("/nowhere", (vec![], vec![]))] {
        let mut command = windfall("run -q");
        command.args(own).args(["--", WINDFALL, "exec", "far"]).args(chosen);
        command.args(["--", "sh", "-c"]);
        command.arg("echo $WINDFALL_STATION; ip -o -4 address show wf0 | grep -o 10.77.0.2");
        command.envs((!session.is_empty()).then_some(("XDG_RUNTIME_DIR", session)));
        assert_eq!(text(&command.output().expect("it runs")), "far\n10.77.0.2\n");
    }
}

#[test]
fn what_others_wrote_does_not_steer_the_terminal() {
    let name = "\u{1b}]0;title\u{7}\u{9b}31m";
    for arguments in [vec!["run", "--scenario", name], vec!["exec", name], vec!["sim", name]] {
        let output = windfall("").args(&arguments).output().expect("it runs");
        assert!(!output.status.success());
        let line = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!line.contains(['\u{1b}', '\u{7}', '\u{9b}']), "{line:?}");
    }
}
