//! Programs that exist, with the library preloaded, on a kernel that refuses UDP-Lite: a filter of
//! system calls plays it.
#![expect(unsafe_code, reason = "a filter of system calls is set before a program begins")]

use std::io;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use windfall_testkit::skip;

/// The user without rights.
const WITHOUT_RIGHTS: u32 = 65_534;

/// Returns the library of this build.
fn library() -> Option<PathBuf> {
    let test = std::env::current_exe().expect("a test knows where it is");
    let folder = test.parent().expect("a folder").to_owned();
    let places = [folder.join("libwindfall_udplite.so"), folder.join("../libwindfall_udplite.so")];
    let found = places.into_iter().filter_map(|path| path.canonicalize().ok());
    found.max_by_key(|path| path.metadata().and_then(|data| data.modified()).ok())
}

/// Refuses sockets of protocol 136 that are not raw, as Linux 7.1 does.
fn refuse_udp_lite() -> io::Result<()> {
    let step =
        |code: u32, k: u32, jt: u8, jf: u8| libc::sock_filter { code: code as u16, jt, jf, k };
    let load = |at: u32| step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, at, 0, 0);
    let equals = |k: u32, jf: u8| step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, k, 0, jf);
    let give = |k: u32| step(libc::BPF_RET | libc::BPF_K, k, 0, 0);
    // The number of the call, then its arguments of eight bytes each from 16 on.
    let mut steps = [
        load(0),
        equals(libc::SYS_socket as u32, 6),
        load(32),
        equals(libc::IPPROTO_UDPLITE as u32, 4),
        load(24),
        step(libc::BPF_ALU | libc::BPF_AND | libc::BPF_K, 0xf, 0, 0),
        equals(libc::SOCK_DGRAM as u32, 1),
        give(libc::SECCOMP_RET_ERRNO | libc::EPROTONOSUPPORT as u32),
        give(libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: steps.len() as u16, filter: steps.as_mut_ptr() };
    // SAFETY: the program lives through the call; both calls take numbers besides.
    let result = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
            | libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Prepares a program with the library; `None` if it was not built.
fn program(words: &[&str], carrier: &str, is_refused: bool) -> Option<Command> {
    let Some(library) = library() else {
        skip::announce("this build made no library to preload");
        return None;
    };
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).env("LD_PRELOAD", library);
    command.env("WINDFALL_UDPLITE_CARRIER", carrier);
    if is_refused {
        // SAFETY: between fork and exec it makes system calls alone.
        unsafe { command.pre_exec(refuse_udp_lite) };
    }
    Some(command)
}

fn run(words: &[&str], carrier: &str, is_refused: bool) -> Option<Output> {
    Some(program(words, carrier, is_refused)?.output().expect("it runs"))
}

fn has(name: &str) -> bool {
    let found = Command::new(name).arg("-h").stdout(Stdio::null()).stderr(Stdio::null()).status();
    if found.is_err() {
        skip::announce(&format!("{name} is not installed"));
    }
    found.is_ok()
}

/// The carriers that this machine allows on a kernel without UDP-Lite.
fn carriers() -> Vec<&'static str> {
    let raw = "import socket; socket.socket(socket.AF_INET, socket.SOCK_RAW, 136)";
    let allowed = Command::new("python3").args(["-c", raw]).stderr(Stdio::null()).status();
    if allowed.is_ok_and(|status| status.success()) {
        return vec!["auto", "raw", "udp"];
    }
    skip::announce("raw sockets need CAP_NET_RAW");
    vec!["auto", "udp"]
}

#[test]
fn the_filter_plays_a_kernel_without_udp_lite() {
    if !has("python3") {
        return;
    }
    let code = "import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM, 136)";
    let Some(output) = run(&["python3", "-c", code], "kernel", true) else { return };
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("Protocol not supported"), "{said}");
}

//= S0.3
#[test]
fn sockets_of_python_do_everything_that_programs_do() {
    if !has("python3") {
        return;
    }
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs.py");
    for carrier in carriers() {
        let Some(output) = run(&["python3", script], carrier, true) else { return };
        let said = String::from_utf8_lossy(&output.stdout);
        assert_eq!(said, "all of it\n", "{carrier}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn the_tests_of_cpython_pass() {
    if !has("python3") {
        return;
    }
    let there = Command::new("python3").args(["-c", "import test.test_socket"]).output();
    if !there.is_ok_and(|output| output.status.success()) {
        skip!("python3's own tests are not installed (libpython3-testsuite)");
    }
    for carrier in carriers() {
        let words = ["python3", "-m", "unittest", "-k", "UDPLITE", "test.test_socket"];
        let Some(output) = run(&words, carrier, true) else { return };
        let said = String::from_utf8_lossy(&output.stderr);
        let count = said.split("Ran ").nth(1).and_then(|rest| rest.split(' ').next());
        let count = count.and_then(|count| count.parse::<u32>().ok());
        assert!(output.status.success() && count > Some(3), "{carrier}: {said}");
    }
}

/// Sends from a program on one kernel to one on another, by protocol 136.
#[test]
fn a_raw_socket_speaks_with_the_kernel() {
    if !has("python3") || !carriers().contains(&"raw") {
        return;
    }
    let code = "import socket, os, sys
far = socket.socket(socket.AF_INET, socket.SOCK_DGRAM, 136)
far.settimeout(20)
far.bind(('127.0.0.1', 0))
os.environ['WINDFALL_UDPLITE_CARRIER'] = sys.argv[1]
near = socket.socket(socket.AF_INET, socket.SOCK_DGRAM, 136)
near.settimeout(20)
near.setsockopt(136, 10, 12)
near.sendto(b'from one to the other', far.getsockname())
data, sender = far.recvfrom(100)
far.setsockopt(136, 10, 12)
far.sendto(data[::-1], sender)
print(near.recv(100).decode()[::-1])";
    for [first, second] in [["raw", "kernel"], ["kernel", "raw"]] {
        let Some(output) = run(&["python3", "-c", code, second], first, false) else { return };
        let errors = String::from_utf8_lossy(&output.stderr);
        if errors.contains("Protocol not supported") {
            skip!("this kernel has no UDP-Lite");
        }
        let said = String::from_utf8_lossy(&output.stdout);
        assert_eq!(said, "from one to the other\n", "{errors}");
    }
}

#[test]
fn ffmpeg_sends_a_stream_to_ffmpeg() {
    if !has("ffmpeg") {
        return;
    }
    // It is free again when the programs begin.
    let free = std::net::UdpSocket::bind("127.0.0.1:0").and_then(|socket| socket.local_addr());
    let port = free.expect("a free port").port();
    let name = format!("windfall-udplite-{}.ts", std::process::id());
    let film = std::env::temp_dir().join(name);
    let from = format!("udplite://127.0.0.1:{port}?timeout=20000000");
    let to = format!("udplite://127.0.0.1:{port}?pkt_size=1316&udplite_coverage=20");
    let quiet = ["ffmpeg", "-nostdin", "-loglevel", "error", "-y"];
    let path = film.to_str().expect("text");
    let receive = [&quiet[..], &["-i", &from, "-c", "copy", "-t", "2", path]].concat();
    let made = "testsrc=size=160x120:rate=10";
    let send = ["-re", "-f", "lavfi", "-i", made, "-t", "60", "-c:v", "mpeg2video", "-f", "mpegts"];
    let send = [&quiet[..], &send, &[to.as_str()]].concat();
    let (Some(mut receiver), Some(mut sender)) =
        (program(&receive, "udp", true), program(&send, "udp", true))
    else {
        return;
    };
    let mut receiver = receiver.spawn().expect("it runs");
    let mut sender = sender.stderr(Stdio::null()).spawn().expect("it runs");
    let ended = receiver.wait().expect("it ends");
    sender.kill().expect("it goes on");
    sender.wait().expect("it ends");
    let bytes = std::fs::read(&film).unwrap_or_default();
    let _ = std::fs::remove_file(&film);
    // Packets of MPEG-TS have 188 bytes and begin with a G.
    assert!(ended.success() && bytes.len() > 20 * 188, "{ended}, {} bytes", bytes.len());
    assert!(bytes.chunks_exact(188).all(|packet| packet[0] == b'G'));
}

#[test]
#[expect(clippy::disallowed_methods, reason = "what a program has written is looked at again")]
fn vlc_takes_a_stream_of_ffmpeg() {
    if !has("ffmpeg") || !has("vlc") {
        return;
    }
    let free = std::net::UdpSocket::bind("127.0.0.1:0").and_then(|socket| socket.local_addr());
    let port = free.expect("a free port").port();
    // VLC refuses to run as root, so what it reads and writes is in a folder for everybody.
    let folder = std::env::temp_dir().join(format!("windfall-vlc-{}", std::process::id()));
    std::fs::create_dir(&folder).expect("a new folder");
    let everybody = std::fs::Permissions::from_mode(0o777);
    std::fs::set_permissions(&folder, everybody).expect("it is ours");
    let film = folder.join("film.ts");
    let to = format!("#standard{{access=file,mux=ts,dst={}}}", film.display());
    let from = format!("udplite://@:{port}");
    let receive = ["vlc", "-I", "dummy", "--no-audio", "--sout", &to, &from];
    let to = format!("udplite://127.0.0.1:{port}?udplite_coverage=28");
    let made = "testsrc=size=160x120:rate=10";
    let send = ["ffmpeg", "-nostdin", "-loglevel", "error", "-re", "-f", "lavfi", "-i", made];
    let send = [&send[..], &["-t", "60", "-c:v", "mpeg2video", "-f", "rtp_mpegts", &to]].concat();
    let (Some(library), Some(mut receiver), Some(mut sender)) =
        (library(), program(&receive, "udp", true), program(&send, "udp", true))
    else {
        return;
    };
    let copy = folder.join("libwindfall_udplite.so");
    std::fs::copy(library, &copy).expect("there is room");
    receiver.env("LD_PRELOAD", copy).env("HOME", &folder);
    receiver.stdout(Stdio::null()).stderr(Stdio::null());
    // SAFETY: the call takes nothing and cannot fail.
    if unsafe { libc::geteuid() } == 0 {
        receiver.uid(WITHOUT_RIGHTS).gid(WITHOUT_RIGHTS);
    }
    let mut receiver = receiver.spawn().expect("it runs");
    let mut sender = sender.stderr(Stdio::null()).spawn().expect("it runs");
    let enough = || std::fs::metadata(&film).is_ok_and(|film| film.len() > 20 * 188);
    let came = (0..300).any(|_| {
        std::thread::sleep(Duration::from_millis(100));
        enough()
    });
    for child in [&mut sender, &mut receiver] {
        let _ = child.kill();
        child.wait().expect("it ends");
    }
    let bytes = std::fs::read(&film).unwrap_or_default();
    let _ = std::fs::remove_dir_all(&folder);
    assert!(came, "{} bytes", bytes.len());
    assert!(bytes.chunks_exact(188).all(|packet| packet[0] == b'G'));
}
