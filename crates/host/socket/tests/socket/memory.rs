//! The memory of idle sockets, measured in a separate process.
#![expect(clippy::disallowed_methods, reason = "sockets give memory back after a while")]

use std::process::Command;
use std::time::Duration;

use windfall_socket::{SapError, SapListener, SapSocket};

/// The number of connections, each with two sockets; `WINDFALL_SOCKETS` overrides it.
const COUNT: usize = 300;
/// The maximum memory of one idle socket in bytes.
const SOCKET: usize = 64 << 10;

/// Returns the resident memory of this process in bytes.
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/status").expect("the system says it");
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a line for it");
    let kilobytes = line.split_whitespace().next().and_then(|number| number.parse::<usize>().ok());
    kilobytes.expect("a number") << 10
}

/// The variable that marks the separate process.
const ALONE: &str = "WINDFALL_TEST_ALONE";
/// The name of the test.
const NAME: &str = "memory::an_idle_socket_takes_less_than_64_kb_and_its_end_gives_it_back";

#[test]
fn an_idle_socket_takes_less_than_64_kb_and_its_end_gives_it_back() -> Result<(), SapError> {
    if std::env::var_os(ALONE).is_some() {
        return alone();
    }
    let mut again = Command::new(std::env::current_exe().expect("a test knows its file"));
    again.args(["--exact", NAME, "--nocapture"]).env(ALONE, "1");
    let output = again.output().expect("it ran before");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    print!("{}", String::from_utf8_lossy(&output.stdout));
    Ok(())
}

fn alone() -> Result<(), SapError> {
    let listener = SapListener::bind("127.0.0.1:0")?;
    let to = listener.local_addr()?;
    let connect = || -> Result<(SapSocket, SapSocket), SapError> {
        let here = SapSocket::connect(to)?;
        let (there, _) = listener.accept()?;
        here.send(&[7; 1000])?;
        there.recv()?;
        Ok((here, there))
    };
    let asked = std::env::var("WINDFALL_SOCKETS").ok().and_then(|count| count.parse().ok());
    let count = asked.unwrap_or(COUNT);
    // The first ones pay for shared memory.
    let first: Vec<_> = (0..10).map(|_| connect()).collect::<Result<_, _>>()?;
    let before = resident();
    let sockets: Vec<_> = (0..count).map(|_| connect()).collect::<Result<_, _>>()?;
    // Receive buffers are released after a second of idle time, later on a busy machine.
    let mut each = usize::MAX;
    for _ in 0..120 {
        std::thread::sleep(Duration::from_millis(500));
        each = resident().saturating_sub(before) / (2 * count);
        if each < SOCKET {
            break;
        }
    }
    assert!(each < SOCKET, "{each} bytes for each socket");
    println!("{each} bytes for each of {} idle sockets", 2 * count);
    drop((first, sockets));
    Ok(())
}
