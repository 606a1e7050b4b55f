//! Shells on a terminal: job control must work.

use std::fs;
use std::io::{Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{JoinHandle, sleep};
use std::time::{Duration, Instant};

use crate::live::screen::Screen;
use crate::live::{Folder, LONG, WINDFALL, require};

/// A command that goes on until it is interrupted. One long `sleep` could miss the interrupt: a
/// shell forgets one that comes just before it runs a program (dash 0.5.12).
const LASTING: &str = "while :; do sleep 0.1; done";

/// A new terminal in which a line of the shell runs; ended when dropped.
///
/// Who types waits for what the terminal shows, never for a time: a busy machine takes its own.
struct Terminal {
    script: Child,
    keys: ChildStdin,
    shown: Arc<Mutex<Vec<u8>>>,
    reader: Option<JoinHandle<()>>,
    /// The length of the text that has been waited for.
    seen: usize,
}

impl Terminal {
    fn new(line: &str) -> Self {
        // Where the tests run in the background of a shell, it lets them ignore interrupts.
        let mut script = Command::new("env")
            .args(["--default-signal=INT,QUIT", "script", "-q", "-e", "-c", line, "/dev/null"])
            .env("SHELL", "/bin/bash")
            .env("PS1", "$ ")
            .env("HOME", "/nonexistent")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("script runs");
        let keys = script.stdin.take();
        let mut out = script.stdout.take().expect("a pipe");
        let shown = Arc::new(Mutex::new(Vec::new()));
        let text = Arc::clone(&shown);
        let reader = std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(length @ 1..) = out.read(&mut bytes) {
                text.lock().expect("no panic").extend_from_slice(&bytes[..length]);
            }
        });
        Self { script, keys: keys.expect("a pipe"), shown, reader: Some(reader), seen: 0 }
    }

    /// Everything that it has shown.
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.shown.lock().expect("no panic")).into_owned()
    }

    /// Waits until the text has become so.
    fn wait(&self, what: &str, is_there: impl Fn(&str) -> bool) {
        let began = Instant::now();
        while !is_there(&self.text()) {
            assert!(began.elapsed() < LONG, "no {what}: {:?}", self.text());
            sleep(Duration::from_millis(10));
        }
    }

    /// Waits until these words are shown behind those that were waited for before.
    fn expect(&mut self, words: &str) {
        let seen = self.seen;
        let end = |text: &str| Some(seen + text.get(seen..)?.find(words)? + words.len());
        self.wait(words, |text| end(text).is_some());
        self.seen = end(&self.text()).expect("it was there");
    }

    fn enter(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).expect("the terminal takes it");
        self.keys.flush().expect("the terminal takes it");
    }

    /// Waits for the end; the exit code, and everything that was shown.
    fn end(mut self) -> (Option<i32>, String) {
        let began = Instant::now();
        while self.script.try_wait().expect("it can be waited for").is_none() {
            assert!(began.elapsed() < LONG, "it goes on: {:?}", self.text());
            sleep(Duration::from_millis(10));
        }
        // Whatever still writes to the terminal is shown as well.
        self.reader.take().expect("it reads").join().expect("no panic");
        (self.script.wait().expect("it ended").code(), self.text())
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.script.kill();
        let _ = self.script.wait();
    }
}

#[test]
fn a_shell_on_a_terminal_has_job_control() {
    require!("script", "bash");
    let mut terminal = Terminal::new(&format!("{WINDFALL} run"));
    terminal.expect("[windfall]");
    terminal.enter(&format!("sh -c 'echo up$((40+2)); {LASTING}'\n"));
    terminal.expect("up42");
    terminal.enter("\x1a");
    terminal.expect("Stopped");
    terminal.enter("jobs\n");
    terminal.expect("Stopped");
    terminal.enter("kill %1; wait %1; echo gone$((40+3))\n");
    terminal.expect("gone43");
    terminal.enter(&format!("sh -c 'echo up$((40+4)); {LASTING}'\n"));
    terminal.expect("up44");
    terminal.enter("\x03");
    terminal.expect("[windfall]");
    terminal.enter("exit 6\n");
    let (code, text) = terminal.end();
    assert!(!text.contains("no job control"), "{text}");
    assert_eq!(code, Some(6), "{text}");
}

#[test]
fn an_interrupt_ends_the_command_and_the_run_sums_up() {
    require!("script", "bash");
    let mut terminal = Terminal::new(&format!(
        "{WINDFALL} run -- sh -c 'echo begun; {LASTING}; exit 3'; echo code $?"
    ));
    terminal.expect("begun");
    terminal.enter("\x03");
    let (_, text) = terminal.end();
    assert!(text.contains("code 130"), "{text}");
    assert!(text.contains("late by more than 1 ms: "), "{text}");
}

#[test]
fn an_interrupt_is_no_failure_of_the_far_end() {
    require!("script", "bash");
    for _ in 0..4 {
        let far = format!("--far 'trap \"exit 7\" INT; echo far; {LASTING}' --far '{LASTING}'");
        let mut terminal = Terminal::new(&format!(
            "{WINDFALL} run {far} -- sh -c 'echo begun; {LASTING}'; echo code $?"
        ));
        terminal.expect("begun");
        terminal.enter("\x03");
        let (_, text) = terminal.end();
        assert!(text.contains("code 130") && !text.contains("failed at far"), "{text}");
    }
    // Also before the command has begun.
    let far = "--wait-port 9 --far 'echo waiting; exec sleep 100'";
    let mut terminal = Terminal::new(&format!("{WINDFALL} run {far} -- true; echo code $?"));
    terminal.expect("far: waiting");
    terminal.enter("\x03");
    let (_, text) = terminal.end();
    assert!(text.contains("code 130") && !text.contains("failed at far"), "{text}");
}

#[test]
fn flows_are_shown_while_a_run_goes_on() {
    require!("script", "ping");
    let ping = "ping -q -i 0.1 -s 500 10.77.0.2";
    let flow = "--flow 'probes: to 10.77.0.2/32, weight 2, power-factor 1.5'";
    let options = "--rate 1Mbps --arq persistent --uplink-burst 1/2";
    let mut terminal =
        Terminal::new(&format!("stty rows 24 cols 120; {WINDFALL} run {options} {flow} -- {ping}"));
    let line = |line: &str| line.contains("probes near-far/near") && line.contains("Mbps, effort");
    // Half of the frames are lost, which is more than the power factor makes up for.
    let is_limited = |text: &str| line(text) && text.contains("effort region");
    terminal.wait("line of the flow", |text| text.split('\x1b').any(is_limited));
    terminal.enter("\x03");
    let (_, text) = terminal.end();
    assert!(text.contains("flow probes on near-far/near"), "{text}");
    // Without a terminal there is the account at the end and nothing else.
    let mut command = crate::live::windfall("run --rate 1Mbps --flow probes: --");
    let ping = "ping -q -c 15 -i 0.1 -s 500 10.77.0.2";
    let output = command.args(["sh", "-c", ping]).output().expect("it runs");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("flow probes on near-far/near") && !text.contains('\x1b'), "{text}");
}

#[test]
fn the_status_line_leaves_nothing_between_the_programs_lines() {
    require!("script", "stty");
    const ROWS: usize = 10;
    let folder = Folder::new("status");
    let [one, two] = ["one", "two"].map(|name| folder.path().join(name));
    let until =
        |path: &std::path::Path| format!("until test -e {}; do sleep 0.05; done", path.display());
    // Lines before and after the first status line, one of them in two parts, more than fit.
    let program = format!(
        "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo before \\$i; done; printf 'half '; {}; \
         echo whole; for i in 1 2 3 4 5 6 7 8 9; do echo after \\$i; done; {}; echo last",
        until(&one),
        until(&two)
    );
    let mut terminal = Terminal::new(&format!(
        "stty rows {ROWS} cols 60; {WINDFALL} run --summary /dev/null -- sh -c \"{program}\"; \
         echo back"
    ));
    terminal.expect("half ");
    terminal.expect("Mbps");
    fs::write(one, "").expect("a file");
    terminal.expect("after 9");
    terminal.expect("Mbps");
    fs::write(two, "").expect("a file");
    let (_, text) = terminal.end();
    let mut screen = Screen::new(ROWS);
    screen.show(&text);
    let mut expected: Vec<_> = (1..=12).map(|i| format!("before {i}")).collect();
    expected.push("half whole".into());
    expected.extend((1..=9).map(|i| format!("after {i}")));
    expected.extend(["last".into(), "back".into()]);
    let mut lines = screen.lines();
    // A run on a busy machine says so at its end.
    lines.retain(|line| !line.starts_with("windfall: disturbed"));
    assert_eq!(lines, expected, "{text:?}");
    // It was there meanwhile, and in the last row only.
    assert!(screen.bottoms.iter().any(|line| line.contains("Mbps")), "{:?}", screen.bottoms);
    assert!(screen.bottoms.iter().all(|line| line.chars().count() < 60), "{:?}", screen.bottoms);
}

/// The sequence that gives the footer the last of 24 rows.
const REGION: &str = "\x1b[1;23r";

#[test]
fn a_run_in_the_background_leaves_the_terminal_alone() {
    require!("script", "bash");
    let mut terminal = Terminal::new("bash --norc -i");
    terminal.expect("bash-");
    // In the background several of its intervals pass.
    terminal.enter(&format!(
        "stty rows 24 cols 90; {WINDFALL} run --summary /dev/null -- sh -c 'echo be''gun; \
         trap \"sleep 2; echo e''nded; exit\" CONT; while :; do sleep 0.05; done'\n"
    ));
    terminal.expect("begun");
    terminal.expect(REGION);
    terminal.expect("Mbps");
    terminal.enter("\x1a");
    terminal.expect("Stopped");
    let before = terminal.seen;
    terminal.enter("bg\n");
    terminal.expect("ended");
    let text = terminal.text();
    assert!(!text[before..].contains(REGION), "{text:?}");
    terminal.enter("wait; exit\n");
    terminal.end();
}

#[test]
fn a_command_can_be_stopped_and_continued() {
    require!("script", "bash");
    let folder = Folder::new("stopped");
    let go = folder.path().join("go");
    let mut terminal = Terminal::new("bash --norc -i");
    terminal.expect("bash-");
    terminal.enter(&format!(
        "stty rows 24 cols 90; {WINDFALL} run -- sh -c 'echo be''gun; \
         until test -e {}; do sleep 0.05; done; \
         echo con''tinued'\n",
        go.display()
    ));
    terminal.expect("begun");
    // The line at the bottom is gone while the shell has the terminal, and comes back.
    terminal.expect(REGION);
    terminal.expect("Mbps");
    terminal.enter("\x1a");
    terminal.expect("\x1b[r");
    terminal.expect("Stopped");
    terminal.enter("fg\n");
    terminal.expect(REGION);
    terminal.expect("Mbps");
    fs::write(go, "").expect("a file");
    terminal.expect("continued");
    terminal.expect("\x1b[r");
    terminal.expect("bash-");
    terminal.enter("exit 8\n");
    let (code, text) = terminal.end();
    assert_eq!(code, Some(8), "{text}");
}
