//! Compiles and runs the C programs against the static library, also under the sanitizers of
//! addresses and of undefined behaviour.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Returns the folder with the libraries of this build.
fn libraries() -> PathBuf {
    let test = std::env::current_exe().expect("a test knows where it is");
    test.parent().expect("a folder").to_owned()
}

/// Returns the newest static library of this crate.
fn library() -> Option<PathBuf> {
    newest("a")
}

/// Returns the newest library of this crate with this extension.
fn newest(extension: &str) -> Option<PathBuf> {
    let folders = [libraries(), libraries().join("..")];
    let files = folders.iter().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten();
    let archives = files.flatten().map(|entry| entry.path()).filter(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.starts_with("libsap") && path.extension().is_some_and(|found| found == extension)
    });
    archives.max_by_key(|path| path.metadata().and_then(|data| data.modified()).ok())
}

/// Returns the block of the guide to SAP sockets in this language.
fn guide(language: &str) -> String {
    let text = include_str!("../../../../docs/guides/sap-sockets.md");
    let start = format!("```{language}\n");
    let block = text.split(&start).nth(1).and_then(|rest| rest.split("```").next());
    block.expect("the guide shows SAP").to_owned()
}

/// The flags by which a program ends when it reads or writes beyond its memory, or when what it
/// does has no meaning in C.
const SANITIZERS: [&str; 3] = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g"];

/// Compiles and runs a program, plain and under the sanitizers; each output is to be `expected`.
fn runs(name: &str, source: &Path, flags: &[&str], expected: &str) {
    let sanitized = [&SANITIZERS[..], flags].concat();
    for (name, flags) in [(name, flags), (&format!("{name}-sanitized"), &sanitized[..])] {
        if let Some(text) = build_and_run(name, source, flags) {
            assert_eq!(text, expected, "{name}");
        }
    }
}

/// Returns the path of one of the programs here.
fn program(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name)
}

/// Compiles and runs a program; returns its output, or `None` if that is impossible here.
fn build_and_run(name: &str, source: &Path, flags: &[&str]) -> Option<String> {
    let program = build(name, source, flags)?;
    let output = Command::new(&program).output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{:?} {said}", output.status);
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Compiles a program; `None` if that is impossible here.
fn build(name: &str, source: &Path, flags: &[&str]) -> Option<PathBuf> {
    let Some(library) = library() else {
        windfall_testkit::skip::announce("this build made no static library");
        return None;
    };
    if Command::new("cc").arg("--version").output().is_err() {
        windfall_testkit::skip::announce("there is no C compiler (cc)");
        return None;
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = libraries().join(format!("sap-c-{name}"));
    let built = Command::new("cc")
        .args(["-std=c99", "-D_POSIX_C_SOURCE=200809L", "-Wall", "-Wextra", "-Werror", "-I"])
        .args([&folder.join("include"), source, &library])
        .args(flags)
        .args(["-lpthread", "-ldl", "-lm", "-o"])
        .arg(&program)
        .output()
        .expect("the compiler runs");
    let errors = String::from_utf8_lossy(&built.stderr);
    if !built.status.success() && (errors.contains("asan") || errors.contains("ubsan")) {
        windfall_testkit::skip::announce("this compiler has no sanitizers");
        return None;
    }
    assert!(built.status.success(), "{errors}");
    Some(program)
}

//= S0.16
#[test]
fn the_c_example_runs() {
    let precise = "precise: exact\n";
    let approximate = "approximate: about\n";
    for (name, flags) in [("plain", &[][..]), ("plain-sanitized", &SANITIZERS)] {
        if let Some(text) = build_and_run(name, &program("example.c"), flags) {
            assert!(text.contains(precise) && text.contains(approximate), "{text}");
        }
    }
}

#[test]
fn threads_share_a_socket_and_its_errors() {
    runs("threads", &program("threads.c"), &[], "texts stay, lengths are checked\n");
}

//= S0.19
#[test]
fn messages_sent_just_before_a_close_arrive_over_a_lossy_path() {
    let lossy = program("lossy.c");
    let flags = [lossy.to_str().expect("a path in UTF-8")];
    runs("close", &program("close.c"), &flags, "all messages arrived\n");
}

#[test]
fn a_listener_serves_several_clients() {
    runs("clients", &program("clients.c"), &[], "each client has its own socket\n");
}

#[test]
fn messages_tell_which_of_their_bytes_are_damaged() {
    runs("ranges", &program("ranges.c"), &[], "damage is where it was put\n");
}

#[test]
fn no_more_is_said_to_be_stored_than_there_was_room_for() {
    runs("short", &program("short.c"), &[], "what was cut off is known\n");
}

//= S0.27
//= S1.55
#[test]
fn a_file_in_parts_is_restored() {
    runs("protected", &program("protected.c"), &[], "restored\n");
}

//= S0.3
//= S1.8
#[test]
fn udp_lite_drops_what_is_damaged_where_it_is_covered() {
    runs("udplite", &program("udplite.c"), &[], "the checksum covers what it should\n");
}

#[test]
fn calls_without_effect_are_refused() {
    runs("misuse", &program("misuse.c"), &[], "refused at once\n");
}

#[test]
fn a_socket_connects_or_listens_and_not_both() {
    runs("role", &program("role.c"), &[], "one or the other\n");
}

//= S1.8
#[test]
fn a_payload_type_of_more_than_seven_bits_is_refused() {
    runs("payload-type", &program("payload_type.c"), &[], "seven bits\n");
}

#[test]
fn a_socket_without_memory_is_null() {
    // The sanitizers take memory of their own, which this program does not have.
    if let Some(text) = build_and_run("memory", &program("memory.c"), &[]) {
        assert_eq!(text, "no memory, no socket\n");
    }
}

#[test]
fn the_readme_runs_as_printed() {
    let source = libraries().join("sap-c-readme.c");
    std::fs::write(&source, guide("c")).expect("the folder can be written to");
    runs("readme", &source, &[], "exact, in order, acknowledged\n");
}

/// Sends a picture by one program and receives it by another.
#[test]
fn the_example_of_a_picture_runs() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../examples/picture.c");
    for (name, flags) in [("picture", &[][..]), ("picture-sanitized", &SANITIZERS)] {
        let Some(program) = build(name, &source, flags) else { return };
        let folder = windfall_testkit::folder::Folder::new(name);
        let [sent, received] = ["sent.ppm", "received.ppm"].map(|name| folder.path().join(name));
        let pixels: Vec<u8> = (0..120 * 90 * 3).map(|at| (at % 251) as u8).collect();
        let picture = [&b"P6 120 90 255\n"[..], &pixels].concat();
        std::fs::write(&sent, &picture).expect("the folder can be written to");
        let mut receiver = Command::new(&program);
        receiver.arg("receive").arg(&received);
        let mut receiver = receiver.stdout(Stdio::piped()).spawn().expect("it runs");
        let mut lines = BufReader::new(receiver.stdout.take().expect("a pipe")).lines();
        let line = lines.next().expect("a line").expect("text");
        let port = line.strip_prefix("port ").expect("it says its port");
        let mut sender = Command::new(&program);
        sender.arg("send").arg(&sent).args(["127.0.0.1", port]);
        assert!(sender.status().expect("it runs").success(), "{name}");
        assert!(receiver.wait().expect("it runs").success(), "{name}");
        assert_eq!(
            lines.next().expect("a line").expect("text"),
            "32400 of 32400 bytes of pixels arrived"
        );
        assert!(std::fs::read(&received).expect("it was written") == picture, "{name}");
    }
}

/// Returns the names of the functions in the header.
fn functions() -> Vec<&'static str> {
    let header = include_str!("../include/sap.h");
    let declared = header.lines().filter(|line| !line.starts_with([' ', '/', '#', 't']));
    let name = |line: &'static str| line.split_once('(')?.0.rsplit([' ', '*']).next();
    declared.filter_map(name).collect()
}

#[test]
fn the_manual_has_every_function_of_the_header() {
    let header = include_str!("../include/sap.h");
    let manual = include_str!("../man/sap.3");
    assert!(functions().len() > 20 && functions().contains(&"sap_close"), "{:?}", functions());
    let declared = header.split("/* All functions").nth(1).expect("the declarations");
    let bare = |text: &'static str| text.rsplit_once("*/\n").map_or(text, |it| it.1).trim();
    for statement in declared.split(';').map(bare).filter(|text| text.contains('(')) {
        assert!(manual.contains(statement), "sap.3 lacks {statement}");
    }
}

/// Installs into a folder of its own, and builds a program with the command of the README.
#[test]
fn what_is_installed_is_found_by_pkg_config() {
    let (Some(archive), Some(shared)) = (newest("a"), newest("so")) else {
        windfall_testkit::skip::announce("this build made no libraries");
        return;
    };
    if Command::new("pkg-config").arg("--version").output().is_err() {
        windfall_testkit::skip::announce("there is no pkg-config");
        return;
    }
    let folder = libraries().join("sap-install");
    std::fs::create_dir_all(&folder).expect("the folder can be made");
    std::fs::copy(archive, folder.join("libsap.a")).expect("it can be copied");
    std::fs::copy(shared, folder.join("libsap.so")).expect("it can be copied");
    std::fs::write(folder.join("example.c"), guide("c")).expect("the folder can be written to");
    let prefix = folder.join("prefix");
    let install = Path::new(env!("CARGO_MANIFEST_DIR")).join("install");
    let installed = Command::new(install).env("LIBRARIES", &folder).env("PREFIX", &prefix).output();
    let installed = installed.expect("it runs");
    assert!(installed.status.success(), "{}", String::from_utf8_lossy(&installed.stderr));
    let command = "cc example.c $(pkg-config --cflags --libs sap) && exec ./a.out";
    let page = include_str!("../../../../docs/guides/sap-sockets.md");
    assert!(page.contains(&command[..46]), "the guide's own");
    let output = Command::new("sh")
        .args(["-c", command])
        .current_dir(&folder)
        .env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig"))
        .env("LD_LIBRARY_PATH", prefix.join("lib"))
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.stdout, b"exact, in order, acknowledged\n", "{said}");
    // The program is linked to the library by its soname.
    let shown = Command::new("readelf").arg("-d").arg(folder.join("a.out")).output();
    if let Ok(shown) = shown {
        let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
        assert!(shown.contains("[libsap.so.2]"), "{shown}");
    }
    let statically = "cc -static example.c $(pkg-config --static --cflags --libs sap) && ./a.out";
    let output = Command::new("sh")
        .args(["-c", statically])
        .current_dir(&folder)
        .env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig"))
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);
    if said.contains("cannot find -lc") {
        windfall_testkit::skip::announce("there is no static libc");
    } else {
        assert_eq!(output.stdout, b"exact, in order, acknowledged\n", "{said}");
    }
    let pages = prefix.join("share/man/man3");
    for name in functions() {
        assert!(pages.join(format!("{name}.3")).exists(), "{name} has no page");
    }
    std::fs::remove_dir_all(folder).expect("it is ours");
}

#[test]
fn the_readme_shows_the_rust_that_is_tested() {
    let tested = include_str!("../../../host/socket/src/lib.rs");
    for line in guide("rust").lines().filter(|line| !line.is_empty()) {
        assert!(tested.contains(&format!("//! {line}\n")), "{line}");
    }
}

//= S0.23
#[test]
fn a_program_over_udp_is_ported_by_substitution() {
    let [udp, sap] = ["udp.c", "udp_ported.c"].map(program);
    runs("udp", &udp, &[], "55\n");
    runs("udp-ported", &sap, &[], "55\n");
    let Ok(output) = Command::new("diff")
        .args(["-U1", "--label=udp.c", "--label=udp_ported.c"])
        .args([&udp, &sap])
        .output()
    else {
        windfall_testkit::skip::announce("there is no diff");
        return;
    };
    let diff = String::from_utf8_lossy(&output.stdout).into_owned();
    let page = include_str!("../../../../docs/guides/port-to-sap.md");
    assert!(page.contains(&format!("```diff\n{diff}```")), "the page shows another diff:\n{diff}");
}
