//! The examples that send a picture: in Rust, C and Python, each to each, and over a bad link; and
//! a page of pictures over links that lose only what their queue does not hold.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use windfall_testkit::folder::Folder;
use windfall_testkit::{built, skip};

/// The width and the height of the picture.
const SIZE: [usize; 2] = [64, 48];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// A folder with a picture and the programs.
struct Studio(Folder);

impl Studio {
    fn new(name: &str) -> Self {
        let folder = Folder::new(name);
        let [width, height] = SIZE;
        let mut picture = format!("P6\n{width} {height}\n255\n").into_bytes();
        picture.extend((0..3 * width * height).map(|at| (at * 7 % 256) as u8));
        folder.write("picture.ppm", picture);
        Self(folder)
    }

    /// The program of each language that this machine has, and whether it takes ADDRESS:PORT.
    fn programs(&self) -> Vec<(&'static str, Vec<PathBuf>)> {
        let built = built::workspace();
        let mut programs = vec![("Rust", vec![built.join("examples/picture")])];
        programs.extend(self.compile(&built).map(|program| ("C", vec![program])));
        if built::python_module(self.0.path()) {
            let program = vec!["python3".into(), root().join("examples/picture.py")];
            programs.push(("Python", program));
        }
        programs
    }

    fn compile(&self, built: &Path) -> Option<PathBuf> {
        if Command::new("cc").arg("--version").output().is_err() {
            skip::announce("there is no C compiler (cc)");
            return None;
        }
        let program = self.0.path().join("picture-c");
        let include = root().join("crates/faces/c/include");
        let output = Command::new("cc")
            .args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-I"])
            .args([include, root().join("examples/picture.c"), built.join("libsap.a")])
            .args(["-lpthread", "-ldl", "-lm", "-o"])
            .arg(&program)
            .output()
            .expect("the compiler runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Some(program)
    }

    fn start(&self, program: &[PathBuf], arguments: &[&str]) -> Child {
        Command::new(&program[0])
            .args(&program[1..])
            .args(arguments)
            .current_dir(self.0.path())
            .env("PYTHONPATH", self.0.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program starts")
    }
}

#[test]
fn pictures_travel_between_programs_of_all_languages() {
    let studio = Studio::new("pictures");
    let programs = studio.programs();
    for (from, sender) in &programs {
        for (to, receiver) in &programs {
            let mut receiving = studio.start(receiver, &["receive", "copy.ppm"]);
            let mut lines = BufReader::new(receiving.stdout.take().expect("it is piped")).lines();
            let line = lines.next().expect("the receiver names its port").expect("text");
            let port = line.strip_prefix("port ").expect("a port");
            let address = match *from {
                "Rust" => vec![format!("127.0.0.1:{port}")],
                _ => vec!["127.0.0.1".to_owned(), port.to_owned()],
            };
            let mut words = vec!["send", "picture.ppm"];
            words.extend(address.iter().map(String::as_str));
            let sent = studio.start(sender, &words).wait().expect("it ends");
            let received = receiving.wait().expect("it ends");
            assert!(sent.success() && received.success(), "{from} to {to}");
            assert_eq!(studio.0.read("copy.ppm"), studio.0.read("picture.ppm"), "{from} to {to}");
            let said = lines.next().expect("a result").expect("text");
            assert_eq!(said, "9216 of 9216 bytes of pixels arrived", "{from} to {to}");
        }
    }
}

#[test]
fn over_a_bad_link_pixels_are_damaged_and_nothing_else() {
    let built = built::workspace();
    let studio = Studio::new("bad-link");
    let program = built.join("examples/picture").display().to_string();
    let output = Command::new(built.join("windfall"))
        .args(["run", "--rate", "10Mbps", "--ber", "3e-4", "--accept-damaged", "--seed", "1"])
        .args(["--far", &format!("exec '{program}' receive copy.ppm 4000"), "--"])
        .args([&program, "send", "picture.ppm", "10.77.0.2:4000"])
        .current_dir(studio.0.path())
        .stdin(Stdio::null())
        .output()
        .expect("windfall runs");
    let said = String::from_utf8_lossy(&output.stderr);
    if said.contains("windfall doctor") {
        skip::announce("this machine allows no stations (windfall doctor says why)");
        return;
    }
    assert!(output.status.success(), "{said}");
    let sent = studio.0.read("picture.ppm");
    let received = studio.0.read("copy.ppm");
    let header = sent.len() - 3 * SIZE[0] * SIZE[1];
    assert_eq!(received.len(), sent.len());
    assert_eq!(received[..header], sent[..header]);
    let wrong = sent.iter().zip(&received).filter(|(sent, received)| sent != received).count();
    assert!((1..sent.len()).contains(&wrong), "{wrong} bytes are damaged or missing");
}

/// The pictures of a page.
const PAGE: usize = 36;

/// Returns a JPEG in all that its structure needs, with this many entropy-coded bytes.
fn jpeg(coded: usize, seed: usize) -> Vec<u8> {
    let head = 300_u16;
    let mut bytes = vec![0xff, 0xd8, 0xff, 0xfe];
    bytes.extend(head.to_be_bytes());
    bytes.resize(4 + usize::from(head), b'a');
    bytes.extend([0xff, 0xda, 0, 4, 1, 2]);
    bytes.extend((0..coded).map(|at| ((at * at + seed) >> 3) as u8 & 0x7f));
    bytes.extend([0xff, 0xd9]);
    bytes
}

/// A full queue drops what slow start sends too fast, and no bit is wrong anywhere.
#[test]
fn pictures_are_whole_whatever_the_queue_holds() {
    let windfall = built::workspace().join("windfall");
    let folder = Folder::new("queues");
    let names: Vec<String> = (0..PAGE).map(|number| format!("{number}.jpg")).collect();
    let make = |name: &str| {
        std::fs::create_dir_all(folder.path().join(name)).expect("a folder");
    };
    make("site");
    for (number, name) in names.iter().enumerate() {
        let coded = [8_000, 20_000, 60_000, 120_000][number % 4];
        folder.write(&format!("site/{name}"), jpeg(coded, number));
    }
    let urls: Vec<String> =
        names.iter().map(|name| format!("http://10.77.0.2:8080/{name}")).collect();
    for queue in [30, 50, 100, 1000] {
        for opens in ["", "--client-opens"] {
            let line = format!(
                "cd got && exec '{}' get --approx image/jpeg --json {opens} {}",
                windfall.display(),
                urls.join(" ")
            );
            make("got");
            let output = Command::new(&windfall)
                .args(["run", "-q", "--rate", "20Mbps", "--delay", "5ms", "--seed", "1"])
                .args(["--queue", &format!("fifo,{queue}"), "--wait-port", "8080", "--far"])
                .arg(format!("exec '{}' serve -q site", windfall.display()))
                .args(["--", "sh", "-c", &line])
                .current_dir(folder.path())
                .stdin(Stdio::null())
                .output()
                .expect("windfall runs");
            let said = String::from_utf8_lossy(&output.stderr);
            if said.contains("windfall doctor") {
                skip::announce("this machine allows no stations (windfall doctor says why)");
                return;
            }
            let place = format!("a queue of {queue} {opens}");
            assert!(output.status.success(), "{place}: {said}");
            let reports = String::from_utf8_lossy(&output.stdout).into_owned();
            let is_of_sap = |line: &&str| line.contains("\"over\":\"sap\"");
            let is_repaired = |line: &&str| !line.contains("\"repaired\":0");
            assert_eq!(reports.lines().filter(is_of_sap).count(), PAGE, "{place}: {reports}");
            assert_eq!(reports.lines().filter(is_repaired).count(), 0, "{place}: {reports}");
            let is_wrong = |name: &&String| {
                folder.read(&format!("got/{name}")) != folder.read(&format!("site/{name}"))
            };
            let wrong: Vec<_> = names.iter().filter(is_wrong).collect();
            assert!(wrong.is_empty(), "{place}: {wrong:?} differ");
            std::fs::remove_dir_all(folder.path().join("got")).expect("it is there");
        }
    }
}
