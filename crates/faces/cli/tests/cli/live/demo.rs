//! The demonstration ends well every time, and says what happened where a transfer cannot end.

use std::process::{Child, Command, Output, Stdio};

use crate::live::{Folder, WINDFALL, require, windfall};

/// Asks for as many demonstrations of the whole file, while neighbours keep every processor busy.
const MANY: &str = "WINDFALL_TEST_DEMOS";
/// The number of them otherwise, of a short file.
const FEW: u32 = 5;

/// A process that keeps a processor busy; killed when dropped.
struct Neighbour(Child);

impl Neighbour {
    fn new() -> Self {
        let child = Command::new("sh").args(["-c", "while :; do :; done"]).spawn();
        Self(child.expect("a shell"))
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A demonstration with its page in `folder`; of a file of 20 kB if `is_short`.
fn demo(folder: &Folder, options: &str, is_short: bool) -> Output {
    let mut command = windfall(&format!("demo {options}"));
    command.arg("--out").arg(folder.path().join("out")).stderr(Stdio::piped());
    if is_short {
        let file = folder.path().join("short");
        std::fs::write(&file, [7; 20_000]).expect("a file");
        command.arg("--file").arg(file);
    }
    command.output().expect("it runs")
}

//= S3.6
//= S3.8
#[test]
fn demonstrations_end_well_one_after_another() {
    require!("curl", "python3");
    let folder = Folder::new("demos");
    let many = std::env::var(MANY).ok().map(|text| text.parse::<u32>().expect("a number"));
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let busy = if many.is_some() { 2 * processors } else { 0 };
    let _neighbours: Vec<Neighbour> = (0..busy).map(|_| Neighbour::new()).collect();
    for number in 0..many.unwrap_or(FEW) {
        let output = demo(&folder, "", many.is_none());
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "demonstration {number}: {text}{error}");
        assert!(text.contains("what arrives is what was sent: byte for byte the same"), "{text}");
        assert_eq!(error, "", "demonstration {number}");
    }
}

#[test]
fn a_transfer_that_does_not_end_is_a_result() {
    require!("curl", "python3");
    let folder = Folder::new("endless");
    // The transfer without errors finishes within the limit, sooner or later on a busy machine.
    let limits = ["0.7", "3", "30"].into_iter();
    let mut demos = limits.map(|limit| {
        let output = demo(&folder, &format!("--ber 100% --limit {limit}s"), true);
        (limit, String::from_utf8_lossy(&output.stdout).into_owned(), output)
    });
    let finished = |(_, text, _): &(_, String, _)| text.contains("the same in the 1 that finished");
    let (limit, text, output) = demos.find(finished).expect("it finishes in half a minute");
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert_eq!(text.matches("did not finish: 0 of 20 kB arrived").count(), 2, "{text}");
    let row = |name: &str| text.lines().find(|line| line.starts_with(name)).map(str::to_owned);
    let row = row("bit errors, local").unwrap_or_else(|| panic!("{text}"));
    assert!(row.contains(&format!("> {limit}")) && row.trim_end().ends_with("0 %"), "{row}");
    let page = std::fs::read_to_string(folder.path().join("out/index.html")).expect("a page");
    assert!(page.contains("did not finish"), "{page}");
}

#[test]
fn a_picture_crosses_a_bad_link_in_four_ways_side_by_side() {
    require!("curl", "python3");
    let folder = Folder::new("demo-pictures");
    let out = folder.path().join("out");
    let output = windfall("demo --ber 1e-6 --out").arg(&out).output().expect("it runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{text}{error}");
    let likeness = |title: &str| -> f64 {
        let row = text.lines().find(|line| line.starts_with(title)).expect("a row");
        assert!(!row.contains("none"), "{text}");
        // The picture's own likeness, and the range of all seeds after it.
        let words: Vec<_> = row.split_whitespace().collect();
        let unit = words.iter().position(|it| *it == "dB").expect("a picture that can be shown");
        assert_eq!(words[unit + 2], "to", "{row}");
        words[unit - 1].parse().expect("a number")
    };
    // What is exact is as like as its quality lets it be; the same bits break each time, so that
    // what is accepted damaged loses some of that, and what is thrown away most.
    let [exact, approximate, discarded] =
        ["Exact", "Approximate", "Damaged packets are thrown away"].map(likeness);
    assert!((33.5..34.5).contains(&exact), "{text}");
    assert!(approximate < exact && discarded < approximate - 2.0, "{text}");
    assert!(text.contains("Exact: no byte is wrong") && text.contains("3 seeds"), "{text}");
    let again = text.lines().find(|line| line.starts_with("windfall run ")).expect("a command");
    let programs = std::path::Path::new(WINDFALL).parent().expect("a folder");
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap_or_default());
    let again = Command::new("sh").args(["-c", again]).env("PATH", path).current_dir(&out).output();
    assert!(std::fs::read(out.join("got.jpg")).is_ok_and(|it| it.len() > 1000), "{again:?}");
    let page = std::fs::read_to_string(out.join("pictures.html")).expect("a page");
    assert_eq!(page.matches("<figure>").count(), 4);
    for name in ["precise", "approximate", "discarded"] {
        let name = format!("picture-{name}.jpg");
        assert!(page.contains(&name), "{page}");
        assert!(std::fs::read(out.join(name)).expect("a picture").starts_with(&[0xff, 0xd8]));
    }
}
