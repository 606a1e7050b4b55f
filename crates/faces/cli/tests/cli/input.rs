//! Files without an end, and files that grow when they are unpacked.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::support::{Folder, WINDFALL, pair};

/// Runs the program with 400 MB of address space, which holds it and what it may read, and with an
/// endless standard input; returns its exit code and its errors.
fn in_little_memory(variable: &str, args: &[&str]) -> (Option<i32>, String) {
    let script = r#"ulimit -v 400000; exec "$@" </dev/zero"#;
    let mut command = Command::new("sh");
    command.args(["-c", script, "sh", WINDFALL]).args(args);
    let output = command.env("WINDFALL_MEMORY", variable).output().expect("a shell");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// Writes a file of 600 MB that takes 0.6.
fn bomb(path: &Path) {
    let mut encoder = GzEncoder::new(File::create(path).expect("a file"), Compression::best());
    // A gzip file may have many parts, so that one is compressed and the others are copies.
    encoder.write_all(&[b'#'; 10_000_000]).expect("room");
    drop(encoder.finish().expect("room"));
    let part = std::fs::read(path).expect("a file");
    std::fs::write(path, part.repeat(60)).expect("room");
}

#[test]
fn endless_files_and_bombs_are_refused_in_bounded_memory() {
    let folder = Folder::new("bombs");
    bomb(&folder.path().join("bomb.gz"));
    let bomb = folder.file("bomb.gz");
    let scenario = |name: &str, key: &str, path: &str| {
        folder.write(name, pair(&format!("{key} = \"{path}\"")))
    };
    let rates = scenario("rates.toml", "rate-trace", "/dev/zero");
    let errors = scenario("errors.toml", "error-trace", "/dev/zero");
    let packed = scenario("packed.toml", "error-trace", &bomb);
    let cases: [&[&str]; 12] = [
        &["sim", "/dev/zero"],
        &["sim", &rates],
        &["sim", &errors],
        &["sim", &packed],
        &["trace", "show", "/dev/zero"],
        &["trace", "show", "-"],
        &["trace", "fit", &bomb],
        &["trace", "convert", "/dev/zero"],
        &["trace", "record", "--received", "/dev/zero", "--payload-seed", "1"],
        &["image", "send", "127.0.0.1", "--file", "/dev/zero"],
        &["image", "receive", "--compare", "/dev/zero"],
        &["track", "send", "127.0.0.1", "--gpx", "/dev/zero"],
    ];
    for case in cases {
        let (code, said) = in_little_memory("128MB", case);
        assert_eq!(code, Some(2), "{case:?}: {said}");
        let names = said.contains("limit of 128 MB") && said.contains("WINDFALL_MEMORY=1024MB");
        assert!(names, "{case:?}: {said}");
    }
    let (code, said) = in_little_memory("64MB", &["trace", "show", "/dev/zero"]);
    assert!(code == Some(2) && said.contains("limit of 64 MB"), "{said}");
    let (code, said) = in_little_memory("much", &["trace", "show", "/dev/zero"]);
    assert!(code == Some(2) && said.contains("WINDFALL_MEMORY: "), "{said}");
    let key = ["image", "send", "127.0.0.1", "--key", "/dev/zero"];
    let (code, said) = in_little_memory("128MB", &key);
    assert!(code == Some(2) && said.contains("longer than 4096 bytes"), "{said}");
}

#[test]
fn a_pipe_in_place_of_a_file_that_is_read_more_than_once_is_refused() {
    let folder = Folder::new("pipes");
    let pipe = folder.file("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.expect("mkfifo is there").success());
    for option in ["--rate-trace", "--error-trace"] {
        let (code, said) = in_little_memory("128MB", &["run", option, &pipe, "--", "true"]);
        let is_said = said.contains("it is read more than once: give a plain file, not a pipe");
        assert!(code == Some(2) && is_said, "{said}");
    }
}
