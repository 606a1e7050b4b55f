//! `windfall link` over pseudo-terminals that damage what they carry, between its own ends and
//! towards another implementation of PPP.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::ioctl_fionbio;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};
use windfall_base::{Seed, Stream};

use crate::live::{Folder, LONG, require, until, windfall};

/// A pseudo-terminal: our side, and the name of the other, which stays open and raw.
struct Terminal {
    ours: File,
    name: String,
    _theirs: File,
}

impl Terminal {
    fn open() -> Self {
        // A program that inherits our side would keep the terminal from hanging up.
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let ours = openpt(flags).expect("a pseudo-terminal");
        // What no program reads any more must not hold the line up.
        ioctl_fionbio(&ours, true).expect("it does not block");
        grantpt(&ours).expect("it is ours");
        unlockpt(&ours).expect("it is ours");
        let name = ptsname(&ours, Vec::new()).expect("it has a name");
        let name = name.into_string().expect("a path");
        let theirs = File::options().read(true).write(true).open(&name).expect("it opens");
        let mut settings = tcgetattr(&theirs).expect("a terminal");
        settings.make_raw();
        tcsetattr(&theirs, OptionalActions::Now, &settings).expect("a terminal");
        Self { ours: File::from(ours), name, _theirs: theirs }
    }
}

/// A line between two pseudo-terminals that inverts a bit of some bytes; ends when dropped.
struct Line {
    names: [String; 2],
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Line {
    fn new(noise: f64) -> Self {
        let ends = [Terminal::open(), Terminal::open()];
        let names = ends.each_ref().map(|end| end.name.clone());
        let is_over = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&is_over);
        let thread = std::thread::spawn(move || {
            let mut stream = Stream::new(Seed(1), "line");
            while !over.load(Ordering::Relaxed) {
                carry(&ends, noise, &mut stream, &over);
            }
        });
        Self { names, is_over, thread: Some(thread) }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn carry(ends: &[Terminal; 2], noise: f64, stream: &mut Stream, is_over: &AtomicBool) {
    let mut fds = ends.each_ref().map(|end| PollFd::new(&end.ours, PollFlags::IN));
    let tenth = rustix::time::Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
    if poll(&mut fds, Some(&tenth)).is_err() {
        return;
    }
    let ready = fds.map(|fd| !fd.revents().is_empty());
    for (place, _) in ready.iter().enumerate().filter(|(_, ready)| **ready) {
        let mut bytes = [0; 256];
        let count = (&ends[place].ours).read(&mut bytes).unwrap_or(0);
        for byte in &mut bytes[..count] {
            if stream.unit() < noise {
                *byte ^= 1 << stream.below(8);
            }
        }
        pass(&ends[1 - place].ours, &bytes[..count], is_over);
    }
}

/// Writes all bytes, unless the line ends before.
fn pass(mut end: &File, mut bytes: &[u8], is_over: &AtomicBool) {
    let tenth = rustix::time::Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
    while !bytes.is_empty() && !is_over.load(Ordering::Relaxed) {
        match end.write(bytes) {
            Ok(count) => bytes = &bytes[count..],
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                let _ = poll(&mut [PollFd::new(end, PollFlags::OUT)], Some(&tenth));
            }
            Err(_) => return,
        }
    }
}

/// A program that ends with the test.
struct Background(Child);

impl Drop for Background {
    fn drop(&mut self) {
        // Asked first, so that it takes leave of its peer.
        let _ = rustix::process::kill_process(
            rustix::process::Pid::from_child(&self.0),
            rustix::process::Signal::TERM,
        );
        let _ = self.0.wait();
    }
}

fn far_end(line: &Line, options: &str) -> Background {
    let over = format!("--over=serial:{},115200", line.names[1]);
    let mut far = windfall("link --quiet --address 10.77.0.2 --peer 10.77.0.1");
    far.arg(over).args(options.split_whitespace()).args(["--", "sleep", "300"]);
    Background(far.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts"))
}

/// The answers to `count` echo requests over a line of this noise, of which it may lose some.
fn answers(noise: f64, options: [&str; 2], count: u32, wait: u32) -> (usize, String) {
    let line = Line::new(noise);
    let _far = far_end(&line, options[1]);
    // One after the other: several of one `ping` are given up soon after the last.
    let ping = format!("ping -n -c 1 -s 200 -W {wait} 10.77.0.2");
    let command = format!("for i in $(seq {count}); do {ping}; done; true");
    let output = windfall("link --wait 60s")
        .arg(format!("--over=serial:{},115200", line.names[0]))
        .args(options[0].split_whitespace())
        .args(["--", "sh", "-c", &command])
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    (said.lines().filter(|line| line.contains(" bytes from ")).count(), errors)
}

//= S1.11
//= S1.13
#[test]
fn two_ends_exchange_pings_over_a_noisy_line() {
    require!("ping");
    let both = "--framing link --arq persistent";
    let address = "--address 10.77.0.1 --peer 10.77.0.2";
    for (options, noise) in [
        (["", ""], 0.0),
        (["--framing rlp", "--framing rlp --called"], 5e-4),
        ([&format!("{both} {address}"), both], 5e-4),
        ([&format!("{both} --policy flex {address}"), &format!("{both} --policy flex")], 5e-4),
    ] {
        let (arrived, errors) = answers(noise, options, 10, 30);
        assert_eq!(arrived, 10, "{options:?}: {errors}");
    }
}

//= S1.33
/// The bytes at both ends, recorded and compared: what the noise did to them, and nothing else.
#[test]
fn the_bytes_of_both_ends_of_a_line_are_recorded_and_compared() {
    require!("ping");
    let folder = Folder::new("line-bytes");
    let at = |name: &str| folder.path().join(name).display().to_string();
    let line = Line::new(2e-3);
    let options = "--framing link --arq persistent";
    let far = far_end(&line, &format!("{options} --record {}", at("far")));
    let ping = "for i in $(seq 20); do ping -n -c 1 -s 200 -W 30 10.77.0.2; done";
    let near = windfall("link -q --address 10.77.0.1 --peer 10.77.0.2")
        .arg(format!("--over=serial:{},115200", line.names[0]))
        .args(options.split_whitespace())
        .args(["--record", &at("near"), "--", "sh", "-c", ping])
        .output()
        .expect("it runs");
    assert!(near.status.success(), "{near:?}");
    drop(far);
    drop(line);
    for [from, to] in [["near", "far"], ["far", "near"]] {
        let (sent, received) =
            (at(&format!("{from}/sent.bytes")), at(&format!("{to}/received.bytes")));
        let compared = windfall("trace compare --json").args([&sent, &received]).output();
        let compared = compared.expect("it runs").stdout;
        let found: serde_json::Value = serde_json::from_slice(&compared).expect("JSON");
        let count = |name: &str| found[name].as_u64().expect("a count");
        let arrived = count("intact") + count("damaged");
        let damaged = count("damaged");
        assert!(count("sent") >= 20 * 200, "{found}");
        // Each byte is damaged in one of 500 cases, by one bit; the last may be under way.
        assert!((1..arrived / 100).contains(&damaged), "{found}");
        assert_eq!(count("bit_errors"), damaged, "{found}");
        assert!(count("missing") <= 1_000 && count("inserted") == 0, "{found}");
    }
}

//= S1.12
#[test]
fn ppp_lite_passes_up_what_ppp_drops() {
    require!("ping");
    // 240 bytes each way: 7 of 10 survive one direction, half both.
    let damaged = |errors: &str| {
        let (before, _) = errors.split_once(" of them damaged").expect(errors);
        before.rsplit(' ').next().and_then(|it| it.parse::<u32>().ok()).expect(errors)
    };
    let (_, errors) = answers(1.5e-3, ["", ""], 25, 1);
    assert_eq!(damaged(&errors), 0, "{errors}");
    let (_, errors) = answers(1.5e-3, ["--framing ppp-lite", "--framing ppp-lite"], 25, 1);
    assert!((1..=22).contains(&damaged(&errors)), "{errors}");
}

//= S1.11
#[test]
fn slirp_gives_an_address_and_answers_over_a_noisy_line() {
    require!("slirp-fullbolt", "ping");
    let line = Line::new(5e-4);
    let theirs = || File::options().read(true).write(true).open(&line.names[1]).expect("it opens");
    let slirp = std::process::Command::new("slirp-fullbolt")
        .args(["ppp", "mtu 1500"])
        .env("HOME", std::env::temp_dir())
        .stdin(theirs())
        .stdout(theirs())
        .stderr(Stdio::null())
        .spawn();
    let _slirp = Background(slirp.expect("it starts"));
    let output = windfall("link --wait 60s --peer 10.0.2.2")
        .arg(format!("--over=serial:{}", line.names[0]))
        .args(["--", "sh", "-c"])
        .arg("for i in $(seq 20); do ping -n -c 1 -W 1 10.0.2.2 && break; done")
        .output()
        .expect("it runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("wf0 is up: 10.0.2.15, peer 10.0.2.2"), "{errors}");
    assert!(output.status.success(), "{output:?}");
}

//= S1.11
/// The kernel's pppd in a virtual machine, whose second serial port is an end of the line. Both
/// ends ping: a ping of 200 bytes and its answer survive the noise in eight of ten cases.
#[test]
fn the_kernels_pppd_and_windfall_exchange_pings_over_a_noisy_line() {
    require!("qemu-system-x86_64", "ping");
    let Ok(guest) = std::env::var("WINDFALL_TEST_PPPD") else {
        windfall_testkit::skip!("WINDFALL_TEST_PPPD names no folder that bench/peers/pppd.sh made");
    };
    let line = Line::new(5e-4);
    let folder = Folder::new("pppd");
    let console = folder.file("console");
    let machine = std::process::Command::new("qemu-system-x86_64")
        .args("-accel tcg -m 512 -nographic -no-reboot -monitor none".split(' '))
        .args(["-kernel", &format!("{guest}/vmlinuz"), "-initrd", &format!("{guest}/ir.gz")])
        .args(["-append", "console=ttyS0 quiet panic=1 no_timer_check"])
        .args(["-serial", &format!("file:{console}"), "-serial", &line.names[1]])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn();
    let machine = Background(machine.expect("it starts"));
    let output = windfall("link --wait 120s --address 10.77.0.1 --peer 10.77.0.2")
        .arg(format!("--over=serial:{},115200", line.names[0]))
        .args(["--", "sh", "-c"])
        .arg("for i in $(seq 20); do ping -n -c 1 -s 200 -W 2 10.77.0.2; done; true")
        .output()
        .expect("it runs");
    drop(machine);
    let errors = String::from_utf8_lossy(&output.stderr);
    let log = std::fs::read_to_string(console).unwrap_or_default();
    let answers = |text: &str| text.lines().filter(|line| line.contains(" bytes from ")).count();
    let ours = answers(&String::from_utf8_lossy(&output.stdout));
    println!("{ours} of 20 pings are answered by pppd, {} of its pings here", answers(&log));
    assert!(ours >= 10, "{ours}: {errors}\n{log}");
    assert!(answers(&log) >= 1, "{log}");
}

/// The name of a serial device, behind which there may be one line after another.
struct SerialDevice {
    folder: Folder,
    place: PathBuf,
}

impl SerialDevice {
    fn new() -> Self {
        let folder = Folder::new("line");
        let place = folder.path().join("tty");
        Self { folder, place }
    }

    /// The line, as `--over` names it.
    fn address(&self) -> String {
        format!("serial:{}", self.place.display())
    }

    /// Removes a line with the far end behind it, and attaches another one; returns that.
    fn replace(&self, line: Line, far: Background, options: &str) -> (Line, Background) {
        drop(far);
        drop(line);
        let second = Line::new(0.0);
        self.attach(&second);
        let far = far_end(&second, options);
        (second, far)
    }

    fn attach(&self, line: &Line) {
        let _ = std::fs::remove_file(&self.place);
        std::os::unix::fs::symlink(&line.names[0], &self.place).expect("a link");
    }
}

/// Waits until a program has made this file.
fn await_file(file: &Path) {
    let began = std::time::Instant::now();
    while !file.exists() && began.elapsed() < LONG {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

#[test]
fn a_device_that_comes_back_is_opened_again() {
    require!("ping");
    let device = SerialDevice::new();
    let first = Line::new(0.0);
    device.attach(&first);
    let far = far_end(&first, "");
    let marker = device.folder.path().join("again");
    let command = format!(
        "ping -n -c 1 -W 30 10.77.0.2 && touch {0} || exit 1; for i in $(seq 200); do \
         if test -e {0}; then sleep 0.2; else ping -n -c 1 -W 1 10.77.0.2 && exit 0; fi; done; \
         exit 1",
        marker.display()
    );
    let near = windfall("link --wait 60s --over")
        .arg(device.address())
        .args(["--", "sh", "-c", &command])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    await_file(&marker);
    let _second = device.replace(first, far, "");
    let _ = std::fs::remove_file(&marker);
    let output = near.wait_with_output().expect("it ends");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    assert!(errors.contains("the line is gone") && errors.contains("the line is back"), "{errors}");
}

/// A line of the shell that fails if the device does not get this MTU.
fn await_mtu(mtu: u16) -> String {
    let condition = format!("\"$(ip -o link show wf0 | grep 'mtu {mtu} ')\"");
    format!("{}; test {condition} || exit 1", until(&condition))
}

#[test]
fn a_device_takes_the_mtu_of_each_negotiation() {
    require!("ip");
    let device = SerialDevice::new();
    let first = Line::new(0.0);
    device.attach(&first);
    let far = far_end(&first, "--mtu 600");
    let marker = device.folder.path().join("first");
    let command = format!("{}; touch {}; {}", await_mtu(600), marker.display(), await_mtu(900));
    let near = windfall("link --wait 60s --over")
        .arg(device.address())
        .args(["--", "sh", "-c", &command])
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    await_file(&marker);
    let _second = device.replace(first, far, "--mtu 900");
    let output = near.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn datagrams_carry_a_link_to_a_host() {
    require!("ping");
    // Within one namespace: the far end listens, the near one sends to the loopback.
    let program = crate::live::WINDFALL;
    for options in ["--policy flex", "--arq 9 --increments", "--fec 4/8"] {
        let link = format!("{program} link --framing link {options}");
        let (near, far) =
            ("--address 10.78.0.1 --peer 10.78.0.2", "--address 10.78.0.2 --peer 10.78.0.1");
        let far = format!("{link} --over udp::4444 {far} -- sleep 300");
        let ping = "ping -n -c 9 -i 0.2 -W 5 10.78.0.2";
        let near = format!("{link} --over udp:127.0.0.1:4444 {near} -- {ping}");
        // The second near end numbers its frames from zero on, as the first one did.
        let line = format!("{far} & {near}; {near}; kill $!; wait");
        let output = windfall("run -q -- sh -c").arg(&line).output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stdout);
        assert_eq!(said.matches("9 received").count(), 2, "{options}: {said} {output:?}");
    }
}

#[test]
fn what_cannot_be_a_line_is_refused() {
    for (arguments, said) in [
        ("--over tty0", "use serial:DEVICE[,SPEED], udp:HOST:PORT or udp::PORT"),
        ("--over serial:/dev/ttyS0,9601", "\"9601\" is no speed of a serial device; use one of"),
        ("--over udp:host", "use udp:HOST:PORT"),
        ("--over serial:/dev/null", "cannot open serial:/dev/null: it is no serial device"),
        ("--over serial:/nowhere", "cannot open serial:/nowhere: No such file or directory"),
        ("--over udp::4444 --called", "--called changes nothing without --framing rlp"),
        ("--over udp::4444 --arq 3", "--arq changes nothing without --framing link"),
        ("--over udp::4444 --fec 8/12", "--fec changes nothing without --framing link"),
        (
            "--over udp::4444 --framing link --fec 8/8 --address 10.0.0.1 --peer 10.0.0.2",
            "a block has more frames than packets",
        ),
        ("--over udp::4444 --framing link", "give both --address and --peer"),
        ("--over udp::4444 --address 127.0.0.1", "use the IPv4 address of a host"),
        ("--over udp::4444 --address 10.0.0.1 --peer 10.0.0.1", "give each end its own"),
        ("--over udp::4444 --device lo", "use up to 15 letters"),
    ] {
        let output = windfall(&format!("link {arguments} -- true")).output().expect("it runs");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(errors.contains(said), "{arguments}: {errors}");
        assert!(!output.status.success(), "{arguments}");
    }
}
