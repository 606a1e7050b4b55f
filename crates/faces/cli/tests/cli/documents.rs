//! Every command in the documents is run, and what it prints is compared with what they show.
//!
//! `WINDFALL_BLESS=1` writes what was printed into the documents instead; CONTRIBUTING.md says
//! which marks stand for what may differ. `WINDFALL_TEST_PAGE=guides/run` checks only the pages
//! with that in their path.
#![expect(
    clippy::disallowed_methods,
    reason = "real programs take real time, and the test waits for them"
)]

use std::fs::{self, File};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use windfall_testkit::skip;

mod shown;

/// No command of a document takes longer, on a machine however busy.
const PATIENCE: Duration = Duration::from_secs(200);
/// Runs of a command that prints something else: on a busy machine an answer may come later than a
/// program waits for it.
const TRIALS: u32 = 8;

/// The folder of a document's runs, within its own.
const SESSION: &str = ".session";

/// Programs that a machine may lack, and what in a command calls for them.
const OPTIONAL: [(&str, &str); 6] = [
    ("iperf3", "iperf3"),
    ("pytest", "pytest"),
    ("python3", "python3"),
    ("curl", "curl"),
    ("ping", "ping"),
    ("slirp4netns", "--net "),
];

/// A command of a document, and the lines of the document that show its output.
#[derive(Debug)]
struct Step {
    command: String,
    shown: Vec<String>,
    /// The number of the line that follows the command, from 0.
    line: usize,
    /// Marks output of one machine, which is not compared with that of others.
    varies: bool,
}

/// A document: its lines, its commands, and the files that it tells the reader to write.
#[derive(Debug, Default)]
struct Document {
    lines: Vec<String>,
    steps: Vec<Step>,
    files: Vec<(String, String)>,
}

impl Document {
    fn parse(text: &str) -> Self {
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let mut steps = Vec::<Step>::new();
        let mut files = Vec::new();
        let mut fence: Option<Vec<&str>> = None;
        for (number, line) in text.lines().enumerate() {
            let Some(words) = &fence else {
                fence = line.strip_prefix("```").map(|info| info.split_whitespace().collect());
                if let Some(["toml", name]) = fence.as_deref() {
                    // What follows ``` is not shown to a reader.
                    let above = lines[..number].iter().rev().skip_while(|line| line.is_empty());
                    let paragraph: Vec<_> = above.take_while(|line| !line.is_empty()).collect();
                    let is_named = paragraph.iter().any(|line| line.contains(&format!("`{name}`")));
                    assert!(is_named, "line {}: the text above does not name {name}", number + 1);
                    files.push(((*name).to_owned(), String::new()));
                }
                continue;
            };
            match words[..] {
                _ if line == "```" => fence = None,
                ["toml", _] => files.last_mut().expect("begun").1.extend([line, "\n"]),
                ["console", ..] => match line.strip_prefix("$ ") {
                    Some(command) => steps.push(Step {
                        command: command.to_owned(),
                        shown: Vec::new(),
                        line: number + 1,
                        varies: words.contains(&"varies"),
                    }),
                    None => steps.last_mut().expect("a command").shown.push(line.to_owned()),
                },
                _ => {}
            }
        }
        Self { lines, steps, files }
    }
}

/// Runs a line of the shell in `folder`: its exit code, or `None` if it took too long, and what
/// it printed on both outputs.
fn run(line: &str, folder: &Path) -> (Option<i32>, Vec<String>) {
    let program = Path::new(env!("CARGO_BIN_EXE_windfall"));
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}", program.parent().expect("a folder").display());
    let out = folder.with_extension("out");
    let file = File::create(&out).expect("it can be written");
    let mut child = Command::new("sh")
        .args(["-c", line])
        .current_dir(folder)
        .env("PATH", path)
        .env("LC_ALL", "C")
        .env("XDG_RUNTIME_DIR", folder.join(SESSION))
        .stdin(Stdio::null())
        .stderr(file.try_clone().expect("one more descriptor"))
        .stdout(file)
        .process_group(0)
        .spawn()
        .expect("there is a shell");
    let code = ended(&mut child);
    if code.is_none() {
        let group = format!("-{}", child.id());
        let _ = Command::new("kill").args(["-KILL", "--", &group]).status();
    }
    let _ = child.wait();
    let printed = fs::read(&out).expect("it was written");
    let printed = String::from_utf8_lossy(&printed).lines().map(str::to_owned).collect();
    (code, printed)
}

/// The exit code of a program, or `None` if it takes too long.
fn ended(child: &mut Child) -> Option<i32> {
    let began = Instant::now();
    while began.elapsed() < PATIENCE {
        if let Some(status) = child.try_wait().expect("it can be waited for") {
            return Some(status.code().unwrap_or(-1));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    None
}

/// A new folder, removed with everything in it when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("windfall-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).expect("a folder for temporary files");
        let session = path.join(SESSION);
        fs::DirBuilder::new().mode(0o700).create(session).expect("a folder for runs");
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Runs that a document has left, where it was not run to its end.
        if fs::read_dir(self.0.join(SESSION).join("windfall")).is_ok_and(|it| it.count() > 0) {
            let _ = run("windfall down --all", &self.0);
        }
        let _ = fs::remove_dir_all(&self.0);
        let _ = fs::remove_file(self.0.with_extension("out"));
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

/// The results of the commands of one document.
#[derive(Debug, Default)]
struct Report {
    /// Commands that were run.
    commands: usize,
    /// Differences from the document.
    faults: Vec<String>,
    /// Why the rest of the document was not tried.
    skipped: Option<String>,
}

/// Returns the requirement of a command that this machine lacks.
fn lacks(command: &str, stations: bool, folder: &Path) -> Option<&'static str> {
    let live = ["windfall run", "windfall up", "windfall exec", "windfall demo"];
    if !stations && live.iter().any(|it| command.contains(it)) && !command.contains("--generate") {
        return Some("network namespaces");
    }
    let mut needed = OPTIONAL.into_iter().filter(|(_, mark)| command.contains(mark));
    needed.find(|(it, _)| run(&format!("command -v {it}"), folder).0 != Some(0)).map(|it| it.0)
}

/// Tells whether an exit code is fine: a ping over a bad link may end with 1, wrong usage is 2 and
/// a failure of ours with 125.
fn is_fine(code: Option<i32>) -> bool {
    matches!(code, Some(0 | 1))
}

/// Runs the commands of a document, in order, in a folder of their own.
fn check(name: &str, stations: bool, bless: bool) -> Report {
    let path = root().join(name);
    let text = fs::read_to_string(&path).expect("the document is there");
    let mut document = Document::parse(&text);
    let mut report = Report::default();
    let folder = Folder::new(&name.replace('/', "-"));
    for shared in ["examples", "scenarios", "traces"] {
        let target = fs::canonicalize(root().join(shared)).expect("it is there");
        std::os::unix::fs::symlink(target, folder.0.join(shared)).expect("it can be linked");
    }
    for (file, text) in &document.files {
        fs::write(folder.0.join(file), text).expect("it can be written");
    }
    let mut changes = Vec::new();
    for step in &document.steps {
        let Step { command, shown, line, varies } = step;
        if let Some(what) = lacks(command, stations, &folder.0) {
            report.skipped = Some(format!("{name} from `{command}` on needs {what}"));
            break;
        }
        let is_same =
            |printed: &[String]| *varies || shown.is_empty() || shown::same(shown, printed);
        let mut trials = (0..if bless { 1 } else { TRIALS }).map(|_| {
            let (code, printed) = run(command, &folder.0);
            (code, shown::undisturbed(printed))
        });
        let first = trials.next().expect("one");
        let is_good = |(code, printed): &(_, Vec<_>)| is_fine(*code) && is_same(printed);
        let good = if is_good(&first) { None } else { trials.find(is_good) };
        let (code, printed) = good.unwrap_or(first);
        report.commands += 1;
        if !is_fine(code) {
            let text = printed.join("\n");
            report.faults.push(format!("{name}:{line}: `{command}` ended with {code:?}:\n{text}"));
            continue;
        }
        if is_same(&printed) {
            continue;
        }
        match shown::refreshed(shown, &printed).filter(|_| bless) {
            Some(lines) => changes.push((*line..line + shown.len(), lines)),
            None => report.faults.push(format!(
                "{name}:{line}: `{command}` shows\n{}\nand prints\n{}\n",
                shown.join("\n"),
                printed.join("\n")
            )),
        }
    }
    for (place, lines) in changes.into_iter().rev() {
        document.lines.splice(place, lines);
    }
    if bless {
        fs::write(&path, document.lines.join("\n") + "\n").expect("it can be written");
    }
    report
}

/// Returns the paths of the pages in a folder and in the folders below it.
fn pages(folder: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root().join(folder)).expect("there are documents") {
        let entry = entry.expect("it can be listed");
        let path = format!("{folder}/{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            found.extend(pages(&path));
        } else if path.ends_with(".md") {
            found.push(path);
        }
    }
    found
}

/// Every document of the project that shows commands.
fn documents() -> Vec<String> {
    let mut all = pages("docs");
    all.extend(["README.md".to_owned(), "examples/README.md".to_owned()]);
    let shows_commands = |name: &String| {
        let text = fs::read_to_string(root().join(name)).expect("it can be read");
        !Document::parse(&text).steps.is_empty()
    };
    all.into_iter().filter(shows_commands).collect()
}

#[test]
fn the_commands_of_the_documents_print_what_is_shown() {
    let stations = run("windfall run -q -- true", &Folder::new("probe").0).0 == Some(0);
    let bless = std::env::var_os("WINDFALL_BLESS").is_some();
    let only = std::env::var("WINDFALL_TEST_PAGE").unwrap_or_default();
    let mut documents = documents();
    assert!(documents.len() >= 8, "{documents:?}");
    documents.retain(|path| path.contains(&only));
    let reports: Vec<Report> = std::thread::scope(|scope| {
        let check = |name| scope.spawn(move || check(name, stations, bless));
        let running: Vec<_> = documents.iter().map(|name| check(name)).collect();
        running.into_iter().map(|it| it.join().expect("it came to its end")).collect()
    });
    let faults: Vec<_> = reports.iter().flat_map(|it| it.faults.clone()).collect();
    assert!(faults.is_empty(), "{}\n(WINDFALL_BLESS=1 takes what was printed)", faults.join("\n"));
    let skipped: Vec<_> = reports.iter().filter_map(|it| it.skipped.clone()).collect();
    if !skipped.is_empty() {
        skip!("{}", skipped.join("; "));
    }
    let commands: usize = reports.iter().map(|it| it.commands).sum();
    assert!(commands >= if only.is_empty() { 25 } else { 1 }, "{commands}");
}

#[test]
fn the_workflow_with_a_link_has_a_command_that_is_right() {
    let workflow = fs::read_to_string(root().join("examples/workflows/links.yml")).expect("it is");
    let lines = workflow.lines().map(str::trim).skip_while(|it| !it.starts_with("windfall run "));
    let mut command = String::new();
    for line in lines {
        command.push_str(line.trim_end_matches('\\'));
        if !line.ends_with('\\') {
            break;
        }
    }
    assert!(command.contains(" -- "), "{workflow}");
    // What it would run is no program of this machine: its link is enough.
    let command = command.replace(" -- ", " --generate -- ");
    let (code, printed) = run(&command, &Folder::new("workflow").0);
    assert_eq!(code, Some(0), "{command}: {printed:?}");
}
