//! Every command in the documents is run: what a reader would type does what it should.
#![expect(
    clippy::disallowed_methods,
    reason = "real programs take real time, and the test waits for them"
)]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use windfall_testkit::skip;

/// No command of a document takes longer.
const PATIENCE: Duration = Duration::from_secs(30);

/// The lines of fenced blocks of `language`, block by block.
fn blocks(text: &str, language: &str) -> Vec<Vec<String>> {
    let fence = format!("```{language}");
    let mut blocks: Vec<Vec<String>> = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        match inside {
            false if line == fence => blocks.push(Vec::new()),
            true if line != "```" => blocks.last_mut().expect("begun").push(line.to_owned()),
            _ => {}
        }
        inside = line == fence || inside && line != "```";
    }
    blocks
}

/// Runs a line of the shell in `folder`; its exit code, or `None` if it took too long.
fn run(line: &str, folder: &Path) -> Option<i32> {
    let program = Path::new(env!("CARGO_BIN_EXE_windfall"));
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}", program.parent().expect("a folder").display());
    let mut child = Command::new("sh")
        .args(["-c", line])
        .current_dir(folder)
        .env("PATH", path)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("there is a shell");
    let began = Instant::now();
    while began.elapsed() < PATIENCE {
        if let Some(status) = child.try_wait().expect("it can be waited for") {
            return Some(status.code().unwrap_or(-1));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let _ = child.kill();
    let _ = child.wait();
    None
}

/// A new folder, removed with everything in it when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("windfall-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder for temporary files");
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn check(document: &str) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = std::fs::read_to_string(root.join(document)).expect("the document is there");
    let folder = Folder::new(&document.replace('/', "-"));
    for block in blocks(&text, "toml") {
        std::fs::write(folder.0.join("spray.toml"), block.join("\n")).expect("it can be written");
    }
    let commands: Vec<_> = blocks(&text, "console").into_iter().flatten().collect();
    let commands: Vec<_> = commands.iter().filter_map(|line| line.strip_prefix("$ ")).collect();
    assert!(!commands.is_empty(), "{document} shows no command");
    for line in commands {
        let missing = ["iperf3", "python3", "curl", "ping"].into_iter().find(|program| {
            line.contains(program) && run(&format!("command -v {program}"), &folder.0) != Some(0)
        });
        if let Some(program) = missing {
            skip!("{document} uses {program}, which is not installed");
        }
        let code = run(line, &folder.0);
        // A ping over a bad link may end with 1; wrong usage with 2, trouble of ours with 125.
        assert!(matches!(code, Some(0 | 1)), "{document}: `{line}` ended with {code:?}");
    }
}

fn stations_can_be_built() -> bool {
    run("windfall run -q -- true", &std::env::temp_dir()) == Some(0)
}

#[test]
fn the_commands_of_the_readme_work() {
    if !stations_can_be_built() {
        skip!("this machine does not allow stations");
    }
    check("README.md");
}

#[test]
fn the_commands_about_running_programs_work() {
    if !stations_can_be_built() {
        skip!("this machine does not allow stations");
    }
    check("docs/run.md");
}

#[test]
fn the_commands_about_our_tcp_work() {
    if !stations_can_be_built() {
        skip!("this machine does not allow stations");
    }
    check("docs/tcp.md");
}

#[test]
fn the_commands_about_simulating_work() {
    check("docs/sim.md");
}

#[test]
fn the_doctor_of_the_documents_is_the_doctor() {
    check("docs/doctor.md");
}
